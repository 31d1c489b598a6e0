/*
 * Time for deadlines and durations, and for logs.
 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_UTC	21	/* a time and its NUL */

/* Milliseconds since some start; setting the machine's clock moves nothing. */
int64_t	now_ms(void);
/* Since 1970. */
uint64_t clock_seconds(void);
/* "2026-11-30T12:34:56Z" (RFC 3339), without opening a file; what is before
 * 1970 is 1970. */
void	clock_utc(time_t, char[CLOCK_UTC]);
/* That of now. */
void	clock_now(char[CLOCK_UTC]);

#endif
