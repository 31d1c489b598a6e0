#include <sys/stat.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "at.h"
#include "mountd.h"
#include "rm.h"

#define RM_ALIVE	512	/* entries between two signs of life */

struct rm {
	int		 at;		/* the folder that is emptied */
	dev_t		 dev;
	size_t		 depth, done;
};

static void
rm_count(struct rm *r)
{
	if (++r->done % RM_ALIVE == 0)
		child_alive();
}

/* Goes into a folder; -1 where it lies on another filesystem. */
static int
rm_enter(struct rm *r, const char *name)
{
	struct stat	st;
	int		fd;

	fd = openat(r->at, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	if (fstat(fd, &st) == -1 || st.st_dev != r->dev) {
		close(fd);
		errno = EXDEV;
		return (-1);
	}
	close(r->at);
	r->at = fd;
	r->depth++;
	return (0);
}

static int
rm_leave(struct rm *r)
{
	int	fd;

	/* Nobody else moves folders in here. */
	fd = openat(r->at, "..",
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	close(r->at);
	r->at = fd;
	r->depth--;
	return (0);
}

/* 1: gone; 0: a folder that is not empty; -1 errno. */
static int
rm_entry(struct rm *r, const char *name, bool dir)
{
	if (unlinkat(r->at, name, dir ? AT_REMOVEDIR : 0) == 0) {
		rm_count(r);
		return (1);
	}
	if (errno == ENOENT)
		return (1);
	if (!dir && errno == EISDIR)
		return (rm_entry(r, name, true));
	return (errno == ENOTEMPTY || errno == EEXIST ? 0 : -1);
}

/* Empties the folder at hand as far as it goes: 1 it is empty, 0 we are in a
 * folder of it now, -1 errno. */
static int
rm_scan(struct rm *r)
{
	struct dirent	*de;
	DIR		*d;
	int		 rv = 1, err;

	if ((d = at_opendir(r->at, "")) == NULL)
		return (-1);
	while (rv == 1 && (errno = 0, de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		rv = rm_entry(r, de->d_name, de->d_type == DT_DIR);
		if (rv == 0 && rm_enter(r, de->d_name) == -1)
			rv = -1;
	}
	if (rv == 1 && errno != 0)
		rv = -1;
	err = errno;
	closedir(d);
	errno = err;
	return (rv);
}

int
rm_all(int dir, const char *name)
{
	struct rm	r = { .at = -1 };
	struct stat	st;
	int		rv;

	if (fstat(dir, &st) == -1)
		return (-1);
	r.dev = st.st_dev;
	if ((r.at = fcntl(dir, F_DUPFD_CLOEXEC, 0)) == -1)
		return (-1);
	rv = rm_entry(&r, name, false);
	if (rv == 0)
		rv = rm_enter(&r, name) == -1 ? -1 : 0;
	while (rv == 0) {
		if ((rv = rm_scan(&r)) != 1)
			continue;
		/* Empty: up, where the next look removes it. */
		rv = rm_leave(&r) == -1 ? -1 : 0;
		if (rv == 0 && r.depth == 0)
			rv = rm_entry(&r, name, true);
	}
	close(r.at);
	return (rv == 1 ? 0 : -1);
}
