/*
 * Reviews and landings by landd and its child as the real programs, over a
 * real overlay; and how the two are confined while they work.
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mill.h"

#define OWNER	61010

static struct mill	m;

/* A project with something in it, and a session that has worked in it. */
static void
begin(uid_t uid)
{
	mill_up(&m, uid);
	review_file(&m.r, "R/a", "1\n2\n3\n");
	review_file(&m.r, "R/b", "b\n");
	review_file(&m.r, "R/d/e/f", "f\n");
	review_file(&m.r, "R/d/g", "g\n");
	review_link(&m.r, "R/l", "a");
	mill_start(&m);
	review_sh(&m.r, "cd V && echo 4 >>a && rm b && rm -r d && "
	    "mkdir -p n/o && echo p >n/o/p && chmod 755 n/o/p && "
	    "ln -sfn /nowhere l && mkfifo pipe");
}

static const char	before[] =
    "modified a\ndeleted b\ndeleted d/e/f\ndeleted d/g\n"
    "modified l\nadded n/o/p\nskipped special pipe\n";

static void
untouched(const char *tree)
{
	static char	buf[100000];
	FILE		*f;
	size_t		n;

	ATF_REQUIRE((f = popen("cd \"$SBX_SCRATCH\"/mill*/R && find . | sort "
	    "| xargs ls -dil --time-style=full-iso && find . -type f | sort | "
	    "xargs sha256sum", "re")) != NULL);
	n = fread(buf, 1, sizeof(buf) - 1, f);
	buf[n] = '\0';
	ATF_REQUIRE(pclose(f) == 0);
	if (tree == NULL)
		setenv("TREE", buf, 1);
	else
		ATF_REQUIRE_STREQ(tree, buf);
}

ATF_TC_WITHOUT_HEAD(apply);
ATF_TC_BODY(apply, tc)
{
	static const uid_t	uids[] = { OWNER, 0 };
	uint8_t			digest[32];
	size_t			i;

	for (i = 0; i < 2; i++) {
		begin(uids[i]);
		untouched(NULL);
		mill_works(&m, "changes");
		ATF_REQUIRE(m.staged && m.landing);
		ATF_REQUIRE_STREQ(m.items, before);
		memcpy(digest, m.digest, 32);
		mill_works(&m, "patch");
		ATF_REQUIRE(m.patch != -1);
		ATF_REQUIRE(memcmp(digest, m.digest, 32) == 0);
		/* Looking changes nothing, not even a time. */
		untouched(getenv("TREE"));
		if (!mill_job(&m, "apply", digest, NULL))
			atf_tc_fail("%s: %s", m.code, m.why);
		ATF_REQUIRE_EQ(m.files, 6);
		ATF_REQUIRE_STREQ(m.paths,
		    "a\nl\nb\nd/e/f\nd/g\nd/e\nd\nn\nn/o\nn/o/p\n");
		review_sh(&m.r, "rm V/pipe");
		mill_same(&m);
		/* Landed means equal: nothing is left to land, and a second
		 * apply of nothing is no failure. */
		mill_works(&m, "changes");
		ATF_REQUIRE_STREQ(m.items, "");
		mill_works(&m, "apply");
		ATF_REQUIRE_EQ(m.files, 0);
		/* The session goes on, and so does the owner. */
		review_sh(&m.r, "echo 5 >>V/a; echo c >V/c");
		mill_works(&m, "apply");
		ATF_REQUIRE_STREQ(m.paths, "a\nc\n");
		mill_same(&m);
		review_sh(&m.r, "echo 6 >>V/a; echo owner >>R/a");
		mill_fails(&m, "apply", "land.drifted");
		ATF_REQUIRE_STREQ(m.items, "modified a drift\n");
		mill_down(&m);
		ATF_REQUIRE(test_sh("rm -rf '%s'", m.r.dir) == 0);
	}
}

ATF_TC_WITHOUT_HEAD(refused);
ATF_TC_BODY(refused, tc)
{
	uint8_t	digest[32];

	begin(OWNER);
	mill_works(&m, "changes");
	memcpy(digest, m.digest, 32);
	review_sh(&m.r, "echo more >>V/a");
	untouched(NULL);
	ATF_REQUIRE(!mill_job(&m, "apply", digest, NULL));
	ATF_REQUIRE_STREQ(m.code, "land.stale");
	ATF_REQUIRE(!mill_job(&m, "patch", digest, NULL));
	ATF_REQUIRE_STREQ(m.code, "land.stale");
	untouched(getenv("TREE"));
	/* Drift: the owner edited what the session did. */
	review_sh(&m.r, "echo owner >>R/a");
	untouched(NULL);
	mill_fails(&m, "apply", "land.drifted");
	ATF_REQUIRE(strstr(m.items, "modified a drift\n") != NULL);
	ATF_REQUIRE(strstr(m.why, "(a)") != NULL);
	untouched(getenv("TREE"));
	mill_down(&m);
}

/* The project by its path, device and inode, and by no link. */
ATF_TC_WITHOUT_HEAD(moved);
ATF_TC_BODY(moved, tc)
{
	static const char *const	acts[] = {
		"mv R X", "mv R X; cp -a X R", "mv R X; ln -s X R",
		"mv R X; ln -s /etc R", "mv R X; echo >R",
		"mv R X; mkdir R; chmod 0 R",
	};
	size_t				i;

	begin(OWNER);
	ATF_REQUIRE(test_sh("chmod 777 '%s'", m.r.dir) == 0);
	for (i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		review_sh(&m.r, "%s", acts[i]);
		mill_fails(&m, "changes", "land.moved");
		ATF_REQUIRE(strstr(m.why, m.lab.project) != NULL);
		mill_fails(&m, "apply", "land.moved");
		mill_fails(&m, "recover", "land.moved");
		mill_fails(&m, "forget", "land.moved");
		review_sh(&m.r, "rm -rf R && mv X R");
	}
	mill_works(&m, "changes");
	/* Not the user's to open any more. */
	ATF_REQUIRE(test_sh("chown root '%s/R'; chmod 700 '%s/R'", m.r.dir,
	    m.r.dir) == 0);
	mill_fails(&m, "apply", "land.moved");
	mill_down(&m);
}

/* How many names are in the project's landing folder; 0: there is none. */
static int
kept(void)
{
	return (test_sh("exit $(cd '%s/R' && find . -path '*sbx-land-*' | "
	    "wc -l)", m.r.dir));
}

ATF_TC_WITHOUT_HEAD(forget);
ATF_TC_BODY(forget, tc)
{
	static const uid_t	uids[] = { OWNER, 0 };
	size_t			i;

	for (i = 0; i < 2; i++) {
		begin(uids[i]);
		/* Whatever looks like one is not gone into without cause. */
		review_sh(&m.r, "mkdir R/.sbx-land-" SID2 " && "
		    "echo x >R/.sbx-land-" SID2 "/x");
		mill_works(&m, "apply");
		review_sh(&m.r, "echo 5 >>V/a");
		mill_works(&m, "apply");
		review_sh(&m.r, "test -s R/.sbx-land-" SID "/1/record && "
		    "test -s R/.sbx-land-" SID "/2/record");
		ATF_REQUIRE(kept() > 8);
		review_sh(&m.r, "echo mine >R/.sbx-land-" SID "/2/mine");
		mill_fails(&m, "forget", "land.left");
		ATF_REQUIRE(strstr(m.why, "/.sbx-land-" SID ": 2 ") != NULL);
		ATF_REQUIRE(strstr(m.why, m.lab.project) == m.why);
		review_sh(&m.r, "test \"$(cd R/.sbx-land-" SID " && find . "
		    "-type f | sort | xargs)\" = './.gitignore ./2/mine'");
		review_sh(&m.r, "rm R/.sbx-land-" SID "/2/mine");
		mill_works(&m, "forget");
		mill_works(&m, "forget");
		ATF_REQUIRE_EQ(kept(), 2);
		mill_down(&m);
		ATF_REQUIRE(test_sh("rm -rf '%s'", m.r.dir) == 0);
	}
}

ATF_TC_WITHOUT_HEAD(discard);
ATF_TC_BODY(discard, tc)
{
	static const char *const	some[] = { "a", "d", NULL };
	static const char *const	wrong[][2] = {
		{ "nothing", NULL }, { "../x", NULL }, { "/etc", NULL },
		{ "a/", NULL }, { "", NULL }, { ".", NULL }, { "ab", NULL }
	};
	size_t				i;

	begin(OWNER);
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		ATF_REQUIRE(!mill_job(&m, "discard", NULL, wrong[i]));
		ATF_REQUIRE_STREQ(m.code, "land.path");
	}
	untouched(NULL);
	if (!mill_job(&m, "discard", NULL, some))
		atf_tc_fail("%s: %s", m.code, m.why);
	ATF_REQUIRE_STREQ(m.paths, "a\nd\n");
	ATF_REQUIRE_EQ(m.files, 3);
	ATF_REQUIRE(lab_size(&m.lab, "baseline") > 0);
	mill_works(&m, "discard");
	ATF_REQUIRE_STREQ(m.paths, "\n");
	untouched(getenv("TREE"));
	mill_down(&m);
}

/*
 * The child killed while it lands: while it stages (the journal is short) or
 * while it writes (it is long), so many microseconds into that.
 */
static long	kill_size, kill_after;

static void
kill_later(struct mill *mill)
{
	struct timespec	t = { 0, kill_after * 1000 };
	int		i;

	if (mill->land == 0 || !mill->landing)
		return;
	for (i = 0; i < 100000 && lab_size(&mill->lab, "journal") <
	    kill_size; i++)
		usleep(20);
	nanosleep(&t, NULL);
	kill(mill->land, SIGKILL);
	mill->working = NULL;
}

static void
differ(const char *what, const char *a, const char *b)
{
	char		 x[PATH_MAX], y[PATH_MAX];
	const char	*why;

	snprintf(x, sizeof(x), "%s/%s", m.r.dir, a);
	snprintf(y, sizeof(y), "%s/%s", m.r.dir, b);
	ATF_REQUIRE(test_sh("rm -rf '%s/.sbx-land-" SID "'", x) == 0);
	if ((why = review_differ(x, y)) != NULL)
		atf_tc_fail("%s: %s", what, why);
}

/* 0 back, 1 forward, 2 it was not quick enough. */
static int
killed(int n)
{
	int	done;

	mill_up(&m, OWNER);
	review_sh(&m.r, "mkdir R/0 R/1 R/2 R/3 R/4 R/5 R/6; "
	    "for i in $(seq 300); do echo $i >R/$((i%%7))/$i; done");
	mill_start(&m);
	review_sh(&m.r, "cd V && for i in $(seq 1 2 300); do "
	    "echo new >$((i%%7))/$i; done; rm -r 3; mkdir new && "
	    "echo n >new/n");
	ATF_REQUIRE(test_sh("cp -a '%s/R' '%s/O'", m.r.dir, m.r.dir) == 0);
	m.working = kill_later;
	kill_size = n % 4 == 0 ? 1 : 4096;
	kill_after = n * 150;
	if (mill_job(&m, "apply", NULL, NULL)) {
		mill_same(&m);
		mill_down(&m);
		return (2);
	}
	ATF_REQUIRE_STREQ(m.code, "land.unfinished");
	ATF_REQUIRE(lab_size(&m.lab, "journal") > 0);
	mill_works(&m, "recover");
	done = m.files > 0;
	if (done) {
		ATF_REQUIRE(strstr(m.paths, "new/n\n") != NULL);
		ATF_REQUIRE(lab_size(&m.lab, "baseline") > 0);
		mill_same(&m);
		mill_works(&m, "changes");
		ATF_REQUIRE_STREQ(m.items, "");
	} else {
		/* As it was, and the next landing goes through. */
		ATF_REQUIRE_STREQ(m.paths, "");
		differ("not as it was", "R", "O");
		mill_works(&m, "apply");
		mill_same(&m);
	}
	mill_down(&m);
	return (done);
}

/* Longer than any that is made here, and short enough that two are a row's. */
#define LONG	3000

/* A baseline of a file with a long name, which is absent, so many bytes. */
static void
keep_row(uint64_t i, bool last, size_t size)
{
	/* A length, and {path: bytes} in msgpack. */
	static uint8_t	row[13 + LONG + 1];
	size_t		len = size - 13;
	const uint8_t	head[] = {
		(uint8_t)(len + 9), (uint8_t)((len + 9) >> 8), 0, 0, 0x81,
		0xa4, 'p', 'a', 't', 'h', 0xc5, (uint8_t)(len >> 8),
		(uint8_t)len
	};

	ATF_REQUIRE(len > 255 && len <= LONG);
	memcpy(row, head, sizeof(head));
	snprintf((char *)row + sizeof(head), len + 1, "%0*llu", (int)len,
	    (unsigned long long)i);
	lab_say_bytes(&m.lab, "baseline", i, last, row, size);
}

/* As many as leave so much of what can be kept; landd keeps them, from a child
 * that this test is. */
static void
keep_all(size_t left)
{
	static const char	*paths[] = { "a", NULL };
	struct m_LANDED		 landed = { .files = 1, .paths = { 1, paths } };
	struct msg		 msg;
	size_t			 all = (64 << 20) - 15 - left;
	uint64_t		 i = 1;

	lab_to_view(&m.lab, 50, "discard");
	lab_say(&m.lab, MSG_STAGED, -1, NULL);
	lab_expect(&m.lab, 50, MSG_STAGED, &msg);
	msg_free(&msg);
	lab_say_bytes(&m.lab, "baseline", 0, false, "sbx baseline 1\n", 15);
	for (; all >= 2 * (13 + LONG); all -= 13 + LONG)
		keep_row(i++, false, 13 + LONG);
	keep_row(i++, false, all / 2);
	keep_row(i, true, all - all / 2);
	lab_say(&m.lab, MSG_LANDED, -1, &landed);
	lab_expect(&m.lab, 50, MSG_LANDED, &msg);
	msg_free(&msg);
	lab_jobend(&m.lab, 50);
	ATF_REQUIRE(test_sh("cd '%s' && mv newbase baseline", m.lab.dir) == 0);
}

/* What the landing adds, by one that had nothing before; inode numbers may be
 * a little longer the next time. */
#define SLACK	64

static size_t
adds(void)
{
	size_t	size;

	begin(USER);
	mill_works(&m, "apply");
	size = (size_t)lab_size(&m.lab, "baseline");
	mill_down(&m);
	/* Without what is at each segment's and file's beginning. */
	return (size - 48 - 15);
}

/* What could not be kept as landed is refused before the commit point, when
 * nothing has been touched, and no other; a discard, which only loses what it
 * would keep, goes on. */
ATF_TC_WITHOUT_HEAD(state_large);
ATF_TC_BODY(state_large, tc)
{
	size_t	n = adds();

	begin(USER);
	keep_all(n + SLACK);
	review_sh(&m.r, "cd V && echo more >m && touch $(printf 'm%%0200d' 0)");
	untouched(NULL);
	mill_fails(&m, "apply", "land.toolarge");
	untouched(getenv("TREE"));
	ATF_REQUIRE(strstr(m.why, "sbxctl patch") != NULL);
	ATF_REQUIRE(lab_size(&m.lab, "journal") == 0);
	review_sh(&m.r, "rm V/m*");
	mill_works(&m, "apply");
	ATF_REQUIRE(lab_size(&m.lab, "baseline") > (64 << 20) - 2 * SLACK);
	review_sh(&m.r, "cd V && echo more >m && touch $(printf 'm%%0200d' 0)");
	mill_works(&m, "discard");
	mill_down(&m);
}

ATF_TC_WITHOUT_HEAD(child_killed);
ATF_TC_BODY(child_killed, tc)
{
	int	n, count[3] = { 0, 0, 0 };

	for (n = 0; n < 12; n++) {
		count[killed(n)]++;
		ATF_REQUIRE(test_sh("rm -rf '%s'", m.r.dir) == 0);
	}
	printf("%d back, %d forward, %d not killed in time\n", count[0],
	    count[1], count[2]);
	ATF_REQUIRE(count[0] > 0 && count[1] > 0);
}

ATF_TC_WITHOUT_HEAD(tampered);
ATF_TC_BODY(tampered, tc)
{
	begin(OWNER);
	mill_works(&m, "apply");
	review_sh(&m.r, "echo 5 >>V/a");
	ATF_REQUIRE(test_sh("cd '%s' && printf X | dd of=baseline bs=1 "
	    "seek=100 conv=notrunc 2>/dev/null", m.lab.dir) == 0);
	untouched(NULL);
	mill_fails(&m, "apply", "land.state");
	mill_fails(&m, "changes", "land.state");
	mill_fails(&m, "forget", "land.state");
	ATF_REQUIRE(test_sh("cd '%s' && rm baseline && echo junk >journal",
	    m.lab.dir) == 0);
	mill_fails(&m, "recover", "land.state");
	untouched(getenv("TREE"));
	mill_down(&m);
}

/*
 * Confinement
 */
static void
powerless(pid_t pid, uid_t uid, gid_t gid, const char *groups)
{
	char	ids[64];

	snprintf(ids, sizeof(ids), "%u\t%u\t%u\t%u", uid, uid, uid, uid);
	ATF_REQUIRE_STREQ(status_line(pid, "Uid"), ids);
	snprintf(ids, sizeof(ids), "%u\t%u\t%u\t%u", gid, gid, gid, gid);
	ATF_REQUIRE_STREQ(status_line(pid, "Gid"), ids);
	ATF_REQUIRE_STREQ(status_line(pid, "Groups"), groups);
	ATF_REQUIRE_STREQ(status_line(pid, "CapInh"), "0000000000000000");
	ATF_REQUIRE_STREQ(status_line(pid, "CapPrm"), "0000000000000000");
	ATF_REQUIRE_STREQ(status_line(pid, "CapEff"), "0000000000000000");
	ATF_REQUIRE_STREQ(status_line(pid, "CapBnd"), "0000000000000000");
	ATF_REQUIRE_STREQ(status_line(pid, "CapAmb"), "0000000000000000");
	ATF_REQUIRE_STREQ(status_line(pid, "NoNewPrivs"), "1");
	ATF_REQUIRE_STREQ(status_line(pid, "Seccomp"), "2");
}

/* What neither of the two may ever call. */
static const struct {
	const char	*name;
	long		 nr;
} forbidden[] = {
	{ "socket", SYS_socket }, { "connect", SYS_connect },
	{ "bind", SYS_bind }, { "execve", SYS_execve },
	{ "execveat", SYS_execveat }, { "clone", SYS_clone },
	{ "clone3", SYS_clone3 }, { "kill", SYS_kill },
	{ "tgkill", SYS_tgkill }, { "ptrace", SYS_ptrace },
	{ "mount", SYS_mount }, { "setns", SYS_setns },
	{ "unshare", SYS_unshare }, { "setuid", SYS_setuid },
	{ "setresuid", SYS_setresuid }, { "capset", SYS_capset },
	{ "prctl", SYS_prctl }, { "seccomp", SYS_seccomp },
	{ "ioctl", SYS_ioctl }, { "bpf", SYS_bpf },
	{ "mknodat", SYS_mknodat }, { "open_by_handle_at",
	SYS_open_by_handle_at }, { "process_vm_readv", SYS_process_vm_readv },
	{ "io_uring_setup", SYS_io_uring_setup }, { "keyctl", SYS_keyctl },
};
#define NFORBIDDEN	(sizeof(forbidden) / sizeof(forbidden[0]))

ATF_TC_WITHOUT_HEAD(landd_confined);
ATF_TC_BODY(landd_confined, tc)
{
	static const struct {
		const char	*name;
		long		 nr;
	} also[] = {
		{ "openat", SYS_openat }, { "openat2", SYS_openat2 },
		{ "unlinkat", SYS_unlinkat }, { "renameat2", SYS_renameat2 },
		{ "mkdirat", SYS_mkdirat }, { "statx", SYS_statx },
		{ "accept4", SYS_accept4 }, { "wait4", SYS_wait4 },
	};
	static struct lab	lab;
	struct hands		h;
	size_t			i, n = NFORBIDDEN;

	for (i = 0; i < n + sizeof(also) / sizeof(also[0]); i++) {
		const char *name = i < n ? forbidden[i].name :
		    also[i - n].name;

		lab_up(&lab);
		if (i == 0)
			powerless(lab.h.pid, SCRIPTED_UID + UID_LANDD,
			    SCRIPTED_GID + UID_LANDD, "");
		hands_on(&h, lab.h.pid);
		test_send(&lab.h, MSG_PROBE, 1, -1, NULL);
		hands_next(&h);
		ATF_REQUIRE_EQ_MSG(hands_forbidden(&h, i < n ?
		    forbidden[i].nr : also[i - n].nr), SIGSYS, "%s", name);
		imsg_clear(&lab.h.ib);
		imsg_clear(&lab.spawn);
	}
}

static struct hands	h;
static size_t		which;
static void		(*look)(void);

/* Taken in hand before it has seen the session, let go when confined. */
static void
take_in_hand(struct mill *mill)
{
	hands_on(&h, mill->land);
}

static void
when_confined(struct mill *mill)
{
	if (h.pid == 0 || mill->land == 0)
		return;
	hands_filtered(&h);
	if (look != NULL) {
		look();
		hands_off(&h);
	} else {
		ATF_REQUIRE_EQ_MSG(hands_forbidden(&h, forbidden[which].nr),
		    SIGSYS, "%s", forbidden[which].name);
		mill->land = 0;
		lab_childend(&mill->lab, mill->id, SIGSYS);
	}
	h.pid = 0;
}

ATF_TC_WITHOUT_HEAD(land_forbidden);
ATF_TC_BODY(land_forbidden, tc)
{
	begin(OWNER);
	m.viewed = take_in_hand;
	m.working = when_confined;
	for (which = 0; which < NFORBIDDEN; which++) {
		mill_fails(&m, "changes", "land.failed");
		ATF_REQUIRE(strstr(m.why, "signal 31") != NULL);
	}
	m.viewed = m.working = NULL;
	mill_works(&m, "changes");
	mill_down(&m);
}

/* Something is staged. */
static bool
staging(void)
{
	char		 path[PATH_MAX];
	struct dirent	*de;
	DIR		*d;
	bool		 any = false;

	snprintf(path, sizeof(path), "%s/R/.sbx-land-" SID "/1", m.r.dir);
	if ((d = opendir(path)) == NULL)
		return (false);
	while ((de = readdir(d)) != NULL)
		any = any || de->d_name[0] != '.';
	closedir(d);
	return (any);
}

static void
landd_dies(struct mill *mill)
{
	int	status;

	if (h.pid == 0)
		return;
	while (!staging())
		hands_next(&h);
	ATF_REQUIRE(kill(mill->lab.h.pid, SIGKILL) == 0);
	ATF_REQUIRE(waitpid(mill->lab.h.pid, NULL, 0) == mill->lab.h.pid);
	hands_off(&h);
	ATF_REQUIRE(waitpid(mill->land, &status, 0) == mill->land);
	ATF_REQUIRE_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 1,
	    "it ended with %#x", (unsigned int)status);
	atf_tc_pass();
}

/* Whose landd is gone, and who has committed nothing, does not go on. */
ATF_TC_WITHOUT_HEAD(land_orphaned);
ATF_TC_BODY(land_orphaned, tc)
{
	begin(OWNER);
	m.viewed = take_in_hand;
	m.working = landd_dies;
	mill_works(&m, "apply");
	atf_tc_fail("nothing was staged");
}

/* As the kernel does of a message that land has read meanwhile. */
static void
told_late(struct mill *mill)
{
	if (h.pid == 0)
		return;
	while (!staging())
		hands_next(&h);
	ATF_REQUIRE(kill(mill->land, SIGIO) == 0);
	hands_off(&h);
	h.pid = 0;
}

ATF_TC_WITHOUT_HEAD(land_told_late);
ATF_TC_BODY(land_told_late, tc)
{
	begin(OWNER);
	m.viewed = take_in_hand;
	m.working = told_late;
	mill_works(&m, "apply");
	ATF_REQUIRE_STREQ(m.items, before);
	review_sh(&m.r, "rm V/pipe");
	mill_same(&m);
	mill_down(&m);
}

static long
try(const char *path, int flags)
{
	long	fd = hands_call(&h, SYS_openat, path, AT_FDCWD, -1, flags,
	    0644);

	if (fd >= 0)
		hands_call(&h, SYS_close, NULL, fd, 0, 0, 0);
	return (fd < 0 ? fd : 0);
}

static char	in_project[PATH_MAX], in_stage[PATH_MAX], beside[PATH_MAX];
static long	project_write;

/* Soft and hard, in /proc/PID/limits' units. */
static void
limited(pid_t pid, const char *name, unsigned long want)
{
	char		path[64], line[256];
	unsigned long	soft = 0, hard = 0;
	size_t		len = strlen(name);
	FILE		*f;

	snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	ATF_REQUIRE((f = fopen(path, "re")) != NULL);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, len) == 0)
			ATF_REQUIRE(sscanf(line + len, "%lu %lu", &soft,
			    &hard) == 2);
	fclose(f);
	ATF_REQUIRE_EQ(soft, want);
	ATF_REQUIRE_EQ(hard, want);
}

static void
look_at_files(void)
{
#ifndef SBX_SANITIZED
	limited(h.pid, "Max address space", 1UL << 30);
#endif
	limited(h.pid, "Max cpu time", 600);
	limited(h.pid, "Max core file size", 0);
	limited(h.pid, "Max open files", 256);
	powerless(h.pid, OWNER, OWNER, "100 101 61010 ");
	/* landd is of another uid, and it may signal nobody anyway. */
	ATF_REQUIRE_EQ(try("/etc/passwd", O_RDONLY), -EACCES);
	ATF_REQUIRE_EQ(try("/", O_RDONLY | O_DIRECTORY), -EACCES);
	ATF_REQUIRE_EQ(try("/tmp", O_RDONLY | O_DIRECTORY), -EACCES);
	ATF_REQUIRE_EQ(try("/proc/self/status", O_RDONLY), -EACCES);
	ATF_REQUIRE_EQ(try("/dev/null", O_RDWR), -EACCES);
	ATF_REQUIRE_EQ(try(beside, O_RDONLY), -EACCES);
	ATF_REQUIRE_EQ(try(beside, O_WRONLY), -EACCES);
	ATF_REQUIRE_EQ(try(in_project, O_RDONLY), 0);
	ATF_REQUIRE_EQ(try(in_project, O_WRONLY), project_write);
	ATF_REQUIRE_EQ(try(in_stage, O_WRONLY | O_CREAT), 0);
}

/* Open by their modes, shut by Landlock; only who lands writes. */
ATF_TC_WITHOUT_HEAD(land_unveiled);
ATF_TC_BODY(land_unveiled, tc)
{
	begin(OWNER);
	snprintf(in_project, sizeof(in_project), "%s/R/a", m.r.dir);
	snprintf(in_stage, sizeof(in_stage), "%s/G/try", m.r.dir);
	snprintf(beside, sizeof(beside), "%s/beside", m.r.dir);
	ATF_REQUIRE(test_sh("echo x >'%s' && chown %d '%s'", beside, OWNER,
	    beside) == 0);
	m.viewed = take_in_hand;
	m.working = when_confined;
	look = look_at_files;
	project_write = -EACCES;
	mill_works(&m, "changes");
	mill_works(&m, "patch");
	mill_works(&m, "discard");
	project_write = 0;
	mill_works(&m, "apply");
	mill_down(&m);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, apply);
	ATF_TP_ADD_TC(tp, refused);
	ATF_TP_ADD_TC(tp, moved);
	ATF_TP_ADD_TC(tp, forget);
	ATF_TP_ADD_TC(tp, discard);
	ATF_TP_ADD_TC(tp, state_large);
	ATF_TP_ADD_TC(tp, child_killed);
	ATF_TP_ADD_TC(tp, tampered);
	if (TEST_PLAIN) {
		ATF_TP_ADD_TC(tp, landd_confined);
		ATF_TP_ADD_TC(tp, land_forbidden);
		ATF_TP_ADD_TC(tp, land_orphaned);
		ATF_TP_ADD_TC(tp, land_told_late);
	}
	ATF_TP_ADD_TC(tp, land_unveiled);
	return (atf_no_error());
}
