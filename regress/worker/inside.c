/*
 * What tests run inside a session: inside WHAT [ARGUMENT]. It knows nothing
 * of the suite; what it finds it prints.
 */
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <linux/netlink.h>
#include <linux/sched.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Says how large the terminal is, at first and on each SIGWINCH. */
static void
winch(void)
{
	struct winsize	ws;
	sigset_t	set;
	int		n = 0, sig;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (;;) {
		if (ioctl(STDIN_FILENO, TIOCGWINSZ, &ws) == -1)
			err(1, "TIOCGWINSZ");
		printf("<%d %u %u>", n++, ws.ws_row, ws.ws_col);
		fflush(stdout);
		if (sigwait(&set, &sig) != 0)
			err(1, "sigwait");
	}
}

static uint64_t
hash(uint64_t h, const uint8_t *p, size_t n)
{
	while (n-- > 0)
		h = (h ^ *p++) * UINT64_C(1099511628211);
	return (h);
}

/* Reads so many bytes and says their hash. mode: raw, cooked or echo. */
static void
eat(const char *mode, size_t want)
{
	struct termios	tio;
	uint64_t	h = UINT64_C(14695981039346656037);
	uint8_t		buf[1 << 16];
	size_t		got = 0;
	ssize_t		n;

	if (tcgetattr(STDIN_FILENO, &tio) == -1)
		err(1, "tcgetattr");
	if (strcmp(mode, "raw") == 0)
		cfmakeraw(&tio);
	else if (strcmp(mode, "cooked") == 0)
		tio.c_lflag &= ~(tcflag_t)ECHO;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &tio) == -1)
		err(1, "tcsetattr");
	printf("<ready>");
	fflush(stdout);
	while (got < want) {
		if ((n = read(STDIN_FILENO, buf, sizeof(buf))) <= 0)
			err(1, "read after %zu bytes: %zd", got, n);
		h = hash(h, buf, (size_t)n);
		got += (size_t)n;
	}
	printf("<%zu %016llx>", got, (unsigned long long)h);
}

static void
try(const char *name, long r)
{
	printf("%s %s\n", name, r == -1 ? strerrorname_np(errno) : "done");
	fflush(stdout);
}

#define TRY(name, ...)	try(#name, syscall(SYS_##name, __VA_ARGS__))
#define NR(n, name, ...) try(name, syscall(n, __VA_ARGS__))

/* clone as fork has it, with a flag more. */
static void
try_clone(const char *name, unsigned long flag)
{
	long	r;

	r = syscall(SYS_clone, flag | SIGCHLD, NULL, NULL, NULL, NULL);
	if (r == 0)
		_exit(0);
	try(name, r);
}

static void
forbidden_namespaces(void)
{
	struct clone_args	ca = { .exit_signal = SIGCHLD };
	long			r;

	TRY(unshare, CLONE_NEWUSER);
	TRY(unshare, CLONE_NEWNS);
	TRY(unshare, CLONE_FILES);
	TRY(setns, -1, 0);
	try_clone("clone+user", CLONE_NEWUSER);
	try_clone("clone+mnt", CLONE_NEWNS);
	try_clone("clone+pid", CLONE_NEWPID);
	try_clone("clone+net", CLONE_NEWNET);
	try_clone("clone+uts", CLONE_NEWUTS);
	try_clone("clone+ipc", CLONE_NEWIPC);
	try_clone("clone+cgroup", CLONE_NEWCGROUP);
	try_clone("clone+high", CLONE_NEWUSER | 1UL << 32);
	if ((r = syscall(SYS_clone3, &ca, sizeof(ca))) == 0)
		_exit(0);
	try("clone3", r);
}

static void
forbidden_mounts(void)
{
	TRY(mount, "none", "/tmp", "tmpfs", 0, NULL);
	TRY(umount2, "/tmp", 0);
	TRY(pivot_root, ".", ".");
	TRY(chroot, "/");
	TRY(open_tree, AT_FDCWD, "/", 1);
	TRY(move_mount, -1, "", -1, "", 4);
	TRY(fsopen, "tmpfs", 0);
	TRY(fsconfig, -1, 6, NULL, NULL, 0);
	TRY(fsmount, -1, 0, 0);
	TRY(fspick, AT_FDCWD, "/", 0);
	NR(442, "mount_setattr", -1, "", 0, NULL, 0);
	NR(467, "open_tree_attr", AT_FDCWD, "/", 1, NULL, 0);
}

static void
forbidden_kernel(void)
{
	TRY(bpf, 0, NULL, 0);
	TRY(perf_event_open, NULL, 0, 0, 0, 0);
	TRY(userfaultfd, 0);
	TRY(keyctl, 0, 0, 0, 0, 0);
	TRY(add_key, NULL, NULL, NULL, 0, 0);
	TRY(request_key, NULL, NULL, NULL, 0);
	TRY(kexec_load, 0, 0, NULL, 0);
	TRY(init_module, NULL, 0, NULL);
	TRY(finit_module, -1, NULL, 0);
	TRY(delete_module, NULL, 0);
	TRY(open_by_handle_at, -1, NULL, 0);
	TRY(io_uring_setup, 1, NULL);
	TRY(io_uring_enter, -1, 0, 0, 0, NULL, 0);
	TRY(io_uring_register, -1, 0, NULL, 0);
}

static void
forbidden_sockets(void)
{
	static const int	types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW,
				    SOCK_SEQPACKET };
	char			name[32];
	int			af;
	size_t			i;

	for (af = 0; af < 64; af++) {
		if (af == AF_UNIX || af == AF_INET || af == AF_INET6 ||
		    af == AF_NETLINK)
			continue;
		for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
			snprintf(name, sizeof(name), "socket-%d", af);
			NR(SYS_socket, name, af, types[i], 0);
		}
	}
	TRY(socket, AF_PACKET | 1L << 32, SOCK_RAW, 0);
	TRY(socket, AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
	TRY(socket, AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT);
	TRY(socketpair, AF_TIPC, SOCK_STREAM, 0, (int[2]){ 0 });
}

/* In the 32- and the 64-bit spelling: the kernel looks at the low half. */
static void
forbidden_ioctls(void)
{
	char	c = 'x';

	TRY(ioctl, 0, 0x5412UL, &c);
	TRY(ioctl, 0, 0x100005412UL, &c);
	TRY(ioctl, 0, 0xffffffff00005412UL, &c);
	TRY(ioctl, 0, 0x541cUL, &c);
	TRY(ioctl, 0, 0x10000541cUL, &c);
}

/* init's memory and descriptors, which ptrace would open. */
static void
forbidden_init(void)
{
	char		c;
	struct iovec	here = { &c, 1 }, there = { (void *)4096, 1 };

	TRY(ptrace, 16 /* PTRACE_ATTACH */, 1, 0, 0);
	TRY(ptrace, 0x4206 /* PTRACE_SEIZE */, 1, 0, 0);
	TRY(process_vm_readv, 1, &here, 1, &there, 1, 0);
	TRY(process_vm_writev, 1, &here, 1, &there, 1, 0);
	NR(438, "pidfd_getfd", (int)syscall(434, 1, 0), 3, 0);
}

static void
forbidden(void)
{
	forbidden_init();
	forbidden_namespaces();
	forbidden_mounts();
	forbidden_kernel();
	forbidden_sockets();
	forbidden_ioctls();
}

/* What has to stay open. */
static void
allowed(void)
{
	int	sv[2];

	TRY(socket, AF_UNIX, SOCK_STREAM, 0);
	TRY(socket, AF_INET, SOCK_STREAM, 0);
	TRY(socket, AF_INET6, SOCK_DGRAM, 0);
	TRY(socket, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	TRY(socketpair, AF_UNIX, SOCK_STREAM, 0, sv);
	TRY(memfd_create, "x", 0);
	try_clone("clone", 0);
}

/* A call of a foreign architecture's: int 0x80 is the 32-bit one's. */
static void
foreign(void)
{
#if defined(__x86_64__)
	long	r = 20;		/* getpid */

	__asm__ volatile("int $0x80" : "+a"(r) : : "memory");
	printf("%ld\n", r);
#else
	kill(getpid(), SIGSYS);
#endif
}

static void
x32(void)
{
#if defined(__x86_64__)
	errno = 0;
	try("x32", syscall(0x40000000 | SYS_getpid));
#else
	puts("x32 EPERM");
#endif
}

/* A socket of the host's, and one of the session's own. */
static void
abstract(void)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX,
				    .sun_path = "\0sbx-test" };
	socklen_t		len = offsetof(struct sockaddr_un, sun_path) +
				    9;
	int			c, l;

	if ((c = socket(AF_UNIX, SOCK_STREAM, 0)) == -1 ||
	    (l = socket(AF_UNIX, SOCK_STREAM, 0)) == -1)
		err(1, "socket");
	try("connect", connect(c, (struct sockaddr *)&sun, len));
	sun.sun_path[1] = 'x';
	if (bind(l, (struct sockaddr *)&sun, len) == -1 || listen(l, 1) == -1)
		err(1, "listen");
	try("own", connect(c, (struct sockaddr *)&sun, len));
}

/* How the command was started. */
static void
state(void)
{
	struct sigaction	sa;
	sigset_t		set;
	int			fd, sig, tty;

	sigprocmask(SIG_BLOCK, NULL, &set);
	for (sig = 1; sig < 65; sig++) {
#ifdef SBX_SANITIZED
		if (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE)
			continue;
#endif
		if (sigaction(sig, NULL, &sa) == 0 &&
		    sa.sa_handler != SIG_DFL)
			printf("signal %d is not as by default\n", sig);
		if (sigismember(&set, sig) == 1)
			printf("signal %d is blocked\n", sig);
	}
	for (fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			printf("fd %d\n", fd);
	tty = tcgetpgrp(0);
	printf("leader %d %d foreground %d\n", getsid(0) == getpid(),
	    getpgrp() == getpid(), tty == getpid());
	printf("parent %d\n", getppid());
}

int
main(int argc, char *argv[])
{
	if (argc == 4 && strcmp(argv[1], "eat") == 0)
		eat(argv[2], strtoul(argv[3], NULL, 10));
	else if (argc != 2)
		errx(2, "usage: inside WHAT");
	else if (strcmp(argv[1], "winch") == 0)
		winch();
	else if (strcmp(argv[1], "forbidden") == 0)
		forbidden();
	else if (strcmp(argv[1], "allowed") == 0)
		allowed();
	else if (strcmp(argv[1], "foreign") == 0)
		foreign();
	else if (strcmp(argv[1], "x32") == 0)
		x32();
	else if (strcmp(argv[1], "abstract") == 0)
		abstract();
	else if (strcmp(argv[1], "state") == 0)
		state();
	else
		errx(2, "%s", argv[1]);
	return (0);
}
