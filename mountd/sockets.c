#include <sys/stat.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/path.h"
#include "../privsep/mode.h"
#include "fault.h"
#include "fresh.h"
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

static bool
socket_is_bare(const struct plan *p, const char *path)
{
	struct stat	st;

	return (path_is_canonical(path) && fresh_over(path) == NULL &&
	    rest_bare(p, path) && fstatat(mountd.root, path + 1, &st,
	    AT_SYMLINK_NOFOLLOW) == 0 && S_ISSOCK(st.st_mode));
}

/* Each that is bound, until one is the name. 1: that was there; 0; -1. */
static int
sockets_each(const struct plan *p, const char *name, int face, int tree)
{
	const char	*path;
	size_t		 size = 0;
	char		*line = NULL;
	FILE		*f;
	int		 r = 0;

	if ((f = fopen("/proc/self/net/unix", "re")) == NULL)
		return (fault_errno("mount.failed", "the list of the "
		    "machine's sockets, /proc/self/net/unix"));
	while (r == 0 && getline(&line, &size, f) != -1) {
		if ((path = line_path(line)) == NULL ||
		    (name != NULL && strcmp(name, path) != 0) ||
		    !socket_is_bare(p, path))
			continue;
		r = name != NULL ? 1 : face_cover(face, tree, path);
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
