/*
 * A whole suite, started as sbxd -d with its state in the case's folder.
 */
#ifndef REGRESS_BROKER_H
#define REGRESS_BROKER_H

#include <sys/types.h>
#include <limits.h>

extern pid_t	broker;			/* sbxd */
extern char	log_path[PATH_MAX];	/* of it and of its helpers */
extern const char *broker_conf;		/* its file, NULL: the default */

void	broker_start(const char *program);
/* Waits until it listens. */
int	broker_connect(void);
/* Waits until it answers. */
void	broker_ready(void);
/* Its child of this name, the oldest. */
pid_t	broker_helper(const char *name);
/* By SIGTERM; it must end with status 0. */
void	broker_stop(void);

#endif
