#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/close_range.h>
#include <linux/sched.h>

#include "../common/log.h"
#include "mode.h"
#include "proc.h"

#ifndef SBX_BUILD
#define SBX_BUILD	"unknown"
#endif

#define PROC_WAIT	10000	/* ms for each of the first messages */
#define PROC_FDS	8

void
proc_begin(const char *name, int first_free)
{
	struct stat	st;
	int		fd;

	log_init(name, 0);
	log_times();
	for (fd = 0; fd < PROC_FD; fd++)
		if (fcntl(fd, F_GETFD) == -1)
			fatalx("descriptor %d is closed: this program is "
			    "started by sbxd, not by hand", fd);
	for (fd = PROC_FD; fd < first_free; fd++)
		if (fstat(fd, &st) == -1 || !S_ISSOCK(st.st_mode))
			fatalx("descriptor %d is no socket: this program is "
			    "started by sbxd, not by hand", fd);
	if (syscall(SYS_close_range, (unsigned int)first_free, ~0U, 0) == -1)
		fatal("close_range");
	/* A terminal's ^C and a service manager's TERM are for the broker: it
	 * ends the sessions in order, and the helpers by the end of fd 3. */
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR ||
	    signal(SIGINT, SIG_IGN) == SIG_ERR ||
	    signal(SIGHUP, SIG_IGN) == SIG_ERR ||
	    signal(SIGTERM, SIG_IGN) == SIG_ERR)
		fatal("signal");
	umask(077);
}

void
proc_hello_fill(struct m_HELLO *mine, enum role self)
{
	memset(mine, 0, sizeof(*mine));
	mine->protocol = PROTO_VERSION;
	mine->minor = PROTO_MINOR;
	mine->build = SBX_BUILD;
	mine->role = role_name(self);
}

/* What clients are told has the commit behind it. */
static bool
proc_build_is_ours(const char *build)
{
	size_t	len = sizeof(SBX_BUILD) - 1;

	return (strncmp(build, SBX_BUILD, len) == 0 && (build[len] == '\0' ||
	    build[len] == '+'));
}

bool
proc_hello_fits(const struct m_HELLO *theirs, enum role other)
{
	return (theirs->protocol == PROTO_VERSION &&
	    strcmp(theirs->role, role_name(other)) == 0 &&
	    proc_build_is_ours(theirs->build));
}

/* A starter that is gone has said why itself: one line is enough. */
void
proc_over(const struct imsgbuf *ib, int errnum)
{
	if (ib->self != ROLE_SBXD && ib->self != ROLE_CLIENT &&
	    (errnum == EPIPE || errnum == ECONNRESET))
		_exit(1);
}

void
proc_hello(struct imsgbuf *ib, enum role self, enum role other)
{
	const struct m_HELLO	*theirs;
	struct m_HELLO		 mine;
	struct msg		 msg;

	proc_hello_fill(&mine, self);
	if (imsg_send(ib, MSG_HELLO, 0, -1, &mine) == -1) {
		proc_over(ib, errno);
		fatal("HELLO to %s", role_name(other));
	}
	proc_expect(ib, MSG_HELLO, &msg);
	theirs = msg.body;
	if (!proc_hello_fits(theirs, other))
		fatalx("%s is protocol %llu, build %s; this %s is protocol "
		    "%d, build %s: install one build of the whole suite",
		    theirs->role, (unsigned long long)theirs->protocol,
		    theirs->build, role_name(self), PROTO_VERSION, SBX_BUILD);
	msg_free(&msg);
}

void
proc_expect(struct imsgbuf *ib, uint32_t type, struct msg *msg)
{
	const char	*why = NULL;
	int		 r;

	r = imsg_recv(ib, msg, PROC_WAIT, &why);
	if (r == 0) {
		proc_over(ib, EPIPE);
		fatalx("%s has ended where %s was due; its reason is in the "
		    "log", role_name(ib->other), proto_name(type));
	}
	if (r == -1)
		proc_over(ib, errno);
	if (r == -1)
		fatalx("waiting for %s from %s: %s", proto_name(type),
		    role_name(ib->other), why != NULL ? why : strerror(errno));
	if (msg->type != type)
		fatalx("%s from %s where %s was due", proto_name(msg->type),
		    role_name(ib->other), proto_name(type));
}

void
proc_suite_ids(const struct m_SUITE *suite, enum suite_uid which,
    struct drop *d)
{
	uint64_t	uid, gid;

	if (suite->uids.n != UID_COUNT || suite->gids.n != UID_COUNT)
		fatalx("%zu uids and %zu gids from sbxd, not %d of each",
		    suite->uids.n, suite->gids.n, UID_COUNT);
	uid = suite->uids.v[which];
	gid = suite->gids.v[which];
	if (!mode_role(uid, gid))
		fatalx("uid %llu and gid %llu from sbxd are none for a role",
		    (unsigned long long)uid, (unsigned long long)gid);
	d->uid = (uid_t)uid;
	d->gid = (gid_t)gid;
}

/* In the child: the descriptors to 3, 4, ... whatever they overlap. */
static int
proc_place(const int *fds, size_t n)
{
	int	high[PROC_FDS];
	size_t	i;

	for (i = 0; i < n; i++)
		if ((high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC,
		    PROC_FD + (int)n)) == -1)
			return (-1);
	for (i = 0; i < n; i++)
		if (dup2(high[i], PROC_FD + (int)i) == -1)
			return (-1);
	return (0);
}

/* The starter's terminal is nothing for a program that a session's command
 * descends from. */
static int
proc_null(bool keep_stdout)
{
	int	fd;

	if ((fd = open("/dev/null", O_RDWR)) == -1 ||
	    dup2(fd, STDIN_FILENO) == -1 ||
	    (!keep_stdout && dup2(fd, STDOUT_FILENO) == -1))
		return (-1);
	if (fd > STDERR_FILENO)
		close(fd);
	return (0);
}

/* Born in its group: moving a process there later takes the kernel 10 ms. */
static pid_t
proc_fork(const int *cgroup)
{
	struct clone_args	ca = {
		.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD
	};

	if (cgroup == NULL)
		return (fork());
	ca.cgroup = (uint64_t)*cgroup;
	return ((pid_t)syscall(SYS_clone3, &ca, sizeof(ca)));
}

static struct rlimit	had;	/* rlim_max 0: it was not raised */

void
proc_descriptors(rlim_t keep)
{
	struct rlimit	rl;

	if (had.rlim_max == 0 && getrlimit(RLIMIT_NOFILE, &had) == -1)
		fatal("getrlimit RLIMIT_NOFILE");
	rl = had;
	rl.rlim_cur = rl.rlim_max > keep ? rl.rlim_max - keep : 0;
	if (setrlimit(RLIMIT_NOFILE, &rl) == -1)
		fatal("setrlimit RLIMIT_NOFILE");
}

int
proc_descriptors_back(void)
{
	return (had.rlim_max == 0 ? 0 : setrlimit(RLIMIT_NOFILE, &had));
}

int
proc_spawn(const struct proc_start *ps)
{
	char		*argv[3] = { NULL, NULL, NULL };
	static char	*envp[1] = { NULL };
	sigset_t	 none;
	pid_t		 pid;

	if (ps->nfds > PROC_FDS) {
		errno = EINVAL;
		return (-1);
	}
	/* execve does not write to them; its type has no const. */
	argv[0] = (char *)(uintptr_t)ps->argv0;
	argv[1] = (char *)(uintptr_t)ps->argv1;
	if ((pid = proc_fork(ps->cgroup)) != 0)
		return (pid);
	/* The exe's descriptor first, out of the way of the others. */
	int exe = ps->exe;

	/* It has to place some itself, those that were kept. */
	if (had.rlim_max != 0)
		proc_descriptors(0);
	if (exe != -1)
		exe = fcntl(exe, F_DUPFD_CLOEXEC, PROC_FD + 2 * PROC_FDS);
	sigemptyset(&none);
	if ((ps->exe != -1 && exe == -1) ||
	    proc_place(ps->fds, ps->nfds) == -1 ||
	    syscall(SYS_close_range, PROC_FD + (unsigned int)ps->nfds, ~0U,
	    CLOSE_RANGE_CLOEXEC) == -1 ||
	    proc_null(ps->keep_stdout) == -1 ||
	    proc_descriptors_back() == -1 ||
	    sigprocmask(SIG_SETMASK, &none, NULL) == -1)
		_exit(126);
	if (ps->setup != NULL && ps->setup(ps->arg) == -1)
		_exit(126);
	if (exe != -1)
		syscall(SYS_execveat, exe, "", argv, envp, AT_EMPTY_PATH);
	else
		execve(ps->path, argv, envp);
	log_warn("%s", ps->argv0);
	_exit(127);
}
