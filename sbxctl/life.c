/*
 * stop, kill, resume: a session's command ended, and started anew.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sbxctl.h"

static int
life_end(struct options *opts, uint32_t type)
{
	struct conn	*c = conn_open();
	char		*sid = session_find(c, opts->argv[0], PICK_LIVE);
	struct m_SID	 body = { .session = sid };
	struct msg	 msg;

	conn_send(c, type, &body);
	conn_expect(c, MSG_SESSION, &msg, CONN_REVIEW_MS);
	out_form(opts)->ended(msg.body);
	msg_free(&msg);
	free(sid);
	conn_close(c);
	return (done(0));
}

int
stop_main(struct options *opts)
{
	return (life_end(opts, MSG_STOP));
}

int
kill_main(struct options *opts)
{
	return (life_end(opts, MSG_KILL));
}

/* What says of which kind this terminal is; all else is frozen. */
static void
resume_term(struct strv *term)
{
	static const char *const	names[] = { "TERM", "COLORTERM" };
	const char			*value;
	char				*var;
	size_t				 i;

	term->v = need(calloc(sizeof(names) / sizeof(names[0]) + 1,
	    sizeof(*term->v)));
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if ((value = getenv(names[i])) == NULL)
			continue;
		if (asprintf(&var, "%s=%s", names[i], value) == -1)
			fail("out of memory");
		term->v[term->n++] = var;
	}
}

static void
resume_ask(struct conn *c, const struct m_RESUME *m, struct msg *msg)
{
	/* A review that goes on is waited for. */
	conn_send(c, MSG_RESUME, m);
	conn_recv(c, msg, CONN_REVIEW_MS);
}

int
resume_main(struct options *opts)
{
	struct relay_how	 how = { .raw = opts->raw };
	struct m_RESUME		 body = { .attach = true };
	struct conn		*c;
	struct msg		 msg;

	if (opts->before > 1)
		fail_usage("resume: %s: one word too many: a command comes "
		    "after \"--\"", opts->argv[1]);
	body.argv.n = (size_t)(opts->argc - opts->before);
	body.argv.v = (const char **)(void *)(opts->argv + opts->before);
	if (body.argv.n > 0 && *body.argv.v[0] == '\0')
		fail("the command is empty: name one");
	run_words("the command", (const char *const *)body.argv.v,
	    body.argv.n);
	run_terminal(&how);
	if (how.tty)
		resume_term(&body.term);
	body.tty = how.tty;
	body.rows = how.rows;
	body.cols = how.cols;
	c = conn_open();
	body.session = session_find(c, opts->before == 1 ? opts->argv[0] :
	    NULL, PICK_ENDED);
	resume_ask(c, &body, &msg);
	if (session_waited(c, body.session, &msg))
		resume_ask(c, &body, &msg);
	return (run_attached(c, &msg, &how, opts->keep, NULL));
}
