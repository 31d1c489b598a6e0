/*
 * Random change sets, each through a real overlay: `git apply` of our patch,
 * in a repository and outside, gives the session's tree byte for byte. The
 * only thing git may refuse is a link to itself that becomes a folder: it
 * looks through the link (ELOOP).
 *
 * SBX_TEST_SEED=N starts with that seed, SBX_TEST_SETS=N makes so many.
 */
#include <sys/stat.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "review_gen.h"
#include "review_lib.h"

struct totals {
	uint64_t	changes, renamed, binary, eloop;
};

static void
as(uid_t uid)
{
	if (uid == 0)
		ATF_REQUIRE(seteuid(0) == 0 && setegid(0) == 0);
	else
		ATF_REQUIRE(setegid(uid) == 0 && seteuid(uid) == 0);
}

static void
count(const struct review *r, struct totals *t)
{
	const struct change	*c;

	TAILQ_FOREACH(c, &r->set.changes, entry) {
		t->changes++;
		t->renamed += c->kind == CHANGE_RENAMED;
		t->binary += c->binary;
		ATF_REQUIRE(c->drift == NULL);
		ATF_REQUIRE(!c->opaque);
	}
}

/* In R a link to itself, and a folder in its place in the session. */
static char	knot[256];

static int
knot_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	char		text[PATH_MAX], other[PATH_MAX];
	struct stat	now;
	ssize_t		n;

	(void)flag;
	if (!S_ISLNK(st->st_mode) ||
	    (n = readlink(path, text, sizeof(text) - 1)) == -1)
		return (0);
	text[n] = '\0';
	snprintf(other, sizeof(other), "%s/V/%s", knot,
	    path + strlen(knot) + 3);
	return (strcmp(text, path + ftw->base) == 0 &&
	    lstat(other, &now) == 0 && S_ISDIR(now.st_mode));
}

static bool
knotted(const struct review *r)
{
	char	dir[PATH_MAX];

	snprintf(knot, sizeof(knot), "%s", r->dir);
	snprintf(dir, sizeof(dir), "%s/R", r->dir);
	return (nftw(dir, knot_one, 32, FTW_PHYS) == 1);
}

static void
failed(const struct review *r, uint64_t seed, const char *log,
    const char *what, const char *detail)
{
	fprintf(stderr, "%s\nwork:\n%s", detail, log);
	atf_tc_fail("seed %llu, in %s: %s", (unsigned long long)seed, r->dir,
	    what);
}

static void
one(uint64_t seed, struct totals *t)
{
	static char	 log[65536];
	struct gen	 g = { seed };
	struct review	 r;
	char		 dir[PATH_MAX], copy[PATH_MAX], hidden[PATH_MAX];
	const char	*said, *differ;
	int		 repo;

	review_make(&r, test_path("w%llu", (unsigned long long)seed),
	    REVIEW_UID);
	snprintf(dir, sizeof(dir), "%s/R", r.dir);
	snprintf(copy, sizeof(copy), "%s/C", r.dir);
	/* In turn: one lower, two (a hidden path), two and inode numbers with
	 * the filesystem's number in them; each also with the project on
	 * another filesystem than the layer. */
	if (seed / 6 % 2 == 1)
		review_foreign(&r);
	as(REVIEW_UID);
	gen_tree(&g, dir);
	as(0);
	if (seed % 3 > 0) {
		snprintf(hidden, sizeof(hidden), "%s/R/no such/name", r.dir);
		review_mask_absent(&r, "no such");
		r.hide[0] = hidden;
	}
	r.options = seed % 3 == 2 ? "xino=on" : NULL;
	review_start_fast(&r);
	snprintf(dir, sizeof(dir), "%s/V", r.dir);
	as(REVIEW_UID);
	gen_work(&g, dir, log, sizeof(log));
	as(0);
	/* Every other one after its end, over a view made of lowers only. */
	if ((seed / 3 % 2 == 0 ? review_run(&r) : review_run_stopped(&r)) ==
	    -1)
		failed(&r, seed, log, "the review failed", r.why);
	count(&r, t);
	for (repo = 0; repo < 2; repo++) {
		if (review_git(&r, repo, &said) != 0) {
			if (strstr(said, "Too many levels of symbolic links") !=
			    NULL && knotted(&r)) {
				t->eloop++;
				continue;
			}
			failed(&r, seed, log, "git apply refuses it", said);
		}
		if ((differ = review_differ(dir, copy)) != NULL)
			failed(&r, seed, log, "another tree", differ);
	}
	review_free(&r);
	ATF_REQUIRE(test_sh("rm -rf '%s'", r.dir) == 0);
}

void
review_random(uint64_t sets)
{
	const char	*env = getenv("SBX_TEST_SEED");
	struct timespec	 now;
	struct totals	 t = { 0 };
	uint64_t	 seed, i;

	clock_gettime(CLOCK_REALTIME, &now);
	seed = env != NULL ? strtoull(env, NULL, 10) :
	    (uint64_t)now.tv_sec * 1000;
	if ((env = getenv("SBX_TEST_SETS")) != NULL)
		sets = strtoull(env, NULL, 10);
	umask(022);
	printf("seeds %llu to %llu\n", (unsigned long long)seed,
	    (unsigned long long)(seed + sets - 1));
	fflush(stdout);
	for (i = 0; i < sets; i++)
		one(seed + i, &t);
	printf("%llu sets, %llu changes, %llu renames, %llu binary; ELOOP of "
	    "git's own: %llu\n", (unsigned long long)sets,
	    (unsigned long long)t.changes, (unsigned long long)t.renamed,
	    (unsigned long long)t.binary, (unsigned long long)t.eloop);
}
