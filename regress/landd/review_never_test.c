/*
 * What never lands: hidden things, git's own files, nested repositories, the
 * suite's own; and what the real tree's rules ignore.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "review_lib.h"

static const char *
hidden(const struct review *r, const char *path)
{
	static char	buf[8][PATH_MAX];
	static int	n;
	char		*p = buf[n++ % 8];

	snprintf(p, PATH_MAX, "%s/R/%s", r->dir, path);
	return (p);
}

static void
conf_world(struct review *r, const char *options)
{
	review_begin(r);
	review_file(r, "R/conf/skey", "the secret\n");
	review_file(r, "R/conf/a", "a\n");
	review_file(r, "R/conf/sub/s", "s\n");
	review_file(r, "R/z", "z\n");
	r->hide[0] = hidden(r, "conf/skey");
	r->hide[1] = hidden(r, "later/on/key");
	review_mask_file(r, "conf/skey");
	review_mask_absent(r, "later");
	r->options = options;
	review_start(r);
}

static void
conf_session(struct review *r)
{
	review_is(r, "");
	review_sh(r, "cd V; echo more >>conf/a");
	review_is(r, "modified 100644 100644 conf/a\n");
	review_sh(r, "cd V; mv conf conf2; mv conf2/sub sub2");
	review_is(r,
	    "deleted 100644 0 conf/a\n"
	    "added 0 100644 conf2/a\n"
	    "renamed 100644 100644 conf/sub/s -> sub2/s\n"
	    "skipped hidden conf2/skey\n");
	/* The owner makes what was hidden before it was there. */
	review_sh(r, "cd R; mkdir -p later/on; echo key >later/on/key; "
	    "echo x >later/x");
	review_refresh(r);
	review_is(r,
	    "deleted 100644 0 conf/a\n"
	    "added 0 100644 conf2/a\n"
	    "renamed 100644 100644 conf/sub/s -> sub2/s\n"
	    "skipped hidden conf2/skey\n");
	ATF_REQUIRE(strstr(review_patch(r), "secret") == NULL);
}

/* Through a rename of its folder, live and stopped, with inode numbers made
 * up and not. */
ATF_TC_WITHOUT_HEAD(hidden_file);
ATF_TC_BODY(hidden_file, tc)
{
	struct review	r;

	conf_world(&r, NULL);
	conf_session(&r);
	ATF_REQUIRE_MSG(review_run_stopped(&r) == 0, "%s", r.why);
	review_expect(&r,
	    "deleted 100644 0 conf/a\n"
	    "added 0 100644 conf2/a\n"
	    "renamed 100644 100644 conf/sub/s -> sub2/s\n"
	    "skipped hidden conf2/skey\n");
	review_free(&r);
}

ATF_TC_WITHOUT_HEAD(hidden_file_xino);
ATF_TC_BODY(hidden_file_xino, tc)
{
	struct review	r;

	conf_world(&r, "xino=on");
	conf_session(&r);
	review_free(&r);
}

/* By device and inode, where no mask stands before it: a second name, and a
 * place that the owner moved it to. Not a byte of it is read. */
ATF_TC_WITHOUT_HEAD(hidden_inode);
ATF_TC_BODY(hidden_inode, tc)
{
	struct review	r;
	struct stat	st;
	char		path[PATH_MAX];
	time_t		then = 1000000000;
	struct timespec	old[2] = { { then, 0 }, { then, 0 } };

	review_begin(&r);
	review_file(&r, "R/skey", "the secret\n");
	review_file(&r, "R/d/x", "x\n");
	review_file(&r, "R/key2", "another secret\n");
	review_sh(&r, "ln R/skey R/d/second");
	r.hide[0] = hidden(&r, "skey");
	r.hide[1] = hidden(&r, "key2");
	review_start(&r);
	snprintf(path, sizeof(path), "%s/R/skey", r.dir);
	ATF_REQUIRE(utimensat(AT_FDCWD, path, old, 0) == 0);
	review_sh(&r, "cd V; mv d e");
	review_is(&r,
	    "renamed 100644 100644 d/x -> e/x\n"
	    "skipped hidden d/second\n"
	    "skipped hidden e/second\n");
	ATF_REQUIRE(stat(path, &st) == 0);
	ATF_REQUIRE_EQ(st.st_atime, then);
	review_sh(&r, "cd V; rm e/second; cp skey stolen; mv key2 s2");
	review_is(&r,
	    "renamed 100644 100644 d/x -> e/x\n"
	    "added 0 100644 stolen\n"
	    "skipped hidden d/second\n"
	    "skipped hidden s2\n");
	review_free(&r);
}

/* What the session creates at a hidden path stays in its layer, and a folder
 * with something hidden in it is not replaced. */
ATF_TC_WITHOUT_HEAD(hidden_made);
ATF_TC_BODY(hidden_made, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/conf/sub/skey", "the secret\n");
	review_file(&r, "R/conf/a", "a\n");
	r.hide[0] = hidden(&r, "conf/sub/skey");
	r.hide[1] = hidden(&r, "not/there");
	review_start(&r);
	review_sh(&r, "cd V; mkdir not; echo x >not/there; echo y >not/other; "
	    "rm -r conf; echo file >conf");
	review_is(&r,
	    "deleted 100644 0 conf/a\n"
	    "added 0 100644 not/other\n"
	    "skipped hidden conf\n"
	    "skipped hidden not/there\n");
	ATF_REQUIRE(strstr(review_patch(&r), "secret") == NULL);
	review_free(&r);
}

/* Within what is one unit too: nothing of it is read or told. */
ATF_TC_WITHOUT_HEAD(hidden_in_units);
ATF_TC_BODY(hidden_in_units, tc)
{
	struct review	r;
	struct timespec	old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
	struct stat	st;
	char		path[PATH_MAX];

	review_begin(&r);
	review_file(&r, "R/sub/.git/config", "x\n");
	review_file(&r, "R/sub/key", "the secret\n");
	review_file(&r, "R/.git/config", "token\n");
	review_file(&r, "R/.gitignore", "*\n");
	r.hide[0] = hidden(&r, "sub/key");
	r.hide[1] = hidden(&r, ".git/config");
	r.hide[2] = hidden(&r, ".gitignore");
	review_mask_file(&r, "sub/key");
	review_mask_file(&r, ".git/config");
	review_mask_file(&r, ".gitignore");
	review_start(&r);
	snprintf(path, sizeof(path), "%s/R/sub/key", r.dir);
	ATF_REQUIRE(utimensat(AT_FDCWD, path, old, 0) == 0);
	review_sh(&r, "cd V; touch sub/.git/config; echo x >sub/new; "
	    "rm sub/new; mkdir .git/refs; rmdir .git/refs; echo x >seen");
	review_is(&r, "added 0 100644 seen\n");
	ATF_REQUIRE(stat(path, &st) == 0);
	ATF_REQUIRE_EQ(st.st_atime, old[0].tv_sec);
	review_free(&r);
}

static const char *const gits[] = { ".GIT", ".Git", "git~1", "GIT~1", ".git.",
    ".git ", ".git::$INDEX_ALLOCATION", ".g\xe2\x80\x8cit",
    "\xef\xbb\xbf.git", ".gi\xe2\x80\xact", ".g\xc2\xadit",
    ".git\xf3\xa0\x80\x81", "\xcd\x8f.GIT" };

ATF_TC_WITHOUT_HEAD(git_spelled);
ATF_TC_BODY(git_spelled, tc)
{
	struct review	r;
	char		path[64];
	size_t		i, n = sizeof(gits) / sizeof(*gits);
	struct skipped	*s;

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_start(&r);
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "V/%s/x", gits[i]);
		review_file(&r, path, "x\n");
		snprintf(path, sizeof(path), "V/a.d/%s", gits[i]);
		review_file(&r, path, "x\n");
	}
	review_file(&r, "V/.gitx", "x\n");
	review_file(&r, "V/.gitattributes", "x\n");
	review_file(&r, "V/.g\xc3\xadt", "x\n");
	ATF_REQUIRE_MSG(review_run(&r) == 0, "%s", r.why);
	ATF_CHECK_EQ(TAILQ_FIRST(&r.set.changes)->kind, CHANGE_ADDED);
	ATF_CHECK_STREQ(TAILQ_FIRST(&r.set.changes)->path, ".gitattributes");
	ATF_CHECK_STREQ(TAILQ_NEXT(TAILQ_FIRST(&r.set.changes), entry)->path,
	    ".gitx");
	i = 0;
	TAILQ_FOREACH(s, &r.set.skipped, entry)
		i += strcmp(s->class, "git") == 0;
	/* a.d is new and holds one: a nested repository. */
	ATF_CHECK_EQ(i, n);
	ATF_CHECK(strstr(review_text(&r), "skipped nested a.d\n") != NULL);
	review_free(&r);
}

/* One line for .git; hooks and configuration by their names. */
ATF_TC_WITHOUT_HEAD(git_classes);
ATF_TC_BODY(git_classes, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_file(&r, "R/lib/b", "b\n");
	review_sh(&r, "cd R; git init -q --template= .; git add a; "
	    "git -c user.name=x -c user.email=x@x commit -qm a");
	review_start(&r);
	review_sh(&r, "cd V; git log");
	review_is(&r, "");
	review_sh(&r, "cd V; echo more >>a; "
	    "git -c user.name=x -c user.email=x@x commit -qam b");
	review_is(&r,
	    "modified 100644 100644 a\n"
	    "skipped git .git\n");
	review_sh(&r, "cd V; git config core.fsmonitor 'touch PWN;:'; "
	    "mkdir -p .git/hooks .git/modules/m/hooks; "
	    "echo x >.git/hooks/pre-commit; echo x >.git/hooks/a.sample; "
	    "echo x >.git/modules/m/hooks/post-checkout; "
	    "echo x >.git/modules/m/config; git init -q lib");
	review_is(&r,
	    "modified 100644 100644 a\n"
	    "skipped git .git\n"
	    "skipped config .git/config\n"
	    "skipped hooks .git/hooks/pre-commit\n"
	    "skipped config .git/modules/m/config\n"
	    "skipped hooks .git/modules/m/hooks/post-checkout\n"
	    "skipped git lib/.git\n"
	    "skipped config lib/.git/config\n");
	/* git init in a folder of the owner's takes nothing out of sight. */
	review_sh(&r, "cd V; echo more >>lib/b; rm -rf .git lib/.git; "
	    "ln -s /tmp/hooks .git");
	review_is(&r,
	    "modified 100644 100644 a\n"
	    "modified 100644 100644 lib/b\n"
	    "skipped git .git\n"
	    "skipped config .git/config\n");
	review_free(&r);
}

/* What was read-only inside, after a folder above it was moved: another one in
 * its place, none, a file in that one's place, and what was never there. */
ATF_TC_WITHOUT_HEAD(read_only);
ATF_TC_BODY(read_only, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/sub/deep/f", "f\n");
	review_file(&r, "R/sub/deep/g", "g\n");
	review_file(&r, "R/sub/x", "x\n");
	review_file(&r, "R/top/file", "file\n");
	review_file(&r, "R/top/y", "y\n");
	review_file(&r, "R/sub-z", "z\n");
	r.ro[0] = hidden(&r, "sub/deep");
	r.ro[1] = hidden(&r, "top/file");
	r.ro[2] = hidden(&r, "none");
	r.ro[3] = "/elsewhere";
	review_start(&r);
	review_sh(&r, "cd V; touch sub/deep/f; echo more >>sub/x");
	review_is(&r, "modified 100644 100644 sub/x\n");
	review_sh(&r, "cd V; mv sub old; mkdir -p sub/deep/dir; "
	    "echo evil >sub/deep/f; echo evil >sub/deep/dir/new; mv top t; "
	    "echo evil >top; mkdir none; echo evil >none/x; echo z >>sub-z");
	review_is(&r,
	    "added 0 100644 old/deep/f\n"
	    "added 0 100644 old/deep/g\n"
	    "added 0 100644 old/x\n"
	    "modified 100644 100644 sub-z\n"
	    "deleted 100644 0 sub/x\n"
	    "added 0 100644 t/file\n"
	    "added 0 100644 t/y\n"
	    "deleted 100644 0 top/y\n"
	    "skipped readonly none\n"
	    "skipped readonly sub/deep\n"
	    "skipped special top\n"
	    "skipped readonly top/file\n");
	/* Gone with all above it, nothing of it is removed. */
	review_sh(&r, "cd V; rm -r sub top none old t sub-z");
	review_is(&r,
	    "deleted 100644 0 sub-z\n"
	    "deleted 100644 0 sub/x\n"
	    "deleted 100644 0 top/y\n"
	    "skipped readonly sub/deep\n"
	    "skipped readonly top/file\n");
	review_free(&r);
}

ATF_TC_WITHOUT_HEAD(nested);
ATF_TC_BODY(nested, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_file(&r, "R/sub/f", "f\n");
	review_file(&r, "R/sub/deep/g", "g\n");
	review_file(&r, "R/mod/.git", "gitdir: ../.git/modules/mod\n");
	review_file(&r, "R/mod/h", "h\n");
	review_file(&r, "R/gone/.git/HEAD", "ref: x\n");
	review_file(&r, "R/gone/i", "i\n");
	review_sh(&r, "cd R/sub; git init -q --template= .");
	review_start(&r);
	review_sh(&r, "cd V; touch sub/f mod/h; git init -q new; "
	    "echo x >new/x; chmod 755 sub/deep");
	review_is(&r, "skipped nested new\n");
	review_sh(&r, "cd V; echo x >sub/deep/x; echo more >>mod/h; "
	    "rm -r gone; mv mod mod2; rm -r sub/.git");
	review_is(&r,
	    "skipped nested gone\n"
	    "skipped nested mod\n"
	    "skipped nested mod2\n"
	    "skipped nested new\n"
	    "skipped nested sub\n");
	review_sh(&r, "cd V; echo file >gone");
	review_is(&r,
	    "skipped nested gone\n"
	    "skipped special gone\n"
	    "skipped nested mod\n"
	    "skipped nested mod2\n"
	    "skipped nested new\n"
	    "skipped nested sub\n");
	review_free(&r);
}

/* What git takes for a repository without a .git in it, and whose config it
 * would obey: new, completed, in any spelling, by a commondir. */
ATF_TC_WITHOUT_HEAD(bare);
ATF_TC_BODY(bare, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_file(&r, "R/half/HEAD", "ref: refs/heads/main\n");
	review_file(&r, "R/half/config", "[core]\n");
	review_file(&r, "R/half/b", "b\n");
	review_file(&r, "R/plain/c", "c\n");
	review_file(&r, "R/some/refs/r", "r\n");
	review_sh(&r, "cd R; git init -q --bare --template= its.git; "
	    "mkdir some/objects; echo x >some/HEAD");
	review_start(&r);
	review_sh(&r, "cd V; touch its.git/HEAD; for d in new half plain; do "
	    "mkdir -p $d/objects/a $d/refs/heads; echo x >$d/objects/a/R; "
	    "echo x >$d/refs/heads/R; echo more >>$d/b; "
	    "echo 'ref: refs/heads/main' >$d/HEAD; "
	    "printf '[core]\\n\\tfsmonitor = x\\n' >$d/config; done; "
	    "git -C new rev-parse --git-dir; git -C half rev-parse --git-dir");
	review_is(&r,
	    "modified 100644 100644 half/b\n"
	    "added 0 100644 plain/b\n"
	    "skipped nested half/config\n"
	    "skipped nested half/objects\n"
	    "skipped nested half/refs\n"
	    "skipped nested new\n"
	    "skipped nested plain/HEAD\n"
	    "skipped nested plain/config\n"
	    "skipped nested plain/objects\n"
	    "skipped nested plain/refs\n");
	/* The owner's own, and one of which the session takes a part away. */
	review_sh(&r, "cd V; rm -r new half/HEAD half/[c-r]* plain/HEAD "
	    "plain/[d-r]*; echo x >>its.git/config; rm -r some/refs");
	review_is(&r,
	    "deleted 100644 0 half/HEAD\n"
	    "modified 100644 100644 half/b\n"
	    "deleted 100644 0 half/config\n"
	    "added 0 100644 plain/b\n"
	    "added 0 100644 plain/config\n"
	    "skipped nested its.git\n"
	    "skipped nested some\n");
	/* By a commondir, spelled as a filesystem may read it, at the top. */
	review_sh(&r, "cd V; rm -r half plain; mkdir -p w o; cd w; "
	    "echo ../o >CommonDir; echo x >head; cd ..; echo x >HEAD; "
	    "mkdir -p refs hooks objects; echo x >refs/x; echo x >hooks/x; "
	    "echo x >objects/x");
	review_is(&r,
	    "deleted 100644 0 half/HEAD\n"
	    "deleted 100644 0 half/b\n"
	    "deleted 100644 0 half/config\n"
	    "deleted 100644 0 plain/c\n"
	    "skipped nested HEAD\n"
	    "skipped nested hooks\n"
	    "skipped nested its.git\n"
	    "skipped dir o\n"
	    "skipped nested objects\n"
	    "skipped nested refs\n"
	    "skipped nested some\n"
	    "skipped nested w\n");
	review_free(&r);
}

ATF_TC_WITHOUT_HEAD(own);
ATF_TC_BODY(own, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/.sbx-land-abc/1/record", "x\n");
	review_file(&r, "R/d/.sbx-land-abc", "x\n");
	review_start(&r);
	review_is(&r, "");
	review_sh(&r, "cd V; rm -r .sbx-land-abc; mkdir .sbx-land-x; "
	    "echo y >.sbx-land-x/y; echo more >>d/.sbx-land-abc");
	review_is(&r,
	    "modified 100644 100644 d/.sbx-land-abc\n"
	    "skipped own .sbx-land-abc\n"
	    "skipped own .sbx-land-x\n");
	review_free(&r);
}

/* The real tree's rules: a group a folder. What git tracks is not ignored,
 * and what the session writes into a .gitignore hides nothing. */
ATF_TC_WITHOUT_HEAD(ignored);
ATF_TC_BODY(ignored, tc)
{
	struct review	r;
	struct ignored	*i;

	review_begin(&r);
	review_file(&r, "R/.gitignore", "*.o\n/build/\n!keep.o\n");
	review_file(&r, "R/src/.gitignore", "gen/*\n!gen/in.c\n");
	review_file(&r, "R/src/a.c", "a.c\n");
	review_file(&r, "R/src/a.o", "a.o\n");
	review_file(&r, "R/src/gen/x", "x\n");
	review_file(&r, "R/src/gen/in.c", "in.c\n");
	review_file(&r, "R/tracked.o", "tracked.o\n");
	review_file(&r, "R/build/old", "old\n");
	review_file(&r, "R/build/listed", "listed\n");
	review_sh(&r, "cd R; git init -q --template= .; mkdir -p .git/info; "
	    "echo secret.txt >.git/info/exclude; git add .gitignore src; "
	    "git add -f tracked.o build/listed");
	review_start(&r);
	review_sh(&r, "cd V; for f in src/a.c src/a.o src/gen/x src/gen/in.c "
	    "tracked.o build/listed; do echo more >>$f; done; rm build/old; "
	    "echo 12345 >build/new; mkdir -p build/deep; echo 1 >build/deep/x; "
	    "echo x >secret.txt; echo x >keep.o; echo x >lib.o; "
	    "echo '*.c' >>.gitignore; echo '*' >src/gen/.gitignore; "
	    "mkdir sly; echo '*' >sly/.gitignore; echo x >sly/x; "
	    "touch src/a.o; mkfifo build/fifo; mkdir -p build/repo/.git; "
	    "echo x >build/repo/.git/HEAD");
	review_is(&r,
	    "modified 100644 100644 .gitignore\n"
	    "modified 100644 100644 build/listed\n"
	    "added 0 100644 keep.o\n"
	    "added 0 100644 sly/.gitignore\n"
	    "added 0 100644 sly/x\n"
	    "modified 100644 100644 src/a.c\n"
	    "modified 100644 100644 src/gen/in.c\n"
	    "modified 100644 100644 tracked.o\n"
	    "ignored 2 .\n"
	    "ignored 4 build\n"
	    "ignored 1 src\n"
	    "ignored 2 src/gen\n");
	TAILQ_FOREACH(i, &r.set.ignored, entry)
		if (strcmp(i->path, ".") == 0)
			ATF_CHECK_EQ(i->bytes, 4);
	review_free(&r);
}

/* The rules go with a folder that the session moved. */
ATF_TC_WITHOUT_HEAD(ignored_moved);
ATF_TC_BODY(ignored_moved, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/src/.gitignore", "*.o\n");
	review_file(&r, "R/src/a.c", "a.c\n");
	review_file(&r, "R/src/a.o", "a.o\n");
	review_start(&r);
	review_sh(&r, "mv V/src V/lib");
	review_is(&r,
	    "renamed 100644 100644 src/.gitignore -> lib/.gitignore\n"
	    "renamed 100644 100644 src/a.c -> lib/a.c\n"
	    "ignored 1 lib\n"
	    "ignored 1 src\n");
	review_free(&r);
}

/* G117, C55: a linked worktree, a .git link, and no git at all. */
ATF_TC_WITHOUT_HEAD(worktrees);
ATF_TC_BODY(worktrees, tc)
{
	struct review	r;

	review_begin(&r);
	review_folder(&r, "main");
	review_sh(&r, "chmod 755 .; rmdir R; cd main; git init -q .; "
	    "echo '*.o' >.gitignore; echo a >a.o; git add -f .; "
	    "git -c user.name=x -c user.email=x@x commit -qm a; "
	    "echo local.txt >.git/info/exclude; "
	    "git worktree add -q ../R -b other; cd ../R; echo b >b.o");
	review_start(&r);
	review_sh(&r, "cd V; echo more >>a.o; echo more >>b.o; "
	    "echo x >local.txt; echo x >seen.txt");
	review_is(&r,
	    "modified 100644 100644 a.o\n"
	    "added 0 100644 seen.txt\n"
	    "ignored 2 .\n");
	review_unmount(&r);
	review_sh(&r, "cd R; rm .git; ln -s ../main/.git .git");
	review_refresh(&r);
	ATF_REQUIRE_MSG(review_run(&r) == 0, "%s", r.why);
	ATF_REQUIRE(strstr(review_text(&r),
	    "modified 100644 100644 a.o\n") != NULL);
	review_sh(&r, "cd R; rm .git .gitignore");
	review_refresh(&r);
	ATF_REQUIRE_MSG(review_run(&r) == 0, "%s", r.why);
	ATF_REQUIRE(strstr(review_text(&r),
	    "added 0 100644 local.txt\n") != NULL);
	ATF_REQUIRE(strstr(review_text(&r), "ignored") == NULL);
	review_free(&r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, hidden_file);
	ATF_TP_ADD_TC(tp, hidden_file_xino);
	ATF_TP_ADD_TC(tp, hidden_inode);
	ATF_TP_ADD_TC(tp, hidden_made);
	ATF_TP_ADD_TC(tp, hidden_in_units);
	ATF_TP_ADD_TC(tp, git_spelled);
	ATF_TP_ADD_TC(tp, git_classes);
	ATF_TP_ADD_TC(tp, read_only);
	ATF_TP_ADD_TC(tp, nested);
	ATF_TP_ADD_TC(tp, bare);
	ATF_TP_ADD_TC(tp, own);
	ATF_TP_ADD_TC(tp, ignored);
	ATF_TP_ADD_TC(tp, ignored_moved);
	ATF_TP_ADD_TC(tp, worktrees);
	return (atf_no_error());
}
