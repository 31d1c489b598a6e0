/*
 * git's binary bodies: deflated bytes in base 85, 52 of them a line. zlib
 * itself, which libgit2 brings along (its package depends on zlib's), makes
 * the plain form and undoes any form in replay.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "diff.h"

#define LINE_BYTES	52

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    "abcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

static int
binary_line(struct buf *b, const uint8_t *p, size_t n)
{
	char		line[2 + LINE_BYTES / 4 * 5];
	uint32_t	v;
	size_t		i, len = 0;
	int		j;

	/* The first letter says how many bytes follow: A to Z, a to z. */
	line[len++] = (char)(n <= 26 ? 'A' + n - 1 : 'a' + n - 27);
	for (i = 0; i < n; i += 4) {
		v = 0;
		for (j = 0; j < 4; j++)
			v = v << 8 | (i + (size_t)j < n ? p[i + (size_t)j] : 0);
		for (j = 4; j >= 0; j--) {
			line[len + (size_t)j] = digits[v % 85];
			v /= 85;
		}
		len += 5;
	}
	line[len++] = '\n';
	return (buf_add(b, line, len));
}

int
binary_put(struct buf *b, const char *word, size_t inflated,
    const uint8_t *deflated, size_t len)
{
	size_t	n;

	if (buf_fmt(b, "%s %zu\n", word, inflated) == -1)
		return (-1);
	for (; len > 0; len -= n, deflated += n) {
		n = len < LINE_BYTES ? len : LINE_BYTES;
		if (binary_line(b, deflated, n) == -1)
			return (-1);
	}
	return (buf_str(b, "\n"));
}

int
binary_plain(struct buf *b, const struct side *s)
{
	uLongf	 len = compressBound(s->len);
	uint8_t	*p;
	int	 rv;

	if ((p = malloc(len)) == NULL)
		return (-1);
	if (compress2(p, &len, s->len > 0 ? s->p : (const uint8_t *)"",
	    s->len, Z_BEST_SPEED) != Z_OK) {
		errno = ENOMEM;
		rv = -1;
	} else
		rv = binary_put(b, "literal", s->len, p, len);
	free(p);
	return (rv);
}
