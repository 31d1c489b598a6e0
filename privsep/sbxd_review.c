/*
 * What clients ask of a session's changes: looking, landing, throwing away,
 * removing the session.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "sbxd.h"

struct session *
review_session(struct peer *p, uint32_t id, const char *sid)
{
	struct session	*s;

	if ((s = client_session(p, id, sid)) == NULL)
		return (NULL);
	if (s->state == S_FAILED) {
		peer_error(p, id, "session.failed", "session %s never came to "
		    "run (%s): nothing of it can be landed, remove it", sid,
		    s->rec.r.reason != NULL ? s->rec.r.reason :
		    "for an unknown reason");
		return (NULL);
	}
	if (s->state == S_ENDING) {
		peer_error(p, id, "session.ending", "session %s is ending: try "
		    "again when it has", sid);
		return (NULL);
	}
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
	if (job_interrupted(s)) {
		job_recover(s, p->ctx, id);
		return (NULL);
	}
	return (s);
}

/* The number of the root that is meant, or -1, and the answer is given. */
static int
review_root(struct peer *p, uint32_t id, const struct session *s,
    const char *root)
{
	struct roots	roots;
	int		n;

	session_roots(s, &roots);
	if (root == NULL && roots.n == 1)
		return (0);
	if (root == NULL) {
		peer_error(p, id, "root.unnamed", "session %s has %zu roots: "
		    "name the one that is meant", s->rec.r.session, roots.n);
		return (-1);
	}
	if ((n = roots_find(&roots, root)) == -1)
		peer_error(p, id, "root.unknown", "%s: no root of session %s",
		    root, s->rec.r.session);
	return (n);
}

/* A job that writes: who wanted it goes into the audit log. */
static struct job *
job_for(struct session *s, enum job_what what, size_t root, struct client *c,
    uint32_t id, const char *actor)
{
	struct job	*j = job_new(s, what, root, c, id);

	if (actor != NULL)
		strlcpy(j->owed.actor, actor, sizeof(j->owed.actor));
	else
		snprintf(j->owed.actor, sizeof(j->owed.actor), "uid:%u",
		    (unsigned int)c->uid);
	return (j);
}

void
client_on_changes(struct peer *p, struct msg *msg)
{
	const struct m_CHANGES	*m = msg->body;
	struct session		*s;
	int			 root;

	if ((s = review_session(p, msg->id, m->session)) != NULL &&
	    (root = review_root(p, msg->id, s, m->root)) != -1)
		job_start(job_new(s, J_CHANGES, (size_t)root, p->ctx,
		    msg->id));
}

/* False: the answer is given. */
static bool
digest_is_sane(struct peer *p, uint32_t id, const struct blob *digest)
{
	if (digest->p == NULL || digest->len == LIMIT_DIGEST)
		return (true);
	peer_error(p, id, "digest.invalid", "a digest has %d bytes, not %zu",
	    LIMIT_DIGEST, digest->len);
	return (false);
}

static void
job_digest(struct job *j, const struct blob *digest)
{
	if (digest->p == NULL)
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
	int			 root;

	if (!digest_is_sane(p, msg->id, &m->digest) ||
	    (s = review_session(p, msg->id, m->session)) == NULL ||
	    (root = review_root(p, msg->id, s, m->root)) == -1)
		return;
	j = job_new(s, J_PATCH, (size_t)root, p->ctx, msg->id);
	job_digest(j, &m->digest);
	job_start(j);
}

void
client_on_apply(struct peer *p, struct msg *msg)
{
	const struct m_APPLY	*m = msg->body;
	struct session		*s;
	struct job		*j;
	int			 root;

	if (!digest_is_sane(p, msg->id, &m->digest) ||
	    (s = review_session(p, msg->id, m->session)) == NULL ||
	    !client_allowed(p, msg->id, s, ACT_LAND) ||
	    (root = review_root(p, msg->id, s, m->root)) == -1)
		return;
	j = job_for(s, J_APPLY, (size_t)root, p->ctx, msg->id, m->actor);
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
	int			 root;

	if (strv_bytes(&m->paths) > DISCARD_BYTES) {
		peer_error(p, msg->id, "limit.paths", "too many paths at "
		    "once: name folders, or discard in parts");
		return;
	}
	if ((s = review_session(p, msg->id, m->session)) == NULL ||
	    !client_allowed(p, msg->id, s, ACT_LAND) ||
	    (root = review_root(p, msg->id, s, m->root)) == -1)
		return;
	j = job_for(s, J_DISCARD, (size_t)root, p->ctx, msg->id, m->actor);
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
	    !client_allowed(p, msg->id, s, ACT_LAND))
		return;
	/* Its command has ended: nobody has to do anything about it. */
	if (s->state == S_ENDING) {
		peer_error(p, msg->id, "session.ending", "session %s is "
		    "ending: try again when it has", m->session);
		return;
	}
	if (s->state != S_ENDED && s->state != S_FAILED) {
		peer_error(p, msg->id, "session.running", "session %s is %s: "
		    "\"sbxctl stop %s\" ends it first", m->session,
		    session_state(s), m->session);
		return;
	}
	if (s->job != NULL || s->erase) {
		peer_error(p, msg->id, "land.busy", "session %s is being "
		    "reviewed, landed or removed: try again", m->session);
		return;
	}
	/* What a landing displaced is the owner's: it is put right first, if
	 * it can be. */
	if (job_interrupted(s) && !(m->discard && s->unrecovered)) {
		job_recover(s, p->ctx, msg->id);
		return;
	}
	/* One that never ran has changed nothing. */
	if (!m->discard && !s->pristine && s->state != S_FAILED) {
		job_start(job_new(s, J_REMOVE, 0, p->ctx, msg->id));
		return;
	}
	if (m->discard && audit("remove", s, NULL,
	    ((struct client *)p->ctx)->uid, NULL, "discard=yes") == -1) {
		peer_error(p, msg->id, "audit.failed", "%s", state_why("the "
		    "audit log cannot be written, so nothing is removed"));
		return;
	}
	s->forced = m->discard;
	session_erase(s, p->ctx, msg->id);
}
