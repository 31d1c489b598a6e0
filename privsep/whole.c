#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/put.h"
#include "pledge.h"
#include "whole.h"

/* What lies there is ours, but a disk may have lost a part of it. */
static uint8_t *
read_all(int fd, size_t max, size_t *len, const char **why)
{
	struct stat	 st;
	uint8_t		*buf;
	ssize_t		 n;

	if (pledge_fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size > max) {
		*why = "not a regular file of a possible size";
		return (NULL);
	}
	if ((buf = malloc((size_t)st.st_size + 1)) == NULL) {
		*why = "out of memory";
		return (NULL);
	}
	for (*len = 0; *len < (size_t)st.st_size; *len += (size_t)n) {
		n = read(fd, buf + *len, (size_t)st.st_size - *len);
		if (n <= 0) {
			*why = n == 0 ? "cut short" : strerror(errno);
			free(buf);
			return (NULL);
		}
	}
	return (buf);
}

uint8_t *
whole_read(int dir, const char *name, size_t max, size_t *len,
    const char **why)
{
	uint8_t	*buf;
	int	 fd;

	*len = 0;
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC);
	if (fd == -1) {
		*why = errno == ENOENT ? "none" : strerror(errno);
		return (NULL);
	}
	buf = read_all(fd, max, len, why);
	close(fd);
	if (buf == NULL)
		errno = EIO;
	return (buf);
}

/* The bytes first: a rename may be on the disk before them. */
int
whole_write(int dir, const char *name, const void *buf, size_t len, bool sync)
{
	char	new[64];
	int	fd, saved, r = -1;

	if (snprintf(new, sizeof(new), "%s.new", name) >= (int)sizeof(new)) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	fd = openat(dir, new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC |
	    O_NOFOLLOW, 0600);
	if (fd != -1 && put_all(fd, buf, len) == 0 &&
	    (!sync || fsync(fd) == 0) &&
	    renameat(dir, new, dir, name) == 0 && (!sync || fsync(dir) == 0))
		r = 0;
	saved = errno;
	if (fd != -1)
		close(fd);
	if (r == -1)
		unlinkat(dir, new, 0);
	errno = saved;
	return (r);
}
