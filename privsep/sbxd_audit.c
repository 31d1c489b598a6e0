/*
 * The audit log: a line a decision, synced before the decision is answered.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/escape.h"
#include "../common/log.h"
#include "sbxd.h"

void
audit(const char *what, const struct session *s, uid_t peer, const char *fmt,
    ...)
{
	char		line[8192], detail[512], when[32];
	struct tm	tm;
	time_t		now = time(NULL);
	va_list		ap;
	char		*seen;
	int		n;

	va_start(ap, fmt);
	vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	/* An actor is a client's word: it stays within its line. */
	seen = escape_text(detail, strlen(detail), "");
	if (gmtime_r(&now, &tm) == NULL ||
	    strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		strlcpy(when, "-", sizeof(when));
	n = snprintf(line, sizeof(line), "%s %s session=%s peer=%u %s\n", when,
	    what, s->rec.r.session, (unsigned int)peer, seen != NULL ? seen :
	    "-");
	free(seen);
	if (write(sbxd.audit, line, (size_t)n) != n ||
	    fdatasync(sbxd.audit) == -1)
		log_warn("the audit log");
}
