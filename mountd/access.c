#include <sys/stat.h>
#include <sys/xattr.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../privsep/mode.h"
#include "access.h"
#include "attr.h"

/* The kernel's form of an access list: a version, then entries, all of it
 * little endian (posix_acl_xattr.h). */
#define ACL_VERSION	2
#define ACL_MAX		(4 + 1024 * 8)

enum acl_tag {
	ACL_USER_OBJ = 1, ACL_USER = 2, ACL_GROUP_OBJ = 4, ACL_GROUP = 8,
	ACL_MASK = 16, ACL_OTHER = 32
};

struct acl_entry {
	unsigned int	tag, perm;
	uint32_t	id;
};

static bool
user_in(const struct user *u, uint64_t gid)
{
	size_t	i;

	if (u->gid == gid)
		return (true);
	for (i = 0; i < u->groups.n; i++)
		if (u->groups.v[i] == gid)
			return (true);
	return (false);
}

static unsigned int
le(const uint8_t *p, int n)
{
	unsigned int	v = 0;

	while (n-- > 0)
		v = v << 8 | p[n];
	return (v);
}

static struct acl_entry
acl_at(const uint8_t *acl, size_t i)
{
	const uint8_t	*p = acl + 4 + i * 8;

	return ((struct acl_entry){ le(p, 2), le(p + 2, 2), le(p + 4, 4) });
}

static unsigned int
acl_mask(const uint8_t *acl, size_t n)
{
	size_t	i;

	for (i = 0; i < n; i++)
		if (acl_at(acl, i).tag == ACL_MASK)
			return (acl_at(acl, i).perm);
	return (7);
}

/* In S the ids of others, and so their groups, are not known: but of what is
 * not the user's own the kernel judges us there as it does the session. */
static bool
kernel_may(int fd, unsigned int want)
{
	return (faccessat(AT_FDCWD, fdpath(fd).s, (int)want, AT_EACCESS) ==
	    0);
}

/* The first that fits a user; of groups any that gives it; else the rest. */
static bool
acl_may(const uint8_t *acl, size_t n, const struct stat *st,
    const struct user *u, unsigned int want)
{
	unsigned int		mask = acl_mask(acl, n), other = 0;
	struct acl_entry	e;
	bool			grouped = false;
	size_t			i;

	for (i = 0; i < n; i++) {
		e = acl_at(acl, i);
		if (e.tag == ACL_USER && e.id == u->uid)
			return ((e.perm & mask & want) == want);
		if (e.tag == ACL_OTHER)
			other = e.perm;
		if ((e.tag == ACL_GROUP_OBJ && user_in(u, st->st_gid)) ||
		    (e.tag == ACL_GROUP && user_in(u, e.id))) {
			grouped = true;
			if ((e.perm & mask & want) == want)
				return (true);
		}
	}
	return (!grouped && (other & want) == want);
}

bool
access_may(int fd, const struct user *u, unsigned int want)
{
	uint8_t		acl[ACL_MAX];
	struct stat	st;
	ssize_t		len;

	if (fstat(fd, &st) == -1)
		return (false);
	if (st.st_uid == u->uid)
		return ((st.st_mode >> 6 & want) == want);
	if (mode_user())
		return (kernel_may(fd, want));
	len = getxattr(fdpath(fd).s, "system.posix_acl_access", acl,
	    sizeof(acl));
	if (len > 4 && le(acl, 4) == ACL_VERSION && (len - 4) % 8 == 0)
		return (acl_may(acl, (size_t)(len - 4) / 8, &st, u, want));
	if (len >= 0 || (errno != ENODATA && errno != EOPNOTSUPP))
		return (false);	/* not understood */
	if (user_in(u, st.st_gid))
		return ((st.st_mode >> 3 & want) == want);
	return ((st.st_mode & want) == want);
}
