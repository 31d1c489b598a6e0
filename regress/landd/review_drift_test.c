/*
 * Drift: the owner's files move while the session runs. Nothing of the
 * owner's is overwritten unseen, and nothing is called drift that is not.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/origins.h"
#include "landd/origins.h"
#include "landd/walk.h"
#include "review_lib.h"

/* The baseline of the real path as it is now. */
static struct baseline *
baseline(struct review *r, const char *path)
{
	struct baseline	*b;
	struct stat	 st;
	char		 full[PATH_MAX];
	int		 fd;

	ATF_REQUIRE((b = calloc(1, sizeof(*b))) != NULL);
	ATF_REQUIRE((b->path = strdup(path)) != NULL);
	snprintf(full, sizeof(full), "%s/R/%s", r->dir, path);
	TAILQ_INSERT_TAIL(&r->baselines, b, entry);
	if (stat(full, &st) == -1)
		return (b);
	b->image.mode = st.st_mode;
	b->image.size = (uint64_t)st.st_size;
	b->image.dev = st.st_dev;
	b->image.ino = st.st_ino;
	b->image.ctime = st.st_ctim;
	ATF_REQUIRE((fd = open(full, O_RDONLY)) != -1);
	ATF_REQUIRE(S_ISDIR(st.st_mode) ||
	    digest_fd(fd, b->image.sha, NULL) == 0);
	close(fd);
	return (b);
}

static void
tree(struct review *r)
{
	static const char *const	names[] = { "edit", "saved", "gone",
	    "mode", "same", "plain", "removed", "gonetoo", "both" };
	char				path[64], text[64];
	size_t				i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "R/%s", names[i]);
		snprintf(text, sizeof(text), "%s\n", names[i]);
		review_file(r, path, text);
	}
	review_file(r, "R/d/keep", "keep\n");
	review_file(r, "R/d/mine", "mine\n");
	review_file(r, "R/away", "away\n");
	review_file(r, "R/untracked", "untracked\n");
	review_sh(r, "cd R; git init -q --template= .; git add .; "
	    "git rm -q --cached untracked away");
}

/* A1 and its kin: after T0 the owner edits in place, saves by rename,
 * deletes, changes a mode; the session did something to each. Of d, which the
 * session removed, nobody knows whether it is the same: it and what is above
 * it have changed. */
static void
drifts(struct review *r)
{
	review_sh(r, "cd V; for f in edit saved gone mode same plain both "
	    "away untracked; do echo more >>$f; done; rm removed gonetoo; "
	    "echo mine >made; echo x >made2; rm -r d; mkdir d; echo new >d/n");
	review_sh(r, "cd R; echo owner >>edit; echo owner >t; mv t saved; "
	    "rm gone gonetoo untracked; mv away away2; chmod 600 mode; "
	    "echo more >>same; echo owner >>removed; echo theirs >made; "
	    "echo x >made2; "
	    "echo later >d/later");
	review_refresh(r);
}

static const char	drifts_want[] =
    "added 0 100644 away drift\n"
    "modified 100644 100644 both\n"
    "deleted 100644 0 d/keep drift\n"
    "deleted 100644 0 d/later drift\n"
    "deleted 100644 0 d/mine drift\n"
    "added 0 100644 d/n\n"
    "modified 100644 100644 edit drift\n"
    "added 0 100644 gone drift\n"
    "modified 100644 100644 made drift\n"
    "modified 100600 100644 mode drift\n"
    "modified 100644 100644 plain\n"
    "deleted 100644 0 removed drift\n"
    "modified 100644 100644 saved drift\n"
    "added 0 100644 untracked drift\n";

ATF_TC_WITHOUT_HEAD(owner_moves);
ATF_TC_BODY(owner_moves, tc)
{
	struct review	r;

	review_begin(&r);
	tree(&r);
	review_start(&r);
	drifts(&r);
	review_is(&r, drifts_want);
	ATF_REQUIRE_EQ(r.set.drifted, 11);
	review_free(&r);
}

/* The same over a stopped session's view, which shows no origins. */
ATF_TC_WITHOUT_HEAD(owner_moves_stopped);
ATF_TC_BODY(owner_moves_stopped, tc)
{
	struct review	r;

	review_begin(&r);
	tree(&r);
	review_start(&r);
	drifts(&r);
	ATF_REQUIRE_MSG(review_run_stopped(&r) == 0, "%s", r.why);
	review_expect(&r, drifts_want);
	review_free(&r);
}

/* A10: only what was there at the start is taken for replaced. */
ATF_TC_WITHOUT_HEAD(new_on_both_sides);
ATF_TC_BODY(new_on_both_sides, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_start(&r);
	review_sh(&r, "mkdir V/newdir; touch V/newdir/n; "
	    "mkdir R/newdir; echo keep >R/newdir/keep");
	review_refresh(&r);
	review_is(&r,
	    "deleted 100644 0 newdir/keep drift\n"
	    "added 0 100644 newdir/n\n");
	review_free(&r);
}

/* What the session moved about is not the owner's doing. */
ATF_TC_WITHOUT_HEAD(session_moves);
ATF_TC_BODY(session_moves, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_file(&r, "R/b", "b\n");
	review_file(&r, "R/c", "c\n");
	review_file(&r, "R/d/x", "x\n");
	review_file(&r, "R/e/y", "y\n");
	review_start(&r);
	/* b becomes a's copy, with a's inode in the view; x leaves its
	 * folder; the owner does something else beside. */
	review_sh(&r, "cd V; mv a b; mv c c2; echo more >>c2; mv d/x x; "
	    "echo more >>x; mv e e2; echo more >>e2/y");
	review_sh(&r, "cd R; echo other >other; echo other >d/other");
	review_refresh(&r);
	review_is(&r,
	    "deleted 100644 0 a\n"
	    "modified 100644 100644 b\n"
	    "deleted 100644 0 c\n"
	    "added 0 100644 c2\n"
	    "deleted 100644 0 d/x\n"
	    "deleted 100644 0 e/y\n"
	    "added 0 100644 e2/y\n"
	    "added 0 100644 x\n");
	ATF_REQUIRE_EQ(r.set.drifted, 0);
	/* Now the owner takes away what the session had moved, and moves a
	 * file that the session moved otherwise. */
	review_sh(&r, "cd R; rm c; mv e/y e/z");
	review_refresh(&r);
	review_is(&r,
	    "deleted 100644 0 a\n"
	    "modified 100644 100644 b\n"
	    "added 0 100644 c2 drift\n"
	    "deleted 100644 0 d/x\n"
	    "deleted 100644 0 e/z drift\n"
	    "added 0 100644 e2/y\n"
	    "added 0 100644 e2/z\n"
	    "added 0 100644 x\n");
	review_free(&r);
}

/*
 * No git that would know which paths were there: the list of copies does, for
 * whatever became of the file that a copy was made of.
 */
static void
copies_tree(struct review *r)
{
	static const char *const	names[] = { "gone", "away", "saved",
	    "touched", "back", "both", "plain", "moved", "movedgone", "onto",
	    "d/in", "two" };
	char				path[64], text[64];
	size_t				i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "R/%s", names[i]);
		snprintf(text, sizeof(text), "%s\n", names[i]);
		review_file(r, path, text);
	}
	review_link(r, "R/link", "plain");
	review_sh(r, "ln R/two R/two2; echo old >old");
}

static void
copies_moves(struct review *r)
{
	review_sh(r, "cd V; for f in gone away saved back both plain moved "
	    "movedgone onto d/in two; do echo more >>$f; done; touch touched; "
	    "echo x >made; mv link link2; mv link2 link; mv moved moved2; "
	    "mv movedgone movedgone2; mv plain onto");
	review_sh(r, "cd R; rm gone touched link movedgone; mv away away2; "
	    "mv ../old saved; mv back t; mv t back; ln both both2; rm both; "
	    "rm -r d; rm two; echo x >other");
	review_refresh(r);
}

static const char	copies_want[] =
    "added 0 100644 away drift\n"
    "modified 100644 100644 back drift\n"
    "added 0 100644 both drift\n"
    "added 0 100644 d/in drift\n"
    "added 0 100644 gone drift\n"
    "added 0 120777 link drift\n"
    "added 0 100644 made\n"
    "deleted 100644 0 moved\n"
    "added 0 100644 moved2\n"
    "added 0 100644 movedgone2 drift\n"
    "modified 100644 100644 onto\n"
    "deleted 100644 0 plain\n"
    "modified 100644 100644 saved drift\n"
    "added 0 100644 touched drift\n"
    /* It had a second name: overlayfs keeps nothing of it. */
    "added 0 100644 two\n";

ATF_TC_WITHOUT_HEAD(copies);
ATF_TC_BODY(copies, tc)
{
	struct review	r;

	review_begin(&r);
	copies_tree(&r);
	review_start(&r);
	copies_moves(&r);
	review_is(&r, copies_want);
	ATF_REQUIRE_MSG(review_run_stopped(&r) == 0, "%s", r.why);
	review_expect(&r, copies_want);
	review_free(&r);
}

/* A tmpfs has handles of another kind. */
ATF_TC_WITHOUT_HEAD(copies_elsewhere);
ATF_TC_BODY(copies_elsewhere, tc)
{
	struct review	r;

	review_begin(&r);
	review_foreign(&r);
	copies_tree(&r);
	review_start(&r);
	copies_moves(&r);
	review_is(&r, copies_want);
	ATF_REQUIRE_MSG(review_run_stopped(&r) == 0, "%s", r.why);
	review_expect(&r, copies_want);
	review_free(&r);
}

/* mountd's list is broken: no review, since drift could not be seen. */
ATF_TC_WITHOUT_HEAD(copies_broken);
ATF_TC_BODY(copies_broken, tc)
{
	const struct origin *f;
	struct origins	o;
	uint8_t		list[2 * ORIGINS_HEAD + 7] = { 1, 0, 0, 0, 0, 0, 0, 1,
			    4, 0, 3, 0, 'a', 'b', 'c', 'd', 'd', '/', 'e', 7 };
	int		fd = memfd_create("origins", 0);
	size_t		len;

	for (len = 0; len <= sizeof(list); len++) {
		ATF_REQUIRE(ftruncate(fd, 0) == 0);
		ATF_REQUIRE(pwrite(fd, list, len, 0) == (ssize_t)len);
		if (len == 0 || len == ORIGINS_HEAD + 7 || len == sizeof(list))
			ATF_REQUIRE(origins_read(fd, &o) == 0);
		else
			ATF_REQUIRE_ERRNO(EINVAL,
			    origins_read(fd, &o) == -1);
		if (len == sizeof(list)) {
			ATF_REQUIRE_EQ(o.n, 2);
			ATF_REQUIRE(origins_find(&o, 7) != NULL);
			ATF_REQUIRE((f = origins_find(&o,
			    UINT64_C(0x0100000000000001))) != NULL);
			ATF_REQUIRE_EQ(f->len, 4);
			ATF_REQUIRE_EQ(f->lowerlen, 3);
			ATF_REQUIRE(memcmp(f->lower, "d/e", 3) == 0);
			ATF_REQUIRE(origins_find(&o, 1) == NULL);
		}
		origins_free(&o);
	}
	/* Longer than any attribute; than any path. */
	for (len = 9; len <= 11; len += 2) {
		list[len] = 0x20;
		ATF_REQUIRE(pwrite(fd, list, sizeof(list), 0) ==
		    (ssize_t)sizeof(list));
		ATF_REQUIRE_ERRNO(EINVAL, origins_read(fd, &o) == -1);
		origins_free(&o);
		list[len] = 0;
	}
	close(fd);
}

/* Later baselines: of what was landed or discarded, path by path. */
ATF_TC_WITHOUT_HEAD(baselines);
ATF_TC_BODY(baselines, tc)
{
	struct review	r;
	struct baseline	*b;

	review_begin(&r);
	tree(&r);
	review_start(&r);
	review_sh(&r, "cd V; for f in edit saved gone mode same; do "
	    "echo more >>$f; done; rm removed gonetoo; echo n >new");
	/* As a landing leaves it: real files changed after T0. */
	review_sh(&r, "cd R; for f in edit saved gone mode; do "
	    "echo more >>$f; done; rm removed gonetoo; echo n >new");
	baseline(&r, "edit");
	baseline(&r, "saved");
	baseline(&r, "gone");
	baseline(&r, "mode");
	baseline(&r, "removed");
	baseline(&r, "gonetoo");
	baseline(&r, "new");
	review_refresh(&r);
	/* same was not landed: its baseline is still T0. */
	review_is(&r, "modified 100644 100644 same\n");
	/* The layer still has equal copies: the owner's next edits are no
	 * change of the session's, whatever they are. */
	review_sh(&r, "cd R; echo owner >>edit; rm gone; chmod 600 mode; "
	    "echo back >removed; echo owner >t; mv t saved");
	review_refresh(&r);
	review_is(&r, "modified 100644 100644 same\n");
	/* Then the session goes on: each is judged by its own baseline. */
	review_sh(&r, "cd V; for f in edit saved gone mode; do "
	    "echo again >>$f; done; rm new; echo y >gonetoo; echo z >removed");
	review_is(&r,
	    "modified 100644 100644 edit drift\n"
	    "added 0 100644 gone drift\n"
	    "added 0 100644 gonetoo\n"
	    "modified 100600 100644 mode drift\n"
	    "deleted 100644 0 new\n"
	    "modified 100644 100644 removed drift\n"
	    "modified 100644 100644 same\n"
	    "modified 100644 100644 saved drift\n");
	/* A baseline that says other bytes than there are. */
	TAILQ_FOREACH(b, &r.baselines, entry)
		if (strcmp(b->path, "new") == 0)
			b->image.sha[0] ^= 1;
	ATF_REQUIRE_MSG(review_run(&r) == 0, "%s", r.why);
	ATF_REQUIRE(strstr(review_text(&r), "deleted 100644 0 new drift\n") !=
	    NULL);
	TAILQ_FOREACH(b, &r.baselines, entry)
		if (strcmp(b->path, "new") == 0) {
			b->image.sha[0] ^= 1;
			b->image.ino++;
		}
	ATF_REQUIRE_MSG(review_run(&r) == 0, "%s", r.why);
	ATF_REQUIRE(strstr(review_text(&r), "deleted 100644 0 new drift\n") !=
	    NULL);
	review_free(&r);
}

/* Touched in the tick of the start: it may have been before or after it. */
ATF_TC_WITHOUT_HEAD(tick);
ATF_TC_BODY(tick, tc)
{
	struct review	r;
	struct stat	st;
	char		path[PATH_MAX];

	review_begin(&r);
	review_file(&r, "R/a", "a\n");
	review_start(&r);
	review_sh(&r, "echo b >>V/a");
	snprintf(path, sizeof(path), "%s/R/a", r.dir);
	ATF_REQUIRE(stat(path, &st) == 0);
	r.t0 = st.st_ctim;
	review_is(&r, "modified 100644 100644 a drift\n");
	r.t0.tv_nsec++;
	if (r.t0.tv_nsec == 1000000000) {
		r.t0.tv_nsec = 0;
		r.t0.tv_sec++;
	}
	review_is(&r, "modified 100644 100644 a\n");
	/* Whole seconds: cut off, it may have been any time in it. */
	st.st_ctim.tv_nsec = 0;
	ATF_CHECK(drift_recent(&(struct walk){ .job = &(struct job){
	    .t0 = { st.st_ctim.tv_sec, 999999999 } } }, &st.st_ctim));
	ATF_CHECK(!drift_recent(&(struct walk){ .job = &(struct job){
	    .t0 = { st.st_ctim.tv_sec + 1, 0 } } }, &st.st_ctim));
	review_free(&r);
}

/*
 * Folders that the owner renames: the times of what is in them stay as they
 * were. Of each the owner has a second one, NAME-, with files of the same
 * names.
 */
static void
swaps_tree(struct review *r)
{
	static const char *const	names[] = { "back", "calm", "gone",
	    "link", "m/sub", "made-", "opq", "quiet", "ren", "swap", "up/in",
	    "wh" };
	char				path[64];
	size_t				i, j;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (j = 0; j < 6; j++) {
			snprintf(path, sizeof(path), "R/%s%s/%c", names[i],
			    j < 3 ? "" : "-", "fgh"[j % 3]);
			review_file(r, path, path);
		}
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "R/%s-/new", names[i]);
		review_file(r, path, path);
	}
	review_sh(r, "cd R; mkdir up-; mv up/in- up-/in");
}

static void
swaps_moves(struct review *r)
{
	/* Files that are replaced as a whole have no origin of their own. */
	review_sh(r, "cd V; for d in back calm gone link swap up/in; do "
	    "echo in >$d/t; mv $d/t $d/f; rm $d/g; echo in >$d/new; done; "
	    "mv ren ren2; echo in >>ren2/f; mv m m2; "
	    "rm -r opq; mkdir opq; echo in >opq/f; rm -r quiet wh; "
	    "mkdir made; echo in >made/f");
}

static void
swaps_owner(struct review *r)
{
	review_sh(r, "cd R; s() { mv $1 $1=; mv $1- $1; }; s swap; s up; "
	    "s ren; s m/sub; s opq; s wh; mv gone gone=; "
	    "mv link link=; ln -s link- link; mv made- made; "
	    "mv back back=; mv back- back; mv back back-; mv back= back; "
	    "echo out >calm/mine; echo out >other");
	review_refresh(r);
}

static const char	swaps_want[] =
    "modified 100644 100644 back/f\n"
    "deleted 100644 0 back/g\n"
    "added 0 100644 back/new\n"
    "modified 100644 100644 calm/f\n"
    "deleted 100644 0 calm/g\n"
    "added 0 100644 calm/new\n"
    "added 0 100644 gone/f drift\n"
    "added 0 100644 gone/new drift\n"
    "deleted 120777 0 link drift\n"
    "added 0 100644 link/f drift\n"
    "added 0 100644 link/new drift\n"
    "renamed 100644 100644 m/sub/f -> m2/sub/f drift\n"
    "renamed 100644 100644 m/sub/g -> m2/sub/g drift\n"
    "renamed 100644 100644 m/sub/h -> m2/sub/h drift\n"
    "renamed 100644 100644 m/sub/new -> m2/sub/new drift\n"
    "renamed 100644 100644 m/sub=/f -> m2/sub=/f drift\n"
    "renamed 100644 100644 m/sub=/g -> m2/sub=/g drift\n"
    "renamed 100644 100644 m/sub=/h -> m2/sub=/h drift\n"
    "modified 100644 100644 made/f drift\n"
    "deleted 100644 0 made/g drift\n"
    "deleted 100644 0 made/h drift\n"
    "modified 100644 100644 opq/f drift\n"
    "deleted 100644 0 opq/g drift\n"
    "deleted 100644 0 opq/h drift\n"
    "deleted 100644 0 opq/new drift\n"
    "deleted 100644 0 quiet/f\n"
    "deleted 100644 0 quiet/g\n"
    "deleted 100644 0 quiet/h\n"
    "deleted 100644 0 ren/f drift\n"
    "added 0 100644 ren2/f drift\n"
    "renamed 100644 100644 ren/g -> ren2/g drift\n"
    "renamed 100644 100644 ren/h -> ren2/h drift\n"
    "renamed 100644 100644 ren/new -> ren2/new drift\n"
    "modified 100644 100644 swap/f drift\n"
    "deleted 100644 0 swap/g drift\n"
    "modified 100644 100644 swap/new drift\n"
    "modified 100644 100644 up/in/f drift\n"
    "deleted 100644 0 up/in/g drift\n"
    "modified 100644 100644 up/in/new drift\n"
    "deleted 100644 0 wh/f drift\n"
    "deleted 100644 0 wh/g drift\n"
    "deleted 100644 0 wh/h drift\n"
    "deleted 100644 0 wh/new drift\n";

/* Live and stopped, of what the world is. */
static void
swaps_both(struct review *r, const char *want)
{
	swaps_moves(r);
	swaps_owner(r);
	review_is(r, want);
	ATF_REQUIRE_MSG(review_run_stopped(r) == 0, "%s", r->why);
	review_expect(r, want);
	review_free(r);
}

ATF_TC_WITHOUT_HEAD(swaps);
ATF_TC_BODY(swaps, tc)
{
	struct review	r;

	review_begin(&r);
	swaps_tree(&r);
	review_start(&r);
	swaps_both(&r, swaps_want);
}

ATF_TC_WITHOUT_HEAD(swaps_git);
ATF_TC_BODY(swaps_git, tc)
{
	struct review	r;

	review_begin(&r);
	swaps_tree(&r);
	review_sh(&r, "cd R; git init -q --template= .; git add .");
	review_start(&r);
	swaps_both(&r, swaps_want);
}

ATF_TC_WITHOUT_HEAD(swaps_elsewhere);
ATF_TC_BODY(swaps_elsewhere, tc)
{
	struct review	r;

	review_begin(&r);
	review_foreign(&r);
	swaps_tree(&r);
	review_start(&r);
	swaps_both(&r, swaps_want);
}

/*
 * Without handles nobody knows a folder again: where it and the one above it
 * have changed, nothing of the owner's in it is touched.
 */
ATF_TC_WITHOUT_HEAD(swaps_handleless);
ATF_TC_BODY(swaps_handleless, tc)
{
	struct review	r;
	char		want[sizeof(swaps_want) + 64] = "";
	const char	*p = swaps_want, *end;

	for (; *p != '\0'; p = end + 1) {
		end = strchr(p, '\n');
		snprintf(want + strlen(want), sizeof(want) - strlen(want),
		    "%.*s%s\n", (int)(end - p), p, *p != 'a' &&
		    (strncmp(end - 6, "back/", 5) == 0 ||
		    strncmp(end - 6, "calm/", 5) == 0) ? " drift" : "");
	}
	review_begin(&r);
	review_handleless(&r);
	swaps_tree(&r);
	review_start(&r);
	swaps_both(&r, want);
}

/* Nor where a folder's copy was made of the mask's. */
ATF_TC_WITHOUT_HEAD(swaps_masked);
ATF_TC_BODY(swaps_masked, tc)
{
	struct review	r;
	char		hidden[2][PATH_MAX];
	int		i;

	review_begin(&r);
	review_file(&r, "R/swap/key", "key\n");
	review_file(&r, "R/swap/f", "f\n");
	review_file(&r, "R/swap-/f", "other\n");
	review_file(&r, "R/calm/key", "key\n");
	review_file(&r, "R/calm/f", "f\n");
	for (i = 0; i < 2; i++) {
		snprintf(hidden[i], sizeof(hidden[i]), "%s/R/%s/key", r.dir,
		    i == 0 ? "swap" : "calm");
		r.hide[i] = hidden[i];
	}
	review_mask_file(&r, "swap/key");
	review_mask_file(&r, "calm/key");
	review_start(&r);
	review_sh(&r, "cd V; for d in swap calm; do echo in >$d/t; "
	    "mv $d/t $d/f; echo in >$d/new; done");
	review_sh(&r, "cd R; mv swap swap=; mv swap- swap; echo k >swap/key; "
	    "echo out >other");
	review_refresh(&r);
	review_is(&r,
	    "modified 100644 100644 calm/f\n"
	    "added 0 100644 calm/new\n"
	    "modified 100644 100644 swap/f drift\n"
	    "added 0 100644 swap/new\n");
	review_free(&r);
}

/* A landing changes folders too, and so does a discard what is known. */
static void
baseline_dir(struct review *r, const char *path)
{
	baseline(r, path)->image.mode = S_IFDIR;
}

ATF_TC_WITHOUT_HEAD(landed_folders);
ATF_TC_BODY(landed_folders, tc)
{
	struct review	r;

	review_begin(&r);
	review_file(&r, "R/d/a", "a\n");
	review_file(&r, "R/d/b", "b\n");
	review_file(&r, "R/d-/a", "other a\n");
	review_file(&r, "R/d-/c", "other c\n");
	review_file(&r, "R/from/x", "x\n");
	review_start(&r);
	review_sh(&r, "cd V; rm -r d; mv from to; echo y >to/y");
	/* d/a was landed, and from/x as to/x. */
	review_sh(&r, "cd R; echo more >>a; mv a d/a; mkdir to; "
	    "mv from/x to/x; rmdir from");
	baseline(&r, "d/a");
	baseline(&r, "to/x");
	baseline(&r, "from/x");
	review_refresh(&r);
	/* Not known: it may be the owner who did all that. */
	review_is(&r,
	    "deleted 100644 0 d/a\n"
	    "deleted 100644 0 d/b drift\n"
	    "deleted 100644 0 to/x\n"
	    "added 0 100644 to/y drift\n");
	baseline_dir(&r, "d");
	baseline_dir(&r, "to");
	baseline_dir(&r, "from");
	review_is(&r,
	    "deleted 100644 0 d/a\n"
	    "deleted 100644 0 d/b\n"
	    "deleted 100644 0 to/x\n"
	    "added 0 100644 to/y\n");
	/* A file where the folder was is judged by the files' own. */
	review_sh(&r, "echo file >V/d");
	ATF_REQUIRE_MSG(review_run(&r) == 0, "%s", r.why);
	ATF_REQUIRE(strstr(review_text(&r), "added 0 100644 d\n") != NULL);
	review_sh(&r, "rm V/d; cd R; mv d d=; mv d- d");
	review_refresh(&r);
	review_is(&r,
	    "deleted 100644 0 d/a drift\n"
	    "deleted 100644 0 d/c drift\n"
	    "deleted 100644 0 to/x\n"
	    "added 0 100644 to/y\n");
	/* Put back, its time is another: it is not as it was left. */
	review_sh(&r, "cd R; mv d d-; mv d= d");
	review_refresh(&r);
	review_is(&r,
	    "deleted 100644 0 d/a\n"
	    "deleted 100644 0 d/b drift\n"
	    "deleted 100644 0 to/x\n"
	    "added 0 100644 to/y\n");
	review_free(&r);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, owner_moves);
	ATF_TP_ADD_TC(tp, owner_moves_stopped);
	ATF_TP_ADD_TC(tp, new_on_both_sides);
	ATF_TP_ADD_TC(tp, session_moves);
	ATF_TP_ADD_TC(tp, copies);
	ATF_TP_ADD_TC(tp, copies_elsewhere);
	ATF_TP_ADD_TC(tp, copies_broken);
	ATF_TP_ADD_TC(tp, baselines);
	ATF_TP_ADD_TC(tp, tick);
	ATF_TP_ADD_TC(tp, swaps);
	ATF_TP_ADD_TC(tp, swaps_git);
	ATF_TP_ADD_TC(tp, swaps_elsewhere);
	ATF_TP_ADD_TC(tp, swaps_handleless);
	ATF_TP_ADD_TC(tp, swaps_masked);
	ATF_TP_ADD_TC(tp, landed_folders);
	return (atf_no_error());
}
