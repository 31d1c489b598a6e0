/*
 * In S what is root's shows as nobody's, and a program that believes a file
 * only from root or from its own user believes it from neither: ssh(1), which
 * then ends, of the files that the machine's configuration includes. Of each
 * such file a session has a twin: a copy that is the user's, read-only, in its
 * place. No other program is known that ends for it.
 */
#ifndef MOUNTD_TWIN_H
#define MOUNTD_TWIN_H

#include "plan.h"

/* When all other places are known: those of the files, PLACE_TWIN. */
int	twins_plan(struct plan *, const struct build *);
/* The twin of such a place, detached. *in is where the session's twins are,
 * made with the first of them; else -1. -1 fault. */
int	twin_make(int *in, const struct place *);

#endif
