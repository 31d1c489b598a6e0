#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <msgpack.h>

#include "../common/fields.h"
#include "../common/log.h"
#include "../common/path.h"
#include "../privsep/pledge.h"
#include "job.h"

/*
 * The broker's side. sbxd orders a job, hands in its files at once and, when
 * the child has opened the project, what mountd made of it; all else goes
 * the other way.
 */
#define JOBS_MAX	256

static TAILQ_HEAD(, job)	jobs = TAILQ_HEAD_INITIALIZER(jobs);
static size_t			njobs;

static const char *const	job_words[JOB_COUNT] = {
	[JOB_CHANGES] = "changes", [JOB_PATCH] = "patch",
	[JOB_APPLY] = "apply", [JOB_DISCARD] = "discard",
	[JOB_RECOVER] = "recover", [JOB_FORGET] = "forget",
	[JOB_OUTSIDE] = "outside"
};
static const char *const	fd_words[JOBFD_COUNT] = {
	[JOBFD_BASELINE] = "baseline", [JOBFD_JOURNAL] = "journal",
	[JOBFD_NEWBASE] = "newbase", [JOBFD_VIEW] = "view",
	[JOBFD_LAYER] = "layer", [JOBFD_STAGE] = "stage",
	[JOBFD_REAL] = "real"
};

bool
job_writes(const struct job *j)
{
	return (j->what == JOB_APPLY || j->what == JOB_DISCARD ||
	    j->what == JOB_RECOVER);
}

struct job *
job_find(uint32_t id)
{
	struct job	*j;

	TAILQ_FOREACH(j, &jobs, entry)
		if (j->id == id)
			return (j);
	return (NULL);
}

/* A job that is over holds nothing but its number, until sbxd ends it. */
static void
job_release(struct job *j)
{
	int	i;

	peer_free(j->land);
	j->land = NULL;
	for (i = 0; i < JOBFD_COUNT; i++)
		if (j->fd[i] != -1) {
			close(j->fd[i]);
			j->fd[i] = -1;
		}
	if (j->timer != NULL)
		event_free(j->timer);
	j->timer = NULL;
	free(j->buf);
	j->buf = NULL;
}

static void
job_free(struct job *j)
{
	job_release(j);
	TAILQ_REMOVE(&jobs, j, entry);
	njobs--;
	if (j->zone != NULL)
		msgpack_zone_free(j->zone);
	msg_free(&j->order);
	free(j->session);
	free(j);
}

void
job_over(struct job *j)
{
	j->over = true;
	job_release(j);
}

void
job_fail(struct job *j, const char *code, const char *fmt, ...)
{
	char		text[LIMIT_MESSAGE + 1];
	struct m_ERROR	e = {
		.code = code, .message = text, .at = j->session
	};
	va_list		ap;

	if (j->over)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	peer_send(landd.sbxd, MSG_ERROR, j->id, -1, &e);
	job_over(j);
}

static struct job *
job_new(struct msg *msg, enum job_what what)
{
	const struct m_JOB	*m = msg->body;
	struct job		*j;
	int			 i;

	if ((j = calloc(1, sizeof(*j))) == NULL ||
	    (j->session = strdup(m->session)) == NULL ||
	    (j->zone = msgpack_zone_new(1024)) == NULL)
		fatal("a job");
	j->id = msg->id;
	j->what = what;
	for (i = 0; i < JOBFD_COUNT; i++)
		j->fd[i] = -1;
	/* The order is needed until the child has greeted. */
	j->order = *msg;
	memset(msg, 0, sizeof(*msg));
	msg->fd = -1;
	TAILQ_INSERT_TAIL(&jobs, j, entry);
	njobs++;
	return (j);
}

static bool
job_busy(const char *session)
{
	const struct job	*j;

	TAILQ_FOREACH(j, &jobs, entry)
		if (!j->over && strcmp(j->session, session) == 0)
			return (true);
	return (false);
}

/* Is there a child of an earlier job, which is over or not? */
static bool
job_child_lives(const char *session)
{
	const struct job	*j;

	TAILQ_FOREACH(j, &jobs, entry)
		if (j->child && strcmp(j->session, session) == 0)
			return (true);
	return (false);
}

static void
job_begin(struct job *j)
{
	j->waits = false;
	if (job_child_start(j) == -1)
		job_fail(j, "land.failed", "a socket for the landing's child: "
		    "%s; try again", strerror(errno));
}

/* Whoever waited for this one's child. */
static void
job_child_ended(struct job *j)
{
	struct job	*next;

	j->child = false;
	TAILQ_FOREACH(next, &jobs, entry)
		if (next->waits && !next->over &&
		    strcmp(next->session, j->session) == 0)
			break;
	if (j->leaves)
		job_free(j);
	if (next != NULL)
		job_begin(next);
}

void
landd_on_job(struct peer *p, struct msg *msg)
{
	const struct m_JOB	*m = msg->body;
	const char		*why;
	struct job		*j;
	int			 what;

	for (what = 0; what < JOB_COUNT; what++)
		if (strcmp(m->what, job_words[what]) == 0)
			break;
	if (what == JOB_COUNT || msg->id == 0 || job_find(msg->id) != NULL ||
	    (m->digest.p != NULL && m->digest.len != DIGEST_LEN) ||
	    (what == JOB_OUTSIDE && (m->paths.n == 0 ||
	    !path_is_canonical(m->paths.v[0]) ||
	    strlen(m->paths.v[0]) > LIMIT_PATH)))
		fatalx("from sbxd: JOB %u \"%s\" makes no sense", msg->id,
		    m->what);
	if (job_busy(m->session) || njobs == JOBS_MAX) {
		peer_error_at(p, msg->id, m->session, "land.busy", "session "
		    "%s is being reviewed or landed already; try again",
		    m->session);
		return;
	}
	j = job_new(msg, (enum job_what)what);
	j->files = what == JOB_OUTSIDE;
	m = j->order.body;
	j->waits = job_child_lives(j->session);
	if (seal_open(&m->seal, j->session, &j->seal, j->zone, &why) == 0) {
		if (!j->waits)
			job_begin(j);
	} else if (fields_nomem(why))
		job_fail(j, "land.failed", "the seal of session %s: %s; try "
		    "again", j->session, why);
	else
		job_fail(j, "land.seal", "the seal of session %s %s: its "
		    "record was changed, or is of another key; nothing of it "
		    "can be landed", j->session, why);
}

/* sbxd has its answer, or wants none any more. */
void
landd_on_jobend(struct peer *p, struct msg *msg)
{
	struct job	*j = job_find(msg->id);

	(void)p;
	if (j == NULL)
		return;
	/* Its socket closes, and with it the child ends: a second one of the
	 * session's must not meet it in the stage. */
	job_over(j);
	j->leaves = true;
	if (!j->child)
		job_free(j);
}

/* Journal and new baselines must be plain files that can be written. A
 * journal that is there already is of a landing that was not ended: it must
 * not be written over. */
static bool
file_check(struct job *j, enum job_fd kind)
{
	struct stat	st;
	int		mode;

	if (kind > JOBFD_NEWBASE)
		return (true);
	mode = fcntl(j->fd[kind], F_GETFL);
	if (mode == -1 || pledge_fstat(j->fd[kind], &st) == -1 ||
	    !S_ISREG(st.st_mode) || (mode & O_PATH) != 0 ||
	    (kind != JOBFD_BASELINE && (mode & O_ACCMODE) == O_RDONLY))
		fatalx("from sbxd: the %s of job %u is no such file",
		    fd_words[kind], j->id);
	if (st.st_size > 0 && kind == JOBFD_NEWBASE)
		fatalx("from sbxd: the %s of job %u is not empty",
		    fd_words[kind], j->id);
	if (st.st_size == 0 || kind != JOBFD_JOURNAL || j->what ==
	    JOB_RECOVER)
		return (true);
	job_fail(j, "land.unfinished", "an earlier landing of session %s was "
	    "not ended; it is finished or taken back first", j->session);
	return (false);
}

/* What a job of this kind is handed, and in which order. */
static bool
fd_due(const struct job *j, enum job_fd kind)
{
	if (j->seen[kind])
		return (false);
	/* No file of sbxd's, nor a project: mountd's three. */
	if (j->what == JOB_OUTSIDE)
		return (kind == JOBFD_VIEW || kind == JOBFD_LAYER ||
		    kind == JOBFD_REAL);
	switch (kind) {
	case JOBFD_BASELINE:
		return (!j->files && !j->seen[JOBFD_NEWBASE]);
	case JOBFD_JOURNAL:
		return (!j->files && (j->what == JOB_APPLY ||
		    j->what == JOB_RECOVER));
	case JOBFD_NEWBASE:
		return (!j->files && job_writes(j) && (j->what ==
		    JOB_DISCARD || j->seen[JOBFD_JOURNAL]));
	case JOBFD_REAL:
		return (false);
	default:
		return (j->project && (!job_writes(j) ||
		    j->seen[JOBFD_NEWBASE]));
	}
}

void
landd_on_lfd(struct peer *p, struct msg *msg)
{
	const struct m_LFD	*m = msg->body;
	struct job		*j = job_find(msg->id);
	int			 kind;

	(void)p;
	for (kind = 0; kind < JOBFD_COUNT; kind++)
		if (strcmp(m->kind, fd_words[kind]) == 0)
			break;
	if (kind == JOBFD_COUNT)
		fatalx("from sbxd: a descriptor of kind \"%s\"", m->kind);
	/* On its way while the job failed; msg_free closes it. */
	if (j == NULL || j->over)
		return;
	if (!fd_due(j, (enum job_fd)kind))
		fatalx("from sbxd: the %s of job %u (%s) is not due",
		    m->kind, j->id, job_words[j->what]);
	j->fd[kind] = msg_take_fd(msg);
	j->seen[kind] = true;
	if (!file_check(j, (enum job_fd)kind))
		return;
	/* Nobody says that there is no baseline: it is not there when what
	 * comes after it is. To forget nothing comes after it. */
	if (kind >= JOBFD_NEWBASE || j->what == JOB_FORGET)
		j->files = true;
	job_child_feed(j);
}

void
landd_on_childend(struct peer *p, struct msg *msg)
{
	const struct m_STATUS	*m = msg->body;
	struct job		*j = job_find(msg->id);

	(void)p;
	if (j == NULL)
		return;
	/* What it said before its end is read first. */
	if (!j->over && j->land == NULL)
		job_child_lost(j, true, m->status);
	else {
		j->ended = true;
		j->status = m->status;
	}
	job_child_ended(j);
}

void
landd_on_child_error(struct peer *p, struct msg *msg)
{
	const struct m_ERROR	*m = msg->body;
	struct job		*j = job_find(msg->id);

	(void)p;
	if (j == NULL)
		return;
	job_fail(j, "land.failed", "%s", m->message);
	job_child_ended(j);
}

/* The broker reads again. */
void
jobs_drained(void)
{
	struct job	*j;

	TAILQ_FOREACH(j, &jobs, entry)
		if (j->land != NULL)
			peer_resume(j->land);
}
