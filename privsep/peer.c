#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/escape.h"
#include "../common/log.h"
#include "peer.h"

#define PEER_CHOKE	(2 * LIMIT_OUTQ)
#define PEER_LAST	16	/* reads from one that takes nothing any more */
#define PEER_TURN	16	/* messages of one before others have a turn */

static const struct timeval	peer_patience = { 60, 0 };

static void	peer_on_read(evutil_socket_t, short, void *);
static void	peer_on_turn(evutil_socket_t, short, void *);
static void	peer_on_write(evutil_socket_t, short, void *);

struct peer *
peer_new(struct event_base *base, int fd, enum role self, enum role other,
    const struct peer_ops *ops, void *ctx)
{
	struct peer	*p;
	size_t		 i;

	if ((p = calloc(1, sizeof(*p))) == NULL) {
		close(fd);
		return (NULL);
	}
	p->ops = ops;
	p->ctx = ctx;
	if (imsg_init(&p->ib, fd, self, other) == -1)
		goto fail;
	p->ib.lossy = ops->lost != NULL;
	if ((p->permits = calloc(ops->n + 1, sizeof(*p->permits))) == NULL)
		goto fail;
	for (i = 0; i < ops->n; i++)
		p->permits[i] = ops->table[i].first;
	p->rev = event_new(base, fd, EV_READ | EV_PERSIST, peer_on_read, p);
	p->wev = event_new(base, fd, EV_WRITE, peer_on_write, p);
	p->tev = evtimer_new(base, peer_on_turn, p);
	if (p->rev == NULL || p->wev == NULL || p->tev == NULL ||
	    event_add(p->rev, NULL) == -1)
		goto fail;
	return (p);
fail:
	peer_free(p);
	return (NULL);
}

static void
peer_destroy(struct peer *p)
{
	if (p->rev != NULL)
		event_free(p->rev);
	if (p->wev != NULL)
		event_free(p->wev);
	if (p->tev != NULL)
		event_free(p->tev);
	imsg_clear(&p->ib);
	free(p->permits);
	free(p);
}

/* Goes on with what was read already. By a timer: what is made active by hand
 * comes before all that the loop has not looked for yet. */
static void
peer_go_on(struct peer *p)
{
	static const struct timeval	now = { 0, 0 };

	event_add(p->tev, &now);
}

static void
peer_read_on(struct peer *p)
{
	event_add(p->rev, NULL);
	/* Whole messages may lie in the buffer already. */
	if (p->ib.inlen > 0)
		peer_go_on(p);
}

/* A handler may free its own peer: then the loop that called it does. */
void
peer_free(struct peer *p)
{
	if (p == NULL)
		return;
	p->dead = true;
	if (!p->busy)
		peer_destroy(p);
}

static struct handler const *
peer_handler(struct peer *p, uint32_t type, size_t *place)
{
	size_t	i;

	for (i = 0; i < p->ops->n; i++)
		if (p->ops->table[i].type == type) {
			*place = i;
			return (&p->ops->table[i]);
		}
	return (NULL);
}

/* NULL, or what is wrong with this message now. */
static const char *
peer_dispatch(struct peer *p, struct msg *msg)
{
	const struct handler	*h;
	size_t			 place;

	if ((h = peer_handler(p, msg->type, &place)) == NULL)
		return ("a message that is not for this program");
	if (p->permits[place] == PERMIT_NO)
		return ("a message out of turn");
	if (p->permits[place] == PERMIT_ONCE)
		p->permits[place] = PERMIT_NO;
	if (msg->lost)
		p->ops->lost(p, msg);
	else
		h->fn(p, msg);
	return (NULL);
}

/*
 * A client that asks and does not read its answers is asked for nothing more
 * until it has read some, and is gone where it does not. Our own programs
 * pause what makes their answers instead: two of them that stopped reading
 * each other would wait for ever.
 */
static void
peer_choke(struct peer *p)
{
	if (p->choked || p->ib.other != ROLE_CLIENT ||
	    p->ib.queued <= PEER_CHOKE)
		return;
	p->choked = true;
	event_del(p->rev);
	event_add(p->wev, &peer_patience);
}

static void
peer_unchoke(struct peer *p)
{
	if (!p->choked || p->ib.queued >= LIMIT_OUTQ / 2)
		return;
	p->choked = false;
	if (!p->paused)
		peer_read_on(p);
}

static bool
peer_takes(const struct peer *p)
{
	/* Who has left asks for nothing: nobody hears the answer. */
	return (!p->dead && !p->paused && !p->choked &&
	    !(p->broken && p->ib.other == ROLE_CLIENT));
}

/* A client whose answers lie there has one more, and then others have. */
static int
peer_turn(const struct peer *p, int turn)
{
	return (p->ib.other == ROLE_CLIENT && p->ib.queued > 0 ? 0 : turn - 1);
}

/* Handles at most *turn messages of what was read; true while the peer lives,
 * may be read from, and all of it was handled. */
static bool
peer_drain_input(struct peer *p, int *turn)
{
	struct msg	 msg;
	const char	*why = NULL;
	char		 line[320];
	int		 r = 0;

	p->busy = true;
	while (*turn > 0 && peer_takes(p) &&
	    (r = imsg_next(&p->ib, &msg, &why)) == 1) {
		uint32_t	type = msg.type;

		why = peer_dispatch(p, &msg);
		msg_free(&msg);
		if (!p->dead) {
			peer_choke(p);
			*turn = peer_turn(p, *turn);
		}
		if (why != NULL) {
			snprintf(line, sizeof(line), "%s: %s", proto_name(type),
			    why);
			why = line;
			r = -1;
			break;
		}
	}
	p->busy = false;
	if (p->dead) {
		peer_destroy(p);
		return (false);
	}
	if (r == -1) {
		p->ops->gone(p, why);
		return (false);
	}
	if (*turn <= 0 && peer_takes(p))
		peer_go_on(p);
	return (*turn > 0 && peer_takes(p));
}

static void
peer_read(struct peer *p)
{
	int	turn = PEER_TURN;
	ssize_t	n;

	/* After a pause or a turn whole messages may be here, up to a full
	 * buffer and with the end of file behind them: they come first. */
	if (!peer_takes(p) || !peer_drain_input(p, &turn))
		return;
	n = imsg_read(&p->ib);
	if (n == -1 && errno == EAGAIN)
		return;		/* a turn's rest was all there is */
	if (n == 0) {
		p->ops->gone(p, p->ib.inlen > 0 || p->ib.partn > 0 ?
		    "closed in the middle of a message" : NULL);
		return;
	}
	if (n == -1) {
		p->ops->gone(p, errno == ECONNRESET || errno == EPIPE ? NULL :
		    strerror(errno));
		return;
	}
	peer_drain_input(p, &turn);
}

static void
peer_on_read(evutil_socket_t fd, short what, void *arg)
{
	struct peer	*p = arg;

	(void)fd;
	(void)what;
	/* One turn, not two. */
	if (!event_pending(p->tev, EV_TIMEOUT, NULL))
		peer_read(p);
}

static void
peer_on_turn(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	peer_read(arg);
}

/*
 * It takes nothing any more. What it said before it went counts all the same:
 * the status of a command, say, that ended while it was sent a signal.
 */
static void
peer_last_words(struct peer *p, const char *why)
{
	int	i, all;

	p->broken = true;
	for (i = 0; i < PEER_LAST && peer_takes(p); i++) {
		all = INT_MAX;
		if (!peer_drain_input(p, &all))
			return;
		if (imsg_read(&p->ib) <= 0)
			break;
	}
	p->ops->gone(p, why);
}

/* A client that reads nothing of what is there for it, a patch that it asked
 * for say, keeps others from its session: it is not waited for. */
static const struct timeval *
peer_timeout(const struct peer *p)
{
	return (p->ib.other == ROLE_CLIENT ? &peer_patience : NULL);
}

static void
peer_on_write(evutil_socket_t fd, short what, void *arg)
{
	struct peer	*p = arg;
	int		 r;

	(void)fd;
	if (p->failed) {
		p->ops->gone(p, "a message could not be sent");
		return;
	}
	if (what & EV_TIMEOUT) {
		p->ops->gone(p, "answers were not read");
		return;
	}
	if ((r = imsg_flush(&p->ib)) == -1) {
		peer_last_words(p, errno == EPIPE || errno == ECONNRESET ?
		    NULL : strerror(errno));
		return;
	}
	if (r == 0)
		event_add(p->wev, peer_timeout(p));
	peer_unchoke(p);
	if (p->ops->drained != NULL && p->ib.queued < LIMIT_OUTQ / 2)
		p->ops->drained(p);
}

void
peer_send(struct peer *p, uint32_t type, uint32_t id, int fd,
    const void *body)
{
	int	r;

	if (p->dead || p->failed || p->broken) {
		if (fd != -1)
			close(fd);
		return;
	}
	if (imsg_compose(&p->ib, type, id, fd, body) == -1) {
		/* Own invariant: what we send always fits its row. A client
		 * for whom it does not hold costs that client alone, a worker
		 * its session. */
		if (errno != ENOMEM && p->ib.other != ROLE_CLIENT &&
		    p->ib.other != ROLE_WORKER)
			fatal("sending %s to %s", proto_name(type),
			    role_name(p->ib.other));
		/* Parts of it may be queued: nothing may follow them. */
		p->failed = true;
		event_active(p->wev, EV_WRITE, 0);
		return;
	}
	/* Straight away if it can be: a turn of the loop is a delay. Not
	 * where the socket was full: the loop says when it takes more. */
	if (event_pending(p->wev, EV_WRITE, NULL) ||
	    (r = imsg_flush(&p->ib)) == 1)
		return;
	/* An error is left to the write event, since gone frees the peer. */
	p->broken = r == -1 && (errno == EPIPE || errno == ECONNRESET);
	event_add(p->wev, peer_timeout(p));
}

/* A path in the text may hold any byte, a message's text may not. */
static void __attribute__((format(printf, 5, 0)))
peer_error_send(struct peer *p, uint32_t id, const char *at, const char *code,
    const char *fmt, va_list ap)
{
	char		 text[LIMIT_MESSAGE + 1];
	struct m_ERROR	 e = { .code = code, .message = text, .at = at };

	vsnprintf(text, sizeof(text), fmt, ap);
	escape_fit(text, sizeof(text));
	peer_send(p, MSG_ERROR, id, -1, &e);
}

void
peer_error(struct peer *p, uint32_t id, const char *code, const char *fmt,
    ...)
{
	va_list	ap;

	va_start(ap, fmt);
	peer_error_send(p, id, NULL, code, fmt, ap);
	va_end(ap);
}

void
peer_error_at(struct peer *p, uint32_t id, const char *at, const char *code,
    const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	peer_error_send(p, id, at, code, fmt, ap);
	va_end(ap);
}

void
peer_permit(struct peer *p, uint32_t type, enum permit permit)
{
	size_t	place;

	if (peer_handler(p, type, &place) == NULL)
		fatalx("permit for %s, which has no handler",
		    proto_name(type));
	p->permits[place] = permit;
}

void
peer_pause(struct peer *p)
{
	if (p->paused)
		return;
	p->paused = true;
	event_del(p->rev);
}

void
peer_resume(struct peer *p)
{
	if (!p->paused)
		return;
	p->paused = false;
	if (!p->choked)
		peer_read_on(p);
}

size_t
peer_queued(const struct peer *p)
{
	return (p->ib.queued);
}

int
peer_release(struct peer *p, int *fd)
{
	if (p->ib.inlen > 0 || p->ib.nfds > 0 || p->ib.partn > 0 ||
	    p->ib.queued > 0) {
		errno = EBUSY;
		return (-1);
	}
	*fd = p->ib.fd;
	p->ib.fd = -1;
	event_del(p->rev);
	event_del(p->wev);
	peer_free(p);
	return (0);
}
