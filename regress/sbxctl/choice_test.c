/*
 * The question after a command, on a terminal, against a scripted suite
 * (fake.c, fake_run.c).
 */
#include <sys/wait.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regress/lib/test.h"
#include "regress/sbxctl/onpty.h"

/* What is answered, what is then asked of the suite, what never. */
static void
choose(const char *answer, const char *want, const char *never)
{
	struct pty	p;

	forget();
	start(&p, "run", "exit:9", NULL);
	p.answers = true;
	pty_expect(&p, "6 files changed, 3 insertions(+), 2 deletions(-)");
	pty_expect(&p, "apply, discard, keep, or view? [a/d/K/v] ");
	pty_say(&p, answer);
	if (answer[0] == 'v') {
		pty_expect(&p, "diff --git a/a.txt");
		pty_expect(&p, "[a/d/K/v] ");
		pty_say(&p, "k\r");
	}
	ends(&p, 9);
	if (want != NULL)
		asked(want);
	if (never != NULL)
		not_asked(never);
	pty_free(&p);
}

ATF_TC_WITHOUT_HEAD(choice);
ATF_TC_BODY(choice, tc)
{
	static const char	none[] = "^APPLY\\|^DISCARD\\|^discard 1";

	fake_start("changes");
	choose("a\r", "APPLY", "^DISCARD\\|^discard 1");
	choose("  Apply \r", "APPLY", "^DISCARD\\|^discard 1");
	choose("k\r", NULL, none);
	choose("\r", NULL, none);
	choose("\004", NULL, none);
	choose("what\rno\rapplyy\rad\rk\r", NULL, none);
	choose("x\ra\r", "APPLY", NULL);
	choose("v\r", "PATCH", none);
	choose("\003", NULL, none);
	choose("\034", NULL, none);
	fake_stop();
}

/* What is no answer is answered by what there is, once, and by the question. */
ATF_TC_WITHOUT_HEAD(choice_helps);
ATF_TC_BODY(choice_helps, tc)
{
	static const char *const	asks[] = { "?\r", "h\r", "what\r" };
	struct pty			p;
	const char			*at;
	size_t				i;

	fake_start("changes");
	for (i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		start(&p, "run", "exit:9", NULL);
		p.answers = true;
		pty_expect(&p, "[a/d/K/v] ");
		pty_say(&p, asks[i]);
		pty_expect(&p, "apply: land them in the real files; "
		    "discard: drop them; keep: leave them for later; view: "
		    "show them\r\n");
		pty_expect(&p, "[a/d/K/v] ");
		pty_say(&p, asks[i]);
		pty_expect(&p, "[a/d/K/v] ");
		pty_say(&p, "d\r");
		pty_expect(&p, "[y/N] ");
		pty_say(&p, "?\r");
		pty_expect(&p, "yes: do it; no: leave all as it is\r\n");
		pty_expect(&p, "[y/N] ");
		pty_say(&p, "n\r");
		ends(&p, 9);
		at = strstr(p.out, "apply: land");
		ATF_CHECK(at != NULL && strstr(at + 1, "apply: land") == NULL);
		not_asked("^APPLY\\|^DISCARD\\|^discard 1");
		pty_free(&p);
	}
	fake_stop();
}

/* A discard is asked once more; only a yes is one. */
static void
discard(const char *answer, bool gone)
{
	struct pty	p;

	forget();
	start(&p, "run", "exit:9", NULL);
	p.answers = true;
	pty_expect(&p, "[a/d/K/v] ");
	pty_say(&p, "d\r");
	pty_expect(&p, "discard 6 files? [y/N] ");
	not_asked("^discard 1");
	if (answer == NULL)
		kill(p.pid, SIGTERM);
	else
		pty_say(&p, answer);
	pty_expect(&p, gone ? "sbxctl: session aaaabbbbcccc: 6 files "
	    "discarded, and the session removed\r\n" :
	    "sbxctl: session aaaabbbbcccc is kept: 6 files changed");
	ends(&p, 9);
	if (gone)
		asked("discard 1");
	else
		not_asked("^discard 1");
	not_asked("^APPLY\\|^DISCARD");
	pty_free(&p);
}

ATF_TC_WITHOUT_HEAD(choice_discards);
ATF_TC_BODY(choice_discards, tc)
{
	struct pty	p;

	fake_start("changes");
	discard("y\r", true);
	discard(" Yes\r", true);
	discard("what\ryes\r", true);
	discard("n\r", false);
	discard("\r", false);
	discard("\004", false);
	discard("\003", false);
	discard(NULL, false);
	/* The word too; and nobody is there to hear the second question. */
	start(&p, "run", "exit:0", NULL);
	pty_expect(&p, "[a/d/K/v] ");
	pty_say(&p, "discard\r");
	pty_expect(&p, "? [y/N] ");
	pty_hangup(&p);
	ATF_CHECK(WIFEXITED(pty_wait(&p, 5000)));
	not_asked("^APPLY\\|^DISCARD\\|^discard 1");
	pty_free(&p);
	fake_stop();
}

/* Somebody else has removed it: one line says so, whatever is answered. */
ATF_TC_WITHOUT_HEAD(choice_gone);
ATF_TC_BODY(choice_gone, tc)
{
	static const char *const	answers[] = { "a\r", "d\r", "k\r",
					    "v\r", "\004" };
	struct pty			p;
	size_t				i;

	fake_start("changes gone");
	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		start(&p, "run", "exit:9", NULL);
		p.answers = true;
		pty_expect(&p, "[a/d/K/v] ");
		pty_say(&p, answers[i]);
		pty_expect(&p, "sbxctl: session aaaabbbbcccc is gone: it was "
		    "removed elsewhere");
		ends(&p, 9);
		ATF_CHECK(strstr(p.out, "is kept") == NULL);
		not_asked("^APPLY\\|^DISCARD\\|^discard 1\\|^PATCH");
		pty_free(&p);
	}
	start(&p, "apply", "one", NULL);
	p.answers = true;
	pty_expect(&p, "[a/K/v] ");
	pty_say(&p, "k\r");
	pty_expect(&p, "session aaaabbbbcccc is gone");
	ends(&p, 1);
	ATF_CHECK(strstr(p.out, "keeps its changes") == NULL);
	pty_free(&p);
	fake_stop();
	/* The second question as well. */
	fake_start("changes going");
	for (i = 0; i < 2; i++) {
		start(&p, "run", "exit:9", NULL);
		p.answers = true;
		pty_expect(&p, "[a/d/K/v] ");
		pty_say(&p, "d\r");
		pty_expect(&p, "[y/N] ");
		pty_say(&p, i == 0 ? "n\r" : "y\r");
		pty_expect(&p, "sbxctl: session aaaabbbbcccc is gone: it was "
		    "removed elsewhere");
		ends(&p, 9);
		ATF_CHECK(strstr(p.out, "is kept") == NULL);
		not_asked("^discard 1");
		pty_free(&p);
	}
	fake_stop();
}

/* No answer, since there is nobody any more. */
ATF_TC_WITHOUT_HEAD(choice_hangup);
ATF_TC_BODY(choice_hangup, tc)
{
	struct pty	p;

	fake_start("changes");
	start(&p, "run", "exit:0", NULL);
	pty_expect(&p, "[a/d/K/v] ");
	pty_hangup(&p);
	ATF_CHECK(WIFEXITED(pty_wait(&p, 5000)));
	not_asked("^APPLY\\|^DISCARD\\|^discard 1");
	pty_free(&p);
	start(&p, "run", "exit:0", NULL);
	pty_expect(&p, "[a/d/K/v] ");
	kill(p.pid, SIGTERM);
	ends(&p, 0);
	not_asked("^APPLY\\|^DISCARD\\|^discard 1");
	pty_free(&p);
	fake_stop();
}

/* What is kept needs no suite; what lands does, and says so. */
ATF_TC_WITHOUT_HEAD(choice_alone);
ATF_TC_BODY(choice_alone, tc)
{
	static const char *const	answers[] = { "k\r", NULL, "a\r" };
	struct pty			p;
	size_t				i;

	for (i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		fake_start("changes");
		start(&p, "run", "exit:9", NULL);
		p.answers = true;
		pty_expect(&p, "[a/d/K/v] ");
		fake_stop();
		if (answers[i] == NULL)
			kill(p.pid, SIGTERM);
		else
			pty_say(&p, answers[i]);
		pty_expect(&p, i < 2 ? "session aaaabbbbcccc is kept: 6 files" :
		    "the suite did not answer");
		ends(&p, i < 2 ? 9 : 125);
		pty_free(&p);
	}
}

/* What was typed for the command, and what it makes the terminal type, does
 * not answer the question. */
ATF_TC_WITHOUT_HEAD(choice_typed_ahead);
ATF_TC_BODY(choice_typed_ahead, tc)
{
	struct pty	p;

	fake_start("changes");
	start(&p, "run", "out:ready", "pause:500", "exit:0", NULL);
	pty_expect(&p, "ready");
	pty_say(&p, "a\ra\ra\r");
	pty_expect(&p, "[a/d/K/v] ");
	pty_read(&p, 300);
	pty_say(&p, "k\r");
	ends(&p, 0);
	not_asked("^APPLY\\|^DISCARD\\|^discard 1");
	pty_free(&p);
	fake_stop();
}

/* Nor does what the terminal sends late, also where nothing was seen to ask
 * for it: it is asked itself, and answers in order. */
ATF_TC_WITHOUT_HEAD(choice_late);
ATF_TC_BODY(choice_late, tc)
{
	static const char *const	late[] = { "apply", "apply\r", "a\ra\r",
					    "\033]11;a\033\\a\r" };
	struct pty			p;
	size_t				i;

	fake_start("changes");
	for (i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
		start(&p, "run", "exit:0", NULL);
		pty_expect(&p, "\033[5n");
		pty_read(&p, 300);
		ATF_CHECK(strstr(p.out, "[a/d/K/v]") == NULL);
		pty_say(&p, late[i]);
		pty_say(&p, "\033[0n");
		pty_expect(&p, "[a/d/K/v] ");
		ATF_CHECK(strstr(p.out, "apply\r") == NULL);
		pty_say(&p, "\r");
		ends(&p, 0);
		not_asked("^APPLY\\|^DISCARD\\|^discard 1");
		pty_free(&p);
	}
	/* One that does not answer is waited for a while; ^C breaks it off. */
	start(&p, "run", "exit:0", NULL);
	pty_expect(&p, "\033[5n");
	pty_say(&p, "\003");
	pty_expect(&p, "[a/d/K/v] ");
	ends(&p, 0);
	not_asked("^APPLY\\|^DISCARD\\|^discard 1");
	pty_free(&p);
	/* Answers to what the session has asked do not stand for it. */
	start(&p, "run", "out:\\e[5n", "exit:0", NULL);
	pty_expect(&p, "\033[5n");
	pty_expect(&p, "\030\033\\\033[5n");
	pty_expect(&p, "\033\\\033[5n");
	pty_say(&p, "\033[0n\033[0na\ra\r\033[0n");
	pty_expect(&p, "[a/d/K/v] ");
	pty_say(&p, "\r");
	ends(&p, 0);
	not_asked("^APPLY\\|^DISCARD\\|^discard 1");
	pty_free(&p);
	/* A terminal that shows all there is to it is not asked. */
	setenv("TERM", "dumb", 1);
	start(&p, "run", "exit:0", NULL);
	pty_expect(&p, "[a/d/K/v] ");
	pty_say(&p, "\r");
	ends(&p, 0);
	ATF_CHECK(strstr(p.out, "\033") == NULL);
	pty_free(&p);
	fake_stop();
}

/* Where it was not heard in time, what comes before its answer is none of the
 * owner's all the same: he is asked again, and is believed then. */
ATF_TC_WITHOUT_HEAD(choice_slow);
ATF_TC_BODY(choice_slow, tc)
{
	static const char	again[] = "sbxctl: the terminal is slow, and "
				    "may have sent this by itself: answer "
				    "once more";
	static const char	none[] = "^APPLY\\|^DISCARD\\|^discard 1";
	struct pty		p;

	fake_start("changes");
	start(&p, "run", "exit:0", NULL);
	pty_expect(&p, "\033[5n");
	pty_expect(&p, "[a/d/K/v] ");
	/* The terminal's own, which it sends before any answer. */
	pty_say(&p, "apply\r");
	pty_expect(&p, "\033[5n");
	pty_say(&p, "\033[0n");
	pty_expect(&p, again);
	/* Asked twice by then, it has answered once. */
	pty_expect(&p, "[a/d/K/v] ");
	pty_say(&p, "a\r");
	pty_expect(&p, "\033[5n");
	pty_say(&p, "d\r\033[0n\033[0n");
	pty_expect(&p, again);
	pty_expect(&p, "[a/d/K/v] ");
	not_asked(none);
	pty_say(&p, "a\r");
	pty_expect(&p, "6 files landed");
	ends(&p, 0);
	not_asked("^DISCARD\\|^discard 1");
	pty_free(&p);
	forget();
	/* While one that may never answer is waited for, ^C breaks off. */
	start(&p, "run", "exit:0", NULL);
	pty_expect(&p, "\033[5n");
	pty_expect(&p, "[a/d/K/v] ");
	pty_say(&p, "a\r");
	pty_expect(&p, "\033[5n");
	pty_say(&p, "\003");
	ends(&p, 0);
	not_asked(none);
	pty_free(&p);
	fake_stop();
}

/* A terminal that answered the session, and now does not, may be in a string
 * that nobody here knows of: what is answered then would be answered unseen. */
ATF_TC_WITHOUT_HEAD(choice_unseen);
ATF_TC_BODY(choice_unseen, tc)
{
	struct pty	p;

	fake_start("changes");
	start(&p, "run", "out:\\e[c", "read", "exit:7", NULL);
	pty_expect(&p, "\033[c");
	pty_say(&p, "\033[?62;22c");
	pty_expect(&p, "\030\033\\\033[5n");
	pty_expect(&p, "sbxctl: the terminal has answered before and does");
	pty_expect(&p, "session aaaabbbbcccc is kept");
	pty_say(&p, "a\r");
	ends(&p, 7);
	ATF_CHECK(strstr(p.out, "[a/d/K/v]") == NULL);
	not_asked("^APPLY\\|^DISCARD\\|^discard 1");
	pty_free(&p);
	fake_stop();
}

/* An applied session of which something does not land is kept. */
ATF_TC_WITHOUT_HEAD(choice_keeps);
ATF_TC_BODY(choice_keeps, tc)
{
	struct pty	p;

	fake_start("changes");
	start(&p, "run", "exit:0", NULL);
	pty_expect(&p, "[a/d/K/v] ");
	pty_say(&p, "a\r");
	pty_expect(&p, "6 files landed");
	pty_expect(&p, "session aaaabbbbcccc is kept, with what does not");
	ends(&p, 0);
	not_asked("^discard 1");
	pty_free(&p);
	forget();
	/* Who says --keep has answered. */
	start(&p, "run", "--keep", "exit:0", NULL);
	ends(&p, 0);
	pty_expect(&p, "session aaaabbbbcccc is kept: 6 files changed");
	ATF_CHECK(strstr(p.out, "[a/d/K/v]") == NULL);
	not_asked("^REMOVE\\|^APPLY\\|^DISCARD");
	pty_free(&p);
	fake_stop();
	fake_start("changes drift");
	start(&p, "run", "exit:0", NULL);
	pty_expect(&p, "[a/d/K/v] ");
	pty_say(&p, "a\r");
	pty_expect(&p, "DRIFTED");
	pty_expect(&p, "nothing was applied");
	pty_expect(&p, "session aaaabbbbcccc is kept");
	ends(&p, 0);
	pty_free(&p);
	fake_stop();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, choice);
	ATF_TP_ADD_TC(tp, choice_helps);
	ATF_TP_ADD_TC(tp, choice_discards);
	ATF_TP_ADD_TC(tp, choice_gone);
	ATF_TP_ADD_TC(tp, choice_alone);
	ATF_TP_ADD_TC(tp, choice_hangup);
	ATF_TP_ADD_TC(tp, choice_typed_ahead);
	ATF_TP_ADD_TC(tp, choice_late);
	ATF_TP_ADD_TC(tp, choice_slow);
	ATF_TP_ADD_TC(tp, choice_unseen);
	ATF_TP_ADD_TC(tp, choice_keeps);
	return (atf_no_error());
}
