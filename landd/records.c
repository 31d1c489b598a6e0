#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <msgpack.h>

#include "records.h"

static void
record_append(struct record_out *o, const void *p, size_t len)
{
	uint8_t	*bigger;
	size_t	 size;

	if (o->failed != 0)
		return;
	if (len > o->size - o->len) {
		size = o->size * 2 + len;
		if ((bigger = realloc(o->p, size)) == NULL) {
			o->failed = errno;
			return;
		}
		o->p = bigger;
		o->size = size;
	}
	memcpy(o->p + o->len, p, len);
	o->len += len;
}

void
record_begin(struct record_out *o, const char *magic)
{
	memset(o, 0, sizeof(*o));
	record_append(o, magic, strlen(magic));
}

void
record_put(struct record_out *o, const struct field *fields, size_t n,
    const void *st)
{
	uint8_t	*map, len[4];
	size_t	 maplen;
	int	 i;

	if (o->failed != 0)
		return;
	if (fields_encode(fields, n, st, &map, &maplen) == -1) {
		o->failed = errno;
		return;
	}
	for (i = 0; i < 4; i++)
		len[i] = (uint8_t)(maplen >> (8 * i));
	record_append(o, len, sizeof(len));
	record_append(o, map, maplen);
	free(map);
}

int
record_end(struct record_out *o, uint8_t **p, size_t *len)
{
	if (o->failed != 0) {
		free(o->p);
		errno = o->failed;
		return (-1);
	}
	*p = o->p;
	*len = o->len;
	return (0);
}

int
record_open(struct record_in *in, const uint8_t *p, size_t len,
    const char *magic)
{
	size_t	n = strlen(magic);

	memset(in, 0, sizeof(*in));
	if (len < n || memcmp(p, magic, n) != 0) {
		in->why = "not of this kind, or of another version";
		return (-1);
	}
	in->p = p + n;
	in->end = p + len;
	if ((in->zone = msgpack_zone_new(4096)) == NULL) {
		in->why = FIELDS_NOMEM;
		return (-1);
	}
	return (0);
}

int
record_next(struct record_in *in, const struct field *fields, size_t n,
    void *st)
{
	size_t	len = 0;
	int	i;

	if (in->p == in->end)
		return (0);
	if (in->end - in->p < 4) {
		in->why = "cut off";
		return (-1);
	}
	for (i = 0; i < 4; i++)
		len |= (size_t)*in->p++ << (8 * i);
	if (len > (size_t)(in->end - in->p)) {
		in->why = "cut off";
		return (-1);
	}
	if (fields_decode(fields, n, in->p, len, true, st, in->zone,
	    &in->why) == -1)
		return (-1);
	in->p += len;
	return (1);
}

void
record_close(struct record_in *in)
{
	if (in->zone != NULL)
		msgpack_zone_free(in->zone);
	in->zone = NULL;
}
