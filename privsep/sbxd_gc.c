/*
 * GC: what nobody can want any more. One thing after the other: which layers
 * there are; then each session that ended long enough ago, and each layer that
 * no record knows, is judged, measured and removed; then sockets and control
 * groups that a killed suite has left. What may hold changes stays.
 */
#include <sys/stat.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/ids.h"
#include "../common/log.h"
#include "mode.h"
#include "sbxd.h"

enum gc_step {
	GC_LISTING, GC_GOING_ON, GC_JUDGING, GC_MEASURING, GC_REMOVING,
	GC_SWEEPING
};

struct layer {
	char	id[SID_LEN + 1];
	bool	pristine, owned;
	uid_t	uid;
};

struct gc {
	TAILQ_ENTRY(gc) entry;
	struct client	*client;	/* NULL: gone, the step at hand ends */
	uint32_t	 reqid;
	uint64_t	 age;
	bool		 dry, discard;
	struct layer	*v;
	size_t		 n, next;
	struct event	*go_on;
	/* The one at hand. */
	enum gc_step	 step;
	char		 id[SID_LEN + 1];
	bool		 session;
	bool		 pristine;	/* its layer, by what measured it */
	bool		 judged;	/* or there is nothing to judge */
	uint64_t	 generation;	/* of it, when we came to it */
	uint64_t	 bytes, inodes;
	uint32_t	 erasing;	/* ERASE's number */
};
static TAILQ_HEAD(, gc)	gcs = TAILQ_HEAD_INITIALIZER(gcs);

static void
gc_free(struct gc *g)
{
	ask_gc_gone(g);
	TAILQ_REMOVE(&gcs, g, entry);
	if (g->go_on != NULL)
		event_free(g->go_on);
	free(g->v);
	free(g);
	idle_check();
}

/* A user's own suite is all that user's, and its uids are not ours. */
static bool
gc_all(const struct gc *g)
{
	return (g->client->uid == 0 || (mode_user() &&
	    g->client->uid == mode_owner()));
}

/* why: it is kept; NULL: gone, or to go. */
static void
gc_tell(struct gc *g, const char *kind, const char *what, const char *why)
{
	struct m_GONE	m = {
		.kind = kind, .what = what, .bytes = g->bytes,
		.inodes = g->inodes, .gone = why == NULL, .why = why
	};

	if (g->client != NULL)
		peer_send(g->client->peer, MSG_GONE, g->reqid, -1, &m);
}

/* The one at hand is done with. The next one is the loop's: what comes to its
 * end at once, a session whose review cannot even be begun, would else lie on
 * our stack with all that came before it; and others are heard in between. */
static void
gc_done(struct gc *g, const char *why)
{
	const struct timeval	now = { 0, 0 };

	gc_tell(g, g->session ? "session" : "layer", g->id, why);
	g->step = GC_GOING_ON;
	if (event_add(g->go_on, &now) == -1)
		fatalx("a timer");
}

static bool
gc_owns(const struct gc *g, const struct session *s)
{
	return (client_may(g->client, s, ACT_LAND));
}

static bool
gc_is_over(const struct session *s)
{
	return ((s->state == S_ENDED || s->state == S_FAILED) && !s->erase);
}

/* It might go, as far as can be known without looking into it. */
static bool
gc_wants(const struct gc *g, const struct session *s)
{
	uint64_t	now = clock_seconds();

	return (gc_owns(g, s) && gc_is_over(s) && s->rec.r.ended <= now &&
	    now - s->rec.r.ended >= g->age);
}

static void
gc_measure(struct gc *g)
{
	g->step = GC_MEASURING;
	g->bytes = g->inodes = 0;
	g->pristine = false;
	ask_measure(g, g->id);
}

static void
gc_judge(struct gc *g, struct session *s)
{
	struct job	*j;

	g->step = GC_JUDGING;
	j = job_new(s, J_GC, 0, NULL, 0);
	j->gc = g;
	job_start(j);
}

/* True: a later call goes on with it; false: it is no candidate. */
static bool
gc_session(struct gc *g, struct session *s, const struct layer *l)
{
	if (!gc_wants(g, s))
		return (false);
	g->session = true;
	g->judged = s->state == S_FAILED;
	g->generation = s->rec.r.generation;
	if (s->job != NULL || job_interrupted(s)) {
		gc_tell(g, "session", g->id, s->job != NULL ? "it is being "
		    "reviewed or landed" : "a landing of it was interrupted: "
		    "look at it by sbxctl changes");
		return (false);
	}
	/* Since the list was made it may have run and written: who measures it
	 * says whether it is empty still. */
	if (g->judged || l->pristine)
		gc_measure(g);
	else
		gc_judge(g, s);
	return (true);
}

/* A layer without a session in our table. */
static bool
gc_orphan(struct gc *g, const struct layer *l)
{
	struct stat	st;

	if (!gc_all(g) && !(l->owned && l->uid == g->client->uid))
		return (false);
	if (fstatat(sbxd.dir, l->id, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		gc_tell(g, "layer", g->id, "its record cannot be read: see "
		    "the suite's log");
		return (false);
	}
	if (!l->pristine && !g->discard) {
		gc_tell(g, "layer", g->id, "it has no record, but changes of "
		    "its project are in it: --discard removes it too");
		return (false);
	}
	gc_measure(g);
	return (true);
}

static bool
gc_begin(struct gc *g, const struct layer *l)
{
	struct session	*s = session_find(l->id);

	strlcpy(g->id, l->id, sizeof(g->id));
	g->session = g->judged = false;
	g->bytes = g->inodes = 0;
	return (s != NULL ? gc_session(g, s, l) : gc_orphan(g, l));
}

/* Sockets in the workers' folder, where we stand, of sessions that have no
 * worker. */
static void
gc_sockets(struct gc *g)
{
	struct dirent	*de;
	struct session	*s;
	struct stat	 st;
	DIR		*d;
	int		 fd;

	if ((fd = fcntl(sbxd.workers, F_DUPFD_CLOEXEC, 0)) == -1)
		return;
	if ((d = fdopendir(fd)) == NULL) {
		close(fd);
		return;
	}
	rewinddir(d);
	g->bytes = 0;
	g->inodes = 1;
	while ((de = readdir(d)) != NULL) {
		if (!sid_valid(de->d_name) || fstatat(sbxd.workers,
		    de->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
		    !S_ISSOCK(st.st_mode) || st.st_uid != sbxd.uids[UID_SBXD])
			continue;
		s = session_find(de->d_name);
		if (s != NULL ? !gc_is_over(s) || !gc_owns(g, s) : !gc_all(g))
			continue;
		if (!g->dry && unlink(de->d_name) == -1)
			log_warn("the socket of session %s", de->d_name);
		else
			gc_tell(g, "socket", de->d_name, NULL);
	}
	closedir(d);
}

static void
gc_finish(struct gc *g)
{
	if (g->client != NULL)
		peer_send(g->client->peer, MSG_END, g->reqid, -1, NULL);
	gc_free(g);
}

static void
gc_leftovers(struct gc *g)
{
	struct m_SWEEP	m = { .dry = g->dry };

	gc_sockets(g);
	if (!gc_all(g) || sbxd.cgroup[0] == '\0') {
		gc_finish(g);
		return;
	}
	g->step = GC_SWEEPING;
	peer_send(sbxd.helper[H_SPAWN], MSG_SWEEP, 0, -1, &m);
}

static void
gc_next(struct gc *g)
{
	while (g->client != NULL && !sbxd.stopping && g->next < g->n)
		if (gc_begin(g, &g->v[g->next++]))
			return;
	if (g->client == NULL || sbxd.stopping)
		gc_finish(g);
	else
		gc_leftovers(g);
}

static void
gc_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	gc_next(arg);
}

/* Nothing has happened to it since it was judged. */
static bool
gc_still(const struct gc *g, const struct session *s)
{
	return (s != NULL && gc_wants(g, s) && s->job == NULL &&
	    s->rec.r.generation == g->generation && !job_interrupted(s));
}

static void
gc_remove(struct gc *g)
{
	struct session	*s = session_find(g->id);
	struct m_SID	 sid = { .session = g->id };

	if (g->session ? !gc_still(g, s) : s != NULL) {
		gc_done(g, "it came to be used meanwhile");
		return;
	}
	if (g->session && !g->judged && !g->pristine) {
		gc_judge(g, s);
		return;
	}
	if (g->dry) {
		gc_done(g, NULL);
		return;
	}
	g->step = GC_REMOVING;
	if (g->session) {
		s->collector = g;
		session_erase(s, NULL, 0);
		return;
	}
	log_info("layer %s: no record knows it: removing it", g->id);
	g->erasing = job_number();
	peer_send(sbxd.helper[H_MOUNTD], MSG_ERASE, g->erasing, -1, &sid);
}

void
gc_on_measured(struct gc *g, const struct m_MEASURED *m)
{
	struct layer	*v;

	if (g->step == GC_MEASURING) {
		g->bytes += m->bytes;
		g->inodes += m->inodes;
		g->pristine = g->pristine || m->pristine;
		return;
	}
	if (g->step != GC_LISTING || !sid_valid(m->session))
		return;
	if ((v = reallocarray(g->v, g->n + 1, sizeof(*v))) == NULL)
		fatal("layers");
	g->v = v;
	v += g->n++;
	strlcpy(v->id, m->session, sizeof(v->id));
	v->pristine = m->pristine;
	v->owned = m->owned;
	v->uid = (uid_t)m->uid;
}

/* Sessions whose layer is gone, or was not there yet, are in no list of
 * layers: they come last. */
static void
gc_bare(struct gc *g)
{
	struct session	*s;
	struct m_MEASURED m = { .pristine = true };
	size_t		i, n = g->n;

	TAILQ_FOREACH(s, &sbxd.sessions, entry) {
		for (i = 0; i < n; i++)
			if (strcmp(g->v[i].id, s->rec.r.session) == 0)
				break;
		m.session = s->rec.r.session;
		if (i == n)
			gc_on_measured(g, &m);
	}
}

void
gc_on_end(struct gc *g, const char *why)
{
	switch (g->step) {
	case GC_LISTING:
		if (why == NULL) {
			gc_bare(g);
			gc_next(g);
			return;
		}
		if (g->client != NULL)
			peer_error(g->client->peer, g->reqid, "gc.failed",
			    "%s", why);
		gc_free(g);
		break;
	case GC_MEASURING:
		if (g->client == NULL)
			gc_finish(g);
		else if (why != NULL)
			gc_done(g, why);
		else
			gc_remove(g);
		break;
	default:
		break;
	}
}

void
gc_on_judged(struct gc *g, const struct job *j, const char *why)
{
	if (g->client == NULL)
		gc_finish(g);
	else if (why != NULL)
		gc_done(g, why);
	else if (j->files > 0)
		gc_done(g, "changes of it wait");
	else if (j->skipped > 0 || j->ignored > 0)
		gc_done(g, "what does not land is left of it");
	else {
		g->judged = true;
		gc_measure(g);
	}
}

void
gc_on_removed(struct gc *g, const char *why)
{
	gc_done(g, why);
}

bool
gc_on_erased(uint32_t id, const char *why)
{
	struct gc	*g;

	TAILQ_FOREACH(g, &gcs, entry)
		if (id != 0 && g->step == GC_REMOVING && g->erasing == id)
			break;
	if (g == NULL)
		return (false);
	g->erasing = 0;
	gc_done(g, why);
	return (true);
}

void
gc_on_swept(const struct m_SWEPT *m)
{
	struct gc	*g;
	size_t		 i;

	TAILQ_FOREACH(g, &gcs, entry)
		if (g->step == GC_SWEEPING)
			break;
	if (g == NULL)
		return;
	g->bytes = 0;
	g->inodes = 1;
	for (i = 0; i < m->names.n; i++)
		gc_tell(g, "cgroup", m->names.v[i], NULL);
	gc_finish(g);
}

/* What is at work for it ends; nothing more is begun. */
void
gc_client_gone(struct client *c)
{
	struct gc	*g;

	TAILQ_FOREACH(g, &gcs, entry)
		if (g->client == c)
			g->client = NULL;
}

void
client_on_gc(struct peer *p, struct msg *msg)
{
	const struct m_GC	*m = msg->body;
	struct gc		*g;

	/* Two would judge the same sessions, and find each other in the way. */
	if (!TAILQ_EMPTY(&gcs)) {
		peer_error(p, msg->id, "limit.requests", "another collection "
		    "is at work: try again");
		return;
	}
	if ((g = calloc(1, sizeof(*g))) == NULL) {
		peer_error(p, msg->id, "memory", "out of memory");
		return;
	}
	g->client = p->ctx;
	g->reqid = msg->id;
	g->age = m->age;
	g->dry = m->dry;
	g->discard = m->discard;
	if ((g->go_on = evtimer_new(sbxd.base, gc_on_timer, g)) == NULL)
		fatalx("a timer");
	TAILQ_INSERT_TAIL(&gcs, g, entry);
	ask_measure(g, NULL);
}
