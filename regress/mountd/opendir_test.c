/*
 * What mountd does where a folder is open and cannot be read: no memory for
 * that is left, say. Its reason stands, and no descriptor is lost.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mountd/at.h"
#include "mountd/clean.h"
#include "mountd/fault.h"
#include "mountd/mountd.h"
#include "mountd/rm.h"
#include "mountd/sweep.h"
#include "regress/lib/test.h"

struct mountd	mountd;
static bool	full;

/* In the C library's place, for all that is linked here. */
DIR *
fdopendir(int fd)
{
	DIR	*(*real)(int) = (DIR *(*)(int))dlsym(RTLD_NEXT, "fdopendir");

	if (!full)
		return (real(fd));
	errno = ENOMEM;
	return (NULL);
}

static size_t
open_fds(void)
{
	size_t	n = 0;
	int	fd;

	for (fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			n++;
	return (n);
}

static int
folder(const char *name)
{
	int	fd;

	ATF_REQUIRE_EQ(0, test_sh("mkdir -p '%s'", test_path("%s", name)));
	fd = open(test_path("%s", name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ATF_REQUIRE(fd != -1);
	return (fd);
}

ATF_TC_WITHOUT_HEAD(at);
ATF_TC_BODY(at, tc)
{
	int	dir = folder("dir");
	size_t	n = open_fds();
	DIR	*d;

	full = true;
	ATF_CHECK(at_opendir(dir, "") == NULL);
	ATF_CHECK_EQ(ENOMEM, errno);
	ATF_CHECK_EQ(n, open_fds());
	full = false;
	ATF_REQUIRE((d = at_opendir(dir, "")) != NULL);
	closedir(d);
	ATF_CHECK_EQ(n, open_fds());
}

/* The control group at the suite's end is tried again and again. */
ATF_TC_WITHOUT_HEAD(sweep);
ATF_TC_BODY(sweep, tc)
{
	size_t	n;

	close(folder("group/leaf"));
	sweep_begin(test_path("group"));
	n = open_fds();
	full = true;
	sweep_end();
	ATF_CHECK_EQ(n, open_fds());
	ATF_CHECK_EQ(0, access(test_path("group/leaf"), F_OK));
	full = false;
	sweep_end();
	ATF_CHECK_EQ(n, open_fds());
	ATF_CHECK_EQ(-1, access(test_path("group"), F_OK));
}

ATF_TC_WITHOUT_HEAD(rm);
ATF_TC_BODY(rm, tc)
{
	int	dir = folder("dir");
	size_t	n;

	ATF_REQUIRE_EQ(0, test_sh("mkdir -p '%s' && : >'%s/f'",
	    test_path("dir/a/b"), test_path("dir/a/b")));
	n = open_fds();
	full = true;
	ATF_CHECK_EQ(-1, rm_all(dir, "a"));
	ATF_CHECK_EQ(ENOMEM, errno);
	ATF_CHECK_EQ(n, open_fds());
	ATF_CHECK_EQ(0, access(test_path("dir/a/b/f"), F_OK));
	full = false;
	ATF_CHECK_EQ(0, rm_all(dir, "a"));
	ATF_CHECK_EQ(n, open_fds());
	ATF_CHECK_EQ(-1, access(test_path("dir/a"), F_OK));
}

ATF_TC_WITHOUT_HEAD(copies);
ATF_TC_BODY(copies, tc)
{
	int	store = folder("store"), u = folder("store/1/u");
	int	stage = folder("stage");
	size_t	n = open_fds();

	full = true;
	ATF_CHECK_EQ(-1, copies_write(store, "/p", NULL, u, stage));
	ATF_CHECK_MSG(strstr(fault_text(), strerror(ENOMEM)) != NULL, "%s",
	    fault_text());
	ATF_CHECK_EQ(n, open_fds());
	full = false;
	ATF_CHECK_EQ(0, copies_write(store, "/p", NULL, u, stage));
	ATF_CHECK_EQ(n, open_fds());
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, at);
	ATF_TP_ADD_TC(tp, sweep);
	ATF_TP_ADD_TC(tp, rm);
	ATF_TP_ADD_TC(tp, copies);
	return (atf_no_error());
}
