/*
 * The terminal, by real sessions: what a person at it would notice.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session.h"

static struct session	s;

#define SH(script)	((const char *const[]){ "sh", "-c", script, NULL })

/* Runs it to its end at a terminal; its output is in s. */
static int
run_tty(const char *script)
{
	struct session_opts	o = { .argv = SH(script), .tty = true,
				    .rows = 24, .cols = 80 };

	return (session_simple(&s, &o));
}

ATF_TC_WITHOUT_HEAD(terminal);
ATF_TC_BODY(terminal, tc)
{
	ATF_CHECK_EQ(7, run_tty("tty; stty size; stat -c '%u:%g %a' $(tty); "
	    "echo </dev/tty >/dev/tty me; exit 7"));
	ATF_CHECK_STREQ("/dev/pts/0\r\n24 80\r\n64151:5 620\r\nme\r\n",
	    s.out[1]);
	ATF_CHECK(s.outlen[2] == 0);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, terminal);
	return (atf_no_error());
}
