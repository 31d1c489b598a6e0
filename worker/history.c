/*
 * A task's last output, in pieces by place: each client has its own place in
 * it, and what no place needs any more goes.
 */
#include <stdlib.h>
#include <string.h>

#include "../common/log.h"
#include "worker.h"

#define HISTORY_BYTES	(1 << 20)
/* What is read at once is one message, and shall not be a short one only
 * because a piece is nearly full: it begins the next one. */
#define HISTORY_ROOM	(LIMIT_CHUNK / 2)
/* Half full each, and the one that is being filled. */
#define HISTORY_CHUNKS	(HISTORY_BYTES / HISTORY_ROOM + 1)

void
history_init(struct history *h)
{
	memset(h, 0, sizeof(*h));
	TAILQ_INIT(&h->chunks);
}

static void
history_drop(struct history *h)
{
	struct chunk	*k = TAILQ_FIRST(&h->chunks);

	TAILQ_REMOVE(&h->chunks, k, entry);
	h->count--;
	h->start = k->at + k->len;
	/* A flood needs one for each that it drops. */
	free(h->spare);
	h->spare = k;
}

void
history_free(struct history *h)
{
	while (!TAILQ_EMPTY(&h->chunks))
		history_drop(h);
	free(h->spare);
	h->spare = NULL;
}

static struct chunk *
history_chunk(struct history *h, unsigned int n)
{
	struct chunk	*k = h->spare;

	h->spare = NULL;
	if (k == NULL && (k = malloc(sizeof(*k))) == NULL)
		fatal("keeping output");
	k->at = h->end;
	k->n = n;
	k->len = 0;
	TAILQ_INSERT_TAIL(&h->chunks, k, entry);
	h->count++;
	return (k);
}

uint8_t *
history_room(struct history *h, unsigned int n, size_t *room)
{
	struct chunk	*k = TAILQ_LAST(&h->chunks, chunkq);

	if (k == NULL || (k->n != n && k->len > 0) ||
	    sizeof(k->data) - k->len < HISTORY_ROOM)
		k = history_chunk(h, n);
	k->n = n;
	*room = sizeof(k->data) - k->len;
	return (k->data + k->len);
}

void
history_added(struct history *h, size_t len)
{
	TAILQ_LAST(&h->chunks, chunkq)->len += len;
	h->end += len;
}

void
history_bound(struct history *h)
{
	const struct chunk	*k;

	while ((k = TAILQ_FIRST(&h->chunks)) != NULL &&
	    (h->count > HISTORY_CHUNKS ||
	    h->end - (k->at + k->len) >= HISTORY_BYTES))
		history_drop(h);
}

void
history_trim(struct history *h, uint64_t at)
{
	const struct chunk	*k;

	while ((k = TAILQ_FIRST(&h->chunks)) != NULL && k->at + k->len <= at)
		history_drop(h);
}

/*
 * Where one may begin who has missed what was before: at a line's beginning,
 * so that no character and hardly ever a terminal's sequence comes in half.
 */
static uint64_t
history_fresh(const struct history *h)
{
	const struct chunk	*k = TAILQ_FIRST(&h->chunks);
	const uint8_t		*nl;

	if (k == NULL || (nl = memchr(k->data, '\n', k->len)) == NULL)
		return (h->start);
	return (k->at + (uint64_t)(nl + 1 - k->data));
}

bool
history_next(struct history *h, uint64_t *at, uint64_t until,
    struct m_DATA *m, uint64_t *lost)
{
	const struct chunk	*k;
	uint64_t		 off, fresh;

	*lost = 0;
	if (*at < h->start) {
		fresh = history_fresh(h);
		*lost = fresh - *at;
		*at = fresh;
	}
	if (*at == h->end) {
		m->d.len = 0;
		return (*lost > 0);
	}
	/* Most are at the end or close to it. */
	TAILQ_FOREACH_REVERSE(k, &h->chunks, chunkq, entry)
		if (k->at <= *at)
			break;
	if (k == NULL)
		fatalx("output %llu of %llu is not there",
		    (unsigned long long)*at, (unsigned long long)h->end);
	off = *at - k->at;
	m->n = k->n;
	m->d.p = k->data + off;
	m->d.len = k->len - off;
	if (until > *at && until - *at < m->d.len)
		m->d.len = until - *at;
	*at += m->d.len;
	return (true);
}
