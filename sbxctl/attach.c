/*
 * attach: the terminal of a session that runs, until it ends or the detach
 * keys are typed. The session does not notice either.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keys.h"
#include "sbxctl.h"

/* One key, so that no other is held up until it is clear that it does not
 * follow, and one that hardly anybody types; what it costs is typing QUIT. */
#define ATTACH_KEYS	"C-\\"

static void
attach_keys(const struct options *opts, struct keys *keys)
{
	const char	*what = "--detach-keys", *text = opts->detach_keys;
	const char	*why;

	if (text == NULL) {
		what = "SBX_DETACH_KEYS";
		text = getenv(what);
	}
	if (text == NULL || (opts->detach_keys == NULL && *text == '\0'))
		text = ATTACH_KEYS;
	if ((why = keys_parse(keys, text)) != NULL)
		fail("%s \"%s\": %s: give some like C-\\ or ctrl-p,ctrl-q, or "
		    "none", what, text, why);
}

/* Sends JOIN; from its answer on the other end is the session's worker. */
static void
attach_join(struct conn *c, const char *sid)
{
	struct m_SID	body = { .session = sid };
	struct msg	msg;

	conn_send(c, MSG_JOIN, &body);
	conn_expect(c, MSG_SESSION, &msg, CONN_START_MS);
	msg_free(&msg);
	c->ib.other = ROLE_WORKER;
	c->any = true;
}

int
attach_main(struct options *opts)
{
	struct relay_how	 how = {
		.tty = true, .raw = opts->raw, .joined = true
	};
	struct relay_end	 end;
	struct keys		 keys;
	struct conn		*c;
	char			*sid;

	attach_keys(opts, &keys);
	how.keys = &keys;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		fail("attach: standard input and output have to be a "
		    "terminal: for a command through pipes there is \"sbxctl "
		    "exec\"");
	c = conn_open();
	sid = session_find(c, opts->argv[0], PICK_LIVE);
	attach_join(c, sid);
	relay_run(c, &how, &end);
	/* What comes next finds the session ended, though another one that is
	 * attached may be slow to take its last output. */
	if (!end.detached && !end.hangup)
		choice_forget(c, sid, false);
	conn_close(c);
	if (end.midline && !end.hangup) {
		putchar('\n');
		fflush(stdout);
	}
	if (end.detached)
		say("session %s runs on: \"sbxctl attach %s\" comes back", sid,
		    sid);
	else if (!end.hangup)
		say("session %s: its command has ended with status %llu", sid,
		    (unsigned long long)end.status);
	free(sid);
	return ((int)end.status);
}
