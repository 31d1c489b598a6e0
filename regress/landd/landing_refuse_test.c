/*
 * The writer where it must say no: nothing at all has changed then.
 */
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "landing_lib.h"

#define USER	61001		/* nobody's */

static struct world	w;

static void
begin_at(const char *dir)
{
	world_make(&w, dir);
	world_dir(&w, "R/.git", 0755);
	world_file(&w, "R/a", "1\n", 0);
	world_file(&w, "R/m/b", "1\n", 0);
	world_file(&w, "R/z", "1\n", 0);
	world_file(&w, "R/gone", "1\n", 0);
	world_file(&w, "V/a", "2\n", 0);
	world_file(&w, "V/m/b", "2\n", 0);
	world_file(&w, "V/z", "2\n", 0);
	world_file(&w, "V/new/n", "2\n", 0);
}

static void
begin(void)
{
	begin_at(test_path("w"));
	world_set(&w);
}

static void
as_user_refused(const char *code)
{
	char	*before, *after;

	/* chown by the first, so that the trees can be compared. */
	ATF_REQUIRE(test_sh("chown -Rh %d:%d '%s/R'", USER, USER, w.dir) == 0);
	before = world_tree(&w, "R", true);
	if (world_land_as(&w, USER) == 0)
		atf_tc_fail("landed, and should be refused with %s", code);
	after = world_tree(&w, "R", true);
	printf("%s: %s\n", w.res.code, w.res.why);
	ATF_REQUIRE_STREQ(w.res.code, code);
	ATF_REQUIRE_STREQ(before, after);
	ATF_REQUIRE_EQ(world_leftovers(&w), 0);
}

/*
 * G111: one of several fails
 */
ATF_TC_WITHOUT_HEAD(immutable);
ATF_TC_BODY(immutable, tc)
{
	static const char *const	what[] = { "+i", "+a" };
	size_t				i;

	for (i = 0; i < 2; i++) {
		char dir[PATH_MAX];

		snprintf(dir, sizeof(dir), "%s", test_path("fs%zu", i));
		world_fs(dir, "ext4", 32);
		strlcat(dir, "/w", sizeof(dir));
		begin_at(dir);
		world_set(&w);
		ATF_REQUIRE(test_sh("chattr %s '%s/R/m/b'", what[i],
		    dir) == 0);
		world_refused(&w, "land.unwritable");
		ATF_REQUIRE(test_sh("chattr -i -a '%s/R/m/b'; chattr %s "
		    "'%s/R/m'", dir, what[i], dir) == 0);
		world_refused(&w, "land.unwritable");
		ATF_REQUIRE(test_sh("chattr -i -a '%s/R/m'", dir) == 0);
		world_landed(&w);
		world_free(&w);
	}
}

ATF_TC_WITHOUT_HEAD(read_only_folder);
ATF_TC_BODY(read_only_folder, tc)
{
	begin();
	world_dir(&w, "R/m", 0555);
	as_user_refused("land.unwritable");
	world_dir(&w, "R/m", 0755);
	world_dir(&w, "R", 0555);
	as_user_refused("land.unwritable");
}

ATF_TC_WITHOUT_HEAD(read_only_filesystem);
ATF_TC_BODY(read_only_filesystem, tc)
{
	begin();
	ATF_REQUIRE(test_sh("mount --bind '%s/R' '%s/R' && "
	    "mount -o remount,bind,ro '%s/R'", w.dir, w.dir, w.dir) == 0);
	close(w.job.project);
	w.job.project = openat(w.fd, "R", O_RDONLY | O_DIRECTORY);
	world_refused(&w, "land.unwritable");
}

/* Then with room it lands. */
static void
full(const char *type)
{
	char	dir[PATH_MAX];

	world_make(&w, test_path("w"));
	snprintf(dir, sizeof(dir), "%s", test_path("w/R"));
	world_fs(dir, type, 12);
	close(w.job.project);
	w.job.project = openat(w.fd, "R", O_RDONLY | O_DIRECTORY);
	world_dir(&w, "R/.git", 0755);
	world_file(&w, "R/a", "1\n", 0);
	world_file(&w, "V/a", "2\n", 0);
	ATF_REQUIRE(test_sh("head -c 30000000 /dev/urandom >'%s/V/m'",
	    w.dir) == 0);
	world_set(&w);
	world_refused(&w, "land.full");
	world_file(&w, "V/m", "small\n", 0);
	world_set(&w);
	world_landed(&w);
}

ATF_TC_WITHOUT_HEAD(full_tmpfs);
ATF_TC_BODY(full_tmpfs, tc)
{
	full("tmpfs");
}

ATF_TC_WITHOUT_HEAD(full_ext4);
ATF_TC_BODY(full_ext4, tc)
{
	full("ext4");
}

ATF_TC_WITHOUT_HEAD(foreign_owner);
ATF_TC_BODY(foreign_owner, tc)
{
	int	i;

	for (i = 0; i < 3; i++) {
		begin();
		if (i == 1)
			world_file(&w, "V/m/b", "1\n", 0755);
		else if (i == 2)
			ATF_REQUIRE(unlinkat(w.fd, "V/m/b", 0) == 0);
		world_set(&w);
		ATF_REQUIRE(fchownat(w.fd, "R/m/b", USER, USER, 0) == 0);
		world_refused(&w, "land.owner");
		world_remove(&w);
	}
}

ATF_TC_WITHOUT_HEAD(mount_inside);
ATF_TC_BODY(mount_inside, tc)
{
	begin();
	ATF_REQUIRE(test_sh("mount -t tmpfs none '%s/R/m' && "
	    "echo 1 >'%s/R/m/b'", w.dir, w.dir) == 0);
	world_set(&w);
	world_refused(&w, "land.mount");
	ATF_REQUIRE(test_sh("umount '%s/R/m' && touch '%s/x' && "
	    "mount --bind '%s/x' '%s/R/m/b'", w.dir, w.dir, w.dir,
	    w.dir) == 0);
	world_set(&w);
	world_refused(&w, "land.mount");
	ATF_REQUIRE(test_sh("umount '%s/R/m/b'", w.dir) == 0);
	world_set(&w);
	world_landed(&w);
}

/*
 * Somebody else is at it
 */
ATF_TC_WITHOUT_HEAD(locked);
ATF_TC_BODY(locked, tc)
{
	int	fd;

	begin();
	world_file(&w, "R/.git/index.lock", "", 0);
	world_refused(&w, "land.locked");
	ATF_REQUIRE(faccessat(w.fd, "R/.git/index.lock", F_OK, 0) == 0);
	ATF_REQUIRE(unlinkat(w.fd, "R/.git/index.lock", 0) == 0);
	ATF_REQUIRE((fd = openat(w.fd, "R", O_RDONLY)) != -1);
	ATF_REQUIRE(flock(fd, LOCK_EX) == 0);
	world_refused(&w, "land.locked");
	close(fd);
	world_landed(&w);
}

/* The child of a landing that was killed still works. */
ATF_TC_WITHOUT_HEAD(recover_waits);
ATF_TC_BODY(recover_waits, tc)
{
	int	fd;
	pid_t	pid;

	begin();
	ATF_REQUIRE((fd = openat(w.fd, "R", O_RDONLY)) != -1);
	ATF_REQUIRE(flock(fd, LOCK_EX) == 0);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		usleep(300000);
		_exit(0);
	}
	close(fd);
	ATF_REQUIRE_EQ(world_recover(&w), 0);
	ATF_REQUIRE_EQ(waitpid(pid, NULL, 0), pid);
}

ATF_TC_WITHOUT_HEAD(drifted);
ATF_TC_BODY(drifted, tc)
{
	/* Rewritten; replaced by the same bytes; chmod'ed; gone; a folder
	 * now; made meanwhile; its folder a file now. */
	static const char *const	acts[] = {
		"echo 9 >R/m/b", "cp R/m/b R/m/c && mv R/m/c R/m/b",
		"chmod 755 R/m/b", "rm R/m/b", "rm R/m/b; mkdir R/m/b",
		"mkdir -p R/new; echo 9 >R/new/n", "echo 9 >R/new",
		"rm -r R/m; echo 9 >R/m",
	};
	size_t				i;

	for (i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		begin();
		ATF_REQUIRE(test_sh("cd '%s' && %s", w.dir, acts[i]) == 0);
		printf("%s\n", acts[i]);
		world_refused(&w, "land.drifted");
		world_remove(&w);
	}
}

/* Another ctime, the same inode, bytes and mode: that is no drift. */
ATF_TC_WITHOUT_HEAD(touched);
ATF_TC_BODY(touched, tc)
{
	begin();
	ATF_REQUIRE(test_sh("cd '%s' && chmod 700 R/a && chmod 644 R/a && "
	    "touch R/m/b && ln R/z R/other && cp -a R/other V/other && "
	    "ln R/gone R/more && cp -a R/more V/more", w.dir) == 0);
	world_landed(&w);
}

static void
owner_links(struct world *world)
{
	ATF_REQUIRE(linkat(world->fd, "R/exe", world->fd, "OUT/exe", 0) == 0);
}

/* A second name that comes too late for a copy. */
ATF_TC_WITHOUT_HEAD(linked);
ATF_TC_BODY(linked, tc)
{
	struct stat	st;

	begin();
	world_file(&w, "R/exe", "#!\n", 0600);
	world_file(&w, "V/exe", "#!\n", 0666);
	world_file(&w, "OUT/other", "", 0);
	world_set(&w);
	w.meanwhile = owner_links;
	world_refused(&w, "land.drifted");
	ATF_REQUIRE(fstatat(w.fd, "OUT/exe", &st, 0) == 0);
	ATF_REQUIRE_EQ(st.st_mode, (mode_t)(S_IFREG | 0600));
}

ATF_TC_WITHOUT_HEAD(no_journal);
ATF_TC_BODY(no_journal, tc)
{
	begin();
	w.nocommit = true;
	world_refused(&w, "land.failed");
	ATF_REQUIRE_EQ(w.commits, 1);
}

/*
 * A journal cut back to the intent would have the owner's displaced files
 * removed as staged copies.
 */
ATF_TC_WITHOUT_HEAD(journal_cut);
ATF_TC_BODY(journal_cut, tc)
{
	char	*before, *after;

	begin();
	world_landed(&w);
	ATF_REQUIRE(test_sh("cd '%s' && mv J.first J", w.dir) == 0);
	before = world_tree(&w, "R", true);
	ATF_REQUIRE(world_recover(&w) == -1);
	ATF_REQUIRE_STREQ(w.res.code, "land.unfinished");
	after = world_tree(&w, "R", true);
	ATF_REQUIRE_STREQ(before, after);
	ATF_REQUIRE(test_sh("grep -qrx 1 '%s/R/.git'", w.dir) == 0);
	/* Nor does any other broken one do anything. */
	ATF_REQUIRE(test_sh("cd '%s' && echo junk >J", w.dir) == 0);
	ATF_REQUIRE(world_recover(&w) == -1);
	ATF_REQUIRE_STREQ(w.res.code, "land.state");
	ATF_REQUIRE(test_sh("grep -qrx 1 '%s/R/.git'", w.dir) == 0);
}

/*
 * A journal that comes back after its landing has ended, for its removal was
 * lost or somebody has kept it: what was done since stays.
 */
static void
ended_recover(bool applied, uint64_t files)
{
	char	*before = world_tree(&w, "R", true), *after;

	ATF_REQUIRE(world_recover(&w) == 0);
	after = world_tree(&w, "R", true);
	ATF_REQUIRE_STREQ(before, after);
	ATF_REQUIRE_EQ(w.res.applied, applied);
	ATF_REQUIRE_EQ(w.res.earlier, files);
	/* Nothing is taken out of the layer for it. */
	ATF_REQUIRE_EQ(w.res.npaths, 0);
	ATF_REQUIRE(TAILQ_EMPTY(&w.res.done));
	free(before);
	free(after);
}

ATF_TC_WITHOUT_HEAD(journal_ended);
ATF_TC_BODY(journal_ended, tc)
{
	struct landing_state	s;
	struct landing		*l;

	begin();
	world_landed(&w);
	landing_state_init(&s);
	ATF_REQUIRE(landing_state_merge(&s, &w.res) == 0);
	ATF_REQUIRE((l = TAILQ_FIRST(&s.landings)) != NULL);
	ATF_REQUIRE(test_sh("cd '%s/R' && echo owner >t && mv t new/n",
	    w.dir) == 0);
	w.made = &s.landings;
	/* a, m/b, z, gone, new/n, without the folder. */
	ended_recover(true, 5);
	/* Of a try before it, which had its number and was taken back. */
	l->ino++;
	ended_recover(false, 0);
	l->ino--;
	l->digest[0] ^= 1;
	ended_recover(false, 0);
	l->digest[0] ^= 1;
	/* Of one before the last. */
	l->n++;
	ended_recover(false, 0);
	/* Not known to have ended: taken back, as the owner has new/n. */
	w.made = NULL;
	ATF_REQUIRE(world_recover(&w) == 0);
	ATF_REQUIRE(!w.res.applied);
	ATF_REQUIRE(test_sh("test \"$(cat '%s/R/a')\" = 1", w.dir) == 0);
	landing_state_free(&s);
}

/*
 * G106: crafted change sets
 */
static struct change *
craft(const char *path, enum change_kind kind)
{
	struct change	*c;

	ATF_REQUIRE((c = calloc(1, sizeof(*c))) != NULL);
	ATF_REQUIRE((c->path = strdup(path)) != NULL);
	c->kind = kind;
	c->post.mode = S_IFREG | 0644;
	c->post.size = 4;
	struct digest d;
	digest_init(&d);
	digest_add(&d, "evil", 4);
	digest_end(&d, c->post.sha);
	c->stage = 9999;
	TAILQ_INSERT_TAIL(&w.set.changes, c, entry);
	return (c);
}

/* As craft, a link to OUT, whose text is staged. */
static void
craft_link(const char *path)
{
	struct change	*c = craft(path, CHANGE_ADDED);
	struct digest	 d;

	c->post.mode = S_IFLNK | 0777;
	c->post.size = 6;
	c->stage = 9998;
	digest_init(&d);
	digest_add(&d, "../OUT", 6);
	digest_end(&d, c->post.sha);
}

static void
crafted_begin(void)
{
	begin();
	world_file(&w, "S/9999", "evil", 0);
	world_file(&w, "S/9998", "../OUT", 0);
	world_dir(&w, "OUT", 0777);
}

static void
crafted_end(const char *code)
{
	world_refused(&w, code);
	ATF_REQUIRE(test_sh("rmdir '%s/OUT'", w.dir) == 0);
	world_remove(&w);
}

ATF_TC_WITHOUT_HEAD(crafted_paths);
ATF_TC_BODY(crafted_paths, tc)
{
	static const char *const	paths[] = {
		"", "/etc/x", "..", "../OUT/x", "a/../../OUT/x", "./x", "x/.",
		"x//y", "x/", "/", ".git", ".git/hooks/pre-commit",
		"sub/.git/config", ".GIT/config", ".Git", ".git ", ".git.",
		".git...", "git~1/config", "GIT~1", ".git::$INDEX_ALLOCATION",
		".g\342\200\214it/config", "\357\273\277.git",
		".sbx-land-abcdefghijkl/1/1",
	};
	size_t				i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		crafted_begin();
		craft(paths[i], CHANGE_ADDED);
		printf("\"%s\"\n", paths[i]);
		crafted_end("land.refused");
		crafted_begin();
		craft("other", CHANGE_RENAMED)->from = strdup(paths[i]);
		TAILQ_LAST(&w.set.changes, changes)->pre.mode =
		    S_IFREG | 0644;
		crafted_end("land.refused");
	}
}

ATF_TC_WITHOUT_HEAD(crafted_links);
ATF_TC_BODY(crafted_links, tc)
{
	/* A link, and a file behind it, in either order. */
	crafted_begin();
	craft_link("l");
	craft("l/x", CHANGE_ADDED);
	crafted_end("land.refused");
	crafted_begin();
	craft("l/x", CHANGE_ADDED);
	craft_link("l");
	crafted_end("land.refused");
	crafted_begin();
	craft("l/deep/er/x", CHANGE_ADDED);
	craft_link("l");
	crafted_end("land.refused");
	/* A link that was there before, or came meanwhile. */
	crafted_begin();
	world_link(&w, "R/l", "../OUT");
	world_dir(&w, "V/l", 0755);
	craft("l/x", CHANGE_ADDED);
	crafted_end("land.drifted");
	crafted_begin();
	ATF_REQUIRE(test_sh("cd '%s' && mv R/m m && ln -s ../m R/m",
	    w.dir) == 0);
	crafted_end("land.drifted");
	/* Also one that leads to the very file, inside of the project. */
	crafted_begin();
	ATF_REQUIRE(test_sh("cd '%s' && mv R/m R/n && ln -s n R/m",
	    w.dir) == 0);
	crafted_end("land.drifted");
	crafted_begin();
	world_file(&w, "R/p/q/r", "1\n", 0);
	world_file(&w, "V/p/q/r", "2\n", 0);
	world_set(&w);
	ATF_REQUIRE(test_sh("cd '%s' && mv R/p R/n && ln -s n R/p",
	    w.dir) == 0);
	crafted_end("land.drifted");
}

ATF_TC_WITHOUT_HEAD(crafted_sides);
ATF_TC_BODY(crafted_sides, tc)
{
	struct change	*c;

	crafted_begin();
	craft("x", CHANGE_ADDED);
	craft("x", CHANGE_ADDED);
	crafted_end("land.refused");
	crafted_begin();
	craft("a", CHANGE_ADDED);
	crafted_end("land.refused");
	crafted_begin();
	craft("x", CHANGE_MODIFIED);
	crafted_end("land.refused");
	crafted_begin();
	craft("x", CHANGE_DELETED);
	crafted_end("land.refused");
	crafted_begin();
	craft("x", CHANGE_ADDED)->stage = 0;
	crafted_end("land.refused");
	crafted_begin();
	craft("x", CHANGE_ADDED)->post.mode = S_IFIFO | 0644;
	crafted_end("land.refused");
	crafted_begin();
	craft("x", CHANGE_ADDED)->post.mode = S_IFDIR | 0755;
	crafted_end("land.refused");
	crafted_begin();
	craft("x", CHANGE_ADDED)->post.mode = S_IFCHR | 0644;
	crafted_end("land.refused");
	/* The owner's file for another's, and one that drifted. */
	crafted_begin();
	world_change(&w, "a")->pre.ino++;
	crafted_end("land.drifted");
	crafted_begin();
	world_change(&w, "a")->pre.sha[0] ^= 1;
	crafted_end("land.drifted");
	crafted_begin();
	world_change(&w, "a")->drift = "edited";
	crafted_end("land.drifted");
	/* Other bytes than were approved. */
	crafted_begin();
	craft("x", CHANGE_ADDED)->post.sha[0] ^= 1;
	crafted_end("land.stale");
	crafted_begin();
	craft("x", CHANGE_ADDED)->post.size++;
	crafted_end("land.stale");
	crafted_begin();
	craft("x", CHANGE_ADDED)->stage = 12345;
	crafted_end("land.stale");
	crafted_begin();
	c = craft("x", CHANGE_ADDED);
	ATF_REQUIRE(symlinkat("/etc/passwd", w.job.stage, "77") == 0);
	c->stage = 77;
	crafted_end("land.stale");
	crafted_begin();
	craft_link("x");
	ATF_REQUIRE(write(openat(w.job.stage, "9998", O_WRONLY), "a\0", 2) ==
	    2);
	crafted_end("land.stale");
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, immutable);
	ATF_TP_ADD_TC(tp, read_only_folder);
	ATF_TP_ADD_TC(tp, read_only_filesystem);
	ATF_TP_ADD_TC(tp, full_tmpfs);
	ATF_TP_ADD_TC(tp, full_ext4);
	ATF_TP_ADD_TC(tp, foreign_owner);
	ATF_TP_ADD_TC(tp, mount_inside);
	ATF_TP_ADD_TC(tp, locked);
	ATF_TP_ADD_TC(tp, recover_waits);
	ATF_TP_ADD_TC(tp, drifted);
	ATF_TP_ADD_TC(tp, touched);
	ATF_TP_ADD_TC(tp, linked);
	ATF_TP_ADD_TC(tp, no_journal);
	ATF_TP_ADD_TC(tp, journal_cut);
	ATF_TP_ADD_TC(tp, journal_ended);
	ATF_TP_ADD_TC(tp, crafted_paths);
	ATF_TP_ADD_TC(tp, crafted_links);
	ATF_TP_ADD_TC(tp, crafted_sides);
	return (atf_no_error());
}
