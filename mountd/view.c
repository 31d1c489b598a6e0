/*
 * VIEW: what a landing's child reads. REFRESH: the host's files anew.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "../common/origins.h"
#include "../common/path.h"
#include "../privsep/mode.h"
#include "clean.h"
#include "fault.h"
#include "fs.h"
#include "mountd.h"
#include "pending.h"
#include "session.h"
#include "snap.h"

#define VIEW_ATTRS	(MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | \
			    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

struct view {
	int	merged, layer, stage;
};

/* Which of the layer's files are copies. A discard goes without, too: it is
 * what makes room where there is none. */
static int
view_copies(const struct child *c, int u, int stage)
{
	const struct m_VIEW	*m = c->body;

	if (copies_write(c->s->store, m->project, m->git, u, stage) == 0)
		return (0);
	if (!m->discard || (fault_err() != ENOSPC && fault_err() != EDQUOT))
		return (-1);
	fault_clear();
	return (unlinkat(stage, ORIGINS_NAME, 0) == -1 && errno != ENOENT ?
	    fault_errno("mount.layer", "the session's stage") : 0);
}

/* The layer itself, as a mount that cannot be written through; which of its
 * files are copies goes into the stage. */
static int
view_layer(const struct child *c, unsigned int n, int stage)
{
	const struct m_VIEW	*m = c->body;
	int			 u, mnt;

	if ((u = layer_upper(c->s->store, n)) == -1)
		return (fault_errno("mount.layer", "the layer of %s",
		    shown(m->project)));
	mnt = view_copies(c, u, stage) == -1 ? -1 : fs_clone(u, "the layer");
	close(u);
	if (mnt != -1 && fs_attr(mnt, VIEW_ATTRS, "the layer") == -1) {
		close(mnt);
		return (-1);
	}
	return (mnt);
}

static int
view_live(struct child *c, struct view *v)
{
	const struct m_VIEW	*m = c->body;
	const struct session	*s = c->s;
	int			 root, clone;

	if ((root = child_root(c, m->project, c->fd)) == -1)
		return (-1);
	clone = s->clone[CLONE_PROJECT + root];
	/* What the owner has replaced or removed meanwhile is no change of the
	 * session's, and from now on it sees it too. */
	if (fs_refresh(clone, "the project") == -1 ||
	    fs_refresh(s->clone[CLONE_HOME], "home") == -1)
		return (-1);
	v->merged = fs_clone(clone, "the project");
	return (v->merged == -1 ? -1 :
	    fs_attr(v->merged, VIEW_ATTRS, "the project"));
}

/*
 * Two lowers; but no lower may lie in another one, as a layer does whose
 * state is below the project. An upper may, and read-only it is as good.
 */
int
view_overlay(const struct child *c, struct build *b, const char *project,
    int lower)
{
	struct layer	l;
	unsigned int	n;
	int		u, mnt;

	if (layer_find(c->s->store, project, &n) != 1)
		return (-1);
	if (path_within(project, mountd.state)) {
		if (layer_open(c->s->store, project, lower, &l) == -1)
			return (-1);
		mnt = overlay_make(b, project, lower, &l, -1);
		layer_close(&l);
		return (mnt);
	}
	if ((u = layer_upper(c->s->store, n)) == -1)
		return (-1);
	mnt = overlay_make(b, project, lower, NULL, u);
	close(u);
	return (mnt);
}

/* Made anew from the layer, which is only read. */
static int
view_stopped(struct child *c, const char *project, struct view *v)
{
	const struct m_VIEW	*m = c->body;
	struct build		 b;
	int			 lower, on, r = -1;

	lower = fs_openat2(mountd.root, project + 1, O_PATH | O_DIRECTORY,
	    FS_PLAIN);
	if (lower == -1)
		return (fault_errno("mount.project", "project %s",
		    shown(project)));
	if (!fs_same(lower, c->fd)) {
		close(lower);
		return (fault("mount.identity", "project %s is not the folder "
		    "that the session's user opened", shown(project)));
	}
	if (build_begin(&b, &m->hide, child_user(c)) == 0 &&
	    pending_run(c->s->store, &b) == 0 &&
	    (on = snap_lower(&b, c->s->store, project, lower)) != -1 &&
	    (v->merged = view_overlay(c, &b, project, on)) != -1)
		r = fs_attr(v->merged, VIEW_ATTRS, "the project");
	build_end(&b);
	close(lower);
	return (r);
}

static int
view_check(const struct child *c, unsigned int *n)
{
	const struct m_VIEW	*m = c->body;
	bool			 first;

	if (m->live != c->s->mounted)
		return (fault("mount.state", "the session is %s here",
		    m->live ? "not mounted" : "still mounted"));
	return (layer_of_root(c->s->store, m->project, n, &first));
}

static void
view_send(struct child *c, const char *kind, int fd)
{
	struct m_LFD	m = { .kind = kind };

	child_send(c, MSG_LFD, fd, &m);
}

int
view_run(struct child *c)
{
	const struct m_VIEW	*m = c->body;
	struct m_SID		 sid = { .session = m->session };
	struct view		 v = { -1, -1, -1 };
	unsigned int		 n = 0;

	if (m->uid >= UINT32_MAX ||
	    (m->git != NULL && !path_is_canonical(m->git)) ||
	    view_check(c, &n) == -1 ||
	    aside_mend(c->s->store) == -1 ||
	    (v.stage = stage_open(c->s->store, mode_uid(m->uid))) == -1)
		return (-1);
	if ((m->live ? view_live(c, &v) : view_stopped(c, m->project, &v)) ==
	    -1)
		return (-1);
	if ((v.layer = view_layer(c, n, v.stage)) == -1)
		return (-1);
	view_send(c, "view", v.merged);
	view_send(c, "layer", v.layer);
	view_send(c, "stage", v.stage);
	child_send(c, MSG_VIEWED, -1, &sid);
	return (0);
}

int
refresh_run(struct child *c)
{
	const struct session	*s = c->s;
	struct m_SID		 sid = { .session = s->id };
	size_t			 i;

	for (i = 0; i < s->nroots; i++)
		if (fs_refresh(s->clone[CLONE_PROJECT + i], "the project") ==
		    -1)
			return (-1);
	if (fs_refresh(s->clone[CLONE_HOME], "home") == -1)
		return (-1);
	child_send(c, MSG_REFRESHED, -1, &sid);
	return (0);
}
