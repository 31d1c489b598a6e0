#include <sys/stat.h>
#include <sys/xattr.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attr.h"
#include "clean.h"
#include "copy.h"
#include "fault.h"
#include "mountd.h"
#include "xattr.h"

/* What redirect says: a name beside the folder's own, or a path from the
 * overlay's root. */
static bool
fold_redirect(int fd, const char *above, bool has_above, char *lower)
{
	char	value[PATH_MAX];
	ssize_t	len;

	len = getxattr(fdpath(fd).s, xattr_name(XATTR_REDIRECT), value,
	    sizeof(value) - 1);
	if (len <= 0)
		return (false);
	value[len] = '\0';
	if (value[0] == '/')
		strlcpy(lower, value + 1, PATH_MAX);
	else if (!has_above || at_join(above, value, lower) == -1)
		lower[0] = '\0';
	return (true);
}

/* Where path is among the landed ones, or would be. */
static size_t
fold_landed_at(const struct clean *c, const char *path)
{
	size_t	lo = 0, hi = c->nlist, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (path_order(c->list[mid], path) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (lo);
}

/*
 * The base's entry at path is the landing's own: it was not there while the
 * session ran, so nothing of the session's lies on it. A folder is, if all
 * that it has is.
 */
static bool
fold_landed(struct clean *c, const char *path)
{
	struct names	 ns;
	struct walked	*l;
	size_t		 i = fold_landed_at(c, path), len = strlen(path);
	bool		 r = true;

	if (c->discard || i == c->nlist)
		return (false);
	if (strcmp(c->list[i], path) == 0)
		return (true);
	if (strncmp(c->list[i], path, len) != 0 ||
	    c->list[i][len] != '/' || !at_is_dir(c->base, path) ||
	    names_read(c->base, path, &ns) == -1)
		return (false);
	if ((l = walked_new()) == NULL)
		r = false;
	for (i = 0; r && i < ns.n; i++)
		r = at_join(path, ns.v[i], l->sub) == 0 &&
		    fold_landed(c, l->sub);
	names_free(&ns);
	free(l);
	return (r);
}

bool
fold_points(int fd, const char *name, const char *above, bool has_above,
    char *lower)
{
	char	opaque = '\0';

	lower[0] = '\0';
	if (getxattr(fdpath(fd).s, xattr_name(XATTR_OPAQUE), &opaque, 1) == 1 &&
	    opaque == 'y')
		return (false);
	if (fold_redirect(fd, above, has_above, lower))
		return (lower[0] != '\0');
	return (has_above && at_join(above, name, lower) == 0);
}

bool
fold_lower(struct clean *c, const char *path, const char *above,
    bool has_above, char *lower)
{
	const char	*slash = strrchr(path, '/');
	bool		 has;
	int		 fd;

	lower[0] = '\0';
	if (*path == '\0')
		return (true);
	if ((fd = at_open(c->u, path, O_PATH | O_DIRECTORY)) == -1)
		return (false);
	has = fold_points(fd, slash != NULL ? slash + 1 : path, above,
	    has_above, lower);
	close(fd);
	if (has && at_is_dir(c->base, lower) && (strcmp(lower, path) == 0 ||
	    !fold_landed(c, lower)))
		return (true);
	lower[0] = '\0';
	return (false);
}

static int
fold_mark(int fd, enum xattr mark, const char *value)
{
	return (setxattr(fdpath(fd).s, xattr_name(mark), value,
	    strlen(value), 0));
}

static int
fold_unmark(int fd, enum xattr mark)
{
	if (removexattr(fdpath(fd).s, xattr_name(mark)) == -1 &&
	    errno != ENODATA)
		return (-1);
	return (0);
}

int
fold_hide(int dir, const char *name)
{
	if (setxattr(fdpath(dir).s, xattr_name(XATTR_ORIGIN), "", 0,
	    XATTR_CREATE) == -1 && errno != EEXIST)
		return (-1);
	return (whiteout_make(dir, name));
}

/*
 * From now on it lies on nothing (opaque), or on the real one. The mark of
 * the one comes before that of the other place goes: at no moment a wrong
 * folder shows through.
 *
 * Which folder it was copied from is forgotten: a review would miss that one
 * below it and take it for the owner's doing. But it stays a copy, of who
 * knows what. Without an origin the kernel would at its next look write down
 * whatever is there then, as if the session had begun with that; and where
 * nothing is, it would look for no whiteouts, and show the names they hide.
 */
static int
fold_lay(struct clean *c, const char *path, bool opaque)
{
	int	fd, r;

	if ((fd = at_open(c->u, path, O_PATH | O_DIRECTORY)) == -1)
		return (-1);
	if ((r = fold_mark(fd, XATTR_ORIGIN, "")) == 0)
		r = opaque ? fold_mark(fd, XATTR_OPAQUE, "y") :
		    fold_unmark(fd, XATTR_OPAQUE);
	if (r == 0)
		r = fold_unmark(fd, XATTR_REDIRECT);
	close(fd);
	return (r);
}

/* A folder of the layer whose place below was implied by the one above it:
 * says it itself now. */
static int
fold_pin(struct clean *c, const char *path, const char *above, bool has_above)
{
	char	lower[PATH_MAX], value[PATH_MAX + 1];
	bool	has = fold_lower(c, path, above, has_above, lower);
	int	fd, r;

	if ((fd = at_open(c->u, path, O_PATH | O_DIRECTORY)) == -1)
		return (-1);
	if (has) {
		snprintf(value, sizeof(value), "/%s", lower);
		r = fold_mark(fd, XATTR_REDIRECT, value);
	} else
		r = fold_mark(fd, XATTR_OPAQUE, "y");
	close(fd);
	return (r);
}

/* Not to be a part of the ones that call themselves, for its room. */
static int __attribute__((noinline))
fold_bring_dir(struct clean *c, int from, const char *name,
    const char *lower)
{
	char	value[PATH_MAX + 1];
	int	to, r = -1;

	if (mkdirat(c->aside, name, 0700) == -1)
		return (-1);
	to = openat(c->aside, name,
	    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to == -1)
		return (-1);
	snprintf(value, sizeof(value), "/%s", lower);
	if (attr_copy(from, to, shown(lower)) == 0 &&
	    fold_mark(to, XATTR_REDIRECT, value) == 0)
		r = attr_copy_times(from, to);
	close(to);
	return (r);
}

/* Made aside: a part of it in the layer would be a change of the session's. */
static int
fold_bring_new(struct clean *c, int from, const char *path, const char *lower,
    bool is_dir, const struct stat *st)
{
	const char	*name, *new;
	int		 dir, r = -1;

	if ((new = aside_new(c)) == NULL ||
	    (dir = at_parent(c->u, path, &name)) == -1)
		return (-1);
	if (is_dir ? fold_bring_dir(c, from, new, lower) == 0 &&
	    origins_add(c, path, lower) == 0 :
	    entry_copy(from, c->aside, new, st) == 0)
		r = renameat2(c->aside, new, dir, name, RENAME_NOREPLACE);
	close(dir);
	return (r);
}

/* What showed through from below comes into the layer: a folder as one that
 * says where it came from (deep: with all that is in it), the rest copied. */
static int
fold_bring(struct clean *c, const char *path, const char *lower, bool deep)
{
	struct stat	st;
	bool		is_dir = false;
	int		from, r = -1;

	if ((from = at_open(c->base, lower, O_PATH | O_NOFOLLOW)) == -1)
		return (-1);
	if (fstat(from, &st) == 0) {
		is_dir = S_ISDIR(st.st_mode);
		r = fold_bring_new(c, from, path, lower, is_dir, &st);
	}
	close(from);
	return (r == 0 && is_dir && deep ? fold_flatten(c, path, lower, true) :
	    r);
}

/*
 * Entries that showed through the folder from its place below, but for what a
 * landing has put there itself. With deep all of them, whatever is in them;
 * else without those that are on the list.
 */
static int
fold_bring_lower(struct clean *c, const char *path, const char *lower,
    bool deep, const struct names *own)
{
	struct names	 ns;
	struct walked	*l;
	size_t		 i;
	int		 r = 0;

	if ((l = walked_new()) == NULL ||
	    names_read(c->base, lower, &ns) == -1) {
		free(l);
		return (-1);
	}
	for (i = 0; r == 0 && i < ns.n; i++) {
		if (names_has(own, ns.v[i]))
			continue;
		if (at_join(path, ns.v[i], l->sub) == -1 ||
		    at_join(lower, ns.v[i], l->below) == -1)
			r = clean_deep(path);
		else if ((deep || !clean_listed(c, l->sub)) &&
		    !fold_landed(c, l->below))
			r = fold_bring(c, l->sub, l->below, deep);
	}
	names_free(&ns);
	free(l);
	return (r);
}

/* Entries of the real folder that did not show: in dir, which is to lie on it,
 * not now either. */
static int
fold_undo_base(struct clean *c, int dir, const char *path)
{
	struct names	ns, own;
	char		sub[PATH_MAX];
	size_t		i;
	int		r = 0;

	if (names_read(dir, "", &own) == -1)
		return (-1);
	if (names_read(c->base, path, &ns) == -1) {
		names_free(&own);
		return (-1);
	}
	for (i = 0; r == 0 && i < ns.n; i++) {
		if (names_has(&own, ns.v[i]))
			continue;
		r = at_join(path, ns.v[i], sub);
		if (r == 0 && !clean_listed(c, sub))
			r = fold_hide(dir, ns.v[i]);
	}
	names_free(&own);
	names_free(&ns);
	return (r);
}

static int
fold_pin_all(struct clean *c, const char *path, const char *lower,
    bool has_lower, const struct names *own)
{
	char	sub[PATH_MAX];
	size_t	i;

	for (i = 0; i < own->n; i++)
		if (at_join(path, own->v[i], sub) == -1 ||
		    (at_is_dir(c->u, sub) &&
		    fold_pin(c, sub, lower, has_lower) == -1))
			return (-1);
	return (0);
}

/* Whiteouts that hid what showed through, where the real folder has nothing. */
static int
fold_drop_stale(struct clean *c, const char *path, const struct names *own)
{
	char		sub[PATH_MAX];
	struct stat	base;
	size_t		i;

	for (i = 0; i < own->n; i++)
		if (at_join(path, own->v[i], sub) == -1 ||
		    (!at_stat(c->base, sub, &base) &&
		    whiteout_drop(c->u, sub) == -1))
			return (-1);
	return (0);
}

int
fold_undo(struct clean *c, const char *path, const char *lower,
    bool has_lower)
{
	struct names	own;
	int		dir, r = -1;

	if (names_read(c->u, path, &own) == -1)
		return (-1);
	if ((dir = at_open(c->u, path, O_PATH | O_DIRECTORY)) != -1) {
		r = fold_pin_all(c, path, lower, has_lower, &own);
		if (r == 0 && has_lower)
			r = fold_bring_lower(c, path, lower, false, &own);
		if (r == 0)
			r = fold_undo_base(c, dir, path);
		close(dir);
	}
	/* They hide something until it lies on the other one. */
	if (r == 0 && (r = fold_lay(c, path, false)) == 0)
		r = fold_drop_stale(c, path, &own);
	names_free(&own);
	return (r);
}

/* Made aside with all that hides the rest: without room the whiteout stays. */
int
fold_open(struct clean *c, const char *path)
{
	const char	*new;
	int		 from, to = -1, r = -1;

	if ((new = aside_new(c)) == NULL ||
	    (from = at_open(c->base, path, O_PATH | O_DIRECTORY)) == -1)
		return (-1);
	if (mkdirat(c->aside, new, 0700) == 0)
		to = openat(c->aside, new,
		    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to != -1) {
		if (attr_copy(from, to, shown(path)) == 0 &&
		    fold_undo_base(c, to, path) == 0)
			r = step_open(c, path, new);
		close(to);
	}
	close(from);
	return (r);
}

/* The folders in it first: they say where they lie only while it does. */
static int
fold_flatten_own(struct clean *c, const char *path, const char *lower,
    bool has_lower, const struct names *own)
{
	struct walked	*l;
	bool		 has;
	size_t		 i;
	int		 r = 0;

	if ((l = walked_new()) == NULL)
		return (-1);
	for (i = 0; r == 0 && i < own->n; i++) {
		if (at_join(path, own->v[i], l->sub) == -1)
			r = clean_deep(path);
		else if (at_is_dir(c->u, l->sub)) {
			has = fold_lower(c, l->sub, lower, has_lower,
			    l->below);
			r = fold_flatten(c, l->sub, l->below, has);
		}
	}
	free(l);
	return (r);
}

int
fold_flatten(struct clean *c, const char *path, const char *lower,
    bool has_lower)
{
	struct names	own;
	int		r;

	child_alive();
	if (names_read(c->u, path, &own) == -1)
		return (-1);
	r = fold_flatten_own(c, path, lower, has_lower, &own);
	if (r == 0 && has_lower)
		r = fold_bring_lower(c, path, lower, true, &own);
	names_free(&own);
	return (r == 0 ? fold_lay(c, path, true) : -1);
}
