#include <sys/stat.h>
#include <sys/xattr.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "attr.h"
#include "fault.h"
#include "fs.h"
#include "mountd.h"
#include "point.h"
#include "xattr.h"

/*
 * Makes one component. Its owner and mode are the host's, where the host has
 * it; the mark says that the suite made it, not the session.
 */
static int
point_new(int at, const char *name, bool dir, int real)
{
	int	fd;

	if ((dir ? mkdirat(at, name, 0755) :
	    mknodat(at, name, S_IFREG | 0444, 0)) == -1)
		return (-1);
	fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	setxattr(fdpath(fd).s, xattr_name(XATTR_MADE), "y", 1, 0);
	if (real == -1 ? fchownat(fd, "", 0, 0, AT_EMPTY_PATH) :
	    attr_copy(real, fd, shown(name))) {
		close(fd);
		return (-1);
	}
	return (fd);
}

/* The next component of both: in the tree, and the host's (-1: not there). */
static int
point_step(int *at, int *real, const char *name, bool dir)
{
	int	next, host = -1;

	next = fs_openat2(*at, name, O_PATH | O_NOFOLLOW |
	    (dir ? O_DIRECTORY : 0), FS_BENEATH);
	if (next == -1 && errno != ENOENT)
		return (-1);
	if (*real != -1)
		host = fs_openat2(*real, name, O_PATH | O_NOFOLLOW |
		    (dir ? O_DIRECTORY : 0), FS_BENEATH);
	if (next == -1)
		next = point_new(*at, name, dir, host);
	if (next == -1) {
		if (host != -1)
			close(host);
		return (-1);
	}
	close(*at);
	if (*real != -1)
		close(*real);
	*at = next;
	*real = host;
	return (0);
}

static int
point_make(int tree, const char *rel, bool dir)
{
	char	name[NAME_MAX + 1];
	size_t	len;
	int	at, real, r = 0;

	if ((at = fcntl(tree, F_DUPFD_CLOEXEC, 0)) == -1)
		return (-1);
	real = fcntl(mountd.root, F_DUPFD_CLOEXEC, 0);
	while (r == 0 && *rel != '\0') {
		if ((len = strcspn(rel, "/")) > NAME_MAX) {
			errno = ENAMETOOLONG;
			r = -1;
			break;
		}
		memcpy(name, rel, len);
		name[len] = '\0';
		rel += len + (rel[len] == '/');
		r = point_step(&at, &real, name, dir || *rel != '\0');
	}
	if (real != -1)
		close(real);
	if (r == -1) {
		close(at);
		return (-1);
	}
	return (at);
}

int
point_open(int tree, const char *path, bool dir, bool make)
{
	const char	*rel = path[1] == '\0' ? "." : path + 1;
	int		 fd;

	fd = fs_openat2(tree, rel, O_PATH | O_NOFOLLOW |
	    (dir ? O_DIRECTORY : 0), FS_BENEATH);
	if (fd == -1 && errno == ENOENT && make)
		fd = point_make(tree, path + 1, dir);
	if (fd != -1 || !make)
		return (fd);
	if (errno == ELOOP || errno == ENOTDIR)
		return (fault("mount.target", "%s: a part of it is a link or "
		    "a file in the session's own layer: remove that session "
		    "or start a new one", shown(path)));
	return (fault_errno("mount.target", "the mount point %s",
	    shown(path)));
}

int
face_make(void)
{
	int	fd, mnt;

	if ((mnt = fs_tmpfs("mode=0755,size=16k,nr_inodes=8,uid=0,gid=0",
	    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
	    "the empty folder and file")) == -1)
		return (-1);
	if (mkdirat(mnt, "d", 0555) == -1 ||
	    fchownat(mnt, "d", 0, 0, AT_SYMLINK_NOFOLLOW) == -1 ||
	    (fd = openat(mnt, "f", O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0444)) == -1)
		goto fail;
	close(fd);
	if (fchownat(mnt, "f", 0, 0, AT_SYMLINK_NOFOLLOW) == -1)
		goto fail;
	/* Before it is cloned: the clones inherit it. */
	if (fs_attr(mnt, MOUNT_ATTR_RDONLY, "the empty folder and file") == 0)
		return (fs_base(mnt, "the empty folder and file"));
fail:
	fault_errno("mount.failed", "the empty folder and file");
	close(mnt);
	return (-1);
}

int
face_clone(int face, bool dir, const char *what)
{
	int	mnt;

	mnt = open_tree(face, dir ? "d" : "f",
	    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (mnt == -1)
		fault_errno("mount.failed", "covering %s", what);
	return (mnt);
}

int
face_attach(int face, int point, bool dir, const char *what)
{
	int	mnt, r;

	if ((mnt = face_clone(face, dir, what)) == -1)
		return (-1);
	r = fs_attach(mnt, point, what);
	close(mnt);
	return (r);
}

int
face_cover(int face, int tree, const char *path)
{
	struct stat	st;
	int		point, r;

	if ((point = point_open(tree, path, false, false)) == -1) {
		/* Nothing is there, or the session has put a link or a file
		 * into the way: then nothing can be reached by that name. */
		if (errno == ENOENT || errno == ELOOP || errno == ENOTDIR)
			return (0);
		return (fault_errno("mount.failed", "covering %s",
		    shown(path)));
	}
	if (fstat(point, &st) == -1)
		r = fault_errno("mount.failed", "covering %s", shown(path));
	else
		r = face_attach(face, point, S_ISDIR(st.st_mode),
		    shown(path));
	close(point);
	return (r);
}
