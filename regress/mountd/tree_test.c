/*
 * A session's tree: what is in it, whose it is, and that the host's own stays
 * as it was.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "drive.h"

CASE(writes, "every write lands in the layer, as the user and as root")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	struct drive	r = { .id = "rootrootroot" };

	drive_begin();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && echo a >proj/a && "
	    "mkdir proj/sub && echo b >proj/sub/b && echo h >home/h && "
	    "chown -R 1001:1001 proj home && "
	    "find proj home -printf '%%p %%m %%u %%s %%T@ %%C@\\n' | sort "
	    ">before", test_scratch()));
	START(&d);
	ATF_CHECK_STREQ("", d.notes);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo more >>a; echo new >sub/new; "
	    "rm sub/b; echo x >>'%s/h'; mv sub sub2", d.home));
	ATF_CHECK_STREQ("a\nmore", drive_out(&d, "cat a"));
	ATF_CHECK_STREQ("new", drive_out(&d, "ls sub2"));
	ATF_CHECK_STREQ("1001 1001", drive_out(&d, "stat -c '%%u %%g' a"));
	/* No right is more than the user's outside. */
	ATF_CHECK(drive_sh(&d, "echo x >/etc/passwd") != 0);
	ATF_CHECK(drive_sh(&d, "cat /etc/shadow") != 0);
	drive_release(&d);
	START(&r);
	ATF_CHECK_EQ(0, drive_sh(&r, "echo x >>/etc/passwd && "
	    "rm /etc/shadow && mkdir /newdir && rm -rf /usr/share/doc"));
	ATF_CHECK_EQ(0, drive_sh(&r, "test ! -e /etc/shadow && "
	    "grep -q '^x$' /etc/passwd && test ! -e /usr/share/doc"));
	drive_release(&r);
	ATF_CHECK_EQ(0, test_sh("cd '%s' && "
	    "find proj home -printf '%%p %%m %%u %%s %%T@ %%C@\\n' | sort "
	    "| cmp - before && test -e /etc/shadow && test ! -e /newdir && "
	    "! grep -q '^x$' /etc/passwd", test_scratch()));
	drive_erase(&d);
	drive_erase(&r);
	drive_end();
}

CASE(again, "a second start has the same layer; its numbers stay")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	char		layers[8192];

	drive_begin();
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo kept >kept; echo k >'%s/kept'",
	    d.home));
	drive_release(&d);
	strlcpy(layers, drive_layers(&d), sizeof(layers));
	ATF_CHECK(strncmp(layers, "/\n", 2) == 0);
	ATF_CHECK(strstr(layers, d.project) != NULL);
	START(&d);
	ATF_CHECK_STREQ("kept", drive_out(&d, "cat kept"));
	ATF_CHECK_STREQ("k", drive_out(&d, "cat '%s/kept'", d.home));
	drive_release(&d);
	ATF_CHECK_STREQ(layers, drive_layers(&d));
	drive_erase(&d);
	drive_end();
}

CASE(fresh, "/dev, /run, /sys and /tmp are the session's own")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	ATF_REQUIRE_EQ(0, test_sh("touch /tmp/sbx-mnt-host /run/host"));
	START(&d);
	ATF_CHECK_STREQ("fd full null ptmx pts random shm stderr stdin "
	    "stdout tty urandom zero", drive_out(&d, "echo $(ls /dev)"));
	ATF_CHECK_STREQ("crw-rw-rw- 0 0", drive_out(&d,
	    "stat -c '%%A %%u %%g' /dev/null"));
	ATF_CHECK_EQ(0, drive_sh(&d, "echo x >/dev/null && "
	    "head -c 4 /dev/zero | od -An -tx1 | grep -q '00 00 00 00' && "
	    "head -c 1 /dev/urandom >/dev/null && "
	    "! (echo x >/dev/full) 2>/dev/null"));
	ATF_CHECK(drive_sh(&d, "touch /dev/x") != 0);
	ATF_CHECK_STREQ("ptmx", drive_out(&d, "ls /dev/pts"));
	ATF_CHECK_STREQ("666 0 0", drive_out(&d,
	    "stat -Lc '%%a %%u %%g' /dev/ptmx"));
	ATF_CHECK_STREQ("1777", drive_out(&d, "stat -c %%a /dev/shm"));
	ATF_CHECK_STREQ("", drive_out(&d, "ls -A /tmp"));
	ATF_CHECK_STREQ("1777 0", drive_out(&d, "stat -c '%%a %%u' /tmp"));
	ATF_CHECK_EQ(0, drive_sh(&d, "echo x >/tmp/x && echo x >/dev/shm/x"));
	ATF_CHECK_STREQ("lock user", drive_out(&d, "echo $(ls /run)"));
	ATF_CHECK_STREQ("700 1001 1001", drive_out(&d,
	    "stat -c '%%a %%u %%g' /run/user/1001"));
	ATF_CHECK_EQ(0, drive_sh(&d, "test -d /sys/class && "
	    "test -z \"$(ls -A /sys/firmware /sys/fs/cgroup | grep -v :)\""));
	ATF_CHECK(drive_sh(&d, "touch /sys/x") != 0);
	drive_release(&d);
	ATF_CHECK_EQ(0, test_sh("test -e /tmp/sbx-mnt-host && "
	    "test ! -e /tmp/x && rm /tmp/sbx-mnt-host"));
	drive_erase(&d);
	drive_end();
}

CASE(proc, "/proc shows the session only, and lets root do nothing with it")
{
	struct drive	d = { .uid = 0 };
	static const char *const	covered[] = {
		"kcore", "keys", "kallsyms", "slabinfo", "vmallocinfo",
		"timer_list", "iomem", "pagetypeinfo", "kpagecount"
	};
	size_t		i;

	drive_begin();
	START(&d);
	ATF_CHECK_STREQ("1", drive_out(&d, "ls /proc | grep -c '^1$'"));
	ATF_CHECK(atoi(drive_out(&d, "ls -d /proc/[0-9]* | wc -l")) < 6);
	for (i = 0; i < sizeof(covered) / sizeof(covered[0]); i++)
		ATF_CHECK_EQ_MSG(0, drive_sh(&d, "test ! -s /proc/%s && "
		    "test -z \"$(cat /proc/%s)\"", covered[i], covered[i]),
		    "%s", covered[i]);
	/* A zero is what it says already, if the write got through. */
	ATF_CHECK(drive_sh(&d, "cat /proc/sys/vm/swappiness "
	    ">/proc/sys/vm/swappiness") != 0);
	ATF_CHECK(drive_sh(&d, "echo h >/proc/sysrq-trigger") != 0);
	ATF_CHECK(drive_sh(&d, "cat /proc/irq/default_smp_affinity "
	    ">/proc/irq/default_smp_affinity") != 0);
	/* Nothing outside the processes' own folders can be written to. */
	ATF_CHECK_STREQ("", drive_out(&d, "find /proc -maxdepth 3 "
	    "\\( -path '/proc/[0-9]*' -o -path '/proc/*self' \\) -prune -o "
	    "-type f -perm /222 -print | while read -r f; do "
	    "(: <>\"$f\") 2>/dev/null && echo \"$f\"; done"));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(clones, "the clones show the overlays, whole and without submounts")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo p >p; echo h >'%s/h'", d.home));
	ATF_CHECK_STREQ("p\n", drive_read(d.clone[0], "p"));
	ATF_CHECK_STREQ("h\n", drive_read(d.clone[1], "h"));
	ATF_CHECK(drive_read(d.clone[2], "etc/passwd") != NULL);
	/* Its own folders are no part of the root's overlay. */
	ATF_CHECK(drive_read(d.clone[2], "proc/1/status") == NULL);
	/* The project as MOUNTED names it is the real one. */
	struct stat st;
	ATF_REQUIRE_EQ(0, stat(d.project, &st));
	ATF_CHECK_EQ(st.st_dev, d.dev[0]);
	ATF_CHECK_EQ(st.st_ino, d.ino[0]);
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(state, "the suite's state is not there, wherever it lies")
{
	struct drive	d = { .uid = 0 };
	char		path[512];

	drive_begin();
	/* A5: the state lies in home, and in the project. */
	d.home = d.project = strdup(test_scratch());
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "test ! -e state && test -d proj && "
	    "echo x >x && ! ls | grep -q state"));
	/* Made by the session, it is the session's. */
	ATF_CHECK_EQ(0, drive_sh(&d, "mkdir state && echo own >state/s"));
	ATF_CHECK_EQ(-1, faccessat(d.clone[0], "state/landd", F_OK, 0));
	snprintf(path, sizeof(path), "%s/state", test_scratch() + 1);
	ATF_CHECK_EQ(-1, faccessat(d.clone[2], path, F_OK, 0));
	drive_release(&d);
	ATF_CHECK_EQ(0, test_sh("test ! -e '%s/x' && test -d '%s/state/s'",
	    test_scratch(), test_scratch()));
	START(&d);
	ATF_CHECK_STREQ("own", drive_out(&d, "cat state/s"));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(one, "home in the project, and home that is the project, are one layer")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	char		 sub[PATH_MAX];

	drive_begin();
	strlcpy(sub, test_path("proj/me"), sizeof(sub));
	ATF_REQUIRE_EQ(0, mkdir(sub, 0755));
	ATF_REQUIRE_EQ(0, chown(sub, 1001, 1001));
	d.home = sub;
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo x >me/x"));
	ATF_CHECK_STREQ("x\n", drive_read(d.clone[0], "me/x"));
	ATF_CHECK_STREQ("x\n", drive_read(d.clone[1], "me/x"));
	drive_release(&d);
	drive_erase(&d);
	d.home = d.project;
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo x >x"));
	ATF_CHECK_STREQ("x\n", drive_read(d.clone[0], "x"));
	ATF_CHECK_STREQ("x\n", drive_read(d.clone[1], "x"));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(modes, "A33: a project of mode 0555 below folders of mode 0555")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	char		 sub[PATH_MAX];

	drive_begin();
	strlcpy(sub, test_path("deep/er/proj"), sizeof(sub));
	ATF_REQUIRE_EQ(0, test_sh("mkdir -p '%s/none' && cd '%s' && "
	    "echo f >f && chown -R 1001:1001 . && chmod 000 none && "
	    "chmod 555 . .. ../..", sub, sub));
	d.project = sub;
	START(&d);
	ATF_CHECK_STREQ("555", drive_out(&d, "stat -c %%a ."));
	ATF_CHECK_STREQ("0", drive_out(&d, "stat -c %%a none"));
	ATF_CHECK(drive_sh(&d, "touch new") != 0);
	ATF_CHECK(drive_sh(&d, "ls none") != 0);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo more >>f && chmod 755 . && "
	    "touch new && chmod 700 none && ls none"));
	ATF_CHECK_STREQ("644 1001", drive_out(&d, "stat -c '%%a %%u' f"));
	drive_release(&d);
	ATF_CHECK_EQ(0, test_sh("cd '%s' && "
	    "test \"$(stat -c %%a . none | xargs)\" = '555 0' && "
	    "test \"$(cat f)\" = f && test ! -e new", sub));
	drive_erase(&d);
	drive_end();
}

CASE(names, "folders with comma, colon, backslash, newline, 255 bytes")
{
	struct drive	 d = { .uid = 1001, .gid = 1001 };
	char		 odd[PATH_MAX], home[PATH_MAX + 8], longest[256];
	static const char *const	names[] = {
		"a,b", "a:b", "a\\b\\,c", "a\nb", " lead", "-rf", "a%sb",
		"\xff\xfe", "upperdir=x,lowerdir+=y"
	};
	size_t		 i;

	drive_begin();
	memset(longest, 'x', 255);
	longest[255] = '\0';
	for (i = 0; i <= sizeof(names) / sizeof(names[0]); i++) {
		const char *n = i < sizeof(names) / sizeof(names[0]) ?
		    names[i] : longest;

		snprintf(odd, sizeof(odd), "%s/%s", test_scratch(), n);
		ATF_REQUIRE_EQ(0, mkdir(odd, 0755));
		ATF_REQUIRE_EQ(0, chown(odd, 1001, 1001));
		snprintf(home, sizeof(home), "%s/home", odd);
		ATF_REQUIRE_EQ(0, mkdir(home, 0755));
		ATF_REQUIRE_EQ(0, chown(home, 1001, 1001));
		d.project = odd;
		d.home = i % 2 == 0 ? home : NULL;
		START(&d);
		ATF_CHECK_EQ(0, drive_sh(&d, "echo x >file && mv file g"));
		drive_release(&d);
		ATF_CHECK_EQ(0, rmdir(home));
		ATF_CHECK_EQ_MSG(0, rmdir(odd), "%s: %s", odd,
		    strerror(errno));
		drive_erase(&d);
	}
	drive_end();
}

CASE(moves, "A7 A9: renames of real folders, POSIX's errors")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/proj' && mkdir -p src/in d && "
	    "echo 1 >src/in/f && echo 2 >d/g && chown -R 1001:1001 .",
	    test_scratch()));
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "perl -e '"
	    "rename(\"src\", \"src2\") or die $!; "
	    "rename(\"src2/in\", \"in\") or die $!; '"));
	ATF_CHECK_STREQ("1", drive_out(&d, "cat in/f"));
	ATF_CHECK_EQ(0, drive_sh(&d, "mkdir e && touch e/x && perl -e '"
	    "use Errno qw(ENOTEMPTY EEXIST); rename(\"d\", \"e\") and die; "
	    "die $! unless $! == ENOTEMPTY || $! == EEXIST'"));
	ATF_CHECK_STREQ("", drive_out(&d, "rm -rf d; ls d 2>/dev/null; "
	    "mkdir d; ls d"));
	drive_release(&d);
	START(&d);
	ATF_CHECK_STREQ("d e in src2", drive_out(&d, "echo $(ls)"));
	ATF_CHECK_STREQ("", drive_out(&d, "ls d src2 | grep -v :"));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(tmp, "home and project below /tmp, of which the rest is not shown")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	char		base[] = "/tmp/sbx-mnt-test.XXXXXX", p[PATH_MAX];
	char		h[PATH_MAX];

	drive_begin();
	ATF_REQUIRE(mkdtemp(base) != NULL);
	snprintf(p, sizeof(p), "%s/up/proj", base);
	snprintf(h, sizeof(h), "%s/home", base);
	ATF_REQUIRE_EQ(0, test_sh("mkdir -p '%s' '%s' && chmod 751 '%s' && "
	    "echo s >'%s/secret' && echo x >'%s/x' && "
	    "chown -R 1001:1001 '%s' '%s' && chown 7:8 '%s/up'", p, h, base,
	    base, p, p, h, base));
	d.project = p;
	d.home = h;
	START(&d);
	ATF_CHECK_STREQ("x", drive_out(&d, "cat '%s/x'", p));
	ATF_CHECK_EQ(0, drive_sh(&d, "echo y >'%s/x'", p));
	ATF_CHECK(drive_sh(&d, "test -e '%s/secret'", base) != 0);
	ATF_CHECK_STREQ("751 0 0", drive_out(&d,
	    "stat -c '%%a %%u %%g' '%s'", base));
	ATF_CHECK_STREQ("7 8", drive_out(&d,
	    "stat -c '%%u %%g' '%s/up'", base));
	drive_release(&d);
	ATF_CHECK_EQ(0, test_sh("test \"$(cat '%s/x')\" = x && "
	    "rm -rf '%s'", p, base));
	drive_erase(&d);
	drive_end();
}

CASE(rest, "an ordinary user's home is /, and a root session's")
{
	struct drive	d = { .uid = 1001, .gid = 1001, .home = "/" };

	drive_begin();
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo x >x && test -r /etc/passwd"));
	ATF_CHECK(drive_read(d.clone[1], "etc/passwd") != NULL);
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, writes);
	ATF_TP_ADD_TC(tp, again);
	ATF_TP_ADD_TC(tp, fresh);
	ATF_TP_ADD_TC(tp, proc);
	ATF_TP_ADD_TC(tp, clones);
	ATF_TP_ADD_TC(tp, state);
	ATF_TP_ADD_TC(tp, one);
	ATF_TP_ADD_TC(tp, modes);
	ATF_TP_ADD_TC(tp, names);
	ATF_TP_ADD_TC(tp, moves);
	ATF_TP_ADD_TC(tp, tmp);
	ATF_TP_ADD_TC(tp, rest);
	return (atf_no_error());
}
