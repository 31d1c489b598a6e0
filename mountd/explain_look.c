/*
 * A name looked up in an overlay without mounting its layer, which may be in
 * use: the upper folder decides, then mask and real, which are one read-only
 * overlay. Opaque folders, whiteouts and redirects are what the kernel takes
 * them for.
 */
#include <sys/stat.h>
#include <sys/xattr.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "at.h"
#include "attr.h"
#include "explain.h"
#include "fault.h"
#include "fs.h"
#include "xattr.h"

void
found_close(struct found *f)
{
	if (f->top != -1)
		close(f->top);
	if (f->low != -1)
		close(f->low);
	f->top = f->low = -1;
}

static int
look_at(int dir, const char *name)
{
	if (dir == -1)
		return (-1);
	return (openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

/* Its text in value[PATH_MAX], "" where there is none. */
static void
look_attr(int fd, const char *attr, char *value)
{
	ssize_t	len;

	len = getxattr(fdpath(fd).s, attr, value, PATH_MAX - 1);
	value[len > 0 ? len : 0] = '\0';
}

/* What lies below a folder of the layer: nothing, the same name, or what it
 * was made from before it was moved; absolute ones are counted from the
 * place's top. */
static int
look_below(const struct spot *at, int top, const char *name, bool *moved)
{
	char	opaque[PATH_MAX], from[PATH_MAX];

	look_attr(top, xattr_name(XATTR_OPAQUE), opaque);
	if (strcmp(opaque, "y") == 0)
		return (-1);
	look_attr(top, xattr_name(XATTR_REDIRECT), from);
	*moved = at->moved || from[0] != '\0';
	if (from[0] == '/')
		return (from[1] == '\0' ? -1 : fs_openat2(at->root, from + 1,
		    O_PATH | O_DIRECTORY | O_NOFOLLOW, FS_BENEATH));
	if (at->low == -1)
		return (-1);
	return (openat(at->low, from[0] != '\0' ? from : name,
	    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

static bool
look_is_link(int fd)
{
	struct stat	st;

	return (fstat(fd, &st) == 0 && S_ISLNK(st.st_mode));
}

static bool
look_is_dir(int fd)
{
	struct stat	st;

	return (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode));
}

/* -1: an errno that is not "not there". */
int
found_at(const struct spot *at, const char *name, struct found *f)
{
	struct stat	st;

	*f = (struct found){
		.top = look_at(at->top, name), .low = -1, .moved = at->moved
	};
	if (f->top == -1 && at->top != -1 && errno != ENOENT)
		return (-1);
	if (f->top != -1 && fstat(f->top, &st) == 0 && whiteout_is(&st)) {
		found_close(f);
		return (0);
	}
	if (f->top != -1) {
		f->is = true;
		f->dir = look_is_dir(f->top);
		f->link = look_is_link(f->top);
		if (f->dir)
			f->low = look_below(at, f->top, name, &f->moved);
		return (0);
	}
	if ((f->low = look_at(at->low, name)) == -1)
		return (at->low == -1 || errno == ENOENT || errno == ENOTDIR ?
		    0 : -1);
	f->is = true;
	f->dir = look_is_dir(f->low);
	f->link = look_is_link(f->low);
	return (0);
}
