/*
 * What is done through the live overlay, as any process would: coherent for
 * whoever holds something open there.
 */
#include <sys/stat.h>
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
#include "mountd.h"
#include "rm.h"

static int	through_sync(struct clean *, const char *);

static int
through_remove(struct clean *c, const char *path)
{
	const char	*name;
	int		 dir, r;

	if ((dir = at_parent(c->merged, path, &name)) == -1)
		return (errno == ENOENT ? 0 : -1);
	r = rm_all(dir, name);
	close(dir);
	return (r);
}

/* The bytes into the file that is there: whoever has it open sees them. */
static int
through_write(struct clean *c, const char *path)
{
	int	from, to, r = -1, err;

	if ((from = at_open(c->base, path, O_RDONLY | O_NOFOLLOW)) == -1)
		return (-1);
	to = at_open(c->merged, path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
	if (to != -1) {
		if (data_copy(from, to) == 0)
			r = attr_copy_all(from, to, path);
		err = errno;
		close(to);
		errno = err;
	}
	err = errno;
	close(from);
	errno = err;
	return (r);
}

/* Something of the base's where nothing is in the view. */
static int
through_new(struct clean *c, const char *path, const struct stat *st)
{
	const char	*name;
	int		 from, dir, r = -1;

	if ((from = at_open(c->base, path, O_PATH | O_NOFOLLOW)) == -1)
		return (-1);
	if ((dir = at_parent(c->merged, path, &name)) != -1) {
		if (S_ISDIR(st->st_mode))
			r = mkdirat(dir, name, 0700);
		else
			r = entry_copy(from, dir, name, st);
		close(dir);
	}
	close(from);
	return (r);
}

static int
through_attr(struct clean *c, const char *path)
{
	int	from, to, r = -1;

	from = at_open(c->base, path, O_PATH | O_DIRECTORY);
	to = at_open(c->merged, path, O_PATH | O_DIRECTORY);
	if (from != -1 && to != -1)
		r = attr_same(from, to) ? 0 : attr_copy_all(from, to, path);
	if (from != -1)
		close(from);
	if (to != -1)
		close(to);
	return (r);
}

/* Every entry of either folder. */
static int
through_sync_dir(struct clean *c, const char *path)
{
	struct names	 ns;
	struct walked	*l;
	size_t		 i, turn;
	int		 r = 0;

	if ((l = walked_new()) == NULL)
		return (-1);
	for (turn = 0; r == 0 && turn < 2; turn++) {
		if ((r = names_read(turn == 0 ? c->merged : c->base, path,
		    &ns)) == -1)
			break;
		for (i = 0; r == 0 && i < ns.n; i++) {
			if (at_join(path, ns.v[i], l->sub) == -1)
				r = clean_deep(path);
			/* First time those are done that must go. */
			else if (turn == 1 ||
			    !at_stat(c->base, l->sub, &(struct stat){ 0 }))
				r = through_sync(c, l->sub);
		}
		names_free(&ns);
	}
	free(l);
	return (r == 0 ? through_attr(c, path) : -1);
}

/* The base's own: nothing that was copied has its change time. */
static bool
through_unchanged(const struct stat *a, const struct stat *b)
{
	return (a->st_mode == b->st_mode && a->st_size == b->st_size &&
	    a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	    a->st_ctim.tv_nsec == b->st_ctim.tv_nsec);
}

/* A program that runs cannot be written to: it keeps what it has, and the
 * name gets a new file. What is made here stays until the session's end. */
static int
through_sync(struct clean *c, const char *path)
{
	struct stat	base, st;
	bool		is = at_stat(c->merged, path, &st);

	child_alive();
	if (!at_stat(c->base, path, &base))
		return (is ? through_remove(c, path) : 0);
	if (is && !S_ISDIR(st.st_mode) && through_unchanged(&st, &base))
		return (0);
	if (names_add(&c->left, path) == -1)
		return (-1);
	if (is && S_ISREG(st.st_mode) && S_ISREG(base.st_mode) &&
	    through_write(c, path) == 0)
		return (0);
	if (is && !(S_ISDIR(st.st_mode) && S_ISDIR(base.st_mode))) {
		if (through_remove(c, path) == -1)
			return (-1);
		is = false;
	}
	if (!is && through_new(c, path, &base) == -1)
		return (-1);
	return (S_ISDIR(base.st_mode) ? through_sync_dir(c, path) : 0);
}

/* Only the folder: its entries are named one by one. */
static int
through_show_dir(struct clean *c, const char *path)
{
	struct stat	base;

	if (names_add(&c->left, path) == -1 ||
	    !at_stat(c->base, path, &base))
		return (-1);
	if (!at_is_dir(c->merged, path) &&
	    (through_remove(c, path) == -1 ||
	    through_new(c, path, &base) == -1))
		return (-1);
	return (through_attr(c, path));
}

/* After a landing the bytes are the same, where there are any. */
static int
through_show(struct clean *c, const char *path)
{
	struct stat	base, st;

	if (!at_stat(c->base, path, &base))
		return (0);
	if (!at_stat(c->merged, path, &st) || st.st_mode != base.st_mode ||
	    (S_ISREG(st.st_mode) && st.st_size != base.st_size))
		return (S_ISDIR(base.st_mode) ? through_show_dir(c, path) :
		    through_sync(c, path));
	return (0);
}

/* The folders above, where they are missing in the view. */
static int
through_parents(struct clean *c, const char *path)
{
	char		 above[PATH_MAX];
	const char	*slash = path;
	struct stat	 base;

	while ((slash = strchr(slash, '/')) != NULL) {
		memcpy(above, path, (size_t)(slash - path));
		above[slash - path] = '\0';
		slash++;
		if (at_is_dir(c->merged, above))
			continue;
		/* Not even the base has it: then path is to be nowhere. */
		if (!at_is_dir(c->base, above))
			return (0);
		if (through_remove(c, above) == -1 ||
		    !at_stat(c->base, above, &base) ||
		    through_new(c, above, &base) == -1 ||
		    through_attr(c, above) == -1 ||
		    names_add(&c->left, above) == -1)
			return (-1);
	}
	return (0);
}

int
through_run(struct clean *c, const struct later *l)
{
	switch (l->what) {
	case LATER_REMOVE:
		return (through_remove(c, l->path));
	case LATER_SYNC:
		if (through_parents(c, l->path) == -1)
			return (-1);
		return (through_sync(c, l->path));
	case LATER_SHOW:
		if (through_parents(c, l->path) == -1)
			return (-1);
		return (through_show(c, l->path));
	case LATER_ATTR:
		return (through_attr(c, l->path));
	}
	return (-1);
}

/*
 * A listing that a held folder keeps is made anew only after a change through
 * the overlay: a folder comes and goes. Its times are put back.
 */
int
through_bump(struct clean *c, const char *path)
{
	struct timespec	t[2];
	struct stat	st;
	char		name[32];
	int		dir, r = -1;

	if ((dir = at_open(c->merged, path, O_PATH | O_DIRECTORY)) == -1)
		return (errno == ENOENT ? 0 : -1);
	snprintf(name, sizeof(name), ".sbx-%ld", (long)getpid());
	if (fstat(dir, &st) == 0 && mkdirat(dir, name, 0700) == 0)
		r = unlinkat(dir, name, AT_REMOVEDIR);
	if (r == 0) {
		t[0] = st.st_atim;
		t[1] = st.st_mtim;
		utimensat(AT_FDCWD, fdpath(dir).s, t, 0);
	}
	close(dir);
	return (r);
}
