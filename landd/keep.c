#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/put.h"
#include "../privsep/pledge.h"
#include "landd.h"

/*
 * A file is segments, one after the other; the last whole one counts, so
 * that a crash while it is added leaves the one before it. A header stands
 * before each content and is written after it: eight bytes of magic, length
 * (u64, little endian), MAC over a line of kind and session, the segment's
 * place, the length and the content's SHA-256. Of a root that is not the first
 * one the kind has its number at the end: "journal.1".
 */
#define KEEP_MAGICLEN	8
#define KEEP_HEADER	(KEEP_MAGICLEN + 8 + DIGEST_LEN)
#define KEEP_KIND	32		/* a kind with its number */

static const uint8_t	keep_magic[KEEP_MAGICLEN] = {
	's', 'b', 'x', 'k', 'e', 'e', 'p', '1'
};

static void
put64(uint8_t *p, uint64_t v)
{
	int	i;

	for (i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t
get64(const uint8_t *p)
{
	uint64_t	v = 0;
	int		i;

	for (i = 7; i >= 0; i--)
		v = v << 8 | p[i];
	return (v);
}

static void
keep_mac(const struct keep_id *id, uint64_t seq, uint64_t len,
    const uint8_t sha[DIGEST_LEN], uint8_t mac[DIGEST_LEN])
{
	const char	*session = id->session;
	uint8_t		 buf[8 + LIMIT_SID + 2 * KEEP_KIND + 16 + DIGEST_LEN];
	char		 kind[KEEP_KIND];
	size_t		 n = 0, k, s = strlen(session) + 1;

	if (id->root == 0)
		snprintf(kind, sizeof(kind), "%s", id->kind);
	else
		snprintf(kind, sizeof(kind), "%s.%llu", id->kind,
		    (unsigned long long)id->root);
	k = strlen(kind) + 1;
	memset(buf, 0, sizeof(buf));
	memcpy(buf, keep_magic, KEEP_MAGICLEN);
	n += KEEP_MAGICLEN;
	memcpy(buf + n, kind, k);
	n += k;
	memcpy(buf + n, session, s);
	n += s;
	put64(buf + n, seq);
	put64(buf + n + 8, len);
	n += 16;
	memcpy(buf + n, sha, DIGEST_LEN);
	n += DIGEST_LEN;
	hmac(landd.key, sizeof(landd.key), buf, n, mac);
}

static void
keep_segment(struct keep_out *k)
{
	k->len = 0;
	digest_init(&k->ctx);
}

void
keep_begin(struct keep_out *k, int fd, const struct keep_id *id)
{
	memset(k, 0, sizeof(*k));
	k->fd = fd;
	k->id = *id;
	keep_segment(k);
}

int
keep_add(struct keep_out *k, const void *p, size_t len)
{
	if (k->off + k->len + len > LIMIT_KEEP) {
		errno = EFBIG;
		return (-1);
	}
	if (put_all_at(k->fd, p, len, (off_t)(k->off + KEEP_HEADER +
	    k->len)) == -1)
		return (-1);
	digest_add(&k->ctx, p, len);
	k->len += len;
	return (0);
}

int
keep_end(struct keep_out *k)
{
	uint8_t	header[KEEP_HEADER], sha[DIGEST_LEN];

	digest_end(&k->ctx, sha);
	memcpy(header, keep_magic, KEEP_MAGICLEN);
	put64(header + KEEP_MAGICLEN, k->len);
	keep_mac(&k->id, k->seq, k->len, sha,
	    header + KEEP_MAGICLEN + 8);
	if (put_all_at(k->fd, header, sizeof(header), (off_t)k->off) == -1 ||
	    fsync(k->fd) == -1)
		return (-1);
	k->off += KEEP_HEADER + k->len;
	k->seq++;
	keep_segment(k);
	return (0);
}

/* errno EBADMSG: what is there is not ours. */
static int
keep_foreign(const char **why, const char *what)
{
	*why = what;
	errno = EBADMSG;
	return (-1);
}

/* The whole file; it is sbxd's, so it is read once and judged then. */
static int
keep_load(int fd, uint8_t **buf, size_t *len, const char **why)
{
	struct stat	st;
	ssize_t		n;
	int		saved;

	*buf = NULL;
	*len = 0;
	if (pledge_fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
		return (keep_foreign(why, "is no file"));
	if (st.st_size > LIMIT_KEEP + KEEP_HEADER)
		return (keep_foreign(why, "is too large"));
	if ((*buf = malloc((size_t)st.st_size + 1)) == NULL)
		return (-1);
	while (*len < (size_t)st.st_size) {
		n = pread(fd, *buf + *len, (size_t)st.st_size - *len,
		    (off_t)*len);
		if (n <= 0) {
			saved = errno;
			free(*buf);
			errno = saved;
			/* Cut off since it was measured. */
			return (n == 0 ? keep_foreign(why, "is cut off") : -1);
		}
		*len += (size_t)n;
	}
	return (0);
}

/* The segment at p verifies; its content's length in *clen. */
static bool
segment_good(const uint8_t *p, size_t left, const struct keep_id *id,
    uint64_t seq, uint64_t *clen)
{
	struct digest	d;
	uint8_t		sha[DIGEST_LEN], mac[DIGEST_LEN];

	if (left < KEEP_HEADER || memcmp(p, keep_magic, KEEP_MAGICLEN) != 0)
		return (false);
	*clen = get64(p + KEEP_MAGICLEN);
	if (*clen > left - KEEP_HEADER)
		return (false);
	digest_init(&d);
	digest_add(&d, p + KEEP_HEADER, (size_t)*clen);
	digest_end(&d, sha);
	keep_mac(id, seq, *clen, sha, mac);
	return (digest_cmp(mac, p + KEEP_MAGICLEN + 8) == 0);
}

/* No header was ever written: whoever wrote was killed before. */
static bool
segment_unfinished(const uint8_t *p, size_t left)
{
	size_t	i;

	for (i = 0; i < left && i < KEEP_HEADER; i++)
		if (p[i] != 0)
			return (false);
	return (true);
}

int
keep_read(int fd, const struct keep_id *id, uint8_t **buf, size_t *len,
    const char **why)
{
	uint8_t		*all;
	size_t		 size, off = 0, at = 0;
	uint64_t	 seq = 0, clen, last = 0;

	*buf = NULL;
	*len = 0;
	if (keep_load(fd, &all, &size, why) == -1)
		return (-1);
	while (off < size && segment_good(all + off, size - off, id, seq,
	    &clen)) {
		at = off + KEEP_HEADER;
		last = clen;
		off = at + (size_t)clen;
		seq++;
	}
	/* What follows a whole one and is none was being added. */
	if (seq == 0 && !segment_unfinished(all, size)) {
		free(all);
		return (keep_foreign(why, "does not verify"));
	}
	memmove(all, all + at, (size_t)last);
	*buf = all;
	*len = (size_t)last;
	return (0);
}
