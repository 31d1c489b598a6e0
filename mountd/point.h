/*
 * Mount points in a tree that is being made, and the faces that cover.
 */
#ifndef MOUNTD_POINT_H
#define MOUNTD_POINT_H

#include <stdbool.h>

/*
 * Opens the place in the tree that has this path; no link is followed: one
 * that an earlier run left there is data. With make what is missing is made,
 * like the host's own where that has it. -1: errno, and with make a fault.
 */
int	point_open(int tree, const char *path, bool dir, bool make);

/* An empty folder and an empty file, read-only, unremovable when mounted. */
int	face_make(void);
int	face_clone(int face, bool dir, const char *what);
int	face_attach(int face, int point, bool dir, const char *what);
/* Covers what is at path in the tree; nothing there is fine. */
int	face_cover(int face, int tree, const char *path);

#endif
