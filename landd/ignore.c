#include <sys/stat.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ignore.h"
#include "wildmatch.h"

#define IGNORE_MAX	(1 << 20)

/* Blanks at the end do not count, but for one behind a backslash. */
static size_t
ignore_trim(const char *s, size_t len)
{
	size_t	i, end = 0;

	for (i = 0; i < len; i++) {
		if (s[i] == '\\' && i + 1 < len)
			i++;
		else if (s[i] == ' ')
			continue;
		end = i + 1;
	}
	return (end);
}

static int
ignore_rule(struct ignore *ig, const char *s, size_t len)
{
	struct ignore_rule	 rule = { 0 }, *v;

	len = ignore_trim(s, len);
	if (len > 0 && *s == '!') {
		rule.negate = true;
		s++;
		len--;
	}
	if (len > 0 && s[len - 1] == '/') {
		rule.dir = true;
		len--;
	}
	rule.name = memchr(s, '/', len) == NULL;
	if (len > 0 && *s == '/') {
		s++;
		len--;
	}
	if (len == 0)
		return (0);
	if ((rule.text = strndup(s, len)) == NULL)
		return (-1);
	v = reallocarray(ig->v, ig->n + 1, sizeof(*v));
	if (v == NULL) {
		free(rule.text);
		return (-1);
	}
	ig->v = v;
	v[ig->n++] = rule;
	return (0);
}

static int
ignore_parse(struct ignore *ig, const char *s, size_t len)
{
	const char	*nl, *end = s + len;
	size_t		 n;

	if (len >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0)
		s += 3;
	for (; s < end; s = nl + 1) {
		if ((nl = memchr(s, '\n', (size_t)(end - s))) == NULL)
			nl = end;
		n = (size_t)(nl - s);
		if (n > 0 && nl < end && s[n - 1] == '\r')
			n--;
		if (n == 0 || *s == '#' || memchr(s, '\0', n) != NULL)
			continue;
		if (ignore_rule(ig, s, n) == -1)
			return (-1);
	}
	return (0);
}

/* All of fd, or NULL: none, or not for us (errno 0), or no memory. */
static char *
ignore_slurp(int fd, size_t *len)
{
	struct stat	 st;
	char		*s;
	ssize_t		 n;

	errno = 0;
	*len = 0;
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > IGNORE_MAX) {
		errno = 0;
		return (NULL);
	}
	if ((s = malloc((size_t)st.st_size)) == NULL)
		return (NULL);
	while (*len < (size_t)st.st_size &&
	    (n = read(fd, s + *len, (size_t)st.st_size - *len)) > 0)
		*len += (size_t)n;
	return (s);
}

static void
ignore_free_one(struct ignore *ig)
{
	size_t	i;

	for (i = 0; i < ig->n; i++)
		free(ig->v[i].text);
	free(ig->v);
	free(ig->base);
	free(ig);
}

static struct ignore *
ignore_new(const char *base)
{
	struct ignore	*ig;
	size_t		 len = strlen(base);

	if ((ig = calloc(1, sizeof(*ig))) == NULL)
		return (NULL);
	if ((ig->base = malloc(len + 2)) == NULL) {
		free(ig);
		return (NULL);
	}
	memcpy(ig->base, base, len);
	if (len > 0)
		ig->base[len++] = '/';
	ig->base[len] = '\0';
	return (ig);
}

struct ignore *
ignore_read(int fd, const char *base, struct ignore *up, struct ignore **made,
    bool *failed)
{
	struct ignore	*ig = NULL;
	char		*s;
	size_t		 len;

	s = ignore_slurp(fd, &len);
	if (s == NULL && errno == ENOMEM)
		*failed = true;
	close(fd);
	if (s == NULL)
		return (up);
	if ((ig = ignore_new(base)) == NULL ||
	    ignore_parse(ig, s, len) == -1) {
		*failed = true;
		if (ig != NULL)
			ignore_free_one(ig);
		free(s);
		return (up);
	}
	free(s);
	if (ig->n == 0) {
		ignore_free_one(ig);
		return (up);
	}
	ig->up = up;
	ig->made = *made;
	*made = ig;
	return (ig);
}

/*
 * A rule with a slash. Its beginning without a wildcard is compared first,
 * as git does it: then "b**" + "/x" counts as begun with a double star.
 */
static bool
ignore_path(const char *rule, const char *path)
{
	size_t	plain = strcspn(rule, "*?[\\");

	return (strncmp(rule, path, plain) == 0 &&
	    wildmatch(rule + plain, path + plain, true));
}

bool
ignore_match(const struct ignore *ig, const char *path, bool dir)
{
	const struct ignore_rule	*r;
	const char			*name, *rest;
	size_t				 i;

	name = strrchr(path, '/');
	name = name == NULL ? path : name + 1;
	for (; ig != NULL; ig = ig->up) {
		rest = path + strlen(ig->base);
		for (i = ig->n; i-- > 0;) {
			r = &ig->v[i];
			if (r->dir && !dir)
				continue;
			if (r->name ? wildmatch(r->text, name, false) :
			    ignore_path(r->text, rest))
				return (!r->negate);
		}
	}
	return (false);
}

void
ignore_free(struct ignore *ig)
{
	struct ignore	*next;

	for (; ig != NULL; ig = next) {
		next = ig->made;
		ignore_free_one(ig);
	}
}
