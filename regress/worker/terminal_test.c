/*
 * The terminal, by real sessions: what a person at it would notice.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session.h"

static struct session	s;

#define ARGV(...)	((const char *const[]){ __VA_ARGS__, NULL })
#define SH(script)	ARGV("sh", "-c", script)

static struct session_opts
at_tty(const char *const *argv)
{
	return ((struct session_opts){ .argv = argv, .tty = true, .rows = 24,
	    .cols = 80 });
}

static int
run_tty(const char *script)
{
	struct session_opts	o = at_tty(SH(script));

	return (session_simple(&s, &o));
}

ATF_TC_WITHOUT_HEAD(terminal);
ATF_TC_BODY(terminal, tc)
{
	ATF_CHECK_EQ(7, run_tty("tty; stty size; stat -c '%u:%g %a' $(tty); "
	    "echo </dev/tty >/dev/tty me; exit 7"));
	ATF_CHECK_STREQ("/dev/pts/0\r\n24 80\r\n64151:5 620\r\nme\r\n",
	    s.out[1]);
	ATF_CHECK(s.outlen[2] == 0);
}

ATF_TC_WITHOUT_HEAD(utf8);
ATF_TC_BODY(utf8, tc)
{
	static const char *const plain[] = { "PATH=/bin:/usr/bin",
	    "LC_ALL=C", "LANG=C.UTF-8", NULL };
	struct session_opts	 o = at_tty(SH("stty -a | grep -o '.iutf8'"));

	session_simple(&s, &o);
	ATF_CHECK_STREQ(" iutf8\r\n", s.out[1]);
	o.env = plain;
	session_simple(&s, &o);
	ATF_CHECK_STREQ("-iutf8\r\n", s.out[1]);
}

/* A terminal inside the terminal: script, tmux, ssh make one. */
ATF_TC_WITHOUT_HEAD(nested);
ATF_TC_BODY(nested, tc)
{
	ATF_CHECK_EQ(3, run_tty("script -qec 'tty; exit 3' /dev/null"));
	ATF_CHECK_STREQ("/dev/pts/1\r\n", s.out[1]);
}

/*
 * Size
 */
ATF_TC_WITHOUT_HEAD(resize);
ATF_TC_BODY(resize, tc)
{
	struct session_opts	o = at_tty(ARGV(test_program(
				    "regress/worker/inside"), "winch"));
	struct m_RESIZE		m = { .rows = 10, .cols = 100 };
	char			text[64];
	int			i;

	session_run(&s, &o);
	session_expect(&s, "<0 24 80>");
	for (i = 1; i <= 50; i++) {
		m.rows++;
		m.cols++;
		session_client(&s, MSG_RESIZE, &m);
		snprintf(text, sizeof(text), "<%d %d %d>", i, 10 + i,
		    100 + i);
		session_expect(&s, text);
	}
	/* The same size again is no change, and no further signal came. */
	session_client(&s, MSG_RESIZE, &m);
	session_pump(&s, 300);
	ATF_CHECK_EQ(0, s.outlen[1]);
	session_say(&s, "\003");
	ATF_CHECK_EQ(128 + SIGINT, session_end(&s));
}

/* A size that comes before there is a terminal is the terminal's. */
ATF_TC_WITHOUT_HEAD(resize_early);
ATF_TC_BODY(resize_early, tc)
{
	struct session_opts	o = at_tty(SH("stty size"));
	struct m_RESIZE		m = { .rows = 33, .cols = 133 };

	session_begin(&s, &o);
	session_client(&s, MSG_RESIZE, &m);
	session_tree(&s);
	session_go(&s);
	session_end(&s);
	ATF_CHECK_STREQ("33 133\r\n", s.out[1]);
}

/*
 * Job control
 */

/* What a shell is told to run in its foreground: it does once this says so, and
 * keys before that would be the shell's own. */
#define SLEEPER	"sh -c 'echo u\"\"p; exec sleep 100'"

static void
jobs(const char *shell, const char *const *argv)
{
	struct session_opts	o = at_tty(argv);

	session_run(&s, &o);
	session_say(&s, "echo rea''dy\r");
	session_expect(&s, "ready");
	session_say(&s, SLEEPER "\r");
	session_expect(&s, "up");
	session_say(&s, "\032");
	session_expect(&s, "topped");
	session_say(&s, "bg\r");
	session_say(&s, "jobs; echo do''ne\r");
	session_expect(&s, "unning");
	session_expect(&s, "done");
	session_say(&s, "fg\r");
	session_expect(&s, "sleep 100");
	usleep(300000);
	session_say(&s, "\003");
	session_say(&s, "echo ali''ve\r");
	session_expect(&s, "alive");
	session_say(&s, "jobs | wc -l; exit 5\r");
	ATF_CHECK_EQ(5, session_end(&s));
	if (strstr(s.out[1], "no job control") != NULL ||
	    strstr(s.out[1], "arning") != NULL)
		atf_tc_fail("%s: %s", shell, s.out[1]);
}

ATF_TC_WITHOUT_HEAD(jobs_bash);
ATF_TC_BODY(jobs_bash, tc)
{
	jobs("bash", ARGV("bash", "--norc", "--noprofile", "-i"));
}

ATF_TC_WITHOUT_HEAD(jobs_fish);
ATF_TC_BODY(jobs_fish, tc)
{
	jobs("fish", ARGV("fish", "--no-config", "-i"));
}

/* SIGNAL is for the foreground job, like a key; the shell stays. */
ATF_TC_WITHOUT_HEAD(signal_foreground);
ATF_TC_BODY(signal_foreground, tc)
{
	struct session_opts	o = at_tty(ARGV("bash", "--norc",
				    "--noprofile", "-i"));
	struct m_SIGNAL		m = { .sig = SIGTERM };

	session_run(&s, &o);
	session_say(&s, SLEEPER "; echo sta''tus $?\r");
	session_expect(&s, "up");
	session_client(&s, MSG_SIGNAL, &m);
	session_expect(&s, "status 143");
	session_say(&s, "exit 4\r");
	ATF_CHECK_EQ(4, session_end(&s));
}

/*
 * Input
 */
static uint64_t
hash(const char *p, size_t n)
{
	uint64_t	h = UINT64_C(14695981039346656037);

	while (n-- > 0)
		h = (h ^ (uint8_t)*p++) * UINT64_C(1099511628211);
	return (h);
}

/* Types len bytes in lines of so many, and has them come in unchanged. */
static void
paste(const char *mode, size_t len, size_t line)
{
	struct session_opts	 o;
	char			*text = malloc(len), want[64], size[32];
	size_t			 i;

	ATF_REQUIRE(text != NULL);
	for (i = 0; i < len; i++)
		text[i] = (i + 1) % line == 0 || i == len - 1 ? '\n' :
		    (char)('!' + (i * 7 + i / line) % 90);
	snprintf(size, sizeof(size), "%zu", len);
	o = at_tty(ARGV(test_program("regress/worker/inside"), "eat", mode,
	    size));
	session_run(&s, &o);
	session_expect(&s, "<ready>");
	session_type(&s, text, len);
	snprintf(want, sizeof(want), "<%zu %016llx>", len,
	    (unsigned long long)hash(text, len));
	session_expect(&s, want);
	ATF_CHECK_EQ(0, session_end(&s));
	free(text);
}

ATF_TC_WITHOUT_HEAD(paste_raw);
ATF_TC_BODY(paste_raw, tc)
{
	paste("raw", 1 << 20, 80);
	paste("raw", 3 << 20, 50000);
}

ATF_TC_WITHOUT_HEAD(paste_lines);
ATF_TC_BODY(paste_lines, tc)
{
	paste("cooked", 1 << 20, 80);
	paste("echo", 1 << 20, 80);
	paste("cooked", 1 << 20, 1);
}

/* The kernel keeps 4,095 bytes of a line and throws the rest away. */
ATF_TC_WITHOUT_HEAD(paste_long_lines);
ATF_TC_BODY(paste_long_lines, tc)
{
	paste("cooked", 20 << 10, 20 << 10);
	paste("echo", 20 << 10, 20 << 10);
	paste("cooked", 1 << 20, 20 << 10);
	paste("cooked", 40 << 10, 4095);
	paste("cooked", 40 << 10, 4096);
	paste("cooked", 40 << 10, 2048);
	paste("cooked", 40 << 10, 2049);
	paste("cooked", 1 << 20, 1 << 20);
}

/* A literal-next takes the next byte along: the push must not be that. */
ATF_TC_WITHOUT_HEAD(paste_literal);
ATF_TC_BODY(paste_literal, tc)
{
	struct session_opts	o = at_tty(SH("stty -echo; echo '<ready>'; "
				    "head -n 1 | tr -d '\\n' | wc -c"));
	char			text[6000];
	size_t			i;

	/* Each pair is one byte to the reader. */
	for (i = 0; i < sizeof(text) - 1; i += 2) {
		text[i] = 026;
		text[i + 1] = 'x';
	}
	text[sizeof(text) - 2] = text[sizeof(text) - 1] = '\n';
	session_run(&s, &o);
	session_expect(&s, "<ready>");
	session_type(&s, text, sizeof(text));
	session_end(&s);
	ATF_CHECK(strstr(s.out[1], "2999\r\n") != NULL);
}

/* Nobody reads: the client is held up, not lost, and may still leave. */
ATF_TC_WITHOUT_HEAD(paste_unread);
ATF_TC_BODY(paste_unread, tc)
{
	struct session_opts	 o = at_tty(SH("stty raw -echo; "
				    "echo '<ready>'; sleep 1; "
				    "head -c 4194304 | tr -dc x | "
				    "wc -c"));
	char			*text = malloc(4 << 20);

	ATF_REQUIRE(text != NULL);
	memset(text, 'x', 4 << 20);
	session_run(&s, &o);
	session_expect(&s, "<ready>");
	session_type(&s, text, 4 << 20);
	session_end(&s);
	ATF_CHECK(strstr(s.out[1], "4194304") != NULL);
	o.argv = SH("stty raw -echo; echo '<ready>'; exec sleep 100");
	session_run(&s, &o);
	session_expect(&s, "<ready>");
	s.paste = text;
	s.pasted = 0;
	s.pastelen = 4 << 20;
	session_pump(&s, 300);
	session_pump(&s, 300);
	ATF_CHECK(s.client.queued > 0 || s.pasted < s.pastelen);
	session_hang_up(&s);
	s.pastelen = 0;
	ATF_CHECK_EQ(128 + SIGHUP, session_end(&s));
	free(text);
}

ATF_TC_WITHOUT_HEAD(eof);
ATF_TC_BODY(eof, tc)
{
	struct session_opts	o = at_tty(SH("stty -echo; echo '<ready>'; "
				    "cat; echo '<end>'; exit 6"));

	session_run(&s, &o);
	session_expect(&s, "<ready>");
	session_say(&s, "one\n");
	session_client(&s, MSG_EOF, NULL);
	ATF_CHECK_EQ(6, session_end(&s));
	ATF_CHECK_STREQ("\r\none\r\n<end>\r\n", s.out[1]);
}

/* The last line has no end, and the end comes with the rest at once. */
ATF_TC_WITHOUT_HEAD(eof_in_line);
ATF_TC_BODY(eof_in_line, tc)
{
	struct session_opts	o = at_tty(SH("stty -echo; echo '<ready>'; "
				    "cat; echo '<end>'"));

	session_run(&s, &o);
	session_expect(&s, "<ready>");
	session_say(&s, "one\ntwo");
	session_client(&s, MSG_EOF, NULL);
	ATF_CHECK_EQ(0, session_end(&s));
	ATF_CHECK_STREQ("\r\none\r\ntwo<end>\r\n", s.out[1]);
}

/*
 * Output
 */
ATF_TC_WITHOUT_HEAD(last_output);
ATF_TC_BODY(last_output, tc)
{
	int	i;

	ATF_CHECK_EQ(9, run_tty("head -c 10000000 /dev/zero | tr '\\0' x; "
	    "printf '<last>'; exit 9"));
	ATF_CHECK_EQ(10000006, s.outlen[1]);
	ATF_CHECK_STREQ("<last>", s.out[1] + 10000000);
	for (i = 0; i < 40; i++) {
		ATF_CHECK_EQ(0, run_tty("head -c 60000 /dev/zero | "
		    "tr '\\0' x"));
		ATF_REQUIRE_EQ(60000, s.outlen[1]);
	}
}

/* The command lets go of its terminal, and is not over. */
ATF_TC_WITHOUT_HEAD(let_go);
ATF_TC_BODY(let_go, tc)
{
	ATF_CHECK_EQ(8, run_tty("echo one; exec </dev/null >/dev/null 2>&1; "
	    "sleep 1; echo two >/dev/tty; exit 8"));
	ATF_CHECK_STREQ("one\r\ntwo\r\n", s.out[1]);
}

/* A client that comes to a stop is waited for, and everything is there. */
ATF_TC_WITHOUT_HEAD(slow_client);
ATF_TC_BODY(slow_client, tc)
{
	struct session_opts	o = at_tty(SH("head -c 3000000 /dev/zero | "
				    "tr '\\0' x; exit 2"));

	session_run(&s, &o);
	sleep(1);
	ATF_CHECK_EQ(2, session_end(&s));
	ATF_CHECK_EQ(3000000, s.outlen[1]);
}

/* The client is slow and the command is over: sbxd is told when all is out. */
ATF_TC_WITHOUT_HEAD(slow_end);
ATF_TC_BODY(slow_end, tc)
{
	struct session_opts	o = at_tty(SH("head -c 500000 /dev/zero | "
				    "tr '\\0' x; exit 2"));
	int			i;

	session_run(&s, &o);
	/* Only sbxd's side is looked at. */
	s.cl.closed = true;
	for (i = 0; i < 10; i++)
		session_pump(&s, 100);
	ATF_CHECK_EQ(0, s.sbxd.exited);
	s.cl.closed = false;
	ATF_CHECK_EQ(2, session_end(&s));
	ATF_CHECK_EQ(500000, s.outlen[1]);
}

/*
 * Leaving
 */
ATF_TC_WITHOUT_HEAD(hangup);
ATF_TC_BODY(hangup, tc)
{
	struct session_opts	o = at_tty(SH("trap 'sleep 1; exit 44' HUP; "
				    "echo '<ready>'; while :; do sleep 0.1; "
				    "done"));

	session_run(&s, &o);
	session_expect(&s, "<ready>");
	session_hang_up(&s);
	ATF_CHECK_EQ(44, session_end(&s));
}

/* A shell with a job in the foreground: the shell itself hears of it. */
ATF_TC_WITHOUT_HEAD(hangup_shell);
ATF_TC_BODY(hangup_shell, tc)
{
	struct session_opts	o = at_tty(ARGV("bash", "--norc",
				    "--noprofile", "-i"));

	session_run(&s, &o);
	session_say(&s, "trap 'exit 45' HUP; " SLEEPER "\r");
	session_expect(&s, "up");
	session_hang_up(&s);
	ATF_CHECK_EQ(45, session_end(&s));
}

ATF_TC_WITHOUT_HEAD(hangup_ignored);
ATF_TC_BODY(hangup_ignored, tc)
{
	struct session_opts	o = at_tty(SH("trap '' HUP TERM INT; "
				    "echo '<ready>'; while :; do echo more; "
				    "sleep 0.1; done"));

	session_run(&s, &o);
	session_expect(&s, "<ready>");
	session_hang_up(&s);
	ATF_CHECK_EQ(128 + SIGKILL, session_end(&s));
	ATF_CHECK_MSG(s.sbxd.ms > 4500 && s.sbxd.ms < 7500, "%llu ms",
	    (unsigned long long)s.sbxd.ms);
}

/* The client is gone before the command runs. */
ATF_TC_WITHOUT_HEAD(hangup_early);
ATF_TC_BODY(hangup_early, tc)
{
	struct session_opts	o = at_tty(ARGV("sleep", "100"));

	session_begin(&s, &o);
	session_hang_up(&s);
	session_tree(&s);
	session_go(&s);
	ATF_CHECK_EQ(128 + SIGHUP, session_end(&s));
}

/* And the command never comes to run: the start is given up. */
ATF_TC_WITHOUT_HEAD(hangup_stuck);
ATF_TC_BODY(hangup_stuck, tc)
{
	struct session_opts	o = at_tty(ARGV("sleep", "100"));
	int64_t			t;

	session_begin(&s, &o);
	session_tree(&s);
	t = session_now();
	session_hang_up(&s);
	session_await(&s, &s.sbxd.errors, "ERROR");
	ATF_CHECK_STREQ("session.hangup", s.sbxd.code);
	t = session_now() - t;
	ATF_CHECK_MSG(t > 6500 && t < 9500, "%lld ms", (long long)t);
	session_abort(&s);
}

/* What is left in the background is gone with the command. */
ATF_TC_WITHOUT_HEAD(background);
ATF_TC_BODY(background, tc)
{
	test_clean_mark();
	ATF_CHECK_EQ(0, run_tty("setsid nohup sleep 9991 & "
	    "(setsid sh -c '(trap \"\" HUP TERM; sleep 9992) &' &) ; "
	    "sleep 0.3; exit 0"));
	test_clean_check();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, terminal);
	ATF_TP_ADD_TC(tp, utf8);
	ATF_TP_ADD_TC(tp, nested);
	ATF_TP_ADD_TC(tp, resize);
	ATF_TP_ADD_TC(tp, resize_early);
	ATF_TP_ADD_TC(tp, jobs_bash);
	ATF_TP_ADD_TC(tp, jobs_fish);
	ATF_TP_ADD_TC(tp, signal_foreground);
	ATF_TP_ADD_TC(tp, paste_raw);
	ATF_TP_ADD_TC(tp, paste_lines);
	ATF_TP_ADD_TC(tp, paste_long_lines);
	ATF_TP_ADD_TC(tp, paste_literal);
	ATF_TP_ADD_TC(tp, paste_unread);
	ATF_TP_ADD_TC(tp, eof);
	ATF_TP_ADD_TC(tp, eof_in_line);
	ATF_TP_ADD_TC(tp, last_output);
	ATF_TP_ADD_TC(tp, let_go);
	ATF_TP_ADD_TC(tp, slow_client);
	ATF_TP_ADD_TC(tp, slow_end);
	ATF_TP_ADD_TC(tp, hangup);
	ATF_TP_ADD_TC(tp, hangup_shell);
	ATF_TP_ADD_TC(tp, hangup_stuck);
	ATF_TP_ADD_TC(tp, hangup_ignored);
	ATF_TP_ADD_TC(tp, hangup_early);
	ATF_TP_ADD_TC(tp, background);
	return (atf_no_error());
}
