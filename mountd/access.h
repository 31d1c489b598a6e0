/*
 * What a user may, by mode and access list: mountd itself may everything, and
 * must not tell a user of what that one cannot see.
 */
#ifndef MOUNTD_ACCESS_H
#define MOUNTD_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "../common/proto.h"

#define ACCESS_READ	4
#define ACCESS_SEARCH	1

struct user {
	uint64_t	 uid, gid;
	struct u64v	 groups;
};

/* fd may be an O_PATH one. As for a user without capabilities: uid 0 too. */
bool	access_may(int fd, const struct user *, unsigned int want);

#endif
