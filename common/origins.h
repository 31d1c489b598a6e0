/*
 * stage/origins: which of a layer's files overlayfs copied from a real one,
 * and on which real folders the layer's lie. Written by mountd, since only a
 * capability reads the attributes that say so; read by the landing's child.
 * Records, one behind the other:
 *
 *	u64	the inode in the layer
 *	u16	how long the attribute is
 *	u16	how long the path is
 *		the attribute
 *		the path: of a folder, where in the project the real one below
 *		it is; none of a file
 *
 * Little endian. The attribute is the kernel's struct ovl_fb, with the real
 * file's handle in it; it is empty where the real filesystem has no handles,
 * and of a folder that was not copied up, or not from there. A folder that
 * lies on none is not in the list. Inode 0 and no attribute: the session wrote
 * into a filesystem that is mounted below the project, at the path; or, where
 * that is absolute, into the project's git folder, which lies outside. Inode 0
 * with an attribute, of one byte: the layer lies on a copy of the project that
 * was made at the start.
 */
#ifndef COMMON_ORIGINS_H
#define COMMON_ORIGINS_H

#include <stddef.h>

#define ORIGINS_NAME	"origins"
#define ORIGINS_HEAD	12
#define ORIGINS_ATTR	256	/* a longer attribute is cut: no handle */

/* Offsets in struct ovl_fb, in bytes. */
#define ORIGIN_TYPE	4
#define ORIGIN_FID	21

/* Of this file, "": dir itself, as overlayfs would write it down, its flags
 * and filesystem left out. How long it is; 0: it has no handle. */
size_t	origin_of(int dir, const char *name, unsigned char[ORIGINS_ATTR]);

#endif
