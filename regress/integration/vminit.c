/*
 * The first process of a virtual machine that a test boots: loads the modules
 * in /modules, goes over to the disk, runs /vm/run there, and switches off.
 */
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES	200

/* How many were loaded: those that others need may come later in the list. */
static int
load(void)
{
	struct dirent	*de;
	DIR		*d;
	int		 fd, n = 0;

	if ((d = opendir("/modules")) == NULL)
		err(1, "/modules");
	while ((de = readdir(d)) != NULL) {
		if (de->d_name[0] == '.' || (fd = openat(dirfd(d), de->d_name,
		    O_RDONLY | O_CLOEXEC)) == -1)
			continue;
		if (syscall(SYS_finit_module, fd, "", 0) == 0)
			n++;
		close(fd);
	}
	closedir(d);
	return (n);
}

static void
disk(void)
{
	int	i;

	if (mount("dev", "/dev", "devtmpfs", 0, NULL) == -1)
		err(1, "/dev");
	for (i = 0; mount("/dev/vda", "/disk", "ext4", 0, NULL) == -1; i++) {
		if (i == TRIES)
			err(1, "/dev/vda");
		usleep(20000);
	}
	if (mount("/dev", "/disk/dev", NULL, MS_MOVE, NULL) == -1 ||
	    chdir("/disk") == -1 || mount(".", "/", NULL, MS_MOVE, NULL) ==
	    -1 || chroot(".") == -1 || chdir("/") == -1)
		err(1, "/disk");
}

static void
run(void)
{
	pid_t	pid;

	if ((pid = fork()) == 0) {
		setsid();
		execl("/vm/run", "/vm/run", (char *)NULL);
		err(1, "/vm/run");
	}
	while (pid != -1 && wait(NULL) != pid)
		;
}

int
main(void)
{
	while (load() > 0)
		;
	disk();
	run();
	sync();
	reboot(RB_POWER_OFF);
	err(1, "switching off");
}
