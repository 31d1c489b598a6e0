#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/limits.h"
#include "plan.h"

/*
 * Every landed file is read back from where it now is. One with other bytes
 * and another time than it was staged with was written to by somebody since,
 * which is his right; other bytes at the same time are a broken copy.
 */
int
plan_verify(const struct plan *p, int root, const struct folder *f,
    struct landing_result *res)
{
	const struct op	*op;
	struct sight	 s;
	uint8_t		 sha[DIGEST_LEN];
	size_t		 i;
	bool		 wrong;

	for (i = 0; i < p->n; i++) {
		op = &p->v[i];
		if (op->kind != OP_REPLACE && op->kind != OP_CREATE)
			continue;
		if (sight_get(&s, op, root, f) == -1) {
			sight_close(&s);
			return (landing_errno(res, "verifying", op->path));
		}
		wrong = sight_state(&s, op) == SIGHT_NEW &&
		    tree_hash(s.pl.parent, s.pl.base, sha) == 0 &&
		    digest_cmp(sha, op->post.sha) != 0 &&
		    !sight_edited(&s, op);
		sight_close(&s);
		if (wrong)
			return (landing_fail(res, "land.failed", "%s does not "
			    "read back as it was written",
			    shown_path(op->path).s));
	}
	return (0);
}

/* The real file as this landing left it. Where somebody else has had it
 * since, no ctime: it will count as changed by him. s NULL: as it is to be. */
static int
finish_baseline(const struct plan *p, const struct op *op,
    const struct sight *s, struct landing_result *res)
{
	struct baseline	*b;

	if ((b = calloc(1, sizeof(*b))) == NULL ||
	    (b->path = strdup(op->path)) == NULL) {
		free(b);
		return (-1);
	}
	if (op->kind != OP_DELETE) {
		b->image = op->kind == OP_CHMOD ? op->pre : op->post;
		b->image.mode = op->post.mode & (S_IFMT | 0777);
		b->image.dev = s != NULL ? s->pl.st.st_dev : p->dev;
		memset(&b->image.ctime, 0, sizeof(b->image.ctime));
		if (s == NULL)
			b->image.ctime.tv_sec = (time_t)p->when;
		else if (sight_state(s, op) == SIGHT_NEW &&
		    (op->kind == OP_CHMOD || !sight_edited(s, op)))
			b->image.ctime = s->pl.st.st_ctim;
	}
	TAILQ_INSERT_TAIL(&res->done, b, entry);
	return (0);
}

/* Not of a folder, nor of what is taken away to be made anew. */
static bool
finish_has(const struct plan *p, const struct op *op)
{
	return (op->kind != OP_RMDIR && op->kind != OP_MKDIR &&
	    (op->kind != OP_DELETE ||
	    plan_find(p, OP_CREATE, op->path) == NULL));
}

static int
finish_op(const struct plan *p, const struct op *op, int root,
    const struct folder *f, struct landing_result *res)
{
	struct sight	s;
	bool		done, again;
	int		rv = 0;

	if (sight_get(&s, op, root, f) == -1) {
		sight_close(&s);
		return (-1);
	}
	done = op->kind != OP_RMDIR || sight_state(&s, op) == SIGHT_NEW;
	/* Taken away to be made anew: the second step speaks for both. */
	again = (op->kind == OP_DELETE || op->kind == OP_RMDIR) &&
	    (plan_find(p, OP_CREATE, op->path) != NULL ||
	    plan_find(p, OP_MKDIR, op->path) != NULL);
	if (finish_has(p, op))
		rv = finish_baseline(p, op, &s, res);
	sight_close(&s);
	if (rv == -1 || !done || again)
		return (rv);
	if ((res->paths[res->npaths] = strdup(op->path)) == NULL)
		return (-1);
	res->npaths++;
	return (0);
}

static int
finish_compare(const void *a, const void *b)
{
	return (strcmp(*(char *const *)a, *(char *const *)b));
}

/* One as it is to be: made, or changed. */
static void
folder_coming(const struct plan *p, struct baseline *b)
{
	const struct op	*op = plan_find(p, OP_MKDIR, b->path);

	if (op != NULL)
		b->image.ino = op->post.ino;
	b->image.dev = p->dev;
	b->image.ctime.tv_sec = (time_t)p->when;
}

/* Folders that the landing changed: it is not the owner who did. coming: that
 * it is about to. */
static int
finish_folders(const struct plan *coming, char **dirs, size_t n, int root,
    struct landing_result *res)
{
	struct baseline	*b;
	size_t		 i;

	qsort(dirs, n, sizeof(*dirs), finish_compare);
	for (i = 0; i < n; i++) {
		if (*dirs[i] == '\0' ||
		    (i > 0 && strcmp(dirs[i], dirs[i - 1]) == 0))
			continue;
		if ((b = baseline_folder(root, dirs[i])) == NULL)
			return (-1);
		if (coming != NULL)
			folder_coming(coming, b);
		TAILQ_INSERT_TAIL(&res->done, b, entry);
	}
	return (0);
}

/* What each step made, removed, or moved something into or out of. */
static int
finish_dirs(const struct plan *p, bool coming, int root,
    struct landing_result *res)
{
	const struct op	*op;
	const char	*slash;
	char		**dirs;
	size_t		 i, n = 0;
	int		 rv = 0;

	if ((dirs = calloc(2 * p->n + 1, sizeof(*dirs))) == NULL)
		return (-1);
	for (i = 0; i < p->n && rv == 0; i++) {
		op = &p->v[i];
		slash = strrchr(op->path, '/');
		if (slash != NULL && (dirs[n++] = strndup(op->path,
		    (size_t)(slash - op->path))) == NULL)
			rv = -1;
		if (op->kind != OP_RMDIR && op->kind != OP_MKDIR)
			continue;
		if (rv == 0 && (dirs[n++] = strdup(op->path)) == NULL)
			rv = -1;
	}
	if (rv == 0)
		rv = finish_folders(coming ? p : NULL, dirs, n, root, res);
	for (i = 0; i < n; i++)
		free(dirs[i]);
	free(dirs);
	return (rv);
}

int
plan_made(const struct plan *p, const uint8_t *journal, size_t len,
    struct landing_result *res)
{
	struct digest	d;

	if ((res->made.folder = strdup(p->folder)) == NULL)
		return (-1);
	res->made.n = p->number;
	res->made.dev = p->dev;
	res->made.ino = p->ino;
	res->made.when = p->when;
	memcpy(res->made.digest, p->digest, DIGEST_LEN);
	digest_init(&d);
	digest_add(&d, journal, len);
	digest_end(&d, res->made.record);
	return (0);
}

int
plan_finish(const struct plan *p, int root, const struct folder *f,
    const uint8_t *journal, size_t len, struct landing_result *res)
{
	size_t	i;

	if ((res->paths = calloc(p->n + 1, sizeof(*res->paths))) == NULL)
		return (-1);
	for (i = 0; i < p->n; i++)
		if (finish_op(p, &p->v[i], root, f, res) == -1)
			return (-1);
	if (finish_dirs(p, false, root, res) == -1)
		return (-1);
	return (plan_made(p, journal, len, res));
}

static int
fits_room(const struct plan *p, int root, const struct landing_state *state,
    struct landing_result *would, size_t *len)
{
	struct landing_state	none;
	size_t			i;

	landing_state_init(&none);
	for (i = 0; i < p->n; i++)
		if (finish_has(p, &p->v[i]) &&
		    finish_baseline(p, &p->v[i], NULL, would) == -1)
			return (-1);
	if (finish_dirs(p, true, root, would) == -1 ||
	    plan_made(p, (const uint8_t *)"", 0, would) == -1)
		return (-1);
	return (landing_state_room(state != NULL ? state : &none, would, len));
}

/*
 * What cannot be kept afterwards would end neither as landed nor, by any
 * recovery, as taken back. All that will be in it is known by now but for the
 * times, which are all as long.
 */
int
plan_fits(const struct plan *p, int root, const struct landing_state *state,
    struct landing_result *res)
{
	struct landing_result	would;
	size_t			len;
	int			rv;

	landing_result_init(&would);
	if ((rv = fits_room(p, root, state, &would, &len)) == -1)
		landing_fail(res, "land.failed", "out of memory");
	else if (len > LIMIT_KEEP)
		rv = landing_fail(res, "land.toolarge", "with what this "
		    "session has landed and discarded before these %zu files "
		    "and folders are more than can be kept of it, %d MiB: "
		    "discard some, or take them over from the patch (\"sbxctl "
		    "patch -o FILE\") and go on in a new session", p->n,
		    LIMIT_KEEP >> 20);
	landing_result_free(&would);
	return (rv);
}
