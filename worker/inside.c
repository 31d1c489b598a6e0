/*
 * What init says. Nothing of it is believed further than its place in the
 * order allows: a message that is out of turn, of a kind that is not due, or
 * with a value that cannot be, ends init and the session.
 */
#include <sys/types.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "../privsep/proc.h"
#include "worker.h"

#define RANK_RO		2

/* In the order in which they come; nothing follows the project. */
static const struct {
	const char	*kind;
	int		 rank;
} inside_kinds[] = {
	{ "route", 1 }, { "ro", RANK_RO }, { "home", 3 }, { "project", 4 }
};

/* What a client will read comes from inside: the words are ours. */
static const char *const inside_codes[] = {
	"command.missing", "command.notexec", "cwd.missing", "init.failed",
	"init.protocol", "network.failed", "network.unknown", "path.symlink",
	"path.unreadable", "terminal.failed", "tree.failed"
};

void
inside_send(struct worker *w, uint32_t type, int fd, const void *body)
{
	if (w->init != NULL)
		peer_send(w->init, type, 0, fd, body);
	else if (fd != -1)
		close(fd);
}

/* One that comes before there is a command is not lost. */
void
inside_signal(struct worker *w, int sig)
{
	struct m_SIGNAL	m = { .sig = (uint64_t)sig };

	if (!w->running)
		w->early = sig;
	else if (!w->over)
		inside_send(w, MSG_SIGNAL, -1, &m);
}

/* init does not take what it is sent: the session is frozen, or it is. */
bool
inside_stuck(const struct worker *w)
{
	return (w->init != NULL && peer_queued(w->init) > 0);
}

/* init may pass its descriptors out once it is known and set up. */
void
inside_begin(struct worker *w)
{
	if (w->init != NULL && w->greeted && w->setup)
		peer_permit(w->init, MSG_SFD, PERMIT_ALWAYS);
}

void
inside_gone(struct worker *w, const char *why)
{
	struct peer	*p = w->init;

	if (p == NULL)
		return;
	w->init = NULL;
	peer_free(p);
	if (why != NULL) {
		log_warnx("%s: init: %s", w->session, why);
		end_because(w, "init.protocol", "the session's first process "
		    "sent something that it may not; the session was ended");
	} else
		end_because(w, "init.ended", w->running ? "the session's "
		    "first process ended before the command" : "the session's "
		    "first process ended before the command was started: the "
		    "suite's log says why");
	output_flow(w);
	end_settle(w);
}

static void
worker_on_hello(struct peer *p, struct msg *msg)
{
	struct worker	*w = p->ctx;

	if (!proc_hello_fits(msg->body, ROLE_INIT)) {
		inside_gone(w, "HELLO of another protocol or build");
		return;
	}
	w->greeted = true;
	inside_begin(w);
}

/* True if this descriptor is the next one that may come. */
static bool
inside_due(struct worker *w, const struct m_SFD *m)
{
	size_t	i;

	if (strcmp(m->session, w->session) != 0)
		return (false);
	for (i = 0; i < sizeof(inside_kinds) / sizeof(inside_kinds[0]); i++)
		if (strcmp(inside_kinds[i].kind, m->kind) == 0)
			break;
	if (i == sizeof(inside_kinds) / sizeof(inside_kinds[0]) ||
	    (inside_kinds[i].rank == 1 && !w->isolated))
		return (false);
	if (inside_kinds[i].rank == RANK_RO) {
		if (w->rank > RANK_RO || m->n < w->nextro || m->n >= w->nro)
			return (false);
		w->nextro = m->n + 1;
	} else if (inside_kinds[i].rank <= w->rank || m->n != 0)
		return (false);
	w->rank = inside_kinds[i].rank;
	return (true);
}

static void
worker_on_sfd(struct peer *p, struct msg *msg)
{
	struct worker	*w = p->ctx;

	if (!inside_due(w, msg->body)) {
		inside_gone(w, "a descriptor that is not due");
		return;
	}
	peer_send(w->sbxd, MSG_SFD, 0, msg_take_fd(msg), msg->body);
}

static void
worker_on_pty(struct peer *p, struct msg *msg)
{
	struct worker		*w = p->ctx;
	const struct m_PTY	*m = msg->body;
	unsigned int		 all = w->tty ? 1 : 3;
	int			 r;

	if (m->tty != w->tty || m->n != w->wired || w->wired == all) {
		inside_gone(w, "a terminal or pipe that is not due");
		return;
	}
	if (m->n == 0)
		r = input_take(w, msg_take_fd(msg));
	else
		r = output_take(w, (unsigned int)m->n, msg_take_fd(msg));
	if (r == -1) {
		inside_gone(w, "a terminal or pipe that is none");
		return;
	}
	if (++w->wired == all)
		peer_permit(p, MSG_PTY, PERMIT_NO);
}

static void
worker_on_running(struct peer *p, struct msg *msg)
{
	struct worker		*w = p->ctx;
	const struct m_RUNNING	*m = msg->body;

	if (w->wired != (w->tty ? 1 : 3) || m->pid > INT32_MAX) {
		inside_gone(w, "RUNNING without a terminal, or of no process");
		return;
	}
	peer_permit(p, MSG_EXITED, PERMIT_ONCE);
	w->running = true;
	w->pid = m->pid;
	peer_send(w->sbxd, MSG_RUNNING, 0, -1, m);
	client_all(w, MSG_RUNNING, m);
	output_flow(w);
	if (w->early != 0)
		inside_signal(w, w->early);
}

static void
worker_on_exited(struct peer *p, struct msg *msg)
{
	struct worker		*w = p->ctx;
	const struct m_EXITED	*m = msg->body;

	if (m->status > 255) {
		inside_gone(w, "EXITED with a status above 255");
		return;
	}
	w->exited = true;
	w->over = true;
	w->status = m->status;
	w->ms = m->ms;
	if (w->running)
		end_settle(w);
	else	/* what failed has been told; the status comes on top */
		peer_send(w->sbxd, MSG_EXITED, 0, -1, m);
}

static void
worker_on_error(struct peer *p, struct msg *msg)
{
	struct worker		*w = p->ctx;
	const struct m_ERROR	*m = msg->body;
	size_t			 i;

	for (i = 0; i < sizeof(inside_codes) / sizeof(inside_codes[0]); i++)
		if (strcmp(inside_codes[i], m->code) == 0)
			break;
	if (i == sizeof(inside_codes) / sizeof(inside_codes[0]) ||
	    w->code != NULL) {
		inside_gone(w, "an error that it may not report");
		return;
	}
	end_because(w, m->code, m->message);
	if (strncmp(m->code, "command.", 8) == 0 && !w->running)
		peer_permit(p, MSG_EXITED, PERMIT_ONCE);
}

static void
inside_end(struct peer *p, const char *why)
{
	inside_gone(p->ctx, why);
}

static const struct handler inside_table[] = {
	{ MSG_HELLO,	PERMIT_ONCE,	worker_on_hello },
	{ MSG_ERROR,	PERMIT_ALWAYS,	worker_on_error },
	{ MSG_SFD,	PERMIT_NO,	worker_on_sfd },
	{ MSG_PTY,	PERMIT_NO,	worker_on_pty },
	{ MSG_RUNNING,	PERMIT_NO,	worker_on_running },
	{ MSG_EXITED,	PERMIT_NO,	worker_on_exited },
};

const struct peer_ops inside_ops = {
	.table = inside_table,
	.n = sizeof(inside_table) / sizeof(inside_table[0]),
	.gone = inside_end,
};
