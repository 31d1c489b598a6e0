/* Some random change sets: see review_random.c. */
#include "review_gen.h"
#include "review_lib.h"

ATF_TC(apply);
ATF_TC_HEAD(apply, tc)
{
	atf_tc_set_md_var(tc, "timeout", "900");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(apply, tc)
{
	review_random(60);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, apply);
	return (atf_no_error());
}
