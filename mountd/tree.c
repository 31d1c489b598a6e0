#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/path.h"
#include "../privsep/mode.h"
#include "early.h"
#include "fault.h"
#include "fresh.h"
#include "fs.h"
#include "mountd.h"
#include "point.h"
#include "rest.h"
#include "snap.h"
#include "sockets.h"
#include "tree.h"
#include "twin.h"

#define CLONE_ATTRS	(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | \
			    MOUNT_ATTR_NODEV)

const char *
clone_kind(size_t which)
{
	if (which >= CLONE_PROJECT)
		return ("clone-project");
	return (which == CLONE_HOME ? "clone-home" : "clone-root");
}

uint64_t
clone_number(size_t which, bool workers)
{
	uint64_t	n = which < CLONE_PROJECT ? 0 : which - CLONE_PROJECT;

	return (2 * n + workers);
}

size_t
clone_which(const char *kind, uint64_t n, bool *workers)
{
	size_t	i;

	*workers = n % 2 != 0;
	for (i = 0; i < CLONE_COUNT; i++)
		if (strcmp(kind, clone_kind(i)) == 0 &&
		    clone_number(i, *workers) == n)
			break;
	return (i);
}

static int
tree_clone(struct tree *t, size_t which, int mnt)
{
	t->clone[which][0] = fs_clone(mnt, clone_kind(which));
	t->clone[which][1] = fs_clone(mnt, clone_kind(which));
	return (t->clone[which][0] == -1 || t->clone[which][1] == -1 ? -1 : 0);
}

/* So that RELEASE can wait for this overlay's end too. */
static int
tree_keep(struct tree *t, unsigned int n, int mnt)
{
	struct kept	*v;

	if ((v = reallocarray(t->kept, t->nkept + 1, sizeof(*v))) == NULL)
		return (fault_errno("mount.failed", "the list of overlays"));
	t->kept = v;
	v[t->nkept].n = n;
	if ((v[t->nkept].fd = fs_clone(mnt, "an overlay")) == -1)
		return (-1);
	t->nkept++;
	return (0);
}

/* An overlay with its layer, whose number is in *n: a base, for it is cloned
 * before it is attached. */
static int
tree_layer(struct tree *t, const char *path, int lower, unsigned int *n)
{
	struct layer	l;
	int		mnt;

	if (layer_open(t->store, path, lower, &l) == -1)
		return (-1);
	*n = l.n;
	mnt = fs_base(overlay_make(&t->b, path, lower, &l, -1), shown(path));
	layer_close(&l);
	return (mnt);
}

static int
tree_root(struct tree *t, const struct want *w)
{
	unsigned int	n;

	if (mode_user()) {
		t->root = fs_base(rest_root(), "the tree");
		return (t->root == -1 ? -1 : 0);
	}
	t->root = t->early != NULL ? fs_base(early_take(t->early, t->store),
	    "the tree") : tree_layer(t, "/", mountd.root, &n);
	if (t->root == -1 || tree_clone(t, CLONE_ROOT, t->root) == -1)
		return (-1);
	return (strcmp(w->home, "/") == 0 ?
	    tree_clone(t, CLONE_HOME, t->root) : 0);
}

static int
place_clone(const struct place *p)
{
	int	mnt;

	/* In S none can be had without what is mounted in it. */
	if (mode_user())
		return (fs_clone_all(p->fd, CLONE_ATTRS, shown(p->path)));
	if ((mnt = fs_clone(p->fd, shown(p->path))) == -1)
		return (-1);
	if (fs_attr(mnt, CLONE_ATTRS, shown(p->path)) == -1) {
		close(mnt);
		return (-1);
	}
	return (mnt);
}

/* Of a further root the layer says that it is one: what is to be reviewed
 * and landed is known by mountd itself. */
static int
place_project(struct tree *t, const struct want *w, const struct place *p)
{
	const struct snapped	*snap = snap_of(&t->b, p->path);
	unsigned int		 n;
	int			 root = roots_find(&w->roots, p->path), mnt;

	mnt = tree_layer(t, p->path, snap != NULL ? snap->fd : p->fd, &n);
	if (mnt == -1 || tree_clone(t, CLONE_PROJECT + (size_t)root, mnt) ==
	    -1)
		return (-1);
	if (root > 0 && layer_set_root(t->store, n) == -1)
		return (fault_errno("mount.layer", "the layer of %s",
		    shown(p->path)));
	/* Home is the root, or a folder in it: one layer. */
	if (!w->home_own && path_within(p->path, w->home) &&
	    tree_clone(t, CLONE_HOME, mnt) == -1)
		return (-1);
	return (mnt);
}

/* The mount that goes there. -1 with or without a fault: none. */
static int
place_make(struct tree *t, const struct want *w, const struct place *p)
{
	unsigned int	n;
	int		mnt = -1;

	switch (p->kind) {
	case PLACE_PROJECT:
		mnt = place_project(t, w, p);
		break;
	case PLACE_HOME:
		mnt = tree_layer(t, p->path, p->fd, &n);
		if (mnt == -1 || tree_clone(t, CLONE_HOME, mnt) == -1)
			return (-1);
		break;
	case PLACE_OVERLAY:
		mnt = tree_layer(t, p->path, p->fd, &n);
		if (mnt != -1 && tree_keep(t, n, mnt) == -1) {
			fs_end(mnt);
			return (-1);
		}
		break;
	case PLACE_READ:
	case PLACE_REST:
		mnt = overlay_make(&t->b, p->path, p->fd, NULL, -1);
		break;
	case PLACE_CLONE:
		/* It has no mask for what does not exist yet, of which a
		 * user is told. */
		if (!mode_user() && hides_below(&t->b.hides, p->path))
			return (fault("mount.hide", "a path in it is hidden"));
		mnt = place_clone(p);
		break;
	case PLACE_FILE:
		mnt = place_clone(p);
		break;
	case PLACE_TWIN:
		mnt = twin_make(&t->twins, p);
		break;
	case PLACE_COVER:
		break;
	}
	return (mnt);
}

/* Itself, read-only, instead. */
static int
place_bare(struct tree *t, const struct place *p)
{
	int	mnt, point, r = -1;

	if ((mnt = place_clone(p)) == -1)
		return (-1);
	if ((point = point_open(t->root, p->path, p->dir, false)) != -1) {
		r = fs_attach(mnt, point, shown(p->path));
		close(point);
	}
	close(mnt);
	return (r);
}

/* A read-only clone only of what holds no socket and no FIFO: through one a
 * session would reach both. In S much of the machine is one anyway. */
static bool
place_may_be_bare(const struct tree *t, const struct place *p)
{
	if (p->kind == PLACE_COVER || p->kind == PLACE_CLONE)
		return (false);
	return (mode_user() ? p->below :
	    p->plain && !hides_below(&t->b.hides, p->path));
}

/* What cannot be shown as planned. */
static int
place_instead(struct tree *t, const struct want *w, const struct place *p)
{
	const char	*path = p->path;

	if (p->kind == PLACE_PROJECT || p->kind == PLACE_HOME)
		return (-1);
	/* What the tree stands on shows it, read-only. */
	if (p->kind == PLACE_REST && !p->below) {
		fault_clear();
		return (0);
	}
	if (p->kind != PLACE_COVER && p->kind != PLACE_REST)
		plan_note(&t->plan, "%s: not shown as it is: %s", shown(path),
		    fault_text());
	fault_clear();
	if (mode_user() && p->kind != PLACE_COVER && !p->below)
		return (0);
	if (place_may_be_bare(t, p) && place_bare(t, p) == 0)
		return (0);
	fault_clear();
	if (plan_holds(w, path))
		return (0);
	return (face_cover(t->fresh->face, t->root, path));
}

static int
place_attach(struct tree *t, const struct want *w, const struct place *p)
{
	int	mnt, point, r = -1;

	if ((mnt = place_make(t, w, p)) == -1)
		return (place_instead(t, w, p));
	if ((point = point_open(t->root, p->path, p->dir, true)) == -1) {
		fs_end(mnt);
		if (p->kind == PLACE_PROJECT || p->kind == PLACE_HOME)
			return (-1);
		plan_note(&t->plan, "%s: not shown: %s", shown(p->path),
		    fault_text());
		fault_clear();
		return (0);
	}
	r = fs_attach(mnt, point, shown(p->path));
	close(point);
	fs_end(mnt);
	return (r);
}

/* The faces on hidden paths, in /proc or everywhere else. What is gone by a
 * whiteout needs none; but in a user's tree not all has a mask. */
static int
tree_faces(struct tree *t, bool proc)
{
	const struct hides	*hs = &t->b.hides;
	size_t			 i;

	for (i = 0; i < hs->n; i++)
		if ((!hs->v[i].gone || mode_user()) &&
		    path_within("/proc", hs->v[i].path) == proc &&
		    face_cover(t->fresh->face, t->root, hs->v[i].path) == -1)
			return (-1);
	return (0);
}

/* A user's tree has no overlay of "/", and of home only as a rule: the first
 * root's stands for what is not there. */
static int
tree_clones(struct tree *t)
{
	size_t	i, j;

	for (i = 0; i < CLONE_PROJECT; i++)
		for (j = 0; j < 2; j++)
			if (t->clone[i][j] == -1 && (t->clone[i][j] =
			    fcntl(t->clone[CLONE_PROJECT][j], F_DUPFD_CLOEXEC,
			    0)) == -1)
				return (fault_errno("mount.failed", "%s",
				    clone_kind(i)));
	return (0);
}

int
tree_make(struct tree *t, const struct want *w, struct fresh *f)
{
	size_t	i, j;

	t->root = t->twins = -1;
	t->fresh = f;
	for (i = 0; i < CLONE_COUNT; i++)
		for (j = 0; j < 2; j++)
			t->clone[i][j] = -1;
	if (plan_make(&t->plan, &t->b, w) == -1 || tree_root(t, w) == -1 ||
	    fresh_attach(f, t->root, w->uid, w->gid) == -1 ||
	    runfiles_attach(&t->b, t->root, &w->argv) == -1)
		return (-1);
	for (i = 0; i < t->plan.n; i++)
		if (place_attach(t, w, &t->plan.v[i]) == -1)
			return (-1);
	if (tree_clones(t) == -1)
		return (-1);
	if (sockets_cover(&t->plan, t->fresh->face, t->root) == -1)
		return (-1);
	return (tree_faces(t, false));
}

int
tree_finish(struct tree *t, int pidns, uid_t uid)
{
	if (proc_attach(t->fresh, t->root, pidns, uid) == -1 ||
	    tree_faces(t, true) == -1)
		return (-1);
	t->root = fs_lift(t->root, "the tree");
	return (t->root == -1 ? -1 : 0);
}
