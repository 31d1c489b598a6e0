/*
 * What landings left goes with the session, and nothing else does.
 */
#include <sys/stat.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "landing_lib.h"

#define GIT	"R/.git/sbx-land-" WORLD_SID
#define PLAIN	"R/.sbx-land-" WORLD_SID

static struct world		w;
static struct landing_state	state;
static const char		*top;	/* GIT or PLAIN */
static const char		*base;	/* where the worlds are made */

/* A world in which every kind of step has been landed, and then once more. */
static void
landed(bool git)
{
	static int	n;
	char		dir[PATH_MAX];

	landing_state_free(&state);
	landing_state_init(&state);
	top = git ? GIT : PLAIN;
	snprintf(dir, sizeof(dir), "%s/w%d", base != NULL ? base :
	    test_path("."), n++);
	world_make(&w, dir);
	if (git)
		world_dir(&w, "R/.git", 0755);
	world_file(&w, "R/mod", "before\n", 0640);
	world_file(&w, "R/exe", "#!\n", 0644);
	world_file(&w, "R/gone", "gone\n", 0);
	world_file(&w, "R/d/b/c", "c\n", 0);
	world_dir(&w, "R/d/b/empty", 0755);
	world_link(&w, "R/knot", "mod");
	world_file(&w, "V/mod", "after\n", 0640);
	world_file(&w, "V/exe", "#!\n", 0755);
	world_file(&w, "V/knot", "no link any more\n", 0);
	world_file(&w, "V/new/deep/n", "n\n", 0);
	world_set(&w);
	world_landed(&w);
	ATF_REQUIRE(landing_state_merge(&state, &w.res) == 0);
	ATF_REQUIRE_EQ(world_leftovers(&w), 1);
}

static int
forget(struct world *world)
{
	landing_result_free(&world->res);
	return (landing_forget(&world->job, WORLD_SID, &state.landings,
	    &world->res));
}

/* Nothing is left, and the project is as it was. */
static void
forgotten(void)
{
	char	*want = world_tree(&w, "R", true), *got;

	if (forget(&w) == -1)
		atf_tc_fail("%s: %s", w.res.code, w.res.why);
	ATF_REQUIRE_EQ(world_leftovers(&w), 0);
	got = world_tree(&w, "R", true);
	ATF_REQUIRE_STREQ(want, got);
	free(want);
	free(got);
}

/* The shell's fmt in the world's folder; false where it fails. $P is the
 * session's landing folder, $T its first landing's, $F a displaced file. */
static bool	sh(const char *, ...) __attribute__((format(printf, 1, 2)));

static bool
sh(const char *fmt, ...)
{
	char	cmd[2048];
	va_list	ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	return (test_sh("cd '%s' && P=%s T=%s/1 && F=$(find $T -type f "
	    "-exec grep -slx before {} ';') ; %s", w.dir, top, top, cmd) ==
	    0);
}

/* Something stays, and is told with this; what the shell's test says of the
 * world holds, and the project is as it was. */
static void
stays(const char *code, const char *why, const char *holds)
{
	char	*want = world_tree(&w, "R", true), *got;

	if (forget(&w) == 0)
		atf_tc_fail("nothing is said to be left: %s", why);
	printf("%s: %s\n", w.res.code, w.res.why);
	ATF_REQUIRE_STREQ(w.res.code, code);
	ATF_REQUIRE_MSG(strstr(w.res.why, why) != NULL, "not \"%s\": %s", why,
	    w.res.why);
	ATF_REQUIRE(strstr(w.res.why, "sbx-land-" WORLD_SID) != NULL);
	if (!sh("%s", holds))
		atf_tc_fail("%s: not so: %s", why, holds);
	got = world_tree(&w, "R", true);
	ATF_REQUIRE_STREQ(want, got);
	free(want);
	free(got);
}

ATF_TC_WITHOUT_HEAD(gone);
ATF_TC_BODY(gone, tc)
{
	int	git;

	for (git = 0; git < 2; git++) {
		landed(git == 1);
		/* A second landing of the session's, and one that was killed
		 * before it had a journal. */
		world_file(&w, "V/mod", "after that\n", 0640);
		world_set(&w);
		world_landed(&w);
		w.res.made.n = 2;
		ATF_REQUIRE(landing_state_merge(&state, &w.res) == 0);
		ATF_REQUIRE(sh("test -e $P/2/record && mkdir $P/3"));
		forgotten();
		/* Once more: it is gone. */
		forgotten();
		world_free(&w);
	}
}

/* Other sessions' folders stand beside it, and stay. */
ATF_TC_WITHOUT_HEAD(others);
ATF_TC_BODY(others, tc)
{
	landed(true);
	ATF_REQUIRE(sh("cp -a $P R/.git/sbx-land-aaaaaaaaaaaa && "
	    "cp -a $P R/.sbx-land-aaaaaaaaaaaa"));
	ATF_REQUIRE(forget(&w) == 0);
	ATF_REQUIRE(sh("! test -e $P && diff -r --no-dereference "
	    "R/.git/sbx-land-aaaaaaaaaaaa R/.sbx-land-aaaaaaaaaaaa && "
	    "test -e R/.git/sbx-land-aaaaaaaaaaaa/1/record"));
}

/* What the session's user may have done to the folder. */
ATF_TC_WITHOUT_HEAD(foreign);
ATF_TC_BODY(foreign, tc)
{
	static const struct {
		const char	*act, *why, *holds;
	} cases[] = {
		{ "mv $P X && ln -s \"$PWD/X\" $P", "land-",
		  "test -L $P && test -s X/1/record && test $(ls X/1 | "
		  "wc -l) -gt 3" },
		{ "mv $T X && ln -s \"$PWD/X\" $T", "land-",
		  "test -L $T && test -s X/record" },
		{ "mv $T X && cp -a X $T", "land-",
		  "diff -r --no-dereference X $T && test -s X/record" },
		{ "echo mine >$T/mine", "has something in it",
		  "test \"$(cat $T/mine)\" = mine && test \"$(ls $T)\" = "
		  "mine" },
		{ "echo mine >$P/mine", "land-",
		  "test \"$(cat $P/mine)\" = mine && ! test -e $T" },
		{ "mkdir $P/7 $P/7x && echo mine >$P/7/mine", "land-",
		  "test -s $P/7/mine && test -d $P/7x && ! test -e $T" },
		/* A displaced file, put back in other clothes. */
		{ "cp $F X && rm $F && mv X $F",
		  "not what the landing put there",
		  "grep -qx before $T/* && test -s $T/record" },
		{ "echo more >>$F",
		  "was written to since", "grep -qx more $T/* && "
		  "test $(ls $T | wc -l) = 2" },
		{ "rm $F && ln -s /etc/passwd $F",
		  "not what the landing put there",
		  "test -n \"$(find $T -type l)\"" },
		{ "rm $F && mkfifo $F",
		  "not what the landing put there",
		  "test -n \"$(find $T -type p)\"" },
		{ "f=$(find $T -mindepth 1 -type d | head -n 1) && "
		  "echo x >$f/x", "has something in it now",
		  "test -n \"$(find $T -name x)\"" },
		/* Without the record nothing is known of what is there. */
		{ "echo x >>$T/record", "no record",
		  "test $(ls $T | wc -l) -gt 3" },
		{ "rm $T/record", "no record", "test $(ls $T | wc -l) -gt 3" },
		{ "mv $T/record X && ln -s \"$PWD/X\" $T/record", "no record",
		  "test -L $T/record && test -s X" },
		{ "rm $T/record && mkfifo $T/record", "no record",
		  "test -p $T/record" },
	};
	size_t	i;
	int	git;

	for (git = 0; git < 2; git++)
		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			landed(git == 1);
			if (!sh("%s", cases[i].act))
				atf_tc_fail("%s", cases[i].act);
			stays("land.left", cases[i].why, cases[i].holds);
			world_free(&w);
		}
}

/* What may be put right is no reason to forget it. */
ATF_TC_WITHOUT_HEAD(stuck);
ATF_TC_BODY(stuck, tc)
{
	landed(true);
	ATF_REQUIRE(sh("mount --bind R R && mount -o remount,bind,ro R"));
	close(w.job.project);
	w.job.project = openat(w.fd, "R", O_RDONLY | O_DIRECTORY);
	stays("land.failed", "Read-only", "test -s $T/record && "
	    "umount -l R");
	close(w.job.project);
	w.job.project = openat(w.fd, "R", O_RDONLY | O_DIRECTORY);
	ATF_REQUIRE(sh("chattr +i $F"));
	/* Beside it, what nobody may remove: its reason is not the one. */
	ATF_REQUIRE(sh("touch $T/mine"));
	stays("land.failed", "not permitted", "chattr -i $F && rm $T/mine && "
	    "test -s $T/record");
	forgotten();
}

ATF_TC_WITHOUT_HEAD(elsewhere);
ATF_TC_BODY(elsewhere, tc)
{
	/* The folder's own folder is another one, or a link. */
	landed(true);
	ATF_REQUIRE(sh("mv R/.git X && ln -s \"$PWD/X\" R/.git"));
	stays("land.left", ".git/sbx-land-",
	    "test -s X/sbx-land-" WORLD_SID "/1/record");
	world_free(&w);
	landed(true);
	ATF_REQUIRE(sh("mv R/.git X && mkdir R/.git"));
	forgotten();
	ATF_REQUIRE(sh("test -s X/sbx-land-" WORLD_SID "/1/record"));
	world_free(&w);
	/* A mount over it is not gone into. */
	landed(false);
	ATF_REQUIRE(sh("mkdir X && cp -a $P/. X && mount --bind X $P"));
	stays("land.failed", "cross-device",
	    "test -s X/1/record && umount $P && "
	    "test -s $T/record");
	world_free(&w);
	/* Where git is told to look at what lies there, it stays so. */
	landed(false);
	ATF_REQUIRE(sh("echo '!mine' >>$P/.gitignore"));
	stays("land.left", ".sbx-land-",
	    "grep -q mine $P/.gitignore && ! test -e $T");
	world_free(&w);
	/* Not there at all any more. */
	landed(false);
	ATF_REQUIRE(sh("rm -r $P"));
	forgotten();
	/* Of a worktree, .git is a file: none of ours was ever in it. */
	world_free(&w);
	landed(false);
	world_file(&w, "R/.git", "gitdir: /nowhere\n", 0);
	forgotten();
}

/* Killed at any of its calls, it is done the next time; failing there, it says
 * so or has done it, and is done the next time. */
ATF_TC_WITHOUT_HEAD(killed);
ATF_TC_BODY(killed, tc)
{
	static const enum world_at	ways[] = { WORLD_KILL, WORLD_FAIL };
	int				calls, n, status, git;
	size_t				i;

	/* Syncs cost nothing there. */
	base = strdup(test_path("fs"));
	world_fs(base, "tmpfs", 64);
	for (git = 0; git < 2; git++) {
		landed(git == 1);
		calls = world_trace(&w, forget, 0, WORLD_KILL, 0, NULL,
		    &status);
		ATF_REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		ATF_REQUIRE(calls > 20);
		ATF_REQUIRE_EQ(world_leftovers(&w), 0);
		world_remove(&w);
		for (i = 0; i < 2; i++)
			for (n = 1; n <= calls; n++) {
				landed(git == 1);
				world_trace(&w, forget, n, ways[i], EIO,
				    NULL, &status);
				ATF_REQUIRE(ways[i] != WORLD_KILL ||
				    WIFSIGNALED(status));
				if (WIFEXITED(status) &&
				    WEXITSTATUS(status) == 0)
					ATF_REQUIRE_EQ_MSG(world_leftovers(
					    &w), 0, "call %d", n);
				forgotten();
				world_remove(&w);
			}
	}
}

ATF_TP_ADD_TCS(tp)
{
	landing_state_init(&state);
	ATF_TP_ADD_TC(tp, gone);
	ATF_TP_ADD_TC(tp, others);
	ATF_TP_ADD_TC(tp, foreign);
	ATF_TP_ADD_TC(tp, stuck);
	ATF_TP_ADD_TC(tp, elsewhere);
	if (TEST_PLAIN)		/* which ends where a call of its own fails */
		ATF_TP_ADD_TC(tp, killed);
	return (atf_no_error());
}
