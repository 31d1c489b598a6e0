/*
 * Pure path arithmetic: nothing here touches the filesystem.
 */
#ifndef COMMON_PATH_H
#define COMMON_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* Absolute, no empty, "." or ".." component, no trailing slash but "/". */
bool	path_is_canonical(const char *);
/* path equals dir or lies below it, by components; both canonical. */
bool	path_within(const char *dir, const char *path);
/* The part of path below dir without a leading slash, "" if equal, NULL if
 * it is not within. Points into path. */
const char *path_below(const char *dir, const char *path);
/* Lexical: makes in absolute against cwd, folds "//", "." and "..", into
 * out[size]; -1 ENAMETOOLONG. Symlinks are the caller's affair. */
int	path_clean(const char *cwd, const char *in, char *out, size_t size);

/* In place: "\\040" and the like, as /proc/self/mountinfo writes a path. */
void	path_octal_undo(char *);

#endif
