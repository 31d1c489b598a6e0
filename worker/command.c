/*
 * Commands: their start, what came of their exec, signals to them.
 */
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <linux/close_range.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <paths.h>
#include <signal.h>
#include <stdarg.h>
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
		/* Also where a folder may not be entered. */
		if (access(file, F_OK) == -1)
			continue;
		step = child_exec(file, argv, envp);
		if (step == STEP_INTERPRETER || (step == STEP_NOTEXEC &&
		    errno != EACCES))
			return (step);
		if (step == STEP_NOTEXEC) {
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
child(const struct command *c, int report)
{
	char	**envp = (char **)(uintptr_t)c->env.v;
	int	  i;

	if (setsid() == -1 || (c->tty && ioctl(c->std[0], TIOCSCTTY, 0) == -1))
		child_fail(report, STEP_TERMINAL);
	for (i = 0; i < 3; i++)
		if (dup2(c->std[i], i) == -1)
			child_fail(report, STEP_TERMINAL);
	if (syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC) == -1)
		child_fail(report, STEP_TERMINAL);
	child_signals();
	umask(c->umask.said ? (mode_t)c->umask.v & 0777 : 022);
	if (chdir(c->cwd) == -1)
		child_fail(report, STEP_CWD);
	child_fail(report, strchr(c->argv.v[0], '/') != NULL ?
	    child_exec(c->argv.v[0], &c->argv, envp) :
	    child_search(&c->argv, envp, child_path(&c->env)));
}

static void
command_init(struct init *in, struct command *c)
{
	c->master = c->std[0] = c->std[1] = c->std[2] = c->report = -1;
	c->pid = c->status = -1;
	TAILQ_INSERT_TAIL(&in->commands, c, entry);
	in->ncommands++;
}

void
command_own(struct init *in)
{
	const struct m_SETUP	*set = in->set;
	struct command		*c = &in->own;

	TAILQ_INIT(&in->commands);
	command_init(in, c);
	c->argv = set->argv;
	c->env = set->env;
	c->cwd = set->cwd;
	c->tty = set->tty;
	c->rows = (unsigned short)set->rows;
	c->cols = (unsigned short)set->cols;
	c->umask = set->umask;
}

struct command *
command_find(struct init *in, uint32_t n)
{
	struct command	*c;

	TAILQ_FOREACH(c, &in->commands, entry)
		if (c->n == n)
			return (c);
	return (NULL);
}

static void
command_free(struct init *in, struct command *c)
{
	TAILQ_REMOVE(&in->commands, c, entry);
	in->ncommands--;
	console_close(c);
	if (c->report != -1)
		close(c->report);
	msg_free(&c->msg);
	free(c);
}

/* What keeps a command from its start. The session's own: nothing runs. */
static void __attribute__((format(printf, 4, 5)))
command_refuse(struct init *in, struct command *c, const char *code,
    const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	init_verror(in, c->n, code, fmt, ap);
	va_end(ap);
	if (c == &in->own)
		_exit(1);
	command_free(in, c);
}

void
command_add(struct init *in, struct msg *msg)
{
	const struct m_EXEC	*m = msg->body;
	struct command		*c;
	const char		*what;

	if (msg->id == 0 || command_find(in, msg->id) != NULL)
		init_refuse(in, "init.protocol", "a second command of number "
		    "%u", msg->id);
	if (in->ncommands == COMMANDS_MAX ||
	    (c = calloc(1, sizeof(*c))) == NULL) {
		init_error(in, msg->id, "init.failed", "too many commands run "
		    "in this session: wait for the end of one");
		return;
	}
	c->n = msg->id;
	c->msg = *msg;
	memset(msg, 0, sizeof(*msg));
	msg->fd = -1;
	command_init(in, c);
	c->argv = m->argv;
	c->env = m->env;
	c->cwd = m->cwd != NULL ? m->cwd : in->set->cwd;
	c->tty = m->tty;
	c->rows = (unsigned short)m->rows;
	c->cols = (unsigned short)m->cols;
	c->umask = m->umask;
	if (console_make(in, c, &what) == -1)
		command_refuse(in, c, "terminal.failed", "%s: %m", what);
	else
		command_start(in, c);
}

void
command_start(struct init *in, struct command *c)
{
	int	p[2];

	if (c->argv.n == 0 || c->argv.v[0][0] == '\0') {
		command_refuse(in, c, "command.missing", "the command is "
		    "empty");
		return;
	}
	if (pipe2(p, O_CLOEXEC) == -1) {
		command_refuse(in, c, "init.failed", "a pipe: %m");
		return;
	}
	/* Not when the exec is seen, which may be long after it. */
	c->started = now_ms();
	if ((c->pid = fork()) == -1) {
		close(p[0]);
		close(p[1]);
		c->started = 0;
		command_refuse(in, c, "init.failed", "fork: %m");
		return;
	}
	if (c->pid == 0)
		child(c, p[1]);
	close(p[1]);
	c->report = p[0];
	/* A pipe's reader learns of the command's end by our ends' closing. */
	if (!c->tty)
		console_close(c);
}

/* Told by its code; the session's own command has a status on top. */
static void
command_failed(struct init *in, struct command *c, const struct failure *f)
{
	const char	*name = c->argv.v[0];
	int		 status = f->step == STEP_MISSING ? 127 : 126;

	errno = f->error;
	switch (f->step) {
	case STEP_MISSING:
		init_error(in, c->n, "command.missing",
		    strchr(name, '/') != NULL ?
		    "%s: no such file in the session: name another program" :
		    "%s: not found along the session's PATH: name it by its "
		    "path, or set PATH by --env", name);
		break;
	case STEP_NOTEXEC:
		init_error(in, c->n, "command.notexec", "%s: cannot be "
		    "executed: %m", name);
		break;
	case STEP_INTERPRETER:
		init_error(in, c->n, "command.notexec", "%s: its interpreter "
		    "or loader does not exist in the session", name);
		break;
	case STEP_CWD:
		command_refuse(in, c, "cwd.missing", "the working folder %s "
		    "cannot be entered in the session: %m", c->cwd);
		return;
	case STEP_TERMINAL:
	default:
		command_refuse(in, c, "terminal.failed", "giving the command "
		    "its terminal: %m");
		return;
	}
	if (c == &in->own)
		init_end(in, (unsigned int)status);
	command_free(in, c);
}

bool
command_result(struct init *in, struct command *c)
{
	struct m_RUNNING m = { .pid = (uint64_t)c->pid };
	struct failure	 f;
	ssize_t		 n;

	do
		n = read(c->report, &f, sizeof(f));
	while (n == -1 && errno == EINTR);
	close(c->report);
	c->report = -1;
	if (n != 0)
		c->started = 0;		/* it never ran */
	if (n == sizeof(f)) {
		command_failed(in, c, &f);
		return (false);
	}
	if (n != 0) {
		command_refuse(in, c, "init.failed", "the command's start: %m");
		return (false);
	}
	if (imsg_send(&in->ib, MSG_RUNNING, c->n, -1, &m) == -1)
		_exit(1);
	return (true);
}

void
command_ended(struct init *in, struct command *c)
{
	unsigned int	status;

	/* A failed exec has been reported by now; RUNNING goes first. */
	if (c->report != -1 && !command_result(in, c))
		return;
	status = WIFSIGNALED(c->status) ? 128 +
	    (unsigned int)WTERMSIG(c->status) :
	    (unsigned int)WEXITSTATUS(c->status);
	if (c == &in->own)
		init_end(in, status);
	console_close(c);
	init_exited(in, c, status);
	command_free(in, c);
}

/*
 * To the terminal's foreground group, as if it were typed; without one to the
 * command's. A hang-up is told to both and wakes who is stopped, as the kernel
 * does it for a terminal that is gone, and KILL spares neither.
 */
void
command_signal(struct command *c, int sig)
{
	pid_t	group = console_foreground(c);

	if (group > 1)
		kill(-group, sig);
	if (group != c->pid &&
	    (group <= 1 || sig == SIGHUP || sig == SIGKILL))
		kill(-c->pid, sig);
	if (sig == SIGHUP) {
		if (group > 1)
			kill(-group, SIGCONT);
		kill(-c->pid, SIGCONT);
	}
}
