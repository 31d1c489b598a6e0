/*
 * OUTSIDE: what a session changed outside of its roots, listed, never landed.
 * A layer after the other: mountd says which has something in it and makes its
 * three folders, landd's child lists them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "sbxd.h"

void
client_on_outside(struct peer *p, struct msg *msg)
{
	const struct m_OUTSIDE	*m = msg->body;
	struct session		*s;

	if ((s = review_session(p, msg->id, m->session)) != NULL)
		job_start(job_new(s, J_OUTSIDE, 0, p->ctx, msg->id));
}

void
outside_start(struct job *j)
{
	const struct m_RECORD	*r = &j->session->rec.r;
	struct m_OUTSIDE	 m = {
		.session = r->session, .live = j->live, .n = j->layer,
		.home = r->home, .hide = r->hide
	};

	peer_send(sbxd.helper[H_MOUNTD], MSG_OUTSIDE, j->id, -1, &m);
}

/* The layer's folder; then where other layers are mounted: the session's roots,
 * home and read-only paths, none of which is a change of this layer's. */
static void
outside_paths(const struct job *j, const char *path, struct strv *paths)
{
	const struct m_RECORD	*r = &j->session->rec.r;
	struct roots		 roots;
	size_t			 i;

	session_roots(j->session, &roots);
	paths->v = calloc(roots.n + r->ro.n + 3, sizeof(*paths->v));
	if (paths->v == NULL)
		fatal("paths");
	paths->v[paths->n++] = path;
	paths->v[paths->n++] = r->home;
	for (i = 0; i < roots.n; i++)
		paths->v[paths->n++] = roots.v[i];
	for (i = 0; i < r->ro.n; i++)
		paths->v[paths->n++] = r->ro.v[i];
}

static void
outside_order(struct job *j, const char *path)
{
	uint8_t		seal[LIMIT_SEAL];
	struct m_JOB	m = {
		.session = j->session->rec.r.session, .what = "outside",
		.live = j->live, .seal = { seal, 0 }
	};

	if (seal_read(j, seal, &m.seal.len) == -1 && errno != ENOENT) {
		job_fail(j, "state.failed", state_why("its seal cannot be "
		    "read"));
		return;
	}
	if (m.seal.len == 0) {
		job_fail(j, "land.unsealed", "the session has no seal, so it "
		    "is not known who it ran as");
		return;
	}
	outside_paths(j, path, &m.paths);
	peer_send(sbxd.helper[H_LANDD], MSG_JOB, j->id, -1, &m);
	free(m.paths.v);
	j->layered = true;
}

static void
outside_missing(struct job *j, const char *path)
{
	struct m_COUNTED	m = { .path = path, .missing = true };

	if (j->client != NULL)
		peer_send(j->client->peer, MSG_COUNTED, j->reqid, -1, &m);
}

void
outside_on_layer(struct msg *msg)
{
	const struct m_LAYER	*m = msg->body;
	struct job		*j = job_find(msg->id);

	if (j == NULL || j->what != J_OUTSIDE || j->layered)
		return;
	j->layer = m->n + 1;
	j->missing = m->missing;
	if (m->missing)
		outside_missing(j, m->path);
	else
		outside_order(j, m->path);
}

/* Each layer is a job of landd's, and so one of ours. */
static void
outside_next(struct job *j)
{
	struct job	 was = *j, *next;

	j->client = NULL;
	job_finish(j);
	next = job_new(was.session, J_OUTSIDE, 0, was.client, was.reqid);
	next->layer = was.layer;
	job_start(next);
}

/* All that mountd has of it is there. */
void
outside_on_viewed(struct job *j)
{
	if (j->layered)
		return;
	if (j->missing) {
		outside_next(j);
		return;
	}
	if (j->client != NULL)
		peer_send(j->client->peer, MSG_END, j->reqid, -1, NULL);
	job_finish(j);
}

void
outside_on_end(struct job *j)
{
	outside_next(j);
}
