/*
 * A command's terminal, from the devpts that mountd put into /dev, or its
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
console_send(struct init *in, const struct command *c, uint64_t n, int fd)
{
	struct m_PTY	m = { .tty = c->tty, .n = n };

	if (imsg_send(&in->ib, MSG_PTY, c->n, fd, &m) == -1)
		_exit(1);
}

static const char *
console_env(const struct command *c, const char *name)
{
	const struct strv	*env = &c->env;
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
console_utf8(const struct command *c, int slave)
{
	const char	*locale;
	struct termios	 tio;

	if ((locale = console_env(c, "LC_ALL")) == NULL &&
	    (locale = console_env(c, "LC_CTYPE")) == NULL &&
	    (locale = console_env(c, "LANG")) == NULL)
		return;
	if (strcasestr(locale, "UTF-8") == NULL &&
	    strcasestr(locale, "UTF8") == NULL)
		return;
	if (tcgetattr(slave, &tio) == -1)
		return;
	tio.c_iflag |= IUTF8;
	tcsetattr(slave, TCSANOW, &tio);
}

static int
console_size(struct command *c)
{
	struct winsize	ws = { .ws_row = c->rows, .ws_col = c->cols };

	if (c->rows == 0 || c->cols == 0)
		return (0);
	return (ioctl(c->master, TIOCSWINSZ, &ws));
}

/*
 * The slave stays open here as long as the command runs: a command that lets
 * go of its terminal has not ended, and the worker would read EIO. The master
 * stays because only through it one who has another terminal, or none, may ask
 * for the foreground group.
 */
static int
console_terminal(struct init *in, struct command *c, const char **what)
{
	int	fd, unlock = 0;

	*what = "/dev/ptmx of the session";
	if ((c->master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)) ==
	    -1)
		return (-1);
	*what = "opening the terminal";
	if (ioctl(c->master, TIOCSPTLCK, &unlock) == -1 || (c->std[0] =
	    ioctl(c->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC)) ==
	    -1)
		return (-1);
	c->std[1] = c->std[2] = c->std[0];
	*what = "the terminal's size";
	if (console_size(c) == -1)
		return (-1);
	console_utf8(c, c->std[0]);
	*what = "dup";
	if ((fd = fcntl(c->master, F_DUPFD_CLOEXEC, 3)) == -1)
		return (-1);
	console_send(in, c, 0, fd);
	return (0);
}

static int
console_pipes(struct init *in, struct command *c, const char **what)
{
	int	i, p[2], theirs[3];

	*what = "a pipe";
	for (i = 0; i < 3; i++) {
		if (pipe2(p, O_CLOEXEC) == -1) {
			while (i-- > 0)
				close(theirs[i]);
			return (-1);
		}
		c->std[i] = i == 0 ? p[0] : p[1];
		theirs[i] = i == 0 ? p[1] : p[0];
	}
	for (i = 0; i < 3; i++)
		console_send(in, c, (uint64_t)i, theirs[i]);
	return (0);
}

int
console_make(struct init *in, struct command *c, const char **what)
{
	if (c->tty)
		return (console_terminal(in, c, what));
	return (console_pipes(in, c, what));
}

void
console_close(struct command *c)
{
	int	i;

	for (i = 0; i < 3; i++)
		if (c->std[i] != -1 && (i == 0 || c->std[i] != c->std[0]))
			close(c->std[i]);
	if (c->master != -1)
		close(c->master);
	c->std[0] = c->std[1] = c->std[2] = c->master = -1;
}

pid_t
console_foreground(const struct command *c)
{
	pid_t	group;

	if (c->master == -1 || ioctl(c->master, TIOCGPGRP, &group) == -1)
		return (0);
	return (group);
}
