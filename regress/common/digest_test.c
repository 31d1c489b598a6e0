/*
 * SHA-256 by the vectors of FIPS 180-4, its HMAC by those of RFC 4231.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/digest.h"
#include "regress/lib/test.h"

static void
check(const uint8_t got[DIGEST_LEN], const char *want)
{
	char	hex[2 * DIGEST_LEN + 1];

	digest_hex(got, hex);
	ATF_REQUIRE_STREQ(hex, want);
}

static void
sha(const void *p, size_t len, size_t step, const char *want)
{
	struct digest	 d;
	uint8_t		 out[DIGEST_LEN];
	const char	*s = p;
	size_t		 n;

	digest_init(&d);
	for (; len > 0; s += n, len -= n) {
		n = len < step ? len : step;
		digest_add(&d, s, n);
	}
	digest_end(&d, out);
	check(out, want);
}

ATF_TC_WITHOUT_HEAD(sha256);
ATF_TC_BODY(sha256, tc)
{
	static const char	two[] = "abcdbcdecdefdefgefghfghighijhijk"
				    "ijkljklmklmnlmnomnopnopq";
	char			*a = malloc(1000000);
	size_t			 step;

	ATF_REQUIRE(a != NULL);
	memset(a, 'a', 1000000);
	for (step = 1; step < 70; step += 3) {
		sha("", 0, step, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4"
		    "649b934ca495991b7852b855");
		sha("abc", 3, step, "ba7816bf8f01cfea414140de5dae2223b00361a3"
		    "96177a9cb410ff61f20015ad");
		sha(two, sizeof(two) - 1, step, "248d6a61d20638b8e5c026930c3e"
		    "6039a33ce45964ff2167f6ecedd419db06c1");
	}
	sha(a, 1000000, 4093, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a4972"
	    "00e046d39ccc7112cd0");
	free(a);
}

static void
mac(int key, size_t keylen, const char *text, const char *want)
{
	uint8_t	k[131], out[DIGEST_LEN];

	memset(k, key, sizeof(k));
	hmac(k, keylen, text, strlen(text), out);
	check(out, want);
}

ATF_TC_WITHOUT_HEAD(hmac_sha256);
ATF_TC_BODY(hmac_sha256, tc)
{
	char	dd[51], cd[51], key[26];
	uint8_t	out[DIGEST_LEN];
	int	i;

	mac(0x0b, 20, "Hi There", "b0344c61d8db38535ca8afceaf0bf12b"
	    "881dc200c9833da726e9376c2e32cff7");
	hmac((const uint8_t *)"Jefe", 4, "what do ya want for nothing?", 28,
	    out);
	check(out, "5bdcc146bf60754e6a042426089575c7"
	    "5a003f089d2739839dec58b964ec3843");
	memset(dd, 0xdd, 50);
	dd[50] = '\0';
	mac(0xaa, 20, dd, "773ea91e36800e46854db8ebd09181a7"
	    "2959098b3ef8c122d9635514ced565fe");
	memset(cd, 0xcd, 50);
	cd[50] = '\0';
	for (i = 0; i < 25; i++)
		key[i] = (char)(i + 1);
	hmac((const uint8_t *)key, 25, cd, 50, out);
	check(out, "82558a389a443c0ea4cc819899f2083a"
	    "85f0faa3e578f8077a2e3ff46729665b");
	mac(0xaa, 131, "Test Using Larger Than Block-Size Key - Hash Key "
	    "First", "60e431591ee0b67f0d8a26aacbf5b77f"
	    "8e0bc6213728c5140546040f0ee37f54");
	mac(0xaa, 131, "This is a test using a larger than block-size key "
	    "and a larger than block-size data. The key needs to be hashed "
	    "before being used by the HMAC algorithm.",
	    "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

ATF_TC_WITHOUT_HEAD(of_a_file);
ATF_TC_BODY(of_a_file, tc)
{
	const char	*path = test_path("file");
	uint8_t		 out[DIGEST_LEN];
	char		*a = malloc(1000000);
	uint64_t	 size;
	int		 fd;

	ATF_REQUIRE(a != NULL);
	memset(a, 'a', 1000000);
	ATF_REQUIRE((fd = open(path, O_RDWR | O_CREAT, 0600)) != -1);
	ATF_REQUIRE_EQ(write(fd, a, 1000000), 1000000);
	/* Where the descriptor stands does not matter, and stays. */
	ATF_REQUIRE_EQ(lseek(fd, 17, SEEK_SET), 17);
	ATF_REQUIRE_EQ(digest_fd(fd, out, &size), 0);
	ATF_REQUIRE_EQ(size, 1000000);
	ATF_REQUIRE_EQ(lseek(fd, 0, SEEK_CUR), 17);
	check(out, "cdc76e5c9914fb9281a1c7e284d73e67"
	    "f1809a48a497200e046d39ccc7112cd0");
	ATF_REQUIRE_EQ(ftruncate(fd, 0), 0);
	ATF_REQUIRE_EQ(digest_fd(fd, out, NULL), 0);
	check(out, "e3b0c44298fc1c149afbf4c8996fb924"
	    "27ae41e4649b934ca495991b7852b855");
	close(fd);
	ATF_REQUIRE_EQ(digest_fd(fd, out, NULL), -1);
	ATF_REQUIRE((fd = open("/", O_RDONLY)) != -1);
	ATF_REQUIRE_EQ(digest_fd(fd, out, NULL), -1);
	close(fd);
	free(a);
}

ATF_TC_WITHOUT_HEAD(text_form);
ATF_TC_BODY(text_form, tc)
{
	static const char	good[] = "00ff0123456789abcdefABCDEF000000"
				    "000000000000000000000000000000aa";
	uint8_t			a[DIGEST_LEN], b[DIGEST_LEN];
	char			text[80];
	size_t			i;

	ATF_REQUIRE_EQ(digest_parse(good, a), 0);
	ATF_REQUIRE(a[0] == 0 && a[1] == 0xff && a[2] == 1 && a[31] == 0xaa);
	ATF_REQUIRE_EQ(digest_parse("", b), -1);
	for (i = 0; i < 64; i++) {
		memcpy(text, good, sizeof(good));
		text[i] = i % 2 ? 'g' : '/';
		ATF_REQUIRE_EQ(digest_parse(text, b), -1);
		text[i] = '\0';
		ATF_REQUIRE_EQ(digest_parse(text, b), -1);
	}
	memcpy(text, good, sizeof(good));
	strlcat(text, "0", sizeof(text));
	ATF_REQUIRE_EQ(digest_parse(text, b), -1);
	for (i = 0; i < DIGEST_LEN * 8; i++) {
		memcpy(b, a, sizeof(b));
		ATF_REQUIRE_EQ(digest_cmp(a, b), 0);
		b[i / 8] = (uint8_t)(b[i / 8] ^ 1 << i % 8);
		ATF_REQUIRE(digest_cmp(a, b) != 0);
	}
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, sha256);
	ATF_TP_ADD_TC(tp, hmac_sha256);
	ATF_TP_ADD_TC(tp, of_a_file);
	ATF_TP_ADD_TC(tp, text_form);
	return (atf_no_error());
}
