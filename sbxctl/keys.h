/*
 * The keys that detach, found in what a terminal sends. Pure: bytes in, bytes
 * out. A key may come as its control character, or, where the session has
 * switched the terminal to it, as a sequence that names it (CSI u, CSI 27).
 */
#ifndef SBXCTL_KEYS_H
#define SBXCTL_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEYS_MAX	8
#define KEYS_TOKEN	64	/* a longer sequence is no key */
#define KEYS_ROOM	(KEYS_TOKEN * (KEYS_MAX + 1))

struct keys {
	size_t		 n;		/* 0: none detaches */
	uint8_t		 want[KEYS_MAX];

	/* what has come of them, and is held back */
	size_t		 nhave;
	uint8_t		 have[KEYS_MAX];
	size_t		 lens[KEYS_MAX];
	uint8_t		 held[KEYS_ROOM];
	size_t		 nheld;
	/* the key that is just coming: bytes at held + nheld */
	size_t		 ntoken;
};

/* "C-\", "ctrl-p,ctrl-q", "^A,d", "none". NULL, or what is wrong with it. */
const char *keys_parse(struct keys *, const char *);
/* What of it is the session's, in out with KEYS_ROOM more room than len; true
 * where the last key has come: all after it is nobody's. */
bool	keys_in(struct keys *, const uint8_t *in, size_t len, uint8_t *out,
	    size_t *outlen);
/* A sequence has begun, and may be the Escape key alone. */
bool	keys_begun(const struct keys *);
/* It is: out has KEYS_ROOM. */
size_t	keys_let_go(struct keys *, uint8_t *out);

#endif
