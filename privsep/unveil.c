#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "unveil.h"

/* Debian 12's headers end at ABI 2: the kernel's later names are ours. */
#define LL_EXECUTE	(UINT64_C(1) << 0)
#define LL_WRITE_FILE	(UINT64_C(1) << 1)
#define LL_READ_FILE	(UINT64_C(1) << 2)
#define LL_READ_DIR	(UINT64_C(1) << 3)
#define LL_REMOVE_DIR	(UINT64_C(1) << 4)
#define LL_REMOVE_FILE	(UINT64_C(1) << 5)
#define LL_MAKE_CHAR	(UINT64_C(1) << 6)
#define LL_MAKE_DIR	(UINT64_C(1) << 7)
#define LL_MAKE_REG	(UINT64_C(1) << 8)
#define LL_MAKE_SOCK	(UINT64_C(1) << 9)
#define LL_MAKE_FIFO	(UINT64_C(1) << 10)
#define LL_MAKE_BLOCK	(UINT64_C(1) << 11)
#define LL_MAKE_SYM	(UINT64_C(1) << 12)
#define LL_REFER	(UINT64_C(1) << 13)	/* ABI 2 */
#define LL_TRUNCATE	(UINT64_C(1) << 14)	/* ABI 3 */
#define LL_IOCTL_DEV	(UINT64_C(1) << 15)	/* ABI 5 */

#define LL_SCOPE_ABSTRACT	(UINT64_C(1) << 0)	/* ABI 6 */
#define LL_SCOPE_SIGNAL		(UINT64_C(1) << 1)

#define LL_CREATE_VERSION	1U
#define LL_RULE_PATH_BENEATH	1

struct ll_ruleset {
	uint64_t	fs, net, scoped;
};

struct ll_path {
	uint64_t	allowed;
	int32_t		parent_fd;
} __attribute__((packed));

struct unveil {
	int		ruleset;
	uint64_t	handled;
};

int
unveil_abi(void)
{
	long	abi;

	abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LL_CREATE_VERSION);
	return (abi < 0 ? 0 : (int)abi);
}

static uint64_t
unveil_known(int abi)
{
	uint64_t	known = (UINT64_C(1) << 13) - 1;

	if (abi >= 2)
		known |= LL_REFER;
	if (abi >= 3)
		known |= LL_TRUNCATE;
	if (abi >= 5)
		known |= LL_IOCTL_DEV;
	return (known);
}

/* A kernel that knows less takes a shorter struct. */
static int
ruleset_create(const struct ll_ruleset *rs, int abi)
{
	size_t	size = abi >= 6 ? sizeof(*rs) : abi >= 4 ? 16 : 8;

	return ((int)syscall(SYS_landlock_create_ruleset, rs, size, 0));
}

struct unveil *
unveil_begin(void)
{
	struct ll_ruleset	 rs = { 0 };
	struct unveil		*u;
	int			 abi = unveil_abi();

	if ((u = calloc(1, sizeof(*u))) == NULL)
		fatal("unveil");
	u->ruleset = -1;
	if (abi == 0) {
		log_warnx("this kernel has no Landlock: only uid, "
		    "capabilities and seccomp confine this process");
		return (u);
	}
	u->handled = rs.fs = unveil_known(abi);
	if ((u->ruleset = ruleset_create(&rs, abi)) == -1)
		fatal("making a Landlock ruleset");
	return (u);
}

static uint64_t
unveil_rights(int rights)
{
	uint64_t	r = 0;

	if (rights & UNVEIL_READ)
		r |= LL_READ_FILE | LL_READ_DIR;
	if (rights & UNVEIL_LIST)
		r |= LL_READ_DIR;
	if (rights & UNVEIL_WRITE)
		r |= LL_WRITE_FILE | LL_TRUNCATE | LL_REMOVE_DIR |
		    LL_REMOVE_FILE | LL_MAKE_DIR | LL_MAKE_REG | LL_MAKE_SYM;
	if (rights & UNVEIL_SOCK)
		r |= LL_MAKE_SOCK | LL_REMOVE_FILE;
	if (rights & UNVEIL_REFER)
		r |= LL_REFER;
	return (r);
}

void
unveil_fd(struct unveil *u, int fd, int rights)
{
	struct ll_path	rule = { .parent_fd = fd };
	struct stat	st;

	if (u->ruleset == -1)
		return;
	rule.allowed = unveil_rights(rights) & u->handled;
	/* A rule with a folder's rights for a file is EINVAL. */
	if (fstat(fd, &st) == -1)
		fatal("a descriptor for a Landlock rule");
	if (!S_ISDIR(st.st_mode))
		rule.allowed &= LL_WRITE_FILE | LL_READ_FILE | LL_TRUNCATE;
	if (syscall(SYS_landlock_add_rule, u->ruleset, LL_RULE_PATH_BENEATH,
	    &rule, 0) == -1)
		fatal("adding a Landlock rule");
}

void
unveil_path(struct unveil *u, const char *path, int rights)
{
	int	fd;

	if ((fd = open(path, O_PATH | O_CLOEXEC)) == -1)
		fatal("opening %s for a Landlock rule", path);
	unveil_fd(u, fd, rights);
	close(fd);
}

static void
ruleset_restrict(int ruleset)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		fatal("PR_SET_NO_NEW_PRIVS");
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) == -1)
		fatal("entering the Landlock domain");
	close(ruleset);
}

void
unveil_end(struct unveil *u)
{
	if (u->ruleset != -1)
		ruleset_restrict(u->ruleset);
	free(u);
}

struct unveil *
unveil_session(bool writes)
{
	struct ll_ruleset	 rs = { 0 };
	struct unveil		*u;
	int			 abi = unveil_abi();

	if ((u = calloc(1, sizeof(*u))) == NULL)
		fatal("unveil");
	u->ruleset = -1;
	/* Who handles any right of a filesystem's has to handle REFER, or no
	 * rename leaves its folder. */
	if (writes && abi >= 2)
		u->handled = rs.fs = LL_WRITE_FILE | LL_REFER;
	/* Below that abstract sockets stay open: doctor says so. */
	if (abi >= 6)
		rs.scoped = LL_SCOPE_ABSTRACT | LL_SCOPE_SIGNAL;
	if (rs.fs == 0 && rs.scoped == 0)
		return (u);
	if ((u->ruleset = ruleset_create(&rs, abi)) == -1)
		fatal("making a Landlock ruleset");
	return (u);
}
