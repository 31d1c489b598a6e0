/*
 * Starting the suite's programs, and being one of them.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privsep/proc.h"
#include "regress/lib/test.h"

static char	out[65536];

static int
to_file(void *arg)
{
	int	fd = open(arg, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd == -1 || dup2(fd, STDOUT_FILENO) == -1 ||
	    dup2(fd, STDERR_FILENO) == -1)
		return (-1);
	close(fd);
	return (0);
}

/* Starts it, waits, and gives its output and exit status. */
static int
run(struct proc_start *ps)
{
	char	path[PATH_MAX];
	int	status, fd;
	pid_t	pid;
	ssize_t	n;

	strlcpy(path, test_path("out"), sizeof(path));
	if (ps->setup == NULL) {
		ps->setup = to_file;
		ps->arg = path;
	}
	ATF_REQUIRE((pid = proc_spawn(ps)) != -1);
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	out[0] = '\0';
	if ((fd = open(path, O_RDONLY)) != -1) {
		n = read(fd, out, sizeof(out) - 1);
		out[n < 0 ? 0 : n] = '\0';
		close(fd);
	}
	ATF_REQUIRE(WIFEXITED(status));
	return (WEXITSTATUS(status));
}

ATF_TC_WITHOUT_HEAD(environment_is_empty);
ATF_TC_BODY(environment_is_empty, tc)
{
	struct proc_start	ps = { .exe = -1, .path = "/usr/bin/env",
				    .argv0 = "env" };

	setenv("SECRET", "x", 1);
	ATF_REQUIRE_EQ(run(&ps), 0);
	ATF_REQUIRE_STREQ(out, "");
}

/* What the starter had on 0 and 1 is not handed on. */
static int
look_at_stdio(void *arg)
{
	struct stat	st;
	int		fd, n = *(const int *)arg;

	for (fd = 0; fd < n; fd++)
		if (fstat(fd, &st) == -1 || !S_ISCHR(st.st_mode) ||
		    st.st_rdev != makedev(1, 3) || fcntl(fd, F_GETFD) != 0)
			_exit(40 + fd);
	if (n == 1 && (fstat(1, &st) == -1 || !S_ISREG(st.st_mode)))
		_exit(50);
	return (-1);
}

ATF_TC_WITHOUT_HEAD(stdio);
ATF_TC_BODY(stdio, tc)
{
	int			n = 2, saved[2], fd;
	struct proc_start	ps = { .exe = -1, .path = "/bin/true",
				    .argv0 = "true", .setup = look_at_stdio,
				    .arg = &n };

	ATF_REQUIRE((fd = open(test_path("f"), O_RDWR | O_CREAT, 0600)) != -1);
	ATF_REQUIRE((saved[0] = fcntl(0, F_DUPFD_CLOEXEC, 10)) != -1);
	ATF_REQUIRE((saved[1] = fcntl(1, F_DUPFD_CLOEXEC, 10)) != -1);
	ATF_REQUIRE(dup2(fd, 0) == 0 && dup2(fd, 1) == 1);
	ATF_CHECK_EQ(run(&ps), 126);
	ps.keep_stdout = true;
	n = 1;
	ATF_CHECK_EQ(run(&ps), 126);
	/* Also where they were closed. */
	ps.keep_stdout = false;
	n = 2;
	close(0);
	close(1);
	ATF_CHECK_EQ(run(&ps), 126);
	ATF_REQUIRE(dup2(saved[0], 0) == 0 && dup2(saved[1], 1) == 1);
}

ATF_TC_WITHOUT_HEAD(one_argument);
ATF_TC_BODY(one_argument, tc)
{
	struct proc_start	ps = { .exe = -1, .path = "/bin/echo",
				    .argv0 = "echo", .argv1 = "-v" };

	ATF_REQUIRE_EQ(run(&ps), 0);
	ATF_REQUIRE_STREQ(out, "-v\n");
	ps.argv1 = NULL;
	ps.setup = NULL;
	ATF_REQUIRE_EQ(run(&ps), 0);
	ATF_REQUIRE_STREQ(out, "\n");
}

/* By descriptor: what was opened is run, whatever the name is now. */
ATF_TC_WITHOUT_HEAD(by_descriptor);
ATF_TC_BODY(by_descriptor, tc)
{
	struct proc_start	ps = { .exe = -1, .argv0 = "x",
				    .argv1 = "good" };

	ATF_REQUIRE_EQ(test_sh("cp /bin/echo '%s'", test_path("prog")), 0);
	ps.exe = open(test_path("prog"), O_PATH | O_CLOEXEC);
	ATF_REQUIRE(ps.exe != -1);
	ATF_REQUIRE_EQ(test_sh("cp /bin/false '%s.2' && mv '%s.2' '%s'",
	    test_path("prog"), test_path("prog"), test_path("prog")), 0);
	ATF_REQUIRE_EQ(run(&ps), 0);
	ATF_REQUIRE_STREQ(out, "good\n");
	close(ps.exe);
}

/* In the child before the exec: 3, 4, ... are the ones that were given, in
 * their order, and nothing else stays open. */
static ino_t		 want[8];
static size_t		 nwant;

static int
look(void *arg)
{
	struct stat	st;
	size_t		i;
	int		fd;

	(void)arg;
	for (i = 0; i < nwant; i++) {
		fd = PROC_FD + (int)i;
		if (fstat(fd, &st) == -1 || st.st_ino != want[i])
			_exit(10 + (int)i);
		if (fcntl(fd, F_GETFD) != 0)
			_exit(20 + (int)i);
	}
	for (fd = PROC_FD + (int)nwant; fd < 300; fd++)
		if (fcntl(fd, F_GETFD) == 0)
			_exit(30);
	return (-1);
}

static void
place(const int *fds, size_t n)
{
	struct proc_start	ps = { .exe = -1, .path = "/bin/true",
				    .argv0 = "true", .fds = fds, .nfds = n,
				    .setup = look };
	struct stat		st;
	size_t			i;

	nwant = n;
	for (i = 0; i < n; i++) {
		ATF_REQUIRE_EQ(fstat(fds[i], &st), 0);
		want[i] = st.st_ino;
	}
	ATF_REQUIRE_EQ(run(&ps), 126);
}

ATF_TC_WITHOUT_HEAD(descriptors);
ATF_TC_BODY(descriptors, tc)
{
	int	fds[8], perm[8], i, j;

	/* Ours begin at 3, too: every order overlaps with the targets. */
	ATF_REQUIRE_EQ(close_range(3, ~0U, 0), 0);
	for (i = 0; i < 8; i++) {
		fds[i] = open(test_path("f%d", i), O_RDWR | O_CREAT, 0600);
		ATF_REQUIRE_EQ(fds[i], 3 + i);
	}
	place(fds, 8);
	for (i = 0; i < 8; i++) {
		for (j = 0; j < 8; j++)
			perm[j] = fds[(i + j) % 8];
		place(perm, 8);
		for (j = 0; j < 8; j++)
			perm[j] = fds[(i + 7 - j) % 8];
		place(perm, 8);
		place(perm, 2);
		place(perm, 1);
	}
	/* The same one twice. */
	perm[0] = perm[1] = fds[5];
	place(perm, 2);
	/* Close-on-exec ones arrive as well. */
	for (i = 0; i < 8; i++)
		ATF_REQUIRE_EQ(fcntl(fds[i], F_SETFD, FD_CLOEXEC), 0);
	place(fds, 8);
	place(fds, 0);
}

ATF_TC_WITHOUT_HEAD(too_many_descriptors);
ATF_TC_BODY(too_many_descriptors, tc)
{
	int			fds[9] = { 0 };
	struct proc_start	ps = { .exe = -1, .path = "/bin/true",
				    .argv0 = "true", .fds = fds, .nfds = 9 };

	ATF_REQUIRE_EQ(proc_spawn(&ps), -1);
	ATF_REQUIRE_EQ(errno, EINVAL);
}

/* A program that is not there: its socket's end, and one line. */
ATF_TC_WITHOUT_HEAD(failed_exec);
ATF_TC_BODY(failed_exec, tc)
{
	int			sv[2];
	char			c;
	struct proc_start	ps = { .exe = -1, .path = "/nonexistent",
				    .argv0 = "ghost", .fds = &sv[1],
				    .nfds = 1 };

	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) ==
	    0);
	ATF_REQUIRE_EQ(run(&ps), 127);
	close(sv[1]);
	ATF_REQUIRE_EQ(read(sv[0], &c, 1), 0);
	ATF_REQUIRE(strstr(out, "ghost: No such file") != NULL);
}

static int
setup_fails(void *arg)
{
	(void)arg;
	return (-1);
}

ATF_TC_WITHOUT_HEAD(failed_setup);
ATF_TC_BODY(failed_setup, tc)
{
	struct proc_start	ps = { .exe = -1, .path = "/bin/true",
				    .argv0 = "true", .setup = setup_fails };

	ATF_REQUIRE_EQ(run(&ps), 126);
}

/* Signals that the starter blocks are not blocked in what it starts. */
ATF_TC_WITHOUT_HEAD(signal_mask);
ATF_TC_BODY(signal_mask, tc)
{
	struct proc_start	ps = { .exe = -1, .path = "/bin/cat",
				    .argv0 = "cat",
				    .argv1 = "/proc/self/status" };
	sigset_t		set;

	sigfillset(&set);
	ATF_REQUIRE_EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	ATF_REQUIRE_EQ(run(&ps), 0);
	ATF_REQUIRE(strstr(out, "SigBlk:\t0000000000000000\n") != NULL);
}

/* Every helper, typed by hand: one line that says what it is, status 1. */
ATF_TC_WITHOUT_HEAD(by_hand);
ATF_TC_BODY(by_hand, tc)
{
	static const char *const	names[] = {
		"spawn", "netd", "mountd", "landd", "land", "worker", "init",
		"conf"
	};
	const char			*prog;
	size_t				 i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		prog = test_program("libexec/sbx");
		if (test_sh("'%s/%s' >'%s' 2>&1 3>&-", prog, names[i],
		    test_path("log")) != 1)
			atf_tc_fail("%s has not refused", names[i]);
		if (test_sh("test $(wc -l <'%s') = 1 && grep -q 'not by hand' "
		    "'%s'", test_path("log"), test_path("log")) != 0) {
			test_sh("cat '%s'", test_path("log"));
			atf_tc_fail("%s", names[i]);
		}
		/* Something on fd 3 that is no socket. */
		if (test_sh("'%s/%s' >'%s' 2>&1 3</dev/null 4</dev/null",
		    prog, names[i], test_path("log")) != 1)
			atf_tc_fail("%s takes /dev/null", names[i]);
		ATF_REQUIRE_EQ(test_sh("grep -q 'not by hand' '%s'",
		    test_path("log")), 0);
	}
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, environment_is_empty);
	ATF_TP_ADD_TC(tp, stdio);
	ATF_TP_ADD_TC(tp, one_argument);
	ATF_TP_ADD_TC(tp, by_descriptor);
	ATF_TP_ADD_TC(tp, descriptors);
	ATF_TP_ADD_TC(tp, too_many_descriptors);
	ATF_TP_ADD_TC(tp, failed_exec);
	ATF_TP_ADD_TC(tp, failed_setup);
	ATF_TP_ADD_TC(tp, signal_mask);
	ATF_TP_ADD_TC(tp, by_hand);
	return (atf_no_error());
}
