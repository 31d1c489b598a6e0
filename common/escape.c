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
static const struct {
	uint32_t	lo, hi;
} escape_ranges[] = {
	{ 0x80, 0x9f }, { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c },
	{ 0x115f, 0x1160 }, { 0x17b4, 0x17b5 }, { 0x180b, 0x180f },
	{ 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
	{ 0x3164, 0x3164 }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

static bool
escape_point(uint32_t c)
{
	size_t	i;

	if (c < 0x20 || c == 0x7f)
		return (true);
	for (i = 0; i < sizeof(escape_ranges) / sizeof(escape_ranges[0]); i++)
		if (c >= escape_ranges[i].lo && c <= escape_ranges[i].hi)
			return (true);
	return (false);
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

char *
escape_text(const char *in, size_t len, const char *keep)
{
	const unsigned char	*p = (const unsigned char *)in;
	char			*out, *o;
	uint32_t		 c;
	size_t			 n;

	/* The longest form, <U+E0FFF>, is 9 for 4; <9B> is 4 for 1. */
	if (len > SIZE_MAX / 8 - 1 || (out = malloc(len * 8 + 1)) == NULL)
		return (NULL);
	for (o = out; len > 0; p += n, len -= n) {
		n = escape_decode(p, len, &c);
		if (n == 0) {
			o += sprintf(o, "<%02X>", (unsigned int)*p);
			n = 1;
		} else if (!escape_point(c) || (c != 0 && c < 0x80 &&
		    strchr(keep, (int)c) != NULL)) {
			memcpy(o, p, n);
			o += n;
		} else
			o += sprintf(o, "<U+%04X>", (unsigned int)c);
	}
	*o = '\0';
	return (out);
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
