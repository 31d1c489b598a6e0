/*
 * The outer user namespace of an ordinary user's suite. sbxd makes it before
 * there is a helper, as it makes root's control group: from then on spawn,
 * mountd and netd hold it, and sbxd does not. No process need live in it.
 */
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "mode.h"
#include "sbxd.h"

static void __attribute__((noreturn))
outer_child(int in, int out)
{
	int	err = unshare(CLONE_NEWUSER) == -1 ? errno : 0;
	char	c;

	if (write(out, &err, sizeof(err)) != sizeof(err))
		_exit(1);
	/* Until the maps are written and the namespace is held. */
	(void)!read(in, &c, 1);
	_exit(0);
}

static void
outer_write(int proc, const char *name, const char *text)
{
	int	fd;

	fd = openat(proc, name, O_WRONLY | O_CLOEXEC);
	if (fd == -1 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fatal("the outer user namespace: %s", name);
	close(fd);
}

/* 0 inside is the user; nobody else is anybody there. */
static int
outer_map(pid_t pid)
{
	char	path[32], map[32];
	int	proc, ns;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if ((proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
		fatal("%s", path);
	/* Without this no ordinary user may map a group. */
	outer_write(proc, "setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", (unsigned int)mode_owner());
	outer_write(proc, "uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", (unsigned int)mode_group());
	outer_write(proc, "gid_map", map);
	if ((ns = openat(proc, "ns/user", O_RDONLY | O_CLOEXEC)) == -1)
		fatal("%s/ns/user", path);
	close(proc);
	return (ns);
}

static void
outer_refused(int err)
{
	errno = err;
	fatal("this system lets uid %u make no user namespace, which a suite "
	    "of one's own stands in (sysctl user.max_user_namespaces, "
	    "kernel.unprivileged_userns_clone, "
	    "kernel.apparmor_restrict_unprivileged_userns): have it allowed, "
	    "or have root start sbxd", (unsigned int)mode_owner());
}

void
start_outer(void)
{
	int	up[2], down[2], err = EIO;
	pid_t	pid;

	sbxd.outer = -1;
	if (!mode_user())
		return;
	if (pipe2(up, O_CLOEXEC) == -1 || pipe2(down, O_CLOEXEC) == -1)
		fatal("pipe");
	if ((pid = fork()) == -1)
		fatal("fork");
	if (pid == 0) {
		close(down[1]);
		outer_child(down[0], up[1]);
	}
	close(up[1]);
	close(down[0]);
	if (read(up[0], &err, sizeof(err)) != sizeof(err) || err != 0)
		outer_refused(err);
	sbxd.outer = outer_map(pid);
	close(up[0]);
	close(down[1]);
	if (waitpid(pid, NULL, 0) == -1)
		fatal("waiting for the outer user namespace's first process");
}
