/*
 * What each program may ask of the kernel, as sets with names. Only mkfilter
 * reads this, at build time.
 */
#ifndef PRIVSEP_PROMISES_H
#define PRIVSEP_PROMISES_H

#include <seccomp.h>

/* A system call, with up to two conditions that must all hold. */
struct rule {
	const char	*name;		/* libseccomp's, or NULL with nr */
	int		 nr;		/* newer than libseccomp knows */
	unsigned int	 argc;
	struct scmp_arg_cmp arg[2];
};

struct promise {
	const char	*name;
	const struct rule *rules;	/* ends with name NULL and nr 0 */
};

struct program {
	const char	*name;
	uint32_t	 otherwise;	/* action for what no rule names */
	uint32_t	 action;	/* action of the rules */
	const struct promise *const *promises;	/* NULL-ended */
};

extern const struct program programs[];	/* by enum pledge */

#endif
