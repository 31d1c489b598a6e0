#include <sys/stat.h>
#include <sys/vfs.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/magic.h>

#include "../common/path.h"
#include "../privsep/mode.h"
#include "fault.h"
#include "fresh.h"
#include "fs.h"
#include "mountd.h"
#include "point.h"

/* Half of the memory at most, with /dev/shm, by one session: a full /tmp must
 * not take the machine with it. Of several each can fill as much. */
#define TMP_OPTIONS	"mode=1777,size=25%,nr_inodes=1m,uid=0,gid=0"
#define RUN_OPTIONS	"mode=0755,size=10%,nr_inodes=64k,uid=0,gid=0"

const char *
fresh_over(const char *path)
{
	static const char *const fresh[] = {
		"/dev", "/proc", "/run", "/sys", "/tmp"
	};
	size_t	i;

	for (i = 0; i < sizeof(fresh) / sizeof(fresh[0]); i++)
		if (path_within(fresh[i], path))
			return (fresh[i]);
	return (NULL);
}

static int
fresh_put(int tree, const char *path, int mnt)
{
	int	point, r;

	if ((point = point_open(tree, path, true, true)) == -1)
		return (-1);
	r = fs_attach(mnt, point, path);
	close(point);
	return (r);
}

static int
tmp_make(void)
{
	return (fs_tmpfs(TMP_OPTIONS, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
	    "/tmp"));
}

static int
run_folder(int run, const char *name, mode_t mode, uid_t uid, gid_t gid)
{
	if (mkdirat(run, name, mode) == -1 ||
	    fchownat(run, name, uid, gid, AT_SYMLINK_NOFOLLOW) == -1)
		return (fault_errno("mount.failed", "/run/%s", name));
	return (0);
}

static int
run_make(void)
{
	int	mnt;

	mnt = fs_tmpfs(RUN_OPTIONS, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
	    "/run");
	if (mnt == -1 || (run_folder(mnt, "lock", 01777, 0, 0) == 0 &&
	    run_folder(mnt, "user", 0755, 0, 0) == 0))
		return (mnt);
	close(mnt);
	return (-1);
}

/* In root's suite the first only: nothing is mounted in that one's. */
static const char *const	sys_overs[] = {
	"/sys/firmware", "/sys/fs/bpf", "/sys/fs/cgroup",
	"/sys/fs/fuse/connections", "/sys/fs/pstore", "/sys/fs/selinux",
	"/sys/fs/smackfs", "/sys/kernel/config", "/sys/kernel/debug",
	"/sys/kernel/security", "/sys/kernel/tracing"
};

const char *
sys_over(const char *path)
{
	size_t	i, n = sizeof(sys_overs) / sizeof(sys_overs[0]);

	for (i = 0; i < (mode_user() ? n : 1); i++)
		if (path_within(sys_overs[i], path))
			return (sys_overs[i]);
	return (NULL);
}

/* In S it cannot be had without what is mounted in it: that is covered. */
static int
sys_covered(int face)
{
	size_t	i;
	int	fd, mnt;

	fd = openat(mountd.root, "sys", O_PATH | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1)
		return (face_clone(face, true, "/sys"));
	mnt = fs_base(fs_clone_all(fd, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
	    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, "/sys"), "/sys");
	close(fd);
	for (i = 0; mnt != -1 && i < sizeof(sys_overs) /
	    sizeof(sys_overs[0]); i++)
		if (face_cover(face, mnt, sys_overs[i] + strlen("/sys")) ==
		    -1) {
			close(mnt);
			return (-1);
		}
	return (fs_lift(mnt, "/sys"));
}

/*
 * The host's own sysfs without what is mounted in it, which are debugfs,
 * tracefs, securityfs and the cgroups. A machine without one: nothing.
 */
static int
sys_make(int face)
{
	struct statfs	sf;
	int		mnt;

	if (mode_user())
		return (sys_covered(face));
	mnt = open_tree(AT_FDCWD, "/sys", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (mnt == -1)
		return (fault_errno("mount.failed", "/sys"));
	if (fstatfs(mnt, &sf) == -1 || sf.f_type != SYSFS_MAGIC) {
		close(mnt);
		return (face_clone(face, true, "/sys"));
	}
	if (fs_attr(mnt, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
	    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, "/sys") == 0 &&
	    (mnt = fs_base(mnt, "/sys")) != -1 &&
	    face_cover(face, mnt, "/firmware") == 0)
		return (fs_lift(mnt, "/sys"));
	close(mnt);
	return (-1);
}

int
fresh_make(struct fresh *f)
{
	f->dev = f->sys = f->tmp = f->run = f->proc = f->pidns = -1;
	if ((f->face = face_make()) != -1 &&
	    (f->dev = dev_make()) != -1 &&
	    (f->sys = sys_make(f->face)) != -1 &&
	    (f->tmp = tmp_make()) != -1 &&
	    (f->run = run_make()) != -1)
		return (0);
	close(f->face);
	close(f->dev);
	close(f->sys);
	close(f->tmp);
	return (-1);
}

int
fresh_attach(struct fresh *f, int tree, uid_t uid, gid_t gid)
{
	char	own[32];
	int	r = -1;

	/* By the number that the session's user has in it. */
	snprintf(own, sizeof(own), "user/%u", (unsigned int)(mode_user() ?
	    mode_owner() : uid));
	if (fresh_put(tree, "/dev", f->dev) == 0 &&
	    fresh_put(tree, "/sys", f->sys) == 0 &&
	    fresh_put(tree, "/tmp", f->tmp) == 0 &&
	    run_folder(f->run, own, 0700, uid, gid) == 0)
		r = fresh_put(tree, "/run", f->run);
	close(f->dev);
	close(f->sys);
	close(f->tmp);
	close(f->run);
	return (r);
}
