/*
 * The bytes of files on both sides: compared, hashed, copied to the stage.
 * Whoever reads looks at size, ctime and inode before and after.
 */
#ifndef LANDD_CONTENT_H
#define LANDD_CONTENT_H

#include <sys/stat.h>
#include <stdbool.h>
#include <stdint.h>

#include "../common/digest.h"

/*
 * Opens a regular file below dir for reading, st as it is then. The real
 * tree's access times stay as they are where that is allowed. -1 errno;
 * ESTALE where it is something else by now.
 */
int	content_open(int dir, const char *name, struct stat *st);
/* Whether fd is still as it was in st. */
bool	content_steady(int fd, const struct stat *st);
/*
 * Copies size bytes of from into the empty file to, holes as holes, and
 * hashes what is in to afterwards. from2, if not -1, is the same content on
 * to's own filesystem, where it can be had by reference. -1 errno.
 */
int	content_stage(int from, int from2, int to, uint64_t size,
	    uint8_t sha[DIGEST_LEN]);
/* Likewise, of at most a block, to a place in a file of many. */
int	content_pack(int from, int to, uint64_t at, uint64_t size,
	    uint8_t sha[DIGEST_LEN]);
/* len bytes at p to a place in the file, and their hash. */
int	content_put(int to, uint64_t at, const void *p, size_t len,
	    uint8_t sha[DIGEST_LEN]);
/* The whole of fd, which must have size bytes, malloc'ed. NULL errno. */
uint8_t	*content_get(int fd, uint64_t size);
/* A part of it; NULL ESTALE: there is less. */
uint8_t	*content_part(int fd, uint64_t at, uint64_t size);

#endif
