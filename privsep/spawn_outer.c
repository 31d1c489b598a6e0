/*
 * A session's first process in a user's own suite. It has to be a child of
 * S's, for only then are mountd and netd, root in S, that in the session too.
 * spawn itself stays outside, since land and the workers, which it starts, do
 * and nobody who has entered S comes out again. So a process in between enters
 * and clones, and writes the maps, which S's root may; the session's process
 * is spawn's own child all the same (CLONE_PARENT).
 */
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/sched.h>

#include "../common/log.h"
#include "mode.h"
#include "spawn.h"

/* What the process in between has made. */
struct made {
	pid_t	pid;
	int	err;
};

static int
outer_write(pid_t pid, const char *name, unsigned int id)
{
	char	path[48], map[32];
	int	fd, len, r = -1;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	/* The user's id is itself inside, and 0 here. */
	len = snprintf(map, sizeof(map), "%u 0 1", id);
	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return (-1);
	if (write(fd, map, (size_t)len) == len)
		r = 0;
	close(fd);
	return (r);
}

/* 0 in the session's process. */
static pid_t
outer_make(int cgroup)
{
	struct clone_args	ca;
	pid_t			pid;

	/* The maps are closed to whoever is not dumpable. */
	if (setns(spawn.outer, CLONE_NEWUSER) == -1 ||
	    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == -1)
		return (-1);
	clone_fill(&ca, cgroup);
	ca.flags |= CLONE_PARENT;
	ca.exit_signal = 0;	/* as ours: SIGCHLD */
	if ((pid = (pid_t)syscall(SYS_clone3, &ca, sizeof(ca))) <= 0)
		return (pid);
	if (outer_write(pid, "uid_map", mode_owner()) == 0 &&
	    outer_write(pid, "gid_map", mode_group()) == 0)
		return (pid);
	kill(pid, SIGKILL);
	return (-1);
}

static pid_t
outer_take(int fd, pid_t between)
{
	struct made	m = { -1, EIO };

	if (read(fd, &m, sizeof(m)) != sizeof(m))
		m.pid = -1;
	if (waitpid(between, NULL, 0) == -1)
		log_warn("waiting for the process in between");
	errno = m.err;
	return (m.pid);
}

pid_t
outer_clone(int cgroup, int *pidfd)
{
	struct made	m;
	int		p[2];
	pid_t		pid;

	if (pipe2(p, O_CLOEXEC) == -1)
		return (-1);
	if ((pid = fork()) == 0) {
		if ((m.pid = outer_make(cgroup)) == 0) {
			close(p[0]);
			close(p[1]);
			return (0);
		}
		m.err = errno;
		(void)!write(p[1], &m, sizeof(m));
		_exit(0);
	}
	close(p[1]);
	if (pid != -1)
		pid = outer_take(p[0], pid);
	close(p[0]);
	if (pid != -1 &&
	    (*pidfd = (int)syscall(SYS_pidfd_open, pid, 0)) == -1) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return (-1);
	}
	return (pid);
}
