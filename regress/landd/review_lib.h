/*
 * Worlds for the review: a real tree R, a kernel overlay over it at V with
 * its layer in S/u, made as mountd makes them (redirect_dir=on, metacopy and
 * index off, a mask as a second lower where something is hidden), and the
 * walk done as the session's user, on detached read-only clones.
 */
#ifndef REGRESS_LANDD_REVIEW_LIB_H
#define REGRESS_LANDD_REVIEW_LIB_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "regress/lib/test.h"
#include "landd/changeset.h"

struct review {
	char		 dir[256];	/* has R, M, S/{u,w}, V, G: stage */
	uid_t		 uid;		/* the session's user; 0: root's */
	bool		 masked;	/* M is a lower */
	const char	*options;	/* further mount options, NULL */
	bool		 mounted, foreign;
	const char	*hide[8], *ro[8];
	struct timespec	 t0;
	struct baselines baselines;
	struct changeset set;
	char		 why[512];
	double		 ms;		/* of the last walk */
};

#define REVIEW_UID	61234	/* nobody's */

/* The case's only world, of that user's. */
void	review_begin(struct review *);
/* Makes the folders, owned by uid. */
void	review_make(struct review *, const char *dir, uid_t uid);
/* R becomes a filesystem of its own, still empty. */
void	review_foreign(struct review *);
/* And one whose files have no handles. */
void	review_handleless(struct review *);
/* R is as it was at T0: mounts V. Waits until ctimes are old enough. */
void	review_start(struct review *);
/* Without the wait, with T0 far ahead: nothing will have drifted. */
void	review_start_fast(struct review *);
/* The real files have moved: what mountd's refresh does. */
void	review_refresh(struct review *);
/* What mountd's mask has for a hidden file, and for a path that was not
 * there: a whiteout. Before review_start. */
void	review_mask_file(struct review *, const char *path);
void	review_mask_absent(struct review *, const char *path);
void	review_unmount(struct review *);
void	review_free(struct review *);

/* The list of copies in G, as mountd writes it; each walk has it made. */
void	review_origins(struct review *);
/* Walks, and makes patch and manifest; -1: r->why. stopped: over a view made
 * anew of lowers only, the mount at V gone. */
int	review_run(struct review *);
int	review_run_stopped(struct review *);
/* The walk alone. */
int	review_walk(struct review *);
/* All of it in a child that is confined as the landing's child is: Landlock
 * on the descriptors, the filter. Its exit status; the set stays empty. */
int	review_confined(struct review *);

/* In the world, as root but owned by uid; parents are made. */
void	review_file(struct review *, const char *path, const char *text);
void	review_bytes(struct review *, const char *path, const void *, size_t);
void	review_link(struct review *, const char *path, const char *text);
void	review_folder(struct review *, const char *path);
/* A command of sh's in the world's folder, as the session's user. */
void	review_sh(struct review *, const char *fmt, ...)
	    __attribute__((format(printf, 2, 3)));

/* The change set as text, a line an item, sorted as it is:
 * "modified 100644 100755 PATH", "renamed 100644 100644 FROM -> PATH",
 * "skipped CLASS PATH", "ignored FILES PATH"; " drift" where it has. */
const char *review_text(struct review *);
/* Fails the case, showing both, unless review_text is this. */
void	review_expect(struct review *, const char *text);
/* The same of a review that is made now. */
void	review_is(struct review *, const char *text);
/* stage/patch as a string, static. */
const char *review_patch(struct review *);

/*
 * `git apply` of stage/patch to a copy of R at C, in a repository or not:
 * its exit status, what it said in *said (static). Then whether C is as V.
 */
int	review_git(struct review *, bool repo, const char **said);
/* NULL if the trees are alike: files' bytes and executable bit, links' text,
 * folders that have something in them; else what differs (static). */
const char *review_differ(const char *a, const char *b);

#endif
