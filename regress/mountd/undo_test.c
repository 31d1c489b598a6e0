/*
 * A discard of a live session that fails or is killed at each of its steps,
 * and whose undoing fails, too: nothing of the session's is lost. And a landing
 * that is killed: nothing of it is in the session's way.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../lib/trip.h"
#include "cases.h"
#include "changes.h"

#define LAST	10000U		/* all that are to come */

static char	before[CHANGES_LIST];

static bool
aside_there(const struct drive *d)
{
	return (access(test_path("state/s/%s/aside", d->id), F_OK) == 0);
}

static void
as_before(struct drive *d, const char *change, unsigned int n)
{
	list_inside(d);
	if (strcmp(before, inside) == 0)
		return;
	printf("want:\n%s\ngot:\n%s\n", before, inside);
	atf_tc_fail_nonfatal("%s: call %u: something is lost", change, n);
}

static void
spare_await(void)
{
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && touch spare && "
	    "for i in $(seq 1000); do pgrep -P %d >now; "
	    "[ -s now ] && ! cmp -s now spare && exec mv now spare; "
	    "sleep 0.01; done; exit 1", test_scratch(),
	    (int)drive_mountd.pid));
}

/* mountd's next child has to be the one that is to stumble, and not what it
 * makes a little after a start, for the next one. */
static void
start(struct drive *d)
{
	ATF_REQUIRE_EQ(0, test_sh("rm -f '%s/spare'", test_scratch()));
	spare_await();
	START(d);
	spare_await();
}

/* What a look at the session brings back. */
static void
looked_at(struct drive *d, const char *change, unsigned int n)
{
	struct drive_view	v;

	ATF_CHECK_MSG(drive_look(d, true, &v), "%s: call %u: %s: %s", change,
	    n, d->code, d->text);
	drive_look_end(&v);
	as_before(d, change, n);
	ATF_CHECK_MSG(!aside_there(d), "%s: call %u: aside", change, n);
}

/* Calls n to last fail, or it is killed; false: there are not so many. */
static bool
stumbles(struct drive *d, const char *const *listed, unsigned int n,
    unsigned int last, int error)
{
	bool	done;

	trip_begin(drive_mountd.pid, SYS_renameat2, n, last, error);
	done = drive_clean(d, true, true, listed);
	return (trip_end() >= n && !done);
}

/* What was put aside stays, and is told, also by who looks with no more
 * success. */
static void
stays(struct drive *d, const char *change, unsigned int n)
{
	struct drive_view	v;
	bool			there = aside_there(d), looks;

	ATF_CHECK_MSG((strcmp(d->code, "mount.aside") == 0) == there,
	    "%s: call %u: %s", change, n, d->code);
	if (!there)
		return;
	ATF_CHECK_MSG(strstr(d->text, "\"aside") != NULL &&
	    strchr(d->text, '\n') == NULL, "%s", d->text);
	trip_begin(drive_mountd.pid, SYS_renameat2, 1, LAST, EIO);
	looks = drive_look(d, true, &v);
	ATF_CHECK(trip_end() > 0);
	drive_look_end(&v);
	ATF_CHECK_MSG(!looks && strcmp(d->code, "mount.aside") == 0,
	    "%s: call %u: %s", change, n, d->code);
	ATF_CHECK(aside_there(d));
}

static void
undone(struct drive *d, const char *change, const char *const *listed)
{
	unsigned int	n;

	reset();
	start(d);
	ATF_REQUIRE_EQ(0, drive_sh(d, "%s", change));
	list_inside(d);
	strlcpy(before, inside, sizeof(before));
	for (n = 1; stumbles(d, listed, n, n, EIO); n++) {
		ATF_CHECK_MSG(strcmp(d->code, "mount.clean") == 0,
		    "%s: call %u: %s: %s", change, n, d->code, d->text);
		ATF_CHECK_MSG(!aside_there(d), "%s: call %u", change, n);
		as_before(d, change, n);
		/* What the one before has copied need not be again. */
		if (!stumbles(d, listed, n, LAST, EIO))
			break;
		stays(d, change, n);
		looked_at(d, change, n);
		ATF_REQUIRE(stumbles(d, listed, n, n, 0));
		ATF_CHECK_STREQ("mount.failed", d->code);
		looked_at(d, change, n);
	}
	ATF_CHECK_MSG(n > 2, "%s: %u calls", change, n - 1);
	/* The last one went through. */
	list_inside(d);
	ATF_CHECK_MSG(strcmp(before, inside) != 0, "%s", change);
	drive_release(d);
	drive_erase(d);
}

CASE(undone, "a discard that fails, or is killed, at any step")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	undone(&d, "echo m >>f; rm d/a; mkdir n; echo n >n/n",
	    LISTED("f", "d/a", "n"));
	undone(&d, "rm -r d d2", LISTED("d/a", "d2/sub/in/e"));
	undone(&d, "mv d e; rm e/b; rm -r d2; mkdir d2; echo x >d2/x",
	    LISTED("e", "d/a", "d2/x"));
	drive_end();
}

/* The first of two things put aside does not come back: the other one does. */
CASE(tried, "a folder that stays aside keeps nothing else there")
{
	struct drive	 d = { .uid = 1001, .gid = 1001 };
	const char	*change = "echo m >b; rm -r d2; mkdir d2; echo x >d2/x";

	drive_begin();
	reset();
	start(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "%s", change));
	list_inside(&d);
	strlcpy(before, inside, sizeof(before));
	/* b's, d2's to be tried, and that back, at once and then. */
	ATF_REQUIRE(stumbles(&d, LISTED("b", "d2/x"), 3, 4, EIO));
	ATF_CHECK_STREQ("mount.aside", d.code);
	ATF_CHECK_MSG(strstr(d.text, "\"aside/trial\"") != NULL &&
	    strstr(d.text, "that did not end") == NULL, "%s", d.text);
	ATF_CHECK_EQ(0, test_sh("cd '%s/state/s/%s/aside' && test -e trial && "
	    "test -e steps && test ! -e 0", test_scratch(), d.id));
	ATF_CHECK_STREQ("m", drive_out(&d, "cat b"));
	looked_at(&d, change, 3);
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

/* Of a session that ends then: its layer is not empty, and what had no place
 * is said until it has one. */
CASE(ended, "what stays aside keeps its session, until its place is free")
{
	struct drive		d = { .uid = 1001, .gid = 1001 };
	struct drive_view	v;

	drive_begin();
	reset();
	start(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "echo mine >f; rm t; chmod 700 x"));
	ATF_REQUIRE(stumbles(&d, LISTED("f", "t", "x"), 3, LAST, EIO));
	ATF_REQUIRE_STREQ("mount.aside", d.code);
	/* The session goes on without them. */
	ATF_CHECK_STREQ("one", drive_out(&d, "cat f"));
	ATF_REQUIRE_EQ(0, drive_sh(&d, "echo later >f; echo later >t"));
	drive_release(&d);
	ATF_CHECK(!d.pristine);
	ATF_CHECK(!drive_look(&d, false, &v));
	ATF_CHECK_STREQ("mount.aside", d.code);
	ATF_CHECK_MSG(strstr(d.text, "f cannot come back (File exists, move "
	    "away what is there now)") != NULL, "%s", d.text);
	d.again = true;
	ATF_CHECK(!drive_start(&d));
	ATF_CHECK_STREQ("mount.aside", d.code);
	drive_kill(&d);
	ATF_REQUIRE_EQ(0, test_sh("rm '%s/f'", drive_layer(&d)));
	START(&d);
	ATF_CHECK_STREQ("mine\nlater", drive_out(&d, "cat f t"));
	ATF_CHECK(!aside_there(&d));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

/* What it put aside has landed: it keeps nobody from what the session has
 * written there since. */
CASE(landed_killed, "a landing that is killed, and the session goes on")
{
	struct drive		d = { .uid = 1001, .gid = 1001 };
	struct drive_view	v;
	static const char	 change[] =
	    "echo m >f; echo m >d/a; echo m >d2/n; rm t";

	drive_begin();
	reset();
	start(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "%s", change));
	land(change);
	/* Before the record of the steps goes. */
	trip_begin(drive_mountd.pid, SYS_unlinkat, 1, 1, 0);
	ATF_REQUIRE(!drive_clean(&d, true, false, LISTED("d/a", "d2/n", "f",
	    "t")));
	ATF_REQUIRE_EQ(1, trip_end());
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/state/s/%s/aside' && test -e steps "
	    "&& test -e 3", test_scratch(), d.id));
	ATF_REQUIRE_EQ(0, drive_sh(&d, "echo later >f; rm -r d; "
	    "echo later >d; echo later >t"));
	ATF_REQUIRE_MSG(drive_look(&d, true, &v), "%s: %s", d.code, d.text);
	drive_look_end(&v);
	ATF_CHECK(!aside_there(&d));
	ATF_CHECK_STREQ("later\nlater\nlater\nm",
	    drive_out(&d, "cat f d t d2/n"));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

/* As a power cut may leave it: more is aside than was written down. */
CASE(unwritten, "what is aside without a record of its place stays there")
{
	struct drive		d = { .uid = 1001, .gid = 1001 };
	struct drive_view	v;

	drive_begin();
	reset();
	START(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "echo mine >f; echo mine >t; "
	    "echo mine >new"));
	drive_release(&d);
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/state/s/%s' && mkdir aside && "
	    "u=%s && n=${u#*/%s/} && mv $u/f aside/0 && mv $u/t aside/1 && "
	    "printf '%%s\\0af\\0at' ${n%%%%/*} >aside/steps", test_scratch(),
	    d.id, drive_layer(&d), d.id));
	ATF_CHECK(!drive_look(&d, false, &v));
	ATF_CHECK_STREQ("mount.aside", d.code);
	ATF_CHECK_MSG(strstr(d.text, "1 of the session's files") != NULL,
	    "%s", d.text);
	/* The file may have been made longer, and nothing written there. */
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/state/s/%s/aside' && "
	    "truncate -s -2 steps && truncate -s +64 steps", test_scratch(),
	    d.id));
	ATF_CHECK(!drive_look(&d, false, &v));
	ATF_CHECK_MSG(strstr(d.text, "1 of the session's files") != NULL,
	    "%s", d.text);
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/state/s/%s' && test ! -e aside/0 && "
	    "mv aside/1 '%s/t'", test_scratch(), d.id, drive_layer(&d)));
	START(&d);
	ATF_CHECK_STREQ("mine\nmine", drive_out(&d, "cat f t"));
	drive_release(&d);
	/* Without the record they were given up already. */
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/state/s/%s' && mkdir aside && "
	    "echo landed >aside/0", test_scratch(), d.id));
	ATF_CHECK(drive_look(&d, false, &v));
	drive_look_end(&v);
	ATF_CHECK(!aside_there(&d));
	drive_erase(&d);
	drive_end();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, undone);
	ATF_TP_ADD_TC(tp, tried);
	ATF_TP_ADD_TC(tp, ended);
	ATF_TP_ADD_TC(tp, landed_killed);
	ATF_TP_ADD_TC(tp, unwritten);
	return (atf_no_error());
}
