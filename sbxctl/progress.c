/*
 * What somebody at a terminal sees while the suite is at work for longer than a
 * moment: one line on stderr, gone when the work is done. Nothing where stderr
 * is no terminal, or with --json.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/clock.h"
#include "sbxctl.h"

#define PROGRESS_LINE	72

static struct {
	bool		 allowed;
	const char	*what;		/* "reviewing", NULL: nothing is */
	const char	*sid;
	int64_t		 begun, told;
	size_t		 n;		/* what has come so far */
	int		 width;		/* of what is shown, 0: nothing */
} progress;

void
progress_allow(bool allowed)
{
	progress.allowed = allowed && isatty(STDERR_FILENO);
}

void
progress_begin(const char *what, const char *sid)
{
	if (!progress.allowed)
		return;
	progress.what = what;
	progress.sid = sid;
	progress.begun = progress.told = now_ms();
	progress.n = 0;
}

bool
progress_is(void)
{
	return (progress.what != NULL);
}

/* One that wraps could not be written over. Now and then a terminal wraps
 * what stands in its last column. */
static int
progress_room(void)
{
	uint64_t	rows, cols;

	if (!terminal_size(STDERR_FILENO, &rows, &cols) ||
	    cols > PROGRESS_LINE)
		return (PROGRESS_LINE);
	return ((int)cols - 1);
}

static void
progress_show(int64_t seconds)
{
	char	line[PROGRESS_LINE + 1];
	int	n, room = progress_room();

	n = snprintf(line, sizeof(line), "sbxctl: %s session %s: %lld s",
	    progress.what, progress.sid, (long long)seconds);
	if (progress.n > 0 && n < (int)sizeof(line))
		n += snprintf(line + n, sizeof(line) - (size_t)n, ", %zu "
		    "changes so far", progress.n);
	if (n > room)
		n = room;
	/* What the one before had at its end is written over. */
	fprintf(stderr, "\r%-*.*s", progress.width < room ? progress.width :
	    room, n, line);
	fflush(stderr);
	progress.width = n;
}

void
progress_tell(void)
{
	int64_t	now;

	if (progress.what == NULL || (now = now_ms()) - progress.told <
	    PROGRESS_MS)
		return;
	progress.told = now;
	progress_show((now - progress.begun) / 1000);
}

void
progress_count(void)
{
	progress.n++;
	progress_tell();
}

void
progress_end(void)
{
	int	room = progress_room();

	if (progress.width > 0) {
		fprintf(stderr, "\r%*s\r", progress.width < room ?
		    progress.width : room, "");
		fflush(stderr);
	}
	progress.width = 0;
	progress.what = NULL;
}
