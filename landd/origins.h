/*
 * What mountd says of the layer's files: which are copies of real ones, and
 * of which; and which real folders the layer's lie on. A handle outlives its
 * file: none other ever has the same.
 */
#ifndef LANDD_ORIGINS_H
#define LANDD_ORIGINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct origin {
	uint64_t	 ino;		/* of the copy, in the layer */
	const uint8_t	*attr;
	size_t		 len;
	const char	*lower;		/* a folder's: the real one's path */
	size_t		 lowerlen;	/* 0: it is no folder */
	bool		 met;		/* its real file differs somewhere */
};

struct origins {
	uint8_t		*buf;
	struct origin	*v;		/* by ino */
	struct origin	**by;		/* by handle */
	size_t		 n, size;
	bool		 copy;		/* below lies a copy of the project */
};

/* All of fd. -1 errno; EINVAL: it is no list. */
int	origins_read(int fd, struct origins *);
void	origins_free(struct origins *);
/* NULL: the layer's file with this inode is no copy, or of a file that had a
 * second name; a folder lies on none. */
const struct origin *origins_find(const struct origins *, uint64_t ino);
/* The real file dir/name is what this one was made of: 1, 0, -1 it cannot be
 * known. With "" it is dir itself. */
int	origin_is(const struct origin *, int dir, const char *name);
/* A folder of the layer was copied from dir/name, the real one at path, and
 * lies on that. */
bool	origins_lies(const struct origins *, int dir, const char *name,
	    const char *path);
/* Marks the copies of the real file dir/name as met. */
void	origins_meet(struct origins *, int dir, const char *name);

#endif
