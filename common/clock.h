/*
 * Time for deadlines and durations.
 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>

/* Milliseconds since some start; setting the machine's clock moves nothing. */
int64_t	now_ms(void);

#endif
