/*
 * What a landing or a discard could not take out of a live session's layer,
 * since a process held it open: done when the session has ended, if nothing
 * has touched it since.
 */
#ifndef MOUNTD_PENDING_H
#define MOUNTD_PENDING_H

#include <stdbool.h>

struct build;
struct clean;
struct names;

/* Notes these entries of the root's layer, as they are now, beside those that
 * are noted; durable when this returns 0. */
int	pending_add(const struct clean *, const struct names *);
/* Of any root. */
bool	pending_is(int store);
/* Takes out what is noted, of all roots; nothing of the session may be
 * mounted. A file that is not whole is an error, and nothing is taken out. */
int	pending_run(int store, struct build *);

#endif
