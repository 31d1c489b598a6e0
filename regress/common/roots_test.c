/*
 * The roots of a session, as paths.
 */
#include <string.h>

#include "common/roots.h"
#include "regress/lib/test.h"

static struct strv
list(const char **v)
{
	struct strv	sv = { 0, v };

	while (v[sv.n] != NULL)
		sv.n++;
	return (sv);
}

ATF_TC_WITHOUT_HEAD(count);
ATF_TC_BODY(count, tc)
{
	const char	*v[LIMIT_ROOTS + 1] = { NULL };
	struct strv	 more = { 0, v };
	struct roots	 r;
	size_t		 i;

	for (i = 0; i < LIMIT_ROOTS; i++)
		v[i] = "/x";
	for (i = 0; i < LIMIT_ROOTS; i++) {
		more.n = i;
		ATF_CHECK(roots_set(&r, "/a", &more));
		ATF_CHECK_EQ(r.n, i + 1);
		ATF_CHECK_STREQ(r.v[0], "/a");
	}
	more.n = LIMIT_ROOTS;
	ATF_CHECK(!roots_set(&r, "/a", &more));
	more.n = LIMIT_ROOTS + 1;
	ATF_CHECK(!roots_set(&r, "/a", &more));
}

ATF_TC_WITHOUT_HEAD(find);
ATF_TC_BODY(find, tc)
{
	const char	*v[] = { "/b/c", "/d", NULL };
	struct strv	 more = list(v);
	struct roots	 r;

	ATF_REQUIRE(roots_set(&r, "/a", &more));
	ATF_CHECK_EQ(roots_find(&r, "/a"), 0);
	ATF_CHECK_EQ(roots_find(&r, "/b/c"), 1);
	ATF_CHECK_EQ(roots_find(&r, "/d"), 2);
	ATF_CHECK_EQ(roots_find(&r, "/b"), -1);
	ATF_CHECK_EQ(roots_find(&r, "/d/e"), -1);
	ATF_CHECK_STREQ(roots_over(&r, "/d/e/f"), "/d");
	ATF_CHECK_STREQ(roots_over(&r, "/b/c"), "/b/c");
	ATF_CHECK(roots_over(&r, "/b/cd") == NULL);
	ATF_CHECK(roots_over(&r, "/") == NULL);
}

/* What clashes, outer and inner; NULL: nothing does. */
static void
clash(const char **v, const char *out, const char *in)
{
	struct strv	 more = list(v);
	const char	*outer = NULL, *inner = NULL;
	struct roots	 r;

	ATF_REQUIRE(roots_set(&r, "/a/b", &more));
	ATF_CHECK_EQ(roots_clash(&r, &outer, &inner), out != NULL);
	if (out != NULL) {
		ATF_CHECK_STREQ(outer, out);
		ATF_CHECK_STREQ(inner, in);
	}
}

ATF_TC_WITHOUT_HEAD(clashes);
ATF_TC_BODY(clashes, tc)
{
	clash((const char *[]){ NULL }, NULL, NULL);
	clash((const char *[]){ "/a/c", "/a/bb", "/a.b", NULL }, NULL, NULL);
	clash((const char *[]){ "/x", "/a/b", NULL }, "/a/b", "/a/b");
	clash((const char *[]){ "/x", "/x", NULL }, "/x", "/x");
	clash((const char *[]){ "/x", "/a", NULL }, "/a", "/a/b");
	clash((const char *[]){ "/x", "/a/b/c/d", NULL }, "/a/b", "/a/b/c/d");
	clash((const char *[]){ "/x/y", "/x", NULL }, "/x", "/x/y");
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, count);
	ATF_TP_ADD_TC(tp, find);
	ATF_TP_ADD_TC(tp, clashes);
	return (atf_no_error());
}
