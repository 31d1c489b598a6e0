/*
 * Messages larger than a frame, in numbered parts.
 */
#include <sys/socket.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fields.h"
#include "regress/lib/sample.h"
#include "regress/lib/scripted.h"

struct pair {
	struct imsgbuf	a, b;		/* a: client, b: sbxd */
};

static void
pair_make(struct pair *p)
{
	int	sv[2];

	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) ==
	    0);
	ATF_REQUIRE(imsg_init(&p->a, sv[0], ROLE_CLIENT, ROLE_SBXD) == 0);
	ATF_REQUIRE(imsg_init(&p->b, sv[1], ROLE_SBXD, ROLE_CLIENT) == 0);
	p->b.parts = true;	/* as after HELLO */
}

static void
pair_clear(struct pair *p)
{
	imsg_clear(&p->a);
	imsg_clear(&p->b);
}

/* Both ends in turn until b has a message. */
static int
pump(struct pair *p, struct msg *msg, const char **why)
{
	int	r;

	while ((r = imsg_next(&p->b, msg, why)) == 0) {
		ATF_REQUIRE(imsg_flush(&p->a) != -1);
		if (imsg_read(&p->b) == -1) {
			ATF_REQUIRE_EQ(errno, EAGAIN);
			return (0);
		}
	}
	return (r);
}

/* A NEW whose one argument has len bytes. */
static void
new_of(struct m_NEW *m, const char **argv, char *arg, size_t len)
{
	static const char	*env[1];

	memset(arg, 'x', len);
	arg[len] = '\0';
	argv[0] = arg;
	argv[1] = NULL;
	memset(m, 0, sizeof(*m));
	m->argv.n = 1;
	m->argv.v = argv;
	m->env.v = env;
	m->cwd = m->project = m->home = "/";
	m->user = "u";
	m->network = "host";
}

static size_t
new_size(const struct m_NEW *m)
{
	const struct proto_row	*row = proto_row(MSG_NEW);
	uint8_t			*buf;
	size_t			 len;

	ATF_REQUIRE_EQ(fields_encode(row->fields, row->nfields, m, &buf,
	    &len), 0);
	free(buf);
	return (len);
}

/* Every size around a frame's and a part's, and up to the limit's last byte. */
ATF_TC_WITHOUT_HEAD(sizes);
ATF_TC_BODY(sizes, tc)
{
	const size_t	 frame = LIMIT_FRAME - sizeof(struct imsg_hdr);
	struct pair	 p;
	struct msg	 msg;
	struct m_NEW	 m;
	const struct m_NEW *got;
	const char	*argv[2], *why;
	char		*arg = malloc(LIMIT_LARGE + 16);
	size_t		 base, sizes[16], n = 0, i;

	ATF_REQUIRE(arg != NULL);
	new_of(&m, argv, arg, 70000);
	base = new_size(&m) - 70000;	/* with a length of 32 bits */
	sizes[n++] = 1000;
	for (i = frame - 2; i <= frame + 2; i++)
		sizes[n++] = i - base;
	for (i = 2 * LIMIT_CHUNK - 1; i <= 2 * LIMIT_CHUNK + 1; i++)
		sizes[n++] = i - base;
	sizes[n++] = 1 << 20;
	sizes[n++] = LIMIT_LARGE - base - 1;
	sizes[n++] = LIMIT_LARGE - base;
	for (i = 0; i < n; i++) {
		pair_make(&p);
		new_of(&m, argv, arg, sizes[i]);
		ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_NEW, 77, -1, &m), 0);
		if (pump(&p, &msg, &why) != 1)
			atf_tc_fail("%zu bytes: %s", sizes[i], why);
		got = msg.body;
		ATF_REQUIRE(msg.type == MSG_NEW && msg.id == 77);
		ATF_REQUIRE(got->argv.n == 1 && strcmp(got->argv.v[0], arg) ==
		    0);
		msg_free(&msg);
		/* The next one is not mixed up with it. */
		ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_LIST, 78, -1, NULL), 0);
		ATF_REQUIRE_EQ(pump(&p, &msg, &why), 1);
		ATF_REQUIRE(msg.type == MSG_LIST && msg.id == 78);
		msg_free(&msg);
		pair_clear(&p);
	}
	pair_make(&p);
	new_of(&m, argv, arg, LIMIT_LARGE - base + 1);
	ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_NEW, 0, -1, &m), -1);
	ATF_REQUIRE_EQ(errno, EMSGSIZE);
	ATF_REQUIRE_EQ(p.a.queued, 0);
	pair_clear(&p);
	free(arg);
}

/* A row of one frame is never taken apart. */
ATF_TC_WITHOUT_HEAD(rows_of_one_frame);
ATF_TC_BODY(rows_of_one_frame, tc)
{
	const struct proto_row	*row;
	uint32_t		 type;
	struct pair		 p;
	struct msg		 msg;
	struct m_PART		 part = { .last = true };
	const char		*why;

	part.data.p = (const uint8_t *)"\x80";
	part.data.len = 1;
	for (type = MSG_INVALID + 1; type < MSG_COUNT; type++) {
		row = proto_row(type);
		if (row->max > LIMIT_FRAME && proto_may(type, ROLE_CLIENT,
		    ROLE_SBXD))
			continue;
		pair_make(&p);
		part.type = type;
		ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_PART, 0, -1, &part), 0);
		ATF_REQUIRE_EQ(pump(&p, &msg, &why), -1);
		ATF_REQUIRE_STREQ(why, "parts of a message that has none");
		pair_clear(&p);
	}
}

struct piece {
	uint64_t	type, n;
	bool		last;
	size_t		len;
	uint32_t	id;
};

static void
pieces(const struct piece *piece, size_t n, const char *want)
{
	static uint8_t	 data[LIMIT_CHUNK];
	struct pair	 p;
	struct msg	 msg;
	struct m_PART	 part;
	const char	*why = "none";
	size_t		 i;

	pair_make(&p);
	for (i = 0; i < n; i++) {
		memset(&part, 0, sizeof(part));
		part.type = piece[i].type;
		part.n = piece[i].n;
		part.last = piece[i].last;
		part.data.p = data;
		part.data.len = piece[i].len;
		ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_PART, piece[i].id, -1,
		    &part), 0);
	}
	if (pump(&p, &msg, &why) != -1 || strcmp(why, want) != 0)
		atf_tc_fail("\"%s\", not \"%s\"", why, want);
	pair_clear(&p);
}

#define PIECES(want, ...) do {						\
	static const struct piece	list[] = { __VA_ARGS__ };	\
									\
	pieces(list, sizeof(list) / sizeof(list[0]), want);		\
} while (0)

ATF_TC_WITHOUT_HEAD(order);
ATF_TC_BODY(order, tc)
{
	static const char	none[] = "parts of a message that has none";
	static const char	order[] = "parts out of order";

	PIECES(order, { MSG_NEW, 1, false, 9, 0 });
	PIECES(order, { MSG_NEW, 0, false, 9, 0 }, { MSG_NEW, 0, false, 9, 0 });
	PIECES(order, { MSG_NEW, 0, false, 9, 0 }, { MSG_NEW, 2, false, 9, 0 });
	PIECES(order, { MSG_NEW, 0, false, 9, 0 }, { MSG_NEW, 1, false, 9, 0 },
	    { MSG_NEW, 1, true, 9, 0 });
	PIECES(order, { MSG_NEW, 0, false, 9, 0 },
	    { MSG_DISCARD, 1, true, 9, 0 });
	PIECES(order, { MSG_NEW, 0, false, 9, 5 }, { MSG_NEW, 1, true, 9, 6 });
	PIECES(order, { MSG_NEW, 0, false, 0, 0 });
	PIECES(order, { MSG_NEW, UINT64_MAX, false, 9, 0 });
	PIECES(none, { MSG_COUNT, 0, false, 9, 0 });
	PIECES(none, { UINT64_C(0x100000000) + MSG_NEW, 0, false, 9, 0 });
	PIECES(none, { UINT64_MAX, 0, false, 9, 0 });
	/* A whole one that is no NEW. */
	PIECES("not a map", { MSG_NEW, 0, true, 1, 0 });
}

ATF_TC_WITHOUT_HEAD(too_large);
ATF_TC_BODY(too_large, tc)
{
	size_t		 n = LIMIT_LARGE / LIMIT_CHUNK + 1, i;
	struct piece	*list = calloc(n, sizeof(*list));

	ATF_REQUIRE(list != NULL);
	for (i = 0; i < n; i++) {
		list[i].type = MSG_NEW;
		list[i].n = i;
		list[i].len = LIMIT_CHUNK;
	}
	list[n - 1].len = 1;
	pieces(list, n, "parts too large");
	free(list);
}

ATF_TC_WITHOUT_HEAD(nothing_in_between);
ATF_TC_BODY(nothing_in_between, tc)
{
	struct pair	 p;
	struct msg	 msg;
	struct m_PART	 part = { .type = MSG_NEW };
	const char	*why;

	part.data.p = (const uint8_t *)"\x80";
	part.data.len = 1;
	pair_make(&p);
	ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_PART, 0, -1, &part), 0);
	ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_LIST, 0, -1, NULL), 0);
	ATF_REQUIRE_EQ(pump(&p, &msg, &why), -1);
	ATF_REQUIRE_STREQ(why, "a message between the parts of another");
	pair_clear(&p);
}

/* Whoever has not said HELLO makes us hold nothing for it. */
ATF_TC_WITHOUT_HEAD(before_hello);
ATF_TC_BODY(before_hello, tc)
{
	struct pair	 p;
	struct msg	 msg;
	struct m_PART	 part = { .type = MSG_NEW };
	const char	*why;

	part.data.p = (const uint8_t *)"\x80";
	part.data.len = 1;
	pair_make(&p);
	p.b.parts = false;
	ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_PART, 0, -1, &part), 0);
	ATF_REQUIRE_EQ(pump(&p, &msg, &why), -1);
	ATF_REQUIRE_STREQ(why, "parts of a message that has none");
	pair_clear(&p);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, before_hello);
	ATF_TP_ADD_TC(tp, sizes);
	ATF_TP_ADD_TC(tp, rows_of_one_frame);
	ATF_TP_ADD_TC(tp, order);
	ATF_TP_ADD_TC(tp, too_large);
	ATF_TP_ADD_TC(tp, nothing_in_between);
	return (atf_no_error());
}
