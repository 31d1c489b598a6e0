#include <sys/stat.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/path.h"
#include "at.h"
#include "fault.h"
#include "fresh.h"
#include "fs.h"
#include "mountd.h"
#include "rest.h"

/* "/var" and "/var/tmp": what a user may write and lies deeper in a folder of
 * somebody else's is read-only. */
#define REST_LEVELS	2
/* Of a home with mounts, as deep as they may lie. */
#define HOME_LEVELS	4
/* Folders that are named, of those without an overlay. */
#define BARE_MAX	8

int
rest_root(void)
{
	return (fs_clone_all(mountd.root, MOUNT_ATTR_RDONLY |
	    MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, "/"));
}

/* Covered ones count: what cannot be unmounted cannot be looked below. */
const char *
rest_mounted(const struct build *b, const char *path)
{
	const char	*below;
	size_t		 i;

	for (i = 0; i < b->mnts.n; i++) {
		below = path_below(path, b->mnts.v[i].point);
		if (below != NULL && *below != '\0')
			return (b->mnts.v[i].point);
	}
	return (NULL);
}

static bool
rest_writes(int fd)
{
	return (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) == 0);
}

enum place_kind
rest_kind(const struct build *b, const char *path, int fd)
{
	if (rest_mounted(b, path) != NULL)
		return (PLACE_CLONE);
	return (rest_writes(fd) ? PLACE_OVERLAY : PLACE_REST);
}

static bool
rest_skips(const struct plan *p, const struct build *b, const char *path)
{
	size_t	i;

	if (fresh_over(path) != NULL || plan_find(p, path) != NULL ||
	    hides_over(&b->hides, path) != NULL)
		return (true);
	/* A mount is a place by itself. */
	for (i = 0; i < b->mnts.n; i++)
		if (strcmp(b->mnts.v[i].point, path) == 0)
			return (true);
	return (false);
}

static int	rest_folders(struct plan *, const struct build *, const char *,
		    bool, int);

/* Below a read-only place only what can be written needs one of its own. */
static int
rest_folder(struct plan *p, const struct build *b, const char *path,
    bool covered, int levels)
{
	enum place_kind	kind;
	int		fd;

	if (rest_skips(p, b, path))
		return (0);
	fd = fs_openat2(mountd.root, path + 1, O_PATH | O_DIRECTORY |
	    O_NOFOLLOW, FS_PLAIN);
	if (fd == -1)
		return (0);	/* no folder, or none that is open to us */
	kind = rest_kind(b, path, fd);
	if (kind == PLACE_CLONE || (kind == PLACE_REST && covered))
		close(fd);
	else if (plan_add(p, path, kind, fd, true) == -1)
		return (-1);
	if (kind == PLACE_OVERLAY || levels <= 1)
		return (0);
	return (rest_folders(p, b, path, kind == PLACE_REST || covered,
	    levels - 1));
}

static int
rest_folders(struct plan *p, const struct build *b, const char *dir,
    bool covered, int levels)
{
	struct names	ns;
	char		path[PATH_MAX];
	size_t		i;
	int		r = 0;

	if (names_read(mountd.root, dir + 1, &ns) == -1)
		return (0);	/* nor the user's to read */
	for (i = 0; r == 0 && i < ns.n; i++)
		if (snprintf(path, sizeof(path), "%s/%s", dir[1] == '\0' ?
		    "" : dir, ns.v[i]) < (int)sizeof(path))
			r = rest_folder(p, b, path, covered, levels);
	names_free(&ns);
	return (r);
}

/* What the user may write in a filesystem that is not that one's own. */
static int
rest_mount(struct plan *p, const struct build *b, const struct mnt *m)
{
	const struct place	*v = plan_find(p, m->point);

	if (m->covered || m->point[1] == '\0' ||
	    fresh_over(m->point) != NULL ||
	    (v == NULL && rest_mounted(b, m->point) == NULL) ||
	    (v != NULL && v->kind != PLACE_REST))
		return (0);
	return (rest_folders(p, b, m->point, v != NULL, REST_LEVELS - 1));
}

bool
rest_bare(const struct plan *p, const char *path)
{
	const struct place	*in = plan_over(p, path);

	return (in == NULL || in->kind == PLACE_CLONE ||
	    in->kind == PLACE_FILE);
}

/*
 * Without an overlay there is no mask, only a cover on what has the name now.
 * A file that is saved anew is another one, without it, and nobody would hear
 * of that: refused. A folder seldom is, and what is not there may never be: its
 * owner is told.
 */
static int
rest_hide(struct plan *p, const struct build *b, const char *path)
{
	struct stat	 st;
	char		 dir[PATH_MAX], *slash;
	const char	*in;

	if (fstatat(mountd.root, path + 1, &st, AT_SYMLINK_NOFOLLOW) == -1) {
		plan_note(p, "hide %s: it is not there now, and would "
		    "show if it was made while the session runs", shown(path));
		return (0);
	}
	if (S_ISDIR(st.st_mode)) {
		plan_note(p, "hide %s: another folder in its place would show "
		    "while the session runs", shown(path));
		return (0);
	}
	strlcpy(dir, path, sizeof(dir));
	if ((slash = strrchr(dir, '/')) != NULL)
		slash[slash == dir] = '\0';
	in = rest_mounted(b, dir);
	return (fault("mount.hide", "hide %s: %s is mounted in %s, so that a "
	    "suite of one's own can hide only the file that is there now, and "
	    "not one that is saved in its place: hide a folder that it is in, "
	    "unmount the other, or have root start sbxd", shown(path),
	    in != NULL ? shown(in) : "something", shown(dir)));
}

static int
rest_hides(struct plan *p, const struct build *b)
{
	const struct hidden	*h;
	size_t			 i;

	for (i = 0; i < b->hides.n; i++) {
		h = &b->hides.v[i];
		if (!h->gone && fresh_over(h->path) == NULL &&
		    rest_bare(p, h->path) && rest_hide(p, b, h->path) == -1)
			return (-1);
	}
	return (0);
}

static int
rest_places(struct plan *p, const struct build *b)
{
	size_t	i;

	for (i = 0; i < b->mnts.n; i++)
		if (rest_mount(p, b, &b->mnts.v[i]) == -1)
			return (-1);
	return (rest_folders(p, b, "/", false, REST_LEVELS));
}

/* Is it in the list already, as a whole? */
static bool
rest_named(const char *list, const char *name)
{
	const char	*p = list;
	size_t		 len = strlen(name);

	while ((p = strstr(p, name)) != NULL) {
		if ((p == list || p[-1] == ' ') &&
		    (p[len] == ',' || p[len] == '\0'))
			return (true);
		p++;
	}
	return (false);
}

/* Where nothing lies on the clone: folders on the way to a mount. */
static void
rest_missing(struct plan *p, const struct build *b)
{
	char	 dirs[512] = "/", path[PATH_MAX], *slash;
	size_t	 i, n, len;

	for (i = 0, n = 1; i < b->mnts.n && n <= BARE_MAX; i++) {
		strlcpy(path, b->mnts.v[i].point, sizeof(path));
		while ((slash = strrchr(path, '/')) != NULL && slash != path) {
			*slash = '\0';
			len = strlen(dirs);
			if (fresh_over(path) != NULL || !rest_bare(p, path) ||
			    rest_named(dirs, shown(path)))
				continue;
			if (n++ == BARE_MAX) {
				strlcat(dirs, " and more", sizeof(dirs));
				break;
			}
			snprintf(dirs + len, sizeof(dirs) - len, ", %s",
			    shown(path));
		}
	}
	if (asprintf(&p->missing, "no overlay can lie on folders that a "
	    "filesystem is mounted in: %s: FIFOs there can be read, and "
	    "sockets used that were made or moved since the start, or bound "
	    "by a relative path or by way of a link", dirs) ==
	    -1)
		p->missing = NULL;
}

int
rest_plan(struct plan *p, const struct build *b)
{
	if (rest_places(p, b) == -1 || rest_hides(p, b) == -1)
		return (-1);
	rest_missing(p, b);
	return (0);
}

int
rest_home(struct plan *p, const struct build *b, const char *home,
    const char *in)
{
	plan_note(p, "home %s: its own files are read-only in the session, as "
	    "%s is mounted in it; its folders have layers", shown(home),
	    shown(in));
	return (rest_folders(p, b, home, false, HOME_LEVELS));
}
