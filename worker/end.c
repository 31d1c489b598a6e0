/*
 * How a session's terminal comes to its end: first everything that the
 * command wrote, then its status, to the client; and only when the client's
 * socket has all of it, to sbxd, which will then close the worker.
 */
#include <sys/types.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "worker.h"

#define GRACE_HUP	5	/* s to heed the hang-up */
#define GRACE_KILL	2	/* s for init to obey */

static void
end_say(struct worker *w, struct peer *only)
{
	struct m_EXITED	exited = { .status = w->status, .ms = w->ms };
	struct m_ERROR	error = { .code = w->code, .message = w->reason };
	uint32_t	type = w->exited ? MSG_EXITED : MSG_ERROR;
	const void	*body = w->exited ? (void *)&exited : (void *)&error;

	if (only != NULL)
		peer_send(only, type, 0, -1, body);
	else
		client_all(w, type, body);
}

/* The first reason counts. Before the command runs sbxd is told at once, and
 * it tells the client. */
void
end_because(struct worker *w, const char *code, const char *reason)
{
	if (w->over)
		return;
	w->over = true;
	if ((w->code = strdup(code)) == NULL ||
	    (w->reason = strdup(reason)) == NULL)
		fatal("the session's end");
	if (!w->running) {
		w->sbxd_told = true;
		end_say(w, w->sbxd);
	}
}

void
end_settle(struct worker *w)
{
	if (!w->over || !w->running || output_open(w))
		return;
	if (!w->clients_told) {
		w->clients_told = true;
		end_say(w, NULL);
	}
	if (w->sbxd_told || client_queued(w) > 0)
		return;
	w->sbxd_told = true;
	end_say(w, w->sbxd);
}

static void
end_on_grace(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval	 kill_tv = { .tv_sec = GRACE_KILL };
	struct worker			*w = arg;

	(void)fd;
	(void)what;
	if (w->over)
		return;
	if (w->grace_stage++ == 0) {
		inside_signal(w, SIGKILL);
		evtimer_add(w->grace, &kill_tv);
		return;
	}
	end_because(w, "session.hangup", "the client hung up and the "
	    "session's first process did not end the command");
	inside_gone(w, NULL);
}

/*
 * Nobody is attached any more: the command is told as by a terminal that is
 * gone, and what does not heed it is killed; a start that does not come to an
 * end is given up.
 */
void
end_hangup(struct worker *w)
{
	static const struct timeval	hup_tv = { .tv_sec = GRACE_HUP };

	if (w->over || w->grace != NULL)
		return;
	inside_signal(w, SIGHUP);
	if ((w->grace = evtimer_new(w->base, end_on_grace, w)) == NULL ||
	    evtimer_add(w->grace, &hup_tv) == -1)
		fatalx("a timer");
}
