/*
 * What can be said only when all is walked: where moved files came from,
 * what stays in the way of what comes, and the order.
 */
#include <sys/stat.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "walk.h"

int
inos_add(struct inos *s, uint64_t ino)
{
	uint64_t	*v;
	size_t		 size;

	if (s->n == s->size) {
		size = s->size == 0 ? 256 : s->size * 2;
		if ((v = reallocarray(s->v, size, sizeof(*v))) == NULL)
			return (-1);
		s->v = v;
		s->size = size;
	}
	s->v[s->n++] = WALK_INO(ino);
	return (0);
}

static int
inos_compare(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y ? -1 : x > y);
}

void
inos_sort(struct inos *s)
{
	if (s->n > 1)
		qsort(s->v, s->n, sizeof(*s->v), inos_compare);
}

bool
inos_has(struct inos *s, uint64_t ino)
{
	return (s->n > 0 && bsearch(&ino, s->v, s->n, sizeof(*s->v),
	    inos_compare) != NULL);
}

static int
found_compare(const void *a, const void *b)
{
	const struct found	*x = *(struct found *const *)a;
	const struct found	*y = *(struct found *const *)b;

	return (strcmp(x->c.path, y->c.path));
}

/* The change at the first len bytes of path. */
static struct found *
found_at(struct found **v, size_t n, const char *path, size_t len)
{
	size_t	low = 0, high = n, mid;
	int	cmp;

	while (low < high) {
		mid = low + (high - low) / 2;
		cmp = strncmp(path, v[mid]->c.path, len);
		if (cmp == 0 && v[mid]->c.path[len] != '\0')
			cmp = -1;
		if (cmp == 0)
			return (v[mid]);
		if (cmp < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return (NULL);
}

/*
 * A path and one below it both change: a folder became a file or link, or
 * the other way round. No renames there: git apply would look for the old
 * file beyond what is in its place by then.
 */
static void
settle_still(struct found **v, size_t n)
{
	struct found	*up;
	const char	*path, *slash;
	size_t		 i;

	for (i = 0; i < n; i++) {
		path = v[i]->c.path;
		for (slash = path; (slash = strchr(slash, '/')) != NULL;
		    slash++) {
			up = found_at(v, n, path, (size_t)(slash - path));
			if (up != NULL)
				up->still = v[i]->still = true;
		}
	}
}

/* The first change below path. */
static size_t
found_below(struct found **v, size_t n, const char *path)
{
	size_t	low = 0, high = n, mid, len = strlen(path);
	int	cmp;

	while (low < high) {
		mid = low + (high - low) / 2;
		cmp = strncmp(v[mid]->c.path, path, len);
		if (cmp < 0 || (cmp == 0 &&
		    (unsigned char)v[mid]->c.path[len] < '/'))
			low = mid + 1;
		else
			high = mid;
	}
	return (low);
}

/*
 * What stays of the real tree stands in the way of a file where a folder
 * must go first, and of a folder where a file must.
 */
static void
settle_kept(struct walk *w, struct found **v, size_t n)
{
	const char	*path, *slash;
	struct found	*up;
	size_t		 i, j, len;

	for (i = 0; i < w->nkept; i++) {
		path = w->kept[i];
		len = strlen(path);
		/* The path itself: a folder that stays as a whole. */
		for (slash = strchr(path, '/');; slash = strchr(slash + 1,
		    '/')) {
			up = found_at(v, n, path, slash == NULL ? len :
			    (size_t)(slash - path));
			if (up != NULL && up->replaces)
				up->blocked = true;
			if (slash == NULL)
				break;
		}
		for (j = found_below(v, n, path); j < n &&
		    strncmp(v[j]->c.path, path, len) == 0 &&
		    v[j]->c.path[len] == '/'; j++)
			if (v[j]->c.pre.mode == 0)
				v[j]->blocked = true;
	}
}

void
settle_drop(struct walk *w, struct found *fo)
{
	char	name[24];

	if (fo->c.stage != 0) {
		snprintf(name, sizeof(name), "%llu",
		    (unsigned long long)fo->c.stage);
		unlinkat(w->job->stage, name, 0);
	}
	TAILQ_REMOVE(&w->set->changes, &fo->c, entry);
	free(fo->c.path);
	free(fo->c.from);
	free(fo);
}

/* The mask's stand-in for a hidden file, in a folder that was moved: an empty
 * file of root's that nobody may write and that is no real one. */
static bool
found_standin(struct walk *w, const struct found *fo)
{
	return (w->hides.n > 0 && fo->standin &&
	    !inos_has(&w->seen, fo->vino));
}

/* One more look at each; the array is left with those that stay. */
static int
settle_each(struct walk *w, struct found **v, size_t *n)
{
	struct found	*fo;
	size_t		 i, kept = 0;

	for (i = 0; i < *n; i++) {
		fo = v[i];
		if (fo->doubt != NULL && fo->c.drift == NULL &&
		    !inos_has(&w->seen, fo->origin) &&
		    (fo->copied == NULL || !fo->copied->met))
			fo->c.drift = fo->doubt;
		if (!fo->blocked && !found_standin(w, fo)) {
			v[kept++] = fo;
			continue;
		}
		if (walk_skip(w, fo->c.path, fo->blocked ? "special" :
		    "hidden", fo->blocked ?
		    "what stays of the real tree is in its way" :
		    "hidden from the session") == -1)
			return (-1);
		settle_drop(w, fo);
	}
	*n = kept;
	return (0);
}

static int
skipped_compare(const void *a, const void *b)
{
	const struct skipped	*x = *(struct skipped *const *)a;
	const struct skipped	*y = *(struct skipped *const *)b;
	int			 cmp = strcmp(x->path, y->path);

	return (cmp != 0 ? cmp : strcmp(x->class, y->class));
}

static int
settle_skipped(struct walk *w)
{
	struct skipped	**v, *s;
	size_t		  i, n = 0;

	if (w->nskipped < 2)
		return (0);
	if ((v = calloc(w->nskipped, sizeof(struct skipped *))) == NULL)
		return (walk_fail(w, "", "list"));
	while ((s = TAILQ_FIRST(&w->set->skipped)) != NULL) {
		TAILQ_REMOVE(&w->set->skipped, s, entry);
		v[n++] = s;
	}
	qsort(v, n, sizeof(struct skipped *), skipped_compare);
	for (i = 0; i < n; i++)
		TAILQ_INSERT_TAIL(&w->set->skipped, v[i], entry);
	free(v);
	return (0);
}

static int
ignored_compare(const void *a, const void *b)
{
	return (strcmp((*(struct ignored *const *)a)->path,
	    (*(struct ignored *const *)b)->path));
}

/* Sorted, without those in which nothing changed. */
static int
settle_ignored(struct walk *w)
{
	struct ignored	**v, *ig;
	size_t		  i, n = 0;

	TAILQ_FOREACH(ig, &w->set->ignored, entry)
		n++;
	if (n == 0)
		return (0);
	if ((v = calloc(n, sizeof(struct ignored *))) == NULL)
		return (walk_fail(w, "", "list"));
	n = 0;
	while ((ig = TAILQ_FIRST(&w->set->ignored)) != NULL) {
		TAILQ_REMOVE(&w->set->ignored, ig, entry);
		v[n++] = ig;
	}
	qsort(v, n, sizeof(struct ignored *), ignored_compare);
	for (i = 0; i < n; i++) {
		if (v[i]->files > 0) {
			TAILQ_INSERT_TAIL(&w->set->ignored, v[i], entry);
			continue;
		}
		free(v[i]->path);
		free(v[i]);
	}
	free(v);
	return (0);
}

static void
settle_count(struct walk *w)
{
	struct change	*c;

	w->set->drifted = 0;
	TAILQ_FOREACH(c, &w->set->changes, entry)
		if (c->drift != NULL)
			w->set->drifted++;
}

static int
settle_changes(struct walk *w)
{
	struct found	**v;
	struct change	*c;
	size_t		  i, n = 0;
	int		  rv;

	TAILQ_FOREACH(c, &w->set->changes, entry)
		n++;
	if (n == 0)
		return (0);
	if ((v = calloc(n, sizeof(struct found *))) == NULL)
		return (walk_fail(w, "", "list"));
	for (i = 0; i < n; i++) {
		c = TAILQ_FIRST(&w->set->changes);
		TAILQ_REMOVE(&w->set->changes, c, entry);
		v[i] = (struct found *)c;
	}
	qsort(v, n, sizeof(struct found *), found_compare);
	for (i = 0; i < n; i++)
		TAILQ_INSERT_TAIL(&w->set->changes, &v[i]->c, entry);
	settle_still(v, n);
	settle_kept(w, v, n);
	rv = settle_each(w, v, &n);
	if (rv == 0)
		rv = walk_renames(w, v, n);
	free(v);
	return (rv);
}

int
walk_settle(struct walk *w)
{
	inos_sort(&w->seen);
	if (settle_changes(w) == -1 || settle_skipped(w) == -1 ||
	    settle_ignored(w) == -1)
		return (-1);
	settle_count(w);
	return (0);
}
