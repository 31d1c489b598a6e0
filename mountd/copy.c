#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "attr.h"
#include "copy.h"
#include "mountd.h"

int
data_copy(int from, int to)
{
	static char	buf[131072];
	ssize_t		n, w, done;
	off_t		off = 0;

	while ((n = pread(from, buf, sizeof(buf), off)) > 0)
		for (done = 0; done < n; done += w, off += w) {
			if ((w = pwrite(to, buf + done, (size_t)(n - done),
			    off)) == -1)
				return (-1);
			child_alive();
		}
	if (n == -1)
		return (-1);
	return (ftruncate(to, off));
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
	return (fchownat(dir, name, st->st_uid, st->st_gid,
	    AT_SYMLINK_NOFOLLOW));
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
