#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sbxctl.h"

/* The option that arg names; a long one's value may stand after a "=". */
static const struct option *
options_find(const struct command *cmd, const char *arg, const char **value)
{
	size_t	i, len;

	*value = NULL;
	for (i = 0; i < cmd->noptions; i++) {
		len = strlen(cmd->options[i].word);
		if (strncmp(cmd->options[i].word, arg, len) != 0)
			continue;
		if (arg[len] == '\0')
			return (&cmd->options[i]);
		if (arg[len] == '=' && arg[1] == '-') {
			*value = arg + len + 1;
			return (&cmd->options[i]);
		}
	}
	return (NULL);
}

/* All that the command takes: "--json, -o FILE". */
static char *
options_accepted(const struct command *cmd)
{
	char	*text;
	size_t	 i, size;
	FILE	*fp = need(open_memstream(&text, &size));

	for (i = 0; i < cmd->noptions; i++)
		fprintf(fp, "%s%s%s%s", i == 0 ? "" : ", ",
		    cmd->options[i].word, cmd->options[i].meta ? " " : "",
		    cmd->options[i].meta ? cmd->options[i].meta : "");
	if (cmd->noptions == 0)
		fputs("no option", fp);
	fclose(fp);
	return (need(text));
}

char *
options_usage(const struct command *cmd)
{
	const struct option	*o;
	char			*text;
	size_t			 i, size;
	FILE			*fp = need(open_memstream(&text, &size));

	fputs(cmd->word, fp);
	for (i = 0; i < cmd->noptions; i++) {
		o = &cmd->options[i];
		fprintf(fp, " [%s%s%s]%s", o->word, o->meta ? " " : "",
		    o->meta ? o->meta : "",
		    o->kind == OPTION_LIST ? "..." : "");
	}
	if (cmd->args != NULL)
		fprintf(fp, " %s", cmd->args);
	fclose(fp);
	return (need(text));
}

static void
words_add(struct words *words, const char *word)
{
	words->v = need(reallocarray(words->v, words->n + 2,
	    sizeof(*words->v)));
	words->v[words->n++] = word;
	words->v[words->n] = NULL;
}

static void
options_set(const struct command *cmd, const struct option *o,
    const char *value, struct options *opts)
{
	char		 *base = (char *)opts + o->off;
	const char	**place = (const char **)(void *)base;

	switch (o->kind) {
	case OPTION_FLAG:
		*(bool *)base = true;
		break;
	case OPTION_VALUE:
		if (*place != NULL)
			fail_usage("%s: %s: given twice (%s, %s): give it "
			    "once", cmd->word, o->word, *place, value);
		*place = value;
		break;
	case OPTION_LIST:
		words_add((struct words *)(void *)base, value);
		break;
	}
}

/* One option at argv[i]; returns the place of the next word. */
static int
options_one(const struct command *cmd, int argc, char **argv, int i,
    struct options *opts)
{
	const struct option	*o;
	const char		*value;

	if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
		printf("usage: sbxctl %s\n\t%s\n", options_usage(cmd),
		    cmd->help);
		exit(done(0));
	}
	if ((o = options_find(cmd, argv[i], &value)) == NULL)
		fail_usage("%s: %s: unknown option: accepted are %s",
		    cmd->word, argv[i], options_accepted(cmd));
	if (o->kind == OPTION_FLAG) {
		if (value != NULL)
			fail_usage("%s: %s: takes no value: give %s alone",
			    cmd->word, argv[i], o->word);
	} else if (value == NULL) {
		if (++i == argc)
			fail_usage("%s: %s: its value is missing: give %s %s",
			    cmd->word, o->word, o->word, o->meta);
		value = argv[i];
	}
	options_set(cmd, o, value, opts);
	return (i + 1);
}

static void
options_count(const struct command *cmd, const struct options *opts)
{
	if (opts->argc < cmd->min)
		fail_usage("%s: %s is missing: sbxctl %s", cmd->word,
		    cmd->args, options_usage(cmd));
	if (cmd->max != -1 && opts->argc > cmd->max)
		fail_usage("%s: %s: one word too many: sbxctl %s", cmd->word,
		    opts->argv[cmd->max], options_usage(cmd));
}

void
options_parse(const struct command *cmd, int argc, char **argv,
    struct options *opts)
{
	int	i = 0;

	memset(opts, 0, sizeof(*opts));
	opts->argv = need(calloc((size_t)argc + 1, sizeof(*opts->argv)));
	opts->before = -1;
	while (i < argc) {
		if (strcmp(argv[i], "--") == 0 && opts->before == -1) {
			opts->before = opts->argc;
			i++;
			break;
		}
		/* A lone "-" is a word, as everywhere. */
		if (argv[i][0] == '-' && argv[i][1] != '\0') {
			i = options_one(cmd, argc, argv, i, opts);
			continue;
		}
		if (cmd->rest)
			break;
		opts->argv[opts->argc++] = argv[i++];
	}
	while (i < argc)
		opts->argv[opts->argc++] = argv[i++];
	if (opts->before == -1)
		opts->before = opts->argc;
	options_count(cmd, opts);
}
