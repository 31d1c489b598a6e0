/*
 * The host's mounts, as our own namespace (a slave of the host's) shows them.
 */
#ifndef MOUNTD_MOUNTS_H
#define MOUNTD_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mnt {
	uint64_t	 id, parent;
	unsigned int	 major, minor;
	char		*root;		/* what of the filesystem is mounted */
	char		*point;		/* where */
	char		*type;
	bool		 ro;		/* the mount, or its filesystem */
	bool		 covered;	/* another mount lies on it or above */
};

struct mnts {
	struct mnt	*v;
	size_t		 n;
};

int	mnts_read(struct mnts *);
void	mnts_free(struct mnts *);
/* A slave of all mounts that there are would follow them. */
bool	mnts_are_shared(void);
/* The mount that path lies in: the deepest point above it that shows. */
const struct mnt *mnts_of(const struct mnts *, const char *path);

#endif
