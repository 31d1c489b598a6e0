/*
 * sbxctl on a terminal, against a scripted suite (fake.c, fake_run.c): the
 * terminal is the session's while it runs, and whole again afterwards.
 */
#include <sys/wait.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regress/lib/test.h"
#include "regress/lib/turns.h"
#include "regress/sbxctl/onpty.h"

ATF_TC_WITHOUT_HEAD(size);
ATF_TC_BODY(size, tc)
{
	struct pty	p;

	fake_start("clean");
	start(&p, "run", "out:ready", "size", "size", "exit:4", NULL);
	pty_expect(&p, "ready");
	asked("tty 1 30 100");
	pty_resize(&p, 50, 120);
	pty_expect(&p, "size 50 120\r\n");
	pty_resize(&p, 1, 2);
	pty_expect(&p, "size 1 2\r\n");
	ends(&p, 4);
	pty_free(&p);
	/* A terminal that does not know its size has the usual one. */
	start(&p, "run", "exit:0", NULL);
	pty_resize(&p, 0, 0);
	ends(&p, 0);
	pty_free(&p);
	fake_stop();
}

/* Keys are the session's: also those that a terminal would act on. */
ATF_TC_WITHOUT_HEAD(keys);
ATF_TC_BODY(keys, tc)
{
	struct pty	p;

	fake_start("clean");
	start(&p, "run", "out:ready", "read", "out:done", "read", "exit:0",
	    NULL);
	pty_expect(&p, "ready");
	if (turns_known())
		ATF_CHECK_EQ(TURNS_SHORT, turns_of(p.pid).runtime);
	pty_type(&p, "\003\032\034\004\r\021", 6);
	pty_expect(&p, "read \003\032\034\004\r\021done");
	pty_type(&p, "\303\244", 2);
	pty_expect(&p, "read \303\244");
	ends(&p, 0);
	not_asked("SIGNAL");
	pty_free(&p);
	fake_stop();
}

/* What is typed before the command runs is typed for it. */
ATF_TC_WITHOUT_HEAD(typed_early);
ATF_TC_BODY(typed_early, tc)
{
	struct pty	p;

	fake_start("clean");
	start(&p, "run", "pause:300", "read", "exit:0", NULL);
	pty_say(&p, "early\r");
	pty_expect(&p, "read early");
	ends(&p, 0);
	pty_free(&p);
	fake_stop();
}

ATF_TC_WITHOUT_HEAD(modes);
ATF_TC_BODY(modes, tc)
{
	struct pty	p;

	fake_start("clean");
	start(&p, "run", "out:\\e[?1049h\\e[?2004h\\e[?25l\\e[>1ux",
	    "exit:0", NULL);
	ends(&p, 0);
	pty_expect(&p, "\033[?1049h\033[?2004h\033[?25l\033[>1ux"
	    "\030\033\\\033[<1u\033[?1049l\033[?25h\033[?2004l");
	pty_free(&p);
	/* Also where it ends in a way that nobody wanted. */
	start(&p, "run", "out:\\e[?1049hx", "die", NULL);
	ends(&p, 125);
	pty_expect(&p, "\033[?1049hx\030\033\\\033[?1049l");
	pty_expect(&p, "sbxctl: ");
	pty_free(&p);
	fake_stop();
}

ATF_TC_WITHOUT_HEAD(clipboard);
ATF_TC_BODY(clipboard, tc)
{
	struct pty	p;

	fake_start("clean");
	start(&p, "run", "out:a\\e]5", "out:2;c;eHg=\\ab\\e[2", "out:1tc",
	    "exit:0", NULL);
	ends(&p, 0);
	ATF_CHECK_STREQ(p.out, "abc\r\n");
	pty_free(&p);
	start(&p, "run", "--raw", "out:a\\e]52;c;eHg=\\ab\\e[21tc",
	    "exit:0", NULL);
	/* A report that was let through is swallowed all the same. */
	pty_expect(&p, "a\033]52;c;eHg=\ab\033[21tc");
	pty_expect(&p, "\033[5n");
	pty_say(&p, "\033]lthe title\033\\\033[0n");
	ends(&p, 0);
	pty_free(&p);
	fake_stop();
}

/* sbxctl's words through a shell, as someone redirects it: all that it shows
 * until it has ended. */
static void
redirected(const char *how, const char *const *words, const char *want)
{
	const char	*argv[16] = { "/bin/sh", "-c", how };
	struct pty	 p;
	size_t		 n;

	argv[3] = test_program("bin/sbxctl");
	for (n = 4; n < 15 && *words != NULL; n++)
		argv[n] = *words++;
	pty_start(&p, 30, 100, argv);
	ends(&p, 3);
	if (strcmp(p.out, want) != 0) {
		fprintf(stderr, "%s: shown %s\n", how, p.out);
		atf_tc_fail("%s: not what is wanted", how);
	}
	pty_free(&p);
}
#define redirected(how, want, ...) redirected("exec \"$0\" \"$@\" " how, \
	(const char *const []){ __VA_ARGS__, "exit:3", NULL }, want)

/* Each stream is looked through whose own end is a terminal, and no other. */
ATF_TC_WITHOUT_HEAD(streams);
ATF_TC_BODY(streams, tc)
{
#define BELOW	"\r\033[J"
#define EVIL	"a\\e]52;c;eHg=\\ab\\e[21tc\\e[5id\\eP@kitty-echo|eA==\\e\\\\"
	fake_start("clean");
	redirected("</dev/null", "abcd", "run", "out:" EVIL);
	redirected("</dev/null", "abcd", "run", "err:" EVIL);
	redirected(">out", "abcd", "run", "err:" EVIL);
	redirected("</dev/null 2>err", "abcd", "run", ("out:" EVIL),
	    "err:x\\e]52;c;eA==\\a");
	ATF_CHECK_EQ(0, test_sh("printf 'x\\033]52;c;eA==\\a' | cmp - err"));
	redirected(">out", "", "run", "out:" EVIL);
	ATF_CHECK_EQ(0, test_sh("grep -q -a -F ']52;c;eHg=' out"));
	/* Nobody reads the answers but the next shell. */
	redirected("</dev/null", "abc", "run", "out:a\\e[cb", "err:\\e[6nc");
	/* Put back, in the end. */
	redirected("</dev/null",
	    "\033[?1049h\033[1mx\030\033\\\033[?1049l\033[m\r\n" BELOW,
	    "run", "out:\\e[?1049h\\e[1mx");
	redirected(">out", "\033[?25lx\030\033\\\033[?25h\r\n" BELOW,
	    "run", "err:\\e[?25lx");
	redirected("</dev/null", "\033]0;half\030\033\\",
	    "run", "err:\\e]0;half");
	/* Of what has moved nothing another program's screen stays whole. */
	redirected("</dev/null", "\033[01m\033[Kx\033(B\033[m\r\n\030\033\\",
	    "run", "err:\\e[01m\\e[Kx\\e(B\\e[m\\n");
	redirected("</dev/null", "\033[2Kx\030\033\\\r\n" BELOW,
	    "run", "out:\\e[2Kx");
	redirected("</dev/null", "\033[Ax\r\n\030\033\\" BELOW,
	    "run", "out:\\e[Ax\\n");
	/* Two streams, one terminal. */
	redirected("</dev/null", "a\033[3mb\030\033\\\033[m",
	    "run", "out:a\\e[3", "err:mb");
	redirected("</dev/null 2>/dev/tty", "ab", "run", "out:a\\e[2",
	    "err:1tb");
	redirected("</dev/null 2>/dev/tty", "a\033[3mb\030\033\\\033[m",
	    "run", "out:a\\e[3", "err:mb");
	/* In GNU screen, and behind it. */
	setenv("STY", "1.tty", 1);
	redirected("</dev/null", "ab", "run", "out:a\\ePq#0~\\e\\\\b");
	unsetenv("STY");
	unsetenv("TMUX");
	setenv("TERM", "screen.xterm-256color", 1);
	redirected("</dev/null", "ab", "run", "out:a\\ePq#0~\\e\\\\b");
	setenv("TMUX", "/tmp/tmux-0/default,1,0", 1);
	redirected("</dev/null", "a\033Pq#0~\033\\b\030\033\\\r\n" BELOW,
	    "run",
	    "out:a\\ePq#0~\\e\\\\b");
	unsetenv("TMUX");
	setenv("TERM", "xterm", 1);
	/* Raw: all of it, and put back. */
	redirected("</dev/null",
	    "a\033]52;c;eA==\ab\033[c\033[?25l\030\033\\\033[?25h\r\n"
	    BELOW, "run", "--raw", "out:a\\e]52;c;eA==\\ab\\e[c\\e[?25l");
	fake_stop();
#undef BELOW
#undef EVIL
}

/* The answer to a query that the session did not wait for does not become
 * the shell's input; what was typed after it does. */
ATF_TC_WITHOUT_HEAD(answers);
ATF_TC_BODY(answers, tc)
{
	struct pty	p;
	char		left[256];

	fake_start("clean");
	start(&p, "run", "out:\\e[c\\e]11;?\\e\\\\", "exit:0", NULL);
	pty_expect(&p, "\033[5n");
	pty_say(&p, "\033[?62;22c\033]11;rgb:ffff/0000/0000\033\\"
	    "\033[0nls\r");
	ends(&p, 0);
	pty_left(&p, left, sizeof(left));
	ATF_CHECK_STREQ(left, "ls\r");
	pty_free(&p);

	/* All answered: nothing is asked, nothing is read. */
	start(&p, "run", "out:\\e[c", "read", "pause:200", "exit:0", NULL);
	pty_expect(&p, "\033[c");
	pty_say(&p, "\033[?62;22c");
	pty_expect(&p, "read ");
	ends(&p, 0);
	ATF_CHECK(strstr(p.out, "\033[5n") == NULL);
	pty_free(&p);

	/* A terminal that never answers does not keep us. */
	start(&p, "run", "out:\\e[c", "exit:0", NULL);
	ATF_CHECK_EQ(pty_wait(&p, 3000), 0);
	pty_sane(&p);
	pty_free(&p);
	fake_stop();
}

/* A megabyte pasted, with its echo coming back at the same time. */
ATF_TC_WITHOUT_HEAD(paste);
ATF_TC_BODY(paste, tc)
{
	enum { SIZE = 1 << 20 };
	static char	data[SIZE];
	struct pty	p;
	size_t		i;

	fake_start("clean");
	for (i = 0; i < SIZE; i++)
		data[i] = (char)('a' + i * 7 % 26);
	start(&p, "run", "out:>", "cat", NULL);
	pty_expect(&p, ">");
	pty_type(&p, data, SIZE);
	for (i = 0; i < 300 && p.len < SIZE + 1; i++)
		pty_read(&p, 50);
	ATF_REQUIRE_EQ(p.len, SIZE + 1);
	ATF_CHECK(memcmp(p.out + 1, data, SIZE) == 0);
	pty_free(&p);
	fake_stop();
}

/* The last of it too, though the terminal takes it slowly. */
ATF_TC_WITHOUT_HEAD(last_output);
ATF_TC_BODY(last_output, tc)
{
	enum { SIZE = 500000 };
	struct pty	p;
	size_t		i, n = 0;

	fake_start("clean");
	/* The pattern holds sequences: raw, so that they are left alone. */
	start(&p, "run", "--raw", "zeros:500000", "exit:6", NULL);
	poll(NULL, 0, 500);
	ends(&p, 6);
	for (i = 0; i < SIZE && i < p.len; i++)
		n += (uint8_t)p.out[i] == i % 251;
	ATF_CHECK_EQ(n, SIZE);
	pty_free(&p);
	fake_stop();
}

/* The terminal goes away: the command is hung up, nothing is decided. */
ATF_TC_WITHOUT_HEAD(hangup);
ATF_TC_BODY(hangup, tc)
{
	struct pty	p;

	fake_start("changes");
	start(&p, "run", "out:ready", "signal", "exit:129", NULL);
	pty_expect(&p, "ready");
	pty_hangup(&p);
	ATF_CHECK(WIFEXITED(pty_wait(&p, 10000)));
	asked("SIGNAL 1");
	asked("CHANGES");
	not_asked("^APPLY");
	not_asked("^DISCARD");
	not_asked("^discard 1");
	pty_free(&p);

	/* One that does not end for it does not keep us either. */
	start(&p, "run", "out:ready", "pause:60000", NULL);
	pty_expect(&p, "ready");
	pty_hangup(&p);
	ATF_CHECK(WIFEXITED(pty_wait(&p, 45000)));
	pty_free(&p);
	fake_stop();
}

ATF_TC_WITHOUT_HEAD(terminated);
ATF_TC_BODY(terminated, tc)
{
	struct pty	p;

	fake_start("changes");
	start(&p, "run", "out:\\e[?1049hready", "signal", "exit:143", NULL);
	pty_expect(&p, "ready");
	kill(p.pid, SIGTERM);
	ends(&p, 143);
	asked("SIGNAL 15");
	pty_expect(&p, "\033[?1049l");
	pty_expect(&p, "sbxctl: session aaaabbbbcccc is kept");
	not_asked("^APPLY");
	pty_free(&p);
	fake_stop();
}

/* Stopped and continued by others, the terminal is raw again. */
ATF_TC_WITHOUT_HEAD(stopped);
ATF_TC_BODY(stopped, tc)
{
	struct pty	p;
	struct termios	now;
	int		i;

	fake_start("clean");
	start(&p, "run", "out:ready", "read", "exit:0", NULL);
	pty_expect(&p, "ready");
	kill(p.pid, SIGSTOP);
	ATF_REQUIRE(tcsetattr(p.slave, TCSANOW, &p.before) == 0);
	kill(p.pid, SIGCONT);
	for (i = 0; i < 100; i++) {
		ATF_REQUIRE(tcgetattr(p.slave, &now) == 0);
		if (!(now.c_lflag & ICANON))
			break;
		poll(NULL, 0, 20);
	}
	ATF_CHECK(!(now.c_lflag & ICANON));
	pty_say(&p, "x");
	ends(&p, 0);
	pty_free(&p);
	fake_stop();
}

/* A session is a line of the terminal: what is cut shows that it is. */
static void
listed(const char *locale, unsigned short cols, const char *want)
{
	static const char	ls[] = "ls";
	const char		*argv[] = { test_program("bin/sbxctl"), ls,
				    NULL };
	struct pty		p;

	setenv("LC_ALL", locale, 1);
	pty_start(&p, 30, cols, argv);
	ends(&p, 0);
	if (strstr(p.out, want) == NULL)
		atf_tc_fail("%s, %u columns: %s", locale, cols, p.out);
	pty_free(&p);
}

#define DOK	"\320\264\320\276\320\272/\346\227\245\346\234\254"
#define DOTS	"\342\200\246"

ATF_TC_WITHOUT_HEAD(ls_fits);
ATF_TC_BODY(ls_fits, tc)
{
	fake_start("wide");
	/* All of it, where there is room. */
	listed("C.UTF-8", 200, "  the parser's tests  ended 3  "
	    "4294967290  /home/somebody/" DOK "/a/compiler  "
	    "agent --prompt 'make all the tests pass again, please' and then "
	    "'look for what else there is'\r\n");
	/* Letters of two bytes, and of two columns, count as they look. */
	listed("C.UTF-8", 100, "\r\naaaabbbbcccc  the parser'" DOTS
	    "  ended 3  4294967290  " DOTS "ody/" DOK "/a/compiler  "
	    "agent --prompt 'make all" DOTS "\r\n");
	listed("C.UTF-8", 80, "\r\naaaabbbbcccc  the parser'" DOTS
	    "  ended 3  4294967290  " DOTS
	    "\346\234\254/a/compiler  agent --prompt" DOTS "\r\n");
	listed("C", 100, "\r\naaaabbbbcccc  the parse...  ended 3  "
	    "4294967290  ...");
	listed("C", 100, "/a/compiler  agent --prompt 'make a...\r\n");
	/* Narrower than what says anything. */
	listed("C.UTF-8", 20, "  " DOTS "/compiler  agent --p" DOTS "\r\n");
	fake_stop();
}

ATF_TC_WITHOUT_HEAD(apply_asks);
ATF_TC_BODY(apply_asks, tc)
{
	static const char *const	no[] = { "\r", "n\r", "k\r" };
	struct pty			p;
	size_t				i;

	fake_start("");
	start(&p, "apply", "one", NULL);
	pty_expect(&p, "digest    0011");
	pty_expect(&p, "apply, keep, or view? [a/K/v] ");
	pty_say(&p, "y\r");
	pty_expect(&p, "6 files landed");
	ends(&p, 0);
	asked("APPLY");
	pty_free(&p);
	/* The letters of the question after a command. */
	forget();
	start(&p, "apply", "one", NULL);
	p.answers = true;
	pty_expect(&p, "[a/K/v] ");
	pty_say(&p, "v\r");
	pty_expect(&p, "diff --git a/a.txt");
	pty_expect(&p, "[a/K/v] ");
	not_asked("^APPLY");
	pty_say(&p, "a\r");
	pty_expect(&p, "6 files landed");
	ends(&p, 0);
	asked("APPLY");
	pty_free(&p);
	for (i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		forget();
		start(&p, "apply", "one", NULL);
		p.answers = true;
		pty_expect(&p, "[a/K/v] ");
		pty_say(&p, no[i]);
		pty_expect(&p, "nothing was applied");
		ends(&p, 1);
		not_asked("^APPLY");
		pty_free(&p);
	}
	fake_stop();
}

/* A patch is exact bytes, and asked of nobody before that is clear. */
ATF_TC_WITHOUT_HEAD(patch);
ATF_TC_BODY(patch, tc)
{
	static const char *const	files[] = {
		"-", "/dev/tty", "/dev/stdout"
	};
	char				line[96];
	struct pty			p;
	size_t				i;

	fake_start("");
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		start(&p, "patch", "one", "-o", files[i], NULL);
		snprintf(line, sizeof(line), "sbxctl: patch: -o %s is a "
		    "terminal", files[i]);
		pty_expect(&p, line);
		ends(&p, 2);
		ATF_CHECK(strstr(p.out, "diff --git") == NULL);
		not_asked(".");
		pty_free(&p);
	}
	/* Any other file, also one that is not replaced, is written. */
	start(&p, "patch", "one", "-o", "p", NULL);
	ends(&p, 0);
	ATF_CHECK_EQ(0, test_sh("grep -q '^diff --git a/a.txt' p"));
	pty_free(&p);
	start(&p, "patch", "one", "-o", "/dev/null", NULL);
	ends(&p, 0);
	pty_free(&p);
	fake_stop();
}

/* Colour on a terminal, and never a byte of the session's that drives it. */
ATF_TC_WITHOUT_HEAD(diff);
ATF_TC_BODY(diff, tc)
{
	struct pty	p;

	fake_start("");
	setenv("PAGER", "", 1);
	setenv("TERM", "xterm", 1);
	start(&p, "diff", "one", NULL);
	pty_expect(&p, "\033[32m+\ttw\303\266\033[m");
	pty_expect(&p, "+esc <U+001B>[31m bidi <U+202E> bad <FF><U+000D>");
	ends(&p, 0);
	pty_free(&p);
	setenv("NO_COLOR", "1", 1);
	start(&p, "diff", "one", NULL);
	ends(&p, 0);
	ATF_CHECK(strchr(p.out, '\033') == NULL);
	pty_free(&p);
	unsetenv("NO_COLOR");
	/* A pager has no use for one that can do nothing. */
	setenv("TERM", "dumb", 1);
	setenv("PAGER", "false", 1);
	start(&p, "diff", "one", NULL);
	pty_expect(&p, "+esc <U+001B>");
	ends(&p, 0);
	ATF_CHECK(strchr(p.out, '\033') == NULL);
	pty_free(&p);
	fake_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, size);
	ATF_TP_ADD_TC(tp, keys);
	ATF_TP_ADD_TC(tp, typed_early);
	ATF_TP_ADD_TC(tp, modes);
	ATF_TP_ADD_TC(tp, clipboard);
	ATF_TP_ADD_TC(tp, streams);
	ATF_TP_ADD_TC(tp, answers);
	ATF_TP_ADD_TC(tp, paste);
	ATF_TP_ADD_TC(tp, last_output);
	ATF_TP_ADD_TC(tp, hangup);
	ATF_TP_ADD_TC(tp, terminated);
	ATF_TP_ADD_TC(tp, stopped);
	ATF_TP_ADD_TC(tp, ls_fits);
	ATF_TP_ADD_TC(tp, apply_asks);
	ATF_TP_ADD_TC(tp, patch);
	ATF_TP_ADD_TC(tp, diff);
	return (atf_no_error());
}
