#include <sys/types.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/put.h"
#include "blocks.h"
#include "content.h"
#include "tree.h"

#define CONTENT_BLOCK	65536
#define CONTENT_SMALL	(1 << 20)	/* below: read, hashed, written */

int
content_open(int dir, const char *name, struct stat *st)
{
	const int	flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;
	int		fd;

	fd = tree_open(dir, name, flags | O_NOATIME);
	if (fd == -1 && errno == EPERM)		/* not the owner's */
		fd = tree_open(dir, name, flags);
	if (fd == -1) {
		if (errno == ELOOP || errno == ENXIO)
			errno = ESTALE;
		return (-1);
	}
	if (fstat(fd, st) == -1 || !S_ISREG(st->st_mode)) {
		close(fd);
		errno = ESTALE;
		return (-1);
	}
	return (fd);
}

bool
content_steady(int fd, const struct stat *st)
{
	struct stat	now;

	return (fstat(fd, &now) == 0 && now.st_ino == st->st_ino &&
	    now.st_size == st->st_size && now.st_mode == st->st_mode &&
	    now.st_ctim.tv_sec == st->st_ctim.tv_sec &&
	    now.st_ctim.tv_nsec == st->st_ctim.tv_nsec);
}

/* Exactly len bytes, or as many as there are. */
static ssize_t
content_read(int fd, uint8_t *p, size_t len, off_t off)
{
	size_t	got = 0;
	ssize_t	n;

	while (got < len) {
		n = pread(fd, p + got, len - got, off + (off_t)got);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return (-1);
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return ((ssize_t)got);
}

/* One stretch of data; by reference where the filesystem can. */
static int
content_copy_range(int from, int from2, int to, off_t off, off_t end)
{
	uint8_t	block[CONTENT_BLOCK];
	off_t	in, out;
	ssize_t	n;

	while (off < end && from2 != -1) {
		in = out = off;
		n = copy_file_range(from2, &in, to, &out, (size_t)(end - off),
		    0);
		if (n <= 0)
			break;		/* the plain way says why */
		off += n;
	}
	while (off < end) {
		n = content_read(from, block, end - off <
		    (off_t)sizeof(block) ? (size_t)(end - off) :
		    sizeof(block), off);
		if (n == 0)
			errno = ESTALE;
		if (n <= 0 || put_all_at(to, block, (size_t)n, off) == -1)
			return (-1);
		off += n;
	}
	return (0);
}

static int
content_whole(uint64_t got, uint64_t size)
{
	if (got == size)
		return (0);
	errno = ESTALE;
	return (-1);
}

int
content_stage(int from, int from2, int to, uint64_t size,
    uint8_t sha[DIGEST_LEN])
{
	off_t		data, hole, end = (off_t)size;
	uint64_t	got;

	if (size < CONTENT_SMALL) {
		if (blocks_copy(from, to, sha, &got) == -1)
			return (-1);
		return (content_whole(got, size));
	}
	for (hole = 0; hole < end;) {
		if ((data = lseek(from, hole, SEEK_DATA)) == -1) {
			if (errno == ENXIO)
				break;		/* a hole up to the end */
			return (-1);
		}
		if ((hole = lseek(from, data, SEEK_HOLE)) == -1)
			return (-1);
		if (hole > end)
			hole = end;
		if (content_copy_range(from, from2, to, data, hole) == -1)
			return (-1);
	}
	if (ftruncate(to, end) == -1 || blocks_digest(to, sha, &got) == -1)
		return (-1);
	return (content_whole(got, size));
}

int
content_pack(int from, int to, uint64_t at, uint64_t size,
    uint8_t sha[DIGEST_LEN])
{
	uint8_t	block[BLOCK];
	ssize_t	n;

	if ((n = content_read(from, block, (size_t)size, 0)) == -1 ||
	    content_whole((uint64_t)n, size) == -1)
		return (-1);
	return (content_put(to, at, block, (size_t)n, sha));
}

int
content_put(int to, uint64_t at, const void *p, size_t len,
    uint8_t sha[DIGEST_LEN])
{
	struct digest	d;

	digest_init(&d);
	digest_add(&d, p, len);
	digest_end(&d, sha);
	return (put_all_at(to, p, len, (off_t)at));
}

uint8_t *
content_get(int fd, uint64_t size)
{
	uint8_t	*p;
	ssize_t	 n;

	if (size >= SIZE_MAX || (p = malloc((size_t)size + 1)) == NULL) {
		errno = ENOMEM;
		return (NULL);
	}
	/* One byte more than there should be, to see a file that grew. */
	n = content_read(fd, p, (size_t)size + 1, 0);
	if (n != (ssize_t)size) {
		free(p);
		if (n != -1)
			errno = ESTALE;
		return (NULL);
	}
	return (p);
}

uint8_t *
content_part(int fd, uint64_t at, uint64_t size)
{
	uint8_t	*p;
	ssize_t	 n;

	if ((p = malloc((size_t)size + 1)) == NULL)
		return (NULL);
	n = content_read(fd, p, (size_t)size, (off_t)at);
	if (n == -1 || content_whole((uint64_t)n, size) == -1) {
		free(p);
		return (NULL);
	}
	return (p);
}
