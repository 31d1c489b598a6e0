#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"

int
buf_add(struct buf *b, const void *p, size_t len)
{
	size_t	 size = b->size == 0 ? 4096 : b->size;
	uint8_t	*n;

	if (len > SIZE_MAX / 2 - b->len) {
		errno = ENOMEM;
		return (-1);
	}
	while (size < b->len + len)
		size *= 2;
	if (size != b->size) {
		if ((n = realloc(b->p, size)) == NULL)
			return (-1);
		b->p = n;
		b->size = size;
	}
	if (len != 0)
		memcpy(b->p + b->len, p, len);
	b->len += len;
	return (0);
}

int
buf_str(struct buf *b, const char *s)
{
	return (buf_add(b, s, strlen(s)));
}

/* For short lines of our own; names go through quote.h first. */
int
buf_fmt(struct buf *b, const char *fmt, ...)
{
	char	 line[512];
	va_list	 ap;
	int	 n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line)) {
		errno = EMSGSIZE;
		return (-1);
	}
	return (buf_add(b, line, (size_t)n));
}

void
buf_free(struct buf *b)
{
	free(b->p);
	memset(b, 0, sizeof(*b));
}
