/*
 * What mountd answers with items and END: for a client, which gets them as
 * they come, or for a collection (sbxd_gc.c).
 */
#include <stdlib.h>
#include <string.h>

#include "../common/ids.h"
#include "../common/log.h"
#include "sbxd.h"

#define ASKS_MAX	32	/* at once: each is a process of mountd's */
#define ASKS_ROOT	8	/* of them, that only root may have */
#define ASKS_A_UID	8	/* root has no such bound */
#define ASKS_A_CLIENT	4

struct ask {
	TAILQ_ENTRY(ask) entry;
	uint32_t	 id;
	struct client	*client;	/* NULL: gone, or a collection's */
	uid_t		 uid;		/* whose, also when it is gone */
	uint32_t	 reqid;
	struct gc	*gc;
};
static TAILQ_HEAD(, ask)	asks = TAILQ_HEAD_INITIALIZER(asks);
static size_t			nasks;

static struct ask *
ask_find(uint32_t id)
{
	struct ask	*a;

	TAILQ_FOREACH(a, &asks, entry)
		if (a->id == id)
			return (a);
	return (NULL);
}

static void
ask_free(struct ask *a)
{
	TAILQ_REMOVE(&asks, a, entry);
	nasks--;
	free(a);
}

static struct ask *
ask_new(void)
{
	struct ask	*a;

	if ((a = calloc(1, sizeof(*a))) == NULL)
		fatal("a request");
	a->id = job_number();
	a->uid = UID_NOROLE;
	TAILQ_INSERT_TAIL(&asks, a, entry);
	nasks++;
	return (a);
}

/* For a client; NULL: the answer is given. */
static struct ask *
ask_for(struct client *c, uint32_t reqid)
{
	struct ask	*a;
	size_t		 own = 0, all = 0;
	bool		 root = c->uid == 0;

	TAILQ_FOREACH(a, &asks, entry) {
		own += a->client == c;
		all += a->uid == c->uid;
	}
	if (own >= ASKS_A_CLIENT || (all >= ASKS_A_UID && !root) ||
	    nasks >= ASKS_MAX - (root ? 0 : ASKS_ROOT)) {
		peer_error(c->peer, reqid, "limit.requests", "too many of "
		    "these at once: try again");
		return (NULL);
	}
	a = ask_new();
	a->client = c;
	a->uid = c->uid;
	a->reqid = reqid;
	return (a);
}

void
ask_measure(struct gc *gc, const char *sid)
{
	struct ask	*a = ask_new();
	const char	*v[2] = { sid, NULL };
	struct m_MEASURE m = { .list = sid == NULL };

	a->gc = gc;
	if (sid != NULL) {
		m.sessions.v = v;
		m.sessions.n = 1;
	}
	peer_send(sbxd.helper[H_MOUNTD], MSG_MEASURE, a->id, -1, &m);
}

bool
ask_on_item(struct msg *msg)
{
	struct ask	*a = ask_find(msg->id);

	if (a == NULL)
		return (false);
	if (a->gc != NULL)
		gc_on_measured(a->gc, msg->body);
	else if (a->client != NULL)
		peer_send(a->client->peer, msg->type, a->reqid, -1, msg->body);
	return (true);
}

bool
ask_on_end(uint32_t id)
{
	struct ask	*a = ask_find(id);
	struct gc	*gc;

	if (a == NULL)
		return (false);
	gc = a->gc;
	if (a->client != NULL)
		peer_send(a->client->peer, MSG_END, a->reqid, -1, NULL);
	ask_free(a);
	if (gc != NULL)
		gc_on_end(gc, NULL);
	return (true);
}

bool
ask_on_error(uint32_t id, const struct m_ERROR *e)
{
	struct ask	*a = ask_find(id);
	struct gc	*gc;

	if (a == NULL)
		return (false);
	gc = a->gc;
	if (a->client != NULL)
		peer_send(a->client->peer, MSG_ERROR, a->reqid, -1, e);
	ask_free(a);
	if (gc != NULL)
		gc_on_end(gc, e->message);
	return (true);
}

void
ask_client_gone(struct client *c)
{
	struct ask	*a;

	TAILQ_FOREACH(a, &asks, entry)
		if (a->client == c)
			a->client = NULL;
}

void
ask_gc_gone(const struct gc *gc)
{
	struct ask	*a;

	TAILQ_FOREACH(a, &asks, entry)
		if (a->gc == gc)
			a->gc = NULL;
}

void
client_on_du(struct peer *p, struct msg *msg)
{
	const struct m_DU	*m = msg->body;
	struct client		*c = p->ctx;
	struct m_MEASURE	 out = { .list = false };
	const char		*v[SESSIONS_MAX + 1];
	struct session		*s;
	struct ask		*a;

	out.sessions.v = v;
	if (m->session != NULL) {
		if ((s = client_session(p, msg->id, m->session)) == NULL)
			return;
		v[out.sessions.n++] = s->rec.r.session;
	} else
		TAILQ_FOREACH(s, &sbxd.sessions, entry)
			if (client_may(c, s, ACT_LOOK) && !s->erase &&
			    out.sessions.n < SESSIONS_MAX)
				v[out.sessions.n++] = s->rec.r.session;
	if (out.sessions.n == 0) {
		peer_send(p, MSG_END, msg->id, -1, NULL);
		return;
	}
	if ((a = ask_for(c, msg->id)) != NULL)
		peer_send(sbxd.helper[H_MOUNTD], MSG_MEASURE, a->id, -1, &out);
}

/* What a record knows, or a client asks for, as mountd is to take it. */
static bool
explain_session(struct peer *p, uint32_t id, const char *sid,
    struct m_EXPLAIN *m)
{
	const struct m_RECORD	*r;
	struct session		*s;

	if ((s = client_session(p, id, sid)) == NULL)
		return (false);
	r = &s->rec.r;
	m->session = r->session;
	m->project = r->project;
	m->more = r->more;
	m->home = r->home;
	m->hide = r->hide;
	m->ro = r->ro;
	m->uid = r->uid;
	m->gid = r->gid;
	m->groups = r->groups;
	m->byroot = r->peer == 0;
	return (true);
}

/* The same reasons for which NEW would be refused. */
static bool
explain_new(struct peer *p, uint32_t id, struct m_EXPLAIN *m, uint64_t *groups)
{
	static const char *argv[] = { "-", NULL };
	struct client	*c = p->ctx;
	struct m_NEW	 new = {
		.project = m->project, .more = m->more, .home = m->home,
		.hide = m->hide,
		.ro = m->ro, .as = m->as, .uid = m->uid, .gid = m->gid,
		.cwd = "/", .user = "", .network = "none",
		.argv = { 1, argv }
	};

	if (m->project == NULL || m->home == NULL) {
		peer_error(p, id, "explain.invalid", "neither a session nor a "
		    "project and a home are named");
		return (false);
	}
	if (!new_is_allowed(p, id, &new))
		return (false);
	if (m->as)
		return (true);
	m->uid = c->uid;
	m->gid = c->gid;
	client_groups(c, groups, &m->groups);
	return (true);
}

void
client_on_explain(struct peer *p, struct msg *msg)
{
	struct m_EXPLAIN	 m = *(const struct m_EXPLAIN *)msg->body;
	uint64_t		 groups[LIMIT_GROUPS];
	struct client		*c = p->ctx;
	struct ask		*a;

	m.byroot = c->uid == 0;
	if (m.path[0] != '/') {
		peer_error(p, msg->id, "explain.invalid", "%s: not an "
		    "absolute path", m.path);
		return;
	}
	if (m.session != NULL ? !explain_session(p, msg->id, m.session, &m) :
	    !explain_new(p, msg->id, &m, groups))
		return;
	if ((a = ask_for(c, msg->id)) != NULL)
		peer_send(sbxd.helper[H_MOUNTD], MSG_EXPLAIN, a->id, -1, &m);
}
