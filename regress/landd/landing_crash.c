#include <sys/stat.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "landing_crash.h"

bool		 crash_nogit;
static char	 base[PATH_MAX];
static int	 worlds;

/* Strides start anywhere, so that in time every point has its turn. */
int
crash_first(int stride)
{
	static unsigned int	seed;
	const char		*env = getenv("SBX_TEST_SEED");

	if (seed == 0) {
		seed = env != NULL ? (unsigned int)strtoul(env, NULL, 10) :
		    (unsigned int)time(NULL);
		printf("SBX_TEST_SEED=%u\n", seed);
	}
	return (1 + (int)(seed % (unsigned int)stride));
}

void
crash_fs(const char *type)
{
	snprintf(base, sizeof(base), "%s", test_path("fs"));
	world_fs(base, type, 64);
}

/* R before, V after: every kind of change, and a folder of each fate. */
void
crash_world(struct world *w)
{
	char	dir[PATH_MAX + 32];

	snprintf(dir, sizeof(dir), "%s/%d", base, ++worlds);
	world_make(w, dir);
	if (!crash_nogit)
		world_dir(w, "R/.git", 0755);
	world_file(w, "R/keep", "keep\n", 0);
	world_file(w, "R/mod", "before\n", 0640);
	world_file(w, "R/exe", "#!\n", 0644);
	world_file(w, "R/gone", "gone\n", 0);
	world_file(w, "R/d/a", "a\n", 0);
	world_file(w, "R/d/b/c", "c\n", 0);
	world_dir(w, "R/d/b/empty", 0755);
	world_file(w, "R/swap", "a file\n", 0);
	world_link(w, "R/knot", "keep");
	world_file(w, "R/f2d", "a file\n", 0);
	world_file(w, "R/d2f/x", "x\n", 0);
	world_file(w, "R/old", "renamed\n", 0755);
	world_file(w, "R/sub/m", "m before\n", 0);
	world_file(w, "R/sub/gone", "sub gone\n", 0);
	world_file(w, "OUT/m", "outside\n", 0);
	world_file(w, "R/twin", "twin\n", 0600);
	ATF_REQUIRE(linkat(w->fd, "R/twin", w->fd, "OUT/twin", 0) == 0);

	world_file(w, "V/keep", "keep\n", 0);
	world_file(w, "V/mod", "after, and longer\n", 0640);
	world_file(w, "V/exe", "#!\n", 0755);
	world_link(w, "V/swap", "keep");
	world_file(w, "V/knot", "no link any more\n", 0);
	world_file(w, "V/f2d/x/y", "y\n", 0600);
	world_file(w, "V/d2f", "was a folder\n", 0);
	world_file(w, "V/new/deep/n", "n\n", 0);
	world_file(w, "V/narrow/n", "n\n", 0444);
	world_dir(w, "V/narrow", 0555);
	world_file(w, "V/added", "added\n", 0);
	world_file(w, "V/renamed", "renamed\n", 0755);
	world_file(w, "V/sub/m", "m after\n", 0);
	world_file(w, "V/twin", "twin\n", 0666);
	world_file(w, "V/sub/new", "sub new\n", 0);
	world_set(w);
	world_rename(w, "old", "renamed");
}

/* Lines of a tree that start with one of these names are left out. */
static char *
without(char *tree, const char *const *names)
{
	char	*out, *line, *next, *name;
	size_t	 i, len = 0;

	if (names == NULL)
		return (tree);
	ATF_REQUIRE((out = calloc(1, strlen(tree) + 1)) != NULL);
	for (line = tree; *line != '\0'; line = next) {
		next = strchr(line, '\n') + 1;
		name = strchr(line, ' ') + 1;
		for (i = 0; names[i] != NULL; i++)
			if (strncmp(name, names[i], strlen(names[i])) == 0 &&
			    strchr("/ \n", name[strlen(names[i])]) != NULL)
				break;
		if (names[i] != NULL)
			continue;
		memcpy(out + len, line, (size_t)(next - line));
		len += (size_t)(next - line);
	}
	free(tree);
	return (out);
}

void
crash_same(char *got, char *want, const char *const *but, const char *what,
    int n)
{
	got = without(got, but);
	want = without(want, but);
	if (strcmp(got, want) != 0)
		atf_tc_fail("%s at call %d: the tree is\n%s\nbut should be\n%s",
		    what, n, got, want);
	free(got);
	free(want);
}

/* All old, with every inode, and nothing left; or all new. */
void
crash_whole(struct world *w, const char *before, bool applied,
    const char *const *but, const char *what, int n)
{
	struct stat	st;

	/* Whichever of the two it is, nothing of it is outside. */
	if (fstatat(w->fd, "OUT/twin", &st, 0) == -1 ||
	    st.st_mode != (S_IFREG | 0600))
		atf_tc_fail("%s at call %d: OUT/twin is another", what, n);
	if (applied)
		crash_same(world_tree(w, "R", false),
		    world_tree(w, "V", false), but, what, n);
	else
		crash_same(world_tree(w, "R", true), strdup(before), but, what,
		    n);
	if (applied != (world_leftovers(w) == 1))
		atf_tc_fail("%s at call %d: %d landing folders, applied %d",
		    what, n, world_leftovers(w), applied);
}

static void
recovered(struct world *w, const char *before, const char *what, int n)
{
	bool	applied;

	if (world_recover(w) == -1)
		atf_tc_fail("%s at call %d: not recovered: %s: %s", what, n,
		    w->res.code, w->res.why);
	applied = w->res.applied;
	crash_whole(w, before, applied, NULL, what, n);
	if (world_recover(w) == -1 || w->res.applied != applied)
		atf_tc_fail("%s at call %d: recovered otherwise the second "
		    "time: %s", what, n, w->res.why);
	crash_whole(w, before, applied, NULL, what, n);
}

/* Calls of an undisturbed landing, and that it works. */
int
crash_calls(void)
{
	struct world	w;
	char		*before;
	int		 status, calls;

	crash_world(&w);
	before = world_tree(&w, "R", true);
	calls = world_trace(&w, world_land, 0, WORLD_KILL, 0, NULL, &status);
	ATF_REQUIRE(WIFEXITED(status));
	if (WEXITSTATUS(status) != 0) {
		world_land(&w);
		atf_tc_fail("it does not land at all: %s", w.res.why);
	}
	crash_whole(&w, before, true, NULL, "undisturbed", 0);
	free(before);
	world_remove(&w);
	ATF_REQUIRE(calls > 100);
	return (calls);
}

void
crash_kill_all(int stride)
{
	struct world	w;
	char		*before;
	int		 n, status, calls = crash_calls();
	int		 backs = 0, forwards = 0;

	for (n = crash_first(stride); n <= calls; n += stride) {
		crash_world(&w);
		before = world_tree(&w, "R", true);
		world_trace(&w, world_land, n, WORLD_KILL, 0, NULL, &status);
		/* Sanitizers make a few calls more, or fewer. */
		ATF_REQUIRE(WIFSIGNALED(status) || n > calls - 50);
		recovered(&w, before, "killed", n);
		backs += !w.res.applied;
		forwards += w.res.applied;
		free(before);
		world_remove(&w);
	}
	printf("killed at %d points of %d: %d back, %d forward\n",
	    backs + forwards, calls, backs, forwards);
	ATF_REQUIRE(backs > 0 && forwards > 0);
}

void
crash_kill_twice(int stride, int stride2)
{
	struct world	w;
	char		*before;
	int		 n, m, status, points = 0, calls = crash_calls();

	for (n = crash_first(stride); n <= calls; n += stride)
		for (m = crash_first(stride2);; m += stride2) {
			crash_world(&w);
			before = world_tree(&w, "R", true);
			world_trace(&w, world_land, n, WORLD_KILL, 0, NULL,
			    &status);
			world_trace(&w, world_recover, m, WORLD_KILL, 0, NULL,
			    &status);
			recovered(&w, before, "killed twice", n * 1000 + m);
			free(before);
			world_remove(&w);
			points++;
			if (!WIFSIGNALED(status))
				break;
		}
	printf("killed twice at %d points\n", points);
}

/* Where a look fails, folders that need not go may stay. */
static const char *const	may_stay[] = { "d", NULL };

void
crash_fail_all(int err, int stride)
{
	struct world	w;
	char		*before;
	int		 n, status, calls = crash_calls();
	int		 refused = 0;

	for (n = crash_first(stride); n < calls; n += stride) {
		crash_world(&w);
		before = world_tree(&w, "R", true);
		world_trace(&w, world_land, n, WORLD_FAIL, err, NULL, &status);
		if (!WIFEXITED(status))
			atf_tc_fail("died by a failure of call %d: wait status "
			    "%#x", n, (unsigned int)status);
		crash_whole(&w, before, WEXITSTATUS(status) == 0,
		    WEXITSTATUS(status) == 0 ? may_stay : NULL, "failed", n);
		refused += WEXITSTATUS(status) != 0;
		free(before);
		world_remove(&w);
	}
	printf("%s: %d of %d refused\n", strerror(err), refused, calls);
	ATF_REQUIRE(refused * stride > calls / 3);
}

/* One call of the recovery fails; the number of its calls. */
static int
fail_recovery(int err, int n, int m)
{
	struct world	w;
	char		*before;
	int		 status, calls;

	crash_world(&w);
	before = world_tree(&w, "R", true);
	world_trace(&w, world_land, n, WORLD_KILL, 0, NULL, &status);
	calls = world_trace(&w, world_recover, m, WORLD_FAIL, err, NULL,
	    &status);
	recovered(&w, before, "recovery failed", n * 10000 + m);
	free(before);
	world_remove(&w);
	return (calls);
}

void
crash_fail_recovery(int err, int stride, int stride2)
{
	int	n, m, points = 0, recovery, calls = crash_calls();

	for (n = crash_first(stride); n <= calls; n += stride) {
		recovery = fail_recovery(err, n, 0);
		for (m = crash_first(stride2); m < recovery; m += stride2) {
			fail_recovery(err, n, m);
			points++;
		}
	}
	printf("%s: %d points\n", strerror(err), points);
}
