/*
 * A user's own suite, and a root that a filesystem is mounted in: in S no
 * overlay can lie over such a folder (rest.h). A copy of it in the session's
 * folder stands for it, as the lower folder of the one layer that a root has:
 * so renames in it, reviews and landings are as ever. It is made anew at each
 * start and follows what lands; what the owner changes meanwhile shows at the
 * next start. What is mounted in the root is no part of it.
 */
#ifndef MOUNTD_SNAP_H
#define MOUNTD_SNAP_H

#include "at.h"
#include "overlay.h"

/* More than this, of all roots, is refused: a start is to be a matter of
 * seconds. */
#define SNAP_BYTES	(512ULL << 20)
#define SNAP_NAMES	100000

/* Nothing can lie over the folder: something in it is locked there. */
bool	snap_needed(int real);
/* At a start: the copy anew, or none where none is needed. */
int	snap_begin(struct build *, int store, const char *root, int real);
/* What the root's overlay lies on: the copy, where there is one or has to be;
 * else real itself. The build's, or the caller's. -1 fault. */
int	snap_lower(struct build *, int store, const char *root, int real);
/* These paths have landed: the copy has them too. */
int	snap_follow(struct build *, const char *root, int real,
	    const char *const *paths, size_t n);
/* The root's copy as the build has it, or NULL. */
const struct snapped *snap_of(const struct build *, const char *root);
/* In the session's folder: 1: open in *fd, the caller's; 0: there is none, -1
 * fault, and *fd is -1. */
int	snap_find(int store, const char *root, int *fd);
/* Which real folder the copy's at path was made of, as an origin; 0: it is
 * not known. */
ssize_t	snap_real(int copy, const char *path, void *attr, size_t size);
/* Without making anything: the copy of the session's folder, else real. */
int	snap_known(struct build *, int store, const char *root, int real);

#endif
