/*
 * The host's other filesystems inside, what /run has of the host's, and what
 * a layer's filesystem must be able to do.
 */
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>


#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "drive.h"

#define IN	test_scratch()

static void
shared(void)
{
	ATF_REQUIRE_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL));
}

CASE(submounts, "A3: each filesystem below the project, home and / has its "
    "own layer")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	shared();
	drive_begin();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mkdir proj/data home/data else "
	    "x && echo under >proj/data/under && mount --bind x proj/data && "
	    "mount -t tmpfs t home/data && mount -t tmpfs t else && "
	    "echo f >x/f && echo f >home/data/f && echo f >else/f && "
	    "chown -R 1001:1001 x home/data else", IN));
	START(&d);
	ATF_CHECK_STREQ("", d.notes);
	ATF_CHECK_STREQ("f f f", drive_out(&d, "echo $(cat data/f "
	    "'%s/data/f' ../else/f)", d.home));
	ATF_CHECK_STREQ("f", drive_out(&d, "ls data"));
	ATF_CHECK_EQ(0, drive_sh(&d, "echo more >>data/f; rm ../else/f; "
	    "echo n >'%s/data/n'; rm -rf data 2>/dev/null; test -d data",
	    d.home));
	drive_release(&d);
	ATF_CHECK_EQ(0, test_sh("cd '%s' && test \"$(cat x/f home/data/f "
	    "else/f | xargs)\" = 'f f f' && test ! -e home/data/n", IN));
	START(&d);
	ATF_CHECK_STREQ("", drive_out(&d, "ls data"));
	ATF_CHECK_STREQ("n", drive_out(&d, "cat '%s/data/n'", d.home));
	ATF_CHECK_STREQ("", drive_out(&d, "ls ../else"));
	drive_release(&d);
	/* In a read-only place it is read-only too. */
	d.ro[0] = strdup(test_path("else"));
	START(&d);
	ATF_CHECK(drive_sh(&d, "touch ../else/y") != 0);
	drive_release(&d);
	drive_erase(&d);
	ATF_CHECK_EQ(0, test_sh("cd '%s' && umount proj/data home/data else",
	    IN));
	drive_end();
}

CASE(order, "a filesystem in another, one over another, and order of numbers")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	shared();
	drive_begin();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mkdir a && mount -t tmpfs t a "
	    "&& mkdir a/b && mount -t tmpfs t a/b && echo deep >a/b/f && "
	    "mkdir a/c && mount -t tmpfs t a/c && echo lost >a/c/lost && "
	    "mount -t tmpfs t a/c && echo top >a/c/top && chmod -R a+rwX a",
	    IN));
	START(&d);
	ATF_CHECK_STREQ("deep", drive_out(&d, "cat ../a/b/f"));
	ATF_CHECK_STREQ("top", drive_out(&d, "ls ../a/c"));
	ATF_CHECK_EQ(0, drive_sh(&d, "echo 1 >../a/1; echo 2 >../a/b/2; "
	    "echo 3 >../a/c/3"));
	drive_release(&d);
	/* One is gone at the next start, another one new. */
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && umount a/c a/c && mkdir a/B && "
	    "mount -t tmpfs t a/B && chmod 777 a/B", IN));
	START(&d);
	ATF_CHECK_STREQ("1", drive_out(&d, "cat ../a/1"));
	ATF_CHECK_STREQ("2", drive_out(&d, "cat ../a/b/2"));
	ATF_CHECK_STREQ("", drive_out(&d, "ls ../a/c ../a/B | grep -v : | "
	    "grep ."));
	drive_release(&d);
	drive_erase(&d);
	ATF_CHECK_EQ(0, test_sh("cd '%s' && umount a/B a/b a", IN));
	drive_end();
}

CASE(readonly, "a read-only filesystem, a file that is a mount, kernel ones")
{
	struct drive	d = { .uid = 0 };

	shared();
	drive_begin();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mkdir r p && touch file sock && "
	    "mount -t tmpfs t r && echo r >r/f && mkfifo r/pipe && "
	    "mount -o remount,ro r && mount -t proc p p && "
	    "echo one >one && mount --bind one file && mkfifo pipe && "
	    "mount --bind pipe sock", IN));
	START(&d);
	ATF_CHECK_STREQ("r", drive_out(&d, "cat ../r/f"));
	ATF_CHECK(drive_sh(&d, "touch ../r/x") != 0);
	ATF_CHECK_STREQ("one", drive_out(&d, "cat ../file"));
	ATF_CHECK(drive_sh(&d, "echo x >../file") != 0);
	/* Another filesystem's kind of node is not shown, nor is /proc's. */
	ATF_CHECK_STREQ("", drive_out(&d, "cat ../sock; ls ../p"));
	ATF_CHECK(drive_sh(&d, "touch ../p/x") != 0);
	drive_release(&d);
	drive_erase(&d);
	ATF_CHECK_EQ(0, test_sh("cd '%s' && umount r p file sock", IN));
	drive_end();
}

CASE(images, "a filesystem on a loop device")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	shared();
	drive_begin();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mkdir e tree && echo s >tree/f "
	    "&& truncate -s 16M ext && mkfs.ext4 -q ext && "
	    "mount -o loop ext e && echo e >e/f && mkdir e/d && "
	    "chmod -R a+rwX e", IN));
	START(&d);
	ATF_CHECK_STREQ("", d.notes);
	ATF_CHECK_STREQ("e", drive_out(&d, "cat ../e/f"));
	ATF_CHECK_EQ(0, drive_sh(&d, "mv ../e/d ../e/d2 && echo x >../e/f"));
	drive_release(&d);
	ATF_CHECK_EQ(0, test_sh("cd '%s' && test -d e/d && "
	    "test \"$(cat e/f)\" = e && umount e", IN));
	drive_erase(&d);
	drive_end();
}

CASE(covered, "what can carry no overlay is an empty folder, and said")
{
	struct drive	d = { .uid = 0 };

	shared();
	drive_begin();
	/* An overlay of overlays: one more is too many. */
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mkdir a b c m n u w u2 w2 && "
	    "mount -t tmpfs t u && mkdir u/u u/w u/2 u/3 && "
	    "mount -t overlay -o lowerdir=a,upperdir=u/u,workdir=u/w o m && "
	    "mount -t overlay -o lowerdir=m,upperdir=u/2,workdir=u/3 o n && "
	    "echo x >n/x && mkdir -p /var/lib/docker && "
	    "mount -t tmpfs t /var/lib/docker && echo x >/var/lib/docker/x",
	    IN));
	START(&d);
	ATF_CHECK_MSG(strstr(d.notes, "/n: not shown as it is") != NULL,
	    "%s", d.notes);
	ATF_CHECK_STREQ("", drive_out(&d, "ls ../n /var/lib/docker | "
	    "grep -v : | grep ."));
	ATF_CHECK(drive_sh(&d, "touch ../n/y") != 0);
	ATF_CHECK(drive_sh(&d, "rmdir ../n") != 0);
	/* The first overlay can have one on top. */
	ATF_CHECK_EQ(0, drive_sh(&d, "touch ../m/y"));
	drive_release(&d);
	drive_erase(&d);
	ATF_CHECK_EQ(0, test_sh("cd '%s' && umount n m u /var/lib/docker && "
	    "rmdir /var/lib/docker", IN));
	drive_end();
}

CASE(closed, "a filesystem that the user cannot enter is left out")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	shared();
	drive_begin();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mkdir -m 700 shut && "
	    "mkdir shut/in && mount -t tmpfs t shut/in && echo x >shut/in/x",
	    IN));
	START(&d);
	ATF_CHECK(drive_sh(&d, "ls ../shut/in") != 0);
	ATF_CHECK(strstr(drive_layers(&d), "shut") == NULL);
	drive_release(&d);
	drive_erase(&d);
	ATF_CHECK_EQ(0, test_sh("umount '%s/shut/in'", IN));
	drive_end();
}

CASE(run, "the folders of executables below /run that argv names")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	ATF_REQUIRE_EQ(0, test_sh("mkdir -p /run/systemd/resolve /run/sw/bin "
	    "/run/real/bin /run/other && echo ns >/run/systemd/resolve/stub "
	    "&& echo secret >/run/systemd/resolve/secret && "
	    "printf '#!/bin/sh\\necho tool\\n' >/run/real/bin/tool && "
	    "echo lib >/run/real/bin/lib && chmod 755 /run/real/bin/tool && "
	    "rmdir /run/sw/bin && ln -s ../real/bin /run/sw/bin && "
	    "ln -s /run/sw '%s/sw'", IN));
	d.argv[0] = strdup(test_path("sw/bin/tool"));
	START(&d);
	ATF_CHECK_STREQ("tool", drive_out(&d, "'%s'", d.argv[0]));
	ATF_CHECK_STREQ("tool", drive_out(&d, "/run/sw/bin/tool"));
	ATF_CHECK_STREQ("lib", drive_out(&d, "cat /run/real/bin/lib"));
	ATF_CHECK(drive_sh(&d, "touch /run/real/bin/x") != 0);
	ATF_CHECK(drive_sh(&d, "ls /run/other") != 0);
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(resolver, "/etc/resolv.conf that leads below /run is readable")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	/* Its own /etc, so that the machine's stays. */
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mkdir etc && cp -a /etc/passwd "
	    "/etc/group /etc/ld.so.cache etc && mkdir -p "
	    "/run/systemd/resolve && echo ns >/run/systemd/resolve/stub && "
	    "echo no >/run/systemd/resolve/other && "
	    "ln -s ../run/systemd/link/stub etc/resolv.conf && "
	    "ln -s resolve /run/systemd/link && mount --bind etc /etc", IN));
	drive_begin();
	START(&d);
	ATF_CHECK_STREQ("ns", drive_out(&d, "cat /etc/resolv.conf"));
	ATF_CHECK_STREQ("stub", drive_out(&d, "ls /run/systemd/resolve"));
	ATF_CHECK(drive_sh(&d, "echo x >>/etc/resolv.conf") != 0);
	drive_release(&d);
	drive_erase(&d);
	drive_end();
	ATF_CHECK_EQ(0, test_sh("umount /etc"));
}

/* A state on a filesystem that cannot do it: asked and told. */
static void
state_on(const char *how, const char *reason)
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	struct msg	msg;
	const struct m_TEXT *t;
	bool		failed = false;

	ATF_REQUIRE_EQ(0, test_sh("mkdir '%s/state' && cd '%s' && %s", IN, IN,
	    how));
	drive_begin();
	ATF_CHECK(!drive_start(&d));
	ATF_CHECK_STREQ("mount.state", d.code);
	ATF_CHECK_MSG(strstr(d.text, reason) != NULL &&
	    strstr(d.text, "SBX_STATE") != NULL, "%s", d.text);
	printf("%s\n", d.text);
	test_send(&drive_mountd, MSG_PROBE, 5, -1, NULL);
	for (;;) {
		const char *why = NULL;

		ATF_REQUIRE_EQ(1, imsg_recv(&drive_mountd.ib, &msg, 9000,
		    &why));
		ATF_CHECK_EQ(5, msg.id);
		if (msg.type == MSG_END)
			break;
		ATF_REQUIRE_EQ(MSG_TEXT, msg.type);
		t = msg.body;
		if (strcmp(t->level, "fail") == 0 &&
		    strcmp(t->what, "state") == 0)
			failed = true;
		msg_free(&msg);
	}
	msg_free(&msg);
	ATF_CHECK(failed);
	ATF_CHECK_EQ(0, test_helper_end(&drive_mountd));
	ATF_CHECK_EQ(0, test_sh("cd '%s' && test -z \"$(ls -A state/s)\" && "
	    "umount state", IN));
}

CASE(state_overlay, "A24: a state folder on an overlay")
{
	state_on("mkdir l u && mount -t tmpfs t u && mkdir u/u u/w && "
	    "mount -t overlay -o lowerdir=l,upperdir=u/u,workdir=u/w o state",
	    "RENAME_WHITEOUT");
	ATF_CHECK_EQ(0, test_sh("umount '%s/u'", IN));
}

CASE(state_ramfs, "A24: a state folder without attributes")
{
	state_on("mount -t ramfs r state && chmod 711 state",
	    "RENAME_WHITEOUT");
}

CASE(state_full, "A28: a full state filesystem is one clear line")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	ATF_REQUIRE_EQ(0, test_sh("mkdir '%s/state' && "
	    "mount -t tmpfs -o nr_inodes=14,mode=711 t '%s/state'", IN, IN));
	drive_begin();
	ATF_CHECK(!drive_start(&d));
	printf("%s: %s\n", d.code, d.text);
	ATF_CHECK(strstr(d.text, "No space left") != NULL);
	ATF_CHECK_EQ(0, test_helper_end(&drive_mountd));
	ATF_CHECK_EQ(0, test_sh("cd '%s' && test -z \"$(ls -A state/s)\" && "
	    "umount state", IN));
}

CASE(probe, "PROBE tells what works, a line each")
{
	const struct m_TEXT	*t;
	struct msg		 msg;
	int			 n = 0;

	drive_begin();
	test_send(&drive_mountd, MSG_PROBE, 6, -1, NULL);
	for (;; n++) {
		const char *why = NULL;

		ATF_REQUIRE_EQ(1, imsg_recv(&drive_mountd.ib, &msg, 9000,
		    &why));
		if (msg.type == MSG_END)
			break;
		ATF_REQUIRE_EQ(MSG_TEXT, msg.type);
		t = msg.body;
		ATF_CHECK_EQ_MSG(0, strcmp(t->level, "ok"), "%s: %s", t->what,
		    t->text);
		msg_free(&msg);
	}
	msg_free(&msg);
	ATF_CHECK_EQ(6, n);
	/* But for what is made for the next session. */
	ATF_CHECK_EQ(0, test_sh("test -z \"$(ls '%s/state/s' | "
	    "grep -v '^[.][0-9]*$')\"", IN));
	drive_end();
}

/* The next process that mountd forks dies before it has done anything. The one
 * that is made beforehand is there. */
static void
fork_watch(void)
{
	ATF_REQUIRE_EQ(0, test_sh("until pgrep -P %d >/dev/null; do "
	    "sleep 0.01; done", (int)drive_mountd.pid));
	ATF_REQUIRE_EQ(0, ptrace(PTRACE_SEIZE, drive_mountd.pid, NULL,
	    PTRACE_O_TRACEFORK | PTRACE_O_TRACECLONE));
}

static void
fork_kill(void)
{
	unsigned long	child = 0;
	pid_t		pid = drive_mountd.pid;
	int		status;

	for (;;) {
		ATF_REQUIRE_EQ(pid, waitpid(pid, &status, __WALL));
		ATF_REQUIRE(WIFSTOPPED(status));
		if (status >> 16 != 0)
			break;
		ATF_REQUIRE_EQ(0, ptrace(PTRACE_CONT, pid, NULL,
		    (long)WSTOPSIG(status)));
	}
	ATF_REQUIRE_EQ(0, ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child));
	ATF_REQUIRE_EQ((pid_t)child, waitpid((pid_t)child, &status, __WALL));
	ATF_REQUIRE_EQ(0, kill((pid_t)child, SIGKILL));
	do
		ATF_REQUIRE_EQ((pid_t)child, waitpid((pid_t)child, &status,
		    __WALL));
	while (WIFSTOPPED(status));
	ATF_REQUIRE_EQ(0, ptrace(PTRACE_DETACH, pid, NULL, NULL));
}

CASE(probe_killed, "a doctor whose process dies hears so, and the next one "
    "works")
{
	const struct m_TEXT	*t;
	struct msg		 msg;
	uint32_t		 type;

	drive_begin();
	fork_watch();
	test_send(&drive_mountd, MSG_PROBE, 6, -1, NULL);
	fork_kill();
	test_expect(&drive_mountd, MSG_TEXT, &msg);
	t = msg.body;
	ATF_CHECK_EQ(6, msg.id);
	ATF_CHECK_STREQ("fail", t->level);
	ATF_CHECK_MSG(strstr(t->text, "trying what the kernel has") != NULL &&
	    strstr(t->text, "signal 9: try again") != NULL, "%s", t->text);
	msg_free(&msg);
	test_expect(&drive_mountd, MSG_END, &msg);
	msg_free(&msg);
	test_send(&drive_mountd, MSG_PROBE, 7, -1, NULL);
	test_expect(&drive_mountd, MSG_TEXT, &msg);
	t = msg.body;
	ATF_CHECK_STREQ("ok", t->level);
	msg_free(&msg);
	for (type = 0; type != MSG_END; msg_free(&msg)) {
		const char *why = NULL;

		ATF_REQUIRE_EQ(1, imsg_recv(&drive_mountd.ib, &msg, 9000,
		    &why));
		type = msg.type;
	}
	drive_end();
}

/* A filesystem whose server says nothing: what is returned is its end. */
static int
silent(const char *point)
{
	char	opts[128], dev[64];
	FILE	*f;
	int	fd;

	ATF_REQUIRE_EQ(0, test_sh("truncate -s 64k '%s/img' && "
	    "mkdir '%s/silent' && losetup -f --show '%s/img' >'%s/loop'", IN,
	    IN, IN, IN));
	ATF_REQUIRE((f = fopen(test_path("loop"), "re")) != NULL);
	ATF_REQUIRE_EQ(1, fscanf(f, "%63s", dev));
	fclose(f);
	ATF_REQUIRE_MSG((fd = open("/dev/fuse", O_RDWR | O_CLOEXEC)) != -1,
	    "/dev/fuse: %s", strerror(errno));
	snprintf(opts, sizeof(opts), "fd=%d,rootmode=40755,user_id=0,"
	    "group_id=0,allow_other", fd);
	ATF_REQUIRE_MSG(mount(dev, point, "fuseblk", MS_NOSUID | MS_NODEV,
	    opts) == 0, "fuseblk: %s", strerror(errno));
	return (fd);
}

CASE(unanswered, "who asks a filesystem that may not answer holds nothing")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	int		fd;

	fd = silent(test_path("silent"));
	drive_begin();
	drive_namespaces(&d);
	drive_prep(&d);
	/* Until it has two, beside 0 to 2: it has a second, then is gone. */
	ATF_CHECK_EQ_MSG(0, test_sh("until [ -n \"${p:-}\" ]; do "
	    "for c in $(pgrep -P %d); do p=$(pgrep -P $c) && break; done; "
	    "done; while n=$(ls /proc/$p/fd 2>/dev/null | wc -l) && "
	    "[ $n != 0 ]; do [ $n -gt 5 ] || exit 0; last=$n; done; "
	    "echo $last; exit 1", (int)drive_mountd.pid), "it keeps more");
	drive_send_all(&d);
	ATF_REQUIRE_MSG(drive_await(&d), "%s: %s", d.code, d.text);
	ATF_CHECK_MSG(strstr(d.notes, "silent: a filesystem of type fuseblk "
	    "is not shown") != NULL, "%s", d.notes);
	drive_release(&d);
	drive_erase(&d);
	drive_end();
	close(fd);
	ATF_CHECK_EQ(0, umount2(test_path("silent"), MNT_DETACH));
	ATF_CHECK_EQ(0, test_sh("losetup -d $(cat '%s/loop')", IN));
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, submounts);
	ATF_TP_ADD_TC(tp, order);
	ATF_TP_ADD_TC(tp, readonly);
	ATF_TP_ADD_TC(tp, images);
	ATF_TP_ADD_TC(tp, covered);
	ATF_TP_ADD_TC(tp, closed);
	ATF_TP_ADD_TC(tp, run);
	ATF_TP_ADD_TC(tp, resolver);
	ATF_TP_ADD_TC(tp, state_overlay);
	ATF_TP_ADD_TC(tp, state_ramfs);
	ATF_TP_ADD_TC(tp, state_full);
	ATF_TP_ADD_TC(tp, probe);
	ATF_TP_ADD_TC(tp, probe_killed);
	ATF_TP_ADD_TC(tp, unanswered);
	return (atf_no_error());
}
