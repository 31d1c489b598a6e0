/*
 * The suite's folder in the cgroup v2 tree, made while root and given to
 * spawn: below it a leaf for spawn itself and one for each session.
 */
#include <sys/stat.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/log.h"
#include "mode.h"
#include "sbxd.h"

#define SUITES_MAX	100	/* of one number, in as many pid namespaces */
#define UNDO_TRIES	100

static pid_t	cgroup_maker;

/* Where the v2 tree is mounted; "" if nowhere. */
static void
cgroup_mount(char *out, size_t size)
{
	char	*line = NULL, point[LIMIT_PATH + 1];
	size_t	 room = 0;
	FILE	*f;

	out[0] = '\0';
	if ((f = fopen("/proc/self/mountinfo", "re")) == NULL)
		fatal("/proc/self/mountinfo");
	while (out[0] == '\0' && getline(&line, &room, f) != -1) {
		if (strstr(line, " - cgroup2 ") == NULL)
			continue;
		if (sscanf(line, "%*d %*d %*s %*s %4095s", point) == 1)
			strlcpy(out, point, size);
	}
	free(line);
	fclose(f);
}

/* Our own place in it. */
static void
cgroup_self(char *out, size_t size)
{
	char	*line = NULL;
	size_t	 room = 0;
	FILE	*f;

	out[0] = '\0';
	if ((f = fopen("/proc/self/cgroup", "re")) == NULL)
		fatal("/proc/self/cgroup");
	while (getline(&line, &room, f) != -1)
		if (strncmp(line, "0::", 3) == 0) {
			line[strcspn(line, "\n")] = '\0';
			strlcpy(out, strcmp(line + 3, "/") == 0 ? "" :
			    line + 3, size);
		}
	free(line);
	fclose(f);
}

static void
cgroup_give(const char *sub)
{
	char	path[LIMIT_PATH + 64];

	snprintf(path, sizeof(path), "%s%s", sbxd.cgroup, sub);
	if (chown(path, sbxd.uids[UID_SPAWN], sbxd.gids[UID_SPAWN]) == -1)
		fatal("giving %s to spawn", path);
}

/* Of a group that has no process, below parent; what has one stays. */
static void
cgroup_drop(int parent, const char *name)
{
	struct dirent	*de;
	DIR		*d;
	int		 fd;

	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1)
		return;
	if ((d = fdopendir(fd)) == NULL) {
		close(fd);
		return;
	}
	while ((de = readdir(d)) != NULL)
		if (de->d_type == DT_DIR && de->d_name[0] != '.')
			unlinkat(fd, de->d_name, AT_REMOVEDIR);
	closedir(d);
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
		log_info("removed %s, which a killed suite had left", name);
}

/* mountd removes the suite's folder at its end. Where mountd itself was killed
 * it is still there. */
static void
cgroup_sweep(const char *path)
{
	struct dirent	*de;
	char		*end;
	DIR		*d;
	long		 pid;

	if ((d = opendir(path)) == NULL)
		return;
	while ((de = readdir(d)) != NULL) {
		if (strncmp(de->d_name, "sbx-", 4) != 0)
			continue;
		pid = strtol(de->d_name + 4, &end, 10);
		if (pid <= 0 || pid > INT_MAX || (*end != '\0' && *end != '.'))
			continue;
		/* None of our own number is ours yet. */
		if (pid == getpid() || (kill((pid_t)pid, 0) == -1 &&
		    errno == ESRCH))
			cgroup_drop(dirfd(d), de->d_name);
	}
	closedir(d);
}

/* Only a service manager of the user's own gives away a part of the tree. */
static bool
cgroup_ours(const char *path)
{
	char	procs[LIMIT_PATH + 32];

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
	return (access(path, W_OK) == 0 && access(procs, W_OK) == 0);
}

/* Of a start that fails; a child that fails on its way to another program has
 * nothing to do with it. From the start's end on mountd does this. */
static void
cgroup_undo(void)
{
	const struct timespec	pause = { .tv_nsec = 5000000 };
	char			path[LIMIT_PATH + 64];
	int			i, fd;

	if (getpid() != cgroup_maker)
		return;
	snprintf(path, sizeof(path), "%s/cgroup.kill", sbxd.cgroup);
	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) != -1) {
		(void)!write(fd, "1", 1);
		close(fd);
	}
	snprintf(path, sizeof(path), "%s/spawn", sbxd.cgroup);
	for (i = 0; i < UNDO_TRIES; i++) {
		rmdir(path);
		if (rmdir(sbxd.cgroup) == 0 || errno == ENOENT)
			return;
		nanosleep(&pause, NULL);
	}
}

static void
cgroup_name(const char *mnt, const char *self, const char *last)
{
	if (snprintf(sbxd.cgroup, sizeof(sbxd.cgroup), "%s%s/%s", mnt, self,
	    last) >= (int)sizeof(sbxd.cgroup))
		fatalx("the path of our control group is too long");
}

/* One that was not there: another pid namespace's may have our number. */
static void
cgroup_make(const char *mnt, const char *self)
{
	char	last[64];
	int	i;

	snprintf(last, sizeof(last), "sbx-%d", (int)getpid());
	for (i = 0;; i++) {
		cgroup_name(mnt, self, last);
		if (mkdir(sbxd.cgroup, 0755) == 0)
			return;
		if (errno != EEXIST || i == SUITES_MAX)
			fatal("%s", sbxd.cgroup);
		snprintf(last, sizeof(last), "sbx-%d.%d", (int)getpid(), i);
	}
}

void
start_cgroup(void)
{
	char	mnt[LIMIT_PATH + 1], self[LIMIT_PATH + 1];
	char	path[LIMIT_PATH + 16];

	cgroup_mount(mnt, sizeof(mnt));
	if (mnt[0] == '\0') {
		log_warnx("no cgroup v2 is mounted: sessions are stopped for "
		    "reviews by a signal");
		return;
	}
	cgroup_self(self, sizeof(self));
	if (snprintf(sbxd.cgroup, sizeof(sbxd.cgroup), "%s%s", mnt, self) <
	    (int)sizeof(sbxd.cgroup))
		cgroup_sweep(sbxd.cgroup);
	if (mode_user() && !cgroup_ours(sbxd.cgroup)) {
		sbxd.cgroup[0] = '\0';
		log_info("no control group is uid %u's: sessions are killed "
		    "by their first process", (unsigned int)mode_owner());
		return;
	}
	cgroup_make(mnt, self);
	cgroup_maker = getpid();
	log_fatal_hook(cgroup_undo);
	snprintf(path, sizeof(path), "%s/spawn", sbxd.cgroup);
	if (mkdir(path, 0755) == -1)
		fatal("%s", path);
	/* A mover needs write on the common ancestor's list as well. */
	if (chmod(sbxd.cgroup, 0755) == -1)
		fatal("%s", sbxd.cgroup);
	cgroup_give("");
	cgroup_give("/cgroup.procs");
	cgroup_give("/cgroup.subtree_control");
	cgroup_give("/spawn");
	cgroup_give("/spawn/cgroup.procs");
}
