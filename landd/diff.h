/*
 * The body of one file's part of the patch: hunks, or a binary body.
 */
#ifndef LANDD_DIFF_H
#define LANDD_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

/* Bounds, in bytes a side and lines a side. */
#define DIFF_MAX	(4 << 20)	/* the differ's */
#define DIFF_LINES	100000
#define DIFF_PLAIN_MAX	(32 << 20)	/* the one-hunk form's */
#define DIFF_BINARY_MAX	(8 << 20)	/* an inline binary body's */
#define DIFF_NUL	8000		/* where a NUL makes a file binary */

/* One side. No file at all is no bytes. */
struct side {
	const uint8_t	*p;
	size_t		 len;
};

struct diff {
	struct buf	body;
	uint64_t	insertions, deletions;
};

bool	diff_binary(const struct side *);
/* Lines, the last one also without its newline. */
size_t	diff_lines(const struct side *);

/*
 * Appends the body that makes b of a (they differ) to d->body and counts.
 * Tried, replayed, and put back where it does not give b: then the plain
 * form, one hunk, or the bytes themselves. -1 ENOMEM.
 */
int	diff_text(const struct side *a, const struct side *b, struct diff *);
int	diff_blob(const struct side *a, const struct side *b, struct diff *);

/* collide.c: so many lines would fall into one place of the differ's hash
 * table that it would take minutes. */
bool	diff_collides(const struct side *);

/* binary.c: "literal N" or "delta N" with deflated bytes in base 85. */
int	binary_put(struct buf *, const char *word, size_t inflated,
	    const uint8_t *deflated, size_t len);
/* The same of bytes as they are. */
int	binary_plain(struct buf *, const struct side *);

/* replay.c: whether body makes b of a, and for a binary one a of b too. */
bool	replay_text(const struct buf *body, size_t from, const struct side *a,
	    const struct side *b);
bool	replay_binary(const struct buf *body, size_t from,
	    const struct side *a, const struct side *b);

#endif
