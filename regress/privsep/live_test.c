/*
 * The suite's processes at work: each is made to make a call that its filter
 * does not allow, and its end is everybody's.
 */
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"
#include "privsep/proc.h"
#include "regress/lib/inject.h"
#include "regress/lib/scripted.h"

static const char *const	helpers[] = {
	"spawn", "netd", "mountd", "landd"
};

static void
suite_up(void)
{
	broker_start(test_program("sbin/sbxd"));
	broker_ready();
}

/* Nothing of the suite runs any more. */
static void
suite_is_gone(void)
{
	int	ms;

	for (ms = 0; ms < 5000; ms += 10) {
		if (test_sh("for p in sbxd spawn netd mountd landd; do "
		    "! pgrep -x $p >/dev/null || exit 1; done") == 0)
			return;
		usleep(10000);
	}
	test_sh("ps -ef");
	atf_tc_fail("something of the suite is left");
}

/* A helper is killed for it, and the broker ends and says whom it lost. */
static void
helper_dies_of(const char *name, long nr, long a, long b, long c, long d)
{
	long	r;
	int	status;

	suite_up();
	r = inject(broker_helper(name), nr, a, b, c, d);
	ATF_CHECK_MSG(r == INJECT_SIGNAL(SIGSYS), "%s, call %ld: %ld", name,
	    nr, r);
	ATF_REQUIRE(waitpid(broker, &status, 0) == broker);
	ATF_CHECK_EQ(status, 1 << 8);
	/* Of spawn and landd the other may be missed first. */
	ATF_CHECK_EQ(test_sh("grep -q 'sbxd: fatal: .*\\(%s\\|spawn\\|landd\\)"
	    ".* has ended' '%s'", name, log_path), 0);
	suite_is_gone();
}

static void
helper_dies(const char *name, long nr, long a, long b)
{
	helper_dies_of(name, nr, a, b, 0, 0);
}

#ifndef SBX_SANITIZED		/* sanitizers open and look at what they like */
ATF_TC_WITHOUT_HEAD(netd);
ATF_TC_BODY(netd, tc)
{
	helper_dies("netd", SYS_openat, AT_FDCWD, 0);
}

/* By path nobody is told a file's size; by descriptor all are. */
ATF_TC_WITHOUT_HEAD(metadata);
ATF_TC_BODY(metadata, tc)
{
	static const char *const	blind[] = { "netd", "landd" };
	size_t				i;

	for (i = 0; i < sizeof(blind) / sizeof(blind[0]); i++) {
		helper_dies(blind[i], SYS_newfstatat, AT_FDCWD, 0);
		/* glibc's fstat names no path, but could. */
		helper_dies_of(blind[i], SYS_newfstatat, 0, 0, 0,
		    AT_EMPTY_PATH);
		helper_dies(blind[i], SYS_statx, AT_FDCWD, 0);
		suite_up();
		ATF_CHECK_EQ(inject(broker_helper(blind[i]), SYS_fstat, -1, 0,
		    0, 0), -EBADF);
		broker_stop();
		suite_is_gone();
	}
}
#endif

ATF_TC_WITHOUT_HEAD(netd_setns);
ATF_TC_BODY(netd_setns, tc)
{
	helper_dies("netd", SYS_setns, 3, 0);
	helper_dies("netd", SYS_execve, 0, 0);
	helper_dies("netd", SYS_socket, AF_INET, SOCK_STREAM);
}

ATF_TC_WITHOUT_HEAD(mountd);
ATF_TC_BODY(mountd, tc)
{
	helper_dies("mountd", SYS_socket, AF_UNIX, SOCK_STREAM);
	helper_dies("mountd", SYS_execve, 0, 0);
	helper_dies("mountd", SYS_open_by_handle_at, -1, 0);
}

ATF_TC_WITHOUT_HEAD(landd);
ATF_TC_BODY(landd, tc)
{
	helper_dies("landd", SYS_execve, 0, 0);
	helper_dies("landd", SYS_socket, AF_INET, SOCK_STREAM);
	helper_dies("landd", SYS_clone, SIGCHLD, 0);
}

/* spawn's answers: it goes on, since all that it starts inherits it. */
ATF_TC_WITHOUT_HEAD(spawn);
ATF_TC_BODY(spawn, tc)
{
	pid_t	pid;

	suite_up();
	pid = broker_helper("spawn");
	ATF_CHECK_EQ(inject(pid, SYS_bpf, 0, 0, 0, 0), -EPERM);
	ATF_CHECK_EQ(inject(pid, SYS_init_module, 0, 0, 0, 0), -EPERM);
	ATF_CHECK_EQ(inject(pid, SYS_swapoff, 0, 0, 0, 0), -EPERM);
	ATF_CHECK_EQ(inject(pid, SYS_getpid, 0, 0, 0, 0), (long)pid);
	broker_ready();
	broker_stop();
	suite_is_gone();
}

ATF_TC_WITHOUT_HEAD(sbxd);
ATF_TC_BODY(sbxd, tc)
{
	static const long	calls[][3] = {
		{ SYS_execve, 0, 0 }, { SYS_clone, SIGCHLD, 0 },
		{ SYS_socket, AF_INET, SOCK_STREAM }, { SYS_kill, 1, 0 },
		{ SYS_connect, -1, 0 },
	};
	size_t			i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		suite_up();
		ATF_CHECK_EQ(inject(broker, calls[i][0], calls[i][1],
		    calls[i][2], 0, 0), INJECT_SIGNAL(SIGSYS));
		suite_is_gone();
	}
}

/* A helper that is killed, stopped ones that are continued, the broker. */
ATF_TC_WITHOUT_HEAD(losses);
ATF_TC_BODY(losses, tc)
{
	size_t	i;
	int	status;

	for (i = 0; i < sizeof(helpers) / sizeof(helpers[0]); i++) {
		suite_up();
		ATF_REQUIRE_EQ(kill(broker_helper(helpers[i]), SIGKILL), 0);
		ATF_REQUIRE(waitpid(broker, &status, 0) == broker);
		ATF_CHECK_EQ(status, 1 << 8);
		suite_is_gone();
	}
	suite_up();
	ATF_REQUIRE_EQ(kill(broker, SIGKILL), 0);
	ATF_REQUIRE(waitpid(broker, &status, 0) == broker);
	suite_is_gone();
}

/*
 * conf is over at once; it waits, confined, for a starter that does not take
 * its settings.
 */
static void
conf_waits(struct test_helper *h)
{
	struct m_SUITE	suite = { .state = "/", .libexec = "/" };
	const char	*path = test_path("sbxd.conf");
	FILE		*f;
	int		 i;

	suite.conf = path;
	ATF_REQUIRE((f = fopen(path, "w")) != NULL);
	fprintf(f, "{\"roles\":{\"user\":[1");
	for (i = 2; i <= 1024; i++)
		fprintf(f, ",%d", i);
	fprintf(f, "],\"admin\":[1");
	for (i = 2; i <= 1024; i++)
		fprintf(f, ",%d", i);
	fprintf(f, "]}}");
	fclose(f);
	test_helper_start(h, "conf", ROLE_CONF);
	test_send(h, MSG_SUITE, 0, -1, &suite);
	/* It sleeps in poll(2) once the socket is full. */
	for (i = 0; i < 1000; i++) {
		if (test_sh("grep -q '^Seccomp:.2' /proc/%d/status && "
		    "grep -q '^State:.S' /proc/%d/status", (int)h->pid,
		    (int)h->pid) == 0)
			return;
		usleep(5000);
	}
	atf_tc_fail("conf does not wait");
}

static void
conf_dies(long nr, long a, long b, long c)
{
	struct test_helper	h;
	long			r;

	conf_waits(&h);
	r = inject(h.pid, nr, a, b, c, 0);
	ATF_CHECK_MSG(r == INJECT_SIGNAL(SIGSYS), "call %ld: %ld", nr, r);
	imsg_clear(&h.ib);
}

ATF_TC_WITHOUT_HEAD(conf);
ATF_TC_BODY(conf, tc)
{
	struct test_helper	h;

	conf_dies(SYS_execve, 0, 0, 0);
	conf_dies(SYS_socket, AF_INET, SOCK_STREAM, 0);
	conf_dies(SYS_unlinkat, -1, 0, 0);
#ifndef SBX_SANITIZED
	conf_dies(SYS_openat, AT_FDCWD, 0, O_RDWR);
	conf_dies(SYS_newfstatat, AT_FDCWD, 0, 0);
#endif
	/* It is its file's owner with no capability and no group. */
	conf_waits(&h);
	ATF_CHECK_EQ(test_sh("cd /proc/%d && grep -qx 'CapEff:.0*' status && "
	    "grep -qx 'CapPrm:.0*' status && grep -qx 'CapBnd:.0*' status && "
	    "grep -qx 'CapInh:.0*' status && grep -qx 'CapAmb:.0*' status && "
	    "grep -qx 'NoNewPrivs:.1' status && "
	    "grep -qx 'Groups:. *' status && "
	    "grep -qx 'Gid:.65534.65534.65534.65534' status", (int)h.pid), 0);
	/* Its starter gives up. */
	ATF_CHECK_EQ(test_helper_end(&h), 1 << 8);
}

ATF_TP_ADD_TCS(tp)
{
#ifndef SBX_SANITIZED
	ATF_TP_ADD_TC(tp, netd);
	ATF_TP_ADD_TC(tp, metadata);
#endif
	ATF_TP_ADD_TC(tp, netd_setns);
	ATF_TP_ADD_TC(tp, mountd);
	ATF_TP_ADD_TC(tp, landd);
	ATF_TP_ADD_TC(tp, spawn);
	ATF_TP_ADD_TC(tp, sbxd);
	ATF_TP_ADD_TC(tp, losses);
	ATF_TP_ADD_TC(tp, conf);
	return (atf_no_error());
}
