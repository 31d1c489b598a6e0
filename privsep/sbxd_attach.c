/*
 * JOIN and EXEC: a client's connection becomes a terminal of a session that
 * runs, or that of another command in it. We hand the socket to the session's
 * worker, and hear nothing of it any more.
 *
 * Before that mountd refreshes home and project: who comes finds the real files
 * as they are, also those that their owner has replaced by a rename, or made or
 * removed, since the session looked.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/env.h"
#include "../common/log.h"
#include "../common/path.h"
#include "sbxd.h"

/* Each is looked for in the session's environment, while others wait. */
#define EXEC_ENV_MAX	256

/* A request that waits for the refresh; nothing follows it meanwhile. */
struct turn {
	TAILQ_ENTRY(turn) entry;
	uint32_t	 number;	/* of REFRESH */
	struct client	*client;	/* NULL: gone */
	struct msg	 msg;
};
static TAILQ_HEAD(, turn)	turns = TAILQ_HEAD_INITIALIZER(turns);

static bool
attach_state(struct peer *p, uint32_t id, const struct session *s)
{
	switch (s->state) {
	case S_RUNNING:
		if (s->worker != NULL)
			return (true);
		break;
	case S_STARTING:
		peer_error(p, id, "session.starting", "session %s is only "
		    "starting: try again", s->rec.r.session);
		return (false);
	default:
		break;
	}
	peer_error(p, id, "session.ended", "session %s has ended: nothing "
	    "runs in it, \"sbxctl resume %s\" starts it again",
	    s->rec.r.session, s->rec.r.session);
	return (false);
}

/* NULL: ERROR was answered. */
static struct session *
attach_session(struct peer *p, uint32_t id, const char *sid)
{
	struct session		*s = client_session(p, id, sid);

	if (s == NULL || !client_allowed(p, id, s, ACT_TYPE) ||
	    !attach_state(p, id, s))
		return (NULL);
	return (s);
}

bool
audit_other(struct peer *p, uint32_t id, const char *what,
    const struct session *s, const char *word)
{
	const struct client	*c = p->ctx;

	if (c->uid == s->rec.r.peer)
		return (true);
	log_info("session %s: %s by uid %u, whose owner is %s",
	    s->rec.r.session, what, (unsigned int)c->uid, s->rec.r.owner);
	if (audit(what, s, NULL, c->uid, NULL, "owner=%s%s%s", s->rec.r.owner,
	    word != NULL ? " command=" : "", word != NULL ?
	    audit_word(word).s : "") == 0)
		return (true);
	peer_error(p, id, "audit.failed", "%s", state_why("the audit log "
	    "cannot be written, so only its owner types into a session"));
	return (false);
}

/*
 * The answer, and with it the connection is the worker's: what followed the
 * request already, nobody would ever read. -1: it was refused.
 */
static int
attach_take(struct peer *p, uint32_t id, const struct session *s)
{
	struct client	*c = p->ctx;
	int		 fd;

	if (p->ib.inlen > 0) {
		peer_error(p, id, "protocol.order", "something followed before "
		    "the answer: wait for it");
		return (-1);
	}
	client_send_brief(c, id, s, false);
	if (peer_release(p, &fd) == -1) {
		peer_error(p, id, "limit.unread", "earlier answers were not "
		    "read: read them first");
		return (-1);
	}
	c->peer = NULL;
	client_drop(c);
	return (fd);
}

/* The session of a JOIN that can be granted; NULL: ERROR was answered. */
static struct session *
join_session(struct peer *p, const struct msg *msg)
{
	const struct m_SID	*m = msg->body;
	struct session		*s;

	if ((s = attach_session(p, msg->id, m->session)) == NULL ||
	    s->rec.r.tty)
		return (s);
	peer_error(p, msg->id, "session.noterminal", "session %s has no "
	    "terminal: its command works through pipes", s->rec.r.session);
	return (NULL);
}

/* False: ERROR was answered, else the client is gone from here. */
static bool
join_now(struct peer *p, const struct msg *msg)
{
	struct session	*s;
	int		 fd;

	if ((s = join_session(p, msg)) == NULL ||
	    !audit_other(p, msg->id, "attach", s, NULL) ||
	    (fd = attach_take(p, msg->id, s)) == -1)
		return (false);
	peer_send(s->worker, MSG_ATTACH, 0, fd, NULL);
	return (true);
}

/* NULL, or what is wrong: code in *code, the value in *value. */
static const char *
exec_wrong(const struct m_EXEC *m, const struct session *s,
    const char **code, const char **value)
{
	size_t	i;

	*value = "";
	*code = "command.none";
	if (m->argv.n == 0 || m->argv.v[0][0] == '\0')
		return ("there is no command");
	*code = "env.invalid";
	if (m->env.n > EXEC_ENV_MAX ||
	    m->env.n + s->rec.r.env.n >= LIMIT_ARGC)
		return ("too many variables");
	for (i = 0; i < m->env.n; i++)
		if (!env_valid(m->env.v[i]) || env_never(m->env.v[i])) {
			*value = m->env.v[i];
			return ("this variable does not enter a session");
		}
	*code = "command.toolong";
	if (strv_bytes(&m->argv) + strv_bytes(&m->env) +
	    strv_bytes(&s->rec.r.env) > LISTS_BYTES)
		return ("command and environment are too long, together");
	*code = "cwd.invalid";
	if (m->cwd != NULL && !path_is_canonical(m->cwd)) {
		*value = m->cwd;
		return ("the folder is not an absolute, clean path");
	}
	*code = "size.invalid";
	if (m->rows > UINT16_MAX || m->cols > UINT16_MAX)
		return ("a size out of bounds");
	return (NULL);
}

static bool
env_over(const char *own, const struct strv *more)
{
	size_t	i, len = strcspn(own, "=") + 1;

	for (i = 0; i < more->n; i++)
		if (strncmp(own, more->v[i], len) == 0)
			return (true);
	return (false);
}

/* The session's environment, with the request's variables over it. */
static void
exec_send(struct session *s, uint32_t n, const struct m_EXEC *m, int fd)
{
	struct m_EXEC	  all = *m;
	const char	**own, **env;
	char		  mark[64];
	size_t		  i;

	own = session_env(s, mark, sizeof(mark));
	env = calloc(s->rec.r.env.n + m->env.n + 2, sizeof(*env));
	if (env == NULL)
		fatal("environment");
	all.env.n = 0;
	for (i = 0; own[i] != NULL; i++)
		if (!env_over(own[i], &m->env))
			env[all.env.n++] = own[i];
	for (i = 0; i < m->env.n; i++)
		env[all.env.n++] = m->env.v[i];
	all.env.v = env;
	all.session = s->rec.r.session;
	if (all.cwd == NULL)
		all.cwd = s->rec.r.cwd;
	all.umask = s->rec.r.umask;
	peer_send(s->worker, MSG_EXEC, n, -1, &all);
	peer_send(s->worker, MSG_ATTACH, n, fd, NULL);
	free(own);
	free(env);
}

/* The same of an EXEC. */
static struct session *
exec_session(struct peer *p, const struct msg *msg)
{
	const struct m_EXEC	*m = msg->body;
	const char		*code, *value, *why;
	struct session		*s;

	if ((s = attach_session(p, msg->id, m->session)) == NULL ||
	    (why = exec_wrong(m, s, &code, &value)) == NULL)
		return (s);
	peer_error(p, msg->id, code, "%s%s%s", value, value[0] == '\0' ? "" :
	    ": ", why);
	return (NULL);
}

/* True also where it is held, and heard again. */
static bool
exec_now(struct peer *p, struct msg *msg)
{
	static uint32_t		 number;
	const struct m_EXEC	*m = msg->body;
	struct session		*s;
	int			 fd;

	if ((s = exec_session(p, msg)) == NULL)
		return (false);
	if (hold_exec(p, msg, s))
		return (true);
	if (!audit_other(p, msg->id, "exec", s, m->argv.v[0]) ||
	    (fd = attach_take(p, msg->id, s)) == -1)
		return (false);
	/* 0 is the session's own. */
	if (++number == 0)
		number++;
	exec_send(s, number, m, fd);
	return (true);
}

static void
turn_begin(struct peer *p, struct msg *msg, const struct session *s)
{
	struct m_SID	 sid = { .session = s->rec.r.session };
	struct turn	*t;

	if ((t = calloc(1, sizeof(*t))) == NULL)
		fatal("a request");
	t->number = job_number();
	t->client = p->ctx;
	t->msg = *msg;
	memset(msg, 0, sizeof(*msg));
	msg->fd = -1;
	TAILQ_INSERT_TAIL(&turns, t, entry);
	peer_pause(p);
	peer_send(sbxd.helper[H_MOUNTD], MSG_REFRESH, t->number, -1, &sid);
}

bool
attach_refreshed(uint32_t number, const char *why)
{
	struct turn	*t;
	struct peer	*p;

	TAILQ_FOREACH(t, &turns, entry)
		if (t->number == number)
			break;
	if (t == NULL)
		return (false);
	TAILQ_REMOVE(&turns, t, entry);
	/* Old names are no reason to keep anybody out. */
	if (why != NULL)
		log_warnx("the files of a session, anew: %s", why);
	if (t->client != NULL) {
		p = t->client->peer;
		if (!(t->msg.type == MSG_JOIN ? join_now(p, &t->msg) :
		    exec_now(p, &t->msg)))
			peer_resume(p);
	}
	msg_free(&t->msg);
	free(t);
	return (true);
}

void
attach_client_gone(const struct client *c)
{
	struct turn	*t;

	TAILQ_FOREACH(t, &turns, entry)
		if (t->client == c)
			t->client = NULL;
}

void
client_on_join(struct peer *p, struct msg *msg)
{
	const struct session	*s;

	if ((s = join_session(p, msg)) != NULL)
		turn_begin(p, msg, s);
}

void
client_on_exec(struct peer *p, struct msg *msg)
{
	const struct session	*s;

	if ((s = exec_session(p, msg)) != NULL)
		turn_begin(p, msg, s);
}
