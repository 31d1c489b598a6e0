/*
 * Whose suite this is. Root's serves a machine and has a uid for each role.
 * An ordinary user's own has the one uid for everything, and an outer user
 * namespace ("S": 0 inside is the user outside) in which mountd and netd are
 * root and whose children the sessions are. What differs is asked for here.
 */
#ifndef PRIVSEP_MODE_H
#define PRIVSEP_MODE_H

#include <sys/types.h>
#include <stdbool.h>
#include <stdint.h>

#include "imsg.h"

/* First thing in sbxd, a helper and conf: by who started it, whatever a
 * broker says later. */
void	mode_begin(void);
bool	mode_user(void);
/* The same in a worker and in land, whose ids spawn has changed in root's
 * suite: there the starter at the other end of fd has another uid. */
bool	mode_user_by(int fd);
/* To whom the suite's folders belong: root, or the user. */
uid_t	mode_owner(void);
gid_t	mode_group(void);
/* A role's ids, as sbxd says them, can be one's. */
bool	mode_role(uint64_t uid, uint64_t gid);
/* mountd, netd: takes OUTER and enters S, where the user's ids are 0 and
 * every capability is there; nothing in root's suite. */
void	mode_enter(struct imsgbuf *);
/* A session's uid or gid where we are: 0 in S. */
uid_t	mode_uid(uint64_t uid);
gid_t	mode_gid(uint64_t gid);

#endif
