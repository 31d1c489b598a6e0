#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/path.h"
#include "../privsep/mode.h"
#include "explain.h"
#include "fault.h"
#include "fs.h"
#include "layer.h"
#include "mountd.h"
#include "snap.h"

const struct place *
place_at(const struct explain *e, const char *path)
{
	size_t	i;

	for (i = 0; i < e->plan.n; i++)
		if (strcmp(e->plan.v[i].path, path) == 0)
			return (&e->plan.v[i]);
	return (NULL);
}

bool
place_below(const struct explain *e, const char *path)
{
	const char	*below;
	size_t		 i;

	for (i = 0; i < e->plan.n; i++) {
		below = path_below(path, e->plan.v[i].path);
		if (below != NULL && *below != '\0')
			return (true);
	}
	return (false);
}

static bool
place_is_asked(const struct explain *e, const struct place *p)
{
	size_t	i;

	for (i = 0; i < e->m->ro.n; i++)
		if (e->ro[i] != -1 && strcmp(e->m->ro.v[i], p->path) == 0)
			return (true);
	return (false);
}

const char *
place_rule(const struct explain *e, const struct place *p, const char **of)
{
	*of = p != NULL ? p->path : "/";
	if (p == NULL)
		return ("filesystem");
	if (p->kind == PLACE_PROJECT)
		return ("project");
	if (p->kind == PLACE_HOME)
		return ("home");
	return (place_is_asked(e, p) ? "ro" : "filesystem");
}

static bool
place_is_seen_through(const struct place *p)
{
	return (p->kind == PLACE_READ || p->kind == PLACE_REST);
}

/* A user's tree stands on a read-only clone of the root: see rest.h. */
bool
place_is_read_only(const struct place *p)
{
	if (p == NULL)
		return (mode_user());
	return (place_is_seen_through(p) || p->kind == PLACE_CLONE ||
	    p->kind == PLACE_FILE || p->kind == PLACE_TWIN);
}

static bool
place_is_copied(const struct explain *e, const struct place *p)
{
	return (p != NULL && p->kind == PLACE_PROJECT &&
	    (snap_of(&e->b, p->path) != NULL || snap_needed(p->fd)));
}

void
place_mechanism(const struct explain *e, const struct place *p, char *out,
    size_t size)
{
	const char	*path = p != NULL ? p->path : "/";
	const char	*what = place_is_copied(e, p) ? "overlay on a copy "
			    "made at the start" : "overlay";
	unsigned int	 n;

	if (p != NULL && place_is_seen_through(p))
		snprintf(out, size, "read-only overlay");
	else if (p != NULL && p->kind == PLACE_TWIN)
		snprintf(out, size, "a copy that is the user's, since ssh "
		    "takes it from nobody else but root; read-only mount");
	else if (place_is_read_only(p))
		snprintf(out, size, "read-only mount");
	else if (e->store == -1)
		snprintf(out, size, "%s, a layer of the session's own", what);
	else if (layer_find(e->store, path, &n) == 1)
		snprintf(out, size, "%s, layer %u", what, n);
	else {
		fault_clear();
		snprintf(out, size, "%s, a layer that is not made yet", what);
	}
}

void
spot_leave(struct spot *s)
{
	if (s->top != -1)
		close(s->top);
	if (s->low != -1)
		close(s->low);
	s->top = s->low = -1;
}

void
spot_close(struct spot *s)
{
	spot_leave(s);
	if (s->root != -1)
		close(s->root);
	s->root = -1;
}

/* The layer's own side, where it has been made. */
static void
place_top(struct explain *e, const char *path, struct spot *s)
{
	unsigned int	n;

	if (e->store == -1)
		return;
	if (layer_find(e->store, path, &n) == 1)
		s->top = layer_upper(e->store, n);
	else
		fault_clear();
}

/* What stands for it where it cannot be shown as planned. */
static int
place_other(struct explain *e, const struct place *p, struct spot *s)
{
	if (p == NULL || p->kind == PLACE_PROJECT || p->kind == PLACE_HOME)
		return (-1);
	fault_clear();
	if (mode_user())
		s->place = NULL;
	else if (!p->plain || p->kind == PLACE_CLONE ||
	    hides_below(&e->b.hides, p->path))
		return (0);
	s->low = fcntl(p->fd, F_DUPFD_CLOEXEC, 0);
	return (s->low == -1 ? -1 : 1);
}

int
place_enter(struct explain *e, const struct place *p, struct spot *s)
{
	const char	*path = p != NULL ? p->path : "/";
	int		 fd = p != NULL ? p->fd : mountd.root;

	*s = (struct spot){ .place = p, .top = -1, .low = -1, .root = -1 };
	strlcpy(s->path, p != NULL ? path : "", sizeof(s->path));
	if (p != NULL && (p->kind == PLACE_COVER || (p->kind == PLACE_CLONE &&
	    !mode_user() && hides_below(&e->b.hides, path))))
		return (0);
	if (p != NULL && p->kind == PLACE_PROJECT)
		fd = snap_known(&e->b, e->store, path, fd);
	/* Nothing lies on those, or the copy is not made yet. */
	if (p == NULL ? mode_user() : p->kind == PLACE_CLONE ||
	    p->kind == PLACE_FILE || p->kind == PLACE_TWIN ||
	    (p->kind == PLACE_PROJECT && snap_needed(fd))) {
		s->low = fcntl(fd, F_DUPFD_CLOEXEC, 0);
		return (s->low == -1 ? fault_errno("explain.failed",
		    "%s", shown(path)) : 1);
	}
	if (p == NULL || !place_is_seen_through(p))
		place_top(e, path, s);
	s->low = overlay_make(&e->b, path, fd, NULL, -1);
	if (s->low == -1)
		return (place_other(e, p, s));
	s->root = fcntl(s->low, F_DUPFD_CLOEXEC, 0);
	return (1);
}
