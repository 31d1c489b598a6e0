/*
 * SHA-256 and its HMAC (RFC 2104), over libmd's implementation.
 */
#ifndef COMMON_DIGEST_H
#define COMMON_DIGEST_H

#include <sys/types.h>
#include <stddef.h>
#include <stdint.h>
#include <sha2.h>

#define DIGEST_LEN	32

struct digest {
	SHA2_CTX	ctx;
};
void	digest_init(struct digest *);
void	digest_add(struct digest *, const void *, size_t);
void	digest_end(struct digest *, uint8_t[DIGEST_LEN]);
/* Of what is left in fd from offset 0, by pread; -1 errno. size may be NULL. */
int	digest_fd(int fd, uint8_t[DIGEST_LEN], uint64_t *size);
void	digest_hex(const uint8_t[DIGEST_LEN], char[2 * DIGEST_LEN + 1]);
/* Exactly 64 hexadecimal digits; -1 else. */
int	digest_parse(const char *, uint8_t[DIGEST_LEN]);
void	hmac(const uint8_t *key, size_t keylen, const void *, size_t,
	    uint8_t[DIGEST_LEN]);
/* Constant time; 0 equal. */
int	digest_cmp(const uint8_t[DIGEST_LEN], const uint8_t[DIGEST_LEN]);

#endif
