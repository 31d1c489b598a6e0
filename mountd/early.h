/*
 * The overlay of "/", which is the same for every session that hides nothing:
 * made before one comes, on a layer that becomes the session's by a rename.
 */
#ifndef MOUNTD_EARLY_H
#define MOUNTD_EARLY_H

#include <sys/types.h>
#include <stdbool.h>

#include "overlay.h"

struct early {
	struct build	 b;
	int		 watch;		/* the mounts, to see them change */
	int		 mnt;
};

/* -1: fault, and nothing is left of it. */
int	early_make(struct early *);
/* It is what would be made now: no mount has come or gone, and whom "/" and the
 * folders above a hidden path let in has not changed. */
bool	early_fits(const struct early *);
/* The layer becomes the one of "/" in the session's folder; the mount. */
int	early_take(struct early *, int store);
/* It is of no use. */
void	early_drop(struct early *);
/* What such a child has left. */
void	early_sweep(pid_t);
/* What earlier suites have. */
void	early_sweep_all(void);

#endif
