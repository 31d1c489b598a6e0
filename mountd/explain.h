/*
 * EXPLAIN: a path walked as a session would walk it, through its layers,
 * masks, mounts and links, with its user's rights, and without a session.
 */
#ifndef MOUNTD_EXPLAIN_H
#define MOUNTD_EXPLAIN_H

#include <limits.h>

#include "access.h"
#include "plan.h"

#define EXPLAIN_LINKS	40	/* the kernel's own limit */

/* Where the walk is: a folder of a place. */
struct spot {
	const struct place *place;	/* NULL: the root's */
	int		 top;		/* in the place's layer, -1 */
	int		 low;		/* mask and real, -1 */
	int		 root;		/* the top of those */
	bool		 moved;		/* by the session, to this path */
	bool		 fresh;		/* in a folder of the session's own */
	char		 path[PATH_MAX];	/* "" is the root */
};

struct explain {
	const struct m_EXPLAIN *m;
	struct user	 user;
	struct build	 b;
	struct want	 w;
	struct plan	 plan;
	int		*ro;		/* the read-only paths, opened */
	int		 store;		/* s/ID, -1: no layers */
	char		 resolver[PATH_MAX];	/* of /etc/resolv.conf, or "" */
	struct spot	 at;
	char		 rest[2 * PATH_MAX];
	int		 links;
	/* The answer. */
	const char	*state, *rule;
	char		 of[PATH_MAX];
	char		 mechanism[512];
	char		 target[PATH_MAX];
};

/* explain_place.c: the folder that the place's mount shows at its top, or the
 * file; NULL is the root. 1: there; 0: it is covered; -1: fault. */
int	place_enter(struct explain *, const struct place *, struct spot *);
const struct place *place_at(const struct explain *, const char *path);
/* A place lies below that path. */
bool	place_below(const struct explain *, const char *path);
/* "project", "home", "ro", "filesystem"; and its path. */
const char *place_rule(const struct explain *, const struct place *,
	    const char **of);
bool	place_is_read_only(const struct place *);
/* "overlay, layer 3" */
void	place_mechanism(const struct explain *, const struct place *, char *,
	    size_t);
void	spot_close(struct spot *);
/* The folder, but not the place. */
void	spot_leave(struct spot *);

/* explain_look.c: one name in a folder of a place. */
struct found {
	int		 top, low;	/* of it, O_PATH; -1: not there */
	bool		 is, dir, link, moved;
};
int	found_at(const struct spot *, const char *name, struct found *);
void	found_close(struct found *);

/* Ends the walk: all strings but of are literals. Returns 0. */
int	explain_say(struct explain *, const char *state, const char *rule,
	    const char *of, const char *mechanism);

#endif
