/*
 * Parts of JSON. Strings are the exact bytes where they are UTF-8; else their
 * escaped form, with the bytes in KEY_b64.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/fields.h"
#include "json.h"

static char *
base64(const char *in, size_t len)
{
	static const char	set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	char			*out, *o;
	uint32_t		 w;
	size_t			 i, n;

	o = out = need(malloc((len + 2) / 3 * 4 + 1));
	for (i = 0; i < len; i += 3) {
		n = len - i < 3 ? len - i : 3;
		w = (uint32_t)(unsigned char)in[i] << 16;
		if (n > 1)
			w |= (uint32_t)(unsigned char)in[i + 1] << 8;
		if (n > 2)
			w |= (unsigned char)in[i + 2];
		*o++ = set[w >> 18];
		*o++ = set[w >> 12 & 63];
		*o++ = n > 1 ? set[w >> 6 & 63] : '=';
		*o++ = n > 2 ? set[w & 63] : '=';
	}
	*o = '\0';
	return (out);
}

void
json_put(json_t *o, const char *key, json_t *value)
{
	if (json_object_set_new(o, key, value) == -1)
		fail("out of memory");
}

void
json_number(json_t *o, const char *key, uint64_t n)
{
	json_put(o, key, json_integer((json_int_t)n));
}

void
json_bytes(json_t *o, const char *key, const char *value)
{
	char	*text, *name;

	if (value == NULL)
		return;
	if (utf8_valid(value, strlen(value))) {
		json_put(o, key, json_string(value));
		return;
	}
	text = visible_name(value);
	json_put(o, key, json_string(text));
	free(text);
	if (asprintf(&name, "%s_b64", key) == -1)
		fail("out of memory");
	text = base64(value, strlen(value));
	json_put(o, name, json_string(text));
	free(text);
	free(name);
}

void
json_list(json_t *o, const char *key, const struct strv *list)
{
	json_t	*plain = json_array(), *coded = json_array();
	char	*text, *name;
	bool	 all = true;
	size_t	 i;

	for (i = 0; i < list->n; i++) {
		if (!utf8_valid(list->v[i], strlen(list->v[i])))
			all = false;
		text = utf8_valid(list->v[i], strlen(list->v[i])) ?
		    copy(list->v[i]) : visible_name(list->v[i]);
		json_array_append_new(plain, json_string(text));
		free(text);
		text = base64(list->v[i], strlen(list->v[i]));
		json_array_append_new(coded, json_string(text));
		free(text);
	}
	json_put(o, key, plain);
	if (all) {
		json_decref(coded);
		return;
	}
	if (asprintf(&name, "%s_b64", key) == -1)
		fail("out of memory");
	json_put(o, name, coded);
	free(name);
}

void
json_mode(json_t *o, const char *key, uint64_t mode)
{
	char	text[24];

	if (mode == 0) {
		json_put(o, key, json_null());
		return;
	}
	snprintf(text, sizeof(text), "%06" PRIo64, mode);
	json_put(o, key, json_string(text));
}

/* ASCII only: a terminal may be what reads it. */
void
json_print(json_t *o)
{
	if (o == NULL)
		fail("out of memory");
	if (json_dumpf(o, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII) == -1)
		fail("standard output: not all was written: make room there, "
		    "or write elsewhere");
	putchar('\n');
	json_decref(o);
}
