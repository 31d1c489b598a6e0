/*
 * Where an ordinary user's own suite keeps its state, and listens.
 */
#ifndef COMMON_STATE_H
#define COMMON_STATE_H

#include <sys/types.h>
#include <stdbool.h>
#include <stddef.h>

/* The machine's suite's configuration. */
#define CONF_DEFAULT	"/etc/sbx/sbxd.conf"

/* $XDG_STATE_HOME/sbx, else ~/.local/state/sbx; -1: too long, or neither
 * names an absolute path. */
int	state_user(char *out, size_t size);
/* $XDG_RUNTIME_DIR/sbx; -1: there is none. */
int	state_runtime(char *out, size_t size);
/* $XDG_CONFIG_HOME/sbx/sbxd.conf, else ~/.config/sbx/sbxd.conf. */
int	state_config(char *out, size_t size);

/* Relative to the state's folder: the suite that runs on it has locked the one
 * and says in the other where it listens. */
#define STATE_LOCK	"sbxd/lock"
#define STATE_WHERE	"sbxd.where"

/* Locks that, beside flock(2), so that state_held can ask. */
int	state_hold(int lock);
/* Without ever having it itself, by which a suite that starts would fail. Who
 * may not look, a user of root's suite, finds out by its socket. */
bool	state_held(int dir);
/* What it says there, if that file is owner's or root's; else "". One that has
 * ended has said so, too. */
void	state_where(int dir, uid_t owner, char *out, size_t size);

#endif
