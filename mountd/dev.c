#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../privsep/mode.h"
#include "fault.h"
#include "fresh.h"
#include "fs.h"
#include "point.h"

#define DEV_ATTRS	(MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)

/* The host's own nodes, each a mount: on a filesystem that a session's user
 * namespace might own, nodes made anew would be of no use. Read-only, which a
 * device is written to through all the same: the inodes are the host's, and
 * root without a capability is their owner. */
static const char *const dev_nodes[] = {
	"null", "zero", "full", "random", "urandom", "tty"
};

static const struct {
	const char	*name, *to;
} dev_links[] = {
	{ "ptmx", "pts/ptmx" }, { "fd", "/proc/self/fd" },
	{ "stdin", "/proc/self/fd/0" }, { "stdout", "/proc/self/fd/1" },
	{ "stderr", "/proc/self/fd/2" },
};

/* Folders with what the session puts there. */
static const char *const dev_dirs[] = { "pts", "shm" };

enum dev_kind
dev_kind(const char *path)
{
	size_t	i, len = strcspn(path, "/");

	if (path[len] == '\0')
		for (i = 0; i < sizeof(dev_nodes) / sizeof(dev_nodes[0]); i++)
			if (strcmp(dev_nodes[i], path) == 0)
				return (DEV_NODE);
	for (i = 0; i < sizeof(dev_dirs) / sizeof(dev_dirs[0]); i++)
		if (strlen(dev_dirs[i]) == len &&
		    strncmp(dev_dirs[i], path, len) == 0)
			return (DEV_OWN);
	/* Where they lead is a matter of who asks. */
	for (i = 0; i < sizeof(dev_links) / sizeof(dev_links[0]); i++)
		if (strlen(dev_links[i].name) == len &&
		    strncmp(dev_links[i].name, path, len) == 0)
			return (DEV_OWN);
	return (len == 0 ? DEV_OWN : DEV_NONE);
}

/* Attaches mnt at a name in the new /dev, which is there. */
static int
dev_put(int dev, const char *name, int mnt)
{
	int	point, r;

	point = openat(dev, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (point == -1)
		return (fault_errno("mount.failed", "/dev/%s", name));
	r = fs_attach(mnt, point, name);
	close(point);
	return (r);
}

static int
dev_node(int dev, const char *name)
{
	struct stat	st;
	char		path[32];
	int		mnt, r = -1;

	snprintf(path, sizeof(path), "/dev/%s", name);
	mnt = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (mnt == -1)
		return (fault_errno("mount.failed", "%s", path));
	if (fstat(mnt, &st) == -1 || !S_ISCHR(st.st_mode))
		fault("mount.failed", "%s of this machine is no device", path);
	else if (mknodat(dev, name, S_IFREG | 0444, 0) == -1)
		fault_errno("mount.failed", "%s", path);
	else if (fs_attr(mnt, DEV_ATTRS | MOUNT_ATTR_RDONLY, path) == 0)
		r = dev_put(dev, name, mnt);
	close(mnt);
	return (r);
}

/* An instance of the session's own; init opens its terminal from it. */
static int
dev_pts(int dev)
{
	struct fs	*fs;
	int		 mnt, r = -1;

	if ((fs = fs_open("devpts", "/dev/pts")) == NULL)
		return (-1);
	if (fs_set(fs, "newinstance", NULL) == -1 ||
	    fs_set(fs, "ptmxmode", "0666") == -1 ||
	    fs_set(fs, "mode", "0620") == -1 ||
	    (!mode_user() && fs_set(fs, "gid", "5") == -1) ||
	    fs_set(fs, "max", "1024") == -1 ||
	    fs_set(fs, "source", "sbx") == -1) {
		fs_close(fs);
		return (-1);
	}
	if ((mnt = fs_mount(fs, DEV_ATTRS, "/dev/pts")) == -1)
		return (-1);
	if (fchownat(mnt, "ptmx", 0, 0, AT_SYMLINK_NOFOLLOW) == -1 ||
	    mkdirat(dev, "pts", 0755) == -1)
		fault_errno("mount.failed", "/dev/pts");
	else
		r = dev_put(dev, "pts", mnt);
	close(mnt);
	return (r);
}

static int
dev_shm(int dev)
{
	int	mnt, r;

	mnt = fs_tmpfs("mode=1777,size=12%,nr_inodes=256k,uid=0,gid=0",
	    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, "/dev/shm");
	if (mnt == -1)
		return (-1);
	if (mkdirat(dev, "shm", 0755) == -1)
		r = fault_errno("mount.failed", "/dev/shm");
	else
		r = dev_put(dev, "shm", mnt);
	close(mnt);
	return (r);
}

static int
dev_fill(int dev)
{
	size_t	i;

	for (i = 0; i < sizeof(dev_nodes) / sizeof(dev_nodes[0]); i++)
		if (dev_node(dev, dev_nodes[i]) == -1)
			return (-1);
	for (i = 0; i < sizeof(dev_links) / sizeof(dev_links[0]); i++)
		if (symlinkat(dev_links[i].to, dev, dev_links[i].name) == -1)
			return (fault_errno("mount.failed", "/dev/%s",
			    dev_links[i].name));
	if (dev_pts(dev) == -1 || dev_shm(dev) == -1)
		return (-1);
	return (fs_attr(dev, MOUNT_ATTR_RDONLY, "/dev"));
}

int
dev_make(void)
{
	int	dev;

	/* Not NODEV: the nodes are mounts of their own, but /dev/ptmx is
	 * opened through this one. */
	dev = fs_tmpfs("mode=0755,size=64k,nr_inodes=64,uid=0,gid=0",
	    DEV_ATTRS, "/dev");
	if ((dev = fs_base(dev, "/dev")) == -1)
		return (-1);
	if (dev_fill(dev) == 0)
		return (fs_lift(dev, "/dev"));
	close(dev);
	return (-1);
}
