/*
 * What only a process in a session's pid namespace can do, where a kernel does
 * not let another one name that: its /proc.
 */
#ifndef MOUNTD_INSIDE_H
#define MOUNTD_INSIDE_H

/* Runs it in a process there that has our descriptors, and waits; what it
 * opens is ours, what else it changes is not. From then on whatever this
 * process forks is there too. -1: errno. */
int	inside_run(int pidns, int (*run)(void *), void *arg);

#endif
