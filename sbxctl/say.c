#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/escape.h"
#include "sbxctl.h"

int	fail_status = EXIT_OTHER;

/* What is named in a line may hold any byte: nothing of it drives the
 * terminal, and one line stays one. */
static void __attribute__((format(printf, 1, 0)))
say_line(const char *fmt, va_list ap)
{
	char	*text, *seen;

	progress_end();
	if (vasprintf(&text, fmt, ap) == -1)
		return;
	if ((seen = escape_text(text, strlen(text), "")) != NULL)
		fprintf(stderr, "sbxctl: %s\n", seen);
	free(seen);
	free(text);
}

void
say(const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
}

void
fail(const char *fmt, ...)
{
	va_list	ap;

	terminal_restore();
	fflush(stdout);
	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
	exit(fail_status);
}

void
fail_usage(const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	say_line(fmt, ap);
	va_end(ap);
	exit(EXIT_USAGE);
}

void *
need(void *p)
{
	if (p == NULL)
		fail("out of memory");
	return (p);
}

char *
copy(const char *s)
{
	return (need(strdup(s)));
}

char *
visible(const char *s)
{
	return (need(escape_text(s, strlen(s), "")));
}

char *
visible_name(const char *s)
{
	return (need(escape_name(s)));
}

char *
visible_label(const char *s)
{
	return (need(escape_label(s)));
}

int
done(int status)
{
	if (fflush(stdout) == EOF || ferror(stdout)) {
		/* Whoever read it has seen enough, as with head(1). */
		if (errno == EPIPE && signal(SIGPIPE, SIG_DFL) != SIG_ERR)
			raise(SIGPIPE);
		fail("standard output: %s: not all was written: make room "
		    "there, or write elsewhere", strerror(errno));
	}
	return (status);
}
