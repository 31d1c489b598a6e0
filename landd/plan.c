#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/clock.h"
#include "../common/escape.h"
#include "../common/limits.h"
#include "plan.h"

/* Room for what else is in the messages that carry the paths: the hidden ones
 * too, which are in one frame when they come. */
#define PATHS_BYTES	(LIMIT_LARGE - 2 * LIMIT_FRAME)

static const char *const op_words[OP_COUNT] = {
	[OP_CHMOD] = "chmod", [OP_REPLACE] = "replace", [OP_DELETE] = "delete",
	[OP_RMDIR] = "rmdir", [OP_MKDIR] = "mkdir", [OP_CREATE] = "create"
};

const char *
op_word(enum op_kind kind)
{
	return (op_words[kind]);
}

struct opname
op_name(const struct op *op)
{
	struct opname	n;

	snprintf(n.s, sizeof(n.s), "%llu", (unsigned long long)op->name);
	return (n);
}

struct shown
shown_path(const char *path)
{
	struct shown	 s;
	char		*escaped;
	size_t		 n;

	if ((escaped = escape_name(path)) == NULL) {
		snprintf(s.s, sizeof(s.s), "(out of memory)");
		return (s);
	}
	if ((size_t)snprintf(s.s, sizeof(s.s), "%s", escaped) >=
	    sizeof(s.s)) {
		for (n = sizeof(s.s) - 4; n > 0 &&
		    ((unsigned char)s.s[n] & 0xc0) == 0x80; n--)
			;
		memcpy(s.s + n, "...", 4);
	}
	free(escaped);
	return (s);
}

int
landing_fail(struct landing_result *res, const char *code, const char *fmt,
    ...)
{
	va_list	ap;

	if (res->code != NULL)
		return (-1);
	res->code = code;
	va_start(ap, fmt);
	vsnprintf(res->why, sizeof(res->why), fmt, ap);
	va_end(ap);
	return (-1);
}

int
landing_errno(struct landing_result *res, const char *what, const char *path)
{
	const char	*code, *hint;
	int		 e = errno;

	switch (e) {
	case EACCES:
	case EPERM:
	case EROFS:
		code = "land.unwritable";
		hint = "; make it writable for its owner and land again";
		break;
	case ENOSPC:
	case EDQUOT:
		code = "land.full";
		hint = "; make room on the project's filesystem and land again";
		break;
	case EXDEV:
	case EBUSY:
		code = "land.mount";
		hint = "; another filesystem is mounted there, land without it";
		break;
	case ELOOP:
	case ENOTDIR:
	case ENOENT:
	case EEXIST:
	case ENOTEMPTY:
	case ESTALE:
		code = "land.drifted";
		hint = "; it has changed meanwhile, review again";
		break;
	case EINVAL:
	case ENOSYS:
	case EOPNOTSUPP:
		code = "land.filesystem";
		hint = "; the project's filesystem cannot do it";
		break;
	default:
		code = "land.failed";
		hint = "";
	}
	return (landing_fail(res, code, "%s %s: %s%s", what,
	    shown_path(path).s, strerror(e), hint));
}

void
plan_init(struct plan *p)
{
	memset(p, 0, sizeof(*p));
}

void
plan_free(struct plan *p)
{
	size_t	i;

	for (i = 0; i < p->n; i++)
		free(p->v[i].path);
	free(p->v);
	free(p->folder);
	plan_init(p);
}

struct op *
plan_add(struct plan *p, enum op_kind kind, const char *path)
{
	struct op	*op;

	if (p->n == p->size) {
		size_t size = p->size == 0 ? 64 : p->size * 2;

		if ((op = reallocarray(p->v, size, sizeof(*op))) == NULL)
			return (NULL);
		p->v = op;
		p->size = size;
	}
	op = &p->v[p->n];
	memset(op, 0, sizeof(*op));
	op->kind = kind;
	if ((op->path = strdup(path)) == NULL)
		return (NULL);
	p->n++;
	return (op);
}

/* Folders go from the leaves up; all else from the root down. */
static int
op_cmp(const void *a, const void *b)
{
	const struct op	*x = a, *y = b;
	int		 r;

	if (x->kind != y->kind)
		return (x->kind < y->kind ? -1 : 1);
	r = strcmp(x->path, y->path);
	return (x->kind == OP_RMDIR ? -r : r);
}

void
plan_sort(struct plan *p)
{
	size_t	i;

	if (p->n > 0)
		qsort(p->v, p->n, sizeof(*p->v), op_cmp);
	for (i = 0; i < p->n; i++)
		p->v[i].name = i + 1;
	p->names = p->n;
}

struct op *
plan_find(const struct plan *p, enum op_kind kind, const char *path)
{
	struct op	 key = { .kind = kind };
	struct op	*found = NULL;

	if (p->n == 0 || (key.path = strdup(path)) == NULL)
		return (NULL);
	found = bsearch(&key, p->v, p->n, sizeof(*p->v), op_cmp);
	free(key.path);
	return (found);
}

/*
 * Names that no landing touches, whoever made the change set: each component
 * is looked at, since the writer is the last one who can say no.
 */
const char *
plan_path_refused(const char *path)
{
	const char	*p, *slash;
	size_t		 len;

	if (strlen(path) > LIMIT_PATH)
		return ("longer than 4,095 bytes");
	for (p = path;; p = slash + 1) {
		slash = strchr(p, '/');
		len = slash != NULL ? (size_t)(slash - p) : strlen(p);
		if (len == 0 || (len == 1 && p[0] == '.') ||
		    (len == 2 && p[0] == '.' && p[1] == '.'))
			return ("no plain relative path");
		if (len > 255)
			return ("a name longer than 255 bytes");
		if (tree_gitname(p, len))
			return ("git's own, which never lands");
		if (p == path && len > 10 &&
		    strncmp(p, ".sbx-land-", 10) == 0)
			return ("a landing folder");
		if (slash == NULL)
			return (NULL);
	}
}

static bool
image_sound(const struct image *im)
{
	return (im->mode == 0 || S_ISREG(im->mode) ||
	    (S_ISLNK(im->mode) && im->size <= LIMIT_PATH));
}

/* What a kind needs on each side. */
static const char *
change_refused(const struct change *c)
{
	bool		 pre = c->pre.mode != 0, post = c->post.mode != 0;
	const char	*why;

	if ((why = plan_path_refused(c->path)) != NULL)
		return (why);
	if (c->from != NULL && (why = plan_path_refused(c->from)) != NULL)
		return (why);
	if ((c->kind == CHANGE_RENAMED) != (c->from != NULL))
		return ("a rename without where from");
	if (!image_sound(&c->pre) || !image_sound(&c->post))
		return ("neither a file nor a link");
	if (pre != (c->kind != CHANGE_ADDED) ||
	    post != (c->kind != CHANGE_DELETED))
		return ("a side of it is missing");
	if (c->kind == CHANGE_MODE && !S_ISREG(c->pre.mode))
		return ("a mode of what is no file");
	if (post && c->kind != CHANGE_MODE && c->kind != CHANGE_RENAMED &&
	    c->stage == 0 && c->pack == 0)
		return ("it was not staged");
	return (NULL);
}

/*
 * A mode is the inode's. Where that has other names, outside of the project
 * maybe, the change is of this one only: a copy takes its place.
 */
static int
plan_alone(struct op *op, int root)
{
	struct place	pl;
	int		rv;

	rv = place_open(root, op->path, &pl);
	if (rv == 0 && pl.present && pl.st.st_nlink > 1) {
		op->kind = OP_REPLACE;
		op->like = op->path;
		memcpy(op->post.sha, op->pre.sha, DIGEST_LEN);
		op->post.size = op->pre.size;
	}
	place_close(&pl);
	return (rv);
}

static int
plan_change(struct plan *p, int root, const struct change *c)
{
	static const enum op_kind kinds[] = {
		[CHANGE_ADDED] = OP_CREATE, [CHANGE_MODIFIED] = OP_REPLACE,
		[CHANGE_DELETED] = OP_DELETE, [CHANGE_MODE] = OP_CHMOD,
		[CHANGE_TYPE] = OP_REPLACE, [CHANGE_RENAMED] = OP_CREATE
	};
	struct op	*op;

	if ((op = plan_add(p, kinds[c->kind], c->path)) == NULL)
		return (-1);
	op->post = c->post;
	op->post.mode &= S_IFMT | 0777;
	op->stage = c->stage;
	op->pack = c->pack;
	if (c->kind != CHANGE_RENAMED) {
		op->pre = c->pre;
		return (c->kind == CHANGE_MODE ? plan_alone(op, root) : 0);
	}
	op->like = c->from;
	if ((op = plan_add(p, OP_DELETE, c->from)) == NULL)
		return (-1);
	op->pre = c->pre;
	return (0);
}

/*
 * One path may be deleted and made anew (a file becomes a folder), nothing
 * else comes twice; and nothing that is to be a file or a link has something
 * below it (the symlink a, then the file a/x).
 */
static int
plan_contradicts(const struct plan *p, struct landing_result *res)
{
	const struct op	*op, *other;
	char		*path, *slash;
	enum op_kind	 k;
	size_t		 i;

	for (i = 0; i < p->n; i++) {
		op = &p->v[i];
		if (i > 0 && op_cmp(op, op - 1) == 0)
			return (landing_fail(res, "land.refused",
			    "%s comes twice in the change set",
			    shown_path(op->path).s));
		for (k = 0; k < op->kind; k++)
			if ((k != OP_DELETE || op->kind != OP_CREATE) &&
			    plan_find(p, k, op->path) != NULL)
				return (landing_fail(res, "land.refused",
				    "%s is changed twice in the change set",
				    shown_path(op->path).s));
		if ((path = strdup(op->path)) == NULL)
			return (landing_fail(res, "land.failed",
			    "out of memory"));
		other = NULL;
		while (other == NULL && (slash = strrchr(path, '/')) != NULL) {
			*slash = '\0';
			for (k = 0; k < OP_COUNT && other == NULL; k++)
				if (k != OP_DELETE || op->kind != OP_CREATE)
					other = plan_find(p, k, path);
		}
		free(path);
		/* d deleted, d/x created is a file that became a folder; d
		 * created, d/x deleted a folder that became a file. */
		if (other != NULL && !(other->kind == OP_CREATE &&
		    op->kind == OP_DELETE))
			return (landing_fail(res, "land.refused",
			    "%s lies below %s, which is to be no folder",
			    shown_path(op->path).s,
			    shown_path(other->path).s));
	}
	return (0);
}

/* The paths go back in one message, from which the layer is cleaned. */
static int
plan_bounds(const struct plan *p, struct landing_result *res)
{
	size_t	i, bytes = 0;

	for (i = 0; i < p->n; i++)
		bytes += strlen(p->v[i].path) + 5;
	if (p->n > LIMIT_PATHS || bytes > PATHS_BYTES)
		return (landing_fail(res, "land.toolarge",
		    "%zu files and folders, %zu bytes of names: one landing "
		    "takes %d and %d; discard some, or copy them by hand",
		    p->n, bytes, LIMIT_PATHS, PATHS_BYTES));
	return (0);
}

int
plan_make(struct plan *p, const struct job *job, int root,
    const struct changeset *set, struct landing_result *res)
{
	const struct change	*c;
	const char		*why;

	memcpy(p->digest, set->digest, sizeof(p->digest));
	p->when = clock_seconds();
	TAILQ_FOREACH(c, &set->changes, entry) {
		if (c->drift != NULL)
			return (landing_fail(res, "land.drifted",
			    "%s has changed since the session started: %s",
			    shown_path(c->path).s, c->drift));
		if ((why = change_refused(c)) != NULL)
			return (landing_fail(res, "land.refused", "%s: %s",
			    shown_path(c->path).s, why));
		if (plan_change(p, root, c) == -1)
			return (landing_errno(res, "looking at", c->path));
	}
	plan_sort(p);
	if (plan_contradicts(p, res) == -1)
		return (-1);
	if (plan_rmdirs(p, job, root, res) == -1 ||
	    plan_mkdirs(p, job, root, res) == -1)
		return (-1);
	return (plan_bounds(p, res));
}
