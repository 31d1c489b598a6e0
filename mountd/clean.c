#include <sys/vfs.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/magic.h>

#include "../common/path.h"
#include "clean.h"
#include "fault.h"
#include "fs.h"
#include "mountd.h"
#include "pending.h"
#include "session.h"
#include "snap.h"

/*
 * Names on a network are checked again at each use, which a look at the cache
 * alone cannot do: there nothing can be said to be free.
 */
static bool
clean_tells(int fd)
{
	static const unsigned long	local[] = {
		EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
		TMPFS_MAGIC, F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC
	};
	struct statfs	sf;
	size_t		i;

	if (fstatfs(fd, &sf) == -1)
		return (false);
	for (i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		if ((unsigned long)sf.f_type == local[i])
			return (true);
	return (false);
}

int
clean_open(struct clean *c, struct build *b, int store, const char *project,
    int merged)
{
	memset(c, 0, sizeof(*c));
	c->b = b;
	c->project = project;
	c->u = c->base = c->real = c->aside = c->steps_fd = -1;
	c->store = store;
	c->merged = merged;
	if (layer_of_root(store, project, &c->n, &c->first) == -1)
		return (-1);
	if ((c->u = layer_upper(store, c->n)) == -1)
		return (fault_errno("mount.layer", "the layer of %s",
		    shown(project)));
	c->real = fs_openat2(mountd.root, project + 1, O_PATH | O_DIRECTORY,
	    FS_PLAIN);
	if (c->real == -1)
		return (fault_errno("mount.project", "project %s",
		    shown(project)));
	if ((c->lower = snap_lower(b, store, project, c->real)) == -1)
		return (-1);
	c->base = overlay_make(b, project, c->lower, NULL, -1);
	c->blind = !clean_tells(c->u) || !clean_tells(c->lower);
	return (c->base == -1 ? -1 : 0);
}

void
clean_close(struct clean *c)
{
	size_t	i;

	for (i = 0; i < c->nlater; i++)
		free(c->later[i].path);
	free(c->later);
	for (i = 0; i < c->nsteps; i++)
		free(c->steps[i].path);
	free(c->steps);
	for (i = 0; i < c->norigins; i++) {
		free(c->origins[i].path);
		free(c->origins[i].lower);
	}
	free(c->origins);
	free(c->list);
	names_free(&c->left);
	names_free(&c->touched);
	if (c->u != -1)
		close(c->u);
	if (c->base != -1)
		close(c->base);
	if (c->real != -1)
		close(c->real);
}

static int
list_compare(const void *a, const void *b)
{
	return (path_order(*(const char *const *)a, *(const char *const *)b));
}

/* Sorted, each once, and none that leaves the project. */
static int
clean_list(struct clean *c, const struct strv *paths)
{
	char	absolute[PATH_MAX + 1] = "/";
	size_t	i;

	if ((c->list = calloc(paths->n + 1, sizeof(*c->list))) == NULL)
		return (fault_errno("mount.clean", "the list of paths"));
	for (i = 0; i < paths->n; i++) {
		if (strlcpy(absolute + 1, paths->v[i], PATH_MAX) >= PATH_MAX ||
		    (paths->v[i][0] != '\0' && !path_is_canonical(absolute)))
			return (fault("mount.path", "%s is no path below the "
			    "project", shown(paths->v[i])));
		c->list[i] = paths->v[i];
	}
	qsort(c->list, paths->n, sizeof(*c->list), list_compare);
	for (i = 0; i < paths->n; i++)
		if (c->nlist == 0 ||
		    strcmp(c->list[c->nlist - 1], c->list[i]) != 0)
			c->list[c->nlist++] = c->list[i];
	if (c->nlist > 0 && c->list[0][0] == '\0' && !c->discard)
		return (fault("mount.path", "a landing names its paths one by "
		    "one"));
	return (0);
}

static int
list_find(const void *key, const void *v)
{
	return (path_order(key, *(const char *const *)v));
}

bool
clean_listed(const struct clean *c, const char *path)
{
	return (c->nlist > 0 && bsearch(path, c->list, c->nlist,
	    sizeof(*c->list), list_find) != NULL);
}

bool
clean_names(const struct clean *c, const char *path)
{
	char	above[PATH_MAX], *slash;

	if (c->nlist > 0 && c->list[0][0] == '\0')
		return (true);
	strlcpy(above, path, sizeof(above));
	for (;;) {
		if (clean_listed(c, above))
			return (true);
		if ((slash = strrchr(above, '/')) == NULL)
			return (false);
		*slash = '\0';
	}
}

int
clean_later(struct clean *c, enum later_what what, const char *path)
{
	struct later	*v;

	v = reallocarray(c->later, c->nlater + 1, sizeof(*v));
	if (v == NULL)
		return (-1);
	c->later = v;
	v += c->nlater;
	v->what = what;
	if ((v->path = strdup(path)) == NULL)
		return (-1);
	c->nlater++;
	return (0);
}

int
clean_deep(const char *path)
{
	return (fault("mount.clean", "%s: what the session has in there has "
	    "a path of more than %d bytes: discard or move a folder above it",
	    shown(path), PATH_MAX - 1));
}

/* What was put off, and what the view has to be told of. */
static int
clean_through(struct clean *c)
{
	size_t	i;

	if (fs_refresh(c->merged, "the project") == -1)
		return (-1);
	for (i = 0; i < c->nlater; i++)
		if (through_run(c, &c->later[i]) == -1)
			return (fault_errno("mount.clean", "%s, in the "
			    "session", shown(c->later[i].path)));
	if (fs_refresh(c->merged, "the project") == -1)
		return (-1);
	for (i = 0; i < c->touched.n; i++)
		if (through_bump(c, c->touched.v[i]) == -1)
			return (fault_errno("mount.clean", "the listing of "
			    "%s, in the session", shown(c->touched.v[i])));
	return (0);
}

static int
clean_behind(struct clean *c)
{
	if (c->merged != -1 && fs_refresh(c->merged, "the project") == -1)
		return (-1);
	if (strip_paths(c) == -1)
		return (fault_errno("mount.clean", "the project's part of the "
		    "session's layer, in %s", shown(mountd.state)));
	if (c->merged == -1)
		return (0);
	if (fs_refresh(c->merged, "the project") == -1)
		return (-1);
	if (steps_verify(c) == -1)
		return (fault_errno("mount.clean", "what the session holds "
		    "open"));
	return (clean_through(c));
}

int
clean_paths(struct clean *c, const struct strv *paths)
{
	int	r;

	if (clean_list(c, paths) == -1)
		return (-1);
	if (c->nlist == 0)
		return (0);
	if (!c->discard && !c->ended && snap_follow(c->b, c->project, c->real,
	    c->list, c->nlist) == -1)
		return (-1);
	if ((r = clean_behind(c)) == 0 && c->left.n > 0)
		r = pending_add(c, &c->left);
	if (r == 0 && aside_end(c) == -1)
		r = fault_errno("mount.clean", "what was taken out of the "
		    "layer");
	if (r == -1) {
		/* Nothing of the session's goes by halves. */
		(void)aside_undo(c);
		if (c->merged != -1)
			(void)fs_refresh(c->merged, "the project");
	}
	return (r);
}

static int
clean_live(struct child *c, struct build *b)
{
	const struct m_CLEAN	*m = c->body;
	struct clean		 clean;
	int			 r, root = 0;

	r = clean_open(&clean, b, c->s->store, m->project, -1);
	/* Another folder has its place now: that one shows nothing of ours. */
	if (r == 0 && m->live &&
	    (root = child_root(c, m->project, clean.real)) == -1)
		r = -1;
	if (r == 0 && m->live)
		clean.merged = c->s->clone[CLONE_PROJECT + root];
	clean.discard = m->discard;
	if (r == 0)
		r = clean_paths(&clean, &m->paths);
	clean_close(&clean);
	return (r);
}

int
clean_run(struct child *c)
{
	const struct m_CLEAN	*m = c->body;
	struct m_SID		 sid = { .session = m->session };
	struct strv		 hide = m->hide;
	struct build		 b;
	int			 r;

	if (m->live != c->s->mounted)
		return (fault("mount.state", "the session is %s here",
		    m->live ? "not mounted" : "still mounted"));
	if ((hide.n == 0 && child_hide(c, &hide) == -1) ||
	    aside_mend(c->s->store) == -1)
		return (-1);
	r = build_begin(&b, &hide, child_user(c));
	if (r == 0 && !m->live)
		r = pending_run(c->s->store, &b);
	if (r == 0)
		r = clean_live(c, &b);
	build_end(&b);
	if (r == 0)
		child_send(c, MSG_CLEANED, -1, &sid);
	return (r);
}
