#ifndef MOUNTD_OVERLAY_H
#define MOUNTD_OVERLAY_H

#include "mask.h"
#include "layer.h"

/* The copies that roots stand on: see snap.h. */
struct snapped {
	char	*root;
	int	 fd;
	size_t	 lost;		/* what could not be copied */
};

struct snaps {
	struct snapped	v[LIMIT_ROOTS];
	size_t		n;
	uint64_t	bytes;		/* of all that were made */
	size_t		names;
};

/* What trees and views are made with. */
struct build {
	struct mnts	mnts;
	struct hides	hides;
	struct masks	masks;
	const struct user *user;	/* whose names these are, see hide.h */
	const struct roots *steady;	/* see overlay_options; NULL: none */
	struct snaps	 snaps;
};

int	build_begin(struct build *, const struct strv *hide,
	    const struct user *);
void	build_end(struct build *);

/*
 * The host's folder at path, open as lower, under its mask: with a layer that
 * takes every write, or read-only where layer is NULL. under, if not -1, is a
 * layer that is only read: a stopped session's. A detached mount, -1 fault.
 */
int	overlay_make(struct build *, const char *path, int lower,
	    const struct layer *, int under);

#endif
