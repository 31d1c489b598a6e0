/*
 * Several clients at one terminal: it has the size of the one that typed
 * last, and that one's terminal answers what the command asks. So each client
 * is told whether it is the one: a query that two terminals answered would be
 * typed twice.
 */
#include <stdlib.h>

#include "worker.h"

/* Before anybody has typed, and after the typist has gone, who came first of
 * those that typed last. */
static struct client *
turn_holder(struct task *t)
{
	struct client	*c, *holder = TAILQ_FIRST(&t->clients);

	TAILQ_FOREACH(c, &t->clients, entry)
		if (c->typed > holder->typed)
			holder = c;
	return (holder);
}

void
turn_settle(struct task *t)
{
	struct client	*c, *holder = turn_holder(t);
	struct m_TURN	 m = { 0 };

	if (holder == NULL || !t->tty)
		return;
	TAILQ_FOREACH(c, &t->clients, entry) {
		if (c->other == (c != holder))
			continue;
		c->other = c != holder;
		m.yours = !c->other;
		peer_send(c->peer, MSG_TURN, 0, -1, &m);
	}
	if ((holder->rows != 0 || holder->cols != 0) &&
	    (holder->rows != t->rows || holder->cols != t->cols))
		input_resize(t, holder->rows, holder->cols);
}

void
turn_take(struct client *c)
{
	struct task	*t = c->task;

	if (turn_holder(t) == c && c->typed == t->turns)
		return;
	c->typed = ++t->turns;
	turn_settle(t);
}
