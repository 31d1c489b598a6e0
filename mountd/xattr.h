/*
 * Attributes of overlayfs and of ours on a layer's folders. An ordinary user
 * may write none of trusted.*: overlays with userxattr keep theirs in user.*,
 * and hide those from the session.
 */
#ifndef MOUNTD_XATTR_H
#define MOUNTD_XATTR_H

enum xattr {
	XATTR_OPAQUE,		/* nothing below it shows */
	XATTR_REDIRECT,		/* lies on a folder of another path */
	XATTR_ORIGIN,		/* was copied from there */
	XATTR_TRY,		/* doctor's */
	XATTR_AT,		/* which folder's layer this is */
	XATTR_PROJECT,		/* of the session: its first root */
	XATTR_ROOT,		/* the layer is that of a further one */
	XATTR_GIT,		/* a root's .git was no folder at a start */
	XATTR_MADE,		/* by the suite, not by the session */
	XATTR_HIDDEN,		/* the hidden path that a stand-in is for */
	XATTR_REAL,		/* of a project's copy: which real folder */
	XATTR_TRIAL		/* an empty folder stands for another one; and
				 * where */
};

const char *xattr_name(enum xattr);

#endif
