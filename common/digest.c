#include <string.h>
#include <unistd.h>

#include "digest.h"

#define HMAC_BLOCK	64

void
digest_init(struct digest *d)
{
	SHA256Init(&d->ctx);
}

void
digest_add(struct digest *d, const void *p, size_t len)
{
	SHA256Update(&d->ctx, p, len);
}

void
digest_end(struct digest *d, uint8_t out[DIGEST_LEN])
{
	SHA256Final(out, &d->ctx);
}

int
digest_fd(int fd, uint8_t out[DIGEST_LEN], uint64_t *size)
{
	struct digest	d;
	uint8_t		buf[32768];
	ssize_t		n;
	off_t		off = 0;

	digest_init(&d);
	while ((n = pread(fd, buf, sizeof(buf), off)) > 0) {
		digest_add(&d, buf, (size_t)n);
		off += n;
	}
	if (n == -1)
		return (-1);
	digest_end(&d, out);
	if (size != NULL)
		*size = (uint64_t)off;
	return (0);
}

void
digest_hex(const uint8_t in[DIGEST_LEN], char out[2 * DIGEST_LEN + 1])
{
	static const char	hex[] = "0123456789abcdef";
	int			i;

	for (i = 0; i < DIGEST_LEN; i++) {
		out[2 * i] = hex[in[i] >> 4];
		out[2 * i + 1] = hex[in[i] & 15];
	}
	out[2 * DIGEST_LEN] = '\0';
}

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return (c - '0');
	if (c >= 'a' && c <= 'f')
		return (c - 'a' + 10);
	if (c >= 'A' && c <= 'F')
		return (c - 'A' + 10);
	return (-1);
}

int
digest_parse(const char *in, uint8_t out[DIGEST_LEN])
{
	int	i, a, b;

	if (strlen(in) != 2 * DIGEST_LEN)
		return (-1);
	for (i = 0; i < DIGEST_LEN; i++) {
		a = hex_value(in[2 * i]);
		b = hex_value(in[2 * i + 1]);
		if (a == -1 || b == -1)
			return (-1);
		out[i] = (uint8_t)(a << 4 | b);
	}
	return (0);
}

void
hmac(const uint8_t *key, size_t keylen, const void *p, size_t len,
    uint8_t out[DIGEST_LEN])
{
	struct digest	d;
	uint8_t		pad[HMAC_BLOCK] = { 0 };
	uint8_t		inner[DIGEST_LEN];
	int		i;

	if (keylen > HMAC_BLOCK) {
		digest_init(&d);
		digest_add(&d, key, keylen);
		digest_end(&d, pad);
	} else
		memcpy(pad, key, keylen);
	for (i = 0; i < HMAC_BLOCK; i++)
		pad[i] ^= 0x36;
	digest_init(&d);
	digest_add(&d, pad, sizeof(pad));
	digest_add(&d, p, len);
	digest_end(&d, inner);
	for (i = 0; i < HMAC_BLOCK; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	digest_init(&d);
	digest_add(&d, pad, sizeof(pad));
	digest_add(&d, inner, sizeof(inner));
	digest_end(&d, out);
	explicit_bzero(pad, sizeof(pad));
	explicit_bzero(&d, sizeof(d));
}

int
digest_cmp(const uint8_t a[DIGEST_LEN], const uint8_t b[DIGEST_LEN])
{
	unsigned int	diff = 0;
	int		i;

	for (i = 0; i < DIGEST_LEN; i++)
		diff |= (unsigned int)(a[i] ^ b[i]);
	return (diff != 0);
}
