/*
 * Input: a queue to the terminal's master, or to the command's pipe 0. It is
 * bounded by not reading the clients; the command takes it when it likes.
 */
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include <event2/buffer.h>

#include "../common/log.h"
#include "../privsep/pledge.h"
#include "worker.h"

#define INPUT_HIGH	(256 << 10)

/*
 * A terminal that hands out whole lines has room for 4,095 bytes of one, and
 * the kernel throws the rest of it away. So a longer one is pushed in parts,
 * by the character that means "hand out what you have" (and, only at the
 * beginning of a line, "end"): it takes no place itself.
 */
#define INPUT_LINE	2048

static void	input_write(struct worker *);

static void
input_on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	input_write(arg);
}

void
input_begin(struct worker *w)
{
	if ((w->in = evbuffer_new()) == NULL)
		fatalx("the input's queue");
}

bool
input_full(const struct worker *w)
{
	return (evbuffer_get_length(w->in) > INPUT_HIGH);
}

/* Nobody will read it: what comes is thrown away, as by a closed pipe. */
static void
input_close(struct worker *w)
{
	w->in_dead = true;
	evbuffer_drain(w->in, evbuffer_get_length(w->in));
	event_del(w->in_wev);
	/* A terminal's master is its output's too. */
	if (!w->tty) {
		close(w->in_fd);
		w->in_fd = -1;
	}
}

/* What a byte of a line does to the count of those that the kernel holds. */
static size_t
input_count(const struct termios *tio, uint8_t c, size_t line)
{
	bool	end;

	if (c == '\r' && (tio->c_iflag & IGNCR))
		return (line);
	if (c == '\n')
		end = !(tio->c_iflag & INLCR);
	else if (c == '\r')
		end = (tio->c_iflag & ICRNL) != 0;
	else
		end = c != 0 && (c == tio->c_cc[VEOF] || c == tio->c_cc[VEOL] ||
		    c == tio->c_cc[VEOL2]);
	return (end ? 0 : line + 1);
}

/* How much of it may be written before the line has to be pushed on. A
 * literal-next takes the byte that follows it along. */
static size_t
input_part(struct worker *w, const struct termios *tio, const uint8_t *p,
    size_t len)
{
	size_t	i;

	for (i = 0; i < len; i++) {
		if (w->in_line >= INPUT_LINE &&
		    (i == 0 || p[i - 1] != tio->c_cc[VLNEXT])) {
			w->in_push = true;
			break;
		}
		w->in_line = input_count(tio, p[i], w->in_line);
	}
	return (i);
}

/* True if the terminal hands out whole lines and has a character for "end". */
static bool
input_canonical(struct worker *w, struct termios *tio)
{
	return (w->tty && tcgetattr(w->in_fd, tio) == 0 &&
	    (tio->c_lflag & ICANON) && tio->c_cc[VEOF] != 0);
}

/*
 * The next bytes for one write: a part of the queue, or a push. The queue is
 * looked at again after a short write, so the count is set anew each time.
 */
static ssize_t
input_step(struct worker *w)
{
	uint8_t		 buf[4096];
	struct termios	 tio;
	size_t		 part, line = w->in_line;
	ssize_t		 len, n;
	bool		 canonical = input_canonical(w, &tio);

	if (w->in_push && canonical) {
		if ((n = write(w->in_fd, &tio.c_cc[VEOF], 1)) == 1) {
			w->in_push = false;
			w->in_line = 0;
		}
		return (n);
	}
	w->in_push = false;
	if ((len = evbuffer_copyout(w->in, buf, sizeof(buf))) <= 0)
		return (len);
	part = (size_t)len;
	if (canonical)
		part = input_part(w, &tio, buf, part);
	else
		w->in_line = 0;
	if (part == 0)
		return (1);	/* the push is next */
	n = write(w->in_fd, buf, part);
	if (n != (ssize_t)part) {
		w->in_push = false;
		w->in_line = line;
		if (n > 0 && canonical)
			input_part(w, &tio, buf, (size_t)n);
	}
	if (n > 0)
		evbuffer_drain(w->in, (size_t)n);
	return (n);
}

/*
 * The client has no more input. A pipe is closed. A terminal gets its
 * end-of-file character, twice where a line has begun, since the first one
 * hands that out. Hanging it up instead would kill a command that has only
 * read all there was to read; and with no such character it goes on without.
 */
static void
input_end(struct worker *w)
{
	struct termios	tio;
	size_t		n;

	if (!w->tty) {
		input_close(w);
		return;
	}
	if (tcgetattr(w->in_fd, &tio) == -1 || tio.c_cc[VEOF] == 0)
		return;
	n = (tio.c_lflag & ICANON) && w->in_line > 0 ? 2 : 1;
	while (n-- > 0)
		if (evbuffer_add(w->in, &tio.c_cc[VEOF], 1) == -1)
			fatalx("the input's queue");
	event_add(w->in_wev, NULL);
}

static void
input_write(struct worker *w)
{
	ssize_t	n = 1;

	if (w->in_fd == -1 || w->in_dead)
		return;
	while ((evbuffer_get_length(w->in) > 0 || w->in_push) && n > 0) {
		n = input_step(w);
		if (n == -1 && errno == EINTR)
			n = 1;
	}
	if (n == -1 && errno != EAGAIN)
		input_close(w);
	else if (evbuffer_get_length(w->in) > 0 || w->in_push)
		event_add(w->in_wev, NULL);
	else if (w->in_eof) {
		w->in_eof = false;
		input_end(w);
	}
	if (evbuffer_get_length(w->in) < INPUT_HIGH / 2)
		client_resume_all(w);
}

void
input_add(struct worker *w, const void *p, size_t len)
{
	if (w->in_dead)
		return;
	if (evbuffer_add(w->in, p, len) == -1)
		fatalx("the input's queue");
	input_write(w);
}

void
input_eof(struct worker *w)
{
	w->in_eof = true;
	input_write(w);
}

/* The kernel sends one SIGWINCH, and none where nothing has changed. */
void
input_resize(struct worker *w, uint16_t rows, uint16_t cols)
{
	struct winsize	ws = { .ws_row = rows, .ws_col = cols };

	w->rows = rows;
	w->cols = cols;
	if (w->tty && w->in_fd != -1 && ioctl(w->in_fd, TIOCSWINSZ, &ws) == -1)
		log_warn("%s: resizing the terminal", w->session);
}

int
input_take(struct worker *w, int fd)
{
	struct stat	st;

	w->in_fd = fd;
	if (w->tty) {
		if (output_take(w, 1, fd) == -1) {
			w->in_fd = -1;
			close(fd);
			return (-1);
		}
	} else if (pledge_fstat(fd, &st) == -1 || !S_ISFIFO(st.st_mode) ||
	    evutil_make_socket_nonblocking(fd) == -1) {
		w->in_fd = -1;
		close(fd);
		return (-1);
	}
	if ((w->in_wev = event_new(w->base, fd, EV_WRITE, input_on_writable,
	    w)) == NULL)
		fatalx("watching the command's input");
	if (w->rows != 0 || w->cols != 0)
		input_resize(w, w->rows, w->cols);
	input_write(w);
	return (0);
}
