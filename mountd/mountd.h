/*
 * mountd: what all its files know.
 */
#ifndef MOUNTD_MOUNTD_H
#define MOUNTD_MOUNTD_H

#include <sys/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "../common/proto.h"

struct mountd {
	char	 state[LIMIT_PATH + 1];	/* the state root */
	char	 runtime[LIMIT_PATH + 1]; /* the socket's folder, or "" */
	int	 store;			/* its s/, O_RDONLY */
	int	 root;			/* "/" of our own mount namespace */
	uid_t	 uids[UID_COUNT];	/* the suite's own */
	gid_t	 gid;			/* mountd's */
	char	*unfit;			/* why none can be mounted, NULL */
	bool	 spares;		/* the next start is prepared for */
	unsigned int ways;		/* round what is not there: stage.h */
	int	 stage;			/* what is attached meanwhile, -1 */
	bool	 blind;			/* for mounts that come or go later */
};
extern struct mountd mountd;

/* In a process of our own: closes all but these, and what is below 3. */
void	fds_keep(int *, size_t);

/* In a request's child: still at work, its ten seconds begin anew. */
void	child_alive(void);

#endif
