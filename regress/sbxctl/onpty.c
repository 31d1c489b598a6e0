#include <sys/stat.h>
#include <sys/wait.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "regress/lib/test.h"
#include "regress/sbxctl/onpty.h"

static pid_t	fake;

void
fake_start(const char *does)
{
	struct stat	st;
	int		i;

	ATF_REQUIRE(mkdir(test_path("project"), 0755) == 0 || errno == EEXIST);
	ATF_REQUIRE(chdir(test_path("project")) == 0);
	setenv("FAKE", does, 1);
	setenv("FAKE_PROJECT", test_path("project"), 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("TERM", "xterm", 1);
	ATF_REQUIRE((fake = fork()) != -1);
	if (fake == 0) {
		execl(test_program("regress/sbxctl/fake"), "fake", "suite",
		    (char *)NULL);
		_exit(99);
	}
	for (i = 0; stat(test_path("state/sbxd.sock"), &st) == -1; i++) {
		ATF_REQUIRE(i < 200);
		poll(NULL, 0, 20);
	}
}

void
fake_stop(void)
{
	kill(fake, SIGKILL);
	waitpid(fake, NULL, 0);
	unlink(test_path("state/sbxd.sock"));
}

void
start_words(struct pty *p, const char *const *words)
{
	const char	*argv[32] = { test_program("bin/sbxctl") };
	size_t		 n;

	for (n = 0; n < 30 && words[n] != NULL; n++)
		argv[n + 1] = words[n];
	pty_start(p, 30, 100, argv);
}

void
asked(const char *line)
{
	int	i;

	for (i = 0; test_sh("grep -q -x -F -e '%s' %s", line,
	    test_path("state/asked")) != 0; i++) {
		if (i == 100) {
			test_sh("cat %s >&2", test_path("state/asked"));
			atf_tc_fail("not asked: %s", line);
		}
		poll(NULL, 0, 50);
	}
}

void
not_asked(const char *pattern)
{
	if (test_sh("grep -e '%s' %s >&2", pattern,
	    test_path("state/asked")) == 0)
		atf_tc_fail("asked: %s", pattern);
}

void
ends(struct pty *p, int status)
{
	int	got = pty_wait(p, 10000);

	if (!WIFEXITED(got) || WEXITSTATUS(got) != status) {
		fprintf(stderr, "shown: %s\n", p->out);
		atf_tc_fail("status %x, not exit %d", (unsigned int)got,
		    status);
	}
	pty_sane(p);
}

void
forget(void)
{
	ATF_REQUIRE(truncate(test_path("state/asked"), 0) == 0);
}
