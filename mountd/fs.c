#include <sys/stat.h>
#include <sys/syscall.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "fs.h"

int
fs_openat2(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how	how = {
		.flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC),
		.resolve = resolve
	};

	return ((int)syscall(SYS_openat2, dir, path, &how, sizeof(how)));
}

/* What the kernel says of a context: its first line, without its level. */
static const char *
fs_log(int fs)
{
	static char	line[256];
	ssize_t		n;

	if ((n = read(fs, line, sizeof(line) - 1)) <= 2)
		return (NULL);
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return (line[1] == ' ' ? line + 2 : line);
}

static int
fs_fault(int fs, const char *what)
{
	int		 err = errno;
	const char	*log;

	log = fs == -1 ? NULL : fs_log(fs);
	errno = err;
	if (log == NULL)
		return (fault_errno("mount.failed", "%s", what));
	return (fault_errno("mount.failed", "%s: %s", what, log));
}

int
fs_open(const char *type, const char *what)
{
	int	fs;

	if ((fs = fsopen(type, FSOPEN_CLOEXEC)) == -1)
		return (fs_fault(-1, what));
	return (fs);
}

int
fs_set(int fs, const char *key, const char *value)
{
	char	what[64];

	if (value == NULL) {
		if (fsconfig(fs, FSCONFIG_SET_FLAG, key, NULL, 0) == 0)
			return (0);
	} else if (fsconfig(fs, FSCONFIG_SET_STRING, key, value, 0) == 0)
		return (0);
	snprintf(what, sizeof(what), "option %s", key);
	return (fs_fault(fs, what));
}

int
fs_set_fd(int fs, const char *key, int fd)
{
	char	what[64];

	if (fsconfig(fs, FSCONFIG_SET_FD, key, NULL, fd) == 0)
		return (0);
	snprintf(what, sizeof(what), "option %s", key);
	return (fs_fault(fs, what));
}

int
fs_mount(int fs, unsigned int attrs, const char *what)
{
	int	mnt = -1;

	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == -1 ||
	    (mnt = fsmount(fs, FSMOUNT_CLOEXEC, attrs)) == -1)
		fs_fault(fs, what);
	close(fs);
	return (mnt);
}

int
fs_tmpfs(const char *options, unsigned int attrs, const char *what)
{
	char	 buf[128], *p = buf, *key, *value;
	int	 fs;

	if ((fs = fs_open("tmpfs", what)) == -1)
		return (-1);
	snprintf(buf, sizeof(buf), "%s", options);
	while ((key = strsep(&p, ",")) != NULL) {
		value = key;
		strsep(&value, "=");
		if (fs_set(fs, key, value) == -1) {
			close(fs);
			return (-1);
		}
	}
	if (fs_set(fs, "source", "sbx") == -1) {
		close(fs);
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
	if (move_mount(mnt, "", point, "", MOVE_MOUNT_F_EMPTY_PATH |
	    MOVE_MOUNT_T_EMPTY_PATH) == -1)
		return (fault_errno("mount.failed", "attaching %s", what));
	return (0);
}

int
fs_refresh(int mnt, const char *what)
{
	int	fs, r = 0;

	fs = fspick(mnt, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);
	if (fs == -1)
		return (fault_errno("mount.failed", "refreshing %s", what));
	if (fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0) == -1)
		r = fs_fault(fs, what);
	close(fs);
	return (r);
}

bool
fs_same(int a, int b)
{
	struct stat	sa, sb;

	return (fstat(a, &sa) == 0 && fstat(b, &sb) == 0 &&
	    sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino);
}
