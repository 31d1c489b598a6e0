#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "../common/path.h"
#include "fault.h"
#include "fresh.h"
#include "fs.h"
#include "mountd.h"
#include "overlay.h"
#include "point.h"

#define RUN_FOLDERS	16	/* of executables, a session */

struct runfiles {
	struct build	*b;
	int		 tree;
	char		 folder[RUN_FOLDERS][PATH_MAX];
	size_t		 n;
};

/* Splits into the folder, in dir, and the last part, which is returned. */
static const char *
path_split(const char *path, char *dir)
{
	const char	*slash = strrchr(path, '/');
	size_t		 len = (size_t)(slash - path);

	memcpy(dir, path, len);
	dir[len] = '\0';
	return (slash + 1);
}

/* A link below /run is made again, in a folder like the host's. */
static int
run_link(void *arg, const char *path, const char *text)
{
	struct runfiles	*rf = arg;
	char		 dir[PATH_MAX];
	const char	*name;
	int		 at, r = 0;

	if (!path_within("/run", path) || strlen(path) >= sizeof(dir) ||
	    hides_over(&rf->b->hides, path) != NULL)
		return (0);
	name = path_split(path, dir);
	if ((at = point_open(rf->tree, dir, true, true)) == -1)
		return (-1);
	if (symlinkat(text, at, name) == -1 && errno != EEXIST)
		r = fault_errno("mount.failed", "%s", shown(path));
	close(at);
	return (r);
}

/* One regular file of the host's, to be read. */
static int
run_file(struct runfiles *rf, const char *path)
{
	struct stat	st;
	int		fd, mnt, point = -1, r = -1;

	if ((fd = fs_openat2(mountd.root, path + 1, O_PATH | O_NOFOLLOW,
	    FS_PLAIN)) == -1)
		return (0);
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode)) {
		close(fd);
		return (0);
	}
	mnt = fs_clone(fd, shown(path));
	close(fd);
	if (mnt == -1)
		return (-1);
	if (fs_attr(mnt, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
	    MOUNT_ATTR_NODEV, shown(path)) == 0 &&
	    (point = point_open(rf->tree, path, false, true)) != -1)
		r = fs_attach(mnt, point, shown(path));
	if (point != -1)
		close(point);
	close(mnt);
	return (r);
}

/* A folder with an executable, read-only and without its sockets. */
static int
run_folder_attach(struct runfiles *rf, const char *dir)
{
	size_t	i;
	int	fd, mnt, point = -1, r = -1;

	for (i = 0; i < rf->n; i++)
		if (path_within(rf->folder[i], dir))
			return (0);
	if (rf->n == RUN_FOLDERS || hides_over(&rf->b->hides, dir) != NULL ||
	    (fd = fs_openat2(mountd.root, dir + 1, O_PATH | O_DIRECTORY,
	    FS_PLAIN)) == -1)
		return (0);
	strlcpy(rf->folder[rf->n++], dir, PATH_MAX);
	mnt = overlay_make(rf->b, dir, fd, NULL, -1);
	close(fd);
	if (mnt == -1)
		return (-1);
	if ((point = point_open(rf->tree, dir, true, true)) != -1) {
		r = fs_attach(mnt, point, shown(dir));
		close(point);
	}
	close(mnt);
	return (r);
}

static int
run_executable(struct runfiles *rf, const char *path)
{
	struct resolved	r;
	struct stat	st;
	char		dir[PATH_MAX];

	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return (0);
	if (resolve(path, &r, rf->b->user) == -1 || !r.exists || r.dir ||
	    !path_within("/run", r.target))
		return (0);
	if (fstatat(mountd.root, r.target + 1, &st, AT_SYMLINK_NOFOLLOW) ==
	    -1 || !S_ISREG(st.st_mode) || (st.st_mode & 0111) == 0)
		return (0);
	path_split(r.target, dir);
	if (strcmp(dir, "/run") == 0) {
		if (run_file(rf, r.target) == -1)
			return (-1);
	} else if (run_folder_attach(rf, dir) == -1)
		return (-1);
	return (resolve_each(path, &r, rf->b->user, run_link, rf) == -1 &&
	    fault_is() ? -1 : 0);
}

static int
run_resolver(struct runfiles *rf)
{
	struct resolved	r;

	if (resolve("/etc/resolv.conf", &r, NULL) == -1 || !r.exists || r.dir ||
	    !path_within("/run", r.target) ||
	    hides_over(&rf->b->hides, r.target) != NULL)
		return (0);
	if (run_file(rf, r.target) == -1)
		return (-1);
	return (resolve_each("/etc/resolv.conf", &r, NULL, run_link, rf) ==
	    -1 && fault_is() ? -1 : 0);
}

int
runfiles_attach(struct build *b, int tree, const struct strv *argv)
{
	static struct runfiles	rf;
	size_t			i;

	rf.b = b;
	rf.tree = tree;
	rf.n = 0;
	if (run_resolver(&rf) == -1)
		return (-1);
	for (i = 0; i < argv->n; i++)
		if ((i == 0 || strncmp(argv->v[i], "/run/", 5) == 0 ||
		    strncmp(argv->v[i], "/var/run/", 9) == 0) &&
		    run_executable(&rf, argv->v[i]) == -1)
			return (-1);
	return (0);
}
