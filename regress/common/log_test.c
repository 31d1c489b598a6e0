/*
 * Log lines: one each, and nothing in them drives the reader's terminal.
 */
#include <sys/wait.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "regress/lib/test.h"

/* What fn writes to its standard error, and how it ends. */
static char *
captured(void (*fn)(void), int *status)
{
	static char	text[8192];
	int		p[2];
	ssize_t		n;
	size_t		len = 0;
	pid_t		pid;

	ATF_REQUIRE(pipe(p) == 0);
	if ((pid = fork()) == 0) {
		dup2(p[1], STDERR_FILENO);
		fn();
		_exit(0);
	}
	close(p[1]);
	while ((n = read(p[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(p[0]);
	ATF_REQUIRE(waitpid(pid, status, 0) == pid);
	return (text);
}

static void
say_levels(void)
{
	log_init("prog", 0);
	log_info("up %d", 1);
	log_debug("unseen");
	errno = ENOENT;
	log_warn("file");
	log_warnx("odd");
	log_init("prog", 1);
	log_debug("seen");
}

ATF_TC_WITHOUT_HEAD(levels);
ATF_TC_BODY(levels, tc)
{
	int	status;

	ATF_REQUIRE_STREQ(captured(say_levels, &status), "prog: up 1\n"
	    "prog: warning: file: No such file or directory\n"
	    "prog: warning: odd\nprog: debug: seen\n");
	ATF_REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void
say_hostile(void)
{
	log_init("p", 0);
	log_warnx("%s", "a\nb: fake\r\033[2J\x9b" "1m\xc2\x9b\xe2\x80\xae");
}

ATF_TC_WITHOUT_HEAD(hostile_text);
ATF_TC_BODY(hostile_text, tc)
{
	int	status;

	ATF_REQUIRE_STREQ(captured(say_hostile, &status), "p: warning: "
	    "a<U+000A>b: fake<U+000D><U+001B>[2J<9B>1m<U+009B><U+202E>\n");
}

static void
say_long(void)
{
	char	*text = malloc(100000);

	memset(text, '\033', 99999);
	text[99999] = '\0';
	log_init("p", 0);
	log_warnx("%s", text);
	log_warnx("next");
}

ATF_TC_WITHOUT_HEAD(long_text);
ATF_TC_BODY(long_text, tc)
{
	const char	*nl;
	int		 status;

	nl = strchr(captured(say_long, &status), '\n');
	ATF_REQUIRE(nl != NULL);
	ATF_REQUIRE_STREQ(nl, "\np: warning: next\n");
}

static void
say_fatal(void)
{
	errno = EPERM;
	fatal("doing %s", "it");
}

ATF_TC_WITHOUT_HEAD(fatal_ends);
ATF_TC_BODY(fatal_ends, tc)
{
	int	status;

	ATF_REQUIRE(strstr(captured(say_fatal, &status),
	    "fatal: doing it: Operation not permitted\n") != NULL);
	ATF_REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, levels);
	ATF_TP_ADD_TC(tp, hostile_text);
	ATF_TP_ADD_TC(tp, long_text);
	ATF_TP_ADD_TC(tp, fatal_ends);
	return (atf_no_error());
}
