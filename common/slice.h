/*
 * How soon a process runs that has been woken, while others compute. Who moves
 * a terminal's bytes is at work for microseconds, and behind each keystroke
 * there are two of them: each would wait for the end of a turn that somebody
 * else's flood of output may take.
 */
#ifndef COMMON_SLICE_H
#define COMMON_SLICE_H

#include <stdint.h>

/* The kernel's sched_attr, as it has been from the start on: its own header
 * cannot be read beside sched.h, and not every libc has it. */
struct slice_attr {
	uint32_t	size, policy;
	uint64_t	flags;
	int32_t		nice;
	uint32_t	priority;
	uint64_t	runtime, deadline, period;	/* ns */
};

/* Turns as short as the kernel gives them, which come the sooner. Costs no
 * other process its share; nothing where the kernel knows of no such thing
 * (before 6.12), or where another policy than the usual one was chosen. */
void	slice_short(void);
/* As it is without. */
void	slice_usual(void);

#endif
