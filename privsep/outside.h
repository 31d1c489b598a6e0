/*
 * A session's processes have a uid that is let in: in a user's own suite the
 * client's, and in root's that of any user whose own suite runs it. That they
 * cannot reach the socket is a matter of mounts; this is a second wall: who
 * connects, if not root, has to live in our pid namespace, where no session
 * does.
 */
#ifndef PRIVSEP_OUTSIDE_H
#define PRIVSEP_OUTSIDE_H

#include <stdbool.h>

/* Opens what tells; before the process is confined. Returns the folder that
 * has to stay readable, O_PATH. bare: the socket is not hidden, so that this is
 * the only wall. */
int	outside_begin(bool bare);
/* NULL, or why who connected this socket is none for a client. Kernels before
 * 6.5 cannot tell: NULL, unless the socket is bare. */
const char *outside_refuses(int fd);
bool	outside_told(void);	/* the kernel can tell */

#endif
