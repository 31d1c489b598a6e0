#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "../common/path.h"
#include "../privsep/pledge.h"
#include "../privsep/proc.h"
#include "job.h"

/*
 * The child's side. It runs as the session's user and reads what a session
 * wrote, so nothing it says is believed: each message has its turn, each is
 * checked and made anew for the broker, and whatever is wrong ends this job
 * and no more.
 */
#define ITEMS_MAX	2000000
#define COMMITS_MAX	2	/* the intent, the whole */
#define STATUS_WAIT	2	/* seconds, from EOF to spawn's word of it */

static void	child_gone(struct peer *, const char *);
static void	child_drained(struct peer *);

static void
child_broken(struct job *j, const char *why)
{
	log_warnx("job %u, session %s: its child: %s", j->id, j->session, why);
	if (j->commits > 0)
		job_fail(j, "land.unfinished", "the landing's child broke "
		    "off: %s; what it began is finished or taken back next",
		    why);
	else
		job_fail(j, "land.failed", "the landing's child: %s", why);
}

/*
 * Greeting, and the order
 */
static void
child_work(struct job *j)
{
	const struct m_JOB	*m = j->order.body;
	struct m_WORK		 w = {
		.session = j->session, .what = m->what, .live = m->live,
		.project = j->seal.project, .dev = j->seal.dev,
		.ino = j->seal.ino, .t0 = j->seal.t0, .digest = m->digest,
		.paths = m->paths, .hide = m->hide, .ro = m->ro
	};

	/* Nothing of the project is needed: land opens no path at all. */
	if (j->what == JOB_OUTSIDE)
		w.project = m->paths.v[0];
	peer_send(j->land, MSG_WORK, j->id, -1, &w);
}

static void
land_on_hello(struct peer *p, struct msg *msg)
{
	struct job	*j = p->ctx;
	struct m_HELLO	 mine;

	if (!proc_hello_fits(msg->body, ROLE_LAND)) {
		child_broken(j, "another build than landd's; install one "
		    "build of the whole suite");
		return;
	}
	proc_hello_fill(&mine, ROLE_LANDD);
	peer_send(p, MSG_HELLO, 0, -1, &mine);
	child_work(j);
	j->greeted = true;
	if (j->what == JOB_FORGET)
		peer_permit(p, MSG_END, PERMIT_ONCE);
	else if (j->what == JOB_OUTSIDE) {
		peer_permit(p, MSG_FOUND, PERMIT_ALWAYS);
		peer_permit(p, MSG_COUNTED, PERMIT_ONCE);
	} else if (j->what == JOB_RECOVER) {
		peer_permit(p, MSG_BYTES, PERMIT_ALWAYS);
		peer_permit(p, MSG_LANDED, PERMIT_ONCE);
	} else
		peer_permit(p, MSG_LFD, PERMIT_ONCE);
	job_child_feed(j);
}

/*
 * Descriptors
 */
static void
land_on_lfd(struct peer *p, struct msg *msg)
{
	const struct m_LFD	*m = msg->body;
	struct m_LFD		 out = { .kind = m->kind, .git = m->git };
	struct job		*j = p->ctx;
	struct stat		 st;
	const char		*want = j->project ? "patch" : "project";
	int			 flags;

	flags = fcntl(msg->fd, F_GETFL);
	if (strcmp(m->kind, want) != 0 || flags == -1 ||
	    (m->git != NULL && (j->project || !path_is_canonical(m->git))) ||
	    pledge_fstat(msg->fd, &st) == -1) {
		child_broken(j, "a descriptor that was not due");
		return;
	}
	if (j->project ? !S_ISREG(st.st_mode) || (flags & O_PATH) != 0 ||
	    (flags & O_ACCMODE) != O_RDONLY : !S_ISDIR(st.st_mode)) {
		child_broken(j, "a descriptor of another kind than it says");
		return;
	}
	peer_send(landd.sbxd, MSG_LFD, j->id, msg_take_fd(msg), &out);
	if (!j->project) {
		j->project = true;
		peer_permit(p, MSG_STAGED, PERMIT_ONCE);
	}
}

/* A file that sbxd keeps for us, verified, as bytes. What cannot be read now
 * may be later: only of what does not verify is it said that it never will. */
static int
feed_open(struct job *j, enum job_fd which, const char *kind)
{
	struct keep_id	 id = { kind, j->session, j->seal.root };
	const char	*why = NULL;
	int		 rv;

	j->bufkind = kind;
	j->bufn = 0;
	j->off = j->len = 0;
	if (j->fd[which] == -1)
		rv = (j->buf = calloc(1, 1)) == NULL ? -1 : 0;
	else
		rv = keep_read(j->fd[which], &id, &j->buf, &j->len, &why);
	if (rv == 0)
		return (0);
	if (why != NULL)
		job_fail(j, "land.state", "the %s of session %s %s: it was "
		    "changed or is of another key; nothing is landed", kind,
		    j->session, why);
	else
		job_fail(j, "land.failed", "the %s of session %s cannot be "
		    "read: %s; try again", kind, j->session, strerror(errno));
	return (-1);
}

static void
feed_bytes(struct job *j)
{
	struct m_BYTES	b = { .kind = j->bufkind };
	size_t		n;

	while (j->buf != NULL && peer_queued(j->land) < LIMIT_OUTQ) {
		n = j->len - j->off < LIMIT_CHUNK ? j->len - j->off :
		    LIMIT_CHUNK;
		b.n = j->bufn++;
		b.data.p = j->buf + j->off;
		b.data.len = n;
		j->off += n;
		b.last = j->off == j->len;
		peer_send(j->land, MSG_BYTES, j->id, -1, &b);
		if (b.last) {
			free(j->buf);
			j->buf = NULL;
		}
	}
}

/* The files first, which come from here alone; then the view. */
void
job_child_feed(struct job *j)
{
	static const char *const	words[] = {
		"view", "layer", "stage", "real"
	};
	int				i;

	if (j->land == NULL || !j->greeted || !j->files)
		return;
	if (j->bufkind == NULL && feed_open(j, JOBFD_BASELINE, "baseline") ==
	    -1)
		return;
	feed_bytes(j);
	if (j->buf == NULL && j->what == JOB_RECOVER && !j->bufjournal) {
		j->bufjournal = true;
		if (feed_open(j, JOBFD_JOURNAL, "journal") == -1)
			return;
		feed_bytes(j);
	}
	for (i = JOBFD_VIEW; i <= JOBFD_REAL && j->buf == NULL; i++) {
		struct m_LFD	lfd = { .kind = words[i - JOBFD_VIEW] };

		if (j->fd[i] == -1)
			continue;
		peer_send(j->land, MSG_LFD, j->id, j->fd[i], &lfd);
		j->fd[i] = -1;
	}
}

/*
 * What it found
 */
static void
land_on_staged(struct peer *p, struct msg *msg)
{
	struct job	*j = p->ctx;

	(void)msg;
	j->staged = true;
	peer_send(landd.sbxd, MSG_STAGED, j->id, -1, NULL);
	if (j->what == JOB_DISCARD) {
		peer_permit(p, MSG_BYTES, PERMIT_ALWAYS);
		return;
	}
	peer_permit(p, MSG_CHANGE, PERMIT_ALWAYS);
	peer_permit(p, MSG_SKIPPED, PERMIT_ALWAYS);
	peer_permit(p, MSG_IGNORED, PERMIT_ALWAYS);
	peer_permit(p, MSG_LANDING, PERMIT_ONCE);
}

/* Decoded by the field table, and encoded by it again. */
static void
land_on_item(struct peer *p, struct msg *msg)
{
	struct job	*j = p->ctx;

	if (++j->items > ITEMS_MAX) {
		child_broken(j, "a list without an end");
		return;
	}
	peer_send(landd.sbxd, msg->type, j->id, -1, msg->body);
	if (peer_queued(landd.sbxd) > LIMIT_OUTQ)
		peer_pause(p);
}

static void
land_on_landing(struct peer *p, struct msg *msg)
{
	const struct m_LANDING	*m = msg->body;
	struct job		*j = p->ctx;

	if (m->digest.len != DIGEST_LEN) {
		child_broken(j, "a digest of another length");
		return;
	}
	peer_send(landd.sbxd, MSG_LANDING, j->id, -1, m);
	peer_permit(p, MSG_CHANGE, PERMIT_NO);
	peer_permit(p, MSG_SKIPPED, PERMIT_NO);
	peer_permit(p, MSG_IGNORED, PERMIT_NO);
	if (j->what == JOB_APPLY) {
		peer_permit(p, MSG_BYTES, PERMIT_ALWAYS);
		/* Where there was nothing to land. */
		peer_permit(p, MSG_LANDED, PERMIT_ONCE);
	} else {
		if (j->what == JOB_PATCH)
			peer_permit(p, MSG_LFD, PERMIT_ONCE);
		peer_permit(p, MSG_END, PERMIT_ONCE);
	}
}

static void
land_on_counted(struct peer *p, struct msg *msg)
{
	struct job	*j = p->ctx;

	peer_send(landd.sbxd, MSG_COUNTED, j->id, -1, msg->body);
	peer_permit(p, MSG_FOUND, PERMIT_NO);
	peer_permit(p, MSG_END, PERMIT_ONCE);
}

static void
land_on_end(struct peer *p, struct msg *msg)
{
	struct job	*j = p->ctx;

	(void)msg;
	peer_send(landd.sbxd, MSG_END, j->id, -1, NULL);
	job_over(j);
}

/*
 * What it wants kept
 */
static bool
keep_due(const struct job *j, const char *kind)
{
	if (strcmp(kind, "journal") == 0)
		return (j->what == JOB_APPLY && j->commits < COMMITS_MAX &&
		    !j->baselined);
	/* Baselines after an apply without a journal would be a lie. */
	return (strcmp(kind, "baseline") == 0 && !j->baselined &&
	    (j->what != JOB_APPLY || j->commits == COMMITS_MAX));
}

/*
 * Without its new baselines a discard makes room all the same: then what the
 * owner changed since the session's start is drift, as before it. Nothing
 * that lands goes without. False: the job has failed.
 */
static bool
keep_failed(struct job *j)
{
	int	e = errno;

	log_warn("writing the %s of session %s", j->keep.id.kind, j->session);
	if (e != ENOSPC && e != EDQUOT &&
	    (e != EFBIG || j->what != JOB_DISCARD))
		child_broken(j, e == EFBIG ? "it keeps more than fits" :
		    "its journal or baselines could not be written to the "
		    "state");
	else if (j->what == JOB_DISCARD &&
	    ftruncate(j->fd[JOBFD_NEWBASE], 0) == 0)
		j->unkept = true;
	else
		job_fail(j, "state.full", "its %s could not be written: %s",
		    j->keep.id.kind, strerror(e));
	return (j->unkept);
}

static void
keep_done(struct job *j)
{
	if (!j->unkept && keep_end(&j->keep) == -1 && !keep_failed(j))
		return;
	j->keeping = false;
	if (strcmp(j->keep.id.kind, "journal") == 0) {
		j->commits++;
		peer_send(j->land, MSG_COMMITTED, j->id, -1, NULL);
		return;
	}
	j->baselined = true;
	peer_permit(j->land, MSG_LANDED, PERMIT_ONCE);
}

/* The journal's second part stands behind its first in the file. */
static void
keep_start(struct job *j, bool journal)
{
	struct keep_id	id = {
		journal ? "journal" : "baseline", j->session, j->seal.root
	};

	if (!journal || j->commits == 0)
		keep_begin(&j->keep, j->fd[journal ? JOBFD_JOURNAL :
		    JOBFD_NEWBASE], &id);
	j->keeping = true;
	j->part = 0;
}

static void
land_on_bytes(struct peer *p, struct msg *msg)
{
	const struct m_BYTES	*m = msg->body;
	struct job		*j = p->ctx;
	bool			 journal = strcmp(m->kind, "journal") == 0;

	if (!j->keeping) {
		if (!keep_due(j, m->kind)) {
			child_broken(j, "bytes that were not due");
			return;
		}
		keep_start(j, journal);
	}
	if (strcmp(m->kind, j->keep.id.kind) != 0 || m->n != j->part++ ||
	    (m->data.len == 0 && !m->last)) {
		child_broken(j, "bytes out of order");
		return;
	}
	if (!j->unkept && keep_add(&j->keep, m->data.p, m->data.len) == -1 &&
	    !keep_failed(j))
		return;
	if (m->last)
		keep_done(j);
}

static bool
code_fits(const char *code)
{
	return (*code != '\0' &&
	    strspn(code, "abcdefghijklmnopqrstuvwxyz.") == strlen(code));
}

/* Of an apply or a recovery, and nothing landed. */
static bool
back_fits(const struct job *j, const struct m_LANDED *m)
{
	if (m->code == NULL && m->why == NULL)
		return (true);
	return (m->code != NULL && m->why != NULL && code_fits(m->code) &&
	    j->what != JOB_DISCARD && j->baselined && m->files == 0 &&
	    m->paths.n == 0);
}

static void
land_on_landed(struct peer *p, struct msg *msg)
{
	const struct m_LANDED	*m = msg->body;
	struct job		*j = p->ctx;

	if (j->keeping || (!j->baselined && (m->files != 0 ||
	    m->paths.n != 0 || (j->what == JOB_APPLY && j->commits != 0)))) {
		child_broken(j, "a landing without its baselines");
		return;
	}
	if (!back_fits(j, m)) {
		child_broken(j, "a landing that was taken back, and not");
		return;
	}
	peer_send(landd.sbxd, MSG_LANDED, j->id, -1, m);
	job_over(j);
}

/*
 * Its end
 */

/* The tree is as it was, says the child: then nothing is to be recovered. */
static bool
journal_drop(struct job *j)
{
	int	fd = j->fd[JOBFD_JOURNAL];

	return (ftruncate(fd, 0) == 0 && fsync(fd) == 0);
}

static void
land_on_error(struct peer *p, struct msg *msg)
{
	const struct m_ERROR	*m = msg->body;
	struct job		*j = p->ctx;
	const char		*code = m->code;

	if (!code_fits(code)) {
		child_broken(j, "an error that is no word");
		return;
	}
	if (j->what == JOB_APPLY && j->commits > 0 &&
	    strcmp(code, "land.unfinished") != 0 && !journal_drop(j))
		code = "land.unfinished";
	job_fail(j, code, "%s", m->message);
}

void
job_child_lost(struct job *j, bool known, uint64_t status)
{
	char	why[128];
	int	st = (int)status;

	if (j->over)
		return;
	if (!known)
		snprintf(why, sizeof(why), "closed its socket");
	else if (WIFSIGNALED(st))
		snprintf(why, sizeof(why), "was ended by signal %d (%s)",
		    WTERMSIG(st), strsignal(WTERMSIG(st)));
	else
		snprintf(why, sizeof(why), "ended with status %d before it "
		    "was done", WEXITSTATUS(st));
	child_broken(j, why);
}

static void
child_unknown(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	job_child_lost(arg, false, 0);
}

/* A child that fails early does not wait for what we still write to it: our
 * write fails first, and why is in the socket. */
static bool
child_last_words(struct peer *p, struct msg *msg)
{
	const char	*why;
	int		 r;

	while ((r = imsg_next(&p->ib, msg, &why)) == 1 ||
	    (r == 0 && imsg_read(&p->ib) > 0)) {
		if (r == 0)
			continue;
		if (msg->type == MSG_ERROR)
			return (true);
		msg_free(msg);
	}
	return (false);
}

static void
child_gone(struct peer *p, const char *why)
{
	static const struct timeval	tv = { .tv_sec = STATUS_WAIT };
	struct job			*j = p->ctx;
	struct msg			 msg;

	if (why != NULL) {
		child_broken(j, why);
		return;
	}
	if (child_last_words(p, &msg)) {
		land_on_error(p, &msg);
		msg_free(&msg);
		return;
	}
	if (j->ended) {
		job_child_lost(j, true, j->status);
		return;
	}
	peer_free(p);
	j->land = NULL;
	if ((j->timer = evtimer_new(landd.base, child_unknown, j)) == NULL ||
	    evtimer_add(j->timer, &tv) == -1)
		job_child_lost(j, false, 0);
}

static void
child_drained(struct peer *p)
{
	job_child_feed(p->ctx);
}

static const struct handler land_table[] = {
	{ MSG_HELLO,	PERMIT_ONCE,	land_on_hello },
	{ MSG_LFD,	PERMIT_NO,	land_on_lfd },
	{ MSG_STAGED,	PERMIT_NO,	land_on_staged },
	{ MSG_CHANGE,	PERMIT_NO,	land_on_item },
	{ MSG_SKIPPED,	PERMIT_NO,	land_on_item },
	{ MSG_IGNORED,	PERMIT_NO,	land_on_item },
	{ MSG_LANDING,	PERMIT_NO,	land_on_landing },
	{ MSG_FOUND,	PERMIT_NO,	land_on_item },
	{ MSG_COUNTED,	PERMIT_NO,	land_on_counted },
	{ MSG_BYTES,	PERMIT_NO,	land_on_bytes },
	{ MSG_LANDED,	PERMIT_NO,	land_on_landed },
	{ MSG_END,	PERMIT_NO,	land_on_end },
	{ MSG_ERROR,	PERMIT_ONCE,	land_on_error },
};

static const struct peer_ops	land_ops = {
	.table = land_table,
	.n = sizeof(land_table) / sizeof(land_table[0]),
	.gone = child_gone,
	.drained = child_drained,
};

int
job_child_start(struct job *j)
{
	struct m_CHILD	child = {
		.session = j->session, .uid = j->seal.uid,
		.gid = j->seal.gid, .groups = j->seal.groups
	};
	int		sv[2], saved;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) == -1)
		return (-1);
	j->land = peer_new(landd.base, sv[0], ROLE_LANDD, ROLE_LAND,
	    &land_ops, j);
	if (j->land == NULL) {
		saved = errno;
		close(sv[1]);
		errno = saved;
		return (-1);
	}
	peer_send(landd.spawn, MSG_CHILD, j->id, sv[1], &child);
	j->child = true;
	return (0);
}
