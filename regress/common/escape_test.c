/*
 * What people see: control bytes, what changes direction, what is invisible.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/escape.h"
#include "common/fields.h"
#include "regress/lib/sample.h"
#include "regress/lib/test.h"

static void
check(const char *in, size_t len, const char *keep, const char *want)
{
	char	*copy = malloc(len + 1), *got;

	ATF_REQUIRE(copy != NULL);
	memcpy(copy, in, len);
	ATF_REQUIRE((got = escape_text(copy, len, keep)) != NULL);
	if (strcmp(got, want) != 0)
		atf_tc_fail("got %s, not %s", got, want);
	ATF_REQUIRE_EQ(escape_needed(copy, len, keep),
	    strlen(want) != len || memcmp(want, in, len) != 0);
	free(got);
	free(copy);
}

#define CHECK(in, want)	check(in, sizeof(in) - 1, "", want)

ATF_TC_WITHOUT_HEAD(controls);
ATF_TC_BODY(controls, tc)
{
	char	c, want[16];
	int	i;

	for (i = 0; i < 0x80; i++) {
		c = (char)i;
		if (i < 0x20 || i == 0x7f)
			snprintf(want, sizeof(want), "<U+%04X>",
			    (unsigned int)i);
		else
			snprintf(want, sizeof(want), "%c", c);
		check(&c, 1, "", want);
	}
	CHECK("a\033[31mb", "a<U+001B>[31mb");
	CHECK("\033]52;c;x\a", "<U+001B>]52;c;x<U+0007>");
	CHECK("a\0b", "a<U+0000>b");
	CHECK("\r\n", "<U+000D><U+000A>");
	check("a\n\tb\r", 5, "\n\t", "a\n\tb<U+000D>");
	/* keep's own NUL keeps none */
	check("\0", 1, "\n", "<U+0000>");
	CHECK("", "");
	CHECK("plain <U+202E> text", "plain <U+202E> text");
}

ATF_TC_WITHOUT_HEAD(c1);
ATF_TC_BODY(c1, tc)
{
	char	in[2], want[16];
	int	i;

	for (i = 0x80; i < 0xa0; i++) {
		in[0] = '\xc2';
		in[1] = (char)i;
		snprintf(want, sizeof(want), "<U+%04X>", (unsigned int)i);
		check(in, 2, "\n\t", want);
		/* as a byte of its own: an 8-bit terminal's control */
		snprintf(want, sizeof(want), "<%02X>", (unsigned int)i);
		check(in + 1, 1, "\n\t", want);
	}
}

ATF_TC_WITHOUT_HEAD(bidi_and_invisible);
ATF_TC_BODY(bidi_and_invisible, tc)
{
	static const unsigned int	points[] = {
		0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180e,
		0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x2028, 0x2029,
		0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2060, 0x2061,
		0x2062, 0x2063, 0x2064, 0x2066, 0x2067, 0x2068, 0x2069,
		0x206a, 0x206f, 0x3164, 0xfe00, 0xfe0f, 0xfeff, 0xffa0,
		0xfff9, 0xfffb, 0x1d173, 0xe0001, 0xe0020, 0xe007f, 0xe0100,
		0xe01ef
	};
	char	in[4], want[16];
	size_t	i, n;

	for (i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
		unsigned int c = points[i];

		n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		in[0] = (char)((0xf00U >> n & 0xff) | c >> 6 * (n - 1));
		if (n == 4)
			in[n - 3] = (char)(0x80 | (c >> 12 & 0x3f));
		if (n >= 3)
			in[n - 2] = (char)(0x80 | (c >> 6 & 0x3f));
		in[n - 1] = (char)(0x80 | (c & 0x3f));
		snprintf(want, sizeof(want), "<U+%04X>", c);
		check(in, n, "", want);
	}
	CHECK("\xe2\x80\xae" "cod.exe", "<U+202E>cod.exe");
	/* letters of every width stay */
	CHECK("\xc3\xa4\xe2\x82\xac\xe6\xbc\xa2\xf0\x9f\x98\x80",
	    "\xc3\xa4\xe2\x82\xac\xe6\xbc\xa2\xf0\x9f\x98\x80");
}

static void
shown(char *got, const char *want)
{
	ATF_REQUIRE(got != NULL);
	ATF_CHECK_STREQ(got, want);
	free(got);
}

static void
name(const char *in, const char *want)
{
	shown(escape_name(in), want);
}

static void
label(const char *in, const char *want)
{
	shown(escape_label(in), want);
}

/* A name that looks empty, or like another one. */
ATF_TC_WITHOUT_HEAD(blanks_in_names);
ATF_TC_BODY(blanks_in_names, tc)
{
	static const char	*const blanks[] = {
		"\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x8a",
		"\xe2\x80\xaf", "\xe2\x81\x9f", "\xe2\xa0\x80",
		"\xe3\x80\x80", "\xf0\x93\x91\x81", "\xf0\x9d\x85\x99"
	};
	static const char	*const want[] = {
		"<U+00A0>", "<U+1680>", "<U+2000>", "<U+200A>", "<U+202F>",
		"<U+205F>", "<U+2800>", "<U+3000>", "<U+13441>", "<U+1D159>"
	};
	char			in[16], out[32];
	size_t			i;

	for (i = 0; i < sizeof(blanks) / sizeof(blanks[0]); i++) {
		name(blanks[i], want[i]);
		snprintf(in, sizeof(in), "a%sb", blanks[i]);
		snprintf(out, sizeof(out), "a%sb", want[i]);
		name(in, out);
		/* They stand in texts. */
		check(in, strlen(in), "\t", in);
	}
	name(" ", "<U+0020>");
	name("  ", "<U+0020><U+0020>");
	name("a ", "a<U+0020>");
	name(" a", "<U+0020>a");
	name("a b  c", "a b  c");
	name("a b /c", "a b<U+0020>/c");
	name("a/ b/  /c d", "a/<U+0020>b/<U+0020><U+0020>/c d");
	name("", "");
	name("\t\xff", "<U+0009><FF>");
	name("\xe6\xbc\xa2", "\xe6\xbc\xa2");
	CHECK(" a ", " a ");
	/* What is no path has but two ends. */
	label("tail -1 /etc/hosts / x", "tail -1 /etc/hosts / x");
	label(" a / b ", "<U+0020>a / b<U+0020>");
	label("  ", "<U+0020><U+0020>");
	label("a\xc2\xa0/", "a<U+00A0>/");
}

ATF_TC_WITHOUT_HEAD(invalid_utf8);
ATF_TC_BODY(invalid_utf8, tc)
{
	CHECK("\xff", "<FF>");
	CHECK("a\xe2\x82", "a<E2><82>");
	CHECK("\xc0\xaf", "<C0><AF>");
	CHECK("\xc1\x9b", "<C1><9B>");
	CHECK("\xe0\x80\x9b", "<E0><80><9B>");
	CHECK("\xed\xa0\x80", "<ED><A0><80>");
	CHECK("\xf4\x90\x80\x80", "<F4><90><80><80>");
	CHECK("\xf8\x88\x80\x80\x80", "<F8><88><80><80><80>");
	CHECK("\xe2\x28\xa1", "<E2>(<A1>");
	CHECK("\xf0\x9f\x98", "<F0><9F><98>");
}

/* Whatever comes in, what comes out is UTF-8 that needs no escape again. */
ATF_TC_WITHOUT_HEAD(random_bytes);
ATF_TC_BODY(random_bytes, tc)
{
	struct sample_rng	r = { 11 };
	char			in[64], *out, *again;
	size_t			len, j;
	int			i;

	for (i = 0; i < 50000; i++) {
		len = sample_below(&r, sizeof(in));
		for (j = 0; j < len; j++)
			/* half of them from where it is interesting */
			in[j] = (char)(sample_below(&r, 2) ?
			    0x80 + sample_below(&r, 128) :
			    sample_below(&r, 256));
		ATF_REQUIRE((out = escape_text(in, len, "\t")) != NULL);
		ATF_REQUIRE(utf8_valid(out, strlen(out)));
		ATF_REQUIRE(!escape_needed(out, strlen(out), "\t"));
		again = escape_text(out, strlen(out), "\t");
		ATF_REQUIRE(again != NULL);
		ATF_REQUIRE_STREQ(again, out);
		free(again);
		free(out);
	}
}

/* What a message takes of a text that was cut, or is a path as it lies. */
ATF_TC_WITHOUT_HEAD(fit);
ATF_TC_BODY(fit, tc)
{
	static const struct {
		const char	*in, *out;
	} t[] = {
		{ "plain", "plain" }, { "\n\xc3\xa9", "\n\xc3\xa9" },
		{ "a\xe3\x81", "a<E3><81>" },
		{ "\xff\xc3\xa9", "<FF>\xc3\xa9" },
		/* nine bytes and the NUL: within the escape, the character */
		{ "12345\xff" "7", "12345<FF>" },
		{ "1234\xff\xc3\xa9", "1234<FF>" },
		{ "\xff\xff\xff", "<FF><FF><" },
	};
	char	text[10];
	size_t	i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		strlcpy(text, t[i].in, sizeof(text));
		escape_fit(text, sizeof(text));
		ATF_CHECK_STREQ(text, t[i].out);
	}
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, fit);
	ATF_TP_ADD_TC(tp, controls);
	ATF_TP_ADD_TC(tp, c1);
	ATF_TP_ADD_TC(tp, bidi_and_invisible);
	ATF_TP_ADD_TC(tp, blanks_in_names);
	ATF_TP_ADD_TC(tp, invalid_utf8);
	ATF_TP_ADD_TC(tp, random_bytes);
	return (atf_no_error());
}
