/*
 * Where the suite is: its sockets, its programs, and how an embedded one is
 * started. It belongs to its state folder, not to us: it outlives us while a
 * session or another client needs it.
 */
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/state.h"
#include "sbxctl.h"

#define SUITE_SOCKET	"/run/sbx/sbxd.sock"
#define SUITE_STATE	"/var/lib/sbx"
#define SUITE_READY_MS	20000
#define SUITE_READY_FD	3

/* What the sbxd that was asked or started said last: its configuration, which
 * sbxctl does not read, may have moved the socket. NULL: nothing. */
static char	*suite_told;

/* SBX_STATE, or NULL. */
static const char *
suite_state(void)
{
	const char	*state = getenv("SBX_STATE");

	if (state == NULL || *state == '\0')
		return (NULL);
	if (*state != '/')
		fail("SBX_STATE=%s: not an absolute path: give one", state);
	if (strlen(state) + sizeof("/sbxd.sock") > LIMIT_PATH)
		fail("SBX_STATE=%.40s...: longer than %d bytes: give a "
		    "shorter path", state, LIMIT_PATH);
	return (state);
}

/* An ordinary user's own suite's state, where nothing else is named. */
static char *
suite_own(void)
{
	char	path[LIMIT_PATH + 1];

	if (state_user(path, LIMIT_PATH - sizeof("/sbxd.sock")) == -1)
		fail("neither XDG_STATE_HOME nor HOME names a folder for the "
		    "suite's state: set SBX_STATE");
	return (copy(path));
}

static char *
suite_socket(const char *dir)
{
	char	*path;

	if (asprintf(&path, "%s/sbxd.sock", dir) == -1)
		fail("out of memory");
	return (path);
}

/* Where the suite on that state says that it listens, which its configuration
 * may have put elsewhere; NULL: none runs, or it is not for us to know. */
char *
suite_where(void)
{
	const char	*state = suite_state();
	char		 sock[LIMIT_PATH + 1] = "";
	int		 dir;

	if (state == NULL ||
	    (dir = open(state, O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (NULL);
	if (state_held(dir))
		state_where(dir, geteuid(), sock, sizeof(sock));
	close(dir);
	return (sock[0] != '\0' ? copy(sock) : NULL);
}

/* A user's own suite is looked for before the machine's: who has one has
 * sessions in it. */
size_t
suite_sockets(char *sockets[SUITE_SOCKETS])
{
	const char	*state = suite_state();
	char		 dir[LIMIT_PATH + 1], *own;
	size_t		 n = 0;

	if (state != NULL) {
		sockets[n++] = suite_socket(state);
		return (n);
	}
	if (geteuid() != 0) {
		if (state_runtime(dir, sizeof(dir)) == 0)
			sockets[n++] = suite_socket(dir);
		own = suite_own();
		sockets[n++] = suite_socket(own);
		free(own);
	}
	sockets[n++] = copy(SUITE_SOCKET);
	sockets[n++] = suite_socket(SUITE_STATE);
	if (suite_told != NULL)
		sockets[n++] = copy(suite_told);
	return (n);
}

bool
suite_is_meant(void)
{
	return (geteuid() == 0 || suite_state() != NULL);
}

/* In a build tree sbxd stands beside us; else where it was installed. */
char *
suite_program(void)
{
	char	 self[PATH_MAX], *path, *real;
	ssize_t	 n;

	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n > 0) {
		self[n] = '\0';
		if (asprintf(&path, "%s/../sbin/sbxd", dirname(self)) == -1)
			fail("out of memory");
		real = realpath(path, NULL);
		free(path);
		if (real != NULL && access(real, X_OK) == 0)
			return (real);
		free(real);
	}
	path = copy(SBX_SBINDIR "/sbxd");
	if (access(path, X_OK) == 0)
		return (path);
	free(path);
	return (NULL);
}

/* By what a user's suite finds the same state, and its configuration. */
static void
suite_env(char **envp)
{
	static const char *const	names[] = {
		"HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"
	};
	const char			*value;
	size_t				 i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((value = getenv(names[i])) != NULL &&
		    asprintf(envp++, "%s=%s", names[i], value) == -1)
			_exit(126);
}

/*
 * The suite is everybody's who has its state, and so are its limits: no file
 * of it, and none of a session's, would be larger than who started it may
 * write. What can be raised is; suite_limited: NULL, or why none is started.
 */
static const struct {
	__rlimit_resource_t	 which;
	const char		*what;
} limits[] = {
	{ RLIMIT_FSIZE, "bytes a file (ulimit -f)" },
	{ RLIMIT_CPU, "seconds of processor time (ulimit -t)" },
};

static char *
suite_limited(void)
{
	struct rlimit	 rl;
	char		*why;
	size_t		 i;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (getrlimit(limits[i].which, &rl) == -1 ||
		    rl.rlim_max == RLIM_INFINITY)
			continue;
		if (asprintf(&why, "no suite is running, and one started here "
		    "had your limit of %llu %s, for all sessions: raise it, "
		    "or start sbxd elsewhere",
		    (unsigned long long)rl.rlim_max, limits[i].what) == -1)
			fail("out of memory");
		return (why);
	}
	return (NULL);
}

static void
suite_limits(void)
{
	struct rlimit	rl;
	size_t		i;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (getrlimit(limits[i].which, &rl) == 0) {
			rl.rlim_cur = rl.rlim_max;
			(void)setrlimit(limits[i].which, &rl);
		}
}

/* In the child: nothing of ours stays open, the terminal is not its own. */
static void __attribute__((noreturn))
suite_exec(const char *program, bool start, int ready)
{
	char		 path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
	char		 word0[] = "sbxd", word1[] = "-en", word2[] = "--user";
	char		*argv[] = { word0, word1, NULL, NULL };
	char		*envp[6] = { path };
	const char	*state = suite_state();
	sigset_t	 none;
	int		 null, sig;

	if (start)
		word1[2] = '\0';
	/* Its log is a file of its state's, which it opens itself. */
	null = open("/dev/null", O_RDWR);
	if (null == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1 ||
	    dup2(null, STDERR_FILENO) == -1 ||
	    (ready != SUITE_READY_FD && dup2(ready, SUITE_READY_FD) == -1) ||
	    fcntl(SUITE_READY_FD, F_SETFD, 0) == -1 ||
	    syscall(SYS_close_range, SUITE_READY_FD + 1, ~0U, 0) == -1)
		_exit(126);
	if (state != NULL &&
	    asprintf(&envp[1], "SBX_STATE=%s", state) == -1)
		_exit(126);
	if (geteuid() != 0) {
		argv[2] = word2;
		suite_env(&envp[envp[1] == NULL ? 1 : 2]);
	}
	sigemptyset(&none);
	/* What nohup(1), say, has ignored for us. */
	for (sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	if (setsid() == -1 || chdir("/") == -1 ||
	    sigprocmask(SIG_SETMASK, &none, NULL) == -1)
		_exit(126);
	umask(022);
	suite_limits();
	execve(program, argv, envp);
	dprintf(SUITE_READY_FD, "%s: %s\n", program, strerror(errno));
	_exit(126);
}

/* One line, or what came before the end. False: nothing in time. */
static bool
suite_line(int fd, char *line, size_t size)
{
	struct pollfd	pfd = { .fd = fd, .events = POLLIN };
	size_t		len = 0;
	ssize_t		n;

	do {
		if (poll(&pfd, 1, SUITE_READY_MS) == 0)
			return (false);
		n = read(fd, line + len, size - 1 - len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	} while (len < size - 1 && line[len - 1] != '\n');
	line[len] = '\0';
	return (true);
}

/* Takes in the NUL and the path that say ready, or the line why not. */
static char *
suite_ready(int fd, const char *program)
{
	char	line[LIMIT_PATH + 3], *why;

	memset(line, 0, sizeof(line));
	if (!suite_line(fd, line, sizeof(line))) {
		if (asprintf(&why, "%s -e is not ready after %d seconds: run "
		    "it by hand with -d to see why", program,
		    SUITE_READY_MS / 1000) == -1)
			fail("out of memory");
		return (why);
	}
	if (line[0] == '\0' && line[1] == '/') {
		line[1 + strcspn(line + 1, "\n")] = '\0';
		free(suite_told);
		suite_told = copy(line + 1);
		return (NULL);
	}
	line[strcspn(line, "\n")] = '\0';
	if (asprintf(&why, "%s%s", line[0] != '\0' ? line : program,
	    line[0] != '\0' ? "" : " -e ended at once: run it by hand with "
	    "-d to see why") == -1)
		fail("out of memory");
	return (why);
}

const char *
suite_last(void)
{
	return (suite_told != NULL ? suite_told : "its socket");
}

static char *
suite_run(bool start)
{
	char	*program, *why;
	int	 ready[2];
	pid_t	 pid;

	if ((program = suite_program()) == NULL)
		return (copy("no suite is running and there is no sbxd at "
		    SBX_SBINDIR " or beside sbxctl: install the suite whole"));
	if (pipe2(ready, O_CLOEXEC) == -1)
		fail("pipe: %s", strerror(errno));
	if ((pid = fork()) == -1)
		fail("fork: %s", strerror(errno));
	if (pid == 0)
		suite_exec(program, start, ready[1]);
	close(ready[1]);
	why = suite_ready(ready[0], program);
	close(ready[0]);
	/* Who was only asked has said all that there is. */
	if (!start)
		kill(pid, SIGKILL);
	if (why != NULL || !start)
		waitpid(pid, NULL, start ? WNOHANG : 0);
	free(program);
	return (why);
}

/* What an ended suite of somebody else's has left is not ours to go on with. */
static char *
suite_foreign(void)
{
	const char	*state = suite_state();
	struct stat	 st;
	char		*why;

	if (geteuid() == 0 || state == NULL || stat(state, &st) == -1 ||
	    st.st_uid == geteuid())
		return (NULL);
	if (asprintf(&why, "SBX_STATE=%s: no suite listens there, and the "
	    "state is uid %u's: have that one start it, or unset SBX_STATE "
	    "for a suite of your own", state, (unsigned int)st.st_uid) == -1)
		fail("out of memory");
	return (why);
}

char *
suite_start(void)
{
	char	*why = suite_foreign(), *none;

	if (why != NULL)
		return (why);
	if ((why = suite_limited()) == NULL)
		return (suite_run(true));
	/* There may be one that is not where it is looked for. */
	if ((none = suite_run(false)) == NULL) {
		free(why);
		return (NULL);
	}
	free(none);
	return (why);
}

bool
suite_find(void)
{
	char	*why;

	/* Whoever names the state has been told the socket. */
	if (suite_state() != NULL)
		return (false);
	why = suite_run(false);
	free(why);
	return (why == NULL);
}
