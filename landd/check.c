#include <sys/syscall.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "plan.h"

/*
 * Everything that can be known before the first byte is written. What changes
 * after this look is found by the steps themselves.
 */

#ifndef SYS_faccessat2
#define SYS_faccessat2	439
#endif

static bool
same_time(const struct timespec *a, const struct timespec *b)
{
	return (a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec);
}

/* The parent's folder takes and gives names. */
static int
check_parent(const struct op *op, const struct place *pl,
    struct landing_result *res)
{
	if (syscall(SYS_faccessat2, pl->parent, "", W_OK | X_OK,
	    AT_EMPTY_PATH | AT_EACCESS) == -1)
		return (landing_errno(res, "the folder of", op->path));
	if (tree_fixed(pl->parent, ""))
		return (landing_fail(res, "land.unwritable", "the folder of %s "
		    "is immutable or append-only; chattr -i -a it and land "
		    "again", shown_path(op->path).s));
	return (0);
}

/* A file that is to be replaced, moved away, or given another mode. */
static int
check_owner(const struct op *op, const struct place *pl,
    struct landing_result *res)
{
	if (pl->st.st_uid != geteuid())
		return (landing_fail(res, "land.owner", "%s belongs to uid "
		    "%lu; a landing of uid %lu does not replace it",
		    shown_path(op->path).s, (unsigned long)pl->st.st_uid,
		    (unsigned long)geteuid()));
	if (tree_fixed(pl->parent, pl->base))
		return (landing_fail(res, "land.unwritable", "%s is immutable "
		    "or append-only; chattr -i -a it and land again",
		    shown_path(op->path).s));
	return (0);
}

/*
 * The same inode with the same ctime is what was reviewed. A ctime alone may
 * differ (a link more, a chmod back and forth): then the bytes decide.
 */
static int
check_image(const struct op *op, const struct place *pl,
    struct landing_result *res)
{
	const struct stat	*st = &pl->st;
	uint8_t			 sha[DIGEST_LEN];

	if (!pl->present)
		return (landing_fail(res, "land.drifted", "%s is gone since it "
		    "was reviewed; review again", shown_path(op->path).s));
	if (st->st_ino != op->pre.ino ||
	    (st->st_mode & S_IFMT) != (op->pre.mode & S_IFMT) ||
	    (S_ISREG(st->st_mode) &&
	    (st->st_mode & 0777) != (op->pre.mode & 0777)) ||
	    (uint64_t)st->st_size != op->pre.size)
		return (landing_fail(res, "land.drifted", "%s has changed "
		    "since it was reviewed; review again",
		    shown_path(op->path).s));
	if (same_time(&st->st_ctim, &op->pre.ctime))
		return (0);
	if (tree_hash(pl->parent, pl->base, sha) == -1)
		return (landing_errno(res, "reading", op->path));
	if (digest_cmp(sha, op->pre.sha) != 0)
		return (landing_fail(res, "land.drifted", "%s has changed "
		    "since it was reviewed; review again",
		    shown_path(op->path).s));
	return (0);
}

static int
check_pre(const struct op *op, const struct place *pl,
    struct landing_result *res)
{
	if (check_image(op, pl, res) == -1 || check_owner(op, pl, res) == -1)
		return (-1);
	return (op->kind == OP_CHMOD ? 0 : check_parent(op, pl, res));
}

/* A name that is to be new; a step before may make room for it. */
static int
check_new(const struct plan *p, const struct op *op, const struct place *pl,
    struct landing_result *res)
{
	if (pl->present && plan_find(p, OP_DELETE, op->path) == NULL &&
	    plan_find(p, OP_RMDIR, op->path) == NULL)
		return (landing_fail(res, "land.drifted", "%s is there already "
		    "and was not when the session started; review again",
		    shown_path(op->path).s));
	/* Below a folder that is to be made there is nothing to ask. */
	return (pl->parent == -1 ? 0 : check_parent(op, pl, res));
}

static int
check_rmdir(const struct op *op, const struct place *pl,
    struct landing_result *res)
{
	/* One that need not go just stays where it cannot. */
	if (!op->must)
		return (0);
	return (check_owner(op, pl, res) == -1 ? -1 :
	    check_parent(op, pl, res));
}

static int
check_op(const struct plan *p, const struct op *op, const struct place *pl,
    struct landing_result *res)
{
	switch (op->kind) {
	case OP_MKDIR:
	case OP_CREATE:
		return (check_new(p, op, pl, res));
	case OP_RMDIR:
		return (check_rmdir(op, pl, res));
	default:
		return (check_pre(op, pl, res));
	}
}

int
plan_check(const struct plan *p, int root, struct landing_result *res)
{
	struct place	pl;
	size_t		i;
	int		rv;

	for (i = 0; i < p->n; i++) {
		if (place_open(root, p->v[i].path, &pl) == -1)
			rv = landing_errno(res, "looking at", p->v[i].path);
		else
			rv = check_op(p, &p->v[i], &pl, res);
		place_close(&pl);
		if (rv == -1)
			return (-1);
	}
	return (0);
}
