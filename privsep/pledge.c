#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <stddef.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "../common/log.h"
#include "pledge.h"

/* Made by mkfilter from promises.c: filter_<program>[] and filters[]. */
#include "filters.h"

void
pledge(enum pledge which)
{
	struct sock_fprog	prog = {
		.len = filters[which].len,
		/* The kernel only reads it; its struct has no const. */
		.filter = filters[which].code
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		fatal("PR_SET_NO_NEW_PRIVS");
	/* No TSYNC: every one of our programs has a single thread. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == -1)
		fatal("loading the seccomp filter");
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
		fatalx("the seccomp filter is not in force");
}

/* Where a long has 64 bits, the kernel's struct stat is the C library's. */
_Static_assert(sizeof(long) == 8, "struct stat of SYS_fstat");

int
pledge_fstat(int fd, struct stat *st)
{
	return ((int)syscall(SYS_fstat, fd, st));
}
