/*
 * The parent's side: which session is how far, one child at a time for each,
 * and what the broker hears of it. The parent itself touches no filesystem
 * but the state's, so that one that hangs is one session's failure.
 */
#include <sys/file.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/ids.h"
#include "../common/log.h"
#include "fault.h"
#include "job.h"
#include "mountd.h"
#include "spare.h"
#include "stage.h"

static const char *
no_process(void)
{
	return (errno == EMFILE ? no_room : "no process for it: the machine "
	    "is out of memory or processes");
}

static TAILQ_HEAD(, session) sessions = TAILQ_HEAD_INITIALIZER(sessions);
static struct peer *broker;

static struct session *
session_find(const char *id)
{
	struct session	*s;

	TAILQ_FOREACH(s, &sessions, entry)
		if (strcmp(s->id, id) == 0)
			return (s);
	return (NULL);
}

static struct session *
session_new(const char *id)
{
	struct session	*s;
	size_t		 i;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		fatal("session %s", id);
	snprintf(s->id, sizeof(s->id), "%s", id);
	s->store = -1;
	for (i = 0; i < CLONE_COUNT; i++)
		s->clone[i] = -1;
	TAILQ_INSERT_TAIL(&sessions, s, entry);
	return (s);
}

static void
session_drop_clones(struct session *s)
{
	size_t	i;

	stage_let_go(s->id);
	for (i = 0; i < CLONE_COUNT; i++) {
		if (s->clone[i] != -1)
			close(s->clone[i]);
		s->clone[i] = -1;
	}
	for (i = 0; i < s->nkept; i++)
		close(s->kept[i].fd);
	free(s->kept);
	s->kept = NULL;
	s->nkept = 0;
}

/* By name: a child that was forked a moment ago, for another session, holds
 * the same open folder until it runs. */
static void
session_unlock(struct session *s)
{
	if (s->store != -1) {
		flock(s->store, LOCK_UN);
		close(s->store);
	}
	s->store = -1;
}

/* A child in the kernel's hands still may write: the lock is as long as it. */
static void
session_forsake(struct session *s)
{
	close(s->store);
	s->store = -1;
}

static void
session_free(struct session *s)
{
	TAILQ_REMOVE(&sessions, s, entry);
	session_drop_clones(s);
	session_unlock(s);
	session_forget(s);
	free(s);
}

/* One that is of no use any more: neither mounted nor known to be unused. */
static void
session_tidy(struct session *s)
{
	if (s->job == NULL && !s->mounted && !s->settled)
		session_free(s);
}

static void
answer(uint32_t id, uint32_t type, const char *sid)
{
	struct m_SID	m = { .session = sid };

	peer_send(broker, type, id, -1, &m);
}

static void
refuse(uint32_t id, const char *sid, const char *code, const char *text)
{
	struct m_ERROR	e = { .code = code, .message = text, .at = sid };

	log_debug("%s: %s: %s", sid != NULL ? sid : "-", code, text);
	peer_send(broker, MSG_ERROR, id, -1, &e);
}

const struct session *
session_adopt(const struct m_PREP *m, int store, bool fresh, bool settled)
{
	struct session	*s = session_new(m->session);

	if (session_remember(s, m) == -1)
		fatal("session %s", s->id);
	s->store = store;
	s->fresh = fresh;
	s->settled = settled;
	return (s);
}

static void
session_unopened(const struct session *s, uint32_t id, int e)
{
	char	text[LIMIT_MESSAGE + 1];

	if (e == EWOULDBLOCK)
		snprintf(text, sizeof(text), "the session's layer is in use "
		    "by another suite with the same state folder");
	else if (e == ENOENT)
		snprintf(text, sizeof(text), "this session has no layer: its "
		    "folder %s/s/%s is gone, and nothing can be done but "
		    "remove the session", shown(mountd.state), s->id);
	else
		snprintf(text, sizeof(text), "the session's folder, %s/s/%s: "
		    "%s: look at what lies there", shown(mountd.state), s->id,
		    strerror(e));
	refuse(id, s->id, e == EWOULDBLOCK ? "mount.busy" :
	    e == ENOSPC || e == EDQUOT ? "state.full" : "mount.layer", text);
}

/* Opens and locks s/ID for a request; false: it was refused. */
static bool
session_lock(struct session *s, uint32_t id, bool make)
{
	if (s->store != -1)
		return (true);
	s->store = store_open(s->id, make, &s->fresh);
	if (s->store == -1)
		session_unopened(s, id, errno);
	return (s->store != -1);
}

/* The session that a request is for, if it may have one now. */
static struct session *
session_for(const struct msg *msg, const char *sid, bool make)
{
	struct session	*s;

	if (!sid_valid(sid)) {
		refuse(msg->id, sid, "mount.session", "no session has such "
		    "an id: twelve characters of a-z and 2-7");
		return (NULL);
	}
	s = session_find(sid);
	if (s != NULL && (s->job != NULL || (make && s->mounted))) {
		refuse(msg->id, sid, "mount.busy", make ? "this session is "
		    "mounted, or about to be" : "another request for this "
		    "session is at work");
		return (NULL);
	}
	if (s == NULL)
		s = session_new(sid);
	if (!session_lock(s, msg->id, make)) {
		session_tidy(s);
		return (NULL);
	}
	return (s);
}

static void
session_run(struct session *s, struct msg *msg, int (*run)(struct child *))
{
	if (job_start(s, msg, run) != NULL)
		return;
	refuse(msg->id, s->id, "mount.failed", no_process());
	if (!s->mounted) {
		if (s->fresh)
			unlinkat(mountd.store, s->id, AT_REMOVEDIR);
		session_unlock(s);
	}
	session_tidy(s);
}

static void
mountd_on_prep(struct peer *p, struct msg *msg)
{
	const struct m_PREP	*m = msg->body;
	struct session		*s;
	struct survey		 found = { .pristine = false };

	(void)p;
	/* A session whose layer is gone is not given an empty one. */
	if ((s = session_for(msg, m->session, !m->again)) == NULL)
		return;
	if (s->mounted) {
		refuse(msg->id, s->id, "mount.busy", "it is mounted");
		return;
	}
	if (m->again)
		layer_survey(s->store, &found);
	if (found.pristine)
		answer(msg->id, MSG_PRISTINE, s->id);
	if (session_remember(s, m) == -1)
		fatal("session %s", s->id);
	if (!spare_take(s, msg))
		session_run(s, msg, prep_run);
	spare_soon();
}

/* What init, or spawn, passed out: for the child that waits for it. What
 * comes for a session that has failed meanwhile is of no use to anybody. */
static void
mountd_on_sfd(struct peer *p, struct msg *msg)
{
	const struct m_SFD	*m = msg->body;
	struct session		*s = session_find(m->session);

	(void)p;
	if (s == NULL || s->job == NULL || s->job->type != MSG_PREP ||
	    s->job->child == NULL)
		return;
	peer_send(s->job->child, MSG_SFD, 0, msg_take_fd(msg), m);
}

static void
session_ask(struct msg *msg, const char *sid, int (*run)(struct child *))
{
	struct session	*s;

	if ((s = session_for(msg, sid, false)) != NULL)
		session_run(s, msg, run);
}

static void
mountd_on_view(struct peer *p, struct msg *msg)
{
	const struct m_VIEW	*m = msg->body;

	(void)p;
	session_ask(msg, m->session, view_run);
}

static void
mountd_on_outside(struct peer *p, struct msg *msg)
{
	const struct m_OUTSIDE	*m = msg->body;

	(void)p;
	session_ask(msg, m->session, outside_run);
}

static void
mountd_on_clean(struct peer *p, struct msg *msg)
{
	const struct m_CLEAN	*m = msg->body;

	(void)p;
	session_ask(msg, m->session, clean_run);
}

static void
mountd_on_refresh(struct peer *p, struct msg *msg)
{
	const struct m_SID	*m = msg->body;
	struct session		*s;

	(void)p;
	/* No request of the session's: it comes at any time, and keeps no
	 * review waiting that does the same itself. */
	if ((s = session_find(m->session)) == NULL || !s->mounted)
		refuse(msg->id, m->session, "mount.state", "the session is "
		    "not mounted here");
	else if (job_beside(s, msg, refresh_run) == NULL)
		refuse(msg->id, s->id, "mount.failed", no_process());
}

static void
session_release(struct session *s, uint32_t id)
{
	struct msg	msg = { .type = MSG_RELEASE, .id = id, .fd = -1 };
	struct survey	found;

	/* sbxd asks for this when the session's processes are gone. */
	layer_survey(s->store, &found);
	if (found.strayed)
		answer(id, MSG_STRAYED, s->id);
	if (found.idle)
		answer(id, MSG_PRISTINE, s->id);
	session_run(s, &msg, release_run);
	/* The child has them, and waits for our OK before it ends them. */
	session_drop_clones(s);
	if (s->job != NULL)
		peer_send(s->job->child, MSG_OK, 0, -1, NULL);
	s->mounted = false;
}

static void
mountd_on_release(struct peer *p, struct msg *msg)
{
	const struct m_SID	*m = msg->body;
	struct session		*s = session_find(m->session);

	(void)p;
	if (s != NULL && s->job != NULL) {
		if (s->release) {
			refuse(msg->id, s->id, "mount.busy", "it is being "
			    "released");
			return;
		}
		s->release = true;
		s->release_id = msg->id;
		if (s->job->type == MSG_PREP)
			job_kill(s->job);
	} else if (s != NULL && s->mounted)
		session_release(s, msg->id);
	else
		answer(msg->id, MSG_RELEASED, m->session);
}

static void
mountd_on_erase(struct peer *p, struct msg *msg)
{
	const struct m_SID	*m = msg->body;
	struct session		*s = session_find(m->session);
	bool			 fresh;
	int			 fd;

	(void)p;
	if (s != NULL && s->mounted) {
		refuse(msg->id, s->id, "mount.busy", "the session is mounted: "
		    "release it first");
		return;
	}
	if (s == NULL && sid_valid(m->session)) {
		/* Nothing there is as good as erased. */
		fd = store_open(m->session, false, &fresh);
		if (fd == -1 && errno == ENOENT) {
			answer(msg->id, MSG_ERASED, m->session);
			return;
		}
		if (fd != -1)
			close(fd);
	}
	if ((s = session_for(msg, m->session, false)) != NULL)
		session_run(s, msg, erase_run);
}

/* What could not be tried, for a doctor who waits for the end of it. */
static void
probe_failed(uint32_t id, const char *why)
{
	struct m_TEXT	t = { .level = "fail", .what = "mounts", .text = why };

	peer_send(broker, MSG_TEXT, id, -1, &t);
	peer_send(broker, MSG_END, id, -1, NULL);
}

static void
mountd_on_probe(struct peer *p, struct msg *msg)
{
	(void)p;
	if (job_start(NULL, msg, probe_run) == NULL)
		probe_failed(msg->id, no_process());
}

/* No session's: it only reads, beside whatever is at work. */
static void
mountd_on_measure(struct peer *p, struct msg *msg)
{
	(void)p;
	if (job_start(NULL, msg, measure_run) == NULL)
		refuse(msg->id, NULL, "mount.failed", no_process());
}

static void
mountd_on_explain(struct peer *p, struct msg *msg)
{
	(void)p;
	if (job_start(NULL, msg, explain_run) == NULL)
		refuse(msg->id, NULL, "mount.failed", no_process());
}

const struct handler session_table[] = {
	{ MSG_PREP,	PERMIT_ALWAYS,	mountd_on_prep },
	{ MSG_SFD,	PERMIT_ALWAYS,	mountd_on_sfd },
	{ MSG_SPARE,	PERMIT_ALWAYS,	mountd_on_spare },
	{ MSG_REFRESH,	PERMIT_ALWAYS,	mountd_on_refresh },
	{ MSG_RELEASE,	PERMIT_ALWAYS,	mountd_on_release },
	{ MSG_VIEW,	PERMIT_ALWAYS,	mountd_on_view },
	{ MSG_OUTSIDE,	PERMIT_ALWAYS,	mountd_on_outside },
	{ MSG_CLEAN,	PERMIT_ALWAYS,	mountd_on_clean },
	{ MSG_ERASE,	PERMIT_ALWAYS,	mountd_on_erase },
	{ MSG_PROBE,	PERMIT_ALWAYS,	mountd_on_probe },
	{ MSG_MEASURE,	PERMIT_ALWAYS,	mountd_on_measure },
	{ MSG_EXPLAIN,	PERMIT_ALWAYS,	mountd_on_explain },
};
const size_t session_ntable = sizeof(session_table) / sizeof(session_table[0]);

/*
 * The tree is there: one clone of each stays here, the rest goes on, and
 * the answer last.
 */
void
session_mounted(struct job *j, const struct m_MOUNTED *m)
{
	struct session	*s = j->s;
	struct m_SFD	 sfd = { .session = s->id };
	size_t		 i, k;
	bool		 workers;

	for (i = 0; i < j->nfds; i++) {
		struct jobfd *f = &j->fds[i];

		k = clone_which(f->kind, f->n, &workers);
		if (k < CLONE_COUNT && !workers) {
			stage_hold(s->id, f->kind, k, f->fd);
			s->clone[k] = f->fd;
		} else if (strcmp(f->kind, "layer") == 0) {
			s->kept = reallocarray(s->kept, s->nkept + 1,
			    sizeof(*s->kept));
			if (s->kept == NULL)
				fatal("session %s", s->id);
			stage_hold(s->id, f->kind, f->n, f->fd);
			s->kept[s->nkept].n = (unsigned int)f->n;
			s->kept[s->nkept++].fd = f->fd;
		} else {
			sfd.kind = f->kind;
			sfd.n = f->n;
			peer_send(broker, MSG_SFD, j->id, f->fd, &sfd);
		}
		f->fd = -1;
	}
	for (i = 0; i < s->nroots && i < m->devs.n && i < m->inos.n; i++) {
		s->dev[i] = m->devs.v[i];
		s->ino[i] = m->inos.v[i];
	}
	s->mounted = true;
	s->fresh = s->settled = false;
	s->job = NULL;
	j->s = NULL;
	peer_send(broker, MSG_MOUNTED, j->id, -1, m);
}

/* A PREP that failed leaves nothing of a new session. */
static bool
session_undo(struct session *s, struct job *j)
{
	struct msg	msg = { .type = MSG_ERASE, .id = j->id, .fd = -1 };

	if (j->type != MSG_PREP || !s->fresh ||
	    job_start(s, &msg, erase_run) == NULL)
		return (false);
	/* What it was refused for is told when that is done. */
	s->job->undo = true;
	s->job->code = j->code;
	s->job->text = j->text;
	j->code = j->text = NULL;
	return (true);
}

static void
session_view_send(struct job *j)
{
	struct m_LFD	m = { .kind = NULL };
	size_t		i;

	for (i = 0; i < j->nfds; i++) {
		m.kind = j->fds[i].kind;
		peer_send(broker, MSG_LFD, j->id, j->fds[i].fd, &m);
		j->fds[i].fd = -1;
	}
}

static void
session_succeeded(struct session *s, struct job *j)
{
	if (j->answer == MSG_VIEWED)
		session_view_send(j);
	else if (j->answer == MSG_RELEASED)
		s->settled = true;
	if (j->answer == MSG_ERASED)
		s->settled = s->fresh = false;
	if (!s->mounted)
		session_unlock(s);
	answer(j->id, j->answer, s->id);
}

static const char *
job_code(const struct job *j)
{
	return (j->code != NULL ? j->code : "mount.failed");
}

static const char *
job_why(const struct job *j)
{
	return (j->text != NULL ? j->text : "mountd's process for it ended "
	    "early");
}

static void
session_failed(struct session *s, struct job *j)
{
	if (session_undo(s, j))
		return;
	if (!s->mounted && j->late && !j->reaped)
		session_forsake(s);
	else if (!s->mounted)
		session_unlock(s);
	/* Who has given a session up waits for its release, not for why. */
	if (!(s->release && (j->type == MSG_PREP || j->undo)))
		refuse(j->id, s->id, job_code(j), job_why(j));
}

/* The child has ended and everything it held is closed. */
void
session_job_over(struct job *j)
{
	struct session	*s = j->s;
	uint32_t	 id;

	if (s == NULL) {
		if (j->answer == 0 && (j->type == MSG_MEASURE ||
		    j->type == MSG_EXPLAIN || j->type == MSG_REFRESH))
			refuse(j->id, NULL, job_code(j), job_why(j));
		else if (!j->ended && j->type == MSG_PROBE)
			probe_failed(j->id, job_why(j));
		return;
	}
	s->job = NULL;
	if (j->answer != 0 && !j->undo)
		session_succeeded(s, j);
	else
		session_failed(s, j);
	if (s->job != NULL)
		return;
	if (j->undo)
		s->fresh = false;
	if (s->release) {
		s->release = false;
		id = s->release_id;
		if (s->mounted)
			session_release(s, id);
		else
			answer(id, MSG_RELEASED, s->id);
	}
	session_tidy(s);
}

void
session_relay(const struct job *j, uint32_t type, const void *body)
{
	peer_send(broker, type, j->id, -1, body);
}

void
session_begin(struct event_base *base, struct peer *p)
{
	broker = p;
	job_begin(base);
	spare_begin(base);
}
