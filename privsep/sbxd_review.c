/*
 * What clients ask of a session's changes: looking, landing, throwing away,
 * removing the session.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/log.h"
#include "sbxd.h"

/* The session, if it can be reviewed now; else the answer is given. */
static struct session *
review_session(struct peer *p, uint32_t id, const char *sid)
{
	struct session	*s;

	if ((s = client_session(p, id, sid)) == NULL)
		return (NULL);
	if (s->state != S_RUNNING && s->state != S_ENDED) {
		peer_error(p, id, "session.busy", "session %s is %s: try again "
		    "when it runs or has ended", sid, session_state(s));
		return (NULL);
	}
	if (s->job != NULL || s->erase) {
		peer_error(p, id, "land.busy", "session %s is being reviewed, "
		    "landed or removed: try again", sid);
		return (NULL);
	}
	return (s);
}

/* Landing and throwing away are the owner's, or root's; the user that the
 * session runs as only looks. */
static bool
owner_is(struct peer *p, uint32_t id, const struct session *s)
{
	const struct client	*c = p->ctx;
	char			 self[32];

	snprintf(self, sizeof(self), "uid:%u", (unsigned int)c->uid);
	if (c->uid == 0 || strcmp(s->rec.r.owner, self) == 0)
		return (true);
	peer_error(p, id, "auth.denied", "session %s belongs to %s, who lands "
	    "and discards its changes", s->rec.r.session, s->rec.r.owner);
	return (false);
}

static bool
actor_may(struct peer *p, uint32_t id, const struct session *s,
    const char *actor, struct job *j)
{
	const struct client	*c = p->ctx;
	char			 self[32];

	snprintf(self, sizeof(self), "uid:%u", (unsigned int)c->uid);
	strlcpy(j->actor, actor != NULL ? actor : self, sizeof(j->actor));
	return (owner_is(p, id, s));
}

void
client_on_changes(struct peer *p, struct msg *msg)
{
	const struct m_SID	*m = msg->body;
	struct session		*s;

	if ((s = review_session(p, msg->id, m->session)) != NULL)
		job_start(job_new(s, J_CHANGES, p->ctx, msg->id));
}

static void
job_digest(struct job *j, const struct blob *digest)
{
	if (digest->p == NULL || digest->len != sizeof(j->digest))
		return;
	memcpy(j->digest, digest->p, sizeof(j->digest));
	j->digest_set = true;
}

void
client_on_patch(struct peer *p, struct msg *msg)
{
	const struct m_PATCH	*m = msg->body;
	struct session		*s;
	struct job		*j;

	if ((s = review_session(p, msg->id, m->session)) == NULL)
		return;
	j = job_new(s, J_PATCH, p->ctx, msg->id);
	job_digest(j, &m->digest);
	job_start(j);
}

/* A job that was made and may not be begun. */
static void
job_cancel(struct job *j)
{
	struct session	*s = j->session;

	s->job = NULL;
	TAILQ_REMOVE(&sbxd.jobs, j, entry);
	free(j);
}

void
client_on_apply(struct peer *p, struct msg *msg)
{
	const struct m_APPLY	*m = msg->body;
	struct session		*s;
	struct job		*j;

	if ((s = review_session(p, msg->id, m->session)) == NULL)
		return;
	if (m->digest.p != NULL && m->digest.len != LIMIT_DIGEST) {
		peer_error(p, msg->id, "digest.invalid",
		    "a digest has %d bytes, not %zu", LIMIT_DIGEST,
		    m->digest.len);
		return;
	}
	j = job_new(s, J_APPLY, p->ctx, msg->id);
	if (!actor_may(p, msg->id, s, m->actor, j)) {
		job_cancel(j);
		return;
	}
	job_digest(j, &m->digest);
	job_start(j);
}

static bool
paths_copy(struct job *j, const struct strv *paths)
{
	size_t	i;

	if (paths->n == 0)
		return (true);
	if ((j->paths = calloc(paths->n, sizeof(*j->paths))) == NULL)
		return (false);
	for (i = 0; i < paths->n; i++, j->npaths++)
		if ((j->paths[i] = strdup(paths->v[i])) == NULL)
			return (false);
	return (true);
}

void
client_on_discard(struct peer *p, struct msg *msg)
{
	const struct m_DISCARD	*m = msg->body;
	struct session		*s;
	struct job		*j;

	if ((s = review_session(p, msg->id, m->session)) == NULL)
		return;
	j = job_new(s, J_DISCARD, p->ctx, msg->id);
	if (!actor_may(p, msg->id, s, m->actor, j)) {
		job_cancel(j);
		return;
	}
	if (!paths_copy(j, &m->paths))
		fatal("discard");
	job_start(j);
}

void
client_on_remove(struct peer *p, struct msg *msg)
{
	const struct m_REMOVE	*m = msg->body;
	struct session		*s;

	if ((s = client_session(p, msg->id, m->session)) == NULL ||
	    !owner_is(p, msg->id, s))
		return;
	if (s->state != S_ENDED) {
		peer_error(p, msg->id, "session.running", "session %s is %s: "
		    "end it first", m->session, session_state(s));
		return;
	}
	if (s->job != NULL || s->erase) {
		peer_error(p, msg->id, "land.busy", "session %s is being "
		    "reviewed, landed or removed: try again", m->session);
		return;
	}
	if (!m->discard && !s->pristine) {
		job_start(job_new(s, J_REMOVE, p->ctx, msg->id));
		return;
	}
	if (m->discard)
		audit("remove", s, ((struct client *)p->ctx)->uid,
		    "discard=yes");
	session_erase(s, p->ctx, msg->id);
}
