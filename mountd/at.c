#include <sys/sysmacros.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "at.h"
#include "fs.h"
#include "mountd.h"

int
at_open(int root, const char *path, int flags)
{
	return (fs_openat2(root, *path == '\0' ? "." : path, flags,
	    FS_BENEATH));
}

bool
at_stat(int root, const char *path, struct stat *st)
{
	int	fd, r;

	if ((fd = at_open(root, path, O_PATH | O_NOFOLLOW)) == -1)
		return (false);
	r = fstat(fd, st);
	close(fd);
	return (r == 0);
}

bool
at_is_dir(int root, const char *path)
{
	struct stat	st;

	return (at_stat(root, path, &st) && S_ISDIR(st.st_mode));
}

/* What readdir gives for every folder. */
static bool
name_is_dots(const char *name)
{
	return (strcmp(name, ".") == 0 || strcmp(name, "..") == 0);
}

DIR *
at_opendir(int root, const char *path)
{
	DIR	*d;
	int	 fd, saved;

	if ((fd = at_open(root, path, O_RDONLY | O_DIRECTORY)) == -1)
		return (NULL);
	if ((d = fdopendir(fd)) == NULL) {
		saved = errno;
		close(fd);
		errno = saved;
	}
	return (d);
}

bool
at_is_empty(int root, const char *path)
{
	struct dirent	*de;
	DIR		*d;
	bool		 empty;

	if ((d = at_opendir(root, path)) == NULL)
		return (false);
	do {
		errno = 0;
		de = readdir(d);
	} while (de != NULL && name_is_dots(de->d_name));
	empty = de == NULL && errno == 0;
	closedir(d);
	return (empty);
}

int
at_parent(int root, const char *path, const char **name)
{
	char		 dir[PATH_MAX];
	const char	*slash = strrchr(path, '/');
	size_t		 len = slash != NULL ? (size_t)(slash - path) : 0;

	*name = slash != NULL ? slash + 1 : path;
	memcpy(dir, path, len);
	dir[len] = '\0';
	return (at_open(root, dir, O_PATH | O_DIRECTORY));
}

int
at_join(const char *dir, const char *name, char *out)
{
	if (snprintf(out, PATH_MAX, "%s%s%s", dir, *dir != '\0' ? "/" : "",
	    name) < PATH_MAX)
		return (0);
	errno = ENAMETOOLONG;
	return (-1);
}

bool
whiteout_is(const struct stat *st)
{
	return (S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0));
}

int
whiteout_make(int dir, const char *name)
{
	return (mknodat(dir, name, S_IFCHR, makedev(0, 0)));
}

int
whiteout_drop(int root, const char *path)
{
	const char	*name;
	struct stat	 st;
	int		 dir, r = 0;

	if (!at_stat(root, path, &st) || !whiteout_is(&st))
		return (0);
	if ((dir = at_parent(root, path, &name)) == -1)
		return (-1);
	r = unlinkat(dir, name, 0);
	close(dir);
	return (r);
}

struct walked *
walked_new(void)
{
	return (malloc(sizeof(struct walked)));
}

int
names_add(struct names *ns, const char *name)
{
	char	**v;

	/* Room grows by doubling: at powers of two. */
	if ((ns->n & (ns->n - 1)) == 0) {
		v = reallocarray(ns->v, ns->n == 0 ? 1 : 2 * ns->n,
		    sizeof(*v));
		if (v == NULL)
			return (-1);
		ns->v = v;
	}
	if ((ns->v[ns->n] = strdup(name)) == NULL)
		return (-1);
	ns->n++;
	return (0);
}

static int
name_compare(const void *a, const void *b)
{
	return (strcmp(*(char *const *)a, *(char *const *)b));
}

int
names_read(int root, const char *path, struct names *ns)
{
	struct dirent	*de;
	DIR		*d;
	int		 r = 0;

	memset(ns, 0, sizeof(*ns));
	if ((d = at_opendir(root, path)) == NULL)
		return (-1);
	while (r == 0 && (errno = 0, de = readdir(d)) != NULL)
		if (!name_is_dots(de->d_name))
			r = names_add(ns, de->d_name);
	if (errno != 0)
		r = -1;
	closedir(d);
	if (r == -1)
		names_free(ns);
	else if (ns->n > 0)	/* an empty list has no first element */
		qsort(ns->v, ns->n, sizeof(*ns->v), name_compare);
	return (r);
}

bool
names_has(const struct names *ns, const char *name)
{
	return (ns->n > 0 && bsearch(&name, ns->v, ns->n, sizeof(*ns->v),
	    name_compare) != NULL);
}

void
names_free(struct names *ns)
{
	size_t	i;

	for (i = 0; i < ns->n; i++)
		free(ns->v[i]);
	free(ns->v);
	memset(ns, 0, sizeof(*ns));
}
