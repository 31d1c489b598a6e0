/*
 * A landing: the change set written into the real project, all or nothing.
 *
 * Carried out by placement: every file that is to come was made in the
 * landing folder, every file that is to go ends there, and the steps between
 * are renames. So where an inode lies says whether its step was done, and the
 * same two walks (forward, back) serve the landing, its rollback, and the
 * recovery after a crash at any point.
 */
#ifndef LANDD_LANDING_H
#define LANDD_LANDING_H

#include <stdarg.h>

#include "changeset.h"

#define LANDING_WHY	1024

/* A landing that was made, as the state keeps it: UNDO's place. The folder
 * is known by device and inode, the record in it by its SHA-256. Or one that
 * was taken back, for what others' edits made it leave there. */
struct landing {
	TAILQ_ENTRY(landing) entry;
	uint64_t	 n;		/* its number in this session */
	char		*folder;	/* .git/sbx-land-SID, .sbx-land-SID */
	uint64_t	 dev, ino;	/* of folder/n */
	uint64_t	 when;		/* seconds since 1970 */
	uint8_t		 digest[DIGEST_LEN];	/* the change set's */
	uint8_t		 record[DIGEST_LEN];	/* of folder/n/record */
	bool		 back;		/* it was taken back */
};
TAILQ_HEAD(landings, landing);

struct landing_state;

struct landing_ops {
	/*
	 * Makes the journal's bytes durable; 0, or -1 to give up. Called
	 * twice: with the intent, which names the landing folder before
	 * anything is put there, then with the whole, when all is staged and
	 * synced: the commit point. A later journal replaces an earlier one
	 * only once it is whole.
	 */
	int	(*commit)(void *, const uint8_t *journal, size_t len);
	void	*arg;
	const struct landing_state *state;	/* NULL: nothing yet */
};

/* What became of it. code is a stable dotted word, why one line. */
struct landing_result {
	bool		 applied;
	struct baselines done;		/* the real files as they now are,
					   and the folders that they are in */
	char		**paths;	/* all that was landed, folders too */
	size_t		 npaths;
	uint64_t	 earlier;	/* recovered: it had ended already, */
					/* with so many files */
	struct landing	 made;		/* folder NULL: none is left */
	const char	*code;
	char		 why[LANDING_WHY];
};

void	landing_result_init(struct landing_result *);
void	landing_result_free(struct landing_result *);

/*
 * 0: the landing is there whole. -1: the real tree is as it was, code and why
 * say what stood in the way, made what is left of it where others edited
 * meanwhile; code "land.unfinished" alone means that going back failed too:
 * the journal must be kept and recovered from.
 */
int	landing_write(const struct job *, const struct changeset *,
	    const char *sid, uint64_t number, const struct landing_ops *,
	    struct landing_result *);
/* Rolls a journal forward (applied) or else back. An empty one: nothing was
 * begun; one that is not later than the last of those made: all has ended,
 * and nothing is touched. -1: neither way works yet, keep the journal. */
int	landing_recover(const struct job *, const char *sid,
	    const uint8_t *journal, size_t len, const struct landings *made,
	    struct landing_result *);

/*
 * The session goes, and with it what its landings keep in the project: what
 * they displaced and their own files, known by inode and bytes, and the
 * folders once they are empty. What one displaced that was taken back stays,
 * unless the real file is that again. -1: something of it stays that is not
 * ours to remove ("land.left"), or that could not be removed. May be
 * repeated.
 */
int	landing_forget(const struct job *, const char *sid,
	    const struct landings *, struct landing_result *);

/* The state of a session's landings: baselines and landings made. */
struct landing_state {
	struct baselines baselines;
	struct landings	 landings;
};
void	landing_state_init(struct landing_state *);
void	landing_state_free(struct landing_state *);
int	landing_state_decode(const uint8_t *, size_t, struct landing_state *,
	    const char **why);
int	landing_state_encode(const struct landing_state *, uint8_t **,
	    size_t *);
/* How long it is, encoded, with what this result is to add. */
int	landing_state_room(const struct landing_state *,
	    const struct landing_result *, size_t *len);
/* Takes the new over: later baselines replace earlier ones by path. */
int	landing_state_merge(struct landing_state *, struct landing_result *);
/* One baseline, of the real file as it is; absent: mode 0. */
struct baseline *baseline_make(int project, const char *path);
/* Likewise of a folder, by which reviews know that it is the same: no size,
 * no bytes; gone: ino 0. */
struct baseline *baseline_folder(int project, const char *path);
void	baselines_free(struct baselines *);

#endif
