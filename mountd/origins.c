#include <sys/stat.h>
#include <sys/xattr.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/origins.h"
#include "attr.h"
#include "clean.h"
#include "mountd.h"
#include "xattr.h"

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
	v->flat = false;
	c->norigins++;
	return (v->path == NULL || v->lower == NULL ? -1 : 0);
}

/* The real file of the same path is what this one was copied from. */
static bool
file_at_home(struct clean *c, const char *path, const unsigned char *origin,
    size_t len)
{
	unsigned char	real[ORIGINS_ATTR];
	size_t		n;
	int		fd;

	if ((fd = at_open(c->lower, path, O_PATH | O_NOFOLLOW)) == -1)
		return (false);
	n = origin_of(fd, "", real);
	close(fd);
	return (n != 0 && n == len &&
	    origin[ORIGIN_TYPE] == real[ORIGIN_TYPE] &&
	    memcmp(origin + ORIGIN_FID, real + ORIGIN_FID,
	    n - ORIGIN_FID) == 0);
}

/* One that was copied up and moved: its origin is forgotten. Those that are
 * where they were keep theirs, by which reviews know them. */
static int
origins_file(struct clean *c, const char *path)
{
	unsigned char	origin[256];
	ssize_t		len;
	int		fd, r = 0;

	if ((fd = at_open(c->u, path, O_PATH | O_NOFOLLOW)) == -1)
		return (-1);
	len = getxattr(fdpath(fd).s, xattr_name(XATTR_ORIGIN), origin,
	    sizeof(origin));
	if (len > ORIGIN_FID && !file_at_home(c, path, origin, (size_t)len) &&
	    !step_held(c, path))
		r = removexattr(fdpath(fd).s, xattr_name(XATTR_ORIGIN));
	close(fd);
	return (r);
}

static int	origins_entry(struct clean *, const char *, const char *,
		    bool, const char *, struct walked *);

/* Everything in the layer, and where its folders lie. */
static int
origins_scan(struct clean *c, const char *path, const char *lower, bool has)
{
	struct names	 ns;
	struct walked	*l;
	size_t		 i;
	int		 r = 0;

	child_alive();
	if ((l = walked_new()) == NULL ||
	    names_read(c->u, path, &ns) == -1) {
		free(l);
		return (-1);
	}
	for (i = 0; r == 0 && i < ns.n; i++)
		r = origins_entry(c, path, lower, has, ns.v[i], l);
	names_free(&ns);
	free(l);
	return (r);
}

static int
origins_entry(struct clean *c, const char *path, const char *lower, bool has,
    const char *name, struct walked *l)
{
	struct stat	st;
	bool		lies;

	if (at_join(path, name, l->sub) == -1)
		return (clean_names(c, path) ? 0 : clean_deep(path));
	if (!at_stat(c->u, l->sub, &st))
		return (-1);
	if (S_ISREG(st.st_mode))
		return (origins_file(c, l->sub));
	if (!S_ISDIR(st.st_mode))
		return (0);
	lies = fold_lower(c, l->sub, lower, has, l->below);
	if (lies && strcmp(l->sub, l->below) != 0 &&
	    origins_add(c, l->sub, l->below) == -1)
		return (-1);
	return (origins_scan(c, l->sub, l->below, lies));
}

/* "/" and a name: common/path.h's functions are for absolute paths. */
static bool
lies_within(const char *dir, const char *path)
{
	size_t	len = strlen(dir);

	return (strncmp(dir, path, len) == 0 &&
	    (len == 0 || path[len] == '\0' || path[len] == '/'));
}

/* With all that is in it: none of that lies on anything now. */
static int
origins_flatten(struct clean *c, const struct origin *o)
{
	const char	*path = o->path;
	size_t		 i;

	if (fold_flatten(c, path, o->lower, true) == -1)
		return (-1);
	for (i = 0; i < c->norigins; i++)
		if (lies_within(path, c->origins[i].path))
			c->origins[i].flat = true;
	return (0);
}

int
origins_part(struct clean *c, const char *path)
{
	const struct origin	*o;
	size_t			 i;

	/* A landing has changed the base: what showed through is not there
	 * any more, and copies would be of something else. */
	if ((!c->discard && !c->ended) || clean_names(c, ""))
		return (0);
	if (!c->scanned && origins_scan(c, "", "", true) == -1)
		return (-1);
	c->scanned = true;
	for (i = 0; i < c->norigins; i++) {
		o = &c->origins[i];
		if (o->flat || strcmp(o->path, path) == 0 ||
		    !lies_within(path, o->lower) || clean_names(c, o->path) ||
		    !at_is_dir(c->u, o->path))
			continue;
		/* One that is held is found by the comparison. */
		if (!step_held(c, o->path) && origins_flatten(c, o) == -1)
			return (-1);
	}
	return (0);
}
