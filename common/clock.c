#include <stdio.h>
#include <time.h>

#include "clock.h"

int64_t
now_ms(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

/* Not time(2), which no promise has: where the kernel maps no code for it,
 * libc asks by that. */
uint64_t
clock_seconds(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ((uint64_t)ts.tv_sec);
}

void
clock_now(char out[CLOCK_UTC])
{
	clock_utc((time_t)clock_seconds(), out);
}

/*
 * gmtime_r(3) looks for the time zone's file, which a confined process may not
 * open. A year begins in March here, so that its odd day is its last one; 400
 * of them are 146,097 days, and the five months from one 31st to the next but
 * one always 153.
 */
void
clock_utc(time_t when, char out[CLOCK_UTC])
{
	long long	t = when < 0 ? 0 : when, day, era, year, month;
	unsigned int	sec = (unsigned int)(t % 86400);

	day = t / 86400 + 719468;	/* since 1 March of the year 0 */
	era = day / 146097;
	day %= 146097;
	year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	day -= 365 * year + year / 4 - year / 100;
	month = (5 * day + 2) / 153;
	day -= (153 * month + 2) / 5;
	year += 400 * era + (month >= 10);
	snprintf(out, CLOCK_UTC, "%04u-%02u-%02uT%02u:%02u:%02uZ",
	    (unsigned int)(year % 10000), (unsigned int)(month < 10 ?
	    month + 3 : month - 9), (unsigned int)day + 1, sec / 3600,
	    sec / 60 % 60, sec % 60);
}
