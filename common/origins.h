/*
 * stage/origins: which of a layer's files overlayfs copied from a real one.
 * Written by mountd, since only a capability reads the attribute that says
 * so; read by the landing's child. Records, one behind the other:
 *
 *	u64	the file's inode in the layer
 *	u16	how long the attribute is
 *		the attribute
 *
 * Little endian. The attribute is the kernel's struct ovl_fb, with the real
 * file's handle in it; it is empty where the real filesystem has no handles.
 */
#ifndef COMMON_ORIGINS_H
#define COMMON_ORIGINS_H

#define ORIGINS_NAME	"origins"
#define ORIGINS_HEAD	10
#define ORIGINS_ATTR	256	/* a longer attribute is cut: no handle */

/* Offsets in struct ovl_fb, in bytes. */
#define ORIGIN_TYPE	4
#define ORIGIN_FID	21

#endif
