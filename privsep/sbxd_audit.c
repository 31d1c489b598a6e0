/*
 * The audit log: a line when something is about to land or be thrown away,
 * without which it is not done, and a line that says what came of it, synced
 * before that is answered.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/escape.h"
#include "../common/log.h"
#include "sbxd.h"

#define AUDIT_PATHS	65536	/* bytes of paths in a line */
#define AUDIT_ROOM	(4 * AUDIT_PATHS)

static off_t	audit_end;	/* of what the filesystem has set aside */

/* What is no plain character is %XX. */
static char *
audit_byte(char *o, unsigned char c)
{
	static const char	hex[] = "0123456789ABCDEF";

	if (c > 0x20 && c < 0x7f && c != ',' && c != '%') {
		*o++ = (char)c;
		return (o);
	}
	*o++ = '%';
	*o++ = hex[c >> 4];
	*o++ = hex[c & 15];
	return (o);
}

struct audit_word
audit_word(const char *text)
{
	struct audit_word	 w;
	char			*o = w.s, *end = w.s + sizeof(w.s) - 3;

	for (; *text != '\0' && o < end; text++)
		o = audit_byte(o, (unsigned char)*text);
	*o = '\0';
	return (w);
}

/* Paths as one word. */
static char *
audit_paths(const struct strv *paths)
{
	char			*out, *o, *end;
	const unsigned char	*p;
	size_t			 i;

	if ((out = malloc(AUDIT_PATHS + 32)) == NULL)
		return (NULL);
	end = out + AUDIT_PATHS;
	for (o = out, i = 0; i < paths->n; i++) {
		/* Whole or not at all: its comma, and each byte may be %XX. */
		if (strlen(paths->v[i]) >= (size_t)(end - o) / 3)
			break;
		if (i > 0)
			*o++ = ',';
		for (p = (const unsigned char *)paths->v[i]; *p != '\0'; p++)
			o = audit_byte(o, *p);
	}
	*o = '\0';
	if (i < paths->n)
		snprintf(o, 32, ",+%zu", paths->n - i);
	return (out);
}

/*
 * What makes room in a full state is written down first: room for that is
 * taken beforehand. Where the filesystem cannot, it is not.
 */
void
audit_reserve(void)
{
	off_t	size;

	if ((size = lseek(sbxd.audit, 0, SEEK_END)) == -1 ||
	    size + AUDIT_ROOM / 2 <= audit_end)
		return;
	if (fallocate(sbxd.audit, FALLOC_FL_KEEP_SIZE, size, AUDIT_ROOM) == 0)
		audit_end = size + AUDIT_ROOM;
}

static int
audit_write(const char *line, size_t len)
{
	int	e;

	if (write(sbxd.audit, line, len) == (ssize_t)len &&
	    fdatasync(sbxd.audit) == 0) {
		audit_reserve();
		return (0);
	}
	e = errno;
	log_warn("the audit log");
	errno = e;
	return (-1);
}

int
audit(const char *what, const struct session *s, const char *root, uid_t peer,
    const struct strv *paths, const char *fmt, ...)
{
	char		detail[1024], when[CLOCK_UTC], *line, *seen;
	char		*list = NULL, *where = NULL;
	struct strv	 one = { 1, &root };
	va_list		ap;
	int		e, n, r = -1;

	va_start(ap, fmt);
	vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	/* A helper's word, as a refusal's, stays within its line. */
	seen = escape_text(detail, strlen(detail), "");
	if (paths != NULL && paths->n > 0)
		list = audit_paths(paths);
	if (root != NULL)
		where = audit_paths(&one);
	clock_now(when);
	n = asprintf(&line, "%s %s session=%s%s%s peer=%u%s%s %s\n", when,
	    what, s->rec.r.session, where != NULL ? " root=" : "", where !=
	    NULL ? where : "", (unsigned int)peer, list != NULL ? " paths=" :
	    "", list != NULL ? list : "", seen != NULL ? seen : "-");
	if (n != -1) {
		r = audit_write(line, (size_t)n);
		free(line);
	}
	e = errno;
	free(list);
	free(where);
	free(seen);
	errno = e;
	return (r);
}
