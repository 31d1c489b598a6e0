/*
 * The folders of a session whose changes land, each by itself. One of them
 * is the first: it is what messages and records call the project.
 */
#ifndef COMMON_ROOTS_H
#define COMMON_ROOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "proto.h"

struct roots {
	size_t		 n;
	const char	*v[LIMIT_ROOTS];
};

/* False: there are more than LIMIT_ROOTS. All memory stays the caller's. */
bool	roots_set(struct roots *, const char *project, const struct strv *more);
/* Its number, -1: it is none of them. */
int	roots_find(const struct roots *, const char *path);
/* The one that path is, or lies in; NULL. */
const char *roots_over(const struct roots *, const char *path);
/* True where one is another one, or lies in it: then these. */
bool	roots_clash(const struct roots *, const char **outer,
	    const char **inner);

#endif
