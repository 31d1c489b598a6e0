/*
 * A patch on its way to the client that asked for it, as fast as that reads
 * and no more is held for it. All it needs is the file, so that a slow reader
 * keeps nobody from the session.
 */
#include <unistd.h>

#include "sbxd.h"

static void
stream_end(struct client *c)
{
	close(c->stream);
	c->stream = -1;
}

static void
stream_fail(struct client *c, const char *code, const char *why)
{
	peer_error(c->peer, c->stream_id, code, "%s", why);
	stream_end(c);
}

/* One piece, or the end. */
static void
stream_chunk(struct client *c)
{
	uint8_t		buf[LIMIT_CHUNK];
	struct m_CHUNK	chunk = { .n = c->chunk, .data = { buf, 0 } };
	ssize_t		n;

	n = pread(c->stream, buf, sizeof(buf),
	    (off_t)(c->chunk * LIMIT_CHUNK));
	if (n == -1)
		stream_fail(c, "state.failed", "reading the patch");
	else if (n == 0) {
		peer_send(c->peer, MSG_END, c->stream_id, -1, NULL);
		stream_end(c);
	} else {
		chunk.data.len = (size_t)n;
		c->chunk++;
		peer_send(c->peer, MSG_CHUNK, c->stream_id, -1, &chunk);
	}
}

void
stream_go(struct client *c)
{
	while (c->stream != -1 && peer_queued(c->peer) < LIMIT_OUTQ)
		stream_chunk(c);
}

bool
stream_start(struct client *c, uint32_t reqid, int fd)
{
	if (c->stream != -1)
		return (false);
	c->stream = fd;
	c->stream_id = reqid;
	c->chunk = 0;
	stream_go(c);
	return (true);
}

void
streams_stop(void)
{
	struct client	*c;

	TAILQ_FOREACH(c, &sbxd.clients, entry)
		if (c->stream != -1)
			stream_fail(c, "suite.ending", "the suite was "
			    "stopped");
}
