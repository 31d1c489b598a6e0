/*
 * After the command: what is changed is shown and its owner chooses. Without
 * an answer everything is kept.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "sbxctl.h"

static volatile sig_atomic_t	choice_signal;

static void
choice_on_signal(int sig)
{
	choice_signal = sig;
}

/* A read is interrupted by them: that is no answer. */
static void
choice_signals(void (*handler)(int))
{
	static const int	list[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	struct sigaction	sa;
	size_t			i;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		sigaction(list[i], &sa, NULL);
}

/* The word, or its first letter, in any case; 0: none of them. */
static char
choice_match(const char *line, const char *const *words)
{
	size_t	i;

	for (i = 0; words[i] != NULL; i++)
		if (strcasecmp(line, words[i]) == 0 ||
		    (strncasecmp(line, words[i], 1) == 0 && line[1] == '\0'))
			return (words[i][0]);
	return (0);
}

/* One line of the terminal's, without blanks around; -1: no more. */
static int
choice_line(char *line, size_t size)
{
	char	*start, *end;
	ssize_t	 n;

	n = choice_signal ? -1 : read(STDIN_FILENO, line, size - 1);
	if (n <= 0)
		return (-1);
	line[n] = '\0';
	for (start = line; *start == ' ' || *start == '\t'; start++)
		;
	for (end = start + strlen(start); end > start &&
	    strchr(" \t\r\n", end[-1]) != NULL; end--)
		;
	*end = '\0';
	memmove(line, start, (size_t)(end - start) + 1);
	return (0);
}

/* A line that may have come from the terminal itself is no answer. */
static char
choice_take(const char *line, const char *const *words, bool *settled)
{
	char	answer = choice_match(line, words);
	bool	silent;

	if (answer == 0 || *settled)
		return (answer);
	silent = terminal_silent(STDIN_FILENO, STDOUT_FILENO, settled);
	if (choice_signal)
		return (0);
	if (silent)
		return (answer);
	say("the terminal is slow, and may have sent this by itself: answer "
	    "once more");
	tcflush(STDIN_FILENO, TCIFLUSH);
	return (0);
}

/* After what is no answer: what each one does. */
static void
choice_help(const char *const *words)
{
	static const struct {
		const char	*word, *means;
	} all[] = {
		{ "apply", "land them in the real files" },
		{ "discard", "drop them" },
		{ "keep", "leave them for later" },
		{ "view", "show them" },
		{ "yes", "do it" },
		{ "no", "leave all as it is" },
	};
	const char	*before = "";
	size_t		 i, j;

	for (i = 0; words[i] != NULL; i++)
		for (j = 0; j < sizeof(all) / sizeof(all[0]); j++)
			if (strcmp(words[i], all[j].word) == 0) {
				printf("%s%s: %s", before, words[i],
				    all[j].means);
				before = "; ";
			}
	putchar('\n');
}

char
choice_ask(const char *question, const char *const *words)
{
	char	line[256], answer = 0;
	bool	settled, unseen, helped = false;

	choice_signal = 0;
	choice_signals(choice_on_signal);
	/* What was typed before the question is no answer to it, nor what the
	 * terminal sends on a session's word. */
	fflush(stdout);
	settled = terminal_settle(STDIN_FILENO, STDOUT_FILENO, &unseen);
	if (unseen) {
		if (choice_signal == 0)
			say("the terminal has answered before and does not "
			    "now: as it may not show a question, none is "
			    "asked");
		choice_signals(SIG_DFL);
		return (0);
	}
	tcflush(STDIN_FILENO, TCIFLUSH);
	do {
		printf("%s", question);
		fflush(stdout);
		if (choice_line(line, sizeof(line)) == -1) {
			putchar('\n');
			break;
		}
		answer = choice_take(line, words, &settled);
		if (line[0] != '\0' && !helped &&
		    choice_match(line, words) == 0) {
			choice_help(words);
			helped = true;
		}
	} while (answer == 0 && line[0] != '\0');
	choice_signals(SIG_DFL);
	return (answer);
}

static void
choice_kept(const char *sid, const struct reviews *all)
{
	char		*counts = review_counts(&all->sum);
	uint64_t	 rest = all->sum.sum.skipped + all->sum.sum.ignored;

	if (all->sum.sum.files == 0)
		say("session %s is kept, with what does not land: \"sbxctl "
		    "changes %s\" lists it, \"sbxctl rm --discard %s\" removes "
		    "it", sid, sid, sid);
	else if (rest == 0)
		say("session %s is kept: %s: \"sbxctl diff %s\" shows it, "
		    "then apply, discard or rm", sid, counts, sid);
	else
		say("session %s is kept: %s, and %" PRIu64 " that %s not "
		    "land: \"sbxctl changes %s\" lists all, \"sbxctl diff "
		    "%s\" shows it, then apply, discard or rm", sid, counts,
		    rest, rest == 1 ? "does" : "do", sid, sid);
	free(counts);
}

void
choice_notes(const struct m_SESSION *m)
{
	size_t	i;

	for (i = 0; i < m->notes.n; i++)
		say("note: %s", m->notes.v[i]);
}

void
choice_outside(const char *sid, bool outside, bool removed)
{
	/* Nearly every program writes something there: scripts, which have
	 * asked for nothing, are not told. */
	if (!outside || !isatty(STDERR_FILENO))
		return;
	if (removed)
		say("session %s: what it wrote outside its project, which "
		    "never lands, went with it: --keep keeps a session for "
		    "\"changes --outside\"", sid);
	else
		say("session %s wrote outside its project, too, which never "
		    "lands and goes with the session: \"sbxctl changes "
		    "--outside %s\" lists it", sid, sid);
}

/* False: without discard, and changes of it wait. */
static bool
choice_remove(struct conn *c, const char *sid, bool discard)
{
	const struct m_ERROR	*e;
	struct msg		 msg;
	char			*warning;
	bool			 removed = true;

	session_remove(c, sid, discard, &msg, &warning);
	if (warning != NULL)
		say("%s", warning);
	free(warning);
	if (msg.type == MSG_ERROR) {
		e = msg.body;
		if (strcmp(e->code, "session.changes") != 0)
			conn_refused(&msg);
		removed = false;
	}
	msg_free(&msg);
	return (removed);
}

/* One root after the other: what one refuses leaves the others landed. */
static bool
choice_land(struct conn *c, const struct after *a, const struct reviews *all)
{
	const struct review	*r;
	size_t			 i;

	for (i = 0; i < all->n; i++) {
		r = &all->v[i];
		if ((r->sum.files > 0 || !all->all) && landing_apply(c,
		    a->session, r->root, r->digest, false, &out_text) != 0)
			return (false);
	}
	return (true);
}

static void
choice_apply(struct conn *c, const struct after *a, const struct reviews *all)
{
	if (!choice_land(c, a, all)) {
		say("session %s is kept", a->session);
		return;
	}
	fflush(stdout);
	if (all->sum.sum.skipped > 0 || all->sum.sum.ignored > 0 ||
	    !choice_remove(c, a->session, false))
		say("session %s is kept, with what does not land: \"sbxctl rm "
		    "--discard %s\" removes it", a->session, a->session);
}

void
choice_view(struct conn *c, const struct reviews *seen,
    const struct roots *roots, const char *root)
{
	struct reviews	all;
	size_t		i;

	reviews_get(c, seen->session, MSG_PATCH, roots, root, seen->all, &all);
	out_text.diff(&all);
	for (i = 0; i < all.n; i++)
		if (memcmp(all.v[i].digest, seen->v[i].digest,
		    sizeof(all.v[i].digest)) != 0)
			say("session %s has changed since the summary",
			    seen->session);
	fflush(stdout);
	reviews_free(&all);
}

/* Asked once more: one letter is typed by mistake, and nothing brings back
 * what it takes. Anything but yes keeps, so that a hang-up is not asked
 * again. */
static void
choice_discard(struct conn *c, const struct after *a,
    const struct reviews *all)
{
	static const char *const	words[] = { "yes", "no", NULL };
	uint64_t			n = all->sum.sum.files;
	char				question[96], answer;

	if (n == 0)
		snprintf(question, sizeof(question), "discard all of it? "
		    "[y/N] ");
	else
		snprintf(question, sizeof(question), "discard %" PRIu64
		    " file%s? [y/N] ", n, n == 1 ? "" : "s");
	answer = choice_ask(question, words);
	if (session_gone(c, a->session))
		return;
	if (answer != 'y') {
		choice_kept(a->session, all);
		return;
	}
	if (!choice_remove(c, a->session, true))
		return;
	if (n == 0)
		say("session %s: what does not land is discarded, and the "
		    "session removed", a->session);
	else
		say("session %s: %" PRIu64 " file%s discarded, and the session "
		    "removed", a->session, n, n == 1 ? "" : "s");
}

static void
choice_make(struct conn *c, const struct after *a, const struct roots *roots,
    const struct reviews *found)
{
	static const char *const	all[] = { "apply", "discard", "keep",
					    "view", NULL };
	static const char *const	some[] = { "discard", "keep", NULL };
	bool				land = found->sum.sum.files > 0;
	char				answer;

	out_text.changes(found);
	for (;;) {
		answer = choice_ask(land ? "apply, discard, keep, or view? "
		    "[a/d/K/v] " : "nothing of it lands: discard or keep? "
		    "[d/K] ", land ? all : some);
		if (session_gone(c, a->session))
			return;
		switch (answer) {
		case 'a':
			choice_apply(c, a, found);
			return;
		case 'd':
			choice_discard(c, a, found);
			return;
		case 'v':
			choice_view(c, found, roots, NULL);
			break;
		default:
			choice_kept(a->session, found);
			return;
		}
	}
}

void
choice_after(struct conn *c, const struct after *a)
{
	struct roots	 roots;
	struct reviews	 all;
	struct msg	 msg;
	bool		 removed, outside;

	conn_finish(c);
	conn_expect(c, MSG_SESSION, &msg, CONN_START_MS);
	choice_notes(msg.body);
	removed = strcmp(((const struct m_SESSION *)msg.body)->state,
	    "removed") == 0;
	outside = ((const struct m_SESSION *)msg.body)->outside;
	msg_free(&msg);
	/* Nothing was written into its roots, or nothing of it is left. */
	removed = removed || (!a->keep && choice_remove(c, a->session, false));
	choice_outside(a->session, outside, removed);
	if (removed)
		return;
	session_roots(c, a->session, &roots);
	reviews_get(c, a->session, MSG_CHANGES, &roots, NULL, roots.n > 1,
	    &all);
	if (!review_any(&all.sum))
		say("session %s is kept: nothing of its project has changed",
		    a->session);
	else if (a->ask)
		choice_make(c, a, &roots, &all);
	else
		choice_kept(a->session, &all);
	reviews_free(&all);
	session_roots_free(&roots);
}

/* The suite may be about to end: it knows why, as long as it says so. */
void
choice_lost(struct conn *c, const char *sid, const char *why)
{
	const struct m_SESSION	*m = NULL;
	const char		*bad;
	struct msg		 msg;
	bool			 removed;
	char			*told;

	if (imsg_recv(&c->ib, &msg, CONN_SHORT_MS, &bad) == 1) {
		msg_free(&msg);
		if (imsg_recv(&c->ib, &msg, CONN_START_MS, &bad) == 1 &&
		    msg.type == MSG_SESSION)
			m = msg.body;
	}
	removed = m != NULL && strcmp(m->state, "removed") == 0;
	told = text_names(m != NULL && m->reason != NULL ? m->reason : why);
	if (removed)
		say("session %s: %s: it had changed nothing, and is removed",
		    sid, told);
	else
		say("session %s: %s: its changes are kept, \"sbxctl changes "
		    "%s\" lists them", sid, told, sid);
	free(told);
}

/* One request whose answer is of no matter. */
static bool
forget_step(struct imsgbuf *ib, uint32_t type, const void *body)
{
	const char	*why;
	struct msg	 msg;

	if ((type != MSG_HELLO && imsg_send(ib, type, 1, -1, body) == -1) ||
	    imsg_recv(ib, &msg, CONN_SHORT_MS, &why) != 1)
		return (false);
	msg_free(&msg);
	return (true);
}

void
choice_forget(const struct conn *first, const char *sid, bool remove)
{
	struct m_WAIT	 wait = { .session = sid };
	struct m_REMOVE	 gone = { .session = sid };
	struct conn	*c = conn_again(first);

	if (c == NULL)
		return;
	/* Removed once it is torn down; where sbxd did it, it is unknown. */
	if (forget_step(&c->ib, MSG_HELLO, NULL) &&
	    forget_step(&c->ib, MSG_WAIT, &wait) && remove)
		forget_step(&c->ib, MSG_REMOVE, &gone);
	conn_close(c);
}
