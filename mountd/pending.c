#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clean.h"
#include "fault.h"
#include "pending.h"

#define PENDING_MAX	(64 << 20)

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

int
pending_add(int store, int upper, const char *path)
{
	char		rec[PATH_MAX + 128];
	struct stamp	stamp = stamp_of(upper, path);
	int		fd, len, r = 0;

	fd = openat(store, "pending",
	    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		return (fault_errno("mount.clean", "noting %s", shown(path)));
	len = snprintf(rec, sizeof(rec), "%s %s", stamp.s, path);
	if (write(fd, rec, (size_t)len + 1) != len + 1)
		r = fault_errno("mount.clean", "noting %s", shown(path));
	close(fd);
	return (r);
}

bool
pending_is(int store)
{
	struct stat	st;

	return (fstatat(store, "pending", &st, AT_SYMLINK_NOFOLLOW) == 0);
}

static char *
pending_read(int store, size_t *len)
{
	struct stat	st;
	char		*buf = NULL;
	int		fd;

	*len = 0;
	fd = openat(store, "pending", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (NULL);
	if (fstat(fd, &st) == 0 && st.st_size <= PENDING_MAX &&
	    (buf = calloc(1, (size_t)st.st_size + 1)) != NULL &&
	    read(fd, buf, (size_t)st.st_size) == st.st_size)
		*len = (size_t)st.st_size;
	close(fd);
	return (buf);
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
		return (fault_errno("mount.clean", "what a landing left"));
	for (p = buf; p < buf + len; p += strlen(p) + 1) {
		if ((blank = strchr(p, ' ')) == NULL || blank[1] == '\0')
			continue;
		struct stamp now = stamp_of(upper, blank + 1);

		if (strlen(now.s) == (size_t)(blank - p) &&
		    strncmp(now.s, p, (size_t)(blank - p)) == 0)
			paths->v[paths->n++] = blank + 1;
	}
	return (0);
}

int
pending_run(int store, struct build *b)
{
	struct strv	paths = { 0, NULL };
	struct clean	c;
	char		*buf;
	size_t		len;
	int		r;

	if ((buf = pending_read(store, &len)) == NULL)
		return (0);
	r = clean_open(&c, b, store, -1);
	c.ended = true;
	if (r == 0)
		r = pending_list(buf, len, c.u, &paths);
	if (r == 0)
		r = clean_paths(&c, &paths);
	clean_close(&c);
	free(paths.v);
	free(buf);
	if (r == 0 && unlinkat(store, "pending", 0) == -1)
		r = fault_errno("mount.clean", "what a landing left");
	return (r);
}
