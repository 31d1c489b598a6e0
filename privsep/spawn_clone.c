/*
 * A session's first process: cloned into the namespaces that are the same for
 * every session, mapped by its parent, and then init, which becomes one
 * session's when there is one (worker/become.c). Between clone and exec only
 * the code below runs. The order was tried; what breaks when it is changed is
 * said at each step.
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/sched.h>

#include "../common/log.h"
#include "caps.h"
#include "proc.h"
#include "spawn.h"

/* What init needs until it is a session's: ids and groups, namespaces,
 * attaching and pivoting, netlink sockets. */
#define CHILD_CAPS	(CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID) | \
			CAP_BIT(CAP_SETPCAP) | CAP_BIT(CAP_SYS_ADMIN) | \
			CAP_BIT(CAP_NET_ADMIN))

/* The host's processes are in it, but of limits this namespace's own. */
static int
child_no_more_namespaces(void)
{
	int	fd, r;

	fd = openat(spawn.proc, "sys/user/max_user_namespaces", O_WRONLY |
	    O_CLOEXEC);
	if (fd == -1)
		return (-1);
	r = write(fd, "0", 1) == 1 ? 0 : -1;
	close(fd);
	return (r);
}

/* Over the exec as ambient ones, since that of an ordinary uid drops all
 * others. */
static int
child_caps(void)
{
	static const unsigned int	keep[] = {
		CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_SYS_ADMIN,
		CAP_NET_ADMIN
	};
	size_t				i;

	if (caps_set(CHILD_CAPS, CHILD_CAPS, CHILD_CAPS) == -1)
		return (-1);
	for (i = 0; i < sizeof(keep) / sizeof(keep[0]); i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, keep[i], 0,
		    0) == -1)
			return (-1);
	return (0);
}

static void
child_main(int worker, int word, int go)
{
	static char	 name[] = "sbx-init";
	static char	*argv[] = { name, NULL };
	static char	*envp[] = { NULL };
	sigset_t	 none;
	char		 c;

	/* Nothing before the maps: until then every id is the overflow one. */
	if (read(go, &c, 1) != 1)
		_exit(1);
	sigemptyset(&none);
	if (child_no_more_namespaces() == -1)
		fatal("max_user_namespaces of the session");
	if (child_caps() == -1)
		fatal("the capabilities of a session's first process");
	if (dup2(worker, 3) == -1 || dup2(word, 4) == -1 ||
	    dup2(STDIN_FILENO, 2) == -1 || proc_descriptors_back() == -1 ||
	    syscall(SYS_close_range, 5U, ~0U, CLOSE_RANGE_CLOEXEC) == -1 ||
	    sigprocmask(SIG_SETMASK, &none, NULL) == -1)
		_exit(1);
	syscall(SYS_execveat, spawn.exe_init, "", argv, envp, AT_EMPTY_PATH);
	_exit(127);
}

static int
map_write(int proc, const char *name)
{
	static const char	full[] = "0 0 4294967295";
	int			fd, r;

	if ((fd = openat(proc, name, O_WRONLY | O_CLOEXEC)) == -1)
		return (-1);
	r = write(fd, full, sizeof(full) - 1) == sizeof(full) - 1 ? 0 : -1;
	close(fd);
	return (r);
}

/* What is the session's from the start; init makes the others. */
static int
namespaces_keep(int proc, struct live *l)
{
	const struct {
		const char	*path;
		int		*fd;
	} ns[] = {
		{ "ns/user", &l->userns }, { "ns/pid", &l->pidns },
		{ "ns/cgroup", &l->cgroupns },
	};
	size_t	i;

	for (i = 0; i < sizeof(ns) / sizeof(ns[0]); i++)
		if ((*ns[i].fd = openat(proc, ns[i].path, O_RDONLY |
		    O_CLOEXEC)) == -1)
			return (-1);
	return (0);
}

static int
proc_open(pid_t pid)
{
	char	path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return (open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* The parent's half: maps, then the word to go on. */
static int
parent_maps(pid_t pid, struct live *l, int go, const char **step)
{
	int	proc, r = -1;

	*step = "opening the session's first process";
	if ((proc = proc_open(pid)) == -1)
		return (-1);
	*step = "writing the session's id maps";
	if (spawn.outer == -1 && (map_write(proc, "uid_map") == -1 ||
	    map_write(proc, "gid_map") == -1))
		goto out;
	*step = "opening the session's namespaces";
	if (namespaces_keep(proc, l) == -1)
		goto out;
	*step = "starting the session's first process";
	if (write(go, "", 1) != 1)
		goto out;
	r = 0;
out:
	close(proc);
	return (r);
}

void
clone_fill(struct clone_args *ca, int cgroup)
{
	memset(ca, 0, sizeof(*ca));
	ca->flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWCGROUP;
	ca->exit_signal = SIGCHLD;
	if (cgroup != -1) {
		ca->flags |= CLONE_INTO_CGROUP;
		ca->cgroup = (uint64_t)cgroup;
	}
}

static pid_t
clone_child(int cgroup, int *pidfd)
{
	struct clone_args	ca;
	pid_t			pid;

	if (spawn.outer != -1)
		return (outer_clone(cgroup, pidfd));
	clone_fill(&ca, cgroup);
	ca.flags |= CLONE_PIDFD;
	ca.pidfd = (uint64_t)(uintptr_t)pidfd;
	/* uid_map is closed to us while the child is not dumpable, so it is
	 * born so, and stops being so by its exec. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == -1)
		return (-1);
	pid = (pid_t)syscall(SYS_clone3, &ca, sizeof(ca));
	if (pid != 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		fatal("PR_SET_DUMPABLE");
	return (pid);
}

int
clone_init(struct live *l, int worker, int word, const char **step)
{
	int	go[2], saved;
	pid_t	pid;

	*step = "a pipe";
	if (pipe2(go, O_CLOEXEC) == -1)
		return (-1);
	*step = "making the session's namespaces";
	if ((pid = clone_child(l->cgroup, &l->pidfd)) == 0) {
		close(go[1]);
		child_main(worker, word, go[0]);
	}
	close(go[0]);
	if (pid != -1 && parent_maps(pid, l, go[1], step) == -1) {
		saved = errno;
		/* Its pipe closes: it ends by itself and is reaped here. */
		close(go[1]);
		go[1] = -1;
		syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
		waitid(P_PIDFD, (id_t)l->pidfd, NULL, WEXITED);
		errno = saved;
		pid = -1;
	}
	if (go[1] != -1) {
		saved = errno;
		close(go[1]);
		errno = saved;
	}
	if (pid == -1)
		return (-1);
	l->init = pid;
	return (0);
}
