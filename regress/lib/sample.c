#include <err.h>
#include <stdlib.h>
#include <string.h>

#include "common/fields.h"
#include "common/proto.h"
#include "sample.h"

#define SOME_BYTES	40
#define SOME_ELEMENTS	6
#define MOST_ELEMENT	16	/* bytes of one element of a full list */

uint64_t
sample_random(struct sample_rng *r)
{
	uint64_t	z = (r->s += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31);
}

uint64_t
sample_below(struct sample_rng *r, uint64_t n)
{
	return (sample_random(r) % n);
}

static void *
sample_alloc(size_t n, size_t size)
{
	void	*p = calloc(n + 1, size);

	if (p == NULL)
		err(1, "sample");
	return (p);
}

/* One code point that is neither NUL nor a surrogate, of at most room bytes. */
static size_t
sample_point(char *p, size_t room, struct sample_rng *r)
{
	static const uint32_t	top[] = { 0x7f, 0x7ff, 0xffff, 0x10ffff };
	size_t			n = 1 + sample_below(r, room < 4 ? room : 4);
	uint32_t		c;
	size_t			i;

	c = n == 1 ? 1 + (uint32_t)sample_below(r, top[0]) :
	    top[n - 2] + 1 + (uint32_t)sample_below(r, top[n - 1] -
	    top[n - 2]);
	if (c >= 0xd800 && c <= 0xdfff)
		c = 0xe000;
	if (n == 1) {
		p[0] = (char)c;
		return (1);
	}
	for (i = n; i-- > 1; c >>= 6)
		p[i] = (char)(0x80 | (c & 0x3f));
	p[0] = (char)((0xf00 >> n & 0xff) | c);
	return (n);
}

static char *
sample_string(size_t len, bool utf8, struct sample_rng *r)
{
	char	*s = sample_alloc(len, 1);
	size_t	 n = 0;

	while (n < len)
		if (utf8)
			n += sample_point(s + n, len - n, r);
		else
			s[n++] = (char)(1 + sample_below(r, 255));
	return (s);
}

static size_t
sample_len(size_t least, size_t max, enum sample_size size, size_t some,
    struct sample_rng *r)
{
	switch (size) {
	case SAMPLE_LEAST:
		return (least);
	case SAMPLE_MOST:
		return (max);
	case SAMPLE_SOME:
		break;
	}
	if (max > some)
		max = some;
	return (least + sample_below(r, max - least + 1));
}

/* Every width that a number has on the wire. */
static uint64_t
sample_number(enum sample_size size, struct sample_rng *r)
{
	if (size == SAMPLE_LEAST)
		return (0);
	if (size == SAMPLE_MOST)
		return (UINT64_MAX);
	return (sample_random(r) >> sample_below(r, 64));
}

static void
sample_strv(const struct field *f, struct strv *sv, enum sample_size size,
    struct sample_rng *r)
{
	size_t	i;

	sv->n = sample_len(0, f->max, size, SOME_ELEMENTS, r);
	sv->v = sample_alloc(sv->n, sizeof(*sv->v));
	for (i = 0; i < sv->n; i++)
		sv->v[i] = sample_string(sample_below(r, MOST_ELEMENT), false,
		    r);
}

static void
sample_u64v(const struct field *f, struct u64v *uv, enum sample_size size,
    struct sample_rng *r)
{
	size_t	i;

	uv->n = sample_len(0, f->max, size, SOME_ELEMENTS, r);
	uv->v = sample_alloc(uv->n, sizeof(*uv->v));
	for (i = 0; i < uv->n; i++)
		uv->v[i] = sample_number(SAMPLE_SOME, r);
}

static void
sample_bin(const struct field *f, struct blob *b, enum sample_size size,
    struct sample_rng *r)
{
	uint8_t	*p;
	size_t	 i;

	b->len = sample_len(0, f->max, size, SOME_BYTES, r);
	p = sample_alloc(b->len, 1);
	for (i = 0; i < b->len; i++)
		p[i] = (uint8_t)sample_random(r);
	b->p = p;
}

static void
sample_field(const struct field *f, void *slot, enum sample_size size,
    struct sample_rng *r)
{
	size_t	least = f->type == FIELD_PATH;

	switch (f->type) {
	case FIELD_U64:
	case FIELD_I64:
		*(uint64_t *)slot = sample_number(size, r);
		break;
	case FIELD_BOOL:
		*(bool *)slot = size == SAMPLE_MOST || sample_below(r, 2);
		break;
	case FIELD_STR:
	case FIELD_PATH:
		*(char **)slot = sample_string(sample_len(least, f->max, size,
		    SOME_BYTES, r), f->type == FIELD_STR, r);
		break;
	case FIELD_BIN:
		sample_bin(f, slot, size, r);
		break;
	case FIELD_STRV:
	case FIELD_PATHV:
		sample_strv(f, slot, size, r);
		break;
	case FIELD_U64V:
		sample_u64v(f, slot, size, r);
		break;
	case FIELD_MAYBE:
		*(struct maybe *)slot = (struct maybe){ true,
		    sample_number(sample_below(r, 2) ? SAMPLE_LEAST : size,
		    r) };
		break;
	}
}

void *
sample_body(const struct field *fields, size_t n, enum sample_size size,
    struct sample_rng *r)
{
	char	*body;
	size_t	 i, len = sizeof(uint64_t);

	for (i = 0; i < n; i++)
		if (fields[i].off + sizeof(struct strv) > len)
			len = fields[i].off + sizeof(struct strv);
	body = sample_alloc(len, 1);
	for (i = 0; i < n; i++)
		if (fields[i].required || size == SAMPLE_MOST ||
		    (size == SAMPLE_SOME && sample_below(r, 4) != 0))
			sample_field(&fields[i], body + fields[i].off, size, r);
	return (body);
}

static void
sample_free_field(const struct field *f, void *slot)
{
	struct strv	*sv = slot;
	size_t		 i;

	switch (f->type) {
	case FIELD_STR:
	case FIELD_PATH:
		free(*(char **)slot);
		break;
	case FIELD_BIN:
		free((void *)(uintptr_t)((struct blob *)slot)->p);
		break;
	case FIELD_STRV:
	case FIELD_PATHV:
		for (i = 0; i < sv->n; i++)
			free((void *)(uintptr_t)sv->v[i]);
		free(sv->v);
		break;
	case FIELD_U64V:
		free(((struct u64v *)slot)->v);
		break;
	case FIELD_U64:
	case FIELD_I64:
	case FIELD_BOOL:
	case FIELD_MAYBE:
		break;
	}
}

void
sample_free(const struct field *fields, size_t n, void *body)
{
	size_t	i;

	for (i = 0; i < n; i++)
		sample_free_field(&fields[i], (char *)body + fields[i].off);
	free(body);
}

static bool
strv_same(const struct strv *a, const struct strv *b)
{
	size_t	i;

	if (a->v == NULL || b->v == NULL)
		return (a->v == b->v && a->n == 0 && b->n == 0);
	if (a->n != b->n)
		return (false);
	for (i = 0; i < a->n; i++)
		if (strcmp(a->v[i], b->v[i]) != 0)
			return (false);
	return (a->v[a->n] == NULL && b->v[b->n] == NULL);
}

/* Bytes; NULL is not the same as none. */
static bool
bytes_same(const void *a, size_t alen, const void *b, size_t blen)
{
	if (a == NULL || b == NULL)
		return (a == b);
	return (alen == blen && (alen == 0 || memcmp(a, b, alen) == 0));
}

static bool
sample_same(const struct field *f, const void *a, const void *b)
{
	const char		*const *as = a, *const *bs = b;
	const struct blob	*ab = a, *bb = b;
	const struct u64v	*au = a, *bu = b;
	const struct maybe	*am = a, *bm = b;

	switch (f->type) {
	case FIELD_U64:
	case FIELD_I64:
		return (memcmp(a, b, sizeof(uint64_t)) == 0);
	case FIELD_BOOL:
		return (*(const bool *)a == *(const bool *)b);
	case FIELD_STR:
	case FIELD_PATH:
		return (*as == NULL || *bs == NULL ? *as == *bs :
		    strcmp(*as, *bs) == 0);
	case FIELD_BIN:
		return (bytes_same(ab->p, ab->len, bb->p, bb->len));
	case FIELD_STRV:
	case FIELD_PATHV:
		return (strv_same(a, b));
	case FIELD_U64V:
		return (bytes_same(au->v, au->n * sizeof(*au->v), bu->v,
		    bu->n * sizeof(*bu->v)));
	case FIELD_MAYBE:
		return (am->said == bm->said && am->v == bm->v);
	}
	return (false);
}

const char *
sample_differ(const struct field *fields, size_t n, const void *a,
    const void *b)
{
	size_t	i;

	for (i = 0; i < n; i++)
		if (!sample_same(&fields[i], (const char *)a + fields[i].off,
		    (const char *)b + fields[i].off))
			return (fields[i].key);
	return (NULL);
}

uint8_t *
sample_encoded(uint32_t type, enum sample_size size, struct sample_rng *r,
    size_t *len)
{
	const struct proto_row	*row = proto_row(type);
	void			*body;
	uint8_t			*out;

	body = sample_body(row->fields, row->nfields, size, r);
	if (fields_encode(row->fields, row->nfields, body, &out, len) == -1)
		err(1, "encoding %s", row->name);
	sample_free(row->fields, row->nfields, body);
	return (out);
}
