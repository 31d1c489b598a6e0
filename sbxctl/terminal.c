#include <sys/ioctl.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "../common/clock.h"
#include "filter.h"
#include "sbxctl.h"

#define TERMINAL_WRITE_MS	1000
#define TERMINAL_ANSWER_MS	500

static struct {
	bool		 raw;
	int		 in, out;
	struct termios	 before, now;
	struct filter	*filter;
} terminal;

bool
terminal_size(int fd, uint64_t *rows, uint64_t *cols)
{
	struct winsize	ws;

	if (ioctl(fd, TIOCGWINSZ, &ws) == -1)
		return (false);
	/* Of a terminal without a size programs wait for one for ever. */
	*rows = ws.ws_row != 0 ? ws.ws_row : 24;
	*cols = ws.ws_col != 0 ? ws.ws_col : 80;
	return (true);
}

int
terminal_raw(int in, int out, struct filter *filter)
{
	if (tcgetattr(in, &terminal.before) == -1)
		return (-1);
	terminal.now = terminal.before;
	cfmakeraw(&terminal.now);
	/* Not TCSAFLUSH: what has been typed already is the session's. */
	if (tcsetattr(in, TCSANOW, &terminal.now) == -1)
		return (-1);
	terminal.in = in;
	terminal.out = out;
	terminal.filter = filter;
	terminal.raw = true;
	return (0);
}

void
terminal_again(void)
{
	if (terminal.raw)
		tcsetattr(terminal.in, TCSANOW, &terminal.now);
}

/* A terminal that takes nothing must not keep us from leaving. */
static void
terminal_write(const char *p, size_t len)
{
	struct pollfd	pfd = { .fd = terminal.out, .events = POLLOUT };
	ssize_t		n;

	while (len > 0) {
		if (poll(&pfd, 1, TERMINAL_WRITE_MS) < 1)
			return;
		n = write(terminal.out, p, len);
		if (n == -1 && errno != EINTR && errno != EAGAIN)
			return;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
	}
}

static void
terminal_modes(void)
{
	char	buf[2048];
	size_t	n = filter_reset(terminal.filter, buf, sizeof(buf));

	terminal_write(buf, n);
}

void
terminal_restore(void)
{
	if (!terminal.raw)
		return;
	terminal.raw = false;
	terminal_modes();
	tcsetattr(terminal.in, TCSANOW, &terminal.before);
}

/*
 * Terminals answer in order: when the answer to a query of ours comes, all
 * earlier ones have come. Read byte by byte, so that what was typed for the
 * shell after it stays where it is.
 */
static void
terminal_swallow(void)
{
	static const char	 query[] = "\033[5n";
	struct pollfd		 pfd = { .fd = terminal.in, .events = POLLIN };
	struct filter		*f = terminal.filter;
	int64_t			 end = now_ms() + TERMINAL_ANSWER_MS, left;
	uint8_t			 byte;

	if (filter_pending(f) == 0)
		return;
	terminal_write(query, sizeof(query) - 1);
	f->asked[ANSWER_OK]++;
	while (f->asked[ANSWER_OK] > 0 && (left = end - now_ms()) > 0) {
		if (poll(&pfd, 1, (int)left) < 1 ||
		    read(terminal.in, &byte, 1) != 1)
			return;
		filter_in(f, &byte, 1);
	}
}

void
terminal_leave(void)
{
	if (!terminal.raw)
		return;
	terminal_modes();
	terminal_swallow();
	terminal_restore();
}
