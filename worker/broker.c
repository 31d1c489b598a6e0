/*
 * What sbxd says, on the socket that the worker was started with or on one
 * that sbxd connects to the session's listening socket. A broken message from
 * it ends the worker, and with it the session: nobody is left to obey.
 */
#include <sys/socket.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "../privsep/proc.h"
#include "worker.h"

/* A connection that has not said HELLO yet may say nothing else. */
static void
broker_permits(struct peer *p, bool greeted)
{
	static const uint32_t	types[] = { MSG_ATTACH, MSG_EXEC, MSG_SFD,
					    MSG_SIGNAL, MSG_SYNC };
	size_t			i;

	peer_permit(p, MSG_HELLO, greeted ? PERMIT_NO : PERMIT_ONCE);
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		peer_permit(p, types[i], greeted ? PERMIT_ALWAYS : PERMIT_NO);
	peer_permit(p, MSG_SETUP, PERMIT_NO);
	peer_permit(p, MSG_LISTEN, PERMIT_NO);
}

static void
worker_on_setup(struct peer *p, struct msg *msg)
{
	struct worker		*w = p->ctx;
	const struct m_SETUP	*m = msg->body;

	if (strlcpy(w->session, m->session, sizeof(w->session)) >=
	    sizeof(w->session))
		fatalx("a session's id of %zu bytes", strlen(m->session));
	w->own.tty = m->tty;
	w->isolated = strcmp(m->network, "host") != 0;
	w->nro = m->ro.n;
	w->nroots = m->more.n + 1;
	w->setup = true;
	inside_send(w, MSG_SETUP, 0, -1, m);
	inside_begin(w);
}

static void
worker_on_listen(struct peer *p, struct msg *msg)
{
	broker_listen(p->ctx, msg_take_fd(msg));
}

static void
worker_on_attach(struct peer *p, struct msg *msg)
{
	struct worker	*w = p->ctx;
	struct task	*t = task_tagged(w, msg->id);

	if (t == NULL)
		fatalx("a client for a command that EXEC did not announce");
	t->tag = 0;
	client_add(t, msg_take_fd(msg));
}

/* The client of the command comes right after it. */
static void
worker_on_exec(struct peer *p, struct msg *msg)
{
	struct worker		*w = p->ctx;
	const struct m_EXEC	*m = msg->body;

	if (!w->own.running || strcmp(m->session, w->session) != 0)
		fatalx("a command for session %s, which does not run",
		    m->session);
	if (msg->id == 0 || task_tagged(w, msg->id) != NULL)
		fatalx("a second command of number %u", msg->id);
	task_exec(w, msg->id, m);
}

/* The tree goes on to init; everything else is kept for sbxd. */
static void
worker_on_sfd(struct peer *p, struct msg *msg)
{
	struct worker		*w = p->ctx;
	const struct m_SFD	*m = msg->body;

	if (w->setup && strcmp(m->session, w->session) != 0)
		fatalx("a descriptor of session %s", m->session);
	if (kept_kind(m->kind)) {
		kept_add(w, m->kind, m->n, msg_take_fd(msg));
		return;
	}
	if (strcmp(m->kind, "tree") != 0)
		fatalx("a descriptor of kind \"%s\" from sbxd", m->kind);
	if (!w->setup || (w->init != NULL && !w->greeted))
		fatalx("a tree before init is set up");
	inside_send(w, MSG_SFD, 0, msg_take_fd(msg), m);
	peer_permit(p, MSG_GO, PERMIT_ONCE);
	/* init has nothing more to pass out, and now makes the terminal. */
	if (w->init != NULL) {
		peer_permit(w->init, MSG_SFD, PERMIT_NO);
		peer_permit(w->init, MSG_PTY, PERMIT_ALWAYS);
	}
}

static void
worker_on_go(struct peer *p, struct msg *msg)
{
	struct worker	*w = p->ctx;

	(void)msg;
	inside_send(w, MSG_GO, 0, -1, NULL);
	if (w->init != NULL)
		peer_permit(w->init, MSG_RUNNING, PERMIT_ONCE);
}

static void
worker_on_signal(struct peer *p, struct msg *msg)
{
	struct worker		*w = p->ctx;
	const struct m_SIGNAL	*m = msg->body;

	if (m->sig < 1 || m->sig > (uint64_t)SIGRTMAX)
		fatalx("no signal %llu", (unsigned long long)m->sig);
	inside_signal(&w->own, (int)m->sig);
}

static void
worker_on_sync(struct peer *p, struct msg *msg)
{
	struct worker	*w = p->ctx;

	if (!w->own.running)
		fatalx("SYNC in a session that does not run");
	inside_sync(w, msg->id);
}

/*
 * sbxd has connected anew and takes the session over: it gets everything that
 * is kept, and how far the command is. The earlier connection is void.
 */
static void
worker_on_hello(struct peer *p, struct msg *msg)
{
	struct worker	*w = p->ctx;
	struct m_HELLO	 mine;

	if (!proc_hello_fits(msg->body, ROLE_SBXD)) {
		log_warnx("%s: sbxd of another protocol or build", w->session);
		w->candidate = NULL;
		peer_free(p);
		return;
	}
	peer_free(w->sbxd);
	w->sbxd = p;
	w->candidate = NULL;
	broker_permits(p, true);
	proc_hello_fill(&mine, ROLE_WORKER);
	peer_send(p, MSG_HELLO, 0, -1, &mine);
	kept_give(w, p);
	if (w->own.running) {
		struct m_RUNNING m = { .pid = w->own.pid };

		peer_send(p, MSG_RUNNING, 0, -1, &m);
	}
	w->sbxd_told = false;
	end_settle(w);
}

/*
 * The end of sbxd, or its word that the session is to end: a closed socket is
 * both. Until sessions survive their broker the worker goes with it.
 */
static void
broker_gone(struct peer *p, const char *why)
{
	struct worker	*w = p->ctx;

	if (p == w->candidate) {
		log_warnx("%s: a connection to the session's socket: %s",
		    w->session, why != NULL ? why : "closed before HELLO");
		w->candidate = NULL;
		peer_free(p);
		return;
	}
	if (why != NULL)
		fatalx("from sbxd: %s", why);
	exit(0);
}

static const struct handler broker_table[] = {
	{ MSG_HELLO,	PERMIT_NO,	worker_on_hello },
	{ MSG_SETUP,	PERMIT_ONCE,	worker_on_setup },
	{ MSG_LISTEN,	PERMIT_ONCE,	worker_on_listen },
	{ MSG_ATTACH,	PERMIT_ALWAYS,	worker_on_attach },
	{ MSG_EXEC,	PERMIT_ALWAYS,	worker_on_exec },
	{ MSG_SFD,	PERMIT_ALWAYS,	worker_on_sfd },
	{ MSG_GO,	PERMIT_NO,	worker_on_go },
	{ MSG_SIGNAL,	PERMIT_ALWAYS,	worker_on_signal },
	{ MSG_SYNC,	PERMIT_ALWAYS,	worker_on_sync },
};

const struct peer_ops broker_ops = {
	.table = broker_table,
	.n = sizeof(broker_table) / sizeof(broker_table[0]),
	.gone = broker_gone,
};

/* One caller at a time, and only sbxd's uid, by the kernel's word. */
static void
broker_on_connect(evutil_socket_t lfd, short what, void *arg)
{
	struct worker	*w = arg;
	struct ucred	 cred;
	socklen_t	 len = sizeof(cred);
	int		 fd;

	(void)what;
	if ((fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) == -1)
		return;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1 ||
	    cred.uid != w->broker) {
		log_warnx("%s: uid %u connected to the session's socket, only "
		    "%u may", w->session, (unsigned int)cred.uid,
		    (unsigned int)w->broker);
		close(fd);
		return;
	}
	peer_free(w->candidate);
	w->candidate = peer_new(w->base, fd, ROLE_WORKER, ROLE_SBXD,
	    &broker_ops, w);
	if (w->candidate != NULL)
		broker_permits(w->candidate, false);
}

void
broker_listen(struct worker *w, int fd)
{
	socklen_t	len = sizeof(int);
	int		listening = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) == -1 ||
	    !listening)
		fatalx("LISTEN with a descriptor that does not listen");
	if (evutil_make_socket_nonblocking(fd) == -1 || (w->listener =
	    event_new(w->base, fd, EV_READ | EV_PERSIST, broker_on_connect,
	    w)) == NULL || event_add(w->listener, NULL) == -1)
		fatalx("watching the listening socket");
}
