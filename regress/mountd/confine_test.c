/*
 * What mountd may do, by its status and by its trying, at rest and in a
 * request's child; and that its mounts are nobody else's.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/capability.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../lib/inject.h"
#include "cases.h"
#include "drive.h"

#define UID	(SCRIPTED_UID + UID_MOUNTD)
#define GID	(SCRIPTED_GID + UID_MOUNTD)
#define CAPS	((1ULL << CAP_SYS_ADMIN) | (1ULL << CAP_CHOWN) |	\
		    (1ULL << CAP_DAC_OVERRIDE) | (1ULL << CAP_FOWNER) |	\
		    (1ULL << CAP_FSETID) | (1ULL << CAP_MKNOD) |	\
		    (1ULL << CAP_SETFCAP) | (1ULL << CAP_DAC_READ_SEARCH))

static void
line_is(pid_t pid, const char *name, const char *want)
{
	char	path[64], line[512];
	size_t	len = strlen(name);
	FILE	*f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	ATF_REQUIRE((f = fopen(path, "re")) != NULL);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, name, len) != 0 || line[len] != ':')
			continue;
		fclose(f);
		line[strcspn(line, "\n")] = '\0';
		ATF_CHECK_EQ_MSG(0, strcmp(line + len + 2, want),
		    "%s is \"%s\", not \"%s\"", name, line + len + 2, want);
		return;
	}
	atf_tc_fail("%s has no %s", path, name);
}

static void
confined(pid_t pid)
{
	char	ids[128], caps[32];

	snprintf(ids, sizeof(ids), "%d\t%d\t%d\t%d", UID, UID, UID, UID);
	snprintf(caps, sizeof(caps), "%016llx", CAPS);
	line_is(pid, "Uid", ids);
	snprintf(ids, sizeof(ids), "%d\t%d\t%d\t%d", GID, GID, GID, GID);
	line_is(pid, "Gid", ids);
	line_is(pid, "Groups", " ");
	line_is(pid, "CapInh", "0000000000000000");
	line_is(pid, "CapPrm", caps);
	line_is(pid, "CapEff", caps);
	line_is(pid, "CapBnd", "0000000000000000");
	line_is(pid, "CapAmb", "0000000000000000");
	line_is(pid, "NoNewPrivs", "1");
	line_is(pid, "Seccomp", "2");
	line_is(pid, "Seccomp_filters", "1");
}

static pid_t
request_child(void)
{
	char	path[64];
	int	pid = 0, i;
	FILE	*f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children",
	    (int)drive_mountd.pid, (int)drive_mountd.pid);
	for (i = 0; i < 200 && pid == 0; i++) {
		usleep(10000);
		ATF_REQUIRE((f = fopen(path, "re")) != NULL);
		if (fscanf(f, "%d", &pid) != 1)
			pid = 0;
		fclose(f);
	}
	ATF_REQUIRE(pid != 0);
	return (pid);
}

CASE(status, "ids, capabilities, filter: the table's, in the child too")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	struct m_SID	sid = { .session = "abcdefgh2345" };

	drive_begin();
	confined(drive_mountd.pid);
	drive_namespaces(&d);
	drive_prep(&d);
	confined(request_child());
	ATF_CHECK(drive_ask(&d, MSG_RELEASE, -1, &sid, MSG_RELEASED));
	drive_kill(&d);
	drive_end();
}

static int
descriptors(pid_t pid)
{
	char		path[64];
	struct dirent	*de;
	DIR		*dir;
	int		 n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	ATF_REQUIRE((dir = opendir(path)) != NULL);
	while ((de = readdir(dir)) != NULL)
		n += de->d_name[0] != '.';
	closedir(dir);
	return (n);
}

/* Its descriptors when it has made the child for the next session. */
static int
descriptors_idle(pid_t pid)
{
	const struct timespec	pause = { 0, 20000000L };
	char			path[64], buf[64];
	int			fd, i;
	ssize_t			n = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
	    (int)pid);
	for (i = 0; i < 500 && n == 0; i++) {
		nanosleep(&pause, NULL);
		ATF_REQUIRE((fd = open(path, O_RDONLY)) != -1);
		n = read(fd, buf, sizeof(buf));
		close(fd);
	}
	ATF_REQUIRE(n > 0);
	return (descriptors(pid));
}

CASE(descriptors_end, "as many descriptors at the end as at the start")
{
	struct drive		d = { .uid = 1001, .gid = 1001 };
	struct drive_view	v;
	int			n, i;

	drive_begin();
	START(&d);
	drive_release(&d);
	n = descriptors_idle(drive_mountd.pid);
	for (i = 0; i < 3; i++) {
		START(&d);
		ATF_CHECK(descriptors(drive_mountd.pid) > n);
		ATF_CHECK(drive_look(&d, true, &v));
		drive_look_end(&v);
		drive_release(&d);
		ATF_CHECK(drive_look(&d, false, &v));
		drive_look_end(&v);
		d.hide[0] = d.project;
		ATF_CHECK(!drive_start(&d));
		d.hide[0] = NULL;
	}
	drive_erase(&d);
	ATF_CHECK_EQ(n, descriptors_idle(drive_mountd.pid));
	ATF_CHECK_EQ(0, test_helper_end(&drive_mountd));
	test_clean_check();
}

static const struct {
	const char	*name;
	long		 nr, a, b, c;
} forbidden[] = {
	{ "execve", SYS_execve, 0, 0, 0 },
	{ "execveat", SYS_execveat, 0, 0, 0 },
	{ "socket", SYS_socket, 1, 1, 0 },
	{ "connect", SYS_connect, 3, 0, 0 },
	{ "open_by_handle_at", SYS_open_by_handle_at, 3, 0, 0 },
	{ "mount", SYS_mount, 0, 0, 0 },
	{ "umount2", SYS_umount2, 0, 0, 0 },
	{ "pivot_root", SYS_pivot_root, 0, 0, 0 },
	{ "chroot", SYS_chroot, 0, 0, 0 },
	{ "setns", SYS_setns, 3, 0, 0 },
	{ "unshare", SYS_unshare, CLONE_NEWNS, 0, 0 },
	{ "clone NEWNS", SYS_clone, CLONE_NEWNS | SIGCHLD, 0, 0 },
	{ "clone NEWUSER", SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0 },
	{ "clone3", SYS_clone3, 0, 0, 0 },
	{ "ptrace", SYS_ptrace, 0, 1, 0 },
	{ "bpf", SYS_bpf, 0, 0, 0 },
	{ "setuid", SYS_setuid, 0, 0, 0 },
	{ "capset", SYS_capset, 0, 0, 0 },
	{ "ioctl", SYS_ioctl, 0, 0x5412, 0 },
	{ "init_module", SYS_init_module, 0, 0, 0 },
	{ "kexec_load", SYS_kexec_load, 0, 0, 0 },
	{ "swapon", SYS_swapon, 0, 0, 0 },
	{ "reboot", SYS_reboot, 0, 0, 0 },
	{ "keyctl", SYS_keyctl, 0, 0, 0 },
	{ "io_uring_setup", SYS_io_uring_setup, 1, 0, 0 },
};

CASE(filter, "SIGSYS for what it never needs")
{
	size_t	i;
	long	r;

	for (i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
		struct test_helper h;

		scripted_up(&h, "mountd", ROLE_MOUNTD);
		r = inject(h.pid, forbidden[i].nr, forbidden[i].a,
		    forbidden[i].b, forbidden[i].c, 0);
		ATF_CHECK_EQ_MSG(INJECT_SIGNAL(SIGSYS), r, "%s gave %ld",
		    forbidden[i].name, r);
		imsg_clear(&h.ib);
	}
}

/* Mounts of the suite's that are attached in a process's namespace. */
static int
suite_mounts(const char *pid)
{
	char	path[64], line[4096];
	int	n = 0;
	FILE	*f;

	snprintf(path, sizeof(path), "/proc/%s/mountinfo", pid);
	ATF_REQUIRE((f = fopen(path, "re")) != NULL);
	while (fgets(line, sizeof(line), f) != NULL)
		n += strstr(line, " sbx ") != NULL;
	fclose(f);
	return (n);
}

CASE(mounts, "its namespace is a slave: nothing it makes is attached there "
    "or here, what is mounted here is seen")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	char		pid[16];

	ATF_REQUIRE_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL));
	drive_begin();
	snprintf(pid, sizeof(pid), "%d", (int)drive_mountd.pid);
	START(&d);
	ATF_CHECK_EQ(0, suite_mounts("self"));
	ATF_CHECK_EQ(0, suite_mounts(pid));
	ATF_CHECK(drive_sh(&d, "test $(grep -c ' sbx ' /proc/self/mountinfo) "
	    "-gt 5") == 0);
	/* No mount inside tells of changes to, or hears of, the host's. */
	ATF_CHECK_EQ(0, drive_sh(&d, "! grep -E ' (shared|master):' "
	    "/proc/self/mountinfo"));
	ATF_REQUIRE_EQ(0, test_sh("mount -t tmpfs sbxlater /sys/fs"));
	ATF_CHECK_EQ(0, drive_sh(&d, "! grep sbxlater /proc/self/mountinfo"));
	ATF_CHECK_EQ(0, test_sh("umount /sys/fs"));
	ATF_CHECK_EQ(0, drive_sh(&d, "awk '$6 !~ /nosuid/ { print; f = 1 } "
	    "END { exit f }' /proc/self/mountinfo"));
	ATF_CHECK_EQ(0, test_sh("mkdir '%s/later' && mount -t tmpfs sbxlater "
	    "'%s/later' && grep -q sbxlater /proc/%s/mountinfo && "
	    "umount '%s/later' && ! grep -q sbxlater /proc/%s/mountinfo",
	    test_scratch(), test_scratch(), pid, test_scratch(), pid));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(upper, "D81: layers are out of reach, and what copies up is no setuid "
    "program")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	ATF_REQUIRE_EQ(0, test_sh("cp /bin/cat '%s/proj/suid' && "
	    "chmod 4755 '%s/proj/suid'", test_scratch(), test_scratch()));
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "mv suid s2; cp s2 s3; chmod 4755 s3"));
	/* The state itself may be entered, s/ may not. */
	ATF_CHECK_EQ(0, test_sh("test \"$(stat -c '%%a %%u' '%s/state/s')\" "
	    "= '700 %d' && test \"$(stat -c '%%a %%u' '%s/state/s/%s')\" = "
	    "'700 %d'", test_scratch(), UID, test_scratch(), d.id, UID));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, status);
	ATF_TP_ADD_TC(tp, descriptors_end);
	ATF_TP_ADD_TC(tp, filter);
	ATF_TP_ADD_TC(tp, mounts);
	ATF_TP_ADD_TC(tp, upper);
	return (atf_no_error());
}
