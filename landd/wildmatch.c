/*
 * Written from gitignore(5) and compared with git check-ignore on random
 * patterns. A star that failed for good tells the stars before it (STOP:
 * nothing further right can match; UP: only a ** can), and the steps are
 * counted, so a pattern full of stars does not hang a review.
 */
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "wildmatch.h"

#define WILD_STEPS	200000

enum wild { WILD_NO, WILD_YES, WILD_STOP, WILD_UP };

struct wild_state {
	const char	*start;		/* of the pattern */
	bool		 slashes;
	int		 steps;
};

static enum wild wild_from(struct wild_state *, const char *, const char *);

static const struct {
	const char	*name;
	int		(*is)(int);
} wild_classes[] = {
	{ "alnum", isalnum }, { "alpha", isalpha }, { "blank", isblank },
	{ "cntrl", iscntrl }, { "digit", isdigit }, { "graph", isgraph },
	{ "lower", islower }, { "print", isprint }, { "punct", ispunct },
	{ "space", isspace }, { "upper", isupper }, { "xdigit", isxdigit },
};

/* [:name:] at p: its end, or NULL; an unknown name matches nothing at all. */
static const char *
wild_class(const char *p, unsigned char c, bool *in, bool *broken)
{
	const char	*end = strchr(p + 2, ']');
	size_t		 i, len;

	if (end == NULL) {
		*broken = true;
		return (NULL);
	}
	if (end - p < 3 || end[-1] != ':')
		return (NULL);		/* an ordinary [ in the set */
	len = (size_t)(end - 1 - (p + 2));
	for (i = 0; i < sizeof(wild_classes) / sizeof(*wild_classes); i++)
		if (strlen(wild_classes[i].name) == len &&
		    strncmp(wild_classes[i].name, p + 2, len) == 0) {
			if (wild_classes[i].is(c))
				*in = true;
			return (end + 1);
		}
	*broken = true;
	return (NULL);
}

/*
 * The set whose first byte after [ and ! is at p: whether c is in it, and
 * behind its ]. NULL where it never ends.
 */
static const char *
wild_set(const char *p, unsigned char c, bool *in)
{
	const char	*next;
	unsigned char	 low, high, last = 0;
	bool		 broken = false, first = true;

	for (*in = false; first || *p != ']'; first = false) {
		if (*p == '[' && p[1] == ':') {
			next = wild_class(p, c, in, &broken);
			if (broken)
				return (NULL);
			if (next != NULL) {
				p = next;
				last = 0;
				continue;
			}
		} else if (*p == '-' && last != 0 && p[1] != '\0' &&
		    p[1] != ']') {
			if (*++p == '\\' && *++p == '\0')
				return (NULL);
			low = last;
			high = (unsigned char)*p++;
			if (c >= low && c <= high)
				*in = true;
			last = 0;
			continue;
		} else if (*p == '\\')
			p++;
		if (*p == '\0')
			return (NULL);
		last = (unsigned char)*p++;
		if (last == c)
			*in = true;
	}
	return (p + 1);
}

/* Behind the stars at p; whether they go over slashes, and whether they and
 * the slash after them may stand for nothing at all. */
static const char *
wild_stars(const struct wild_state *w, const char *p, bool *over, bool *nil)
{
	const char	*first = p;
	bool		 two;

	while (p[1] == '*')
		p++;
	two = p != first;
	*over = !w->slashes;
	*nil = false;
	if (two && w->slashes && (first == w->start || first[-1] == '/') &&
	    (p[1] == '\0' || p[1] == '/' || (p[1] == '\\' && p[2] == '/'))) {
		*over = true;
		*nil = p[1] == '/';
	}
	return (p + 1);
}

static enum wild
wild_star(struct wild_state *w, const char *p, const char *t)
{
	enum wild	 got;
	bool		 over, nil;

	p = wild_stars(w, p, &over, &nil);
	if (nil && wild_from(w, p + 1, t) == WILD_YES)
		return (WILD_YES);
	if (*p == '\0')
		return (over || strchr(t, '/') == NULL ? WILD_YES : WILD_UP);
	if (!over && *p == '/') {
		/* A star before a slash ends at the next slash. */
		if ((t = strchr(t, '/')) == NULL)
			return (WILD_STOP);
		return (wild_from(w, p, t));
	}
	for (; *t != '\0'; t++) {
		got = wild_from(w, p, t);
		if (got == WILD_YES || got == WILD_STOP)
			return (got);
		if (got == WILD_UP && !over)
			return (WILD_UP);
		if (!over && *t == '/')
			return (WILD_UP);
	}
	return (WILD_STOP);
}

/* One byte of text against the element at p; behind it, or NULL. */
static const char *
wild_one(const struct wild_state *w, const char *p, char c)
{
	bool	in, no;

	switch (*p) {
	case '?':
		return (w->slashes && c == '/' ? NULL : p + 1);
	case '[':
		no = p[1] == '!' || p[1] == '^';
		p = wild_set(p + 1 + no, (unsigned char)c, &in);
		if (p == NULL || in == no || (w->slashes && c == '/'))
			return (NULL);
		return (p);
	case '\\':
		p++;
		/* FALLTHROUGH */
	default:
		return (*p != '\0' && *p == c ? p + 1 : NULL);
	}
}

static enum wild
wild_from(struct wild_state *w, const char *p, const char *t)
{
	for (; *p != '\0'; t++) {
		if (++w->steps > WILD_STEPS)
			return (WILD_STOP);
		if (*p == '*')
			return (wild_star(w, p, t));
		if (*t == '\0')
			return (WILD_STOP);
		if ((p = wild_one(w, p, *t)) == NULL)
			return (WILD_NO);
	}
	return (*t == '\0' ? WILD_YES : WILD_NO);
}

bool
wildmatch(const char *pattern, const char *text, bool slashes)
{
	struct wild_state	w = { .start = pattern, .slashes = slashes };

	return (wild_from(&w, pattern, text) == WILD_YES);
}
