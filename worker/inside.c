/*
 * What init says. Nothing of it is believed further than its place in the
 * order allows: a message that is out of turn, of a kind that is not due, or
 * with a value that cannot be, ends init and the session.
 */
#include <sys/types.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "../privsep/proc.h"
#include "worker.h"

#define RANK_RO		2
#define RANK_ROOT	4

/* In the order in which they come; nothing follows the last root. */
static const struct {
	const char	*kind;
	int		 rank;
} inside_kinds[] = {
	{ "route", 1 }, { "ro", RANK_RO }, { "home", 3 },
	{ "project", RANK_ROOT }
};

/* What a client will read comes from inside: the words are ours. */
static const char *const inside_codes[] = {
	"command.missing", "command.notexec", "cwd.missing", "init.failed",
	"init.protocol", "network.failed", "network.unknown", "path.symlink",
	"path.unreadable", "terminal.failed", "tree.failed"
};

void
inside_send(struct worker *w, uint32_t type, uint32_t n, int fd,
    const void *body)
{
	if (w->init != NULL)
		peer_send(w->init, type, n, fd, body);
	else if (fd != -1)
		close(fd);
}

/* One that comes before there is a command is not lost. */
void
inside_signal(struct task *t, int sig)
{
	struct m_SIGNAL	m = { .sig = (uint64_t)sig };

	if (!t->running)
		t->early = sig;
	else if (!t->over)
		inside_send(t->w, MSG_SIGNAL, t->n, -1, &m);
}

/* Who asks again has given the earlier one up: both are answered as one. */
void
inside_sync(struct worker *w, uint32_t number)
{
	w->sync = number;
	if (w->init == NULL) {
		peer_send(w->sbxd, MSG_OK, number, -1, NULL);
		return;
	}
	w->syncs++;
	peer_permit(w->init, MSG_OK, PERMIT_ALWAYS);
	inside_send(w, MSG_SYNC, number, -1, NULL);
}

static void
inside_synced(struct worker *w)
{
	w->syncs = 0;
	peer_send(w->sbxd, MSG_OK, w->sync, -1, NULL);
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

/* With it went all that it had started. */
static void
inside_lost(struct worker *w)
{
	struct task	*t;

	TAILQ_FOREACH(t, &w->tasks, entry) {
		if (t->n != 0)
			end_because(t, "session.ended", "the session has "
			    "ended, and this command with it");
		output_flow(t);
	}
}

void
inside_gone(struct worker *w, const char *why)
{
	struct peer	*p = w->init;

	if (p == NULL)
		return;
	w->init = NULL;
	peer_free(p);
	if (w->syncs > 0)
		inside_synced(w);
	if (why != NULL) {
		log_warnx("%s: init: %s", w->session, why);
		end_because(&w->own, "init.protocol", "the session's first "
		    "process sent something that it may not; the session was "
		    "ended");
	} else
		end_because(&w->own, "init.ended", w->own.running ?
		    "the session's first process ended before the command" :
		    "the session's first process ended before the command was "
		    "started: the suite's log says why");
	inside_lost(w);
	end_settle(w);
}

/*
 * Whose this message is; NULL where that one's client has gone meanwhile and
 * it was given up, or init has been dropped for naming one that never was.
 */
static struct task *
inside_task(struct worker *w, const struct msg *msg)
{
	struct task	*t = task_find(w, msg->id);

	if (t == NULL && msg->id > w->lastn)
		inside_gone(w, "a message about a command that never was");
	return (t == NULL || (t->n != 0 && t->code != NULL) ? NULL : t);
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

static void
worker_on_ok(struct peer *p, struct msg *msg)
{
	struct worker	*w = p->ctx;

	(void)msg;
	if (--w->syncs > 0)
		return;
	peer_permit(p, MSG_OK, PERMIT_NO);
	inside_synced(w);
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
	} else if (inside_kinds[i].rank == RANK_ROOT) {
		if (m->n != w->nextroot || m->n >= w->nroots)
			return (false);
		w->nextroot = m->n + 1;
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
	struct task		*t;
	int			 r;

	if ((t = inside_task(w, msg)) == NULL)
		return;
	if (m->tty != t->tty || m->n != t->wired ||
	    t->wired == task_wires(t)) {
		inside_gone(w, "a terminal or pipe that is not due");
		return;
	}
	if (m->n == 0)
		r = input_take(t, msg_take_fd(msg));
	else
		r = output_take(t, (unsigned int)m->n, msg_take_fd(msg));
	if (r == -1) {
		inside_gone(w, "a terminal or pipe that is none");
		return;
	}
	if (++t->wired == task_wires(t) && t->n == 0)
		peer_permit(p, MSG_PTY, PERMIT_NO);
}

/* Its client is gone, and it was given up before it began. */
static void
inside_unwanted(struct worker *w, uint32_t n)
{
	struct m_SIGNAL	m = { .sig = SIGKILL };

	if (w->init != NULL)
		inside_send(w, MSG_SIGNAL, n, -1, &m);
}

static void
worker_on_running(struct peer *p, struct msg *msg)
{
	struct worker		*w = p->ctx;
	const struct m_RUNNING	*m = msg->body;
	struct task		*t;

	if ((t = inside_task(w, msg)) == NULL) {
		inside_unwanted(w, msg->id);
		return;
	}
	if (t->running || t->wired != task_wires(t) || m->pid > INT32_MAX) {
		inside_gone(w, "RUNNING without a terminal, twice, or of no "
		    "process");
		return;
	}
	t->running = true;
	t->pid = m->pid;
	if (t->n == 0) {
		peer_permit(p, MSG_EXITED, PERMIT_ONCE);
		peer_send(w->sbxd, MSG_RUNNING, 0, -1, m);
	}
	client_feed_all(t);
	output_flow(t);
	if (t->early != 0)
		inside_signal(t, t->early);
}

/* As wait(2) has them: a signal's status is 128 and its number. */
static bool
inside_status(const struct m_EXITED *m)
{
	return (m->status <= 255 && (m->signal == 0 ||
	    (m->status > 128 && m->signal == m->status - 128)));
}

static void
worker_on_exited(struct peer *p, struct msg *msg)
{
	struct worker		*w = p->ctx;
	const struct m_EXITED	*m = msg->body;
	struct task		*t;

	if ((t = inside_task(w, msg)) == NULL)
		return;
	if (!inside_status(m) || t->exited ||
	    (!t->running && (t->n != 0 || t->code == NULL))) {
		inside_gone(w, "EXITED twice, of what did not run, or with a "
		    "status that cannot be");
		return;
	}
	t->exited = true;
	t->over = true;
	t->status = m->status;
	t->signal = m->signal;
	t->ms = m->ms;
	t->written = t->history.end;
	output_flow(t);
	if (t->running)
		end_settle(w);
	else	/* what failed has been told; the status comes on top */
		peer_send(w->sbxd, MSG_EXITED, 0, -1, m);
}

static void
worker_on_error(struct peer *p, struct msg *msg)
{
	struct worker		*w = p->ctx;
	const struct m_ERROR	*m = msg->body;
	struct task		*t;
	size_t			 i;

	if ((t = inside_task(w, msg)) == NULL)
		return;
	for (i = 0; i < sizeof(inside_codes) / sizeof(inside_codes[0]); i++)
		if (strcmp(inside_codes[i], m->code) == 0)
			break;
	if (i == sizeof(inside_codes) / sizeof(inside_codes[0]) ||
	    t->code != NULL || (t->n != 0 && t->running)) {
		inside_gone(w, "an error that it may not report");
		return;
	}
	end_because(t, m->code, m->message);
	if (t->n != 0)
		end_settle(w);
	else if (strncmp(m->code, "command.", 8) == 0 && !t->running)
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
	{ MSG_OK,	PERMIT_NO,	worker_on_ok },
};

const struct peer_ops inside_ops = {
	.table = inside_table,
	.n = sizeof(inside_table) / sizeof(inside_table[0]),
	.gone = inside_end,
};
