/*
 * msgpack bodies by field table. Reading is strict: a bounded scan goes
 * before the unpack, since msgpack-c allocates by declared counts.
 */
#ifndef COMMON_FIELDS_H
#define COMMON_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_type {
	FIELD_U64, FIELD_I64, FIELD_BOOL, FIELD_STR, FIELD_PATH, FIELD_BIN,
	FIELD_STRV, FIELD_PATHV, FIELD_U64V, FIELD_MAYBE
};

struct field {
	const char	*key;
	enum field_type	 type;
	bool		 required;
	size_t		 off;		/* in the struct */
	size_t		 max;
};

struct msgpack_zone;

/*
 * Checks that buf holds exactly one well-formed object: depth at most
 * LIMIT_DEPTH, no more elements declared than bytes left, no extension type.
 * Returns 0, or -1 with a reason in *why (static storage).
 */
int	fields_scan(const uint8_t *buf, size_t len, const char **why);

/*
 * Decodes one map into the zeroed struct at out. Strings and lists are copied
 * into zone; a BIN points into buf. Keys that are not in the table are
 * ignored if lax, an error otherwise; a key that comes twice is an error.
 * Returns 0, or -1 with a reason that names the key in *why (in the zone, or
 * static).
 */
#define FIELDS_NOMEM	"out of memory"
int	fields_decode(const struct field *, size_t n, const uint8_t *buf,
	    size_t len, bool lax, void *out, struct msgpack_zone *zone,
	    const char **why);
/* The reason is want of memory, and nothing wrong with the map. */
#define fields_nomem(why)	(strstr(why, FIELDS_NOMEM) != NULL)

/*
 * Encodes the struct as one map; optional fields that are zero are left out.
 * On success *out is malloc'ed (the caller frees) and 0 is returned; -1 on
 * memory, or where a value breaks the table's own limits (errno EINVAL).
 */
int	fields_encode(const struct field *, size_t n, const void *in,
	    uint8_t **out, size_t *outlen);

/* True for well-formed UTF-8 without NUL. */
bool	utf8_valid(const char *, size_t);

#endif
