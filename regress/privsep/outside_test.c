/*
 * Who connects to a user's own suite, where the kernel cannot tell whether it
 * is a session.
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <errno.h>
#include <seccomp.h>
#include <string.h>
#include <unistd.h>

#include "privsep/mode.h"
#include "privsep/outside.h"
#include "regress/lib/test.h"

#define USER	61001		/* nobody's */

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77
#endif

/* As a kernel before 6.5 answers. */
static void
kernel_old(void)
{
	scmp_filter_ctx	ctx;

	ATF_REQUIRE((ctx = seccomp_init(SCMP_ACT_ALLOW)) != NULL);
	ATF_REQUIRE_EQ(seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOPROTOOPT),
	    SCMP_SYS(getsockopt), 1, SCMP_A2(SCMP_CMP_EQ, SO_PEERPIDFD)), 0);
	ATF_REQUIRE_EQ(seccomp_load(ctx), 0);
	seccomp_release(ctx);
}

ATF_TC_WITHOUT_HEAD(told);
ATF_TC_BODY(told, tc)
{
	const char	*why;
	int		 sv[2];

	/* What reads of itself in /proc as it could before. */
	if (geteuid() == 0)
		ATF_REQUIRE(seteuid(USER) == 0 &&
		    prctl(PR_SET_DUMPABLE, 1) == 0);
	mode_begin();
	ATF_REQUIRE(mode_user());
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	ATF_REQUIRE(outside_begin(false) != -1);
	if ((why = outside_refuses(sv[0])) != NULL)
		atf_tc_fail("refused: %s", why);
	kernel_old();
	ATF_REQUIRE(outside_refuses(sv[0]) == NULL);
	/* With no other wall there, none is let in. */
	ATF_REQUIRE(outside_begin(true) != -1);
	ATF_REQUIRE((why = outside_refuses(sv[0])) != NULL);
	ATF_REQUIRE_MATCH("kernel", why);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, told);
	return (atf_no_error());
}
