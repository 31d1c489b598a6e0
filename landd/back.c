#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plan.h"

struct walk {
	int			 root;
	const struct folder	*f;
	struct landing_result	*res;
	size_t			 kept, stuck;
	char			 path[300];	/* the first stuck one */
	int			 error;
};

static void
back_stuck(struct walk *w, const struct op *op, int e)
{
	if (w->stuck++ > 0)
		return;
	snprintf(w->path, sizeof(w->path), "%s", shown_path(op->path).s);
	w->error = e;
}

/* Out of the landing folder to where it was; a name that somebody else has
 * taken meanwhile is left to him. */
static void
back_return(struct walk *w, const struct op *op, const struct sight *s)
{
	if (!s->inside)
		return;
	if (s->pl.present) {
		w->kept++;
		return;
	}
	if (s->pl.parent == -1) {
		back_stuck(w, op, ENOTDIR);
		return;
	}
	if (tree_rename(w->f->fd, op_name(op).s, s->pl.parent, s->pl.base,
	    RENAME_NOREPLACE) == -1)
		back_stuck(w, op, errno);
}

static void
back_rmdir(struct walk *w, const struct op *op, const struct sight *s)
{
	struct sight	now;

	back_return(w, op, s);
	/* Its mode was opened for the move, maybe not yet moved. */
	if (sight_get(&now, op, w->root, w->f) == 0 && now.pl.present &&
	    now.pl.st.st_ino == op->pre.ino &&
	    now.pl.st.st_mode != op->pre.mode &&
	    now.pl.st.st_mode == (op->pre.mode | 0300) &&
	    tree_chmod(now.pl.parent, now.pl.base, op->pre.ino,
	    op->pre.mode & 07777) == -1)
		back_stuck(w, op, errno);
	sight_close(&now);
}

static void
back_replace(struct walk *w, const struct op *op, const struct sight *s)
{
	if (sight_state(s, op) != SIGHT_NEW) {
		/* Replaced once more by somebody, after our landing it. */
		if (sight_state(s, op) == SIGHT_ODD && s->inside &&
		    s->in.st_ino == op->pre.ino)
			w->kept++;
		return;
	}
	if (sight_edited(s, op)) {
		w->kept++;
		return;
	}
	/* Whatever was displaced goes back, the reviewed file or another. */
	if (!s->inside)
		back_stuck(w, op, ENOENT);
	else if (tree_rename(w->f->fd, op_name(op).s, s->pl.parent,
	    s->pl.base, RENAME_EXCHANGE) == -1)
		back_stuck(w, op, errno);
}

static void
back_create(struct walk *w, const struct op *op, const struct sight *s)
{
	if (sight_state(s, op) != SIGHT_NEW)
		return;
	if (op->kind == OP_CREATE && sight_edited(s, op)) {
		w->kept++;
		return;
	}
	if (op->kind == OP_MKDIR) {
		int fd = tree_open(s->pl.parent, s->pl.base, O_RDONLY |
		    O_DIRECTORY);
		int empty = fd == -1 ? -1 : tree_empty(fd);

		if (fd != -1)
			close(fd);
		if (empty != 1) {
			w->kept++;
			return;
		}
	}
	if (tree_rename(s->pl.parent, s->pl.base, w->f->fd, op_name(op).s,
	    RENAME_NOREPLACE) == -1)
		back_stuck(w, op, errno);
}

static void
back_chmod(struct walk *w, const struct op *op, const struct sight *s)
{
	mode_t	mode = (s->pl.st.st_mode & 07000) | (op->pre.mode & 0777);

	if (sight_state(s, op) == SIGHT_NEW &&
	    tree_chmod(s->pl.parent, s->pl.base, op->pre.ino, mode) == -1)
		back_stuck(w, op, errno);
}

static void
back_one(struct walk *w, const struct op *op)
{
	struct sight	s;

	if (sight_get(&s, op, w->root, w->f) == -1)
		back_stuck(w, op, errno);
	else
		switch (op->kind) {
		case OP_CHMOD:
			back_chmod(w, op, &s);
			break;
		case OP_REPLACE:
			back_replace(w, op, &s);
			break;
		case OP_DELETE:
			back_return(w, op, &s);
			break;
		case OP_RMDIR:
			back_rmdir(w, op, &s);
			break;
		default:
			back_create(w, op, &s);
		}
	sight_close(&s);
}

/* Folders that got a narrow mode are opened again, parents first. */
static void
back_modes(struct walk *w, const struct plan *p)
{
	const struct op	*op;
	struct sight	 s;
	size_t		 i;

	for (i = 0; i < p->n; i++) {
		op = &p->v[i];
		if (op->kind != OP_MKDIR || (op->post.mode & 0700) == 0700)
			continue;
		if (sight_get(&s, op, w->root, w->f) == 0 &&
		    sight_state(&s, op) == SIGHT_NEW)
			(void)tree_chmod(s.pl.parent, s.pl.base, op->post.ino,
			    (op->post.mode & 07777) | 0700);
		sight_close(&s);
	}
}

int
plan_back(const struct plan *p, int root, const struct folder *f,
    struct landing_result *res)
{
	struct walk	w = { .root = root, .f = f, .res = res };
	char		why[LANDING_WHY];
	size_t		i;

	back_modes(&w, p);
	for (i = p->n; i > 0; i--)
		back_one(&w, &p->v[i - 1]);
	if (w.stuck == 0 && w.kept == 0)
		return (0);
	snprintf(why, sizeof(why), "%s", res->why);
	if (w.stuck == 0) {
		snprintf(res->why, sizeof(res->why), "%.600s; %zu that were "
		    "changed by others meanwhile were left as they are, what "
		    "they replaced is in %s/%llu", why, w.kept, p->folder,
		    (unsigned long long)p->number);
		return (1);
	}
	res->code = "land.unfinished";
	snprintf(res->why, sizeof(res->why), "%.400s; %zu could not be put "
	    "back (%s: %s), which is tried again at the next start; what was "
	    "there is in %s/%llu", why, w.stuck, w.path, strerror(w.error),
	    p->folder, (unsigned long long)p->number);
	return (-1);
}
