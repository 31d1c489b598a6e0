/*
 * The rest of the machine in an ordinary user's session. Root's suite lays a
 * layer over every filesystem; in S none can lie over a folder that another
 * filesystem is mounted in, as nobody there may look below that mount. So the
 * tree stands on a read-only clone of "/" with all that is mounted, and where
 * it can, a read-only overlay lies on it, through which no socket and no FIFO
 * of the machine is reached, or a layer, where the user may write.
 */
#ifndef MOUNTD_REST_H
#define MOUNTD_REST_H

#include "plan.h"

/* The clone, detached. */
int	rest_root(void);
/* The places of the folders in "/". */
int	rest_plan(struct plan *, const struct build *);
/* Of a home that in is mounted in: it cannot have a layer, its folders can. */
int	rest_home(struct plan *, const struct build *, const char *home,
	    const char *in);
/* What the folder at path, open as fd, can be: PLACE_OVERLAY or PLACE_REST,
 * PLACE_CLONE where only the clone is left. */
enum place_kind	rest_kind(const struct build *, const char *path, int fd);
/* Only the machine's own, read-only, shows there: what a mask or an overlay
 * keeps back is not kept back. */
bool	rest_bare(const struct plan *, const char *path);
/* A filesystem is mounted below path: the point of one, or NULL. */
const char *rest_mounted(const struct build *, const char *path);

#endif
