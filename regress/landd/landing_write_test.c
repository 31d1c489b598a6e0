/*
 * The writer over hand-made change sets: what arrives, and how.
 */
#include <sys/stat.h>
#include <sys/xattr.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "landd/blocks.h"
#include "landing_lib.h"

#define USER	61001		/* nobody's */

static struct world	w;

static void
begin(bool git)
{
	world_make(&w, test_path("w"));
	if (git)
		world_dir(&w, "R/.git", 0755);
}

static struct stat
stat_of(const char *path)
{
	struct stat	st;

	if (fstatat(w.fd, path, &st, AT_SYMLINK_NOFOLLOW) == -1)
		atf_tc_fail("%s: %s", path, strerror(errno));
	return (st);
}

static void
content_is(const char *path, const char *want)
{
	char	buf[256];
	ssize_t	n;
	int	fd;

	if ((fd = openat(w.fd, path, O_RDONLY)) == -1)
		atf_tc_fail("%s: %s", path, strerror(errno));
	n = read(fd, buf, sizeof(buf) - 1);
	ATF_REQUIRE(n >= 0);
	buf[n] = '\0';
	ATF_REQUIRE_STREQ_MSG(buf, want, "%s", path);
	close(fd);
}

static bool
folder_known(const char *path)
{
	const char	*slash = strrchr(path, '/');
	struct baseline	*b;

	if (slash == NULL)
		return (true);
	TAILQ_FOREACH(b, &w.res.done, entry)
		if (S_ISDIR(b->image.mode) && strlen(b->path) ==
		    (size_t)(slash - path) &&
		    strncmp(b->path, path, strlen(b->path)) == 0)
			return (true);
	return (false);
}

/* What the state learns: each file as it now is, each path once, and the
 * folders that they are in, or were. */
static void
result_checked(void)
{
	struct baseline	*b;
	struct change	*c;
	size_t		 n = 0, want = 0, i;
	bool		 found;

	TAILQ_FOREACH(b, &w.res.done, entry) {
		world_baseline(&w, b);
		n += !S_ISDIR(b->image.mode);
	}
	TAILQ_FOREACH(c, &w.set.changes, entry) {
		want += c->from != NULL ? 2 : 1;
		for (found = false, i = 0; i < w.res.npaths; i++)
			found |= strcmp(w.res.paths[i], c->path) == 0;
		ATF_REQUIRE_MSG(found, "%s is not in the paths", c->path);
		ATF_REQUIRE_MSG(folder_known(c->path) && (c->from == NULL ||
		    folder_known(c->from)), "the folder of %s", c->path);
	}
	ATF_REQUIRE_EQ(n, want);
	for (i = 0; i < w.res.npaths; i++)
		for (n = i + 1; n < w.res.npaths; n++)
			ATF_REQUIRE_MSG(strcmp(w.res.paths[i],
			    w.res.paths[n]) != 0, "%s twice", w.res.paths[i]);
	ATF_REQUIRE(w.res.applied && w.commits == 2);
}

ATF_TC_WITHOUT_HEAD(kinds);
ATF_TC_BODY(kinds, tc)
{
	begin(true);
	world_file(&w, "R/same", "same\n", 0);
	world_file(&w, "R/mod", "before\n", 0600);
	world_file(&w, "R/gone/a", "a\n", 0);
	world_file(&w, "R/gone/b/c", "c\n", 0);
	world_file(&w, "R/mode", "mode\n", 04644);
	world_file(&w, "R/old", "old\n", 0755);
	world_file(&w, "R/tolink", "file\n", 0);
	world_link(&w, "R/tofile", "/etc/passwd");
	world_link(&w, "R/relink", "a");
	world_file(&w, "R/todir", "file\n", 0);
	world_file(&w, "R/tonodir/x/y", "y\n", 0);
	world_file(&w, "R/empty", "", 0);
	world_file(&w, "V/same", "same\n", 0);
	world_file(&w, "V/mod", "", 0640);
	world_file(&w, "V/mode", "mode\n", 0755);
	world_file(&w, "V/new", "old\n", 0755);
	world_link(&w, "V/tolink", "/nowhere");
	world_file(&w, "V/tofile", "file\n", 0);
	world_link(&w, "V/relink", "b");
	world_file(&w, "V/todir/x/y", "y\n", 0);
	world_link(&w, "V/tonodir", "mod");
	world_file(&w, "V/empty", "no more\n", 0);
	world_file(&w, "V/deep/er/still", "", 0600);
	world_dir(&w, "V/deep/er", 0711);
	world_set(&w);
	world_rename(&w, "old", "new");
	ATF_REQUIRE(world_land(&w) == 0);
	result_checked();
	/* Nothing of the owner's setuid bit is for the session to decide. */
	ATF_REQUIRE_EQ(stat_of("R/mode").st_mode, (mode_t)(S_IFREG | 04755));
	ATF_REQUIRE(fchmodat(w.fd, "R/mode", 0755, 0) == 0);
	char *got = world_tree(&w, "R", false);
	char *want = world_tree(&w, "V", false);
	ATF_REQUIRE_STREQ(want, got);
	/* What was displaced is kept, with the record, out of sight. */
	ATF_REQUIRE_EQ(w.res.made.n, 1);
	ATF_REQUIRE_STREQ(w.res.made.folder, ".git/sbx-land-" WORLD_SID);
	ATF_REQUIRE_EQ(stat_of("R/.git/sbx-land-" WORLD_SID "/1").st_ino,
	    w.res.made.ino);
	ATF_REQUIRE_EQ(stat_of("R/.git/sbx-land-" WORLD_SID).st_mode,
	    (mode_t)(S_IFDIR | 0700));
	uint8_t sha[DIGEST_LEN];
	int fd = openat(w.fd, "R/.git/sbx-land-" WORLD_SID "/1/record",
	    O_RDONLY);
	ATF_REQUIRE(fd != -1 && blocks_digest(fd, sha, NULL) == 0);
	ATF_REQUIRE(memcmp(sha, w.res.made.record, DIGEST_LEN) == 0);
	ATF_REQUIRE(test_sh("grep -rqx before '%s/R/.git'", w.dir) == 0);
	ATF_REQUIRE(test_sh("grep -rqx a '%s/R/.git'", w.dir) == 0);
}

ATF_TC_WITHOUT_HEAD(twice);
ATF_TC_BODY(twice, tc)
{
	begin(true);
	world_file(&w, "R/a", "1\n", 0);
	world_file(&w, "V/a", "2\n", 0);
	world_set(&w);
	world_landed(&w);
	world_file(&w, "V/a", "3\n", 0);
	world_set(&w);
	world_landed(&w);
	/* The number was taken: the next one. */
	ATF_REQUIRE_EQ(w.res.made.n, 2);
	content_is("R/a", "3\n");
}

/* No .git, one that is a file or a link, one that cannot be written. */
ATF_TC_WITHOUT_HEAD(folders);
ATF_TC_BODY(folders, tc)
{
	static const char *const	cases[] = {
		"none", "file", "link", "closed"
	};
	size_t				i;

	for (i = 0; i < 4; i++) {
		begin(false);
		if (i == 1)
			world_file(&w, "R/.git", "gitdir: ../elsewhere\n", 0);
		else if (i == 2)
			world_link(&w, "R/.git", "../G");
		else if (i == 3)
			world_dir(&w, "R/.git", 0555);
		world_dir(&w, "G", 0777);
		world_file(&w, "R/a", "1\n", 0);
		world_file(&w, "V/a", "2\n", 0);
		world_set(&w);
		if (world_land_as(&w, USER) == -1)
			atf_tc_fail("%s: %s", cases[i], w.res.why);
		content_is("R/a", "2\n");
		content_is("R/.sbx-land-" WORLD_SID "/.gitignore", "*\n");
		content_is("R/.sbx-land-" WORLD_SID "/1/1", "1\n");
		ATF_REQUIRE(test_sh("rmdir '%s/G'", w.dir) == 0);
		world_remove(&w);
	}
}

/* A name that is there and is not ours is neither used nor removed. */
ATF_TC_WITHOUT_HEAD(foreign_folder);
ATF_TC_BODY(foreign_folder, tc)
{
	static const char	name[] = "R/.git/sbx-land-" WORLD_SID;
	int			i;

	for (i = 0; i < 4; i++) {
		begin(true);
		world_dir(&w, "G", 0777);
		if (i == 0)
			world_link(&w, name, "../../G");
		else if (i == 1)
			world_dir(&w, name, 0755);
		else if (i == 2) {
			world_dir(&w, name, 0700);
			ATF_REQUIRE(fchownat(w.fd, name, USER, USER, 0) == 0);
		} else
			world_file(&w, name, "x", 0);
		world_file(&w, "R/a", "1\n", 0);
		world_file(&w, "V/a", "2\n", 0);
		world_set(&w);
		ATF_REQUIRE(world_land(&w) == -1);
		ATF_REQUIRE_STREQ(w.res.code, "land.folder");
		content_is("R/a", "1\n");
		ATF_REQUIRE(test_sh("rmdir '%s/G'", w.dir) == 0);
		stat_of(name);
		world_remove(&w);
	}
}

/*
 * What a landed file has beside its bytes
 */

/* user::rw-, user:61002:rw-, group::r--, mask::rw-, other::--- */
static const unsigned char	acl[] = {
	2, 0, 0, 0,
	1, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,
	2, 0, 6, 0, 0x4a, 0xee, 0, 0,
	4, 0, 4, 0, 0xff, 0xff, 0xff, 0xff,
	0x10, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,
	0x20, 0, 0, 0, 0xff, 0xff, 0xff, 0xff,
};

static void
xattr_is(const char *path, const char *name, const void *want, size_t len)
{
	char	full[PATH_MAX * 2], value[256];
	ssize_t	n;

	snprintf(full, sizeof(full), "%s/%s", w.dir, path);
	n = lgetxattr(full, name, value, sizeof(value));
	if (want == NULL)
		ATF_REQUIRE_MSG(n == -1, "%s has %s", path, name);
	else
		ATF_REQUIRE_MSG(n == (ssize_t)len &&
		    memcmp(value, want, len) == 0, "%s of %s", name, path);
}

static void
xattr_put(const char *path, const char *name, const void *value, size_t len)
{
	char	full[PATH_MAX * 2];

	snprintf(full, sizeof(full), "%s/%s", w.dir, path);
	if (lsetxattr(full, name, value, len, 0) == -1)
		atf_tc_fail("%s of %s: %s", name, path, strerror(errno));
}

ATF_TC_WITHOUT_HEAD(attributes);
ATF_TC_BODY(attributes, tc)
{
	begin(true);
	world_file(&w, "R/a", "1\n", 0640);
	world_file(&w, "R/old", "o\n", 0640);
	xattr_put("R/a", "system.posix_acl_access", acl, sizeof(acl));
	xattr_put("R/a", "user.note", "n", 1);
	xattr_put("R/old", "user.note", "o", 1);
	ATF_REQUIRE(fchownat(w.fd, "R/a", 0, 61002, 0) == 0);
	ATF_REQUIRE(fchownat(w.fd, "R/old", 0, 61003, 0) == 0);
	/* A default ACL of .git's is for nothing of ours. */
	xattr_put("R/.git", "system.posix_acl_default", acl, sizeof(acl));
	world_file(&w, "V/a", "2\n", 0660);
	world_file(&w, "V/new", "o\n", 0640);
	world_file(&w, "V/plain", "p\n", 0644);
	world_set(&w);
	world_rename(&w, "old", "new");
	world_landed(&w);
	xattr_is("R/a", "system.posix_acl_access", acl, sizeof(acl));
	xattr_is("R/a", "user.note", "n", 1);
	xattr_is("R/new", "user.note", "o", 1);
	xattr_is("R/plain", "system.posix_acl_access", NULL, 0);
	ATF_REQUIRE_EQ(stat_of("R/a").st_gid, 61002);
	ATF_REQUIRE_EQ(stat_of("R/new").st_gid, 61003);
	ATF_REQUIRE_EQ(stat_of("R/plain").st_gid, getegid());
}

/* As if it had been made in its folder. */
ATF_TC_WITHOUT_HEAD(inheritance);
ATF_TC_BODY(inheritance, tc)
{
	begin(true);
	world_dir(&w, "R/team", 0755);
	ATF_REQUIRE(fchownat(w.fd, "R/team", 0, 61002, 0) == 0);
	ATF_REQUIRE(fchmodat(w.fd, "R/team", 02775, 0) == 0);
	xattr_put("R/team", "system.posix_acl_default", acl, sizeof(acl));
	world_file(&w, "V/team/f", "f\n", 0660);
	world_file(&w, "V/team/d/e/f", "f\n", 0660);
	world_dir(&w, "V/team/d/e", 0770);
	world_dir(&w, "V/team/d", 0770);
	world_set(&w);
	ATF_REQUIRE(world_land(&w) == 0);
	xattr_is("R/team/f", "system.posix_acl_access", acl, sizeof(acl));
	xattr_is("R/team/d/e/f", "system.posix_acl_access", acl, sizeof(acl));
	xattr_is("R/team/d/e", "system.posix_acl_default", acl, sizeof(acl));
	ATF_REQUIRE_EQ(stat_of("R/team/f").st_gid, 61002);
	ATF_REQUIRE_EQ(stat_of("R/team/d/e/f").st_gid, 61002);
	ATF_REQUIRE_EQ(stat_of("R/team/d/e").st_mode,
	    (mode_t)(S_IFDIR | 02770));
}

/* setuid, setgid and the like of the session's never arrive. */
ATF_TC_WITHOUT_HEAD(no_setuid);
ATF_TC_BODY(no_setuid, tc)
{
	struct change	*c;

	begin(true);
	world_file(&w, "R/m", "m\n", 0644);
	world_file(&w, "R/f", "1\n", 0644);
	world_file(&w, "V/m", "m\n", 0755);
	world_file(&w, "V/f", "2\n", 0755);
	world_file(&w, "V/n", "n\n", 0755);
	world_set(&w);
	TAILQ_FOREACH(c, &w.set.changes, entry)
		c->post.mode |= S_ISUID | S_ISGID | S_ISVTX;
	ATF_REQUIRE(world_land(&w) == 0);
	ATF_REQUIRE_EQ(stat_of("R/m").st_mode, (mode_t)(S_IFREG | 0755));
	ATF_REQUIRE_EQ(stat_of("R/f").st_mode, (mode_t)(S_IFREG | 0755));
	ATF_REQUIRE_EQ(stat_of("R/n").st_mode, (mode_t)(S_IFREG | 0755));
}

/* The other name of a file that is replaced keeps what it had. */
ATF_TC_WITHOUT_HEAD(hard_links);
ATF_TC_BODY(hard_links, tc)
{
	begin(true);
	world_file(&w, "R/a", "1\n", 0);
	ATF_REQUIRE(linkat(w.fd, "R/a", w.fd, "R/b", 0) == 0);
	ATF_REQUIRE(linkat(w.fd, "R/a", w.fd, "R/c", 0) == 0);
	ATF_REQUIRE(linkat(w.fd, "R/a", w.fd, "R/d", 0) == 0);
	world_file(&w, "V/a", "2\n", 0);
	world_file(&w, "V/b", "1\n", 0);
	world_set(&w);
	world_landed(&w);
	content_is("R/a", "2\n");
	content_is("R/b", "1\n");
	ATF_REQUIRE(faccessat(w.fd, "R/c", F_OK, 0) == -1);
}

/* A mode is the inode's, whose other names lie anywhere: one path's lands. */
ATF_TC_WITHOUT_HEAD(hard_links_mode);
ATF_TC_BODY(hard_links_mode, tc)
{
	struct stat	out;

	begin(true);
	world_file(&w, "R/tool", "tool\n", 0600);
	world_file(&w, "R/a", "1\n", 0644);
	world_file(&w, "OUT/other", "", 0);
	ATF_REQUIRE(linkat(w.fd, "R/tool", w.fd, "OUT/key", 0) == 0);
	ATF_REQUIRE(linkat(w.fd, "R/a", w.fd, "R/b", 0) == 0);
	out = stat_of("OUT/key");
	world_view(&w);
	ATF_REQUIRE(test_sh("cd '%s/V' && chmod 666 tool && rm a && "
	    "cp -p b a && chmod 755 a", w.dir) == 0);
	world_set(&w);
	ATF_REQUIRE(world_change(&w, "tool")->kind == CHANGE_MODE);
	world_landed(&w);
	result_checked();
	ATF_REQUIRE_EQ(stat_of("OUT/key").st_mode, (mode_t)(S_IFREG | 0600));
	ATF_REQUIRE_EQ(stat_of("OUT/key").st_ino, out.st_ino);
	ATF_REQUIRE(stat_of("R/tool").st_ino != out.st_ino);
	ATF_REQUIRE_EQ(stat_of("R/b").st_mode, (mode_t)(S_IFREG | 0644));
}

/*
 * Folders
 */
ATF_TC_WITHOUT_HEAD(folders_that_stay);
ATF_TC_BODY(folders_that_stay, tc)
{
	static const char	*hide[2], *ro[2];

	begin(true);
	/* All gone; one with an ignored file; one with a repository in it;
	 * one with a hidden folder; one with a read-only one; one that was
	 * empty all along. */
	world_file(&w, "R/all/a/b", "b\n", 0);
	world_dir(&w, "R/all/hollow/e", 0755);
	world_file(&w, "R/some/x", "x\n", 0);
	world_file(&w, "R/some/kept.o", "o\n", 0);
	world_file(&w, "R/nest/x", "x\n", 0);
	world_dir(&w, "R/nest/sub/.git/refs/tags", 0755);
	world_file(&w, "R/mask/x", "x\n", 0);
	world_dir(&w, "R/mask/secret", 0755);
	world_file(&w, "R/lid/x", "x\n", 0);
	world_dir(&w, "R/lid/fixed", 0755);
	world_dir(&w, "R/hollow", 0755);
	world_dir(&w, "V/hollow", 0755);
	hide[0] = test_path("w/R/mask/secret");
	w.job.hide = hide;
	ro[0] = test_path("w/R/lid/fixed");
	w.job.ro = ro;
	world_set(&w);
	world_drop(&w, "some/kept.o");
	ATF_REQUIRE(world_land(&w) == 0);
	ATF_REQUIRE(faccessat(w.fd, "R/all", F_OK, 0) == -1);
	content_is("R/some/kept.o", "o\n");
	stat_of("R/nest/sub/.git/refs/tags");
	stat_of("R/mask/secret");
	stat_of("R/lid/fixed");
	stat_of("R/hollow");
	ATF_REQUIRE(faccessat(w.fd, "R/some/x", F_OK, 0) == -1);
	ATF_REQUIRE(faccessat(w.fd, "R/nest/x", F_OK, 0) == -1);
	ATF_REQUIRE(faccessat(w.fd, "R/mask/x", F_OK, 0) == -1);
	ATF_REQUIRE(faccessat(w.fd, "R/lid/x", F_OK, 0) == -1);
}

/* Moved away and not unlinked, so a folder comes back as itself; one that
 * nobody may write goes like any other. */
ATF_TC_WITHOUT_HEAD(folders_without_write);
ATF_TC_BODY(folders_without_write, tc)
{
	begin(true);
	world_file(&w, "R/d/e/x", "x\n", 0);
	world_file(&w, "V/n/x", "x\n", 0444);
	world_dir(&w, "V/n", 0555);
	ATF_REQUIRE(test_sh("mkdir -p '%s/R/d/hollow' && chmod 555 "
	    "'%s/R/d/hollow'", w.dir, w.dir) == 0);
	world_set(&w);
	if (world_land_as(&w, USER) == -1)
		atf_tc_fail("%s", w.res.why);
	ATF_REQUIRE(faccessat(w.fd, "R/d", F_OK, 0) == -1);
	ATF_REQUIRE_EQ(stat_of("R/n").st_mode, (mode_t)(S_IFDIR | 0555));
	content_is("R/n/x", "x\n");
}

ATF_TC_WITHOUT_HEAD(folder_to_file);
ATF_TC_BODY(folder_to_file, tc)
{
	begin(true);
	world_file(&w, "R/a/x", "x\n", 0);
	world_dir(&w, "R/a/hollow/e", 0755);
	world_dir(&w, "R/b/hollow", 0755);
	world_file(&w, "R/c/x", "x\n", 0);
	world_file(&w, "V/a", "a\n", 0);
	world_link(&w, "V/b", "a");
	world_file(&w, "V/c", "c\n", 0);
	world_set(&w);
	world_landed(&w);
	/* Not where something stays in it that does not land. */
	world_file(&w, "R/d/x", "x\n", 0);
	world_file(&w, "R/d/kept.o", "o\n", 0);
	world_file(&w, "V/d", "d\n", 0);
	world_set(&w);
	world_drop(&w, "d/kept.o");
	char *before = world_tree(&w, "R", true);
	ATF_REQUIRE(world_land(&w) == -1);
	ATF_REQUIRE_STREQ(w.res.code, "land.kept");
	char *after = world_tree(&w, "R", true);
	ATF_REQUIRE_STREQ(before, after);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, kinds);
	ATF_TP_ADD_TC(tp, twice);
	ATF_TP_ADD_TC(tp, folders);
	ATF_TP_ADD_TC(tp, foreign_folder);
	ATF_TP_ADD_TC(tp, attributes);
	ATF_TP_ADD_TC(tp, inheritance);
	ATF_TP_ADD_TC(tp, no_setuid);
	ATF_TP_ADD_TC(tp, hard_links);
	ATF_TP_ADD_TC(tp, hard_links_mode);
	ATF_TP_ADD_TC(tp, folders_that_stay);
	ATF_TP_ADD_TC(tp, folders_without_write);
	ATF_TP_ADD_TC(tp, folder_to_file);
	return (atf_no_error());
}
