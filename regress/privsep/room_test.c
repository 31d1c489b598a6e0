/*
 * A suite at its limit of descriptors: a message whose own finds no room costs
 * the start or the review that it is for.
 */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"
#include "regress/lib/inject.h"
#include "regress/lib/scripted.h"

#define LIMIT	160
#define ROOM	16		/* more than a start takes, or a review */

static long	filled[LIMIT];
static size_t	nfilled, nfreed;

/* Copies of its stderr, as many as it may have. */
static void
fill(int pid)
{
	long	r;

	nfreed = 0;
	for (nfilled = 0; nfilled < LIMIT; nfilled++) {
		r = inject(pid, SYS_fcntl, STDERR_FILENO, F_DUPFD_CLOEXEC, 0,
		    0);
		if (r == -EMFILE)
			return;
		ATF_REQUIRE_MSG(r > 0, "a copy: %ld", r);
		filled[nfilled] = r;
	}
	atf_tc_fail("no limit");
}

/* From below: what is kept back is in use, too. */
static void
room(int pid)
{
	ATF_REQUIRE(nfreed < nfilled);
	ATF_REQUIRE_EQ(0, inject(pid, SYS_close, filled[nfreed++], 0, 0, 0));
}

/* It works, or says in a line why not; and the suite is there. */
static bool
tried(const char *what, size_t n)
{
	int	status;

	status = test_sh("cd '%s/root/p' && HOME='%s/root' timeout 30 "
	    "sbxctl %s >'%s/out' 2>'%s/err' </dev/null", test_scratch(),
	    test_scratch(), what, test_scratch(), test_scratch());
	ATF_REQUIRE_EQ_MSG(0, waitpid(broker, NULL, WNOHANG), "%s, room for "
	    "%zu: the suite has ended", what, n);
	ATF_CHECK_MSG(status == 0 || test_sh("cd '%s' && cat err >>all && "
	    "[ $(wc -l <err) = 1 ]", test_scratch()) == 0, "%s, room for %zu: "
	    "status %d", what, n, status);
	return (status == 0);
}

/* With a session that has changed something. */
static void
suite_up(void)
{
	struct rlimit	rl = { LIMIT, LIMIT };

	ATF_REQUIRE_EQ(0, test_sh("mkdir -p '%s/root/p' && cd '%s/root/p' && "
	    "echo one >f", test_scratch(), test_scratch()));
	ATF_REQUIRE_EQ(0, setrlimit(RLIMIT_NOFILE, &rl));
	broker_start(test_program("sbin/sbxd"));
	broker_ready();
	ATF_REQUIRE(tried("run --keep --name kept -- sh -c 'echo two >f'",
	    LIMIT));
}

static void
cramped(const char *helper)
{
	int	pid;
	size_t	n;

	suite_up();
	pid = helper != NULL ? broker_helper(helper) : broker;
	fill(pid);
	for (n = 1; n < ROOM; n++) {
		room(pid);
		(void)tried("run -- true", n);
		(void)tried("changes kept", n);
	}
	ATF_CHECK_EQ(0, test_sh("cat '%s/all' && grep -q RLIMIT_NOFILE "
	    "'%s/all'", test_scratch(), test_scratch()));
	while (nfreed < nfilled)
		room(pid);
	ATF_CHECK(tried("run -- true", LIMIT));
	ATF_CHECK(tried("changes kept", LIMIT));
	broker_stop();
}

ATF_TC_WITHOUT_HEAD(sbxd);
ATF_TC_BODY(sbxd, tc)
{
	cramped(NULL);
}

ATF_TC_WITHOUT_HEAD(mountd);
ATF_TC_BODY(mountd, tc)
{
	cramped("mountd");
}

static void
until(const char *command)
{
	int	i;

	for (i = 0; i < 500 && test_sh("%s", command) != 0; i++)
		usleep(10000);
	ATF_REQUIRE_MSG(i < 500, "it does not come: %s", command);
}

/* Descriptors that mountd sends once there is no room any more. */
static void
lost(const char *what, const char *begun)
{
	int	mountd = broker_helper("mountd");
	char	done[PATH_MAX];

	until("! pgrep -x land");
	ATF_REQUIRE_EQ(0, kill(mountd, SIGSTOP));
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/root/p' && rm -f ../../done && { "
	    "HOME='%s/root' timeout 30 sbxctl %s 2>../../lost </dev/null; "
	    "echo $? >../../done; } &", test_scratch(), test_scratch(), what));
	until(begun);
	fill(broker);
	ATF_REQUIRE_EQ(0, kill(mountd, SIGCONT));
	snprintf(done, sizeof(done), "test -e '%s/done'", test_scratch());
	until(done);
	ATF_CHECK_EQ_MSG(0, test_sh("cat '%s/lost' && [ $(wc -l <'%s/lost') = "
	    "1 ] && grep -q ': Too many open .*RLIMIT_NOFILE' '%s/lost'",
	    test_scratch(), test_scratch(), test_scratch()), "%s", what);
	ATF_REQUIRE_EQ(0, waitpid(broker, NULL, WNOHANG));
	while (nfreed < nfilled)
		room(broker);
}

ATF_TC_WITHOUT_HEAD(under_way);
ATF_TC_BODY(under_way, tc)
{
	suite_up();
	lost("changes kept", "pgrep -x land");
	lost("run -- true", "sbxctl ls | grep starting");
	ATF_CHECK(tried("run -- true", LIMIT));
	ATF_CHECK(tried("changes kept", LIMIT));
	broker_stop();
}

ATF_TP_ADD_TCS(tp)
{
	/* Those can be traced that are not sanitized. */
	if (TEST_PLAIN) {
		ATF_TP_ADD_TC(tp, sbxd);
		ATF_TP_ADD_TC(tp, mountd);
		ATF_TP_ADD_TC(tp, under_way);
	}
	return (atf_no_error());
}
