/*
 * A folder on the layer's own filesystem, beside it: what is made there takes
 * its place in one step, and what is taken out of the layer is put there until
 * it is known that it may go. What cannot come back from there stays, and is
 * as much the session's as the layer.
 */
#include <sys/stat.h>
#include <sys/xattr.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attr.h"
#include "clean.h"
#include "fault.h"
#include "mountd.h"
#include "rm.h"
#include "xattr.h"

#define ASIDE	"aside"
#define NEW	"new"		/* what is being made */
#define TRIAL	"trial"		/* an empty folder, or what it stands for */

int
aside_open(struct clean *c)
{
	if (c->aside != -1)
		return (0);
	if (aside_mend(c->store) == -1 ||
	    mkdirat(c->store, ASIDE, 0700) == -1)
		return (-1);
	c->aside = openat(c->store, ASIDE,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return (c->aside == -1 ? -1 : 0);
}

static void
aside_close(struct clean *c)
{
	kept_close(c);
	if (c->aside != -1)
		close(c->aside);
	c->aside = -1;
}

int
aside_end(struct clean *c)
{
	if (c->aside == -1)
		return (0);
	if (kept_give_up(c) == -1)
		return (-1);
	aside_close(c);
	return (aside_mend(c->store));
}

const char *
aside_new(struct clean *c)
{
	if (aside_open(c) == -1 || rm_all(c->aside, NEW) == -1)
		return (NULL);
	return (NEW);
}

/* Is it the empty folder that a trial puts in place of another? */
static bool
trial_stands(int dir, const char *name)
{
	bool	r;
	int	fd;

	fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (false);
	r = getxattr(fdpath(fd).s, xattr_name(XATTR_TRIAL), NULL, 0) != -1;
	close(fd);
	return (r);
}

/* Before the two change places it is written down where that is: whoever comes
 * after a crash has nothing else to know it by. */
int
trial_begin(struct clean *c, const char *path)
{
	const char	*name;
	char		 at[PATH_MAX];
	int		 dir, fd, r = -1;

	if (snprintf(at, sizeof(at), "%u/u/%s", c->n, path) >=
	    (int)sizeof(at)) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	if (aside_open(c) == -1 || mkdirat(c->aside, TRIAL, 0755) == -1)
		return (-1);
	fd = openat(c->aside, TRIAL,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	if (fsetxattr(fd, xattr_name(XATTR_TRIAL), "", 0, 0) == 0 &&
	    fsetxattr(c->aside, xattr_name(XATTR_TRIAL), at, strlen(at),
	    0) == 0 && (dir = at_parent(c->u, path, &name)) != -1) {
		r = renameat2(c->aside, TRIAL, dir, name, RENAME_EXCHANGE);
		close(dir);
	}
	close(fd);
	return (r);
}

/* The session's folder back to where it was; what stands for it is empty, or
 * somebody is using it. */
static int
trial_back(int aside, int store, const char *at)
{
	const char	*name;
	int		 dir, r = -1;

	if ((dir = at_parent(store, at, &name)) != -1) {
		if (!trial_stands(dir, name) ||
		    unlinkat(dir, name, AT_REMOVEDIR) == 0)
			r = renameat2(aside, TRIAL, dir, name,
			    RENAME_NOREPLACE);
		close(dir);
	}
	if (r == 0)
		return (0);
	return (fault_also("mount.aside", "a folder of the session's, put "
	    "aside by a discard or landing that was cut short, cannot come "
	    "back from \"" ASIDE "/" TRIAL "\" to \"%s\", in the session's "
	    "folder below %s/s (%s): that is tried again whenever the "
	    "session is looked at", shown(at), mountd.state,
	    strerror(errno)));
}

/* Beside what was at fault before, if it is undone. */
static int
aside_fails(void)
{
	return (fault_also("mount.aside", "what was put aside of the session's "
	    "layer, in \"" ASIDE "\" in its folder below %s/s: %s: that is "
	    "tried again whenever the session is looked at",
	    shown(mountd.state), strerror(errno)));
}

/* -1: a fault. */
static int
trial_mend(int aside, int store)
{
	char		at[PATH_MAX];
	struct stat	st;
	ssize_t		len;

	len = fgetxattr(aside, xattr_name(XATTR_TRIAL), at, sizeof(at) - 1);
	if (len == -1)
		return (errno == ENODATA ? 0 : aside_fails());
	at[len] = '\0';
	if (fstatat(aside, TRIAL, &st, AT_SYMLINK_NOFOLLOW) == -1) {
		if (errno != ENOENT)
			return (aside_fails());
	} else if (!trial_stands(aside, TRIAL)) {
		if (trial_back(aside, store, at) == -1)
			return (-1);
	} else if (rm_all(aside, TRIAL) == -1)
		return (aside_fails());
	if (removexattr(fdpath(aside).s, xattr_name(XATTR_TRIAL)) == -1)
		return (aside_fails());
	return (0);
}

int
trial_end(const struct clean *c)
{
	return (trial_mend(c->aside, c->store));
}

static int
aside_back(int store, bool still)
{
	int	aside, r;

	aside = openat(store, ASIDE,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (aside == -1)
		return (errno == ENOENT ? 0 : aside_fails());
	/* No step is of what is below a folder that is being tried: each comes
	 * back, whatever becomes of the folder. */
	r = trial_mend(aside, store);
	if (kept_back(aside, store, still) == -1)
		r = -1;
	close(aside);
	/* What does not go now is nobody's any more. */
	if (r == 0)
		(void)rm_all(store, ASIDE);
	return (r);
}

int
aside_undo(struct clean *c)
{
	bool	any = c->aside != -1;

	aside_close(c);
	return (any ? aside_back(c->store, true) : 0);
}

int
aside_mend(int store)
{
	return (aside_back(store, false));
}

bool
aside_is(int store)
{
	struct stat	st;

	return (fstatat(store, ASIDE, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
	    errno != ENOENT);
}
