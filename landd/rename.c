/*
 * Renames, exact ones only: a regular file that went and one that came, with
 * the same bytes. First by inode (the view shows where a moved file came
 * from), then by bytes and last name, then by bytes alone. Empty files only
 * by inode: one is like the other.
 */
#include <sys/stat.h>
#include <stdlib.h>
#include <string.h>

#include "walk.h"

struct sides {
	struct found	**gone, **came;
	size_t		  ngone, ncame;
};

typedef int (*rename_compare)(const void *, const void *);

static const char *
rename_base(const struct found *fo)
{
	const char	*slash = strrchr(fo->c.path, '/');

	return (slash == NULL ? fo->c.path : slash + 1);
}

/* The side that has bytes: of what went the pre-image. */
static const struct image *
rename_image(const struct found *fo)
{
	return (fo->c.kind == CHANGE_DELETED ? &fo->c.pre : &fo->c.post);
}

static uint64_t
rename_ino(const struct found *fo)
{
	return (fo->c.kind == CHANGE_DELETED ? WALK_INO(fo->c.pre.ino) :
	    fo->vino);
}

static int
rename_sha(const struct found *a, const struct found *b)
{
	return (memcmp(rename_image(a)->sha, rename_image(b)->sha,
	    DIGEST_LEN));
}

static int
rename_by_ino(const void *a, const void *b)
{
	const struct found	*x = *(struct found *const *)a;
	const struct found	*y = *(struct found *const *)b;
	uint64_t		 i = rename_ino(x), j = rename_ino(y);

	return (i < j ? -1 : i > j ? 1 : rename_sha(x, y));
}

static int
rename_by_name(const void *a, const void *b)
{
	const struct found	*x = *(struct found *const *)a;
	const struct found	*y = *(struct found *const *)b;
	int			 cmp = rename_sha(x, y);

	return (cmp != 0 ? cmp : strcmp(rename_base(x), rename_base(y)));
}

static int
rename_by_sha(const void *a, const void *b)
{
	return (rename_sha(*(struct found *const *)a,
	    *(struct found *const *)b));
}

/* Among equals by path, so that the pairs do not depend on the sort. */
static rename_compare rename_order;

static int
rename_sort(const void *a, const void *b)
{
	int	cmp = rename_order(a, b);

	return (cmp != 0 ? cmp : strcmp((*(struct found *const *)a)->c.path,
	    (*(struct found *const *)b)->c.path));
}

/* came is the rename; what it is now of gone is freed with it. */
static void
rename_pair(struct walk *w, struct found *gone, struct found *came)
{
	came->c.kind = CHANGE_RENAMED;
	came->c.from = gone->c.path;
	came->c.pre = gone->c.pre;
	if (came->c.drift == NULL)
		came->c.drift = gone->c.drift;
	gone->c.path = NULL;
	settle_drop(w, gone);
}

/* Pairs those that compare as equal; the rest stays in s. */
static void
rename_match(struct walk *w, struct sides *s, rename_compare compare,
    bool empty)
{
	size_t	i = 0, j = 0, n = 0, m = 0;
	int	cmp;

	rename_order = compare;
	qsort(s->gone, s->ngone, sizeof(struct found *), rename_sort);
	qsort(s->came, s->ncame, sizeof(struct found *), rename_sort);
	while (i < s->ngone && j < s->ncame) {
		cmp = compare(&s->gone[i], &s->came[j]);
		if (cmp == 0 && (empty || s->gone[i]->c.pre.size > 0))
			rename_pair(w, s->gone[i++], s->came[j++]);
		else if (cmp <= 0)
			s->gone[n++] = s->gone[i++];
		else
			s->came[m++] = s->came[j++];
	}
	while (i < s->ngone)
		s->gone[n++] = s->gone[i++];
	while (j < s->ncame)
		s->came[m++] = s->came[j++];
	s->ngone = n;
	s->ncame = m;
}

int
walk_renames(struct walk *w, struct found **v, size_t n)
{
	struct sides	s = { 0 };
	size_t		i;

	s.gone = calloc(n + 1, sizeof(struct found *));
	s.came = calloc(n + 1, sizeof(struct found *));
	if (s.gone == NULL || s.came == NULL) {
		free(s.gone);
		free(s.came);
		return (walk_fail(w, "", "list"));
	}
	for (i = 0; i < n; i++) {
		if (v[i]->still || !S_ISREG(rename_image(v[i])->mode))
			continue;
		if (v[i]->c.kind == CHANGE_DELETED)
			s.gone[s.ngone++] = v[i];
		else if (v[i]->c.kind == CHANGE_ADDED)
			s.came[s.ncame++] = v[i];
	}
	rename_match(w, &s, rename_by_ino, true);
	rename_match(w, &s, rename_by_name, false);
	rename_match(w, &s, rename_by_sha, false);
	free(s.gone);
	free(s.came);
	return (0);
}
