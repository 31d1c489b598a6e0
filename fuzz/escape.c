/*
 * What people see, and path arithmetic on the same bytes.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/escape.h"
#include "common/fields.h"
#include "common/path.h"
#include "fuzz.h"

static void
escape(const char *in, size_t len, const char *keep)
{
	char	*once = escape_text(in, len, keep), *twice;

	MUST(once != NULL);
	MUST(utf8_valid(once, strlen(once)));
	MUST(!escape_needed(once, strlen(once), keep));
	MUST(escape_needed(in, len, keep) == (strlen(once) != len ||
	    memcmp(once, in, len) != 0));
	twice = escape_text(once, strlen(once), keep);
	MUST(twice != NULL && strcmp(once, twice) == 0);
	free(twice);
	free(once);
}

static void
clean(const char *in)
{
	char	a[PATH_MAX], b[PATH_MAX];

	if (path_clean("/some/where", in, a, sizeof(a)) == -1)
		return;
	MUST(path_is_canonical(a));
	MUST(path_clean("/else", a, b, sizeof(b)) == 0 && strcmp(a, b) == 0);
	MUST(path_within("/", a) && path_within(a, a));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char	*text = malloc(size + 1);

	MUST(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	escape(text, size, "");
	escape(text, size, "\n\t");
	clean(text);
	free(text);
	return (0);
}
