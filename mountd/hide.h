/*
 * What a session must not see, as canonical paths of the host: each name that
 * was given, what it leads to, and the same place in every other mount of its
 * filesystem. None lies below another.
 */
#ifndef MOUNTD_HIDE_H
#define MOUNTD_HIDE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "../common/proto.h"
#include "access.h"
#include "mounts.h"

struct hidden {
	char	*path;
	bool	 gone;		/* the suite's own: as if it were not there */
	bool	 dir;		/* a link to a folder: hidden as a folder */
};

struct hides {
	struct hidden	*v;
	size_t		 n;
};

/* With the suite's state, and its socket's folder, which always are. */
int	hides_make(struct hides *, const struct mnts *, const struct strv *,
	    const struct user *);
void	hides_free(struct hides *);
/* The entry that path equals or lies below, NULL: none. */
const struct hidden *hides_over(const struct hides *, const char *path);
/* Something in path is hidden. */
bool	hides_below(const struct hides *, const char *path);

/*
 * Where a path of the host leads, walked link by link: with that user's rights,
 * as the answer is told, or NULL: with our own. From the first folder on that
 * the user may not search the rest is taken as it is written.
 */
struct resolved {
	char	name[PATH_MAX];		/* its parent's own path, and it */
	char	target[PATH_MAX];	/* its own path, missing parts too */
	bool	exists, dir;
};
int	resolve(const char *path, struct resolved *, const struct user *);
/* Called for each link on the way, with the link's own path and its text. */
int	resolve_each(const char *path, struct resolved *,
	    const struct user *,
	    int (*link)(void *, const char *path, const char *text), void *);

/* Sorting paths so that what lies in a folder follows it at once. */
int	path_order(const char *, const char *);

#endif
