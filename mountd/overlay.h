#ifndef MOUNTD_OVERLAY_H
#define MOUNTD_OVERLAY_H

#include "mask.h"
#include "layer.h"

/* What trees and views are made with. */
struct build {
	struct mnts	mnts;
	struct hides	hides;
	struct masks	masks;
	const struct user *user;	/* whose names these are, see hide.h */
	const struct roots *steady;	/* see overlay_options; NULL: none */
	int		 snap;		/* the project's copy: see snap.h; -1 */
	size_t		 snap_lost;	/* what could not be copied */
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
