#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "keys.h"

#define ESC		0x1b
#define NO_KEY		0	/* NUL, C-@, is none that detaches */

/* Modifiers as terminals count them, less 1. */
#define MOD_SHIFT	1
#define MOD_CTRL	4
#define MOD_LOCKS	(64 | 128)

/* The byte that a terminal has for this key, NO_KEY: none. */
static uint8_t
key_control(uint32_t c)
{
	if (c >= 'a' && c <= 'z')
		return ((uint8_t)(c - 'a' + 1));
	return (c > '@' && c <= '_' ? (uint8_t)(c & 0x1f) : NO_KEY);
}

static const char *
key_parse(const char *word, size_t len, uint8_t *key)
{
	static const char *const	prefixes[] = { "ctrl-", "C-", "^" };
	size_t				i, n;

	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		n = strlen(prefixes[i]);
		if (len != n + 1 || strncasecmp(word, prefixes[i], n) != 0)
			continue;
		if ((*key = key_control((uint8_t)word[n])) == NO_KEY)
			return ("no such control key");
		return (*key == ESC ? "Escape begins many other keys" : NULL);
	}
	*key = (uint8_t)word[0];
	return (len == 1 && *key > ' ' && *key < 0x7f ? NULL : "no such key");
}

const char *
keys_parse(struct keys *k, const char *text)
{
	const char	*why;
	size_t		 len;

	memset(k, 0, sizeof(*k));
	if (strcmp(text, "none") == 0)
		return (NULL);
	for (;;) {
		len = strcspn(text, ",");
		if (k->n == KEYS_MAX)
			return ("more than 8 keys");
		if ((why = key_parse(text, len, &k->want[k->n++])) != NULL)
			return (why);
		if (text[len] == '\0')
			return (NULL);
		text += len + 1;
	}
}

/* A number of a sequence's, and what stands after a ":" in it. */
struct number {
	uint32_t	v, sub;
};

static size_t
numbers(const uint8_t *p, size_t len, struct number *out, size_t max)
{
	size_t		 i, n = 1;
	uint32_t	*v;
	bool		 sub = false;

	memset(out, 0, max * sizeof(*out));
	for (i = 0; i < len; i++) {
		if (p[i] == ';' && n++ == max)
			return (0);
		if (p[i] == ';' || p[i] == ':') {
			sub = p[i] == ':';
			continue;
		}
		if (p[i] < '0' || p[i] > '9')
			return (0);
		v = sub ? &out[n - 1].sub : &out[n - 1].v;
		if (*v < 0xffffff)
			*v = *v * 10 + (p[i] - '0');
	}
	return (n);
}

/* Which key a whole sequence names; NO_KEY: none. */
static uint8_t
key_named(const uint8_t *p, size_t len)
{
	struct number	v[3];
	uint32_t	code, mods;
	size_t		n;

	if (len < 4 || (p[len - 1] != 'u' && p[len - 1] != '~') ||
	    (n = numbers(p + 2, len - 3, v, 3)) == 0)
		return (NO_KEY);
	if (p[len - 1] == '~' && (n != 3 || v[0].v != 27))
		return (NO_KEY);
	code = p[len - 1] == '~' ? v[2].v : v[0].v;
	mods = v[1].v == 0 ? 0 : v[1].v - 1;
	/* CSI u says press, repeat, release; the last is none. */
	if (code > 0x7e || (p[len - 1] == 'u' && v[1].sub > 2))
		return (NO_KEY);
	mods &= ~(uint32_t)MOD_LOCKS;
	if (mods == MOD_CTRL)
		return (key_control(code));
	return (mods == 0 || mods == MOD_SHIFT ? (uint8_t)code : NO_KEY);
}

static size_t
keys_out(struct keys *k, size_t n, uint8_t *out)
{
	memcpy(out, k->held, n);
	memmove(k->held, k->held + n, k->nheld + k->ntoken - n);
	k->nheld -= n;
	return (n);
}

/* The first of those held back was none of them after all. */
static size_t
keys_shift(struct keys *k, uint8_t *out)
{
	size_t	n = keys_out(k, k->lens[0], out);

	k->nhave--;
	memmove(k->have, k->have + 1, k->nhave);
	memmove(k->lens, k->lens + 1, k->nhave * sizeof(k->lens[0]));
	return (n);
}

/* What is coming is whole: is it the next one? */
static size_t
keys_token(struct keys *k, uint8_t key, uint8_t *out, bool *all)
{
	size_t	n = 0;

	k->have[k->nhave] = key;
	k->lens[k->nhave++] = k->ntoken;
	k->nheld += k->ntoken;
	k->ntoken = 0;
	while (k->nhave > 0 && (key == NO_KEY ||
	    memcmp(k->have, k->want, k->nhave) != 0))
		n += keys_shift(k, out + n);
	*all = k->nhave == k->n;
	return (n);
}

/* Is the sequence that has begun over with this byte, and what is it? */
static bool
key_over(const uint8_t *p, size_t len, uint8_t *key)
{
	uint8_t	last = p[len - 1];

	*key = NO_KEY;
	if (len == 1) {
		*key = last;
		return (last != ESC);
	}
	if (len == 2)
		return (last != '[');
	if (len == KEYS_TOKEN || last < ' ')
		return (true);
	if (last < '@' || last > '~')
		return (false);
	*key = key_named(p, len);
	return (true);
}

bool
keys_in(struct keys *k, const uint8_t *in, size_t len, uint8_t *out,
    size_t *outlen)
{
	uint8_t	key;
	size_t	i, n = 0;
	bool	all = false;

	if (k->n == 0) {
		memcpy(out, in, len);
		*outlen = len;
		return (false);
	}
	for (i = 0; i < len && !all; i++) {
		/* An Escape cuts short what was before it. */
		if (in[i] == ESC && k->ntoken > 0)
			n += keys_token(k, NO_KEY, out + n, &all);
		k->held[k->nheld + k->ntoken++] = in[i];
		if (key_over(k->held + k->nheld, k->ntoken, &key))
			n += keys_token(k, key, out + n, &all);
	}
	*outlen = n;
	return (all);
}

bool
keys_begun(const struct keys *k)
{
	return (k->ntoken > 0);
}

size_t
keys_let_go(struct keys *k, uint8_t *out)
{
	bool	all;

	return (k->ntoken > 0 ? keys_token(k, NO_KEY, out, &all) : 0);
}
