/*
 * Taking entries out of a project's layer behind the overlay's back, so that
 * the real files show: after a landing because they are the same bytes, for a
 * discard because they are what is wanted.
 *
 * The overlay's own functions know no such step. Stopped, it is a matter of
 * the layer alone. Live, the session is frozen, and everything depends on
 * what its processes hold open: the kernel's name cache keeps such a name
 * with the layer's entry behind it, and what is then removed below is written
 * to a file that is gone, or found missing where it was just seen. So after
 * the cache was dropped (RECONFIGURE drops what nobody holds) each name is
 * asked for with RESOLVE_CACHED, which answers from the cache alone: whatever
 * is still there is held, by a descriptor, a working directory, a mapping or
 * a mount. Nothing of the session runs in between, so the answer stays true.
 * A lease would not do: it says nothing of folders and O_PATH descriptors,
 * and asks for CAP_LEASE.
 *
 * What is held stays in the layer until the session ends (pending.h); for a
 * discard it is made to look as it should through the overlay.
 */
#ifndef MOUNTD_CLEAN_H
#define MOUNTD_CLEAN_H

#include "at.h"
#include "overlay.h"

enum later_what {
	LATER_REMOVE,		/* through the view */
	LATER_REVEAL,		/* the same, then its whiteout below */
	LATER_WRITE,		/* the base's bytes into the open file */
	LATER_SYNC,		/* all at and below it like the base */
	LATER_ATTR		/* a folder's owner and mode */
};

struct later {
	enum later_what	 what;
	char		*path;
};

struct clean {
	int		 u;		/* the layer */
	int		 base;		/* what shows without it, masked */
	int		 real;		/* the project itself */
	int		 merged;	/* the live overlay; -1: stopped */
	bool		 discard;
	bool		 blind;		/* what is held cannot be known */
	const char	**landed;	/* sorted; none for a discard */
	size_t		 nlanded;
	struct names	 left;		/* for the session's end */
	struct names	 touched;	/* held folders that changed */
	struct later	*later;
	size_t		 nlater;
};

/* Opens what is below the project's layer; merged is -1 or the live clone. */
int	clean_open(struct clean *, struct build *, int store, int merged);
void	clean_close(struct clean *);
/* All steps for these paths, relative to the project; "" is all of it. */
int	clean_paths(struct clean *, int store, const struct strv *);

/* strip.c: what can be done behind the view; fills left, touched, later. */
int	strip_paths(struct clean *, const char **v, size_t n);
/* A session's process holds it; false for a stopped one. */
bool	strip_held(struct clean *, const char *path);
int	strip_later(struct clean *, enum later_what, const char *path);

/* unfold.c: folders of the layer that do not lie on the real one of the same
 * path, since it was replaced (opaque) or renamed (redirect). */
/* The base's folder below it, by path; empty string and false: none. */
bool	fold_lower(struct clean *, const char *path, const char *above,
	    bool has_above, char *lower);
/* Makes it lie on the real one, and everything show as before but the n
 * paths of v, which lie below it. */
int	fold_undo(struct clean *, const char *path, const char *lower,
	    bool has_lower, const char **v, size_t n);
/* Only takes the marks off. */
int	fold_drop(struct clean *, const char *path);
/* In place of a whiteout: a folder that shows nothing of the base's. */
int	fold_open(struct clean *, const char *path);

/* through.c: what is done through the view. */
int	through_run(struct clean *, const struct later *);
int	through_bump(struct clean *, const char *path);

#endif
