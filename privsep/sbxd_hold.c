/*
 * EXECs that came while their session is looked at: without a control group
 * the session's first process goes on meanwhile, and what it starts would
 * write into what is read. They are heard again once that is over.
 */
#include <stdlib.h>
#include <string.h>

#include "../common/log.h"
#include "sbxd.h"

/* Its client is not read: there is one of a client's at most. */
struct hold {
	TAILQ_ENTRY(hold) entry;
	struct client	*client;
	struct msg	 msg;
};
static TAILQ_HEAD(holds, hold)	holds = TAILQ_HEAD_INITIALIZER(holds);

static struct event	*again;

/* What lands is held until all is done, what is only looked at until it is
 * copied. */
static bool
session_is_held(const struct session *s)
{
	const struct job	*j = s->job;

	return (j != NULL && j->live && (!j->staged || job_writes(j)));
}

/* All of them: whose session is looked at still comes back. */
static void
holds_go(evutil_socket_t fd, short what, void *arg)
{
	struct hold	*h, *last = TAILQ_LAST(&holds, holds);
	bool		 more = last != NULL;

	(void)fd;
	(void)what;
	(void)arg;
	while (more && (h = TAILQ_FIRST(&holds)) != NULL) {
		more = h != last;
		TAILQ_REMOVE(&holds, h, entry);
		peer_resume(h->client->peer);
		client_on_exec(h->client->peer, &h->msg);
		msg_free(&h->msg);
		free(h);
	}
}

/* By the loop: who calls is in the middle of a job's end, or a client's. */
void
holds_soon(void)
{
	if (TAILQ_EMPTY(&holds))
		return;
	if (again == NULL &&
	    (again = event_new(sbxd.base, -1, 0, holds_go, NULL)) == NULL)
		fatalx("an event");
	event_active(again, 0, 0);
}

bool
hold_exec(struct peer *p, struct msg *msg, const struct session *s)
{
	struct hold	*h;

	if (!session_is_held(s))
		return (false);
	if ((h = calloc(1, sizeof(*h))) == NULL)
		fatal("a request");
	h->client = p->ctx;
	h->msg = *msg;
	memset(msg, 0, sizeof(*msg));
	msg->fd = -1;
	TAILQ_INSERT_TAIL(&holds, h, entry);
	peer_pause(p);
	return (true);
}

void
hold_client_gone(const struct client *c)
{
	struct hold	*h, *next;

	TAILQ_FOREACH_SAFE(h, &holds, entry, next)
		if (h->client == c) {
			TAILQ_REMOVE(&holds, h, entry);
			msg_free(&h->msg);
			free(h);
		}
}
