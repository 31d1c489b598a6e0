#include <sys/stat.h>
#include <sys/xattr.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attr.h"
#include "clean.h"

#define XATTR_OPAQUE	"trusted.overlay.opaque"
#define XATTR_REDIRECT	"trusted.overlay.redirect"

/* What redirect says: a name beside the folder's own, or a path from the
 * overlay's root. */
static bool
fold_redirect(int fd, const char *above, bool has_above, char *lower)
{
	char	value[PATH_MAX];
	ssize_t	len;

	len = getxattr(fdpath(fd).s, XATTR_REDIRECT, value,
	    sizeof(value) - 1);
	if (len <= 0)
		return (false);
	value[len] = '\0';
	if (value[0] == '/')
		strcpy(lower, value + 1);
	else if (!has_above || at_join(above, value, lower) == -1)
		lower[0] = '\0';
	return (true);
}

/* Where path is among the landed ones, or would be. */
static size_t
fold_landed_at(const struct clean *c, const char *path)
{
	size_t	lo = 0, hi = c->nlanded, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (path_order(c->landed[mid], path) < 0)
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
	struct names	ns;
	char		sub[PATH_MAX];
	size_t		i = fold_landed_at(c, path), len = strlen(path);
	bool		r = true;

	if (i == c->nlanded)
		return (false);
	if (strcmp(c->landed[i], path) == 0)
		return (true);
	if (strncmp(c->landed[i], path, len) != 0 ||
	    c->landed[i][len] != '/' || !at_is_dir(c->base, path) ||
	    names_read(c->base, path, &ns) == -1)
		return (false);
	for (i = 0; r && i < ns.n; i++)
		r = at_join(path, ns.v[i], sub) == 0 && fold_landed(c, sub);
	names_free(&ns);
	return (r);
}

bool
fold_lower(struct clean *c, const char *path, const char *above,
    bool has_above, char *lower)
{
	const char	*slash = strrchr(path, '/');
	char		 opaque = '\0';
	bool		 has = false;
	int		 fd;

	lower[0] = '\0';
	if (*path == '\0')
		return (true);
	if ((fd = at_open(c->u, path, O_PATH | O_DIRECTORY)) == -1)
		return (false);
	if (getxattr(fdpath(fd).s, XATTR_OPAQUE, &opaque, 1) == 1 &&
	    opaque == 'y')
		;
	else if (fold_redirect(fd, above, has_above, lower))
		has = lower[0] != '\0';
	else if (has_above)
		has = at_join(above, slash != NULL ? slash + 1 : path,
		    lower) == 0;
	close(fd);
	if (has && at_is_dir(c->base, lower) && (strcmp(lower, path) == 0 ||
	    !fold_landed(c, lower)))
		return (true);
	lower[0] = '\0';
	return (false);
}

int
fold_drop(struct clean *c, const char *path)
{
	int	fd, r = 0;

	if ((fd = at_open(c->u, path, O_PATH | O_DIRECTORY)) == -1)
		return (-1);
	if ((removexattr(fdpath(fd).s, XATTR_OPAQUE) == -1 &&
	    errno != ENODATA) ||
	    (removexattr(fdpath(fd).s, XATTR_REDIRECT) == -1 &&
	    errno != ENODATA))
		r = -1;
	close(fd);
	return (r);
}

static int
fold_mark(int fd, const char *name, const char *value)
{
	return (setxattr(fdpath(fd).s, name, value, strlen(value), 0));
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

static int
fold_copy_file(int from, int dir, const char *name, const struct stat *st)
{
	int	in = -1, to = -1, r = -1;

	if (!S_ISREG(st->st_mode)) {
		if (mknodat(dir, name, st->st_mode & (S_IFMT | 07777),
		    st->st_rdev) == -1)
			return (-1);
		to = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	} else {
		in = openat(AT_FDCWD, fdpath(from).s, O_RDONLY | O_CLOEXEC);
		to = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0600);
		if (in == -1 || to == -1 || data_copy(in, to) == -1)
			goto out;
	}
	if (to != -1 && attr_copy(from, to, name) == 0)
		r = attr_copy_times(from, to);
out:
	if (in != -1)
		close(in);
	if (to != -1)
		close(to);
	return (r);
}

static int
fold_copy_link(int from, int dir, const char *name, const struct stat *st)
{
	char	text[PATH_MAX];
	ssize_t	len;

	if ((len = readlinkat(from, "", text, sizeof(text) - 1)) == -1)
		return (-1);
	text[len] = '\0';
	if (symlinkat(text, dir, name) == -1)
		return (-1);
	return (fchownat(dir, name, st->st_uid, st->st_gid,
	    AT_SYMLINK_NOFOLLOW));
}

/* What showed through from below comes into the layer: a folder as one that
 * says where it came from, everything else as a copy. */
static int
fold_bring(struct clean *c, const char *path, const char *lower)
{
	const char	*name;
	struct stat	 st;
	char		 value[PATH_MAX + 1];
	int		 from, dir, to, r = -1;

	if ((from = at_open(c->base, lower, O_PATH | O_NOFOLLOW)) == -1)
		return (-1);
	if ((dir = at_parent(c->u, path, &name)) == -1) {
		close(from);
		return (-1);
	}
	if (fstat(from, &st) == -1)
		;
	else if (S_ISLNK(st.st_mode))
		r = fold_copy_link(from, dir, name, &st);
	else if (!S_ISDIR(st.st_mode))
		r = fold_copy_file(from, dir, name, &st);
	else if (mkdirat(dir, name, 0700) == 0 && (to = openat(dir, name,
	    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) != -1) {
		snprintf(value, sizeof(value), "/%s", lower);
		if (attr_copy(from, to, name) == 0 &&
		    fold_mark(to, XATTR_REDIRECT, value) == 0)
			r = attr_copy_times(from, to);
		close(to);
	}
	close(dir);
	close(from);
	return (r);
}

/* path itself is one of the n. */
static bool
fold_listed(const char *path, const char **v, size_t n)
{
	size_t	i;

	for (i = 0; i < n; i++)
		if (strcmp(v[i], path) == 0)
			return (true);
	return (false);
}

/* Entries that showed through the folder from its place below. */
static int
fold_undo_lower(struct clean *c, const char *path, const char *lower,
    const struct names *own, const char **v, size_t n)
{
	struct names	ns;
	char		sub[PATH_MAX], below[PATH_MAX];
	size_t		i;
	int		r = 0;

	if (names_read(c->base, lower, &ns) == -1)
		return (-1);
	for (i = 0; r == 0 && i < ns.n; i++) {
		if (names_has(own, ns.v[i]))
			continue;
		if (at_join(path, ns.v[i], sub) == -1 ||
		    at_join(lower, ns.v[i], below) == -1)
			r = -1;
		else if (!fold_listed(sub, v, n) && !fold_landed(c, below))
			r = fold_bring(c, sub, below);
	}
	names_free(&ns);
	return (r);
}

/* Entries of the real folder that did not show: not now either. */
static int
fold_undo_base(struct clean *c, const char *path, const char **v, size_t n)
{
	struct names	ns, own;
	char		sub[PATH_MAX];
	size_t		i;
	int		dir, r = 0;

	if (names_read(c->u, path, &own) == -1)
		return (-1);
	if (names_read(c->base, path, &ns) == -1) {
		names_free(&own);
		return (-1);
	}
	if ((dir = at_open(c->u, path, O_PATH | O_DIRECTORY)) == -1)
		r = -1;
	for (i = 0; r == 0 && i < ns.n; i++) {
		if (names_has(&own, ns.v[i]))
			continue;
		r = at_join(path, ns.v[i], sub);
		if (r == 0 && !fold_listed(sub, v, n))
			r = whiteout_make(dir, ns.v[i]);
	}
	if (dir != -1)
		close(dir);
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
    bool has_lower, const char **v, size_t n)
{
	struct names	own;
	int		r;

	if (names_read(c->u, path, &own) == -1)
		return (-1);
	r = fold_pin_all(c, path, lower, has_lower, &own);
	if (r == 0 && has_lower)
		r = fold_undo_lower(c, path, lower, &own, v, n);
	if (r == 0)
		r = fold_drop_stale(c, path, &own);
	names_free(&own);
	if (r == 0)
		r = fold_undo_base(c, path, v, n);
	return (r == 0 ? fold_drop(c, path) : -1);
}

int
fold_open(struct clean *c, const char *path)
{
	const char	*name;
	int		 dir, from, to = -1, r = -1;

	if ((dir = at_parent(c->u, path, &name)) == -1)
		return (-1);
	from = at_open(c->base, path, O_PATH | O_DIRECTORY);
	if (from != -1 && unlinkat(dir, name, 0) == 0 &&
	    mkdirat(dir, name, 0700) == 0)
		to = openat(dir, name,
		    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to != -1 && attr_copy(from, to, name) == 0)
		r = fold_undo_base(c, path, NULL, 0);
	if (to != -1)
		close(to);
	if (from != -1)
		close(from);
	close(dir);
	return (r);
}
