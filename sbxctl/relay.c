/*
 * An attached session: its terminal or its pipes, until its command has
 * ended. Output never waits for input, nor input for output.
 */
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/slice.h"
#include "filter.h"
#include "keys.h"
#include "sbxctl.h"

#define RELAY_INPUT_FULL	(256U << 10)
/* A hung-up command has so long to end before we leave it to the suite. */
#define RELAY_HANGUP_MS		5000
/* The rest of a key that begins with Escape comes at once, or was none. */
#define RELAY_ESCAPE_MS		50
/* What puts a terminal back is not as long. */
#define RELAY_RESET		2048

/* Where output goes; it is looked through where that is a terminal. */
struct outlet {
	struct sink	 sink;
	bool		 terminal;
	struct filter	 filter;
};

struct relay {
	struct conn	*c;
	bool		 tty, joined;
	bool		 present;	/* what comes is not from before us */
	bool		 turn;		/* we have typed last */
	struct keys	*keys;
	struct outlet	 out, err;
	bool		 one;		/* both are the same terminal */
	int		 signals;	/* signalfd */
	bool		 in_open;
	bool		 pipe_told;	/* SIGPIPE has been sent */
	bool		 ended;
	int		 hangup;	/* the signal, 0: none */
	int64_t		 deadline;
	int64_t		 escape;	/* a key that begins is none then */
	uint64_t	 rows, cols;
	struct relay_end *end;
};

enum { AT_SOCKET, AT_IN, AT_OUT, AT_ERR, AT_SIGNALS, AT_COUNT };

static void
relay_send(struct relay *r, uint32_t type, const void *body)
{
	if (imsg_compose(&r->c->ib, type, 0, -1, body) == -1)
		fail("%s: %s", r->c->path, strerror(errno));
}

static void
relay_signal(struct relay *r, int sig)
{
	struct m_SIGNAL	body = { .sig = (uint64_t)sig };

	relay_send(r, MSG_SIGNAL, &body);
}

/* The terminal is gone, or somebody wants us gone: the command is hung up as
 * it would be at home, and nothing is decided for its owner. A session that
 * we only joined goes on. */
static void
relay_hangup(struct relay *r, int sig)
{
	if (r->hangup != 0)
		return;
	r->hangup = sig;
	if (r->joined) {
		r->ended = true;
		r->end->status = 128 + (uint64_t)sig;
		return;
	}
	r->in_open = false;
	r->deadline = now_ms() + RELAY_HANGUP_MS;
	relay_signal(r, sig);
}

static void
relay_resize(struct relay *r)
{
	struct m_RESIZE	body = { 0 };

	if (!terminal_size(STDIN_FILENO, &body.rows, &body.cols) ||
	    (body.rows == r->rows && body.cols == r->cols))
		return;
	r->rows = body.rows;
	r->cols = body.cols;
	relay_send(r, MSG_RESIZE, &body);
}

static void
relay_type(struct relay *r, const uint8_t *p, size_t len)
{
	struct m_DATA	body = { .d = { p, len } };

	if (len > 0)
		relay_send(r, MSG_DATA, &body);
}

/* What was typed, without the keys that are for us. */
static void
relay_keys(struct relay *r, const uint8_t *p, size_t len)
{
	uint8_t	buf[LIMIT_CHUNK];
	size_t	n;

	if (keys_in(r->keys, p, len, buf, &n))
		r->ended = r->end->detached = true;
	r->escape = now_ms() + RELAY_ESCAPE_MS;
	relay_type(r, buf, n);
}

/* By the clock, not by a wait without an event: output may never pause. */
static void
relay_let_go(struct relay *r)
{
	uint8_t	buf[KEYS_ROOM];

	if (r->keys != NULL && keys_begun(r->keys) && now_ms() >= r->escape)
		relay_type(r, buf, keys_let_go(r->keys, buf));
}

static void
relay_input(struct relay *r)
{
	uint8_t		buf[LIMIT_CHUNK - KEYS_ROOM];
	ssize_t		n;

	n = read(STDIN_FILENO, buf, sizeof(buf));
	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0) {
		if (r->tty)
			filter_in(&r->out.filter, buf, (size_t)n);
		if (r->keys != NULL)
			relay_keys(r, buf, (size_t)n);
		else
			relay_type(r, buf, (size_t)n);
		return;
	}
	r->in_open = false;
	if (r->tty)
		relay_hangup(r, SIGHUP);
	else
		relay_send(r, MSG_EOF, NULL);
}

/* A sequence that begins in one stream and ends in the other is whole to a
 * terminal that has both: they are one to the filter, too. */
static void
relay_on_data(struct relay *r, const struct m_DATA *data)
{
	struct outlet	*o = data->n == 2 && !r->tty && !r->one ? &r->err :
			    &r->out;
	uint8_t		*p;
	size_t		 n = data->d.len;

	p = sink_room(&o->sink, FILTER_ROOM(n));
	if (o->terminal)
		n = filter_out(&o->filter, data->d.p, n, p);
	else
		memcpy(p, data->d.p, n);
	sink_added(&o->sink, n);
}

/* Queries are for the terminal of the one who types, and only while whoever
 * has asked still waits. Where that one's input is none of a terminal's, the
 * answers are the next shell's. */
static void
relay_quiet(struct relay *r)
{
	r->out.filter.quiet = !r->tty || !r->present || !r->turn;
	r->err.filter.quiet = true;
}

/* What follows does not go on where we are: a sequence is broken off. */
static void
relay_on_gap(struct relay *r)
{
	static const uint8_t	cancel[] = { 0x18 };
	struct m_DATA		data = { .n = 1, .d = { cancel, 1 } };

	if (r->tty)
		relay_on_data(r, &data);
}

/* Killed with its session, as the kernel does it, a command has a status. Of
 * anything else nobody knows how it ended. */
static void
relay_on_error(struct relay *r, const struct msg *msg)
{
	const struct m_ERROR	*e = msg->body;
	bool			 killed;

	killed = strcmp(e->code, "session.ended") == 0;
	if (r->joined && !killed)
		return;
	r->end->why = conn_error(msg);
	r->end->status = killed ? 128 + SIGKILL : EXIT_RUN;
	r->end->lost = !killed;
	r->ended = true;
}

/* A terminal that is ours has terminal.c for it. */
static void
outlet_close(struct outlet *o, bool ours)
{
	char	*p;

	if (o->terminal && !ours) {
		p = (char *)sink_room(&o->sink, RELAY_RESET);
		sink_added(&o->sink, filter_leave(&o->filter, p,
		    RELAY_RESET));
	}
	sink_close(&o->sink);
}

/* What has come is written before we say that no more will. */
static void
relay_drain(struct relay *r)
{
	outlet_close(&r->out, r->tty);
	outlet_close(&r->err, false);
}

static void
relay_on_message(struct relay *r, const struct msg *msg)
{
	switch (msg->type) {
	case MSG_DATA:
		relay_on_data(r, msg->body);
		break;
	case MSG_EXITED:
		r->end->status = ((const struct m_EXITED *)msg->body)->status;
		r->ended = true;
		break;
	case MSG_ERROR:
		relay_on_error(r, msg);
		if (r->ended)
			break;
		relay_drain(r);
		conn_refused(msg);
	case MSG_RUNNING:
		r->present = true;
		relay_quiet(r);
		break;
	case MSG_TURN:
		r->turn = ((const struct m_TURN *)msg->body)->yours;
		relay_quiet(r);
		break;
	case MSG_GAP:
		relay_on_gap(r);
		break;
	default:
		relay_drain(r);
		fail("%s: broken answer: %s from a running session",
		    r->c->path, proto_name(msg->type));
	}
}

/* All that is there whole. */
static void
relay_messages(struct relay *r)
{
	const char	*why = NULL;
	struct msg	 msg;
	int		 got;

	while (!r->ended && (got = imsg_next(&r->c->ib, &msg, &why)) != 0) {
		if (got == -1) {
			relay_drain(r);
			fail("%s: broken answer: %s", r->c->path, why);
		}
		relay_on_message(r, &msg);
		msg_free(&msg);
	}
}

/* What the socket brings; what it brought before its end counts. */
static void
relay_socket(struct relay *r)
{
	ssize_t	n;

	n = imsg_read(&r->c->ib);
	if (n == -1 && errno == EAGAIN)
		return;
	relay_messages(r);
	sink_try(&r->out.sink);
	sink_try(&r->err.sink);
	if (!r->ended && n <= 0) {
		relay_drain(r);
		if (r->joined)
			fail("%s: the session's end of the terminal is gone: "
			    "\"sbxctl ls\" says whether it runs", r->c->path);
		r->end->why = copy("the suite has ended, and the session "
		    "with it");
		r->end->status = EXIT_RUN;
		r->end->lost = r->ended = true;
	}
}

static void
relay_on_signal(struct relay *r)
{
	struct signalfd_siginfo	si;

	if (read(r->signals, &si, sizeof(si)) != sizeof(si))
		return;
	switch (si.ssi_signo) {
	case SIGWINCH:
		relay_resize(r);
		break;
	case SIGCONT:
		/* A shell that stopped us may have set the terminal. */
		terminal_again();
		break;
	case SIGTSTP:
		break;
	case SIGINT:
	case SIGQUIT:
		if (!r->joined) {
			relay_signal(r, (int)si.ssi_signo);
			break;
		}
		/* FALLTHROUGH */
	case SIGHUP:
	case SIGTERM:
		if (r->tty) {
			relay_hangup(r, (int)si.ssi_signo);
			break;
		}
		/* FALLTHROUGH */
	default:
		relay_signal(r, (int)si.ssi_signo);
		break;
	}
}

/* A reader of ours that went away: the command is told as by a pipe. */
static void
relay_gone(struct relay *r)
{
	if (r->tty && r->out.sink.gone)
		relay_hangup(r, SIGHUP);
	if (!r->tty && !r->pipe_told &&
	    (r->out.sink.gone || r->err.sink.gone)) {
		r->pipe_told = true;
		relay_signal(r, SIGPIPE);
	}
}

/* Milliseconds until something is due without an event, -1: never. */
static int
relay_due(const struct relay *r)
{
	int64_t	left;

	if (r->hangup != 0)
		left = r->deadline - now_ms();
	else if (r->keys != NULL && keys_begun(r->keys))
		left = r->escape - now_ms();
	else
		return (-1);
	return (left < 0 ? 0 : (int)left);
}

static int
relay_poll(struct relay *r, struct pollfd *p)
{
	bool	full = sink_left(&r->out.sink) > SINK_FULL ||
		    sink_left(&r->err.sink) > SINK_FULL;
	int	n;

	memset(p, 0, AT_COUNT * sizeof(*p));
	p[AT_SOCKET].fd = r->c->ib.fd;
	p[AT_SOCKET].events = (short)((full ? 0 : POLLIN) |
	    (r->c->ib.queued > 0 ? POLLOUT : 0));
	p[AT_IN].fd = r->in_open && r->c->ib.queued < RELAY_INPUT_FULL ?
	    STDIN_FILENO : -1;
	p[AT_IN].events = POLLIN;
	p[AT_OUT].fd = sink_left(&r->out.sink) > 0 ? r->out.sink.fd : -1;
	p[AT_OUT].events = POLLOUT;
	p[AT_ERR].fd = sink_left(&r->err.sink) > 0 ? r->err.sink.fd : -1;
	p[AT_ERR].events = POLLOUT;
	p[AT_SIGNALS].fd = r->signals;
	p[AT_SIGNALS].events = POLLIN;
	n = poll(p, AT_COUNT, relay_due(r));
	if (n == -1 && errno != EINTR)
		fail("poll: %s", strerror(errno));
	return (n);
}

static void
relay_loop(struct relay *r)
{
	struct pollfd	p[AT_COUNT];
	int		n;

	/* Some of it came together with RUNNING. */
	relay_messages(r);
	while (!r->ended) {
		n = relay_poll(r, p);
		if (n == 0 && r->hangup != 0) {
			r->end->status = 128 + (uint64_t)r->hangup;
			return;
		}
		if (p[AT_SIGNALS].revents != 0)
			relay_on_signal(r);
		/* What came in time to go on with a key is part of it. */
		if (p[AT_IN].revents != 0)
			relay_input(r);
		relay_let_go(r);
		if (p[AT_OUT].revents != 0)
			sink_write(&r->out.sink);
		if (p[AT_ERR].revents != 0)
			sink_write(&r->err.sink);
		relay_gone(r);
		/* An error on writing is told again by the next read, after
		 * what is still to be read. */
		if (r->c->ib.queued > 0)
			imsg_flush(&r->c->ib);
		if (p[AT_SOCKET].revents & (POLLIN | POLLHUP | POLLERR))
			relay_socket(r);
	}
}

static int
relay_signals(bool tty, sigset_t *before)
{
	sigset_t	set;
	int		fd;

	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	if (tty) {
		sigaddset(&set, SIGWINCH);
		sigaddset(&set, SIGCONT);
		/* The key goes to the session; stopped by others in raw mode
		 * we would leave a terminal behind that nobody can use. */
		sigaddset(&set, SIGTSTP);
	}
	if (sigprocmask(SIG_BLOCK, &set, before) == -1 ||
	    (fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) == -1)
		fail("signalfd: %s", strerror(errno));
	return (fd);
}

/* TERM goes along by ssh, and STY does not; tmux has both of the same name. */
static bool
outlet_screen(void)
{
	const char	*term = getenv("TERM");

	return (getenv("STY") != NULL || (getenv("TMUX") == NULL &&
	    term != NULL && strncmp(term, "screen", 6) == 0));
}

static void
outlet_open(struct outlet *o, int fd, bool raw)
{
	sink_open(&o->sink, fd);
	o->terminal = isatty(fd);
	filter_init(&o->filter,
	    strcmp(nl_langinfo(CODESET), "UTF-8") == 0, raw);
	o->filter.screen = outlet_screen();
}

static void
relay_outlets(struct relay *r, bool raw)
{
	unsigned int	out, err;

	outlet_open(&r->out, STDOUT_FILENO, raw);
	outlet_open(&r->err, STDERR_FILENO, raw);
	/* By the terminal itself: one may have been opened as /dev/tty. */
	r->one = r->out.terminal && r->err.terminal &&
	    ioctl(STDOUT_FILENO, TIOCGDEV, &out) == 0 &&
	    ioctl(STDERR_FILENO, TIOCGDEV, &err) == 0 && out == err;
	relay_quiet(r);
}

static void
relay_terminal(struct relay *r)
{
	if (terminal_raw(STDIN_FILENO, STDOUT_FILENO, &r->out.filter) == -1)
		fail("the terminal: %s", strerror(errno));
	/* It may have been resized since NEW said its size. */
	relay_resize(r);
}

/* The command has written it, to us, and cannot know; like a reader that has
 * gone, a full disk ends it by SIGPIPE. Its status then says nothing. */
static void
relay_unwritten(const struct relay *r, const struct sink *s, const char *name)
{
	if (r->tty || s->error == 0)
		return;
	say("%s: %s: not all that the command wrote is there", name,
	    strerror(s->error));
	r->end->status = EXIT_RUN;
}

void
relay_run(struct conn *c, const struct relay_how *how, struct relay_end *end)
{
	/* Static: fail() puts the terminal back by the filter in it. */
	static struct relay	r;
	sigset_t		before;

	memset(&r, 0, sizeof(r));
	memset(end, 0, sizeof(*end));
	r.c = c;
	r.tty = how->tty;
	r.joined = how->joined;
	r.present = !how->joined;
	r.turn = true;
	r.keys = how->keys;
	r.rows = how->rows;
	r.cols = how->cols;
	r.in_open = true;
	r.end = end;
	r.signals = relay_signals(r.tty, &before);
	early_end();
	relay_outlets(&r, how->raw);
	if (r.tty)
		relay_terminal(&r);
	slice_short();
	relay_loop(&r);
	relay_drain(&r);
	relay_unwritten(&r, &r.out.sink, "standard output");
	relay_unwritten(&r, &r.err.sink, "standard error");
	/* What is executed after it, a pager say, has it as ever. */
	slice_usual();
	end->hangup = r.hangup != 0;
	if (end->hangup)
		terminal_restore();
	else
		terminal_leave();
	end->midline = r.tty && r.out.filter.midline;
	close(r.signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
}
