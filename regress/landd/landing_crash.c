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
static int
first(int stride)
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
static void
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

static void
same_tree(char *got, char *want, const char *const *but, const char *what,
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
static void
whole(struct world *w, const char *before, bool applied,
    const char *const *but, const char *what, int n)
{
	if (applied)
		same_tree(world_tree(w, "R", false),
		    world_tree(w, "V", false), but, what, n);
	else
		same_tree(world_tree(w, "R", true), strdup(before), but, what,
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
	whole(w, before, applied, NULL, what, n);
	if (world_recover(w) == -1 || w->res.applied != applied)
		atf_tc_fail("%s at call %d: recovered otherwise the second "
		    "time: %s", what, n, w->res.why);
	whole(w, before, applied, NULL, what, n);
}

/* Calls of an undisturbed landing, and that it works. */
static int
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
	whole(&w, before, true, NULL, "undisturbed", 0);
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

	for (n = first(stride); n <= calls; n += stride) {
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

	for (n = first(stride); n <= calls; n += stride)
		for (m = first(stride2);; m += stride2) {
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

	for (n = first(stride); n < calls; n += stride) {
		crash_world(&w);
		before = world_tree(&w, "R", true);
		world_trace(&w, world_land, n, WORLD_FAIL, err, NULL, &status);
		if (!WIFEXITED(status))
			atf_tc_fail("died by a failure of call %d", n);
		whole(&w, before, WEXITSTATUS(status) == 0,
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

	for (n = first(stride); n <= calls; n += stride) {
		recovery = fail_recovery(err, n, 0);
		for (m = first(stride2); m < recovery; m += stride2, points++)
			fail_recovery(err, n, m);
	}
	printf("%s: %d points\n", strerror(err), points);
}

/*
 * The owner at work meanwhile
 */
static void
owner_swaps(struct world *w)
{
	ATF_REQUIRE(renameat(w->fd, "R/sub", w->fd, "R/aside") == 0);
	ATF_REQUIRE(symlinkat("../OUT", w->fd, "R/sub") == 0);
}

static void
owner_swaps_back(struct world *w)
{
	ATF_REQUIRE(unlinkat(w->fd, "R/sub", 0) == 0);
	ATF_REQUIRE(renameat(w->fd, "R/aside", w->fd, "R/sub") == 0);
}

static void
owner_renames_over(struct world *w)
{
	world_file(w, "R/mod.new", "OWNER\n", 0);
	ATF_REQUIRE(renameat(w->fd, "R/mod.new", w->fd, "R/mod") == 0);
}

static void
owner_writes(struct world *w)
{
	struct timespec	soon = { 0, 12000000 };

	/* The kernel's clock for files has ticks. */
	nanosleep(&soon, NULL);
	world_file(w, "R/mod", "OWNER\n", 0640);
}

static void
owner_creates(struct world *w)
{
	world_file(w, "R/added.new", "OWNER\n", 0);
	ATF_REQUIRE(renameat(w->fd, "R/added.new", w->fd, "R/added") == 0);
}

static void
owner_removes(struct world *w)
{
	ATF_REQUIRE(unlinkat(w->fd, "R/mod", 0) == 0);
}

static void
owner_fills(struct world *w)
{
	int	fd = openat(w->fd, "R/d/own", O_WRONLY | O_CREAT, 0600);

	if (fd != -1) {
		ATF_REQUIRE(write(fd, "OWNER\n", 6) == 6);
		close(fd);
	}
}

static void
owner_chmods(struct world *w)
{
	ATF_REQUIRE(fchmodat(w->fd, "R/exe", 0600, 0) == 0);
}

struct owner {
	const char	*what;
	void		(*act)(struct world *);
	const char	*but[3];	/* what he had in hand */
	const char	*path;		/* must be this at the end: */
	const char	*text;		/* NULL: absent */
};
static const struct owner	owners[] = {
	{ "renamed over", owner_renames_over, { "mod", NULL }, "R/mod",
	    "OWNER\n" },
	{ "written", owner_writes, { "mod", NULL }, "R/mod", "OWNER\n" },
	{ "created", owner_creates, { "added", NULL }, "R/added",
	    "OWNER\n" },
	{ "removed", owner_removes, { "mod", NULL }, "R/mod", NULL },
	{ "filled", owner_fills, { "d", NULL }, NULL, NULL },
	{ "chmod'ed", owner_chmods, { "exe", NULL }, NULL, NULL },
};

static void
owner_kept(struct world *w, const struct owner *o, int n)
{
	char	buf[64] = "";
	ssize_t	len = -1;
	int	fd;

	if (o->path == NULL)
		return;
	if ((fd = openat(w->fd, o->path, O_RDONLY)) != -1) {
		len = read(fd, buf, sizeof(buf));
		close(fd);
	}
	if (o->text == NULL ? fd != -1 : len != (ssize_t)strlen(o->text) ||
	    memcmp(buf, o->text, (size_t)len) != 0)
		atf_tc_fail("%s at call %d: the owner's %s is lost", o->what,
		    n, o->path);
}

static void
disturb(const struct owner *o, int n)
{
	struct world	w;
	char		*before;
	int		 status, calls;
	bool		 applied;

	crash_world(&w);
	before = world_tree(&w, "R", true);
	calls = world_trace(&w, world_land, n, WORLD_HOOK, 0, o->act, &status);
	ATF_REQUIRE(WIFEXITED(status));
	applied = WEXITSTATUS(status) == 0;
	if (applied)
		same_tree(world_tree(&w, "R", false),
		    world_tree(&w, "V", false), o->but, o->what, n);
	else
		same_tree(world_tree(&w, "R", true), strdup(before), o->but,
		    o->what, n);
	if (calls >= n)
		owner_kept(&w, o, n);
	free(before);
	world_remove(&w);
}

/* A folder becomes a link that leads out: nothing is done out there, and
 * when it is a folder again, recovery finds its way. */
static void
disturb_swap(int n)
{
	static const char *const	link[] = { "sub", "aside", NULL };
	struct world			w;
	char				*before, *out;
	int				 status, calls;

	crash_world(&w);
	before = world_tree(&w, "R", true);
	out = world_tree(&w, "OUT", true);
	calls = world_trace(&w, world_land, n, WORLD_HOOK, 0, owner_swaps,
	    &status);
	ATF_REQUIRE(WIFEXITED(status));
	same_tree(world_tree(&w, "OUT", true), out, NULL, "outside", n);
	same_tree(WEXITSTATUS(status) == 0 ? world_tree(&w, "R", false) :
	    world_tree(&w, "R", true), WEXITSTATUS(status) == 0 ?
	    world_tree(&w, "V", false) : strdup(before), link, "swapped", n);
	if (calls >= n)
		owner_swaps_back(&w);
	if (world_recover(&w) == -1)
		atf_tc_fail("swapped at call %d: not recovered: %s", n,
		    w.res.why);
	whole(&w, before, w.res.applied, NULL, "swapped back", n);
	free(before);
	world_remove(&w);
}

void
crash_disturb_all(int stride)
{
	int	n, calls = crash_calls();
	size_t	i;

	for (n = first(stride); n < calls; n += stride) {
		for (i = 0; i < sizeof(owners) / sizeof(owners[0]); i++)
			disturb(&owners[i], n);
		disturb_swap(n);
	}
}
