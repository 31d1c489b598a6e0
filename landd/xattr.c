#include <sys/xattr.h>
#include <stdlib.h>
#include <string.h>

#include "xattr.h"

#define XATTR_LIST_MAX	65536
#define XATTR_VALUE_MAX	65536

static bool
xattr_counts(const char *name)
{
	return (strncmp(name, "user.", 5) == 0 ||
	    strcmp(name, "system.posix_acl_access") == 0 ||
	    strcmp(name, "system.posix_acl_default") == 0 ||
	    strcmp(name, "security.capability") == 0);
}

/* The names, each with its NUL; NULL and 0: none. */
static char *
xattr_list(int fd, size_t *len)
{
	char	*list;
	ssize_t	 n;

	*len = 0;
	if (fd == -1 || (n = flistxattr(fd, NULL, 0)) <= 0 ||
	    n > XATTR_LIST_MAX || (list = malloc((size_t)n)) == NULL)
		return (NULL);
	if ((n = flistxattr(fd, list, (size_t)n)) <= 0) {
		free(list);
		return (NULL);
	}
	*len = (size_t)n;
	return (list);
}

static bool
xattr_same(int a, int b, const char *name)
{
	char	*one = malloc(2 * XATTR_VALUE_MAX), *two;
	ssize_t	 n, m;
	bool	 same;

	if (one == NULL)
		return (false);
	two = one + XATTR_VALUE_MAX;
	n = fgetxattr(a, name, one, XATTR_VALUE_MAX);
	m = b == -1 ? -1 : fgetxattr(b, name, two, XATTR_VALUE_MAX);
	same = n == m && (n <= 0 || memcmp(one, two, (size_t)n) == 0);
	free(one);
	return (same);
}

/* Something of a's that b has not so. */
static bool
xattr_more(int a, int b)
{
	const char	*name;
	size_t		 len;
	char		*list;
	bool		 more = false;

	if ((list = xattr_list(a, &len)) == NULL)
		return (false);
	for (name = list; name < list + len && !more; name += strlen(name) + 1)
		more = xattr_counts(name) && !xattr_same(a, b, name);
	free(list);
	return (more);
}

bool
xattr_differ(int view, int real)
{
	return (xattr_more(view, real) || (real != -1 &&
	    xattr_more(real, view)));
}
