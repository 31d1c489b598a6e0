/*
 * A session's worker, as the broker hears it. It treats init as hostile, and
 * so do we: each message once, and only in its place.
 */
#include <sys/socket.h>
#include <sys/un.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "proc.h"
#include "sbxd.h"

/* Bound in the workers' folder, where we stand, and passed on: it is what a
 * restarted suite is to find the session by. Not yet used: a session ends with
 * its suite. */
int
worker_listen(const char *id)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	int			fd;

	strlcpy(sun.sun_path, id, sizeof(sun.sun_path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return (-1);
	/* Mode 0600 by the umask of 077 set at the start. */
	if (bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    listen(fd, 4) == -1) {
		int saved = errno;

		close(fd);
		errno = saved;
		return (-1);
	}
	return (fd);
}

static void
worker_gone(struct peer *p, const char *why)
{
	struct session	*s = p->ctx;

	s->worker = NULL;
	peer_free(p);
	if (why != NULL)
		log_warnx("session %s: its worker: %s", s->rec.r.session, why);
	session_fail(s, "worker.gone", why != NULL ? why :
	    "its terminal worker has ended");
}

static void
worker_on_hello(struct peer *p, struct msg *msg)
{
	if (!proc_hello_fits(msg->body, ROLE_WORKER))
		worker_gone(p, "HELLO of another protocol or build");
}

/* What init opened as the user goes to who compares it with the paths. */
static void
worker_on_sfd(struct peer *p, struct msg *msg)
{
	const struct m_SFD	*sfd = msg->body;
	struct session		*s = p->ctx;
	struct m_SFD		 out = *sfd;
	enum helper		 to;

	if (s->state != S_STARTING)
		return;
	out.session = s->rec.r.session;
	if (strcmp(sfd->kind, "home") == 0 ||
	    strcmp(sfd->kind, "project") == 0 || strcmp(sfd->kind, "ro") == 0)
		to = H_MOUNTD;
	else if (strcmp(sfd->kind, "route") == 0)
		to = H_NETD;
	else {
		worker_gone(p, "a descriptor of a kind that is not its own");
		return;
	}
	peer_send(sbxd.helper[to], MSG_SFD, to == H_NETD ? s->net : 0,
	    msg_take_fd(msg), &out);
}

static void
worker_on_running(struct peer *p, struct msg *msg)
{
	struct session	*s = p->ctx;

	(void)msg;
	if (s->state == S_STARTING && s->went)
		session_running(s);
}

static void
worker_on_exited(struct peer *p, struct msg *msg)
{
	const struct m_EXITED	*m = msg->body;
	struct session		*s = p->ctx;

	s->rec.r.exited = true;
	s->rec.r.status = m->status & 0xff;
	s->rec.r.signal = m->signal & 0x7f;
	s->rec.r.ms = m->ms;
	session_end(s, NULL);
}

static void
worker_on_ok(struct peer *p, struct msg *msg)
{
	hold_settled(p->ctx, msg->id);
}

static void
worker_on_error(struct peer *p, struct msg *msg)
{
	const struct m_ERROR	*e = msg->body;
	struct session		*s = p->ctx;

	session_fail(s, e->code, e->message);
}

static void
worker_lost(struct peer *p, struct msg *msg)
{
	(void)msg;
	fds_session_lost(p->ctx);
}

static const struct handler worker_table[] = {
	{ MSG_HELLO, PERMIT_ONCE, worker_on_hello },
	{ MSG_SFD, PERMIT_ALWAYS, worker_on_sfd },
	{ MSG_RUNNING, PERMIT_ONCE, worker_on_running },
	{ MSG_EXITED, PERMIT_ONCE, worker_on_exited },
	{ MSG_OK, PERMIT_ALWAYS, worker_on_ok },
	{ MSG_ERROR, PERMIT_ONCE, worker_on_error },
};
static const struct peer_ops worker_ops = {
	.table = worker_table,
	.n = sizeof(worker_table) / sizeof(worker_table[0]),
	.gone = worker_gone,
	.lost = worker_lost
};

struct peer *
worker_peer(struct session *s, int fd)
{
	struct m_HELLO	 hello;
	struct peer	*p;

	p = peer_new(sbxd.base, fd, ROLE_SBXD, ROLE_WORKER, &worker_ops, s);
	if (p == NULL)
		return (NULL);
	proc_hello_fill(&hello, ROLE_SBXD);
	peer_send(p, MSG_HELLO, 0, -1, &hello);
	return (p);
}
