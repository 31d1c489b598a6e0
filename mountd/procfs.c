#include <sys/ioctl.h>
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <linux/nsfs.h>
#include <sched.h>

#include "../privsep/mode.h"
#include "fault.h"
#include "fresh.h"
#include "fs.h"
#include "mountd.h"
#include "point.h"
#include "stage.h"

#define PROC_ATTRS	(MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | \
			    MOUNT_ATTR_NOEXEC)

/*
 * uid 0 without a capability still writes what its mode lets root write, and
 * much of /proc asks for nothing else. Read-only: what programs look at.
 */
static const char *const proc_readonly[] = {
	"sys", "irq", "bus", "fs", "driver", "tty", "dynamic_debug", "pressure"
};

/* Nothing of these is for a session: they say where the kernel lies, what
 * others do, or act on the machine when written to. */
static const char *const proc_covered[] = {
	"/sysrq-trigger", "/kcore", "/keys", "/key-users", "/kpagecount",
	"/kpageflags", "/kpagecgroup", "/slabinfo", "/vmallocinfo",
	"/timer_list", "/timer_stats", "/latency_stats", "/sched_debug",
	"/pagetypeinfo", "/iomem", "/ioports", "/acpi", "/asound", "/scsi",
	"/kallsyms", "/kmsg", "/mtrr", "/lock_stat", "/lockdep"
};

#define PROC_READONLY	(sizeof(proc_readonly) / sizeof(proc_readonly[0]))
#define PROC_COVERED	(sizeof(proc_covered) / sizeof(proc_covered[0]))

/* A read-only mount of the folder on itself. */
static int
proc_seal(int proc, const char *name)
{
	int	fd, mnt, r = -1;

	fd = openat(proc, name,
	    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (errno == ENOENT ? 0 :
		    fault_errno("mount.proc", "/proc/%s", name));
	if ((mnt = fs_clone(fd, name)) != -1) {
		if (fs_attr(mnt, MOUNT_ATTR_RDONLY | PROC_ATTRS, name) == 0)
			r = fs_attach(mnt, fd, name);
		close(mnt);
	}
	close(fd);
	return (r);
}

/*
 * The pid namespace of a session is a child of the one we live in, and
 * belongs to a user namespace that spawn made: the host's own is neither,
 * nor is one that somebody else has made.
 */
int
pidns_check(int pidns)
{
	struct stat	own, above;
	uid_t		owner = (uid_t)-1;
	int		fd, r;

	if (ioctl(pidns, NS_GET_NSTYPE) != CLONE_NEWPID)
		return (fault("mount.pidns", "the descriptor that came as the "
		    "session's pid namespace is none"));
	if (fstatat(AT_FDCWD, "/proc/self/ns/pid", &own, 0) == -1 ||
	    (fd = ioctl(pidns, NS_GET_PARENT)) == -1)
		return (fault("mount.pidns", "the pid namespace is not a "
		    "session's: its parent is not this machine's"));
	r = fstat(fd, &above);
	close(fd);
	if (r == -1 || own.st_dev != above.st_dev ||
	    own.st_ino != above.st_ino)
		return (fault("mount.pidns", "the pid namespace is not a "
		    "session's: its parent is not this machine's"));
	if ((fd = ioctl(pidns, NS_GET_USERNS)) == -1)
		return (fault_errno("mount.pidns", "the user namespace of the "
		    "pid namespace"));
	r = ioctl(fd, NS_GET_OWNER_UID, &owner);
	close(fd);
	if (r == -1 || owner != mountd.uids[UID_SPAWN])
		return (fault("mount.pidns", "the pid namespace is not a "
		    "session's: uid %u made its user namespace",
		    (unsigned int)owner));
	return (0);
}

int
proc_new(int pidns)
{
	bool		 inside = (mountd.ways & WAY_INSIDE) != 0;
	struct fs	*fs;

	if ((fs = fs_open_inside("proc", inside ? pidns : -1,
	    "the session's /proc")) == NULL)
		return (-1);
	if ((!inside && fs_set_fd(fs, "pidns", pidns) == -1) ||
	    fs_set(fs, "source", "sbx") == -1) {
		fs_close(fs);
		return (-1);
	}
	return (fs_mount(fs, PROC_ATTRS, "the session's /proc"));
}

/* Our own is refused in S, but not as something unknown. That nothing can be
 * made at all is said where it is needed. */
bool
proc_is_named(void)
{
	struct fs	*fs;
	int		 fd, r;

	fd = openat(AT_FDCWD, "/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	if (fd == -1 || (fs = fs_open("proc", "proc")) == NULL) {
		if (fd != -1)
			close(fd);
		fault_clear();
		return (true);
	}
	if ((r = fs_set_fd(fs, "pidns", fd)) == -1)
		r = fault_err();
	else if ((mountd.ways & WAY_MOUNT) != 0 && fs_try(fs) == -1)
		r = errno;
	fault_clear();
	fs_close(fs);
	close(fd);
	return (r != EINVAL);
}

/* The name of the nth of both lists; NULL: there are no more. */
static const char *
proc_name(size_t n)
{
	if (n < PROC_READONLY)
		return (proc_readonly[n]);
	n -= PROC_READONLY;
	return (n < PROC_COVERED ? proc_covered[n] + 1 : NULL);
}

/*
 * All of them that are there are sealed or covered: a module may have brought
 * one since, or have taken one away, what lay on it too, and brought it again.
 */
static bool
proc_is_whole(int proc)
{
	const char	*name;
	struct statx	 sx;
	size_t		 i;

	for (i = 0; (name = proc_name(i)) != NULL; i++)
		if (statx(proc, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		    0, &sx) == 0 ? (sx.stx_attributes &
		    STATX_ATTR_MOUNT_ROOT) == 0 : errno != ENOENT)
			return (false);
	return (true);
}

/* With all that is sealed and covered in it. */
static int
proc_make(int face, int pidns)
{
	size_t	i;
	int	proc, r;

	proc = fs_base(proc_new(pidns), "/proc");
	if (proc == -1)
		return (-1);
	for (i = 0, r = 0; r == 0 && i < PROC_READONLY; i++)
		r = proc_seal(proc, proc_readonly[i]);
	for (i = 0; r == 0 && i < PROC_COVERED; i++)
		r = face_cover(face, proc, proc_covered[i]);
	if (r == 0)
		return (fs_lift(proc, "/proc"));
	fs_end(proc);
	return (-1);
}

static void
proc_drop(struct fresh *f)
{
	if (f->proc != -1)
		fs_end(f->proc);
	if (f->pidns != -1)
		close(f->pidns);
	f->proc = f->pidns = -1;
}

void
proc_early(struct fresh *f, int pidns)
{
	proc_drop(f);
	f->pidns = pidns;
	if (pidns_check(pidns) == -1 ||
	    (f->proc = proc_make(f->face, pidns)) == -1)
		proc_drop(f);
	fault_clear();
}

/*
 * A file of /proc that is no process's is one for all of its mounts: whoever
 * owns it changes its mode for the machine, and some take what root writes,
 * below /proc/PID/net too. Without a capability that is root's own session's.
 */
static int
proc_close(int proc, uid_t uid)
{
	/* In S an ordinary user is 0. */
	if (mode_user())
		uid = mode_owner();
	return (uid != 0 ? 0 : fs_attr(proc, MOUNT_ATTR_RDONLY | PROC_ATTRS,
	    "/proc"));
}

int
proc_attach(struct fresh *f, int tree, int pidns, uid_t uid)
{
	int	point, r = -1;

	if (f->proc != -1 && (!fs_same(f->pidns, pidns) ||
	    !proc_is_whole(f->proc)))
		proc_drop(f);
	if (f->proc == -1 && (f->proc = proc_make(f->face, pidns)) == -1)
		return (-1);
	if (proc_close(f->proc, uid) == 0 &&
	    (point = point_open(tree, "/proc", true, true)) != -1) {
		r = fs_attach(f->proc, point, "/proc");
		close(point);
	}
	close(f->proc);
	f->proc = -1;
	return (r);
}
