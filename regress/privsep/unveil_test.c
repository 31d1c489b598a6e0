/*
 * Landlock, as this kernel has it and as older ones would.
 */
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privsep/unveil.h"
#include "regress/lib/test.h"

#define VERSION	1U	/* LANDLOCK_CREATE_RULESET_VERSION */

static char	dir[PATH_MAX];		/* what the tests may see */
static char	outside[PATH_MAX];

/* dir/{file,a,b}, dir/a/x, and the same below outside. */
static void
make_folders(void)
{
	strlcpy(dir, test_path("dir"), sizeof(dir));
	strlcpy(outside, test_path("outside"), sizeof(outside));
	ATF_REQUIRE_EQ(test_sh("umask 022; for d in '%s' '%s'; do "
	    "mkdir -p $d/a $d/b && echo text >$d/file && echo x >$d/a/x; "
	    "done", dir, outside), 0);
}

static const char *
in(const char *folder, const char *name)
{
	static char	buf[4][PATH_MAX];
	static int	i;

	i = (i + 1) % 4;
	if (snprintf(buf[i], PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
		_exit(90);
	return (buf[i]);
}

/* 0 or errno of opening. */
static int
try_open(const char *path, int flags)
{
	int	fd = open(path, flags, 0600);

	if (fd == -1)
		return (errno);
	close(fd);
	return (0);
}

#define E(x)	((x) == -1 ? errno : 0)

/* In a child: ends it with the line's number where that is not so. */
#define MUST(want, expr) do {						\
	int	got_ = (expr);						\
									\
	if (got_ != (want)) {						\
		fprintf(stderr, "line %d: %s: %s\n", __LINE__, #expr,	\
		    strerror(got_));					\
		_exit(1);						\
	}								\
} while (0)

static int
run(void (*fn)(void))
{
	int	status;
	pid_t	pid;

	fflush(NULL);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		fn();
		_exit(0);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	return (status);
}

static void
unveil_dir(int rights)
{
	struct unveil	*u;
	int		 fd;

	if ((fd = open(dir, O_PATH | O_DIRECTORY)) == -1)
		_exit(91);
	u = unveil_begin();
	unveil_fd(u, fd, rights);
	unveil_end(u);
	close(fd);
}

static void
read_only(void)
{
	unveil_dir(UNVEIL_READ);
	MUST(0, try_open(in(dir, "file"), O_RDONLY));
	MUST(0, try_open(in(dir, "a"), O_RDONLY | O_DIRECTORY));
	MUST(EACCES, try_open(in(dir, "file"), O_WRONLY));
	MUST(EACCES, try_open(in(dir, "file"), O_RDWR));
	MUST(EACCES, try_open(in(dir, "new"), O_WRONLY | O_CREAT));
	MUST(EACCES, E(mkdir(in(dir, "d"), 0700)));
	MUST(EACCES, E(unlink(in(dir, "file"))));
	MUST(EACCES, E(rename(in(dir, "file"), in(dir, "file2"))));
	MUST(EACCES, try_open(in(outside, "file"), O_RDONLY));
	MUST(EACCES, try_open(outside, O_RDONLY | O_DIRECTORY));
	MUST(EACCES, try_open("/etc/passwd", O_RDONLY));
	MUST(EACCES, E(execl("/bin/true", "true", (char *)NULL)));
}

ATF_TC_WITHOUT_HEAD(reading);
ATF_TC_BODY(reading, tc)
{
	ATF_REQUIRE(unveil_abi() >= 1);
	make_folders();
	ATF_REQUIRE_EQ(run(read_only), 0);
}

static void
list_only(void)
{
	struct stat	st;

	unveil_dir(UNVEIL_LIST);
	MUST(0, try_open(dir, O_RDONLY | O_DIRECTORY));
	MUST(0, try_open(in(dir, "a"), O_RDONLY | O_DIRECTORY));
	MUST(0, E(lstat(in(dir, "file"), &st)));
	MUST(EACCES, try_open(in(dir, "file"), O_RDONLY));
	MUST(EACCES, try_open(in(dir, "a/x"), O_RDONLY));
	MUST(EACCES, try_open(in(dir, "new"), O_WRONLY | O_CREAT));
	MUST(EACCES, try_open(outside, O_RDONLY | O_DIRECTORY));
}

ATF_TC_WITHOUT_HEAD(listing);
ATF_TC_BODY(listing, tc)
{
	ATF_REQUIRE(unveil_abi() >= 1);
	make_folders();
	ATF_REQUIRE_EQ(run(list_only), 0);
}

static void
bind_here(const char *path, int want)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	int			s = socket(AF_UNIX, SOCK_STREAM, 0);

	strlcpy(sun.sun_path, path, sizeof(sun.sun_path));
	MUST(want, E(bind(s, (struct sockaddr *)&sun, sizeof(sun))));
	close(s);
}

static void
writing_there(void)
{
	unveil_dir(UNVEIL_READ | UNVEIL_WRITE);
	MUST(0, try_open(in(dir, "file"), O_RDWR | O_TRUNC));
	MUST(0, try_open(in(dir, "new"), O_WRONLY | O_CREAT));
	MUST(0, E(mkdir(in(dir, "d"), 0700)));
	MUST(0, E(symlink("x", in(dir, "l"))));
	MUST(0, E(rename(in(dir, "new"), in(dir, "new2"))));
	MUST(0, E(unlink(in(dir, "new2"))));
	MUST(0, E(rmdir(in(dir, "d"))));
	/* across folders only where that was granted */
	MUST(EXDEV, E(rename(in(dir, "a/x"), in(dir, "b/x"))));
	MUST(EXDEV, E(link(in(dir, "a/x"), in(dir, "b/x"))));
	/* nothing that is no file, folder or link */
	MUST(EACCES, E(mkfifo(in(dir, "fifo"), 0600)));
	MUST(EACCES, E(mknod(in(dir, "dev"), S_IFCHR | 0600, 0)));
	if (chdir(dir) == -1)
		_exit(92);
	bind_here("sock", EACCES);
	MUST(EACCES, try_open(in(outside, "file"), O_WRONLY));
	MUST(EACCES, try_open(in(outside, "new"), O_WRONLY | O_CREAT));
}

static void
refer_there(void)
{
	unveil_dir(UNVEIL_READ | UNVEIL_WRITE | UNVEIL_REFER);
	MUST(0, E(rename(in(dir, "a/x"), in(dir, "b/x"))));
	MUST(0, E(link(in(dir, "b/x"), in(dir, "a/x"))));
	MUST(EACCES, E(rename(in(outside, "a/x"), in(dir, "a/y"))));
}

static void
sock_there(void)
{
	unveil_dir(UNVEIL_SOCK);
	if (chdir(dir) == -1)
		_exit(92);
	bind_here("sock", 0);
	MUST(0, E(unlink("sock")));
	MUST(EACCES, try_open(in(dir, "file"), O_RDONLY));
	MUST(EACCES, try_open(in(dir, "new"), O_WRONLY | O_CREAT));
}

ATF_TC_WITHOUT_HEAD(writing);
ATF_TC_BODY(writing, tc)
{
	make_folders();
	ATF_REQUIRE_EQ(run(writing_there), 0);
	ATF_REQUIRE_EQ(run(refer_there), 0);
	ATF_REQUIRE_EQ(run(sock_there), 0);
}

static void
nothing(void)
{
	int	fd = open(in(dir, "file"), O_RDONLY);
	char	c;

	unveil_end(unveil_begin());
	MUST(EACCES, try_open(in(dir, "file"), O_RDONLY));
	MUST(EACCES, try_open("/", O_RDONLY | O_DIRECTORY));
	MUST(EACCES, try_open("/tmp/x", O_WRONLY | O_CREAT));
	/* what was open before stays open */
	MUST(1, (int)read(fd, &c, 1));
}

ATF_TC_WITHOUT_HEAD(no_rule_no_file);
ATF_TC_BODY(no_rule_no_file, tc)
{
	make_folders();
	ATF_REQUIRE_EQ(run(nothing), 0);
}

static void
one_file(void)
{
	struct unveil	*u = unveil_begin();

	unveil_path(u, in(dir, "file"), UNVEIL_READ);
	unveil_end(u);
	MUST(0, try_open(in(dir, "file"), O_RDONLY));
	MUST(EACCES, try_open(in(dir, "a/x"), O_RDONLY));
	MUST(EACCES, try_open(dir, O_RDONLY | O_DIRECTORY));
}

ATF_TC_WITHOUT_HEAD(single_file);
ATF_TC_BODY(single_file, tc)
{
	make_folders();
	ATF_REQUIRE_EQ(run(one_file), 0);
}

static void
no_path(void)
{
	unveil_path(unveil_begin(), "/nonexistent/path", UNVEIL_READ);
}

static void
no_fd(void)
{
	unveil_fd(unveil_begin(), 999, UNVEIL_READ);
}

ATF_TC_WITHOUT_HEAD(a_rule_that_fails_is_fatal);
ATF_TC_BODY(a_rule_that_fails_is_fatal, tc)
{
	ATF_REQUIRE_EQ(run(no_path), 1 << 8);
	ATF_REQUIRE_EQ(run(no_fd), 1 << 8);
}

/*
 * A session's: the filesystem is not its affair, abstract sockets and signals
 * to processes outside are.
 */
static pid_t	outer;

static int
abstract_connect(void)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	int			s = socket(AF_UNIX, SOCK_STREAM, 0), r;

	memcpy(sun.sun_path, "\0sbx-test", 9);
	r = E(connect(s, (struct sockaddr *)&sun,
	    offsetof(struct sockaddr_un, sun_path) + 9));
	close(s);
	return (r);
}

static void
scoped(void)
{
	MUST(0, abstract_connect());
	unveil_end(unveil_session(false));
	MUST(EPERM, abstract_connect());
	MUST(EPERM, E(kill(outer, 0)));
	MUST(0, E(kill(getpid(), 0)));
	MUST(0, try_open(in(outside, "file"), O_RDWR));
	MUST(0, E(rename(in(dir, "a/x"), in(dir, "b/x"))));
	MUST(0, E(rename(in(dir, "b/x"), in(dir, "a/x"))));
}

ATF_TC_WITHOUT_HEAD(scopes);
ATF_TC_BODY(scopes, tc)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	int			s = socket(AF_UNIX, SOCK_STREAM, 0);

	make_folders();
	outer = getpid();
	memcpy(sun.sun_path, "\0sbx-test", 9);
	ATF_REQUIRE(bind(s, (struct sockaddr *)&sun,
	    offsetof(struct sockaddr_un, sun_path) + 9) == 0);
	ATF_REQUIRE(listen(s, 5) == 0);
	if (unveil_abi() < 6)
		atf_tc_fail("this kernel's Landlock (ABI %d) has no scopes",
		    unveil_abi());
	ATF_REQUIRE_EQ(run(scoped), 0);
}

/*
 * An older kernel: a supervisor answers the question for the ABI with its
 * number (0: as a kernel without Landlock does); all other calls are real.
 */
static void
supervise(int listener, int abi)
{
	struct {
		struct seccomp_notif	n;
		char			more[256];
	} req;
	struct seccomp_notif_resp	resp;

	for (;;) {
		memset(&req, 0, sizeof(req));
		memset(&resp, 0, sizeof(resp));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &req.n) == -1)
			return;		/* it has ended */
		resp.id = req.n.id;
		if (abi == 0)
			resp.error = -EOPNOTSUPP;
		else
			resp.val = abi;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
	}
}

static int
ask_supervisor(void)
{
	struct sock_filter	 code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
		    SYS_landlock_create_ruleset, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, VERSION, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog	 prog = { 6, code };

	return ((int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog));
}

static int
run_as_abi(int abi, void (*fn)(void))
{
	int	status, p[2], listener;
	pid_t	pid;

	fflush(NULL);
	ATF_REQUIRE(pipe(p) == 0);
	/* One table of descriptors: its listener is ours, too. */
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	ATF_REQUIRE(pid != -1);
	if (pid == 0) {
		listener = ask_supervisor();
		if (write(p[1], &listener, sizeof(listener)) == -1)
			_exit(93);
		fn();
		_exit(0);
	}
	ATF_REQUIRE(read(p[0], &listener, sizeof(listener)) ==
	    sizeof(listener));
	ATF_REQUIRE(listener != -1);
	supervise(listener, abi);
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	close(listener);
	close(p[0]);
	close(p[1]);
	return (status);
}

static void
old_kernel(void)
{
	unveil_dir(UNVEIL_READ | UNVEIL_REFER);
	MUST(0, try_open(in(dir, "file"), O_RDONLY));
	MUST(EACCES, try_open(in(dir, "file"), O_WRONLY));
	MUST(EACCES, try_open(in(dir, "new"), O_WRONLY | O_CREAT));
	MUST(EACCES, try_open(in(outside, "file"), O_RDONLY));
}

/* A session's where writing is told: reading stays, renames too. */
static void
session_writes(void)
{
	struct unveil	*u = unveil_session(true);

	unveil_path(u, "/", UNVEIL_REFER);
	unveil_path(u, dir, UNVEIL_WRITE);
	unveil_end(u);
	MUST(0, try_open(in(outside, "file"), O_RDONLY));
	/* Below ABI 2 there is none of it. */
	MUST(unveil_abi() < 2 ? 0 : EACCES,
	    try_open(in(outside, "file"), O_WRONLY));
	MUST(unveil_abi() < 2 ? 0 : EACCES,
	    try_open(in(outside, "fifo"), O_RDWR | O_NONBLOCK));
	MUST(0, try_open(in(dir, "a/x"), O_RDWR));
	MUST(0, E(rename(in(dir, "a/x"), in(dir, "b/x"))));
	MUST(0, E(rename(in(dir, "b/x"), in(dir, "a/x"))));
}

static void
old_scope(void)
{
	unveil_end(unveil_session(false));
	MUST(0, try_open(in(outside, "file"), O_RDWR));
}

static void
no_landlock(void)
{
	MUST(0, unveil_abi());
	unveil_dir(UNVEIL_READ);
	MUST(0, try_open(in(outside, "file"), O_RDONLY));
}

ATF_TC_WITHOUT_HEAD(older_kernels);
ATF_TC_BODY(older_kernels, tc)
{
	int	abi;

	make_folders();
	ATF_REQUIRE(mkfifo(in(outside, "fifo"), 0666) == 0);
	for (abi = 1; abi <= unveil_abi(); abi++) {
		if (run_as_abi(abi, old_kernel) != 0)
			atf_tc_fail("ABI %d", abi);
		if (run_as_abi(abi, old_scope) != 0)
			atf_tc_fail("scopes with ABI %d", abi);
		if (run_as_abi(abi, session_writes) != 0)
			atf_tc_fail("a session's writes with ABI %d", abi);
	}
	ATF_REQUIRE_EQ(run_as_abi(0, no_landlock), 0);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, reading);
	ATF_TP_ADD_TC(tp, listing);
	ATF_TP_ADD_TC(tp, writing);
	ATF_TP_ADD_TC(tp, no_rule_no_file);
	ATF_TP_ADD_TC(tp, single_file);
	ATF_TP_ADD_TC(tp, a_rule_that_fails_is_fatal);
	ATF_TP_ADD_TC(tp, scopes);
	ATF_TP_ADD_TC(tp, older_kernels);
	return (atf_no_error());
}
