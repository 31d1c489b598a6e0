#include "fields.h"

bool
utf8_valid(const char *str, size_t len)
{
	const unsigned char	*p = (const unsigned char *)str;
	const unsigned char	*end = p + len;

	while (p < end) {
		uint32_t	c = *p++, min;
		int		n;

		if (c == 0)
			return (false);
		if (c < 0x80)
			continue;
		if (c >= 0xc2 && c <= 0xdf)
			n = 1, min = 0x80, c &= 0x1f;
		else if (c >= 0xe0 && c <= 0xef)
			n = 2, min = 0x800, c &= 0x0f;
		else if (c >= 0xf0 && c <= 0xf4)
			n = 3, min = 0x10000, c &= 0x07;
		else
			return (false);
		for (; n > 0; n--) {
			if (p == end || (*p & 0xc0) != 0x80)
				return (false);
			c = c << 6 | (*p++ & 0x3f);
		}
		if (c < min || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
			return (false);
	}
	return (true);
}
