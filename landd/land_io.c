#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/escape.h"
#include "../common/log.h"
#include "buf.h"
#include "land.h"

/* Memory is bounded by RLIMIT_AS; this is against a landd gone mad. */
#define RECEIVE_MAX	(128 << 20)

void
land_end(struct land *l)
{
	/* No destructors: libgit2's would only take time. */
	imsg_clear(&l->ib);
	_exit(0);
}

void
land_send(struct land *l, uint32_t type, int fd, const void *body)
{
	if (imsg_send(&l->ib, type, 0, fd, body) == 0)
		return;
	if (errno == EPIPE || errno == ECONNRESET)
		_exit(0);	/* the job was called off */
	fatal("sending %s to landd", proto_name(type));
}

void
land_fail(struct land *l, const char *code, const char *fmt, ...)
{
	char		text[LIMIT_MESSAGE + 1];
	struct m_ERROR	e = { .code = code, .message = text };
	va_list		ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	escape_fit(text, sizeof(text));
	land_send(l, MSG_ERROR, -1, &e);
	land_end(l);
}

void
land_expect(struct land *l, uint32_t type, struct msg *msg)
{
	const char	*why = NULL;
	int		 r;

	r = imsg_recv(&l->ib, msg, -1, &why);
	if (r == 0)
		_exit(0);
	if (r == -1)
		fatalx("from landd: %s", why != NULL ? why : strerror(errno));
	if (msg->type != type)
		fatalx("%s from landd where %s was due",
		    proto_name(msg->type), proto_name(type));
}

void
land_receive(struct land *l, const char *kind, uint8_t **buf, size_t *len)
{
	const struct m_BYTES	*b;
	struct buf		 all = { NULL, 0, 0 };
	struct msg		 msg;
	uint64_t		 n = 0;
	bool			 last = false;

	while (!last) {
		land_expect(l, MSG_BYTES, &msg);
		b = msg.body;
		if (strcmp(b->kind, kind) != 0 || b->n != n++ ||
		    all.len + b->data.len > RECEIVE_MAX)
			fatalx("BYTES %s %llu from landd are out of order",
			    b->kind, (unsigned long long)b->n);
		if (buf_add(&all, b->data.p, b->data.len) == -1)
			fatal("%s", kind);
		last = b->last;
		msg_free(&msg);
	}
	*buf = all.p;
	*len = all.len;
}

int
land_keep(struct land *l, const char *kind, const uint8_t *buf, size_t len)
{
	struct m_BYTES	b = { .kind = kind };
	size_t		off = 0, n;

	do {
		n = len - off < LIMIT_CHUNK ? len - off : LIMIT_CHUNK;
		b.data.p = buf + off;
		b.data.len = n;
		off += n;
		b.last = off == len;
		if (imsg_send(&l->ib, MSG_BYTES, 0, -1, &b) == -1)
			return (-1);
		b.n++;
	} while (!b.last);
	return (0);
}

int
land_committed(struct land *l)
{
	const char	*why = NULL;
	struct msg	 msg;
	int		 rv;

	if (imsg_recv(&l->ib, &msg, -1, &why) != 1)
		return (-1);
	rv = msg.type == MSG_COMMITTED ? 0 : -1;
	msg_free(&msg);
	return (rv);
}

int
land_receive_fd(struct land *l, const char *kind)
{
	const struct m_LFD	*m;
	struct msg		 msg;
	int			 fd;

	land_expect(l, MSG_LFD, &msg);
	m = msg.body;
	if (strcmp(m->kind, kind) != 0)
		fatalx("the %s from landd where the %s was due", m->kind,
		    kind);
	fd = msg_take_fd(&msg);
	msg_free(&msg);
	return (fd);
}
