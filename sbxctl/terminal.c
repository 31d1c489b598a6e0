#include <sys/ioctl.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "../common/clock.h"
#include "filter.h"
#include "sbxctl.h"

#define TERMINAL_WRITE_MS	1000
#define TERMINAL_ANSWER_MS	500
/* Before a question: what comes late may be taken for its answer. */
#define TERMINAL_SETTLE_MS	1000

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
	size_t	n = filter_leave(terminal.filter, buf, sizeof(buf));

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
terminal_swallow(struct filter *f, int ms)
{
	/* Out of all that it may think it is in the middle of. */
	static const char	 query[] = "\030\033\\\033[5n";
	struct pollfd		 pfd = { .fd = terminal.in, .events = POLLIN };
	int64_t			 end = now_ms() + ms, left;
	uint8_t			 byte;

	terminal_write(query, sizeof(query) - 1);
	f->asked[ANSWER_OK]++;
	while (f->asked[ANSWER_OK] > 0 && (left = end - now_ms()) > 0) {
		if (poll(&pfd, 1, (int)left) < 1 ||
		    read(terminal.in, &byte, 1) != 1)
			return;
		filter_in(f, &byte, 1);
	}
}

/* Who was on no terminal as the session's has counted nothing. */
static struct filter *
terminal_filter(void)
{
	static struct filter	none;
	static bool		begun;

	if (terminal.filter != NULL)
		return (terminal.filter);
	if (!begun)
		filter_init(&none, true, false);
	begun = true;
	return (&none);
}

/*
 * The session may have made the terminal send more than was counted, by what
 * nobody here knows of: so it is asked in any case. Without echo, which would
 * show what is thrown away, but with the keys that interrupt. True: some
 * answer came, or it cannot be asked; *left is how many are still due.
 */
static bool
terminal_round(int in, int out, uint32_t *left)
{
	struct filter		*f = terminal_filter();
	struct termios		 before, now;
	const char		*term = getenv("TERM");
	uint32_t		 due = f->asked[ANSWER_OK] + 1;

	*left = 0;
	terminal.in = in;
	terminal.out = out;
	/* It would show the query. */
	if (term != NULL && strcmp(term, "dumb") == 0)
		return (true);
	if (tcgetattr(in, &before) == -1)
		return (true);
	now = before;
	now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	now.c_cc[VMIN] = 1;
	now.c_cc[VTIME] = 0;
	if (tcsetattr(in, TCSANOW, &now) == -1)
		return (true);
	terminal_swallow(f, TERMINAL_SETTLE_MS);
	*left = f->asked[ANSWER_OK];
	tcsetattr(in, TCSANOW, &before);
	return (*left < due);
}

bool
terminal_settle(int in, int out, bool *unseen)
{
	uint32_t	left;
	bool		known = terminal_filter()->answered;
	bool		came = terminal_round(in, out, &left);

	*unseen = known && !came;
	return (came && left == 0);
}

bool
terminal_silent(int in, int out, bool *settled)
{
	uint32_t	left;
	bool		came = terminal_round(in, out, &left);

	*settled = came && left == 0;
	return (!came);
}

void
terminal_leave(void)
{
	if (!terminal.raw)
		return;
	terminal_modes();
	if (filter_pending(terminal.filter) > 0)
		terminal_swallow(terminal.filter, TERMINAL_ANSWER_MS);
	terminal_restore();
}
