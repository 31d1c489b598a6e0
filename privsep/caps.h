/*
 * Capability sets of the calling process, by the plain system calls: where a
 * session's first process is made with some of them and puts them down step
 * by step. (drop.h is for who gives up all but what it keeps for good.)
 */
#ifndef PRIVSEP_CAPS_H
#define PRIVSEP_CAPS_H

#include <stdbool.h>
#include <stdint.h>

/* -1: errno. The kernel takes out of the ambient set what is not both
 * permitted and inheritable: with inheritable 0 it is empty, too. */
int	caps_set(uint64_t effective, uint64_t permitted, uint64_t inheritable);
/* True where all five sets are empty; all but the bounding one, which an
 * ordinary user's process cannot empty. */
bool	caps_none(bool bounding);

#endif
