/*
 * How long those that look in are waited for, by a clock and bytes of the
 * test's own.
 */
#include <string.h>

#include <atf-c.h>

#include "worker/worker.h"

#define KIB	((uint64_t)1024)
#define WAIT	20	/* ms */

static struct task	task;
static struct client	clients[64];

/* So many clients that have all of a long output. */
static void
begin(size_t n)
{
	size_t	i;

	memset(&task, 0, sizeof(task));
	memset(clients, 0, sizeof(clients));
	TAILQ_INIT(&task.clients);
	task.history.end = 100 << 20;
	for (i = 0; i < n; i++) {
		clients[i].at = task.history.end;
		TAILQ_INSERT_TAIL(&task.clients, &clients[i], entry);
	}
}

static void
written(uint64_t bytes)
{
	task.history.end += bytes;
}

/* Who keeps near enough misses nothing, however long it goes on. */
ATF_TC_WITHOUT_HEAD(near);
ATF_TC_BODY(near, tc)
{
	int64_t	now = 1000;
	int	i;

	begin(1);
	for (i = 0; i < 100; i++) {
		written(512 * KIB - (task.history.end - clients[0].at));
		ATF_REQUIRE_EQ(0, pace_wait(&task, now));
		written(1);
		ATF_REQUIRE_EQ(WAIT, pace_wait(&task, now));
		now += WAIT - 1;
		ATF_REQUIRE_EQ(1, pace_wait(&task, now));
		clients[0].at = task.history.end - 256 * KIB;
		ATF_REQUIRE_EQ(0, pace_wait(&task, now));
		ATF_REQUIRE(!clients[0].slow);
	}
}

/* Who does not come near in time is waited for once. */
ATF_TC_WITHOUT_HEAD(slow);
ATF_TC_BODY(slow, tc)
{
	int64_t	now = 1000;
	int	i;

	begin(2);
	written(600 * KIB);
	clients[1].at = task.history.end;
	ATF_CHECK_EQ(WAIT, pace_wait(&task, now));
	clients[0].at += 300 * KIB;
	now += WAIT;
	ATF_CHECK_EQ(0, pace_wait(&task, now));
	ATF_CHECK(clients[0].slow && !clients[1].slow);
	for (i = 0; i < 100; i++) {
		written(512 * KIB);
		clients[1].at = task.history.end;
		ATF_REQUIRE_EQ(0, pace_wait(&task, now));
	}
	/* The other one all the same. */
	written(600 * KIB);
	ATF_CHECK_EQ(WAIT, pace_wait(&task, now));
}

/* Nor is it the starter's place that counts, for which all waits anyway. */
ATF_TC_WITHOUT_HEAD(starter);
ATF_TC_BODY(starter, tc)
{
	begin(1);
	clients[0].whole = true;
	written(900 * KIB);
	ATF_CHECK_EQ(0, pace_wait(&task, 1000));
}

/* Many that stall one after the other slow it no more than one. */
ATF_TC_WITHOUT_HEAD(many);
ATF_TC_BODY(many, tc)
{
	int64_t		now = 1000, wait, waited = 0;
	uint64_t	start;
	size_t		i;

	begin(64);
	start = task.history.end;
	while (task.history.end - start < 64 << 20) {
		written(32 * KIB);
		for (i = 0; i < 64; i++)
			if (clients[i].slow) {
				clients[i].at = task.history.end;
				clients[i].slow = false;
				break;
			}
		while ((wait = pace_wait(&task, now)) > 0) {
			now += wait;
			waited += wait;
		}
	}
	ATF_CHECK_MSG(waited > 0 && waited <= WAIT * (64 * 1024 / 256),
	    "%lld ms", (long long)waited);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, near);
	ATF_TP_ADD_TC(tp, slow);
	ATF_TP_ADD_TC(tp, starter);
	ATF_TP_ADD_TC(tp, many);
	return (atf_no_error());
}
