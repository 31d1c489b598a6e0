/*
 * What a landing or a discard could not take out of a live session's layer,
 * since a process held it open: done when the session has ended, if nothing
 * has touched it since.
 */
#ifndef MOUNTD_PENDING_H
#define MOUNTD_PENDING_H

#include <stdbool.h>

struct build;

/* Notes the entry of the layer at path, as it is now. */
int	pending_add(int store, int upper, const char *path);
bool	pending_is(int store);
/* Takes out what is noted; nothing of the session may be mounted. */
int	pending_run(int store, struct build *);

#endif
