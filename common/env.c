#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "env.h"

/* Names; one that ends in "*" stands for all that begin so. */
static const char *const env_never_names[] = {
	/* what the loader and git obey */
	"LD_*", "GIT_*",
	/* agents, buses, displays and terminals that are the host's */
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO",
	"GNOME_KEYRING_*", "DBUS_*", "DISPLAY", "WAYLAND_*", "XAUTHORITY",
	"PULSE_*", "SWAYSOCK", "I3SOCK", "TMUX*", "STY", "ZELLIJ*",
	"KITTY_LISTEN_ON", "WEZTERM_UNIX_SOCKET", "ALACRITTY_SOCKET",
	"NVIM", "NVIM_LISTEN_ADDRESS", "VSCODE_IPC_HOOK*",
	"VSCODE_GIT_*",
	/* a service manager's, and the suite's own */
	"LISTEN_*", "NOTIFY_SOCKET", "INVOCATION_ID", "JOURNAL_STREAM",
	"MAINPID", "MANAGERPID", "SYSTEMD_EXEC_PID", "WATCHDOG_*",
	"CREDENTIALS_DIRECTORY", "SBX_*",
};

static const char *const env_keep_names[] = {
	"HOME", "USER", "LOGNAME", "SHELL", "PATH", "TERM", "COLORTERM",
	"LANG", "LC_*", "TZ",
	/* proxies, in both spellings that programs look at */
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY",
	"http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy",
	/* certificates of authorities */
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
	"REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "PIP_CERT",
	"CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE",
};

static size_t
env_namelen(const char *entry)
{
	return (strcspn(entry, "="));
}

static bool
env_match(const char *const *names, size_t n, const char *entry)
{
	size_t	i, len, want;

	len = env_namelen(entry);
	for (i = 0; i < n; i++) {
		want = strlen(names[i]);
		if (names[i][want - 1] == '*') {
			if (len >= want - 1 &&
			    strncmp(names[i], entry, want - 1) == 0)
				return (true);
		} else if (len == want && strncmp(names[i], entry, len) == 0)
			return (true);
	}
	return (false);
}

bool
env_valid(const char *entry)
{
	size_t	len = env_namelen(entry);

	return (len > 0 && entry[len] == '=');
}

bool
env_never(const char *entry)
{
	return (env_match(env_never_names, sizeof(env_never_names) /
	    sizeof(env_never_names[0]), entry));
}

bool
env_keep(const char *entry)
{
	return (env_match(env_keep_names, sizeof(env_keep_names) /
	    sizeof(env_keep_names[0]), entry));
}

void
env_init(struct env *env)
{
	memset(env, 0, sizeof(*env));
}

void
env_free(struct env *env)
{
	size_t	i;

	for (i = 0; i < env->n; i++)
		free(env->v[i]);
	free(env->v);
	env_init(env);
}

/* Where the name is, or n. */
static size_t
env_find(const struct env *env, const char *name, size_t len)
{
	size_t	i;

	for (i = 0; i < env->n; i++)
		if (strncmp(env->v[i], name, len) == 0 &&
		    env->v[i][len] == '=')
			break;
	return (i);
}

static int
env_grow(struct env *env)
{
	size_t	  room = env->room == 0 ? 64 : env->room * 2;
	char	**v;

	if (env->n + 1 < env->room)
		return (0);
	if ((v = reallocarray(env->v, room, sizeof(*v))) == NULL)
		return (-1);
	env->v = v;
	env->room = room;
	return (0);
}

/* The entry becomes env's, or is freed. */
static int
env_put(struct env *env, char *entry)
{
	size_t	i = env_find(env, entry, env_namelen(entry));

	if (i < env->n) {
		free(env->v[i]);
		env->v[i] = entry;
		return (0);
	}
	if (env_grow(env) == -1) {
		free(entry);
		return (-1);
	}
	env->v[env->n++] = entry;
	env->v[env->n] = NULL;
	return (0);
}

int
env_add(struct env *env, const char *entry)
{
	char	*copy;

	if (!env_valid(entry)) {
		errno = EINVAL;
		return (-1);
	}
	if ((copy = strdup(entry)) == NULL)
		return (-1);
	return (env_put(env, copy));
}

int
env_set(struct env *env, const char *name, const char *value)
{
	size_t	 namelen = strlen(name), len = strlen(value);
	char	*entry;

	if (namelen == 0 || strchr(name, '=') != NULL) {
		errno = EINVAL;
		return (-1);
	}
	if ((entry = malloc(namelen + len + 2)) == NULL)
		return (-1);
	memcpy(entry, name, namelen);
	entry[namelen] = '=';
	memcpy(entry + namelen + 1, value, len + 1);
	return (env_put(env, entry));
}

void
env_unset(struct env *env, const char *name)
{
	size_t	i = env_find(env, name, strlen(name));

	if (i == env->n)
		return;
	free(env->v[i]);
	memmove(env->v + i, env->v + i + 1, (env->n - i) * sizeof(*env->v));
	env->n--;
}

const char *
env_get(const struct env *env, const char *name)
{
	size_t	len = strlen(name), i = env_find(env, name, len);

	return (i == env->n ? NULL : env->v[i] + len + 1);
}

int
env_sieve(struct env *env, const char *const *envp, bool strict)
{
	for (; *envp != NULL; envp++) {
		if (!env_valid(*envp) || env_never(*envp) ||
		    (strict && !env_keep(*envp)))
			continue;
		if (env_add(env, *envp) == -1)
			return (-1);
	}
	return (0);
}
