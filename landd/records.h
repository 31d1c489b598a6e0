/*
 * What lies on disk of a landing: a line that says what it is, then records,
 * each a length (u32, little endian) and one msgpack map by field table.
 */
#ifndef LANDD_RECORDS_H
#define LANDD_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "../common/fields.h"
#include "../common/proto.h"

struct record_out {
	uint8_t	*p;
	size_t	 len, size;
	int	 failed;	/* errno of the first failure, 0 */
};

struct record_in {
	const uint8_t	*p, *end;
	const char	*why;
	struct msgpack_zone *zone;
};

void	record_begin(struct record_out *, const char *magic);
void	record_put(struct record_out *, const struct field *, size_t n,
	    const void *);
/* 0: *p is the caller's to free; -1 errno. */
int	record_end(struct record_out *, uint8_t **, size_t *);

/* -1 with why: another magic. */
int	record_open(struct record_in *, const uint8_t *, size_t,
	    const char *magic);
/* 1: a record is in the zeroed struct, 0: there is no more, -1 why. What it
 * points to lives until record_close, a BIN as long as the input. Keys that
 * a later version may add are ignored. */
int	record_next(struct record_in *, const struct field *, size_t n,
	    void *);
void	record_close(struct record_in *);

#define RECORD_FIELD(st, f, key, type, need, max)			\
	{ key, FIELD_##type, need, offsetof(struct st, f), max }

#endif
