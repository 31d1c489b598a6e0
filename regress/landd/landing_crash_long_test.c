/*
 * All of it: the writer killed, failed and disturbed at its system calls;
 * whatever happens, the tree is the old one or the new one.
 */
#include <errno.h>

#include "landing_crash.h"

#define LONG_TC(name)							\
ATF_TC(name);								\
ATF_TC_HEAD(name, tc)							\
{									\
	atf_tc_set_md_var(tc, "timeout", "900");			\
}									\
ATF_TC_BODY(name, tc)

LONG_TC(killed)
{
	crash_fs("tmpfs");
	crash_kill_all(1);
}

LONG_TC(killed_on_ext4)
{
	crash_fs("ext4");
	crash_kill_all(3);
}

LONG_TC(killed_in_project)
{
	crash_fs("tmpfs");
	crash_nogit = true;
	crash_kill_all(1);
}

LONG_TC(recovery_killed)
{
	crash_fs("tmpfs");
	crash_kill_twice(13, 7);
}

LONG_TC(failed)
{
	crash_fs("tmpfs");
	crash_fail_all(ENOSPC, 1);
	crash_fail_all(EIO, 1);
}

LONG_TC(failed_recovery)
{
	crash_fs("tmpfs");
	crash_fail_recovery(EIO, 29, 11);
}

LONG_TC(disturbed)
{
	crash_fs("tmpfs");
	crash_disturb_all(5, 1);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, killed);
	ATF_TP_ADD_TC(tp, killed_on_ext4);
	ATF_TP_ADD_TC(tp, killed_in_project);
	ATF_TP_ADD_TC(tp, recovery_killed);
	if (TEST_PLAIN) {
		ATF_TP_ADD_TC(tp, failed);
		ATF_TP_ADD_TC(tp, failed_recovery);
	}
	ATF_TP_ADD_TC(tp, disturbed);
	return (atf_no_error());
}
