/*
 * git's index, versions 2 to 4 (gitformat-index): a header of 12 bytes,
 * entries, extensions, the file's own hash. Which hash it is only the
 * repository's configuration says, so both are tried: the entries and
 * extensions of the right one end exactly where the hash begins.
 */
#include <sys/stat.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracked.h"
#include "tree.h"

#define INDEX_MAX	(512 << 20)
#define INDEX_HEADER	12
#define INDEX_STAT	40		/* of an entry, before the id */
#define INDEX_SHA	20		/* or 32, in a SHA-256 repository */
#define INDEX_SHA_MAX	32
#define INDEX_EXTENDED	0x4000
#define INDEX_LINK	0x6c696e6b	/* "link": the shared index */
#define INDEX_PATH	4096

struct index_file {
	uint8_t		*p;
	size_t		 size;		/* all of it */
	size_t		 len, sha;	/* without the hash; its size */
	uint32_t	 version, entries;
	char		 shared[2 * INDEX_SHA_MAX + 1];	/* "": none */
};

struct index_sink {
	struct tracked	*to;
	size_t		 len, size, offsize;
};

static uint32_t
index_u32(const uint8_t *p)
{
	uint32_t	v;

	memcpy(&v, p, sizeof(v));
	return (ntohl(v));
}

/* 1: read; 0: there is none for us; -1: no memory. */
static int
index_slurp(int gitdir, const char *name, struct index_file *f)
{
	struct stat	st;
	ssize_t		n;
	int		fd, rv = 0;

	memset(f, 0, sizeof(*f));
	fd = tree_open(gitdir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd == -1)
		return (0);
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) ||
	    st.st_size < INDEX_HEADER + INDEX_SHA_MAX ||
	    st.st_size > INDEX_MAX)
		goto done;
	if ((f->p = malloc((size_t)st.st_size)) == NULL) {
		rv = -1;
		goto done;
	}
	while (f->size < (size_t)st.st_size &&
	    (n = read(fd, f->p + f->size, (size_t)st.st_size - f->size)) > 0)
		f->size += (size_t)n;
	f->version = index_u32(f->p + 4);
	f->entries = index_u32(f->p + 8);
	if (f->size == (size_t)st.st_size && memcmp(f->p, "DIRC", 4) == 0 &&
	    f->version >= 2 && f->version <= 4)
		rv = 1;
done:
	close(fd);
	return (rv);
}

static int
sink_add(struct index_sink *s, const char *path, size_t len)
{
	struct tracked	*t = s->to;
	size_t		 size;
	void		*p;

	if (t->n == s->offsize) {
		size = s->offsize == 0 ? 1024 : s->offsize * 2;
		if ((p = reallocarray(t->off, size, sizeof(*t->off))) == NULL)
			return (-1);
		t->off = p;
		s->offsize = size;
	}
	if (s->size - s->len < len + 1) {
		size = s->size == 0 ? 65536 : s->size * 2;
		if ((p = realloc(t->text, size)) == NULL)
			return (-1);
		t->text = p;
		s->size = size;
	}
	memcpy(t->text + s->len, path, len);
	t->text[s->len + len] = '\0';
	t->off[t->n++] = s->len;
	s->len += len + 1;
	return (0);
}

/* The number before a name of version 4: how much of the last name's end
 * goes. 7 bits a byte, highest first, each byte that goes on counts one. */
static int
index_strip(const struct index_file *f, size_t *off, size_t *strip)
{
	size_t	v;
	uint8_t	c;

	if (*off >= f->len)
		return (-1);
	c = f->p[(*off)++];
	v = c & 127;
	while (c & 128) {
		if (*off >= f->len || v > INDEX_PATH)
			return (-1);
		c = f->p[(*off)++];
		v = ((v + 1) << 7) | (c & 127);
	}
	*strip = v;
	return (0);
}

/* One entry at *off; path holds the last one's name, then this one's. */
static int
index_entry(const struct index_file *f, size_t *off, char *path, size_t *plen)
{
	const uint8_t	*nul;
	size_t		 start = *off, name, len, strip = *plen;

	name = start + INDEX_STAT + f->sha + 2;
	if (f->len < name)
		return (-1);
	if (f->version >= 3 && ((f->p[name - 2] << 8) & INDEX_EXTENDED))
		name += 2;
	if (name > f->len)
		return (-1);
	if (f->version == 4 && (index_strip(f, &name, &strip) == -1 ||
	    strip > *plen))
		return (-1);
	nul = memchr(f->p + name, '\0', f->len - name);
	if (nul == NULL)
		return (-1);
	len = (size_t)(nul - (f->p + name));
	*plen -= strip;
	if (*plen + len >= INDEX_PATH)
		return (-1);
	memcpy(path + *plen, f->p + name, len);
	*plen += len;
	if (f->version == 4)
		*off = name + len + 1;
	else	/* one to eight NULs, to a multiple of eight */
		*off = start + ((name - start + len + 8) & ~(size_t)7);
	return (*off > f->len ? -1 : 0);
}

/* 0 if they end where the file's hash begins. */
static int
index_extensions(struct index_file *f, size_t off)
{
	uint32_t	len;
	size_t		i;

	while (f->len - off >= 8) {
		len = index_u32(f->p + off + 4);
		if (len > f->len - off - 8)
			return (-1);
		if (index_u32(f->p + off) == INDEX_LINK && len >= f->sha)
			for (i = 0; i < f->sha; i++)
				snprintf(f->shared + 2 * i, 3, "%02x",
				    f->p[off + 8 + i]);
		off += 8 + len;
	}
	return (off == f->len ? 0 : -1);
}

/* All paths into s. 1, 0: broken, -1: no memory. */
static int
index_paths(struct index_file *f, size_t sha, struct index_sink *s)
{
	char		path[INDEX_PATH];
	size_t		off = INDEX_HEADER, plen = 0;
	uint32_t	i;

	f->sha = sha;
	f->len = f->size - sha;
	for (i = 0; i < f->entries; i++) {
		if (index_entry(f, &off, path, &plen) == -1)
			return (0);
		/* Of a split index an entry without a name replaces one of
		 * the shared one's. */
		if (plen > 0 && sink_add(s, path, plen) == -1)
			return (-1);
	}
	return (index_extensions(f, off) == 0 ? 1 : 0);
}

static int
tracked_compare(const void *a, const void *b, void *text)
{
	return (strcmp((char *)text + *(const size_t *)a,
	    (char *)text + *(const size_t *)b));
}

static int
index_into(int gitdir, const char *name, struct index_sink *s, char *shared)
{
	struct index_file	f;
	size_t			n = s->to->n, len = s->len;
	int			rv;

	if ((rv = index_slurp(gitdir, name, &f)) == 1 &&
	    (rv = index_paths(&f, INDEX_SHA, s)) == 0) {
		s->to->n = n;
		s->len = len;
		if ((rv = index_paths(&f, INDEX_SHA_MAX, s)) == 0)
			s->to->n = n;
	}
	if (shared != NULL)
		memcpy(shared, f.shared, sizeof(f.shared));
	free(f.p);
	return (rv);
}

int
tracked_read(int gitdir, struct tracked *t)
{
	struct index_sink	s = { .to = t };
	char			shared[2 * INDEX_SHA_MAX + 1];
	char			name[sizeof(shared) + 16];
	int			rv;

	memset(t, 0, sizeof(*t));
	rv = index_into(gitdir, "index", &s, shared);
	/* What the split index deletes from the shared one stays tracked
	 * here: then it is shown, which is the safe side. */
	if (rv == 1 && shared[strspn(shared, "0")] != '\0') {
		snprintf(name, sizeof(name), "sharedindex.%s", shared);
		rv = index_into(gitdir, name, &s, NULL);
	}
	if (rv == -1) {
		tracked_free(t);
		errno = ENOMEM;
		return (-1);
	}
	if (t->n > 1)
		qsort_r(t->off, t->n, sizeof(*t->off), tracked_compare,
		    t->text);
	return (0);
}

static bool
tracked_find(const struct tracked *t, const char *path, size_t len)
{
	const char	*at;
	size_t		 low = 0, high = t->n, mid;
	int		 cmp;

	while (low < high) {
		mid = low + (high - low) / 2;
		at = t->text + t->off[mid];
		cmp = strncmp(path, at, len);
		if (cmp == 0 && at[len] != '\0')
			cmp = -1;
		if (cmp == 0)
			return (true);
		if (cmp < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return (false);
}

bool
tracked_has(const struct tracked *t, const char *path)
{
	const char	*slash = path;

	if (tracked_find(t, path, strlen(path)))
		return (true);
	/* A sparse index has a folder as one entry, "folder/". */
	while ((slash = strchr(slash, '/')) != NULL) {
		slash++;
		if (tracked_find(t, path, (size_t)(slash - path)))
			return (true);
	}
	return (false);
}

void
tracked_free(struct tracked *t)
{
	free(t->text);
	free(t->off);
	memset(t, 0, sizeof(*t));
}
