#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "viewer.h"

#define WAIT_MS		20000
#define VIEWERS_MAX	80

static struct viewer	*viewers[VIEWERS_MAX];
static size_t		 nviewers;

static void
viewer_new(struct session *s, struct viewer *v, uint32_t tag)
{
	int	sv[2];

	memset(v, 0, sizeof(*v));
	v->s = s;
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) ==
	    0);
	ATF_REQUIRE(imsg_init(&v->ib, sv[0], ROLE_CLIENT, ROLE_WORKER) == 0);
	ATF_REQUIRE(nviewers < VIEWERS_MAX);
	viewers[nviewers++] = v;
	test_send(&s->w, MSG_ATTACH, tag, sv[1], NULL);
}

void
viewer_attach(struct session *s, struct viewer *v, uint32_t tag)
{
	viewer_new(s, v, tag);
}

void
viewer_exec(struct session *s, struct viewer *v, bool tty,
    const char *const *argv)
{
	static const char	*env[] = { "PATH=/usr/bin:/bin", "IN=exec" };
	static uint32_t		 tag;
	struct m_EXEC		 m = {
		.session = SESSION_ID, .tty = tty, .env = { 2, env },
		.argv.v = (const char **)(uintptr_t)argv
	};

	while (argv[m.argv.n] != NULL)
		m.argv.n++;
	test_send(&s->w, MSG_EXEC, ++tag, -1, &m);
	viewer_new(s, v, tag);
}

static void
viewer_message(struct viewer *v, const struct msg *msg)
{
	const struct m_DATA	*m = msg->body;
	char			*p;

	if (told_common(&v->t, msg) || told_client(&v->t, msg))
		return;
	if (msg->type != MSG_DATA || m->n < 1 || m->n > 2)
		atf_tc_fail("%s from the worker to a client",
		    proto_name(msg->type));
	ATF_REQUIRE_MSG(v->t.exited == 0, "DATA after EXITED");
	if (v->t.running == 0)
		v->t.past += m->d.len;
	p = realloc(v->out[m->n], v->outlen[m->n] + m->d.len + 1);
	ATF_REQUIRE(p != NULL);
	memcpy(p + v->outlen[m->n], m->d.p, m->d.len);
	v->outlen[m->n] += m->d.len;
	p[v->outlen[m->n]] = '\0';
	v->out[m->n] = p;
}

static void
viewer_read(struct viewer *v)
{
	const char	*why = NULL;
	struct msg	 msg;
	ssize_t		 n;
	int		 r;

	n = imsg_read(&v->ib);
	while ((r = imsg_next(&v->ib, &msg, &why)) == 1) {
		viewer_message(v, &msg);
		msg_free(&msg);
	}
	if (r == -1)
		atf_tc_fail("from the worker: %s", why);
	if (n == 0 || (n == -1 && errno != EAGAIN))
		v->t.closed = true;
}

void
viewers_pump(struct session *s, int ms)
{
	struct pollfd	pfd[VIEWERS_MAX];
	size_t		i;

	for (i = 0; i < nviewers; i++)
		pfd[i] = (struct pollfd){ viewers[i]->t.closed ||
		    viewers[i]->asleep ? -1 : viewers[i]->ib.fd, POLLIN, 0 };
	poll(pfd, nviewers, ms);
	for (i = 0; i < nviewers; i++)
		if (pfd[i].revents != 0)
			viewer_read(viewers[i]);
	session_pump(s, 0);
}

void
viewer_await(struct viewer *v, const int *what, const char *name)
{
	int64_t	end = session_now() + WAIT_MS;

	while (*what == 0) {
		if (session_now() > end)
			atf_tc_fail("no %s; the client was told %s %s; "
			    "output: %.1000s; the worker's log: %s", name,
			    v->t.code, v->t.message, v->out[1] != NULL ?
			    v->out[1] : "", test_helper_log(&v->s->w));
		viewers_pump(v->s, 20);
	}
}

void
viewer_expect(struct viewer *v, const char *text)
{
	int64_t	 end = session_now() + WAIT_MS;
	char	*at;

	while (v->out[1] == NULL || (at = strstr(v->out[1], text)) == NULL) {
		if (session_now() > end || v->t.closed)
			atf_tc_fail("the output has no \"%s\": %s", text,
			    v->out[1] != NULL ? v->out[1] : "");
		viewers_pump(v->s, 20);
	}
	at += strlen(text);
	v->outlen[1] -= (size_t)(at - v->out[1]);
	memmove(v->out[1], at, v->outlen[1] + 1);
}

void
viewer_send(struct viewer *v, uint32_t type, const void *body)
{
	ATF_REQUIRE_MSG(imsg_send(&v->ib, type, 0, -1, body) == 0, "%s: %s",
	    proto_name(type), strerror(errno));
}

void
viewer_say(struct viewer *v, const char *text)
{
	struct m_DATA	m = { .d = { (const uint8_t *)text, strlen(text) } };

	viewer_send(v, MSG_DATA, &m);
}

void
viewer_size(struct viewer *v, unsigned int rows, unsigned int cols)
{
	struct m_RESIZE	m = { .rows = rows, .cols = cols };

	viewer_send(v, MSG_RESIZE, &m);
}

void
viewer_leave(struct viewer *v)
{
	imsg_clear(&v->ib);
	v->ib.fd = -1;
	v->t.closed = true;
}
