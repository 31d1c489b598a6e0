/*
 * The hidden paths of a session, as far as they lie in the project: by name,
 * and by device and inode, so that a hidden file that was moved, or that has
 * a second name, is not read either.
 */
#ifndef LANDD_HIDE_H
#define LANDD_HIDE_H

#include <sys/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hide_id {
	uint64_t	dev, ino;
};

struct hides {
	char		**paths;	/* relative, sorted */
	size_t		 n;
	struct hide_id	*ids;		/* of those that exist, no folders */
	size_t		 nids;
};

/* From canonical absolute paths; root is the project's. -1 errno. */
int	hides_make(int project, const char *root, const char *const *hide,
	    struct hides *);
/* path is hidden, or lies below what is. */
bool	hides_path(const struct hides *, const char *path);
/* Something below path is hidden. */
bool	hides_below(const struct hides *, const char *path);
bool	hides_id(const struct hides *, uint64_t dev, uint64_t ino);
void	hides_free(struct hides *);

#endif
