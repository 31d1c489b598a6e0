/*
 * Path arithmetic.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/path.h"
#include "regress/lib/sample.h"
#include "regress/lib/test.h"

ATF_TC_WITHOUT_HEAD(canonical);
ATF_TC_BODY(canonical, tc)
{
	static const char *const good[] = {
		"/", "/a", "/a/b", "/...", "/.a", "/..a", "/a..", "/a.",
		"/ ", "/a\nb", "/\xff"
	};
	static const char *const bad[] = {
		"", "a", "a/b", "./a", "..", "//", "//a", "/a/", "/a//b",
		"/.", "/..", "/a/.", "/a/..", "/./a", "/../a", "/a/./b",
		"/a/../b", " /a"
	};
	size_t	i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!path_is_canonical(good[i]))
			atf_tc_fail("\"%s\" is not canonical", good[i]);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (path_is_canonical(bad[i]))
			atf_tc_fail("\"%s\" is canonical", bad[i]);
}

ATF_TC_WITHOUT_HEAD(below);
ATF_TC_BODY(below, tc)
{
	static const struct {
		const char	*dir, *path, *rest;
	} t[] = {
		{ "/", "/", "" }, { "/", "/a", "a" }, { "/", "/a/b", "a/b" },
		{ "/a", "/a", "" }, { "/a", "/a/b", "b" },
		{ "/a", "/a/b/c", "b/c" }, { "/a", "/ab", NULL },
		{ "/a", "/", NULL }, { "/a/b", "/a", NULL },
		{ "/a", "/A", NULL }, { "/a/b", "/a/bc/d", NULL },
		{ "/home/u", "/home/u2/x", NULL },
	};
	const char	*got;
	size_t		 i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		got = path_below(t[i].dir, t[i].path);
		if ((got == NULL) != (t[i].rest == NULL) ||
		    (got != NULL && strcmp(got, t[i].rest) != 0))
			atf_tc_fail("%s below %s: %s", t[i].path, t[i].dir,
			    got == NULL ? "not" : got);
		ATF_REQUIRE_EQ(path_within(t[i].dir, t[i].path),
		    t[i].rest != NULL);
		ATF_REQUIRE(got == NULL || (got >= t[i].path &&
		    got <= t[i].path + strlen(t[i].path)));
	}
}

ATF_TC_WITHOUT_HEAD(clean);
ATF_TC_BODY(clean, tc)
{
	static const struct {
		const char	*cwd, *in, *out;
	} t[] = {
		{ "/w", "a", "/w/a" }, { "/w", "", "/w" }, { "/w", ".", "/w" },
		{ "/w", "..", "/" }, { "/w", "../../..", "/" },
		{ "/w/x", "../y", "/w/y" }, { "/w", "/a", "/a" },
		{ "/w", "/", "/" }, { "/w", "//a//b//", "/a/b" },
		{ "/w", "/a/./b/../c", "/a/c" }, { "/w", "/../../a", "/a" },
		{ "/", "a", "/a" }, { "/", ".", "/" }, { "/", "", "/" },
		{ "/w/", "a/", "/w/a" }, { "/w", "...", "/w/..." },
		{ "/w", "..a", "/w/..a" }, { "/w", "a/..", "/w" },
		{ "/w", "./././a", "/w/a" },
	};
	char	out[64];
	size_t	i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		ATF_REQUIRE_EQ(path_clean(t[i].cwd, t[i].in, out, sizeof(out)),
		    0);
		if (strcmp(out, t[i].out) != 0)
			atf_tc_fail("%s + %s: %s, not %s", t[i].cwd, t[i].in,
			    out, t[i].out);
	}
}

/* A buffer of every size: the whole result, or ENAMETOOLONG. */
ATF_TC_WITHOUT_HEAD(clean_small_buffers);
ATF_TC_BODY(clean_small_buffers, tc)
{
	static const char	whole[] = "/w/bcd/e";
	char			out[32];
	size_t			size;
	int			r;

	for (size = 0; size < sizeof(out); size++) {
		memset(out, 'x', sizeof(out));
		errno = 0;
		r = path_clean("/w", "a/../bcd/./e", out, size);
		if (size >= sizeof(whole)) {
			ATF_REQUIRE_EQ(r, 0);
			ATF_REQUIRE_STREQ(out, whole);
		} else {
			ATF_REQUIRE_EQ(r, -1);
			ATF_REQUIRE_EQ(errno, ENAMETOOLONG);
		}
		ATF_REQUIRE(size >= sizeof(out) || out[size] == 'x');
	}
	/* What is folded away need not fit... but its longest part must. */
	ATF_REQUIRE_EQ(path_clean("/", "aaa/../b", out, 5), 0);
	ATF_REQUIRE_STREQ(out, "/b");
}

/* Random spellings come out canonical, and cleaning again changes nothing. */
ATF_TC_WITHOUT_HEAD(clean_is_canonical);
ATF_TC_BODY(clean_is_canonical, tc)
{
	static const char	*const parts[] = {
		"/", "//", ".", "..", "a", "bc", "...", "/../", "/./"
	};
	struct sample_rng	 r = { 7 };
	char			 in[128], out[160], again[160];
	int			 i, n;

	for (i = 0; i < 20000; i++) {
		in[0] = '\0';
		for (n = (int)sample_below(&r, 12); n > 0; n--)
			strlcat(in, parts[sample_below(&r, 9)], sizeof(in));
		ATF_REQUIRE_EQ(path_clean("/w/x", in, out, sizeof(out)), 0);
		if (!path_is_canonical(out))
			atf_tc_fail("\"%s\" gives \"%s\"", in, out);
		ATF_REQUIRE_EQ(path_clean("/other", out, again,
		    sizeof(again)), 0);
		ATF_REQUIRE_STREQ(again, out);
	}
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, canonical);
	ATF_TP_ADD_TC(tp, below);
	ATF_TP_ADD_TC(tp, clean);
	ATF_TP_ADD_TC(tp, clean_small_buffers);
	ATF_TP_ADD_TC(tp, clean_is_canonical);
	return (atf_no_error());
}
