/*
 * System calls on files, each exactly once: fs CALL ARGUMENT... prints nothing
 * and ends with 0, or prints the errno's name and ends with 1. Several calls
 * stand one after the other, parted by "+".
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A socket that stays as a name. */
static int
bound(const char *path)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	int			fd;

	if (strlen(path) >= sizeof(sun.sun_path)) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	memcpy(sun.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return (fd == -1 ? -1 : bind(fd, (struct sockaddr *)&sun,
	    sizeof(sun)));
}

/* A folder that is open while it is removed has nothing in it any more. */
static int
rmdir_open(const char *path)
{
	struct dirent	*de;
	DIR		*d;
	int		 n = 0;

	if ((d = opendir(path)) == NULL || rmdir(path) == -1)
		return (-1);
	rewinddir(d);
	while ((de = readdir(d)) != NULL)
		if (strcmp(de->d_name, ".") != 0 &&
		    strcmp(de->d_name, "..") != 0)
			n++;
	closedir(d);
	errno = ENOTEMPTY;
	return (n == 0 ? 0 : -1);
}

/* One byte through a shared mapping. */
static int
mapped(const char *path, const char *text)
{
	int	 fd = open(path, O_RDWR | O_CLOEXEC);
	char	*p;

	if (fd == -1)
		return (-1);
	p = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return (-1);
	*p = *text;
	return (msync(p, 1, MS_SYNC));
}

/* Written to after a rename, and by who has it open: "then TEXT" appends. */
static int
held(const char *path, const char *text)
{
	int	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd == -1)
		return (-1);
	printf("open\n");
	fflush(stdout);
	if (getchar() == EOF)
		return (-1);
	return (write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 :
	    -1);
}

static int
locked(const char *path, const char *start)
{
	struct flock	fl = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET,
		.l_start = strtol(start, NULL, 10), .l_len = 1
	};
	int		fd = open(path, O_RDWR | O_CLOEXEC);

	return (fd == -1 ? -1 : fcntl(fd, F_SETLK, &fl));
}

static int
call(int n, char **v)
{
	mode_t	mode = n > 2 ? (mode_t)strtoul(v[2], NULL, 8) : 0;

	if (n == 3 && strcmp(v[0], "rename") == 0)
		return (rename(v[1], v[2]));
	if (n == 3 && strcmp(v[0], "exchange") == 0)
		return (renameat2(AT_FDCWD, v[1], AT_FDCWD, v[2],
		    RENAME_EXCHANGE));
	if (n == 3 && strcmp(v[0], "noreplace") == 0)
		return (renameat2(AT_FDCWD, v[1], AT_FDCWD, v[2],
		    RENAME_NOREPLACE));
	if (n == 3 && strcmp(v[0], "link") == 0)
		return (link(v[1], v[2]));
	if (n == 3 && strcmp(v[0], "chmod") == 0)
		return (chmod(v[1], mode));
	if (n == 3 && strcmp(v[0], "mkdir") == 0)
		return (mkdir(v[1], mode));
	if (n == 2 && strcmp(v[0], "rmdir") == 0)
		return (rmdir(v[1]));
	if (n == 2 && strcmp(v[0], "rmdir-open") == 0)
		return (rmdir_open(v[1]));
	if (n == 2 && strcmp(v[0], "socket") == 0)
		return (bound(v[1]));
	if (n == 3 && strcmp(v[0], "map") == 0)
		return (mapped(v[1], v[2]));
	if (n == 3 && strcmp(v[0], "held") == 0)
		return (held(v[1], v[2]));
	if (n == 3 && strcmp(v[0], "lock") == 0)
		return (locked(v[1], v[2]));
	errx(2, "%s: no such call with %d arguments", v[0], n - 1);
}

int
main(int argc, char **argv)
{
	int	first = 1, i;

	for (i = 1; i <= argc; i++) {
		if (i < argc && strcmp(argv[i], "+") != 0)
			continue;
		if (i > first && call(i - first, argv + first) == -1) {
			printf("%s\n", strerrorname_np(errno));
			return (1);
		}
		first = i + 1;
	}
	return (0);
}
