/*
 * The walk's own: how the change set is found. Folders wait in a queue and
 * are opened by their path when their turn comes, so that depth costs no
 * descriptors; the names of a folder's three sides (view, real, layer) are
 * merged; each name that is not seen to be unchanged at once is an item.
 */
#ifndef LANDD_WALK_H
#define LANDD_WALK_H

#include <sys/queue.h>
#include <sys/stat.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "changeset.h"
#include "hide.h"
#include "ignore.h"
#include "names.h"
#include "origins.h"
#include "tracked.h"

/*
 * With xino=on the kernel puts a filesystem's number into the highest bits.
 * Real inode numbers that reach there switch xino off.
 */
#define WALK_INO(n)	((n) & UINT64_C(0x00ffffffffffffff))

#define WALK_TRIES	3		/* to read a file while it is written */
#define WALK_MAX	262144		/* changes; skipped things */
extern size_t	walk_max;		/* that, less in a test */
#define WALK_FILE_MAX	(UINT64_C(16) << 30)	/* of data */
#define WALK_HOLES_MAX	(UINT64_C(1) << 50)	/* and with its holes */

/* Reported as one: a repository's .git, a nested repository, what would make
 * one of a folder, what the session had read-only. */
enum unit_kind {
	UNIT_GIT, UNIT_NESTED, UNIT_BARE, UNIT_READONLY
};
struct unit {
	TAILQ_ENTRY(unit) entry;
	char		*path;
	enum unit_kind	 kind;
	bool		 differs;
};

struct folder {
	TAILQ_ENTRY(folder) entry;
	char		*path;		/* "" is the project */
	bool		 view, real;	/* the sides where it is a folder */
	struct unit	*unit;		/* it belongs to; NULL: none */
	struct ignored	*ignored;	/* its group, if it is ignored */
	struct ignored	*files;		/* of single ignored files in it */
	struct ignore	*rules;		/* for the names in it */
	bool		 bare;		/* with the session's, a git folder */
	bool		 lies;		/* on what the session found there */
	/* drift_folder's: of the real folder and those above it. */
	bool		 other;		/* another than the session's */
	bool		 unsure;	/* it may be */
	bool		 recent;	/* itself changed since T0 */
};

/* A change as it is found; changeset_free frees it by its first member. */
struct found {
	struct change	 c;
	uint64_t	 vino;		/* in the view */
	uint64_t	 origin;	/* of what the layer copied up; 0 */
	bool		 replaces;	/* a real folder has this path */
	bool		 blocked;	/* and something in there stays */
	bool		 still;		/* no rename: a type changed there */
	bool		 standin;	/* looks like the mask's hidden file */
	const struct origin *copied;	/* what mountd says of it, NULL */
	const char	*doubt;		/* drift, unless origin was moved */
};

struct inos {
	uint64_t	*v;
	size_t		 n, size;
};

struct walk {
	const struct job *job;
	struct changeset *set;
	struct hides	 hides;
	struct hides	 readonly;	/* by path alone */
	struct ignore	*rules;		/* all that were made */
	struct tracked	 tracked;
	bool		 tracked_read;
	const struct baseline **base;	/* sorted by path, last one each */
	size_t		 nbase;
	const struct baseline **dirs;	/* likewise, of folders */
	size_t		 ndirs;
	TAILQ_HEAD(, folder) queue;
	TAILQ_HEAD(, unit) units;
	struct inos	 seen;		/* real files that differ, by inode */
	struct origins	 origins;	/* and which copies are of these */
	char		**kept;		/* real paths that will stay */
	size_t		 nkept, keptsize;
	uint64_t	 nstage;
	int		 pack;		/* stage/pack, -1 until it is made */
	uint64_t	 packed;	/* bytes in it */
	size_t		 nchanges, nskipped;
	uint64_t	 dev;		/* the project's */
	char		*why;
	size_t		 whylen;
};

/* A name of a folder, with what stands there on each side. */
struct item {
	struct folder	*f;
	int		 vfd, rfd, lfd;	/* the folder's sides, -1: none */
	const char	*name;
	char		*path;
	const struct name *vn, *rn, *ln;
	bool		 view, real, layer;	/* layer: not a whiteout */
	bool		 mount;		/* something is mounted on the real */
	struct stat	 vst, rst, lst;
};

/* fail.c: -1, and why; the second where there are more than a review lists. */
int	walk_fail(struct walk *, const char *path, const char *what);
int	walk_full(struct walk *, const char *path, const char *what);
int	walk_skip(struct walk *, const char *path, const char *class,
	    const char *reason);
/* A real path that no landing of this set removes. */
int	walk_keep(struct walk *, const struct item *);
/* The item's real file differs: a copy of it may lie anywhere. */
int	walk_seen(struct walk *, const struct item *);

/* walk.c */
struct folder *walk_push(struct walk *, const struct item *, bool view,
	    bool real, struct unit *, struct ignored *);
struct unit *unit_new(struct walk *, const char *path, enum unit_kind);
struct ignored *ignored_new(struct walk *, const char *path);

/* item.c: 0, or -1 with why. Drops of the item what needs no look. */
int	item_walk(struct walk *, struct item *);
/* 1 the real index has the path, 0 not, -1 with why. */
int	walk_tracked(struct walk *, const char *path);

/* entry.c: a file or link on either side, to be compared and listed. */
int	entry_walk(struct walk *, struct item *);
/* 1 it differs, 0 not, -1 with why; nothing is staged. */
int	entry_differs(struct walk *, const struct item *);
/* unit.c */
/* Of both together git would take the folder for one of its own. */
bool	names_bare(const struct names *, const struct names *);
/* What git knows such a folder by, or obeys in it. */
bool	name_bare(const char *);
int	unit_item(struct walk *, struct item *);
/* The item is one, or the top of one. */
int	unit_begin(struct walk *, struct item *, enum unit_kind);
int	unit_differs(struct walk *, struct unit *);
/* drift.c */
int	drift_begin(struct walk *);
const struct baseline *drift_base(const struct walk *, const char *path);
/* Whether the folder, new in the queue, is the one that it was. */
void	drift_folder(struct walk *, const struct item *, struct folder *);
int	drift_judge(struct walk *, const struct item *,
	    const struct baseline *, struct found *);
bool	drift_recent(const struct walk *, const struct timespec *);
/* settle.c: renames, doubts, what is in the way; sorts. */
int	walk_settle(struct walk *);
void	settle_drop(struct walk *, struct found *);
/* rename.c */
int	walk_renames(struct walk *, struct found **, size_t);
int	inos_add(struct inos *, uint64_t);
bool	inos_has(struct inos *, uint64_t);	/* after inos_sort */
void	inos_sort(struct inos *);

#endif
