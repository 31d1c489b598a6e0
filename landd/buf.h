/*
 * Bytes that grow: a file's part of the patch, the manifest.
 */
#ifndef LANDD_BUF_H
#define LANDD_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t	*p;
	size_t	 len, size;
};

/* All -1 ENOMEM on failure, with what was there before still there. */
int	buf_add(struct buf *, const void *, size_t);
int	buf_str(struct buf *, const char *);
int	buf_fmt(struct buf *, const char *, ...)
	    __attribute__((format(printf, 2, 3)));
void	buf_free(struct buf *);

#endif
