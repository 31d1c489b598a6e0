/*
 * Bodies by field table: every message of the list there and back, and what
 * may not come in.
 */
#include <errno.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fields.h"
#include "common/proto.h"
#include "regress/lib/sample.h"
#include "regress/lib/test.h"

#define ROUNDS	200
#define SEED	20240229

static void
fail_row(const struct proto_row *row, const char *what, const char *why)
{
	atf_tc_fail("%s: %s: %s", row->name, what, why);
}

/* Decodes a body of row's and gives the reason, NULL if it was taken. */
static const char *
refusal(const struct proto_row *row, const void *buf, size_t len, bool lax)
{
	static char	 reason[256];
	const char	*why = NULL;
	uint8_t		*copy = malloc(len + 1);	/* ASan sees its end */
	msgpack_zone	*zone = msgpack_zone_new(1024);
	void		*out = calloc(1, row->size);
	int		 r;

	ATF_REQUIRE(copy != NULL && zone != NULL && out != NULL);
	memcpy(copy, buf, len);
	r = fields_decode(row->fields, row->nfields, copy, len, lax, out,
	    zone, &why);
	ATF_REQUIRE(r == 0 || (r == -1 && why != NULL));
	if (r == -1)
		snprintf(reason, sizeof(reason), "%s", why);
	msgpack_zone_free(zone);
	free(out);
	free(copy);
	return (r == 0 ? NULL : reason);
}

static void
round_trip(const struct proto_row *row, enum sample_size size,
    struct sample_rng *r)
{
	const char	*why = NULL, *key;
	msgpack_zone	*zone = msgpack_zone_new(1024);
	uint8_t		*buf, *again;
	void		*in, *out = calloc(1, row->size);
	size_t		 len, len2;

	in = sample_body(row->fields, row->nfields, size, r);
	if (fields_encode(row->fields, row->nfields, in, &buf, &len) == -1)
		fail_row(row, "encode", strerror(errno));
	if (fields_decode(row->fields, row->nfields, buf, len, false, out,
	    zone, &why) == -1)
		fail_row(row, "decode", why);
	key = sample_differ(row->fields, row->nfields, in, out);
	if (key != NULL)
		fail_row(row, key, "came back different");
	ATF_REQUIRE(fields_encode(row->fields, row->nfields, out, &again,
	    &len2) == 0);
	ATF_REQUIRE(len == len2 && memcmp(buf, again, len) == 0);
	sample_free(row->fields, row->nfields, in);
	free(again);
	free(buf);
	free(out);
	msgpack_zone_free(zone);
}

ATF_TC_WITHOUT_HEAD(every_message_there_and_back);
ATF_TC_BODY(every_message_there_and_back, tc)
{
	struct sample_rng	r = { SEED };
	uint32_t		type;
	int			i;

	for (type = MSG_INVALID + 1; type < MSG_COUNT; type++) {
		round_trip(proto_row(type), SAMPLE_LEAST, &r);
		round_trip(proto_row(type), SAMPLE_MOST, &r);
		for (i = 0; i < ROUNDS; i++)
			round_trip(proto_row(type), SAMPLE_SOME, &r);
	}
}

ATF_TC_WITHOUT_HEAD(list_is_sound);
ATF_TC_BODY(list_is_sound, tc)
{
	const struct proto_row	*row;
	uint32_t		 type;
	size_t			 i;

	ATF_REQUIRE(proto_row(MSG_INVALID) == NULL);
	ATF_REQUIRE(proto_row(MSG_COUNT) == NULL);
	ATF_REQUIRE(!proto_may(MSG_COUNT, ROLE_SBXD, ROLE_NETD));
	for (type = MSG_INVALID + 1; type < MSG_COUNT; type++) {
		row = proto_row(type);
		ATF_REQUIRE(row->from != 0 && row->to != 0);
		ATF_REQUIRE(row->max <= LIMIT_LARGE);
		/* A descriptor belongs to one frame. */
		ATF_REQUIRE(row->fd == FD_NONE || row->max <= LIMIT_FRAME);
		ATF_REQUIRE(row->nfields <= 64);
		for (i = 0; i < row->nfields; i++) {
			ATF_REQUIRE(row->fields[i].off < row->size);
			ATF_REQUIRE(row->fields[i].type != FIELD_MAYBE ||
			    !row->fields[i].required);
		}
	}
	/* What a client may not say to the broker stays that way. */
	ATF_REQUIRE(!proto_may(MSG_START, ROLE_CLIENT, ROLE_SBXD));
	ATF_REQUIRE(!proto_may(MSG_SUITE, ROLE_CLIENT, ROLE_SBXD));
	ATF_REQUIRE(!proto_may(MSG_GO, ROLE_CLIENT, ROLE_WORKER));
	ATF_REQUIRE(!proto_may(MSG_SFD, ROLE_CLIENT, ROLE_WORKER));
}

/* Counts that ask for what is not there: what follows is all there is. */
ATF_TC_WITHOUT_HEAD(declared_counts);
ATF_TC_BODY(declared_counts, tc)
{
	static const struct {
		const char	*bytes;
		size_t		 len;
	} bad[] = {
		{ "\xdd\x40\x00\x00\x00", 5 },		/* array 1 G */
		{ "\xdd\xff\xff\xff\xff", 5 },
		{ "\xdf\x40\x00\x00\x00", 5 },		/* map 1 G */
		{ "\xdf\x80\x00\x00\x01\xc0\xc0", 7 },	/* 2 n overflows 32 */
		{ "\xdc\xff\xff", 3 }, { "\xde\xff\xff", 3 },
		{ "\x9f", 1 }, { "\x8f", 1 },
		{ "\xc6\x40\x00\x00\x00", 5 },		/* bin 1 G */
		{ "\xdb\x40\x00\x00\x00", 5 },		/* str 1 G */
		{ "\xdb\xff\xff\xff\xff", 5 },
		{ "\xc4\x01", 2 }, { "\xa1", 1 },
		{ "\x81\xa1x\xdd\x40\x00\x00\x00", 8 },	/* inside a map */
		{ "\x92\xdd\x00\x00\x00\x02\xc0", 7 },	/* by one */
	};
	const char		*why;
	size_t			 i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why = NULL;
		if (fields_scan((const uint8_t *)bad[i].bytes, bad[i].len,
		    &why) != -1)
			atf_tc_fail("bad[%zu] was taken", i);
		ATF_REQUIRE(why != NULL);
		/* Newer clients' unknown keys come this way. */
		ATF_REQUIRE(refusal(proto_row(MSG_NEW), bad[i].bytes,
		    bad[i].len, true) != NULL);
	}
}

/* n arrays in one another, an integer in the middle. */
static size_t
nest(uint8_t *buf, size_t n)
{
	memset(buf, 0x91, n);
	buf[n] = 0x01;
	return (n + 1);
}

ATF_TC_WITHOUT_HEAD(depth);
ATF_TC_BODY(depth, tc)
{
	uint8_t		*buf = malloc(LIMIT_LARGE);
	const char	*why = NULL;
	size_t		 len;

	ATF_REQUIRE(buf != NULL);
	len = nest(buf, LIMIT_DEPTH);
	ATF_REQUIRE_EQ(fields_scan(buf, len, &why), 0);
	len = nest(buf, LIMIT_DEPTH + 1);
	ATF_REQUIRE_EQ(fields_scan(buf, len, &why), -1);
	ATF_REQUIRE_STREQ(why, "nested too deep");
	/* Four million deep costs no stack. */
	len = nest(buf, LIMIT_LARGE - 1);
	ATF_REQUIRE_EQ(fields_scan(buf, len, &why), -1);
	free(buf);
}

ATF_TC_WITHOUT_HEAD(unused_types);
ATF_TC_BODY(unused_types, tc)
{
	uint8_t		 buf[40] = { 0 };
	const char	*why = NULL;
	int		 c;

	for (c = 0xc1; c <= 0xd8; c++) {
		if ((c > 0xc1 && c < 0xc7) || (c > 0xc9 && c < 0xd4))
			continue;
		buf[0] = (uint8_t)c;
		buf[1] = 1;
		ATF_REQUIRE_EQ(fields_scan(buf, sizeof(buf), &why), -1);
		ATF_REQUIRE_STREQ(why, "extension or unused type");
	}
}

/* Whatever a body is cut to, it is no body any more; nor with one byte more. */
ATF_TC_WITHOUT_HEAD(cut_at_every_byte);
ATF_TC_BODY(cut_at_every_byte, tc)
{
	struct sample_rng	 r = { SEED };
	const struct proto_row	*row;
	uint32_t		 type;
	uint8_t			*buf, *longer;
	size_t			 len, n;

	for (type = MSG_INVALID + 1; type < MSG_COUNT; type++) {
		row = proto_row(type);
		buf = sample_encoded(type, SAMPLE_SOME, &r, &len);
		ATF_REQUIRE(refusal(row, buf, len, false) == NULL);
		for (n = 0; n < len; n++)
			if (refusal(row, buf, n, true) == NULL)
				fail_row(row, "cut", "was taken");
		ATF_REQUIRE((longer = realloc(buf, len + 1)) != NULL);
		longer[len] = 0xc0;
		if (refusal(row, longer, len + 1, true) == NULL)
			fail_row(row, "one byte more", "was taken");
		free(longer);
	}
}

/*
 * A body written by hand: every required key of the row with its least value,
 * but for one that is left out, or comes with what the caller packs.
 */
struct hand {
	msgpack_sbuffer	sb;
	msgpack_packer	pk;
};

static void
hand_value(struct hand *h, const struct field *f)
{
	switch (f->type) {
	case FIELD_U64:
	case FIELD_I64:
	case FIELD_MAYBE:
		msgpack_pack_uint64(&h->pk, 1);
		break;
	case FIELD_BOOL:
		msgpack_pack_true(&h->pk);
		break;
	case FIELD_STR:
		msgpack_pack_str_with_body(&h->pk, "a", 1);
		break;
	case FIELD_PATH:
	case FIELD_BIN:
		msgpack_pack_bin_with_body(&h->pk, "/", 1);
		break;
	case FIELD_STRV:
	case FIELD_PATHV:
	case FIELD_U64V:
		msgpack_pack_array(&h->pk, 0);
		break;
	}
}

static void
hand_begin(struct hand *h, const struct proto_row *row,
    const struct field *skip, size_t more)
{
	size_t	i, n = 0;

	msgpack_sbuffer_init(&h->sb);
	msgpack_packer_init(&h->pk, &h->sb, msgpack_sbuffer_write);
	for (i = 0; i < row->nfields; i++)
		n += row->fields[i].required && &row->fields[i] != skip;
	msgpack_pack_map(&h->pk, n + more);
	for (i = 0; i < row->nfields; i++) {
		if (!row->fields[i].required || &row->fields[i] == skip)
			continue;
		msgpack_pack_str_with_body(&h->pk, row->fields[i].key,
		    strlen(row->fields[i].key));
		hand_value(h, &row->fields[i]);
	}
}

static void
hand_key(struct hand *h, const char *key)
{
	msgpack_pack_str_with_body(&h->pk, key, strlen(key));
}

/* Ends it; what is said must name key (NULL: it must be taken). */
static void
hand_end(struct hand *h, const struct proto_row *row, bool lax,
    const char *key, const char *what)
{
	const char	*why = refusal(row, h->sb.data, h->sb.size, lax);

	if (key == NULL && why != NULL)
		fail_row(row, what, why);
	if (key != NULL && why == NULL)
		fail_row(row, key, what);
	if (key != NULL && strstr(why, key) == NULL)
		fail_row(row, key, why);
	msgpack_sbuffer_destroy(&h->sb);
}

#define FOR_EACH_FIELD(type, row, f)					\
	for (type = MSG_INVALID + 1; type < MSG_COUNT; type++)		\
		for (row = proto_row(type), f = row->fields;		\
		    f != NULL && f < row->fields + row->nfields; f++)

ATF_TC_WITHOUT_HEAD(missing_and_twice);
ATF_TC_BODY(missing_and_twice, tc)
{
	const struct proto_row	*row;
	const struct field	*f;
	uint32_t		 type;
	struct hand		 h;

	FOR_EACH_FIELD(type, row, f) {
		hand_begin(&h, row, NULL, 0);
		hand_end(&h, row, false, NULL, "required keys only");
		if (f->required) {
			hand_begin(&h, row, f, 0);
			hand_end(&h, row, true, f->key, "missing was taken");
		}
		hand_begin(&h, row, f, 2);
		hand_key(&h, f->key);
		hand_value(&h, f);
		hand_key(&h, f->key);
		hand_value(&h, f);
		hand_end(&h, row, true, f->key, "twice was taken");
	}
}

ATF_TC_WITHOUT_HEAD(unknown_keys);
ATF_TC_BODY(unknown_keys, tc)
{
	const struct proto_row	*row;
	uint32_t		 type;
	struct hand		 h;

	for (type = MSG_INVALID + 1; type < MSG_COUNT; type++) {
		row = proto_row(type);
		hand_begin(&h, row, NULL, 1);
		hand_key(&h, "frobnicate");
		msgpack_pack_map(&h.pk, 1);
		hand_key(&h, "x");
		msgpack_pack_double(&h.pk, 1.5);
		ATF_REQUIRE(refusal(row, h.sb.data, h.sb.size, true) == NULL);
		hand_end(&h, row, false, "unknown key", "was taken");
		hand_begin(&h, row, NULL, 1);
		msgpack_pack_uint64(&h.pk, 1);	/* a key that is no string */
		msgpack_pack_nil(&h.pk);
		hand_end(&h, row, false, "unknown key", "was taken");
	}
}

/* An element of a byte is 24 in memory: unknown keys have a bound as well. */
ATF_TC_WITHOUT_HEAD(elements_are_bounded);
ATF_TC_BODY(elements_are_bounded, tc)
{
	const struct proto_row	*row = proto_row(MSG_NEW);
	struct hand		 h;
	int			 i;

	hand_begin(&h, row, NULL, 1);
	hand_key(&h, "frobnicate");
	msgpack_pack_array(&h.pk, 1 << 20);
	for (i = 0; i < 1 << 20; i++)
		msgpack_pack_nil(&h.pk);
	hand_end(&h, row, true, "too many elements", "a million nils");
}

/* A value of every type that is not the field's. */
static void
wrong_value(struct hand *h, const struct field *f, int i)
{
	static const enum field_type types[] = {
		FIELD_U64, FIELD_BOOL, FIELD_STR, FIELD_BIN, FIELD_STRV
	};
	struct field	other = *f;

	if (i < 5) {
		other.type = types[i];
		hand_value(h, &other);
	} else if (i == 5)
		msgpack_pack_nil(&h->pk);
	else if (i == 6)
		msgpack_pack_double(&h->pk, 1.0);
	else if (i == 7)
		msgpack_pack_int64(&h->pk, -1);
	else
		msgpack_pack_map(&h->pk, 0);
}

static bool
right_type(const struct field *f, int i)
{
	switch (f->type) {
	case FIELD_U64:
	case FIELD_MAYBE:
		return (i == 0);
	case FIELD_I64:
		return (i == 0 || i == 7);
	case FIELD_BOOL:
		return (i == 1);
	case FIELD_STR:
		return (i == 2);
	case FIELD_PATH:
	case FIELD_BIN:
		return (i == 3);
	case FIELD_STRV:
	case FIELD_PATHV:
	case FIELD_U64V:
		return (i == 4);
	}
	return (false);
}

ATF_TC_WITHOUT_HEAD(wrong_types);
ATF_TC_BODY(wrong_types, tc)
{
	const struct proto_row	*row;
	const struct field	*f;
	uint32_t		 type;
	struct hand		 h;
	int			 i;

	FOR_EACH_FIELD(type, row, f) {
		for (i = 0; i < 9; i++) {
			hand_begin(&h, row, f, 1);
			hand_key(&h, f->key);
			wrong_value(&h, f, i);
			hand_end(&h, row, true, right_type(f, i) ? NULL :
			    f->key, "a value of another type");
		}
	}
}

/* A string or bytes of len, in the field's own type. */
static void
hand_string(struct hand *h, const struct field *f, const char *s, size_t len)
{
	if (f->type == FIELD_STR)
		msgpack_pack_str_with_body(&h->pk, s, len);
	else
		msgpack_pack_bin_with_body(&h->pk, s, len);
}

static void
try_string(const struct proto_row *row, const struct field *f, const char *s,
    size_t len, bool good)
{
	struct hand	h;

	hand_begin(&h, row, f, 1);
	hand_key(&h, f->key);
	hand_string(&h, f, s, len);
	hand_end(&h, row, true, good ? NULL : f->key, "a string");
}

ATF_TC_WITHOUT_HEAD(string_limits);
ATF_TC_BODY(string_limits, tc)
{
	const struct proto_row	*row;
	const struct field	*f;
	uint32_t		 type;
	char			*as = malloc(LIMIT_LARGE);

	ATF_REQUIRE(as != NULL);
	memset(as, 'a', LIMIT_LARGE);
	FOR_EACH_FIELD(type, row, f) {
		if (f->type != FIELD_STR && f->type != FIELD_PATH &&
		    f->type != FIELD_BIN)
			continue;
		try_string(row, f, as, f->max, true);
		try_string(row, f, as, f->max + 1, false);
		try_string(row, f, "", 0, f->type != FIELD_PATH);
		if (f->max >= 3)
			try_string(row, f, "a\0b", 3, f->type == FIELD_BIN);
	}
	free(as);
}

ATF_TC_WITHOUT_HEAD(list_limits);
ATF_TC_BODY(list_limits, tc)
{
	const struct proto_row	*row;
	const struct field	*f;
	uint32_t		 type;
	struct hand		 h;
	size_t			 i;

	FOR_EACH_FIELD(type, row, f) {
		if (f->type != FIELD_STRV && f->type != FIELD_PATHV &&
		    f->type != FIELD_U64V)
			continue;
		hand_begin(&h, row, f, 1);
		hand_key(&h, f->key);
		msgpack_pack_array(&h.pk, f->max + 1);
		for (i = 0; i < f->max + 1; i++)
			if (f->type != FIELD_U64V)
				msgpack_pack_bin_with_body(&h.pk, "", 0);
			else
				msgpack_pack_uint64(&h.pk, i);
		hand_end(&h, row, true, f->key, "one element too many");
		hand_begin(&h, row, f, 1);
		hand_key(&h, f->key);
		msgpack_pack_array(&h.pk, 1);
		if (f->type != FIELD_U64V)
			msgpack_pack_bin_with_body(&h.pk, "a\0b", 3);
		else
			msgpack_pack_int64(&h.pk, -1);
		hand_end(&h, row, true, f->key, "a bad element");
		hand_begin(&h, row, f, 1);
		hand_key(&h, f->key);
		msgpack_pack_array(&h.pk, 1);
		msgpack_pack_str_with_body(&h.pk, "a", 1);
		hand_end(&h, row, true, f->key, "an element of another type");
	}
}

/* A path in a list is no longer than one alone; a word may be. */
ATF_TC_WITHOUT_HEAD(element_limits);
ATF_TC_BODY(element_limits, tc)
{
	static char		 as[LIMIT_PATH + 2];
	const char		*path = as;
	struct m_LANDED		 landed = { .paths = { 1, &path } };
	const struct proto_row	*row;
	const struct field	*f;
	uint32_t		 type;
	struct hand		 h;
	uint8_t			*buf;
	size_t			 len;

	memset(as, 'a', LIMIT_PATH + 1);
	FOR_EACH_FIELD(type, row, f) {
		if (f->type != FIELD_STRV && f->type != FIELD_PATHV)
			continue;
		for (len = LIMIT_PATH; len <= LIMIT_PATH + 1; len++) {
			hand_begin(&h, row, f, 1);
			hand_key(&h, f->key);
			msgpack_pack_array(&h.pk, 1);
			msgpack_pack_bin_with_body(&h.pk, as, len);
			hand_end(&h, row, true, f->type == FIELD_PATHV &&
			    len > LIMIT_PATH ? f->key : NULL,
			    "a long element");
		}
	}
	row = proto_row(MSG_LANDED);
	ATF_REQUIRE_EQ(fields_encode(row->fields, row->nfields, &landed, &buf,
	    &len), -1);
	ATF_REQUIRE_EQ(errno, EINVAL);
	as[LIMIT_PATH] = '\0';
	ATF_REQUIRE_EQ(fields_encode(row->fields, row->nfields, &landed, &buf,
	    &len), 0);
	free(buf);
}

ATF_TC_WITHOUT_HEAD(utf8);
ATF_TC_BODY(utf8, tc)
{
	static const char *const good[] = {
		"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80",
		"\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf",
		"\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "\xe2\x82\xac!"
	};
	static const char *const bad[] = {
		"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x41",
		"\xe0\x80\x80", "\xe0\x9f\xbf", "\xe2\x82", "\xed\xa0\x80",
		"\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xfe",
		"\xf0\x90\x80", "a\xe2\x82\xac\xc3"
	};
	const struct proto_row	*row = proto_row(MSG_TEXT);
	const struct field	*f;
	size_t			 i;

	for (f = row->fields; strcmp(f->key, "text") != 0; f++)
		;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		ATF_REQUIRE(utf8_valid(good[i], strlen(good[i])));
		try_string(row, f, good[i], strlen(good[i]), true);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (utf8_valid(bad[i], strlen(bad[i])))
			atf_tc_fail("bad[%zu] is taken for UTF-8", i);
		try_string(row, f, bad[i], strlen(bad[i]), false);
	}
	ATF_REQUIRE(!utf8_valid("a\0b", 3));
}

ATF_TC_WITHOUT_HEAD(encode_keeps_the_limits);
ATF_TC_BODY(encode_keeps_the_limits, tc)
{
	const struct proto_row	*row = proto_row(MSG_SFD);
	struct m_SFD		 sfd = { .session = "a", .kind = "route" };
	struct m_LFD		 lfd = { .kind = NULL };
	char			 as[64];
	uint8_t			*buf;
	size_t			 len;

	memset(as, 'a', sizeof(as));
	as[LIMIT_SID] = '\0';
	sfd.session = as;
	ATF_REQUIRE_EQ(fields_encode(row->fields, row->nfields, &sfd, &buf,
	    &len), 0);
	free(buf);
	as[LIMIT_SID] = 'a';
	as[LIMIT_SID + 1] = '\0';
	ATF_REQUIRE_EQ(fields_encode(row->fields, row->nfields, &sfd, &buf,
	    &len), -1);
	ATF_REQUIRE_EQ(errno, EINVAL);
	sfd.session = "\xff";
	ATF_REQUIRE_EQ(fields_encode(row->fields, row->nfields, &sfd, &buf,
	    &len), -1);
	row = proto_row(MSG_LFD);
	ATF_REQUIRE_EQ(fields_encode(row->fields, row->nfields, &lfd, &buf,
	    &len), -1);
	ATF_REQUIRE_EQ(errno, EINVAL);
}

/* Of a maybe 0 arrives as 0; of a plain number it is what is not said. */
ATF_TC_WITHOUT_HEAD(maybe_keeps_nought);
ATF_TC_BODY(maybe_keeps_nought, tc)
{
	static const struct maybe	 all[] = {
		{ false, 0 }, { true, 0 }, { true, 022 }, { true, 077 }
	};
	const struct proto_row		*row = proto_row(MSG_SETUP);
	const char			*why = NULL, *argv[] = { "true", NULL };
	struct strv			 list = { 1, argv };
	struct m_SETUP			 in = {
		.session = "a", .argv = list, .env = list, .cwd = "/",
		.home = "/h", .project = "/p", .network = "host"
	}, out;
	uint8_t				*buf;
	size_t				 i, len, least = 0;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		msgpack_zone *zone = msgpack_zone_new(1024);

		in.umask = all[i];
		memset(&out, 0, sizeof(out));
		ATF_REQUIRE_EQ(fields_encode(row->fields, row->nfields, &in,
		    &buf, &len), 0);
		ATF_REQUIRE_EQ(fields_decode(row->fields, row->nfields, buf,
		    len, false, &out, zone, &why), 0);
		ATF_CHECK_EQ(all[i].said, out.umask.said);
		ATF_CHECK_EQ(all[i].v, out.umask.v);
		/* Not said is not there: no key, no number. */
		if (i == 0)
			least = len;
		else
			ATF_CHECK_EQ(least + 1 + strlen("umask") + 1, len);
		free(buf);
		msgpack_zone_free(zone);
	}
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, every_message_there_and_back);
	ATF_TP_ADD_TC(tp, list_is_sound);
	ATF_TP_ADD_TC(tp, declared_counts);
	ATF_TP_ADD_TC(tp, depth);
	ATF_TP_ADD_TC(tp, unused_types);
	ATF_TP_ADD_TC(tp, cut_at_every_byte);
	ATF_TP_ADD_TC(tp, missing_and_twice);
	ATF_TP_ADD_TC(tp, unknown_keys);
	ATF_TP_ADD_TC(tp, elements_are_bounded);
	ATF_TP_ADD_TC(tp, wrong_types);
	ATF_TP_ADD_TC(tp, string_limits);
	ATF_TP_ADD_TC(tp, list_limits);
	ATF_TP_ADD_TC(tp, element_limits);
	ATF_TP_ADD_TC(tp, utf8);
	ATF_TP_ADD_TC(tp, encode_keeps_the_limits);
	ATF_TP_ADD_TC(tp, maybe_keeps_nought);
	return (atf_no_error());
}
