/*
 * How a walk fails, in one line; and the lists that it fills beside the
 * changes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/escape.h"
#include "walk.h"

size_t	walk_max = WALK_MAX;

int
walk_fail(struct walk *w, const char *path, const char *what)
{
	int	 saved = errno;
	char	*shown = NULL;

	if (*path == '\0')
		path = ".";
	shown = escape_name(path);
	if (saved == EBUSY)
		snprintf(w->why, w->whylen, "%s: changes while it is read; "
		    "stop what writes to it, then try again",
		    shown != NULL ? shown : "?");
	else
		snprintf(w->why, w->whylen, "%s: %s: %s",
		    shown != NULL ? shown : "?", what, strerror(saved));
	free(shown);
	errno = saved;
	return (-1);
}

int
walk_full(struct walk *w, const char *path, const char *what)
{
	char	*shown = escape_name(path);

	snprintf(w->why, w->whylen, "%s: more than %zu %s, which no review "
	    "lists: resume the session and remove what need not be there, or "
	    "drop all of it with 'sbxctl rm --discard'",
	    shown != NULL ? shown : "?", walk_max, what);
	free(shown);
	errno = E2BIG;
	return (-1);
}

int
walk_skip(struct walk *w, const char *path, const char *class,
    const char *reason)
{
	struct skipped	*s;

	if (w->nskipped == walk_max)
		return (walk_full(w, path, "entries that cannot be landed"));
	if ((s = calloc(1, sizeof(*s))) == NULL ||
	    (s->path = strdup(*path == '\0' ? "." : path)) == NULL) {
		free(s);
		return (walk_fail(w, path, "list"));
	}
	s->class = class;
	s->reason = reason;
	TAILQ_INSERT_TAIL(&w->set->skipped, s, entry);
	w->nskipped++;
	return (0);
}

int
walk_keep(struct walk *w, const struct item *it)
{
	char	**p;
	size_t	  size;

	if (!it->real)
		return (0);
	if (w->nkept == w->keptsize) {
		size = w->keptsize == 0 ? 64 : w->keptsize * 2;
		if ((p = reallocarray(w->kept, size, sizeof(*p))) == NULL)
			return (walk_fail(w, it->path, "list"));
		w->kept = p;
		w->keptsize = size;
	}
	if ((w->kept[w->nkept] = strdup(it->path)) == NULL)
		return (walk_fail(w, it->path, "list"));
	w->nkept++;
	return (0);
}

int
walk_seen(struct walk *w, const struct item *it)
{
	if (!it->real)
		return (0);
	if (inos_add(&w->seen, it->rst.st_ino) == -1)
		return (walk_fail(w, it->path, "list"));
	origins_meet(&w->origins, it->rfd, it->name);
	return (0);
}
