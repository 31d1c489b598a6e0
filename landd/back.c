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

/* Going back is tried again, from where it now is. */
static int
back_unfinished(const struct walk *w, const struct plan *p, int e)
{
	struct landing_result	*res = w->res;
	char			 why[LANDING_WHY];

	snprintf(why, sizeof(why), "%s", res->why);
	res->code = "land.unfinished";
	if (w->stuck > 0)
		snprintf(res->why, sizeof(res->why), "%.400s; %zu could not "
		    "be put back (%s: %s), which is tried again at the next "
		    "start; what was there is in %s/%llu", why, w->stuck,
		    w->path, strerror(w->error), p->folder,
		    (unsigned long long)p->number);
	else
		snprintf(res->why, sizeof(res->why), "%.600s; what was staged "
		    "in %s/%llu could not be removed (%s), which is tried "
		    "again at the next start", why, p->folder,
		    (unsigned long long)p->number, strerror(e));
	return (-1);
}

/* What others edited meanwhile, and where it is that it replaced. */
static void
back_told(const struct walk *w, const struct plan *p, size_t left)
{
	char	*why = w->res->why;
	size_t	 size = sizeof(w->res->why), len;

	why[600] = '\0';
	len = strlen(why);
	if (w->kept > 0)
		snprintf(why + len, size - len, "; %zu that were changed by "
		    "others meanwhile were left as they are", w->kept);
	len = strlen(why);
	if (left > 0)
		snprintf(why + len, size - len, "%s in %s/%llu", w->kept > 0 ?
		    ", what they replaced is" : "; what others wrote "
		    "meanwhile is", p->folder, (unsigned long long)p->number);
}

int
plan_back(const struct plan *p, int root, struct folder *f,
    const uint8_t *journal, size_t len, struct landing_result *res)
{
	struct walk	w = { .root = root, .f = f, .res = res };
	size_t		i, left;

	back_modes(&w, p);
	for (i = p->n; i > 0; i--)
		back_one(&w, &p->v[i - 1]);
	/* Nothing that was staged is wanted any more, unless it is stuck. */
	if (w.stuck > 0 || folder_clear(f, p, &left) == -1)
		return (back_unfinished(&w, p, errno));
	back_told(&w, p, left);
	if (left == 0)
		return (0);
	if (plan_made(p, journal, len, res) == -1)
		return (back_unfinished(&w, p, errno));
	/* Of files that are as they were there is no new baseline. */
	baselines_free(&res->done);
	res->made.back = true;
	return (1);
}
