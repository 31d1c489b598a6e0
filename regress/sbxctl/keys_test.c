/*
 * The keys that detach: how they are written, and found in what is typed, fed
 * whole, byte by byte, and split in two at each place.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atf-c.h>

#include "sbxctl/keys.h"

/* keys, typed, what is the session's; found: they were all there. */
struct row {
	const char	*keys, *in, *out;
	bool		 found;
};

static const struct row	rows[] = {
	{ "C-\\", "abc", "abc", false },
	{ "C-\\", "ab\034cd", "ab", true },
	{ "ctrl-\\", "\034", "", true },
	{ "^\\", "\034", "", true },
	/* Named by a sequence, as terminals do when they are told to. */
	{ "C-\\", "a\033[92;5u", "a", true },
	{ "C-\\", "a\033[92;5:1u", "a", true },
	{ "C-\\", "a\033[92:124;5u", "a", true },
	{ "C-\\", "a\033[92;69u", "a", true },
	{ "C-\\", "a\033[92;197u", "a", true },
	{ "C-\\", "a\033[27;5;92~", "a", true },
	{ "C-\\", "a\033[92;5;92u", "a", true },
	{ "C-a", "\033[97;5u", "", true },
	{ "C-A", "\033[97;5u", "", true },
	{ "C-A", "\001", "", true },
	/* Another key, another modifier, a release, another sequence. */
	{ "C-\\", "\033[93;5u", "\033[93;5u", false },
	{ "C-\\", "\033[92;6u", "\033[92;6u", false },
	{ "C-\\", "\033[92u", "\033[92u", false },
	{ "C-\\", "\033[92;5:3u", "\033[92;5:3u", false },
	{ "C-\\", "\033[92;5~", "\033[92;5~", false },
	{ "C-\\", "\033[92;5R", "\033[92;5R", false },
	{ "C-\\", "\033[?92;5u", "\033[?92;5u", false },
	{ "C-\\", "\033[1;5A\033OA\033[3~x", "\033[1;5A\033OA\033[3~x", false },
	{ "C-\\", "\033]11;rgb:0/0/0\033\\x", "\033]11;rgb:0/0/0\033\\x",
	    false },
	{ "C-\\", "\033\034", "\033\034", false },	/* Alt */
	{ "C-\\", "\033\033[92;5u", "\033", true },
	{ "C-\\", "\033[9\033[92;5u", "\033[9", true },
	{ "C-\\", "\033[92;5\n\034", "\033[92;5\n", true },
	{ "C-\\", "\303\234\342\202\254", "\303\234\342\202\254", false },
	/* Several: what does not go on was typed. */
	{ "ctrl-p,ctrl-q", "a\020\021b", "a", true },
	{ "ctrl-p,ctrl-q", "a\020b", "a\020b", false },
	{ "ctrl-p,ctrl-q", "\020\020\021", "\020", true },
	{ "ctrl-p,ctrl-q", "\021\020", "\021", false },
	{ "ctrl-p,ctrl-q", "\020\033[113;5u", "", true },
	{ "ctrl-p,ctrl-q", "\033[112;5u\021", "", true },
	{ "ctrl-p,ctrl-q", "\033[112;5ux", "\033[112;5ux", false },
	{ "C-a,d", "\001d", "", true },
	{ "C-a,d", "\001\001d", "\001", true },
	{ "a,a,b", "aaab", "a", true },
	{ "a,b,a,c", "ababac", "ab", true },
	{ "~,.", "~~.x", "~", true },
	{ "none", "\034\033[92;5u", "\034\033[92;5u", false },
};

static void
check(const struct row *r, size_t at)
{
	struct keys	k;
	const char	*why;
	uint8_t		out[4096];
	size_t		len = strlen(r->in), n = 0, part;
	bool		found = false;

	ATF_REQUIRE((why = keys_parse(&k, r->keys)) == NULL);
	if (at <= len) {
		found = keys_in(&k, (const uint8_t *)r->in, at, out, &n);
		if (!found) {
			found = keys_in(&k, (const uint8_t *)r->in + at,
			    len - at, out + n, &part);
			n += part;
		}
	} else
		for (at = 0; at < len && !found; at++) {
			found = keys_in(&k, (const uint8_t *)r->in + at, 1,
			    out + n, &part);
			n += part;
		}
	ATF_CHECK_EQ_MSG(r->found, found, "%s: %s at %zu", r->keys, r->in, at);
	ATF_CHECK_MSG(n == strlen(r->out) && memcmp(out, r->out, n) == 0,
	    "%s: %s at %zu: %.*s", r->keys, r->in, at, (int)n, out);
}

ATF_TC_WITHOUT_HEAD(found);
ATF_TC_BODY(found, tc)
{
	size_t	i, at;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (at = 0; at <= strlen(rows[i].in) + 1; at++)
			check(&rows[i], at);
}

/* Escape alone, and what may be the beginning of a key, is held back until it
 * is clear that no more comes. */
ATF_TC_WITHOUT_HEAD(held);
ATF_TC_BODY(held, tc)
{
	struct keys	k;
	uint8_t		out[KEYS_ROOM + 64];
	size_t		n;

	ATF_REQUIRE(keys_parse(&k, "C-\\") == NULL);
	ATF_CHECK(!keys_in(&k, (const uint8_t *)"x\033", 2, out, &n));
	ATF_CHECK(n == 1 && keys_begun(&k));
	ATF_CHECK(keys_let_go(&k, out) == 1 && out[0] == 033);
	ATF_CHECK(!keys_begun(&k) && keys_let_go(&k, out) == 0);
	/* After it the rest of a key is text. */
	ATF_CHECK(!keys_in(&k, (const uint8_t *)"[92;5u", 6, out, &n));
	ATF_CHECK(n == 6);
	ATF_REQUIRE(keys_parse(&k, "C-a,C-b") == NULL);
	ATF_CHECK(!keys_in(&k, (const uint8_t *)"\001\033[98", 5, out, &n));
	ATF_CHECK(n == 0 && keys_begun(&k));
	ATF_CHECK(keys_let_go(&k, out) == 5 && memcmp(out, "\001\033[98", 5) ==
	    0);
}

/* No sequence is so long, and nothing is lost of one that is. */
ATF_TC_WITHOUT_HEAD(endless);
ATF_TC_BODY(endless, tc)
{
	struct keys	k;
	static uint8_t	in[20000], out[20000 + KEYS_ROOM];
	size_t		i, n, total = 0;

	memset(in, '7', sizeof(in));
	for (i = 0; i < sizeof(in); i += 501)
		memcpy(in + i, "\033[", 2);
	ATF_REQUIRE(keys_parse(&k, "C-a,C-b,C-c,C-d,C-e,C-f,C-g,C-h") == NULL);
	for (i = 0; i < sizeof(in); i += 100) {
		ATF_CHECK(!keys_in(&k, in + i, 100, out + total, &n));
		total += n;
	}
	total += keys_let_go(&k, out + total);
	ATF_CHECK(total == sizeof(in) && memcmp(in, out, total) == 0);
}

ATF_TC_WITHOUT_HEAD(written);
ATF_TC_BODY(written, tc)
{
	static const char *const	bad[] = {
		"", ",", "C-", "C-\\,", ",a", "C-\\C-\\", "ctrl-", "ctrl-1",
		"ab", "\001", "\303\234", " ", "C-[", "^[", "C-@", "M-x",
		"a,b,c,d,e,f,g,h,i", "None", "F1"
	};
	struct keys			k;
	size_t				i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ATF_CHECK_MSG(keys_parse(&k, bad[i]) != NULL, "%s", bad[i]);
	ATF_CHECK(keys_parse(&k, "^,") != NULL);
	ATF_CHECK(keys_parse(&k, "^") == NULL && k.n == 1);
	ATF_CHECK(keys_parse(&k, "a,b,c,d,e,f,g,h") == NULL && k.n == 8);
	ATF_CHECK(keys_parse(&k, "none") == NULL && k.n == 0);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, found);
	ATF_TP_ADD_TC(tp, held);
	ATF_TP_ADD_TC(tp, endless);
	ATF_TP_ADD_TC(tp, written);
	return (atf_no_error());
}
