#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../privsep/whole.h"
#include "clean.h"
#include "fault.h"
#include "mountd.h"
#include "pending.h"

#define PENDING_NAME	"pending"
#define PENDING_MAX	(64 << 20)
#define PENDING_HEAD	"pending "
#define PENDING_HEAD_MAX 32

/* What an entry of the layer looks like while nobody changes it. A folder's
 * own times say nothing: its entries are looked at one by one. */
struct stamp {
	char	s[96];
};

static struct stamp
stamp_of(int upper, const char *path)
{
	struct stamp	s = { "none" };
	struct stat	st;

	if (!at_stat(upper, path, &st))
		return (s);
	if (S_ISDIR(st.st_mode))
		strcpy(s.s, "folder");
	else
		snprintf(s.s, sizeof(s.s), "%llu.%llu.%ld.%llu",
		    (unsigned long long)st.st_ino,
		    (unsigned long long)st.st_ctim.tv_sec,
		    st.st_ctim.tv_nsec, (unsigned long long)st.st_size);
	return (s);
}

/*
 * The file: a line "pending LENGTH", a NUL, and so many bytes of records,
 * "STAMP PATH" with a NUL behind each. Whoever believed a part of it would
 * bring back what was discarded.
 */
static int
pending_broken(const char *why)
{
	fault("mount.pending", "what landings and discards left in the "
	    "session's layer, noted in its folder's file \"pending\" below "
	    "%s/s, cannot be known: %s; remove the session, or that file to "
	    "see all that the layer holds", mountd.state, why);
	return (-1);
}

/* 1: the records, to be freed by *file; 0: there is no file; -1. */
static int
pending_read(int store, const char *name, char **file, const char **records,
    size_t *len)
{
	const char	*why, *number, *error;
	size_t		 all, head;

	*file = (char *)whole_read(store, name, PENDING_MAX, &all, &why);
	if (*file == NULL)
		return (errno == ENOENT ? 0 : pending_broken(why));
	head = strnlen(*file, all) + 1;
	number = *file + strlen(PENDING_HEAD);
	if (head > all || strncmp(*file, PENDING_HEAD,
	    strlen(PENDING_HEAD)) != 0) {
		free(*file);
		return (pending_broken("it is cut short, or of another "
		    "version"));
	}
	*len = (size_t)strtonum(number, 0, PENDING_MAX, &error);
	if (error != NULL || *len != all - head ||
	    (*len > 0 && (*file)[all - 1] != '\0')) {
		free(*file);
		return (pending_broken("it is cut short"));
	}
	*records = *file + head;
	return (1);
}

static int
pending_write(int store, const char *name, const char *records, size_t len)
{
	char	*file;
	int	 head, r = -1;

	if ((file = malloc(len + PENDING_HEAD_MAX)) == NULL)
		return (-1);
	head = snprintf(file, PENDING_HEAD_MAX, PENDING_HEAD "%zu", len) + 1;
	memcpy(file + head, records, len);
	if (len + (size_t)head > PENDING_MAX)
		errno = EFBIG;
	else
		r = whole_write(store, name, file, len + (size_t)head, true);
	free(file);
	return (r);
}

/* What is noted already, and the new ones. */
static int
pending_gather(FILE *f, const struct clean *c, const char *name,
    const struct names *paths)
{
	const char	*old;
	char		*file;
	size_t		 i, len;
	int		 r;

	if ((r = pending_read(c->store, name, &file, &old, &len)) == -1)
		return (-1);
	if (r == 1) {
		fwrite(old, 1, len, f);
		free(file);
	}
	for (i = 0; i < paths->n; i++)
		fprintf(f, "%s %s%c", stamp_of(c->u, paths->v[i]).s,
		    paths->v[i], '\0');
	return (0);
}

int
pending_add(const struct clean *c, const struct names *paths)
{
	struct root_name	 name = root_name(PENDING_NAME, c->n, c->first);
	char			*records = NULL;
	size_t			 len = 0;
	FILE			*f;
	int			 r, bad;

	if ((f = open_memstream(&records, &len)) == NULL)
		return (fault_errno("mount.pending", "noting what is held"));
	r = pending_gather(f, c, name.s, paths);
	bad = ferror(f);
	if (fclose(f) == EOF || bad)
		r = fault_errno("mount.pending", "noting what is held");
	if (r == 0 && pending_write(c->store, name.s, records, len) == -1)
		r = fault_errno("mount.pending", "noting what is held (%zu "
		    "paths)", paths->n);
	free(records);
	return (r);
}

/* From *n on, the next root that has a file: 1, its path in at; 0; -1. */
static int
pending_next(int store, unsigned int *n, char *at, struct root_name *name)
{
	unsigned int	found;
	struct stat	st;
	bool		first;
	int		r;

	for (; (r = layer_root(store, n, at)) == 1; (*n)++) {
		if (layer_of_root(store, at, &found, &first) == -1)
			return (-1);
		*name = root_name(PENDING_NAME, *n, first);
		if (fstatat(store, name->s, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return (1);
	}
	return (r == 0 ? 0 : fault_errno("mount.layer", "the layers of the "
	    "session's roots"));
}

bool
pending_is(int store)
{
	struct root_name	name;
	char			at[PATH_MAX];
	unsigned int		n = LAYER_ROOT;

	if (pending_next(store, &n, at, &name) == 0)
		return (false);
	fault_clear();
	return (true);
}

/* The noted paths whose entries are as they were; into buf's own bytes. */
static int
pending_list(const char *buf, size_t len, int upper, struct strv *paths)
{
	const char	*p, *blank;
	size_t		 n = 0;

	for (p = buf; p < buf + len; p += strlen(p) + 1)
		n++;
	if ((paths->v = calloc(n + 1, sizeof(*paths->v))) == NULL)
		return (fault_errno("mount.pending", "what a landing left"));
	for (p = buf; p < buf + len; p += strlen(p) + 1) {
		if ((blank = strchr(p, ' ')) == NULL || blank[1] == '\0')
			return (pending_broken("it has an entry that is "
			    "none"));
		struct stamp now = stamp_of(upper, blank + 1);

		if (strlen(now.s) == (size_t)(blank - p) &&
		    strncmp(now.s, p, (size_t)(blank - p)) == 0)
			paths->v[paths->n++] = blank + 1;
	}
	return (0);
}

/* The file's end is not synced: it must not be on the disk before the ends
 * of the entries, and to take them out once more is nothing. */
static int
pending_root(int store, struct build *b, const char *project, const char *name)
{
	struct strv	 paths = { 0, NULL };
	struct clean	 c;
	const char	*records;
	char		*file;
	size_t		 len;
	int		 r;

	if ((r = pending_read(store, name, &file, &records, &len)) != 1)
		return (r);
	r = clean_open(&c, b, store, project, -1);
	c.ended = true;
	if (r == 0)
		r = pending_list(records, len, c.u, &paths);
	if (r == 0)
		r = clean_paths(&c, &paths);
	clean_close(&c);
	free(paths.v);
	free(file);
	if (r == 0 && unlinkat(store, name, 0) == -1)
		r = fault_errno("mount.pending", "what a landing left");
	return (r);
}

int
pending_run(int store, struct build *b)
{
	struct root_name	name;
	char			at[PATH_MAX];
	unsigned int		n;
	int			r;

	for (n = LAYER_ROOT; (r = pending_next(store, &n, at, &name)) == 1;
	    n++)
		if (pending_root(store, b, at, name.s) == -1)
			return (-1);
	return (r);
}
