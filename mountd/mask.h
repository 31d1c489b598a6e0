/*
 * Masks: a second lower layer above the real one, in which each hidden path
 * is an empty folder, an empty file or a whiteout, so that it stays hidden
 * through renames and in every clone and later start. On a tmpfs of its own:
 * a mask on the lower's own filesystem below it is ELOOP.
 */
#ifndef MOUNTD_MASK_H
#define MOUNTD_MASK_H

#include "hide.h"

struct masks {
	int		tmpfs;		/* detached, -1: none needed yet */
	unsigned int	n;
};

/*
 * The mask for an overlay of the host's folder at path, open as lower: a new
 * O_PATH descriptor in *fd, or -1 there if nothing in it is hidden. With
 * always there is one nevertheless: a read-only overlay needs two layers.
 */
int	mask_make(struct masks *, const struct hides *, const char *path,
	    int lower, bool always, int *fd);

#endif
