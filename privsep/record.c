#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <msgpack.h>

#include "record.h"
#include "whole.h"

#define REQ	true
#define OPT	false
#define RECORD_MAX	(2 * LIMIT_LARGE)
#define RECORD_ROOM	256	/* bytes, for small ones */

typedef struct m_RECORD self;
#define FIELD_ROW(t, n, need, m)					\
	{ #n, FIELD_##t, need, offsetof(self, n), m },
static const struct field record_fields[] = {
	PROTO_FIELDS_RECORD(FIELD_ROW)
};
#define NFIELDS	(sizeof(record_fields) / sizeof(record_fields[0]))

/* No field of a record points into raw. What is kept of it is about as large,
 * with a pointer for each word: most of them find room in one piece. */
static int
record_decode(struct record *rec, const uint8_t *raw, size_t len,
    const char **why)
{
	memset(rec, 0, sizeof(*rec));
	rec->len = len;
	rec->zone = msgpack_zone_new(len + len / 4 + RECORD_ROOM);
	if (rec->zone == NULL) {
		*why = "out of memory";
		return (-1);
	}
	return (fields_decode(record_fields, NFIELDS, raw, len, false, &rec->r,
	    rec->zone, why));
}

int
record_copy(struct record *rec, const struct m_RECORD *from)
{
	const char	*why;
	uint8_t		*raw;
	size_t		 len;
	int		 r;

	memset(rec, 0, sizeof(*rec));
	if (fields_encode(record_fields, NFIELDS, from, &raw, &len) == -1)
		return (-1);
	r = record_decode(rec, raw, len, &why);
	free(raw);
	if (r == -1) {
		record_free(rec);
		errno = EINVAL;
		return (-1);
	}
	return (0);
}

void
record_free(struct record *rec)
{
	if (rec->zone != NULL)
		msgpack_zone_free(rec->zone);
	memset(rec, 0, sizeof(*rec));
}

const char *
record_string(struct record *rec, const char *s)
{
	size_t	 len = strlen(s) + 1;
	char	*copy;

	if ((copy = msgpack_zone_malloc(rec->zone, len)) != NULL)
		memcpy(copy, s, len);
	return (copy);
}

int
record_save(const struct record *rec, int dir)
{
	uint8_t	*raw;
	size_t	 len;
	int	 r;

	if (fields_encode(record_fields, NFIELDS, &rec->r, &raw, &len) == -1)
		return (-1);
	r = whole_write(dir, "record", raw, len, false);
	free(raw);
	return (r);
}

int
record_load(struct record *rec, int dir, const char **why)
{
	uint8_t	*raw;
	size_t	 len;
	int	 r;

	memset(rec, 0, sizeof(*rec));
	if ((raw = whole_read(dir, "record", RECORD_MAX, &len, why)) == NULL)
		return (-1);
	r = record_decode(rec, raw, len, why);
	free(raw);
	if (r == -1)
		return (-1);
	if (rec->r.version != RECORD_VERSION) {
		*why = "of another version of this program";
		return (-1);
	}
	if (rec->r.more.n >= LIMIT_ROOTS) {
		*why = "of more roots than there can be";
		return (-1);
	}
	return (0);
}
