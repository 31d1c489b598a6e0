/*
 * A review's end: what comes of it where it was somebody's question whether a
 * session may go; and reviews that nobody waits for any more.
 */
#include <string.h>

#include "sbxd.h"

/* After a removal's question: nothing waits, or it was told to go anyway. */
static void
job_removed(struct job *j)
{
	struct session	*s = j->session;
	struct client	*c = j->client;
	uint32_t	 reqid = j->reqid;

	if (j->files > 0 || j->skipped > 0 || j->ignored > 0) {
		job_fail(j, "session.changes", j->files > 0 ? "changes of it "
		    "wait: apply or discard them, or remove it with "
		    "--discard" : "what does not land is left of it: see "
		    "changes, then remove it with --discard");
		return;
	}
	job_finish(j);
	session_erase(s, c, reqid);
}

static void
job_judged(struct job *j)
{
	struct job	 sum = *j;

	job_finish(j);
	gc_on_judged(sum.gc, &sum, NULL);
}

/* What decides whether a session may go is asked of one root after the other,
 * until one has something. False: this was the last. */
static bool
job_next_root(struct job *j)
{
	struct job	 was = *j, *next;

	if (j->files > 0 || j->skipped > 0 || j->ignored > 0 ||
	    j->root == j->session->rec.r.more.n)
		return (false);
	/* Nobody is told of its end: there is another job at once. */
	j->client = NULL;
	job_finish(j);
	next = job_new(was.session, was.what, was.root + 1, was.client,
	    was.reqid);
	next->gc = was.gc;
	job_start(next);
	return (true);
}

void
landd_on_end(struct peer *p, struct msg *msg)
{
	struct job	*j = job_find(msg->id);

	(void)p;
	if (j == NULL || job_writes(j))
		return;
	if (j->what == J_FORGET) {
		job_forgot(j, NULL, NULL);
		return;
	}
	if (j->what == J_OUTSIDE) {
		outside_on_end(j);
		return;
	}
	if ((j->what == J_REMOVE || j->gc != NULL) && job_next_root(j))
		return;
	if (j->what == J_REMOVE) {
		job_removed(j);
		return;
	}
	if (j->gc != NULL) {
		job_judged(j);
		return;
	}
	if (j->what == J_PATCH && j->patch != -1 && j->client != NULL) {
		if (!stream_start(j->client, j->reqid, j->patch)) {
			job_fail(j, "client.busy", "another patch is on its "
			    "way to this connection: read it first");
			return;
		}
		j->patch = -1;
	} else if (j->client != NULL)
		peer_send(j->client->peer, MSG_END, j->reqid, -1, NULL);
	job_finish(j);
}

/* A landing or a review goes on; what nobody reads any more does not. */
void
job_abandon(struct job *j)
{
	j->client = NULL;
	/* What only looks is for nobody now; what writes goes to its end. */
	if (!job_writes(j))
		job_finish(j);
}

void
jobs_stop(void)
{
	struct job	*j, *next;

	streams_stop();
	TAILQ_FOREACH_SAFE(j, &sbxd.jobs, entry, next)
		if (!job_writes(j) && j->what != J_FORGET)
			job_fail(j, "suite.ending", "the suite was stopped");
}
