#include <sys/socket.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <msgpack.h>

#include "../common/clock.h"
#include "../common/fields.h"
#include "imsg.h"

#define IMSG_BODY	(LIMIT_FRAME - sizeof(struct imsg_hdr))

int
imsg_init(struct imsgbuf *ib, int fd, enum role self, enum role other)
{
	int		flags, type = 0;
	socklen_t	len = sizeof(type);

	memset(ib, 0, sizeof(*ib));
	TAILQ_INIT(&ib->out);
	ib->fd = fd;
	ib->self = self;
	ib->other = other;
	/* A client may be newer than we are; our own programs may not. */
	ib->lax = other == ROLE_CLIENT;
	ib->parts = other != ROLE_CLIENT;
	/* Descriptors come from others, too: ATTACH's, CHANNEL's. */
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == -1)
		return (-1);
	if (type != SOCK_STREAM) {
		errno = EPROTOTYPE;
		return (-1);
	}
	if ((flags = fcntl(fd, F_GETFL)) == -1 ||
	    fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) == -1)
		return (-1);
	if ((ib->in = malloc(LIMIT_FRAME)) == NULL)
		return (-1);
	return (0);
}

static void
outbuf_free(struct outbuf *ob)
{
	if (ob->fd != -1)
		close(ob->fd);
	free(ob);
}

void
imsg_clear(struct imsgbuf *ib)
{
	struct outbuf	*ob;

	while ((ob = TAILQ_FIRST(&ib->out)) != NULL) {
		TAILQ_REMOVE(&ib->out, ob, entry);
		outbuf_free(ob);
	}
	while (ib->nfds > 0)
		if (ib->fds[--ib->nfds] != -1)
			close(ib->fds[ib->nfds]);
	if (ib->fd != -1)
		close(ib->fd);
	ib->fd = -1;
	free(ib->in);
	free(ib->part);
	ib->in = ib->part = NULL;
	ib->inat = ib->inlen = 0;
}

/* Queues one frame. The descriptor is the queue's, or closed. */
static int
imsg_queue(struct imsgbuf *ib, uint32_t type, uint32_t id, int fd,
    const uint8_t *body, size_t len)
{
	struct imsg_hdr	 hdr;
	struct outbuf	*ob;

	if ((ob = malloc(sizeof(*ob) + sizeof(hdr) + len)) == NULL) {
		if (fd != -1)
			close(fd);
		return (-1);
	}
	hdr.type = type;
	hdr.len = (uint32_t)(sizeof(hdr) + len);
	if (fd != -1)
		hdr.len |= IMSG_FD_MARK;
	hdr.peerid = id;
	hdr.pid = (uint32_t)getpid();
	ob->off = 0;
	ob->len = sizeof(hdr) + len;
	ob->fd = fd;
	memcpy(ob->data, &hdr, sizeof(hdr));
	memcpy(ob->data + sizeof(hdr), body, len);
	TAILQ_INSERT_TAIL(&ib->out, ob, entry);
	ib->queued += ob->len;
	return (0);
}

static int
imsg_queue_parts(struct imsgbuf *ib, uint32_t type, uint32_t id,
    const uint8_t *body, size_t len)
{
	const struct proto_row	*row = proto_row(MSG_PART);
	struct m_PART		 part = { .type = type };
	uint8_t			*buf;
	size_t			 off, buflen;
	int			 r;

	for (off = 0; off < len; off += part.data.len) {
		part.data.p = body + off;
		part.data.len = len - off < LIMIT_CHUNK ? len - off :
		    LIMIT_CHUNK;
		part.last = off + part.data.len == len;
		if (fields_encode(row->fields, row->nfields, &part, &buf,
		    &buflen) == -1)
			return (-1);
		r = imsg_queue(ib, MSG_PART, id, -1, buf, buflen);
		free(buf);
		if (r == -1)
			return (-1);
		part.n++;
	}
	return (0);
}

int
imsg_compose(struct imsgbuf *ib, uint32_t type, uint32_t id, int fd,
    const void *body)
{
	const struct proto_row	*row = proto_row(type);
	uint8_t			*buf;
	size_t			 len;
	int			 r, saved;

	if (row == NULL || !proto_may(type, ib->self, ib->other) ||
	    (row->fd == FD_ONE) != (fd != -1) ||
	    (row->nfields > 0 && body == NULL)) {
		if (fd != -1)
			close(fd);
		errno = EINVAL;
		return (-1);
	}
	if (fields_encode(row->fields, row->nfields, body, &buf, &len) == -1) {
		saved = errno;
		if (fd != -1)
			close(fd);
		errno = saved;
		return (-1);
	}
	if (len > row->max || (len > IMSG_BODY &&
	    (fd != -1 || row->max <= LIMIT_FRAME))) {
		if (fd != -1)
			close(fd);
		errno = EMSGSIZE;
		r = -1;
	} else if (len > IMSG_BODY)
		r = imsg_queue_parts(ib, type, id, buf, len);
	else
		r = imsg_queue(ib, type, id, fd, buf, len);
	saved = errno;
	free(buf);
	errno = saved;
	return (r);
}

/* A descriptor goes with its frame's first byte, in a call of its own: the
 * kernel never joins two sends that carry descriptors. */
static ssize_t
imsg_write(struct imsgbuf *ib, struct outbuf *ob)
{
	struct iovec	iov = { ob->data + ob->off, ob->len - ob->off };
	union {
		struct cmsghdr	hdr;
		char		buf[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr	mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr	*cmsg;

	if (ob->fd != -1 && ob->off == 0) {
		memset(&control, 0, sizeof(control));
		mh.msg_control = control.buf;
		mh.msg_controllen = sizeof(control.buf);
		cmsg = CMSG_FIRSTHDR(&mh);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &ob->fd, sizeof(int));
	}
	return (sendmsg(ib->fd, &mh, MSG_NOSIGNAL));
}

int
imsg_flush(struct imsgbuf *ib)
{
	struct outbuf	*ob;
	ssize_t		 n;

	while ((ob = TAILQ_FIRST(&ib->out)) != NULL) {
		if ((n = imsg_write(ib, ob)) == -1) {
			if (errno == EINTR)
				continue;
			return (errno == EAGAIN ? 0 : -1);
		}
		if (ob->fd != -1) {
			close(ob->fd);
			ob->fd = -1;
		}
		ob->off += (size_t)n;
		ib->queued -= (size_t)n;
		if (ob->off == ob->len) {
			TAILQ_REMOVE(&ib->out, ob, entry);
			outbuf_free(ob);
		}
	}
	return (1);
}

static int
imsg_push_fd(struct imsgbuf *ib, int fd)
{
	if (ib->nfds < LIMIT_FDQUEUE) {
		ib->fds[ib->nfds++] = fd;
		return (0);
	}
	if (fd != -1)
		close(fd);
	return (-1);
}

/*
 * Takes the descriptors of one receive over; what is too many is closed. Where
 * the kernel has cut off all of them, we are at our limit: nothing that the
 * sender could know.
 */
static int
imsg_take_fds(struct imsgbuf *ib, struct msghdr *mh)
{
	struct cmsghdr	*cmsg;
	size_t		 i, n, got = 0;
	int		 fd, r = 0;

	for (cmsg = CMSG_FIRSTHDR(mh); cmsg != NULL;
	    cmsg = CMSG_NXTHDR(mh, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET ||
		    cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int),
			    sizeof(int));
			got++;
			if (imsg_push_fd(ib, fd) == -1)
				r = -1;
		}
	}
	if ((mh->msg_flags & MSG_CTRUNC) && (got > 0 ||
	    imsg_push_fd(ib, -1) == -1))
		r = -1;
	if (r == -1)
		errno = EBADMSG;
	return (r);
}

ssize_t
imsg_read(struct imsgbuf *ib)
{
	struct iovec	iov = { ib->in + ib->inlen, LIMIT_FRAME - ib->inlen };
	union {
		struct cmsghdr	hdr;
		char		buf[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr	mh = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf)
	};
	ssize_t		n;

	/* Moved here, once, and not after each of many messages. */
	if (ib->inat > 0)
		memmove(ib->in, ib->in + ib->inat, ib->inlen);
	ib->inat = 0;
	if (iov.iov_len == 0) {
		errno = EMSGSIZE;
		return (-1);
	}
	do
		n = recvmsg(ib->fd, &mh, MSG_CMSG_CLOEXEC);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		return (-1);
	if (imsg_take_fds(ib, &mh) == -1)
		return (-1);
	ib->inlen += (size_t)n;
	return (n);
}

static int
imsg_pop_fd(struct imsgbuf *ib)
{
	int	fd = ib->fds[0];

	ib->nfds--;
	memmove(ib->fds, ib->fds + 1, ib->nfds * sizeof(int));
	return (fd);
}

/* Makes the message of a whole body; raw is msg's from now on. */
static int
msg_decode(struct imsgbuf *ib, struct msg *msg, uint8_t *raw, size_t len,
    const char **why)
{
	const struct proto_row	*row = proto_row(msg->type);
	void			*body;

	msg->raw = raw;
	if ((msg->zone = msgpack_zone_new(4096)) == NULL ||
	    (body = msgpack_zone_malloc(msg->zone, row->size)) == NULL) {
		*why = "out of memory";
		return (-1);
	}
	memset(body, 0, row->size);
	msg->body = body;
	return (fields_decode(row->fields, row->nfields, raw, len, ib->lax,
	    body, msg->zone, why));
}

/* Adds one PART to the message being put together; 1 when it is whole. */
static int
imsg_part(struct imsgbuf *ib, struct msg *msg, const char **why)
{
	const struct m_PART	*part = msg->body;
	const struct proto_row	*row;
	uint8_t			*grown;

	row = part->type > UINT32_MAX ? NULL : proto_row((uint32_t)part->type);
	if (row == NULL || !ib->parts || row->max <= LIMIT_FRAME ||
	    !proto_may((uint32_t)part->type, ib->other, ib->self)) {
		*why = "parts of a message that has none";
		return (-1);
	}
	if (part->n != ib->partn || (part->n > 0 &&
	    (ib->parttype != part->type || ib->partid != msg->id)) ||
	    part->data.len == 0) {
		*why = "parts out of order";
		return (-1);
	}
	if (ib->partlen + part->data.len > row->max) {
		*why = "parts too large";
		return (-1);
	}
	grown = realloc(ib->part, ib->partlen + part->data.len);
	if (grown == NULL) {
		*why = "out of memory";
		return (-1);
	}
	ib->part = grown;
	memcpy(ib->part + ib->partlen, part->data.p, part->data.len);
	ib->partlen += part->data.len;
	ib->parttype = (uint32_t)part->type;
	ib->partid = msg->id;
	ib->partn++;
	return (part->last ? 1 : 0);
}

/* The PART in msg was the last one: msg becomes the whole message. */
static int
imsg_whole(struct imsgbuf *ib, struct msg *msg, const char **why)
{
	uint8_t		*raw = ib->part;
	size_t		 len = ib->partlen;
	uint32_t	 id = msg->id, pid = msg->pid;

	msg_free(msg);
	ib->part = NULL;
	ib->partlen = 0;
	ib->partn = 0;
	msg->type = ib->parttype;
	msg->id = id;
	msg->pid = pid;
	return (msg_decode(ib, msg, raw, len, why));
}

static int
imsg_check(struct imsgbuf *ib, const struct imsg_hdr *hdr, const char **why)
{
	const struct proto_row	*row = proto_row(hdr->type);
	uint32_t		 len = hdr->len & ~IMSG_FD_MARK;

	if (len < sizeof(*hdr) || len > LIMIT_FRAME)
		*why = "a length out of bounds";
	else if (row == NULL)
		*why = "an unknown message";
	else if (!proto_may(hdr->type, ib->other, ib->self))
		*why = "a message that this peer may not send";
	else if (len - sizeof(*hdr) > row->max)
		*why = "a body above its limit";
	else if ((row->fd == FD_ONE) != ((hdr->len & IMSG_FD_MARK) != 0))
		*why = "a descriptor mark against the message's row";
	else
		return (0);
	return (-1);
}

/* One frame that is all there, into msg. */
static int
imsg_frame(struct imsgbuf *ib, const struct imsg_hdr *hdr, struct msg *msg,
    const char **why)
{
	size_t		 len = hdr->len & ~IMSG_FD_MARK;
	size_t		 bodylen = len - sizeof(*hdr);
	uint8_t		*raw;

	if (hdr->len & IMSG_FD_MARK) {
		if (ib->nfds == 0) {
			*why = "a descriptor mark without a descriptor";
			return (-1);
		}
		msg->fd = imsg_pop_fd(ib);
		msg->lost = msg->fd == -1;
	}
	if (msg->lost && !ib->lossy) {
		*why = "no room for a descriptor";
		return (-1);
	}
	msg->type = hdr->type;
	msg->id = hdr->peerid;
	msg->pid = hdr->pid;
	if ((raw = malloc(bodylen + 1)) == NULL) {
		*why = "out of memory";
		return (-1);
	}
	memcpy(raw, ib->in + ib->inat + sizeof(*hdr), bodylen);
	ib->inat += len;
	ib->inlen -= len;
	return (msg_decode(ib, msg, raw, bodylen, why));
}

int
imsg_next(struct imsgbuf *ib, struct msg *msg, const char **why)
{
	struct imsg_hdr	hdr;
	int		r;

	for (;;) {
		memset(msg, 0, sizeof(*msg));
		msg->fd = -1;
		if (ib->inlen < sizeof(hdr)) {
			if (ib->inlen == 0 && ib->nfds > 0) {
				*why = "a descriptor without a mark";
				return (-1);
			}
			return (0);
		}
		memcpy(&hdr, ib->in + ib->inat, sizeof(hdr));
		if (imsg_check(ib, &hdr, why) == -1)
			return (-1);
		if (ib->inlen < (hdr.len & ~IMSG_FD_MARK))
			return (0);
		if (imsg_frame(ib, &hdr, msg, why) == -1)
			break;
		if (msg->type != MSG_PART) {
			if (ib->partn == 0)
				return (1);
			*why = "a message between the parts of another";
			break;
		}
		if ((r = imsg_part(ib, msg, why)) == -1)
			break;
		if (r == 1) {
			if (imsg_whole(ib, msg, why) == -1)
				break;
			return (1);
		}
		msg_free(msg);
	}
	/* The reason may lie in the message's zone: keep a copy of it. */
	if (msg->zone != NULL) {
		static char	copy[256];

		strncpy(copy, *why, sizeof(copy) - 1);
		*why = copy;
	}
	msg_free(msg);
	return (-1);
}

static int
imsg_poll(struct imsgbuf *ib, short events, int ms)
{
	struct pollfd	pfd = { .fd = ib->fd, .events = events };
	int		r;

	do
		r = poll(&pfd, 1, ms);
	while (r == -1 && errno == EINTR);
	if (r == 0) {
		errno = ETIMEDOUT;
		return (-1);
	}
	return (r == -1 ? -1 : 0);
}

int
imsg_send(struct imsgbuf *ib, uint32_t type, uint32_t id, int fd,
    const void *body)
{
	int	r;

	if (imsg_compose(ib, type, id, fd, body) == -1)
		return (-1);
	while ((r = imsg_flush(ib)) == 0)
		if (imsg_poll(ib, POLLOUT, -1) == -1)
			return (-1);
	return (r == -1 ? -1 : 0);
}

int
imsg_recv(struct imsgbuf *ib, struct msg *msg, int ms, const char **why)
{
	int64_t	end = ms == -1 ? 0 : now_ms() + ms, left;
	ssize_t	n;
	int	r;

	for (;;) {
		if ((r = imsg_next(ib, msg, why)) != 0) {
			if (r == -1)
				errno = EBADMSG;
			return (r);
		}
		left = ms == -1 ? -1 : end - now_ms();
		if (ms != -1 && left < 0)
			left = 0;
		if (imsg_poll(ib, POLLIN, (int)left) == -1) {
			*why = "no answer in time";
			return (-1);
		}
		if ((n = imsg_read(ib)) == 0) {
			if (ib->inlen == 0 && ib->partn == 0)
				return (0);
			*why = "closed in the middle of a message";
			errno = EBADMSG;
			return (-1);
		}
		if (n == -1 && errno != EAGAIN) {
			*why = strerror(errno);
			return (-1);
		}
	}
}

int
msg_take_fd(struct msg *msg)
{
	int	fd = msg->fd;

	msg->fd = -1;
	return (fd);
}

void
msg_free(struct msg *msg)
{
	if (msg->fd != -1)
		close(msg->fd);
	if (msg->zone != NULL)
		msgpack_zone_free(msg->zone);
	free(msg->raw);
	memset(msg, 0, sizeof(*msg));
	msg->fd = -1;
}
