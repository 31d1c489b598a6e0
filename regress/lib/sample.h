/*
 * Random bodies of the suite's messages, made from the list in proto.h: for
 * the round trip, for scripted peers and as seeds of the fuzzers.
 */
#ifndef REGRESS_SAMPLE_H
#define REGRESS_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct field;

/* How much is in a body. */
enum sample_size {
	SAMPLE_LEAST,		/* required fields only, each its shortest */
	SAMPLE_SOME,		/* a random choice of fields, short */
	SAMPLE_MOST		/* every field at its limit (lists: elements) */
};

struct sample_rng {
	uint64_t	s;
};
uint64_t sample_random(struct sample_rng *);
uint64_t sample_below(struct sample_rng *, uint64_t);

/* The struct of a table, filled in; sample_free it. */
void	*sample_body(const struct field *, size_t n, enum sample_size,
	    struct sample_rng *);
void	 sample_free(const struct field *, size_t n, void *);
/* NULL if both structs say the same, else the key where they differ. */
const char *sample_differ(const struct field *, size_t n, const void *,
	    const void *);
/* The encoded body of a message, malloc'ed; ends the test where that fails. */
uint8_t	*sample_encoded(uint32_t type, enum sample_size, struct sample_rng *,
	    size_t *len);

#endif
