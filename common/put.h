/*
 * write(2) and pwrite(2) until nothing is left: -1 with errno, else 0.
 */
#ifndef COMMON_PUT_H
#define COMMON_PUT_H

#include <sys/types.h>
#include <stddef.h>

int	put_all(int fd, const void *, size_t);
int	put_all_at(int fd, const void *, size_t, off_t);

#endif
