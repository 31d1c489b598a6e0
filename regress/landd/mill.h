/*
 * landd and land as the real programs over a real overlay: this test is the
 * broker, mountd and spawn.
 */
#ifndef REGRESS_LANDD_MILL_H
#define REGRESS_LANDD_MILL_H

#include "landd_lib.h"
#include "review_lib.h"

struct mill {
	struct lab	lab;
	struct review	r;
	pid_t		land;		/* 0: not running */
	char		landlog[PATH_MAX + 16];
	uint32_t	id;
	/* Of the last job. */
	char		code[64], why[LIMIT_MESSAGE + 1];	/* ERROR */
	char		items[16384];	/* a line each */
	uint8_t		digest[32];
	bool		landing, staged;
	uint64_t	files;		/* LANDED's */
	char		paths[16384];	/* likewise, a line each */
	int		patch;
	/* Called when the child has been handed the view; and while it
	 * works. */
	void		(*viewed)(struct mill *);
	void		(*working)(struct mill *);
};

/* Up, and a world whose R is still to be filled. */
void	mill_up(struct mill *, uid_t);
/* R is as the session found it: mounts V, seals. */
void	mill_start(struct mill *);
void	mill_down(struct mill *);

/* A job to its end: true without ERROR. What sbxd does with the files is
 * done: newbase over baseline, journal away. */
bool	mill_job(struct mill *, const char *what, const uint8_t *digest,
	    const char *const *paths);
/* Fails the case where the job fails; or does not fail so. */
void	mill_works(struct mill *, const char *what);
void	mill_fails(struct mill *, const char *what, const char *code);
/* R and V are alike, or not. */
void	mill_same(struct mill *);

/*
 * One system call more in a process that is stopped at one (ptrace): its
 * result, negative as the kernel gives it. A path goes where arg is -1.
 */
struct hands {
	pid_t	pid;
};
void	hands_on(struct hands *, pid_t);	/* attaches */
/* Runs on until it has a filter, and is about to make a call. */
void	hands_filtered(struct hands *);
/* Runs on to its next call. */
void	hands_next(struct hands *);
long	hands_call(struct hands *, long nr, const char *path, long a, long b,
	    long c, long d);
void	hands_off(struct hands *);
/* Makes it make this call instead; the signal it died by, 0: it lives. */
int	hands_forbidden(struct hands *, long nr);
/* A line of /proc/PID/status, without its name; static. */
const char *status_line(pid_t, const char *name);

#endif
