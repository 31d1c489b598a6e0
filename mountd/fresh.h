/*
 * What a session has of its own instead of the host's: /dev, /proc, /run,
 * /sys, /tmp.
 */
#ifndef MOUNTD_FRESH_H
#define MOUNTD_FRESH_H

#include <sys/types.h>
#include <stdbool.h>

#include "../common/proto.h"

struct build;

/* The fresh folder that path equals or lies below, NULL: none. */
const char *fresh_over(const char *path);
/* The folder of /sys that is shown empty, and has path: NULL: none. */
const char *sys_over(const char *path);

/*
 * Detached mounts that are alike for every session but for its uid, and hang
 * on nothing that a request says: they can be made before one comes.
 */
struct fresh {
	int	face;		/* see point.h */
	int	dev, sys, tmp, run;
	/* -1: none; of the pid namespace that the next session may have. */
	int	proc, pidns;
};

/* -1: a fault, and nothing of it is left open. */
int	fresh_make(struct fresh *);
/* Attaches and closes them, all but the face. */
int	fresh_attach(struct fresh *, int tree, uid_t, gid_t);
int	dev_make(void);
/* What a session's /dev has at this path in it. */
enum dev_kind { DEV_NONE, DEV_NODE, DEV_OWN };
enum dev_kind dev_kind(const char *path);

/* Whether the kernel makes a /proc of a pid namespace that it is told; and one,
 * told or from inside of it. */
bool	proc_is_named(void);
int	proc_new(int pidns);
int	pidns_check(int pidns);
/* The namespace is taken over. What does not become of it is made later. */
void	proc_early(struct fresh *, int pidns);
/* pidns: checked to be a session's. That one's, or else a new one; for root
 * read-only. */
int	proc_attach(struct fresh *, int tree, int pidns, uid_t);

/*
 * What of the host's /run has to be there: the file that /etc/resolv.conf
 * leads to, and the folders of executables that argv names, with the links
 * that lead to them.
 */
int	runfiles_attach(struct build *, int tree, const struct strv *argv);

#endif
