/*
 * Has another process make a system call: what its filter answers is then
 * seen from the very program, at work.
 */
#ifndef REGRESS_INJECT_H
#define REGRESS_INJECT_H

/* In place of the next call that pid makes, which it then makes all the same.
 * Returns what the injected one gave, -errno; or, where that was the
 * process's end, INJECT_SIGNAL: it has been waited for then. */
long	inject(int pid, long nr, long a, long b, long c, long d);

#define INJECT_SIGNAL(n)	(-1000L - (n))

#endif
