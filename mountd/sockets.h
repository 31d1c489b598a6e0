/*
 * In a user's own suite: the machine's sockets that a session would reach
 * through the read-only clone (rest.h). Those that are bound are known by
 * their names, and covered where these are absolute; what is made later, or was
 * bound by a name from a working directory that nobody knows, is not.
 */
#ifndef MOUNTD_SOCKETS_H
#define MOUNTD_SOCKETS_H

#include "plan.h"

int	sockets_cover(const struct plan *, int face, int tree);
/* This one would be. */
bool	sockets_covered(const struct plan *, const char *path);

#endif
