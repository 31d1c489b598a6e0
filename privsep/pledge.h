/*
 * seccomp filters by program, compiled to BPF at build time from the promise
 * sets in promises.c (tool: mkfilter). An allow-list kills with SIGSYS; the
 * deny-lists of spawn and of a session answer EPERM.
 */
#ifndef PRIVSEP_PLEDGE_H
#define PRIVSEP_PLEDGE_H

enum pledge {
	PLEDGE_SBXD, PLEDGE_SPAWN, PLEDGE_NETD, PLEDGE_MOUNTD, PLEDGE_LANDD,
	PLEDGE_LAND, PLEDGE_WORKER, PLEDGE_INIT, PLEDGE_CONF,
	PLEDGE_COUNT
};

/* Sets no_new_privs if needed, loads the filter and checks by
 * PR_GET_SECCOMP; fatal on failure. */
void	pledge(enum pledge);

#endif
