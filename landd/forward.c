#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plan.h"

struct walk {
	const struct plan	*p;
	int			 root;
	const struct folder	*f;
	struct landing_result	*res;
};

static int
fail_meanwhile(const struct walk *w, const struct op *op)
{
	return (landing_fail(w->res, "land.drifted", "%s was changed while it "
	    "was being landed; review again", shown_path(op->path).s));
}

/* The file as the step left it, looked at once more. */
static bool
displaced_now(const struct walk *w, const struct op *op)
{
	struct sight	s;
	bool		ok;

	ok = sight_get(&s, op, w->root, w->f) == 0 &&
	    sight_displaced(&s, op, w->f);
	sight_close(&s);
	return (ok);
}

/*
 * Whoever replaces or rewrites a file between our last look and the rename
 * gets it back: what was displaced is hashed before the next step.
 */
static int
do_replace(const struct walk *w, const struct op *op, const struct sight *s)
{
	struct opname	name = op_name(op);

	if (tree_rename(w->f->fd, name.s, s->pl.parent, s->pl.base,
	    RENAME_EXCHANGE) == -1)
		return (landing_errno(w->res, "replacing", op->path));
	if (displaced_now(w, op))
		return (0);
	(void)tree_rename(w->f->fd, name.s, s->pl.parent, s->pl.base,
	    RENAME_EXCHANGE);
	return (fail_meanwhile(w, op));
}

static int
do_delete(const struct walk *w, const struct op *op, const struct sight *s)
{
	struct opname	name = op_name(op);

	if (tree_rename(s->pl.parent, s->pl.base, w->f->fd, name.s,
	    RENAME_NOREPLACE) == -1)
		return (landing_errno(w->res, "deleting", op->path));
	if (displaced_now(w, op))
		return (0);
	(void)tree_rename(w->f->fd, name.s, s->pl.parent, s->pl.base,
	    RENAME_NOREPLACE);
	return (fail_meanwhile(w, op));
}

/* A folder that need not go stays where something keeps it. */
static int
rmdir_kept(const struct walk *w, const struct op *op, int e)
{
	if (!op->must)
		return (0);
	errno = e;
	return (landing_errno(w->res, "removing the folder", op->path));
}

static int
dir_empty(int dir, const char *name)
{
	int	fd, empty, saved;

	if ((fd = tree_open(dir, name, O_RDONLY | O_DIRECTORY)) == -1)
		return (-1);
	empty = tree_empty(fd);
	saved = errno;
	close(fd);
	errno = empty == 0 ? ENOTEMPTY : saved;
	return (empty);
}

/*
 * Moved rather than removed, so that going back restores the very folder.
 * Moving one to another parent writes its "..", which takes its w bit.
 */
static int
do_rmdir(const struct walk *w, const struct op *op, const struct sight *s)
{
	struct opname	name = op_name(op);
	mode_t		mode = s->pl.st.st_mode & 07777;
	bool		changed = (mode & 0300) != 0300;
	int		e;

	if (s->pl.st.st_uid != geteuid())
		return (rmdir_kept(w, op, EPERM));
	if (dir_empty(s->pl.parent, s->pl.base) != 1)
		return (rmdir_kept(w, op, errno));
	if (changed && tree_chmod(s->pl.parent, s->pl.base, op->pre.ino,
	    mode | 0300) == -1)
		return (rmdir_kept(w, op, errno));
	if (tree_rename(s->pl.parent, s->pl.base, w->f->fd, name.s,
	    RENAME_NOREPLACE) == -1) {
		e = errno;
		if (changed)
			(void)tree_chmod(s->pl.parent, s->pl.base,
			    op->pre.ino, mode);
		return (rmdir_kept(w, op, e));
	}
	/* Something may have been made in it a moment before. */
	if (dir_empty(w->f->fd, name.s) == 1)
		return (0);
	if (tree_rename(w->f->fd, name.s, s->pl.parent, s->pl.base,
	    RENAME_NOREPLACE) == -1)
		return (landing_errno(w->res, "putting back the folder",
		    op->path));
	if (changed)
		(void)tree_chmod(s->pl.parent, s->pl.base, op->pre.ino, mode);
	return (rmdir_kept(w, op, ENOTEMPTY));
}

static int
do_create(const struct walk *w, const struct op *op, const struct sight *s)
{
	if (s->pl.parent == -1) {
		errno = ENOTDIR;
		return (landing_errno(w->res, "the folder of", op->path));
	}
	if (tree_rename(w->f->fd, op_name(op).s, s->pl.parent, s->pl.base,
	    RENAME_NOREPLACE) == -1)
		return (landing_errno(w->res, "creating", op->path));
	return (0);
}

/* Permissions only: setuid, setgid and sticky stay as the owner has them. */
static int
do_chmod(const struct walk *w, const struct op *op, const struct sight *s)
{
	mode_t	mode = (s->pl.st.st_mode & 07000) | (op->post.mode & 0777);

	/* A second name that it got since it was planned (plan_alone). */
	if (s->pl.st.st_nlink > 1)
		return (fail_meanwhile(w, op));
	if (tree_chmod(s->pl.parent, s->pl.base, op->pre.ino, mode) == -1)
		return (landing_errno(w->res, "changing the mode of",
		    op->path));
	return (0);
}

static int
forward_old(const struct walk *w, const struct op *op, const struct sight *s)
{
	switch (op->kind) {
	case OP_CHMOD:
		return (do_chmod(w, op, s));
	case OP_REPLACE:
		return (do_replace(w, op, s));
	case OP_DELETE:
		return (do_delete(w, op, s));
	case OP_RMDIR:
		return (do_rmdir(w, op, s));
	default:
		return (do_create(w, op, s));
	}
}

/* Done before a crash; whether what it displaced was looked at is unknown. */
static int
forward_new(const struct walk *w, const struct op *op, const struct sight *s)
{
	if ((op->kind == OP_REPLACE || op->kind == OP_DELETE) &&
	    !sight_displaced(s, op, w->f))
		return (fail_meanwhile(w, op));
	if (op->kind == OP_RMDIR && dir_empty(w->f->fd, op_name(op).s) != 1)
		return (fail_meanwhile(w, op));
	return (0);
}

static int
forward_odd(const struct walk *w, const struct op *op, const struct sight *s)
{
	/* Landed, then replaced by the owner before we came back. */
	if (op->kind == OP_REPLACE && sight_displaced(s, op, w->f))
		return (0);
	if (op->kind == OP_RMDIR && !op->must)
		return (0);
	return (fail_meanwhile(w, op));
}

static int
forward_one(const struct walk *w, const struct op *op)
{
	struct sight	s;
	int		rv;

	if (sight_get(&s, op, w->root, w->f) == -1)
		rv = landing_errno(w->res, "looking at", op->path);
	else
		switch (sight_state(&s, op)) {
		case SIGHT_OLD:
			rv = forward_old(w, op, &s);
			break;
		case SIGHT_NEW:
			rv = forward_new(w, op, &s);
			break;
		default:
			rv = forward_odd(w, op, &s);
		}
	sight_close(&s);
	return (rv);
}

/* Folders get their own mode when all that goes into them is there. */
static int
forward_modes(const struct walk *w)
{
	const struct op	*op;
	struct sight	 s;
	size_t		 i;
	int		 rv = 0;

	/* Children first: a parent without x would hide them. */
	for (i = w->p->n; i > 0 && rv == 0; i--) {
		op = &w->p->v[i - 1];
		if (op->kind != OP_MKDIR || (op->post.mode & 0700) == 0700)
			continue;
		if (sight_get(&s, op, w->root, w->f) == -1 ||
		    (sight_state(&s, op) == SIGHT_NEW &&
		    tree_chmod(s.pl.parent, s.pl.base, op->post.ino,
		    op->post.mode & 07777) == -1))
			rv = landing_errno(w->res, "changing the mode of",
			    op->path);
		sight_close(&s);
	}
	return (rv);
}

int
plan_forward(const struct plan *p, int root, const struct folder *f,
    struct landing_result *res)
{
	struct walk	w = { p, root, f, res };
	size_t		i;

	if (f->fd == -1 && p->n > 0)
		return (landing_fail(res, "land.folder", "the landing folder "
		    "%s is gone", p->folder));
	for (i = 0; i < p->n; i++)
		if (forward_one(&w, &p->v[i]) == -1)
			return (-1);
	return (forward_modes(&w));
}
