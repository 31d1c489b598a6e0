/*
 * Masks: a second lower layer above the real one, in which each hidden path
 * is an empty folder, an empty file or a whiteout, so that it stays hidden
 * through renames and in every clone and later start. Between the two a cover
 * has a whiteout for each such folder, below which overlayfs looks no further:
 * as an opaque one, but without an attribute, which the tmpfs of a user's
 * suite takes from Linux 6.6 on. On a tmpfs of its own: a mask on the lower's
 * own filesystem below it is ELOOP.
 */
#ifndef MOUNTD_MASK_H
#define MOUNTD_MASK_H

#include "hide.h"

struct masks {
	int		tmpfs;		/* a base, -1: none needed yet */
	unsigned int	n;
};

/* O_PATH descriptors, -1: none. */
struct mask {
	int		top, cover;
};

/*
 * The mask for an overlay of the host's folder at path, open as lower; none if
 * nothing in it is hidden. With always there is one nevertheless: a read-only
 * overlay needs two layers.
 */
int	mask_make(struct masks *, const struct hides *, const char *path,
	    int lower, bool always, struct mask *);
void	mask_close(struct mask *);

#endif
