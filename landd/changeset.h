/*
 * What a session changed in its project: the list that review, patch and
 * landing all stand on. Made by walk.c, diffed by diff.c, written down by
 * manifest.c, carried out by write.c. Paths are relative to the project,
 * any bytes but NUL, no "." or ".." component.
 */
#ifndef LANDD_CHANGESET_H
#define LANDD_CHANGESET_H

#include <sys/queue.h>
#include <sys/stat.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "../common/digest.h"

enum change_kind {
	CHANGE_ADDED, CHANGE_MODIFIED, CHANGE_DELETED,
	CHANGE_MODE,			/* mode only */
	CHANGE_TYPE,			/* file <-> symlink */
	CHANGE_RENAMED			/* exact; from is where it was */
};

/* One side of a change: a regular file or a symlink, or nothing. */
struct image {
	mode_t		 mode;		/* less setuid, setgid; 0: none */
	uint64_t	 size;
	uint64_t	 dev, ino;	/* of the real file (pre-image) */
	struct timespec	 ctime;
	uint8_t		 sha[DIGEST_LEN];	/* of content, of link text */
};

struct change {
	TAILQ_ENTRY(change) entry;
	char		*path;
	char		*from;		/* renamed: the old path, else NULL */
	enum change_kind kind;
	struct image	 pre, post;
	uint64_t	 stage;		/* post-image's name in the stage
					   folder, in decimal; 0: none */
	uint64_t	 pack;		/* ... or one more than its place in
					   stage/pack; 0: not in there */
	uint64_t	 insertions, deletions;
	bool		 binary;	/* a NUL in the first 8,000 bytes */
	bool		 opaque;	/* too large for the patch */
	const char	*drift;		/* static text; NULL: has not drifted */
};
TAILQ_HEAD(changes, change);

struct skipped {
	TAILQ_ENTRY(skipped) entry;
	char		*path;
	const char	*reason;	/* static, for people */
	const char	*class;		/* git hooks config special hidden
					   unreadable dir own nested
					   readonly */
};
TAILQ_HEAD(skippeds, skipped);

struct ignored {		/* ignored by the real tree's rules */
	TAILQ_ENTRY(ignored) entry;
	char		*path;		/* the folder, "." for the project */
	uint64_t	 files, bytes;
};
TAILQ_HEAD(ignoreds, ignored);

/* A baseline: the real file as it was when its entry was last landed or
 * discarded. Absent file: image.mode 0. A folder's has S_ISDIR(image.mode). */
struct baseline {
	TAILQ_ENTRY(baseline) entry;
	char		*path;
	struct image	 image;
};
TAILQ_HEAD(baselines, baseline);

/* What a job works on, all by descriptor. */
struct job {
	int		 project;	/* real, O_PATH or O_RDONLY */
	int		 view;		/* merged, read-only clone */
	int		 layer;		/* upper, read-only clone */
	int		 stage;		/* the session user's staging folder */
	struct timespec	 t0;		/* CLOCK_REALTIME at the start */
	const char *const *hide;	/* canonical paths, NULL-ended */
	const char *const *ro;		/* likewise: nothing lands there */
	const char	*root;		/* the project's absolute path */
	struct baselines *baselines;	/* later than T0; may be empty */
	/* The real repository's folders, for its index and info/exclude:
	 * changeset_setup's, 0 or -1: none. */
	int		 gitdir, commondir;
	int		 origins;	/* stage/origins, open; 0: none */
	bool		 live;		/* the session runs */
	bool		 dry;		/* post-images are hashed, not staged */
};

#define STAGE_PACK	"pack"

struct changeset {
	struct changes	 changes;	/* sorted by path, bytewise */
	struct skippeds	 skipped;
	struct ignoreds	 ignored;
	uint64_t	 insertions, deletions, drifted;
	uint64_t	 patchsize;
	bool		 incomplete;	/* the patch alone is not the whole */
	uint8_t		 digest[DIGEST_LEN];	/* over manifest and patch */
};

/*
 * Before the confinement: starts libgit2 (it asks for ids and reads
 * certificates, which no filter of ours allows), and opens gitdir and
 * commondir, which for a linked worktree lie outside the project; whoever
 * confines lets both be read. -1 where libgit2 does not start.
 */
int	changeset_setup(struct job *);
/* Then: gitdir or commondir lies outside of the project, at path. */
bool	changeset_git(const struct job *, char *path, size_t size);
/*
 * walk.c: walks the layer and fills set: kinds, images, drift; post-images
 * are copied to stage, small ones one behind the other into stage/pack, others
 * as 1, 2, 3 ..., while they are hashed (the session is
 * frozen meanwhile), so that all later steps read copies. 0, or -1 with errno
 * and one line in why[whylen] (EBUSY: a file changed while it was read).
 */
int	changeset_walk(const struct job *, struct changeset *, char *why,
	    size_t whylen);
/*
 * diff.c, patch.c: counts lines, writes the patch to stage/patch, replays it
 * (pre-image + patch = post-image, else the plain one-hunk form).
 */
int	changeset_patch(const struct job *, struct changeset *, char *why,
	    size_t whylen);
/* manifest.c: writes stage/manifest, sets digest. After changeset_patch. */
int	changeset_manifest(const struct job *, struct changeset *, char *why,
	    size_t whylen);

/* What a review left in the stage, which takes room in the state. -1 errno. */
int	changeset_unstage(const struct job *);

void	changeset_init(struct changeset *);
void	changeset_free(struct changeset *);

/* The landing itself, write.c, is in landing.h. */

#endif
