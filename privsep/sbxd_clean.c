/*
 * After a landing: its baselines take their place, its journal ends, and the
 * layer is cleaned of what landed. What is still to be cleaned is in a file
 * meanwhile, names with a NUL behind each, so that a crash in between does not
 * leave it in the layer for good, where it hides the owner's later edits. No
 * session runs on past the end of its suite: at the next start the layer is as
 * it was.
 */
#include <sys/stat.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "sbxd.h"
#include "whole.h"

#define CLEAN_FILE	"unclean"

/* Without it all is as well, if nothing crashes. */
static void
clean_keep(const struct job *j, const struct strv *paths)
{
	const char	*id = j->session->rec.r.session;
	size_t		 i, len = 0;
	char		*buf, *p;

	for (i = 0; i < paths->n; i++)
		len += strlen(paths->v[i]) + 1;
	if ((buf = malloc(len + 1)) == NULL)
		fatal("a landing's paths");
	for (p = buf, i = 0; i < paths->n; i++)
		p = stpcpy(p, paths->v[i]) + 1;
	if (whole_write(j->session->dir, job_name(j, CLEAN_FILE).s, buf, len,
	    true) == -1)
		log_warn("session %s: what its layer is to be cleaned of", id);
	free(buf);
}

/* The list lies in raw, which the caller frees, as its v. */
static int
clean_read(const struct session *s, size_t root, struct strv *paths,
    uint8_t **raw)
{
	const char	*why, *p;
	size_t		 len, n = 0;

	memset(paths, 0, sizeof(*paths));
	*raw = whole_read(s->dir, root_file(CLEAN_FILE, root).s, LIMIT_LARGE,
	    &len, &why);
	if (*raw == NULL)
		return (-1);
	if (len == 0 || (*raw)[len - 1] != '\0') {
		free(*raw);
		return (-1);
	}
	for (p = (char *)*raw; p < (char *)*raw + len; p += strlen(p) + 1)
		n++;
	if ((paths->v = calloc(n, sizeof(*paths->v))) == NULL)
		fatal("a landing's paths");
	for (p = (char *)*raw; p < (char *)*raw + len; p += strlen(p) + 1)
		paths->v[paths->n++] = p;
	return (0);
}

void
clean_end(const struct job *j)
{
	int	dir = j->session->dir;

	/* Back after a crash it would take away what was written since. */
	if (unlinkat(dir, job_name(j, CLEAN_FILE).s, 0) == 0 &&
	    fsync(dir) == -1)
		log_warn("session %s: its landing's end", j->session->rec.r.
		    session);
}

static int
baseline_replace(const struct job *j)
{
	struct root_file	new = job_name(j, "baseline.new");
	int			dir = j->session->dir;
	struct stat		st;

	if (fstatat(dir, new.s, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    st.st_size == 0)
		return (0);
	if (renameat(dir, new.s, dir, job_name(j, "baseline").s) == -1)
		return (-1);
	return (fsync(dir));
}

static void
job_clean(struct job *j, const struct strv *paths)
{
	struct m_CLEAN	clean = {
		.session = j->session->rec.r.session,
		.project = job_project(j), .live = j->live,
		.discard = j->what == J_DISCARD, .paths = *paths,
		/* A stopped session's is known to nobody else. */
		.hide = j->session->rec.r.hide
	};
	bool		fits = lists_fit(strv_bytes(&clean.paths) +
			    strv_bytes(&clean.hide));

	if (paths->n == 0) {
		job_on_cleaned(j->session);
		return;
	}
	if (j->live && !j->frozen && j->what != J_DISCARD) {
		job_unclean(j, "it cannot be held still");
		return;
	}
	if (!fits && j->what == J_DISCARD) {
		job_fail(j, "request.toolarge", "their names do not fit one "
		    "request: name fewer");
		return;
	}
	if (!fits) {
		job_unclean(j, "their names do not fit one request");
		return;
	}
	peer_send(sbxd.helper[H_MOUNTD], MSG_CLEAN, j->id, -1, &clean);
}

/* What a discard lets show is the base only once the layer is rid of it: were
 * it so before, a discard that failed would make the owner's edits the base of
 * what the session still has, and the next landing would go over them. */
static void
job_based(struct job *j)
{
	if (baseline_replace(j) == -1)
		log_warn("session %s: its baselines", j->session->rec.r.
		    session);
}

/* A landing that had ended before its recovery says no paths: they are kept
 * where it has not been cleaned of. */
static void
job_cleaning(struct job *j, const struct m_LANDED *m)
{
	struct strv	 kept;
	uint8_t		*raw;
	bool		 ended;

	ended = j->what == J_RECOVER && m->files > 0 && m->paths.n == 0 &&
	    clean_read(j->session, j->root, &kept, &raw) == 0;
	job_clean(j, ended ? &kept : &m->paths);
	if (ended) {
		free(kept.v);
		free(raw);
	}
}

/* At a start: the landing is whole, the suite's end came before the layer was
 * cleaned. */
void
clean_again(struct session *s)
{
	struct strv	 paths;
	struct job	*j;
	uint8_t		*raw;
	size_t		 root;

	for (root = 0; root <= s->rec.r.more.n; root++) {
		if (clean_read(s, root, &paths, &raw) == -1)
			continue;
		log_info("session %s: its layer is cleaned of what landed",
		    s->rec.r.session);
		j = job_new(s, J_RECOVER, root, NULL, 0);
		strlcpy(j->owed.actor, s->rec.r.owner, sizeof(j->owed.actor));
		j->landed = paths.n;
		job_clean(j, &paths);
		free(paths.v);
		free(raw);
		return;
	}
}

/* The real tree is done with: baselines, journal, then the layer. */
void
landd_on_landed(struct peer *p, struct msg *msg)
{
	const struct m_LANDED	*m = msg->body;
	struct job		*j = job_find(msg->id);

	(void)p;
	if (j == NULL || !job_writes(j))
		return;
	j->landed = m->files;
	j->session->landed = true;
	j->result = *msg;
	memset(msg, 0, sizeof(*msg));
	msg->fd = -1;
	if (m->code != NULL) {
		strlcpy(j->owed.code, m->code, sizeof(j->owed.code));
		strlcpy(j->owed.error, m->why, sizeof(j->owed.error));
	}
	if (j->what != J_DISCARD) {
		if (m->paths.n > 0)
			clean_keep(j, &m->paths);
		job_based(j);
	}
	unlinkat(j->session->dir, job_name(j, "journal").s, 0);
	if (fsync(j->session->dir) == -1)
		log_warn("session %s: its journal's end", j->session->rec.r.
		    session);
	job_cleaning(j, m);
}

void
job_on_cleaned(struct session *s)
{
	struct job	*j = s->job;

	if (j == NULL || !job_writes(j))
		return;
	if (j->what == J_DISCARD)
		job_based(j);
	else
		clean_end(j);
	if (j->landed == 0 && j->owed.code[0] != '\0')
		job_fail(j, j->owed.code, j->owed.error);
	else
		job_landed(j, NULL);
}
