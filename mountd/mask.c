#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/path.h"
#include "../privsep/mode.h"
#include "at.h"
#include "attr.h"
#include "fault.h"
#include "fs.h"
#include "mask.h"
#include "xattr.h"

#define MASK_LEFT	(-2)	/* this path needs no more */
#define MASK_COVER	(-3)	/* but to be covered */

static int
mask_whiteout(int at, const char *name)
{
	if (mknodat(at, name, S_IFCHR, makedev(0, 0)) == -1 &&
	    errno != EEXIST)
		return (fault_errno("mount.failed", "hiding %s", shown(name)));
	return (MASK_LEFT);
}

/* By which EXPLAIN knows it where what it is in has been moved: not in a
 * user's suite, whose tmpfs may not take it. */
static int
mask_mark(int fd, const struct hidden *h)
{
	if (setxattr(fdpath(fd).s, xattr_name(XATTR_HIDDEN), h->path,
	    strlen(h->path), 0) == -1)
		return (mode_user() && errno == EOPNOTSUPP ? 0 : -1);
	return (0);
}

static int
mask_file(int at, const char *name, const struct hidden *h)
{
	int	fd, r = MASK_LEFT;

	if (mknodat(at, name, S_IFREG | 0444, 0) == -1)
		return (errno == EEXIST ? MASK_LEFT :
		    fault_errno("mount.failed", "hiding %s", shown(name)));
	fd = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1 || fchownat(fd, "", 0, 0, AT_EMPTY_PATH) == -1 ||
	    mask_mark(fd, h) == -1)
		r = fault_errno("mount.failed", "hiding %s", shown(name));
	if (fd != -1)
		close(fd);
	return (r);
}

static int
mask_folder(int at, const char *name, const struct hidden *h)
{
	int	fd, r = MASK_COVER;

	if (mkdirat(at, name, 0555) == -1)
		return (errno == EEXIST ? MASK_LEFT :
		    fault_errno("mount.failed", "hiding %s", shown(name)));
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1 || fchown(fd, 0, 0) == -1 || mask_mark(fd, h) == -1)
		r = fault_errno("mount.failed", "hiding %s", shown(name));
	if (fd != -1)
		close(fd);
	return (r);
}

/* The hidden path itself, where there is one. */
static int
mask_last(int at, const char *name, mode_t mode, const struct hidden *h)
{
	if (h->gone)
		return (mask_whiteout(at, name));
	if (S_ISDIR(mode) || (S_ISLNK(mode) && h->dir))
		return (mask_folder(at, name, h));
	return (mask_file(at, name, h));
}

/* A folder above a hidden path: like the real one. */
static int
mask_parent(int real, int at, const char *name)
{
	bool	new = true;
	int	fd;

	if (mkdirat(at, name, 0700) == -1) {
		if (errno != EEXIST)
			return (fault_errno("mount.failed", "a folder above a "
			    "hidden path"));
		new = false;
	}
	fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		/* A file or whiteout of the mask: hidden already. */
		return (MASK_LEFT);
	if (new && attr_copy(real, fd, shown(name)) == -1) {
		close(fd);
		return (-1);
	}
	return (fd);
}

/*
 * One component of a hidden path: the mask's folder goes on in *at, the real
 * one in *real. MASK_LEFT: nothing of it is left to do.
 */
static int
mask_step(int *real, int *at, const char *name, bool last,
    const struct hidden *h)
{
	struct stat	st;
	int		fd, next;

	fd = fs_openat2(*real, name, O_PATH | O_NOFOLLOW,
	    RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS);
	if (fd == -1 && errno == ENOENT)
		return (mask_whiteout(*at, name));
	if (fd == -1 && errno == EXDEV)
		return (MASK_LEFT);	/* in a mount that is no part of this */
	if (fd == -1 || fstat(fd, &st) == -1)
		return (fault_errno("mount.hide", "hide %s", shown(h->path)));
	if (last || !S_ISDIR(st.st_mode)) {
		close(fd);
		/* Below a file nothing can be, and nothing is hidden. */
		return (last ? mask_last(*at, name, st.st_mode, h) :
		    MASK_LEFT);
	}
	if ((next = mask_parent(fd, *at, name)) < 0) {
		close(fd);
		return (next);
	}
	close(*real);
	close(*at);
	*real = fd;
	*at = next;
	return (0);
}

/* Its next part, whose length is returned, into name. */
static size_t
mask_part(const char *rel, char *name)
{
	size_t	len = strcspn(rel, "/");

	if (len <= NAME_MAX) {
		memcpy(name, rel, len);
		name[len] = '\0';
	}
	return (len);
}

static int
mask_begin(struct masks *ms)
{
	if (ms->tmpfs != -1)
		return (0);
	ms->tmpfs = fs_base(fs_tmpfs("mode=0700,size=64m", MOUNT_ATTR_NOSUID |
	    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, "the mask of hidden paths"),
	    "the mask of hidden paths");
	return (ms->tmpfs == -1 ? -1 : 0);
}

static int
mask_root(struct masks *ms)
{
	char	name[16];
	int	fd;

	if (mask_begin(ms) == -1)
		return (-1);
	snprintf(name, sizeof(name), "%u", ms->n++);
	if (mkdirat(ms->tmpfs, name, 0700) == -1 ||
	    (fd = openat(ms->tmpfs, name, O_PATH | O_DIRECTORY | O_CLOEXEC)) ==
	    -1)
		return (fault_errno("mount.failed", "the mask of hidden "
		    "paths"));
	return (fd);
}

/* Only what overlayfs looks at: folders, and at the end the whiteout. */
static int
mask_cover(struct masks *ms, struct mask *m, const char *rel)
{
	char	path[PATH_MAX];
	size_t	len = 0;

	if (m->cover == -1 && (m->cover = mask_root(ms)) == -1)
		return (-1);
	if (strlcpy(path, rel, sizeof(path)) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		return (fault_errno("mount.hide", "hide %s", shown(rel)));
	}
	while (path[len += strcspn(path + len, "/")] == '/') {
		path[len] = '\0';
		if (mkdirat(m->cover, path, 0755) == -1 && errno != EEXIST)
			return (fault_errno("mount.failed", "hiding %s",
			    shown(rel)));
		path[len++] = '/';
	}
	return (mask_whiteout(m->cover, path));
}

static int
mask_hide(struct masks *ms, struct mask *m, int lower, const char *whole,
    const struct hidden *h)
{
	char		 name[NAME_MAX + 1];
	const char	*rel = whole;
	size_t		 len;
	int		 real, at, r = 0;

	if ((real = fcntl(lower, F_DUPFD_CLOEXEC, 0)) == -1)
		return (fault_errno("mount.failed", "hidden paths"));
	if ((at = fcntl(m->top, F_DUPFD_CLOEXEC, 0)) == -1) {
		close(real);
		return (fault_errno("mount.failed", "hidden paths"));
	}
	while (r == 0 && *rel != '\0') {
		if ((len = mask_part(rel, name)) > NAME_MAX)
			break;	/* no such name can ever be */
		rel += len + (rel[len] == '/');
		r = mask_step(&real, &at, name, *rel == '\0', h);
	}
	close(real);
	close(at);
	if (r == MASK_COVER)
		r = mask_cover(ms, m, whole);
	return (r == -1 ? -1 : 0);
}

static bool
mask_covers(int cover, const char *name)
{
	struct stat	st;

	return (cover != -1 && fstatat(cover, name, &st,
	    AT_SYMLINK_NOFOLLOW) == 0 && S_ISCHR(st.st_mode));
}

static int
mask_below(int dir, const char *name)
{
	return (dir == -1 ? -1 : openat(dir, name,
	    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/* Making entries moved the times of the folders above them. A hidden folder
 * shows no time of the real one's. */
static void
mask_times(int real, int at, int cover)
{
	struct dirent	*de;
	DIR		*d;
	int		 below, covered, r;

	if ((d = at_opendir(at, "")) == NULL)
		return;
	while ((de = readdir(d)) != NULL) {
		if (de->d_type != DT_DIR || strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0 ||
		    mask_covers(cover, de->d_name))
			continue;
		below = mask_below(at, de->d_name);
		covered = mask_below(cover, de->d_name);
		r = fs_openat2(real, de->d_name, O_PATH | O_DIRECTORY,
		    FS_BENEATH | RESOLVE_NO_XDEV);
		if (below != -1 && r != -1)
			mask_times(r, below, covered);
		if (below != -1)
			close(below);
		if (covered != -1)
			close(covered);
		if (r != -1)
			close(r);
	}
	closedir(d);
	attr_copy_times(real, at);
}

static int
mask_new(struct masks *ms, int lower)
{
	int	fd;

	if ((fd = mask_root(ms)) == -1)
		return (-1);
	if (attr_copy(lower, fd, "an overlaid folder") == -1) {
		close(fd);
		return (-1);
	}
	return (fd);
}

void
mask_close(struct mask *m)
{
	if (m->top != -1)
		close(m->top);
	if (m->cover != -1)
		close(m->cover);
	m->top = m->cover = -1;
}

int
mask_make(struct masks *ms, const struct hides *hs, const char *path,
    int lower, bool always, struct mask *m)
{
	const char	*rel;
	size_t		 i;

	m->top = m->cover = -1;
	if (always && (m->top = mask_new(ms, lower)) == -1)
		return (-1);
	for (i = 0; i < hs->n; i++) {
		rel = path_below(path, hs->v[i].path);
		if (rel == NULL || *rel == '\0')
			continue;
		if ((m->top == -1 && (m->top = mask_new(ms, lower)) == -1) ||
		    mask_hide(ms, m, lower, rel, &hs->v[i]) == -1) {
			mask_close(m);
			return (-1);
		}
	}
	if (m->top != -1)
		mask_times(lower, m->top, m->cover);
	return (0);
}
