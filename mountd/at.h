/*
 * Small steps below an open folder, by relative path; "" is the folder. No
 * link is followed and nothing above is reached.
 */
#ifndef MOUNTD_AT_H
#define MOUNTD_AT_H

#include <sys/stat.h>
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

int	at_open(int root, const char *path, int flags);
/* False where there is nothing. */
bool	at_stat(int root, const char *path, struct stat *);
bool	at_is_dir(int root, const char *path);
DIR	*at_opendir(int root, const char *path);
/* A folder with nothing in it; false also where that cannot be known. */
bool	at_is_empty(int root, const char *path);
/* The folder that path lies in, O_PATH; *name is its last part. */
int	at_parent(int root, const char *path, const char **name);
/* dir/name into out[PATH_MAX]; -1 ENAMETOOLONG. */
int	at_join(const char *dir, const char *name, char *out);

bool	whiteout_is(const struct stat *);
int	whiteout_make(int dir, const char *name);
/* Removes a whiteout; what is none stays. */
int	whiteout_drop(int root, const char *path);

/* The names in a folder, sorted. */
struct names {
	char	**v;
	size_t	  n;
};
int	names_read(int root, const char *path, struct names *);
bool	names_has(const struct names *, const char *);
void	names_free(struct names *);

/*
 * The paths that a level of a walk is at: in what is walked, and in what lies
 * below. A session decides how many levels there are, up to a path's end: with
 * these on it a stack would be at its own before. Freed by free; NULL errno.
 */
struct walked {
	char	sub[PATH_MAX], below[PATH_MAX];
};
struct walked *walked_new(void);

/* A list of paths that grows. */
int	names_add(struct names *, const char *);

#endif
