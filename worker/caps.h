/*
 * Capability sets of the calling process, by the plain system calls: init is
 * executed with ambient ones and puts them down step by step.
 */
#ifndef WORKER_CAPS_H
#define WORKER_CAPS_H

#include <stdbool.h>
#include <stdint.h>

/* Sets both; the inheritable set becomes empty, and with it the ambient one.
 * -1: errno. */
int	caps_set(uint64_t effective, uint64_t permitted);
/* True where all five sets are empty. */
bool	caps_none(void);

#endif
