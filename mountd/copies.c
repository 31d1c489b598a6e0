/*
 * Which of the layer's files are copies of real ones, and which real folders
 * its folders lie on: only a capability reads it, so the landing's child is
 * given a list. Made while the layer is still.
 */
#include <sys/stat.h>
#include <sys/xattr.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/origins.h"
#include "../common/path.h"
#include "../common/put.h"
#include "../privsep/mode.h"
#include "attr.h"
#include "clean.h"
#include "fault.h"
#include "layer.h"
#include "mountd.h"
#include "snap.h"
#include "xattr.h"

struct copies {
	int		 u, to;
	int		 snap;		/* the copy that it lies on; -1 */
	struct names	 dirs;		/* still to be looked into, each: */
	struct names	 lower;		/* ... and what it lies on */
	unsigned char	 buf[65536];
	size_t		 n;
};

/* In lower: a folder that lies on none. */
#define LOWER_NONE	"/"

static int
copies_flush(struct copies *c)
{
	if (put_all(c->to, c->buf, c->n) == -1)
		return (-1);
	c->n = 0;
	return (0);
}

static void
put_number(unsigned char *p, uint64_t v, int bytes)
{
	int	i;

	for (i = 0; i < bytes; i++)
		p[i] = (unsigned char)(v >> 8 * i);
}

static int
copies_put(struct copies *c, uint64_t ino, const void *attr, size_t len,
    const char *lower)
{
	size_t		 llen = strnlen(lower, PATH_MAX);
	unsigned char	*p;

	if (c->n + ORIGINS_HEAD + len + llen > sizeof(c->buf) &&
	    copies_flush(c) == -1)
		return (-1);
	p = c->buf + c->n;
	put_number(p, ino, 8);
	put_number(p + 8, len, 2);
	put_number(p + 10, llen, 2);
	memcpy(p + ORIGINS_HEAD, attr, len);
	memcpy(p + ORIGINS_HEAD + len, lower, llen);
	c->n += ORIGINS_HEAD + len + llen;
	return (0);
}

/* lower: of a folder, else "". */
static int
copies_one(struct copies *c, int dir, const struct dirent *de,
    const char *lower)
{
	unsigned char	attr[ORIGINS_ATTR];
	char		path[NAME_MAX + 40];
	ssize_t		len;

	snprintf(path, sizeof(path), "%s/%s", fdpath(dir).s, de->d_name);
	len = lgetxattr(path, xattr_name(XATTR_ORIGIN), attr, sizeof(attr));
	if (len == -1 && errno == ERANGE)
		len = 0;	/* it is a copy, whatever of */
	/* In S a folder that the session made has no mark of that, and what
	 * was copied has an origin, though an empty one. */
	if (len == -1 && errno == ENODATA && *lower != '\0' && !mode_user())
		len = 0;
	if (len == -1)
		return (errno == ENODATA || errno == ENOENT ? 0 : -1);
	/* Its origin is the copy's, and says nothing of the real one. */
	if (c->snap != -1)
		len = *lower == '\0' ? 0 : snap_real(c->snap, lower, attr,
		    sizeof(attr));
	return (copies_put(c, de->d_ino, attr, (size_t)len, lower));
}

/* It is looked into in its turn. */
static int
copies_folder(struct copies *c, int dir, const char *path, const char *lower,
    const struct dirent *de)
{
	char	sub[PATH_MAX], below[PATH_MAX];
	int	fd;

	/* Nor does a review list what has so long a path. */
	if (at_join(path, de->d_name, sub) == -1)
		return (0);
	fd = openat(dir, de->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1)
		return (errno == ENOENT ? 0 : -1);
	if (!fold_points(fd, de->d_name, lower, strcmp(lower, LOWER_NONE) != 0,
	    below))
		strlcpy(below, LOWER_NONE, sizeof(below));
	close(fd);
	if (names_add(&c->dirs, sub) == -1 ||
	    names_add(&c->lower, below) == -1)
		return (-1);
	return (strcmp(below, LOWER_NONE) == 0 ? 0 :
	    copies_one(c, dir, de, below));
}

static unsigned char
entry_type(int dir, const struct dirent *de)
{
	struct stat	st;

	if (de->d_type != DT_UNKNOWN)
		return (de->d_type);
	if (fstatat(dir, de->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (DT_UNKNOWN);
	return ((unsigned char)IFTODT(st.st_mode));
}

static int
copies_entry(struct copies *c, int dir, const char *path, const char *lower,
    const struct dirent *de)
{
	if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
		return (0);
	switch (entry_type(dir, de)) {
	case DT_DIR:
		return (copies_folder(c, dir, path, lower, de));
	case DT_REG:
	case DT_LNK:
		return (copies_one(c, dir, de, ""));
	default:
		return (0);
	}
}

static int
copies_dir(struct copies *c, const char *path, const char *lower)
{
	struct dirent	*de;
	DIR		*d;
	int		 r = 0;

	child_alive();
	if ((d = at_opendir(c->u, path)) == NULL)
		return (errno == ENOENT ? 0 : -1);
	while (r == 0 && (errno = 0, de = readdir(d)) != NULL)
		r = copies_entry(c, dirfd(d), path, lower, de);
	if (errno != 0)
		r = -1;
	closedir(d);
	return (r);
}

static int
copies_walk(struct copies *c)
{
	char	*path, *lower;
	int	 r;

	r = copies_dir(c, "", "");
	while (r == 0 && c->dirs.n > 0) {
		path = c->dirs.v[--c->dirs.n];
		lower = c->lower.v[--c->lower.n];
		r = copies_dir(c, path, lower);
		free(path);
		free(lower);
	}
	names_free(&c->dirs);
	names_free(&c->lower);
	return (r == 0 ? copies_flush(c) : -1);
}

/* That all of it lies on a copy. */
static int
copies_copy(struct copies *c)
{
	return (c->snap == -1 ? 0 : copies_put(c, 0, "c", 1, ""));
}

/* What is mounted in the project has layers of its own. */
static int
copies_below(struct copies *c, int store, const char *project)
{
	char		at[PATH_MAX];
	unsigned int	n;
	int		r;

	for (n = LAYER_ROOT; (r = layer_below(store, project, &n, at)) == 1;
	    n++)
		if (copies_put(c, 0, "", 0, path_below(project, at)) == -1)
			return (-1);
	return (r);
}

static int
copies_git(struct copies *c, int store, const char *git)
{
	int	r;

	if (git == NULL || (r = layer_has_git(store, git)) == 0)
		return (0);
	return (r == -1 ? -1 : copies_put(c, 0, "", 0, git));
}

int
copies_write(int store, const char *project, const char *git, int u,
    int stage)
{
	static struct copies	c;
	int			saved;

	c = (struct copies){ .u = u };
	if (snap_find(store, project, &c.snap) == -1)
		return (-1);
	if (unlinkat(stage, ORIGINS_NAME, 0) == -1 && errno != ENOENT)
		return (fault_errno("mount.layer", "the list of copies in "
		    "the session's stage"));
	c.to = openat(stage, ORIGINS_NAME, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (c.to == -1 || copies_copy(&c) == -1 ||
	    copies_below(&c, store, project) == -1 ||
	    copies_git(&c, store, git) == -1 ||
	    copies_walk(&c) == -1 || fchmod(c.to, 0444) == -1) {
		saved = errno;
		if (c.to != -1)
			close(c.to);
		errno = saved;
		return (fault_errno("mount.layer", "the list of copies in "
		    "the session's stage"));
	}
	if (c.snap != -1)
		close(c.snap);
	close(c.to);
	return (0);
}
