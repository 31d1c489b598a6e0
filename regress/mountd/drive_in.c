/*
 * The inside of a driven session: its namespaces, and commands in its tree.
 */
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drive.h"

/*
 * Inside
 */
static void
init_enter(int tree)
{
	if (syscall(SYS_move_mount, tree, "", AT_FDCWD, "/",
	    MOVE_MOUNT_F_EMPTY_PATH) == -1 || fchdir(tree) == -1 ||
	    syscall(SYS_pivot_root, ".", ".") == -1 ||
	    umount2(".", MNT_DETACH) == -1 || chdir("/") == -1)
		_exit(10);
	close(tree);
}

/* One byte with a descriptor. */
static int
fd_receive(int sock)
{
	char		ctl[CMSG_SPACE(sizeof(int))], c;
	struct iovec	iov = { &c, 1 };
	struct msghdr	m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl,
		.msg_controllen = sizeof(ctl)
	};
	struct cmsghdr	*cm;
	int		 fd;

	if (recvmsg(sock, &m, 0) != 1 || (cm = CMSG_FIRSTHDR(&m)) == NULL)
		return (-1);
	memcpy(&fd, CMSG_DATA(cm), sizeof(fd));
	return (fd);
}

void
drive_fd_send(int sock, int fd)
{
	char		ctl[CMSG_SPACE(sizeof(int))] = { 0 }, c = 't';
	struct iovec	iov = { &c, 1 };
	struct msghdr	m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl,
		.msg_controllen = sizeof(ctl)
	};
	struct cmsghdr	*cm = CMSG_FIRSTHDR(&m);

	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cm), &fd, sizeof(fd));
	ATF_REQUIRE_EQ(1, sendmsg(sock, &m, 0));
}

/* pid 1: takes the tree, then reaps until its end. */
static void
init_main(int sock)
{
	int	tree;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(sock, "i", 1) != 1)
		_exit(11);
	if ((tree = fd_receive(sock)) == -1)
		_exit(12);
	init_enter(tree);
	if (write(sock, "e", 1) != 1)
		_exit(13);
	close(sock);
	for (;;)
		if (waitpid(-1, NULL, 0) == -1)
			pause();
}

static void
outer_main(int sock)
{
	uid_t	spawn = SCRIPTED_UID + UID_SPAWN;
	char	c;
	pid_t	pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setgroups(0, NULL) == -1 || setresgid(spawn, spawn, spawn) == -1 ||
	    setresuid(spawn, spawn, spawn) == -1 ||
	    unshare(CLONE_NEWUSER) == -1)
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1);
	if (write(sock, "u", 1) != 1 || read(sock, &c, 1) != 1)
		_exit(2);
	if (setresgid(0, 0, 0) == -1 || setresuid(0, 0, 0) == -1 ||
	    unshare(CLONE_NEWPID | CLONE_NEWNS) == -1)
		_exit(3);
	if ((pid = fork()) == 0)
		init_main(sock);
	prctl(PR_SET_DUMPABLE, 1);
	close(sock);
	waitpid(pid, NULL, 0);
	_exit(0);
}

static void
map(pid_t pid, const char *what)
{
	char	path[64];
	int	fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	ATF_REQUIRE((fd = open(path, O_WRONLY | O_CLOEXEC)) != -1);
	ATF_REQUIRE_EQ(14, write(fd, "0 0 4294967295", 14));
	close(fd);
}

static int
ns_open(pid_t pid, const char *what)
{
	char	path[64];
	int	fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, what);
	ATF_REQUIRE_MSG((fd = open(path, O_RDONLY | O_CLOEXEC)) != -1,
	    "%s: %s", path, strerror(errno));
	return (fd);
}

/* init's pid as we see it: the outer one's child. */
static pid_t
child_of(pid_t pid)
{
	char	path[64];
	int	child = 0;
	FILE	*f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
	    (int)pid);
	ATF_REQUIRE((f = fopen(path, "re")) != NULL);
	ATF_REQUIRE_EQ(1, fscanf(f, "%d", &child));
	fclose(f);
	return (child);
}

void
drive_namespaces(struct drive *d)
{
	int	sv[2], i;
	char	c;

	for (i = 0; i < 3; i++)
		d->clone[i] = -1;
	ATF_REQUIRE_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    sv));
	if ((d->outer = fork()) == 0) {
		/* Nothing of other sessions may live on in this one. */
		syscall(SYS_close_range, 3, (unsigned)sv[1] - 1, 0);
		syscall(SYS_close_range, (unsigned)sv[1] + 1, ~0U, 0);
		outer_main(sv[1]);
	}
	ATF_REQUIRE(d->outer != -1);
	close(sv[1]);
	d->sock = sv[0];
	ATF_REQUIRE_EQ(1, read(d->sock, &c, 1));
	map(d->outer, "uid_map");
	map(d->outer, "gid_map");
	ATF_REQUIRE_EQ(1, write(d->sock, "m", 1));
	ATF_REQUIRE_EQ(1, read(d->sock, &c, 1));
	d->init = child_of(d->outer);
	d->ns_user = ns_open(d->init, "user");
	d->ns_pid = ns_open(d->init, "pid");
	d->ns_mnt = ns_open(d->init, "mnt");
}

/*
 * Commands
 */
static void
become(const struct drive *d)
{
	int	c;

	for (c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) != -1; c++)
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == -1)
			_exit(121);
	if (setgroups(0, NULL) == -1 ||
	    setresgid(d->gid, d->gid, d->gid) == -1 ||
	    setresuid(d->uid, d->uid, d->uid) == -1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		_exit(122);
}

static void
join(const struct drive *d, int in, int out, const char *script)
{
	char	 shell[] = "sh", opt[] = "-c", path[] =
	    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:"
	    "/bin", lang[] = "LC_ALL=C", *text = strdup(script);
	char	*argv[] = { shell, opt, text, NULL };
	char	*envp[] = { path, lang, NULL };
	pid_t	 pid;
	int	 status;

	if (setns(d->ns_user, CLONE_NEWUSER) == -1 ||
	    setns(d->ns_pid, CLONE_NEWPID) == -1 ||
	    setns(d->ns_mnt, CLONE_NEWNS) == -1)
		_exit(123);
	if ((pid = fork()) == 0) {
		become(d);
		if (dup2(in, 0) == -1 || dup2(out, 1) == -1 ||
		    dup2(out, 2) == -1)
			_exit(124);
		syscall(SYS_close_range, 3, ~0U, 0);
		if (chdir(d->project) == -1 && chdir("/") == -1)
			_exit(125);
		execve("/bin/sh", argv, envp);
		_exit(127);
	}
	/* What is to be signalled is the shell, so it is told of. */
	signal(SIGTERM, SIG_DFL);
	if (pid == -1 || waitpid(pid, &status, 0) == -1)
		_exit(126);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status));
}

static int
run(struct drive *d, char *out, size_t size, const char *script)
{
	size_t	len = 0;
	ssize_t	n;
	pid_t	pid;
	int	p[2], null, status;

	ATF_REQUIRE_EQ(0, pipe2(p, O_CLOEXEC));
	ATF_REQUIRE((null = open("/dev/null", O_RDWR | O_CLOEXEC)) != -1);
	if ((pid = fork()) == 0)
		join(d, null, p[1], script);
	close(p[1]);
	close(null);
	while ((n = read(p[0], out + len, size - len - 1)) > 0)
		len += (size_t)n;
	close(p[0]);
	while (len > 0 && out[len - 1] == '\n')
		len--;
	out[len] = '\0';
	ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
	ATF_REQUIRE(WIFEXITED(status));
	return (WEXITSTATUS(status));
}

int
drive_sh(struct drive *d, const char *fmt, ...)
{
	static char	out[65536];
	char		script[8192];
	va_list		ap;
	int		r;

	va_start(ap, fmt);
	vsnprintf(script, sizeof(script), fmt, ap);
	va_end(ap);
	r = run(d, out, sizeof(out), script);
	if (r != 0)
		printf("inside: %s\n  gave %d: %s\n", script, r, out);
	return (r);
}

const char *
drive_out(struct drive *d, const char *fmt, ...)
{
	static char	out[8][65536];
	static unsigned	turn;
	char		*o = out[turn++ % 8], script[8192];
	va_list		 ap;

	va_start(ap, fmt);
	vsnprintf(script, sizeof(script), fmt, ap);
	va_end(ap);
	run(d, o, sizeof(out[0]), script);
	return (o);
}

pid_t
drive_background(struct drive *d, int *in, int *out, const char *script)
{
	pid_t	pid;
	int	i[2], o[2];

	ATF_REQUIRE_EQ(0, pipe2(i, O_CLOEXEC));
	ATF_REQUIRE_EQ(0, pipe2(o, O_CLOEXEC));
	if ((pid = fork()) == 0) {
		close(i[1]);
		close(o[0]);
		join(d, i[0], o[1], script);
	}
	close(i[0]);
	close(o[1]);
	*in = i[1];
	*out = o[0];
	return (pid);
}
