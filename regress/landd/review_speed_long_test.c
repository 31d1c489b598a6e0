/*
 * The cost follows the changes: 100,000 files in 1,000 folders, of which 10
 * and then 1,000 change. Numbers are printed; the bounds are wide, so that
 * only a walk over all of it, or reading what did not change, breaks them.
 *
 * needs: the machine
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "review_lib.h"

static void
best(struct review *r, const char *what, double max)
{
	double	ms = 1e9;
	int	i;

	for (i = 0; i < 5; i++) {
		ATF_REQUIRE_MSG(review_walk(r) == 0, "%s", r->why);
		ms = r->ms < ms ? r->ms : ms;
	}
	printf("%s: %.2f ms\n", what, ms);
	fflush(stdout);
	ATF_CHECK_MSG(ms < max, "%s took %.1f ms", what, ms);
}

ATF_TC(changes);
ATF_TC_HEAD(changes, tc)
{
	atf_tc_set_md_var(tc, "timeout", "300");
}
ATF_TC_BODY(changes, tc)
{
	struct review	 r;
	struct change	*c;
	char		 path[64];
	int		 i, j, n;

	/* In memory: what a disk's filesystem takes for a new file in the
	 * stage is not the walk's doing. */
	ATF_REQUIRE(mkdir(test_path("t"), 0755) == 0);
	ATF_REQUIRE(mount("tmpfs", test_path("t"), "tmpfs", 0,
	    "mode=755") == 0);
	review_make(&r, test_path("t/w"), REVIEW_UID);
	for (i = 0; i < 1000; i++)
		for (j = 0; j < 100; j++) {
			snprintf(path, sizeof(path), "R/d%d/s%d/f%d", i / 32,
			    i % 32, j);
			review_file(&r, path, path);
		}
	review_sh(&r, "cd R; git init -q --template= .; git add .");
	review_start_fast(&r);
	best(&r, "nothing changed", 20);
	review_sh(&r, "cd V; for i in 0 3 6 9 12 15 18 21 24 27; do "
	    "echo more >>d$i/s7/f42; done");
	best(&r, "10 of 100,000 files changed", 40);
	n = 0;
	TAILQ_FOREACH(c, &r.set.changes, entry)
		n++;
	ATF_CHECK_EQ(n, 10);
	review_sh(&r, "cd V; for d in d*/s*; do echo more >>$d/f42; done");
	best(&r, "1,000 of 100,000 files changed", 2000);
	review_sh(&r, "cd V; mv d5 moved");
	best(&r, "and a folder of 3,200 files moved", 6000);
	review_free(&r);
	ATF_REQUIRE(umount(test_path("t")) == 0);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, changes);
	return (atf_no_error());
}
