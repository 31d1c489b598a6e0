#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "put.h"

int
put_all(int fd, const void *buf, size_t len)
{
	const uint8_t	*p = buf;
	ssize_t		 n;

	while (len > 0) {
		if ((n = write(fd, p, len)) == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return (-1);
		p += n;
		len -= (size_t)n;
	}
	return (0);
}

int
put_all_at(int fd, const void *buf, size_t len, off_t off)
{
	const uint8_t	*p = buf;
	ssize_t		 n;

	while (len > 0) {
		if ((n = pwrite(fd, p, len, off)) == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return (-1);
		p += n;
		off += n;
		len -= (size_t)n;
	}
	return (0);
}
