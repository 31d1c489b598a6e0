/*
 * How long a flood waits for those that only look in. A command and a worker
 * that nobody holds up run away from a client that is as fast as they are, and
 * with the processor that it would need. What a wait costs is bounded by what
 * passes: whoever looks in, however many, and whatever they do, output goes on
 * by PACE_STEP at least in PACE_MS, which only a flood is faster than.
 */
#include "worker.h"

/* What is kept is twice that. */
#define PACE_BEHIND	((uint64_t)512 << 10)
#define PACE_STEP	((uint64_t)256 << 10)
#define PACE_MS		20

/* So far behind, and worth waiting for. */
static bool
pace_behind(const struct task *t, uint64_t bytes)
{
	const struct client	*c;

	TAILQ_FOREACH(c, &t->clients, entry)
		if (!c->whole && !c->slow && t->history.end - c->at > bytes)
			return (true);
	return (false);
}

/* Who has not come near in time is not waited for until all is caught up. */
static void
pace_give_up(struct task *t)
{
	struct client	*c;

	TAILQ_FOREACH(c, &t->clients, entry)
		if (t->history.end - c->at > PACE_STEP)
			c->slow = true;
}

int64_t
pace_wait(struct task *t, int64_t now)
{
	if (t->pace_until == 0) {
		if (t->history.end < t->pace_next ||
		    !pace_behind(t, PACE_BEHIND))
			return (0);
		t->pace_until = now + PACE_MS;
	} else if (now >= t->pace_until)
		pace_give_up(t);
	if (now < t->pace_until && pace_behind(t, PACE_STEP))
		return (t->pace_until - now);
	t->pace_until = 0;
	t->pace_next = t->history.end + PACE_STEP;
	return (0);
}
