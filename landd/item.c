/*
 * What is done about a name: the order of the questions is that of their
 * weight. Hidden first, since nothing of it may be read; then what never
 * lands, whatever is in it; then what was read-only; then what the rules
 * ignore; then files and links.
 */
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tree.h"
#include "walk.h"

static void
stat_from(const struct statx *sx, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_dev = makedev(sx->stx_dev_major, sx->stx_dev_minor);
	st->st_ino = sx->stx_ino;
	st->st_mode = sx->stx_mode;
	st->st_nlink = sx->stx_nlink;
	st->st_uid = sx->stx_uid;
	st->st_size = (off_t)sx->stx_size;
	st->st_blocks = (blkcnt_t)sx->stx_blocks;
	st->st_mtim.tv_sec = sx->stx_mtime.tv_sec;
	st->st_mtim.tv_nsec = sx->stx_mtime.tv_nsec;
	st->st_ctim.tv_sec = sx->stx_ctime.tv_sec;
	st->st_ctim.tv_nsec = sx->stx_ctime.tv_nsec;
}

/* 1 there, 0 not, -1 errno. */
static int
item_stat_one(int dir, const char *name, struct stat *st, bool *mount)
{
	struct statx	sx;

	if (statx(dir, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
	    STATX_BASIC_STATS, &sx) == -1)
		return (errno == ENOENT ? 0 : -1);
	if (mount != NULL)
		*mount = (sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
	stat_from(&sx, st);
	return (1);
}

/* 1 go on, 0 it cannot be told, -1 with why. */
static int
item_stat(struct walk *w, struct item *it)
{
	int	rv = 1;

	if (it->view) {
		rv = item_stat_one(it->vfd, it->name, &it->vst, NULL);
		if (rv != -1)
			it->view = rv == 1;
	}
	if (rv != -1 && it->real) {
		rv = item_stat_one(it->rfd, it->name, &it->rst, &it->mount);
		if (rv != -1)
			it->real = rv == 1;
	}
	if (rv != -1 && it->layer) {
		rv = item_stat_one(it->lfd, it->name, &it->lst, NULL);
		if (rv != -1)
			it->layer = rv == 1;
	}
	if (rv != -1)
		return (1);
	if (errno != EACCES)
		return (walk_fail(w, it->path, "stat"));
	if (walk_keep(w, it) == -1)
		return (-1);
	return (it->f->unit != NULL || it->f->ignored != NULL ? 0 :
	    walk_skip(w, it->path, "unreadable",
	    "the session's user may not look at it"));
}

/*
 * Of the real file that the view shows, or shows a copy of, the inode; 0:
 * none. A copy's number in the view is that of the file it was made from,
 * while the layer's own is its own.
 */
static uint64_t
item_origin(const struct item *it)
{
	uint64_t	ino = WALK_INO(it->vst.st_ino);

	if (!it->view || S_ISDIR(it->vst.st_mode))
		return (0);
	return (it->layer && ino == it->lst.st_ino ? 0 : ino);
}

static int
item_hide(struct walk *w, const struct item *it)
{
	if (walk_keep(w, it) == -1)
		return (-1);
	if (!it->layer && it->view == it->real)
		return (0);
	return (walk_skip(w, it->path, "hidden", "hidden from the session"));
}

/* 1 it is hidden and done with, 0 it is not, -1 with why. */
static int
item_hidden(struct walk *w, const struct item *it)
{
	uint64_t	origin;

	if (w->hides.n == 0)
		return (0);
	if (hides_path(&w->hides, it->path))
		/* What the mask alone makes of it is nobody's change. */
		return (walk_keep(w, it) == -1 || (it->layer && walk_skip(w,
		    it->path, "hidden", "hidden from the session") == -1) ?
		    -1 : 1);
	/* A path that was hidden before it was there: the mask's whiteout at
	 * its first missing part is in no layer. */
	if (!it->view && it->ln == NULL && hides_below(&w->hides, it->path))
		return (walk_keep(w, it) == -1 ? -1 : 1);
	if (it->real && hides_id(&w->hides, it->rst.st_dev, it->rst.st_ino))
		return (item_hide(w, it) == -1 ? -1 : 1);
	if ((origin = item_origin(it)) != 0 &&
	    hides_id(&w->hides, w->dev, origin))
		return (item_hide(w, it) == -1 ? -1 : 1);
	return (0);
}

/* The suite's own folder of landings, by its name at the top. */
static int
item_own(struct walk *w, const struct item *it)
{
	if (*it->f->path != '\0' || strncmp(it->name, ".sbx-land-", 10) != 0)
		return (0);
	if (walk_keep(w, it) == -1)
		return (-1);
	if ((it->layer || !it->view) && walk_skip(w, it->path, "own",
	    "the name of the suite's own landing folders") == -1)
		return (-1);
	return (1);
}

static int
item_mounted(struct walk *w, const struct item *it)
{
	if (walk_keep(w, it) == -1)
		return (-1);
	/* The view shows what lies below the mount, which is no change; of
	 * what is written into it mountd tells (walk_mounted). */
	if (it->view && !it->layer)
		return (0);
	return (walk_skip(w, it->path, "mount",
	    "another filesystem is mounted here"));
}

static bool
mode_special(mode_t mode)
{
	return (!S_ISREG(mode) && !S_ISLNK(mode) && !S_ISDIR(mode));
}

/* 1 done with, 0 no FIFO, socket or device on either side, -1. */
static int
item_special(struct walk *w, const struct item *it)
{
	bool	v = it->view && mode_special(it->vst.st_mode);
	bool	r = it->real && mode_special(it->rst.st_mode);

	if (!v && !r)
		return (0);
	if (walk_keep(w, it) == -1)
		return (-1);
	if (v && r && it->vst.st_mode == it->rst.st_mode)
		return (1);
	if (walk_skip(w, it->path, "special", v ?
	    "a FIFO, socket or device is not landed" :
	    "a FIFO, socket or device stays as it is") == -1)
		return (-1);
	return (1);
}

/* Where one side or both have a folder. */
static int
item_folder(struct walk *w, struct item *it, bool view, bool real)
{
	struct ignored	*ig = it->f->ignored;
	struct folder	*f;

	if (ig == NULL && ignore_match(it->f->rules, it->path, true) &&
	    (ig = ignored_new(w, it->path)) == NULL)
		return (-1);
	if (view && real && it->layer && ig == NULL &&
	    (it->vst.st_mode & 07777) != (it->rst.st_mode & 07777) &&
	    walk_skip(w, it->path, "dir",
	    "the mode of a folder is not landed") == -1)
		return (-1);
	if ((f = walk_push(w, it, view, real, NULL, ig)) == NULL)
		return (-1);
	drift_folder(w, it, f);
	return (0);
}

int
item_walk(struct walk *w, struct item *it)
{
	bool	v, r;
	int	rv;

	if ((rv = item_stat(w, it)) != 1)
		return (rv);
	if (!it->view && !it->real)
		return (0);
	if ((rv = item_hidden(w, it)) != 0)
		return (rv == 1 ? 0 : -1);
	if (it->f->unit != NULL)
		return (unit_item(w, it));
	if (it->f->ignored == NULL) {
		if (tree_gitname(it->name, strlen(it->name)))
			return (unit_begin(w, it, UNIT_GIT));
		if (it->f->bare && name_bare(it->name))
			return (unit_begin(w, it, UNIT_BARE));
		if ((rv = item_own(w, it)) != 0)
			return (rv == 1 ? 0 : -1);
		if (it->mount)
			return (item_mounted(w, it));
		if ((rv = item_special(w, it)) != 0)
			return (rv == 1 ? 0 : -1);
	} else if (it->mount || (it->view && mode_special(it->vst.st_mode)) ||
	    (it->real && mode_special(it->rst.st_mode)))
		return (walk_keep(w, it));
	if (hides_path(&w->readonly, it->path))
		return (unit_begin(w, it, UNIT_READONLY));
	v = it->view && S_ISDIR(it->vst.st_mode);
	r = it->real && S_ISDIR(it->rst.st_mode);
	if ((v || r) && item_folder(w, it, v, r) == -1)
		return (-1);
	/* A folder in the way of a hidden path is never replaced. */
	if (r && it->view && !v && hides_below(&w->hides, it->path))
		return (walk_skip(w, it->path, "hidden",
		    "a folder with something hidden in it is not replaced"));
	if ((it->view && !v) || (it->real && !r))
		return (entry_walk(w, it));
	return (0);
}
