/*
 * What is attached to a session's tree, and where: the host's other
 * filesystems, home, roots, read-only paths; sorted, so that what lies in a
 * place comes after it.
 */
#ifndef MOUNTD_PLAN_H
#define MOUNTD_PLAN_H

#include "../common/roots.h"
#include "overlay.h"

enum place_kind {
	PLACE_OVERLAY,		/* a layer of its own */
	PLACE_READ,		/* a read-only overlay */
	PLACE_REST,		/* the same, of the user's rest: see rest.h */
	PLACE_CLONE,		/* itself, read-only */
	PLACE_FILE,		/* a single file, itself, read-only */
	PLACE_TWIN,		/* a copy of one, read-only: see twin.h */
	PLACE_COVER,		/* an empty folder or file */
	PLACE_HOME, PLACE_PROJECT
};

struct place {
	char		*path;
	enum place_kind	 kind;
	int		 fd;		/* the host's, O_PATH */
	bool		 dir;
	bool		 plain;		/* its type has no sockets, no FIFOs */
	bool		 below;		/* in the project: no clone of the
					 * machine shows it */
};

/* What PREP wants, as far as it has been checked. */
struct want {
	const char	*home;
	struct roots	 roots;
	uid_t		 uid;
	gid_t		 gid;
	bool		 home_own;	/* home is no part of a root */
	int		 home_fd;	/* opened by ourselves */
	int		 root_fd[LIMIT_ROOTS];
	struct strv	 argv;
	/* Read-only paths by number: opened by us, confirmed by init. */
	const struct strv *ro;
	const int	*ro_fd;
};

struct plan {
	struct place	*v;
	size_t		 n;
	char		*notes[LIMIT_NOTES];
	size_t		 nnotes;
	char		*missing;	/* one line, for who asks; NULL */
};

int	plan_make(struct plan *, const struct build *, const struct want *);
void	plan_free(struct plan *);
/* Takes fd over. */
int	plan_add(struct plan *, const char *path, enum place_kind, int fd,
	    bool dir);
/* Until the next one is added. */
const struct place *plan_find(const struct plan *, const char *path);
/* The deepest place that path lies in, NULL: none. */
const struct place *plan_over(const struct plan *, const char *path);
/* path is, or contains, a folder that the session works in. */
bool	plan_holds(const struct want *, const char *path);
/* One line that is shown to the session's owner. */
void	plan_note(struct plan *, const char *fmt, ...)
	    __attribute__((format(printf, 2, 3)));

/* Its files are somebody's who may never answer. */
bool	kind_is_remote(const struct mnt *);
/* A walk through it can be trusted to end. */
bool	kind_is_asked(const struct mnt *);
/* What the mount's type and state make of it. */
enum place_kind	kind_of_mount(const struct mnt *, mode_t, bool *plain,
		    bool *said);

#endif
