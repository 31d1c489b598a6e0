#ifndef REGRESS_MOUNTD_CASES_H
#define REGRESS_MOUNTD_CASES_H

#define CASE(name, text)						\
	ATF_TC(name);							\
	ATF_TC_HEAD(name, tc)						\
	{								\
		atf_tc_set_md_var(tc, "descr", text);			\
		atf_tc_set_md_var(tc, "require.user", "root");		\
	}								\
	ATF_TC_BODY(name, tc)

#define START(d)							\
	ATF_REQUIRE_MSG(drive_start(d), "%s: %s", (d)->code, (d)->text)

#endif
