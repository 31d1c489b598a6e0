#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attr.h"
#include "clean.h"
#include "mountd.h"

/* A folder of the layer while its listed entries are gone through. */
struct strip {
	const char	*path;
	char		 lower[PATH_MAX];	/* the base's folder below it */
	bool		 has_lower, plain;	/* plain: of the same path */
	bool		 based;		/* the base has a folder of this path */
	bool		 held;
	bool		 all;		/* every entry is meant */
	bool		 exact;		/* it is on the list itself */
	bool		 changed;
};

static int	strip_dir(struct clean *, const char *, const struct strip *,
		    bool, const char **, size_t);

/* Whether a held folder, as the kernel keeps it, has the real one in it: a
 * merged folder's number is the lowest layer's (its top byte is xino's). */
static bool
strip_shows_real(struct clean *c, const char *path)
{
	const uint64_t	mask = UINT64_C(0x00ffffffffffffff);
	struct stat	merged, real;

	return (!c->blind && at_stat(c->merged, path, &merged) &&
	    at_stat(c->lower, path, &real) &&
	    (merged.st_ino & mask) == (real.st_ino & mask));
}

/* What the base has at this path, if anything, is going to show again. */
static int
strip_reveal(struct clean *c, const char *path)
{
	struct stat	st;

	return (at_stat(c->base, path, &st) ? origins_part(c, path) : 0);
}

/* A whole entry: of a landing no folder, of a discard whatever it is. */
static int
strip_whole(struct clean *c, const char *path)
{
	struct stat	base;

	if (!step_held(c, path)) {
		if (strip_reveal(c, path) == -1)
			return (-1);
		return (step_aside(c, path));
	}
	if (!c->discard)
		return (names_add(&c->left, path));
	return (clean_later(c, at_stat(c->base, path, &base) ? LATER_SYNC :
	    LATER_REMOVE, path));
}

/* What was listed in a folder that had been removed. */
static int
strip_opened(struct clean *c, const char *path, const char **v, size_t n)
{
	struct strip	*above;
	const char	*name;
	int		 r;

	if ((above = calloc(1, sizeof(*above))) == NULL)
		return (-1);
	above->plain = above->has_lower = true;
	if ((name = strrchr(path, '/')) != NULL)
		memcpy(above->lower, path, (size_t)(name - path));
	r = strip_dir(c, path, above, false, v, n);
	free(above);
	return (r);
}

static int
strip_whiteout(struct clean *c, const char *path, bool exact,
    const char **v, size_t n)
{
	struct stat	base;

	if (exact || !at_stat(c->base, path, &base)) {
		if (strip_reveal(c, path) == -1)
			return (-1);
		return (step_aside(c, path));
	}
	/* What is below is wanted, the rest stays deleted. Of a landing's
	 * paths there is nothing below that the real folder still has. */
	if (!c->discard || !S_ISDIR(base.st_mode))
		return (0);
	if (strip_reveal(c, path) == -1 || fold_open(c, path) == -1)
		return (-1);
	return (strip_opened(c, path, v, n));
}

/* Not in the layer, but it may show from where the folder came from. Not to be
 * a part of the one that calls itself, for its room. */
static int __attribute__((noinline))
strip_absent(struct clean *c, const struct strip *s, const char *path,
    bool exact)
{
	const char	*slash = strrchr(path, '/'), *name;
	char		 lower[PATH_MAX];
	struct stat	 st;
	int		 dir, r;

	if (!exact || !c->discard || s->plain || !s->has_lower || s->based ||
	    at_join(s->lower, slash != NULL ? slash + 1 : path, lower) == -1 ||
	    !at_stat(c->base, lower, &st))
		return (0);
	if (c->merged != -1)
		return (clean_later(c, LATER_REMOVE, path));
	if ((dir = at_parent(c->u, path, &name)) == -1)
		return (-1);
	r = fold_hide(dir, name);
	close(dir);
	return (r);
}

static int
strip_entry(struct clean *c, struct strip *s, const char *path, bool exact,
    const char **v, size_t n)
{
	struct stat	st;

	child_alive();
	if (!at_stat(c->u, path, &st))
		return (strip_absent(c, s, path, exact));
	s->changed = true;
	if (whiteout_is(&st))
		return (strip_whiteout(c, path, exact, v, n));
	if (!S_ISDIR(st.st_mode))
		return (exact ? strip_whole(c, path) : 0);
	if (!c->discard || !exact)
		return (strip_dir(c, path, s, false, v, n));
	/* Folders that are held have to stay, where there is one. */
	if (step_held(c, path) && at_is_dir(c->base, path))
		return (strip_dir(c, path, s, true, v, n));
	return (strip_whole(c, path));
}

/*
 * A held folder that the kernel keeps without the real one below it: what is
 * taken out of the layer would be gone in there.
 */
static int
strip_stuck(struct clean *c, const char *path, bool all, const char **v,
    size_t n)
{
	size_t	i;

	if (all) {
		if (clean_later(c, LATER_SYNC, path) == -1)
			return (-1);
		return (names_add(&c->left, path));
	}
	for (i = 0; i < n; i++)
		if (clean_later(c, c->discard ? LATER_SYNC : LATER_SHOW,
		    v[i]) == -1 || names_add(&c->left, v[i]) == -1)
			return (-1);
	return (n == 0 ? names_add(&c->left, path) : 0);
}

/*
 * A folder that cannot lie on the real one before the session's end. A
 * landing took from where it lies now, so it lies on nothing.
 */
static int
strip_alone(struct clean *c, const struct strip *s, const char **v, size_t n)
{
	if (!c->discard &&
	    fold_flatten(c, s->path, s->lower, s->has_lower) == -1)
		return (-1);
	return (strip_stuck(c, s->path, s->all, v, n));
}

/* The listed paths below the folder, by its entries. */
static int
strip_listed(struct clean *c, struct strip *s, const char **v, size_t n)
{
	struct walked	*l;
	size_t		 i, j, end, len = strlen(s->path);
	bool		 exact;
	int		 r = 0;

	if ((l = walked_new()) == NULL)
		return (-1);
	if (len > 0)
		len++;
	for (i = 0; r == 0 && i < n; i = j) {
		end = len + strcspn(v[i] + len, "/");
		memcpy(l->sub, v[i], end);
		l->sub[end] = '\0';
		exact = v[i][end] == '\0';
		for (j = i + 1; j < n && strncmp(v[j], l->sub, end) == 0 &&
		    v[j][end] == '/'; j++)
			;
		r = strip_entry(c, s, l->sub, exact, v + i + exact,
		    j - i - exact);
	}
	free(l);
	return (r);
}

static int
strip_everything(struct clean *c, struct strip *s)
{
	struct names	 ns;
	struct walked	*l;
	size_t		 i;
	int		 r = 0;

	if ((l = walked_new()) == NULL ||
	    names_read(c->u, s->path, &ns) == -1) {
		free(l);
		return (-1);
	}
	for (i = 0; r == 0 && i < ns.n; i++)
		r = at_join(s->path, ns.v[i], l->sub) == -1 ?
		    clean_deep(s->path) :
		    strip_entry(c, s, l->sub, true, NULL, 0);
	names_free(&ns);
	free(l);
	return (r);
}

/* For a discard a folder gets the real one's owner and mode back. */
static int
strip_attr(struct clean *c, const struct strip *s, bool *same)
{
	int	u, base, r = 0;

	u = at_open(c->u, s->path, O_PATH | O_DIRECTORY);
	base = at_open(c->base, s->path, O_PATH | O_DIRECTORY);
	if (u == -1 || base == -1)
		r = -1;
	else if (!(*same = attr_same(u, base)) && s->all) {
		if (s->held)
			r = clean_later(c, LATER_ATTR, s->path);
		else if ((r = attr_copy(base, u, s->path)) == 0)
			*same = true;
	}
	if (u != -1)
		close(u);
	if (base != -1)
		close(base);
	return (r);
}

/* A folder with nothing in it that is like the real one need not be there. */
static int
strip_settle(struct clean *c, const struct strip *s)
{
	bool	same = false;

	if (!s->based || !s->plain)
		return (0);
	if (strip_attr(c, s, &same) == -1)
		return (-1);
	if (*s->path == '\0')
		return (0);
	if (s->held)
		return (s->changed || s->exact ?
		    names_add(&c->left, s->path) : 0);
	if (!same || !at_is_empty(c->u, s->path))
		return (0);
	return (step_aside(c, s->path));
}

static int
strip_folder(struct clean *c, struct strip *s, const struct strip *above,
    const char **v, size_t n)
{
	const char	*path = s->path;
	int		 r;

	s->exact = clean_names(c, path);
	s->has_lower = fold_lower(c, path, above->lower, above->has_lower,
	    s->lower);
	s->plain = s->has_lower && strcmp(s->lower, path) == 0;
	s->based = at_is_dir(c->base, path);
	s->held = step_held(c, path);
	if (s->held && *path != '\0' && s->based &&
	    (!s->plain || !strip_shows_real(c, path)))
		return (strip_stuck(c, path, s->all, v, n));
	if (s->based && !s->plain) {
		if ((r = step_trial(c, path)) == 0)
			return (strip_alone(c, s, v, n));
		if (r == -1 || strip_reveal(c, path) == -1 ||
		    fold_undo(c, path, s->lower, s->has_lower) == -1)
			return (-1);
		s->plain = s->has_lower = true;
		strlcpy(s->lower, path, sizeof(s->lower));
	}
	r = s->all ? strip_everything(c, s) : strip_listed(c, s, v, n);
	if (r == 0 && s->held && s->changed)
		r = names_add(&c->touched, path);
	return (r == 0 ? strip_settle(c, s) : -1);
}

static int
strip_dir(struct clean *c, const char *path, const struct strip *above,
    bool all, const char **v, size_t n)
{
	struct strip	*s;
	int		 r;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return (-1);
	s->path = path;
	s->all = all;
	r = strip_folder(c, s, above, v, n);
	free(s);
	return (r);
}

int
strip_paths(struct clean *c)
{
	struct strip	above = { .has_lower = true, .plain = true };
	bool		all = c->list[0][0] == '\0';

	return (strip_dir(c, "", &above, all, c->list, c->nlist));
}
