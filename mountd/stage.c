#include <sys/mount.h>
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "../common/path.h"
#include "at.h"
#include "attr.h"
#include "fault.h"
#include "fresh.h"
#include "fs.h"
#include "mountd.h"
#include "stage.h"

#define STAGE_MAX	16	/* at a time in one process */

/* What this process has there: its folders are "PID.NUMBER". */
static struct {
	int		point, root;
	unsigned int	number;		/* 0: free */
} staged[STAGE_MAX];

static void
stage_name(char *name, size_t size, pid_t pid, unsigned int number)
{
	snprintf(name, size, "%ld.%u", (long)pid, number);
}

/* The stage's own folder of that name, and all that lies on it. */
static void
stage_remove(const char *name)
{
	int	fd, r = 0;

	while (r == 0) {
		fd = openat(mountd.stage, name, O_PATH | O_DIRECTORY |
		    O_NOFOLLOW | O_CLOEXEC);
		if (fd == -1)
			return;
		/* EINVAL: it is no mount, but the folder. */
		r = umount2(fdpath(fd).s, MNT_DETACH);
		close(fd);
	}
	if (unlinkat(mountd.stage, name, AT_REMOVEDIR) == -1)
		log_warn("%s/s/" STAGE_NAME "/%s", mountd.state, name);
}

int
stage_point(void)
{
	static unsigned int	n;
	char			name[32];
	size_t			i;

	for (i = 0; i < STAGE_MAX && staged[i].number != 0; i++)
		;
	if (i == STAGE_MAX)
		return (fault("mount.failed", "too much is being mounted at "
		    "once"));
	stage_name(name, sizeof(name), getpid(), ++n);
	if (mkdirat(mountd.stage, name, 0700) == -1 ||
	    (staged[i].point = openat(mountd.stage, name, O_PATH |
	    O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) == -1)
		return (fault_errno("mount.failed", "a folder to mount on"));
	staged[i].number = n;
	staged[i].root = -1;
	return (staged[i].point);
}

int
stage_root(int point)
{
	char	name[32];
	size_t	i;

	for (i = 0; i < STAGE_MAX; i++) {
		if (staged[i].number == 0 || staged[i].point != point)
			continue;
		stage_name(name, sizeof(name), getpid(), staged[i].number);
		staged[i].root = openat(mountd.stage, name, O_PATH |
		    O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (staged[i].root != -1)
			return (staged[i].root);
		break;
	}
	return (fault_errno("mount.failed", "what was mounted"));
}

static void
stage_free(size_t i)
{
	char	name[32];

	close(staged[i].point);
	if (staged[i].root != -1)
		close(staged[i].root);
	stage_name(name, sizeof(name), getpid(), staged[i].number);
	stage_remove(name);
	staged[i].number = 0;
}

void
stage_drop(int point)
{
	size_t	i;

	for (i = 0; i < STAGE_MAX; i++)
		if (staged[i].number != 0 && staged[i].point == point)
			stage_free(i);
}

bool
stage_drop_root(int root)
{
	size_t	i;

	for (i = 0; i < STAGE_MAX; i++)
		if (staged[i].number != 0 && staged[i].root == root) {
			stage_free(i);
			return (true);
		}
	return (false);
}

/* All whose names begin so. */
static void
stage_clear_all(const char *prefix)
{
	struct names	ns;
	size_t		i;

	if (mountd.stage == -1 ||
	    names_read(mountd.stage, "", &ns) == -1)
		return;
	for (i = 0; i < ns.n; i++)
		if (strncmp(ns.v[i], prefix, strlen(prefix)) == 0)
			stage_remove(ns.v[i]);
	names_free(&ns);
}

void
stage_clear(pid_t pid)
{
	char	prefix[32];

	snprintf(prefix, sizeof(prefix), "%ld.", (long)pid);
	stage_clear_all(prefix);
}

/* Where that fails, a review will say so. */
void
stage_hold(const char *sid, const char *kind, uint64_t n, int mnt)
{
	char	name[64];
	int	point;

	if ((mountd.ways & WAY_STAGED) == 0)
		return;
	snprintf(name, sizeof(name), "%s.%s.%llu", sid, kind,
	    (unsigned long long)n);
	if (mkdirat(mountd.stage, name, 0700) == -1 ||
	    (point = openat(mountd.stage, name, O_PATH | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC)) == -1) {
		log_warn("%s/s/" STAGE_NAME "/%s", mountd.state, name);
		return;
	}
	if (fs_attach(mnt, point, kind) == -1) {
		log_warnx("%s: %s", sid, fault_text());
		fault_clear();
	}
	close(point);
}

void
stage_let_go(const char *sid)
{
	char	prefix[32];

	snprintf(prefix, sizeof(prefix), "%s.", sid);
	if ((mountd.ways & WAY_STAGED) != 0)
		stage_clear_all(prefix);
}

bool
stage_is(const char *path)
{
	char	stage[PATH_MAX + 16];

	if (mountd.stage == -1)
		return (false);
	snprintf(stage, sizeof(stage), "%s/s/" STAGE_NAME, mountd.state);
	return (path_within(stage, path));
}

/* The folder stays: who removes it may do so below another one's mount, that
 * of the suite which comes next. Unbindable: where all of "/" is cloned for a
 * session, this is left out. */
static int
stage_make(void)
{
	int	fd, r;

	if (mkdirat(mountd.store, STAGE_NAME, 0700) == -1 && errno != EEXIST)
		return (-1);
	fd = openat(mountd.store, STAGE_NAME, O_PATH | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	r = mount("sbx", fdpath(fd).s, "tmpfs", MS_NOSUID | MS_NODEV |
	    MS_NOEXEC, "mode=0700,size=1m");
	close(fd);
	if (r == -1)
		return (-1);
	mountd.stage = openat(mountd.store, STAGE_NAME, O_RDONLY |
	    O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (mountd.stage == -1)
		return (-1);
	return (mount(NULL, fdpath(mountd.stage).s, NULL, MS_UNBINDABLE,
	    NULL));
}

/* Of the interface that answers, is this part of it there? */
static unsigned int
stage_ways(void)
{
	unsigned int	ways = 0;
	int		fs;

	if ((fs = fsopen("tmpfs", FSOPEN_CLOEXEC)) == -1)
		return (WAY_MOUNT | WAY_NAMES);
	close(fs);
	/* Without overlayfs there is more to be said than this. */
	if ((fs = fsopen("overlay", FSOPEN_CLOEXEC)) == -1)
		return (0);
	if (fsconfig(fs, FSCONFIG_SET_FD, "lowerdir+", NULL, mountd.root) ==
	    -1)
		ways = WAY_NAMES;
	close(fs);
	return (ways);
}

/* A clone of a detached mount on a folder of another one. */
static bool
stage_attaches(void)
{
	int	a, b, clone = -1, point = -1, r = -1;

	a = fs_tmpfs("mode=0755", 0, "a tmpfs");
	b = fs_tmpfs("mode=0755", 0, "a tmpfs");
	if (a != -1 && b != -1 && mkdirat(a, "p", 0755) == 0 &&
	    (point = at_open(a, "p", O_PATH)) != -1 &&
	    (clone = fs_clone(b, "a detached mount")) != -1)
		r = fs_attach(clone, point, "a mount");
	if (clone != -1)
		close(clone);
	if (point != -1)
		close(point);
	if (a != -1)
		close(a);
	if (b != -1)
		close(b);
	/* That none can be made at all is said where they are needed. */
	return (r == 0 || a == -1 || b == -1);
}

static void
stage_unfit(const char *lacks)
{
	if (asprintf(&mountd.unfit, "sessions cannot be mounted here: %s, and "
	    "the other way, mount(2), does not work either (%s): have the "
	    "suite's system calls allowed, if it runs in a container, or take "
	    "a newer kernel", lacks, strerror(errno)) == -1)
		fatal("a line's text");
}

bool
stage_needed(void)
{
	mountd.stage = -1;
	mountd.ways = stage_ways();
	if ((mountd.ways & WAY_MOUNT) == 0 && !stage_attaches())
		mountd.ways |= WAY_STAGED;
	fault_clear();
	return ((mountd.ways & (WAY_MOUNT | WAY_STAGED)) != 0);
}

void
stage_begin(void)
{
	if ((mountd.ways & WAY_MOUNT) != 0 && stage_make() == -1) {
		stage_unfit("fsopen(2) is refused");
		return;
	}
	if ((mountd.ways & WAY_MOUNT) != 0 && !stage_attaches())
		mountd.ways |= WAY_STAGED;
	fault_clear();
	if ((mountd.ways & WAY_STAGED) != 0 && mountd.stage == -1 &&
	    stage_make() == -1) {
		stage_unfit("a detached mount can be neither cloned nor "
		    "attached to");
		return;
	}
	if (!proc_is_named())
		mountd.ways |= WAY_INSIDE;
}
