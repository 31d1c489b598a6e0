/*
 * sbxctl on a terminal, against a scripted suite (fake.c). Failures end the
 * case.
 */
#ifndef REGRESS_SBXCTL_ONPTY_H
#define REGRESS_SBXCTL_ONPTY_H

#include "regress/sbxctl/pty.h"

/* The suite does what these words say; the current folder is a project. */
void	fake_start(const char *does);
void	fake_stop(void);
/* Words of sbxctl's, the last one NULL. */
void	start_words(struct pty *, const char *const *words);
#define start(p, ...)	start_words(p, (const char *const []){ __VA_ARGS__ })
/* Waits for its end with this status, and for the terminal as it was. */
void	ends(struct pty *, int status);
/* A line of what the suite was asked: waits for it. */
void	asked(const char *line);
void	not_asked(const char *pattern);
/* What it was asked so far. */
void	forget(void);

#endif
