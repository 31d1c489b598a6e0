/*
 * The ids of the suite's roles: the installed accounts, or, in a build tree
 * and in the demo, numbers of 61184 to 65519, the range that the systemd
 * project keeps free for such use (UIDS-GIDS.md, "dynamic user"). Eight in a
 * row make a slot; a byte of /run/sbx/uids is locked for each slot in use, so
 * that two suites never share one.
 */
#include <sys/file.h>
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "mode.h"
#include "sbxd.h"

#define UIDS_FILE	"/run/sbx/uids"
#define SLOT_FIRST	61184
#define SLOT_SIZE	8
#define SLOT_COUNT	((65520 - SLOT_FIRST) / SLOT_SIZE)

static const char *const	accounts[UID_COUNT] = {
	[UID_SBXD] = "_sbxd", [UID_SPAWN] = "_sbxspawn",
	[UID_NETD] = "_sbxnet", [UID_MOUNTD] = "_sbxmount",
	[UID_LANDD] = "_sbxland", [UID_WORKER] = "_sbxwork",
	[UID_FORWARDER] = "_sbxfwd",
};

/* Its group is what passwd says; a role that is root's is no role. */
static void
account_take(const struct passwd *pw, int i)
{
	if (pw->pw_uid == 0 || pw->pw_gid == 0)
		fatalx("the account %s has uid %u and gid %u: give it a uid "
		    "and a group of its own", pw->pw_name,
		    (unsigned int)pw->pw_uid, (unsigned int)pw->pw_gid);
	sbxd.uids[i] = pw->pw_uid;
	sbxd.gids[i] = pw->pw_gid;
}

/* Where they usually are, in one reading: asked for one by one, each that is
 * missing has all sources of accounts asked, which takes milliseconds. */
static int
accounts_read(bool have[UID_COUNT])
{
	struct passwd	*pw;
	FILE		*f;
	int		 i, found = 0;

	if ((f = fopen("/etc/passwd", "re")) == NULL)
		return (0);
	while ((pw = fgetpwent(f)) != NULL)
		for (i = 0; i < UID_COUNT; i++)
			if (!have[i] && strcmp(pw->pw_name, accounts[i]) ==
			    0) {
				account_take(pw, i);
				have[i] = true;
				found++;
			}
	fclose(f);
	return (found);
}

/* What one role may not is nothing where another, which may, has its uid. */
static void
accounts_apart(void)
{
	int	i, j;

	for (i = 1; i < UID_COUNT; i++)
		for (j = 0; j < i; j++)
			if (sbxd.uids[i] == sbxd.uids[j])
				fatalx("the accounts %s and %s have the one "
				    "uid %u: give each a uid of its own",
				    accounts[j], accounts[i],
				    (unsigned int)sbxd.uids[i]);
}

/* All of the accounts, or none: half a set is a broken installation. */
static bool
accounts_find(void)
{
	bool		 have[UID_COUNT] = { false };
	struct passwd	*pw;
	const char	*missing = NULL;
	int		 i, found = accounts_read(have);

	/* The broker's stands for those of other sources. */
	if (found == 0 && getpwnam(accounts[UID_SBXD]) == NULL)
		return (false);
	for (i = 0; i < UID_COUNT; i++) {
		if (have[i])
			continue;
		if ((pw = getpwnam(accounts[i])) == NULL) {
			missing = accounts[i];
			continue;
		}
		account_take(pw, i);
	}
	if (missing != NULL)
		fatalx("the account %s is missing while others of the suite's "
		    "are there: make it, or remove them all", missing);
	accounts_apart();
	return (true);
}

/*
 * A service manager gives numbers of this range to services, who would then be
 * a role's uid: each that is given is a file, locked (systemd,
 * dynamic-user.c). Never closed: it holds the lock.
 */
static bool
dynamic_lock(uid_t uid)
{
	char	path[64];
	int	fd;

	if (access("/run/systemd/system", F_OK) == -1)
		return (true);
	if (mkdir("/run/systemd/dynamic-uid", 0755) == -1 && errno != EEXIST)
		fatal("/run/systemd/dynamic-uid");
	snprintf(path, sizeof(path), "/run/systemd/dynamic-uid/%u",
	    (unsigned int)uid);
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		fatal("%s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return (true);
	close(fd);
	return (false);
}

/* 0, or the first number that is somebody's: whoever has it owns every
 * session's user namespace. */
static uid_t
slot_owned(int slot)
{
	uid_t	id;
	int	i;

	for (i = 0; i < SLOT_SIZE; i++) {
		id = (uid_t)(SLOT_FIRST + slot * SLOT_SIZE + i);
		if (getpwuid(id) != NULL || getgrgid(id) != NULL ||
		    !dynamic_lock(id))
			return (id);
	}
	return (0);
}

/* The lock is the open file's, and goes with our last descriptor of it. */
static bool
slot_lock(int fd, int slot)
{
	struct flock	fl = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = slot,
		.l_len = 1
	};

	if (fcntl(fd, F_OFD_SETLK, &fl) == 0)
		return (true);
	if (errno != EAGAIN && errno != EACCES)
		fatal("locking %s", UIDS_FILE);
	return (false);
}

/*
 * The state's own slot of an earlier run, whose files have these uids: its
 * folder is the broker's. Only root gives it to anybody, and it is on the disk
 * before a session in it is said to be kept: session_sync().
 */
static int
slot_recorded(void)
{
	struct stat	st;
	unsigned int	first;

	if (fstat(sbxd.dir, &st) == -1)
		fatal("%s/sbxd", sbxd.conf.state);
	first = st.st_uid - UID_SBXD;
	if (first < SLOT_FIRST || (first - SLOT_FIRST) % SLOT_SIZE != 0 ||
	    (first - SLOT_FIRST) / SLOT_SIZE >= SLOT_COUNT)
		return (-1);
	return ((int)(first - SLOT_FIRST) / SLOT_SIZE);
}

/* Suites on different states start looking at different places, so that a
 * stopped one's uids are not the next one's. On new filesystems folders have
 * the same numbers. */
static int
slot_find(int fd)
{
	struct stat	st;
	int		i, slot;

	if (fstat(sbxd.dir, &st) == -1)
		fatal("%s", sbxd.conf.state);
	for (i = 0; i < SLOT_COUNT; i++) {
		slot = (int)((st.st_ino * 2654435761U + st.st_dev * 40503U +
		    (uint64_t)i) % SLOT_COUNT);
		if (slot_lock(fd, slot) && slot_owned(slot) == 0)
			return (slot);
	}
	fatalx("no free uids from %d to 65519: make the suite's accounts "
	    "instead (sysusers)", SLOT_FIRST);
}

static void
slot_take(void)
{
	uid_t	owned;
	int	fd, slot, i;

	if (mkdir("/run/sbx", 0755) == -1 && errno != EEXIST)
		fatal("/run/sbx");
	if (chmod("/run/sbx", 0755) == -1)
		fatal("/run/sbx");
	/* Never closed: it holds the lock. */
	fd = open(UIDS_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		fatal(UIDS_FILE);
	if ((slot = slot_recorded()) == -1)
		slot = slot_find(fd);
	else if (!slot_lock(fd, slot))
		fatalx("the uids of %s are in use by another suite: is it a "
		    "copy of that one's state?", sbxd.conf.state);
	/* Accounts may have come since. */
	else if ((owned = slot_owned(slot)) != 0)
		fatalx("uid or gid %u, one of those that the state %s has, is "
		    "somebody else's by now: give that one another, or make "
		    "the suite's accounts (sysusers)", (unsigned int)owned,
		    sbxd.conf.state);
	for (i = 0; i < UID_COUNT; i++)
		sbxd.uids[i] = sbxd.gids[i] =
		    (uid_t)(SLOT_FIRST + slot * SLOT_SIZE + i);
}

void
start_uids(void)
{
	int	i;

	for (i = 0; i < UID_COUNT && mode_user(); i++) {
		sbxd.uids[i] = mode_owner();
		sbxd.gids[i] = mode_group();
	}
	if (mode_user())
		return;
	if (!accounts_find())
		slot_take();
	if (fchown(sbxd.dir, sbxd.uids[UID_SBXD],
	    sbxd.gids[UID_SBXD]) == -1)
		fatal("giving %s/sbxd to uid %u: the state must lie on a "
		    "filesystem with owners, like ext4, xfs or btrfs",
		    sbxd.conf.state, (unsigned int)sbxd.uids[UID_SBXD]);
}
