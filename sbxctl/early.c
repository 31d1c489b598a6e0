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

static void
early_on_signal(int sig)
{
	if (early_signal != 0)
		return;
	early_signal = sig;
	alarm(EARLY_SECONDS);
}

static void
early_on_alarm(int sig)
{
	(void)sig;
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
	size_t			i;

	early_handle(SIGALRM, early_on_alarm);
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

void
early_end(void)
{
	size_t	i;

	alarm(0);
	for (i = 0; i < EARLY_COUNT; i++)
		if (early_held[i])
			signal(early_signals[i], SIG_DFL);
	memset(early_held, 0, sizeof(early_held));
	if (early_signal != 0)
		raise(early_signal);
	early_signal = 0;
}
