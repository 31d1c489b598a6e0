/*
 * sbxctl: runs commands in sessions, shows what they changed, lands it.
 */
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sbxctl.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* What makes a session, or would; what reviews one; of one root. */
#define SEEN	(OPTION(REPO) | OPTION(HIDE) | OPTION(RO) | OPTION(AS))
#define MADE	(SEEN | OPTION(NAME) | OPTION(NO_NETWORK) | OPTION(ENV))
#define REVIEW	(OPTION(ROOT) | OPTION(JSON))

static int	help_main(struct options *);

static const struct command commands[] = {
	{ "run", run_main, MADE | OPTION(KEEP) | OPTION(RAW),
	    "[--] COMMAND [WORD...]", 1, -1, true, EXIT_RUN,
	    "run a command in a new session" },
	{ "ls", ls_main, OPTION(JSON),
	    NULL, 0, 0, false, EXIT_OTHER, "list the sessions" },
	{ "show", show_main, OPTION(JSON),
	    "[SESSION]", 0, 1, false, EXIT_OTHER, "all about one" },
	{ "changes", changes_main, REVIEW | OPTION(OUTSIDE),
	    "[SESSION]", 0, 1, false, EXIT_OTHER,
	    "list what it changed, with the digest" },
	{ "diff", diff_main, REVIEW,
	    "[SESSION]", 0, 1, false, EXIT_OTHER,
	    "show what it changed, escaped for people" },
	{ "patch", patch_main, REVIEW | OPTION(FILE),
	    "[SESSION]", 0, 1, false, EXIT_OTHER,
	    "write the patch, exactly, for git apply" },
	{ "apply", apply_main, REVIEW | OPTION(DIGEST) | OPTION(YES),
	    "[SESSION]", 0, 1, false, EXIT_OTHER,
	    "land the changes in the real files" },
	{ "discard", discard_main, REVIEW | OPTION(YES),
	    "[SESSION] [--] [PATH...]", 0, -1, false, EXIT_OTHER,
	    "drop changes, of these paths or all" },
	{ "rm", rm_main, OPTION(DISCARD) | OPTION(JSON),
	    "[SESSION]", 0, 1, false, EXIT_OTHER,
	    "remove a session; --discard: with its changes" },
	{ "stop", stop_main, OPTION(JSON),
	    "[SESSION]", 0, 1, false, EXIT_OTHER,
	    "ask its command to end, after 5 s end it" },
	{ "kill", kill_main, OPTION(JSON),
	    "[SESSION]", 0, 1, false, EXIT_OTHER, "end it at once" },
	{ "resume", resume_main, OPTION(KEEP) | OPTION(RAW),
	    "[SESSION] [-- COMMAND [WORD...]]", 0, -1, false, EXIT_RUN,
	    "its command again, or another from now on, over its changes" },
	{ "explain", explain_main, SEEN | OPTION(JSON),
	    "PATH [SESSION]", 1, 2, false, EXIT_OTHER,
	    "what a session sees at a path, and why" },
	{ "du", du_main, OPTION(JSON),
	    "[SESSION]", 0, 1, false, EXIT_OTHER,
	    "what sessions take on the disk" },
	{ "gc", gc_main, OPTION(OLDER) | OPTION(DRY_RUN) | OPTION(LOST) |
	    OPTION(JSON), NULL, 0, 0, false, EXIT_OTHER,
	    "remove what nobody can want, and say what" },
	{ "doctor", doctor_main, OPTION(JSON),
	    NULL, 0, 0, false, EXIT_OTHER,
	    "what this machine has and lacks for the suite" },
	{ "version", version_main, OPTION(JSON),
	    NULL, 0, 0, false, EXIT_OTHER, "of sbxctl and the running suite" },
	{ "new", new_main, MADE | OPTION(KEPT) | OPTION(JSON),
	    "[--] COMMAND [WORD...]", 1, -1, true, EXIT_RUN,
	    "run a command in a new session, and leave it running" },
	{ "attach", attach_main, OPTION(DETACH_KEYS) | OPTION(RAW),
	    "[SESSION]", 0, 1, false, EXIT_RUN,
	    "be at the terminal of a session that runs" },
	{ "exec", exec_main, OPTION(ENV) | OPTION(RAW),
	    "SESSION [--] COMMAND [WORD...]", 2, -1, true, EXIT_RUN,
	    "run another command in a session that runs" },
	{ "help", help_main, 0, "[COMMAND]", 0, 1, false, EXIT_OTHER,
	    "this list, or a command's own line" },
};

static void
help_print(FILE *fp)
{
	size_t	i;

	for (i = 0; i < COUNT(commands); i++)
		options_help(fp, i == 0 ? "usage:" : "      ", &commands[i]);
}

static void __attribute__((noreturn))
command_unknown(const char *word)
{
	const char	*meant = NULL;
	unsigned int	 slips = UINT_MAX;
	size_t		 i;

	if (*word == '\0')
		fail_usage("an empty command: name one, \"sbxctl help\" lists "
		    "them");
	if (*word == '-')
		fail_usage("%s: unknown option: sbxctl's own are --help and "
		    "--version, others come after a command: \"sbxctl help\" "
		    "lists them", word);
	for (i = 0; i < COUNT(commands); i++)
		if (near_enough(word, commands[i].word, &slips))
			meant = commands[i].word;
	if (meant != NULL)
		fail_usage("%s: unknown command: is \"sbxctl %s\" meant? "
		    "\"sbxctl help\" lists them", word, meant);
	fail_usage("%s: unknown command: \"sbxctl help\" lists them; to run "
	    "it in a session: sbxctl run %s", word, word);
}

static const struct command *
command_find(const char *word)
{
	size_t	i;

	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		word = "help";
	if (strcmp(word, "--version") == 0)
		word = "version";
	for (i = 0; i < COUNT(commands); i++)
		if (strcmp(commands[i].word, word) == 0)
			return (&commands[i]);
	command_unknown(word);
}

static int
help_main(struct options *opts)
{
	const struct command	*cmd;

	if (opts->argc == 0) {
		help_print(stdout);
		return (done(0));
	}
	cmd = command_find(opts->argv[0]);
	options_help(stdout, "usage:", cmd);
	options_list(stdout, cmd);
	return (done(0));
}

/* Nothing inside a session can reach the socket: say so instead of failing
 * in ways that look like a broken suite. */
static void
outside_only(const struct command *cmd)
{
	const char	*sid = getenv("SBX_SESSION");

	if (sid == NULL || cmd->run == help_main || cmd->run == version_main)
		return;
	fail("%s: this is the inside of session %s: sbxctl works outside "
	    "only: call it there", cmd->word, sid);
}

/* What our caller has closed must not become a socket of ours: it reads as
 * empty, and cannot be written to. */
static void
stdio_fill(void)
{
	int	fd;

	do
		if ((fd = open("/dev/null", O_RDONLY)) == -1)
			exit(EXIT_OTHER);
	while (fd <= STDERR_FILENO);
	close(fd);
}

int
main(int argc, char **argv)
{
	const struct command	*cmd;
	struct options		 opts;

	stdio_fill();
	setlocale(LC_CTYPE, "");
	/* A pipe that nobody reads is told by write, with a line. */
	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		help_print(stderr);
		return (EXIT_USAGE);
	}
	cmd = command_find(argv[1]);
	options_parse(cmd, argc - 2, argv + 2, &opts);
	fail_status = cmd->failure;
	outside_only(cmd);
	return (cmd->run(&opts));
}
