#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../common/roots.h"
#include "../privsep/mode.h"
#include "fault.h"
#include "fs.h"
#include "mountd.h"
#include "overlay.h"

int
build_begin(struct build *b, const struct strv *hide, const struct user *user)
{
	memset(b, 0, sizeof(*b));
	b->masks.tmpfs = -1;
	b->user = user;
	if (mnts_read(&b->mnts) == -1)
		return (-1);
	return (hides_make(&b->hides, &b->mnts, hide, user));
}

void
build_end(struct build *b)
{
	size_t	i;

	if (b->masks.tmpfs != -1)
		close(b->masks.tmpfs);
	for (i = 0; i < b->snaps.n; i++) {
		close(b->snaps.v[i].fd);
		free(b->snaps.v[i].root);
	}
	hides_free(&b->hides);
	mnts_free(&b->mnts);
}

/*
 * redirect_dir: renaming a real folder is a rename, not EXDEV. index and
 * metacopy off: the layer holds whole files, and no link of it leads to the
 * real ones. xino for the roots: where a root's layers lie on two filesystems
 * (a mask is enough) a folder's number is still made from the real one's, by
 * which CLEAN knows what a folder that is held open consists of. The kernel
 * logs it each time, so the others do without. In S attributes are user.*,
 * with which the kernel follows no redirect and makes none: there such a
 * rename is EXDEV.
 */
static int
overlay_options(struct fs *fs, bool writes, bool steady)
{
	const char	*redirect = writes ? "on" : "follow";

	if (mode_user()) {
		redirect = "nofollow";
		if (fs_set(fs, "userxattr", NULL) == -1)
			return (-1);
	}
	if (fs_set(fs, "redirect_dir", redirect) == -1 ||
	    fs_set(fs, "metacopy", "off") == -1 ||
	    fs_set(fs, "index", "off") == -1 ||
	    fs_set(fs, "source", "sbx") == -1)
		return (-1);
	return (writes && steady ? fs_set(fs, "xino", "auto") : 0);
}

#define LOWERS	4

/* An empty mask is there since overlayfs wants two lowers, and goes below:
 * then the folder's own owner and times show. */
static void
overlay_order(int to[LOWERS], int under, const struct mask *m, int lower,
    bool hides)
{
	const int	with[LOWERS] = { under, m->top, m->cover, lower };
	const int	without[LOWERS] = { under, lower, m->top, -1 };

	memcpy(to, hides ? with : without, sizeof(with));
}

static int
overlay_layers(struct fs *fs, const int lower[LOWERS], const struct layer *l)
{
	size_t	i;

	for (i = 0; i < LOWERS; i++)
		if (lower[i] != -1 && fs_set_fd(fs, "lowerdir+", lower[i]) ==
		    -1)
			return (-1);
	if (l == NULL)
		return (0);
	if (fs_set_fd(fs, "upperdir", l->u) == -1)
		return (-1);
	return (fs_set_fd(fs, "workdir", l->w));
}

int
overlay_make(struct build *b, const char *path, int lower,
    const struct layer *l, int under)
{
	unsigned int	attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	char		what[1024];
	struct fs	*fs;
	struct mask	mask;
	int		mnt = -1, lowers[LOWERS];

	snprintf(what, sizeof(what), l != NULL ? "the overlay of %s, its "
	    "layer in %s" : "the overlay of %s", shown(path),
	    shown(mountd.state));
	if (mask_make(&b->masks, &b->hides, path, lower,
	    l == NULL && under == -1, &mask) == -1)
		return (-1);
	overlay_order(lowers, under, &mask, lower,
	    hides_below(&b->hides, path));
	if ((fs = fs_open("overlay", what)) == NULL)
		goto fail;
	if (overlay_options(fs, l != NULL, b->steady != NULL &&
	    roots_find(b->steady, path) != -1) == -1 ||
	    overlay_layers(fs, lowers, l) == -1) {
		fs_close(fs);
		goto fail;
	}
	if (l == NULL)
		attrs |= MOUNT_ATTR_RDONLY;
	mnt = fs_mount(fs, attrs, what);
fail:
	mask_close(&mask);
	return (mnt);
}
