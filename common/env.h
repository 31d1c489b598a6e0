/*
 * The environment sieve: what of a caller's environment may enter a session.
 * Pure functions over NAME=VALUE entries; nothing here reads environ.
 */
#ifndef COMMON_ENV_H
#define COMMON_ENV_H

#include <stdbool.h>
#include <stddef.h>

/* A growing environment, each name once; v is NULL-ended, or NULL
 * while it is empty. */
struct env {
	char	**v;
	size_t	  n, room;
};

/* An entry as execve takes it: a name that is not empty, then "=". */
bool	env_valid(const char *entry);
/*
 * True where the entry's name never enters a session, whoever asks: it names
 * a socket or agent of the host's, steers the loader or git, or belongs to
 * the suite or to a service manager. Takes "NAME" as well as "NAME=VALUE".
 */
bool	env_never(const char *entry);
/*
 * True where an environment that is built, not inherited, takes the name over
 * (a daemon's sessions; sbxctl takes all that is not env_never).
 */
bool	env_keep(const char *entry);

void		 env_init(struct env *);
void		 env_free(struct env *);
/* Sets or replaces; a copy is made. -1: ENOMEM, EINVAL (not env_valid). */
int		 env_add(struct env *, const char *entry);
int		 env_set(struct env *, const char *name, const char *value);
void		 env_unset(struct env *, const char *name);
const char	*env_get(const struct env *, const char *name);
/* Adds what of envp passes: not env_never, and env_keep where strict. Entries
 * that are not env_valid are left out. -1: ENOMEM. */
int		 env_sieve(struct env *, const char *const *envp, bool strict);

#endif
