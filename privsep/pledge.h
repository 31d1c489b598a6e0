/*
 * seccomp filters by program, compiled to BPF at build time from the promise
 * sets in promises.c (tool: mkfilter). An allow-list kills with SIGSYS; the
 * deny-lists of spawn and of a session answer EPERM.
 */
#ifndef PRIVSEP_PLEDGE_H
#define PRIVSEP_PLEDGE_H

struct stat;

enum pledge {
	PLEDGE_SBXD, PLEDGE_SPAWN, PLEDGE_NETD, PLEDGE_MOUNTD, PLEDGE_LANDD,
	PLEDGE_LAND, PLEDGE_WORKER, PLEDGE_INIT, PLEDGE_CONF,
	PLEDGE_STAGED,		/* mountd's, where it has to mount by path, */
	PLEDGE_INSIDE,		/* or to go into a session's pid namespace, */
	PLEDGE_STAGED_INSIDE,	/* or both */
	PLEDGE_COUNT
};

/* Sets no_new_privs if needed, loads the filter and checks by
 * PR_GET_SECCOMP; fatal on failure. */
void	pledge(enum pledge);
/* fstat(2) by its own number, for netd, landd, the worker and conf, whose
 * filters have no other: glibc's (2.33 to 2.38) is newfstatat with an empty
 * path, and a filter sees no path. -1: errno. */
int	pledge_fstat(int fd, struct stat *);

#endif
