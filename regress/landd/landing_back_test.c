/*
 * What a landing that was taken back leaves where others wrote meanwhile:
 * what they replaced, and nothing that was staged; and the session's end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "landing_lib.h"

#define GIT	"R/.git/sbx-land-" WORLD_SID

static struct world		w;
static struct landing_state	state;
static const char		*base;

static void
made(void)
{
	static int	n;
	char		dir[PATH_MAX];

	landing_state_free(&state);
	landing_state_init(&state);
	snprintf(dir, sizeof(dir), "%s/w%d", base, n++);
	world_make(&w, dir);
	world_dir(&w, "R/.git", 0755);
	world_file(&w, "R/a", "a before\n", 0640);
	world_file(&w, "R/b", "b before\n", 0);
	world_file(&w, "R/gone", "gone before\n", 0);
	world_file(&w, "R/old/x", "x\n", 0);
	world_file(&w, "V/a", "a after\n", 0640);
	world_file(&w, "V/b", "b after\n", 0);
	world_file(&w, "V/dir/n", "n\n", 0);
	world_file(&w, "V/new", "new\n", 0);
	world_set(&w);
}

/* Later than what was staged: the kernel's clock for files has ticks. */
static void
owner_waits(void)
{
	struct timespec	soon = { 0, 12000000 };

	nanosleep(&soon, NULL);
}

/* He writes into what is there, which may be landed, and takes the name of
 * the last that comes. */
static void
owner_edits(struct world *world)
{
	owner_waits();
	world_file(world, "R/a", "OWNER\n", 0640);
	world_file(world, "R/new", "OWNER\n", 0);
}

/* He makes anew what was deleted. */
static void
owner_remakes(struct world *world)
{
	if (faccessat(world->fd, "R/gone", F_OK, 0) == 0)
		return;
	world_file(world, "R/gone", "OWNER\n", 0);
	world_file(world, "R/new", "OWNER\n", 0);
}

/* He edits what was landed last of all, which then stays. */
static void
owner_edits_new(struct world *world)
{
	owner_waits();
	if (faccessat(world->fd, "R/dir/n", F_OK, 0) == 0)
		world_file(world, "R/dir/n", "OWNER\n", 0);
	world_file(world, "R/new", "OWNER\n", 0);
}

static bool	sh(const char *, ...) __attribute__((format(printf, 1, 2)));

static bool
sh(const char *fmt, ...)
{
	char	cmd[2048];
	va_list	ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	return (test_sh("cd '%s' && T=" GIT "/1; %s", w.dir, cmd) == 0);
}

static int
forget(void)
{
	landing_result_free(&w.res);
	return (landing_forget(&w.job, WORLD_SID, &state.landings, &w.res));
}

/* As the state keeps it. */
static void
kept(void)
{
	const char	*why;
	uint8_t		*buf;
	size_t		 len;

	ATF_REQUIRE(w.res.made.folder != NULL && w.res.made.back);
	ATF_REQUIRE(TAILQ_EMPTY(&w.res.done));
	ATF_REQUIRE(landing_state_merge(&state, &w.res) == 0);
	ATF_REQUIRE(landing_state_encode(&state, &buf, &len) == 0);
	landing_state_free(&state);
	landing_state_init(&state);
	ATF_REQUIRE(landing_state_decode(buf, len, &state, &why) == 0);
	free(buf);
}

/* The landing folder has its record and this one file. */
static void
left(const char *path, const char *text, int n)
{
	if (!sh("ls -A $T >&2; test $(ls -A $T | wc -l) = 2 && "
	    "test -s $T/record && grep -qx '%s' $T/[0-9]*", text))
		atf_tc_fail("%s at call %d: not the record and what it was",
		    path, n);
}

/* At one call the owner does that; true: something of path's is left. */
static bool
disturb(void (*act)(struct world *), const char *path, const char *text, int n)
{
	int	status;
	bool	leaves;

	made();
	world_trace(&w, world_land, n, WORLD_HOOK, 0, act, &status);
	ATF_REQUIRE(WIFEXITED(status));
	if (WEXITSTATUS(status) == 0)
		return (false);
	leaves = world_leftovers(&w) == 1;
	if (leaves)
		left(path, text, n);
	/* Killed before the state knew of it, it is done again. */
	if (world_recover(&w) == -1)
		atf_tc_fail("call %d: %s", n, w.res.why);
	ATF_REQUIRE(!w.res.applied);
	ATF_REQUIRE_EQ(leaves, w.res.made.folder != NULL);
	ATF_REQUIRE_EQ(leaves, world_leftovers(&w) == 1);
	if (!leaves)
		return (false);
	left(path, text, n);
	printf("%s\n", w.res.why);
	ATF_REQUIRE(strstr(w.res.why, &GIT[2]) != NULL);
	kept();
	/* Or before its journal was removed: then nothing is done. */
	w.made = &state.landings;
	ATF_REQUIRE(world_recover(&w) == 0);
	ATF_REQUIRE(!w.res.applied && w.res.made.folder == NULL);
	left(path, text, n);
	ATF_REQUIRE(forget() == -1);
	ATF_REQUIRE_STREQ(w.res.code, "land.left");
	printf("%s\n", w.res.why);
	ATF_REQUIRE(strstr(w.res.why, "before a landing that was taken "
	    "back") != NULL);
	left(path, text, n);
	/* He puts back what it was. */
	ATF_REQUIRE(sh("echo '%s' >R/%s", text, path));
	if (forget() == -1)
		atf_tc_fail("call %d: %s", n, w.res.why);
	ATF_REQUIRE_EQ(world_leftovers(&w), 0);
	return (true);
}

static int
disturb_all(void (*act)(struct world *), const char *path, const char *text)
{
	int	status, n, calls, seen = 0;

	base = strdup(test_path("fs"));
	world_fs(base, "tmpfs", 64);
	made();
	calls = world_trace(&w, world_land, 0, WORLD_KILL, 0, NULL, &status);
	ATF_REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	world_remove(&w);
	for (n = 1; n < calls; n += 2) {
		seen += disturb(act, path, text, n);
		world_remove(&w);
	}
	return (seen);
}

ATF_TC_WITHOUT_HEAD(edited);
ATF_TC_BODY(edited, tc)
{
	ATF_REQUIRE(disturb_all(owner_edits, "a", "a before") > 5);
}

ATF_TC_WITHOUT_HEAD(remade);
ATF_TC_BODY(remade, tc)
{
	ATF_REQUIRE(disturb_all(owner_remakes, "gone", "gone before") > 5);
}

/* What replaced nothing leaves nothing. */
ATF_TC_WITHOUT_HEAD(created);
ATF_TC_BODY(created, tc)
{
	ATF_REQUIRE_EQ(disturb_all(owner_edits_new, "dir/n", "n"), 0);
}

ATF_TP_ADD_TCS(tp)
{
	landing_state_init(&state);
	ATF_TP_ADD_TC(tp, edited);
	ATF_TP_ADD_TC(tp, remade);
	ATF_TP_ADD_TC(tp, created);
	return (atf_no_error());
}
