/*
 * Where the mount interface by descriptor is not all there, since the kernel
 * is older, or since who started the suite filters its calls (a container
 * engine, say): what is made instead, found out once at the start.
 *
 * What has to be attached meanwhile is so in mountd's own mount namespace, on
 * an unbindable tmpfs on STATE/s/.mount: no clone of "/" has it, nobody else
 * sees it, and it ends with mountd.
 */
#ifndef MOUNTD_STAGE_H
#define MOUNTD_STAGE_H

#include <sys/types.h>
#include <stdbool.h>
#include <stdint.h>

#define STAGE_NAME	".mount"

#define WAY_MOUNT	0x1	/* no fsopen: mount(2), then cloned */
#define WAY_NAMES	0x2	/* no FSCONFIG_SET_FD: "/proc/self/fd/N" */
#define WAY_STAGED	0x4	/* the detached is not cloned or attached to */
#define WAY_INSIDE	0x8	/* no "pidns": /proc by a process in that one */

/* While there is every right. The first sets mountd.ways; true: a namespace of
 * its own is needed. The second, in that one, sets mountd.unfit where nothing
 * helps, and whether a pid namespace can be named (WAY_INSIDE). */
bool	stage_needed(void);
void	stage_begin(void);
/* A path of the host's that is the stage's, and no mount of the host's. */
bool	stage_is(const char *path);

/* An empty folder to mount on, O_PATH. -1 fault. */
int	stage_point(void);
/* What is mounted there, to be closed by the caller or with stage_drop. */
int	stage_root(int point);
/* Takes all off it, and removes it; the descriptors too. */
void	stage_drop(int point);
bool	stage_drop_root(int root);	/* false: it is none */
/* The same for all that a process has left. */
void	stage_clear(pid_t);

/* A detached mount that is to be cloned later stays attached until then, under
 * a session's id and a name. Without that need nothing is done. */
void	stage_hold(const char *sid, const char *name, uint64_t n, int mnt);
void	stage_let_go(const char *sid);

#endif
