#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "attr.h"
#include "copy.h"
#include "mountd.h"

/* What to has where from has a hole becomes zeros. */
static int
data_clear(int to, off_t off, off_t end)
{
	static const char	zeros[131072];
	off_t			hole;
	ssize_t			w;

	while (off < end) {
		if ((off = lseek(to, off, SEEK_DATA)) == -1)
			return (errno == ENXIO ? 0 : -1);
		if ((hole = lseek(to, off, SEEK_HOLE)) == -1)
			return (-1);
		for (; off < hole && off < end; off += w) {
			w = hole < end ? hole - off : end - off;
			if (w > (ssize_t)sizeof(zeros))
				w = sizeof(zeros);
			if ((w = pwrite(to, zeros, (size_t)w, off)) == -1)
				return (-1);
			child_alive();
		}
	}
	return (0);
}

static int
data_range(int from, int to, off_t off, off_t end)
{
	static char	buf[131072];
	ssize_t		n, w, done;

	for (; off < end; off += n) {
		n = end - off < (off_t)sizeof(buf) ? end - off :
		    (ssize_t)sizeof(buf);
		if ((n = pread(from, buf, (size_t)n, off)) == -1)
			return (-1);
		if (n == 0)
			break;		/* it is being cut */
		for (done = 0; done < n; done += w)
			if ((w = pwrite(to, buf + done, (size_t)(n - done),
			    off + done)) == -1)
				return (-1);
		child_alive();
	}
	return (0);
}

int
data_copy(int from, int to)
{
	struct stat	st;
	off_t		data, hole = 0;

	if (fstat(from, &st) == -1)
		return (-1);
	while (hole < st.st_size) {
		if ((data = lseek(from, hole, SEEK_DATA)) == -1 &&
		    errno != ENXIO)
			return (-1);
		if (data == -1 || data > st.st_size)
			data = st.st_size;
		if (data_clear(to, hole, data) == -1)
			return (-1);
		if (data == st.st_size)
			break;
		if ((hole = lseek(from, data, SEEK_HOLE)) == -1 ||
		    data_range(from, to, data, hole) == -1)
			return (-1);
	}
	return (ftruncate(to, st.st_size));
}

static int
link_copy(int from, int dir, const char *name, const struct stat *st)
{
	char	text[PATH_MAX];
	ssize_t	len;

	if ((len = readlinkat(from, "", text, sizeof(text) - 1)) == -1)
		return (-1);
	text[len] = '\0';
	if (symlinkat(text, dir, name) == -1)
		return (-1);
	return (attr_chown(dir, name, st, AT_SYMLINK_NOFOLLOW));
}

static int
file_copy(int from, int dir, const char *name)
{
	int	in, to, r = -1;

	in = openat(AT_FDCWD, fdpath(from).s, O_RDONLY | O_CLOEXEC);
	if (in == -1)
		return (-1);
	to = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (to != -1) {
		if (data_copy(in, to) == 0)
			r = attr_copy_all(from, to, name);
		close(to);
	}
	close(in);
	return (r);
}

static int
node_copy(int from, int dir, const char *name, const struct stat *st)
{
	int	to, r;

	if (mknodat(dir, name, st->st_mode & (S_IFMT | 07777), st->st_rdev) ==
	    -1)
		return (-1);
	to = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (to == -1)
		return (-1);
	r = attr_copy_all(from, to, name);
	close(to);
	return (r);
}

int
entry_copy(int from, int dir, const char *name, const struct stat *st)
{
	if (S_ISLNK(st->st_mode))
		return (link_copy(from, dir, name, st));
	if (S_ISREG(st->st_mode))
		return (file_copy(from, dir, name));
	return (node_copy(from, dir, name, st));
}
