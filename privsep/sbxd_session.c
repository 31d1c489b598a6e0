/*
 * Sessions: the table, their records on disk, and how each of them ends. Any
 * failure runs the one teardown from whatever was reached.
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
#include "../common/escape.h"
#include "../common/ids.h"
#include "../common/log.h"
#include "sbxd.h"
#include "whole.h"

#define SYNC_AFTER	100000	/* microseconds after the start */
#define IDLE_SECONDS	2	/* of an embedded suite nobody uses */

static const char *const	state_names[] = {
	[S_STARTING] = "starting", [S_RUNNING] = "running",
	[S_ENDING] = "ending", [S_ENDED] = "ended", [S_FAILED] = "failed",
};

const char *
session_state(const struct session *s)
{
	return (state_names[s->state]);
}

struct session *
session_find(const char *id)
{
	struct session	*s;

	TAILQ_FOREACH(s, &sbxd.sessions, entry)
		if (strcmp(s->rec.r.session, id) == 0)
			return (s);
	return (NULL);
}

static struct session *
session_alloc(void)
{
	struct session	*s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return (NULL);
	s->dir = s->starter_fd = -1;
	TAILQ_INIT(&s->waiters);
	return (s);
}

static void
session_insert(struct session *s)
{
	TAILQ_INSERT_TAIL(&sbxd.sessions, s, entry);
	sbxd.nsessions++;
}

/* NULL: errno. The record is in memory only, its folder is there. */
struct session *
session_new(const struct m_RECORD *r)
{
	struct session	*s;
	int		 saved;

	if ((s = session_alloc()) == NULL)
		return (NULL);
	if (record_copy(&s->rec, r) == -1 ||
	    mkdirat(sbxd.dir, r->session, 0700) == -1) {
		saved = errno;
		record_free(&s->rec);
		free(s);
		errno = saved;
		return (NULL);
	}
	s->dir = openat(sbxd.dir, r->session, O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC);
	session_insert(s);
	if (s->dir == -1) {
		saved = errno;
		session_free(s);
		errno = saved;
		return (NULL);
	}
	return (s);
}

struct root_file
root_file(const char *name, size_t root)
{
	struct root_file	f;

	if (root == 0)
		snprintf(f.s, sizeof(f.s), "%s", name);
	else
		snprintf(f.s, sizeof(f.s), "%s.%zu", name, root);
	return (f);
}

void
session_roots(const struct session *s, struct roots *roots)
{
	if (!roots_set(roots, s->rec.r.project, &s->rec.r.more))
		fatalx("session %s: too many roots", s->rec.r.session);
}

void
session_free(struct session *s)
{
	struct waiter	*w;

	while ((w = TAILQ_FIRST(&s->waiters)) != NULL) {
		TAILQ_REMOVE(&s->waiters, w, entry);
		free(w);
	}
	TAILQ_REMOVE(&sbxd.sessions, s, entry);
	sbxd.nsessions--;
	if (s->worker != NULL)
		peer_free(s->worker);
	if (s->sync != NULL)
		event_free(s->sync);
	session_grace_end(s);
	record_free(&s->before);
	if (s->starter_fd != -1)
		close(s->starter_fd);
	if (s->dir != -1)
		close(s->dir);
	record_free(&s->rec);
	free(s);
}

void
session_save(struct session *s)
{
	s->unsynced = true;
	s->rec.r.state = state_names[s->state];
	if (record_save(&s->rec, s->dir) == -1) {
		s->unsafe = errno;
		log_warn("writing the record of session %s",
		    s->rec.r.session);
	}
}

static int
file_sync(int dir, const char *name)
{
	int	fd, r;

	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (errno == ENOENT ? 0 : -1);
	r = fsync(fd);
	close(fd);
	return (r);
}

static int
seals_sync(const struct session *s)
{
	size_t	i;

	for (i = 0; i <= s->rec.r.more.n; i++)
		if (file_sync(s->dir, root_file("seal", i).s) == -1)
			return (-1);
	return (0);
}

static int
seal_again(const struct session *s, const char *name)
{
	const char	*why;
	uint8_t		*seal;
	size_t		 len;
	int		 r;

	seal = whole_read(s->dir, name, LIMIT_SEAL, &len, &why);
	if (seal == NULL)
		return (errno == ENOENT ? 0 : -1);
	r = whole_write(s->dir, name, seal, len, false);
	free(seal);
	return (r);
}

/* The kernel tells once of what it could not write: another sync of the same
 * file would succeed. */
static int
session_again(struct session *s)
{
	size_t	i;

	if (record_save(&s->rec, s->dir) == -1)
		return (-1);
	for (i = 0; i <= s->rec.r.more.n; i++)
		if (seal_again(s, root_file("seal", i).s) == -1)
			return (-1);
	return (0);
}

/* What fails is tried again with what comes next of the session. */
void
session_sync(struct session *s)
{
	if (!s->unsynced)
		return;
	if ((s->unsafe == 0 || session_again(s) == 0) &&
	    file_sync(s->dir, "record") == 0 && seals_sync(s) == 0 &&
	    fsync(s->dir) == 0 && fsync(sbxd.dir) == 0) {
		s->unsynced = false;
		s->unsafe = 0;
		return;
	}
	s->unsafe = errno;
	log_warn("syncing the record of session %s", s->rec.r.session);
}

static void
session_on_sync(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	session_sync(arg);
}

/*
 * A power cut in the first moments of a session costs that session. Waiting
 * for the disk at its start would cost each of them, and many end unchanged
 * before it comes to this. Nothing is said to be kept before it is synced.
 */
void
session_sync_soon(struct session *s)
{
	static const struct timeval	tv = { 0, SYNC_AFTER };

	if (s->sync == NULL)
		s->sync = evtimer_new(sbxd.base, session_on_sync, s);
	if (s->sync == NULL || event_add(s->sync, &tv) == -1)
		fatalx("a timer");
}

void
session_reason(struct session *s, const char *why)
{
	char	text[LIMIT_MESSAGE + 1];

	strlcpy(text, why, sizeof(text));
	escape_fit(text, sizeof(text));
	s->rec.r.reason = record_string(&s->rec, text);
}

void
session_set(struct session *s, enum session_state state, const char *reason)
{
	s->state = state;
	if (reason != NULL && s->rec.r.reason == NULL)
		session_reason(s, reason);
	if (state == S_ENDED || state == S_FAILED)
		s->rec.r.ended = clock_seconds();
}

void
session_answer(struct session *s, bool removed)
{
	struct waiter	*w, *next;

	TAILQ_FOREACH_SAFE(w, &s->waiters, entry, next) {
		if (removed && !w->remove)
			continue;
		TAILQ_REMOVE(&s->waiters, w, entry);
		w->client->waits--;
		client_send_end(w->client, w->id, s);
		free(w);
	}
}

/* The processes and mounts are gone: the session is only its layer now. */
void
session_settled(struct session *s)
{
	if (!s->killed || !s->released || s->state != S_ENDING)
		return;
	/* The job's child works on a view of its own; it has to end first. */
	if (s->job != NULL)
		return;
	session_set(s, s->ran ? S_ENDED : S_FAILED, NULL);
	if (!s->ran || s->erase) {
		/* There is nothing to keep. */
		session_answer(s, false);
		session_erase(s, NULL, 0);
		return;
	}
	if (s->before.zone != NULL)
		session_resume_undo(s);
	session_save(s);
	session_sync(s);
	log_info("session %s: ended%s%s", s->rec.r.session,
	    s->rec.r.reason != NULL ? ": " : "",
	    s->rec.r.reason != NULL ? s->rec.r.reason : "");
	session_answer(s, false);
	idle_check();
}

/* The one teardown. */
void
session_end(struct session *s, const char *reason)
{
	struct m_SID	sid = { .session = s->rec.r.session };

	if (s->state != S_STARTING && s->state != S_RUNNING)
		return;
	session_set(s, S_ENDING, reason);
	session_grace_end(s);
	s->killed = s->released = false;
	/* A resume has the same id: late answers are not its. */
	s->net = s->seal = 0;
	peer_send(sbxd.helper[H_SPAWN], MSG_KILL, 0, -1, &sid);
	peer_send(sbxd.helper[H_NETD], MSG_NETEND, 0, -1, &sid);
	hold_session_ends(s);
}

/* Nobody is in its mounts any more: they are released. Then only the worker
 * goes, for whose end nobody waits; that of the mounts waits for it. */
void
session_killed(struct session *s)
{
	struct m_SID	sid = { .session = s->rec.r.session };

	s->killed = true;
	s->release = job_number();
	peer_send(sbxd.helper[H_MOUNTD], MSG_RELEASE, s->release, -1, &sid);
	if (s->worker != NULL) {
		peer_free(s->worker);
		s->worker = NULL;
	}
	/* Relative to the workers' folder, which is where we stand. */
	if (unlink(s->rec.r.session) == -1 && errno != ENOENT)
		log_warn("the socket of session %s", s->rec.r.session);
}

/* To who asked for the session, before it ran. */
static void
starter_error(struct session *s, const char *code, const char *reason)
{
	struct m_ERROR	e = {
		.code = code, .message = reason, .at = s->rec.r.session
	};
	struct imsgbuf	ib;

	if (s->starter != NULL)
		peer_send(s->starter->peer, MSG_ERROR, s->starter_id, -1, &e);
	s->starter = NULL;
	if (s->starter_fd == -1)
		return;
	/* The connection is the terminal's already; nobody else writes to it
	 * before the command runs, and one frame always fits. */
	if (imsg_init(&ib, s->starter_fd, ROLE_SBXD, ROLE_CLIENT) == 0 &&
	    imsg_compose(&ib, MSG_ERROR, s->starter_id, -1, &e) == 0)
		imsg_flush(&ib);
	imsg_clear(&ib);
	s->starter_fd = -1;
}

/* Before the command ran: told to the starter; after: the session's end. */
void
session_fail(struct session *s, const char *code, const char *reason)
{
	if (s->state == S_STARTING) {
		log_info("session %s does not start: %s", s->rec.r.session,
		    reason);
		starter_error(s, code, reason);
	}
	session_end(s, reason);
}

static bool
record_is_live(const char *state)
{
	return (strcmp(state, "ended") != 0 && strcmp(state, "failed") != 0);
}

/*
 * The suite ended before this session did. GO, without which init executes
 * nothing, is sent when the last root's seal was written: without that one the
 * command never ran, and there is nothing of it to lose. But what was written
 * is only known to be there as long as the kernel is the same: after a power
 * cut the seal may be missing of a session that ran, and its layer is not given
 * up.
 */
static void
session_cut_off(struct session *s)
{
	const struct m_RECORD	*r = &s->rec.r;
	struct stat		 st;

	if (fstatat(s->dir, root_file("seal", r->more.n).s, &st,
	    AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0)
		session_set(s, S_ENDED, "the suite ended while it ran");
	else if (strcmp(r->state, state_names[S_STARTING]) == 0 &&
	    strcmp(r->boot, sbxd.boot) == 0)
		session_set(s, S_FAILED, "the suite ended before its command "
		    "ran");
	else
		session_set(s, S_ENDED, "the machine went down in its first "
		    "moments: its seal is not there, so nothing of it can be "
		    "landed");
}

/* A landing or a discard of any root. */
static bool
session_has_landed(const struct session *s)
{
	struct stat	st;
	size_t		i;

	for (i = 0; i <= s->rec.r.more.n; i++)
		if (fstatat(s->dir, root_file("baseline", i).s, &st,
		    AT_SYMLINK_NOFOLLOW) == 0)
			return (true);
	return (false);
}

static void
session_load(const char *id)
{
	struct session	*s;
	const char	*why = NULL;

	if ((s = session_alloc()) == NULL)
		fatal("session");
	s->dir = openat(sbxd.dir, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (s->dir == -1 || record_load(&s->rec, s->dir, &why) == -1 ||
	    strcmp(s->rec.r.session, id) != 0) {
		if (s->dir == -1 || !session_unborn(id, s->dir))
			log_warnx("session %s: its record cannot be read "
			    "(%s); it is left as it is", id, s->dir == -1 ?
			    strerror(errno) : why != NULL ? why :
			    "it is another session's");
		record_free(&s->rec);
		if (s->dir != -1)
			close(s->dir);
		free(s);
		return;
	}
	session_insert(s);
	s->state = strcmp(s->rec.r.state, state_names[S_FAILED]) == 0 ?
	    S_FAILED : S_ENDED;
	s->killed = s->released = true;
	s->landed = session_has_landed(s);
	if (record_is_live(s->rec.r.state)) {
		session_cut_off(s);
		session_save(s);
		/* Its worker went with the suite, and has left its socket. */
		if (unlink(id) == -1 && errno != ENOENT)
			log_warn("the socket of session %s", id);
	}
}

static int
folder_cmp(const void *a, const void *b)
{
	const struct session	*const *x = a, *const *y = b;

	return ((*x)->rec.r.created < (*y)->rec.r.created ? -1 :
	    (*x)->rec.r.created > (*y)->rec.r.created);
}

/* In the order in which they were made. */
static void
sessions_sort(void)
{
	struct session	**v, *s;
	size_t		  i = 0, n = sbxd.nsessions;

	if (n == 0)
		return;
	if ((v = calloc(n, sizeof(struct session *))) == NULL)
		fatal("sessions");
	TAILQ_FOREACH(s, &sbxd.sessions, entry)
		v[i++] = s;
	qsort(v, n, sizeof(struct session *), folder_cmp);
	TAILQ_INIT(&sbxd.sessions);
	for (i = 0; i < n; i++)
		TAILQ_INSERT_TAIL(&sbxd.sessions, v[i], entry);
	free(v);
}

void
session_load_all(void)
{
	struct dirent	*de;
	DIR		*d;
	int		 fd;

	fd = openat(sbxd.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || (d = fdopendir(fd)) == NULL)
		fatal("%s/sbxd", sbxd.conf.state);
	while ((de = readdir(d)) != NULL)
		if (sid_valid(de->d_name))
			session_load(de->d_name);
	closedir(d);
	sessions_sort();
}

static void
sessions_stopped(void)
{
	struct session	*s;

	TAILQ_FOREACH(s, &sbxd.sessions, entry)
		if (s->erase || (s->state != S_ENDED && s->state != S_FAILED))
			return;
	if (TAILQ_EMPTY(&sbxd.jobs))
		event_base_loopbreak(sbxd.base);
}

void
sessions_stop(void)
{
	struct session	*s, *next;

	if (sbxd.stopping)
		return;
	sbxd.stopping = true;
	/* Closed, so that a client hears at once that nobody listens. */
	event_del(sbxd.accepting);
	close(sbxd.listener);
	jobs_stop();
	TAILQ_FOREACH_SAFE(s, &sbxd.sessions, entry, next)
		session_fail(s, "suite.ending", "the suite was stopped");
	sessions_stopped();
}

static void
idle_on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	event_base_loopbreak(sbxd.base);
}

static bool
suite_is_idle(void)
{
	struct session	*s;

	if (!TAILQ_EMPTY(&sbxd.clients) || !TAILQ_EMPTY(&sbxd.jobs))
		return (false);
	TAILQ_FOREACH(s, &sbxd.sessions, entry)
		if (s->erase || (s->state != S_ENDED && s->state != S_FAILED))
			return (false);
	return (true);
}

/* An embedded suite lives while somebody uses it, and 2 s longer. */
void
idle_check(void)
{
	const struct timeval	tv = { IDLE_SECONDS, 0 };

	if (sbxd.stopping)
		sessions_stopped();
	if (!sbxd.conf.embedded)
		return;
	if (sbxd.idle == NULL &&
	    (sbxd.idle = evtimer_new(sbxd.base, idle_on_timer, NULL)) == NULL)
		fatalx("a timer");
	if (suite_is_idle())
		event_add(sbxd.idle, &tv);
	else
		event_del(sbxd.idle);
}
