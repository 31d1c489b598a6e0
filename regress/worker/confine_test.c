/*
 * What worker, init and the command may not do: by their status, and by their
 * trying it.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/inject.h"
#include "../lib/turns.h"
#include "session.h"

static struct session	s;
static char		inside[PATH_MAX];

#define ARGV(...)	((const char *const[]){ __VA_ARGS__, NULL })

static const char *
helper(void)
{
	strlcpy(inside, test_program("regress/worker/inside"),
	    sizeof(inside));
	return (inside);
}

/* A line of /proc/PID/status, without its name; in a static buffer. */
static const char *
status(pid_t pid, const char *name)
{
	static char	line[512];
	char		path[64];
	size_t		len = strlen(name);
	FILE		*f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	ATF_REQUIRE((f = fopen(path, "re")) != NULL);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, name, len) != 0 || line[len] != ':')
			continue;
		fclose(f);
		line[strcspn(line, "\n")] = '\0';
		return (line + len + 1 + strspn(line + len + 1, " \t"));
	}
	atf_tc_fail("%s has no %s", path, name);
}

static void
powerless(pid_t pid, const char *ids, const char *groups, const char *filters)
{
	static const char *const	sets[] = {
		"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"
	};
	size_t				i;
	char				path[64];
	struct stat			st;

	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		ATF_CHECK_STREQ("0000000000000000", status(pid, sets[i]));
	ATF_CHECK_STREQ("1", status(pid, "NoNewPrivs"));
	ATF_CHECK_STREQ("2", status(pid, "Seccomp"));
	ATF_CHECK_STREQ(filters, status(pid, "Seccomp_filters"));
	ATF_CHECK_STREQ("1", status(pid, "Threads"));
	ATF_CHECK_STREQ(ids, status(pid, "Uid"));
	ATF_CHECK_STREQ(groups, status(pid, "Groups"));
	/* Non-dumpable: its files are root's. */
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	ATF_REQUIRE(stat(path, &st) == 0);
	if (groups[0] == '\0' || strcmp(status(pid, "Name"), "sbx-init") == 0)
		ATF_CHECK_EQ(0, st.st_uid);
}

/* The command's pid, as this namespace has it. */
static pid_t
command_pid(pid_t init)
{
	char	path[64];
	int	pid = 0;
	FILE	*f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)init,
	    (int)init);
	ATF_REQUIRE((f = fopen(path, "re")) != NULL);
	ATF_REQUIRE(fscanf(f, "%d", &pid) == 1);
	fclose(f);
	return ((pid_t)pid);
}

static int
count(pid_t pid, const char *what)
{
	return (test_sh("exit $(ls /proc/%d/%s | wc -l)", (int)pid, what));
}

ATF_TC_WITHOUT_HEAD(status_table);
ATF_TC_BODY(status_table, tc)
{
	struct session_opts	o = { .argv = ARGV("sleep", "100"),
				    .tty = true, .network = "none" };

	session_run(&s, &o);
	powerless(s.w.pid, "64105\t64105\t64105\t64105", "", "1");
	ATF_CHECK_STREQ("sbx-worker", status(s.w.pid, "Name"));
	powerless(s.init, "64151\t64151\t64151\t64151", "64153 ", "1");
	ATF_CHECK_STREQ("sbx-init", status(s.init, "Name"));
	powerless(command_pid(s.init), "64151\t64151\t64151\t64151", "64153 ",
	    "1");
	/* init: null thrice, the worker, signals, the terminal's two ends. */
	ATF_CHECK_EQ(7, count(s.init, "fd"));
	ATF_CHECK_EQ(3, count(command_pid(s.init), "fd"));
	/* worker: null twice, log, sbxd, init, the loop's three, terminal,
	 * client. */
	ATF_CHECK_EQ(10, count(s.w.pid, "fd"));
	ATF_CHECK_EQ(0, test_sh("test \"$(tr -d '\\0' </proc/%d/environ)\" = "
	    "''", (int)s.init));
	ATF_CHECK_EQ(0, test_sh("test \"$(tr -d '\\0' </proc/%d/environ)\" = "
	    "''", (int)s.w.pid));
	ATF_CHECK_EQ(0, test_sh("grep -q 'Max core file size *0 *0' "
	    "/proc/%d/limits", (int)s.w.pid));
#ifndef SBX_SANITIZED
	ATF_CHECK_EQ(0, test_sh("grep -q 'Max address space *1[0-9]* ' "
	    "/proc/%d/limits", (int)s.w.pid));
#endif
	/* What moves bytes runs at once, and has no share of what computes. */
	if (turns_known())
		ATF_CHECK_EQ(TURNS_SHORT, turns_of(s.w.pid).runtime);
	ATF_CHECK(turns_of(command_pid(s.init)).runtime != TURNS_SHORT);
	/* None of the worker's limits is the session's. */
	ATF_CHECK_EQ(0, test_sh("test \"$(cat /proc/self/limits)\" = "
	    "\"$(cat /proc/%d/limits)\"", (int)command_pid(s.init)));
	session_hang_up(&s);
	ATF_CHECK_EQ(128 + SIGHUP, session_end(&s));
}

/*
 * The worker's allow-list: each of these is its end.
 */
static void
worker_dies(const char *name, long nr, long a, long b, long c, long d)
{
	struct session_opts	o = { .argv = ARGV("sleep", "100") };
	long			r;

	session_run(&s, &o);
	r = inject(s.w.pid, nr, a, b, c, d);
	ATF_CHECK_MSG(r == INJECT_SIGNAL(SIGSYS), "%s: %ld", name, r);
	/* It has been reaped by inject; init ends with it. */
	ATF_REQUIRE(waitpid(s.init, NULL, 0) == s.init);
	imsg_clear(&s.w.ib);
	imsg_clear(&s.client);
	close(s.pidfd);
	close(s.fd_home);
	close(s.fd_project);
}

#define WORKER_DIES(name, ...)	worker_dies(#name, SYS_##name, __VA_ARGS__)

ATF_TC_WITHOUT_HEAD(worker_filter);
ATF_TC_BODY(worker_filter, tc)
{
	test_clean_mark();
#ifndef SBX_SANITIZED		/* sanitizers open and map what they like */
	WORKER_DIES(openat, AT_FDCWD, 0, O_RDONLY, 0);
	WORKER_DIES(newfstatat, AT_FDCWD, 0, 0, 0);
	WORKER_DIES(newfstatat, 0, 0, 0, AT_EMPTY_PATH);
	WORKER_DIES(statx, AT_FDCWD, 0, 0, 0);
	WORKER_DIES(mprotect, 0, 4096, 4 /* PROT_EXEC */, 0);
#endif
	WORKER_DIES(socket, AF_INET, SOCK_STREAM, 0, 0);
	WORKER_DIES(execve, 0, 0, 0, 0);
	WORKER_DIES(kill, 0, 0, 0, 0);
	WORKER_DIES(clone, SIGCHLD, 0, 0, 0);
	WORKER_DIES(ptrace, 0, 0, 0, 0);
	WORKER_DIES(ioctl, 0, 0x5412, 0, 0);
	WORKER_DIES(fcntl, 0, F_SETOWN, 1, 0);
	WORKER_DIES(connect, 0, 0, 0, 0);
	test_clean_check();
}

/*
 * init's deny-list, from init itself: EPERM, and it goes on.
 */
static void
init_denied(const char *name, long nr, long a, long b, long c)
{
	long	r = inject(s.init, nr, a, b, c, 0);

	ATF_CHECK_MSG(r == -EPERM, "%s: %ld", name, r);
}

ATF_TC_WITHOUT_HEAD(init_filter);
ATF_TC_BODY(init_filter, tc)
{
	struct session_opts	o = { .argv = ARGV("sleep", "100") };

	session_run(&s, &o);
	init_denied("unshare", SYS_unshare, 0x10000000, 0, 0);
	init_denied("setns", SYS_setns, 3, 0, 0);
	init_denied("mount", SYS_mount, 0, 0, 0);
	init_denied("move_mount", SYS_move_mount, -1, 0, -1);
	init_denied("bpf", SYS_bpf, 0, 0, 0);
	init_denied("keyctl", SYS_keyctl, 0, 0, 0);
	init_denied("io_uring_setup", SYS_io_uring_setup, 1, 0, 0);
	init_denied("packet", SYS_socket, AF_PACKET, SOCK_RAW, 0);
	/* The control: a call that is open gives its own answer. */
	ATF_CHECK_EQ(1, inject(s.init, SYS_getpid, 0, 0, 0, 0));
	session_hang_up(&s);
	ATF_CHECK_EQ(128 + SIGHUP, session_end(&s));
}

/*
 * The command
 */
static void
command_filter(bool root)
{
	struct session_opts	o = { .argv = ARGV(helper(), "forbidden"),
				    .tty = true, .root = root };
	char			*line, *end;
	int			 lines = 0;

	ATF_CHECK_EQ(0, session_simple(&s, &o));
	for (line = s.out[1]; *line != '\0'; line = end + 1) {
		ATF_REQUIRE((end = strchr(line, '\n')) != NULL);
		*end = '\0';
		line[strcspn(line, "\r")] = '\0';
		lines++;
		/* glibc goes from clone3 to clone on ENOSYS only. */
		if (strcmp(line, "clone3 ENOSYS") != 0 &&
		    (strlen(line) < 6 || strcmp(line + strlen(line) - 6,
		    " EPERM") != 0))
			atf_tc_fail_nonfatal("%s", line);
	}
	ATF_CHECK(lines > 250);
}

ATF_TC_WITHOUT_HEAD(command_filter_user);
ATF_TC_BODY(command_filter_user, tc)
{
	command_filter(false);
}

ATF_TC_WITHOUT_HEAD(command_filter_root);
ATF_TC_BODY(command_filter_root, tc)
{
	command_filter(true);
}

ATF_TC_WITHOUT_HEAD(command_allowed);
ATF_TC_BODY(command_allowed, tc)
{
	struct session_opts	o = { .argv = ARGV(helper(), "allowed") };

	ATF_CHECK_EQ(0, session_simple(&s, &o));
	ATF_CHECK_STREQ("socket done\nsocket done\nsocket done\nsocket done\n"
	    "socketpair done\nmemfd_create done\nclone done\n", s.out[1]);
}

ATF_TC_WITHOUT_HEAD(foreign);
ATF_TC_BODY(foreign, tc)
{
	struct session_opts	o = { .argv = ARGV(helper(), "foreign") };

	ATF_CHECK_EQ(128 + SIGSYS, session_simple(&s, &o));
	o.argv = ARGV(helper(), "x32");
	ATF_CHECK_EQ(0, session_simple(&s, &o));
	ATF_CHECK_STREQ("x32 EPERM\n", s.out[1]);
}

/* Landlock's scopes: the host's abstract sockets are not to be reached. */
ATF_TC_WITHOUT_HEAD(abstract);
ATF_TC_BODY(abstract, tc)
{
	struct session_opts	o = { .argv = ARGV(helper(), "abstract") };
	struct sockaddr_un	sun = { .sun_family = AF_UNIX,
				    .sun_path = "\0sbx-test" };
	int			fd;

	ATF_REQUIRE((fd = socket(AF_UNIX, SOCK_STREAM, 0)) != -1);
	ATF_REQUIRE(bind(fd, (struct sockaddr *)&sun, offsetof(
	    struct sockaddr_un, sun_path) + 9) == 0);
	ATF_REQUIRE(listen(fd, 5) == 0);
	ATF_CHECK_EQ(0, session_simple(&s, &o));
	ATF_CHECK_STREQ("connect EPERM\nown done\n", s.out[1]);
	close(fd);
}

/* The session looks at its first process, and sees nothing; at itself it
 * would see all of this. */
static void
init_hidden_from(bool root)
{
	static const char	look[] =
	    "while read k v; do test $k != PPid: || init=$v; done "
	    "</proc/self/status; for p in $init self; do "
	    "for f in environ auxv maps fdinfo/0; do "
	    "head -c 1 /proc/$p/$f >/dev/null 2>&1 && echo $f; done; "
	    "for f in root cwd; do "
	    "ls /proc/$p/$f/ >/dev/null 2>&1 && echo $f; done; "
	    "for f in exe fd/0 fd/1; do "
	    "readlink /proc/$p/$f >/dev/null && echo $f; done; "
	    "{ true <&3; } 3</proc/$p/fd/0 && echo open; echo .; done; "
	    "kill -9 1; kill -TERM 1; sleep 0.1; echo alive";
	struct session_opts	o = { .argv = ARGV("sh", "-c", look),
				    .root = root };

	ATF_CHECK_EQ(0, session_simple(&s, &o));
	ATF_CHECK_STREQ(".\nenviron\nauxv\nmaps\nfdinfo/0\nroot\ncwd\nexe\n"
	    "fd/0\nfd/1\nopen\n.\nalive\n", s.out[1]);
}

ATF_TC_WITHOUT_HEAD(init_hidden);
ATF_TC_BODY(init_hidden, tc)
{
	init_hidden_from(false);
	init_hidden_from(true);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, status_table);
	ATF_TP_ADD_TC(tp, worker_filter);
	ATF_TP_ADD_TC(tp, init_filter);
	ATF_TP_ADD_TC(tp, command_filter_user);
	ATF_TP_ADD_TC(tp, command_filter_root);
	ATF_TP_ADD_TC(tp, command_allowed);
	ATF_TP_ADD_TC(tp, foreign);
	ATF_TP_ADD_TC(tp, abstract);
	ATF_TP_ADD_TC(tp, init_hidden);
	return (atf_no_error());
}
