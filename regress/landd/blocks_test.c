/*
 * The digest of content, whatever of its zeros is on disk; copies and
 * comparisons that do not read holes.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "regress/lib/test.h"
#include "landd/blocks.h"

#define LARGE	((off_t)BLOCKS_MIN + 3 * BLOCK + 5)

static int
file(off_t size)
{
	int	fd;

	fd = open(test_scratch(), O_RDWR | O_TMPFILE, 0600);
	ATF_REQUIRE(fd != -1 && ftruncate(fd, size) == 0);
	return (fd);
}

static void
put(int fd, off_t off, const char *text)
{
	ATF_REQUIRE(pwrite(fd, text, strlen(text), off) ==
	    (ssize_t)strlen(text));
}

static void
hash(int fd, uint8_t sha[DIGEST_LEN])
{
	struct stat	st;
	uint64_t	size;

	ATF_REQUIRE(fstat(fd, &st) == 0);
	ATF_REQUIRE(blocks_digest(fd, sha, &size) == 0);
	ATF_REQUIRE_EQ(size, (uint64_t)st.st_size);
}

static bool
same(int a, int b)
{
	uint8_t	x[DIGEST_LEN], y[DIGEST_LEN];

	hash(a, x);
	hash(b, y);
	return (memcmp(x, y, DIGEST_LEN) == 0);
}

/* blocks_same agrees with the digests. */
static void
compared(int a, int b, off_t size, bool want)
{
	uint8_t	one[DIGEST_LEN], two[DIGEST_LEN];

	ATF_CHECK_EQ(blocks_same(a, b, (uint64_t)size, one), want);
	ATF_CHECK_EQ(blocks_same(b, a, (uint64_t)size, two), want);
	ATF_CHECK_EQ(same(a, b), want);
	if (!want)
		return;
	ATF_CHECK_EQ(0, memcmp(one, two, DIGEST_LEN));
	hash(a, two);
	ATF_CHECK_EQ(0, memcmp(one, two, DIGEST_LEN));
}

static void
fill(int fd, off_t off, off_t end, char c)
{
	char	block[BLOCK];
	size_t	n;

	memset(block, c, sizeof(block));
	for (; off < end; off += (off_t)n) {
		n = end - off < BLOCK ? (size_t)(end - off) : BLOCK;
		ATF_REQUIRE(pwrite(fd, block, n, off) == (ssize_t)n);
	}
}

/* Up to the bound it is what sha256sum says. */
ATF_TC_WITHOUT_HEAD(small);
ATF_TC_BODY(small, tc)
{
	static const off_t	sizes[] = { 0, 1, BLOCK, BLOCK + 1,
				    BLOCKS_MIN - 1, BLOCKS_MIN };
	uint8_t			sha[DIGEST_LEN], plain[DIGEST_LEN];
	size_t			i;
	int			fd;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		fd = file(sizes[i]);
		if (sizes[i] > 4)
			put(fd, sizes[i] - 4, "end");
		hash(fd, sha);
		ATF_REQUIRE(digest_fd(fd, plain, NULL) == 0);
		ATF_CHECK_EQ(0, memcmp(sha, plain, DIGEST_LEN));
		close(fd);
	}
}

/* As blocks.h defines it, worked out here byte by byte. */
ATF_TC_WITHOUT_HEAD(large);
ATF_TC_BODY(large, tc)
{
	static uint8_t	last[5] = { 0, 0, 'z', 0, 0 }, first[BLOCK];
	struct digest	d;
	uint8_t		sha[DIGEST_LEN], want[DIGEST_LEN], n[8] = { 0 };
	uint64_t	at;
	int		fd = file(LARGE), i;

	put(fd, 7, "a");
	put(fd, LARGE - 3, "z");
	hash(fd, sha);
	first[7] = 'a';
	digest_init(&d);
	digest_add(&d, "sbx blocks 1\n", 13);
	for (i = 0, at = LARGE; i < 8; i++)
		n[i] = (uint8_t)(at >> 8 * i);
	digest_add(&d, n, 8);
	memset(n, 0, 8);
	digest_add(&d, n, 8);
	digest_add(&d, first, BLOCK);
	for (i = 0, at = LARGE / BLOCK; i < 8; i++)
		n[i] = (uint8_t)(at >> 8 * i);
	digest_add(&d, n, 8);
	digest_add(&d, last, 5);
	digest_end(&d, want);
	ATF_CHECK_EQ(0, memcmp(sha, want, DIGEST_LEN));
	close(fd);
}

/* Zeros on disk and zeros in a hole are the same; all else is not. */
ATF_TC_WITHOUT_HEAD(holes);
ATF_TC_BODY(holes, tc)
{
	int	a = file(LARGE), b = file(LARGE), c;

	compared(a, b, LARGE, true);
	fill(b, 0, LARGE, '\0');
	compared(a, b, LARGE, true);
	/* Data on one side only, before and behind the other's. */
	put(a, 10 * BLOCK + 1, "x");
	compared(a, b, LARGE, false);
	put(b, 10 * BLOCK + 1, "x");
	compared(a, b, LARGE, true);
	c = file(LARGE);
	put(c, 9 * BLOCK, "x");
	compared(a, c, LARGE, false);
	put(c, 10 * BLOCK + 1, "x");
	compared(a, c, LARGE, false);
	put(a, 9 * BLOCK, "x");
	compared(a, c, LARGE, true);
	put(c, LARGE - 1, "x");
	compared(a, c, LARGE, false);
	put(a, LARGE - 1, "x");
	compared(a, c, LARGE, true);
	/* The size is part of it, by what it grows however empty. */
	ATF_REQUIRE(ftruncate(c, LARGE + BLOCK) == 0);
	ATF_CHECK(!same(a, c));
	close(a);
	close(b);
	close(c);
}

ATF_TC_WITHOUT_HEAD(copy);
ATF_TC_BODY(copy, tc)
{
	static const off_t	sizes[] = { 0, 1, 3 * BLOCK, LARGE,
				    (off_t)1 << 40 };
	uint8_t			sha[DIGEST_LEN], want[DIGEST_LEN];
	uint64_t		size;
	struct stat		st;
	size_t			i;
	int			from, to;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		from = file(sizes[i]);
		to = file(0);
		if (sizes[i] > 0)
			put(from, sizes[i] - 1, "e");
		if (sizes[i] > 2 * BLOCK) {
			put(from, BLOCK - 1, "xy");
			fill(from, 2 * BLOCK, sizes[i] < LARGE ? sizes[i] - 1 :
			    sizes[3] - 1, '\0');
		}
		ATF_REQUIRE(blocks_copy(from, to, sha, &size) == 0);
		ATF_CHECK_EQ(size, (uint64_t)sizes[i]);
		hash(from, want);
		ATF_CHECK_EQ(0, memcmp(sha, want, DIGEST_LEN));
		compared(from, to, sizes[i], true);
		ATF_REQUIRE(fstat(to, &st) == 0);
		ATF_CHECK_EQ(st.st_size, sizes[i]);
		ATF_CHECK_MSG(st.st_blocks <= 1024, "%lld",
		    (long long)st.st_blocks);
		close(from);
		close(to);
	}
}

/* A file that is being cut off is no content of any size. */
ATF_TC_WITHOUT_HEAD(errors);
ATF_TC_BODY(errors, tc)
{
	uint8_t	sha[DIGEST_LEN];
	int	a = file(10), b = file(9), ro, pair[2];

	ATF_REQUIRE_ERRNO(ESTALE, blocks_same(a, b, 10, sha) == -1);
	ATF_REQUIRE_ERRNO(ESTALE, blocks_same(b, a, 10, sha) == -1);
	put(a, 0, "x");
	ATF_REQUIRE((ro = open("/dev/null", O_RDONLY)) != -1);
	ATF_REQUIRE_ERRNO(EBADF, blocks_copy(a, ro, sha, NULL) == -1);
	ATF_REQUIRE(pipe(pair) == 0);
	close(pair[0]);
	ATF_REQUIRE_ERRNO(EBADF, blocks_digest(pair[0], sha, NULL) == -1);
	close(pair[1]);
	close(ro);
	close(a);
	close(b);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, small);
	ATF_TP_ADD_TC(tp, large);
	ATF_TP_ADD_TC(tp, holes);
	ATF_TP_ADD_TC(tp, copy);
	ATF_TP_ADD_TC(tp, errors);
	return (atf_no_error());
}
