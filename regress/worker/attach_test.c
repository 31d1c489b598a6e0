/*
 * Several clients at one terminal: each sees all of it, none slows it, and the
 * one that typed last is the one whose size it has.
 */
#include <sys/wait.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "viewer.h"

static struct session	s;

#define ARGV(...)	((const char *const[]){ __VA_ARGS__, NULL })
#define SH(script)	ARGV("sh", "-c", script)

static const char *
inside(void)
{
	return (strdup(test_program("regress/worker/inside")));
}

/* What came of it counts: turns and gaps of the others do not. */
static void
nothing_for(int ms)
{
	int64_t	end = session_now() + ms;

	while (session_now() < end)
		viewers_pump(&s, 20);
}

/* Nobody is there, and the command is not held up; then somebody comes, goes,
 * and comes back. */
ATF_TC_WITHOUT_HEAD(alone);
ATF_TC_BODY(alone, tc)
{
	struct session_opts	o = { .argv = SH("seq 400000; echo ready; "
				    "read x; echo got $x; read x; exit 3"),
				    .tty = true, .alone = true };
	static struct viewer	a, b;

	session_run(&s, &o);
	viewer_attach(&s, &a, 0);
	viewer_await(&a, &a.t.running, "RUNNING");
	viewer_expect(&a, "\n400000\r\n");
	viewer_expect(&a, "ready\r\n");
	viewer_say(&a, "one\r");
	viewer_expect(&a, "got one\r\n");
	viewer_leave(&a);
	viewer_attach(&s, &b, 0);
	viewer_await(&b, &b.t.running, "RUNNING");
	viewer_expect(&b, "got one\r\n");
	ATF_CHECK_MSG(b.t.gap > 0 && b.t.past > 900 << 10 &&
	    b.t.past < (1 << 20) + 65536, "%zu bytes, %llu missing",
	    b.t.past, (unsigned long long)b.t.gap);
	viewer_say(&b, "\r");
	viewer_await(&b, &b.t.exited, "EXITED");
	ATF_CHECK_EQ(3, b.t.status);
	ATF_CHECK_EQ(3, session_end(&s));
}

/* The same bytes for all, and those from before for who comes late; what was
 * cut off begins with a whole line. */
ATF_TC_WITHOUT_HEAD(same);
ATF_TC_BODY(same, tc)
{
	struct session_opts	o = { .argv = SH("stty -echo; echo first; "
				    "read x; seq 100000; read x; seq 200000; "
				    "echo last; read x"),
				    .tty = true, .alone = true };
	static struct viewer	v[4];
	size_t			i;

	session_run(&s, &o);
	viewer_attach(&s, &v[0], 0);
	viewer_attach(&s, &v[1], 0);
	for (i = 0; i < 2; i++)
		viewer_expect(&v[i], "first\r\n");
	viewer_say(&v[0], "\r");
	viewer_expect(&v[0], "\n100000\r\n");
	viewer_expect(&v[1], "\n100000\r\n");
	viewer_attach(&s, &v[2], 0);
	viewer_await(&v[2], &v[2].t.running, "RUNNING");
	ATF_CHECK_EQ(0, v[2].t.gap);
	ATF_CHECK_EQ(v[2].t.past, v[2].outlen[1]);
	viewer_expect(&v[2], "first\r\n1\r\n2\r\n");
	viewer_say(&v[1], "\r");
	for (i = 0; i < 3; i++)
		viewer_await(&v[i], &v[i].t.running, "RUNNING");
	viewer_expect(&v[0], "\n200000\r\nlast\r\n");
	viewer_expect(&v[1], "\n200000\r\nlast\r\n");
	viewer_expect(&v[2], "\n200000\r\nlast\r\n");
	viewer_attach(&s, &v[3], 0);
	viewer_await(&v[3], &v[3].t.running, "RUNNING");
	ATF_CHECK(v[3].t.gap > 0);
	i = strtoul(v[3].out[1], NULL, 10);
	ATF_CHECK_MSG(i > 10000, "it begins with %.20s", v[3].out[1]);
	viewer_say(&v[3], "\r");
	for (i = 0; i < 4; i++)
		viewer_await(&v[i], &v[i].t.exited, "EXITED");
	ATF_CHECK_EQ(0, session_end(&s));
}

/* One that never reads: the command goes on at its speed, the other one has
 * all of it, and when it does read it gets the end of it. */
ATF_TC_WITHOUT_HEAD(asleep);
ATF_TC_BODY(asleep, tc)
{
	struct session_opts	o = { .argv = SH("read x; head -c 20000000 "
				    "/dev/zero | tr '\\0' x; echo; echo done; "
				    "read x"), .tty = true, .alone = true };
	static struct viewer	a, b;

	session_run(&s, &o);
	viewer_attach(&s, &a, 0);
	viewer_attach(&s, &b, 0);
	viewer_await(&b, &b.t.running, "RUNNING");
	b.asleep = true;
	viewer_say(&a, "\r");
	viewer_expect(&a, "done\r\n");
	b.asleep = false;
	viewer_expect(&b, "done\r\n");
	ATF_CHECK_MSG(b.t.gap > 15000000, "%llu bytes were missing",
	    (unsigned long long)b.t.gap);
	viewer_say(&b, "\r");
	viewer_await(&a, &a.t.exited, "EXITED");
	ATF_CHECK_EQ(0, session_end(&s));
}

/* Takes a flood to its end, slower than it could come, but no slower than
 * 64 KiB in some 2 ms. */
static void
take_slowly(struct viewer *v)
{
	static const char	end[] = "done\r\n";
	const size_t		len = sizeof(end) - 1;
	int64_t			late = session_now() + 30000;

	while (v->outlen[1] < len ||
	    memcmp(v->out[1] + v->outlen[1] - len, end, len) != 0) {
		ATF_REQUIRE_MSG(session_now() < late, "%zu bytes came",
		    v->outlen[1]);
		viewers_pump(&s, 20);
		usleep(2000);
	}
	viewer_expect(v, end);
}

/* One that takes 25 MB/s has all of what comes faster than that. Of ten times
 * once is enough: who is kept from the processor for long misses a part. */
ATF_TC_WITHOUT_HEAD(steady);
ATF_TC_BODY(steady, tc)
{
	struct session_opts	o = { .argv = SH("stty -echo; echo ready; "
				    "while read x; do head -c 3000000 "
				    "/dev/zero | tr '\\0' x; echo done; "
				    "done"), .tty = true, .alone = true };
	static struct viewer	a;
	uint64_t		gap;
	int			i;

	session_run(&s, &o);
	viewer_attach(&s, &a, 0);
	viewer_await(&a, &a.t.running, "RUNNING");
	viewer_expect(&a, "ready\r\n");
	for (i = 0; i < 10; i++) {
		gap = a.t.gap;
		viewer_say(&a, "\r");
		take_slowly(&a);
		if (a.t.gap == gap)
			break;
	}
	ATF_CHECK_MSG(i < 10, "%llu bytes were missing",
	    (unsigned long long)a.t.gap);
	viewer_say(&a, "\004");
	viewer_await(&a, &a.t.exited, "EXITED");
	ATF_CHECK_EQ(0, session_end(&s));
}

/* One that never reads again does not keep the session's end up. */
ATF_TC_WITHOUT_HEAD(asleep_end);
ATF_TC_BODY(asleep_end, tc)
{
	struct session_opts	o = { .argv = SH("read x; head -c 5000000 "
				    "/dev/zero; exit 4"), .tty = true,
				    .alone = true };
	static struct viewer	a, b;

	session_run(&s, &o);
	viewer_attach(&s, &a, 0);
	viewer_attach(&s, &b, 0);
	viewer_await(&b, &b.t.running, "RUNNING");
	b.asleep = true;
	viewer_say(&a, "\r");
	viewer_await(&a, &a.t.exited, "EXITED");
	ATF_CHECK_EQ(4, session_end(&s));
}

/* Who typed last has the size, and answers; when it goes, who did before. */
ATF_TC_WITHOUT_HEAD(turns);
ATF_TC_BODY(turns, tc)
{
	struct session_opts	o = { .argv = ARGV(inside(), "winch"),
				    .tty = true, .rows = 24, .cols = 80,
				    .alone = true };
	static struct viewer	a, b, c;

	session_run(&s, &o);
	viewer_attach(&s, &a, 0);
	viewer_expect(&a, "<0 24 80>");
	viewer_size(&a, 30, 100);
	viewer_expect(&a, "<1 30 100>");
	viewer_attach(&s, &b, 0);
	viewer_size(&b, 40, 120);
	viewer_await(&b, &b.t.turns, "TURN");
	ATF_CHECK(b.t.other && !a.t.other && a.t.turns == 0);
	viewer_say(&b, "x");
	viewer_expect(&a, "<2 40 120>");
	ATF_CHECK(!b.t.other && a.t.other);
	/* The other one's window is of no matter until it types. */
	viewer_size(&a, 31, 101);
	viewer_size(&b, 41, 121);
	viewer_expect(&a, "<3 41 121>");
	viewer_say(&a, "x");
	viewer_expect(&a, "<4 31 101>");
	ATF_CHECK(b.t.other && !a.t.other);
	/* To type on changes nothing. */
	viewer_say(&a, "xx");
	viewer_attach(&s, &c, 0);
	viewer_size(&c, 50, 150);
	viewer_await(&c, &c.t.running, "RUNNING");
	nothing_for(200);
	ATF_CHECK(strstr(c.out[1], "<5") == NULL);
	/* b typed before, c never. */
	viewer_leave(&a);
	viewer_expect(&b, "<5 41 121>");
	ATF_CHECK(!b.t.other && c.t.other);
	viewer_leave(&b);
	viewer_expect(&c, "<6 50 150>");
	ATF_CHECK(!c.t.other);
	viewer_leave(&c);
	/* Nobody is there, and it keeps the size; who comes brings another. */
	viewer_attach(&s, &a, 0);
	viewer_size(&a, 50, 150);
	viewer_size(&a, 60, 160);
	viewer_expect(&a, "<7 60 160>");
	viewer_say(&a, "\003");
	viewer_await(&a, &a.t.exited, "EXITED");
	ATF_CHECK_EQ(130, session_end(&s));
}

/* Who looks in may go as it likes; with who started it the command goes. */
ATF_TC_WITHOUT_HEAD(starter);
ATF_TC_BODY(starter, tc)
{
	struct session_opts	o = { .argv = SH("echo up; cat"),
				    .tty = true };
	static struct viewer	a, b;

	session_run(&s, &o);
	session_expect(&s, "up");
	viewer_attach(&s, &a, 0);
	viewer_attach(&s, &b, 0);
	viewer_await(&b, &b.t.running, "RUNNING");
	viewer_send(&a, MSG_EOF, NULL);
	viewer_leave(&a);
	viewer_say(&b, "still\r");
	viewer_expect(&b, "still\r\nstill\r\n");
	session_expect(&s, "still\r\nstill\r\n");
	session_hang_up(&s);
	viewer_await(&b, &b.t.exited, "EXITED");
	ATF_CHECK_EQ(128 + SIGHUP, b.t.status);
	ATF_CHECK_EQ(128 + SIGHUP, session_end(&s));
}

/* Who started it gets every byte, however slowly, while another looks in. */
ATF_TC_WITHOUT_HEAD(starter_whole);
ATF_TC_BODY(starter_whole, tc)
{
	struct session_opts	o = { .argv = SH("head -c 3000000 /dev/zero | "
				    "tr '\\0' x; exit 5"), .tty = true };
	static struct viewer	a;
	size_t			n;

	session_begin(&s, &o);
	session_tree(&s);
	session_go(&s);
	while (s.sbxd.running == 0)
		session_pump(&s, 20);
	viewer_attach(&s, &a, 0);
	while (s.cl.exited == 0) {
		n = s.outlen[1];
		viewers_pump(&s, n % 3 == 0 ? 2 : 0);
	}
	ATF_CHECK_EQ(3000000, s.outlen[1]);
	viewer_await(&a, &a.t.exited, "EXITED");
	ATF_CHECK_EQ(3000000, a.outlen[1] + a.t.gap);
	ATF_CHECK_EQ(5, session_end(&s));
}

/* A session has room for many, and says so where it has not. */
ATF_TC_WITHOUT_HEAD(many);
ATF_TC_BODY(many, tc)
{
	struct session_opts	o = { .argv = SH("echo up; cat"),
				    .tty = true, .alone = true };
	static struct viewer	v[65];
	size_t			i;

	test_clean_mark();
	session_run(&s, &o);
	for (i = 0; i < 64; i++)
		viewer_attach(&s, &v[i], 0);
	for (i = 0; i < 64; i++)
		viewer_expect(&v[i], "up");
	viewer_attach(&s, &v[64], 0);
	viewer_await(&v[64], &v[64].t.errors, "ERROR");
	ATF_CHECK_STREQ("limit.clients", v[64].t.code);
	viewer_say(&v[63], "word\r");
	for (i = 0; i < 64; i++)
		viewer_expect(&v[i], "word\r\nword\r\n");
	for (i = 0; i < 63; i++)
		viewer_leave(&v[i]);
	viewer_leave(&v[64]);
	viewer_say(&v[63], "\004");
	viewer_await(&v[63], &v[63].t.exited, "EXITED");
	viewer_leave(&v[63]);
	ATF_CHECK_EQ(0, session_end(&s));
	test_clean_check();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, alone);
	ATF_TP_ADD_TC(tp, same);
	ATF_TP_ADD_TC(tp, asleep);
	/* A sanitized client does not keep up with a flood. */
	if (TEST_PLAIN)
		ATF_TP_ADD_TC(tp, steady);
	ATF_TP_ADD_TC(tp, asleep_end);
	ATF_TP_ADD_TC(tp, turns);
	ATF_TP_ADD_TC(tp, starter);
	ATF_TP_ADD_TC(tp, starter_whole);
	ATF_TP_ADD_TC(tp, many);
	return (atf_no_error());
}
