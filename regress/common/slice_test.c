/*
 * A process's turns, as the kernel tells them, and what is not to change with
 * them.
 */
#include <sys/resource.h>
#include <sched.h>

#include <atf-c.h>

#include "common/slice.h"
#include "regress/lib/turns.h"

ATF_TC_WITHOUT_HEAD(shorter);
ATF_TC_BODY(shorter, tc)
{
	struct slice_attr	before, in, after;

	/* As a user may have asked for it. */
	ATF_REQUIRE_EQ(setpriority(PRIO_PROCESS, 0, 7), 0);
	before = turns_of(0);
	slice_short();
	in = turns_of(0);
	slice_usual();
	after = turns_of(0);
	if (turns_known())
		ATF_CHECK_EQ(TURNS_SHORT, in.runtime);
	ATF_CHECK_EQ(before.runtime, after.runtime);
	ATF_CHECK_EQ(7, in.nice);
	ATF_CHECK_EQ(7, after.nice);
	ATF_CHECK_EQ(before.flags, after.flags);
}

/* Who was put among others that only use what is left stays there. */
ATF_TC_WITHOUT_HEAD(another_policy);
ATF_TC_BODY(another_policy, tc)
{
	struct sched_param	param = { 0 };
	struct slice_attr	before, after;

	ATF_REQUIRE_EQ(sched_setscheduler(0, SCHED_BATCH, &param), 0);
	before = turns_of(0);
	slice_short();
	after = turns_of(0);
	ATF_CHECK_EQ(SCHED_BATCH, after.policy);
	ATF_CHECK_EQ(before.runtime, after.runtime);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, shorter);
	ATF_TP_ADD_TC(tp, another_policy);
	return (atf_no_error());
}
