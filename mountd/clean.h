/*
 * Taking entries out of a project's layer behind the overlay's back, so that
 * the real files show: after a landing because they are the same bytes, for a
 * discard because they are what is wanted.
 *
 * The overlay's own functions know no such step. Stopped, it is a matter of
 * the layer alone. Live, the session is frozen, and everything depends on
 * what its processes hold: the kernel's caches keep such a name, or inode,
 * with the layer's entry behind it, and what is then removed below is written
 * to a file that is gone, or found missing where it was just seen. Two things
 * tell, and nothing of the session runs in between, so both stay true:
 *
 * - After the name cache was dropped (RECONFIGURE drops what nobody holds)
 *   each name is asked for with RESOLVE_CACHED, which answers from the cache
 *   alone: whatever is still there is held, by a descriptor, a working
 *   directory, a mapping or a mount. (A lease would not do: it says nothing
 *   of folders and O_PATH descriptors, and asks for CAP_LEASE.)
 * - An inode can be held without a name: by a watch (inotify), or by a file
 *   that was renamed and whose old name comes back, since overlayfs finds
 *   inodes by the real one. So what is taken out is only put aside; then the
 *   view is compared with what should show, and what differs is put back.
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
	LATER_SYNC,		/* all at and below it like the base: what is
				 * open gets the base's bytes */
	LATER_SHOW,		/* the same where the view lacks it: what a
				 * landing took from below a folder */
	LATER_ATTR		/* a folder's owner and mode */
};

struct later {
	enum later_what	 what;
	char		*path;
};

/* An entry of the layer that was put aside; its place there is its number.
 * Without a live session only the whiteouts that a folder took the place of. */
struct step {
	char		*path;
	bool		 opened;	/* a folder took a whiteout's place */
	bool		 back;		/* it has to be there again */
};

/* A folder of the layer that lies on another folder of the base's. */
struct origin {
	char		*path, *lower;
	bool		 flat;		/* not any more */
};

struct clean {
	struct build	*b;
	const char	*project;	/* the root */
	int		 store;		/* STATE/s/ID */
	unsigned int	 n;		/* of the root's layer, and */
	bool		 first;		/* whether it is the first root's */
	int		 u;		/* the layer */
	int		 base;		/* what shows without it, masked */
	int		 real;		/* the project itself */
	int		 lower;		/* that, or its copy: see snap.h */
	int		 merged;	/* the live overlay; -1: stopped */
	int		 aside;		/* live: where steps put things */
	int		 steps_fd;	/* and where each is from */
	size_t		 steps_len;
	bool		 discard;
	bool		 ended;		/* what was left is done now */
	bool		 blind;		/* what is held cannot be known */
	const char	**list;		/* the paths, sorted */
	size_t		 nlist;
	struct names	 left;		/* for the session's end */
	struct names	 touched;	/* held folders that changed */
	struct later	*later;
	size_t		 nlater;
	struct step	*steps;
	size_t		 nsteps;
	struct origin	*origins;
	size_t		 norigins;
	bool		 scanned;	/* origins are known */
};

/* Opens what is below the layer of this root; merged is -1 or the live
 * clone. */
int	clean_open(struct clean *, struct build *, int store,
	    const char *project, int merged);
void	clean_close(struct clean *);
/* All steps for these paths, relative to the project; "" is all of it. */
int	clean_paths(struct clean *, const struct strv *);
/* The path itself is on the list. */
bool	clean_listed(const struct clean *, const char *path);
/* A path of the list, or one above it, or everything was named. */
bool	clean_names(const struct clean *, const char *path);
int	clean_later(struct clean *, enum later_what, const char *path);
/* What is in the folder at path has no path any more. -1 fault. */
int	clean_deep(const char *path);

/* strip.c: what can be done behind the view; fills left, touched, later. */
int	strip_paths(struct clean *);

/* steps.c */
/* A session's process holds the name; false for a stopped one. */
bool	step_held(struct clean *, const char *path);
/* Takes the entry out of the layer: for good, or live aside. */
int	step_aside(struct clean *, const char *path);
/* The same with a whiteout, whose place is taken by what is new aside. */
int	step_open(struct clean *, const char *path, const char *new);
/* 1: a folder of the layer can lie on the base's at path; 0: not while the
 * session lives. */
int	step_trial(struct clean *, const char *path);
/* Compares, puts back, and says by left and later what is to be done. */
int	steps_verify(struct clean *);

/* kept.c */
/* A step's place in the folder. */
struct number {
	char	s[24];
};
struct number step_number(size_t i);
/* The next step is of this path. -1 errno, as of the next three. */
int	kept_note(struct clean *, const char *path, bool opened);
void	kept_close(struct clean *);
/* None of them comes back any more. */
int	kept_give_up(struct clean *);
/* A step's entry to where it was; 0 also where it is not aside. still: nothing
 * of the session has run since it was put there. */
int	kept_return(int aside, int u, size_t i, const char *path, bool opened,
	    bool still);
/* All that there are, the last one first. -1: a fault, some are there still. */
int	kept_back(int aside, int store, bool still);

/* aside.c: a folder beside the layer, made when it is needed. aside_end gives
 * up what is in it, and removes it; -1 errno. aside_undo brings back what was
 * put there; -1: a fault, what could not come back is there still, for the
 * next aside_mend. */
int	aside_open(struct clean *);
int	aside_end(struct clean *);
int	aside_undo(struct clean *);
/* The name there that something new is to be made under; NULL errno. */
const char *aside_new(struct clean *);
/* An empty folder in place of the layer's at path. */
int	trial_begin(struct clean *, const char *path);
int	trial_end(const struct clean *);
/* The same, whenever and by whom it was put there; and the session's folder is
 * there again where a trial was begun. */
int	aside_mend(int store);

/*
 * unfold.c: folders of the layer that do not lie on the base's of the same
 * path, since that was replaced (opaque) or renamed (redirect).
 */
/* Of the layer's folder fd, called name, in one that lies on above: the path
 * below it, there or not; false: it lies on none. */
bool	fold_points(int fd, const char *name, const char *above,
	    bool has_above, char *lower);
/* The base's folder below it, by path; empty string and false: none. */
bool	fold_lower(struct clean *, const char *path, const char *above,
	    bool has_above, char *lower);
/* Makes it lie on the real one, and everything show as before but what is on
 * the list. */
int	fold_undo(struct clean *, const char *path, const char *lower,
	    bool has_lower);
/* A whiteout in a folder of the layer, and the mark of a copy on that: the
 * kernel knows whiteouts in others only while something lies below them. */
int	fold_hide(int dir, const char *name);
/* In place of a whiteout: a folder that shows nothing of the base's. */
int	fold_open(struct clean *, const char *path);
/* Makes it lie on nothing, with copies of all that showed through. */
int	fold_flatten(struct clean *, const char *path, const char *lower,
	    bool has_lower);

/* origins.c: before something of the base's shows again at path, what was
 * moved away from there is made independent of it: overlayfs knows each real
 * inode once, and two places with it are ESTALE, or one file. */
int	origins_part(struct clean *, const char *path);
int	origins_add(struct clean *, const char *path, const char *lower);

/* through.c: what is done through the view. */
int	through_run(struct clean *, const struct later *);
int	through_bump(struct clean *, const char *path);

#endif
