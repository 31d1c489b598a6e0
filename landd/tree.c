#include <sys/syscall.h>
#include <sys/types.h>
#include <linux/openat2.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "blocks.h"
#include "tree.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2	452
#endif

int
tree_open(int root, const char *path, int flags)
{
	struct open_how	how = {
		.flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
		    RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV
	};
	long		fd;
	int		tries = 0;

	if (*path == '\0')
		path = ".";
	/* EAGAIN: something was renamed on the way; the kernel asks us to
	 * look again rather than to miss a ".." race. */
	do
		fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	while (fd == -1 && errno == EAGAIN && ++tries < 64);
	return ((int)fd);
}

int
tree_parent(int root, const char *path, const char **base)
{
	char		 dir[PATH_MAX];
	const char	*slash;
	size_t		 len;

	if ((slash = strrchr(path, '/')) == NULL) {
		*base = path;
		return (tree_open(root, ".", O_PATH | O_DIRECTORY));
	}
	len = (size_t)(slash - path);
	if (len >= sizeof(dir)) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	memcpy(dir, path, len);
	dir[len] = '\0';
	*base = slash + 1;
	return (tree_open(root, dir, O_PATH | O_DIRECTORY));
}

int
place_open(int root, const char *path, struct place *p)
{
	memset(p, 0, sizeof(*p));
	p->parent = tree_parent(root, path, &p->base);
	if (p->parent == -1)
		return (errno == ENOENT || errno == ENOTDIR ||
		    errno == ELOOP ? 0 : -1);
	if (fstatat(p->parent, p->base, &p->st, AT_SYMLINK_NOFOLLOW) == 0)
		p->present = true;
	else if (errno != ENOENT)
		return (-1);
	return (0);
}

void
place_close(struct place *p)
{
	int	saved = errno;

	if (p->parent != -1)
		close(p->parent);
	p->parent = -1;
	errno = saved;
}

ssize_t
tree_readlink(int dir, const char *name, char *buf, size_t size)
{
	ssize_t	n;

	if ((n = readlinkat(dir, name, buf, size)) == -1)
		return (-1);
	if ((size_t)n >= size) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	buf[n] = '\0';
	return (n);
}

static int
hash_link(int dir, const char *name, uint8_t sha[DIGEST_LEN])
{
	struct digest	d;
	char		text[PATH_MAX + 1];
	ssize_t		n;

	if ((n = tree_readlink(dir, name, text, sizeof(text))) == -1)
		return (-1);
	digest_init(&d);
	digest_add(&d, text, (size_t)n);
	digest_end(&d, sha);
	return (0);
}

int
tree_hash(int dir, const char *name, uint8_t sha[DIGEST_LEN])
{
	struct stat	st;
	int		fd, rv, saved;

	/* NONBLOCK: should it be a FIFO by now, opening must not wait. */
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
	    O_NOCTTY);
	if (fd == -1)
		return (errno == ELOOP ? hash_link(dir, name, sha) : -1);
	if ((rv = fstat(fd, &st)) == 0) {
		if (S_ISREG(st.st_mode))
			rv = blocks_digest(fd, sha, NULL);
		else {
			errno = EINVAL;
			rv = -1;
		}
	}
	saved = errno;
	close(fd);
	errno = saved;
	return (rv);
}

int
tree_chmod(int dir, const char *name, ino_t ino, mode_t mode)
{
	char		path[32];
	struct stat	st;
	int		fd, rv = -1, saved;

	fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	if (fstat(fd, &st) == 0) {
		if (st.st_ino != ino || S_ISLNK(st.st_mode))
			errno = ESTALE;
		else
			rv = (int)syscall(SYS_fchmodat2, fd, "", mode,
			    AT_EMPTY_PATH);
	}
	/* Before Linux 6.6; EPERM from a container's filter that does not know
	 * the call. What is not ours to change is EPERM by this way too. */
	if (rv == -1 && (errno == ENOSYS || errno == EPERM)) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		rv = fchmodat(AT_FDCWD, path, mode, 0);
	}
	saved = errno;
	close(fd);
	errno = saved;
	return (rv);
}

int
tree_rename(int from, const char *a, int to, const char *b,
    unsigned int flags)
{
	return ((int)syscall(SYS_renameat2, from, a, to, b, flags));
}

int
tree_empty(int dirfd)
{
	struct dirent	*de;
	DIR		*dir;
	int		 fd, empty = 1;

	if ((fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (-1);
	if ((dir = fdopendir(fd)) == NULL) {
		close(fd);
		return (-1);
	}
	errno = 0;
	while (empty && (de = readdir(dir)) != NULL)
		if (strcmp(de->d_name, ".") != 0 &&
		    strcmp(de->d_name, "..") != 0)
			empty = 0;
	if (empty && errno != 0)
		empty = -1;
	closedir(dir);
	return (empty);
}

bool
tree_fixed(int dir, const char *name)
{
	struct statx	sx;
	int		flags = AT_SYMLINK_NOFOLLOW;

	if (*name == '\0')
		flags |= AT_EMPTY_PATH;
	if (statx(dir, name, flags, STATX_BASIC_STATS, &sx) == -1)
		return (false);
	return ((sx.stx_attributes &
	    (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0);
}

/*
 * Code points that a comparison leaves out on HFS+, or in a folder of ext4's
 * or f2fs's that folds case: Unicode's Default_Ignorable_Code_Point.
 */
static bool
fold_ignored(uint32_t c)
{
	static const uint32_t	ranges[][2] = {
		{ 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c },
		{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
		{ 0x200b, 0x200f }, { 0x202a, 0x202e }, { 0x2060, 0x206f },
		{ 0x3164, 0x3164 }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },
		{ 0xffa0, 0xffa0 }, { 0xfff0, 0xfff8 },
		{ 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
		{ 0xe0000, 0xe0fff },
	};
	size_t			i;

	for (i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return (true);
	return (false);
}

/* How many bytes one such takes at p in UTF-8, 0: there is none. */
static size_t
fold_skip(const unsigned char *p, size_t len)
{
	uint32_t	c;
	size_t		i, n;

	n = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc0 ? 2 : 0;
	if (n == 0 || n > len)
		return (0);
	c = *p & (0x7fU >> n);
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return (0);
		c = c << 6 | (p[i] & 0x3fU);
	}
	return (fold_ignored(c) ? n : 0);
}

bool
tree_gitname(const char *name, size_t len)
{
	char		plain[16];
	size_t		i, n = 0, skip;

	/* What NTFS takes for the same: git~1, a stream, dots at the end. */
	for (i = 0; i < len && name[i] != ':'; i += skip != 0 ? skip : 1) {
		skip = fold_skip((const unsigned char *)name + i, len - i);
		if (skip != 0)
			continue;
		if (n == sizeof(plain) - 1) {
			/* Longer than .git: only dots and blanks may follow. */
			if (name[i] != '.' && name[i] != ' ')
				return (false);
			continue;
		}
		plain[n++] = name[i];
	}
	while (n > 0 && (plain[n - 1] == '.' || plain[n - 1] == ' '))
		n--;
	plain[n] = '\0';
	return (strcasecmp(plain, ".git") == 0 ||
	    strcasecmp(plain, "git~1") == 0);
}
