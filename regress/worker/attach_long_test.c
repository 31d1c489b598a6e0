/*
 * A client that takes nothing for a minute is dropped, and only that one.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "viewer.h"

static struct session	s;

#define ARGV(...)	((const char *const[]){ __VA_ARGS__, NULL })

ATF_TC(dropped);
ATF_TC_HEAD(dropped, tc)
{
	atf_tc_set_md_var(tc, "timeout", "180");
}
ATF_TC_BODY(dropped, tc)
{
	struct session_opts	o = { .argv = ARGV("sh", "-c", "read x; "
				    "head -c 3000000 /dev/zero | tr '\\0' x; "
				    "echo done; read x; exit 3"),
				    .tty = true, .alone = true };
	static struct viewer	a, b;
	int64_t			start;

	session_run(&s, &o);
	viewer_attach(&s, &a, 0);
	viewer_attach(&s, &b, 0);
	viewer_await(&b, &b.t.running, "RUNNING");
	b.asleep = true;
	viewer_say(&a, "\r");
	viewer_expect(&a, "done\r\n");
	start = session_now();
	while (session_now() - start < 63000)
		viewers_pump(&s, 200);
	/* What its socket had is there, and then its end. */
	b.asleep = false;
	while (!b.t.closed) {
		ATF_REQUIRE(session_now() - start < 80000);
		viewers_pump(&s, 20);
	}
	ATF_CHECK_EQ(0, b.t.exited);
	ATF_CHECK(b.outlen[1] < 3000000);
	viewer_say(&a, "\r");
	viewer_await(&a, &a.t.exited, "EXITED");
	ATF_CHECK_EQ(3, session_end(&s));
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, dropped);
	return (atf_no_error());
}
