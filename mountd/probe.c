/*
 * What this kernel and this state folder can do: tried, not told from a
 * version.
 */
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../privsep/mode.h"
#include "at.h"
#include "attr.h"
#include "fault.h"
#include "fs.h"
#include "mountd.h"
#include "overlay.h"
#include "probe.h"
#include "rm.h"
#include "session.h"
#include "stage.h"
#include "xattr.h"

/* An errno that says "never here", not "not now". */
static bool
lacks(int r)
{
	return (r == -1 && (errno == EOPNOTSUPP || errno == EINVAL ||
	    errno == EPERM || errno == EISDIR || errno == ENOTTY ||
	    errno == ENOSYS));
}

/* One that says nothing about the filesystem. */
static bool
passes(int err)
{
	return (err == ENOSPC || err == EDQUOT || err == ENOMEM ||
	    err == ENFILE || err == EMFILE);
}

/* A folder of our own in s/, for trying; sessions have no such name. */
static int
trial_make(char *name, size_t size)
{
	snprintf(name, size, ".probe.%ld", (long)getpid());
	if (mkdirat(mountd.store, name, 0700) == -1)
		return (-1);
	return (openat(mountd.store, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

static void
trial_end(int dir, const char *name)
{
	if (dir != -1)
		close(dir);
	rm_all(mountd.store, name);
}

/* What overlayfs needs of the filesystem that its layer is on. */
static void
trial_features(int dir, char *missing, size_t size)
{
	const char *const	names[] = {
		"O_TMPFILE", "RENAME_WHITEOUT", mode_user() ?
		"user.* attributes" : "trusted.* attributes"
	};
	bool	gone[3];
	size_t	i, len;
	int	fd, r;

	gone[0] = lacks(fd = openat(dir, ".",
	    O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
	if (fd != -1)
		close(fd);
	fd = openat(dir, "a", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	r = fd == -1 ? 0 : fsetxattr(fd, xattr_name(XATTR_TRY), "y", 1, 0);
	gone[2] = lacks(r);
	if (fd != -1)
		close(fd);
	gone[1] = fd != -1 &&
	    lacks(renameat2(dir, "a", dir, "b", RENAME_WHITEOUT));
	for (i = 0; i < 3; i++) {
		len = strlen(missing);
		if (gone[i])
			snprintf(missing + len, size - len, "%s%s",
			    len > 0 ? ", " : "it lacks ", names[i]);
	}
}

/* A layer on the state's filesystem over a folder of a tmpfs; with a rename
 * of a folder below, which is EXDEV without redirect_dir. */
static int
trial_overlay(int dir)
{
	struct build	b = { .masks = { .tmpfs = -1 } };
	struct layer	l = { .u = -1, .w = -1 };
	int		lower, ov = -1, r = -1;

	lower = fs_base(fs_tmpfs("mode=0755", 0, "a tmpfs"), "a tmpfs");
	if (lower == -1)
		return (-1);
	if (mkdirat(lower, "d", 0755) == -1 ||
	    mkdirat(dir, "u", 0755) == -1 || mkdirat(dir, "w", 0700) == -1 ||
	    (l.u = at_open(dir, "u", O_PATH | O_DIRECTORY)) == -1 ||
	    (l.w = at_open(dir, "w", O_PATH | O_DIRECTORY)) == -1)
		fault_errno("mount.state", "%s/s", shown(mountd.state));
	else if ((ov = overlay_make(&b, "/", lower, &l, -1)) != -1) {
		if (renameat2(ov, "d", ov, "e", 0) == 0 ||
		    (mode_user() && errno == EXDEV))
			r = 0;
		else
			fault_errno("mount.state", "renaming a folder");
		close(ov);
	}
	layer_close(&l);
	fs_end(lower);
	return (r);
}

static const char *
state_type(void)
{
	static char	 type[64];
	const struct mnt *m;
	struct mnts	 ms;

	if (mnts_read(&ms) == -1)
		return ("unknown");
	m = mnts_of(&ms, mountd.state);
	snprintf(type, sizeof(type), "%s", m != NULL ? m->type : "unknown");
	mnts_free(&ms);
	return (type);
}

static char *
probe_reason(const char *why)
{
	char	*text = NULL;

	/* A tmpfs takes no attribute of a user's before Linux 6.6. */
	if (asprintf(&text, "state folder %s: its filesystem (%s) can carry "
	    "no layer: %s: move the state to %s (SBX_STATE names the folder)",
	    shown(mountd.state), state_type(), why, mode_user() ?
	    "ext4, xfs or btrfs" : "ext4, xfs, btrfs or tmpfs") == -1)
		return (NULL);
	return (text);
}

char *
probe_state(void)
{
	char	 name[32], missing[128] = "", *text = NULL;
	int	 dir;

	if ((dir = trial_make(name, sizeof(name))) == -1)
		/* Full, or read-only: PREP will say so itself. */
		return (NULL);
	trial_features(dir, missing, sizeof(missing));
	if (missing[0] != '\0')
		text = probe_reason(missing);
	trial_end(dir, name);
	fault_clear();
	return (text);
}

static int
try_overlay(void)
{
	char	name[32];
	int	dir, r;

	if ((dir = trial_make(name, sizeof(name))) == -1)
		return (fault_errno("mount.state", "%s/s",
		    shown(mountd.state)));
	r = trial_overlay(dir);
	trial_end(dir, name);
	return (r);
}

int
probe_blame(void)
{
	char	*code = strdup(fault_code()), *text = strdup(fault_text());
	char	*why = NULL;

	if (code == NULL || text == NULL ||
	    strcmp(code, "mount.failed") != 0)
		goto end;
	fault_clear();
	if (try_overlay() == -1 && !passes(fault_err()))
		why = probe_reason(fault_text());
	fault_clear();
	if (why != NULL)
		(void)fault("mount.state", "%s", why);
	else
		(void)fault(code, "%s", text);
end:
	free(why);
	free(text);
	free(code);
	return (-1);
}

static void
probe_say(struct child *c, const char *level, const char *what,
    const char *text)
{
	struct m_TEXT	t = { .level = level, .what = what, .text = text };

	child_send(c, MSG_TEXT, -1, &t);
}

/* One mechanism: what it is, and what its failure means. */
static void
probe_one(struct child *c, const char *what, int r, const char *good,
    const char *bad)
{
	char	text[1024];

	if (r == 0)
		probe_say(c, "ok", what, good);
	else {
		snprintf(text, sizeof(text), "%s: %s", bad, fault_text());
		probe_say(c, "fail", what, text);
	}
	fault_clear();
}

static int
try_attach(void)
{
	int	a, b, clone = -1, point = -1, r = -1;

	a = fs_base(fs_tmpfs("mode=0755", 0, "a tmpfs"), "a tmpfs");
	b = fs_base(fs_tmpfs("mode=0755", 0, "a tmpfs"), "a tmpfs");
	if (a != -1 && b != -1 && mkdirat(a, "p", 0755) == 0 &&
	    (point = at_open(a, "p", O_PATH)) != -1 &&
	    (clone = fs_clone(b, "a mount")) != -1)
		r = fs_attach(clone, point, "a mount to a tree");
	if (r == 0 && (a = fs_lift(a, "a tree")) == -1)
		r = -1;
	if (point != -1)
		close(point);
	if (clone != -1)
		close(clone);
	if (a != -1)
		close(a);
	fs_end(b);
	return (r);
}

static int
try_proc(void)
{
	int	fd, mnt;

	fd = openat(AT_FDCWD, "/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return (fault_errno("mount.proc", "/proc/self/ns/pid"));
	mnt = proc_new(fd);
	close(fd);
	/* In S only a session's own can be, and ours is the machine's: what
	 * it is refused for is that. */
	if (mnt == -1 && mode_user() && fault_err() == EPERM) {
		fault_clear();
		return (0);
	}
	if (mnt == -1)
		return (-1);
	close(mnt);
	return (0);
}

static int
try_devpts(void)
{
	struct fs	*fs;
	int		 mnt;

	if ((fs = fs_open("devpts", "devpts")) == NULL)
		return (-1);
	if (fs_set(fs, "newinstance", NULL) == -1) {
		fs_close(fs);
		return (-1);
	}
	if ((mnt = fs_mount(fs, MOUNT_ATTR_NOSUID, "devpts")) == -1)
		return (-1);
	close(mnt);
	return (0);
}

/* What is held open is asked of the name cache: see clean.h. */
static int
try_cached(void)
{
	int	mnt, fd, asked, r = -1;

	mnt = fs_tmpfs("mode=0755", 0, "a tmpfs");
	if (mnt == -1)
		return (-1);
	fd = mkdirat(mnt, "d", 0755) == -1 ? -1 : at_open(mnt, "d", O_PATH);
	asked = fs_openat2(mnt, "d", O_PATH, FS_BENEATH | RESOLVE_CACHED);
	if (fd != -1 && asked != -1)
		r = 0;
	else
		fault_errno("mount.failed", "openat2 with RESOLVE_CACHED");
	if (asked != -1)
		close(asked);
	if (fd != -1)
		close(fd);
	close(mnt);
	return (r);
}

/* Which way mounts are made: an older kernel's, or another's filter's. */
static void
probe_ways(struct child *c)
{
	char	text[512];

	snprintf(text, sizeof(text), "%s; %s; %s",
	    (mountd.ways & WAY_MOUNT) != 0 ? "mounts are made by mount(2) and "
	    "cloned, as fsopen(2) is refused" : "mounts are made by fsopen(2)",
	    (mountd.ways & WAY_NAMES) != 0 ? "layers are named by "
	    "/proc/self/fd, as FSCONFIG_SET_FD is refused" : "layers are "
	    "given by descriptor", (mountd.ways & WAY_STAGED) != 0 ?
	    "trees are assembled in mountd's own mount namespace, as a "
	    "detached one can be neither cloned nor attached to (before Linux "
	    "6.15)" : "trees are assembled detached");
	/* With mount(2) or setns(2) open to it, mountd is confined less. */
	probe_say(c, (mountd.ways & (WAY_MOUNT | WAY_STAGED | WAY_INSIDE)) !=
	    0 ? "warn" : "ok", "interface", text);
}

int
probe_run(struct child *c)
{
	probe_ways(c);
	if (mountd.blind)
		probe_say(c, "warn", "mounted", "not all mounts of this "
		    "machine are shared: what is mounted or unmounted later "
		    "is seen by a suite that starts after that only");
	if (mountd.unfit != NULL)
		probe_say(c, "fail", "state", mountd.unfit);
	else
		probe_one(c, "state", try_overlay(), mode_user() ? "kernel "
		    "overlayfs with user attributes works on the state's "
		    "filesystem" : "kernel overlayfs with trusted attributes "
		    "and redirect_dir works on the state's filesystem",
		    "no layer can be made");
	probe_one(c, "mounts", try_attach(), (mountd.ways & WAY_STAGED) != 0 ?
	    "mounts can be cloned and put into a tree" : "detached mounts can "
	    "be cloned and put into a tree (Linux 6.15)", "trees cannot be "
	    "assembled by this version on this kernel");
	probe_one(c, "proc", try_proc(), (mountd.ways & WAY_INSIDE) != 0 ?
	    "a session's /proc is made by a process of mountd's in its pid "
	    "namespace, as none can be named (before Linux 6.18)" :
	    "a session's /proc is made by its pid namespace's descriptor "
	    "(Linux 6.18)", "a session's /proc cannot be made by this "
	    "version on this kernel");
	probe_one(c, "terminals", try_devpts(), "each session has a devpts "
	    "of its own", "no devpts of a session's own");
	probe_one(c, "landing", try_cached(), "what a live session holds "
	    "open is known, the rest of a landing leaves its layer at once",
	    "what landed leaves a live session's layer only at its end");
	child_send(c, MSG_END, -1, NULL);
	return (0);
}
