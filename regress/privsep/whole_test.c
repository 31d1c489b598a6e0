/*
 * Small files that are whole or not there: what is asked of the disk in which
 * order, and what is left where a step fails. The calls are this program's
 * own, which stand before the C library's.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privsep/whole.h"
#include "regress/lib/test.h"

#define SIZE	8192

static char	done[128];	/* the calls so far, a letter each */
static char	fails;		/* the one that fails, once */
static size_t	piece;		/* most of a write, 0: all */

static int
step(char letter)
{
	size_t	n = strlen(done);

	if (n < sizeof(done) - 1)
		done[n] = letter;
	if (fails != letter)
		return (0);
	fails = '\0';
	errno = EIO;
	return (-1);
}

int
fsync(int fd)
{
	struct stat	st;

	ATF_REQUIRE_EQ(0, fstat(fd, &st));
	return (step(S_ISDIR(st.st_mode) ? 'D' : 'F'));
}

int
renameat(int a, const char *from, int b, const char *to)
{
	return (step('R') == -1 ? -1 : (int)syscall(SYS_renameat2, a, from, b,
	    to, 0));
}

ssize_t
write(int fd, const void *p, size_t n)
{
	if (fails == 'W' && step('W') == -1)
		return (-1);
	if (fails == 'I') {	/* a signal, once */
		fails = '\0';
		errno = EINTR;
		return (-1);
	}
	return (syscall(SYS_write, fd, p, piece != 0 && n > piece ? piece :
	    n));
}

static int
folder(void)
{
	int	dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ATF_REQUIRE(dir != -1);
	return (dir);
}

static void
is(int dir, const char *want)
{
	const char	*why = "";
	uint8_t		*buf;
	size_t		 len;

	buf = whole_read(dir, "f", SIZE, &len, &why);
	ATF_REQUIRE_MSG(buf != NULL, "%s", why);
	ATF_CHECK_EQ(strlen(want), len);
	ATF_CHECK_EQ(0, memcmp(buf, want, len));
	free(buf);
}

static void
is_not(int dir, const char *name, const char *want, int err)
{
	const char	*why = "";
	size_t		 len;

	errno = 0;
	ATF_CHECK(whole_read(dir, name, SIZE, &len, &why) == NULL);
	ATF_CHECK_MSG(strstr(why, want) != NULL, "%s: %s", name, why);
	ATF_CHECK_EQ(err == ENOENT, errno == ENOENT);
}

ATF_TC_WITHOUT_HEAD(order);
ATF_TC_BODY(order, tc)
{
	int	dir = folder();

	ATF_REQUIRE_EQ(0, whole_write(dir, "f", "one", 3, true));
	ATF_CHECK_STREQ("FRD", done);
	is(dir, "one");
	memset(done, 0, sizeof(done));
	ATF_REQUIRE_EQ(0, whole_write(dir, "f", "", 0, false));
	ATF_CHECK_STREQ("R", done);
	is(dir, "");
	ATF_CHECK_EQ(-1, access("f.new", F_OK));
	close(dir);
}

ATF_TC_WITHOUT_HEAD(failures);
ATF_TC_BODY(failures, tc)
{
	static const char	steps[] = "WFR";
	const char		*s;
	int			 dir = folder();

	ATF_REQUIRE_EQ(0, whole_write(dir, "f", "old", 3, true));
	for (s = steps; *s != '\0'; s++) {
		fails = *s;
		ATF_CHECK_EQ(-1, whole_write(dir, "f", "new", 3, true));
		ATF_CHECK_EQ(EIO, errno);
		ATF_CHECK_EQ('\0', fails);
		is(dir, "old");
		ATF_CHECK_EQ(-1, access("f.new", F_OK));
	}
	/* It is there, and nobody may believe it. */
	fails = 'D';
	ATF_CHECK_EQ(-1, whole_write(dir, "f", "new", 3, true));
	/* One that a crash left is written anew. */
	ATF_REQUIRE_EQ(0, test_sh("echo a longer text >f.new"));
	ATF_CHECK_EQ(0, whole_write(dir, "f", "new", 3, true));
	is(dir, "new");
	close(dir);
}

ATF_TC_WITHOUT_HEAD(pieces);
ATF_TC_BODY(pieces, tc)
{
	int	dir = folder();

	piece = 2;
	fails = 'I';
	ATF_REQUIRE_EQ(0, whole_write(dir, "f", "a text of 23 characters",
	    23, true));
	is(dir, "a text of 23 characters");
	close(dir);
}

ATF_TC_WITHOUT_HEAD(refused);
ATF_TC_BODY(refused, tc)
{
	int	dir = folder();

	ATF_REQUIRE_EQ(0, test_sh("echo x >f && ln -s f link && mkdir d && "
	    "mkfifo p && head -c 8193 /dev/zero >large"));
	is_not(dir, "missing", "none", ENOENT);
	is_not(dir, "link", "symbolic link", ELOOP);
	is_not(dir, "d", "not a regular file", EIO);
	is_not(dir, "p", "not a regular file", EIO);
	is_not(dir, "large", "possible size", EIO);
	close(dir);
	/* sysfs promises a page, and gives what it has. */
	dir = open("/sys/devices/system/cpu", O_RDONLY | O_DIRECTORY);
	ATF_REQUIRE(dir != -1);
	is_not(dir, "online", "cut short", EIO);
	close(dir);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, order);
	ATF_TP_ADD_TC(tp, failures);
	ATF_TP_ADD_TC(tp, pieces);
	ATF_TP_ADD_TC(tp, refused);
	return (atf_no_error());
}
