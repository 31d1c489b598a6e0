#include <stdbool.h>
#include <string.h>

#include "quote.h"

static bool
quote_needed(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x21 || (unsigned char)*s > 0x7e ||
		    *s == '"' || *s == '\\')
			return (true);
	return (false);
}

/* The letter after the backslash, or 0 where it is three octal digits. */
static char
quote_letter(unsigned char c)
{
	static const char	controls[] = "abtnvfr";	/* 7 to 13 */

	if (c >= 7 && c <= 13)
		return (controls[c - 7]);
	return (c == '"' || c == '\\' ? (char)c : 0);
}

static int
quote_byte(struct buf *b, unsigned char c)
{
	char	two[2] = { '\\', quote_letter(c) };

	if (two[1] != 0)
		return (buf_add(b, two, 2));
	if (c < 0x20 || c > 0x7e)
		return (buf_fmt(b, "\\%03o", c));
	return (buf_add(b, &c, 1));
}

int
quote_path(struct buf *b, const char *prefix, const char *path)
{
	if (!quote_needed(path))
		return (buf_str(b, prefix) == -1 || buf_str(b, path) == -1 ?
		    -1 : 0);
	if (buf_str(b, "\"") == -1 || buf_str(b, prefix) == -1)
		return (-1);
	for (; *path != '\0'; path++)
		if (quote_byte(b, (unsigned char)*path) == -1)
			return (-1);
	return (buf_str(b, "\""));
}
