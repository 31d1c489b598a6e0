/*
 * Taking entries out of a layer: what is left out, held open, run, hidden.
 * Every kind of change by every way is in clean_long_test.c.
 */
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "changes.h"

/* What a landing leaves out is as it was, in folders that moved too. */
static void
left_out(struct drive *d, const char *change, const char *landing,
    const char *const *listed, enum how how)
{
	static char	before[CHANGES_LIST];

	reset();
	START(d);
	ATF_REQUIRE_EQ(0, drive_sh(d, "%s", change));
	list_inside(d);
	strlcpy(before, inside, sizeof(before));
	if (how == STOPPED)
		drive_release(d);
	land(landing);
	ATF_REQUIRE_MSG(drive_clean(d, how != STOPPED, false, listed),
	    "%s: %s: %s", change, d->code, d->text);
	if (how == STOPPED)
		START(d);
	list_inside(d);
	if (strcmp(before, inside) != 0) {
		printf("want:\n%s\ngot:\n%s\n", before, inside);
		atf_tc_fail_nonfatal("%s: landed in part", change);
	}
	drive_release(d);
	drive_erase(d);
}

CASE(partly, "what is not among a landing's paths stays in the session")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	enum how	how;

	drive_begin();
	for (how = STOPPED; how <= LIVE; how++) {
		/* b is ignored, say: it moved inside only. */
		left_out(&d, "mv d e", "mkdir e; mv d/a e/a",
		    LISTED("e", "e/a", "d/a"), how);
		left_out(&d, "mv d2 e; echo x >e/sub/x; rm e/sub/in/e",
		    "mkdir -p e/sub; mv d2/sub/c e/sub/c",
		    LISTED("d2/sub/c", "e", "e/sub", "e/sub/c"), how);
		left_out(&d, "rm -r d", "rm d/a", LISTED("d/a"), how);
		left_out(&d, "rm -r d; mkdir d; echo n >d/n; echo m >d/m",
		    "rm d/a; echo n >d/n", LISTED("d/a", "d/n"), how);
		left_out(&d, "mkdir -p n/o; echo a >n/a; echo b >n/o/b",
		    "mkdir n; echo a >n/a", LISTED("n", "n/a"), how);
		left_out(&d, "chmod 700 d; echo m >>d/a; echo m >>d/b",
		    "echo m >>d/a", LISTED("d/a"), how);
		left_out(&d, "mv d2/sub d2/in; mv d2 q", "mkdir -p q/in; "
		    "mv d2/sub/c q/in/c", LISTED("d2/sub/c", "q", "q/in",
		    "q/in/c"), how);
	}
	drive_end();
}

/*
 * Names that were removed in a folder stay away, and keep nobody from removing
 * it, when the owner has taken the real one from below it.
 */
static void
below_gone(struct drive *d, const char *change, const char *const *listed,
    const char *want, enum how how)
{
	struct m_SID	sid = { .session = d->id };

	reset();
	START(d);
	ATF_REQUIRE_EQ(0, drive_sh(d, "%s", change));
	if (how == STOPPED)
		drive_release(d);
	ATF_REQUIRE_MSG(drive_clean(d, how != STOPPED, true, listed),
	    "%s: %s: %s", change, d->code, d->text);
	ATF_REQUIRE_EQ(0, test_sh("rm -r '%s'/proj/d*", test_scratch()));
	if (how == STOPPED)
		START(d);
	else
		ATF_REQUIRE(drive_ask(d, MSG_REFRESH, -1, &sid,
		    MSG_REFRESHED));
	strlcpy(inside, drive_out(d, "ls -R d"), sizeof(inside));
	ATF_CHECK_MSG(strcmp(inside, want) == 0, "%s: %s: %s", change,
	    how == STOPPED ? "stopped" : "live", inside);
	ATF_CHECK_EQ(0, drive_sh(d, "rm -r d && test ! -e d"));
	drive_release(d);
	drive_erase(d);
}

CASE(below, "what was removed in a folder stays so without the real one")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	enum how	how;

	drive_begin();
	for (how = STOPPED; how <= LIVE; how++) {
		/* Moved there, with a part of what came along; made anew;
		 * opened where it was removed. */
		below_gone(&d, "rm -r d; mv d2 d", LISTED("d/a", "d/sub/c"),
		    "d:\nsub\n\nd/sub:", how);
		below_gone(&d, "rm -r d; mkdir d; echo z >d/z",
		    LISTED("d/a"), "d:\nz", how);
		below_gone(&d, "rm -r d", LISTED("d/a"), "d:", how);
	}
	drive_end();
}

CASE(open_files, "an open file shows what a discard makes of it; what is "
    "written later is kept")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	pid_t		pid;
	int		in, out;

	drive_begin();
	reset();
	START(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "echo changed >f; echo new >new; "
	    "chmod 600 f"));
	pid = drive_background(&d, &in, &out, "exec 3<>f 4<>new; cd d; "
	    "echo ready; read x; cat <&3; cat <&4; read x; echo mine >../f; "
	    "echo late >here; read x; pwd; ls");
	ATF_CHECK_STREQ("ready", line_of(out));
	ATF_REQUIRE_MSG(drive_clean(&d, true, true, LISTED("f", "new")),
	    "%s: %s", d.code, d.text);
	/* It is held, so it is still there. */
	ATF_CHECK_EQ(0, test_sh("test -e '%s'/state/s/%s/*/u/f",
	    test_scratch(), d.id));
	ATF_CHECK_STREQ("644", drive_out(&d, "stat -c %%a f"));
	ATF_CHECK_EQ(0, drive_sh(&d, "test ! -e new"));
	ATF_REQUIRE_EQ(1, write(in, "\n", 1));
	ATF_CHECK_STREQ("one", line_of(out));
	ATF_CHECK_STREQ("new", line_of(out));
	ATF_REQUIRE_EQ(1, write(in, "\n", 1));
	while (drive_sh(&d, "test -e d/here") != 0)
		usleep(10000);
	ATF_CHECK_STREQ("mine", drive_out(&d, "cat f"));
	close(in);
	ATF_CHECK_STREQ(test_path("proj/d"), line_of(out));
	close(out);
	ATF_REQUIRE_EQ(pid, waitpid(pid, NULL, 0));
	drive_release(&d);
	/* It changed after the discard: that is a change of the session's. */
	START(&d);
	ATF_CHECK_STREQ("mine", drive_out(&d, "cat f"));
	ATF_CHECK_STREQ("late", drive_out(&d, "cat d/here"));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

/* The file that notes what is held, as long as how many of its bytes. */
static void
pending_cut(const struct drive *d, long len)
{
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/state/s/%s' && "
	    "head -c %ld ../../../good >pending", test_scratch(), d->id,
	    len));
}

/* Nothing that would rest on it is done, and the reason is said. */
static void
pending_refused(struct drive *d, long len)
{
	struct drive_view	v;

	pending_cut(d, len);
	ATF_CHECK_MSG(!drive_look(d, false, &v), "%ld bytes are taken", len);
	ATF_CHECK_STREQ("mount.pending", d->code);
	ATF_CHECK_MSG(strstr(d->text, "cut short") != NULL &&
	    strchr(d->text, '\n') == NULL, "%s", d->text);
	ATF_CHECK_EQ(0, test_sh("cd '%s/state/s/%s' && test -e */u/f && "
	    "test -e pending", test_scratch(), d->id));
}

CASE(pending, "what is noted for the session's end is kept over several "
    "discards, and only ever believed whole")
{
	struct drive		d = { .uid = 1001, .gid = 1001 };
	struct drive_view	v;
	pid_t			pid;
	long			len, size;
	int			in, out;

	drive_begin();
	reset();
	START(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "echo changed >f; echo changed >t"));
	pid = drive_background(&d, &in, &out, "exec 3<>f 4<>t; echo ready; "
	    "read x");
	ATF_CHECK_STREQ("ready", line_of(out));
	ATF_REQUIRE(drive_clean(&d, true, true, LISTED("f")));
	/* Left by a crash: nobody's business. */
	ATF_REQUIRE_EQ(0, test_sh("echo junk >'%s/state/s/%s/pending.new'",
	    test_scratch(), d.id));
	ATF_REQUIRE(drive_clean(&d, true, true, LISTED("t")));
	size = test_sh("cd '%s' && cp state/s/%s/pending good && "
	    "test ! -e state/s/%s/pending.new && exit $(wc -c <good)",
	    test_scratch(), d.id, d.id);
	ATF_REQUIRE_MSG(size > 60 && size < 250, "%ld bytes", size);
	/* The session ends in order; the note is broken, and stays. */
	pending_cut(&d, size - 1);
	close(in);
	close(out);
	ATF_REQUIRE_EQ(pid, waitpid(pid, NULL, 0));
	drive_release(&d);
	ATF_CHECK_MSG(strstr(test_helper_log(&drive_mountd), "cut short") !=
	    NULL, "%s", test_helper_log(&drive_mountd));
	ATF_REQUIRE_EQ(0, truncate(drive_mountd.log, 0));
	for (len = 0; len < size; len++)
		pending_refused(&d, len);
	ATF_CHECK(!drive_clean(&d, false, true, LISTED("")));
	ATF_CHECK_STREQ("mount.pending", d.code);
	ATF_CHECK(!drive_start(&d));
	ATF_CHECK_STREQ("mount.pending", d.code);
	drive_kill(&d);
	pending_cut(&d, size);
	ATF_REQUIRE_MSG(drive_look(&d, false, &v), "%s: %s", d.code, d.text);
	drive_look_end(&v);
	empty(&d, "held", "discarded, at the end");
	ATF_CHECK_EQ(0, test_sh("test ! -e '%s/state/s/%s/pending'",
	    test_scratch(), d.id));
	drive_erase(&d);
	drive_end();
}

CASE(running, "a program that runs goes on when its change is discarded")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	pid_t		pid;
	int		in, out;

	drive_begin();
	reset();
	ATF_REQUIRE_EQ(0, test_sh("cp /bin/cat '%s/proj/prog' && "
	    "chown 1001:1001 '%s/proj/prog'", test_scratch(),
	    test_scratch()));
	START(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "cat /bin/cat prog >p; cp p prog"));
	pid = drive_background(&d, &in, &out, "exec ./prog");
	ATF_REQUIRE_EQ(2, write(in, "a\n", 2));
	ATF_CHECK_STREQ("a", line_of(out));
	ATF_REQUIRE_MSG(drive_clean(&d, true, true, LISTED("prog", "p")),
	    "%s: %s", d.code, d.text);
	ATF_REQUIRE_EQ(2, write(in, "b\n", 2));
	ATF_CHECK_STREQ("b", line_of(out));
	ATF_CHECK_EQ(0, drive_sh(&d, "cmp prog /bin/cat && test ! -e p"));
	close(in);
	close(out);
	ATF_REQUIRE_EQ(pid, waitpid(pid, NULL, 0));
	drive_release(&d);
	empty(&d, "running", "discarded");
	drive_erase(&d);
	drive_end();
}

CASE(masked, "what is hidden is never written back")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	pid_t		pid;
	int		in, out;

	drive_begin();
	reset();
	ATF_REQUIRE_EQ(0, test_sh("echo KEY >'%s/proj/d/key'",
	    test_scratch()));
	d.hide[0] = strdup(test_path("proj/later"));
	d.hide[1] = strdup(test_path("proj/d/key"));
	START(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "echo own >later; mv d e"));
	pid = drive_background(&d, &in, &out, "exec 3<>later 4<e/a; cd e; "
	    "echo ready; read x; cat <&3; echo end");
	ATF_CHECK_STREQ("ready", line_of(out));
	ATF_REQUIRE_EQ(0, test_sh("echo KEY >'%s/proj/later'",
	    test_scratch()));
	ATF_REQUIRE_MSG(drive_clean(&d, true, true, LISTED("", NULL)),
	    "%s: %s", d.code, d.text);
	ATF_CHECK_STREQ("", drive_out(&d, "cat later d/key e/key "
	    "2>/dev/null"));
	close(in);
	/* Hidden from now on, it is as empty as what hides it. */
	ATF_CHECK_STREQ("end", line_of(out));
	close(out);
	ATF_REQUIRE_EQ(pid, waitpid(pid, NULL, 0));
	ATF_CHECK_EQ(0, test_sh("! grep -r KEY '%s/state/s'",
	    test_scratch()));
	drive_release(&d);
	/* The same for a folder whose rest comes into the layer, stopped. */
	START(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "mv d e"));
	drive_release(&d);
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/proj' && mkdir e && mv d/a e",
	    test_scratch()));
	ATF_REQUIRE_MSG(drive_clean(&d, false, false, LISTED("e", "e/a",
	    "d/a")), "%s: %s", d.code, d.text);
	ATF_CHECK_EQ(0, test_sh("! grep -r KEY '%s/state/s'",
	    test_scratch()));
	START(&d);
	ATF_CHECK_STREQ("a b key", drive_out(&d, "echo $(ls e)"));
	ATF_CHECK_STREQ("", drive_out(&d, "cat e/key"));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(many, "a thousand files at once")
{
	static const char *const	list_of[] = { "", NULL };
	struct drive			d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	reset();
	START(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "for i in 0 1 2 3 4 5 6 7 8 9; do "
	    "mkdir m$i; for j in 0 1 2 3 4 5 6 7 8 9; do "
	    "for k in 0 1 2 3 4 5 6 7 8 9; do echo $k >m$i/$j$k; done; done; "
	    "done; rm -r d2"));
	ATF_REQUIRE_MSG(drive_clean(&d, true, true, list_of), "%s: %s",
	    d.code, d.text);
	list_inside(&d);
	strlcpy(real_now, real_before, sizeof(real_now));
	same("many", "discarded");
	empty(&d, "many", "discarded");
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(paths_refused, "paths that leave the project, and a landing of all")
{
	static const char *const	bad[] = {
		"..", "../x", "a/../b", "/etc/passwd", "a//b", "./a", "a/"
	};
	struct drive	d = { .uid = 1001, .gid = 1001 };
	size_t		i;

	drive_begin();
	reset();
	START(&d);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ATF_CHECK(!drive_clean(&d, true, true, LISTED(bad[i])));
		ATF_CHECK_STREQ("mount.path", d.code);
	}
	ATF_CHECK(!drive_clean(&d, true, false, LISTED("")));
	ATF_CHECK_STREQ("mount.path", d.code);
	ATF_CHECK(!drive_clean(&d, false, true, LISTED("f")));
	ATF_CHECK_STREQ("mount.state", d.code);
	drive_release(&d);
	ATF_CHECK(!drive_clean(&d, true, true, LISTED("f")));
	ATF_CHECK_STREQ("mount.state", d.code);
	drive_erase(&d);
	drive_end();
}

/* With a state on a filesystem of its own, in memory. */
static void
begin_small(void)
{
	ATF_REQUIRE_EQ(0, test_sh("mkdir '%s/state' && "
	    "mount -t tmpfs -o mode=711 t '%s/state'", test_scratch(),
	    test_scratch()));
	drive_begin();
}

static void
end_small(void)
{
	ATF_CHECK_EQ(0, test_helper_end(&drive_mountd));
	ATF_CHECK_EQ(0, test_sh("umount '%s/state'", test_scratch()));
}

/* The state's filesystem has room for so many more files; -1: enough. What
 * mountd makes for the next session may come in between. */
static void
room(int n)
{
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && for i in $(seq 100); do mount -o "
	    "remount,nr_inodes=$(if [ %d = -1 ]; then echo 10000; else "
	    "df --output=iused state | awk 'END { print $1 + %d }'; fi) "
	    "state 2>/dev/null && exit 0; done; exit 1", test_scratch(), n,
	    n));
}

static void
list_now(struct drive *d, enum how how)
{
	struct drive_view	v;

	if (how == LIVE) {
		list_inside(d);
		return;
	}
	ATF_REQUIRE_MSG(drive_look(d, false, &v), "%s: %s", d->code, d->text);
	list_view(v.view);
	drive_look_end(&v);
}

/* What is inside is what was there before; of a landing, with what the owner
 * has there. */
static bool
all_there(char *before, bool landing)
{
	char	*line;
	bool	 r = true;

	if (!landing)
		return (strcmp(before, inside) == 0);
	while (r && (line = strsep(&before, "\n")) != NULL)
		r = strstr(inside, line) != NULL;
	return (r);
}

/* Without room for all of it, it is refused and nothing has changed; one file
 * more each time, until it is enough. */
static void
cramped(struct drive *d, const char *change, const char *outside,
    const char *const *listed, enum how how)
{
	static char	before[CHANGES_LIST], copy[CHANGES_LIST];
	int		n = 0;
	bool		done;

	reset();
	room(-1);
	START(d);
	ATF_REQUIRE_EQ(0, drive_sh(d, "%s", change));
	if (how == STOPPED)
		drive_release(d);
	if (*outside != '\0')
		land(outside);
	list_now(d, how);
	strlcpy(before, inside, sizeof(before));
	do {
		room(n);
		done = drive_clean(d, how == LIVE, *outside == '\0', listed);
		room(-1);
		if (done)
			break;
		ATF_CHECK_STREQ("state.full", d->code);
		list_now(d, how);
		strlcpy(copy, before, sizeof(copy));
		ATF_CHECK_MSG(all_there(copy, *outside != '\0'), "%s: %s, room "
		    "for %d: before:\n%s\nnow:\n%s", change, how == LIVE ?
		    "live" : "stopped", n, before, inside);
	} while (++n < 32);
	ATF_CHECK_MSG(done && n > 0, "%s: %d: %s", change, n, d->text);
	drive_release(d);
	drive_erase(d);
}

CASE(full, "without room nothing of the session's is lost")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	enum how	how;

	begin_small();
	for (how = STOPPED; how <= LIVE; how++) {
		cramped(&d, "rm -r d", "", LISTED("d/a"), how);
		cramped(&d, "rm -r d2", "", LISTED("d2/sub/in/e"), how);
		/* m is ignored, say. */
		cramped(&d, "rm -r d; mkdir d; echo n >d/n; echo m >d/m",
		    "rm d/a; echo n >d/n", LISTED("d/a", "d/n"), how);
		cramped(&d, "mv d e; rm e/b; echo m >e/m",
		    "mkdir e; mv d/a e/a; echo o >e/o",
		    LISTED("e", "e/a", "d/a"), how);
	}
	end_small();
}

/* The layer's d is aside and an empty folder stands for it, as in the middle
 * of a trial. */
static void
trial_cut(const struct drive *d)
{
	const char	*u = drive_layer(d);
	char		 at[64];

	ATF_REQUIRE_EQ(0, test_sh("cd '%s/state/s/%s' && mkdir -p aside && "
	    "mv '%s/d' aside/trial && mkdir '%s/d'", test_scratch(), d->id,
	    u, u));
	snprintf(at, sizeof(at), "%s/d", strstr(u, d->id) + strlen(d->id) + 1);
	ATF_REQUIRE_EQ(0, setxattr(test_path("state/s/%s/aside", d->id),
	    "trusted.overlay.sbx.trial", at, strlen(at), 0));
	snprintf(at, sizeof(at), "%s/d", strstr(u, d->id));
	ATF_REQUIRE_EQ(0, setxattr(test_path("state/s/%s", at),
	    "trusted.overlay.sbx.trial", "", 0, 0));
}

CASE(cut_short, "a folder that was put aside when mountd was killed comes "
    "back, and is never removed")
{
	struct drive		d = { .uid = 1001, .gid = 1001 };
	struct drive_view	v;

	drive_begin();
	reset();
	START(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "rm -r d; mkdir d; echo o >d/o"));
	trial_cut(&d);
	ATF_REQUIRE_MSG(drive_look(&d, true, &v), "%s: %s", d.code, d.text);
	ATF_CHECK_MSG(drive_read(v.view, "d/o") != NULL, "d/o is gone");
	drive_look_end(&v);
	ATF_CHECK_STREQ("o", drive_out(&d, "ls d"));
	drive_release(&d);
	trial_cut(&d);
	START(&d);
	ATF_CHECK_STREQ("o", drive_out(&d, "ls d"));
	drive_release(&d);
	/* Somebody has something else there meanwhile. */
	trial_cut(&d);
	ATF_REQUIRE_EQ(0, test_sh("echo p >'%s/d/p'", drive_layer(&d)));
	ATF_CHECK(!drive_clean(&d, false, true, LISTED("f")));
	ATF_CHECK_STREQ("mount.aside", d.code);
	ATF_CHECK_MSG(strstr(d.text, "aside/trial") != NULL, "%s", d.text);
	ATF_REQUIRE_EQ(0, test_sh("test -e '%s/state/s/%s/aside/trial/o' && "
	    "rm '%s/d/p'", test_scratch(), d.id, drive_layer(&d)));
	ATF_CHECK(drive_clean(&d, false, true, LISTED("f")));
	ATF_CHECK_EQ(0, test_sh("test -e '%s/d/o'", drive_layer(&d)));
	drive_erase(&d);
	drive_end();
}

#define DEEP(n)	"mkdir -p d/$(printf 'a/%.0s' $(seq " #n "))"

/* Folders in folders, as many as a session likes. */
static void
deep(struct drive *d, const char *outside, const char *change,
    const char *hold, bool live)
{
	pid_t	pid = -1;
	int	in, out;

	reset();
	if (outside != NULL)
		ATF_REQUIRE_EQ(0, test_sh("cd '%s/proj' && rm -r d && %s && "
		    "chown -R 1001:1001 d", test_scratch(), outside));
	START(d);
	ATF_REQUIRE_EQ(0, drive_sh(d, "%s", change));
	if (hold != NULL) {
		pid = drive_background(d, &in, &out, hold);
		ATF_CHECK_STREQ("ready", line_of(out));
	}
	if (!live)
		drive_release(d);
	ATF_CHECK_MSG(drive_clean(d, live, true, LISTED("d")), "%s, %s: %s: "
	    "%s", change, live ? "live" : "stopped", d->code, d->text);
	if (pid != -1) {
		close(in);
		close(out);
		ATF_REQUIRE_EQ(pid, waitpid(pid, NULL, 0));
	}
	drive_release(d);
	drive_erase(d);
}

CASE(deep_folders, "as deep as a session likes: a stack is no bound")
{
	static const char	hold[] = "cd d; while cd -P a; do :; done "
	    "2>/dev/null; echo ready; read x";
	struct drive		d = { .uid = 1001, .gid = 1001 };

	begin_small();
	deep(&d, NULL, "rm -r d; " DEEP(2000), NULL, false);
	deep(&d, NULL, "rm -r d; " DEEP(10000), NULL, true);
	/* Each level takes as long as the path to it. */
	deep(&d, DEEP(400), "mv d e", NULL, false);
	deep(&d, DEEP(400), "cd d; while cd -P a; do :; done 2>/dev/null; "
	    "echo x >x", hold, true);
	/* What is not discarded itself has to be looked through. */
	START(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "mv d e; rm -r d2; mkdir d2; echo n "
	    ">d2/n; mkdir -p z/$(printf 'a/%%.0s' $(seq 2500))"));
	drive_release(&d);
	if (!drive_clean(&d, false, true, LISTED("d2")))
		ATF_CHECK_MSG(strcmp(d.code, "mount.clean") == 0 &&
		    strstr(d.text, "more than 4095 bytes") != NULL,
		    "%s: %s", d.code, d.text);
	ATF_CHECK_MSG(drive_clean(&d, false, true, LISTED("")), "%s: %s",
	    d.code, d.text);
	drive_erase(&d);
	end_small();
}

EACH(landed_live, "every kind of change landed, live",
    landed(&d, changes[i], LIVE))
EACH(discarded_held, "every kind discarded, everything held open",
    discarded(&d, changes[i], HELD, false))

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, partly);
	ATF_TP_ADD_TC(tp, below);
	ATF_TP_ADD_TC(tp, open_files);
	ATF_TP_ADD_TC(tp, pending);
	ATF_TP_ADD_TC(tp, running);
	ATF_TP_ADD_TC(tp, masked);
	ATF_TP_ADD_TC(tp, many);
	ATF_TP_ADD_TC(tp, paths_refused);
	ATF_TP_ADD_TC(tp, full);
	ATF_TP_ADD_TC(tp, cut_short);
	ATF_TP_ADD_TC(tp, deep_folders);
	ATF_TP_ADD_TC(tp, landed_live);
	ATF_TP_ADD_TC(tp, discarded_held);
	return (atf_no_error());
}
