#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "session.h"

#define WAIT_MS		20000
#define PASTE_AHEAD	(64 << 10)	/* queued here before more is */

#define MUST(e)	do {							\
	if ((e) == -1)							\
		atf_tc_fail("%s:%d: %s: %s", __FILE__, __LINE__, #e,	\
		    strerror(errno));					\
} while (0)

long
session_rss(pid_t pid)
{
	char	path[64], line[256];
	long	kb = -1;
	FILE	*f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	ATF_REQUIRE((f = fopen(path, "re")) != NULL);
	while (fgets(line, sizeof(line), f) != NULL)
		sscanf(line, "VmRSS: %ld", &kb);
	fclose(f);
	return (kb);
}

int64_t
session_now(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

static void
told_error(struct told *t, const struct m_ERROR *m)
{
	t->errors++;
	strlcpy(t->code, m->code, sizeof(t->code));
	strlcpy(t->message, m->message, sizeof(t->message));
}

bool
told_common(struct told *t, const struct msg *msg)
{
	const struct m_EXITED	*x = msg->body;
	const struct m_RUNNING	*r = msg->body;

	switch (msg->type) {
	case MSG_RUNNING:
		t->running++;
		t->pid = r->pid;
		return (true);
	case MSG_EXITED:
		t->exited++;
		t->status = x->status;
		t->ms = x->ms;
		return (true);
	case MSG_ERROR:
		told_error(t, msg->body);
		return (true);
	default:
		return (false);
	}
}

bool
told_client(struct told *t, const struct msg *msg)
{
	if (msg->type == MSG_TURN) {
		t->turns++;
		t->other = !((const struct m_TURN *)msg->body)->yours;
	} else if (msg->type == MSG_GAP)
		t->gap += ((const struct m_GAP *)msg->body)->bytes;
	return (msg->type == MSG_TURN || msg->type == MSG_GAP);
}

static void
sbxd_message(struct session *s, struct msg *msg)
{
	const struct m_SFD	*m = msg->body;

	if (told_common(&s->sbxd, msg))
		return;
	if (msg->type == MSG_OK) {
		s->sbxd.oks++;
		s->sbxd.ok = msg->id;
		return;
	}
	if (msg->type != MSG_SFD)
		atf_tc_fail("%s from the worker", proto_name(msg->type));
	ATF_REQUIRE_STREQ(m->session, SESSION_ID);
	if (strcmp(m->kind, "home") == 0)
		s->fd_home = msg_take_fd(msg);
	else if (strcmp(m->kind, "project") == 0)
		s->fd_project = msg_take_fd(msg);
	else if (strcmp(m->kind, "route") == 0)
		s->fd_route = msg_take_fd(msg);
	else if (strcmp(m->kind, "ro") == 0 && s->nro < 16)
		s->ro[s->nro++] = m->n;
	else
		atf_tc_fail("a descriptor of kind %s", m->kind);
}

static void
client_message(struct session *s, struct msg *msg)
{
	const struct m_DATA	*m = msg->body;
	char			*p;

	if (told_common(&s->cl, msg) || told_client(&s->cl, msg))
		return;
	if (msg->type != MSG_DATA || m->n < 1 || m->n > 2)
		atf_tc_fail("%s from the worker to the client",
		    proto_name(msg->type));
	ATF_REQUIRE_MSG(s->cl.exited == 0, "DATA after EXITED");
	if (s->cl.running == 0)
		s->cl.past += m->d.len;
	p = realloc(s->out[m->n], s->outlen[m->n] + m->d.len + 1);
	ATF_REQUIRE(p != NULL);
	memcpy(p + s->outlen[m->n], m->d.p, m->d.len);
	s->outlen[m->n] += m->d.len;
	p[s->outlen[m->n]] = '\0';
	s->out[m->n] = p;
}

static void
side_read(struct session *s, struct imsgbuf *ib, struct told *t,
    void (*fn)(struct session *, struct msg *))
{
	struct msg	 msg;
	const char	*why = NULL;
	ssize_t		 n;
	int		 r;

	n = imsg_read(ib);
	while ((r = imsg_next(ib, &msg, &why)) == 1) {
		fn(s, &msg);
		msg_free(&msg);
	}
	if (r == -1)
		atf_tc_fail("from the worker: %s", why);
	if (n == 0 || (n == -1 && errno != EAGAIN))
		t->closed = true;
}

/* As much of the paste as is not too far ahead of the socket. */
static void
paste_more(struct session *s)
{
	struct m_DATA	m = { .n = 0 };

	while (s->pasted < s->pastelen && s->client.queued < PASTE_AHEAD) {
		m.d.p = (const uint8_t *)s->paste + s->pasted;
		m.d.len = s->pastelen - s->pasted;
		if (m.d.len > LIMIT_CHUNK)
			m.d.len = LIMIT_CHUNK;
		MUST(imsg_compose(&s->client, MSG_DATA, 0, -1, &m));
		s->pasted += m.d.len;
		imsg_flush(&s->client);
	}
}

void
session_pump(struct session *s, int ms)
{
	struct pollfd	pfd[2];

	paste_more(s);
	pfd[0] = (struct pollfd){ s->sbxd.closed ? -1 : s->w.ib.fd, POLLIN,
	    0 };
	pfd[1] = (struct pollfd){ s->cl.closed ? -1 : s->client.fd, POLLIN,
	    0 };
	if (s->client.fd != -1 && s->client.queued > 0)
		pfd[1].events |= POLLOUT;
	if (poll(pfd, 2, ms) == -1 && errno != EINTR)
		atf_tc_fail("poll: %s", strerror(errno));
	if (pfd[0].revents != 0)
		side_read(s, &s->w.ib, &s->sbxd, sbxd_message);
	if (pfd[1].revents & POLLOUT)
		imsg_flush(&s->client);
	if (pfd[1].revents & (POLLIN | POLLHUP | POLLERR))
		side_read(s, &s->client, &s->cl, client_message);
}

void
session_await(struct session *s, const int *what, const char *name)
{
	int64_t	end = session_now() + WAIT_MS;

	while (*what == 0) {
		if (session_now() > end || s->sbxd.closed)
			atf_tc_fail("no %s; sbxd was told %s %s, client %s "
			    "%s; output: %s; the worker's log: %s", name,
			    s->sbxd.code, s->sbxd.message, s->cl.code,
			    s->cl.message, s->out[1] != NULL ? s->out[1] : "",
			    test_helper_log(&s->w));
		session_pump(s, 100);
	}
}

void
session_expect(struct session *s, const char *text)
{
	int64_t	 end = session_now() + WAIT_MS;
	char	*at;

	while (s->out[1] == NULL || (at = strstr(s->out[1], text)) == NULL) {
		if (session_now() > end || s->cl.closed || s->cl.exited)
			atf_tc_fail("the output has no \"%s\": %s", text,
			    s->out[1] != NULL ? s->out[1] : "");
		session_pump(s, 100);
	}
	at += strlen(text);
	s->outlen[1] -= (size_t)(at - s->out[1]);
	memmove(s->out[1], at, s->outlen[1] + 1);
}

void
session_type(struct session *s, const void *p, size_t len)
{
	int64_t	end = session_now() + WAIT_MS;

	s->paste = p;
	s->pasted = 0;
	s->pastelen = len;
	while (s->pasted < s->pastelen || s->client.queued > 0) {
		if (session_now() > end || s->cl.closed)
			atf_tc_fail("%zu of %zu bytes typed; output: %s",
			    s->pasted, len, s->out[1] != NULL ? s->out[1] :
			    "");
		session_pump(s, 100);
	}
}

void
session_say(struct session *s, const char *text)
{
	session_type(s, text, strlen(text));
}

void
session_client(struct session *s, uint32_t type, const void *body)
{
	/* The worker may be waiting for us to read. */
	MUST(imsg_compose(&s->client, type, 0, -1, body));
	session_type(s, NULL, 0);
}

void
session_hang_up(struct session *s)
{
	imsg_clear(&s->client);
	s->cl.closed = true;
}

/*
 * The end
 */
static void
fd_close(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

/* What was put out stays: it is what the test is about. */
static void
session_close(struct session *s)
{
	fd_close(&s->fd_home);
	fd_close(&s->fd_project);
	fd_close(&s->fd_route);
	fd_close(&s->pidfd);
	fd_close(&s->init_sock);
	if (s->client.fd != -1)
		imsg_clear(&s->client);
}

static int
init_wait(struct session *s)
{
	struct pollfd	pfd = { .fd = s->pidfd, .events = POLLIN };
	int		status;

	if (poll(&pfd, 1, 2000) != 1)
		atf_tc_fail("init is there 2 s after its end was due");
	MUST(waitpid(s->init, &status, 0));
	return (status);
}

int
session_end(struct session *s)
{
	int	status;

	session_await(s, &s->sbxd.exited, "EXITED");
	if (s->init != 0) {
		status = init_wait(s);
		ATF_REQUIRE_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		    "init: wait status %#x", (unsigned int)status);
	}
	/* sbxd is told last: the client can have all of it by now. */
	while (s->client.fd != -1 && !s->cl.closed && s->cl.exited == 0)
		session_pump(s, 100);
	status = test_helper_end(&s->w);
	ATF_REQUIRE_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "worker: wait status %#x; its log: %s", (unsigned int)status,
	    test_helper_log(&s->w));
	if (s->client.fd != -1) {
		ATF_REQUIRE_EQ_MSG(s->cl.past, s->late ? s->cl.past : 0,
		    "output before RUNNING");
		ATF_REQUIRE_EQ(s->cl.status, s->sbxd.status);
		ATF_REQUIRE_EQ(s->cl.ms, s->sbxd.ms);
	}
	session_close(s);
	return ((int)s->sbxd.status);
}

void
session_abort(struct session *s)
{
	int	status;

	status = test_helper_end(&s->w);
	ATF_REQUIRE_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "worker: wait status %#x; its log: %s", (unsigned int)status,
	    test_helper_log(&s->w));
	if (s->init != 0)
		init_wait(s);
	session_close(s);
}

int
session_simple(struct session *s, const struct session_opts *o)
{
	session_run(s, o);
	return (session_end(s));
}
