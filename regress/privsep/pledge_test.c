/*
 * The filters, as the kernel applies them: each program's is loaded in a
 * child, which then makes one call.
 */
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

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

#include "privsep/pledge.h"
#include "regress/lib/test.h"

#define UP	(1L << 32)	/* a bit that the kernel does not look at */

static const char *const	names[PLEDGE_COUNT] = {
	"sbxd", "spawn", "netd", "mountd", "landd", "land", "worker", "init",
	"conf", "staged", "inside", "staged_inside"
};

/* The allow-lists, as bits of enum pledge. */
#define B(p)	(1U << PLEDGE_##p)
#define ALLOW	(B(SBXD) | B(NETD) | B(MOUNTD) | B(LANDD) | B(LAND) |	\
		    B(WORKER) | B(CONF) | B(STAGED) | B(INSIDE) |	\
		    B(STAGED_INSIDE))
/* mountd's: the others where a kernel lacks something. */
#define STAGES	(B(STAGED) | B(STAGED_INSIDE))
#define INSIDES	(B(INSIDE) | B(STAGED_INSIDE))
#define MOUNTS	(B(MOUNTD) | B(STAGED) | B(INSIDE) | B(STAGED_INSIDE))
#define NOSTAT	(B(NETD) | B(LANDD) | B(WORKER) | B(CONF))
#define DENY	(B(SPAWN) | B(INIT))

struct call {
	const char	*name;
	long		 nr;
	long		 a[5];
};

/*
 * How a call ended: minus the signal that it was killed by, or its errno, 0
 * where it was made. A call that makes a child ends that at once.
 */
static int
outcome(enum pledge which, const struct call *c)
{
	int	status;
	pid_t	pid;

	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		pledge(which);
		errno = 0;
		syscall(c->nr, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4],
		    0L);
		_exit(errno);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	return (WIFSIGNALED(status) ? -WTERMSIG(status) :
	    WEXITSTATUS(status));
}

static void
must(enum pledge which, const struct call *c, int want)
{
	int	got = outcome(which, c);

	if (got != want)
		atf_tc_fail("%s: %s: %d, not %d", names[which], c->name, got,
		    want);
}

/* In each program of the set the call ends so. */
static void
must_all(unsigned int set, const struct call *c, int want)
{
	int	i;

	for (i = 0; i < PLEDGE_COUNT; i++)
		if (set & 1U << i)
			must((enum pledge)i, c, want);
}

#define CALL(set, nr, ...) {						\
	{ #nr "(" #__VA_ARGS__ ")", SYS_##nr, { __VA_ARGS__ } }, (set)	\
}

#ifndef SBX_SANITIZED
/* What no program of an allow-list may do, and what only some may. */
ATF_TC_WITHOUT_HEAD(allow_lists_kill);
ATF_TC_BODY(allow_lists_kill, tc)
{
	static const struct {
		struct call	call;
		unsigned int	set;
	} t[] = {
		CALL(ALLOW, execve, 0), CALL(ALLOW, execveat, -1, 0, 0, 0, 0),
		CALL(ALLOW, ptrace, 0), CALL(ALLOW, setuid, 0),
		CALL(ALLOW, setresuid, -1, -1, -1), CALL(ALLOW, capset, 0, 0),
		CALL(ALLOW, setgroups, 0, 0),
		CALL(ALLOW, prctl, PR_SET_DUMPABLE, 1),
		CALL(ALLOW & ~B(WORKER), prctl, PR_SET_NAME, 0),
		CALL(ALLOW & ~STAGES, mount, 0, 0, 0, 0, 0),
		CALL(ALLOW & ~STAGES, umount2, 0, 0), CALL(ALLOW, chroot, 0),
		CALL(ALLOW, pivot_root, 0, 0), CALL(ALLOW, setns, -1, 0),
		CALL(ALLOW & ~INSIDES, setns, -1, CLONE_NEWPID),
		CALL(ALLOW, setns, -1, CLONE_NEWNS),
		CALL(ALLOW, setns, -1, CLONE_NEWUSER | CLONE_NEWPID),
		CALL(ALLOW, unshare, 0), CALL(ALLOW, clone3, 0, 0),
		CALL(ALLOW, bpf, 0, 0, 0), CALL(ALLOW, perf_event_open, 0),
		CALL(ALLOW, io_uring_setup, 0, 0), CALL(ALLOW, keyctl, 0),
		CALL(ALLOW, open_by_handle_at, -1, 0, 0),
		CALL(ALLOW, process_vm_readv, 0), CALL(ALLOW, personality, -1),
		CALL(ALLOW, process_vm_writev, 0), CALL(ALLOW, kcmp, 0),
		CALL(ALLOW, pidfd_open, 1, 0),
		CALL(ALLOW, pidfd_getfd, -1, 0, 0),
		CALL(ALLOW, pidfd_send_signal, -1, 0, 0, 0),
		CALL(ALLOW, memfd_create, 0, 0), CALL(ALLOW, userfaultfd, 0),
		CALL(ALLOW, init_module, 0), CALL(ALLOW, kexec_load, 0),
		CALL(ALLOW, reboot, 0), CALL(ALLOW, tkill, 1, 0),
		CALL(ALLOW, tgkill, 1, 1, 0), CALL(ALLOW, seccomp, 0, 0, 0),
		CALL(ALLOW, connect, -1, 0, 0),
		CALL(ALLOW, socket, AF_INET, SOCK_STREAM, 0),
		CALL(ALLOW, socket, AF_INET6, SOCK_DGRAM, 0),
		CALL(ALLOW, socket, AF_NETLINK, SOCK_RAW, 0),
		CALL(ALLOW, socket, AF_PACKET, SOCK_RAW, 0),
		CALL(ALLOW & ~B(SBXD), socket, AF_UNIX, SOCK_STREAM, 0),
		CALL(ALLOW & ~(B(SBXD) | MOUNTS | B(LANDD)), socketpair,
		    AF_UNIX, SOCK_STREAM, 0, 0),
		CALL(ALLOW, socketpair, AF_INET, SOCK_STREAM, 0, 0),
		CALL(ALLOW & ~(B(SBXD) | B(WORKER)), accept4, -1, 0, 0, 0),
		CALL(ALLOW & ~B(SBXD), bind, -1, 0, 0),
		CALL(ALLOW & ~MOUNTS, clone, SIGCHLD, 0, 0, 0, 0),
		CALL(ALLOW & ~MOUNTS, kill, 1, 0),
		CALL(ALLOW & ~MOUNTS, fsopen, 0, 0),
		CALL(ALLOW & ~MOUNTS, open_tree, -1, 0, 0),
		CALL(ALLOW & ~MOUNTS, move_mount, -1, 0, -1, 0, 0),
		CALL(ALLOW & ~MOUNTS, mknodat, -1, 0, 0, 0),
		CALL(B(NETD) | B(LANDD) | B(WORKER), openat, -1, 0, 0, 0),
		CALL(B(NETD) | B(LANDD) | B(WORKER) | B(CONF), openat2, -1, 0,
		    0, 0),
		/* sizes and times of others' files; the flag of an empty
		 * path says nothing about the path */
		CALL(NOSTAT, newfstatat, AT_FDCWD, 0, 0, 0),
		CALL(NOSTAT, newfstatat, -1, 0, 0, AT_EMPTY_PATH),
		CALL(NOSTAT, statx, -1, 0, AT_EMPTY_PATH, 0, 0),
		CALL(B(NETD) | B(LANDD) | B(WORKER) | B(CONF), unlinkat, -1,
		    0, 0),
		CALL(B(NETD) | B(LANDD) | B(WORKER) | B(CONF), mkdirat, -1, 0,
		    0),
		CALL(B(NETD) | B(LANDD) | B(WORKER) | B(CONF), fchmod, -1, 0),
		CALL(B(CONF), openat, -1, 0, O_WRONLY, 0),
		CALL(B(CONF), openat, -1, 0, O_RDWR, 0),
		CALL(B(CONF), openat, -1, 0, O_RDONLY | O_CREAT, 0600),
		CALL(B(CONF), openat, -1, 0, O_RDONLY | O_TRUNC, 0),
		/* memory that can be run */
		CALL(ALLOW, mmap, 0, 4096, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1),
		CALL(ALLOW, mprotect, 0, 4096, PROT_READ | PROT_EXEC),
		CALL(ALLOW, fcntl, 0, F_SETOWN, 1),
		CALL(ALLOW, ioctl, 0, TIOCSTI, 0),
		CALL(ALLOW, ioctl, 0, TIOCSCTTY, 0),
	};
	size_t	i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		must_all(t[i].set, &t[i].call, -SIGSYS);
}
#endif

/* What they need answers, if only by an error of the call's own. */
ATF_TC_WITHOUT_HEAD(allow_lists_allow);
ATF_TC_BODY(allow_lists_allow, tc)
{
	static const struct {
		struct call	call;
		unsigned int	set;
		int		want;
	} t[] = {
		{ { "read", SYS_read, { -1, 0, 0 } }, ALLOW, EBADF },
		{ { "getpid", SYS_getpid, { 0 } }, ALLOW, 0 },
		{ { "sendmsg", SYS_sendmsg, { -1, 0, 0 } }, ALLOW, EBADF },
		{ { "recvmsg", SYS_recvmsg, { -1, 0, 0 } }, ALLOW, EBADF },
		{ { "mmap", SYS_mmap, { 0, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1 } }, ALLOW, 0 },
		{ { "F_GETFL", SYS_fcntl, { -1, F_GETFL, 0 } }, ALLOW, EBADF },
		{ { "fstat", SYS_fstat, { -1, 0 } }, ALLOW, EBADF },
		/* glibc's, of fdopendir and the like */
		{ { "newfstatat", SYS_newfstatat, { -1, (long)(uintptr_t)"",
		    0, AT_EMPTY_PATH } }, B(SBXD) | MOUNTS | B(LAND),
		    EBADF },
		{ { "openat", SYS_openat, { -1, 0, O_RDONLY, 0 } }, B(SBXD) |
		    MOUNTS | B(LAND) | B(CONF), EFAULT },
		{ { "sendto", SYS_sendto, { -1, 0, 0, 0, 0 } }, B(NETD),
		    EBADF },
		{ { "accept4", SYS_accept4, { -1, 0, 0, 0 } }, B(SBXD) |
		    B(WORKER), EBADF },
		{ { "clone", SYS_clone, { SIGCHLD } }, MOUNTS, 0 },
		{ { "setns", SYS_setns, { -1, CLONE_NEWPID } }, INSIDES,
		    EBADF },
		{ { "fsync", SYS_fsync, { -1 } }, B(SBXD) | MOUNTS |
		    B(LANDD) | B(LAND), EBADF },
		{ { "open_tree", SYS_open_tree, { -1, 0, 0 } }, MOUNTS,
		    EFAULT },
	};
	size_t	i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		must_all(t[i].set, &t[i].call, t[i].want);
}

/* spawn's and a session's answer EPERM and go on. */
ATF_TC_WITHOUT_HEAD(deny_lists_refuse);
ATF_TC_BODY(deny_lists_refuse, tc)
{
	static const struct {
		struct call	call;
		unsigned int	set;
	} t[] = {
		CALL(DENY, bpf, 0, 0, 0), CALL(DENY, perf_event_open, 0),
		CALL(DENY, kexec_load, 0), CALL(DENY, kexec_file_load, 0),
		CALL(DENY, init_module, 0), CALL(DENY, finit_module, -1),
		CALL(DENY, delete_module, 0), CALL(DENY, clock_settime, 0),
		CALL(DENY, clock_adjtime, 0, 0), CALL(DENY, adjtimex, 0),
		CALL(DENY, settimeofday, 0, 0), CALL(DENY, swapon, 0),
		CALL(DENY, swapoff, 0), CALL(DENY, reboot, 0),
		CALL(DENY, userfaultfd, 0),
		CALL(DENY, open_by_handle_at, -1, 0, 0),
		CALL(B(INIT), setns, -1, 0), CALL(B(INIT), unshare, 0),
		CALL(B(INIT), unshare, CLONE_NEWUSER),
		CALL(B(INIT), mount, 0, 0, 0, 0, 0),
		CALL(B(INIT), umount2, 0, 0),
		CALL(B(INIT), pivot_root, 0, 0), CALL(B(INIT), chroot, 0),
		CALL(B(INIT), open_tree, -1, 0, 0),
		CALL(B(INIT), move_mount, -1, 0, -1, 0, 0),
		CALL(B(INIT), fsopen, 0, 0), CALL(B(INIT), fsconfig, -1),
		CALL(B(INIT), fsmount, -1), CALL(B(INIT), fspick, -1),
		CALL(B(INIT), mount_setattr, -1),
		CALL(B(INIT), io_uring_setup, 0, 0),
		CALL(B(INIT), io_uring_enter, -1),
		CALL(B(INIT), io_uring_register, -1),
		CALL(B(INIT), keyctl, 0), CALL(B(INIT), add_key, 0),
		CALL(B(INIT), request_key, 0),
		CALL(B(INIT), ioctl, 0, TIOCSTI, 0),
		CALL(B(INIT), ioctl, 0, TIOCLINUX, 0),
		CALL(B(INIT), socket, AF_NETLINK, SOCK_RAW, 9),
		CALL(B(INIT), socket, AF_NETLINK, SOCK_RAW, 12),
		CALL(B(INIT), socketpair, 30 /* TIPC */, SOCK_STREAM, 0, 0),
	};
	static const struct call	clone3 = {
		"clone3", SYS_clone3, { 0 }
	};
	size_t				i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		must_all(t[i].set, &t[i].call, EPERM);
	/* glibc tries clone when clone3 is not there. */
	must(PLEDGE_INIT, &clone3, ENOSYS);
}

ATF_TC_WITHOUT_HEAD(deny_lists_allow);
ATF_TC_BODY(deny_lists_allow, tc)
{
	static const struct {
		struct call	call;
		unsigned int	set;
		int		want;
	} t[] = {
		/* init and the forwarder still need these below spawn */
		{ { "setns", SYS_setns, { -1, 0 } }, B(SPAWN), EBADF },
		{ { "unshare", SYS_unshare, { CLONE_NEWNS } }, B(SPAWN), 0 },
		{ { "socket UNIX", SYS_socket, { AF_UNIX, SOCK_STREAM } },
		    DENY, 0 },
		{ { "socket INET", SYS_socket, { AF_INET, SOCK_STREAM } },
		    DENY, 0 },
		{ { "socket INET6", SYS_socket, { AF_INET6, SOCK_DGRAM } },
		    DENY, 0 },
		{ { "socket ROUTE", SYS_socket, { AF_NETLINK, SOCK_RAW, 0 } },
		    DENY, 0 },
		{ { "ptrace", SYS_ptrace, { 16, 999999, 0, 0 } }, B(INIT),
		    ESRCH },
		{ { "mmap", SYS_mmap, { 0, 4096, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1 } }, DENY, 0 },
		{ { "execve", SYS_execve, { 0, 0, 0 } }, DENY, EFAULT },
		{ { "clone", SYS_clone, { SIGCHLD } }, DENY, 0 },
	};
	size_t	i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		must_all(t[i].set, &t[i].call, t[i].want);
}

/* Every family of this kernel's and some beyond. */
ATF_TC_WITHOUT_HEAD(session_families);
ATF_TC_BODY(session_families, tc)
{
	struct call	c = { "socket", SYS_socket, { 0, SOCK_RAW, 0 } };
	char		name[64];
	long		af;

	c.name = name;
	for (af = -1; af < 300; af++) {
		if (af == AF_UNIX || af == AF_INET || af == AF_INET6 ||
		    af == AF_NETLINK)
			continue;
		snprintf(name, sizeof(name), "socket(%ld)", af);
		c.a[0] = af;
		must(PLEDGE_INIT, &c, EPERM);
		c.a[0] = af + UP;
		must(PLEDGE_INIT, &c, EPERM);
	}
}

/*
 * The kernel takes these arguments as 32 bits: with one of the upper half set
 * the call is the same to it, and must be to the filter.
 */
ATF_TC_WITHOUT_HEAD(upper_halves);
ATF_TC_BODY(upper_halves, tc)
{
	static const struct call	session[] = {
		{ "ioctl TIOCSTI", SYS_ioctl, { 0, 0x5412 + UP, 0 } },
		{ "ioctl TIOCSTI, all", SYS_ioctl, { 0, 0x5412 | -UP, 0 } },
		{ "ioctl TIOCLINUX", SYS_ioctl, { 0, 0x541c + UP, 0 } },
		{ "clone NEWUSER", SYS_clone, { (CLONE_NEWUSER | SIGCHLD) +
		    UP } },
		{ "clone NEWNS", SYS_clone, { (CLONE_NEWNS | SIGCHLD) + UP } },
		{ "clone NEWNET", SYS_clone, { (CLONE_NEWNET | SIGCHLD) | -UP }
		    },
		{ "socket PACKET", SYS_socket, { AF_PACKET + UP, SOCK_RAW } },
		{ "netlink", SYS_socket, { AF_NETLINK + UP, SOCK_RAW, 9 } },
		{ "nft", SYS_socket, { AF_NETLINK, SOCK_RAW, 12 + UP } },
		{ "socketpair", SYS_socketpair, { 30 + UP, SOCK_STREAM } },
	};
	size_t				i;

	for (i = 0; i < sizeof(session) / sizeof(session[0]); i++)
		must(PLEDGE_INIT, &session[i], EPERM);
}

#ifndef SBX_SANITIZED
ATF_TC_WITHOUT_HEAD(upper_halves_kill);
ATF_TC_BODY(upper_halves_kill, tc)
{
	static const struct call	mmap_exec = { "mmap", SYS_mmap, { 0,
	    4096, (PROT_READ | PROT_EXEC) + UP, MAP_PRIVATE | MAP_ANONYMOUS,
	    -1 } };
	static const struct call	setown = { "fcntl", SYS_fcntl, { 0,
	    F_SETOWN + UP, 1 } };
	static const struct call	inet = { "socket", SYS_socket, {
	    AF_INET + UP, SOCK_STREAM } };
	static const struct call	sti = { "ioctl", SYS_ioctl, { 0,
	    0x5412 + UP } };
	static const struct call	create = { "openat", SYS_openat, { -1,
	    0, (O_RDONLY | O_CREAT) + UP } };
	static const struct call	dumpable = { "prctl", SYS_prctl, {
	    PR_SET_DUMPABLE + UP, 1 } };

	must_all(ALLOW, &mmap_exec, -SIGSYS);
	must_all(ALLOW, &setown, -SIGSYS);
	must_all(ALLOW, &inet, -SIGSYS);
	must_all(ALLOW, &sti, -SIGSYS);
	must_all(ALLOW, &dumpable, -SIGSYS);
	must(PLEDGE_CONF, &create, -SIGSYS);
}
#endif

/* clone with each new namespace, alone and together with others. */
ATF_TC_WITHOUT_HEAD(session_namespaces);
ATF_TC_BODY(session_namespaces, tc)
{
	static const long	flags[] = {
		CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
		CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET
	};
	struct call		c = { "clone", SYS_clone, { 0 } };
	size_t			i;

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		c.a[0] = flags[i] | SIGCHLD;
		must(PLEDGE_INIT, &c, EPERM);
		/* mountd forks, in no new namespace either */
		must(PLEDGE_MOUNTD, &c, -SIGSYS);
		c.a[0] = flags[i] | CLONE_VM | CLONE_FILES | SIGCHLD;
		must(PLEDGE_INIT, &c, EPERM);
		c.a[0] = flags[i] | CLONE_NEWUSER | SIGCHLD;
		must(PLEDGE_INIT, &c, EPERM);
	}
}

#ifdef __x86_64__
/* The same kernel by its other doors. */
ATF_TC_WITHOUT_HEAD(x32);
ATF_TC_BODY(x32, tc)
{
	static const struct call	getpid32 = { "x32 getpid",
	    SYS_getpid | 0x40000000, { 0 } };
	static const struct call	exec32 = { "x32 execve",
	    520 | 0x40000000, { 0 } };

	must_all(ALLOW | DENY, &getpid32, EPERM);
	must_all(ALLOW | DENY, &exec32, EPERM);
}

/* A 32-bit call from 64-bit code; -1: by signal. */
static int
int80(int which)
{
	int	status;
	pid_t	pid;

	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		long	r = 20;		/* getpid */

		if (which >= 0)
			pledge((enum pledge)which);
		__asm__ volatile ("int $0x80" : "+a" (r) : : "memory");
		_exit(0);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	return (WIFSIGNALED(status) ? -WTERMSIG(status) : 0);
}

ATF_TC_WITHOUT_HEAD(foreign_architecture);
ATF_TC_BODY(foreign_architecture, tc)
{
	int	i, want;

	/* A kernel without it kills by SIGSEGV, filter or not. */
	want = int80(-1) == 0 ? -SIGSYS : -SIGSEGV;
	for (i = 0; i < PLEDGE_COUNT; i++)
		if (int80(i) != want)
			atf_tc_fail("%s", names[i]);
}
#endif

/* What a child says where the filter cannot be loaded, or is not. */
static void
refused(int answer, const char *text)
{
	struct sock_filter	 code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_seccomp, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO |
		    (uint32_t)answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog	 prog = { 5, code };
	char			 buf[1024];
	ssize_t			 n;
	pid_t			 pid;
	int			 p[2], status;

	ATF_REQUIRE(pipe(p) == 0);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		dup2(p[1], STDERR_FILENO);
		if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) ==
		    -1)
			_exit(2);
		pledge(PLEDGE_NETD);
		_exit(0);
	}
	close(p[1]);
	n = read(p[0], buf, sizeof(buf) - 1);
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	buf[n < 0 ? 0 : n] = '\0';
	close(p[0]);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 1 ||
	    strstr(buf, text) == NULL)
		atf_tc_fail("status %#x: %s", (unsigned int)status, buf);
}

ATF_TC_WITHOUT_HEAD(no_filter_no_program);
ATF_TC_BODY(no_filter_no_program, tc)
{
	refused(EPERM, "PR_SET_NO_NEW_PRIVS");
	refused(0, "not in force");
}

ATF_TP_ADD_TCS(tp)
{
	/* A sanitized build's allow-lists are wider, by name. */
#ifndef SBX_SANITIZED
	ATF_TP_ADD_TC(tp, allow_lists_kill);
	ATF_TP_ADD_TC(tp, upper_halves_kill);
#endif
	ATF_TP_ADD_TC(tp, allow_lists_allow);
	ATF_TP_ADD_TC(tp, deny_lists_refuse);
	ATF_TP_ADD_TC(tp, deny_lists_allow);
	ATF_TP_ADD_TC(tp, session_families);
	ATF_TP_ADD_TC(tp, upper_halves);
	ATF_TP_ADD_TC(tp, session_namespaces);
#ifdef __x86_64__
	ATF_TP_ADD_TC(tp, x32);
	ATF_TP_ADD_TC(tp, foreign_architecture);
#endif
	ATF_TP_ADD_TC(tp, no_filter_no_program);
	return (atf_no_error());
}
