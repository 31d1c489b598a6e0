/*
 * Log lines: one each, and nothing in them drives the reader's terminal.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <errno.h>
#include <pty.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
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

ATF_TC_WITHOUT_HEAD(times);
ATF_TC_BODY(times, tc)
{
	static const struct {
		time_t		 t;
		const char	*text;
	} known[] = {
		{ -1, "1970-01-01T00:00:00Z" }, { 0, "1970-01-01T00:00:00Z" },
		{ 951782399, "2000-02-28T23:59:59Z" },
		{ 951782400, "2000-02-29T00:00:00Z" },
		{ 951868800, "2000-03-01T00:00:00Z" },
		{ 4107542400, "2100-03-01T00:00:00Z" },
		{ 1796081045, "2026-11-30T23:24:05Z" },
		{ 1798761599, "2026-12-31T23:59:59Z" },
	};
	char		mine[CLOCK_UTC], libcs[64];
	struct tm	tm;
	time_t		t;
	size_t		i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		clock_utc(known[i].t, mine);
		ATF_CHECK_STREQ(mine, known[i].text);
	}
	/* Each day of 500 years. */
	for (t = 4711; t < (time_t)500 * 366 * 86400; t += 86399) {
		clock_utc(t, mine);
		ATF_REQUIRE(gmtime_r(&t, &tm) != NULL);
		strftime(libcs, sizeof(libcs), "%Y-%m-%dT%H:%M:%SZ", &tm);
		ATF_REQUIRE_STREQ(mine, libcs);
	}
}

static int	log_to = -1;

static void
say_timed(void)
{
	if (log_to != -1)
		dup2(log_to, STDERR_FILENO);
	log_init("p", 0);
	log_info("before");
	log_times();
	errno = ENOENT;
	log_warn("after");
}

#define BEFORE	"p: before\n"
#define AFTER	"p: warning: after: No such file or directory\n"

ATF_TC_WITHOUT_HEAD(timed_lines);
ATF_TC_BODY(timed_lines, tc)
{
	static const char	like[] = "^" BEFORE "20[0-9][0-9]-[01][0-9]-"
				    "[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:"
				    "[0-5][0-9]Z " AFTER "$";
	int			status;
	char			*got;
	regex_t			re;

	got = captured(say_timed, &status);
	ATF_REQUIRE(regcomp(&re, like, REG_NOSUB) == 0);
	if (regexec(&re, got, 0, NULL, 0) != 0)
		atf_tc_fail("%s", got);
	regfree(&re);
}

/* What say_timed writes to log_to, read at the other end. */
static char *
sent(int end)
{
	static char	text[512];
	ssize_t		n, len = 0;
	int		status;

	captured(say_timed, &status);
	close(log_to);
	while (len < (ssize_t)sizeof(text) - 1 &&
	    (n = read(end, text + len, sizeof(text) - 1 - (size_t)len)) > 0)
		len += n;
	text[len] = '\0';
	close(end);
	return (text);
}

ATF_TC_WITHOUT_HEAD(terminal_untimed);
ATF_TC_BODY(terminal_untimed, tc)
{
	struct termios	tio = { .c_oflag = 0 };
	int		master;

	ATF_REQUIRE(openpty(&master, &log_to, NULL, &tio, NULL) == 0);
	ATF_CHECK_STREQ(sent(master), BEFORE AFTER);
}

/* A journal's socket by its name; one of another name is no journal. */
static int
listening(const char *path)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	int			fd;

	strlcpy(sun.sun_path, path, sizeof(sun.sun_path));
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	log_to = socket(AF_UNIX, SOCK_STREAM, 0);
	ATF_REQUIRE(bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0 &&
	    listen(fd, 1) == 0 &&
	    connect(log_to, (struct sockaddr *)&sun, sizeof(sun)) == 0);
	return (accept(fd, NULL, NULL));
}

ATF_TC(journal_untimed);
ATF_TC_HEAD(journal_untimed, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(journal_untimed, tc)
{
	ATF_REQUIRE_EQ(test_sh("mkdir -p /run/systemd/journal "
	    "/run/systemd/journal.own /run/systemd/journals"), 0);
	ATF_CHECK_STREQ(sent(listening("/run/systemd/journal/stdout")),
	    BEFORE AFTER);
	ATF_CHECK_STREQ(sent(listening("/run/systemd/journal.own/stdout")),
	    BEFORE AFTER);
	ATF_CHECK(strncmp(sent(listening("/run/systemd/journals/stdout")),
	    BEFORE "20", strlen(BEFORE "20")) == 0);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, levels);
	ATF_TP_ADD_TC(tp, hostile_text);
	ATF_TP_ADD_TC(tp, long_text);
	ATF_TP_ADD_TC(tp, fatal_ends);
	ATF_TP_ADD_TC(tp, times);
	ATF_TP_ADD_TC(tp, timed_lines);
	ATF_TP_ADD_TC(tp, terminal_untimed);
	ATF_TP_ADD_TC(tp, journal_untimed);
	return (atf_no_error());
}
