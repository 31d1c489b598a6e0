/*
 * Case A12: every call that writes, at files of the project, without a
 * library between: raw FOLDER. What is refused and what is done is printed;
 * whether the real files are the same is the test's to see.
 */
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int	dir;

static void
told(const char *name, long r)
{
	printf("%s %s\n", name, r == -1 ? strerrorname_np(errno) : "done");
	fflush(stdout);
}

static int
opened(const char *name, uint64_t flags)
{
	struct open_how	how = { .flags = flags };

	return ((int)syscall(SYS_openat2, dir, name, &how, sizeof(how)));
}

static void
writes(void)
{
	int	fd, from, p[2];
	off_t	off = 0;
	char	*map;

	told("openat2+O_TRUNC", opened("f1", O_WRONLY | O_TRUNC));
	fd = opened("f2", O_RDWR);
	from = opened("f3", O_RDONLY);
	told("pwrite64", pwrite(fd, "evil", 4, 0));
	told("copy_file_range", copy_file_range(from, NULL, fd, NULL, 100, 0));
	told("sendfile", sendfile(fd, from, &off, 100));
	if (pipe(p) == 0 && write(p[1], "evil", 4) == 4)
		told("splice", splice(p[0], NULL, fd, NULL, 4, 0));
	told("fallocate", fallocate(fd, 0, 0, 4096));
	told("punch", fallocate(fd, FALLOC_FL_PUNCH_HOLE |
	    FALLOC_FL_KEEP_SIZE, 0, 4096));
	told("ftruncate", ftruncate(fd, 1));
	close(fd);
	fd = opened("f4", O_RDWR);
	map = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED) {
		*(char *)map = 'e';
		told("mmap", msync(map, 4, MS_SYNC));
	}
	/* What was mapped from below before the copy-up stays read-only. */
	from = opened("f5", O_RDONLY);
	map = mmap(NULL, 4, PROT_READ, MAP_SHARED, from, 0);
	told("mprotect", mprotect(map, 4, PROT_READ | PROT_WRITE));
	told("O_TMPFILE", opened(".", O_TMPFILE | O_RDWR));
}

static void
names(void)
{
	told("renameat2", syscall(SYS_renameat2, dir, "f6", dir, "f7", 0));
	told("exchange", syscall(SYS_renameat2, dir, "f8", dir, "f9", 2));
	told("whiteout", syscall(SYS_renameat2, dir, "f10", dir, "n10", 4));
	told("linkat", linkat(dir, "f11", dir, "n11", 0));
	told("unlinkat", unlinkat(dir, "f12", 0));
	told("symlinkat", symlinkat("/etc/shadow", dir, "n13"));
	told("mkdirat", mkdirat(dir, "n14", 0777));
	told("mknodat", mknodat(dir, "n15", S_IFREG | 04777, 0));
	told("mknodat+dev", mknodat(dir, "n16", S_IFCHR | 0666, 0x101));
}

static void
attributes(void)
{
	struct timespec	ts[2] = { { 1, 0 }, { 1, 0 } };
	char		path[64];
	int		fd;

	told("fchmodat", fchmodat(dir, "f17", 04777, 0));
	told("utimensat", utimensat(dir, "f18", ts, 0));
	fd = opened("f19", O_RDONLY);
	told("fsetxattr", fsetxattr(fd, "user.evil", "1", 1, 0));
	told("trusted", fsetxattr(fd, "trusted.overlay.opaque", "y", 1, 0));
	told("capability", fsetxattr(fd, "security.capability",
	    "\1\0\0\2\377\377\377\377\0\0\0\0\377\377\377\377\0\0\0\0", 20, 0));
	told("fchown", fchown(fd, 12345, 12345));
	told("FS_IOC_SETFLAGS", syscall(SYS_ioctl, fd, 0x40086602UL,
	    (long[]){ 0x10 }));
	/* Opened anew through its link, for writing. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, O_WRONLY | O_TRUNC);
	told("/proc/self/fd", fd);
}

/* The file of a handle is the host's, whatever is mounted over it. */
static void
handles(void)
{
	struct file_handle	*fh = calloc(1, sizeof(*fh) + 128);
	struct io_uring_params	 params = { 0 };
	int			 id, fd;

	if (fh == NULL)
		err(2, "calloc");
	fh->handle_bytes = 128;
	if (name_to_handle_at(dir, "f20", fh, &id, 0) == -1) {
		told("name_to_handle_at", -1);
		fh->handle_bytes = 8;
		fh->handle_type = 1;
	} else
		told("name_to_handle_at", 0);
	fd = open_by_handle_at(dir, fh, O_WRONLY | O_TRUNC);
	told("open_by_handle_at", fd);
	if (fd != -1)
		told("write", write(fd, "evil", 4));
	told("io_uring_setup", syscall(SYS_io_uring_setup, 8, &params));
	free(fh);
}

/* Ways out of the tree. */
static void
ways(void)
{
	static const char *const	roots[] = {
		"/proc/1/root", "/proc/1/cwd", "/proc/self/root/../..",
		"/proc/1/fd/3", "/dev/fd/3", "/oldroot", "/..",
	};
	char				path[128];
	size_t				i;
	int				fd;

	for (i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		snprintf(path, sizeof(path), "%s/tmp/canary", roots[i]);
		fd = open(path, O_WRONLY | O_TRUNC);
		told(path, fd);
	}
	told("chroot", chroot("/proc/1/root"));
	told("chdir", chdir("/proc/1/cwd"));
	/* Every descriptor we might have inherited. */
	for (fd = 3; fd < 256; fd++)
		if (fd != dir && fcntl(fd, F_GETFD) != -1)
			printf("inherited %d\n", fd);
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: raw folder");
	ways();
	dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1)
		err(2, "%s", argv[1]);
	writes();
	names();
	attributes();
	handles();
	return (0);
}
