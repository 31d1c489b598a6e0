/*
 * Columns of a list, by what a terminal takes for a text: letters are no
 * bytes, and some are two columns wide.
 */
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "sbxctl.h"

/* The next character's bytes; its columns in *width. What is none in this
 * locale is a byte of one column. */
static size_t
column_next(const char *s, size_t *width)
{
	mbstate_t	state;
	wchar_t		wc;
	size_t		n;
	int		w;

	memset(&state, 0, sizeof(state));
	n = mbrtowc(&wc, s, strlen(s), &state);
	if (n == (size_t)-1 || n == (size_t)-2 || n == 0) {
		*width = 1;
		return (1);
	}
	w = wcwidth(wc);
	*width = w < 0 ? 1 : (size_t)w;
	return (n);
}

static size_t
column_width(const char *s)
{
	size_t	all = 0, w;

	while (*s != '\0') {
		s += column_next(s, &w);
		all += w;
	}
	return (all);
}

size_t
column_wider(size_t width, const char *s)
{
	size_t	w = column_width(s);

	return (w > width ? w : width);
}

/* Its end, of at most so many columns. */
static const char *
column_end(const char *s, size_t width)
{
	size_t	all = column_width(s), w;

	while (all > width) {
		s += column_next(s, &w);
		all -= w;
	}
	return (s);
}

/* The bytes of its beginning, of at most so many columns. */
static size_t
column_begin(const char *s, size_t width)
{
	const char	*p = s;
	size_t		 all = 0, w, n;

	while (*p != '\0') {
		n = column_next(p, &w);
		if (all + w > width)
			break;
		all += w;
		p += n;
	}
	return ((size_t)(p - s));
}

/* The end of a path says more than its beginning. */
static char *
column_cut(const char *s, size_t width, bool path)
{
	const char	*dots, *end;
	size_t		 n;
	char		*out;
	int		 r;

	if (column_width(s) <= width)
		return (copy(s));
	dots = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "\342\200\246" :
	    "...";
	n = column_width(dots);
	n = width > n ? width - n : 0;
	if (path) {
		end = column_end(s, n);
		r = asprintf(&out, "%s%s", dots, end);
	} else
		r = asprintf(&out, "%.*s%s", (int)column_begin(s, n), s, dots);
	if (r == -1)
		fail("out of memory");
	return (out);
}

void
column_put(FILE *fp, const char *s, size_t width, bool path, bool last)
{
	char	*text = column_cut(s, width, path);
	size_t	 n = column_width(text);

	fputs(text, fp);
	if (last)
		fputc('\n', fp);
	else
		fprintf(fp, "%*s", (int)(width > n ? width - n : 0) +
		    COLUMN_GAP, "");
	free(text);
}
