/*
 * Who connects to a user's own suite, where the kernel cannot tell whether it
 * is a session.
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <errno.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
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
static bool
kernel_old(void)
{
	scmp_filter_ctx	ctx = seccomp_init(SCMP_ACT_ALLOW);

	return (ctx != NULL && seccomp_rule_add(ctx,
	    SCMP_ACT_ERRNO(ENOPROTOOPT), SCMP_SYS(getsockopt), 1,
	    SCMP_A2(SCMP_CMP_EQ, SO_PEERPIDFD, 0)) == 0 &&
	    seccomp_load(ctx) == 0);
}

/* Not ATF's: an ordinary user's process cannot write the result. */
#define MUST(e)	do {							\
	if (!(e)) {							\
		fprintf(stderr, "line %d: %s\n", __LINE__, #e);		\
		_exit(1);						\
	}								\
} while (0)

static void
told_as_user(void)
{
	const char	*why;
	int		 sv[2];

	/* What reads of itself in /proc as it could before. */
	if (geteuid() == 0)
		MUST(seteuid(USER) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
	mode_begin();
	MUST(mode_user());
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	MUST(outside_begin(false) != -1);
	MUST(outside_refuses(sv[0]) == NULL);
	MUST(kernel_old());
	MUST(outside_refuses(sv[0]) == NULL);
	/* With no other wall there, none is let in. */
	MUST(outside_begin(true) != -1);
	MUST((why = outside_refuses(sv[0])) != NULL);
	MUST(strstr(why, "kernel") != NULL);
	_exit(0);
}

ATF_TC_WITHOUT_HEAD(told);
ATF_TC_BODY(told, tc)
{
	int	status;
	pid_t	pid;

	if ((pid = fork()) == 0)
		told_as_user();
	ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
	ATF_REQUIRE_EQ(0, status);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, told);
	return (atf_no_error());
}
