/*
 * The command: its start, what came of its exec, signals to it.
 */
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <linux/close_range.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <paths.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/log.h"
#include "init.h"

enum step {
	STEP_TERMINAL, STEP_CWD, STEP_MISSING, STEP_NOTEXEC, STEP_INTERPRETER
};

/* What the child writes into the pipe that its exec would have closed. */
struct failure {
	enum step	step;
	int		error;
};

static noreturn void
child_fail(int report, enum step step)
{
	struct failure	f = { step, errno };

	if (write(report, &f, sizeof(f)) != sizeof(f))
		_exit(125);
	_exit(step == STEP_MISSING ? 127 : 126);
}

/* True for what a shell could not read either. */
static bool
child_binary(const char *path)
{
	char	buf[256];
	ssize_t	i, n;
	int	fd;

	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) == -1)
		return (true);
	n = read(fd, buf, sizeof(buf));
	close(fd);
	for (i = 0; i < n && buf[i] != '\n'; i++)
		if (buf[i] == '\0')
			return (true);
	return (n == -1);
}

/* A text without "#!" is the shell's, as with execvp. */
static void
child_script(const char *path, const struct strv *argv, char **envp)
{
	const char	**args;

	if (child_binary(path) ||
	    (args = calloc(argv->n + 2, sizeof(*args))) == NULL) {
		errno = ENOEXEC;
		return;
	}
	args[0] = _PATH_BSHELL;
	args[1] = path;
	memcpy(args + 2, argv->v + 1, argv->n * sizeof(*args) -
	    sizeof(*args));
	execve(args[0], (char **)(uintptr_t)args, envp);
	free(args);
	errno = ENOEXEC;
}

/*
 * Tries one file; returns where it cannot be executed. A file that is there
 * and yet "not found" names an interpreter or loader that is not.
 */
static enum step
child_exec(const char *path, const struct strv *argv, char **envp)
{
	struct stat	st;
	int		error;

	execve(path, (char **)(uintptr_t)argv->v, envp);
	if (errno == ENOEXEC)
		child_script(path, argv, envp);
	error = errno;
	if (error != ENOENT && error != ENOTDIR) {
		errno = error;
		return (STEP_NOTEXEC);
	}
	if (stat(path, &st) == 0) {
		errno = error;
		return (STEP_INTERPRETER);
	}
	errno = error;
	return (STEP_MISSING);
}

/*
 * Along the PATH of the session's environment, as a shell does it: what is
 * there but cannot be executed is passed over, and told if nothing else comes.
 */
static enum step
child_search(const struct strv *argv, char **envp, const char *path)
{
	char		 file[PATH_MAX];
	const char	*dir, *end;
	enum step	 step, worst = STEP_MISSING;
	int		 n, error = ENOENT;

	for (dir = path; dir != NULL; dir = *end == ':' ? end + 1 : NULL) {
		end = strchrnul(dir, ':');
		n = snprintf(file, sizeof(file), "%.*s%s%s", (int)(end - dir),
		    dir, end == dir ? "" : "/", argv->v[0]);
		if (n < 0 || (size_t)n >= sizeof(file))
			continue;
		step = child_exec(file, argv, envp);
		if (step == STEP_INTERPRETER || (step == STEP_NOTEXEC &&
		    errno != EACCES))
			return (step);
		/* EACCES is also said of a folder that may not be entered. */
		if (step == STEP_NOTEXEC && access(file, F_OK) == 0) {
			worst = step;
			error = EACCES;
		}
	}
	errno = error;
	return (worst);
}

static const char *
child_path(const struct strv *env)
{
	size_t	i;

	for (i = 0; i < env->n; i++)
		if (strncmp(env->v[i], "PATH=", 5) == 0)
			return (env->v[i] + 5);
	return (_PATH_DEFPATH);
}

/* Whoever started the suite may have ignored signals; the command starts as
 * from a login. */
static void
child_signals(void)
{
	sigset_t	none;
	int		sig;

	for (sig = 1; sig <= SIGRTMAX; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static noreturn void
child(struct init *in, int report)
{
	const struct m_SETUP	*set = in->set;
	char			**envp = (char **)(uintptr_t)set->env.v;
	int			  i;

	if (setsid() == -1 ||
	    (set->tty && ioctl(in->std[0], TIOCSCTTY, 0) == -1))
		child_fail(report, STEP_TERMINAL);
	for (i = 0; i < 3; i++)
		if (dup2(in->std[i], i) == -1)
			child_fail(report, STEP_TERMINAL);
	if (syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) == -1)
		child_fail(report, STEP_TERMINAL);
	child_signals();
	umask(set->umask.said ? (mode_t)set->umask.v & 0777 : 022);
	if (chdir(set->cwd) == -1)
		child_fail(report, STEP_CWD);
	child_fail(report, strchr(set->argv.v[0], '/') != NULL ?
	    child_exec(set->argv.v[0], &set->argv, envp) :
	    child_search(&set->argv, envp, child_path(&set->env)));
}

void
command_start(struct init *in)
{
	int	p[2];

	if (in->set->argv.n == 0 || in->set->argv.v[0][0] == '\0')
		init_refuse(in, "command.missing", "the command is empty");
	if (pipe2(p, O_CLOEXEC) == -1)
		init_refuse(in, "init.failed", "a pipe: %m");
	if ((in->command = fork()) == -1)
		init_refuse(in, "init.failed", "fork: %m");
	if (in->command == 0)
		child(in, p[1]);
	close(p[1]);
	in->report = p[0];
	/* A pipe's reader learns of the command's end by our ends' closing. */
	if (!in->set->tty)
		console_close(in);
}

static noreturn void
command_failed(struct init *in, const struct failure *f)
{
	const char	*name = in->set->argv.v[0];

	errno = f->error;
	switch (f->step) {
	case STEP_MISSING:
		init_error(in, "command.missing", strchr(name, '/') != NULL ?
		    "%s: no such file in the session" :
		    "%s: not found along the session's PATH", name);
		init_end(in, 127);
	case STEP_NOTEXEC:
		init_error(in, "command.notexec", "%s: cannot be executed: %m",
		    name);
		init_end(in, 126);
	case STEP_INTERPRETER:
		init_error(in, "command.notexec", "%s: its interpreter or "
		    "loader does not exist in the session", name);
		init_end(in, 126);
	case STEP_CWD:
		init_refuse(in, "cwd.missing", "the working folder %s cannot "
		    "be entered in the session: %m", in->set->cwd);
	case STEP_TERMINAL:
		break;
	}
	init_refuse(in, "terminal.failed", "giving the command its terminal: "
	    "%m");
}

void
command_result(struct init *in)
{
	struct m_RUNNING m = { .pid = (uint64_t)in->command };
	struct failure	 f;
	ssize_t		 n;

	do
		n = read(in->report, &f, sizeof(f));
	while (n == -1 && errno == EINTR);
	close(in->report);
	in->report = -1;
	if (n == sizeof(f))
		command_failed(in, &f);
	if (n != 0)
		init_refuse(in, "init.failed", "the command's start: %m");
	in->started = now_ms();
	if (imsg_send(&in->ib, MSG_RUNNING, 0, -1, &m) == -1)
		_exit(1);
}

/*
 * To the terminal's foreground group, as if it were typed; without one to the
 * command's. A hang-up is told to both and wakes who is stopped, as the kernel
 * does it for a terminal that is gone, and KILL spares neither.
 */
void
command_signal(struct init *in, int sig)
{
	pid_t	group = console_foreground(in);

	if (group > 1)
		kill(-group, sig);
	if (group != in->command &&
	    (group <= 1 || sig == SIGHUP || sig == SIGKILL))
		kill(-in->command, sig);
	if (sig == SIGHUP) {
		if (group > 1)
			kill(-group, SIGCONT);
		kill(-in->command, SIGCONT);
	}
}
