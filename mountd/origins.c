#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../common/path.h"
#include "clean.h"
#include "mountd.h"

int
origins_add(struct clean *c, const char *path, const char *lower)
{
	struct origin	*v;

	v = reallocarray(c->origins, c->norigins + 1, sizeof(*v));
	if (v == NULL)
		return (-1);
	c->origins = v;
	v += c->norigins;
	v->path = strdup(path);
	v->lower = strdup(lower);
	c->norigins++;
	return (v->path == NULL || v->lower == NULL ? -1 : 0);
}

/* Every folder of the layer, and where it lies. */
static int
origins_scan(struct clean *c, const char *path, const char *lower, bool has)
{
	struct names	ns;
	char		sub[PATH_MAX], below[PATH_MAX];
	bool		lies;
	size_t		i;
	int		r = 0;

	child_alive();
	if (names_read(c->u, path, &ns) == -1)
		return (-1);
	for (i = 0; r == 0 && i < ns.n; i++) {
		if ((r = at_join(path, ns.v[i], sub)) == -1 ||
		    !at_is_dir(c->u, sub))
			continue;
		lies = fold_lower(c, sub, lower, has, below);
		if (lies && strcmp(sub, below) != 0)
			r = origins_add(c, sub, below);
		if (r == 0)
			r = origins_scan(c, sub, below, lies);
	}
	names_free(&ns);
	return (r);
}

/* "/" and a name: common/path.h's functions are for absolute paths. */
static bool
lies_within(const char *dir, const char *path)
{
	size_t	len = strlen(dir);

	return (strncmp(dir, path, len) == 0 &&
	    (len == 0 || path[len] == '\0' || path[len] == '/'));
}

int
origins_part(struct clean *c, const char *path)
{
	const struct origin	*o;
	size_t			 i;

	/* A landing has changed the base: what showed through is not there
	 * any more, and copies would be of something else. */
	if (!c->discard || clean_names(c, ""))
		return (0);
	if (!c->scanned && origins_scan(c, "", "", true) == -1)
		return (-1);
	c->scanned = true;
	for (i = 0; i < c->norigins; i++) {
		o = &c->origins[i];
		if (strcmp(o->path, path) == 0 ||
		    !lies_within(path, o->lower) || clean_names(c, o->path) ||
		    !at_is_dir(c->u, o->path))
			continue;
		/* One that is held is found by the comparison. */
		if (!step_held(c, o->path) &&
		    fold_flatten(c, o->path, o->lower) == -1)
			return (-1);
	}
	return (0);
}
