/*
 * A session's first process: cloned into its namespaces, mapped by its
 * parent, turned into the session's user, and then init. Between clone and
 * drop only the code below runs. The order was tried; what breaks when it is
 * changed is said at each step.
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/keyctl.h>
#include <linux/sched.h>

#include "../common/log.h"
#include "caps.h"
#include "mode.h"
#include "spawn.h"

/* What init still needs: attaching and pivoting, opening netlink sockets. */
#define INIT_CAPS	(CAP_BIT(CAP_SYS_ADMIN) | CAP_BIT(CAP_NET_ADMIN))

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

/* In a user's own suite they are what the map makes of spawn's own; the groups
 * stay, and none may be given up. */
static int
child_ids(const struct drop *user)
{
	if (mode_user()) {
		errno = EPERM;
		return (geteuid() == mode_owner() &&
		    getegid() == mode_group() ?
		    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) : -1);
	}
	if (setgroups(user->ngroups, user->groups) == -1 ||
	    setresgid(user->gid, user->gid, user->gid) == -1)
		return (-1);
	return (setresuid(user->uid, user->uid, user->uid));
}

/* Becomes the user and keeps INIT_CAPS over the exec: as ambient ones, since
 * the exec of an ordinary uid drops all others. */
static int
child_become(const struct drop *user)
{
	const uint64_t	setpcap = CAP_BIT(CAP_SETPCAP);
	int		c;

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == -1 ||
	    child_ids(user) == -1 ||
	    caps_set(INIT_CAPS | setpcap, INIT_CAPS | setpcap, INIT_CAPS) ==
	    -1 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0) ==
	    -1 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_ADMIN, 0, 0) ==
	    -1)
		return (-1);
	for (c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) != -1; c++)
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == -1)
			return (-1);
	return (caps_set(INIT_CAPS, INIT_CAPS, INIT_CAPS));
}

static void
child_main(const struct clone_as *as, int go)
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
	if (child_become(&as->user) == -1)
		fatal("becoming uid %u", (unsigned int)as->user.uid);
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) == -1)
		fatal("a session keyring");
	if (dup2(as->sock, 3) == -1 || dup2(STDIN_FILENO, 2) == -1 ||
	    syscall(SYS_close_range, 4U, ~0U, CLOSE_RANGE_CLOEXEC) == -1 ||
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

/* Tells the broker what the session is made of: its namespaces. Two of them
 * are kept. */
static int
namespaces_send(int proc, struct live *l)
{
	static const struct {
		const char	*path, *kind;
	} ns[] = {
		{ "ns/user", "userns" }, { "ns/pid", "pidns" },
		{ "ns/mnt", "mntns" }, { "ns/net", "netns" },
		{ "ns/cgroup", "cgroupns" },
	};
	int		*keep[] = { &l->userns, &l->pidns };
	struct m_SFD	 sfd = { .session = l->id };
	size_t		 i;
	int		 fd;

	for (i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
		fd = openat(proc, ns[i].path, O_RDONLY | O_CLOEXEC);
		if (fd == -1)
			return (-1);
		if (i < sizeof(keep) / sizeof(keep[0]) && (*keep[i] =
		    fcntl(fd, F_DUPFD_CLOEXEC, 0)) == -1) {
			close(fd);
			return (-1);
		}
		sfd.kind = ns[i].kind;
		peer_send(spawn.sbxd, MSG_SFD, 0, fd, &sfd);
	}
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
	if (namespaces_send(proc, l) == -1)
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
clone_fill(struct clone_args *ca, const struct clone_as *as)
{
	memset(ca, 0, sizeof(*ca));
	ca->flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC |
	    CLONE_NEWUTS | CLONE_NEWCGROUP;
	ca->exit_signal = SIGCHLD;
	if (as->newnet)
		ca->flags |= CLONE_NEWNET;
	if (as->cgroup != -1) {
		ca->flags |= CLONE_INTO_CGROUP;
		ca->cgroup = (uint64_t)as->cgroup;
	}
}

static pid_t
clone_child(const struct clone_as *as, int *pidfd)
{
	struct clone_args	ca;
	pid_t			pid;

	if (spawn.outer != -1)
		return (outer_clone(as, pidfd));
	clone_fill(&ca, as);
	ca.flags |= CLONE_PIDFD;
	ca.pidfd = (uint64_t)(uintptr_t)pidfd;
	/* uid_map is closed to us while the child is not dumpable, so it is
	 * born so, and stops being so when it becomes the user. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == -1)
		return (-1);
	pid = (pid_t)syscall(SYS_clone3, &ca, sizeof(ca));
	if (pid != 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		fatal("PR_SET_DUMPABLE");
	return (pid);
}

pid_t
clone_session(const struct clone_as *as, struct live *l, const char **step)
{
	int	go[2], saved;
	pid_t	pid;

	*step = "a pipe";
	if (pipe2(go, O_CLOEXEC) == -1)
		return (-1);
	*step = "making the session's namespaces";
	if ((pid = clone_child(as, &l->pidfd)) == 0) {
		close(go[1]);
		child_main(as, go[0]);
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
	return (pid);
}
