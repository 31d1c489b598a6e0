/*
 * sbxd.conf. What is taken has a canonical text, and that has itself.
 */
#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "fuzz.h"
#include "privsep/conf_parse.h"

static int
count(void *n, const char *key, const char *value)
{
	MUST(strlen(key) <= 64 && strlen(value) <= LIMIT_PATH);
	++*(int *)n;
	return (0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf	*c, *again;
	char		 why[CONF_ERROR] = "", *text, *text2;
	int		 n = 0, n2 = 0;

	conf_seed();
	c = conf_parse((const char *)data, size, why);
	if (c == NULL) {
		MUST(why[0] != '\0' && strlen(why) < CONF_ERROR);
		return (0);
	}
	conf_each(c, count, &n);
	MUST((text = conf_text(c)) != NULL);
	MUST((again = conf_parse(text, strlen(text), why)) != NULL);
	conf_each(again, count, &n2);
	MUST((text2 = conf_text(again)) != NULL);
	MUST(n == n2 && strcmp(text, text2) == 0);
	free(text2);
	free(text);
	conf_free(again);
	conf_free(c);
	return (0);
}
