/*
 * The change set, kind by kind, on a real overlay.
 */
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "landd/walk.h"
#include "review_lib.h"

ATF_TC_WITHOUT_HEAD(kinds);
ATF_TC_BODY(kinds, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/keep", "keep\n");
	review_file(&r, "R/mod", "one\ntwo\n");
	review_file(&r, "R/gone", "gone\n");
	review_file(&r, "R/exec", "#!/bin/sh\n");
	review_file(&r, "R/touched", "same\n");
	review_file(&r, "R/old name", "moved bytes\n");
	review_file(&r, "R/f2l", "a file\n");
	review_link(&r, "R/l2f", "keep");
	review_link(&r, "R/link", "keep");
	review_file(&r, "R/f2d", "was a file\n");
	review_file(&r, "R/d2f/x", "x\n");
	review_file(&r, "R/d2f/y", "y\n");
	review_file(&r, "R/full/x", "x in full\n");
	review_start(&r);
	review_sh(&r, "cd V; echo three >>mod; rm gone; chmod +x exec; "
	    "touch touched; mv 'old name' 'new name'; "
	    "rm f2l; ln -s keep f2l; rm l2f; echo file >l2f; "
	    "ln -sf gone link; rm f2d; mkdir f2d; echo in >f2d/in; "
	    "rm -r d2f; echo file >d2f; rm -r full; : >empty; "
	    "mkdir -p new/deep; echo new >new/deep/file");
	review_is(&r,
	    "added 0 100644 d2f\n"
	    "deleted 100644 0 d2f/x\n"
	    "deleted 100644 0 d2f/y\n"
	    "added 0 100644 empty\n"
	    "mode 100644 100755 exec\n"
	    "deleted 100644 0 f2d\n"
	    "added 0 100644 f2d/in\n"
	    "type 100644 120777 f2l\n"
	    "deleted 100644 0 full/x\n"
	    "deleted 100644 0 gone\n"
	    "type 120777 100644 l2f\n"
	    "modified 120777 120777 link\n"
	    "modified 100644 100644 mod\n"
	    "renamed 100644 100644 old name -> new name\n"
	    "added 0 100644 new/deep/file\n");
	review_free(&r);
}

/* A34: what is only touched is none, a chmod is no content. Nor does a review
 * touch anything: the times of what it reads stay. */
ATF_TC_WITHOUT_HEAD(nothing);
ATF_TC_BODY(nothing, tc)
{
	struct review	r;
	struct timespec	old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
	struct stat	st;
	char		path[PATH_MAX];

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_file(&r, "R/d/b", "b\n");
	review_link(&r, "R/l", "a");
	review_start(&r);
	review_is(&r, "");
	ATF_REQUIRE_EQ(r.set.patchsize, 0);
	review_sh(&r, "cd V; touch a d d/b; touch -h l; echo n >d/n; rm d/n; "
	    "mv d/b d/c; mv d/c d/b; cp a d/b.new; echo b >d/b.new; "
	    "mv d/b.new d/b");
	snprintf(path, sizeof(path), "%s/R/a", r.dir);
	ATF_REQUIRE(utimensat(AT_FDCWD, path, old, 0) == 0);
	review_is(&r, "");
	ATF_REQUIRE(stat(path, &st) == 0);
	ATF_REQUIRE_EQ(st.st_atime, old[0].tv_sec);
	clock_gettime(CLOCK_REALTIME, &r.t0);
	r.t0.tv_sec++;
	review_sh(&r, "cd V; chmod 600 a");
	review_is(&r, "mode 100644 100600 a\n");
	ATF_REQUIRE_STREQ(review_patch(&r), "MODE: a lands with mode 100600, "
	    "was 100644\n\n");
	review_free(&r);
}

static void
xattr_at(struct review *r, const char *name)
{
	char	path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", r->dir, name);
	ATF_REQUIRE(setxattr(path, "user.note", "hi", 2, 0) == 0);
}

static void
socket_at(struct review *r, const char *name)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	int			fd;

	strlcpy(sun.sun_path, r->dir, sizeof(sun.sun_path));
	strlcat(sun.sun_path, "/", sizeof(sun.sun_path));
	ATF_REQUIRE(strlcat(sun.sun_path, name, sizeof(sun.sun_path)) <
	    sizeof(sun.sun_path));
	ATF_REQUIRE((fd = socket(AF_UNIX, SOCK_STREAM, 0)) != -1);
	ATF_REQUIRE(bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0);
	close(fd);
}

/* A11: z lands; a FIFO and a socket are listed; nothing hangs. */
ATF_TC_WITHOUT_HEAD(special);
ATF_TC_BODY(special, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/was", "a file\n");
	review_file(&r, "R/dir/in", "in\n");
	review_sh(&r, "mkfifo R/real R/taken R/gone");
	review_start(&r);
	review_sh(&r, "cd V; mkfifo p; echo 1 >z; rm was; mkfifo was; "
	    "rm -r dir; mkfifo dir; rm taken; echo file >taken; rm gone; "
	    "mkdir sub");
	socket_at(&r, "V/sub/s");
	review_is(&r,
	    "added 0 100644 z\n"
	    "skipped special dir\n"
	    "skipped special gone\n"
	    "skipped special p\n"
	    "skipped special sub/s\n"
	    "skipped special taken\n"
	    "skipped special was\n");
	review_free(&r);
}

/* A13: a link's text, never its target. */
ATF_TC_WITHOUT_HEAD(links);
ATF_TC_BODY(links, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_file(&r, "R/out/x", "x\n");
	review_start(&r);
	review_file(&r, "secret", "do not read me\n");
	review_sh(&r, "cd V; ln -s ../secret notes.txt; ln -s / d; "
	    "rm -r out; ln -s .. out; ln -s self self");
	review_is(&r,
	    "added 0 120777 d\n"
	    "added 0 120777 notes.txt\n"
	    "added 0 120777 out\n"
	    "deleted 100644 0 out/x\n"
	    "added 0 120777 self\n");
	ATF_REQUIRE(strstr(review_patch(&r), "\n+../secret\n") != NULL);
	ATF_REQUIRE(strstr(review_patch(&r), "do not read me") == NULL);
	review_free(&r);
}

/* A15: with the kernel's overlay these are names like any other. */
ATF_TC_WITHOUT_HEAD(whiteout_names);
ATF_TC_BODY(whiteout_names, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_file(&r, "R/b", "b\n");
	review_start(&r);
	review_sh(&r, "cd V; touch .wh.a .wh..wh..opq; echo x >.wh.b; "
	    "echo more >>a");
	review_is(&r,
	    "added 0 100644 .wh..wh..opq\n"
	    "added 0 100644 .wh.a\n"
	    "added 0 100644 .wh.b\n"
	    "modified 100644 100644 a\n");
	review_free(&r);
}

/* A7, A9: folders that were renamed, also onto others; opaque ones. */
ATF_TC_WITHOUT_HEAD(moved_folders);
ATF_TC_BODY(moved_folders, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/src/a.c", "a.c\n");
	review_file(&r, "R/src/b.c", "b.c\n");
	review_file(&r, "R/src/sub/c.c", "c.c\n");
	review_file(&r, "R/from/b", "from b\n");
	review_file(&r, "R/from/deep/c", "deep c\n");
	review_file(&r, "R/over/a", "over a\n");
	review_file(&r, "R/from/same/name", "from the one\n");
	review_file(&r, "R/over/same/name", "from the other\n");
	review_file(&r, "R/from/same/bytes", "equal bytes\n");
	review_file(&r, "R/over/same/bytes", "equal bytes\n");
	review_file(&r, "R/redo/old", "old\n");
	review_file(&r, "R/still/there", "there\n");
	review_start(&r);
	review_sh(&r, "cd V; mv src tmp; mv tmp src2; "
	    "echo edited >>src2/sub/c.c; chmod +x src2/b.c; "
	    "rm -r over; mv from over; rm -r redo; mkdir redo; "
	    "echo young >redo/young; mv still s; mv s still");
	review_is(&r,
	    "deleted 100644 0 from/same/bytes\n"
	    "deleted 100644 0 from/same/name\n"
	    "deleted 100644 0 over/a\n"
	    "renamed 100644 100644 from/b -> over/b\n"
	    "renamed 100644 100644 from/deep/c -> over/deep/c\n"
	    "modified 100644 100644 over/same/name\n"
	    "deleted 100644 0 redo/old\n"
	    "added 0 100644 redo/young\n"
	    "deleted 100644 0 src/sub/c.c\n"
	    "renamed 100644 100644 src/a.c -> src2/a.c\n"
	    "renamed 100644 100755 src/b.c -> src2/b.c\n"
	    "added 0 100644 src2/sub/c.c\n");
	review_free(&r);
}

/* G116: a name that changes by case only; and what is no rename. */
ATF_TC_WITHOUT_HEAD(renames);
ATF_TC_BODY(renames, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/readme", "read me\n");
	review_file(&r, "R/empty1", "");
	review_file(&r, "R/empty2", "");
	review_file(&r, "R/twin1", "twins\n");
	review_file(&r, "R/twin2", "twins\n");
	review_file(&r, "R/x/base", "by its name\n");
	review_file(&r, "R/y/other", "by its name\n");
	review_file(&r, "R/inside", "goes into a folder of its own name\n");
	review_link(&r, "R/link", "readme");
	review_start(&r);
	/* Without the inode: by the last name, then by order. */
	review_sh(&r, "cd V; mv readme README; mv empty1 e1; rm empty2; "
	    ": >e2; mv twin2 a; mv twin1 b; mkdir z; cp x/base z/base; "
	    "rm x/base y/other; mv inside t; mkdir inside; "
	    "mv t inside/inside; mv link link2");
	review_is(&r,
	    "renamed 100644 100644 readme -> README\n"
	    "renamed 100644 100644 twin2 -> a\n"
	    "renamed 100644 100644 twin1 -> b\n"
	    "renamed 100644 100644 empty1 -> e1\n"
	    "added 0 100644 e2\n"
	    "deleted 100644 0 empty2\n"
	    "deleted 100644 0 inside\n"
	    "added 0 100644 inside/inside\n"
	    "deleted 120777 0 link\n"
	    "added 0 120777 link2\n"
	    "deleted 100644 0 y/other\n"
	    "renamed 100644 100644 x/base -> z/base\n");
	review_free(&r);
}

/* What is told, and not landed. */
ATF_TC_WITHOUT_HEAD(told);
ATF_TC_BODY(told, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_file(&r, "R/x", "x\n");
	review_file(&r, "R/d/in", "in\n");
	review_folder(&r, "R/none");
	review_folder(&r, "R/wide");
	review_start(&r);
	review_sh(&r, "cd V; chmod 4755 a; mkdir -p empty/deep; rmdir none; "
	    "chmod 700 wide");
	xattr_at(&r, "V/x");
	xattr_at(&r, "V/d");
	review_is(&r,
	    "mode 100644 100755 a\n"
	    "skipped setuid a\n"
	    "skipped xattr d\n"
	    "skipped dir empty/deep\n"
	    "skipped dir none\n"
	    "skipped dir wide\n"
	    "skipped xattr x\n");
	review_free(&r);
}

ATF_TC_WITHOUT_HEAD(unreadable);
ATF_TC_BODY(unreadable, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/mine", "mine\n");
	review_file(&r, "R/theirs", "theirs\n");
	review_file(&r, "R/other", "other\n");
	review_file(&r, "R/closed/in", "in\n");
	review_file(&r, "R/dir/in", "in\n");
	ATF_REQUIRE(test_sh("cd '%s/R' && chown 0:0 theirs other closed && "
	    "chmod 600 theirs other && chmod 700 closed", r.dir) == 0);
	review_start(&r);
	review_sh(&r, "cd V; rm -f theirs other; mkdir other; "
	    "echo x >other/x; echo x >new; chmod 0 new; "
	    "chmod 0 dir; mv closed c2 || :; echo more >>mine");
	review_is(&r,
	    "modified 100644 100644 mine\n"
	    "skipped unreadable c2\n"
	    "skipped unreadable closed\n"
	    "skipped dir dir\n"
	    "skipped unreadable dir\n"
	    "skipped unreadable new\n"
	    "skipped unreadable other\n"
	    "skipped special other/x\n"
	    "skipped unreadable theirs\n");
	review_free(&r);
}

/* What stays of the real tree is in the way of what comes. */
ATF_TC_WITHOUT_HEAD(in_the_way);
ATF_TC_BODY(in_the_way, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/.gitignore", "*.o\n");
	review_file(&r, "R/d/a.c", "a.c\n");
	review_file(&r, "R/d/a.o", "a.o\n");
	review_file(&r, "R/b.o", "b.o\n");
	review_file(&r, "R/e/a.c", "e/a.c\n");
	review_start(&r);
	review_sh(&r, "cd V; rm -r d; echo file >d; rm b.o; mkdir b.o; "
	    "echo x >b.o/x; rm -r e; echo file >e");
	review_is(&r,
	    "deleted 100644 0 d/a.c\n"
	    "added 0 100644 e\n"
	    "deleted 100644 0 e/a.c\n"
	    "skipped special d\n"
	    "ignored 1 .\n"
	    "ignored 1 b.o\n"
	    "ignored 1 d\n");
	review_free(&r);
}

/* A mount below the project: never crossed, and no change. */
ATF_TC_WITHOUT_HEAD(mounts);
ATF_TC_BODY(mounts, tc)
{
	struct review	r;
	char		data[PATH_MAX], sub[PATH_MAX];

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_folder(&r, "R/data");
	review_file(&r, "R/dir/sub/was", "below the mount\n");
	snprintf(data, sizeof(data), "%s/R/data", r.dir);
	snprintf(sub, sizeof(sub), "%s/R/dir/sub", r.dir);
	ATF_REQUIRE(mount("tmpfs", data, "tmpfs", 0, NULL) == 0);
	ATF_REQUIRE(mount("tmpfs", sub, "tmpfs", 0, "mode=777") == 0);
	review_file(&r, "R/data/precious", "precious\n");
	review_start(&r);
	review_sh(&r, "cd V; echo b >b");
	review_is(&r, "added 0 100644 b\n");
	review_sh(&r, "cd V; rm -r data; echo file >data; rm dir/sub/was; "
	    "echo y >dir/sub/y");
	review_is(&r,
	    "added 0 100644 b\n"
	    "skipped mount data\n"
	    "skipped mount dir/sub\n");
	ATF_REQUIRE(umount(data) == 0 && umount(sub) == 0);
	review_free(&r);
}

/* Paths of 4,095 bytes land; longer ones are told. */
ATF_TC_WITHOUT_HEAD(deep);
ATF_TC_BODY(deep, tc)
{
	struct review	 r;
	char		 name[256], part[251], want[8192], path[4200];
	const char	*said;
	size_t		 i;

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_start(&r);
	memset(part, 'd', 250);
	part[250] = '\0';
	/* 16 names of 250 and their slashes: 4,016 bytes. */
	review_sh(&r, "cd V; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; "
	    "do mkdir %s; cd %s; done; echo x >%079d; echo y >%080d", part,
	    part, 0, 0);
	path[0] = '\0';
	for (i = 0; i < 16; i++) {
		strlcat(path, part, sizeof(path));
		strlcat(path, "/", sizeof(path));
	}
	snprintf(name, sizeof(name), "%079d", 0);
	snprintf(want, sizeof(want), "added 0 100644 %s%s\n"
	    "skipped special %.*s\n", path, name, (int)strlen(path) - 1, path);
	ATF_REQUIRE_EQ(strlen(path) + strlen(name), 4095);
	review_is(&r, want);
	/* git has bounds of its own here; a name of 255 bytes is none. */
	review_sh(&r, "cd V; rm -r %s; echo x >%0255d", part, 1);
	ATF_REQUIRE_MSG(review_run(&r) == 0, "%s", r.why);
	ATF_REQUIRE_EQ(review_git(&r, false, &said), 0);
	review_free(&r);
}

/* No room for another file in the stage: that is what is said, and not that
 * the file changes. */
ATF_TC_WITHOUT_HEAD(stage_full);
ATF_TC_BODY(stage_full, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_start(&r);
	review_sh(&r, "head -c 100000 /dev/zero >V/big");
	/* The folder, and the list of copies. */
	ATF_REQUIRE(test_sh("mount -t tmpfs -o nr_inodes=2,uid=%u stage "
	    "'%s/G'", (unsigned int)r.uid, r.dir) == 0);
	ATF_REQUIRE(review_run(&r) == -1);
	ATF_REQUIRE_EQ_MSG(errno, ENOSPC, "%s", r.why);
	ATF_REQUIRE(strstr(r.why, "No space") != NULL);
	ATF_REQUIRE(test_sh("umount '%s/G'", r.dir) == 0);
	review_free(&r);
}

/* A file that does not hold still is told, not torn. */
ATF_TC_WITHOUT_HEAD(busy);
ATF_TC_BODY(busy, tc)
{
	struct review	 r;
	static char	 block[1 << 20];
	char		 path[PATH_MAX];
	pid_t		 pid;
	int		 fd, i, status;

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_start(&r);
	snprintf(path, sizeof(path), "%s/V/big", r.dir);
	fd = open(path, O_RDWR | O_CREAT, 0644);
	ATF_REQUIRE(fd != -1);
	for (i = 0; i < 64; i++)
		ATF_REQUIRE(write(fd, block, sizeof(block)) ==
		    (ssize_t)sizeof(block));
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0)
		for (i = 0;; i++)
			if (pwrite(fd, &i, sizeof(i), i % 4096) == -1)
				_exit(1);
	ATF_CHECK_EQ(review_run(&r), -1);
	ATF_CHECK_EQ(errno, EBUSY);
	ATF_CHECK(strncmp(r.why, "big: changes while it is read", 29) == 0);
	ATF_REQUIRE(kill(pid, SIGKILL) == 0);
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	ATF_REQUIRE_MSG(review_run(&r) == 0, "%s", r.why);
	close(fd);
	review_free(&r);
}

/* More than a review lists: of what lands, and of what does not. */
ATF_TC_WITHOUT_HEAD(many);
ATF_TC_BODY(many, tc)
{
	struct review	r;

	walk_max = 3;
	review_begin(&r);
	review_start(&r);
	review_sh(&r, "cd V && echo 1 >a && echo 2 >b && echo 3 >c && "
	    "mkfifo p q r");
	ATF_REQUIRE_MSG(review_run(&r) == 0, "%s", r.why);
	review_sh(&r, "cd V && echo 4 >d");
	ATF_CHECK_EQ(review_run(&r), -1);
	ATF_CHECK(strstr(r.why, ": more than 3 changes, which no review lists: "
	    "resume the session") != NULL);
	review_sh(&r, "cd V && rm d && mkfifo s");
	ATF_CHECK_EQ(review_run(&r), -1);
	ATF_CHECK(strstr(r.why, ": more than 3 entries that cannot be landed")
	    != NULL);
	review_free(&r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, kinds);
	ATF_TP_ADD_TC(tp, nothing);
	ATF_TP_ADD_TC(tp, special);
	ATF_TP_ADD_TC(tp, links);
	ATF_TP_ADD_TC(tp, whiteout_names);
	ATF_TP_ADD_TC(tp, moved_folders);
	ATF_TP_ADD_TC(tp, renames);
	ATF_TP_ADD_TC(tp, told);
	ATF_TP_ADD_TC(tp, unreadable);
	ATF_TP_ADD_TC(tp, in_the_way);
	ATF_TP_ADD_TC(tp, mounts);
	ATF_TP_ADD_TC(tp, deep);
	ATF_TP_ADD_TC(tp, stage_full);
	ATF_TP_ADD_TC(tp, busy);
	ATF_TP_ADD_TC(tp, many);
	return (atf_no_error());
}
