/*
 * older COMMAND...: the command, and all it starts, as on Linux 6.1 where
 * mounts are concerned. What a filter cannot tell, since it sees neither
 * strings nor what a descriptor is, a process of root's beside it decides:
 *	- what is detached is neither cloned, nor attached to, nor a layer
 *	- no option takes a descriptor, and proc knows no "pidns"
 *	- a tmpfs takes no attribute of user.*
 */
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>

#define OF_FD	"/proc/self/fd/"

static const int	asked[] = {
	SYS_open_tree, SYS_move_mount, SYS_fsconfig, SYS_mount, SYS_setxattr,
	SYS_fsetxattr
};
#define ASKED	(sizeof(asked) / sizeof(asked[0]))

/* The string at that address of its, "" where there is none. */
static void
text(pid_t pid, uint64_t at, char *s, size_t size)
{
	struct iovec	to, from;
	size_t		have = 0;
	ssize_t		n = 1;

	/* Page by page: behind the last one there may be nothing. */
	while (at != 0 && n > 0 && have < size - 1 &&
	    memchr(s, '\0', have) == NULL) {
		to.iov_base = s + have;
		to.iov_len = size - 1 - have;
		if (to.iov_len > 4096 - (at + have) % 4096)
			to.iov_len = 4096 - (at + have) % 4096;
		from.iov_base = (void *)(uintptr_t)(at + have);
		from.iov_len = to.iov_len;
		n = process_vm_readv(pid, &to, 1, &from, 1, 0);
		have += n > 0 ? (size_t)n : 0;
	}
	s[have] = '\0';
}

/* Does a line of that file of the process's begin so? */
static bool
line(pid_t pid, const char *file, const char *begin, char *rest, size_t size)
{
	char	path[64], *buf = NULL;
	size_t	n = 0, len = strlen(begin);
	bool	found = false;
	FILE	*f;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	if ((f = fopen(path, "re")) == NULL)
		return (false);
	while (!found && getline(&buf, &n, f) != -1)
		if (strncmp(buf, begin, len) == 0) {
			snprintf(rest, size, "%.*s",
			    (int)strcspn(buf + len, "\n"), buf + len);
			found = true;
		}
	fclose(f);
	free(buf);
	return (found);
}

/* Its descriptor is of a mount that is in none of its namespace's lists. */
static bool
detached(pid_t pid, int fd)
{
	char	file[32], id[32], begin[40], rest[8];

	snprintf(file, sizeof(file), "fdinfo/%d", fd);
	if (fd < 0 || !line(pid, file, "mnt_id:\t", id, sizeof(id)))
		return (false);
	snprintf(begin, sizeof(begin), "%s ", id);
	return (!line(pid, "mountinfo", begin, rest, sizeof(rest)));
}

/* One of those that are named in the text is. */
static bool
names_detached(pid_t pid, const char *s)
{
	while ((s = strstr(s, OF_FD)) != NULL) {
		s += strlen(OF_FD);
		if (detached(pid, atoi(s)))
			return (true);
	}
	return (false);
}

static bool
on_tmpfs(pid_t pid, int fd)
{
	struct statfs	sf;
	char		path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	return (statfs(path, &sf) == 0 && sf.f_type == TMPFS_MAGIC);
}

static int
on_open_tree(pid_t pid, const __u64 *a)
{
	char	path[PATH_MAX];

	text(pid, a[1], path, sizeof(path));
	if ((a[2] & OPEN_TREE_CLONE) == 0 || path[0] == '/')
		return (0);
	return (detached(pid, (int)a[0]) ? EINVAL : 0);
}

static int
on_move_mount(pid_t pid, const __u64 *a)
{
	char	path[PATH_MAX];

	text(pid, a[3], path, sizeof(path));
	if (path[0] == '\0' && detached(pid, (int)a[2]))
		return (EINVAL);
	return (names_detached(pid, path) ? EINVAL : 0);
}

static int
on_fsconfig(pid_t pid, const __u64 *a)
{
	char	key[64], value[PATH_MAX];

	text(pid, a[2], key, sizeof(key));
	if (a[1] == FSCONFIG_SET_FD || strcmp(key, "pidns") == 0 ||
	    strcmp(key, "lowerdir+") == 0)
		return (EINVAL);
	if (a[1] != FSCONFIG_SET_STRING)
		return (0);
	text(pid, a[3], value, sizeof(value));
	return (names_detached(pid, value) ? EINVAL : 0);
}

static int
on_mount(pid_t pid, const __u64 *a)
{
	char	data[PATH_MAX];

	text(pid, a[4], data, sizeof(data));
	return (strstr(data, "pidns=") != NULL ||
	    names_detached(pid, data) ? EINVAL : 0);
}

static int
on_setxattr(pid_t pid, bool named, const __u64 *a)
{
	char	path[PATH_MAX], name[64];
	int	fd = (int)a[0];

	text(pid, a[1], name, sizeof(name));
	if (strncmp(name, "user.", 5) != 0)
		return (0);
	if (named) {
		text(pid, a[0], path, sizeof(path));
		if (strncmp(path, OF_FD, strlen(OF_FD)) != 0)
			return (0);
		fd = atoi(path + strlen(OF_FD));
	}
	return (on_tmpfs(pid, fd) ? EOPNOTSUPP : 0);
}

static int
decide(pid_t pid, const struct seccomp_data *d)
{
	switch (d->nr) {
	case SYS_open_tree:
		return (on_open_tree(pid, d->args));
	case SYS_move_mount:
		return (on_move_mount(pid, d->args));
	case SYS_fsconfig:
		return (on_fsconfig(pid, d->args));
	case SYS_mount:
		return (on_mount(pid, d->args));
	default:
		return (on_setxattr(pid, d->nr == SYS_setxattr, d->args));
	}
}

/* Until the last one that is asked about has ended; one that was killed while
 * it asked is no longer there to be answered. */
static void
answer(int listener)
{
	struct {
		struct seccomp_notif	n;
		char			more[256];
	} req;
	struct seccomp_notif_resp	resp;
	struct pollfd			pfd = { .fd = listener,
					    .events = POLLIN };

	while (poll(&pfd, 1, -1) != 1 || (pfd.revents & POLLHUP) == 0) {
		memset(&req, 0, sizeof(req));
		memset(&resp, 0, sizeof(resp));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &req.n) == -1)
			continue;
		resp.id = req.n.id;
		resp.error = -decide((pid_t)req.n.pid, &req.n.data);
		if (resp.error == 0)
			resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
	}
	_exit(0);
}

static int
listen_to(void)
{
	struct sock_filter	code[ASKED + 3];
	struct sock_fprog	prog = { ASKED + 3, code };
	size_t			i;

	code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
	    offsetof(struct seccomp_data, nr));
	for (i = 0; i < ASKED; i++)
		code[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ |
		    BPF_K, (unsigned int)asked[i],
		    (unsigned char)(ASKED - i), 0);
	code[i + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
	    SECCOMP_RET_ALLOW);
	code[i + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
	    SECCOMP_RET_USER_NOTIF);
	return ((int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	    SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog));
}

/* It is nobody's child, least of all the command's. */
static void
decider(int p[2])
{
	int	listener;
	pid_t	pid;

	/* One table of descriptors, until the command is executed. */
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (pid == -1)
		err(1, "a process beside it");
	if (pid > 0) {
		waitpid(pid, NULL, 0);
		return;
	}
	if ((pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0,
	    0)) != 0)
		_exit(pid == -1);
	if (read(p[0], &listener, sizeof(listener)) != sizeof(listener))
		_exit(1);
	/* The table is ours from now on, and has nothing but that. */
	if (unshare(CLONE_FILES) == -1 || write(p[1], "", 1) != 1 ||
	    dup2(listener, 3) == -1)
		_exit(1);
	close(0);
	close(1);
	close(2);
	syscall(SYS_close_range, 4U, ~0U, 0);
	answer(3);
}

int
main(int argc, char *argv[])
{
	int	p[2], q[2], listener;
	char	c;

	if (argc < 2)
		errx(1, "usage: older COMMAND...");
	if (pipe2(p, O_CLOEXEC) == -1 || pipe2(q, O_CLOEXEC) == -1)
		err(1, "a pipe");
	decider((int[2]){ p[0], q[1] });
	if ((listener = listen_to()) == -1 ||
	    write(p[1], &listener, sizeof(listener)) != sizeof(listener) ||
	    read(q[0], &c, 1) != 1)
		err(1, "a filter");
	execvp(argv[1], argv + 1);
	err(127, "%s", argv[1]);
}
