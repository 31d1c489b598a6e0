/*
 * Signals that come while a session starts. A sbxctl that ended at once would
 * leave a session behind that nobody has heard of, or would be gone when it
 * hears. So they wait: for the command, or for the id. A start that takes
 * longer than a moment is given up, and sbxd, who finds us gone, does the same.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sbxctl.h"

#define EARLY_SECONDS	1

static const int	early_signals[] = {
	SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2
};
#define EARLY_COUNT	(sizeof(early_signals) / sizeof(early_signals[0]))

static volatile sig_atomic_t	early_signal;	/* the first of them, or 0 */
static volatile sig_atomic_t	early_len;
static char			early_line[160];	/* what is said then */
static bool			early_held[EARLY_COUNT];
static bool			early_on;
/* An alarm may be our caller's, set before it became us. */
static struct sigaction		early_alarm;
static bool			early_blocked;
static volatile sig_atomic_t	early_due;	/* seconds */

static void
early_on_signal(int sig)
{
	if (early_signal != 0)
		return;
	early_signal = sig;
	early_due = (sig_atomic_t)alarm(EARLY_SECONDS);
}

static void
early_on_alarm(int sig)
{
	if (early_signal == 0) {
		if (early_alarm.sa_handler == SIG_IGN)
			return;
		signal(sig, SIG_DFL);
		raise(sig);
		return;
	}
	(void)!write(STDERR_FILENO, early_line, (size_t)early_len);
	signal(early_signal, SIG_DFL);
	raise(early_signal);
}

static void
early_handle(int sig, void (*handler)(int))
{
	struct sigaction	sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = handler;
	sa.sa_flags = SA_RESTART;
	sigaction(sig, &sa, NULL);
}

void
early_begin(void)
{
	struct sigaction	sa;
	sigset_t		set, before;
	size_t			i;

	sigaction(SIGALRM, NULL, &early_alarm);
	early_handle(SIGALRM, early_on_alarm);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_UNBLOCK, &set, &before);
	early_blocked = sigismember(&before, SIGALRM) == 1;
	early_on = true;
	for (i = 0; i < EARLY_COUNT; i++) {
		/* Who started us without them, by nohup(1) say, means it. */
		early_held[i] = sigaction(early_signals[i], NULL, &sa) == 0 &&
		    sa.sa_handler == SIG_DFL;
		if (early_held[i])
			early_handle(early_signals[i], early_on_signal);
	}
}

void
early_session(const char *sid)
{
	early_len = snprintf(early_line, sizeof(early_line), "sbxctl: session "
	    "%s: interrupted while it starts: it is removed, but if its "
	    "command runs by now: see \"sbxctl ls\"\n", sid);
}

bool
early_is(void)
{
	return (early_signal != 0);
}

/* An alarm that was there before us is as it was. */
static void
early_alarm_back(void)
{
	sigset_t	set;

	if (early_signal != 0)
		alarm((unsigned int)early_due);
	if (early_blocked) {
		sigemptyset(&set);
		sigaddset(&set, SIGALRM);
		sigprocmask(SIG_BLOCK, &set, NULL);
	}
	sigaction(SIGALRM, &early_alarm, NULL);
}

void
early_end(void)
{
	size_t	i;

	if (!early_on)
		return;
	early_on = false;
	early_alarm_back();
	for (i = 0; i < EARLY_COUNT; i++)
		if (early_held[i])
			signal(early_signals[i], SIG_DFL);
	memset(early_held, 0, sizeof(early_held));
	if (early_signal != 0)
		raise(early_signal);
	early_signal = 0;
}
