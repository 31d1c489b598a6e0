/*
 * Framed messages over a Unix stream socket: a 16-byte header (today's
 * OpenBSD imsg, host byte order), one msgpack map, at most one descriptor.
 * A body above one frame goes as PART frames and is put together again, up to
 * its row's limit. No event loop in here: peer.h is the one over libevent,
 * and programs that wait for one answer at a time use imsg_recv directly.
 */
#ifndef PRIVSEP_IMSG_H
#define PRIVSEP_IMSG_H

#include <sys/queue.h>
#include <sys/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../common/proto.h"

struct msgpack_zone;

struct imsg_hdr {
	uint32_t	type;
	uint32_t	len;		/* IMSG_FD_MARK: with a descriptor */
	uint32_t	peerid;		/* the request's id, echoed */
	uint32_t	pid;
};
#define IMSG_FD_MARK	0x80000000U

/* One decoded message. Everything in it belongs to it: msg_free. */
struct msg {
	uint32_t	 type;
	uint32_t	 id;		/* the header's peerid */
	uint32_t	 pid;
	int		 fd;		/* -1: none; take it by msg_take_fd */
	bool		 lost;		/* there was one, and no room for it */
	const void	*body;		/* struct m_<FIELDS> of its row */
	const char	*why;		/* where it could not be decoded */
	struct msgpack_zone *zone;
	uint8_t		*raw;		/* what BIN fields point into */
};

struct outbuf {
	TAILQ_ENTRY(outbuf) entry;
	size_t		 len, off;
	int		 fd;
	uint8_t		 data[];
};

struct imsgbuf {
	int		 fd;
	enum role	 self, other;
	bool		 lax;		/* unknown keys of newer clients */
	bool		 parts;		/* a client has none before its HELLO */
	bool		 lossy;		/* lost descriptors are looked at */
	TAILQ_HEAD(, outbuf) out;
	size_t		 queued;	/* bytes not yet written */
	uint8_t		*in;		/* LIMIT_FRAME bytes */
	size_t		 inat, inlen;	/* what is there and not taken */
	int		 fds[LIMIT_FDQUEUE];	/* -1: lost */
	size_t		 nfds;
	uint8_t		*part;		/* a message in parts, so far */
	size_t		 partlen;
	uint32_t	 parttype, partid;
	uint64_t	 partn;
};

/* Takes the descriptor over, makes it close-on-exec and non-blocking. -1:
 * ENOTSOCK, EPROTOTYPE where it is no stream socket. */
int	imsg_init(struct imsgbuf *, int fd, enum role self, enum role other);
/* Closes the descriptor and every one still queued. */
void	imsg_clear(struct imsgbuf *);

/*
 * Queues a message; body is the struct of its row, NULL for an empty one.
 * fd, if not -1, is taken over and closed after it was sent, also on error.
 * -1: ENOMEM; EMSGSIZE above the row's limit; EINVAL where the row forbids
 * this sender, receiver or descriptor, or a value breaks the field table.
 */
int	imsg_compose(struct imsgbuf *, uint32_t type, uint32_t id, int fd,
	    const void *body);
/* Writes what the socket takes: 1 all written, 0 some left, -1 errno. */
int	imsg_flush(struct imsgbuf *);
/* Reads once: >0 bytes, 0 end of file, -1 errno (EAGAIN: nothing there;
 * EMSGSIZE, EBADMSG: too many descriptors). */
ssize_t	imsg_read(struct imsgbuf *);
/*
 * Takes the next whole message out of what was read: 1 one is in *msg, 0 none
 * yet, -1 a broken frame (reason in *why); then the peer is to be dropped.
 * Row, direction, size, descriptor mark and fields have all been checked. One
 * whose descriptor this process had no room for is broken, but where lossy.
 */
int	imsg_next(struct imsgbuf *, struct msg *, const char **why);

/* Blocking forms, for programs without an event loop. imsg_send flushes.
 * imsg_recv: 1 a message, 0 end of file, -1 errno (ETIMEDOUT after ms
 * milliseconds, -1 waits for ever; EBADMSG with *why). */
int	imsg_send(struct imsgbuf *, uint32_t type, uint32_t id, int fd,
	    const void *body);
int	imsg_recv(struct imsgbuf *, struct msg *, int ms, const char **why);

int	msg_take_fd(struct msg *);	/* the caller's now; -1: none */
void	msg_free(struct msg *);		/* closes fd if it was not taken */

#endif
