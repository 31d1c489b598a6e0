/*
 * One landing with every kind of step, ended or disturbed at each of its
 * system calls. Each function goes through them in strides.
 */
#ifndef REGRESS_LANDD_LANDING_CRASH_H
#define REGRESS_LANDD_LANDING_CRASH_H

#include "landing_lib.h"

extern bool	crash_nogit;	/* the landing folder lies in the project */

/* What the parts of these tests share: a world, its tree before. */
void	crash_world(struct world *);
int	crash_calls(void);
int	crash_first(int stride);
void	crash_same(char *got, char *want, const char *const *but,
	    const char *what, int n);
void	crash_whole(struct world *, const char *before, bool applied,
	    const char *const *but, const char *what, int n);

/* Where the worlds are made: tmpfs, ext4 ... below the scratch folder. */
void	crash_fs(const char *type);
/* Killed at a call, then recovered, twice. */
void	crash_kill_all(int stride);
/* Killed, the recovery killed too, then recovered. */
void	crash_kill_twice(int stride, int stride2);
/* A call that fails. */
void	crash_fail_all(int err, int stride);
/* Killed, a call of the recovery fails, then recovered. */
void	crash_fail_recovery(int err, int stride, int stride2);
/* The owner does something at a call, each of several things; stride2 is
 * for what matters between two calls only. */
void	crash_disturb_all(int stride, int stride2);

#endif
