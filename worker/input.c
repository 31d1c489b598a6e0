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

static void	input_write(struct task *);

static void
input_on_writable(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	input_write(arg);
}

void
input_begin(struct task *t)
{
	if ((t->in = evbuffer_new()) == NULL)
		fatalx("the input's queue");
}

void
input_free(struct task *t)
{
	evbuffer_free(t->in);
	if (t->in_wev != NULL)
		event_free(t->in_wev);
	if (t->in_fd != -1)
		close(t->in_fd);
}

bool
input_full(const struct task *t)
{
	return (evbuffer_get_length(t->in) > INPUT_HIGH);
}

/* Nobody will read it: what comes is thrown away, as by a closed pipe. */
static void
input_close(struct task *t)
{
	t->in_dead = true;
	evbuffer_drain(t->in, evbuffer_get_length(t->in));
	event_del(t->in_wev);
	/* A terminal's master is its output's too. */
	if (!t->tty) {
		close(t->in_fd);
		t->in_fd = -1;
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
input_part(struct task *t, const struct termios *tio, const uint8_t *p,
    size_t len)
{
	size_t	i;

	for (i = 0; i < len; i++) {
		if (t->in_line >= INPUT_LINE &&
		    (i == 0 || p[i - 1] != tio->c_cc[VLNEXT])) {
			t->in_push = true;
			break;
		}
		t->in_line = input_count(tio, p[i], t->in_line);
	}
	return (i);
}

/* True if the terminal hands out whole lines and has a character for "end". */
static bool
input_canonical(struct task *t, struct termios *tio)
{
	return (t->tty && tcgetattr(t->in_fd, tio) == 0 &&
	    (tio->c_lflag & ICANON) && tio->c_cc[VEOF] != 0);
}

/*
 * The next bytes for one write: a part of the queue, or a push. The queue is
 * looked at again after a short write, so the count is set anew each time.
 */
static ssize_t
input_step(struct task *t)
{
	uint8_t		 buf[4096];
	struct termios	 tio;
	size_t		 part, line = t->in_line;
	ssize_t		 len, n;
	bool		 canonical = input_canonical(t, &tio);

	if (t->in_push && canonical) {
		if ((n = write(t->in_fd, &tio.c_cc[VEOF], 1)) == 1) {
			t->in_push = false;
			t->in_line = 0;
		}
		return (n);
	}
	t->in_push = false;
	if ((len = evbuffer_copyout(t->in, buf, sizeof(buf))) <= 0)
		return (len);
	part = (size_t)len;
	if (canonical)
		part = input_part(t, &tio, buf, part);
	else
		t->in_line = 0;
	if (part == 0)
		return (1);	/* the push is next */
	n = write(t->in_fd, buf, part);
	if (n != (ssize_t)part) {
		t->in_push = false;
		t->in_line = line;
		if (n > 0 && canonical)
			input_part(t, &tio, buf, (size_t)n);
	}
	if (n > 0)
		evbuffer_drain(t->in, (size_t)n);
	return (n);
}

/*
 * The client has no more input. A pipe is closed. A terminal gets its
 * end-of-file character, twice where a line has begun, since the first one
 * hands that out. Hanging it up instead would kill a command that has only
 * read all there was to read; and with no such character it goes on without.
 */
static void
input_end(struct task *t)
{
	struct termios	tio;
	size_t		n;

	if (!t->tty) {
		input_close(t);
		return;
	}
	if (tcgetattr(t->in_fd, &tio) == -1 || tio.c_cc[VEOF] == 0)
		return;
	n = (tio.c_lflag & ICANON) && t->in_line > 0 ? 2 : 1;
	while (n-- > 0)
		if (evbuffer_add(t->in, &tio.c_cc[VEOF], 1) == -1)
			fatalx("the input's queue");
	event_add(t->in_wev, NULL);
}

static void
input_write(struct task *t)
{
	ssize_t	n = 1;

	if (t->in_fd == -1 || t->in_dead)
		return;
	while ((evbuffer_get_length(t->in) > 0 || t->in_push) && n > 0) {
		n = input_step(t);
		if (n == -1 && errno == EINTR)
			n = 1;
	}
	if (n == -1 && errno != EAGAIN)
		input_close(t);
	else if (evbuffer_get_length(t->in) > 0 || t->in_push)
		event_add(t->in_wev, NULL);
	else if (t->in_eof) {
		t->in_eof = false;
		input_end(t);
	}
	if (evbuffer_get_length(t->in) < INPUT_HIGH / 2)
		client_resume_all(t);
}

void
input_add(struct task *t, const void *p, size_t len)
{
	if (t->in_dead)
		return;
	if (evbuffer_add(t->in, p, len) == -1)
		fatalx("the input's queue");
	input_write(t);
}

void
input_eof(struct task *t)
{
	t->in_eof = true;
	input_write(t);
}

/* The kernel sends one SIGWINCH, and none where nothing has changed. */
void
input_resize(struct task *t, uint16_t rows, uint16_t cols)
{
	struct winsize	ws = { .ws_row = rows, .ws_col = cols };

	t->rows = rows;
	t->cols = cols;
	if (t->tty && t->in_fd != -1 && ioctl(t->in_fd, TIOCSWINSZ, &ws) == -1)
		log_warn("%s: resizing the terminal", t->w->session);
}

int
input_take(struct task *t, int fd)
{
	struct stat	st;

	t->in_fd = fd;
	if (t->tty) {
		if (output_take(t, 1, fd) == -1) {
			t->in_fd = -1;
			close(fd);
			return (-1);
		}
	} else if (pledge_fstat(fd, &st) == -1 || !S_ISFIFO(st.st_mode) ||
	    evutil_make_socket_nonblocking(fd) == -1) {
		t->in_fd = -1;
		close(fd);
		return (-1);
	}
	if ((t->in_wev = event_new(t->w->base, fd, EV_WRITE, input_on_writable,
	    t)) == NULL)
		fatalx("watching the command's input");
	if (t->rows != 0 || t->cols != 0)
		input_resize(t, t->rows, t->cols);
	input_write(t);
	return (0);
}
