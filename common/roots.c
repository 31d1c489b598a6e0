#include <string.h>

#include "path.h"
#include "roots.h"

bool
roots_set(struct roots *r, const char *project, const struct strv *more)
{
	size_t	i;

	r->v[0] = project;
	r->n = 1;
	if (more->n >= LIMIT_ROOTS)
		return (false);
	for (i = 0; i < more->n; i++)
		r->v[r->n++] = more->v[i];
	return (true);
}

int
roots_find(const struct roots *r, const char *path)
{
	size_t	i;

	for (i = 0; i < r->n; i++)
		if (strcmp(r->v[i], path) == 0)
			return ((int)i);
	return (-1);
}

const char *
roots_over(const struct roots *r, const char *path)
{
	size_t	i;

	for (i = 0; i < r->n; i++)
		if (path_within(r->v[i], path))
			return (r->v[i]);
	return (NULL);
}

bool
roots_clash(const struct roots *r, const char **outer, const char **inner)
{
	size_t	i, j;

	for (i = 0; i < r->n; i++)
		for (j = 0; j < r->n; j++)
			if (i != j && path_within(r->v[i], r->v[j])) {
				*outer = r->v[i];
				*inner = r->v[j];
				return (true);
			}
	return (false);
}
