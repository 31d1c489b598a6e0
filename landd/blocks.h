/*
 * The digest of a file's content, and of large files the ways that do not
 * read their holes.
 *
 * Up to BLOCKS_MIN bytes it is the SHA-256 of the content. Of a larger one,
 * the SHA-256 of "sbx blocks 1\n", of the size as u64, and of each block of
 * BLOCK bytes (the last may be shorter) that is not zeros alone its number as
 * u64 and its bytes, in order, integers little endian. So it is of content
 * too, and the same whatever of the zeros is on disk.
 */
#ifndef LANDD_BLOCKS_H
#define LANDD_BLOCKS_H

#include <stdint.h>

#include "../common/digest.h"

#define BLOCK		65536
#define BLOCKS_MIN	(64 << 20)

/* Of all that is in fd, which is a regular file; its size may be NULL. -1
 * errno, ESTALE: it became shorter meanwhile. */
int	blocks_digest(int fd, uint8_t sha[DIGEST_LEN], uint64_t *size);
/* The same, and what is not zeros goes to the empty file to. */
int	blocks_copy(int from, int to, uint8_t sha[DIGEST_LEN], uint64_t *size);
/* Two files of one size: 1 equal, and their digest; 0 different; -1 errno. */
int	blocks_same(int a, int b, uint64_t size, uint8_t sha[DIGEST_LEN]);

#endif
