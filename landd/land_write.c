#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../common/escape.h"
#include "land.h"
#include "plan.h"

/*
 * The jobs that write: a landing, its recovery, the removal of what landings
 * left, and a discard, which writes into the state only.
 */

/* The new state to landd, and the answer: what the layer is cleaned of. */
static void
land_done(struct land *l, uint64_t files, const char **paths, size_t npaths)
{
	struct m_LANDED	 m = { .files = files };
	uint8_t		*buf;
	size_t		 len;

	if (landing_state_encode(&l->state, &buf, &len) == -1)
		land_fail(l, "land.unfinished", "the new baselines: %s",
		    strerror(errno));
	if (land_keep(l, "baseline", buf, len) == -1)
		land_end(l);
	m.paths.v = paths;
	m.paths.n = npaths;
	land_send(l, MSG_LANDED, -1, &m);
	land_end(l);
}

static void
land_finish(struct land *l, struct landing_result *res, uint64_t files)
{
	if (landing_state_merge(&l->state, res) == -1)
		land_fail(l, "land.unfinished", "the new baselines: %s",
		    strerror(errno));
	land_done(l, files, (const char **)(uintptr_t)res->paths,
	    res->npaths);
}

/* Gone back, but others' edits made it leave something in the project: that
 * is kept with the baselines, for the session's end. */
static void
land_taken_back(struct land *l, struct landing_result *res)
{
	struct m_LANDED	 m = { .code = res->code, .why = res->why };
	uint8_t		*buf;
	size_t		 len;

	escape_fit(res->why, sizeof(res->why));
	if (landing_state_merge(&l->state, res) == -1 ||
	    landing_state_encode(&l->state, &buf, &len) == -1)
		land_fail(l, "land.unfinished", "%s; the new baselines: %s",
		    res->why, strerror(errno));
	if (land_keep(l, "baseline", buf, len) == -1)
		land_end(l);
	land_send(l, MSG_LANDED, -1, &m);
	land_end(l);
}

static int
apply_commit(void *arg, const uint8_t *journal, size_t len)
{
	struct land	*l = arg;

	land_abandonable(l, false);
	if (land_keep(l, "journal", journal, len) == -1 ||
	    land_committed(l) == -1)
		return (-1);
	/* What is staged now only the intent knows: it is removed. */
	if (l->commits++ == 0)
		land_abandonable(l, true);
	return (0);
}

static uint64_t
landing_number(const struct landing_state *s)
{
	const struct landing	*l;
	uint64_t		 n = 0;

	TAILQ_FOREACH(l, &s->landings, entry)
		if (l->n > n)
			n = l->n;
	return (n + 1);
}

/* Some of those that stand in the way, by name. */
static void
apply_drifted(struct land *l, const struct changeset *set)
{
	const struct change	*c;
	char			 list[1024] = "";
	size_t			 n = 0;

	TAILQ_FOREACH(c, &set->changes, entry)
		if (c->drift != NULL && ++n <= 3) {
			strlcat(list, n > 1 ? ", " : "", sizeof(list));
			strlcat(list, shown_path(c->path).s, sizeof(list));
		}
	land_fail(l, "land.drifted", "%zu real %s changed since the session "
	    "started (%s%s): nothing was landed; copy what you need of the "
	    "session's from \"sbxctl patch -o FILE\", then \"sbxctl discard "
	    "--yes\" with these paths lets the rest land", n,
	    n == 1 ? "file has" : "files have", list, n > 3 ? ", ..." : "");
}

void
land_apply(struct land *l, const struct changeset *set)
{
	struct landing_ops	 ops = {
		.commit = apply_commit, .arg = l, .state = &l->state
	};
	struct landing_result	 res;
	const struct change	*c;
	struct m_LANDED		 none = { 0 };
	uint64_t		 files = 0;

	TAILQ_FOREACH(c, &set->changes, entry)
		files++;
	if (set->drifted > 0)
		apply_drifted(l, set);
	if (files == 0) {
		land_send(l, MSG_LANDED, -1, &none);
		land_end(l);
	}
	landing_result_init(&res);
	if (landing_write(&l->job, set, l->work->session,
	    landing_number(&l->state), &ops, &res) == -1) {
		land_abandonable(l, false);
		if (res.made.folder != NULL)
			land_taken_back(l, &res);
		land_fail(l, res.code, "%s", res.why);
	}
	land_finish(l, &res, files);
	land_end(l);
}

void
land_recover(struct land *l)
{
	struct landing_result	 res;
	const struct baseline	*b;
	struct m_LANDED		 none = { 0 };
	uint64_t		 files = 0;

	landing_result_init(&res);
	if (landing_recover(&l->job, l->work->session, l->journal,
	    l->journallen, &l->state.landings, &res) == -1)
		land_fail(l, res.code, "%s", res.why);
	if (!res.applied && res.made.folder != NULL)
		land_taken_back(l, &res);
	if (!res.applied) {
		land_send(l, MSG_LANDED, -1, &none);
		land_end(l);
	}
	files = res.earlier;
	TAILQ_FOREACH(b, &res.done, entry)
		if (!S_ISDIR(b->image.mode))
			files++;
	land_finish(l, &res, files);
	land_end(l);
}

void
land_forget(struct land *l)
{
	struct landing_result	res;

	landing_result_init(&res);
	if (landing_forget(&l->job, l->work->session, &l->state.landings,
	    &res) == -1)
		land_fail(l, res.code, "%s", res.why);
	land_send(l, MSG_END, -1, NULL);
	land_end(l);
}

/*
 * Discarding
 */

/* path is dir or lies below it. */
static bool
within(const char *dir, const char *path)
{
	size_t	len = strlen(dir);

	if (len == 0 || strcmp(dir, ".") == 0)
		return (true);
	return (strncmp(dir, path, len) == 0 &&
	    (path[len] == '\0' || path[len] == '/'));
}

static bool
wanted(const struct land *l, const char *path)
{
	size_t	i;

	if (l->work->paths.n == 0)
		return (true);
	for (i = 0; i < l->work->paths.n; i++)
		if (within(l->work->paths.v[i], path))
			return (true);
	return (false);
}

/* Relative, in its simplest form: it is looked up below the layer. */
static bool
path_plain(const char *path)
{
	const char	*p, *slash;
	size_t		 len;

	for (p = path;; p = slash + 1) {
		slash = strchr(p, '/');
		len = slash != NULL ? (size_t)(slash - p) : strlen(p);
		if (len == 0 || (len == 1 && p[0] == '.') ||
		    (len == 2 && p[0] == '.' && p[1] == '.'))
			return (false);
		if (slash == NULL)
			return (true);
	}
}

/* The session changed something there, or in a folder that it lies in. */
static bool
path_known(const struct changeset *set, const char *path)
{
	const struct change	*c;
	const struct skipped	*s;
	const struct ignored	*i;

	TAILQ_FOREACH(c, &set->changes, entry)
		if (within(path, c->path) || (c->from != NULL &&
		    within(path, c->from)))
			return (true);
	TAILQ_FOREACH(s, &set->skipped, entry)
		if (within(path, s->path) || within(s->path, path))
			return (true);
	TAILQ_FOREACH(i, &set->ignored, entry)
		if (within(path, i->path) || within(i->path, path))
			return (true);
	return (false);
}

static void
discard_check(struct land *l, const struct changeset *set)
{
	const char	*path;
	size_t		 i;

	for (i = 0; i < l->work->paths.n; i++) {
		path = l->work->paths.v[i];
		if (!path_plain(path))
			land_fail(l, "land.path", "%s: not a plain path below "
			    "the project, like src/main.c",
			    shown_path(path).s);
		if (!path_known(set, path))
			land_fail(l, "land.path", "%s: the session has changed "
			    "nothing there", shown_path(path).s);
	}
}

/* The real file as it is now: from here on its changes count anew. */
static void
discard_one(struct land *l, struct landing_result *res, const char *path)
{
	struct baseline	*b;

	if ((b = baseline_make(l->job.project, path)) == NULL)
		land_fail(l, "land.failed", "reading %s: %s",
		    shown_path(path).s, strerror(errno));
	TAILQ_INSERT_TAIL(&res->done, b, entry);
}

/*
 * The folders above path that were given up as a whole: from here on what is
 * there now is what the session goes on with. Paths come sorted: what this
 * one shares with the one before it is done.
 */
static void
discard_folders(struct land *l, struct landing_result *res, const char *path,
    const char *before)
{
	struct baseline	*b;
	const char	*slash;
	char		*dir;
	size_t		 len;

	for (slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
		len = (size_t)(slash - path);
		if (before != NULL && strncmp(before, path, len + 1) == 0)
			continue;
		if ((dir = strndup(path, len)) == NULL ||
		    (wanted(l, dir) && (b = baseline_folder(l->job.project,
		    dir)) == NULL))
			land_fail(l, "land.failed", "reading %s: %s",
			    shown_path(path).s, strerror(errno));
		if (wanted(l, dir))
			TAILQ_INSERT_TAIL(&res->done, b, entry);
		free(dir);
	}
}

void
land_discard(struct land *l, const struct changeset *set)
{
	static const char	*all[] = { "", NULL };
	struct landing_result	 res;
	const struct change	*c, *last = NULL;
	uint64_t		 files = 0;

	discard_check(l, set);
	landing_result_init(&res);
	TAILQ_FOREACH(c, &set->changes, entry) {
		if (wanted(l, c->path)) {
			discard_one(l, &res, c->path);
			discard_folders(l, &res, c->path, last != NULL ?
			    last->path : NULL);
			last = c;
			files++;
		}
		if (c->from != NULL && wanted(l, c->from))
			discard_one(l, &res, c->from);
	}
	if (landing_state_merge(&l->state, &res) == -1)
		land_fail(l, "land.failed", "the new baselines: %s",
		    strerror(errno));
	if (l->work->paths.n == 0)
		land_done(l, files, all, 1);
	land_done(l, files, l->work->paths.v, l->work->paths.n);
	land_end(l);
}
