/*
 * Has a program's next child stumble over a system call: the calls to nr from
 * the first to the last that are named, from 1, fail with this errno, or it is
 * killed before the first where that is 0.
 */
#ifndef REGRESS_TRIP_H
#define REGRESS_TRIP_H

void		trip_begin(int pid, long nr, unsigned int first,
		    unsigned int last, int error);
/* When that child has ended: how many such calls it came to. */
unsigned int	trip_end(void);

#endif
