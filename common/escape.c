#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "escape.h"

/*
 * Code points that change how others look, or show as nothing: Unicode's
 * Bidi_Control and Default_Ignorable_Code_Point properties, the line and
 * paragraph separators, interlinear annotation, and private C1.
 */
static const struct escape_range {
	uint32_t	lo, hi;
} escape_ranges[] = {
	{ 0x80, 0x9f }, { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c },
	{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
	{ 0x3164, 0x3164 }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

/* Those that are a blank, but for the usual one: Unicode's Space_Separator,
 * and letters of which nothing shows. */
static const struct escape_range escape_blanks[] = {
	{ 0xa0, 0xa0 }, { 0x1680, 0x1680 }, { 0x2000, 0x200a },
	{ 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x2800, 0x2800 },
	{ 0x3000, 0x3000 }, { 0x13441, 0x13442 }, { 0x1d159, 0x1d159 },
};

#define IN_RANGES(c, r)	in_ranges(c, r, sizeof(r) / sizeof((r)[0]))
static bool
in_ranges(uint32_t c, const struct escape_range *r, size_t n)
{
	for (; n > 0; n--, r++)
		if (c >= r->lo && c <= r->hi)
			return (true);
	return (false);
}

static bool
escape_point(uint32_t c)
{
	return (c < 0x20 || c == 0x7f || IN_RANGES(c, escape_ranges));
}

/* What blanks are escaped in: in a path each name has ends of its own. */
enum escape_form { ESCAPE_TEXT, ESCAPE_LABEL, ESCAPE_PATH };

/* A blank at p[at] that nobody would see, or take for another: the usual one
 * only where a name begins or ends with it. */
static bool
escape_blank(const unsigned char *p, size_t len, size_t at, uint32_t c,
    enum escape_form form)
{
	bool	path = form == ESCAPE_PATH;
	size_t	from = at, to = at;

	if (form == ESCAPE_TEXT)
		return (false);
	if (c != ' ')
		return (IN_RANGES(c, escape_blanks));
	while (from > 0 && p[from - 1] == ' ')
		from--;
	while (to < len && p[to] == ' ')
		to++;
	return (from == 0 || to == len || (path && (p[from - 1] == '/' ||
	    p[to] == '/')));
}

/* One code point: its length, or 0 where the bytes are not UTF-8. */
static size_t
escape_decode(const unsigned char *p, size_t len, uint32_t *out)
{
	static const uint32_t	min[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t			n, i;
	uint32_t		c = p[0];

	if (c < 0x80) {
		*out = c;
		return (1);
	}
	n = c >= 0xf0 && c <= 0xf4 ? 4 : c >= 0xe0 && c < 0xf0 ? 3 :
	    c >= 0xc2 && c < 0xe0 ? 2 : 0;
	if (n == 0 || n > len)
		return (0);
	c &= 0xff >> (n + 1);
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return (0);
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < min[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return (0);
	*out = c;
	return (n);
}

bool
escape_needed(const char *in, size_t len, const char *keep)
{
	const unsigned char	*p = (const unsigned char *)in;
	uint32_t		 c;
	size_t			 n;

	for (; len > 0; p += n, len -= n) {
		if ((n = escape_decode(p, len, &c)) == 0)
			return (true);
		if (escape_point(c) && (c == 0 || c >= 0x80 ||
		    strchr(keep, (int)c) == NULL))
			return (true);
	}
	return (false);
}

static char *
escape_all(const char *in, size_t len, const char *keep,
    enum escape_form form)
{
	const unsigned char	*p = (const unsigned char *)in;
	char			*out, *o;
	uint32_t		 c;
	size_t			 at, n;

	/* The longest form, <U+E0FFF>, is 9 for 4; <U+0020> is 8 for 1. */
	if (len > SIZE_MAX / 8 - 1 || (out = malloc(len * 8 + 1)) == NULL)
		return (NULL);
	for (o = out, at = 0; at < len; at += n) {
		n = escape_decode(p + at, len - at, &c);
		if (n == 0) {
			o += sprintf(o, "<%02X>", (unsigned int)p[at]);
			n = 1;
		} else if ((!escape_point(c) || (c != 0 && c < 0x80 &&
		    strchr(keep, (int)c) != NULL)) &&
		    !escape_blank(p, len, at, c, form)) {
			memcpy(o, p + at, n);
			o += n;
		} else
			o += sprintf(o, "<U+%04X>", (unsigned int)c);
	}
	*o = '\0';
	return (out);
}

char *
escape_text(const char *in, size_t len, const char *keep)
{
	return (escape_all(in, len, keep, ESCAPE_TEXT));
}

char *
escape_name(const char *path)
{
	return (escape_all(path, strlen(path), "", ESCAPE_PATH));
}

char *
escape_label(const char *label)
{
	return (escape_all(label, strlen(label), "", ESCAPE_LABEL));
}

static bool
escape_valid(const char *text)
{
	const unsigned char	*p = (const unsigned char *)text;
	uint32_t		 c;
	size_t			 len = strlen(text), n;

	for (; len > 0; p += n, len -= n)
		if ((n = escape_decode(p, len, &c)) == 0)
			return (false);
	return (true);
}

void
escape_fit(char *text, size_t size)
{
	char	*seen;
	size_t	 len;

	if (escape_valid(text))
		return;
	seen = escape_text(text, strlen(text), "");
	snprintf(text, size, "%s", seen != NULL ? seen : "");
	free(seen);
	len = strlen(text);
	while (!escape_valid(text))
		text[--len] = '\0';
}
