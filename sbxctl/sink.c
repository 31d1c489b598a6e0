#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sbxctl.h"

/* A pipe that poll calls writable takes so much without blocking. */
#define SINK_PIECE	4096

/*
 * O_NONBLOCK belongs to the open file, which our caller and the shell share:
 * terminals and pipes are opened anew. Files do not block; what cannot be
 * opened anew (a socket, a terminal of another user) is written to in pieces
 * that fit.
 */
void
sink_open(struct sink *s, int fd)
{
	char		path[32];
	struct stat	st;
	int		own = -1;

	memset(s, 0, sizeof(*s));
	s->fd = fd;
	if (fstat(fd, &st) == -1) {
		s->gone = true;
		return;
	}
	if (S_ISFIFO(st.st_mode) || (S_ISCHR(st.st_mode) && isatty(fd))) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	}
	if (own != -1) {
		s->fd = own;
		s->own = true;
	}
}

size_t
sink_left(const struct sink *s)
{
	return (s->len - s->off);
}

uint8_t *
sink_room(struct sink *s, size_t n)
{
	if (s->off > 0 && s->room - s->len < n) {
		memmove(s->buf, s->buf + s->off, s->len - s->off);
		s->len -= s->off;
		s->off = 0;
	}
	if (s->room - s->len < n) {
		/* More than is asked for, lest the rest move each time. */
		s->room = 2 * (s->len + n);
		s->buf = need(realloc(s->buf, s->room));
	}
	return (s->buf + s->len);
}

void
sink_added(struct sink *s, size_t n)
{
	if (!s->gone)
		s->len += n;
}

void
sink_write(struct sink *s)
{
	size_t	piece = sink_left(s);
	ssize_t	n;

	if (piece == 0 || s->gone)
		return;
	if (!s->own && piece > SINK_PIECE)
		piece = SINK_PIECE;
	n = write(s->fd, s->buf + s->off, piece);
	if (n > 0) {
		s->off += (size_t)n;
		if (s->off == s->len)
			s->off = s->len = 0;
	} else if (n == -1 && errno != EAGAIN && errno != EINTR) {
		s->gone = true;
		s->error = errno == EPIPE ? 0 : errno;
		s->off = s->len = 0;
	}
}

void
sink_try(struct sink *s)
{
	if (s->own)
		sink_write(s);
}

void
sink_close(struct sink *s)
{
	struct pollfd	pfd = { .fd = s->fd, .events = POLLOUT };
	int		error;

	while (sink_left(s) > 0 && !s->gone) {
		if (poll(&pfd, 1, -1) == -1 && errno != EINTR)
			break;
		sink_write(s);
	}
	if (s->own)
		close(s->fd);
	free(s->buf);
	error = s->error;
	memset(s, 0, sizeof(*s));
	s->fd = -1;
	s->gone = true;
	s->error = error;
}
