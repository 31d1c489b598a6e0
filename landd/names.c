#include <sys/syscall.h>
#include <sys/types.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names.h"

#define NAMES_MAX	(2U << 20)

struct reading {
	struct names	*names;
	size_t		*off;		/* of each name in the text */
	size_t		 size;		/* of v and off, in elements */
	size_t		 len, textsize;
};

/* The kernel's struct linux_dirent64 is glibc's struct dirent64. */
static long
names_getdents(int fd, void *buf, size_t size)
{
	return (syscall(SYS_getdents64, fd, buf, size));
}

static int
names_grow(struct reading *r, size_t len)
{
	size_t	 size;
	void	*p;

	if (r->off == NULL || r->names->n == r->size) {
		size = r->size == 0 ? 64 : r->size * 2;
		p = reallocarray(r->names->v, size, sizeof(*r->names->v));
		if (p == NULL)
			return (-1);
		r->names->v = p;
		if ((p = reallocarray(r->off, size, sizeof(*r->off))) == NULL)
			return (-1);
		r->off = p;
		r->size = size;
	}
	if (r->textsize - r->len < len) {
		size = r->textsize == 0 ? 4096 : r->textsize * 2;
		if ((p = realloc(r->names->text, size)) == NULL)
			return (-1);
		r->names->text = p;
		r->textsize = size;
	}
	return (0);
}

static int
names_add(struct reading *r, const struct dirent64 *de)
{
	size_t	len = strlen(de->d_name) + 1;
	size_t	n = r->names->n;

	if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
		return (0);
	if (n == NAMES_MAX) {
		errno = E2BIG;
		return (-1);
	}
	if (names_grow(r, len) == -1)
		return (-1);
	memcpy(r->names->text + r->len, de->d_name, len);
	r->names->v[n].ino = de->d_ino;
	r->names->v[n].type = de->d_type;
	r->off[n] = r->len;
	r->len += len;
	r->names->n++;
	return (0);
}

static int
names_compare(const void *a, const void *b)
{
	return (strcmp(((const struct name *)a)->name,
	    ((const struct name *)b)->name));
}

static int
names_fill(int dirfd, struct reading *r)
{
	_Alignas(struct dirent64) char	 buf[32768];
	const struct dirent64		*de;
	long				 n, off;

	while ((n = names_getdents(dirfd, buf, sizeof(buf))) > 0)
		for (off = 0; off < n; off += de->d_reclen) {
			de = (const struct dirent64 *)(buf + off);
			if (names_add(r, de) == -1)
				return (-1);
		}
	return (n == 0 ? 0 : -1);
}

int
names_read(int dirfd, struct names *names)
{
	struct reading	r = { .names = names };
	size_t		i;
	int		rv;

	memset(names, 0, sizeof(*names));
	rv = names_fill(dirfd, &r);
	for (i = 0; r.off != NULL && i < names->n; i++)
		names->v[i].name = names->text + r.off[i];
	free(r.off);
	if (rv == -1) {
		names_free(names);
		return (-1);
	}
	if (names->n > 1)
		qsort(names->v, names->n, sizeof(*names->v), names_compare);
	return (0);
}

const struct name *
names_find(const struct names *names, const char *name)
{
	struct name	key = { .name = name };

	if (names->n == 0)
		return (NULL);
	return (bsearch(&key, names->v, names->n, sizeof(key),
	    names_compare));
}

bool
names_next(struct merge *m, const struct name **a, const struct name **b)
{
	int	cmp;

	*a = m->i < m->a->n ? &m->a->v[m->i] : NULL;
	*b = m->j < m->b->n ? &m->b->v[m->j] : NULL;
	if (*a != NULL && *b != NULL) {
		cmp = strcmp((*a)->name, (*b)->name);
		if (cmp < 0)
			*b = NULL;
		else if (cmp > 0)
			*a = NULL;
	}
	m->i += *a != NULL;
	m->j += *b != NULL;
	return (*a != NULL || *b != NULL);
}

void
names_free(struct names *names)
{
	int	saved = errno;

	free(names->v);
	free(names->text);
	memset(names, 0, sizeof(*names));
	errno = saved;
}
