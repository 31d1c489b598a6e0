/* The harness for tests in C. */
#include <sys/mount.h>
#include <sys/wait.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/test.h"

ATF_TC(isolated);
ATF_TC_HEAD(isolated, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "a case is not pid 1, but pid 1 is ours");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(isolated, tc)
{
	ATF_CHECK(getpid() != 1);
	ATF_CHECK_EQ(0, test_sh("grep -q isolate /proc/1/comm"));
	ATF_CHECK_EQ(0, test_sh("test -d '%s' && test -x '%s'",
	    test_scratch(), test_program("regress/lib/isolate")));
	ATF_CHECK_EQ(7, test_sh("exit 7"));
}

ATF_TC(user);
ATF_TC_HEAD(user, tc)
{
	atf_tc_set_md_var(tc, "descr", "a user with a home");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(user, tc)
{
	struct test_user u;

	test_user(&u);
	ATF_CHECK(u.uid != 0);
	ATF_CHECK_EQ(0, test_sh("test \"$(stat -c %%u '%s')\" = %u", u.home,
	    u.uid));
}

/* Whether check ends the case that does this, told by a child's status. */
static int
check_fails(void)
{
	pid_t pid;
	int status;

	test_clean_ms = 300;
	if ((pid = fork()) == 0) {
		test_clean_check();
		_exit(0);
	}
	ATF_REQUIRE(pid != -1);
	ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

ATF_TC(clean);
ATF_TC_HEAD(clean, tc)
{
	atf_tc_set_md_var(tc, "descr",
	    "leftovers: a process, a mount, a descriptor");
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(clean, tc)
{
	int fd;

	test_clean_mark();
	test_clean_check();
	ATF_REQUIRE((fd = dup(0)) != -1);
	ATF_CHECK(check_fails());
	close(fd);
	test_clean_check();
	ATF_REQUIRE_EQ(0, mount("x", test_scratch(), "tmpfs", 0, NULL));
	ATF_CHECK(check_fails());
	ATF_REQUIRE_EQ(0, umount(test_scratch()));
	test_clean_check();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, isolated);
	ATF_TP_ADD_TC(tp, user);
	ATF_TP_ADD_TC(tp, clean);
	return atf_no_error();
}
