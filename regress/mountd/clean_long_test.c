/*
 * Every kind of change, landed or discarded, stopped or live, with nothing or
 * everything held open or watched; in part; and random ones.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <time.h>

#include "cases.h"
#include "changes.h"

EACH(landed_stopped, "landed, after the session's end",
    landed(&d, changes[i], STOPPED))
EACH(landed_held, "landed, live, everything held open",
    landed(&d, changes[i], HELD))
EACH(discarded_stopped, "discarded by path, after the session's end",
    discarded(&d, changes[i], STOPPED, false))
EACH(discarded_live, "discarded by path, live",
    discarded(&d, changes[i], LIVE, false))
EACH(all_stopped, "discarded whole, after the session's end",
    discarded(&d, changes[i], STOPPED, true))
EACH(all_live, "discarded whole, live",
    discarded(&d, changes[i], LIVE, true))
EACH(all_held, "discarded whole, everything held open",
    discarded(&d, changes[i], HELD, true))
EACH(watched_landed, "landed, live, everything watched",
    watched(&d, changes[i], false))
EACH(watched_discarded, "discarded, live, everything watched",
    watched(&d, changes[i], true))

/* The lines of a listing that lie in one entry of the project, or do not. */
static void
part(const char *from, const char *top, bool in, char *out)
{
	size_t	len = strlen(top), line;

	for (*out = '\0'; *from != '\0'; from += line) {
		line = strcspn(from, "\n");
		line += from[line] == '\n';
		if ((strncmp(from, top, len) == 0 && (from[len] == '\t' ||
		    from[len] == '/')) == in) {
			strncat(out, from, line);
			if (out[strlen(out) - 1] != '\n')
				strlcat(out, "\n", CHANGES_LIST);
		}
	}
}

/* One entry of several is discarded: the others stay as they are. */
static void
discarded_part(struct drive *d, const char *change, const char *top,
    enum how how)
{
	static char	before[CHANGES_LIST], want[CHANGES_LIST];
	static char	got[CHANGES_LIST];
	size_t		i, n, k;

	reset();
	START(d);
	ATF_REQUIRE_EQ(0, drive_sh(d, "%s", change));
	list_inside(d);
	strlcpy(before, inside, sizeof(before));
	n = differences(real_before, inside);
	for (i = k = 0; i < n; i++)
		if (strncmp(paths[i], top, strlen(top)) == 0 &&
		    strchr("/", paths[i][strlen(top)]) != NULL)
			paths[k++] = paths[i];
	paths[k] = NULL;
	if (k == 0 || k == n)
		goto out;
	if (how == STOPPED)
		drive_release(d);
	ATF_REQUIRE_MSG(drive_clean(d, how != STOPPED, true, paths),
	    "%s: %s: %s", change, d->code, d->text);
	if (how == STOPPED)
		START(d);
	list_inside(d);
	part(real_before, top, true, want);
	part(inside, top, true, got);
	if (strcmp(want, got) != 0) {
		printf("want:\n%sgot:\n%s", want, got);
		atf_tc_fail_nonfatal("%s: without %s: that", change, top);
	}
	part(before, top, false, want);
	part(inside, top, false, got);
	if (strcmp(want, got) != 0) {
		printf("want:\n%sgot:\n%s", want, got);
		atf_tc_fail_nonfatal("%s: without %s: the rest", change, top);
	}
out:
	drive_release(d);
	drive_erase(d);
}

static void
discarded_parts(enum how how)
{
	static const char *const	tops[] = {
		"d", "d2", "f", "e", "x2", "in", "n", "g", "x"
	};
	struct drive			d = { .uid = 1001, .gid = 1001 };
	size_t				i, j;

	drive_begin();
	for (i = 0; i < nchanges; i++)
		for (j = 0; j < sizeof(tops) / sizeof(tops[0]); j++)
			if (strchr(changes[i], ' ') != NULL &&
			    strstr(changes[i], tops[j]) != NULL)
				discarded_part(&d, changes[i], tops[j], how);
	drive_end();
}

CASE(parts_stopped, "one entry of several discarded, stopped")
{
	discarded_parts(STOPPED);
}

CASE(parts_live, "one entry of several discarded, live")
{
	discarded_parts(LIVE);
}

/*
 * Random changes: a script that is the same inside and outside. A landing
 * either makes them the same way, or as landd does: a file of its own for
 * each, renamed over what is there.
 */
static uint64_t	state;

static unsigned int
below(unsigned int n)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return ((unsigned int)(state >> 33) % n);
}

static const char *
some_path(void)
{
	static const char *const	known[] = {
		"d", "d/a", "d/b", "d2", "d2/sub", "d2/sub/c", "d2/sub/in",
		"d2/sub/in/e", "ed", "f", "l", "t", "x"
	};
	static char	buf[8][64];
	static unsigned	turn;
	char		*out = buf[turn++ % 8];
	unsigned int	i, n = 1 + below(3);

	if (below(2) == 0)
		return (known[below(sizeof(known) / sizeof(known[0]))]);
	out[0] = '\0';
	for (i = 0; i < n; i++)
		snprintf(out + strlen(out), sizeof(buf[0]) - strlen(out),
		    "%s%c", i > 0 ? "/" : "", "defnpq"[below(6)]);
	return (out);
}

static void
some_script(char *out, size_t size)
{
	/* Each with two places for a path. */
	static const char *const	ops[][3] = {
		{ "echo ", " >>", "" }, { "rm -f ", " ", "" },
		{ "rm -rf ", "; : ", "" }, { "mkdir -p ", "; : ", "" },
		{ "mv -T ", " ", "" }, { "mv -T ", " ", "" },
		{ "mv ", " ", "" }, { "ln -sfnT ", " ", "" },
		{ "chmod 700 ", "; : ", "" }, { "rm -rf ", "; mkdir ", "" },
		{ "cp -a ", " ", "" }, { "ln -T ", " ", "" },
		{ "mkdir -p ", "; echo n >", "/n" },
	};
	unsigned int	i, k, n = 3 + below(10);

	out[0] = '\0';
	for (i = 0; i < n; i++) {
		k = below(sizeof(ops) / sizeof(ops[0]));
		strlcat(out, "{ ", size);
		strlcat(out, ops[k][0], size);
		strlcat(out, some_path(), size);
		strlcat(out, ops[k][1], size);
		strlcat(out, some_path(), size);
		strlcat(out, ops[k][2], size);
		strlcat(out, "; } 2>/dev/null; ", size);
	}
	strlcat(out, "true", size);
}

/* The real project becomes what the view is. */
static void
land_as_landd(int view)
{
	ATF_REQUIRE(fcntl(view, F_SETFD, 0) != -1);
	ATF_REQUIRE_EQ(0, test_sh("cd /proc/self/fd/%d && "
	    "R='%s/proj' && find . -mindepth 1 | sort | while read -r p; do "
	    "if [ -d \"$p\" ] && [ ! -L \"$p\" ]; then "
	    "[ -d \"$R/$p\" ] && [ ! -L \"$R/$p\" ] || { rm -rf \"$R/$p\"; "
	    "mkdir \"$R/$p\"; }; chmod --reference=\"$p\" \"$R/$p\"; "
	    "elif [ -L \"$p\" ]; then "
	    "[ \"$(readlink \"$p\")\" = \"$(readlink \"$R/$p\")\" ] || "
	    "{ rm -rf \"$R/$p\"; cp -P \"$p\" \"$R/$p\"; }; "
	    "elif [ -L \"$R/$p\" ] || ! cmp -s \"$p\" \"$R/$p\"; then "
	    "cp -p \"$p\" \"$R/.new\"; rm -rf \"$R/$p\"; "
	    "mv \"$R/.new\" \"$R/$p\"; "
	    "else chmod --reference=\"$p\" \"$R/$p\"; fi; done; "
	    "cd \"$R\" && find . -mindepth 1 | sort -r | while read -r p; do "
	    "[ -e \"/proc/self/fd/%d/$p\" ] || [ -L \"/proc/self/fd/%d/$p\" ] "
	    "|| rm -rf \"$p\"; done; chown -Rh 1001:1001 .", view,
	    test_scratch(), view, view));
	list_real(real_now);
}

static void
landed_as_landd(struct drive *d, const char *script, bool live)
{
	struct drive_view	v;

	reset();
	START(d);
	ATF_REQUIRE_EQ(0, drive_sh(d, "%s", script));
	if (!live)
		drive_release(d);
	ATF_REQUIRE_MSG(drive_look(d, live, &v), "%s: %s", d->code, d->text);
	land_as_landd(v.view);
	drive_look_end(&v);
	differences(real_before, real_now);
	ATF_REQUIRE_MSG(drive_clean(d, live, false, paths), "%s: %s: %s",
	    script, d->code, d->text);
	if (live) {
		list_inside(d);
		same(script, "landed");
		drive_release(d);
	}
	empty(d, script, "landed");
	drive_erase(d);
}

/* SBX_SEED repeats one round. */
static void
random_rounds(int kind, int rounds)
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	const char	*env = getenv("SBX_SEED");
	uint64_t	seed;
	char		script[8192];
	int		i;

	lenient = true;
	drive_begin();
	for (i = 0; i < (env != NULL ? 1 : rounds); i++) {
		seed = env != NULL ? strtoull(env, NULL, 10) :
		    (uint64_t)time(NULL) * 1000 + (uint64_t)i;
		state = seed;
		some_script(script, sizeof(script));
		printf("seed %llu\n", (unsigned long long)seed);
		switch (kind) {
		case 0:
			landed_as_landd(&d, script, i % 2 == 0);
			break;
		case 1:
			discarded(&d, script, (enum how)(i % 3), i % 2 == 0);
			break;
		default:
			watched(&d, script, true);
			break;
		}
	}
	drive_end();
}

CASE(random_landed, "random changes, landed as landd does")
{
	random_rounds(0, 60);
}

CASE(random_discarded, "random changes, discarded")
{
	random_rounds(1, 60);
}

CASE(random_watched, "random changes, discarded, everything watched")
{
	random_rounds(2, 30);
}

/* The project on another filesystem than the layers. */
static void
elsewhere(enum how how, bool discard)
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	size_t		i;

	ATF_REQUIRE_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL));
	drive_begin();
	ATF_REQUIRE_EQ(0, mount("t", test_path("proj"), "tmpfs", 0,
	    "mode=755,uid=1001,gid=1001"));
	for (i = 0; i < nchanges; i++)
		if (discard)
			discarded(&d, changes[i], how, i % 2 == 0);
		else
			landed(&d, changes[i], how);
	ATF_REQUIRE_EQ(0, umount(test_path("proj")));
	drive_end();
}

CASE(elsewhere_landed, "landed live, the project on another filesystem")
{
	elsewhere(LIVE, false);
}

CASE(elsewhere_held, "landed, held open, on another filesystem")
{
	elsewhere(HELD, false);
}

CASE(elsewhere_discarded, "discarded, held open, on another filesystem")
{
	elsewhere(HELD, true);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, landed_stopped);
	ATF_TP_ADD_TC(tp, landed_held);
	ATF_TP_ADD_TC(tp, discarded_stopped);
	ATF_TP_ADD_TC(tp, discarded_live);
	ATF_TP_ADD_TC(tp, all_stopped);
	ATF_TP_ADD_TC(tp, all_live);
	ATF_TP_ADD_TC(tp, all_held);
	ATF_TP_ADD_TC(tp, watched_landed);
	ATF_TP_ADD_TC(tp, watched_discarded);
	ATF_TP_ADD_TC(tp, parts_stopped);
	ATF_TP_ADD_TC(tp, parts_live);
	ATF_TP_ADD_TC(tp, elsewhere_landed);
	ATF_TP_ADD_TC(tp, elsewhere_held);
	ATF_TP_ADD_TC(tp, elsewhere_discarded);
	ATF_TP_ADD_TC(tp, random_landed);
	ATF_TP_ADD_TC(tp, random_discarded);
	ATF_TP_ADD_TC(tp, random_watched);
	return (atf_no_error());
}
