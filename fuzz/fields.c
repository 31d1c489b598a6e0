/*
 * Bodies of every message, strict and lax. What is taken must come back the
 * same when it is packed and read again.
 */
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "common/fields.h"
#include "common/proto.h"
#include "fuzz.h"
#include "regress/lib/sample.h"

static void *
decode(const struct proto_row *row, const uint8_t *buf, size_t len, bool lax,
    msgpack_zone *zone)
{
	const char	*why = NULL;
	void		*out = calloc(1, row->size);

	MUST(out != NULL);
	if (fields_decode(row->fields, row->nfields, buf, len, lax, out, zone,
	    &why) == 0)
		return (out);
	MUST(why != NULL);
	free(out);
	return (NULL);
}

static void
both_ways(const struct proto_row *row, const uint8_t *buf, size_t len,
    bool lax)
{
	msgpack_zone	*zone = msgpack_zone_new(1024);
	void		*first, *second;
	uint8_t		*packed;
	size_t		 n;

	MUST(zone != NULL);
	if ((first = decode(row, buf, len, lax, zone)) != NULL) {
		MUST(fields_encode(row->fields, row->nfields, first, &packed,
		    &n) == 0);
		second = decode(row, packed, n, false, zone);
		MUST(second != NULL);
		MUST(sample_differ(row->fields, row->nfields, first, second) ==
		    NULL);
		free(second);
		free(packed);
		free(first);
	}
	msgpack_zone_free(zone);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct proto_row	*row;

	if (size == 0 || (row = proto_row(data[0])) == NULL)
		return (0);
	both_ways(row, data + 1, size - 1, false);
	both_ways(row, data + 1, size - 1, true);
	return (0);
}
