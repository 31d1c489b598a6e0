/*
 * A review or a landing, one at a time a session: frozen if it lives, then
 * landd's child works, then mountd cleans the layer, and only then is the
 * client answered.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/digest.h"
#include "../common/escape.h"
#include "../common/log.h"
#include "../common/path.h"
#include "sbxd.h"

static uint32_t	job_next = 1;

static const char *const	job_words[] = {
	[J_CHANGES] = "changes", [J_PATCH] = "patch", [J_APPLY] = "apply",
	[J_DISCARD] = "discard", [J_RECOVER] = "recover",
	[J_REMOVE] = "changes", [J_FORGET] = "forget",
	[J_GC] = "changes", [J_OUTSIDE] = "outside",
};

bool
job_writes(const struct job *j)
{
	return (j->what == J_APPLY || j->what == J_DISCARD ||
	    j->what == J_RECOVER);
}

struct job *
job_find(uint32_t id)
{
	struct job	*j;

	TAILQ_FOREACH(j, &sbxd.jobs, entry)
		if (j->id == id)
			return (j);
	return (NULL);
}

/* 0 is no request's: it is the peerid of what belongs to none. */
uint32_t
job_number(void)
{
	if (job_next == 0)
		job_next++;
	return (job_next++);
}

struct job *
job_new(struct session *s, enum job_what what, size_t root, struct client *c,
    uint32_t reqid)
{
	struct job	*j;

	if ((j = calloc(1, sizeof(*j))) == NULL)
		fatal("job");
	j->id = job_number();
	j->session = s;
	j->root = root;
	j->what = what;
	j->client = c;
	j->owed.uid = c != NULL ? c->uid : sbxd.uids[UID_SBXD];
	j->reqid = reqid;
	j->patch = -1;
	j->result.fd = -1;
	j->live = s->state == S_RUNNING;
	s->job = j;
	TAILQ_INSERT_TAIL(&sbxd.jobs, j, entry);
	idle_check();
	return (j);
}

const char *
job_project(const struct job *j)
{
	const struct m_RECORD	*r = &j->session->rec.r;

	return (j->root == 0 ? r->project : r->more.v[j->root - 1]);
}

const char *
job_named(const struct job *j)
{
	return (j->session->rec.r.more.n > 0 ? job_project(j) : NULL);
}

struct root_file
job_name(const struct job *j, const char *name)
{
	return (root_file(name, j->root));
}

static void
job_free(struct job *j)
{
	size_t	i;

	for (i = 0; i < j->npaths; i++)
		free(j->paths[i]);
	free(j->paths);
	if (j->settling != NULL)
		event_free(j->settling);
	if (j->patch != -1)
		close(j->patch);
	msg_free(&j->result);
	TAILQ_REMOVE(&sbxd.jobs, j, entry);
	free(j);
}

static void
job_thaw(struct job *j)
{
	struct m_SID	sid = { .session = j->session->rec.r.session };

	/* Also where it is given up before the answer. */
	if (j->freezing || j->frozen)
		peer_send(sbxd.helper[H_SPAWN], MSG_THAW, 0, -1, &sid);
	j->freezing = j->frozen = false;
	holds_soon();
}

/* The child may be there still: landd ends it. */
void
job_finish(struct job *j)
{
	struct session	*s = j->session;

	peer_send(sbxd.helper[H_LANDD], MSG_JOBEND, j->id, -1, NULL);
	job_thaw(j);
	unlinkat(s->dir, job_name(j, "baseline.new").s, 0);
	s->job = NULL;
	job_free(j);
	session_settled(s);
	idle_check();
}

static void
job_answer_error(struct job *j, const char *code, const char *why)
{
	struct m_ERROR	e = {
		.code = code, .message = why, .at = j->session->rec.r.session
	};

	/* Whether changes wait cannot be said: its owner need not care. */
	if (j->what == J_REMOVE && (strncmp(code, "land.", 5) == 0 ||
	    strcmp(code, "mount.aside") == 0))
		e.hint = "\"sbxctl rm --discard\" removes it unseen";
	if (j->client != NULL)
		peer_send(j->client->peer, MSG_ERROR, j->reqid, -1, &e);
	else if (j->what == J_RECOVER)
		log_warnx("session %s: recovering its landing: %s",
		    j->session->rec.r.session, why);
}

void
job_landed(struct job *j, const char *warning)
{
	struct m_LANDED	landed = { .files = j->landed, .warning = warning };
	char		hex[2 * LIMIT_DIGEST + 1];
	const struct m_LANDED *result = j->result.body;

	j->session->unrecovered = false;
	digest_hex(j->computed, hex);
	audit(job_words[j->what], j->session, job_named(j), j->owed.uid,
	    result != NULL ? &result->paths : NULL,
	    "digest=%s files=%llu result=ok%s actor=%s", j->landing ? hex :
	    "-", (unsigned long long)j->landed, warning != NULL ?
	    " unclean=yes" : "", audit_word(j->owed.actor).s);
	if (j->asked)
		job_answer_error(j, "land.recovered", j->landed > 0 ?
		    "a landing of it that was interrupted is now finished: "
		    "look again" : "a landing of it that was interrupted is "
		    "now taken back: look again");
	else if (j->client != NULL)
		peer_send(j->client->peer, MSG_LANDED, j->reqid, -1, &landed);
	job_finish(j);
}

/* The real files have it. What could not leave the layer is like its new
 * baseline, and so no change; but inside it hides what the owner does. */
void
job_unclean(struct job *j, const char *why)
{
	const char	*id = j->session->rec.r.session;
	char		 text[LIMIT_MESSAGE + 1];

	snprintf(text, sizeof(text), "landed, but its layer, s/%s of the "
	    "state, could not be cleaned of it: %.2048s; inside, your later "
	    "edits of these files do not show: remove the session when it "
	    "has ended, or drop all that it still holds by \"sbxctl discard "
	    "--yes %s\"", id, why, id);
	escape_fit(text, sizeof(text));
	log_warnx("session %s: %s", id, text);
	clean_end(j);
	job_landed(j, text);
}

/*
 * A landing whose child was lost after the commit point is rolled forward or
 * back at once; the client hears what came of it.
 */
void
job_fail(struct job *j, const char *code, const char *why)
{
	struct session	*s = j->session;
	struct gc	*gc;

	if (j->what == J_FORGET) {
		job_forgot(j, code, why);
		return;
	}
	if (j->what == J_APPLY && job_interrupted(s)) {
		log_warnx("session %s: %s; recovering", s->rec.r.session, why);
		job_recover_failed(j, code, why);
		return;
	}
	if (j->landed > 0 && j->what != J_DISCARD) {
		job_unclean(j, why);
		return;
	}
	s->unrecovered = job_interrupted(s);
	/* Of folders only, and not cleaned: nobody comes back to that. */
	if (j->result.body != NULL && j->what != J_DISCARD)
		clean_end(j);
	if (job_writes(j)) {
		audit(job_words[j->what], s, job_named(j), j->owed.uid, NULL,
		    "result=%s actor=%s", code,
		    audit_word(j->owed.actor).s);
		/* A recovery that failed keeps its journal for the next. */
		if (j->what != J_RECOVER)
			unlinkat(s->dir, job_name(j, "journal").s, 0);
	}
	gc = j->gc;
	job_answer_error(j, code, why);
	job_finish(j);
	if (gc != NULL)
		gc_on_judged(gc, NULL, why);
}

int
seal_read(const struct job *j, uint8_t *buf, size_t *len)
{
	ssize_t	n;
	int	fd;

	fd = openat(j->session->dir, job_name(j, "seal").s, O_RDONLY |
	    O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	n = read(fd, buf, LIMIT_SEAL);
	close(fd);
	*len = n > 0 ? (size_t)n : 0;
	if (n == 0)
		errno = ENOENT;
	return (n > 0 ? 0 : -1);
}

static int
job_file(struct job *j, const char *name, const char *kind, int flags)
{
	struct m_LFD	lfd = { .kind = kind };
	int		fd;

	fd = openat(j->session->dir, job_name(j, name).s, flags | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (fd == -1)
		return (errno == ENOENT && !(flags & O_CREAT) ? 0 : -1);
	peer_send(sbxd.helper[H_LANDD], MSG_LFD, j->id, fd, &lfd);
	return (0);
}

static int
job_files(struct job *j)
{
	/* Without one nothing is known to be the session's. */
	if (job_file(j, "baseline", "baseline", j->what == J_FORGET ?
	    O_RDONLY | O_CREAT : O_RDONLY) == -1)
		return (-1);
	if (!job_writes(j))
		return (0);
	if (j->what != J_DISCARD && job_file(j, "journal", "journal",
	    j->what == J_RECOVER ? O_RDWR : O_RDWR | O_CREAT | O_TRUNC) == -1)
		return (-1);
	return (job_file(j, "baseline.new", "newbase", O_RDWR | O_CREAT |
	    O_TRUNC));
}

/* What the session's user hid, and the suite's own where the project has it
 * below itself: inside it is not there, and that is no change. */
static void
job_hides(const struct job *j, struct strv *hide)
{
	const struct m_RECORD	*r = &j->session->rec.r;

	hide->n = r->hide.n;
	if ((hide->v = calloc(r->hide.n + 3, sizeof(*hide->v))) == NULL)
		fatal("hidden paths");
	if (r->hide.n > 0)
		memcpy(hide->v, r->hide.v, r->hide.n * sizeof(*hide->v));
	if (path_within(job_project(j), sbxd.conf.state))
		hide->v[hide->n++] = sbxd.conf.state;
	if (sbxd.conf.runtime[0] != '\0' &&
	    path_within(job_project(j), sbxd.conf.runtime))
		hide->v[hide->n++] = sbxd.conf.runtime;
}

/* A landing's child, or a client, may have chosen as many as one message takes,
 * and then there is no room for the other lists. */
bool
lists_fit(size_t bytes)
{
	return (bytes <= LIMIT_LARGE - LIMIT_FRAME);
}

static void
job_send(struct job *j)
{
	const struct m_RECORD	*r = &j->session->rec.r;
	uint8_t			 seal[LIMIT_SEAL];
	struct m_JOB		 m = {
		.session = r->session, .what = job_words[j->what],
		.live = j->live, .seal = { seal, 0 },
		.ro = r->ro
	};
	bool			 fits;

	if (seal_read(j, seal, &m.seal.len) == -1 && errno != ENOENT) {
		job_fail(j, "state.failed", state_why("its seal cannot be "
		    "read"));
		return;
	}
	if (m.seal.len == 0) {
		job_fail(j, "land.unsealed", "the session has no seal: it "
		    "never came to run, or the machine went down just then; "
		    "nothing of it can be landed, \"sbxctl rm --discard\" "
		    "removes it");
		return;
	}
	if (j->digest_set) {
		m.digest.p = j->digest;
		m.digest.len = sizeof(j->digest);
	}
	if (j->npaths > 0) {
		m.paths.v = (const char **)(uintptr_t)j->paths;
		m.paths.n = j->npaths;
	}
	job_hides(j, &m.hide);
	fits = lists_fit(strv_bytes(&m.paths) + strv_bytes(&m.hide) +
	    strv_bytes(&m.ro));
	if (fits)
		peer_send(sbxd.helper[H_LANDD], MSG_JOB, j->id, -1, &m);
	free(m.hide.v);
	if (!fits)
		job_fail(j, "request.toolarge", "the paths are too many or "
		    "too long for one request: name fewer");
	else if (job_files(j) == -1)
		job_fail(j, "state.failed", state_why("its journal or "
		    "baselines in the state cannot be opened"));
}

void
job_start(struct job *j)
{
	session_sync(j->session);
	if ((job_writes(j) || j->what == J_FORGET) && audit(job_words[j->
	    what], j->session, job_named(j), j->owed.uid, NULL,
	    "result=begun actor=%s", audit_word(j->owed.actor).s) == -1) {
		job_fail(j, "audit.failed", state_why("the audit log cannot "
		    "be written, so nothing is done"));
		return;
	}
	/* A list of names as they are now: nothing has to hold still. */
	if (j->what == J_OUTSIDE)
		outside_start(j);
	else if (j->live)
		hold_freeze(j);
	else
		job_send(j);
}

/*
 * Where freezing is not to be had each file is read until it is stable. But
 * nothing lands and nothing is discarded: what the session wrote since it was
 * read would leave the layer unseen. What was begun goes to its end even so,
 * without the cleaning. why: of one that cannot be frozen, NULL.
 */
void
job_frozen(struct job *j, const char *why)
{
	char	text[LIMIT_MESSAGE + 1];

	if (!j->freezing)
		return;
	j->freezing = false;
	j->frozen = why == NULL;
	if (j->frozen || !job_writes(j) || j->what == J_RECOVER) {
		job_send(j);
		return;
	}
	if (j->session->state != S_RUNNING) {
		job_fail(j, "session.ending", "the session is about to end: "
		    "try again");
		return;
	}
	snprintf(text, sizeof(text), "%.2048s, so nothing of it lands or is "
	    "discarded while it runs: end it first, \"sbxctl stop %s\"", why,
	    j->session->rec.r.session);
	escape_fit(text, sizeof(text));
	job_fail(j, "session.unfrozen", text);
}

/* land opened the project as the user: mountd compares, and makes the view. */
static void
job_view(struct job *j, const char *git, int fd)
{
	const struct m_RECORD	*r = &j->session->rec.r;
	struct m_VIEW		 view = {
		.session = r->session, .live = j->live, .uid = r->uid,
		.gid = r->gid, .home = r->home,
		.project = job_project(j), .hide = r->hide,
		.discard = j->what == J_DISCARD, .git = git
	};

	peer_send(sbxd.helper[H_MOUNTD], MSG_VIEW, j->id, fd, &view);
}

void
landd_on_lfd(struct peer *p, struct msg *msg)
{
	const struct m_LFD	*lfd = msg->body;
	struct job		*j = job_find(msg->id);
	int			 fd = msg_take_fd(msg);

	(void)p;
	if (j != NULL && strcmp(lfd->kind, "project") == 0) {
		job_view(j, lfd->git, fd);
		return;
	}
	if (j != NULL && strcmp(lfd->kind, "patch") == 0 && j->patch == -1) {
		j->patch = fd;
		return;
	}
	close(fd);
}

void
job_on_mountd(struct msg *msg)
{
	const struct m_LFD	*lfd = msg->body;
	struct m_LFD		 out = { .kind = lfd->kind };

	if (job_find(msg->id) != NULL)
		peer_send(sbxd.helper[H_LANDD], MSG_LFD, msg->id,
		    msg_take_fd(msg), &out);
}

/* All that is needed is copied: a mere review lets the session go on. */
void
landd_on_staged(struct peer *p, struct msg *msg)
{
	struct job	*j = job_find(msg->id);

	(void)p;
	if (j == NULL)
		return;
	j->staged = true;
	if (!job_writes(j))
		job_thaw(j);
}

void
landd_on_item(struct peer *p, struct msg *msg)
{
	struct job	*j = job_find(msg->id);

	(void)p;
	if (j == NULL)
		return;
	if (msg->type == MSG_LANDING) {
		const struct m_LANDING *m = msg->body;

		j->files = m->files;
		j->skipped = m->skipped;
		j->ignored = m->ignored;
		j->landing = true;
		if (m->digest.len == sizeof(j->computed))
			memcpy(j->computed, m->digest.p, sizeof(j->computed));
	}
	/* A list goes to who asked for it; a removal only wants the sum. */
	if (j->client == NULL || j->what == J_REMOVE)
		return;
	peer_send(j->client->peer, msg->type, j->reqid, -1, msg->body);
	/* landd's one socket serves every job: it is not made to wait. */
	if (peer_queued(j->client->peer) > UNREAD_MAX) {
		log_info("client of uid %u: does not read its answers",
		    (unsigned int)j->client->uid);
		client_drop(j->client);
	}
}
