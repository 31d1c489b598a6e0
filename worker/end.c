/*
 * How a command comes to its end: first everything that it wrote, then its
 * status, to its clients; and only when those have all of it that have to
 * get it, to sbxd, which will then close the worker.
 */
#include <sys/types.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "worker.h"

#define GRACE_HUP	5	/* s to heed the hang-up */
#define GRACE_KILL	2	/* s for init to obey */
/* What is still on its way to those that are not waited for. */
#define END_LINGER	2	/* s */

void
end_say(struct task *t, struct peer *p)
{
	struct m_EXITED	exited = { .status = t->status, .ms = t->ms,
	    .signal = t->signal };
	struct m_ERROR	error = { .code = t->code, .message = t->reason };

	if (t->exited)
		peer_send(p, MSG_EXITED, 0, -1, &exited);
	else
		peer_send(p, MSG_ERROR, 0, -1, &error);
}

/* The first reason counts. Before the session's command runs sbxd is told at
 * once, and it tells the client. */
void
end_because(struct task *t, const char *code, const char *reason)
{
	if (t->over)
		return;
	t->over = true;
	if ((t->code = strdup(code)) == NULL ||
	    (t->reason = strdup(reason)) == NULL)
		fatal("the session's end");
	if (t->running)
		return;
	if (t->n != 0)
		output_stop(t);	/* nothing was written */
	else {
		t->w->sbxd_told = true;
		end_say(t, t->w->sbxd);
	}
}

/* Each client, once it has all that was written. */
static void
end_tell(struct task *t)
{
	struct client	*c;

	if (!t->over || (t->n == 0 && !t->running) ||
	    (t->running && output_open(t)))
		return;
	TAILQ_FOREACH(c, &t->clients, entry)
		if (!c->told && client_served(c)) {
			c->told = true;
			end_say(t, c->peer);
		}
}

/* True while somebody who has to get it has not taken everything. */
static bool
end_waits(struct worker *w)
{
	static const struct timeval	 tv = { .tv_sec = END_LINGER };
	const struct client		*c;
	const struct task		*t;
	bool				 others = false;

	TAILQ_FOREACH(t, &w->tasks, entry) {
		if (t->running && output_open(t))
			others = true;
		TAILQ_FOREACH(c, &t->clients, entry) {
			if (c->told && peer_queued(c->peer) == 0)
				continue;
			if (c->whole && t->n == 0)
				return (true);
			others = true;
		}
	}
	if (others && !w->lingered && !evtimer_pending(w->linger, NULL))
		evtimer_add(w->linger, &tv);
	return (others && !w->lingered);
}

void
end_settle(struct worker *w)
{
	struct task	*t;

	TAILQ_FOREACH(t, &w->tasks, entry)
		end_tell(t);
	if (w->ntasks > 1)
		tasks_reap(w);
	if (!w->own.over || !w->own.running || output_open(&w->own) ||
	    w->sbxd_told || end_waits(w))
		return;
	w->sbxd_told = true;
	end_say(&w->own, w->sbxd);
}

static void
end_on_linger(evutil_socket_t fd, short what, void *arg)
{
	struct worker	*w = arg;

	(void)fd;
	(void)what;
	w->lingered = true;
	end_settle(w);
}

void
end_begin(struct worker *w)
{
	if ((w->linger = evtimer_new(w->base, end_on_linger, w)) == NULL)
		fatalx("a timer");
}

/* It did not heed KILL, or the session is frozen. */
static void
end_give_up(struct task *t)
{
	static const char	why[] = "the client hung up and the session's "
				    "first process did not end the command";
	struct worker		*w = t->w;

	end_because(t, "session.hangup", why);
	if (t->n == 0)
		inside_gone(w, NULL);
	else
		end_settle(w);
}

static void
end_on_grace(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval	 kill_tv = { .tv_sec = GRACE_KILL };
	struct task			*t = arg;

	(void)fd;
	(void)what;
	if (t->over)
		return;
	if (t->grace_stage++ == 0) {
		inside_signal(t, SIGKILL);
		evtimer_add(t->grace, &kill_tv);
		return;
	}
	end_give_up(t);
}

/*
 * Whose command it is has gone: the command is told as by a terminal that is
 * gone, and what does not heed it is killed; a start that does not come to an
 * end is given up.
 */
void
end_hangup(struct task *t)
{
	static const struct timeval	hup_tv = { .tv_sec = GRACE_HUP };

	if (t->over || t->grace != NULL)
		return;
	inside_signal(t, SIGHUP);
	if ((t->grace = evtimer_new(t->w->base, end_on_grace, t)) == NULL ||
	    evtimer_add(t->grace, &hup_tv) == -1)
		fatalx("a timer");
}
