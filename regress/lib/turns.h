/*
 * How long a process's turns are (common/slice.h), by the kernel's word.
 */
#ifndef REGRESS_LIB_TURNS_H
#define REGRESS_LIB_TURNS_H

#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/utsname.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <atf-c.h>

#include "common/slice.h"

#define TURNS_SHORT	100000	/* ns */

static inline struct slice_attr
turns_of(pid_t pid)
{
	struct slice_attr	attr;

	ATF_REQUIRE_EQ(syscall(SYS_sched_getattr, pid, &attr, sizeof(attr),
	    0), 0);
	return (attr);
}

/* Linux 6.12 has turns of one's own. */
static inline bool
turns_known(void)
{
	struct utsname	u;
	int		major, minor;

	ATF_REQUIRE_EQ(uname(&u), 0);
	ATF_REQUIRE_EQ(sscanf(u.release, "%d.%d", &major, &minor), 2);
	return (major > 6 || (major == 6 && minor >= 12));
}

#endif
