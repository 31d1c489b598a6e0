#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limits.h"
#include "path.h"
#include "state.h"

/* The XDG base directories: a relative value counts as none. */
static const char *
state_env(const char *name)
{
	const char	*value = getenv(name);

	return (value != NULL && *value == '/' ? value : NULL);
}

static const char *
state_home(void)
{
	const char	*home = state_env("HOME");
	struct passwd	*pw;

	if (home != NULL)
		return (home);
	pw = getpwuid(geteuid());
	return (pw != NULL && pw->pw_dir[0] == '/' ? pw->pw_dir : NULL);
}

static int
state_path(char *out, size_t size, const char *base, const char *rest)
{
	int	n;

	if (base == NULL)
		return (-1);
	n = snprintf(out, size, "%s%s", base, rest);
	return (n < 0 || (size_t)n >= size ? -1 : 0);
}

int
state_user(char *out, size_t size)
{
	const char	*dir = state_env("XDG_STATE_HOME");

	if (dir != NULL)
		return (state_path(out, size, dir, "/sbx"));
	return (state_path(out, size, state_home(), "/.local/state/sbx"));
}

int
state_runtime(char *out, size_t size)
{
	return (state_path(out, size, state_env("XDG_RUNTIME_DIR"), "/sbx"));
}

int
state_config(char *out, size_t size)
{
	const char	*dir = state_env("XDG_CONFIG_HOME");

	if (dir != NULL)
		return (state_path(out, size, dir, "/sbx/sbxd.conf"));
	return (state_path(out, size, state_home(), "/.config/sbx/sbxd.conf"));
}

int
state_hold(int lock)
{
	struct flock	fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return (fcntl(lock, F_OFD_SETLK, &fl));
}

bool
state_held(int dir)
{
	struct flock	fl = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	bool		held;
	int		fd;

	fd = openat(dir, STATE_LOCK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC);
	if (fd == -1)
		return (errno == EACCES);
	held = fcntl(fd, F_OFD_GETLK, &fl) == 0 && fl.l_type != F_UNLCK;
	close(fd);
	return (held);
}

void
state_where(int dir, uid_t owner, char *out, size_t size)
{
	struct stat	st;
	char		line[LIMIT_PATH + 2] = "";
	ssize_t		n = -1;
	int		fd;

	out[0] = '\0';
	fd = openat(dir, STATE_WHERE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC);
	if (fd == -1)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (st.st_uid == owner || st.st_uid == 0))
		n = read(fd, line, sizeof(line));
	close(fd);
	if (n <= 1 || line[n - 1] != '\n')
		return;
	line[n - 1] = '\0';
	if (strlen(line) == (size_t)n - 1 && path_is_canonical(line))
		strlcpy(out, line, size);
}
