/*
 * Which of the layer's files are copies of real ones: only a capability reads
 * it, so the landing's child is given a list. Made while the layer is still.
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
#include "../common/put.h"
#include "at.h"
#include "attr.h"
#include "fault.h"
#include "layer.h"
#include "mountd.h"

#define ORIGIN_XATTR	"trusted.overlay.origin"

struct copies {
	int		 u, to;
	struct names	 dirs;		/* still to be looked into */
	unsigned char	 buf[65536];
	size_t		 n;
};

static int
copies_flush(struct copies *c)
{
	if (put_all(c->to, c->buf, c->n) == -1)
		return (-1);
	c->n = 0;
	return (0);
}

static int
copies_put(struct copies *c, uint64_t ino, const void *attr, size_t len)
{
	unsigned char	*p;
	int		 i;

	if (c->n + ORIGINS_HEAD + len > sizeof(c->buf) &&
	    copies_flush(c) == -1)
		return (-1);
	p = c->buf + c->n;
	for (i = 0; i < 8; i++)
		p[i] = (unsigned char)(ino >> 8 * i);
	p[8] = (unsigned char)len;
	p[9] = (unsigned char)(len >> 8);
	memcpy(p + ORIGINS_HEAD, attr, len);
	c->n += ORIGINS_HEAD + len;
	return (0);
}

static int
copies_file(struct copies *c, int dir, const struct dirent *de)
{
	unsigned char	attr[ORIGINS_ATTR];
	char		path[NAME_MAX + 40];
	ssize_t		len;

	snprintf(path, sizeof(path), "%s/%s", fdpath(dir).s, de->d_name);
	len = lgetxattr(path, ORIGIN_XATTR, attr, sizeof(attr));
	if (len == -1 && errno == ERANGE)
		len = 0;	/* it is a copy, whatever of */
	if (len == -1)
		return (errno == ENODATA || errno == ENOENT ? 0 : -1);
	return (copies_put(c, de->d_ino, attr, (size_t)len));
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
copies_entry(struct copies *c, int dir, const char *path,
    const struct dirent *de)
{
	char	sub[PATH_MAX];

	if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
		return (0);
	switch (entry_type(dir, de)) {
	case DT_DIR:
		/* Nor does a review list what has so long a path. */
		return (at_join(path, de->d_name, sub) == -1 ? 0 :
		    names_add(&c->dirs, sub));
	case DT_REG:
	case DT_LNK:
		return (copies_file(c, dir, de));
	default:
		return (0);
	}
}

static int
copies_dir(struct copies *c, const char *path)
{
	struct dirent	*de;
	DIR		*d;
	int		 fd, r = 0;

	child_alive();
	if ((fd = at_open(c->u, path, O_RDONLY | O_DIRECTORY)) == -1)
		return (errno == ENOENT ? 0 : -1);
	if ((d = fdopendir(fd)) == NULL) {
		close(fd);
		return (-1);
	}
	while (r == 0 && (errno = 0, de = readdir(d)) != NULL)
		r = copies_entry(c, fd, path, de);
	if (errno != 0)
		r = -1;
	closedir(d);
	return (r);
}

static int
copies_walk(struct copies *c)
{
	char	*path;
	int	 r;

	r = copies_dir(c, "");
	while (r == 0 && c->dirs.n > 0) {
		path = c->dirs.v[--c->dirs.n];
		r = copies_dir(c, path);
		free(path);
	}
	names_free(&c->dirs);
	return (r == 0 ? copies_flush(c) : -1);
}

int
copies_write(int u, int stage)
{
	static struct copies	c;
	int			saved;

	c = (struct copies){ .u = u };
	if (unlinkat(stage, ORIGINS_NAME, 0) == -1 && errno != ENOENT)
		return (fault_errno("mount.layer", "the list of copies in "
		    "the session's stage"));
	c.to = openat(stage, ORIGINS_NAME, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (c.to == -1 || copies_walk(&c) == -1 || fchmod(c.to, 0444) == -1) {
		saved = errno;
		if (c.to != -1)
			close(c.to);
		errno = saved;
		return (fault_errno("mount.layer", "the list of copies in "
		    "the session's stage"));
	}
	close(c.to);
	return (0);
}
