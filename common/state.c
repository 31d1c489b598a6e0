#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
