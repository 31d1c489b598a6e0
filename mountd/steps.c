#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/path.h"
#include "clean.h"
#include "fault.h"
#include "fs.h"
#include "mountd.h"
#include "rm.h"

#define HELD_TRIES	3

/*
 * A walk of the cache may miss a name while another one is being renamed
 * somewhere in the system, so "not there" has to be said more than once.
 */
bool
step_held(struct clean *c, const char *path)
{
	int	fd, i;

	if (c->merged == -1)
		return (false);
	if (c->blind || *path == '\0')
		return (true);
	for (i = 0; i < HELD_TRIES; i++) {
		fd = fs_openat2(c->merged, path, O_PATH | O_NOFOLLOW,
		    FS_BENEATH | RESOLVE_CACHED);
		if (fd != -1)
			close(fd);
		if (fd != -1 || errno != EAGAIN)
			return (true);
	}
	return (false);
}

/* Written down before it is made. */
static int
step_new(struct clean *c, const char *path, bool opened)
{
	struct step	*v;

	if (aside_open(c) == -1 || kept_note(c, path, opened) == -1)
		return (-1);
	v = reallocarray(c->steps, c->nsteps + 1, sizeof(*v));
	if (v == NULL)
		return (-1);
	c->steps = v;
	v += c->nsteps;
	v->opened = opened;
	v->back = false;
	if ((v->path = strdup(path)) == NULL)
		return (-1);
	c->nsteps++;
	return (0);
}

int
step_aside(struct clean *c, const char *path)
{
	const char	*name;
	int		 dir, r;

	if ((dir = at_parent(c->u, path, &name)) == -1)
		return (-1);
	if (c->merged == -1)
		r = rm_all(dir, name);
	else if ((r = step_new(c, path, false)) == 0)
		r = renameat2(dir, name, c->aside,
		    step_number(c->nsteps - 1).s, RENAME_NOREPLACE);
	close(dir);
	return (r);
}

int
step_open(struct clean *c, const char *path, const char *new)
{
	struct number	 n;
	const char	*name;
	int		 dir, r;

	if ((dir = at_parent(c->u, path, &name)) == -1)
		return (-1);
	if ((r = step_new(c, path, true)) == 0) {
		n = step_number(c->nsteps - 1);
		r = renameat2(c->aside, new, c->aside, n.s, RENAME_NOREPLACE);
		if (r == 0)
			r = renameat2(c->aside, n.s, dir, name,
			    RENAME_EXCHANGE);
	}
	close(dir);
	return (r);
}

static bool
time_same(const struct timespec *a, const struct timespec *b)
{
	return (a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec);
}

/* Does the view show what it should, and not what was put aside? The change
 * time tells, which putting aside has moved. */
static bool
entry_took(struct clean *c, const char *path, const struct stat *aside,
    bool opened)
{
	struct stat	base, merged;
	bool		based, shows;

	based = at_stat(c->base, path, &base);
	errno = 0;
	shows = at_stat(c->merged, path, &merged);
	if (!based || !shows)
		return (based == shows && errno != ESTALE);
	if (opened)
		return (S_ISDIR(merged.st_mode));
	if (merged.st_mode != base.st_mode || merged.st_uid != base.st_uid ||
	    merged.st_gid != base.st_gid)
		return (false);
	/* One that must not show is ESTALE. */
	if (S_ISDIR(base.st_mode))
		return (true);
	return (merged.st_size == base.st_size &&
	    time_same(&merged.st_mtim, &base.st_mtim) &&
	    time_same(&merged.st_ctim, &base.st_ctim) &&
	    !time_same(&merged.st_ctim, &aside->st_ctim));
}

static bool	tree_took(struct clean *, const char *, const char *, bool);
static bool	base_took(struct clean *, const char *);

/* What is in the folder; aside NULL: of the base. */
static bool
folder_took(struct clean *c, const char *path, const char *aside)
{
	struct names	 ns;
	struct walked	*l;
	bool		 took;
	size_t		 i;

	if ((l = walked_new()) == NULL ||
	    names_read(aside != NULL ? c->aside : c->base, aside != NULL ?
	    aside : path, &ns) == -1) {
		free(l);
		return (false);
	}
	for (i = 0, took = true; took && i < ns.n; i++)
		took = at_join(path, ns.v[i], l->sub) == 0 &&
		    (aside == NULL ? base_took(c, l->sub) :
		    at_join(aside, ns.v[i], l->below) == 0 &&
		    tree_took(c, l->sub, l->below, false));
	names_free(&ns);
	free(l);
	return (took);
}

/* The same for all that was in it: aside is its path there. */
static bool
tree_took(struct clean *c, const char *path, const char *aside, bool opened)
{
	struct stat	st;

	child_alive();
	if (!at_stat(c->aside, aside, &st) ||
	    !entry_took(c, path, &st, opened))
		return (false);
	return (!S_ISDIR(st.st_mode) || folder_took(c, path, aside));
}

/*
 * The base's entry at path and all below it, just as it is: a file that was
 * deleted, or moved, and is still open somewhere would come in its place.
 */
static bool
base_took(struct clean *c, const char *path)
{
	struct stat	base, merged, real;

	child_alive();
	if (!at_stat(c->base, path, &base))
		return (true);
	if (!at_stat(c->merged, path, &merged) ||
	    merged.st_mode != base.st_mode)
		return (false);
	/* What is hidden is a mask's, each time another one. */
	if (!S_ISDIR(base.st_mode))
		return (!at_stat(c->lower, path, &real) ||
		    real.st_ino != base.st_ino ||
		    (merged.st_size == base.st_size &&
		    time_same(&merged.st_ctim, &base.st_ctim)));
	return (folder_took(c, path, NULL));
}

static bool
step_took(struct clean *c, size_t i)
{
	const struct step	*s = &c->steps[i];
	size_t			 k, len = strlen(s->path);

	if (!tree_took(c, s->path, step_number(i).s, s->opened))
		return (false);
	if (!c->discard)
		return (true);
	if (!s->opened)
		return (base_took(c, s->path));
	for (k = 0; k < c->nlist; k++)
		if (strncmp(c->list[k], s->path, len) == 0 &&
		    c->list[k][len] == '/' && !base_took(c, c->list[k]))
			return (false);
	return (true);
}

static bool
step_stat(struct clean *c, size_t i, struct stat *st)
{
	return (fstatat(c->aside, step_number(i).s, st,
	    AT_SYMLINK_NOFOLLOW) == 0);
}

static int
step_compare(const void *a, const void *b)
{
	const struct step	*const *sa = a, *const *sb = b;

	return (path_order((*sa)->path, (*sb)->path));
}

static int
step_find(const void *key, const void *b)
{
	const struct step	*const *sb = b;

	return (path_order(key, (*sb)->path));
}

/* What comes back needs the folders that it was in. */
static void
steps_above(struct step **sorted, size_t n, const char *path)
{
	char		 above[PATH_MAX], *slash;
	struct step	**found;

	strlcpy(above, path, sizeof(above));
	while ((slash = strrchr(above, '/')) != NULL) {
		*slash = '\0';
		found = bsearch(above, sorted, n, sizeof(struct step *),
		    step_find);
		if (found != NULL)
			(*found)->back = true;
	}
}

static int
steps_mark(struct clean *c)
{
	struct step	**sorted;
	size_t		  i;

	if ((sorted = calloc(c->nsteps, sizeof(struct step *))) == NULL)
		return (-1);
	for (i = 0; i < c->nsteps; i++)
		sorted[i] = &c->steps[i];
	qsort(sorted, c->nsteps, sizeof(struct step *), step_compare);
	for (i = 0; i < c->nsteps; i++) {
		if (step_took(c, i))
			continue;
		c->steps[i].back = true;
		steps_above(sorted, c->nsteps, c->steps[i].path);
	}
	free(sorted);
	return (0);
}

/* What was named at or below a path that had to be put back. */
static int
steps_sync_below(struct clean *c, const char *path)
{
	size_t	i;

	for (i = 0; i < c->nlist; i++)
		if (path_below(path, c->list[i]) != NULL &&
		    clean_later(c, LATER_SYNC, c->list[i]) == -1)
			return (-1);
	return (0);
}

/* It stays until the session ends; until then it has to look right. */
static int
step_stays(struct clean *c, const struct step *s, const struct stat *st)
{
	struct stat	base;

	if (!c->discard)
		return (names_add(&c->left, s->path));
	if (s->opened)
		return (steps_sync_below(c, s->path));
	if (!at_stat(c->base, s->path, &base))
		return (whiteout_is(st) ? 0 :
		    clean_later(c, LATER_REMOVE, s->path));
	return (clean_later(c, LATER_SYNC, s->path));
}

static int
step_back(struct clean *c, size_t i)
{
	const struct step	*s = &c->steps[i];
	struct stat		 st;

	if (!step_stat(c, i, &st) || kept_return(c->aside, c->u, i, s->path,
	    s->opened, true) == -1)
		return (-1);
	return (step_stays(c, s, &st));
}

/*
 * Would the base's folder show if one of the layer lay on it? Tried with an
 * empty one, for what is tried cannot be put back once it has been undone.
 */
int
step_trial(struct clean *c, const char *path)
{
	int	r;

	if (c->merged == -1)
		return (1);
	/* The session is frozen meanwhile: a folder stands for its own. */
	child_alive();
	if (trial_begin(c, path) == -1 ||
	    fs_refresh(c->merged, "the project") == -1)
		return (-1);
	r = at_is_dir(c->merged, path);
	child_alive();
	if (trial_end(c) == -1) {
		/* Tried once more when all is undone. */
		fault_clear();
		return (fault("mount.clean", "%s: what stands for it, to see "
		    "whether the real one shows, could not be removed",
		    shown(path)));
	}
	return (fs_refresh(c->merged, "the project") == -1 ? -1 : r);
}

int
steps_verify(struct clean *c)
{
	size_t	i;

	if (c->nsteps == 0)
		return (0);
	if (steps_mark(c) == -1)
		return (-1);
	/* Folders were put aside after what had been in them. */
	for (i = c->nsteps; i-- > 0; )
		if (c->steps[i].back && step_back(c, i) == -1)
			return (-1);
	return (0);
}
