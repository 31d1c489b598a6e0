/*
 * What netd's files share.
 */
#ifndef NETD_NETD_H
#define NETD_NETD_H

#include <stdbool.h>
#include <stddef.h>

/* Remembers which network namespace fd's socket was made in: the host's. */
void	link_learn_host(int fd);
bool	link_knows_host(void);
/* 0 if fd is a NETLINK_ROUTE socket of another namespace than the host's;
 * -1 and a reason. */
int	link_check(int fd, char *why, size_t size);
/* Sets the link of this name up; returns when the kernel has said so. 0, or
 * -1 and a reason. */
int	link_up(int fd, const char *name, char *why, size_t size);

#endif
