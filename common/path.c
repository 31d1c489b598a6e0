#include <errno.h>
#include <string.h>

#include "path.h"

bool
path_is_canonical(const char *path)
{
	const char	*p = path;
	size_t		 len;

	if (*p != '/')
		return (false);
	if (p[1] == '\0')
		return (true);
	while (*p == '/') {
		p++;
		len = strcspn(p, "/");
		if (len == 0 || (len == 1 && p[0] == '.') ||
		    (len == 2 && p[0] == '.' && p[1] == '.'))
			return (false);
		p += len;
	}
	return (true);
}

const char *
path_below(const char *dir, const char *path)
{
	size_t	len = strlen(dir);

	if (len == 1)		/* "/" */
		return (path + 1);
	if (strncmp(dir, path, len) != 0)
		return (NULL);
	if (path[len] == '\0')
		return (path + len);
	return (path[len] == '/' ? path + len + 1 : NULL);
}

bool
path_within(const char *dir, const char *path)
{
	return (path_below(dir, path) != NULL);
}

static int
path_append(char *out, size_t size, size_t *n, const char *part, size_t len)
{
	if (len == 1 && part[0] == '.')
		return (0);
	if (len == 2 && part[0] == '.' && part[1] == '.') {
		while (*n > 0 && out[--*n] != '/')
			;
		return (0);
	}
	if (*n + 1 + len + 1 > size) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	out[(*n)++] = '/';
	memcpy(out + *n, part, len);
	*n += len;
	return (0);
}

static int
path_append_all(char *out, size_t size, size_t *n, const char *in)
{
	size_t	len;

	for (;;) {
		in += strspn(in, "/");
		if ((len = strcspn(in, "/")) == 0)
			return (0);
		if (path_append(out, size, n, in, len) == -1)
			return (-1);
		in += len;
	}
}

int
path_clean(const char *cwd, const char *in, char *out, size_t size)
{
	size_t	n = 0;

	if (size < 2) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	if (in[0] != '/' && path_append_all(out, size, &n, cwd) == -1)
		return (-1);
	if (path_append_all(out, size, &n, in) == -1)
		return (-1);
	if (n == 0)
		out[n++] = '/';
	out[n] = '\0';
	return (0);
}

void
path_octal_undo(char *s)
{
	char	*out = s;

	for (; *s != '\0'; s++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' &&
		    s[2] >= '0' && s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
			*out++ = (char)((s[1] - '0') << 6 |
			    (s[2] - '0') << 3 | (s[3] - '0'));
			s += 3;
		} else
			*out++ = *s;
	}
	*out = '\0';
}
