/*
 * A user's own suite, and a project that a filesystem is mounted in: in S no
 * overlay can lie over such a folder (rest.h). A copy of it in the session's
 * folder stands for it, as the lower folder of the one layer that a project
 * has: so renames in it, reviews and landings are as ever. It is made anew at
 * each start and follows what lands; what the owner changes meanwhile shows
 * at the next start. What is mounted in the project is no part of it.
 */
#ifndef MOUNTD_SNAP_H
#define MOUNTD_SNAP_H

#include "at.h"
#include "overlay.h"

/* More than this is refused: a start is to be a matter of seconds. */
#define SNAP_BYTES	(512ULL << 20)
#define SNAP_NAMES	100000

/* Nothing can lie over the folder: something in it is locked there. */
bool	snap_needed(int real);
/* At a start: the copy anew, or none where none is needed. */
int	snap_begin(struct build *, int store, const char *project, int real);
/* What the project's overlay lies on: the copy, where there is one or has to
 * be; else real itself. The build's, or the caller's. -1 fault. */
int	snap_lower(struct build *, int store, const char *project, int real);
/* These paths have landed: the copy has them too. */
int	snap_follow(struct build *, int store, int real,
	    const char *const *paths, size_t n);
bool	snap_is(int store);
/* Which real folder the copy's at path was made of, as an origin; 0: it is
 * not known. */
ssize_t	snap_real(int store, const char *path, void *attr, size_t size);
/* Without making anything: the copy of the session's folder, else real. */
int	snap_known(struct build *, int store, int real);

#endif
