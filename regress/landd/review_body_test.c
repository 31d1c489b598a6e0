/*
 * The bodies of a patch: what is written always makes the one file of the
 * other, whatever fails or is made to go slowly.
 */
#include <sys/resource.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atf-c.h>
#include <git2.h>
#include <git2/sys/alloc.h>

#include "landd/diff.h"

/* LeakSanitizer's, where it is. */
void	__lsan_disable(void) __attribute__((weak));

/*
 * A differ that fails half way: whichever of its allocations is refused, the
 * body is right, if need be in its plain form.
 */
static long	allowed;

#define FEW	const char *file, int line
#define FEW_P(call)	((void)file, (void)line, allowed-- > 0 ? (call) : NULL)

static void *
few_malloc(size_t n, FEW)
{
	return (FEW_P(malloc(n)));
}

static void *
few_calloc(size_t n, size_t m, FEW)
{
	return (FEW_P(calloc(n, m)));
}

static char *
few_strdup(const char *s, FEW)
{
	return (FEW_P(strdup(s)));
}

static char *
few_strndup(const char *s, size_t n, FEW)
{
	return (FEW_P(strndup(s, n)));
}

static void *
few_realloc(void *p, size_t n, FEW)
{
	return (FEW_P(realloc(p, n)));
}

static void *
few_reallocarray(void *p, size_t n, size_t m, FEW)
{
	return (FEW_P(reallocarray(p, n, m)));
}

static void *
few_mallocarray(size_t n, size_t m, FEW)
{
	return (FEW_P(reallocarray(NULL, n, m)));
}

static void
few_free(void *p)
{
	free(p);
}

ATF_TC_WITHOUT_HEAD(differ_fails);
ATF_TC_BODY(differ_fails, tc)
{
	static const char	 a[] = "one\ntwo\nthree\nfour\n";
	static const char	 b[] = "one\n2\nthree\nfour\nfive";
	struct side		 sa = { (const uint8_t *)a, sizeof(a) - 1 };
	struct side		 sb = { (const uint8_t *)b, sizeof(b) - 1 };
	git_allocator		 few = { few_malloc, few_calloc, few_strdup,
				    few_strndup, few_strndup, few_realloc,
				    few_reallocarray, few_mallocarray,
				    few_free };
	struct diff		 d;
	long			 n;
	int			 plain = 0, binary;

	/* The library itself loses some when it gives up. */
	if (__lsan_disable != NULL)
		__lsan_disable();
	git_libgit2_init();
	ATF_REQUIRE(git_libgit2_opts(GIT_OPT_SET_ALLOCATOR, &few) == 0);
	for (binary = 0; binary < 2; binary++)
		for (n = 0; n < 60; n++) {
			memset(&d, 0, sizeof(d));
			allowed = n;
			ATF_REQUIRE((binary ? diff_blob(&sa, &sb, &d) :
			    diff_text(&sa, &sb, &d)) == 0);
			ATF_REQUIRE(binary ? replay_binary(&d.body, 0, &sa,
			    &sb) : replay_text(&d.body, 0, &sa, &sb));
			if (!binary) {
				ATF_REQUIRE(d.insertions == 2 ||
				    d.insertions == 5);
				plain += d.insertions == 5;
			}
			buf_free(&d.body);
		}
	ATF_CHECK(plain > 0 && plain < 60);
	allowed = 1000000;
}

/* No byte of a body can be another one and pass. */
ATF_TC_WITHOUT_HEAD(replay_is_strict);
ATF_TC_BODY(replay_is_strict, tc)
{
	static const char	 a[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12";
	static const char	 b[] = "1\n2\n3\nx\n5\n6\n7\n8\n9\n10\n11\ny\n";
	struct side		 sa = { (const uint8_t *)a, sizeof(a) - 1 };
	struct side		 sb = { (const uint8_t *)b, sizeof(b) - 1 };
	struct side		 se = { (const uint8_t *)"", 0 };
	struct diff		 d = { .insertions = 0 };
	size_t			 i, len;
	int			 bit, binary, passed = 0;

	git_libgit2_init();
	for (binary = 0; binary < 2; binary++) {
		d.body.len = 0;
		ATF_REQUIRE((binary ? diff_blob(&sa, &sb, &d) :
		    diff_text(&sa, &sb, &d)) == 0);
		for (i = 0; i < d.body.len; i++)
			for (bit = 1; bit < 256; bit <<= 1) {
				d.body.p[i] ^= (uint8_t)bit;
				passed += binary ? replay_binary(&d.body, 0,
				    &sa, &sb) : replay_text(&d.body, 0, &sa,
				    &sb);
				d.body.p[i] ^= (uint8_t)bit;
			}
		len = d.body.len;
		for (d.body.len = 0; d.body.len < len; d.body.len++)
			passed += binary ? replay_binary(&d.body, 0, &sa,
			    &sb) : replay_text(&d.body, 0, &sa, &sb);
		ATF_CHECK(!(binary ? replay_binary(&d.body, 0, &sa, &se) :
		    replay_text(&d.body, 0, &sa, &se)));
	}
	/* A mark of a missing newline that only one bit spoils is a line. */
	ATF_CHECK_EQ(passed, 0);
	buf_free(&d.body);
}

/* Two pairs of letters that take the differ's hash from h to the same. */
static unsigned long
collide_pair(unsigned long h, char one[2], char two[2])
{
	unsigned long	x, y;
	int		a, b, c;

	for (a = 33; a < 127; a++)
		for (c = a + 1; c < 127; c++) {
			x = ((h * 33) ^ (unsigned long)a) * 33;
			y = ((h * 33) ^ (unsigned long)c) * 33;
			for (b = 33; b < 127 && (x ^ y) < 128; b++)
				if (((unsigned long)b ^ x ^ y) > 32 &&
				    ((unsigned long)b ^ x ^ y) < 127) {
					one[0] = (char)a;
					one[1] = (char)b;
					two[0] = (char)c;
					two[1] = (char)((unsigned long)b ^
					    x ^ y);
					return (x ^ (unsigned long)b);
				}
		}
	atf_tc_fail("no pair");
}

/* Lines that differ and all have the one hash: a choice of two pairs, seventeen
 * times. */
static size_t
colliding(char *p, size_t lines, unsigned int seed)
{
	char		pair[17][2][2];
	unsigned long	h = 5381;
	size_t		i, len = 0;
	int		j;

	for (j = 0; j < 17; j++)
		h = collide_pair(h, pair[j][0], pair[j][1]);
	for (i = 0; i < lines; i++) {
		for (j = 0; j < 17; j++, len += 2)
			memcpy(p + len, pair[j][(i ^ seed) >> j & 1], 2);
		p[len++] = '\n';
	}
	return (len);
}

/* They do not hang a review. */
ATF_TC(collisions);
ATF_TC_HEAD(collisions, tc)
{
	atf_tc_set_md_var(tc, "timeout", "120");
}
ATF_TC_BODY(collisions, tc)
{
	static char	 a[100000 * 35], b[100000 * 35];
	struct side	 sa = { (uint8_t *)a, 0 }, sb = { (uint8_t *)b, 0 };
	struct diff	 d = { .insertions = 0 };
	struct rusage	 ru;

	git_libgit2_init();
	sa.len = colliding(a, 100000, 0);
	sb.len = colliding(b, 100000, 0x1ffff);
	ATF_CHECK(diff_collides(&sa));
	ATF_REQUIRE(diff_text(&sa, &sb, &d) == 0);
	ATF_CHECK_EQ(d.insertions, 100000);
	ATF_REQUIRE(getrusage(RUSAGE_SELF, &ru) == 0);
	ATF_CHECK_MSG(ru.ru_utime.tv_sec < 5, "%ld s",
	    (long)ru.ru_utime.tv_sec);
	buf_free(&d.body);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, differ_fails);
	ATF_TP_ADD_TC(tp, replay_is_strict);
	ATF_TP_ADD_TC(tp, collisions);
	return (atf_no_error());
}
