/*
 * run: a command in a new session, as if it ran here.
 */
#include <sys/stat.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/env.h"
#include "../common/fields.h"
#include "../common/path.h"
#include "sbxctl.h"

extern char	**environ;

struct run {
	const struct options *opts;
	const char	*command;	/* run, new */
	bool		 attach;
	struct who	 who;
	struct env	 env;
	struct roots	 roots;
	struct strv	 more;
	const char	*cwd;
	char		*here;
	struct strv	 hide, ro;
	struct relay_how how;
};

static const char *const run_defaults[][2] = {
	{ "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:"
	    "/bin" },
};

/* Folders that are the caller's, not the session user's. */
static const char *const run_not_as[] = {
	"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME",
	"XDG_STATE_HOME", "MAIL", "TMPDIR",
};

static void
run_set(struct env *env, const char *name, const char *value)
{
	if (env_set(env, name, value) == -1)
		fail("out of memory");
}

void
run_env_check(const char *command, const struct words *words)
{
	size_t	i;

	for (i = 0; i < words->n; i++) {
		if (strchr(words->v[i], '=') == NULL)
			fail_usage("%s: --env %s: no value: give --env "
			    "%s=VALUE", command, words->v[i], *words->v[i] !=
			    '\0' ? words->v[i] : "NAME");
		if (!env_valid(words->v[i]))
			fail_usage("%s: --env %s: no name before the \"=\": "
			    "give --env NAME=VALUE", command, words->v[i]);
		if (env_never(words->v[i]))
			fail("--env %.*s: this name never enters a session: "
			    "leave it out",
			    (int)strcspn(words->v[i], "="), words->v[i]);
	}
}

/*
 * A folder for temporary files below one that is fresh in a session is not
 * there: mktemp(1) and others would fail, where without the name they take
 * /tmp, which is the session's own.
 */
static void
run_env_temporary(struct run *run)
{
	static const char *const names[] = { "TMPDIR", "TMP", "TEMP" };
	static const char *const fresh[] = { "/tmp", "/run", "/dev" };
	char		path[LIMIT_PATH + 1];
	const char	*value, *rest;
	size_t		i, j;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if ((value = env_get(&run->env, names[i])) == NULL ||
		    path_clean(run->here, value, path, sizeof(path)) == -1 ||
		    path_within(run->who.home, path) ||
		    roots_over(&run->roots, path) != NULL)
			continue;
		for (j = 0; j < sizeof(fresh) / sizeof(fresh[0]); j++)
			if ((rest = path_below(fresh[j], path)) != NULL &&
			    *rest != '\0' && strcmp(path, "/dev/shm") != 0) {
				env_unset(&run->env, names[i]);
				break;
			}
	}
}

/* --env comes last and wins; what never enters a session is told. */
static void
run_env_asked(struct run *run)
{
	const struct words	*words = &run->opts->env;
	size_t			 i;

	run_env_check(run->command, words);
	for (i = 0; i < words->n; i++)
		if (env_add(&run->env, words->v[i]) == -1)
			fail("out of memory");
}

static void
run_env(struct run *run)
{
	char	runtime[64];
	size_t	i;

	env_init(&run->env);
	if (env_sieve(&run->env, (const char *const *)environ, false) == -1)
		fail("out of memory");
	env_unset(&run->env, "_");
	env_unset(&run->env, "OLDPWD");
	for (i = 0; run->who.as && i < sizeof(run_not_as) /
	    sizeof(run_not_as[0]); i++)
		env_unset(&run->env, run_not_as[i]);
	for (i = 0; i < sizeof(run_defaults) / sizeof(run_defaults[0]); i++)
		if (env_get(&run->env, run_defaults[i][0]) == NULL)
			run_set(&run->env, run_defaults[i][0],
			    run_defaults[i][1]);
	run_set(&run->env, "HOME", run->who.home);
	run_set(&run->env, "USER", run->who.user);
	run_set(&run->env, "LOGNAME", run->who.user);
	run_set(&run->env, "SHELL", run->who.shell);
	run_set(&run->env, "PWD", run->cwd);
	if (env_get(&run->env, "XDG_RUNTIME_DIR") != NULL) {
		snprintf(runtime, sizeof(runtime), "/run/user/%u",
		    run->who.uid);
		run_set(&run->env, "XDG_RUNTIME_DIR", runtime);
	}
	run_env_temporary(run);
	run_env_asked(run);
}

/* A session's name is a line in lists, and a word on command lines. */
static void
run_name(const char *name)
{
	const unsigned char	*p;

	if (name == NULL)
		return;
	if (*name == '\0' || *name == '-')
		fail("--name \"%s\": a name is not empty and does not begin "
		    "with \"-\": choose another", name);
	if (strlen(name) > LIMIT_NAME)
		fail("--name %.40s...: longer than %d bytes: choose a shorter "
		    "one", name, LIMIT_NAME);
	if (!utf8_valid(name, strlen(name)))
		fail("--name %s: not UTF-8: choose another", name);
	for (p = (const unsigned char *)name; *p != '\0'; p++)
		if (*p < 0x20 || *p == 0x7f)
			fail("--name %s: a name has no control characters: "
			    "choose another", name);
}

/* The longest word that execve takes, less its NUL. */
#define RUN_WORD_MAX	((size_t)131071)

void
run_terminal(struct relay_how *how)
{
	how->tty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
	    terminal_size(STDIN_FILENO, &how->rows, &how->cols);
}

void
run_words(const char *what, const char *const *v, size_t n)
{
	size_t	i;

	if (n > LIMIT_ARGC)
		fail("%s: %zu words: the limit is %d: leave some out", what,
		    n, LIMIT_ARGC);
	for (i = 0; i < n; i++)
		if (strlen(v[i]) > RUN_WORD_MAX)
			fail("%s: %.40s...: longer than %zu bytes: no program "
			    "can be given such a word: put it in a file", what,
			    v[i], RUN_WORD_MAX);
}

/* A session that nobody is attached to at first has a terminal as well: its
 * size is that of ours, if we have one. */
static void
run_screen(struct run *run)
{
	struct relay_how	*how = &run->how;

	how->raw = run->opts->raw;
	if (run->attach) {
		run_terminal(how);
		return;
	}
	how->tty = true;
	if (!terminal_size(STDIN_FILENO, &how->rows, &how->cols) &&
	    !terminal_size(STDERR_FILENO, &how->rows, &how->cols)) {
		how->rows = 24;
		how->cols = 80;
	}
	if (env_get(&run->env, "TERM") == NULL)
		run_set(&run->env, "TERM", "xterm-256color");
}

static void
run_prepare(struct run *run, const struct options *opts, bool attach)
{
	memset(run, 0, sizeof(*run));
	run->opts = opts;
	run->attach = attach;
	run->command = attach ? "run" : "new";
	if (*opts->argv[0] == '\0')
		fail("the command is empty: name one");
	run_name(opts->name);
	who_find(opts->as, &run->who);
	project_roots(&opts->repo, &run->who, &run->roots, &run->more);
	run->here = project_cwd();
	run->cwd = roots_over(&run->roots, run->here) != NULL ? run->here :
	    run->roots.v[0];
	run_env(run);
	run_screen(run);
	run_words("the command", (const char *const *)opts->argv,
	    (size_t)opts->argc);
	run_words("the environment", (const char *const *)run->env.v,
	    run->env.n);
}

/* Sends NEW. Its answers are SESSION from sbxd, then the worker's. */
static struct conn *
run_new(struct run *run)
{
	const struct options	*opts = run->opts;
	struct m_NEW		 body = { 0 };

	body.argv.n = (size_t)opts->argc;
	body.argv.v = (const char **)(void *)opts->argv;
	body.env.n = run->env.n;
	body.env.v = (const char **)(void *)run->env.v;
	body.cwd = run->cwd;
	body.project = run->roots.v[0];
	body.more = run->more;
	body.home = run->who.home;
	body.user = run->who.user;
	body.name = opts->name;
	project_paths("--hide", &opts->hide, &run->who, run->here,
	    &run->hide);
	project_paths("--ro", &opts->ro, &run->who, run->here, &run->ro);
	body.hide = run->hide;
	body.ro = run->ro;
	body.network = opts->no_network ? "none" : "host";
	body.tty = run->how.tty;
	body.rows = run->how.rows;
	body.cols = run->how.cols;
	body.umask = (struct maybe){ true, umask(022) };
	umask((mode_t)body.umask.v);
	body.attach = run->attach;
	body.as = run->who.as;
	if (body.as) {
		body.uid = run->who.uid;
		body.gid = run->who.gid;
		body.groups.n = run->who.ngroups;
		body.groups.v = run->who.groups;
	}
	early_begin();
	return (conn_ask(MSG_NEW, &body));
}

/* Nothing of a home that is the project is outside of it. */
static void
run_home(const struct run *run)
{
	char	*home = realpath(run->who.home, NULL);

	if (home != NULL && roots_over(&run->roots, home) != NULL)
		say("note: all of the home folder %s is the project: what "
		    "changes anywhere in it is reviewed, and applying it "
		    "lands it there, keys and settings too: --repo DIR names "
		    "a smaller one", home);
	free(home);
}

/* Once it has started: a refusal is one line. */
static void
run_notes(const struct run *run)
{
	run_home(run);
	project_missing("--hide", &run->opts->hide, &run->hide,
	    "nothing is hidden yet");
	project_missing("--ro", &run->opts->ro, &run->ro,
	    "it is not read-only");
}

int
run_refusal(const struct msg *msg)
{
	const struct m_ERROR	*e = msg->body;

	say("%s", conn_error(msg));
	if (strcmp(e->code, "command.missing") == 0)
		return (EXIT_MISSING);
	return (strcmp(e->code, "command.notexec") == 0 ? EXIT_NOTEXEC :
	    EXIT_RUN);
}

/* The start was refused. */
static void __attribute__((noreturn))
run_refused(struct conn *c, const char *sid, bool fresh,
    const struct msg *msg)
{
	int	status = run_refusal(msg);

	if (sid != NULL)
		choice_forget(c, sid, fresh);
	/* By the signal that has waited for it, if one has. */
	early_end();
	exit(status);
}

/* Until the command runs: its session's id. */
static char *
run_start(struct conn *c, struct msg *msg, bool fresh)
{
	char	*sid = NULL;

	for (;;) {
		if (msg->type == MSG_ERROR)
			run_refused(c, sid, fresh, msg);
		if (msg->type == MSG_RUNNING && sid != NULL)
			break;
		if (msg->type != MSG_SESSION || sid != NULL)
			fail("%s: broken answer: %s while a session starts",
			    c->path, proto_name(msg->type));
		sid = copy(((const struct m_SESSION *)msg->body)->session);
		early_session(sid);
		msg_free(msg);
		/* From here on the other end is the session's worker. */
		c->ib.other = ROLE_WORKER;
		c->any = true;
		conn_recv(c, msg, CONN_START_MS);
	}
	msg_free(msg);
	return (sid);
}

/* Asked while the command runs, so that its end waits for nothing. */
static struct conn *
run_wait(const struct conn *c, const char *sid, bool keep)
{
	struct m_WAIT	 body = { .session = sid, .remove = !keep };
	struct conn	*second = conn_again(c);

	if (second == NULL)
		fail("%s: %s: the session %s is kept", c->path,
		    strerror(errno), sid);
	conn_send(second, MSG_WAIT, &body);
	return (second);
}

int
run_attached(struct conn *c, struct msg *first, const struct relay_how *how,
    bool keep, const struct run *run)
{
	bool			 fresh = run != NULL;
	struct relay_end	 end;
	struct after		 after;
	struct conn		*second;
	char			*sid;

	sid = run_start(c, first, fresh);
	if (fresh)
		run_notes(run);
	/* A session that somebody came back to does not go unasked. */
	second = run_wait(c, sid, keep || !fresh);
	relay_run(c, how, &end);
	conn_close(c);
	if (end.midline && !end.hangup)
		putchar('\n');
	if (end.lost) {
		choice_lost(second, sid, end.why);
		conn_close(second);
		return (EXIT_RUN);
	}
	after.session = sid;
	after.keep = keep || !fresh;
	/* Who has said keep has answered. */
	after.ask = how->tty && !end.hangup && !keep;
	choice_after(second, &after);
	conn_close(second);
	if (fflush(stdout) == EOF && !end.hangup)
		return (EXIT_RUN);
	return ((int)end.status);
}

int
run_main(struct options *opts)
{
	struct run	 run;
	struct conn	*c;
	struct msg	 msg;

	run_prepare(&run, opts, true);
	c = run_new(&run);
	conn_recv(c, &msg, CONN_START_MS);
	return (run_attached(c, &msg, &run.how, opts->keep, &run));
}

/* Its session runs when SESSION comes, and is nobody's affair of ours then. */
int
new_main(struct options *opts)
{
	const struct m_SESSION	*session;
	struct run		 run;
	struct conn		*c;
	struct msg		 msg;
	int			 status;

	run_prepare(&run, opts, false);
	c = run_new(&run);
	conn_recv(c, &msg, CONN_START_MS);
	if (msg.type == MSG_ERROR)
		run_refused(c, NULL, true, &msg);
	if (msg.type != MSG_SESSION)
		fail("%s: broken answer: %s while a session starts", c->path,
		    proto_name(msg.type));
	session = msg.body;
	run_notes(&run);
	choice_notes(session);
	out_form(opts)->started(session->session);
	if (early_is())
		say("session %s runs: \"sbxctl kill %s\" ends it",
		    session->session, session->session);
	msg_free(&msg);
	conn_close(c);
	status = done(0);
	early_end();
	return (status);
}
