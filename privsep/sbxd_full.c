/*
 * The state's filesystem is full, which a session can bring about: whoever
 * hears of it hears which filesystem it is and what makes room.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../common/escape.h"
#include "sbxd.h"

static char	text[LIMIT_MESSAGE + 1];

const char *
state_full(const char *what)
{
	snprintf(text, sizeof(text), "%.1024s; the filesystem of the state, "
	    "%.1024s, is full: make room there, or drop what sessions changed "
	    "(\"sbxctl discard ID PATH...\", \"sbxctl rm --discard ID\")",
	    what, sbxd.conf.state);
	escape_fit(text, sizeof(text));
	return (text);
}

const char *
state_why(const char *what)
{
	char	why[512];
	int	e = errno;

	snprintf(why, sizeof(why), "%s: %s", what, strerror(e));
	if (e == ENOSPC || e == EDQUOT)
		return (state_full(why));
	snprintf(text, sizeof(text), "%s (in %.1024s/sbxd)", why,
	    sbxd.conf.state);
	escape_fit(text, sizeof(text));
	return (text);
}
