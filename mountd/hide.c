#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/path.h"
#include "fault.h"
#include "hide.h"
#include "mountd.h"

/* A path's end sorts first, then '/', then every other byte. */
static int
path_rank(char c)
{
	if (c == '\0')
		return (0);
	return (c == '/' ? 1 : 2 + (unsigned char)c);
}

int
path_order(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b)
		a++, b++;
	return (path_rank(*a) - path_rank(*b));
}

static int
hidden_compare(const void *a, const void *b)
{
	const struct hidden	*ha = a, *hb = b;
	int			 r = path_order(ha->path, hb->path);

	/* Of two for one path the first is kept: the one that hides more. */
	return (r != 0 ? r : (int)hb->gone - (int)ha->gone);
}

static int
hides_add(struct hides *hs, const char *path, bool dir, bool gone)
{
	struct hidden	*v;

	if ((v = reallocarray(hs->v, hs->n + 1, sizeof(*v))) == NULL)
		return (fault_errno("mount.failed", "hidden paths"));
	hs->v = v;
	v += hs->n;
	v->dir = dir;
	v->gone = gone;
	if ((v->path = strdup(path)) == NULL)
		return (fault_errno("mount.failed", "hidden paths"));
	hs->n++;
	return (0);
}

static int
hides_add_below(struct hides *hs, const char *dir, const char *below,
    const struct hidden *h)
{
	char	path[PATH_MAX];

	/* "/" and what is below it are written without a second slash. */
	if (dir[1] == '\0' && *below != '\0')
		dir = "";
	if (snprintf(path, sizeof(path), "%s%s%s", dir, *below != '\0' ?
	    "/" : "", below) >= (int)sizeof(path))
		return (0);	/* no path that long can be opened */
	return (hides_add(hs, path, h->dir, h->gone));
}

/*
 * The same place in the other mounts of its filesystem: in those that show
 * it, and all of those that show only something of it.
 */
static int
hides_add_mounts(struct hides *hs, const struct mnts *ms, size_t at)
{
	const struct mnt	*own = mnts_of(ms, hs->v[at].path), *m;
	struct hidden		 h = hs->v[at];
	struct hides		 in = { NULL, 0 };
	const char		*below;
	size_t			 i;
	int			 r = 0;

	if (own == NULL)
		return (0);
	/* Its path in the filesystem, made the same way. */
	if (hides_add_below(&in, own->root, path_below(own->point, h.path),
	    &h) == -1 || in.n == 0)
		return (in.n == 0 && !fault_is() ? 0 : -1);
	for (i = 0; r == 0 && i < ms->n; i++) {
		m = &ms->v[i];
		if (m == own || m->covered || m->major != own->major ||
		    m->minor != own->minor)
			continue;
		below = path_below(m->root, in.v[0].path);
		if (below != NULL)
			r = hides_add_below(hs, m->point, below, &h);
		else if (path_within(in.v[0].path, m->root))
			r = hides_add_below(hs, m->point, "", &h);
	}
	hides_free(&in);
	return (r);
}

static int
hides_add_wanted(struct hides *hs, const char *path, const struct user *user)
{
	struct resolved	r;

	if (!path_is_canonical(path))
		return (fault("mount.hide", "hide %s: an absolute path "
		    "without \".\" and \"..\" is needed", shown(path)));
	if (resolve(path, &r, user) == -1)
		return (fault_errno("mount.hide", "hide %s", shown(path)));
	if (hides_add(hs, r.target, r.dir, false) == -1)
		return (-1);
	if (strcmp(r.name, r.target) != 0)
		return (hides_add(hs, r.name, r.dir, false));
	return (0);
}

static void
hides_sort(struct hides *hs)
{
	size_t	i, n = 0;

	qsort(hs->v, hs->n, sizeof(*hs->v), hidden_compare);
	for (i = 0; i < hs->n; i++) {
		if (n > 0 && path_within(hs->v[n - 1].path, hs->v[i].path))
			free(hs->v[i].path);
		else
			hs->v[n++] = hs->v[i];
	}
	hs->n = n;
}

int
hides_make(struct hides *hs, const struct mnts *ms, const struct strv *wanted,
    const struct user *user)
{
	size_t	i, n;

	memset(hs, 0, sizeof(*hs));
	if (hides_add(hs, mountd.state, true, true) == -1 ||
	    (mountd.runtime[0] != '\0' &&
	    hides_add(hs, mountd.runtime, true, true) == -1))
		return (-1);
	for (i = 0; i < wanted->n; i++)
		if (hides_add_wanted(hs, wanted->v[i], user) == -1)
			return (-1);
	for (i = 0, n = hs->n; i < n; i++)
		if (hides_add_mounts(hs, ms, i) == -1)
			return (-1);
	hides_sort(hs);
	return (0);
}

void
hides_free(struct hides *hs)
{
	size_t	i;

	for (i = 0; i < hs->n; i++)
		free(hs->v[i].path);
	free(hs->v);
	memset(hs, 0, sizeof(*hs));
}

const struct hidden *
hides_over(const struct hides *hs, const char *path)
{
	size_t	i;

	for (i = 0; i < hs->n; i++)
		if (path_within(hs->v[i].path, path))
			return (&hs->v[i]);
	return (NULL);
}

bool
hides_below(const struct hides *hs, const char *path)
{
	size_t	i;

	for (i = 0; i < hs->n; i++)
		if (path_within(path, hs->v[i].path))
			return (true);
	return (false);
}
