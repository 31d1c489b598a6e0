/*
 * A session's whole tree as one detached mount, and detached clones of its
 * overlays: reviews and refreshes work on those, since a mount that is
 * attached elsewhere can no more be cloned.
 */
#ifndef MOUNTD_TREE_H
#define MOUNTD_TREE_H

#include "fresh.h"
#include "plan.h"

enum clone {
	CLONE_PROJECT, CLONE_HOME, CLONE_ROOT,
	CLONE_COUNT
};
extern const char *const clone_kinds[CLONE_COUNT];

struct tree {
	struct build	 b;
	struct plan	 plan;
	int		 store;		/* STATE/s/ID */
	int		 root, face;	/* the face is the fresh mounts' */
	int		 clone[CLONE_COUNT][2];	/* ours, the worker's */
	int		*kept;		/* one of each further overlay */
	size_t		 nkept;
	struct early	*early;		/* fits, or NULL */
};

/* b is ready (build_begin). All of the tree but /proc; takes the fresh over. */
int	tree_make(struct tree *, const struct want *, struct fresh *);
int	tree_finish(struct tree *, int pidns);

#endif
