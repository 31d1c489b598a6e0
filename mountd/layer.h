/*
 * The suite's own folder of a session, STATE/s/ID: a numbered layer per
 * overlaid filesystem, N/{u,w}, and the stage of its landings. A layer's
 * number is for life: its folder is marked with the path it belongs to.
 */
#ifndef MOUNTD_LAYER_H
#define MOUNTD_LAYER_H

#include <sys/types.h>
#include <stdbool.h>

#define LAYER_ROOT	0	/* what the layer of "/" gets in a new folder */
#define LAYER_MAX	4096

struct layer {
	unsigned int	n;
	int		u, w;	/* O_PATH */
};

/* The session's folder: opens it, or makes it where make is true; *fresh says
 * which it was. Locked: a second holder is EWOULDBLOCK. -1 errno. */
int	store_open(const char *sid, bool make, bool *fresh);

/* The layer of the host's folder at path, made like it if there is none. */
int	layer_open(int store, const char *path, int lower, struct layer *);
/* By that name in the folder. -1: errno, and what there is of it is there. */
int	layer_make(int store, const char *name, const char *path, int lower,
	    struct layer *);
/* Its two folders only. -1: errno. */
int	layer_halves(int store, const char *name);
/* stock.c: some of those made beforehand, for this process's next layers; one
 * put there, if any is left; and what such a process has left. */
void	stock_make(void);
void	stock_give(int store, const char *layer);
void	stock_sweep(pid_t);
/* Its number: 1 found, 0 there is none, -1 fault. */
int	layer_find(int store, const char *path, unsigned int *n);
/* u of a layer that is there. */
int	layer_upper(int store, unsigned int n);
/* From *n on, the next layer that is no root's and has something in it: 1, its
 * path in at[PATH_MAX]; 0 none; -1 errno. */
int	layer_outside(int store, unsigned int *n, char *at);
void	layer_close(struct layer *);
/* 1: there, its host's path in at[PATH_MAX]; 0: no such number; -1 errno. */
int	layer_at(int store, unsigned int n, char *at);

/* Which layers are of roots: of the first one, by the path that PREP named,
 * which is for life; of a further one, by its layer, which is there. */
int	layer_set_project(int store, const char *path);
int	layer_set_root(int store, unsigned int n);
/* A root's .git is no folder. It is looked for at a start, in its child, and
 * kept, for mountd itself looks at no file of anybody's: a filesystem that does
 * not answer would be all sessions'. */
int	layer_set_git(int store);
bool	layer_git_elsewhere(int store);
/* From *n on, the next root's layer: 1, its path in at[PATH_MAX]; 0 none; -1
 * errno. */
int	layer_root(int store, unsigned int *n, char *at);
/* The layer of the root at this path: its number, and whether it is the
 * first's; -1 fault. */
int	layer_of_root(int store, const char *path, unsigned int *n,
	    bool *first);

/* What a root has in the session's folder: "pending", and of a further one
 * "pending.N" by its layer, as the first one's is the only one that there was
 * once. */
struct root_name {
	char	s[32];
};
struct root_name root_name(const char *what, unsigned int n, bool first);
/* That of the root at this path: 1; 0: a further one, without a layer yet; -1
 * fault. */
int	root_named(int store, const char *path, const char *what,
	    struct root_name *);

/* From *n on, the next layer of a filesystem mounted below the root that has
 * something in it: 1, its path in at[PATH_MAX]; 0 none; -1 errno. */
int	layer_below(int store, const char *root, unsigned int *n, char *at);
/* aside.c: something may be put aside of a layer, and is as much the
 * session's. */
bool	aside_is(int store);
/* What a look at all of a session's layers finds, of which most have nothing:
 * then nobody needs to start a review to know it. What cannot be told counts
 * as something. */
struct survey {
	bool	pristine;	/* its roots, and what is mounted in them */
	/* The same, and nothing anywhere if a root's .git is no folder: where
	 * git keeps what it is told inside only a review finds. */
	bool	idle;
	bool	strayed;	/* there is something in a layer of no root */
};
void	layer_survey(int store, struct survey *);
/* A git folder at this path has something in the layer it lies in: 1; 0 not, or
 * that is a root's; -1 errno. */
int	layer_has_git(int store, const char *path);
/* Nothing was ever mounted: there is no layer yet. */
bool	layer_is_unborn(int store);

/* The stage: the session user's; made, or checked to be this user's. */
int	stage_make(int store, uid_t, gid_t);
int	stage_open(int store, uid_t);
/* copies.c: the list of copies among the files of the project's upper folder
 * u, anew into the stage (common/origins.h); git: its git folder outside, or
 * NULL. */
int	copies_write(int store, const char *project, const char *git, int u,
	    int stage);

/* Is any layer's upper folder part of a mounted overlay, in whatever mount
 * namespace? 1, 0, -1 fault. The kernel notes each asking in its log. */
int	layer_in_use(int store);

#endif
