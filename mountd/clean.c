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
clean_open(struct clean *c, struct build *b, int store, int merged)
{
	char		project[PATH_MAX];
	unsigned int	n;
	int		r;

	memset(c, 0, sizeof(*c));
	c->u = c->base = c->real = -1;
	c->merged = merged;
	if (layer_project(store, project, sizeof(project)) == -1 ||
	    (r = layer_find(store, project, &n)) == -1)
		return (-1);
	if (r == 0)
		return (fault("mount.layer", "project %s: this session has no "
		    "layer of it", shown(project)));
	if ((c->u = layer_upper(store, n)) == -1)
		return (fault_errno("mount.layer", "the layer of %s",
		    shown(project)));
	c->real = fs_openat2(mountd.root, project + 1, O_PATH | O_DIRECTORY,
	    FS_PLAIN);
	if (c->real == -1)
		return (fault_errno("mount.project", "project %s",
		    shown(project)));
	c->base = overlay_make(b, project, c->real, NULL, -1);
	c->blind = !clean_tells(c->u) || !clean_tells(c->real);
	return (c->base == -1 ? -1 : 0);
}

void
clean_close(struct clean *c)
{
	size_t	i;

	for (i = 0; i < c->nlater; i++)
		free(c->later[i].path);
	free(c->later);
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
clean_list(const struct strv *paths, const char **v, size_t *n)
{
	char	absolute[PATH_MAX + 1] = "/";
	size_t	i;

	for (i = 0; i < paths->n; i++) {
		if (strlcpy(absolute + 1, paths->v[i], PATH_MAX) >= PATH_MAX ||
		    (paths->v[i][0] != '\0' && !path_is_canonical(absolute)))
			return (fault("mount.path", "%s is no path below the "
			    "project", shown(paths->v[i])));
		v[i] = paths->v[i];
	}
	qsort(v, paths->n, sizeof(*v), list_compare);
	for (i = 0, *n = 0; i < paths->n; i++)
		if (*n == 0 || strcmp(v[*n - 1], v[i]) != 0)
			v[(*n)++] = v[i];
	return (0);
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

int
clean_paths(struct clean *c, int store, const struct strv *paths)
{
	const char	**v;
	size_t		  i, n;
	int		  r;

	if (paths->n == 0)
		return (0);
	if ((v = calloc(paths->n, sizeof(*v))) == NULL)
		return (fault_errno("mount.clean", "the list of paths"));
	if (clean_list(paths, v, &n) == -1) {
		free(v);
		return (-1);
	}
	if (v[0][0] == '\0' && !c->discard) {
		free(v);
		return (fault("mount.path", "a landing names its paths one by "
		    "one"));
	}
	c->landed = v;
	c->nlanded = c->discard ? 0 : n;
	r = c->merged == -1 ? 0 : fs_refresh(c->merged, "the project");
	if (r == 0 && strip_paths(c, v, n) == -1)
		r = fault_errno("mount.clean", "the layer of the project");
	c->landed = NULL;
	c->nlanded = 0;
	free(v);
	if (r == 0 && c->merged != -1)
		r = clean_through(c);
	for (i = 0; r == 0 && i < c->left.n; i++)
		r = pending_add(store, c->u, c->left.v[i]);
	return (r);
}

static int
clean_live(struct child *c, struct build *b)
{
	const struct m_CLEAN	*m = c->body;
	struct clean		 clean;
	struct stat		 st;
	int			 r;

	r = clean_open(&clean, b, c->s->store,
	    m->live ? c->s->clone[CLONE_PROJECT] : -1);
	/* Another folder has its place now: that one shows nothing of ours. */
	if (r == 0 && m->live && (fstat(clean.real, &st) == -1 ||
	    st.st_dev != c->s->dev || st.st_ino != c->s->ino))
		r = fault("mount.identity", "project %s is not the folder "
		    "that the session was started on", shown(c->s->project));
	clean.discard = m->discard;
	if (r == 0)
		r = clean_paths(&clean, c->s->store, &m->paths);
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
	if (hide.n == 0 && child_hide(c, &hide) == -1)
		return (-1);
	r = build_begin(&b, &hide);
	if (r == 0 && !m->live)
		r = pending_run(c->s->store, &b);
	if (r == 0)
		r = clean_live(c, &b);
	build_end(&b);
	if (r == 0)
		child_send(c, MSG_CLEANED, -1, &sid);
	return (r);
}
