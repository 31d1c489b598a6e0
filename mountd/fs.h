/*
 * The kernel's mount interface by descriptor. Everything made here is
 * detached: no mount of mountd's is ever in a namespace but the one that init
 * attaches the finished tree to. Where the kernel, or who filters our calls,
 * has no such interface, it is made another way (stage.h), and detached in the
 * end. A failure sets the fault and gives -1.
 */
#ifndef MOUNTD_FS_H
#define MOUNTD_FS_H

#include <sys/types.h>
#include <sys/mount.h>
#include <stdbool.h>
#include <stdint.h>
#include <linux/openat2.h>

/* Components only, never a link, never out of the folder it starts from. */
#define FS_BENEATH	(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | \
			    RESOLVE_NO_MAGICLINKS)
#define FS_PLAIN	(RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

int	fs_openat2(int dir, const char *path, int flags, uint64_t resolve);

/* A filesystem context of a literal type; options, whose values are literals
 * or numbers; the mount that comes of it, with attributes. fs_mount takes the
 * context over. what is for messages. */
struct fs;
struct fs *fs_open(const char *type, const char *what);
int	fs_set(struct fs *, const char *key, const char *value);
int	fs_set_fd(struct fs *, const char *key, int fd);
int	fs_mount(struct fs *, unsigned int attrs, const char *what);
void	fs_close(struct fs *);
/* One that is made for the maker's pid namespace, by a process in pidns. */
struct fs *fs_open_inside(const char *type, int pidns, const char *what);
/* Whether the kernel would make it: 0, or -1 with errno and no fault. */
int	fs_try(struct fs *);
/* A tmpfs with the options "a=b,c=d", made of literals. */
int	fs_tmpfs(const char *options, unsigned int attrs, const char *what);

/* The mount or the subtree at fd as a detached mount of its own, without what
 * is mounted below it. */
int	fs_clone(int fd, const char *what);
/* With all that is mounted below it, the attributes on each, and private. */
int	fs_clone_all(int fd, uint64_t set, const char *what);
/* And makes it private. */
int	fs_attr(int mnt, uint64_t set, const char *what);
int	fs_attach(int mnt, int point, const char *what);
/* Of a detached mount, taken over, one that others can be attached to; and
 * back again, with them. Also taken over. */
int	fs_base(int mnt, const char *what);
int	fs_lift(int base, const char *what);
/* Closes a mount that may be such a one; where it was attached it stays. */
void	fs_end(int mnt);
/* Drops all of a mounted filesystem's cached names that nobody holds. */
int	fs_refresh(int mnt, const char *what);

bool	fs_same(int a, int b);		/* device and inode */

#endif
