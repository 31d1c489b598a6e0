#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/path.h"
#include "at.h"
#include "attr.h"
#include "fault.h"
#include "fs.h"
#include "layer.h"
#include "mountd.h"
#include "xattr.h"

int
store_open(const char *sid, bool make, bool *fresh)
{
	int	fd, err;

	*fresh = false;
	if (make && mkdirat(mountd.store, sid, 0700) == 0)
		*fresh = true;
	else if (make && errno != EEXIST)
		return (-1);
	fd = openat(mountd.store, sid,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd != -1 && flock(fd, LOCK_EX | LOCK_NB) == -1) {
		err = errno;
		close(fd);
		errno = err;
		fd = -1;
	}
	if (fd == -1 && *fresh) {
		err = errno;
		unlinkat(mountd.store, sid, AT_REMOVEDIR);
		errno = err;
	}
	return (fd);
}

/*
 * A path that a folder is marked with. An attribute is one step with the
 * folder's making where a file would need syncing, and has no inode: those
 * that were removed lately make ext4 look long for the next one.
 */
static int
mark_set(int dir, enum xattr mark, const char *path)
{
	return (setxattr(fdpath(dir).s, xattr_name(mark), path,
	    strlen(path), 0));
}

/* 1: there, in path[PATH_MAX]; 0: no mark; -1: errno. */
static int
mark_get(int dir, enum xattr mark, char *path)
{
	ssize_t	len;

	len = getxattr(fdpath(dir).s, xattr_name(mark), path, PATH_MAX - 1);
	if (len == -1)
		return (errno == ENODATA ? 0 : -1);
	path[len] = '\0';
	return (1);
}

/* Which session's, for a message: the path that it was opened by. */
static const char *
store_path(int store)
{
	char	path[PATH_MAX];
	ssize_t	len;

	len = readlinkat(AT_FDCWD, fdpath(store).s, path, sizeof(path) - 1);
	if (len == -1)
		return (shown(mountd.state));
	path[len] = '\0';
	return (shown(path));
}

static int
layer_fault(int store)
{
	return (fault_errno("mount.layer", "the layers of the session, in %s",
	    store_path(store)));
}

static int
stage_fault(int store)
{
	return (fault_errno("mount.layer", "where the session's landings are "
	    "prepared, %s/stage", store_path(store)));
}

static int
layer_folder(int store, unsigned int n)
{
	char	name[32];

	snprintf(name, sizeof(name), "%u", n);
	return (openat(store, name,
	    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

int
layer_at(int store, unsigned int n, char *at)
{
	int	dir, r;

	if ((dir = layer_folder(store, n)) == -1)
		return (errno == ENOENT ? 0 : -1);
	r = mark_get(dir, XATTR_AT, at);
	close(dir);
	return (r);
}

/* Looks until the first free number, which is in *n where none is found. */
int
layer_find(int store, const char *path, unsigned int *n)
{
	char	at[PATH_MAX];
	int	r;

	for (*n = LAYER_ROOT; *n < LAYER_MAX; (*n)++) {
		if ((r = layer_at(store, *n, at)) == 0)
			return (0);
		if (r == -1)
			break;
		if (strcmp(at, path) == 0)
			return (1);
	}
	return (fault_errno("mount.layer", "the layer of %s", shown(path)));
}

/* One of the two folders of a layer; there is one if a start was cut short. */
static int
layer_half(int dir, const char *name)
{
	if (mkdirat(dir, name, 0700) == -1 && errno != EEXIST)
		return (-1);
	return (openat(dir, name,
	    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

int
layer_halves(int store, const char *name)
{
	int	dir, u = -1, w = -1;

	if ((dir = layer_half(store, name)) == -1)
		return (-1);
	if ((w = layer_half(dir, "w")) != -1) {
		u = layer_half(dir, "u");
		close(w);
	}
	close(dir);
	if (u == -1)
		return (-1);
	close(u);
	return (0);
}

int
layer_make(int store, const char *name, const char *path, int lower,
    struct layer *l)
{
	int	dir, r = -1;

	l->u = l->w = -1;
	if ((dir = layer_half(store, name)) == -1)
		return (-1);
	/* The mark comes last: with it the layer is there. */
	if ((l->w = layer_half(dir, "w")) != -1 &&
	    (l->u = layer_half(dir, "u")) != -1 &&
	    attr_copy(lower, l->u, shown(path)) == 0)
		r = mark_set(dir, XATTR_AT, path);
	close(dir);
	return (r);
}

static int
layer_leaf(int store, unsigned int n, const char *leaf)
{
	char	name[32];

	snprintf(name, sizeof(name), "%u/%s", n, leaf);
	return (openat(store, name,
	    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

int
layer_upper(int store, unsigned int n)
{
	return (layer_leaf(store, n, "u"));
}

int
layer_open(int store, const char *path, int lower, struct layer *l)
{
	char	name[32];
	int	r;

	l->u = l->w = -1;
	if ((r = layer_find(store, path, &l->n)) == -1)
		return (-1);
	if (r == 1) {
		l->u = layer_leaf(store, l->n, "u");
		l->w = layer_leaf(store, l->n, "w");
		r = l->u == -1 || l->w == -1 ? -1 : 0;
	} else {
		snprintf(name, sizeof(name), "%u", l->n);
		stock_give(store, name);
		r = layer_make(store, name, path, lower, l);
	}
	if (r == 0)
		return (0);
	fault_errno("mount.layer", "the layer of %s", shown(path));
	layer_close(l);
	return (-1);
}

void
layer_close(struct layer *l)
{
	if (l->u != -1)
		close(l->u);
	if (l->w != -1)
		close(l->w);
	l->u = l->w = -1;
}

int
layer_set_project(int store, const char *path)
{
	char	now[PATH_MAX];
	int	r;

	if ((r = mark_get(store, XATTR_PROJECT, now)) == 0)
		r = mark_set(store, XATTR_PROJECT, path);
	else if (r == 1)
		r = strcmp(now, path) == 0 ? 0 : 1;
	if (r == 1)
		return (fault("mount.project", "project %s: this session's "
		    "layer belongs to %s", shown(path), shown(now)));
	return (r == 0 ? 0 : fault_errno("mount.layer", "the layer of %s",
	    shown(path)));
}

int
layer_set_root(int store, unsigned int n)
{
	int	dir, r;

	if ((dir = layer_folder(store, n)) == -1)
		return (-1);
	r = mark_set(dir, XATTR_ROOT, "/");
	close(dir);
	return (r);
}

int
layer_set_git(int store)
{
	return (mark_set(store, XATTR_GIT, "/") == 0 ? 0 :
	    layer_fault(store));
}

bool
layer_git_elsewhere(int store)
{
	char	mark[PATH_MAX];

	return (mark_get(store, XATTR_GIT, mark) != 0);
}

/* 1 it is, 0 not, -1 errno. project: the first root's, "": there is none. */
static int
layer_is_root(int store, unsigned int n, const char *at, const char *project)
{
	char	mark[PATH_MAX];
	int	dir, r;

	if (strcmp(at, project) == 0)
		return (1);
	if ((dir = layer_folder(store, n)) == -1)
		return (-1);
	r = mark_get(dir, XATTR_ROOT, mark);
	close(dir);
	return (r);
}

static int
layer_project(int store, char *path)
{
	*path = '\0';
	return (mark_get(store, XATTR_PROJECT, path) == -1 ? -1 : 0);
}

int
layer_root(int store, unsigned int *n, char *at)
{
	char	project[PATH_MAX];
	int	r;

	if (layer_project(store, project) == -1)
		return (-1);
	for (; *n < LAYER_MAX && (r = layer_at(store, *n, at)) != 0; (*n)++)
		if (r == -1 ||
		    (r = layer_is_root(store, *n, at, project)) != 0)
			return (r);
	return (0);
}

struct root_name
root_name(const char *what, unsigned int n, bool first)
{
	struct root_name	name;

	if (first)
		snprintf(name.s, sizeof(name.s), "%s", what);
	else
		snprintf(name.s, sizeof(name.s), "%s.%u", what, n);
	return (name);
}

int
root_named(int store, const char *path, const char *what,
    struct root_name *name)
{
	char		project[PATH_MAX];
	unsigned int	n = LAYER_ROOT;
	bool		first;
	int		r;

	if (layer_project(store, project) == -1)
		return (layer_fault(store));
	first = strcmp(path, project) == 0;
	if (!first && (r = layer_find(store, path, &n)) != 1)
		return (r);
	*name = root_name(what, n, first);
	return (1);
}

int
layer_of_root(int store, const char *path, unsigned int *n, bool *first)
{
	char	project[PATH_MAX];
	int	r;

	if (layer_project(store, project) == -1)
		return (layer_fault(store));
	if ((r = layer_find(store, path, n)) == -1)
		return (-1);
	*first = strcmp(path, project) == 0;
	if (r == 1)
		r = layer_is_root(store, *n, path, project);
	if (r == -1)
		return (fault_errno("mount.layer", "the layer of %s",
		    shown(path)));
	return (r == 1 ? 0 : fault("mount.project", "project %s: this "
	    "session has no layer of such a root", shown(path)));
}

int
stage_open(int store, uid_t uid)
{
	struct stat	st;
	int		fd;

	fd = openat(store, "stage",
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (stage_fault(store));
	if (fstat(fd, &st) == -1 || st.st_uid != uid) {
		close(fd);
		return (fault("mount.owner", "this session is not uid %u's",
		    (unsigned int)uid));
	}
	return (fd);
}

/* Until it has been given away it is our own. */
int
stage_make(int store, uid_t uid, gid_t gid)
{
	struct stat	st;
	int		fd;

	if (mkdirat(store, "stage", 0700) == -1 && errno != EEXIST)
		return (stage_fault(store));
	if (fstatat(store, "stage", &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    (st.st_uid == mountd.uids[UID_MOUNTD] &&
	    fchownat(store, "stage", uid, gid, AT_SYMLINK_NOFOLLOW) == -1))
		return (stage_fault(store));
	if ((fd = stage_open(store, uid)) == -1)
		return (-1);
	close(fd);
	return (0);
}

/*
 * index=on makes the kernel refuse an upper folder that is in use, and two
 * folders on different mounts are refused right after: so nothing is mounted
 * and nothing written, whatever the answer.
 */
static int
upper_in_use(int upper, int tmpfs)
{
	struct fs	*fs;
	int		 r = -1;

	if ((fs = fs_open("overlay", "asking for a layer in use")) == NULL)
		return (-1);
	if (fs_set_fd(fs, "lowerdir+", tmpfs) == 0 &&
	    fs_set_fd(fs, "upperdir", upper) == 0 &&
	    fs_set_fd(fs, "workdir", tmpfs) == 0 &&
	    fs_set(fs, "index", "on") == 0) {
		if (fs_try(fs) == 0)
			r = fault("mount.failed", "asking for a layer in use");
		else if (errno == EBUSY)
			r = 1;
		else if (errno == EINVAL)
			r = 0;
		else
			r = fault_errno("mount.failed",
			    "asking for a layer in use");
	}
	fs_close(fs);
	return (r);
}

int
layer_in_use(int store)
{
	char		at[PATH_MAX];
	unsigned int	n;
	int		tmpfs, upper, there, r = 0;

	tmpfs = fs_tmpfs("mode=0700", 0, "asking for a layer in use");
	if (tmpfs == -1)
		return (-1);
	for (n = 0; r == 0 && (there = layer_at(store, n, at)) != 0; n++) {
		if (there == -1 || (upper = layer_upper(store, n)) == -1) {
			/* Not known is not unused. */
			r = layer_fault(store);
			break;
		}
		r = upper_in_use(upper, tmpfs);
		close(upper);
	}
	close(tmpfs);
	return (r);
}

bool
layer_is_unborn(int store)
{
	char	at[PATH_MAX];

	return (layer_at(store, LAYER_ROOT, at) == 0);
}

static bool
upper_is_empty(int store, unsigned int n)
{
	bool	empty;
	int	u;

	if ((u = layer_upper(store, n)) == -1)
		return (false);
	empty = at_is_empty(u, "");
	close(u);
	return (empty);
}

int
layer_below(int store, const char *root, unsigned int *n, char *at)
{
	int	r;

	for (; *n < LAYER_MAX && (r = layer_at(store, *n, at)) != 0; (*n)++) {
		if (r == -1)
			return (-1);
		if (path_within(root, at) && strcmp(root, at) != 0 &&
		    !upper_is_empty(store, *n))
			return (1);
	}
	return (0);
}

int
layer_outside(int store, unsigned int *n, char *at)
{
	char	project[PATH_MAX];
	int	r;

	if (layer_project(store, project) == -1)
		return (-1);
	for (; *n < LAYER_MAX && (r = layer_at(store, *n, at)) != 0; (*n)++) {
		if (r == -1 ||
		    (r = layer_is_root(store, *n, at, project)) == -1)
			return (-1);
		if (r == 0 && !upper_is_empty(store, *n))
			return (1);
	}
	return (0);
}

/* Nothing is in what is mounted below a root. */
static bool
survey_roots(int store)
{
	char		path[PATH_MAX], at[PATH_MAX];
	unsigned int	n, below;
	int		r;

	for (n = LAYER_ROOT; (r = layer_root(store, &n, path)) == 1; n++) {
		below = LAYER_ROOT;
		if (layer_below(store, path, &below, at) != 0)
			return (false);
	}
	return (r == 0);
}

/* 1: of a root, 0: of none, -1: it cannot be told, 2: there is no such one. */
static int
survey_layer(int store, unsigned int n, const char *project, bool *empty)
{
	char	at[PATH_MAX], mark[PATH_MAX];
	int	dir, r;

	if ((dir = layer_folder(store, n)) == -1)
		return (errno == ENOENT ? 2 : -1);
	if ((r = mark_get(dir, XATTR_AT, at)) == 0)
		r = 2;
	else if (r == 1 && strcmp(at, project) != 0)
		r = mark_get(dir, XATTR_ROOT, mark);
	*empty = at_is_empty(dir, "u");
	close(dir);
	return (r);
}

/* Each folder is looked at once: every session's end waits for it. */
void
layer_survey(int store, struct survey *s)
{
	char		project[PATH_MAX];
	unsigned int	n;
	bool		roots = false, empty;
	int		r = layer_project(store, project);

	memset(s, 0, sizeof(*s));
	s->pristine = r == 0 && !aside_is(store);
	s->strayed = r == -1;
	for (n = LAYER_ROOT; r == 0 && n < LAYER_MAX; n++) {
		if ((r = survey_layer(store, n, project, &empty)) == 2)
			break;
		roots |= r == 1;
		if (r == -1 || (!empty && r == 1))
			s->pristine = false;
		if (r == -1 || (!empty && r == 0))
			s->strayed = true;
		r = r == -1 ? -1 : 0;
	}
	s->pristine = s->pristine && roots;
	if (s->pristine && s->strayed)
		s->pristine = survey_roots(store);
	s->idle = s->pristine && (!s->strayed || !layer_git_elsewhere(store));
}
