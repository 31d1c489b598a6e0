#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/limits.h"
#include "../common/origins.h"
#include "origins.h"

static uint8_t *
origins_slurp(int fd, size_t *len)
{
	struct stat	 st;
	uint8_t		*p;
	ssize_t		 n;

	if (fstat(fd, &st) == -1 ||
	    (p = malloc((size_t)st.st_size + 1)) == NULL)
		return (NULL);
	for (*len = 0; *len < (size_t)st.st_size; *len += (size_t)n)
		if ((n = pread(fd, p + *len, (size_t)st.st_size - *len,
		    (off_t)*len)) <= 0) {
			free(p);
			if (n == 0)
				errno = EINVAL;
			return (NULL);
		}
	return (p);
}

static int
origins_add(struct origins *o, const uint8_t *p, size_t len, size_t lowerlen)
{
	struct origin	*v;
	size_t		 size;
	int		 i;

	if (o->n == o->size) {
		size = o->size == 0 ? 256 : o->size * 2;
		if ((v = reallocarray(o->v, size, sizeof(*v))) == NULL)
			return (-1);
		o->v = v;
		o->size = size;
	}
	v = &o->v[o->n++];
	memset(v, 0, sizeof(*v));
	for (i = 0; i < 8; i++)
		v->ino |= (uint64_t)p[i] << 8 * i;
	v->attr = p + ORIGINS_HEAD;
	v->len = len;
	v->lower = (const char *)v->attr + len;
	v->lowerlen = lowerlen;
	return (0);
}

static int
origins_parse(struct origins *o, size_t size)
{
	const uint8_t	*p;
	size_t		 off, left, len, lower;

	for (off = 0; off < size; off += ORIGINS_HEAD + len + lower) {
		p = o->buf + off;
		left = size - off;
		len = lower = SIZE_MAX;
		if (left >= ORIGINS_HEAD) {
			left -= ORIGINS_HEAD;
			len = p[8] | (size_t)p[9] << 8;
			lower = p[10] | (size_t)p[11] << 8;
		}
		if (len > ORIGINS_ATTR || len > left || lower > left - len ||
		    lower > LIMIT_PATH) {
			errno = EINVAL;
			return (-1);
		}
		if (origins_add(o, p, len, lower) == -1)
			return (-1);
		if (o->v[o->n - 1].ino == 0 && len > 0) {
			o->copy = true;
			o->n--;
		}
	}
	return (0);
}

static int
origin_by_ino(const void *a, const void *b)
{
	const struct origin	*x = a, *y = b;

	return (x->ino < y->ino ? -1 : x->ino > y->ino);
}

/* By kind and bytes of the handle; what has none comes first. */
static int
handle_compare(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen)
{
	if (alen != blen)
		return (alen < blen ? -1 : 1);
	if (alen <= ORIGIN_FID)
		return (0);
	if (a[ORIGIN_TYPE] != b[ORIGIN_TYPE])
		return (a[ORIGIN_TYPE] < b[ORIGIN_TYPE] ? -1 : 1);
	return (memcmp(a + ORIGIN_FID, b + ORIGIN_FID, alen - ORIGIN_FID));
}

static int
origin_by_handle(const void *a, const void *b)
{
	const struct origin	*x = *(struct origin *const *)a;
	const struct origin	*y = *(struct origin *const *)b;

	return (handle_compare(x->attr, x->len, y->attr, y->len));
}

int
origins_read(int fd, struct origins *o)
{
	size_t	i, len;

	memset(o, 0, sizeof(*o));
	if ((o->buf = origins_slurp(fd, &len)) == NULL)
		return (-1);
	if (origins_parse(o, len) == -1)
		return (-1);
	if (o->n == 0)
		return (0);
	qsort(o->v, o->n, sizeof(*o->v), origin_by_ino);
	if ((o->by = calloc(o->n, sizeof(struct origin *))) == NULL)
		return (-1);
	for (i = 0; i < o->n; i++)
		o->by[i] = &o->v[i];
	qsort(o->by, o->n, sizeof(struct origin *), origin_by_handle);
	return (0);
}

void
origins_free(struct origins *o)
{
	free(o->buf);
	free(o->v);
	free(o->by);
	memset(o, 0, sizeof(*o));
}

const struct origin *
origins_find(const struct origins *o, uint64_t ino)
{
	struct origin	key = { .ino = ino };

	return (o->n == 0 ? NULL :
	    bsearch(&key, o->v, o->n, sizeof(*o->v), origin_by_ino));
}

int
origin_is(const struct origin *o, int dir, const char *name)
{
	uint8_t	attr[ORIGINS_ATTR];
	size_t	len;

	if (o->len <= ORIGIN_FID || (len = origin_of(dir, name, attr)) == 0)
		return (-1);
	return (handle_compare(o->attr, o->len, attr, len) == 0);
}

/* The first in the order of handles that is not less. */
static size_t
origins_at(const struct origins *o, const uint8_t *attr, size_t len)
{
	size_t	low = 0, high = o->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (handle_compare(o->by[mid]->attr, o->by[mid]->len, attr,
		    len) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return (low);
}

bool
origins_lies(const struct origins *o, int dir, const char *name,
    const char *path)
{
	uint8_t	attr[ORIGINS_ATTR];
	size_t	len, i, plen = strlen(path);

	if (o->n == 0 || (len = origin_of(dir, name, attr)) == 0)
		return (false);
	for (i = origins_at(o, attr, len); i < o->n && handle_compare(
	    o->by[i]->attr, o->by[i]->len, attr, len) == 0; i++)
		if (o->by[i]->lowerlen == plen &&
		    memcmp(o->by[i]->lower, path, plen) == 0)
			return (true);
	return (false);
}

void
origins_meet(struct origins *o, int dir, const char *name)
{
	uint8_t	attr[ORIGINS_ATTR];
	size_t	len, i;

	if (o->n == 0 || (len = origin_of(dir, name, attr)) == 0)
		return;
	for (i = origins_at(o, attr, len); i < o->n && handle_compare(
	    o->by[i]->attr, o->by[i]->len, attr, len) == 0; i++)
		o->by[i]->met = true;
}
