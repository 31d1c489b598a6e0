/*
 * Worlds for the writer: a real tree R, the session's view V as a second
 * plain tree, the stage S with the post-images, and the journal as a file.
 * The change set is made here by comparing R and V name by name, so that
 * nothing of the suite's own walk is needed to judge the writer.
 */
#ifndef REGRESS_LANDD_LANDING_LIB_H
#define REGRESS_LANDD_LANDING_LIB_H

#include <limits.h>

#include "regress/lib/test.h"
#include "landd/landing.h"

#define WORLD_SID	"abcdefghijkl"

struct world {
	char		 dir[PATH_MAX];	/* has R, V, S, and the journal J */
	int		 fd;
	struct job	 job;
	struct changeset set;
	struct landing_result res;
	bool		 nocommit;	/* the journal cannot be written */
	int		 commits;
	/* NULL, or what happens right after the journal was written. */
	void		(*meanwhile)(struct world *);
	struct landings	*made;		/* for a recovery, NULL: none yet */
};

/* Makes dir with empty R, V, S. */
void	world_make(struct world *, const char *dir);
void	world_free(struct world *);
/* Removes it from the disk as well. */
void	world_remove(struct world *);

/* A file of R or V ("R/a/b"), parents made; mode 0: 0644. */
void	world_file(const struct world *, const char *path, const char *text,
	    mode_t);
void	world_link(const struct world *, const char *path, const char *text);
void	world_dir(const struct world *, const char *path, mode_t);
/* V becomes a copy of R (by cp -a, without .git). */
void	world_view(const struct world *);

/* The change set, post-images staged; rename: "FROM TO" for one of them. */
void	world_set(struct world *);
void	world_rename(struct world *, const char *from, const char *to);
struct change *world_change(struct world *, const char *path);
/* Takes one out, as the walk does with what does not land. */
void	world_drop(struct world *, const char *path);

/* landing_write, landing_recover on it; the latter from J. */
int	world_land(struct world *);
int	world_recover(struct world *);
/* world_land as a user without a capability, whom R belongs to then; only
 * code and why come back in w->res. */
int	world_land_as(struct world *, uid_t);
/* Lands and must be refused with this code, having changed nothing at all:
 * R is compared with every inode, no landing folder is left. */
void	world_refused(struct world *, const char *code);
/* Lands, and R must be as V. */
void	world_landed(struct world *);
/* The baseline is the real file as it now is. */
void	world_baseline(const struct world *, const struct baseline *);
/* How many bytes J has, -1: it is not there. */
long	world_journal(const struct world *);

/* A tree as text, a line an entry, sorted: type, mode, path, content. exact:
 * owner, group, inode and attributes too. Without .git and landing folders.
 * The caller frees. */
char	*world_tree(const struct world *, const char *which, bool exact);
/* What is left of landing folders in R: how many entries. */
int	world_leftovers(const struct world *);

/*
 * Runs fn(world) in a traced child. At its nth system call (0: never) the
 * call is not made but the child killed (WORLD_KILL), or made to fail with
 * err (WORLD_FAIL), or hook is called first (WORLD_HOOK). The number of calls
 * made, and in *status the child's wait status; it exits with fn's answer.
 */
enum world_at { WORLD_KILL, WORLD_FAIL, WORLD_HOOK };
int	world_trace(struct world *, int (*fn)(struct world *), int n,
	    enum world_at, int err, void (*hook)(struct world *),
	    int *status);

/* An empty filesystem at dir: "tmpfs", or "ext4" in a file; size in MiB. */
void	world_fs(const char *dir, const char *type, int mib);

#endif
