/*
 * Attributes of files that a landing does not carry: the user's, ACLs, and
 * file capabilities.
 */
#ifndef LANDD_XATTR_H
#define LANDD_XATTR_H

#include <stdbool.h>

/* Whether view has one that real (-1: there is no real file) has not, or
 * with another value, or the other way round. False where the filesystem has
 * none, or they cannot be read. */
bool	xattr_differ(int view, int real);

#endif
