#ifndef MOUNTD_PROBE_H
#define MOUNTD_PROBE_H

/* What the state's filesystem lacks for carrying layers, malloc'ed; NULL:
 * nothing. No overlay is tried: the end of one waits for the disk. */
char	*probe_state(void);
/* In a child, after its overlays could not be made: where that is because of
 * the state's filesystem, that becomes the reason. -1. */
int	 probe_blame(void);

#endif
