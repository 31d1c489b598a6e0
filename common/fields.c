#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <msgpack.h>

#include "fields.h"
#include "proto.h"

/*
 * The scan. msgpack-c allocates by the counts that the input declares, so
 * five bytes can ask for a gigabyte: nothing is unpacked before every count
 * was compared with the bytes that are really there.
 */
struct scan {
	const uint8_t	*p, *end;
	size_t		 objects;	/* as many may still come */
	const char	*why;
};

static int
scan_fail(struct scan *s, const char *why)
{
	s->why = why;
	return (-1);
}

static int
scan_uint(struct scan *s, size_t n, uint32_t *v)
{
	*v = 0;
	if ((size_t)(s->end - s->p) < n)
		return (scan_fail(s, "truncated"));
	while (n-- > 0)
		*v = *v << 8 | *s->p++;
	return (0);
}

static int
scan_skip(struct scan *s, uint32_t n)
{
	if ((size_t)(s->end - s->p) < n)
		return (scan_fail(s, "truncated"));
	s->p += n;
	return (0);
}

static int	scan_object(struct scan *, int);

static int
scan_items(struct scan *s, uint32_t n, uint32_t each, int depth)
{
	uint64_t	items = (uint64_t)n * each;

	if (items > (uint64_t)(s->end - s->p))
		return (scan_fail(s, "more elements declared than bytes"));
	for (; items > 0; items--)
		if (scan_object(s, depth + 1) == -1)
			return (-1);
	return (0);
}

/* Formats 0xc0 to 0xdf; the fixed ones are in scan_object. */
static int
scan_long(struct scan *s, uint8_t c, int depth)
{
	static const uint8_t	fixed[] = {	/* 0xca to 0xd3 */
		4, 8, 1, 2, 4, 8, 1, 2, 4, 8
	};
	uint32_t	n;

	if (c == 0xc0 || c == 0xc2 || c == 0xc3)
		return (0);
	if (c >= 0xc4 && c <= 0xc6)		/* bin 8, 16, 32 */
		return (scan_uint(s, (size_t)1 << (c - 0xc4), &n) == -1 ? -1 :
		    scan_skip(s, n));
	if (c >= 0xca && c <= 0xd3)		/* float, integers */
		return (scan_skip(s, fixed[c - 0xca]));
	if (c >= 0xd9 && c <= 0xdb)		/* str 8, 16, 32 */
		return (scan_uint(s, (size_t)1 << (c - 0xd9), &n) == -1 ? -1 :
		    scan_skip(s, n));
	if (c == 0xdc || c == 0xdd)		/* array 16, 32 */
		return (scan_uint(s, c == 0xdc ? 2 : 4, &n) == -1 ? -1 :
		    scan_items(s, n, 1, depth));
	if (c == 0xde || c == 0xdf)		/* map 16, 32 */
		return (scan_uint(s, c == 0xde ? 2 : 4, &n) == -1 ? -1 :
		    scan_items(s, n, 2, depth));
	return (scan_fail(s, "extension or unused type"));
}

static int
scan_object(struct scan *s, int depth)
{
	uint8_t	c;

	if (depth > LIMIT_DEPTH)
		return (scan_fail(s, "nested too deep"));
	if (s->objects-- == 0)
		return (scan_fail(s, "too many elements"));
	if (s->p == s->end)
		return (scan_fail(s, "truncated"));
	c = *s->p++;
	if (c <= 0x7f || c >= 0xe0)		/* small integers */
		return (0);
	if (c <= 0x8f)
		return (scan_items(s, c & 0x0f, 2, depth));
	if (c <= 0x9f)
		return (scan_items(s, c & 0x0f, 1, depth));
	if (c <= 0xbf)
		return (scan_skip(s, c & 0x1f));
	return (scan_long(s, c, depth));
}

static int
scan_whole(const uint8_t *buf, size_t len, size_t objects, const char **why)
{
	struct scan	s = { buf, buf + len, objects, NULL };

	if (scan_object(&s, 0) == -1) {
		*why = s.why;
		return (-1);
	}
	if (s.p != s.end) {
		*why = "bytes after the object";
		return (-1);
	}
	return (0);
}

int
fields_scan(const uint8_t *buf, size_t len, const char **why)
{
	return (scan_whole(buf, len, SIZE_MAX, why));
}

/* What a message of this table can hold: an element of a byte becomes an
 * object of 24 in msgpack-c's memory. */
static size_t
fields_objects(const struct field *fields, size_t n)
{
	size_t	i, sum = 1 + LIMIT_UNKNOWN;

	for (i = 0; i < n; i++)
		sum += 2 + (fields[i].type == FIELD_STRV ||
		    fields[i].type == FIELD_PATHV ||
		    fields[i].type == FIELD_U64V ? fields[i].max : 0);
	return (sum);
}

/* A copy in the zone, NUL-terminated. */
static const char *
zone_string(msgpack_zone *zone, const char *p, size_t len)
{
	char	*s = msgpack_zone_malloc(zone, len + 1);

	if (s == NULL)
		return (NULL);
	memcpy(s, p, len);
	s[len] = '\0';
	return (s);
}

static const char *
zone_why(msgpack_zone *zone, const char *key, const char *what)
{
	char	buf[192];
	const char *s;

	snprintf(buf, sizeof(buf), "%s: %s", key, what);
	s = zone_string(zone, buf, strlen(buf));
	return (s != NULL ? s : what);
}

static const char *
decode_string(const struct field *f, const msgpack_object *o, void *slot,
    msgpack_zone *zone)
{
	const char	*p, *copy;
	size_t		 len;

	if (f->type == FIELD_STR) {
		if (o->type != MSGPACK_OBJECT_STR)
			return ("not a string");
		p = o->via.str.ptr;
		len = o->via.str.size;
		if (!utf8_valid(p, len))
			return ("not UTF-8, or with a NUL");
	} else {
		if (o->type != MSGPACK_OBJECT_BIN)
			return ("not bytes");
		p = o->via.bin.ptr;
		len = o->via.bin.size;
		if (memchr(p, '\0', len) != NULL)
			return ("with a NUL");
		if (len == 0)
			return ("an empty path");
	}
	if (len > f->max)
		return ("too long");
	if ((copy = zone_string(zone, p, len)) == NULL)
		return (FIELDS_NOMEM);
	memcpy(slot, &copy, sizeof(copy));
	return (NULL);
}

static const char *
decode_bin(const struct field *f, const msgpack_object *o, struct blob *b)
{
	if (o->type != MSGPACK_OBJECT_BIN)
		return ("not bytes");
	if (o->via.bin.size > f->max)
		return ("too long");
	b->p = (const uint8_t *)o->via.bin.ptr;
	b->len = o->via.bin.size;
	return (NULL);
}

/* An element of a list: where it is no path it is as long as a body can be. */
static size_t
element_max(const struct field *f)
{
	return (f->type == FIELD_PATHV ? LIMIT_PATH : LIMIT_LARGE);
}

static const char *
decode_strv(const struct field *f, const msgpack_object *o, struct strv *sv,
    msgpack_zone *zone)
{
	const msgpack_object_array	*a = &o->via.array;
	uint32_t			 i;

	if (o->type != MSGPACK_OBJECT_ARRAY)
		return ("not an array");
	if (a->size > f->max)
		return ("too many elements");
	sv->v = msgpack_zone_malloc(zone, (a->size + 1) * sizeof(*sv->v));
	if (sv->v == NULL)
		return (FIELDS_NOMEM);
	for (i = 0; i < a->size; i++) {
		const msgpack_object_bin *b = &a->ptr[i].via.bin;

		if (a->ptr[i].type != MSGPACK_OBJECT_BIN)
			return ("an element is not bytes");
		if (memchr(b->ptr, '\0', b->size) != NULL)
			return ("an element with a NUL");
		if (b->size > element_max(f))
			return ("an element that is too long");
		if ((sv->v[i] = zone_string(zone, b->ptr, b->size)) == NULL)
			return (FIELDS_NOMEM);
	}
	sv->v[a->size] = NULL;
	sv->n = a->size;
	return (NULL);
}

static const char *
decode_u64v(const struct field *f, const msgpack_object *o, struct u64v *uv,
    msgpack_zone *zone)
{
	const msgpack_object_array	*a = &o->via.array;
	uint32_t			 i;

	if (o->type != MSGPACK_OBJECT_ARRAY)
		return ("not an array");
	if (a->size > f->max)
		return ("too many elements");
	uv->v = msgpack_zone_malloc(zone, (a->size + 1) * sizeof(*uv->v));
	if (uv->v == NULL)
		return (FIELDS_NOMEM);
	for (i = 0; i < a->size; i++) {
		if (a->ptr[i].type != MSGPACK_OBJECT_POSITIVE_INTEGER)
			return ("an element is not a number");
		uv->v[i] = a->ptr[i].via.u64;
	}
	uv->n = a->size;
	return (NULL);
}

static const char *
decode_number(const struct field *f, const msgpack_object *o, void *slot)
{
	struct maybe	m = { true, 0 };
	bool		b;

	switch (f->type) {
	case FIELD_U64:
	case FIELD_MAYBE:
		if (o->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
			return ("not a number from 0");
		m.v = o->via.u64;
		if (f->type == FIELD_MAYBE)
			memcpy(slot, &m, sizeof(m));
		else
			memcpy(slot, &m.v, sizeof(m.v));
		return (NULL);
	case FIELD_I64:
		if (o->type == MSGPACK_OBJECT_POSITIVE_INTEGER ?
		    o->via.u64 > INT64_MAX :
		    o->type != MSGPACK_OBJECT_NEGATIVE_INTEGER)
			return ("not a number of 64 bits");
		memcpy(slot, &o->via.i64, sizeof(int64_t));
		return (NULL);
	default:
		if (o->type != MSGPACK_OBJECT_BOOLEAN)
			return ("not true or false");
		b = o->via.boolean;
		memcpy(slot, &b, sizeof(b));
		return (NULL);
	}
}

static const char *
decode_field(const struct field *f, const msgpack_object *o, void *out,
    msgpack_zone *zone)
{
	void	*slot = (char *)out + f->off;

	switch (f->type) {
	case FIELD_STR:
	case FIELD_PATH:
		return (decode_string(f, o, slot, zone));
	case FIELD_BIN:
		return (decode_bin(f, o, slot));
	case FIELD_STRV:
	case FIELD_PATHV:
		return (decode_strv(f, o, slot, zone));
	case FIELD_U64V:
		return (decode_u64v(f, o, slot, zone));
	default:
		return (decode_number(f, o, slot));
	}
}

static const struct field *
field_find(const struct field *fields, size_t n, const msgpack_object *key)
{
	size_t	i;

	if (key->type != MSGPACK_OBJECT_STR)
		return (NULL);
	for (i = 0; i < n; i++)
		if (strlen(fields[i].key) == key->via.str.size &&
		    memcmp(fields[i].key, key->via.str.ptr,
		    key->via.str.size) == 0)
			return (&fields[i]);
	return (NULL);
}

static const char *
decode_map(const struct field *fields, size_t n, const msgpack_object_map *map,
    bool lax, void *out, msgpack_zone *zone)
{
	uint64_t		 seen = 0;
	uint32_t		 i;
	size_t			 j;
	const struct field	*f;
	const char		*why;

	for (i = 0; i < map->size; i++) {
		if ((f = field_find(fields, n, &map->ptr[i].key)) == NULL) {
			if (lax)
				continue;
			return ("unknown key");
		}
		j = (size_t)(f - fields);
		if (seen & UINT64_C(1) << j)
			return (zone_why(zone, f->key, "twice"));
		seen |= UINT64_C(1) << j;
		why = decode_field(f, &map->ptr[i].val, out, zone);
		if (why != NULL)
			return (zone_why(zone, f->key, why));
	}
	for (j = 0; j < n; j++)
		if (fields[j].required && !(seen & UINT64_C(1) << j))
			return (zone_why(zone, fields[j].key, "missing"));
	return (NULL);
}

/* What msgpack made of it is gone afterwards: it takes more than what is kept,
 * and some of that lives long. */
static const char *
decode_whole(const struct field *fields, size_t n, const uint8_t *buf,
    size_t len, bool lax, void *out, msgpack_zone *zone)
{
	msgpack_zone	*objects = msgpack_zone_new(2048);
	msgpack_object	 o;
	const char	*why;
	size_t		 off = 0;

	if (objects == NULL)
		return (FIELDS_NOMEM);
	if (msgpack_unpack((const char *)buf, len, &off, objects, &o) !=
	    MSGPACK_UNPACK_SUCCESS || off != len)
		why = "not msgpack";
	else if (o.type != MSGPACK_OBJECT_MAP)
		why = "not a map";
	else
		why = decode_map(fields, n, &o.via.map, lax, out, zone);
	msgpack_zone_free(objects);
	return (why);
}

int
fields_decode(const struct field *fields, size_t n, const uint8_t *buf,
    size_t len, bool lax, void *out, struct msgpack_zone *zone,
    const char **why)
{
	if (n > 64)
		*why = "too many fields in the table";
	else if (scan_whole(buf, len, fields_objects(fields, n), why) == 0)
		*why = decode_whole(fields, n, buf, len, lax, out, zone);
	return (*why == NULL ? 0 : -1);
}

static bool
field_absent(const struct field *f, const void *slot)
{
	switch (f->type) {
	case FIELD_U64:
	case FIELD_I64:
		return (*(const uint64_t *)slot == 0);
	case FIELD_BOOL:
		return (!*(const bool *)slot);
	case FIELD_STR:
	case FIELD_PATH:
		return (*(const char *const *)slot == NULL);
	case FIELD_BIN:
		return (((const struct blob *)slot)->p == NULL);
	case FIELD_STRV:
	case FIELD_PATHV:
		return (((const struct strv *)slot)->v == NULL);
	case FIELD_U64V:
		return (((const struct u64v *)slot)->v == NULL);
	case FIELD_MAYBE:
		return (!((const struct maybe *)slot)->said);
	}
	return (true);
}

/* The packer answers 0, or -1 where its buffer cannot grow; a value that
 * breaks the table gives 1. */
#define BAD_VALUE	1

static int
encode_str(msgpack_packer *pk, const char *s, size_t len)
{
	return (msgpack_pack_str(pk, len) != 0 ||
	    msgpack_pack_str_body(pk, s, len) != 0 ? -1 : 0);
}

static int
encode_bin(msgpack_packer *pk, const void *p, size_t len)
{
	return (msgpack_pack_bin(pk, len) != 0 || (len > 0 &&
	    msgpack_pack_bin_body(pk, p, len) != 0) ? -1 : 0);
}

static int
encode_string(msgpack_packer *pk, const struct field *f, const char *s)
{
	size_t	len;

	if (s == NULL || (len = strlen(s)) > f->max)
		return (BAD_VALUE);
	if (f->type == FIELD_STR)
		return (utf8_valid(s, len) ? encode_str(pk, s, len) :
		    BAD_VALUE);
	return (len > 0 ? encode_bin(pk, s, len) : BAD_VALUE);
}

static int
encode_strv(msgpack_packer *pk, const struct field *f, const struct strv *sv)
{
	size_t	i, len;

	if (sv->n > f->max)
		return (BAD_VALUE);
	if (msgpack_pack_array(pk, sv->n) != 0)
		return (-1);
	for (i = 0; i < sv->n; i++) {
		if (sv->v[i] == NULL ||
		    (len = strlen(sv->v[i])) > element_max(f))
			return (BAD_VALUE);
		if (encode_bin(pk, sv->v[i], len) == -1)
			return (-1);
	}
	return (0);
}

static int
encode_u64v(msgpack_packer *pk, const struct field *f, const struct u64v *uv)
{
	size_t	i;

	if (uv->n > f->max)
		return (BAD_VALUE);
	if (msgpack_pack_array(pk, uv->n) != 0)
		return (-1);
	for (i = 0; i < uv->n; i++)
		if (msgpack_pack_uint64(pk, uv->v[i]) != 0)
			return (-1);
	return (0);
}

static int
encode_field(msgpack_packer *pk, const struct field *f, const void *slot)
{
	const struct blob	*b = slot;

	switch (f->type) {
	case FIELD_U64:
		return (msgpack_pack_uint64(pk, *(const uint64_t *)slot));
	case FIELD_I64:
		return (msgpack_pack_int64(pk, *(const int64_t *)slot));
	case FIELD_BOOL:
		return (*(const bool *)slot ? msgpack_pack_true(pk) :
		    msgpack_pack_false(pk));
	case FIELD_STR:
	case FIELD_PATH:
		return (encode_string(pk, f, *(const char *const *)slot));
	case FIELD_BIN:
		return (b->len > f->max ? BAD_VALUE :
		    encode_bin(pk, b->p, b->len));
	case FIELD_STRV:
	case FIELD_PATHV:
		return (encode_strv(pk, f, slot));
	case FIELD_U64V:
		return (encode_u64v(pk, f, slot));
	case FIELD_MAYBE:
		return (msgpack_pack_uint64(pk,
		    ((const struct maybe *)slot)->v));
	}
	return (BAD_VALUE);
}

static int
encode_map(msgpack_packer *pk, const struct field *fields, size_t n,
    const char *in)
{
	size_t	i, count = 0;
	int	r;

	for (i = 0; i < n; i++)
		if (fields[i].required ||
		    !field_absent(&fields[i], in + fields[i].off))
			count++;
	if (msgpack_pack_map(pk, count) != 0)
		return (-1);
	for (i = 0; i < n; i++) {
		const void *slot = in + fields[i].off;

		if (!fields[i].required && field_absent(&fields[i], slot))
			continue;
		if (encode_str(pk, fields[i].key, strlen(fields[i].key)) == -1)
			return (-1);
		if ((r = encode_field(pk, &fields[i], slot)) != 0)
			return (r);
	}
	return (0);
}

int
fields_encode(const struct field *fields, size_t n, const void *in,
    uint8_t **out, size_t *outlen)
{
	msgpack_sbuffer	sb;
	msgpack_packer	pk;
	int		r;

	msgpack_sbuffer_init(&sb);
	msgpack_packer_init(&pk, &sb, msgpack_sbuffer_write);
	if ((r = encode_map(&pk, fields, n, in)) != 0) {
		msgpack_sbuffer_destroy(&sb);
		errno = r == BAD_VALUE ? EINVAL : ENOMEM;
		return (-1);
	}
	*out = (uint8_t *)sb.data;
	*outlen = sb.size;
	return (0);
}
