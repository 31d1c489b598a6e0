#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/path.h"
#include "../privsep/mode.h"
#include "attr.h"
#include "fault.h"
#include "fresh.h"
#include "fs.h"
#include "mountd.h"
#include "point.h"
#include "rest.h"
#include "sockets.h"

/* Num RefCount Protocol Flags Type St Inode Path */
static const char *
line_path(char *line)
{
	char	*p = line;
	int	 i;

	line[strcspn(line, "\n")] = '\0';
	for (i = 0; i < 7; i++) {
		p += strspn(p, " ");
		p += strcspn(p, " ");
	}
	return (*p == ' ' && p[1] == '/' ? p + 1 : NULL);
}

/*
 * What a name leads to, which anybody may have chosen: by links, with "." in
 * it. Of a socket that is bound all is in the kernel's caches but links on the
 * way, so that nobody has to be asked who may not answer; for what is not, the
 * name is taken as it stands, if it is one of ours to cover.
 */
static int
socket_open(const struct plan *p, const char *name)
{
	int	fd;

	fd = fs_openat2(mountd.root, name + 1, O_PATH | O_NOFOLLOW,
	    RESOLVE_NO_MAGICLINKS | RESOLVE_CACHED);
	if (fd == -1 && (errno == EAGAIN || errno == EINVAL) &&
	    path_is_canonical(name) && rest_bare(p, name))
		fd = fs_openat2(mountd.root, name + 1, O_PATH | O_NOFOLLOW,
		    FS_PLAIN);
	return (fd);
}

/* The path of a socket that shows through the clone. */
static bool
socket_is_bare(const struct plan *p, const char *name, char *path)
{
	struct stat	st;
	ssize_t		len = -1;
	int		fd;

	if ((fd = socket_open(p, name)) == -1)
		return (false);
	if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_nlink > 0)
		len = readlinkat(AT_FDCWD, fdpath(fd).s, path, PATH_MAX - 1);
	close(fd);
	if (len <= 0)
		return (false);
	path[len] = '\0';
	return (path_is_canonical(path) && fresh_over(path) == NULL &&
	    rest_bare(p, path));
}

/* Each that is bound, until one is the wanted: 1: that was there; 0; -1. */
static int
sockets_each(const struct plan *p, const char *wanted, int face, int tree)
{
	const char	*name;
	size_t		 size = 0;
	char		 path[PATH_MAX], *line = NULL;
	FILE		*f;
	int		 r = 0;

	if ((f = fopen("/proc/self/net/unix", "re")) == NULL)
		return (fault_errno("mount.failed", "the list of the "
		    "machine's sockets, /proc/self/net/unix"));
	while (r == 0 && getline(&line, &size, f) != -1) {
		if ((name = line_path(line)) == NULL ||
		    !socket_is_bare(p, name, path) ||
		    (wanted != NULL && strcmp(wanted, path) != 0))
			continue;
		r = wanted != NULL ? 1 : face_cover(face, tree, path);
	}
	if (ferror(f))
		r = fault_errno("mount.failed", "/proc/self/net/unix");
	free(line);
	fclose(f);
	return (r);
}

int
sockets_cover(const struct plan *p, int face, int tree)
{
	return (mode_user() ? sockets_each(p, NULL, face, tree) : 0);
}

bool
sockets_covered(const struct plan *p, const char *path)
{
	return (mode_user() && sockets_each(p, path, -1, -1) == 1);
}
