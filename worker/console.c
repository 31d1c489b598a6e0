/*
 * The command's terminal, from the devpts that mountd put into /dev, or its
 * three pipes. Either is made inside and as the session's user, so that the
 * command may open it again by name.
 */
#include <sys/ioctl.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#include "init.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER	_IO('T', 0x41)
#endif

static void
console_send(struct init *in, uint64_t n, int fd)
{
	struct m_PTY	m = { .tty = in->set->tty, .n = n };

	if (imsg_send(&in->ib, MSG_PTY, 0, fd, &m) == -1)
		_exit(1);
}

static const char *
console_env(const struct init *in, const char *name)
{
	const struct strv	*env = &in->set->env;
	size_t			 i, len = strlen(name);

	for (i = 0; i < env->n; i++)
		if (strncmp(env->v[i], name, len) == 0 &&
		    env->v[i][len] == '=' && env->v[i][len + 1] != '\0')
			return (env->v[i] + len + 1);
	return (NULL);
}

/* Erasing takes a whole character away where the locale says it has several
 * bytes. Everything else of a terminal's settings is the kernel's default, as
 * a terminal emulator has it. */
static void
console_utf8(const struct init *in, int slave)
{
	const char	*locale;
	struct termios	 tio;

	if ((locale = console_env(in, "LC_ALL")) == NULL &&
	    (locale = console_env(in, "LC_CTYPE")) == NULL &&
	    (locale = console_env(in, "LANG")) == NULL)
		return;
	if (strcasestr(locale, "UTF-8") == NULL &&
	    strcasestr(locale, "UTF8") == NULL)
		return;
	if (tcgetattr(slave, &tio) == -1)
		return;
	tio.c_iflag |= IUTF8;
	tcsetattr(slave, TCSANOW, &tio);
}

static void
console_size(struct init *in)
{
	struct winsize	ws = {
		.ws_row = (unsigned short)in->set->rows,
		.ws_col = (unsigned short)in->set->cols
	};

	if (in->set->rows > 0 && in->set->cols > 0 &&
	    ioctl(in->master, TIOCSWINSZ, &ws) == -1)
		init_refuse(in, "terminal.failed", "a terminal of %llu rows "
		    "and %llu columns: %m", (unsigned long long)in->set->rows,
		    (unsigned long long)in->set->cols);
}

/*
 * The slave stays open here as long as the command runs: a command that lets
 * go of its terminal has not ended, and the worker would read EIO. The master
 * stays because only through it one who has another terminal, or none, may ask
 * for the foreground group.
 */
static void
console_terminal(struct init *in)
{
	int	fd, unlock = 0;

	if ((in->master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)) ==
	    -1)
		init_refuse(in, "terminal.failed", "/dev/ptmx of the session: "
		    "%m");
	if (ioctl(in->master, TIOCSPTLCK, &unlock) == -1 || (in->std[0] =
	    ioctl(in->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)) ==
	    -1)
		init_refuse(in, "terminal.failed", "opening the terminal: %m");
	in->std[1] = in->std[2] = in->std[0];
	console_size(in);
	console_utf8(in, in->std[0]);
	if ((fd = fcntl(in->master, F_DUPFD_CLOEXEC, 3)) == -1)
		init_refuse(in, "terminal.failed", "dup: %m");
	console_send(in, 0, fd);
}

static void
console_pipes(struct init *in)
{
	int	i, p[2];

	for (i = 0; i < 3; i++) {
		if (pipe2(p, O_CLOEXEC) == -1)
			init_refuse(in, "terminal.failed", "a pipe: %m");
		in->std[i] = i == 0 ? p[0] : p[1];
		console_send(in, (uint64_t)i, i == 0 ? p[1] : p[0]);
	}
}

void
console_make(struct init *in)
{
	if (in->set->tty)
		console_terminal(in);
	else
		console_pipes(in);
}

void
console_close(struct init *in)
{
	int	i;

	for (i = 0; i < 3; i++)
		if (in->std[i] != -1 && (i == 0 || in->std[i] != in->std[0]))
			close(in->std[i]);
	if (in->master != -1)
		close(in->master);
	in->std[0] = in->std[1] = in->std[2] = in->master = -1;
}

pid_t
console_foreground(const struct init *in)
{
	pid_t	group;

	if (in->master == -1 || ioctl(in->master, TIOCGPGRP, &group) == -1)
		return (0);
	return (group);
}
