#include <sys/stat.h>
#include <sys/syscall.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attr.h"
#include "fault.h"
#include "fs.h"
#include "inside.h"
#include "mountd.h"
#include "stage.h"

int
fs_openat2(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how	how = {
		.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC),
		.resolve = resolve
	};

	return ((int)syscall(SYS_openat2, dir, path, &how, sizeof(how)));
}

/*
 * By mount(2) the options are one text, which none of ours needs escaping in:
 * a folder is "/proc/self/fd/N" there.
 */
struct fs {
	int		 fd;		/* -1: by mount(2) */
	int		 pidns;		/* where that is done; -1: here */
	const char	*type;
	char		 text[1024];
	char		 lower[512];	/* of an overlay: one by one, by name */
};

/* What the kernel says of a context: its first line, without its level. */
static const char *
fs_log(int fd)
{
	static char	line[256];
	ssize_t		n;

	if ((n = read(fd, line, sizeof(line) - 1)) <= 2)
		return (NULL);
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return (line[1] == ' ' ? line + 2 : line);
}

static int
fs_fault(int fd, const char *what)
{
	int		 err = errno;
	const char	*log;

	log = fd == -1 ? NULL : fs_log(fd);
	errno = err;
	if (log == NULL)
		return (fault_errno("mount.failed", "%s", what));
	return (fault_errno("mount.failed", "%s: %s", what, log));
}

/* In place of a descriptor that is there already, which tells its number. */
static int
fs_open_at(void *arg)
{
	const struct fs	*fs = arg;
	int		 fd;

	if ((fd = fsopen(fs->type, FSOPEN_CLOEXEC)) == -1)
		return (-1);
	return (dup3(fd, fs->fd, O_CLOEXEC) == -1 || close(fd) == -1 ? -1 : 0);
}

static int
fs_context(struct fs *fs)
{
	if (fs->pidns == -1)
		return ((fs->fd = fsopen(fs->type, FSOPEN_CLOEXEC)) == -1 ?
		    -1 : 0);
	if ((fs->fd = fcntl(fs->pidns, F_DUPFD_CLOEXEC, 0)) == -1)
		return (-1);
	return (inside_run(fs->pidns, fs_open_at, fs));
}

struct fs *
fs_open(const char *type, const char *what)
{
	return (fs_open_inside(type, -1, what));
}

struct fs *
fs_open_inside(const char *type, int pidns, const char *what)
{
	struct fs	*fs;

	if ((fs = calloc(1, sizeof(*fs))) == NULL) {
		fault_errno("mount.failed", "%s", what);
		return (NULL);
	}
	fs->fd = -1;
	fs->pidns = pidns;
	fs->type = type;
	if ((mountd.ways & WAY_MOUNT) == 0 && fs_context(fs) == -1) {
		fs_fault(-1, what);
		fs_close(fs);
		return (NULL);
	}
	return (fs);
}

void
fs_close(struct fs *fs)
{
	if (fs->fd != -1)
		close(fs->fd);
	free(fs);
}

/* Appends to one of a context's texts. */
static int
fs_text(char *text, size_t size, const char *sep, const char *a,
    const char *b)
{
	size_t	len = strlen(text);

	if ((size_t)snprintf(text + len, size - len, "%s%s%s",
	    len > 0 ? sep : "", a, b) < size - len)
		return (0);
	errno = ENAMETOOLONG;
	return (fs_fault(-1, "the options of a mount"));
}

int
fs_set(struct fs *fs, const char *key, const char *value)
{
	char	what[64];

	if (fs->fd == -1) {
		if (strcmp(key, "source") == 0)
			return (0);	/* it is no option there */
		snprintf(what, sizeof(what), "%s%s", key, value != NULL ?
		    "=" : "");
		return (fs_text(fs->text, sizeof(fs->text), ",", what,
		    value != NULL ? value : ""));
	}
	if (value == NULL) {
		if (fsconfig(fs->fd, FSCONFIG_SET_FLAG, key, NULL, 0) == 0)
			return (0);
	} else if (fsconfig(fs->fd, FSCONFIG_SET_STRING, key, value, 0) == 0)
		return (0);
	snprintf(what, sizeof(what), "option %s", key);
	return (fs_fault(fs->fd, what));
}

int
fs_set_fd(struct fs *fs, const char *key, int fd)
{
	char	what[64];

	if ((mountd.ways & WAY_NAMES) != 0) {
		/* "lowerdir+" is known to newer kernels only. */
		if (strcmp(key, "lowerdir+") == 0)
			return (fs_text(fs->lower, sizeof(fs->lower), ":",
			    fdpath(fd).s, ""));
		return (fs_set(fs, key, fdpath(fd).s));
	}
	if (fsconfig(fs->fd, FSCONFIG_SET_FD, key, NULL, fd) == 0)
		return (0);
	snprintf(what, sizeof(what), "option %s", key);
	return (fs_fault(fs->fd, what));
}

struct mounting {
	const struct fs	*fs;
	int		 point;
	unsigned long	 flags;
};

static int
fs_mount_at(void *arg)
{
	const struct mounting	*m = arg;

	return (mount("sbx", fdpath(m->point).s, m->fs->type, m->flags,
	    m->fs->text));
}

/* The superblock. By mount(2) it is mounted too: at point, attached. */
static int
fs_create(const struct fs *fs, int point, unsigned int attrs)
{
	struct mounting	m = { fs, point, 0 };

	if (fs->fd != -1)
		return (fsconfig(fs->fd, FSCONFIG_CMD_CREATE, NULL, NULL, 0));
	/* Read-only would be the filesystem itself. */
	if ((attrs & MOUNT_ATTR_NOSUID) != 0)
		m.flags |= MS_NOSUID;
	if ((attrs & MOUNT_ATTR_NODEV) != 0)
		m.flags |= MS_NODEV;
	if ((attrs & MOUNT_ATTR_NOEXEC) != 0)
		m.flags |= MS_NOEXEC;
	return (fs->pidns == -1 ? fs_mount_at(&m) :
	    inside_run(fs->pidns, fs_mount_at, &m));
}

static int
fs_mount_staged(const struct fs *fs, unsigned int attrs, const char *what)
{
	int	point, base, mnt = -1;

	if ((point = stage_point()) == -1)
		return (-1);
	if (fs_create(fs, point, attrs) == -1)
		fs_fault(-1, what);
	else if ((base = stage_root(point)) != -1 &&
	    (mnt = fs_clone(base, what)) != -1 &&
	    fs_attr(mnt, attrs, what) == -1) {
		close(mnt);
		mnt = -1;
	}
	stage_drop(point);
	return (mnt);
}

int
fs_mount(struct fs *fs, unsigned int attrs, const char *what)
{
	int	mnt = -1;

	if (fs->lower[0] != '\0' && fs_set(fs, "lowerdir", fs->lower) == -1)
		goto out;
	if (fs->fd == -1)
		mnt = fs_mount_staged(fs, attrs, what);
	else if (fs_create(fs, -1, attrs) == -1 ||
	    (mnt = fsmount(fs->fd, FSMOUNT_CLOEXEC, attrs)) == -1)
		fs_fault(fs->fd, what);
out:
	fs_close(fs);
	return (mnt);
}

int
fs_try(struct fs *fs)
{
	int	point = -1, r, err;

	if (fs->lower[0] != '\0' && fs_set(fs, "lowerdir", fs->lower) == -1)
		return (-1);
	if (fs->fd == -1 && (point = stage_point()) == -1)
		return (-1);
	r = fs_create(fs, point, 0);
	err = errno;
	if (point != -1)
		stage_drop(point);
	errno = err;
	return (r);
}

int
fs_tmpfs(const char *options, unsigned int attrs, const char *what)
{
	char		 buf[128], *p = buf, *key, *value;
	struct fs	*fs;

	if ((fs = fs_open("tmpfs", what)) == NULL)
		return (-1);
	snprintf(buf, sizeof(buf), "%s", options);
	while ((key = strsep(&p, ",")) != NULL) {
		value = key;
		strsep(&value, "=");
		if (fs_set(fs, key, value) == -1) {
			fs_close(fs);
			return (-1);
		}
	}
	if (fs_set(fs, "source", "sbx") == -1) {
		fs_close(fs);
		return (-1);
	}
	return (fs_mount(fs, attrs, what));
}

int
fs_clone(int fd, const char *what)
{
	int	mnt;

	if ((mnt = open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
	    AT_EMPTY_PATH)) == -1)
		return (fault_errno("mount.failed", "a clone of %s", what));
	return (mnt);
}

int
fs_clone_all(int fd, uint64_t set, const char *what)
{
	struct mount_attr	attr = {
		.attr_set = set, .propagation = MS_PRIVATE
	};
	int			mnt;

	mnt = open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
	    AT_RECURSIVE | AT_EMPTY_PATH);
	if (mnt == -1)
		return (fault_errno("mount.failed", "a clone of %s", what));
	if (mount_setattr(mnt, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
	    sizeof(attr)) == -1) {
		fault_errno("mount.failed", "attributes of %s", what);
		close(mnt);
		return (-1);
	}
	return (mnt);
}

int
fs_attr(int mnt, uint64_t set, const char *what)
{
	/* A clone of the host's would hear of what is mounted there later,
	 * and show it. */
	struct mount_attr	attr = {
		.attr_set = set, .propagation = MS_PRIVATE
	};

	if (mount_setattr(mnt, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == -1)
		return (fault_errno("mount.failed", "attributes of %s", what));
	return (0);
}

int
fs_attach(int mnt, int point, const char *what)
{
	int	r;

	if ((mountd.ways & WAY_STAGED) != 0)
		r = move_mount(mnt, "", AT_FDCWD, fdpath(point).s,
		    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS);
	else
		r = move_mount(mnt, "", point, "", MOVE_MOUNT_F_EMPTY_PATH |
		    MOVE_MOUNT_T_EMPTY_PATH);
	return (r == 0 ? 0 : fault_errno("mount.failed", "attaching %s",
	    what));
}

int
fs_base(int mnt, const char *what)
{
	int	point, base;

	if (mnt == -1 || (mountd.ways & WAY_STAGED) == 0)
		return (mnt);
	if ((point = stage_point()) == -1) {
		close(mnt);
		return (-1);
	}
	base = fs_attach(mnt, point, what) == -1 ? -1 : stage_root(point);
	close(mnt);
	if (base == -1)
		stage_drop(point);
	return (base);
}

int
fs_lift(int base, const char *what)
{
	int	mnt;

	if (base == -1 || (mountd.ways & WAY_STAGED) == 0)
		return (base);
	mnt = open_tree(base, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
	    AT_RECURSIVE | AT_EMPTY_PATH);
	if (mnt == -1)
		fault_errno("mount.failed", "a clone of %s", what);
	stage_drop_root(base);
	return (mnt);
}

void
fs_end(int mnt)
{
	if (mnt != -1 && !stage_drop_root(mnt))
		close(mnt);
}

int
fs_refresh(int mnt, const char *what)
{
	int	fd, r = 0;

	fd = fspick(mnt, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);
	if (fd == -1)
		return (fault_errno("mount.failed", "refreshing %s", what));
	if (fsconfig(fd, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) == -1)
		r = fs_fault(fd, what);
	close(fd);
	return (r);
}

bool
fs_same(int a, int b)
{
	struct stat	sa, sb;

	return (fstat(a, &sa) == 0 && fstat(b, &sb) == 0 &&
	    sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino);
}
