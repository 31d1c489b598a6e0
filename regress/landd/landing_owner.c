#include <sys/stat.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "landing_crash.h"

/*
 * The owner at work meanwhile. What he did last is what he finds: his file
 * is there, and everything that he did not touch is all old or all new.
 */
static bool	acted;		/* there was something for him to do */

static void
owner_swaps(struct world *w)
{
	ATF_REQUIRE(renameat(w->fd, "R/sub", w->fd, "R/aside") == 0);
	ATF_REQUIRE(symlinkat("../OUT", w->fd, "R/sub") == 0);
	acted = true;
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
	acted = true;
}

static void
owner_writes(struct world *w)
{
	struct timespec	soon = { 0, 12000000 };

	/* The kernel's clock for files has ticks. */
	nanosleep(&soon, NULL);
	world_file(w, "R/mod", "OWNER\n", 0640);
	acted = true;
}

static void
owner_creates(struct world *w)
{
	world_file(w, "R/added.new", "OWNER\n", 0);
	ATF_REQUIRE(renameat(w->fd, "R/added.new", w->fd, "R/added") == 0);
	acted = true;
}

/* He edits what was landed, and something else cannot be landed any more. */
static void
owner_edits_replaced(struct world *w)
{
	owner_writes(w);
	owner_creates(w);
}

static void
owner_edits_created(struct world *w)
{
	struct timespec	soon = { 0, 12000000 };

	if (faccessat(w->fd, "R/added", F_OK, 0) == -1)
		return;
	nanosleep(&soon, NULL);
	world_file(w, "R/added", "OWNER\n", 0);
	world_file(w, "R/renamed.new", "OWNER\n", 0);
	ATF_REQUIRE(renameat(w->fd, "R/renamed.new", w->fd, "R/renamed") ==
	    0);
	acted = true;
}

static void
owner_removes(struct world *w)
{
	ATF_REQUIRE(unlinkat(w->fd, "R/mod", 0) == 0);
	acted = true;
}

static void
owner_fills(struct world *w)
{
	int	fd = openat(w->fd, "R/d/own", O_WRONLY | O_CREAT, 0600);

	if (fd == -1)
		return;
	ATF_REQUIRE(write(fd, "OWNER\n", 6) == 6);
	close(fd);
	acted = true;
}

static void
owner_chmods(struct world *w)
{
	ATF_REQUIRE(fchmodat(w->fd, "R/exe", 0600, 0) == 0);
	acted = true;
}

struct owner {
	const char	*what;
	void		(*act)(struct world *);
	const char	*but[3];	/* what he had in hand */
	const char	*path;		/* must be this at the end: */
	const char	*text;		/* NULL: absent */
	bool		 between;	/* matters between two calls only */
};
static const struct owner	owners[] = {
	{ "renamed over", owner_renames_over, { "mod", NULL }, "R/mod",
	    "OWNER\n", false },
	{ "written", owner_writes, { "mod", NULL }, "R/mod", "OWNER\n",
	    false },
	{ "created", owner_creates, { "added", NULL }, "R/added", "OWNER\n",
	    false },
	{ "edited", owner_edits_replaced, { "mod", "added", NULL }, "R/mod",
	    "OWNER\n", false },
	{ "edited when new", owner_edits_created, { "added", "renamed",
	    NULL }, "R/added", "OWNER\n", false },
	{ "removed", owner_removes, { "mod", NULL }, "R/mod", NULL, false },
	{ "filled", owner_fills, { "d", NULL }, "R/d/own", "OWNER\n", true },
	{ "chmod'ed", owner_chmods, { "exe", NULL }, NULL, NULL, false },
};

static void
owner_kept(struct world *w, const struct owner *o, int n)
{
	char	buf[64] = "";
	ssize_t	len = -1;
	int	fd;

	if (o->path == NULL || !acted)
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
	int		 status;

	crash_world(&w);
	before = world_tree(&w, "R", true);
	acted = false;
	world_trace(&w, world_land, n, WORLD_HOOK, 0, o->act, &status);
	ATF_REQUIRE(WIFEXITED(status));
	if (WEXITSTATUS(status) == 0)
		crash_same(world_tree(&w, "R", false),
		    world_tree(&w, "V", false), o->but, o->what, n);
	else
		crash_same(world_tree(&w, "R", true), strdup(before), o->but,
		    o->what, n);
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
	int				 status;

	crash_world(&w);
	before = world_tree(&w, "R", true);
	out = world_tree(&w, "OUT", true);
	acted = false;
	world_trace(&w, world_land, n, WORLD_HOOK, 0, owner_swaps, &status);
	ATF_REQUIRE(WIFEXITED(status));
	crash_same(world_tree(&w, "OUT", true), out, NULL, "outside", n);
	crash_same(WEXITSTATUS(status) == 0 ? world_tree(&w, "R", false) :
	    world_tree(&w, "R", true), WEXITSTATUS(status) == 0 ?
	    world_tree(&w, "V", false) : strdup(before), link, "swapped", n);
	if (acted)
		owner_swaps_back(&w);
	if (world_recover(&w) == -1)
		atf_tc_fail("swapped at call %d: not recovered: %s", n,
		    w.res.why);
	crash_whole(&w, before, w.res.applied, NULL, "swapped back", n);
	free(before);
	world_remove(&w);
}

/* Not the owner but the disk: bytes that nobody wrote, at the old time. */
static void
disk_corrupts(struct world *w)
{
	struct stat	st;
	struct timespec	times[2];
	int		fd = openat(w->fd, "R/mod", O_RDWR);

	ATF_REQUIRE(fd != -1 && fstat(fd, &st) == 0);
	if (st.st_size == (off_t)strlen("after, and longer\n")) {
		ATF_REQUIRE(pwrite(fd, "X", 1, 2) == 1);
		times[0] = st.st_atim;
		times[1] = st.st_mtim;
		ATF_REQUIRE(futimens(fd, times) == 0);
		acted = true;
	}
	close(fd);
}

/* Seen while it is verified, and taken back. */
static bool
disturb_disk(int n)
{
	static const char *const	but[] = { "mod", NULL };
	struct world			w;
	char				*before;
	int				 status;

	crash_world(&w);
	before = world_tree(&w, "R", true);
	acted = false;
	world_trace(&w, world_land, n, WORLD_HOOK, 0, disk_corrupts, &status);
	ATF_REQUIRE(WIFEXITED(status));
	crash_whole(&w, before, WEXITSTATUS(status) == 0, acted &&
	    WEXITSTATUS(status) == 0 ? but : NULL, "corrupted", n);
	free(before);
	world_remove(&w);
	return (acted && WEXITSTATUS(status) != 0);
}

void
crash_disturb_all(int stride, int stride2)
{
	int	n, seen = 0, calls = crash_calls();
	size_t	i;

	for (i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		int step = owners[i].between ? stride2 : stride;

		for (n = crash_first(step); n < calls; n += step)
			disturb(&owners[i], n);
	}
	for (n = crash_first(stride); n < calls; n += stride) {
		disturb_swap(n);
		seen += disturb_disk(n);
	}
	printf("a broken copy was seen %d times\n", seen);
	ATF_REQUIRE(seen > 0);
}
