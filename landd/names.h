/*
 * The names in a folder, sorted bytewise, with the inode numbers that readdir
 * gives: on an overlay these are the underlying files' own for every entry
 * that the layer does not hold, also where stat's are made up.
 */
#ifndef LANDD_NAMES_H
#define LANDD_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name {
	const char	*name;
	uint64_t	 ino;
	unsigned char	 type;		/* DT_*, DT_UNKNOWN */
};

struct names {
	struct name	*v;
	size_t		 n;
	char		*text;
};

/* Reads dirfd from where it stands (the start), without "." and "..".
 * -1 errno; E2BIG above two million names. Zeroed or freed before. */
int	names_read(int dirfd, struct names *);
const struct name *names_find(const struct names *, const char *);
/* Two of them side by side: in each the next name, or NULL where that comes
 * later; false at the end of both. */
struct merge {
	const struct names *a, *b;
	size_t		 i, j;
};
bool	names_next(struct merge *, const struct name **, const struct name **);
void	names_free(struct names *);

#endif
