/*
 * Nearly all that a flood is of is text in which the filter has nothing to do:
 * it goes through in one piece, which leaves the filter as if it had looked
 * at each byte.
 */
#include <string.h>

#include "filter.h"

/* The same in each of eight bytes */
#define PLAIN_ONE	UINT64_C(0x0101010101010101)
#define PLAIN_LOW	(PLAIN_ONE * ' ')
#define PLAIN_HIGH	(PLAIN_ONE * 0x80)

/* What changes nothing, nor is anything but itself: printable ASCII and those
 * controls that stand in any text. */
static bool
is_plain(uint8_t b)
{
	return (b >= ' ' ? b < 0x7f : b >= '\b' && b <= '\r');
}

/* How many such bytes p begins with. Text is nearly all there is of a flood,
 * so eight are looked at together: the subtraction borrows for one that is
 * below a space. */
static size_t
plain_length(const uint8_t *p, size_t len)
{
	uint64_t	w;
	size_t		i = 0;

	while (i < len) {
		if (len - i >= sizeof(w)) {
			memcpy(&w, p + i, sizeof(w));
			/* Nor DEL: adding one makes it 0x80. */
			if (((w | (w - PLAIN_LOW) | (w + PLAIN_ONE)) &
			    PLAIN_HIGH) == 0) {
				i += sizeof(w);
				continue;
			}
		}
		if (!is_plain(p[i]))
			break;
		i++;
	}
	return (i);
}

/* The same as filter_byte for each, in one piece. */
static size_t
filter_plain(struct filter *f, struct sinkbuf *sb, const uint8_t *p,
    size_t len)
{
	size_t	i, n;

	if (f->state != FILTER_GROUND || f->unitlen > 0)
		return (0);
	n = plain_length(p, len);
	if (sb->p != NULL) {
		memcpy(sb->p + sb->n, p, n);
		sb->n += n;
	}
	/* A last line that is only controls leaves us where we were. */
	for (i = n; i > 0; i--)
		if (p[i - 1] >= ' ' || p[i - 1] == '\n') {
			f->midline = p[i - 1] != '\n';
			break;
		}
	return (n);
}

size_t
filter_out(struct filter *f, const uint8_t *in, size_t len, uint8_t *out)
{
	struct sinkbuf	sb = { f->raw ? NULL : out, 0 };
	size_t		i = 0;

	while (i < len) {
		i += filter_plain(f, &sb, in + i, len - i);
		if (i < len)
			filter_byte(f, &sb, in[i++]);
	}
	if (!f->raw)
		return (sb.n);
	memcpy(out, in, len);
	return (len);
}
