/*
 * Runs one test case where it can leave nothing behind: isolate PROGRAM ARG...
 *
 * The case gets its own mount, network and pid namespace with lo up, a fresh
 * /run, a scratch folder and a cgroup, all of which end with it: kyua 0.13
 * leaks mounts and processes that called setsid. Who cleans up is a janitor
 * in a session of its own, since kyua kills a case that takes too long by
 * SIGKILL to its group, and then nothing else of it is left to do it.
 *
 * Not as root only the scratch folder is made.
 */
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <linux/magic.h>
#include <net/if.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCRATCH_PARENT	"/var/tmp"

struct isolation {
	char	scratch[64];
	char	cgroup[PATH_MAX];	/* empty: none to be had */
};

/* Writes a short text to a file that exists. */
static int
file_write(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	int fd, rv;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >=
	    (int)sizeof(path))
		return -1;
	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return -1;
	rv = write(fd, text, strlen(text)) == -1 ? -1 : 0;
	close(fd);
	return rv;
}

/*
 * cgroups are no part of a mount namespace: the case runs in a folder of its
 * own below ours, and everything that it makes is below that one.
 */
static void
cgroup_make(struct isolation *iso)
{
	char line[1024], root[256] = "", own[512] = "";
	FILE *f;

	if ((f = fopen("/proc/self/mountinfo", "re")) == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL)
		if (strstr(line, " - cgroup2 ") != NULL &&
		    sscanf(line, "%*d %*d %*s %*s %255s", root) != 1)
			root[0] = '\0';
	fclose(f);
	if ((f = fopen("/proc/self/cgroup", "re")) == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "0::%511s", own) == 1)
			break;
	fclose(f);
	if (*root == '\0' || *own == '\0')
		return;
	if (snprintf(iso->cgroup, sizeof(iso->cgroup), "%s%s/sbx-test.%d",
	    root, strcmp(own, "/") == 0 ? "" : own, getpid()) >=
	    (int)sizeof(iso->cgroup) || mkdir(iso->cgroup, 0755) == -1)
		iso->cgroup[0] = '\0';
}

/* From the leaves up; what still has a process in it fails and stays. */
static void
cgroup_remove(const char *dir)
{
	char path[PATH_MAX];
	struct dirent *de;
	DIR *d;

	if ((d = opendir(dir)) != NULL) {
		while ((de = readdir(d)) != NULL)
			if (de->d_type == DT_DIR && de->d_name[0] != '.' &&
			    snprintf(path, sizeof(path), "%s/%s", dir,
			    de->d_name) < (int)sizeof(path))
				cgroup_remove(path);
		closedir(d);
	}
	rmdir(dir);
}

/* True if it ended with 0. */
static bool
run(const char *const argv[])
{
	int status;
	pid_t pid;

	if ((pid = fork()) == -1)
		return false;
	if (pid == 0) {
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static bool
is_user(const char *name)
{
	return getpwnam(name) != NULL;
}

static bool
is_group(const char *name)
{
	return getgrnam(name) != NULL;
}

/* Users and groups made by the helpers are listed in the scratch folder.
 * Another case's useradd may have the lock. */
static void
accounts_remove(const char *scratch, const char *list, bool (*is)(const char *),
    const char *command)
{
	char path[128], name[64];
	FILE *f;
	int tries;

	if (snprintf(path, sizeof(path), "%s/%s", scratch, list) >=
	    (int)sizeof(path))
		return;
	if ((f = fopen(path, "re")) == NULL)
		return;
	while (fscanf(f, "%63s", name) == 1)
		for (tries = 0; tries < 50 && is(name) &&
		    !run((const char *[]){ command, name, NULL }); tries++)
			usleep(100000);
	fclose(f);
}

/* Waits for the case's end, which closes the pipe however it comes. */
static void
janitor(const struct isolation *iso, int ended)
{
	char c;
	int null, tries;

	setsid();
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	/* Whoever reads the case's output waits for its end, not for ours. */
	if ((null = open("/dev/null", O_RDWR)) != -1) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	while (read(ended, &c, 1) == -1 && errno == EINTR)
		continue;
	if (iso->cgroup[0] != '\0') {
		file_write(iso->cgroup, "cgroup.kill", "1");
		for (tries = 0; tries < 200; tries++) {
			cgroup_remove(iso->cgroup);
			if (access(iso->cgroup, F_OK) == -1)
				break;
			usleep(10000);
		}
	}
	accounts_remove(iso->scratch, ".users", is_user, "userdel");
	accounts_remove(iso->scratch, ".groups", is_group, "groupdel");
	run((const char *[]){ "chattr", "-R", "-f", "-i", "-a", iso->scratch,
	    NULL });
	run((const char *[]){ "rm", "-rf", "--one-file-system", "--",
	    iso->scratch, NULL });
	_exit(0);
}

static void
lo_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	int s;

	if ((s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) == -1)
		err(1, "socket");
	if (ioctl(s, SIOCGIFFLAGS, &ifr) == -1)
		err(1, "flags of lo");
	ifr.ifr_flags |= IFF_UP;
	if (ioctl(s, SIOCSIFFLAGS, &ifr) == -1)
		err(1, "lo up");
	close(s);
}

/* A case that installs packages says so and stays on the machine's network. */
static bool
network_kept(void)
{
	return getenv("SBX_TEST_NETWORK") != NULL;
}

/* In the new namespaces, as their pid 1. */
static void
namespaces_fill(const struct isolation *iso)
{
	struct statfs fs;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		err(1, "private mounts");
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
	    NULL) == -1)
		err(1, "mount /proc");
	if (mount("run", "/run", "tmpfs", MS_NOSUID | MS_NODEV,
	    "mode=755") == -1)
		err(1, "mount /run");
	/* No overlay can have its upper folder on an overlay (containers). */
	if (statfs(iso->scratch, &fs) == 0 &&
	    fs.f_type == OVERLAYFS_SUPER_MAGIC &&
	    mount("scratch", iso->scratch, "tmpfs", 0, "mode=755") == -1)
		err(1, "mount %s", iso->scratch);
	if (!network_kept())
		lo_up();
}

/* Reaps until the program has ended; its status, as wait gives it. */
static int
reap(pid_t program)
{
	int status;
	pid_t pid;

	for (;;) {
		if ((pid = waitpid(-1, &status, 0)) == -1 && errno != EINTR)
			err(1, "wait");
		if (pid == program)
			return status;
	}
}

static void
end_as(int status)
{
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		kill(getpid(), WTERMSIG(status));
	}
	exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
	    WEXITSTATUS(status));
}

static pid_t
program_start(char *argv[])
{
	pid_t pid;

	if ((pid = fork()) == -1)
		err(1, "fork");
	if (pid == 0) {
		execv(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	return pid;
}

/*
 * pid 1 of the case's namespace: the program itself is not, so that signals
 * and orphans behave for it as everywhere. A status crosses by exit code;
 * one of 128 and above stands for a signal.
 */
static pid_t
inner_start(const struct isolation *iso, char *argv[])
{
	pid_t pid;
	int status;

	if (unshare(CLONE_NEWNS | CLONE_NEWPID) == -1 ||
	    (!network_kept() && unshare(CLONE_NEWNET) == -1))
		err(1, "unshare");
	if ((pid = fork()) != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (iso->cgroup[0] != '\0')
		file_write(iso->cgroup, "cgroup.procs", "0");
	namespaces_fill(iso);
	status = reap(program_start(argv));
	_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
	    WEXITSTATUS(status));
}

/* Where the build is, from our own place: BUILD/regress/lib/isolate. */
static void
environment_set(const struct isolation *iso)
{
	char self[PATH_MAX], path[3 * PATH_MAX];
	const char *env;
	char *p;
	ssize_t n;
	int i;

	if ((n = readlink("/proc/self/exe", self, sizeof(self) - 1)) == -1)
		err(1, "/proc/self/exe");
	self[n] = '\0';
	for (i = 0; i < 3; i++)
		if ((p = strrchr(self, '/')) != NULL)
			*p = '\0';
	if ((env = getenv("PATH")) == NULL)
		env = "/usr/sbin:/usr/bin:/sbin:/bin";
	if (snprintf(path, sizeof(path), "%s/bin:%s/sbin:%s:%s", self, self,
	    SBX_SRC "/regress/lib/bin", env) >= (int)sizeof(path))
		errx(1, "PATH is too long");
	setenv("PATH", path, 1);
	setenv("SBX_BUILDDIR", self, 1);
	setenv("SBX_SRC", SBX_SRC, 1);
	setenv("SBX_SCRATCH", iso->scratch, 1);
	snprintf(path, sizeof(path), "%s/state", iso->scratch);
	setenv("SBX_STATE", path, 1);
	setenv("SBX_ISOLATED", geteuid() == 0 ? "yes" : "no", 1);
}

int
main(int argc, char *argv[])
{
	struct isolation iso = { .cgroup = "" };
	int ended[2], status;
	pid_t keeper, pid;

	if (argc < 2)
		errx(2, "usage: isolate program [argument ...]");
	snprintf(iso.scratch, sizeof(iso.scratch), "%s/sbx-test.XXXXXX",
	    SCRATCH_PARENT);
	if (mkdtemp(iso.scratch) == NULL)
		err(1, "%s", iso.scratch);
	if (chmod(iso.scratch, 0755) == -1)
		err(1, "%s", iso.scratch);
	environment_set(&iso);
	if (geteuid() == 0)
		cgroup_make(&iso);
	if (pipe2(ended, O_CLOEXEC) == -1)
		err(1, "pipe");
	if ((keeper = fork()) == -1)
		err(1, "fork");
	if (keeper == 0) {
		close(ended[1]);
		janitor(&iso, ended[0]);
	}
	close(ended[0]);
	pid = geteuid() == 0 ? inner_start(&iso, &argv[1]) :
	    program_start(&argv[1]);
	if (pid == -1)
		err(1, "fork");
	/* Only we hold the end whose closing the janitor waits for. */
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		continue;
	if (WIFEXITED(status) && WEXITSTATUS(status) > 128)
		status = WEXITSTATUS(status) - 128;
	close(ended[1]);
	while (waitpid(keeper, NULL, 0) == -1 && errno == EINTR)
		continue;
	end_as(status);
}
