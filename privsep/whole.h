/*
 * Small files that are whole or not there: read to the last byte, replaced by
 * a new one under another name.
 */
#ifndef PRIVSEP_WHOLE_H
#define PRIVSEP_WHOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All bytes of dir/name, at most max, malloc'ed. NULL with a reason in *why;
 * errno is ENOENT only where there is no such file. */
uint8_t	*whole_read(int dir, const char *name, size_t max, size_t *len,
	    const char **why);
/* By way of dir/name.new. sync: durable when this returns 0. -1: errno, and
 * the old one is there. */
int	 whole_write(int dir, const char *name, const void *, size_t,
	    bool sync);

#endif
