#include <sys/stat.h>
#include <sys/xattr.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/origins.h"
#include "../common/path.h"
#include "../privsep/mode.h"
#include "attr.h"
#include "copy.h"
#include "fault.h"
#include "fs.h"
#include "mountd.h"
#include "rest.h"
#include "rm.h"
#include "snap.h"
#include "xattr.h"

#define SNAP_NAME	"copy"
#define SNAP_UNDONE	"copy.new"	/* until it is whole */
#define SNAP_RESOLVE	(FS_BENEATH | RESOLVE_NO_XDEV)

struct snap {
	struct build	*b;
	const char	*project;
	int		 copy;		/* that follows; -1 */
	bool		 dry;		/* only counted: nothing is made */
	uint64_t	 bytes;		/* with those of other roots */
	size_t		 names;
	size_t		 lost;		/* what could not be copied */
};

static int	snap_folder(struct snap *, int, int, const char *);

/* A clone without what is mounted below is refused where that is locked, and
 * for the same reason as an overlay; nothing else tells. */
bool
snap_needed(int real)
{
	int	mnt;

	if (!mode_user())
		return (false);
	mnt = open_tree(real, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
	    AT_EMPTY_PATH);
	if (mnt == -1)
		return (errno == EINVAL);
	close(mnt);
	return (false);
}

static int
snap_count(struct snap *s, const struct stat *st)
{
	const char	*in;

	if (S_ISREG(st->st_mode))
		s->bytes += (uint64_t)st->st_blocks * 512;
	if (++s->names <= SNAP_NAMES && s->bytes <= SNAP_BYTES)
		return (0);
	in = rest_mounted(s->b, s->project);
	return (fault("mount.project", "project %s: %s is mounted in it, so "
	    "that a suite of one's own has to work on a copy, and that would "
	    "be more than %u names or %llu MiB%s: unmount it, or have root "
	    "start sbxd",
	    shown(s->project), in != NULL ? shown(in) : "a filesystem",
	    (unsigned int)SNAP_NAMES, SNAP_BYTES >> 20,
	    s->b->snaps.n > 0 ? ", with those of the other projects" : ""));
}

/* Empty, in place of what is hidden, mounted there, or not ours to read. */
static int
snap_empty(int to, const char *name, mode_t mode, mode_t bits)
{
	if (S_ISDIR(mode))
		return (mkdirat(to, name, bits | 0111));
	return (mknodat(to, name, S_IFREG | bits, 0));
}

/* What is mounted there, or was lost on the way. */
static int
snap_point(int from, int to, const char *name)
{
	struct stat	st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) ==
	    -1)
		return (errno == ENOENT ? 0 : -1);
	return (snap_empty(to, name, st.st_mode, 0644));
}

/* Which real folder it is of, as overlayfs would write it down: reviews know
 * by that whether the owner has put another one into its place. */
static void
snap_mark(int real, int copy)
{
	unsigned char	origin[ORIGINS_ATTR];
	size_t		len = origin_of(real, "", origin);

	/* Without it, nobody can be sure. */
	if (len > 0)
		(void)setxattr(fdpath(copy).s, xattr_name(XATTR_REAL), origin,
		    len, 0);
}

ssize_t
snap_real(int copy, const char *path, void *attr, size_t size)
{
	ssize_t	len;
	int	fd;

	if ((fd = at_open(copy, path, O_PATH | O_DIRECTORY)) == -1)
		return (0);
	len = getxattr(fdpath(fd).s, xattr_name(XATTR_REAL), attr, size);
	close(fd);
	return (len > 0 ? len : 0);
}

static int
snap_dir(struct snap *s, int fd, int to, const char *name, const char *path)
{
	int	new, r = -1;

	if (mkdirat(to, name, 0700) == -1)
		return (-1);
	new = openat(to, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (new == -1)
		return (-1);
	if (snap_folder(s, fd, new, path) == 0 &&
	    attr_copy_all(fd, new, shown(path)) == 0) {
		snap_mark(fd, new);
		r = 0;
	}
	close(new);
	return (r);
}

/* A device opens for nobody, and cannot be made. */
static int
snap_other(struct snap *s, int fd, int to, const char *name,
    const struct stat *st)
{
	if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode)) {
		s->lost++;
		return (0);
	}
	if (entry_copy(fd, to, name, st) == 0)
		return (0);
	if (fault_is() || (errno != EACCES && errno != EPERM))
		return (-1);
	s->lost++;
	return (snap_empty(to, name, st->st_mode, 0));
}

static int
snap_entry(struct snap *s, int from, int to, const char *name,
    const char *path)
{
	const struct hidden	*h;
	struct stat		 st;
	int			 fd, r;

	fd = fs_openat2(from, name, O_PATH | O_NOFOLLOW, SNAP_RESOLVE);
	if (fd == -1 && errno == EXDEV)
		return (s->dry ? 0 : snap_point(from, to, name));
	if (fd == -1)
		return (errno == ENOENT ? 0 : -1);
	child_alive();
	if (fstat(fd, &st) == -1)
		r = -1;
	else if ((h = hides_over(&s->b->hides, path)) != NULL)
		r = h->gone || s->dry ? 0 : snap_empty(to, name, st.st_mode,
		    0444);
	else if (snap_count(s, &st) == -1)
		r = -1;
	else if (s->dry)
		r = S_ISDIR(st.st_mode) ? snap_folder(s, fd, -1, path) : 0;
	else if (S_ISDIR(st.st_mode))
		r = snap_dir(s, fd, to, name, path);
	else
		r = snap_other(s, fd, to, name, &st);
	close(fd);
	return (r);
}

static int
snap_folder(struct snap *s, int from, int to, const char *path)
{
	struct names	 ns;
	struct walked	*l;
	size_t		 i;
	int		 r = 0;

	if ((l = walked_new()) == NULL)
		return (-1);
	if (names_read(from, "", &ns) == -1) {
		free(l);
		if (errno != EACCES)
			return (-1);
		s->lost++;
		return (0);
	}
	for (i = 0; r == 0 && i < ns.n; i++) {
		if (at_join(path, ns.v[i], l->sub) == -1)
			continue;	/* nothing can open it by its path */
		r = snap_entry(s, from, to, ns.v[i], l->sub);
	}
	names_free(&ns);
	free(l);
	return (r);
}

static int
snap_fault(const char *project)
{
	return (fault_errno("mount.project", "the copy of project %s, which "
	    "stands for it as a filesystem is mounted in it, in %s",
	    shown(project), shown(mountd.state)));
}

/* Whole, or not there; what is too much is known before any of it is made. */
static int
snap_make(struct snap *s, int store, const char *name, int real)
{
	struct snap	dry = *s;

	dry.dry = true;
	if (snap_folder(&dry, real, -1, s->project) == -1)
		return (snap_fault(s->project));
	if (rm_all(store, SNAP_UNDONE) == -1 ||
	    snap_dir(s, real, store, SNAP_UNDONE, s->project) == -1 ||
	    rm_all(store, name) == -1 ||
	    renameat2(store, SNAP_UNDONE, store, name, 0) == -1) {
		snap_fault(s->project);
		rm_all(store, SNAP_UNDONE);
		return (-1);
	}
	return (0);
}

const struct snapped *
snap_of(const struct build *b, const char *root)
{
	size_t	i;

	for (i = 0; i < b->snaps.n; i++)
		if (strcmp(b->snaps.v[i].root, root) == 0)
			return (&b->snaps.v[i]);
	return (NULL);
}

/* Takes fd over, which is returned. */
static int
snap_keep(struct build *b, const char *root, int fd, size_t lost)
{
	struct snapped	*v = &b->snaps.v[b->snaps.n];

	if (b->snaps.n == LIMIT_ROOTS || (v->root = strdup(root)) == NULL) {
		close(fd);
		return (snap_fault(root));
	}
	v->fd = fd;
	v->lost = lost;
	b->snaps.n++;
	return (fd);
}

static int
snap_open(int store, const char *name)
{
	return (openat(store, name,
	    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

int
snap_find(int store, const char *root, int *fd)
{
	struct root_name	name;
	int			r;

	*fd = -1;
	if (!mode_user() ||
	    (r = root_named(store, root, SNAP_NAME, &name)) == 0)
		return (0);
	if (r == -1)
		return (-1);
	if ((*fd = snap_open(store, name.s)) != -1)
		return (1);
	return (errno == ENOENT ? 0 : snap_fault(root));
}

/* A further root's has its layer's number, which then has to be there first. */
static int
snap_name(int store, const char *root, int real, struct root_name *name)
{
	struct layer	l;
	int		r;

	if ((r = root_named(store, root, SNAP_NAME, name)) != 0)
		return (r == 1 ? 0 : -1);
	if (layer_open(store, root, real, &l) == -1)
		return (-1);
	r = layer_set_root(store, l.n);
	layer_close(&l);
	*name = root_name(SNAP_NAME, l.n, false);
	return (r == 0 ? 0 : fault_errno("mount.layer", "the layer of %s",
	    shown(root)));
}

/* Of an earlier start, when something was mounted there. */
static int
snap_drop(int store, const char *root)
{
	struct root_name	name;
	int			r;

	if ((r = root_named(store, root, SNAP_NAME, &name)) != 1)
		return (r);
	return (rm_all(store, name.s) == 0 ? 0 : snap_fault(root));
}

int
snap_begin(struct build *b, int store, const char *root, int real)
{
	struct snap		s = {
		.b = b, .project = root, .copy = -1,
		.bytes = b->snaps.bytes, .names = b->snaps.names
	};
	struct root_name	name;
	int			fd;

	if (!mode_user())
		return (0);
	if (!snap_needed(real))
		return (snap_drop(store, root));
	if (snap_name(store, root, real, &name) == -1 ||
	    snap_make(&s, store, name.s, real) == -1)
		return (-1);
	b->snaps.bytes = s.bytes;
	b->snaps.names = s.names;
	if ((fd = snap_open(store, name.s)) == -1)
		return (snap_fault(root));
	return (snap_keep(b, root, fd, s.lost) == -1 ? -1 : 0);
}

int
snap_known(struct build *b, int store, const char *root, int real)
{
	const struct snapped	*snap = snap_of(b, root);
	int			 fd;

	if (snap != NULL)
		return (snap->fd);
	if (store != -1 && snap_find(store, root, &fd) == 1 &&
	    snap_keep(b, root, fd, 0) != -1)
		return (fd);
	fault_clear();
	return (real);
}

/* Also for a session that is stopped, and was started without one. */
int
snap_lower(struct build *b, int store, const char *root, int real)
{
	const struct snapped	*snap = snap_of(b, root);
	int			 fd, r;

	if (snap != NULL)
		return (snap->fd);
	if ((r = snap_find(store, root, &fd)) == -1)
		return (-1);
	if (r == 1)
		return (snap_keep(b, root, fd, 0));
	if (!mode_user() || !snap_needed(real))
		return (real);
	if (snap_begin(b, store, root, real) == -1)
		return (-1);
	return ((snap = snap_of(b, root)) != NULL ? snap->fd : real);
}

/* One that landed: a folder of both keeps what it has, as what is in it is
 * named by itself. */
static int
snap_landed(struct snap *s, int real, const char *path)
{
	char		 full[PATH_MAX];
	const char	*name;
	int		 from, to, r = -1;

	if (at_is_dir(real, path) && at_is_dir(s->copy, path)) {
		from = at_open(real, path, O_PATH | O_DIRECTORY);
		to = at_open(s->copy, path, O_PATH | O_DIRECTORY);
		if (from != -1 && to != -1)
			r = attr_copy_all(from, to, shown(path));
	} else {
		from = at_parent(real, path, &name);
		to = at_parent(s->copy, path, &name);
		/* Not in the copy: with the folder above it, which landed
		 * too and comes first. */
		if (to == -1)
			r = errno == ENOENT ? 0 : -1;
		else if (rm_all(to, name) == 0)
			r = from == -1 ? (errno == ENOENT ? 0 : -1) :
			    at_join(s->project, path, full) == -1 ? 0 :
			    snap_entry(s, from, to, name, full);
	}
	if (from != -1)
		close(from);
	if (to != -1)
		close(to);
	return (r);
}

int
snap_follow(struct build *b, const char *root, int real,
    const char *const *paths, size_t n)
{
	const struct snapped	*snap = snap_of(b, root);
	struct snap		 s = { .b = b, .project = root };
	size_t			 i;

	if (snap == NULL)
		return (0);
	s.copy = snap->fd;
	for (i = 0; i < n; i++)
		if (snap_landed(&s, real, paths[i]) == -1)
			return (snap_fault(root));
	return (0);
}
