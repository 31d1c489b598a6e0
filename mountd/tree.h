/*
 * A session's whole tree as one detached mount, and detached clones of its
 * overlays: reviews and refreshes work on those, since a mount that is
 * attached elsewhere can no more be cloned.
 */
#ifndef MOUNTD_TREE_H
#define MOUNTD_TREE_H

#include "fresh.h"
#include "plan.h"

/* Of home, of "/", and of each root of the session's. */
enum clone {
	CLONE_HOME, CLONE_ROOT, CLONE_PROJECT,
	CLONE_COUNT = CLONE_PROJECT + LIMIT_ROOTS
};

/* SFD's kind, and its number, of ours and of the worker's; and the other way
 * round: CLONE_COUNT where it is none. */
const char *clone_kind(size_t which);
uint64_t clone_number(size_t which, bool workers);
size_t	clone_which(const char *kind, uint64_t n, bool *workers);

/* A clone of the overlay that has this layer. */
struct kept {
	unsigned int	n;
	int		fd;
};

struct tree {
	struct build	 b;
	struct plan	 plan;
	int		 store;		/* STATE/s/ID */
	struct fresh	*fresh;
	int		 root;
	int		 twins;		/* see twin.h */
	int		 clone[CLONE_COUNT][2];	/* ours, the worker's */
	struct kept	*kept;		/* one of each further overlay */
	size_t		 nkept;
	struct early	*early;		/* fits, or NULL */
};

/* b is ready (build_begin). All of the tree but /proc; takes the fresh over. */
int	tree_make(struct tree *, const struct want *, struct fresh *);
int	tree_finish(struct tree *, int pidns, uid_t);

#endif
