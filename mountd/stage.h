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

#define STAGE_NAME	".mount"

#define WAY_MOUNT	0x1	/* no fsopen: mount(2), then cloned */
#define WAY_NAMES	0x2	/* no FSCONFIG_SET_FD: "/proc/self/fd/N" */
#define WAY_STAGED	0x4	/* nothing is attached to what is detached */

/* While there is every right. The first sets mountd.ways; true: a namespace of
 * its own is needed. The second, in that one, sets mountd.unfit where nothing
 * helps. */
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
void	stage_drop_root(int root);
/* The same for all that a process has left. */
void	stage_clear(pid_t);

#endif
