/*
 * The writer killed, failed and disturbed at its system calls: whatever
 * happens, the tree is the old one or the new one.
 */
#include <errno.h>

#include "landing_crash.h"

ATF_TC_WITHOUT_HEAD(killed);
ATF_TC_BODY(killed, tc)
{
	crash_fs("tmpfs");
	crash_kill_all(5);
}

ATF_TC_WITHOUT_HEAD(killed_in_project);
ATF_TC_BODY(killed_in_project, tc)
{
	crash_fs("tmpfs");
	crash_nogit = true;
	crash_kill_all(17);
}

ATF_TC_WITHOUT_HEAD(recovery_killed);
ATF_TC_BODY(recovery_killed, tc)
{
	crash_fs("tmpfs");
	crash_kill_twice(97, 41);
}

ATF_TC_WITHOUT_HEAD(failed);
ATF_TC_BODY(failed, tc)
{
	crash_fs("tmpfs");
	crash_fail_all(ENOSPC, 9);
	crash_fail_all(EIO, 23);
}

ATF_TC_WITHOUT_HEAD(failed_recovery);
ATF_TC_BODY(failed_recovery, tc)
{
	crash_fs("tmpfs");
	crash_fail_recovery(EIO, 97, 41);
}

ATF_TC_WITHOUT_HEAD(disturbed);
ATF_TC_BODY(disturbed, tc)
{
	crash_fs("tmpfs");
	crash_disturb_all(53, 29);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, killed);
	ATF_TP_ADD_TC(tp, killed_in_project);
	ATF_TP_ADD_TC(tp, recovery_killed);
	if (TEST_PLAIN) {
		ATF_TP_ADD_TC(tp, failed);
		ATF_TP_ADD_TC(tp, failed_recovery);
	}
	ATF_TP_ADD_TC(tp, disturbed);
	return (atf_no_error());
}
