/*
 * What a session's command does not decide itself: STOP and KILL end it, and
 * RESUME starts one anew over the layer of a session that has ended, with all
 * that was frozen when it was made.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/env.h"
#include "../common/log.h"
#include "sbxd.h"

/* For the command to heed a STOP; for init to obey a KILL, which it cannot
 * while it is frozen. Then the lifeline is cut. */
static const struct timeval	stop_grace = { .tv_sec = 5 };
static const struct timeval	kill_grace = { .tv_usec = 500000 };

static void
life_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	session_end(arg, NULL);
}

static void
life_signal(struct session *s, int sig)
{
	struct m_SIGNAL	m = { .sig = (uint64_t)sig };

	peer_send(s->worker, MSG_SIGNAL, 0, -1, &m);
}

void
session_grace_end(struct session *s)
{
	if (s->grace != NULL)
		event_free(s->grace);
	s->grace = NULL;
	s->dying = false;
}

static void
life_grace(struct session *s, const struct timeval *tv)
{
	session_grace_end(s);
	s->grace = evtimer_new(sbxd.base, life_on_timer, s);
	if (s->grace == NULL || event_add(s->grace, tv) == -1)
		fatalx("a timer");
}

/* By signals first, so that whoever is attached sees how it ended. */
static void
life_end(struct session *s, bool kill)
{
	if (kill) {
		life_signal(s, SIGKILL);
		/* Asked again and again it would never come. */
		if (!s->dying)
			life_grace(s, &kill_grace);
		s->dying = true;
	} else if (s->grace == NULL) {
		/* HUP wakes a stopped command, too. */
		life_signal(s, SIGHUP);
		life_signal(s, SIGTERM);
		life_grace(s, &stop_grace);
	}
}

static void
life_ask(struct peer *p, struct msg *msg, bool kill)
{
	const struct m_SID	*m = msg->body;
	struct client		*c = p->ctx;
	struct session		*s;
	char			 why[64];

	if ((s = client_session(p, msg->id, m->session)) == NULL ||
	    !client_allowed(p, msg->id, s, ACT_END))
		return;
	if (s->state == S_ENDED || s->state == S_FAILED) {
		client_send_end(c, msg->id, s);
		return;
	}
	if (!client_await(c, msg, s, false))
		return;
	snprintf(why, sizeof(why), "%s by uid:%u", kill ? "killed" :
	    "stopped", (unsigned int)c->uid);
	if (s->state == S_STARTING)
		session_fail(s, "session.stopped", why);
	else if (s->state == S_RUNNING) {
		session_set(s, S_RUNNING, why);
		life_end(s, kill);
	}
}

void
client_on_stop(struct peer *p, struct msg *msg)
{
	life_ask(p, msg, false);
}

void
client_on_kill(struct peer *p, struct msg *msg)
{
	life_ask(p, msg, true);
}

/*
 * Who may resume it, as far as spawn lets him: as oneself, or as root. Groups
 * are then the record's: of a session that says it is a user's and has root's
 * group they are not known.
 */
static const char *
resume_denied(const struct client *c, const struct m_RECORD *r)
{
	if (c->uid != r->uid && r->uid != 0 && r->gid == 0 &&
	    r->peer == r->uid)
		return ("its user's groups are not known: only that user "
		    "resumes it");
	return (NULL);
}

/* The one reason why not now, or NULL. */
static const char *
resume_busy(const struct session *s, const char **code)
{
	*code = "session.ending";
	if (s->state == S_ENDING)
		return ("it is about to end: try again");
	*code = "session.running";
	if (s->state != S_ENDED && s->state != S_FAILED)
		return ("it has not ended: stop it first");
	if (s->state == S_FAILED || s->rec.r.ino == 0)
		return ("it never came to run: start a new session");
	*code = "land.busy";
	if (s->job != NULL)
		return ("it is being reviewed or landed: try again");
	*code = "suite.ending";
	return (sbxd.stopping ? "the suite is ending" : NULL);
}

static bool
term_is_sane(const char *var)
{
	return (env_valid(var) && (strncmp(var, "TERM=", 5) == 0 ||
	    strncmp(var, "COLORTERM=", 10) == 0));
}

static bool
name_is_same(const char *a, const char *b)
{
	size_t	n = strcspn(a, "=");

	return (strncmp(a, b, n) == 0 && b[n] == '=');
}

static bool
names_have(const struct strv *v, size_t n, const char *var)
{
	size_t	i;

	for (i = 0; i < n; i++)
		if (name_is_same(v->v[i], var))
			return (true);
	return (false);
}

static const char *
term_insane(const struct strv *term)
{
	size_t	i;

	for (i = 0; i < term->n; i++) {
		if (!term_is_sane(term->v[i]))
			return ("a variable that is not the terminal's: its "
			    "environment is frozen");
		if (names_have(term, i, term->v[i]))
			return ("a variable of the terminal's twice");
	}
	return (NULL);
}

/* As many as NEW lets in: the session's mark is one more. */
static bool
env_fits(const struct strv *env, const struct strv *term)
{
	size_t	i, n = term->n;

	for (i = 0; i < env->n; i++)
		if (!names_have(term, term->n, env->v[i]))
			n++;
	return (n < LIMIT_ARGC);
}

static const char *
resume_insane(const struct session *s, const struct m_RESUME *m)
{
	const struct m_RECORD	*r = &s->rec.r;
	const struct strv	*argv = m->argv.n > 0 ? &m->argv : &r->argv;
	const char		*why;

	if (argv->v[0][0] == '\0')
		return ("the command is empty: name one");
	if ((why = term_insane(&m->term)) != NULL)
		return (why);
	if (!env_fits(&r->env, &m->term))
		return ("with the terminal's variables its environment has "
		    "too many");
	if (m->rows > 65535 || m->cols > 65535)
		return ("a terminal's size out of bounds");
	if (strv_bytes(argv) + strv_bytes(&r->env) + strv_bytes(&m->term) +
	    strv_bytes(&r->hide) + strv_bytes(&r->ro) +
	    strv_bytes(&r->more) > LISTS_BYTES)
		return ("command, environment and paths are too long, all "
		    "together");
	return (NULL);
}

/* The frozen environment in another terminal. */
static const char **
resume_env(const struct strv *env, const struct strv *term, size_t *n)
{
	const char	**v;
	size_t		  i;

	if ((v = calloc(env->n + term->n + 1, sizeof(*v))) == NULL)
		fatal("environment");
	for (i = *n = 0; i < env->n; i++)
		if (!names_have(term, term->n, env->v[i]))
			v[(*n)++] = env->v[i];
	for (i = 0; i < term->n; i++)
		v[(*n)++] = term->v[i];
	return (v);
}

/* The record of the next generation; -1: errno. */
static int
resume_record(struct session *s, const struct m_RESUME *m)
{
	struct m_RECORD	 r = s->rec.r;
	struct record	 rec;
	const char	**env;
	size_t		 n;
	int		 rv;

	env = resume_env(&r.env, &m->term, &n);
	r.env.n = n;
	r.env.v = env;
	if (m->argv.n > 0)
		r.argv = m->argv;
	r.generation++;
	r.boot = sbxd.boot;
	r.tty = m->tty;
	r.exited = r.outside = false;
	r.ended = r.status = r.signal = r.ms = 0;
	r.reason = NULL;
	r.init = r.initfd = r.worker = r.workerfd = 0;
	memset(&r.notes, 0, sizeof(r.notes));
	memset(&r.missing, 0, sizeof(r.missing));
	memset(&r.ns, 0, sizeof(r.ns));
	rv = record_copy(&rec, &r);
	free(env);
	if (rv == -1)
		return (-1);
	s->before = s->rec;
	s->rec = rec;
	return (0);
}

/* As a new session's, but for the layer, which is there, and for what landed
 * of it. */
static void
resume_begin(struct session *s)
{
	s->state = S_STARTING;
	s->started = s->mounted = s->netup = s->went = false;
	s->sealed = 0;
	s->killed = s->released = s->pristine = s->empty = false;
	s->ran = true;
	memset(s->ns, 0, sizeof(s->ns));
}

void
session_resume_empty(struct session *s)
{
	s->empty = true;
}

void
session_resume_undo(struct session *s)
{
	uint64_t	 generation = s->rec.r.generation;
	char		 why[LIMIT_MESSAGE + 1];

	snprintf(why, sizeof(why), "a resume of it failed: %.2048s",
	    s->rec.r.reason != NULL ? s->rec.r.reason : "it did not start");
	record_free(&s->rec);
	s->rec = s->before;
	memset(&s->before, 0, sizeof(s->before));
	/* Evidence of what was begun is void all the same, and with it what
	 * was known of the start before: its namespaces' room is the same. */
	s->rec.r.generation = generation;
	s->rec.r.init = s->rec.r.initfd = 0;
	s->rec.r.worker = s->rec.r.workerfd = 0;
	memset(&s->rec.r.ns, 0, sizeof(s->rec.r.ns));
	session_reason(s, why);
}

/* Nothing of it has been asked of anybody. */
static void
resume_give_up(struct session *s)
{
	if (s->worker != NULL)
		peer_free(s->worker);
	s->worker = NULL;
	if (s->starter_fd != -1)
		close(s->starter_fd);
	s->starter_fd = -1;
	s->starter = NULL;
	unlink(s->rec.r.session);
	session_resume_undo(s);
	s->state = S_ENDED;
	s->killed = s->released = true;
	session_save(s);
	idle_check();
}

/* The session, if this client can resume it now; else the answer is given, or
 * it is asked again. */
static struct session *
resume_session(struct peer *p, struct msg *msg)
{
	const struct m_RESUME	*m = msg->body;
	uint32_t		 id = msg->id;
	const struct client	*c = p->ctx;
	struct session		*s;
	const char		*why, *code = "auth.denied";

	if ((s = client_session(p, id, m->session)) == NULL ||
	    !client_allowed(p, id, s, ACT_RESUME) || hold_resume(p, msg, s))
		return (NULL);
	if ((why = resume_denied(c, &s->rec.r)) == NULL &&
	    (why = resume_busy(s, &code)) == NULL) {
		code = "resume.invalid";
		why = resume_insane(s, m);
	}
	if (why == NULL && !share_is_left(c, s)) {
		code = "limit.sessions";
		why = "there are too many sessions, or too large ones: remove "
		    "some by sbxctl rm";
	}
	if (why != NULL) {
		peer_error(p, id, code, "session %s: %s", m->session, why);
		return (NULL);
	}
	/* Its layer may hold what landed, as if it were a change. */
	if (job_interrupted(s)) {
		job_recover(s, p->ctx, id);
		return (NULL);
	}
	return (s);
}

void
client_on_resume(struct peer *p, struct msg *msg)
{
	const struct m_RESUME	*m = msg->body;
	struct m_NEW		 terminal = {
		.attach = m->attach, .rows = m->rows, .cols = m->cols
	};
	struct session		*s;
	const char		*what;

	if ((s = resume_session(p, msg)) == NULL ||
	    !audit_other(p, msg->id, "resume", s, m->argv.n > 0 ?
	    m->argv.v[0] : NULL))
		return;
	session_sync(s);
	if (resume_record(s, m) == -1) {
		peer_error(p, msg->id, "state.failed", "the record of session "
		    "%s: %s", m->session, strerror(errno));
		return;
	}
	resume_begin(s);
	if (session_start(s, p->ctx, msg->id, &terminal, &what) == -1) {
		peer_error(p, msg->id, "start.failed", "%s", fds_why(what));
		resume_give_up(s);
		return;
	}
	session_save(s);
	session_sync_soon(s);
	idle_check();
}
