#include <sys/stat.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "../common/put.h"
#include "blocks.h"

/* A file on the way from data to data. */
struct blocks {
	int	fd;
	off_t	at;		/* of the next block that may have any */
	off_t	hole;		/* data up to here */
	off_t	end;
};

static void
blocks_begin(struct blocks *b, int fd, uint64_t size)
{
	b->fd = fd;
	b->at = b->hole = 0;
	b->end = (off_t)size;
}

/* To the block of the next data, at the end if there is none. -1 errno. */
static int
blocks_seek(struct blocks *b)
{
	off_t	data;

	if (b->at < b->hole || b->at >= b->end)
		return (0);
	if ((data = lseek(b->fd, b->at, SEEK_DATA)) == -1) {
		b->at = b->end;
		return (errno == ENXIO ? 0 : -1);
	}
	if ((b->hole = lseek(b->fd, data, SEEK_HOLE)) == -1)
		return (-1);
	b->at = data / BLOCK * BLOCK;
	return (0);
}

static size_t
blocks_len(const struct blocks *b, off_t at)
{
	return (b->end - at < BLOCK ? (size_t)(b->end - at) : BLOCK);
}

/* Exactly len bytes of the file at off. */
static int
block_read(int fd, uint8_t *p, size_t len, off_t off)
{
	ssize_t	n;

	for (; len > 0; p += n, off += n, len -= (size_t)n) {
		n = pread(fd, p, len, off);
		if (n == 0) {
			errno = ESTALE;
			return (-1);
		}
		if (n == -1 && errno != EINTR)
			return (-1);
		if (n == -1)
			n = 0;
	}
	return (0);
}

static bool
block_zero(const uint8_t *p, size_t len)
{
	static const uint8_t	zeros[BLOCK];

	return (memcmp(p, zeros, len) == 0);
}

static void
digest_u64(struct digest *d, uint64_t v)
{
	uint8_t	p[8];
	int	i;

	for (i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> 8 * i);
	digest_add(d, p, sizeof(p));
}

static void
digest_begin(struct digest *d, uint64_t size)
{
	digest_init(d);
	if (size <= BLOCKS_MIN)
		return;
	digest_add(d, "sbx blocks 1\n", 13);
	digest_u64(d, size);
}

static void
digest_block(struct digest *d, uint64_t size, off_t at, const uint8_t *p,
    size_t len)
{
	if (size > BLOCKS_MIN) {
		if (block_zero(p, len))
			return;
		digest_u64(d, (uint64_t)at / BLOCK);
	}
	digest_add(d, p, len);
}

/* A small file's holes are hashed as what they are. */
static int
blocks_next(struct blocks *b)
{
	return (b->end <= BLOCKS_MIN ? 0 : blocks_seek(b));
}

int
blocks_copy(int from, int to, uint8_t sha[DIGEST_LEN], uint64_t *size)
{
	uint8_t		p[BLOCK];
	struct blocks	b;
	struct digest	d;
	struct stat	st;
	size_t		len;

	if (fstat(from, &st) == -1)
		return (-1);
	blocks_begin(&b, from, (uint64_t)st.st_size);
	digest_begin(&d, (uint64_t)st.st_size);
	for (;; b.at += BLOCK) {
		if (blocks_next(&b) == -1)
			return (-1);
		if (b.at >= b.end)
			break;
		len = blocks_len(&b, b.at);
		if (block_read(from, p, len, b.at) == -1 ||
		    (to != -1 && !block_zero(p, len) &&
		    put_all_at(to, p, len, b.at) == -1))
			return (-1);
		digest_block(&d, (uint64_t)b.end, b.at, p, len);
	}
	if (to != -1 && ftruncate(to, b.end) == -1)
		return (-1);
	digest_end(&d, sha);
	if (size != NULL)
		*size = (uint64_t)b.end;
	return (0);
}

int
blocks_digest(int fd, uint8_t sha[DIGEST_LEN], uint64_t *size)
{
	return (blocks_copy(fd, -1, sha, size));
}

int
blocks_same(int one, int two, uint64_t size, uint8_t sha[DIGEST_LEN])
{
	uint8_t		p[BLOCK], q[BLOCK];
	struct blocks	a, b;
	struct digest	d;
	off_t		at;
	size_t		len;

	blocks_begin(&a, one, size);
	blocks_begin(&b, two, size);
	digest_begin(&d, size);
	for (;;) {
		if (blocks_next(&a) == -1 || blocks_next(&b) == -1)
			return (-1);
		/* Where either has data both are read. */
		at = a.at < b.at ? a.at : b.at;
		if (at >= a.end)
			break;
		len = blocks_len(&a, at);
		if (block_read(one, p, len, at) == -1 ||
		    block_read(two, q, len, at) == -1)
			return (-1);
		if (memcmp(p, q, len) != 0)
			return (0);
		digest_block(&d, size, at, p, len);
		if (a.at == at)
			a.at += BLOCK;
		if (b.at == at)
			b.at += BLOCK;
	}
	digest_end(&d, sha);
	return (1);
}
