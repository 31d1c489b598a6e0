#ifndef MOUNTD_RM_H
#define MOUNTD_RM_H

/*
 * Removes name in the folder, whatever it is, and all that is in it: by
 * descriptor, following no link, never into another filesystem, at any depth
 * with two descriptors. -1 errno; nothing there is no failure.
 */
int	rm_all(int dir, const char *name);

#endif
