/*
 * The command's output: read as fast as those take it who have to get all of
 * it, and no faster; whoever only looks in gets what is kept. At the end the
 * terminal is read until the kernel says that nobody can write to it any more,
 * so that nothing is lost.
 */
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/log.h"
#include "../privsep/pledge.h"
#include "worker.h"

/* Nothing inside can write once init is gone, but the kernel needs a moment
 * to see the last of them off. */
#define OUTPUT_STALL	2	/* s */
/* An added command's terminal may be held by what it left behind, which is
 * not what its client waits for. What it wrote itself is here by then, and is
 * no more than the largest pipe that a user may make. */
#define OUTPUT_LINGER	500000	/* microseconds */
#define OUTPUT_REST	(1 << 20)

static void	output_on_stall(evutil_socket_t, short, void *);
static void	output_on_pace(evutil_socket_t, short, void *);

void
output_begin(struct task *t)
{
	size_t	i;

	for (i = 0; i < 2; i++) {
		t->source[i].task = t;
		t->source[i].fd = -1;
	}
	t->stall = evtimer_new(t->w->base, output_on_stall, t);
	t->pace = evtimer_new(t->w->base, output_on_pace, t);
	if (t->stall == NULL || t->pace == NULL)
		fatalx("a timer");
}

bool
output_open(const struct task *t)
{
	return (t->source[0].fd != -1 || t->source[1].fd != -1);
}

static void
output_close(struct source *s)
{
	if (s->fd == -1)
		return;
	event_free(s->rev);
	/* A terminal's master is its input's too. */
	if (s->fd != s->task->in_fd)
		close(s->fd);
	s->fd = -1;
}

void
output_stop(struct task *t)
{
	output_close(&t->source[0]);
	output_close(&t->source[1]);
	evtimer_del(t->stall);
	evtimer_del(t->pace);
}

void
output_free(struct task *t)
{
	output_stop(t);
	event_free(t->stall);
	event_free(t->pace);
}

/*
 * Fills one chunk, since a terminal gives 4 KiB at most at a time. False: the
 * end. EIO is how a master says that no slave is open any more.
 */
static bool
output_read(struct source *s, uint8_t *buf, size_t room, size_t *len)
{
	ssize_t	n;

	for (*len = 0; *len < room; *len += (size_t)n) {
		n = read(s->fd, buf + *len, room - *len);
		if (n == -1 && (errno == EAGAIN || errno == EINTR))
			return (true);
		if (n == -1 && errno != EIO)
			log_warn("%s: reading the command's output",
			    s->task->w->session);
		if (n <= 0)
			return (false);
	}
	return (true);
}

/* An added command has no late comers: what its client has is not kept. */
static void
output_keep(struct task *t)
{
	const struct client	*c = TAILQ_FIRST(&t->clients);

	if (t->n == 0)
		history_bound(&t->history);
	else
		history_trim(&t->history, c != NULL ? c->at : t->history.end);
}

/* An added command is over, and this cannot be its own any more. */
static bool
output_rest(const struct task *t)
{
	return (t->n != 0 && t->over &&
	    t->history.end > t->written + OUTPUT_REST);
}

static void
output_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct source	*s = arg;
	struct task	*t = s->task;
	uint8_t		*buf;
	size_t		 room, len;
	bool		 more;

	(void)fd;
	(void)what;
	buf = history_room(&t->history, s->n, &room);
	more = output_read(s, buf, room, &len);
	if (len > 0) {
		history_added(&t->history, len);
		client_feed_all(t);
		output_keep(t);
	}
	if (!more)
		output_close(s);
	if (output_rest(t)) {
		output_stop(t);
		more = false;
	}
	output_flow(t);
	if (!more)
		end_settle(t->w);
}

static void
output_on_stall(evutil_socket_t fd, short what, void *arg)
{
	struct task	*t = arg;

	(void)fd;
	(void)what;
	if (t->n == 0 || t->w->init == NULL)
		log_warnx("%s: the command's output does not end",
		    t->w->session);
	output_stop(t);
	end_settle(t->w);
}

/* As long as each that has to get all of it takes it; an added command's
 * client may not have come yet. */
static bool
output_wanted(const struct task *t)
{
	const struct client	*c;

	TAILQ_FOREACH(c, &t->clients, entry)
		if (c->whole && (!client_served(c) ||
		    peer_queued(c->peer) >= OUTPUT_HIGH))
			return (false);
	return (t->running && t->tag == 0);
}

static void
output_on_pace(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	output_flow(arg);
}

/* True while those that look in are waited for. */
static bool
output_paced(struct task *t)
{
	struct timeval	tv = { 0, 0 };
	int64_t		ms;

	if ((ms = pace_wait(t, now_ms())) == 0)
		return (false);
	tv.tv_usec = (suseconds_t)ms * 1000;
	if (!evtimer_pending(t->pace, NULL))
		evtimer_add(t->pace, &tv);
	return (true);
}

/* At the end of the session each byte gives the kernel new time; at that of
 * an added command alone there may be somebody left who writes on. */
static void
output_hurry(struct task *t, bool on)
{
	static const struct timeval	stall = { OUTPUT_STALL, 0 };
	static const struct timeval	linger = { 0, OUTPUT_LINGER };
	bool				left = t->w->init != NULL;

	if (!on || !output_open(t) || (left && (t->n == 0 || !t->over)))
		evtimer_del(t->stall);
	else if (!left)
		evtimer_add(t->stall, &stall);
	else if (!evtimer_pending(t->stall, NULL))
		evtimer_add(t->stall, &linger);
}

void
output_flow(struct task *t)
{
	bool	on = output_wanted(t) && !output_paced(t);
	size_t	i;

	for (i = 0; i < 2; i++) {
		struct source *s = &t->source[i];

		if (s->fd == -1 || s->on == on)
			continue;
		if ((on ? event_add(s->rev, NULL) : event_del(s->rev)) == -1)
			fatalx("watching the command's output");
		s->on = on;
	}
	output_hurry(t, on);
}

/* init says what this is; the kernel says whether it is. */
static bool
output_fits(struct task *t, int fd)
{
	struct stat	st;

	if (pledge_fstat(fd, &st) == -1)
		return (false);
	if (!t->tty)
		return (S_ISFIFO(st.st_mode));
	/* /dev/ptmx, which is every master's inode */
	return (S_ISCHR(st.st_mode) && major(st.st_rdev) == 5 &&
	    minor(st.st_rdev) == 2);
}

int
output_take(struct task *t, unsigned int n, int fd)
{
	struct source	*s = &t->source[n - 1];

	if (!output_fits(t, fd) || evutil_make_socket_nonblocking(fd) == -1) {
		if (fd != t->in_fd)
			close(fd);
		return (-1);
	}
	s->n = n;
	s->fd = fd;
	if ((s->rev = event_new(t->w->base, fd, EV_READ | EV_PERSIST,
	    output_on_readable, s)) == NULL)
		fatalx("watching the command's output");
	return (0);
}
