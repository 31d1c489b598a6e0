/*
 * exec: another command in a session that runs, with this terminal or these
 * descriptors, as if it ran here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/env.h"
#include "../common/path.h"
#include "sbxctl.h"

/* What belongs to a terminal, and not to a session. */
static const char *const exec_terminal[] = { "TERM", "COLORTERM" };

/* Over the session's own variables. */
static void
exec_env(const struct options *opts, bool tty, struct env *env)
{
	const char	*value;
	size_t		 i;

	env_init(env);
	for (i = 0; tty && i < sizeof(exec_terminal) /
	    sizeof(exec_terminal[0]); i++)
		if ((value = getenv(exec_terminal[i])) != NULL &&
		    env_set(env, exec_terminal[i], value) == -1)
			fail("out of memory");
	for (i = 0; i < opts->env.n; i++)
		if (env_add(env, opts->env.v[i]) == -1)
			fail("out of memory");
}

static void
exec_send(struct conn *c, const char *sid, const struct options *opts,
    char **argv, const struct relay_how *how)
{
	char		*here = project_cwd();
	struct roots	 roots;
	struct m_EXEC	 body = {
		.session = sid, .argv.v = (const char **)(void *)argv,
		.tty = how->tty, .rows = how->rows, .cols = how->cols
	};
	struct env	 env;

	while (argv[body.argv.n] != NULL)
		body.argv.n++;
	exec_env(opts, how->tty, &env);
	body.env.v = (const char **)(void *)env.v;
	body.env.n = env.n;
	session_roots(c, sid, &roots);
	if (roots_over(&roots, here) != NULL)
		body.cwd = here;
	conn_send(c, MSG_EXEC, &body);
	env_free(&env);
	session_roots_free(&roots);
	free(here);
}

/* Until the command runs; SESSION is sbxd's word, the rest the worker's. */
static void
exec_start(struct conn *c)
{
	struct msg	msg;

	conn_expect(c, MSG_SESSION, &msg, CONN_START_MS);
	msg_free(&msg);
	c->ib.other = ROLE_WORKER;
	c->any = true;
	conn_recv(c, &msg, CONN_START_MS);
	if (msg.type == MSG_ERROR)
		exit(run_refusal(&msg));
	if (msg.type != MSG_RUNNING)
		fail("%s: broken answer: %s while a command starts", c->path,
		    proto_name(msg.type));
	msg_free(&msg);
}

int
exec_main(struct options *opts)
{
	struct relay_how	 how = { .raw = opts->raw };
	struct relay_end	 end;
	struct conn		*c;
	char			**argv = opts->argv + 1, *sid;

	if (strcmp(*argv, "--") == 0)
		argv++;
	if (*argv == NULL)
		fail_usage("exec: COMMAND is missing: sbxctl exec SESSION [--] "
		    "COMMAND [WORD...]");
	if (**argv == '\0')
		fail("the command is empty: name one");
	run_env_check("exec", &opts->env);
	run_words("the command", (const char *const *)argv,
	    (size_t)(opts->argc - (argv - opts->argv)));
	run_terminal(&how);
	c = conn_open();
	sid = session_find(c, opts->argv[0], PICK_LIVE);
	exec_send(c, sid, opts, argv, &how);
	free(sid);
	exec_start(c);
	relay_run(c, &how, &end);
	conn_close(c);
	if (end.midline && !end.hangup)
		putchar('\n');
	if (end.why != NULL)
		say("%s", end.why);
	if (fflush(stdout) == EOF && !end.hangup)
		return (EXIT_RUN);
	return ((int)end.status);
}
