/*
 * What was written into the patch, carried out again: text by text, body by
 * body, with nothing known but the patch's own bytes and the pre-image.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "diff.h"

static const char no_newline[] = "\\ No newline at end of file\n";

/* Where the replay stands in the three texts. */
struct replay {
	const uint8_t	*p, *end;	/* the patch */
	const struct side *a, *b;
	size_t		 apos, bpos;	/* in bytes */
	size_t		 aline, bline;	/* lines passed */
};

/* Of the line at p, its length with its newline, if it has one. */
static size_t
line_len(const uint8_t *p, size_t left)
{
	const uint8_t	*nl = left > 0 ? memchr(p, '\n', left) : NULL;

	return (nl == NULL ? left : (size_t)(nl - p) + 1);
}

static bool
replay_number(struct replay *r, char before, size_t *n)
{
	const uint8_t	*start;

	if (r->p >= r->end || *r->p != (uint8_t)before)
		return (false);
	start = ++r->p;
	for (*n = 0; r->p < r->end && *r->p >= '0' && *r->p <= '9'; r->p++) {
		if (*n > SIZE_MAX / 16)
			return (false);
		*n = *n * 10 + (size_t)(*r->p - '0');
	}
	return (r->p != start);
}

/* "@@ -a[,n] +c[,m] @@...\n" */
static bool
replay_header(struct replay *r, size_t v[4])
{
	size_t	len = line_len(r->p, (size_t)(r->end - r->p));

	if (len < 4 || r->p[len - 1] != '\n' || memcmp(r->p, "@@ ", 3) != 0)
		return (false);
	r->p += 3;
	v[1] = v[3] = 1;
	if (!replay_number(r, '-', &v[0]) ||
	    (*r->p == ',' && !replay_number(r, ',', &v[1])) ||
	    *r->p++ != ' ' || !replay_number(r, '+', &v[2]) ||
	    (*r->p == ',' && !replay_number(r, ',', &v[3])) ||
	    r->end - r->p < 4 || memcmp(r->p, " @@", 3) != 0)
		return (false);
	r->p += line_len(r->p, (size_t)(r->end - r->p));
	return (true);
}

/* A line that both sides have. */
static bool
replay_pass(struct replay *r)
{
	size_t	n = line_len(r->a->p + r->apos, r->a->len - r->apos);
	size_t	m = line_len(r->b->p + r->bpos, r->b->len - r->bpos);

	if (n == 0 || n != m ||
	    memcmp(r->a->p + r->apos, r->b->p + r->bpos, n) != 0)
		return (false);
	r->apos += n;
	r->bpos += n;
	r->aline++;
	r->bline++;
	return (true);
}

/* text, of len bytes, is what comes next on that side. */
static bool
replay_take(const struct side *s, size_t *pos, size_t *line,
    const uint8_t *text, size_t len)
{
	if (len == 0 || s->len - *pos < len ||
	    memcmp(s->p + *pos, text, len) != 0)
		return (false);
	/* Without its newline it has to be the last one. */
	if (text[len - 1] != '\n' && *pos + len != s->len)
		return (false);
	*pos += len;
	++*line;
	return (true);
}

/* One line of a hunk, with its mark of a missing newline. */
static bool
replay_line(struct replay *r)
{
	uint8_t		 mark = *r->p++;
	const uint8_t	*text = r->p;
	size_t		 len = line_len(r->p, (size_t)(r->end - r->p));
	size_t		 mlen = sizeof(no_newline) - 1;

	if (len == 0 || text[len - 1] != '\n')
		return (false);
	r->p += len;
	if ((size_t)(r->end - r->p) >= mlen && *r->p == '\\' &&
	    memcmp(r->p, no_newline, mlen) == 0) {
		r->p += mlen;
		len--;
	}
	if (mark != '+' && !replay_take(r->a, &r->apos, &r->aline, text, len))
		return (false);
	if (mark != '-' && !replay_take(r->b, &r->bpos, &r->bline, text, len))
		return (false);
	return (mark == '+' || mark == '-' || mark == ' ');
}

static bool
replay_hunk(struct replay *r)
{
	size_t	v[4], aend, bend;

	if (!replay_header(r, v))
		return (false);
	/* A side of no lines is named by the line before. */
	if (v[1] > 0)
		v[0]--;
	if (v[3] > 0)
		v[2]--;
	while (r->aline < v[0])
		if (!replay_pass(r))
			return (false);
	if (r->aline != v[0] || r->bline != v[2])
		return (false);
	aend = v[0] + v[1];
	bend = v[2] + v[3];
	while (r->p < r->end && *r->p != '@')
		if (!replay_line(r))
			return (false);
	return (r->aline == aend && r->bline == bend);
}

bool
replay_text(const struct buf *body, size_t from, const struct side *a,
    const struct side *b)
{
	struct replay	r = { .a = a, .b = b };

	if (body->len <= from)
		return (false);
	r.p = body->p + from;
	r.end = body->p + body->len;
	while (r.p < r.end)
		if (!replay_hunk(&r))
			return (false);
	while (r.apos < a->len)
		if (!replay_pass(&r))
			return (false);
	return (r.bpos == b->len);
}

static int
base85_value(uint8_t c)
{
	static const char	digits[] =
	    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
	const char		*at = c == 0 ? NULL : strchr(digits, c);

	return (at == NULL ? -1 : (int)(at - digits));
}

/* One line of base 85 at *p, appended to out. */
static bool
base85_line(const uint8_t **p, const uint8_t *end, struct buf *out)
{
	const uint8_t	*s = *p;
	uint8_t		 four[4];
	uint64_t	 v;
	size_t		 n, left;
	int		 i, d;

	n = *s >= 'A' && *s <= 'Z' ? (size_t)(*s - 'A') + 1 :
	    *s >= 'a' && *s <= 'z' ? (size_t)(*s - 'a') + 27 : 0;
	if (n == 0 || (size_t)(end - s) < 2 + (n + 3) / 4 * 5)
		return (false);
	s++;
	for (left = n; left > 0; left -= left < 4 ? left : 4) {
		for (v = 0, i = 0; i < 5; i++) {
			if ((d = base85_value(*s++)) == -1)
				return (false);
			v = v * 85 + (uint64_t)d;
		}
		if (v > UINT32_MAX)
			return (false);
		/* Behind the last byte there are zeros. */
		if (left < 4 && (v & ((UINT64_C(1) << (32 - 8 * left)) - 1)) !=
		    0)
			return (false);
		for (i = 3; i >= 0; i--, v >>= 8)
			four[i] = (uint8_t)v;
		if (buf_add(out, four, left < 4 ? left : 4) == -1)
			return (false);
	}
	if (*s++ != '\n')
		return (false);
	*p = s;
	return (true);
}

/* A number of git's deltas: 7 bits a byte, lowest first. */
static bool
delta_size(const uint8_t **p, const uint8_t *end, uint64_t *n)
{
	unsigned int	shift = 0;

	for (*n = 0; *p < end && shift < 63; shift += 7) {
		*n |= (uint64_t)(**p & 127) << shift;
		if ((*(*p)++ & 128) == 0)
			return (true);
	}
	return (false);
}

static bool
delta_copy(const uint8_t **p, const uint8_t *end, uint8_t op,
    const struct side *a, const uint8_t **from, size_t *len)
{
	size_t	off = 0;
	int	i;

	*len = 0;
	for (i = 0; i < 4; i++)
		if (op & (1 << i)) {
			if (*p == end)
				return (false);
			off |= (size_t)*(*p)++ << (8 * i);
		}
	for (i = 0; i < 3; i++)
		if (op & (16 << i)) {
			if (*p == end)
				return (false);
			*len |= (size_t)*(*p)++ << (8 * i);
		}
	if (*len == 0)
		*len = 0x10000;
	if (off > a->len || *len > a->len - off)
		return (false);
	*from = a->p + off;
	return (true);
}

/* The delta of len bytes at p makes b of a. */
static bool
delta_replay(const uint8_t *p, size_t len, const struct side *a,
    const struct side *b)
{
	const uint8_t	*end = p + len, *from;
	uint64_t	 n;
	size_t		 pos = 0, size;
	uint8_t		 op;

	if (!delta_size(&p, end, &n) || n != a->len ||
	    !delta_size(&p, end, &n) || n != b->len)
		return (false);
	while (p < end) {
		op = *p++;
		if (op & 128) {
			if (!delta_copy(&p, end, op, a, &from, &size))
				return (false);
		} else {
			size = op;
			from = p;
			if (size == 0 || size > (size_t)(end - p))
				return (false);
			p += size;
		}
		if (size > b->len - pos || memcmp(b->p + pos, from, size) != 0)
			return (false);
		pos += size;
	}
	return (pos == b->len);
}

/* One of the two bodies at *p makes b of a. */
static bool
binary_replay_one(const uint8_t **p, const uint8_t *end, const struct side *a,
    const struct side *b)
{
	struct buf	 packed = { 0 };
	struct replay	 r = { .p = *p, .end = end };
	uint8_t		*raw = NULL;
	uLongf		 len;
	uLong		 used;
	size_t		 size;
	bool		 delta, good = false;

	delta = end - *p > 6 && memcmp(*p, "delta ", 6) == 0;
	if (!delta && (end - *p <= 8 || memcmp(*p, "literal ", 8) != 0))
		return (false);
	r.p += delta ? 5 : 7;
	if (!replay_number(&r, ' ', &size) || size >= UINT_MAX ||
	    r.p == end || *r.p++ != '\n')
		return (false);
	while (r.p < end && *r.p != '\n')
		if (!base85_line(&r.p, end, &packed))
			goto done;
	len = size;
	used = packed.len;
	if (r.p == end || (raw = malloc(size + 1)) == NULL ||
	    uncompress2(raw, &len, packed.p, &used) != Z_OK ||
	    len != size || used != packed.len)
		goto done;
	good = delta ? delta_replay(raw, size, a, b) : size == b->len &&
	    (size == 0 || memcmp(raw, b->p, size) == 0);
	*p = r.p + 1;
done:
	free(raw);
	buf_free(&packed);
	return (good);
}

bool
replay_binary(const struct buf *body, size_t from, const struct side *a,
    const struct side *b)
{
	static const char	 first[] = "GIT binary patch\n";
	const uint8_t		*p, *end;

	if (body->len < from || body->len - from < sizeof(first) ||
	    memcmp(body->p + from, first, sizeof(first) - 1) != 0)
		return (false);
	p = body->p + from + sizeof(first) - 1;
	end = body->p + body->len;
	return (binary_replay_one(&p, end, a, b) &&
	    binary_replay_one(&p, end, b, a) && p == end);
}
