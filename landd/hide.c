#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "../common/path.h"
#include "hide.h"
#include "tree.h"

static int
hides_compare(const void *a, const void *b)
{
	return (strcmp(*(char *const *)a, *(char *const *)b));
}

static int
hides_add(struct hides *h, int project, const char *path)
{
	struct place	p;
	int		rv;

	if ((h->paths[h->n] = strdup(path)) == NULL)
		return (-1);
	h->n++;
	rv = place_open(project, path, &p);
	/* What lies on another mount, or in a folder that is closed to us, is
	 * not read anyway. */
	if (rv == -1 && errno != ENOMEM)
		rv = 0;
	else if (rv == 0 && p.present && !S_ISDIR(p.st.st_mode)) {
		h->ids[h->nids].dev = p.st.st_dev;
		h->ids[h->nids++].ino = p.st.st_ino;
	}
	place_close(&p);
	return (rv);
}

int
hides_make(int project, const char *root, const char *const *hide,
    struct hides *h)
{
	const char	*path;
	size_t		 n = 0;

	memset(h, 0, sizeof(*h));
	if (hide == NULL || *hide == NULL)
		return (0);
	while (hide[n] != NULL)
		n++;
	if ((h->paths = calloc(n, sizeof(char *))) == NULL)
		return (-1);
	if ((h->ids = calloc(n, sizeof(*h->ids))) == NULL)
		goto fail;
	for (; *hide != NULL; hide++) {
		path = path_below(root, *hide);
		if (path != NULL && *path != '\0' &&
		    hides_add(h, project, path) == -1)
			goto fail;
	}
	if (h->n > 1)
		qsort(h->paths, h->n, sizeof(*h->paths), hides_compare);
	return (0);
fail:
	hides_free(h);
	return (-1);
}

/* The first that is not before the len bytes at path. */
static size_t
hides_at(const struct hides *h, const char *path, size_t len)
{
	size_t	low = 0, high = h->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (strncmp(h->paths[mid], path, len) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return (low);
}

static bool
hides_exactly(const struct hides *h, const char *path, size_t len)
{
	size_t	i = hides_at(h, path, len);

	/* The shortest of those that begin so is the first. */
	return (i < h->n && strncmp(h->paths[i], path, len) == 0 &&
	    h->paths[i][len] == '\0');
}

bool
hides_path(const struct hides *h, const char *path)
{
	size_t	len;

	if (h->n == 0)
		return (false);
	for (len = 0;; len++)
		if ((path[len] == '/' || path[len] == '\0') &&
		    hides_exactly(h, path, len))
			return (true);
		else if (path[len] == '\0')
			return (false);
}

bool
hides_below(const struct hides *h, const char *path)
{
	size_t	i, len = strlen(path);

	/* From where path's own names begin: "a", then "a-b", then "a/b". */
	for (i = hides_at(h, path, len); i < h->n &&
	    strncmp(h->paths[i], path, len) == 0; i++)
		if (h->paths[i][len] == '/' ||
		    (len == 0 && h->paths[i][0] != '\0'))
			return (true);
	return (false);
}

bool
hides_id(const struct hides *h, uint64_t dev, uint64_t ino)
{
	size_t	i;

	for (i = 0; i < h->nids; i++)
		if (h->ids[i].ino == ino && h->ids[i].dev == dev)
			return (true);
	return (false);
}

void
hides_free(struct hides *h)
{
	int	saved = errno;
	size_t	i;

	for (i = 0; i < h->n; i++)
		free(h->paths[i]);
	free(h->paths);
	free(h->ids);
	memset(h, 0, sizeof(*h));
	errno = saved;
}
