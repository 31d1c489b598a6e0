/*
 * Entries copied with all that they carry, out of the base into the layer or
 * into the view of a live session.
 */
#ifndef MOUNTD_COPY_H
#define MOUNTD_COPY_H

struct stat;

/* All bytes of a regular file, over those that to has; holes stay holes where
 * to has none of its own there. */
int	data_copy(int from, int to);
/* What is no folder, O_PATH, under a name where nothing is. */
int	entry_copy(int from, int dir, const char *name, const struct stat *);

#endif
