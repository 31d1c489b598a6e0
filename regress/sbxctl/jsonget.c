/*
 * jsonget [PATH]: reads one JSON object from standard input, strictly, and
 * prints the value at PATH (keys and numbers with dots between); without
 * PATH only reads. Strings as their bytes, everything else as compact JSON;
 * "PATH#" is the number of elements. Exit 1: no such place; 2: not JSON.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

static json_t *
step(json_t *at, const char *word)
{
	char	*end;
	size_t	 i;

	if (json_is_object(at))
		return (json_object_get(at, word));
	i = strtoul(word, &end, 10);
	return (json_is_array(at) && *end == '\0' ? json_array_get(at, i) :
	    NULL);
}

static void
print(json_t *at, bool count)
{
	if (count)
		printf("%zu\n", json_is_array(at) ? json_array_size(at) :
		    json_object_size(at));
	else if (json_is_string(at))
		printf("%s\n", json_string_value(at));
	else {
		json_dumpf(at, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
		putchar('\n');
	}
}

int
main(int argc, char **argv)
{
	json_error_t	 e;
	json_t		*root, *at;
	char		*word, *rest = argc > 1 ? argv[1] : NULL;
	bool		 count = false;
	size_t		 len;

	root = json_loadf(stdin, JSON_REJECT_DUPLICATES, &e);
	if (root == NULL)
		errx(2, "line %d: %s", e.line, e.text);
	at = json_is_object(root) ? root : NULL;
	if (rest != NULL && (len = strlen(rest)) > 0 &&
	    rest[len - 1] == '#') {
		rest[len - 1] = '\0';
		count = true;
	}
	while (at != NULL && (word = strsep(&rest, ".")) != NULL)
		at = step(at, word);
	if (at != NULL && argc > 1)
		print(at, count);
	json_decref(root);
	return (at == NULL);
}
