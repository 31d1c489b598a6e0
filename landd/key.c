#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <linux/fs.h>

#include "../common/log.h"
#include "landd.h"

/* The folder is landd's alone, whoever it was before: uids without accounts
 * change with the state that they are written into. */
static int
key_folder(const char *state, uid_t uid, gid_t gid)
{
	struct stat	st;
	int		dir, fd;

	dir = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1)
		fatal("%s", state);
	if (mkdirat(dir, "landd", 0700) == -1 && errno != EEXIST)
		fatal("making %s/landd", state);
	fd = openat(dir, "landd", O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) == -1)
		fatal("%s/landd", state);
	if (fchown(fd, uid, gid) == -1 || fchmod(fd, 0700) == -1)
		fatal("owner and mode of %s/landd", state);
	close(dir);
	return (fd);
}

/* Whole under another name first: no crash leaves half a key. */
static void
key_make(int dir, const char *state, uid_t uid, gid_t gid)
{
	uint8_t	key[KEY_LEN];
	int	fd;

	if (getrandom(key, sizeof(key), 0) != KEY_LEN)
		fatal("random bytes for %s/landd/key", state);
	(void)unlinkat(dir, "key.new", 0);
	fd = openat(dir, "key.new", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (fd == -1 || write(fd, key, sizeof(key)) != KEY_LEN ||
	    fchown(fd, uid, gid) == -1 || fsync(fd) == -1 || close(fd) == -1)
		fatal("writing %s/landd/key.new", state);
	if (syscall(SYS_renameat2, dir, "key.new", dir, "key",
	    RENAME_NOREPLACE) == -1 && errno != EEXIST)
		fatal("%s/landd/key", state);
	explicit_bzero(key, sizeof(key));
}

int
key_load(const char *state, uid_t uid, gid_t gid, uint8_t key[KEY_LEN])
{
	uint8_t		more;
	struct stat	st;
	int		dir = key_folder(state, uid, gid), fd, made = -1;

	fd = openat(dir, "key", O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC);
	if (fd == -1 && errno == ENOENT) {
		key_make(dir, state, uid, gid);
		made = dir;
		fd = openat(dir, "key", O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
		    O_CLOEXEC);
	}
	if (fd == -1 || fstat(fd, &st) == -1)
		fatal("%s/landd/key", state);
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    (st.st_mode & 0077) != 0)
		fatalx("%s/landd/key: not a file of mode 600 with one name: "
		    "whoever else could read it can forge landings; put it "
		    "right by hand", state);
	if (read(fd, key, KEY_LEN) != KEY_LEN || read(fd, &more, 1) != 0)
		fatalx("%s/landd/key: not %d bytes; take it from a backup, or "
		    "remove it: what sessions have changed so far can then no "
		    "longer be landed", state, KEY_LEN);
	if (fchown(fd, uid, gid) == -1)
		fatal("owner of %s/landd/key", state);
	close(fd);
	if (made == -1)
		close(dir);
	return (made);
}

void
key_settle(int made)
{
	if (made == -1)
		return;
	if (fsync(made) == -1)
		fatal("syncing the folder of the new key, landd in the state");
	close(made);
}
