/*
 * Giving power up, each step verified. The order is bubblewrap's and
 * minijail's: bounding set, KEEPCAPS, groups, gid, uid, capability sets,
 * no_new_privs; a step that fails ends the process (fatal), since half a drop
 * is none.
 */
#ifndef PRIVSEP_DROP_H
#define PRIVSEP_DROP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct drop {
	uid_t		 uid;
	gid_t		 gid;
	const gid_t	*groups;	/* NULL: none */
	size_t		 ngroups;
	uint64_t	 keep;		/* capabilities: 1 << CAP_x */
};

#define CAP_BIT(c)	(UINT64_C(1) << (c))

/* Ends the process, with their names, where some of these are missing. */
void	drop_need(uint64_t caps);
/* Everything, and checks it by capget, getresuid, getresgid, getgroups,
 * prctl. Leaves the process non-dumpable with an empty ambient set. */
void	drop_to(const struct drop *);
/* RLIMIT_CORE 0, and RLIMIT_NOFILE, RLIMIT_AS as far as allowed (0: leave;
 * AS is left in sanitized builds). */
void	drop_limits(size_t nofile, size_t as);

#endif
