#include <sys/stat.h>
#include <sys/xattr.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../privsep/mode.h"
#include "attr.h"
#include "fault.h"

struct fdpath
fdpath(int fd)
{
	struct fdpath	p;

	snprintf(p.s, sizeof(p.s), "/proc/self/fd/%d", fd);
	return (p);
}

/* overlayfs's own say where a file came from, not what it is. */
static bool
xattr_counts(const char *name)
{
	return (strncmp(name, "trusted.overlay.", 16) != 0 &&
	    strncmp(name, "user.overlay.", 13) != 0 &&
	    strncmp(name, "trusted.sbx.", 12) != 0 &&
	    (strncmp(name, "user.sbx.", 9) != 0 || !mode_user()));
}

/* The names, one after the other; NULL and *len 0 where there are none. */
static char *
xattr_names(const char *path, ssize_t *len)
{
	char	*names;

	*len = listxattr(path, NULL, 0);
	if (*len <= 0 || (names = malloc((size_t)*len)) == NULL) {
		*len = 0;
		return (NULL);
	}
	if ((*len = listxattr(path, names, (size_t)*len)) <= 0) {
		*len = 0;
		free(names);
		return (NULL);
	}
	return (names);
}

static void *
xattr_value(const char *path, const char *name, ssize_t *len)
{
	void	*value;

	if ((*len = getxattr(path, name, NULL, 0)) == -1 ||
	    (value = malloc((size_t)*len + 1)) == NULL)
		return (NULL);
	if ((*len = getxattr(path, name, value, (size_t)*len)) == -1) {
		free(value);
		return (NULL);
	}
	return (value);
}

/*
 * A filesystem without user attributes shows the folder without them. Without
 * access lists it would give more, or less, than the real folder: refused.
 */
static int
xattr_copy(const char *from, const char *to, const char *name)
{
	void	*value;
	ssize_t	 len;
	int	 r;

	if ((value = xattr_value(from, name, &len)) == NULL)
		return (0);
	r = setxattr(to, name, value, (size_t)len, 0);
	free(value);
	/* One that names others says nothing in S, where nobody is anybody. */
	if (r == -1 && strncmp(name, "system.posix_acl", 16) == 0 &&
	    !mode_user())
		return (-1);
	return (0);
}

static int
xattr_copy_all(const char *from, const char *to)
{
	char	*names, *n;
	ssize_t	 len;
	int	 r = 0;

	if ((names = xattr_names(from, &len)) == NULL)
		return (0);
	for (n = names; r == 0 && n < names + len; n += strlen(n) + 1)
		if (xattr_counts(n))
			r = xattr_copy(from, to, n);
	free(names);
	return (r);
}

/* Those that a new folder took from the one it is in, and a session's. */
static void
xattr_drop_others(const char *from, const char *to)
{
	char	*names, *n;
	ssize_t	 len;

	if ((names = xattr_names(to, &len)) == NULL)
		return;
	for (n = names; n < names + len; n += strlen(n) + 1)
		if (xattr_counts(n) && getxattr(from, n, NULL, 0) == -1)
			removexattr(to, n);
	free(names);
}

/* In S there is the user, and whatever is made is that one's. */
int
attr_chown(int dir, const char *name, const struct stat *st, int flags)
{
	if (mode_user())
		return (0);
	return (fchownat(dir, name, st->st_uid, st->st_gid, flags));
}

int
attr_copy(int from, int to, const char *what)
{
	struct fdpath	 pf = fdpath(from), pt = fdpath(to);
	struct stat	 st;

	if (fstat(from, &st) == -1 ||
	    attr_chown(to, "", &st, AT_EMPTY_PATH) == -1)
		return (fault_errno("mount.failed", "the owner of %s", what));
	xattr_drop_others(pf.s, pt.s);
	if (fchmodat(AT_FDCWD, pt.s, st.st_mode & 07777, 0) == -1)
		return (fault_errno("mount.failed", "the mode of %s", what));
	if (xattr_copy_all(pf.s, pt.s) == -1)
		return (fault_errno("mount.failed", "access list of %s",
		    what));
	return (0);
}

int
attr_copy_times(int from, int to)
{
	struct timespec	t[2];
	struct stat	st;

	if (fstat(from, &st) == -1)
		return (-1);
	t[0] = st.st_atim;
	t[1] = st.st_mtim;
	return (utimensat(AT_FDCWD, fdpath(to).s, t, 0));
}

int
attr_copy_all(int from, int to, const char *what)
{
	return (attr_copy(from, to, what) == -1 ? -1 :
	    attr_copy_times(from, to));
}

/* Every attribute of a that counts is b's too, and how many those are. */
static bool
xattr_within(const char *a, const char *b, size_t *count)
{
	char	*names, *n;
	void	*va, *vb = NULL;
	ssize_t	 len, la, lb;
	bool	 same = true;

	*count = 0;
	if ((names = xattr_names(a, &len)) == NULL)
		return (true);
	for (n = names; same && n < names + len; n += strlen(n) + 1) {
		if (!xattr_counts(n))
			continue;
		(*count)++;
		va = xattr_value(a, n, &la);
		vb = va != NULL ? xattr_value(b, n, &lb) : NULL;
		same = vb != NULL && la == lb &&
		    memcmp(va, vb, (size_t)la) == 0;
		free(va);
		free(vb);
	}
	free(names);
	return (same);
}

bool
attr_same(int a, int b)
{
	struct fdpath	pa = fdpath(a), pb = fdpath(b);
	struct stat	sa, sb;
	size_t		na, nb;

	return (fstat(a, &sa) == 0 && fstat(b, &sb) == 0 &&
	    sa.st_mode == sb.st_mode && sa.st_uid == sb.st_uid &&
	    sa.st_gid == sb.st_gid && xattr_within(pa.s, pb.s, &na) &&
	    xattr_within(pb.s, pa.s, &nb) && na == nb);
}
