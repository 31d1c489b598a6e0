/*
 * Where a root's .git is no folder, a linked worktree's say, git keeps what is
 * committed or stashed inside in a folder that lies in another layer.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/path.h"
#include "at.h"
#include "clean.h"
#include "fault.h"
#include "fs.h"
#include "layer.h"
#include "mountd.h"

/* A layer's upper folder, and the folder of the machine that it lies on. */
struct pair {
	int		u, real;
};

static int
bytes_same(int a, int b)
{
	static char	x[65536], y[sizeof(x)];
	ssize_t		n;

	while ((n = read(a, x, sizeof(x))) > 0) {
		child_alive();
		if (read(b, y, (size_t)n) != n || memcmp(x, y, (size_t)n) != 0)
			return (0);
	}
	return (n == 0);
}

/* git writes its index anew where only times in it could have been others. Of
 * another owner's file nobody learns what is in it. */
static bool
git_same(const struct pair *p, const char *path, const struct stat *st)
{
	struct stat	rst;
	bool		same = false;
	int		a, b;

	if (!S_ISREG(st->st_mode) || !at_stat(p->real, path, &rst) ||
	    !S_ISREG(rst.st_mode) || rst.st_size != st->st_size ||
	    rst.st_mode != st->st_mode || rst.st_uid != st->st_uid)
		return (false);
	a = at_open(p->u, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	b = at_open(p->real, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (a != -1 && b != -1 && fstat(b, &rst) == 0 &&
	    S_ISREG(rst.st_mode) && rst.st_uid == st->st_uid)
		same = bytes_same(a, b);
	if (a != -1)
		close(a);
	if (b != -1)
		close(b);
	return (same);
}

/* A folder of the layer that shows something else than the machine's of this
 * path: nothing of it, or another one. What is not in it may be what the
 * session removed. */
static bool
git_covers(const struct pair *p, const char *path)
{
	const char	*slash = strrchr(path, '/');
	char		 above[PATH_MAX] = "", lower[PATH_MAX];
	struct stat	 st;
	bool		 lies;
	int		 fd;

	if ((fd = at_open(p->u, path, O_PATH | O_DIRECTORY)) == -1)
		return (true);
	if (slash != NULL)
		memcpy(above, path, (size_t)(slash - path));
	lies = fold_points(fd, slash != NULL ? slash + 1 : path, above, true,
	    lower);
	close(fd);
	if (lies)
		return (strcmp(lower, path) != 0);
	return (p->real == -1 || at_stat(p->real, path, &st));
}

/* The folders above path, in the layer. */
static bool
git_covered(const struct pair *p, const char *path)
{
	char		 above[PATH_MAX];
	const char	*slash;

	for (slash = path; (slash = strchr(slash, '/')) != NULL; slash++) {
		memcpy(above, path, (size_t)(slash - path));
		above[slash - path] = '\0';
		if (git_covers(p, above))
			return (true);
	}
	return (false);
}

/* A folder that is there for what is in it says nothing. 1 there is more, or
 * that cannot be told, 0 there is not; what is still to be looked into goes to
 * dirs. */
static int
git_folder(const struct pair *p, const char *path, struct names *dirs)
{
	struct names	ns;
	struct stat	st;
	char		sub[PATH_MAX];
	size_t		i;
	int		r = 0;

	child_alive();
	if ((*path != '\0' && git_covers(p, path)) ||
	    names_read(p->u, path, &ns) == -1)
		return (1);
	for (i = 0; r == 0 && i < ns.n; i++) {
		if (at_join(path, ns.v[i], sub) == -1)
			r = 1;
		else if (!at_stat(p->u, sub, &st))
			continue;
		else if (S_ISDIR(st.st_mode))
			r = names_add(dirs, sub);
		else
			r = !git_same(p, sub, &st);
	}
	names_free(&ns);
	return (r);
}

/* 1 the layer has something at path or below it, 0 not. */
static int
git_in_upper(const struct pair *p, const char *path)
{
	struct names	dirs = { 0 };
	char		*dir;
	int		fd, r;

	if ((fd = at_open(p->u, path, O_PATH | O_DIRECTORY)) == -1)
		/* A whiteout or a link there, or on the way: the session's. A
		 * review goes on whatever it has put there. */
		return (errno != ENOENT);
	close(fd);
	if (git_covered(p, path))
		return (1);
	r = names_add(&dirs, path);
	while (r == 0 && dirs.n > 0) {
		dir = dirs.v[--dirs.n];
		r = git_folder(p, dir, &dirs);
		free(dir);
	}
	names_free(&dirs);
	return (r);
}

/* The layer that the path lies in: 1, 0 it lies in none, or in a root's, whose
 * own review tells of it; -1 errno. */
static int
git_layer(int store, const char *path, unsigned int *which, char *in)
{
	char		at[PATH_MAX];
	unsigned int	n;
	size_t		best = 0;
	int		r;

	for (n = LAYER_ROOT; n < LAYER_MAX && (r = layer_at(store, n, at)) !=
	    0; n++) {
		if (r == -1)
			return (-1);
		if (!path_within(at, path) || strlen(at) < best)
			continue;
		best = strlen(at);
		*which = n;
		strlcpy(in, at, PATH_MAX);
	}
	if (best == 0)
		return (0);
	for (n = LAYER_ROOT; (r = layer_root(store, &n, at)) == 1; n++)
		if (n == *which)
			return (0);
	return (r == -1 ? -1 : 1);
}

int
layer_has_git(int store, const char *path)
{
	struct pair	p = { -1, -1 };
	char		in[PATH_MAX];
	unsigned int	n;
	int		r;

	if ((r = git_layer(store, path, &n, in)) != 1)
		return (r);
	p.u = layer_upper(store, n);
	p.real = fs_openat2(mountd.root, in[1] == '\0' ? "." : in + 1,
	    O_PATH | O_DIRECTORY, FS_PLAIN);
	/* Without the machine's folder nothing is the same. */
	r = p.u == -1 ? -1 : git_in_upper(&p, path_below(in, path));
	if (p.u != -1)
		close(p.u);
	if (p.real != -1)
		close(p.real);
	return (r);
}
