#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/path.h"
#include "plan.h"

/*
 * A real folder that the view no longer has, and those below it, parents
 * first. One goes if nothing stays in it and a deleted file was in it (or in
 * its parent's tree, which goes as a whole): a folder that was empty all
 * along is the owner's.
 */
struct gone {
	char	*path;
	size_t	 parent;	/* its place; NONE for the first */
	bool	 blocked;	/* something in it stays */
	bool	 below;		/* a deleted file was in it */
	bool	 must;		/* its name is needed for a file */
	bool	 go;
};
#define NONE	SIZE_MAX

struct gones {
	struct gone	*v;
	size_t		 n, size;
};

static int
gones_add(struct gones *g, const char *path, size_t parent, bool must)
{
	struct gone	*v;
	size_t		 size = g->size == 0 ? 16 : g->size * 2;

	if (g->n == g->size) {
		if ((v = reallocarray(g->v, size, sizeof(*v))) == NULL)
			return (-1);
		g->v = v;
		g->size = size;
	}
	v = &g->v[g->n];
	memset(v, 0, sizeof(*v));
	v->parent = parent;
	v->must = must;
	if ((v->path = strdup(path)) == NULL)
		return (-1);
	g->n++;
	return (0);
}

static void
gones_free(struct gones *g)
{
	size_t	i;

	for (i = 0; i < g->n; i++)
		free(g->v[i].path);
	free(g->v);
}

/* One of the list is this folder or lies in it. */
static bool
gone_holds(const char *const *list, const char *root, const char *path)
{
	const char *const	*h;
	const char		*rel;
	size_t			 len = strlen(path);

	for (h = list; h != NULL && *h != NULL; h++) {
		if ((rel = path_below(root, *h)) == NULL)
			continue;
		if (strncmp(rel, path, len) == 0 &&
		    (rel[len] == '\0' || rel[len] == '/'))
			return (true);
	}
	return (false);
}

static int
gone_entry(struct gones *g, size_t i, const struct plan *p, DIR *dir,
    const struct dirent *de)
{
	char		path[PATH_MAX];
	struct stat	st;
	bool		isdir = de->d_type == DT_DIR;

	if (snprintf(path, sizeof(path), "%s/%s", g->v[i].path, de->d_name) >=
	    (int)sizeof(path)) {
		g->v[i].blocked = true;
		return (0);
	}
	if (de->d_type == DT_UNKNOWN) {
		if (fstatat(dirfd(dir), de->d_name, &st,
		    AT_SYMLINK_NOFOLLOW) == -1)
			return (-1);
		isdir = S_ISDIR(st.st_mode);
	}
	if (isdir && !tree_gitname(de->d_name, strlen(de->d_name)))
		return (gones_add(g, path, i, g->v[i].must));
	if (!isdir && plan_find(p, OP_DELETE, path) != NULL)
		g->v[i].below = true;
	else
		g->v[i].blocked = true;
	return (0);
}

/* What is in one; a folder that cannot be listed stays. */
static int
gone_list(struct gones *g, size_t i, const struct plan *p,
    const struct job *job, int root)
{
	struct dirent	*de;
	DIR		*dir = NULL;
	int		 fd, rv = 0;

	if (gone_holds(job->hide, job->root, g->v[i].path) ||
	    gone_holds(job->ro, job->root, g->v[i].path))
		g->v[i].blocked = true;
	fd = tree_open(root, g->v[i].path, O_RDONLY | O_DIRECTORY);
	if (fd == -1 || (dir = fdopendir(fd)) == NULL) {
		if (fd != -1)
			close(fd);
		g->v[i].blocked = true;
		return (0);
	}
	while (rv == 0 && (de = readdir(dir)) != NULL)
		if (strcmp(de->d_name, ".") != 0 &&
		    strcmp(de->d_name, "..") != 0)
			rv = gone_entry(g, i, p, dir, de);
	closedir(dir);
	return (rv);
}

/* Everything below g->v[first], then which of it goes. */
static int
gones_walk(struct gones *g, size_t first, const struct plan *p,
    const struct job *job, int root)
{
	size_t		 i;
	struct gone	*d;

	for (i = first; i < g->n; i++)
		if (gone_list(g, i, p, job, root) == -1)
			return (-1);
	for (i = g->n; i > first; i--) {
		d = &g->v[i - 1];
		if (d->parent == NONE)
			continue;
		g->v[d->parent].blocked |= d->blocked;
		g->v[d->parent].below |= d->below;
	}
	for (i = first; i < g->n; i++) {
		d = &g->v[i];
		d->go = !d->blocked && (d->below || d->must ||
		    (d->parent != NONE && g->v[d->parent].go));
	}
	return (0);
}

/* True where the session has no such folder any more. */
static bool
view_lacks(const struct job *job, const char *path)
{
	int	fd;

	if ((fd = tree_open(job->view, path, O_PATH | O_DIRECTORY)) != -1) {
		close(fd);
		return (false);
	}
	return (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
}

/* path lies below dir. */
static bool
below(const char *path, const char *dir)
{
	size_t	len = strlen(dir);

	return (len > 0 && strncmp(path, dir, len) == 0 && path[len] == '/');
}

/*
 * The topmost parent of a deleted file that the view no longer has. Paths
 * come sorted, so those below one folder follow each other: what the path
 * shares with the last one need not be looked at again.
 */
static int
gones_of_delete(struct gones *g, const struct plan *p, const struct job *job,
    int root, const char *path, char *last)
{
	char	dir[PATH_MAX];
	char	*slash;
	size_t	first = g->n;

	if (below(path, last))
		return (0);
	strlcpy(dir, path, sizeof(dir));
	for (slash = dir; (slash = strchr(slash, '/')) != NULL; *slash++ =
	    '/') {
		*slash = '\0';
		if (below(last, dir) || !view_lacks(job, dir))
			continue;
		strlcpy(last, dir, PATH_MAX);
		if (gones_add(g, dir, NONE, false) == -1)
			return (-1);
		return (gones_walk(g, first, p, job, root));
	}
	strlcpy(last, path, PATH_MAX);
	return (0);
}

/* A file is to be where a folder is: the folder has to go. */
static int
gones_of_create(struct gones *g, const struct plan *p, const struct job *job,
    int root, const char *path, struct landing_result *res)
{
	struct place	pl;
	size_t		first = g->n, i;
	bool		isdir;

	if (place_open(root, path, &pl) == -1) {
		place_close(&pl);
		return (landing_errno(res, "looking at", path));
	}
	isdir = pl.present && S_ISDIR(pl.st.st_mode);
	place_close(&pl);
	if (!isdir)
		return (0);
	for (i = 0; i < g->n; i++)
		if (strcmp(g->v[i].path, path) == 0)
			break;
	if (i == g->n) {
		if (gones_add(g, path, NONE, true) == -1 ||
		    gones_walk(g, first, p, job, root) == -1)
			return (landing_fail(res, "land.failed",
			    "out of memory"));
	}
	g->v[i].must = true;
	if (g->v[i].go)
		return (0);
	return (landing_fail(res, "land.kept", "%s is to be a file, but the "
	    "folder there still holds what does not land; move it away and "
	    "land again", shown_path(path).s));
}

static int
gones_plan(const struct gones *g, struct plan *p, int root)
{
	struct place	 pl;
	struct op	*op;
	size_t		 i;

	for (i = 0; i < g->n; i++) {
		if (!g->v[i].go)
			continue;
		if (place_open(root, g->v[i].path, &pl) == -1 || !pl.present) {
			place_close(&pl);
			continue;
		}
		place_close(&pl);
		if ((op = plan_add(p, OP_RMDIR, g->v[i].path)) == NULL)
			return (-1);
		op->must = g->v[i].must;
		op->pre.mode = pl.st.st_mode;
		op->pre.dev = pl.st.st_dev;
		op->pre.ino = pl.st.st_ino;
	}
	return (0);
}

int
plan_rmdirs(struct plan *p, const struct job *job, int root,
    struct landing_result *res)
{
	struct gones	g = { NULL, 0, 0 };
	char		last[PATH_MAX] = "";
	size_t		i;
	int		rv = 0;

	for (i = 0; i < p->n && rv == 0; i++) {
		if (p->v[i].kind == OP_DELETE) {
			rv = gones_of_delete(&g, p, job, root, p->v[i].path,
			    last);
			if (rv == -1)
				landing_fail(res, "land.failed",
				    "out of memory");
		} else if (p->v[i].kind == OP_CREATE)
			rv = gones_of_create(&g, p, job, root, p->v[i].path,
			    res);
	}
	if (rv == 0 && (rv = gones_plan(&g, p, root)) == -1)
		landing_fail(res, "land.failed", "out of memory");
	gones_free(&g);
	plan_sort(p);
	return (rv);
}

/* The mode of the nearest folder above path that is there; what is a file or
 * a link yet becomes a folder too. */
static int
above_mode(int root, const char *path, mode_t *mode)
{
	char		 dir[PATH_MAX], *slash;
	struct stat	 st;
	int		 fd, r;

	strlcpy(dir, path, sizeof(dir));
	do {
		slash = strrchr(dir, '/');
		*(slash != NULL ? slash : dir) = '\0';
		fd = tree_open(root, dir, O_PATH | O_DIRECTORY);
	} while (fd == -1 && *dir != '\0' && (errno == ENOENT ||
	    errno == ENOTDIR || errno == ELOOP));
	if (fd == -1)
		return (-1);
	r = fstat(fd, &st);
	close(fd);
	*mode = st.st_mode;
	return (r);
}

/*
 * The view's mode of a folder that the project is to get. No review shows it
 * and no digest covers it, so it lets nobody write who may not in the folder
 * that it comes into.
 */
static int
mkdir_mode(const struct job *job, int root, const char *path, mode_t *mode,
    struct landing_result *res)
{
	struct stat	st;
	mode_t		above;
	int		fd;

	fd = tree_open(job->view, path, O_PATH | O_DIRECTORY);
	if (fd == -1 || fstat(fd, &st) == -1) {
		landing_errno(res, "looking in the session at", path);
		if (fd != -1)
			close(fd);
		return (-1);
	}
	close(fd);
	if (above_mode(root, path, &above) == -1)
		return (landing_errno(res, "looking above", path));
	*mode = S_IFDIR | (st.st_mode & (0755 | (above & 022)));
	return (0);
}

/* The parents of one path, from the top, that are not there yet. */
static int
mkdirs_of(struct plan *p, const struct job *job, int root, const char *path,
    char *last, struct landing_result *res)
{
	char		 dir[PATH_MAX], *slash;
	struct place	 pl;
	struct op	*op;
	bool		 there;

	strlcpy(dir, path, sizeof(dir));
	for (slash = dir; (slash = strchr(slash, '/')) != NULL; *slash++ =
	    '/') {
		*slash = '\0';
		/* Sorted: what this path shares with the one before it has
		 * been looked at. */
		if (below(last, dir))
			continue;
		if (place_open(root, dir, &pl) == -1) {
			place_close(&pl);
			return (landing_errno(res, "looking at", dir));
		}
		there = pl.present && S_ISDIR(pl.st.st_mode);
		place_close(&pl);
		if (there)
			continue;
		if ((op = plan_add(p, OP_MKDIR, dir)) == NULL)
			return (landing_fail(res, "land.failed",
			    "out of memory"));
		if (mkdir_mode(job, root, dir, &op->post.mode, res) == -1)
			return (-1);
	}
	memcpy(last, path, strlen(path) + 1);
	return (0);
}

int
plan_mkdirs(struct plan *p, const struct job *job, int root,
    struct landing_result *res)
{
	char	last[PATH_MAX] = "";
	size_t	i, n = p->n;

	for (i = 0; i < n; i++)
		if (p->v[i].kind == OP_CREATE &&
		    strlen(p->v[i].path) < sizeof(last) &&
		    mkdirs_of(p, job, root, p->v[i].path, last, res) == -1)
			return (-1);
	plan_sort(p);
	return (0);
}
