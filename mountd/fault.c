#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/escape.h"
#include "../common/limits.h"
#include "fault.h"

#define SHOWN_HALF	160	/* bytes kept at either end of a long path */

static struct {
	bool	set;
	int	err;		/* errno at the time, 0: none */
	char	code[64];
	char	text[LIMIT_MESSAGE + 1];
} now;

static void FAULT_FMT(3, 0)
fault_put(const char *code, int err, const char *fmt, va_list ap)
{
	size_t	n;

	if (now.set)
		return;
	now.set = true;
	now.err = err;
	/* Of layers it says which filesystem it is, and not that mounts are
	 * too many. */
	if ((err == ENOSPC || err == EDQUOT) && (strcmp(code,
	    "mount.layer") == 0 || strcmp(code, "mount.clean") == 0))
		code = "state.full";
	snprintf(now.code, sizeof(now.code), "%s", code);
	vsnprintf(now.text, sizeof(now.text), fmt, ap);
	n = strlen(now.text);
	if (err != 0)
		snprintf(now.text + n, sizeof(now.text) - n, ": %s",
		    strerror(err));
	/* What it is about may be a name as it lies on the disk. */
	escape_fit(now.text, sizeof(now.text));
}

int
fault(const char *code, const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	fault_put(code, 0, fmt, ap);
	va_end(ap);
	return (-1);
}

int
fault_errno(const char *code, const char *fmt, ...)
{
	va_list	ap;
	int	err = errno;

	va_start(ap, fmt);
	fault_put(code, err, fmt, ap);
	va_end(ap);
	return (-1);
}

int
fault_also(const char *code, const char *fmt, ...)
{
	va_list	ap;
	size_t	n = 0;

	if (now.set) {
		strlcat(now.text, "; ", sizeof(now.text));
		n = strlen(now.text);
	}
	now.set = true;
	snprintf(now.code, sizeof(now.code), "%s", code);
	va_start(ap, fmt);
	vsnprintf(now.text + n, sizeof(now.text) - n, fmt, ap);
	va_end(ap);
	escape_fit(now.text, sizeof(now.text));
	return (-1);
}

bool
fault_is(void)
{
	return (now.set);
}

const char *
fault_code(void)
{
	return (now.set ? now.code : "mount.failed");
}

const char *
fault_text(void)
{
	return (now.set ? now.text : "it failed without a reason");
}

int
fault_err(void)
{
	return (now.set ? now.err : 0);
}

void
fault_clear(void)
{
	now.set = false;
}

/* True in the middle of a UTF-8 sequence. */
static bool
continues(char c)
{
	return (((unsigned char)c & 0xc0) == 0x80);
}

const char *
shown(const char *path)
{
	static char	 buf[4][2 * SHOWN_HALF + 16];
	static unsigned	 turn;
	char		*out = buf[turn++ % 4], *esc;
	size_t		 len, head = SHOWN_HALF, tail;

	if ((esc = escape_name(path)) == NULL)
		return ("(out of memory)");
	len = strlen(esc);
	if (len <= 2 * SHOWN_HALF) {
		memcpy(out, esc, len + 1);
	} else {
		tail = len - SHOWN_HALF;
		while (head > 0 && continues(esc[head]))
			head--;
		while (tail < len && continues(esc[tail]))
			tail++;
		snprintf(out, sizeof(buf[0]), "%.*s...%s", (int)head, esc,
		    esc + tail);
	}
	free(esc);
	return (out);
}
