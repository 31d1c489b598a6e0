#include <sys/stat.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "review_lib.h"

static char	found[PATH_MAX * 2];

static bool tree_differ(int, int, const char *);

static bool
differs(const char *where, const char *name, const char *what)
{
	snprintf(found, sizeof(found), "%s/%s: %s", where, name, what);
	return (true);
}

/* A folder with no file or link anywhere below. */
static bool
tree_empty(int dir, const char *name)
{
	struct stat	 st;
	struct dirent	*de;
	DIR		*d;
	bool		 empty = true;
	int		 fd;

	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	if (fd == -1 || (d = fdopendir(fd)) == NULL)
		return (false);
	while (empty && (de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		empty = fstatat(dirfd(d), de->d_name, &st,
		    AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
		    tree_empty(dirfd(d), de->d_name);
	}
	closedir(d);
	return (empty);
}

static bool
file_differ(int a, int b, const char *name)
{
	static char	one[65536], two[65536];
	int		x = openat(a, name, O_RDONLY | O_NOFOLLOW);
	int		y = openat(b, name, O_RDONLY | O_NOFOLLOW);
	ssize_t		n, m;
	bool		differ = x == -1 || y == -1;

	while (!differ) {
		n = read(x, one, sizeof(one));
		m = read(y, two, sizeof(two));
		differ = n != m || n == -1 ||
		    memcmp(one, two, (size_t)n) != 0;
		if (n <= 0)
			break;
	}
	close(x);
	close(y);
	return (differ);
}

static bool
entry_differ(int a, int b, const char *where, const char *name)
{
	char		one[PATH_MAX] = "", two[PATH_MAX] = "";
	char		sub[PATH_MAX * 2];
	struct stat	x, y;

	if (fstatat(a, name, &x, AT_SYMLINK_NOFOLLOW) == -1)
		return (differs(where, name, strerror(errno)));
	if (fstatat(b, name, &y, AT_SYMLINK_NOFOLLOW) == -1)
		return (S_ISDIR(x.st_mode) && tree_empty(a, name) ? false :
		    differs(where, name, "is in one tree only"));
	if ((x.st_mode & S_IFMT) != (y.st_mode & S_IFMT))
		return (differs(where, name, "has another type"));
	if (S_ISDIR(x.st_mode)) {
		snprintf(sub, sizeof(sub), "%s/%s", where, name);
		return (tree_differ(openat(a, name, O_RDONLY | O_DIRECTORY),
		    openat(b, name, O_RDONLY | O_DIRECTORY), sub));
	}
	if (S_ISLNK(x.st_mode)) {
		if (readlinkat(a, name, one, sizeof(one) - 1) == -1 ||
		    readlinkat(b, name, two, sizeof(two) - 1) == -1 ||
		    strcmp(one, two) != 0)
			return (differs(where, name, "leads elsewhere"));
		return (false);
	}
	if ((x.st_mode ^ y.st_mode) & 0100)
		return (differs(where, name, "executable in one only"));
	return (file_differ(a, b, name) ?
	    differs(where, name, "has other bytes") : false);
}

/* Everything of a's is in b; takes both descriptors over. */
static bool
tree_differ(int a, int b, const char *where)
{
	struct dirent	*de;
	DIR		*d;
	bool		 differ = false;

	if (a == -1 || b == -1 || (d = fdopendir(a)) == NULL)
		return (differs(where, "", "cannot be opened"));
	while (!differ && (de = readdir(d)) != NULL)
		if (strcmp(de->d_name, ".") != 0 &&
		    strcmp(de->d_name, "..") != 0 &&
		    strcmp(de->d_name, ".git") != 0)
			differ = entry_differ(a, b, where, de->d_name);
	closedir(d);
	close(b);
	return (differ);
}

const char *
review_differ(const char *a, const char *b)
{
	if (tree_differ(open(a, O_RDONLY | O_DIRECTORY),
	    open(b, O_RDONLY | O_DIRECTORY), a) ||
	    tree_differ(open(b, O_RDONLY | O_DIRECTORY),
	    open(a, O_RDONLY | O_DIRECTORY), b))
		return (found);
	return (NULL);
}
