/*
 * The paths in a repository's index, read as bytes: no repository is opened,
 * no configuration, no filter, no hook of it is ever looked at.
 */
#ifndef LANDD_TRACKED_H
#define LANDD_TRACKED_H

#include <stdbool.h>
#include <stddef.h>

struct tracked {
	char	*text;		/* the paths, each with its NUL */
	size_t	*off;		/* sorted by path */
	size_t	 n;
};

/*
 * Reads gitdir/index, and the shared one that it names. -1: no memory; where
 * there is none, or one that git could not read either, nothing is tracked.
 */
int	tracked_read(int gitdir, struct tracked *);
/* The path itself, or a folder of a sparse index that holds it. */
bool	tracked_has(const struct tracked *, const char *path);
void	tracked_free(struct tracked *);

#endif
