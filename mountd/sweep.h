#ifndef MOUNTD_SWEEP_H
#define MOUNTD_SWEEP_H

/* While root: remembers the suite's control group. */
void	sweep_begin(const char *cgroup);
/* At our own end: removes it, when the last process in it is gone. */
void	sweep_end(void);

#endif
