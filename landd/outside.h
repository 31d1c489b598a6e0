/*
 * What a session changed outside of its roots: listed by names, kinds, modes
 * and sizes, never read and never landed. One layer at a time, as a filesystem
 * of the machine has one.
 */
#ifndef LANDD_OUTSIDE_H
#define LANDD_OUTSIDE_H

#include <stddef.h>

#include "../common/proto.h"

struct outside {
	/* The session's view of the layer's folder, the same without the
	 * layer, and the layer itself; only listed. */
	int		 view, real, layer;
	const char	*top;		/* the folder's absolute path */
	/* Where the session has other layers mounted, absolute, NULL-ended:
	 * what is there is no change of this one's. */
	const char	*const *own;
	uint64_t	 listed, looked;	/* at most */
	void		(*tell)(void *, const struct m_FOUND *);
	void		*arg;
};

/*
 * Tells of the first so many changes, counts all, and stops where it would look
 * at more names (cut). A folder that is new, or gone, is one change, with
 * what is in it counted. 0, or -1 errno.
 */
int	outside_walk(const struct outside *, struct m_COUNTED *);

#endif
