/*
 * Hidden and read-only paths.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "drive.h"

static const char *
keep(const char *path)
{
	char	*s = strdup(path);

	ATF_REQUIRE(s != NULL);
	return (s);
}
#define P(...)	keep(test_path(__VA_ARGS__))

/* home/.ssh with a key, a file, and the same in the project. */
static void
secrets(void)
{
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && for d in home proj; do "
	    "mkdir -p $d/.ssh/deep $d/conf/in && echo KEY >$d/.ssh/id && "
	    "echo KEY >$d/.ssh/deep/id && echo KEY >$d/conf/in/skey && "
	    "echo open >$d/conf/in/open && echo KEY >$d/.token; done && "
	    "chown -R 1001:1001 home proj && "
	    "touch -d '2001-02-03 04:05:06' proj/conf/in proj/conf",
	    test_scratch()));
}

/* Not one byte of a secret is to be found anywhere inside. */
static void
no_secret(struct drive *d)
{
	ATF_CHECK_STREQ("", drive_out(d, "grep -rl '^KEY' '%s' 2>/dev/null",
	    test_scratch()));
	ATF_CHECK_EQ(0, test_sh("! grep -rl '^KEY' /proc/self/fd/%d/ "
	    "/proc/self/fd/%d/ /proc/self/fd/%d%s 2>/dev/null | grep .",
	    d->clone[0], d->clone[1], d->clone[2], test_scratch()));
}

CASE(hidden, "B42: folder and file are empty, read-only, unremovable")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	secrets();
	d.hide[0] = P("home/.ssh");
	d.hide[1] = P("home/.token");
	d.hide[2] = P("proj/conf/in/skey");
	d.hide[3] = P("proj/.ssh");
	d.hide[4] = P("proj/.token");
	d.hide[5] = P("home/conf/in/skey");
	START(&d);
	ATF_CHECK_STREQ("", d.notes);
	ATF_CHECK_STREQ("", drive_out(&d, "ls -A '%s/.ssh'", d.home));
	ATF_CHECK_STREQ("0", drive_out(&d, "stat -c %%s '%s/.token'",
	    d.home));
	ATF_CHECK_STREQ("555 0 444 0", drive_out(&d, "cd '%s' && "
	    "echo $(stat -c '%%a %%u' .ssh .token)", d.home));
	ATF_CHECK(drive_sh(&d, "touch '%s/.ssh/x'", d.home) != 0);
	ATF_CHECK(drive_sh(&d, "chmod 777 '%s/.ssh'", d.home) != 0);
	ATF_CHECK(drive_sh(&d, "rm -rf '%s/.ssh'", d.home) != 0);
	ATF_CHECK(drive_sh(&d, "mv '%s/.token' t", d.home) != 0);
	ATF_CHECK(drive_sh(&d, "echo x >>conf/in/skey") != 0);
	ATF_CHECK_STREQ("open", drive_out(&d, "cat conf/in/open"));
	/* What is above looks as it does outside. */
	ATF_CHECK_STREQ("2001-02-03 04:05:06", drive_out(&d,
	    "TZ=UTC date -d @$(stat -c %%Y conf/in) '+%%F %%T'"));
	no_secret(&d);
	/* Through renames of what it lies in, now and at the next start. */
	ATF_CHECK_EQ(0, drive_sh(&d, "mv conf conf2"));
	no_secret(&d);
	drive_release(&d);
	START(&d);
	ATF_CHECK_STREQ("open", drive_out(&d, "cat conf2/in/open"));
	ATF_CHECK_STREQ("", drive_out(&d, "cat conf2/in/skey"));
	no_secret(&d);
	drive_release(&d);
	ATF_CHECK_EQ(0, test_sh("cd '%s' && test $(grep -rl KEY home proj | "
	    "wc -l) = 8 && test -d proj/conf", test_scratch()));
	drive_erase(&d);
	drive_end();
}

/* An access list with one more user, as the kernel keeps it. */
static const unsigned char	acl[] = {
	2, 0, 0, 0,
	0x01, 0, 7, 0, 0xff, 0xff, 0xff, 0xff,		/* owner rwx */
	0x02, 0, 5, 0, 0xd2, 0x04, 0, 0,		/* 1234 r-x */
	0x04, 0, 5, 0, 0xff, 0xff, 0xff, 0xff,		/* group r-x */
	0x10, 0, 5, 0, 0xff, 0xff, 0xff, 0xff,		/* mask */
	0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,		/* others none */
};

CASE(attributes, "what is above a hidden path carries what the real one does")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	const char	*names[] = {
		"system.posix_acl_access", "system.posix_acl_default"
	};
	char		path[64], value[256];
	size_t		i;

	drive_begin();
	secrets();
	for (i = 0; i < 2; i++)
		ATF_REQUIRE_EQ(0, setxattr(test_path("proj/conf"), names[i],
		    acl, sizeof(acl), 0));
	ATF_REQUIRE_EQ(0, setxattr(test_path("proj/conf"), "user.note",
	    "hello", 5, 0));
	ATF_REQUIRE_EQ(0, setxattr(test_path("proj"), "user.top", "t", 1, 0));
	d.hide[0] = P("proj/conf/in/skey");
	START(&d);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/conf", d.clone[0]);
	for (i = 0; i < 2; i++) {
		ATF_CHECK_EQ((ssize_t)sizeof(acl), getxattr(path, names[i],
		    value, sizeof(value)));
		ATF_CHECK_EQ(0, memcmp(acl, value, sizeof(acl)));
	}
	ATF_CHECK_EQ(5, getxattr(path, "user.note", value, sizeof(value)));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", d.clone[0]);
	ATF_CHECK_EQ(1, getxattr(path, "user.top", value, sizeof(value)));
	/* And a file that is made in there inherits. */
	ATF_CHECK_EQ(0, drive_sh(&d, "touch conf/new"));
	snprintf(path, sizeof(path), "/proc/self/fd/%d/conf/new", d.clone[0]);
	ATF_CHECK(getxattr(path, names[0], value, sizeof(value)) > 0);
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(root, "the same for root, whose own the files are")
{
	struct drive	d = { .uid = 0 };

	drive_begin();
	secrets();
	d.hide[0] = P("home/.ssh");
	d.hide[1] = P("home/.token");
	d.hide[2] = P("proj/conf/in/skey");
	d.hide[3] = P("proj/.ssh");
	d.hide[4] = P("proj/.token");
	d.hide[5] = P("home/conf/in/skey");
	ATF_REQUIRE_EQ(0, test_sh("chown -R 0:0 '%s/home' '%s/proj'",
	    test_scratch(), test_scratch()));
	START(&d);
	ATF_CHECK(drive_sh(&d, "touch '%s/.ssh/x'", d.home) != 0);
	ATF_CHECK(drive_sh(&d, "umount '%s/.ssh'", d.home) != 0);
	no_secret(&d);
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(absent, "B37 B39: what does not exist stays hidden when it comes")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	secrets();
	d.hide[0] = P("home/.ssh2");
	d.hide[1] = P("home/a/b/c");
	d.hide[2] = P("proj/not/there");
	d.hide[3] = P("proj/conf/new");
	d.hide[4] = "/nowhere/at/all";
	d.hide[5] = P("home/.token/below/a/file");
	START(&d);
	ATF_CHECK_STREQ("", d.notes);
	ATF_CHECK_EQ(0, test_sh("cd '%s' && mkdir -p home/.ssh2 home/a/b/c "
	    "proj/not/there && echo SEC >home/.ssh2/k && "
	    "echo SEC >home/a/b/c/k && echo SEC >proj/not/there/k && "
	    "echo SEC >proj/conf/new && chown -R 1001:1001 home proj",
	    test_scratch()));
	ATF_CHECK_STREQ("", drive_out(&d, "cd '%s' && "
	    "cat home/.ssh2/k home/a/b/c/k proj/not/there/k proj/conf/new "
	    "2>/dev/null; ls -d home/.ssh2 home/a proj/not proj/conf/new "
	    "2>/dev/null", test_scratch()));
	/* Made inside it is the session's own, and covered from the next
	 * start on. */
	ATF_CHECK_EQ(0, drive_sh(&d, "mkdir -p '%s/.ssh2' && "
	    "echo mine >'%s/.ssh2/k'", d.home, d.home));
	drive_release(&d);
	ATF_CHECK_STREQ("SEC", test_sh("grep -q SEC '%s/home/.ssh2/k'",
	    test_scratch()) == 0 ? "SEC" : "lost");
	START(&d);
	ATF_CHECK_STREQ("", drive_out(&d, "cat '%s/.ssh2/k' 2>/dev/null",
	    d.home));
	ATF_CHECK(drive_sh(&d, "touch '%s/.ssh2/new'", d.home) != 0);
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(untouched, "B37 B38: nothing is made on the host for a hidden path")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	int		i;

	drive_begin();
	for (i = 0; i < DRIVE_LIST - 1; i++)
		d.hide[i] = P(i % 2 == 0 ? "home/.rc%d" : "proj/a/b%d/c", i);
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && find home proj -printf "
	    "'%%p %%T@ %%C@\\n' >before", test_scratch()));
	START(&d);
	drive_release(&d);
	START(&d);
	drive_kill(&d);
	ATF_CHECK_EQ(0, test_helper_end(&drive_mountd));
	ATF_CHECK_EQ(0, test_sh("cd '%s' && find home proj -printf "
	    "'%%p %%T@ %%C@\\n' | cmp - before", test_scratch()));
	test_clean_check();
}

CASE(nested, "B41 H215: inside one another, in any order; hidden wins")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	secrets();
	d.hide[0] = P("home/.ssh/deep");
	d.hide[1] = P("home/.ssh");
	d.hide[2] = P("home/.ssh/deep/id");
	d.hide[3] = P("home/.ssh/none/at/all");
	d.hide[4] = P("proj/conf");
	d.hide[5] = P("proj/conf/in/skey");
	d.ro[0] = P("home/.ssh/deep");
	d.ro[1] = P("proj/conf");
	d.ro[2] = P("proj/conf/in");
	START(&d);
	ATF_CHECK(strstr(d.notes, "it is hidden") != NULL);
	ATF_CHECK_STREQ("", drive_out(&d, "ls -A '%s/.ssh'; ls -A conf",
	    d.home));
	ATF_CHECK_STREQ("", drive_out(&d, "cat '%s/.ssh/id' "
	    "'%s/.ssh/deep/id' conf/in/skey conf/in/open 2>/dev/null",
	    d.home, d.home));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(links, "B43: names that are links, dangling ones, below a link")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	secrets();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/home' && mkdir dot real && "
	    "echo KEY >dot/bashrc && echo KEY >real/r && "
	    "ln -s dot/bashrc .bashrc && ln -s nothing/here .dangling && "
	    "ln -s real .agents && ln -s .agents .agents2 && "
	    "ln -s '%s/home/dot' abs && chown -Rh 1001:1001 .",
	    test_scratch(), test_scratch()));
	d.hide[0] = P("home/.bashrc");
	d.hide[1] = P("home/.dangling");
	d.hide[2] = P("home/.agents2");
	d.hide[3] = P("home/abs/bashrc");
	d.hide[4] = P("home/.ssh");
	d.hide[5] = P("home/.token");
	d.hide[6] = P("home/conf");
	d.hide[7] = P("proj/.ssh");
	d.hide[8] = P("proj/.token");
	d.hide[9] = P("proj/conf");
	START(&d);
	no_secret(&d);
	ATF_CHECK_STREQ("", drive_out(&d, "cd '%s'; readlink .bashrc "
	    ".dangling .agents2; cat .bashrc dot/bashrc real/r .agents/r "
	    ".agents2/r 2>/dev/null", d.home));
	/* The dangling one's target comes later. */
	ATF_CHECK_EQ(0, test_sh("mkdir -p '%s/nothing' && "
	    "echo KEY >'%s/nothing/here'", d.home, d.home));
	ATF_CHECK_STREQ("", drive_out(&d, "cat '%s/nothing/here' "
	    "2>/dev/null", d.home));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(elsewhere, "the same folder in another mount of its filesystem")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	/* The host's mounts are seen by mountd as they come. */
	ATF_REQUIRE_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL));
	drive_begin();
	secrets();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mkdir all part file && "
	    "touch file/f && mount --bind home all && "
	    "mount --bind home/.ssh/deep part && "
	    "mount --bind home/.token file/f", test_scratch()));
	d.hide[0] = P("home/.ssh");
	d.hide[1] = P("home/.token");
	d.hide[2] = P("home/conf/in/skey");
	d.hide[3] = P("proj/.ssh");
	d.hide[4] = P("proj/.token");
	d.hide[5] = P("proj/conf/in/skey");
	START(&d);
	ATF_CHECK(strstr(d.hidden, "/all/.ssh\n") != NULL);
	ATF_CHECK(strstr(d.hidden, "/part\n") != NULL);
	ATF_CHECK(strstr(d.hidden, "/file/f\n") != NULL);
	ATF_CHECK_STREQ("open", drive_out(&d, "cat ../all/conf/in/open"));
	no_secret(&d);
	drive_release(&d);
	drive_erase(&d);
	ATF_CHECK_EQ(0, test_sh("cd '%s' && umount all part file/f",
	    test_scratch()));
	drive_end();
}

CASE(refused, "a hidden path that is, or contains, home or the project")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	const char	*bad[] = {
		P("proj"), P("home"), test_scratch(), "/", P("link")
	};
	size_t		 i;

	drive_begin();
	ATF_REQUIRE_EQ(0, symlink(test_path("proj"), test_path("link")));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		d.hide[0] = bad[i];
		ATF_CHECK(!drive_start(&d));
		ATF_CHECK_EQ_MSG(0, strcmp("mount.hide", d.code), "%s: %s",
		    d.code, d.text);
		ATF_CHECK_EQ(-1, access(test_path("state/s/%s", d.id), F_OK));
	}
	d.hide[0] = "relative";
	ATF_CHECK(!drive_start(&d));
	ATF_CHECK_STREQ("mount.hide", d.code);
	drive_end();
}

CASE(readonly, "read-only paths: a folder, a file, missing, in the project")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	secrets();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mkdir other other/sub && "
	    "echo o >other/sub/f && mkfifo other/pipe && chmod 777 other "
	    "other/pipe && mkdir secret && chmod 700 secret && "
	    "echo gitc >home/.gitconfig && chown -R 1001:1001 home other",
	    test_scratch()));
	d.ro[0] = P("other");
	d.ro[1] = P("home/.gitconfig");
	d.ro[2] = P("missing");
	d.ro[3] = P("proj/conf");
	d.ro[4] = P("proj");
	d.ro[5] = test_scratch();
	d.ro[6] = P("secret");
	d.ro[7] = "/proc";
	d.hide[0] = P("other/sub/later");
	d.hide[1] = P("proj/conf/in/skey");
	START(&d);
	ATF_CHECK(strstr(d.notes, "proj is ignored: it is, or contains") !=
	    NULL);
	ATF_CHECK(strstr(d.notes, "/proc is ignored") != NULL);
	ATF_CHECK(strstr(d.notes, "missing") == NULL);
	ATF_CHECK_STREQ("o", drive_out(&d, "cat ../other/sub/f"));
	ATF_CHECK(drive_sh(&d, "echo x >>../other/sub/f") != 0);
	ATF_CHECK(drive_sh(&d, "touch ../other/new") != 0);
	ATF_CHECK(drive_sh(&d, "echo x >>'%s/.gitconfig'", d.home) != 0);
	ATF_CHECK_STREQ("gitc", drive_out(&d, "cat '%s/.gitconfig'", d.home));
	ATF_CHECK(drive_sh(&d, "rm conf/in/open") != 0);
	ATF_CHECK(drive_sh(&d, "mv conf c2") != 0);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo x >x"));
	/* A reader of the host's FIFO hears nothing from inside. */
	ATF_CHECK_EQ(0, test_sh("timeout 2 cat '%s/other/pipe' "
	    ">'%s/heard' & sleep 0.2", test_scratch(), test_scratch()));
	ATF_CHECK(drive_sh(&d, "timeout 1 sh -c 'echo in >../other/pipe'") !=
	    0);
	ATF_CHECK_EQ(0, test_sh("test ! -s '%s/heard'", test_scratch()));
	/* Hidden in what is read-only: absent when it comes. */
	ATF_CHECK_EQ(0, test_sh("echo KEY >'%s/other/sub/later'",
	    test_scratch()));
	ATF_CHECK(drive_sh(&d, "cat ../other/sub/later") != 0);
	ATF_CHECK_STREQ("", drive_out(&d, "cat conf/in/skey"));
	drive_release(&d);
	ATF_CHECK_EQ(0, test_sh("sleep 2"));
	drive_erase(&d);
	drive_end();
}

CASE(gone, "B44: links that an earlier run left are data")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mkdir canary proj/x && "
	    "chown 1001:1001 proj/x && mkdir proj/rodir", test_scratch()));
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "rm -rf x rodir && "
	    "ln -s '%s/canary' x && ln -s ../canary rodir && "
	    "ln -s /proc/self/root y", test_scratch()));
	drive_release(&d);
	d.hide[0] = P("proj/x/y");
	d.hide[1] = P("proj/y/z");
	d.ro[0] = P("proj/rodir");
	START(&d);
	ATF_CHECK(strstr(d.notes, "rodir: not shown") != NULL);
	ATF_CHECK_STREQ("", drive_out(&d, "ls ../canary"));
	drive_release(&d);
	ATF_CHECK_EQ(0, test_sh("test -z \"$(ls '%s/canary')\" && "
	    "test -d '%s/proj/x' && test ! -L '%s/proj/x'", test_scratch(),
	    test_scratch(), test_scratch()));
	drive_erase(&d);
	drive_end();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, hidden);
	ATF_TP_ADD_TC(tp, attributes);
	ATF_TP_ADD_TC(tp, root);
	ATF_TP_ADD_TC(tp, absent);
	ATF_TP_ADD_TC(tp, untouched);
	ATF_TP_ADD_TC(tp, nested);
	ATF_TP_ADD_TC(tp, links);
	ATF_TP_ADD_TC(tp, elsewhere);
	ATF_TP_ADD_TC(tp, refused);
	ATF_TP_ADD_TC(tp, readonly);
	ATF_TP_ADD_TC(tp, gone);
	return (atf_no_error());
}
