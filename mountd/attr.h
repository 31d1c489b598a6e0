/*
 * What a folder carries besides its entries: owner, mode, attributes and
 * access lists, times. Descriptors may be O_PATH ones.
 */
#ifndef MOUNTD_ATTR_H
#define MOUNTD_ATTR_H

#include <stdbool.h>

struct stat;

/* "/proc/self/fd/N", for calls that take no O_PATH descriptor. */
struct fdpath {
	char	s[32];
};
struct fdpath	fdpath(int);

/* Owner, mode, extended attributes without overlayfs's own, access lists. */
int	attr_copy(int from, int to, const char *what);
/* The owner and group of st, where they can be given; as fchownat. */
int	attr_chown(int dir, const char *name, const struct stat *, int flags);
int	attr_copy_times(int from, int to);
/* Both. Bytes go first: writing takes setuid bits away, and the owner's mode
 * might not let us write. */
int	attr_copy_all(int from, int to, const char *what);
/* The same in all that attr_copy copies. */
bool	attr_same(int a, int b);

#endif
