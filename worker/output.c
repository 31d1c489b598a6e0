/*
 * The command's output: read as fast as clients take it, and no faster. With
 * no client the last MiB is kept. At the end the terminal is read until the
 * kernel says that nobody can write to it any more, so that nothing is lost.
 */
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "../privsep/pledge.h"
#include "worker.h"

/* Above this a client is waited for. It is also what is still shown after an
 * interrupt of a flood, so it is far below the queue's own limit. */
#define OUTPUT_HIGH	(128 << 10)

#define BACKLOG_BYTES	(1 << 20)
#define BACKLOG_CHUNKS	64

/* Nothing inside can write once init is gone, but the kernel needs a moment
 * to see the last of them off. */
#define OUTPUT_STALL	2	/* s */

static void	output_on_stall(evutil_socket_t, short, void *);

void
output_begin(struct worker *w)
{
	size_t	i;

	for (i = 0; i < 2; i++) {
		w->source[i].w = w;
		w->source[i].fd = -1;
	}
	if ((w->stall = evtimer_new(w->base, output_on_stall, w)) == NULL)
		fatalx("a timer");
}

bool
output_open(const struct worker *w)
{
	return (w->source[0].fd != -1 || w->source[1].fd != -1);
}

static void
output_close(struct source *s)
{
	if (s->fd == -1)
		return;
	event_free(s->rev);
	/* A terminal's master is its input's too. */
	if (s->fd != s->w->in_fd)
		close(s->fd);
	s->fd = -1;
}

static void
backlog_drop(struct worker *w)
{
	struct chunk	*k = TAILQ_FIRST(&w->backlog);

	TAILQ_REMOVE(&w->backlog, k, entry);
	w->backlog_len -= k->len;
	w->backlog_n--;
	free(k);
}

static void
backlog_add(struct worker *w, unsigned int n, const uint8_t *p, size_t len)
{
	struct chunk	*k = TAILQ_LAST(&w->backlog, chunkq);
	size_t		 part;

	while (len > 0) {
		if (k == NULL || k->n != n || k->len == sizeof(k->data)) {
			if ((k = malloc(sizeof(*k))) == NULL)
				fatal("keeping output");
			k->n = n;
			k->len = 0;
			TAILQ_INSERT_TAIL(&w->backlog, k, entry);
			w->backlog_n++;
		}
		part = sizeof(k->data) - k->len;
		if (part > len)
			part = len;
		memcpy(k->data + k->len, p, part);
		k->len += part;
		w->backlog_len += part;
		p += part;
		len -= part;
	}
	while (w->backlog_n > BACKLOG_CHUNKS || w->backlog_len -
	    TAILQ_FIRST(&w->backlog)->len >= BACKLOG_BYTES)
		backlog_drop(w);
}

/* To a client that has come: what nobody has taken. */
void
output_give(struct worker *w, struct client *c)
{
	struct m_DATA	 m;
	struct chunk	*k;

	while ((k = TAILQ_FIRST(&w->backlog)) != NULL) {
		m.n = k->n;
		m.d.p = k->data;
		m.d.len = k->len;
		peer_send(c->peer, MSG_DATA, 0, -1, &m);
		backlog_drop(w);
	}
}

/*
 * Fills one chunk, since a terminal gives 4 KiB at most at a time. False: the
 * end. EIO is how a master says that no slave is open any more.
 */
static bool
output_read(struct source *s, uint8_t *buf, size_t *len)
{
	ssize_t	n;

	for (*len = 0; *len < LIMIT_CHUNK; *len += (size_t)n) {
		n = read(s->fd, buf + *len, LIMIT_CHUNK - *len);
		if (n == -1 && (errno == EAGAIN || errno == EINTR))
			return (true);
		if (n == -1 && errno != EIO)
			log_warn("%s: reading the command's output",
			    s->w->session);
		if (n <= 0)
			return (false);
	}
	return (true);
}

static void
output_on_readable(evutil_socket_t fd, short what, void *arg)
{
	static uint8_t	 buf[LIMIT_CHUNK];
	struct source	*s = arg;
	struct worker	*w = s->w;
	struct m_DATA	 m = { .n = s->n, .d = { .p = buf } };
	bool		 more;

	(void)fd;
	(void)what;
	more = output_read(s, buf, &m.d.len);
	if (m.d.len > 0 && w->nclients > 0)
		client_all(w, MSG_DATA, &m);
	else if (m.d.len > 0)
		backlog_add(w, s->n, buf, m.d.len);
	if (!more)
		output_close(s);
	output_flow(w);
	if (!more)
		end_settle(w);
}

static void
output_on_stall(evutil_socket_t fd, short what, void *arg)
{
	struct worker	*w = arg;

	(void)fd;
	(void)what;
	log_warnx("%s: the command's output does not end", w->session);
	output_close(&w->source[0]);
	output_close(&w->source[1]);
	end_settle(w);
}

void
output_flow(struct worker *w)
{
	static const struct timeval	 stall = { .tv_sec = OUTPUT_STALL };
	bool				 on;
	size_t				 i;

	on = w->running && client_queued(w) < OUTPUT_HIGH;
	for (i = 0; i < 2; i++) {
		struct source *s = &w->source[i];

		if (s->fd == -1 || s->on == on)
			continue;
		if ((on ? event_add(s->rev, NULL) : event_del(s->rev)) == -1)
			fatalx("watching the command's output");
		s->on = on;
	}
	if (on && w->init == NULL && output_open(w))
		evtimer_add(w->stall, &stall);
	else
		evtimer_del(w->stall);
}

/* init says what this is; the kernel says whether it is. */
static bool
output_fits(struct worker *w, int fd)
{
	struct stat	st;

	if (pledge_fstat(fd, &st) == -1)
		return (false);
	if (!w->tty)
		return (S_ISFIFO(st.st_mode));
	/* /dev/ptmx, which is every master's inode */
	return (S_ISCHR(st.st_mode) && major(st.st_rdev) == 5 &&
	    minor(st.st_rdev) == 2);
}

int
output_take(struct worker *w, unsigned int n, int fd)
{
	struct source	*s = &w->source[n - 1];

	if (!output_fits(w, fd) || evutil_make_socket_nonblocking(fd) == -1) {
		if (fd != w->in_fd)
			close(fd);
		return (-1);
	}
	s->n = n;
	s->fd = fd;
	if ((s->rev = event_new(w->base, fd, EV_READ | EV_PERSIST,
	    output_on_readable, s)) == NULL)
		fatalx("watching the command's output");
	return (0);
}
