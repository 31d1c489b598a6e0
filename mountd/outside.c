/*
 * OUTSIDE: the layers that are no root's, one at a time, for a listing of what
 * the session changed in them.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "fs.h"
#include "mountd.h"
#include "pending.h"
#include "session.h"

#define OUTSIDE_ATTRS	(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | \
			    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

/* A root's clone stands for an overlay that is not there (tree_clones). */
static bool
clone_stands_in(const struct session *s, int clone)
{
	struct stat	st, root;

	return (fstat(clone, &st) == -1 ||
	    fstat(s->clone[CLONE_PROJECT], &root) == -1 ||
	    st.st_dev == root.st_dev);
}

/* The mounted overlay of this layer; -1: it is not mounted. */
static int
outside_clone(const struct child *c, unsigned int n, const char *at)
{
	const struct m_OUTSIDE	*m = c->body;
	const struct session	*s = c->s;
	size_t			 i;
	int			 clone = -1;

	if (!s->mounted)
		return (-1);
	for (i = 0; i < s->nkept; i++)
		if (s->kept[i].n == n)
			return (s->kept[i].fd);
	if (strcmp(at, "/") == 0)
		clone = s->clone[CLONE_ROOT];
	else if (m->home != NULL && strcmp(at, m->home) == 0)
		clone = s->clone[CLONE_HOME];
	return (clone == -1 || clone_stands_in(s, clone) ? -1 : clone);
}

static int
outside_sealed(int mnt, const char *at)
{
	if (mnt != -1 && fs_attr(mnt, OUTSIDE_ATTRS, shown(at)) == -1) {
		close(mnt);
		return (-1);
	}
	return (mnt);
}

/* As the session sees it. */
static int
outside_view(const struct child *c, struct build *b, unsigned int n,
    const char *at, int lower)
{
	int	clone = outside_clone(c, n, at);

	if (clone == -1)
		return (outside_sealed(view_overlay(c, b, at, lower), at));
	return (fs_refresh(clone, shown(at)) == -1 ? -1 :
	    outside_sealed(fs_clone(clone, shown(at)), at));
}

static int
outside_layer(const struct child *c, unsigned int n, const char *at)
{
	int	u, mnt;

	if ((u = layer_upper(c->s->store, n)) == -1)
		return (fault_errno("mount.layer", "the layer of %s",
		    shown(at)));
	mnt = outside_sealed(fs_clone(u, "the layer"), at);
	close(u);
	return (mnt);
}

static void
outside_send(struct child *c, const char *kind, int fd)
{
	struct m_LFD	m = { .kind = kind };

	child_send(c, MSG_LFD, fd, &m);
}

/* Real is what shows without the layer, under the same mask: what is hidden is
 * the same on both sides, and nothing of it can be seen. */
static int
outside_give(struct child *c, struct build *b, unsigned int n, const char *at,
    int lower)
{
	struct m_LAYER	m = { .session = c->s->id, .n = n, .path = at };
	int		view, layer, real;

	if ((view = outside_view(c, b, n, at, lower)) == -1 ||
	    (layer = outside_layer(c, n, at)) == -1 ||
	    (real = overlay_make(b, at, lower, NULL, -1)) == -1)
		return (-1);
	child_send(c, MSG_LAYER, -1, &m);
	outside_send(c, "view", view);
	outside_send(c, "layer", layer);
	outside_send(c, "real", real);
	return (0);
}

static int
outside_next(struct child *c, struct build *b, unsigned int n, const char *at)
{
	struct m_LAYER	m = {
		.session = c->s->id, .n = n, .path = at, .missing = true
	};
	int		lower, r;

	lower = fs_openat2(mountd.root, at[1] == '\0' ? "." : at + 1,
	    O_PATH | O_DIRECTORY, FS_PLAIN);
	if (lower == -1) {
		child_send(c, MSG_LAYER, -1, &m);
		return (0);
	}
	r = outside_give(c, b, n, at, lower);
	close(lower);
	return (r);
}

int
outside_run(struct child *c)
{
	const struct m_OUTSIDE	*m = c->body;
	struct m_SID		 sid = { .session = m->session };
	struct strv		 hide = m->hide;
	struct build		 b;
	char			 at[PATH_MAX];
	unsigned int		 n;
	int			 r;

	if (m->live != c->s->mounted)
		return (fault("mount.state", "the session is %s here",
		    m->live ? "not mounted" : "still mounted"));
	if (m->live && child_hide(c, &hide) == -1)
		return (-1);
	n = m->n < LAYER_MAX ? (unsigned int)m->n : LAYER_MAX;
	if ((r = layer_outside(c->s->store, &n, at)) == -1)
		return (fault_errno("mount.layer", "the session's layers"));
	if (r == 1) {
		r = build_begin(&b, &hide, child_user(c));
		if (r == 0)
			r = outside_next(c, &b, n, at);
		build_end(&b);
	}
	if (r == 0)
		child_send(c, MSG_VIEWED, -1, &sid);
	return (r);
}
