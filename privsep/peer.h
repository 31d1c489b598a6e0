/*
 * A peer: an imsgbuf in the event loop, its table of handlers, and what this
 * peer may say now. Permission is checked before a handler runs: the message
 * list's direction, then the table, then a permit for those that need one.
 */
#ifndef PRIVSEP_PEER_H
#define PRIVSEP_PEER_H

#include <event2/event.h>
#include <stdarg.h>

#include "imsg.h"

struct peer;

enum permit { PERMIT_NO, PERMIT_ONCE, PERMIT_ALWAYS };

struct handler {
	uint32_t	 type;
	enum permit	 first;		/* what it starts with */
	/* The message is freed after the handler, which takes msg->fd by
	 * msg_take_fd. It may free the peer. */
	void		(*fn)(struct peer *, struct msg *);
};

struct peer_ops {
	const struct handler *table;
	size_t		 n;
	/* The connection is over: NULL reason for a plain end of file, else
	 * what was broken. Frees the peer, or ends the process. */
	void		(*gone)(struct peer *, const char *why);
	/* Optional: a message came in place of its handler's whose descriptor
	 * we had no room for. Without it that is the peer's end. */
	void		(*lost)(struct peer *, struct msg *);
	/* Optional: the queue has drained below half of LIMIT_OUTQ. */
	void		(*drained)(struct peer *);
};

struct peer {
	struct imsgbuf	 ib;
	struct event	*rev, *wev;
	struct event	*tev;		/* the rest of what was read */
	const struct peer_ops *ops;
	void		*ctx;		/* the owner's */
	enum permit	*permits;	/* by place in the table */
	bool		 paused, dead, busy, failed;
	bool		 choked;	/* a client that does not read */
	bool		 broken;	/* a send has failed: it is gone */
};

/* Takes fd over. NULL: errno. */
struct peer	*peer_new(struct event_base *, int fd, enum role self,
		    enum role other, const struct peer_ops *, void *ctx);
void		 peer_free(struct peer *);
/* Takes fd over, -1: none. A failure to queue (memory) ends the peer. */
void		 peer_send(struct peer *, uint32_t type, uint32_t id, int fd,
		    const void *body);
/* ERROR {code, message}, message by format. */
void		 peer_error(struct peer *, uint32_t id, const char *code,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* The same about one session: its id goes along as "at". */
void		 peer_error_at(struct peer *, uint32_t id, const char *at,
		    const char *code, const char *fmt, ...)
		    __attribute__((format(printf, 5, 6)));
void		 peer_permit(struct peer *, uint32_t type, enum permit);
void		 peer_pause(struct peer *);	/* stop reading */
void		 peer_resume(struct peer *);
size_t		 peer_queued(const struct peer *);
/* Gives the socket away: what was read and not handled must be nothing
 * (EBUSY), the peer is freed, the descriptor is the caller's. */
int		 peer_release(struct peer *, int *fd);

#endif
