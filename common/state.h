/*
 * Where an ordinary user's own suite keeps its state, and listens.
 */
#ifndef COMMON_STATE_H
#define COMMON_STATE_H

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

#endif
