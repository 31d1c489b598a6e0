/*
 * deny WHAT[,WHAT...] COMMAND...: the command, and all it starts, with some of
 * the mount interface refused, as an older kernel or a container's filter does.
 */
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <err.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2	452
#endif

static const struct deny {
	const char	*what;
	long		 nr;
	int		 arg;		/* that is looked at; -1: none */
	unsigned int	 is, bits;	/* as a whole, or one of these */
	int		 error;
} denies[] = {
	{ "fsopen", SYS_fsopen, -1, 0, 0, ENOSYS },
	{ "setfd", SYS_fsconfig, 1, FSCONFIG_SET_FD, 0, EINVAL },
	{ "attach", SYS_move_mount, 4, 0, MOVE_MOUNT_T_EMPTY_PATH, EINVAL },
	{ "mount", SYS_mount, -1, 0, 0, EPERM },
	{ "open_tree", SYS_open_tree, -1, 0, 0, EPERM },
	{ "landlock", SYS_landlock_create_ruleset, -1, 0, 0, EOPNOTSUPP },
	{ "peerpidfd", SYS_getsockopt, 2, SO_PEERPIDFD, 0, ENOPROTOOPT },
	/* As by a container's filter that was made before this call. */
	{ "fchmodat2", SYS_fchmodat2, -1, 0, 0, EPERM },
	{ "keyctl", SYS_keyctl, -1, 0, 0, EPERM },
	{ "keys", SYS_keyctl, -1, 0, 0, ENOSYS },
	{ "pivot_root", SYS_pivot_root, -1, 0, 0, EPERM },
};

#define FILTER_MAX	64

static struct sock_filter	filter[FILTER_MAX];
static unsigned short		n;

static void
add(unsigned short code, unsigned int k, unsigned char jt, unsigned char jf)
{
	if (n == FILTER_MAX)
		errx(1, "too much is denied");
	filter[n++] = (struct sock_filter){ code, jt, jf, k };
}

static void
deny(const char *what)
{
	const struct deny	*d = denies;

	while (strcmp(d->what, what) != 0)
		if (++d == denies + sizeof(denies) / sizeof(denies[0]))
			errx(1, "%s: not known", what);
	add(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	add(BPF_JMP | BPF_JEQ | BPF_K, (unsigned int)d->nr, 0,
	    d->arg == -1 ? 1 : 3);
	if (d->arg != -1) {
		add(BPF_LD | BPF_W | BPF_ABS, (unsigned int)
		    (offsetof(struct seccomp_data, args) +
		    8 * (size_t)d->arg), 0, 0);
		add(BPF_JMP | BPF_K | (d->bits != 0 ? BPF_JSET : BPF_JEQ),
		    d->bits != 0 ? d->bits : d->is, 0, 1);
	}
	add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)d->error, 0, 0);
}

int
main(int argc, char *argv[])
{
	struct sock_fprog	 prog = { .filter = filter };
	char			*what;

	if (argc < 3)
		errx(1, "usage: deny WHAT[,WHAT...] COMMAND...");
	for (what = strtok(argv[1], ","); what != NULL;
	    what = strtok(NULL, ","))
		deny(what);
	add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	prog.len = n;
	/* root needs no promise for it. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == -1 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == -1))
		err(1, "a filter");
	execvp(argv[2], argv + 2);
	err(127, "%s", argv[2]);
}
