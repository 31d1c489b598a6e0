/*
 * Commands: the session's own, and those that EXEC adds. An added one has one
 * client, whose word and bytes it is run by, and it keeps nothing alive.
 */
#include <stdlib.h>
#include <string.h>

#include "../common/log.h"
#include "worker.h"

/* What init has not taken yet of the requests for it. */
#define TASK_QUEUE	((size_t)2 * LIMIT_LARGE)

void
task_begin(struct worker *w, struct task *t)
{
	t->w = w;
	t->in_fd = -1;
	TAILQ_INIT(&t->clients);
	history_init(&t->history);
	output_begin(t);
	input_begin(t);
	TAILQ_INSERT_TAIL(&w->tasks, t, entry);
	w->ntasks++;
}

static void
task_free(struct task *t)
{
	TAILQ_REMOVE(&t->w->tasks, t, entry);
	t->w->ntasks--;
	output_free(t);
	input_free(t);
	history_free(&t->history);
	if (t->grace != NULL)
		event_free(t->grace);
	free(t->code);
	free(t->reason);
	free(t);
}

struct task *
task_find(struct worker *w, uint32_t n)
{
	struct task	*t;

	TAILQ_FOREACH(t, &w->tasks, entry)
		if (t->n == n)
			return (t);
	return (NULL);
}

struct task *
task_tagged(struct worker *w, uint32_t tag)
{
	struct task	*t;

	if (tag == 0)
		return (&w->own);
	TAILQ_FOREACH(t, &w->tasks, entry)
		if (t->tag == tag)
			return (t);
	return (NULL);
}

unsigned int
task_wires(const struct task *t)
{
	return (t->tty ? 1 : 3);
}

/* What init says of commands is judged by each one's state from here on. */
static void
task_permits(struct worker *w)
{
	peer_permit(w->init, MSG_PTY, PERMIT_ALWAYS);
	peer_permit(w->init, MSG_RUNNING, PERMIT_ALWAYS);
	peer_permit(w->init, MSG_EXITED, PERMIT_ALWAYS);
}

void
task_exec(struct worker *w, uint32_t tag, const struct m_EXEC *m)
{
	struct task	*t;

	if ((t = calloc(1, sizeof(*t))) == NULL)
		fatal("a command");
	t->tty = m->tty;
	t->tag = tag;
	/* Never one that was there before: init may speak of it still. */
	t->n = ++w->lastn;
	task_begin(w, t);
	if (w->own.over || w->init == NULL)
		end_because(t, "session.ended", "the session has ended");
	else if (w->ntasks > TASKS_MAX)
		end_because(t, "limit.commands", "too many commands run in "
		    "this session: wait for the end of one");
	else if (peer_queued(w->init) > TASK_QUEUE)
		end_because(t, "session.busy", "the session takes no commands "
		    "now: try again");
	else {
		task_permits(w);
		inside_send(w, MSG_EXEC, t->n, -1, m);
	}
}

static bool
task_is_done(const struct task *t)
{
	return (t->n != 0 && t->tag == 0 && t->over && !output_open(t) &&
	    TAILQ_EMPTY(&t->clients));
}

static void
tasks_on_reap(evutil_socket_t fd, short what, void *arg)
{
	struct worker	*w = arg;
	struct task	*t, *next;

	(void)fd;
	(void)what;
	TAILQ_FOREACH_SAFE(t, &w->tasks, entry, next) {
		/* Those of the session's own wait for its end. */
		if (t->n != 0)
			client_dismiss_all(t);
		if (task_is_done(t))
			task_free(t);
	}
}

/* Not at once: whoever asks has a task, or a client of it, in its hands. */
void
tasks_reap(struct worker *w)
{
	if (w->reaper == NULL &&
	    (w->reaper = evtimer_new(w->base, tasks_on_reap, w)) == NULL)
		fatalx("a timer");
	event_active(w->reaper, EV_TIMEOUT, 0);
}
