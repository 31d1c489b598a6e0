/*
 * A landing as steps. Each is one rename (or chmod) between the real tree and
 * the landing folder; its kind is also its turn.
 */
#ifndef LANDD_PLAN_H
#define LANDD_PLAN_H

#include "landing.h"
#include "tree.h"

/* The order of the landing, and of the steps within it. */
enum op_kind {
	OP_CHMOD,
	OP_REPLACE,	/* exchanged with the staged one */
	OP_DELETE,	/* moved into the landing folder */
	OP_RMDIR,	/* likewise, when empty; children first */
	OP_MKDIR,	/* moved out of it, parents first */
	OP_CREATE,	/* likewise */
	OP_COUNT
};

struct op {
	enum op_kind	 kind;
	bool		 must;		/* OP_RMDIR: its name is needed */
	char		*path;
	uint64_t	 name;		/* in the landing folder, from 1 */
	struct image	 pre;		/* what is there before */
	struct image	 post;		/* and after; ino: the staged inode */
	struct timespec	 mtime;		/* of the staged inode */
	/* Only while it is staged, no part of the journal. */
	uint64_t	 stage, pack;	/* the post-image in job's stage, 0: */
	const char	*like;		/* ... it is this file; whose group,
					   ACL, attributes; NULL: path's */
};

struct plan {
	struct op	*v;
	size_t		 n, size;
	uint64_t	 names;		/* 1 to names may be in the folder */
	/* The landing folder. */
	uint64_t	 number;
	char		*folder;
	uint64_t	 dev, ino;
	uint64_t	 when;
	uint8_t		 digest[DIGEST_LEN];
};

/* The name of an op's file in the landing folder. */
struct opname {
	char	s[24];
};
struct opname	op_name(const struct op *);
const char	*op_word(enum op_kind);

void	plan_init(struct plan *);
void	plan_free(struct plan *);
struct op *plan_add(struct plan *, enum op_kind, const char *path);
/* Last of an op with this path and kind, NULL. The plan must be sorted. */
struct op *plan_find(const struct plan *, enum op_kind, const char *path);
/* By kind, and by path within it, and numbers the names. */
void	plan_sort(struct plan *);

/* NULL, or why no landing touches this path. */
const char	*plan_path_refused(const char *);

/* Change set to steps; -1 with code and why in the result. */
int	plan_make(struct plan *, const struct job *, int root,
	    const struct changeset *, struct landing_result *);
/* plan_dirs.c: the folders that files are created in, and those that are
 * left empty and that the view no longer has. */
int	plan_mkdirs(struct plan *, const struct job *, int root,
	    struct landing_result *);
int	plan_rmdirs(struct plan *, const struct job *, int root,
	    struct landing_result *);
/* check.c: every pre-image, every folder. */
int	plan_check(const struct plan *, int root, struct landing_result *);

/* folder.c: the landing folder. */
struct folder {
	int	parent;		/* .git, or the project */
	int	top;		/* sbx-land-SID */
	int	fd;		/* of this landing in it */
};
int	folder_make(struct folder *, struct plan *, int root, const char *sid,
	    uint64_t number, struct landing_result *);
/* Of a journal: 1 open, 0 it is gone or another one, -1 errno. */
int	folder_open(struct folder *, const struct plan *, int root);
/* Removes what was staged, then the folders if nothing is left in them. */
int	folder_remove(struct folder *, const struct plan *);
/* The same by inode, of a landing that was taken back: how many stay, which
 * are not what it staged, and then the record too; -1 errno. */
int	folder_clear(struct folder *, const struct plan *, size_t *left);
void	folder_close(struct folder *);
/* Empty leftovers of a landing that was killed before its first journal. */
void	folder_sweep(int root, const char *sid);
/* Of folder/number: 1 the record is in *p (the caller frees), 0 there is
 * none, -1 errno. */
int	folder_record(const struct folder *, uint8_t **, size_t *);

/* stage_target.c: post-images and new folders into the landing folder. */
int	plan_stage(struct plan *, const struct job *, int root,
	    const struct folder *, struct landing_result *);

/*
 * What can be seen of a step: its file in the real tree and the one of its
 * name in the landing folder. Inode numbers say how far it has come.
 */
struct sight {
	struct place	 pl;
	bool		 inside;
	struct stat	 in;
};
enum sight_state {
	SIGHT_OLD,	/* the step is to be done */
	SIGHT_NEW,	/* it was done */
	SIGHT_ODD	/* somebody else had the file meanwhile */
};
int	sight_get(struct sight *, const struct op *, int root,
	    const struct folder *);
void	sight_close(struct sight *);
enum sight_state sight_state(const struct sight *, const struct op *);
/* The landed file was written to since it was staged. */
bool	sight_edited(const struct sight *, const struct op *);
/* The displaced file is the reviewed one, inode and bytes. */
bool	sight_displaced(const struct sight *, const struct op *,
	    const struct folder *);

/* forward.c, back.c: from placement, so both may be repeated. */
int	plan_forward(const struct plan *, int root, const struct folder *,
	    struct landing_result *);
/* 0: all is as it was, but for what others edited meanwhile, and nothing of
 * the landing folder is left; 1: what they replaced stays in it, and made is
 * filled; -1: something could not be undone, and the code is
 * land.unfinished. */
int	plan_back(const struct plan *, int root, struct folder *,
	    const uint8_t *journal, size_t len, struct landing_result *);
/* finish.c: once all is staged: with this state, what the landing makes of
 * that can be kept. */
int	plan_fits(const struct plan *, int root, const struct landing_state *,
	    struct landing_result *);
/* Verifies by hash, syncs, fills done, paths and made. */
int	plan_made(const struct plan *, const uint8_t *journal, size_t len,
	    struct landing_result *);
int	plan_verify(const struct plan *, int root, const struct folder *,
	    struct landing_result *);
int	plan_finish(const struct plan *, int root, const struct folder *,
	    const uint8_t *journal, size_t len, struct landing_result *);

/* journal.c */
int	journal_encode(const struct plan *, const char *sid, bool whole,
	    uint8_t **, size_t *);
/* *whole: false is an intent only. -1 with a reason. */
int	journal_decode(const uint8_t *, size_t, const char *sid,
	    struct plan *, bool *whole, const char **why);

/* The project's folder, opened and locked. begins: at once, and not beside a
 * running git; else it waits, not for ever, for a killed landing's child. */
int	landing_lock(const struct job *, bool begins,
	    struct landing_result *);

/* Keeps the first failure; returns -1. */
int	landing_fail(struct landing_result *, const char *code,
	    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same from errno, with path shown: "WHAT PATH: reason". */
int	landing_errno(struct landing_result *, const char *what,
	    const char *path);
/* A path for a message: escaped, cut. */
struct shown {
	char	s[300];
};
struct shown	shown_path(const char *);

#endif
