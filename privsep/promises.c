/*
 * The promise sets. Arguments that the kernel takes as 32 bits are compared
 * with MASKED_EQ 0xffffffff: a plain EQ looks at 64 and is passed by with the
 * upper half set.
 */
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <fcntl.h>
#include <sched.h>
#include <termios.h>
#include <linux/nsfs.h>

#include "pledge.h"
#include "promises.h"

#define LOW32		0xffffffffULL
#define CALL(n)		{ .name = #n }
#define CALL_NR(n)	{ .nr = (n) }
#define IF1(n, a)	{ .name = #n, .argc = 1, .arg = { a } }
#define IF2(n, a, b)	{ .name = #n, .argc = 2, .arg = { a, b } }
#define IS(i, v)	SCMP_CMP64(i, SCMP_CMP_MASKED_EQ, LOW32, v)
#define BITS(i, m, v)	SCMP_CMP64(i, SCMP_CMP_MASKED_EQ, m, v)
#define ABOVE(i, v)	SCMP_CMP64(i, SCMP_CMP_GT, v, 0)
#define NOT(i, v)	SCMP_CMP64(i, SCMP_CMP_NE, v, 0)
#define END		{ .name = NULL }

/* stdio: memory without a new way to run code, time, the descriptors that
 * are there, and an orderly end. */
static const struct rule stdio_rules[] = {
	CALL(read), CALL(readv), CALL(write), CALL(writev), CALL(close),
	CALL(pread64), CALL(pwrite64), CALL(lseek), CALL(dup), CALL(dup3),
	/* pledge_fstat; glibc's own may be newfstatat, which takes paths */
	CALL(fstat),
	/* descriptor flags; F_SETOWN and the like send signals */
	IF1(fcntl, IS(1, F_GETFL)), IF1(fcntl, IS(1, F_SETFL)),
	IF1(fcntl, IS(1, F_GETFD)), IF1(fcntl, IS(1, F_SETFD)),
	IF1(fcntl, IS(1, F_DUPFD_CLOEXEC)),
	CALL(brk), CALL(munmap), CALL(mremap), CALL(madvise),
	IF1(mmap, BITS(2, PROT_EXEC, 0)),
	IF1(mprotect, BITS(2, PROT_EXEC, 0)),
	CALL(futex), CALL(getrandom),
	/* qsort(3) of more than a kilobyte asks how much memory there is */
	CALL(sysinfo),
	CALL(rt_sigaction), CALL(rt_sigprocmask), CALL(rt_sigreturn),
	CALL(sigaltstack), CALL(restart_syscall),
	CALL(clock_gettime), CALL(gettimeofday), CALL(clock_nanosleep),
	CALL(getpid), CALL(gettid), CALL(poll), CALL(ppoll),
	CALL(exit), CALL(exit_group),
	/* pledge's own check that it is in force */
	IF1(prctl, IS(0, PR_GET_SECCOMP)),
	END
};
static const struct promise stdio = { "stdio", stdio_rules };

/* event: libevent's loop; its descriptors are made before the filter. */
static const struct rule event_rules[] = {
	CALL(epoll_ctl), CALL(epoll_wait), CALL(epoll_pwait),
	CALL(epoll_pwait2),
	END
};
static const struct promise event = { "event", event_rules };

/* name: a spare worker is called one until it is a session's. */
static const struct rule name_rules[] = {
	IF1(prctl, IS(0, PR_SET_NAME)),
	END
};
static const struct promise naming = { "name", name_rules };

/* msg: frames over the sockets that are there, with descriptors. */
static const struct rule msg_rules[] = {
	CALL(sendmsg), CALL(recvmsg), CALL(shutdown), CALL(getsockopt),
	END
};
static const struct promise msg = { "msg", msg_rules };

/* accept: clients of the control socket, the worker's of its own. */
static const struct rule accept_rules[] = {
	CALL(accept4),
	END
};
static const struct promise accepting = { "accept", accept_rules };

/* pair: a socketpair of the suite's own programs. */
static const struct rule pair_rules[] = {
	IF1(socketpair, IS(0, AF_UNIX)),
	END
};
static const struct promise pair = { "pair", pair_rules };

/* state: sbxd's own folder of records; Landlock says which. */
static const struct rule state_rules[] = {
	CALL(openat), CALL(mkdirat), CALL(unlinkat), CALL(renameat),
	CALL(renameat2), CALL(getdents64), CALL(fsync), CALL(fdatasync),
	CALL(ftruncate), CALL(flock), CALL(newfstatat), CALL(unlink),
	CALL(fchmod), CALL(statx), CALL(fstatfs),
	/* room for the audit log */
	IF1(fallocate, IS(1, FALLOC_FL_KEEP_SIZE)),
	END
};
static const struct promise state = { "state", state_rules };

/* listen: a session's listening socket, made by sbxd for its worker. */
static const struct rule listen_rules[] = {
	IF1(socket, IS(0, AF_UNIX)), CALL(bind), CALL(listen), CALL(umask),
	END
};
static const struct promise listening = { "listen", listen_rules };

/* config: conf reads its one file, in the folder that Landlock leaves. */
static const struct rule config_rules[] = {
	IF1(openat, BITS(2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY)),
	END
};
static const struct promise config = { "config", config_rules };

/* sync: landd writes journals and baselines to descriptors it is handed. */
static const struct rule sync_rules[] = {
	CALL(fsync), CALL(fdatasync), CALL(ftruncate),
	END
};
static const struct promise syncing = { "sync", sync_rules };

/* reap: the helpers and children that a program started. */
static const struct rule reap_rules[] = {
	CALL(wait4), CALL(waitid),
	END
};
static const struct promise reap = { "reap", reap_rules };

/* netlink: requests on the session's sockets that init opened, which say
 * what they are by getsockopt; answers come by recvmsg, both in msg. */
static const struct rule netlink_rules[] = {
	CALL(sendto),
	END
};
static const struct promise netlink = { "netlink", netlink_rules };

/* tty: a terminal's size, modes and output queue. */
static const struct rule tty_rules[] = {
	IF1(ioctl, IS(1, TIOCSWINSZ)), IF1(ioctl, IS(1, TIOCGWINSZ)),
	IF1(ioctl, IS(1, TCGETS)), IF1(ioctl, IS(1, FIONREAD)),
	IF1(ioctl, IS(1, TIOCOUTQ)),
	END
};
static const struct promise tty = { "tty", tty_rules };

/* files: the landing child's project, view, layer and stage; which ones is
 * Landlock's affair, that no link leads out openat2's. */
static const struct rule files_rules[] = {
	CALL(openat), CALL(openat2), CALL(newfstatat), CALL(statx),
	CALL(readlinkat), CALL(getdents64), CALL(mkdirat), CALL(unlinkat),
	CALL(renameat2), CALL(linkat), CALL(symlinkat), CALL(fchmod),
	CALL(fchmodat), CALL(fchown), CALL(fchownat), CALL(utimensat),
	CALL(ftruncate), CALL(fallocate), CALL(copy_file_range),
	CALL(fsync), CALL(fdatasync), CALL(syncfs), CALL(flock),
	CALL(fstatfs), CALL(faccessat), CALL(faccessat2),
	CALL(fgetxattr), CALL(fsetxattr), CALL(flistxattr), CALL(getxattr),
	CALL(listxattr), CALL(fadvise64), CALL(umask),
	/* a landing folder inherits no ACL */
	CALL(fremovexattr),
	/* a mode by the inode, where opening it takes rights on it */
	CALL_NR(452) /* fchmodat2 */,
	/* is this the real file that a copy was made of? */
	CALL(name_to_handle_at),
	/* whose files are ours to replace, which group a new one gets */
	CALL(geteuid), CALL(getegid),
	END
};
static const struct promise files = { "files", files_rules };

/* mounts: mountd's work. No socket(), no exec, no open_by_handle_at; mount,
 * umount2, unshare and setns are not among it: what it makes is detached. */
static const struct rule mounts_rules[] = {
	/* the mount interface by descriptor */
	CALL(fsopen), CALL(fsconfig), CALL(fsmount), CALL(fspick),
	CALL(open_tree), CALL(move_mount), CALL(mount_setattr),
	/* looking at the host's folders, its mounts, and layers */
	CALL(openat), CALL(openat2), CALL(newfstatat), CALL(statx),
	CALL(fstatfs), CALL(readlinkat), CALL(getdents64),
	/* in a user's suite: what that one may write */
	CALL(faccessat2),
	/* masks, layers, mount points, fresh folders; cleaning and erasing */
	CALL(mkdirat), CALL(mknodat), CALL(symlinkat), CALL(unlinkat),
	/* renameat2 without flags is renameat to glibc */
	CALL(renameat), CALL(renameat2),
	CALL(ftruncate), CALL(fchmod), CALL(fchmodat), CALL(fchown),
	CALL(fchownat), CALL(utimensat), CALL(fsync), CALL(getxattr),
	CALL(lgetxattr), CALL(fgetxattr), CALL(setxattr), CALL(fsetxattr),
	CALL(listxattr), CALL(removexattr),
	/* is a layer's file where its real one is? (open_by_handle_at is
	 * what would be dangerous) */
	CALL(name_to_handle_at),
	/* a layer is one suite's at a time */
	CALL(flock),
	/* RELEASE hears of a filesystem's end by a watch on it */
	CALL(inotify_init1), CALL(inotify_add_watch),
	/* is this descriptor a session's pid namespace? */
	IF1(ioctl, IS(1, NS_GET_NSTYPE)), IF1(ioctl, IS(1, NS_GET_PARENT)),
	IF1(ioctl, IS(1, NS_GET_USERNS)), IF1(ioctl, IS(1, NS_GET_OWNER_UID)),
	/* a child keeps its own session's descriptors only */
	CALL(close_range),
	END
};
static const struct promise mounts = { "mounts", mounts_rules };

/* staging: where the mount interface by descriptor is not all there. What is
 * attached is so on a tmpfs of mountd's own. */
static const struct rule staging_rules[] = {
	CALL(mount), CALL(umount2),
	END
};
static const struct promise staging = { "staging", staging_rules };

/* inside: where no other process can make a session's /proc. */
static const struct rule inside_rules[] = {
	IF1(setns, IS(1, CLONE_NEWPID)),
	END
};
static const struct promise inside = { "inside", inside_rules };

/* fork: a child a request, in no new namespace. */
static const struct rule fork_rules[] = {
	IF1(clone, BITS(0, 0x7e020080ULL, 0)),
	CALL(set_robust_list), CALL(rseq), CALL(alarm), CALL(setitimer),
	CALL(kill), CALL(pipe2),
	END
};
static const struct promise forking = { "fork", fork_rules };

/*
 * The deny-lists. spawn's is inherited by all that it starts, so it shuts
 * only what no session may ever do; mount, pivot_root, setns, unshare and
 * clone stay open until init and the forwarder have used them.
 */
static const struct rule kernel_rules[] = {
	CALL(bpf), CALL(kexec_load), CALL(kexec_file_load),
	CALL(init_module), CALL(finit_module), CALL(delete_module),
	CALL(clock_settime), CALL(clock_adjtime), CALL(adjtimex),
	CALL(settimeofday), CALL(swapon), CALL(swapoff), CALL(reboot),
	CALL(acct), CALL(iopl), CALL(ioperm), CALL(quotactl),
	CALL(quotactl_fd), CALL(nfsservctl), CALL(open_by_handle_at),
	CALL(perf_event_open), CALL(userfaultfd), CALL(lookup_dcookie),
	CALL(vhangup), CALL(uselib), CALL(ustat), CALL(sysfs),
	CALL(_sysctl),
	END
};
static const struct promise kernel = { "no kernel", kernel_rules };

/* Namespaces and mounts: nothing below this is a way to more power. */
#define DENY_NS(flag)	IF1(clone, BITS(0, flag, flag))
static const struct rule ns_rules[] = {
	CALL(setns), CALL(unshare), CALL(clone3),
	DENY_NS(CLONE_NEWNS), DENY_NS(CLONE_NEWCGROUP), DENY_NS(CLONE_NEWUTS),
	DENY_NS(CLONE_NEWIPC), DENY_NS(CLONE_NEWUSER), DENY_NS(CLONE_NEWPID),
	DENY_NS(CLONE_NEWNET), DENY_NS(0x00000080ULL) /* CLONE_NEWTIME */,
	CALL(mount), CALL(umount2), CALL(pivot_root), CALL(chroot),
	CALL(open_tree), CALL(move_mount), CALL(fsopen), CALL(fsconfig),
	CALL(fsmount), CALL(fspick), CALL(mount_setattr),
	CALL_NR(467) /* open_tree_attr */,
	END
};
static const struct promise namespaces = { "no namespaces", ns_rules };

/* io_uring does its file and socket work past any filter; keys of the
 * kernel's are shared with the user's processes outside. */
static const struct rule reach_rules[] = {
	CALL(io_uring_setup), CALL(io_uring_enter), CALL(io_uring_register),
	CALL(keyctl), CALL(add_key), CALL(request_key),
	/* typing into the terminal, pasting into a console */
	IF1(ioctl, IS(1, TIOCSTI)), IF1(ioctl, IS(1, TIOCLINUX)),
	END
};
static const struct promise reach = { "no reach", reach_rules };

/*
 * Socket families but UNIX, INET, INET6 and NETLINK_ROUTE. GT and NE compare
 * 64 bits, which errs on the side of refusal: a family with the upper half
 * set is above 45, a protocol with it set is not ROUTE.
 */
#define DENY_AF(n)	IF1(socket, IS(0, n))
static const struct rule family_rules[] = {
	DENY_AF(0), DENY_AF(3), DENY_AF(4), DENY_AF(5), DENY_AF(6),
	DENY_AF(7), DENY_AF(8), DENY_AF(9), DENY_AF(11), DENY_AF(12),
	DENY_AF(13), DENY_AF(14), DENY_AF(15), DENY_AF(17), DENY_AF(18),
	DENY_AF(19), DENY_AF(20), DENY_AF(21), DENY_AF(22), DENY_AF(23),
	DENY_AF(24), DENY_AF(25), DENY_AF(26), DENY_AF(27), DENY_AF(28),
	DENY_AF(29), DENY_AF(30), DENY_AF(31), DENY_AF(32), DENY_AF(33),
	DENY_AF(34), DENY_AF(35), DENY_AF(36), DENY_AF(37), DENY_AF(38),
	DENY_AF(39), DENY_AF(40), DENY_AF(41), DENY_AF(42), DENY_AF(43),
	DENY_AF(44), DENY_AF(45),
	IF1(socket, ABOVE(0, 45)),
	IF2(socket, IS(0, AF_NETLINK), NOT(2, 0)),
	/* pairs are there for UNIX and, where its module is, TIPC */
	IF1(socketpair, NOT(0, AF_UNIX)),
	END
};
static const struct promise families = { "no families", family_rules };

/* sanitizer: what ASan and UBSan need, in builds with SAN= only. */
#ifdef SBX_SANITIZED
static const struct rule sanitizer_rules[] = {
	CALL(open), CALL(openat), CALL(readlink), CALL(readlinkat),
	CALL(newfstatat),
	CALL(mmap), CALL(mprotect), CALL(sched_yield), CALL(prctl),
	CALL(sched_getaffinity), CALL(prlimit64), CALL(getrlimit),
	CALL(tgkill), CALL(getuid), CALL(getppid), CALL(uname), CALL(sysinfo),
	/* is the log a terminal, for its report's colours */
	IF1(ioctl, IS(1, TCGETS)),
	END
};
static const struct promise sanitizer = { "sanitizer", sanitizer_rules };
#define SANITIZER	&sanitizer,
#else
#define SANITIZER
#endif

#define PROMISES(...)	(const struct promise *const[]){ __VA_ARGS__, \
			    SANITIZER NULL }
#define DENIES(...)	(const struct promise *const[]){ __VA_ARGS__, NULL }
#define ALLOW_LIST(n, ...)						\
	{ n, SCMP_ACT_KILL_PROCESS, SCMP_ACT_ALLOW, PROMISES(__VA_ARGS__) }
#define DENY_LIST(n, ...)						\
	{ n, SCMP_ACT_ALLOW, SCMP_ACT_ERRNO(1 /* EPERM */),		\
	    DENIES(__VA_ARGS__) }

const struct program programs[PLEDGE_COUNT] = {
	[PLEDGE_SBXD] = ALLOW_LIST("sbxd", &stdio, &event, &msg, &accepting,
	    &pair, &state, &listening, &reap),
	[PLEDGE_SPAWN] = DENY_LIST("spawn", &kernel),
	[PLEDGE_NETD] = ALLOW_LIST("netd", &stdio, &event, &msg, &netlink),
	[PLEDGE_MOUNTD] = ALLOW_LIST("mountd", &stdio, &event, &msg, &pair,
	    &mounts, &forking, &reap),
	[PLEDGE_LANDD] = ALLOW_LIST("landd", &stdio, &event, &msg, &pair,
	    &syncing),
	[PLEDGE_LAND] = ALLOW_LIST("land", &stdio, &msg, &files),
	[PLEDGE_WORKER] = ALLOW_LIST("worker", &stdio, &event, &msg,
	    &accepting, &tty, &naming),
	[PLEDGE_INIT] = DENY_LIST("init", &kernel, &namespaces, &reach,
	    &families),
	[PLEDGE_STAGED] = ALLOW_LIST("staged", &stdio, &event, &msg, &pair,
	    &mounts, &staging, &forking, &reap),
	[PLEDGE_INSIDE] = ALLOW_LIST("inside", &stdio, &event, &msg, &pair,
	    &mounts, &inside, &forking, &reap),
	[PLEDGE_STAGED_INSIDE] = ALLOW_LIST("staged_inside", &stdio, &event,
	    &msg, &pair, &mounts, &staging, &inside, &forking, &reap),
	[PLEDGE_CONF] = ALLOW_LIST("conf", &stdio, &msg, &config),
};
