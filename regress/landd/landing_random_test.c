/*
 * Random change sets, each through a real overlay and the suite's own walk:
 * our apply gives the session's tree byte for byte; a recovery of the same
 * journal afterwards finds nothing to do.
 *
 * SBX_TEST_SEED=N starts with another seed, SBX_TEST_SETS=N makes more.
 */
#include <sys/stat.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "landd/landing.h"
#include "review_gen.h"
#include "review_lib.h"

#define USER	61235
#define SETS	200
#define SID	"abcdefghijkl"

struct kept {
	uint8_t	*p;
	size_t	 len;
};

static void
as(uid_t uid)
{
	if (uid == 0)
		ATF_REQUIRE(seteuid(0) == 0 && setegid(0) == 0);
	else
		ATF_REQUIRE(setegid(uid) == 0 && seteuid(uid) == 0);
}

static int
keep(void *arg, const uint8_t *p, size_t len)
{
	struct kept	*k = arg;

	free(k->p);
	ATF_REQUIRE((k->p = malloc(len)) != NULL);
	memcpy(k->p, p, len);
	k->len = len;
	return (0);
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
job_open(struct job *job, const struct review *r)
{
	static char	root[PATH_MAX];
	char		path[PATH_MAX];

	memset(job, 0, sizeof(*job));
	snprintf(root, sizeof(root), "%s/R", r->dir);
	job->root = root;
	job->hide = r->hide;
	job->layer = -1;
	job->project = open(root, O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/V", r->dir);
	job->view = open(path, O_RDONLY | O_DIRECTORY);
	snprintf(path, sizeof(path), "%s/G", r->dir);
	job->stage = open(path, O_RDONLY | O_DIRECTORY);
	ATF_REQUIRE(job->project != -1 && job->view != -1 &&
	    job->stage != -1);
}

static void
job_close(struct job *job)
{
	close(job->project);
	close(job->view);
	close(job->stage);
}

/* Lands what the review found, as the session's user. */
static void
land(struct review *r, uint64_t seed, const char *log)
{
	struct kept		 k = { NULL, 0 };
	struct landing_ops	 ops = { .commit = keep, .arg = &k };
	struct landings		 none = TAILQ_HEAD_INITIALIZER(none);
	struct landing_result	 res;
	struct job		 job;

	job_open(&job, r);
	landing_result_init(&res);
	as(USER);
	if (landing_write(&job, &r->set, SID, 1, &ops, &res) == -1)
		failed(r, seed, log, "it does not land", res.why);
	landing_result_free(&res);
	if (landing_recover(&job, SID, k.p, k.len, &none, &res) == -1 ||
	    !res.applied)
		failed(r, seed, log, "it does not recover", res.why);
	as(0);
	landing_result_free(&res);
	free(k.p);
	job_close(&job);
}

static void
compare(const struct review *r, uint64_t seed, const char *log)
{
	char		 real[PATH_MAX], copy[PATH_MAX];
	const char	*differ;

	snprintf(real, sizeof(real), "%s/R", r->dir);
	snprintf(copy, sizeof(copy), "%s/C", r->dir);
	/* The landing's own folder is no part of the tree. */
	ATF_REQUIRE(test_sh("rm -rf '%s/.sbx-land-" SID "'", real) == 0);
	if ((differ = review_differ(copy, real)) != NULL)
		failed(r, seed, log, "another tree", differ);
}

static uint64_t
one(uint64_t seed)
{
	static char	 log[65536];
	struct gen	 g = { seed };
	struct review	 r;
	struct change	*c;
	char		 dir[PATH_MAX];
	uint64_t	 n = 0;

	review_make(&r, test_path("w%llu", (unsigned long long)seed), USER);
	snprintf(dir, sizeof(dir), "%s/R", r.dir);
	if (seed % 4 == 3)
		review_foreign(&r);
	as(USER);
	gen_tree(&g, dir);
	as(0);
	review_start_fast(&r);
	snprintf(dir, sizeof(dir), "%s/V", r.dir);
	as(USER);
	gen_work(&g, dir, log, sizeof(log));
	as(0);
	if (review_run(&r) == -1)
		failed(&r, seed, log, "the review failed", r.why);
	TAILQ_FOREACH(c, &r.set.changes, entry)
		n++;
	ATF_REQUIRE(test_sh("cp -a '%s/V' '%s/C'", r.dir, r.dir) == 0);
	if (n > 0)
		land(&r, seed, log);
	compare(&r, seed, log);
	review_free(&r);
	ATF_REQUIRE(test_sh("rm -rf '%s'", r.dir) == 0);
	return (n);
}

ATF_TC(apply);
ATF_TC_HEAD(apply, tc)
{
	atf_tc_set_md_var(tc, "timeout", "600");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(apply, tc)
{
	const char	*env = getenv("SBX_TEST_SEED");
	struct timespec	 now;
	uint64_t	 seed, i, sets = SETS, changes = 0;

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
		changes += one(seed + i);
	printf("%llu sets, %llu changes\n", (unsigned long long)sets,
	    (unsigned long long)changes);
	ATF_REQUIRE(changes > sets);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, apply);
	return (atf_no_error());
}
