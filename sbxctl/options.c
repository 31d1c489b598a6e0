#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sbxctl.h"

enum option_kind { OPTION_FLAG, OPTION_VALUE, OPTION_LIST };

struct option {
	const char	*word;		/* "--repo", "-o" */
	enum option_kind kind;
	const char	*meta;		/* "DIR"; NULL for a flag */
	size_t		 off;		/* in struct options */
	const char	*means;
};

#define FLAG(word, member, means)					\
	{ word, OPTION_FLAG, NULL, offsetof(struct options, member), means }
#define VALUE(word, meta, member, means)				\
	{ word, OPTION_VALUE, meta, offsetof(struct options, member), means }
#define LIST(word, meta, member, means)					\
	{ word, OPTION_LIST, meta, offsetof(struct options, member), means }

/* What is parsed, listed by help and offered by the completions. */
static const struct option options[OPT_MAX] = {
	[OPT_REPO] = LIST("--repo", "DIR", repo,
	    "the project; of several each is a root"),
	[OPT_ROOT] = VALUE("--repo", "DIR", root,
	    "this root of the session's, by a folder in it"),
	[OPT_NAME] = VALUE("--name", "NAME", name, "a name for people"),
	[OPT_HIDE] = LIST("--hide", "PATH", hide,
	    "the session sees an empty one in its place"),
	[OPT_RO] = LIST("--ro", "PATH", ro, "the session cannot change it"),
	[OPT_NO_NETWORK] = FLAG("--no-network", no_network,
	    "a loopback of its own and nothing else"),
	[OPT_ENV] = LIST("--env", "NAME=VALUE", env, "set this variable"),
	[OPT_AS] = VALUE("--as", "USER", as,
	    "the session's user, if not you; for root"),
	[OPT_DETACH_KEYS] = VALUE("--detach-keys", "KEYS", detach_keys,
	    "leave the session running by these"),
	[OPT_KEEP] = FLAG("--keep", keep,
	    "keep it, changed or not, and ask nothing"),
	[OPT_KEPT] = FLAG("--keep", keep, "nothing: it is kept anyway"),
	[OPT_RAW] = FLAG("--raw", raw,
	    "pass its output to the terminal as it is"),
	[OPT_OUTSIDE] = FLAG("--outside", outside,
	    "what it changed elsewhere, and never lands"),
	[OPT_FILE] = VALUE("-o", "FILE", file,
	    "where the patch goes, - for standard output"),
	[OPT_DIGEST] = VALUE("--digest", "DIGEST", digest,
	    "only what was reviewed with this digest"),
	[OPT_YES] = FLAG("--yes", yes, "what there is now, unasked"),
	[OPT_OLDER] = VALUE("--older", "AGE", older,
	    "ended so long ago, like 12h; else 7d"),
	[OPT_DRY_RUN] = FLAG("--dry-run", dry_run,
	    "say what would go, and remove nothing"),
	[OPT_DISCARD] = FLAG("--discard", discard, "and drop its changes"),
	[OPT_LOST] = FLAG("--discard", discard,
	    "also what only a lost session has changed"),
	[OPT_JSON] = FLAG("--json", json, "one JSON object, for programs"),
};

/* Slips between two words: a letter that is wrong, missing, too many, or
 * swapped with its neighbour. Words of more than NEAR_MAX are no slip. */
#define NEAR_MAX	24

static unsigned int
near_least(unsigned int a, unsigned int b)
{
	return (a < b ? a : b);
}

static unsigned int
near_slips(const char *a, const char *b)
{
	unsigned int	d[NEAR_MAX + 1][NEAR_MAX + 1], cost;
	size_t		i, j, n = strlen(a), m = strlen(b);

	if (n > NEAR_MAX || m > NEAR_MAX)
		return (NEAR_MAX);
	for (i = 0; i <= n; i++)
		for (j = 0; j <= m; j++) {
			if (i == 0 || j == 0) {
				d[i][j] = (unsigned int)(i + j);
				continue;
			}
			cost = a[i - 1] != b[j - 1];
			d[i][j] = near_least(d[i - 1][j - 1] + cost,
			    near_least(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				d[i][j] = near_least(d[i][j],
				    d[i - 2][j - 2] + 1);
		}
	return (d[n][m]);
}

bool
near_enough(const char *word, const char *meant, unsigned int *slips)
{
	unsigned int	n = near_slips(word, meant);
	size_t		len = strlen(meant);

	/* The beginning of a word is meant for it; else less than half of it
	 * may be wrong. */
	if (len > strlen(word) && strlen(word) > 1 &&
	    strncmp(word, meant, strlen(word)) == 0)
		n = 1;
	if (n > 2 || 2 * n >= len || n >= *slips)
		return (false);
	*slips = n;
	return (true);
}

/* The command's one after this, NULL: its first; NULL after the last. */
static const struct option *
options_next(const struct command *cmd, const struct option *o)
{
	size_t	i;

	for (i = o == NULL ? 0 : (size_t)(o - options) + 1; i < OPT_MAX; i++)
		if (cmd->options & 1U << i)
			return (&options[i]);
	return (NULL);
}

#define OPTIONS_EACH(o, cmd)						\
	for ((o) = NULL; ((o) = options_next(cmd, o)) != NULL;)

/* The option that arg names; a long one's value may stand after a "=". */
static const struct option *
options_find(const struct command *cmd, const char *arg, const char **value)
{
	const struct option	*o;
	size_t			 len;

	*value = NULL;
	OPTIONS_EACH(o, cmd) {
		len = strlen(o->word);
		if (strncmp(o->word, arg, len) != 0)
			continue;
		if (arg[len] == '\0')
			return (o);
		if (arg[len] == '=' && arg[1] == '-') {
			*value = arg + len + 1;
			return (o);
		}
	}
	return (NULL);
}

/* The one that a slip was meant for, or NULL. */
static const struct option *
options_meant(const struct command *cmd, const char *arg)
{
	const struct option	*o, *meant = NULL;
	unsigned int		 slips = UINT_MAX;
	char			*word = need(strndup(arg, strcspn(arg, "=")));

	OPTIONS_EACH(o, cmd)
		if (strncmp(word, "--", 2) == 0 && word[2] != '\0' &&
		    near_enough(word + 2, o->word + 2, &slips))
			meant = o;
	free(word);
	return (meant);
}

/* "-o FILE", "--json". */
static void
option_put(FILE *fp, const struct option *o)
{
	fprintf(fp, "%s%s%s", o->word, o->meta != NULL ? " " : "",
	    o->meta != NULL ? o->meta : "");
}

/* All that the command takes: "--json, -o FILE". */
static char *
options_accepted(const struct command *cmd)
{
	const struct option	*o;
	const char		*before = "";
	char			*text;
	size_t			 size;
	FILE			*fp = need(open_memstream(&text, &size));

	OPTIONS_EACH(o, cmd) {
		fputs(before, fp);
		option_put(fp, o);
		before = ", ";
	}
	fclose(fp);
	return (need(text));
}

/* "run [--repo DIR]... [--] CMD...", malloc'ed. */
static char *
options_usage(const struct command *cmd)
{
	const struct option	*o;
	char			*text;
	size_t			 size;
	FILE			*fp = need(open_memstream(&text, &size));

	fputs(cmd->word, fp);
	OPTIONS_EACH(o, cmd) {
		fputs(" [", fp);
		option_put(fp, o);
		fprintf(fp, "]%s", o->kind == OPTION_LIST ? "..." : "");
	}
	if (cmd->args != NULL)
		fprintf(fp, " %s", cmd->args);
	fclose(fp);
	return (need(text));
}

void
options_help(FILE *fp, const char *before, const struct command *cmd)
{
	char	*usage = options_usage(cmd);

	fprintf(fp, "%s sbxctl %s\n\t%s\n", before, usage, cmd->help);
	free(usage);
}

void
options_list(FILE *fp, const struct command *cmd)
{
	const struct option	*o;
	int			 gap;

	OPTIONS_EACH(o, cmd) {
		gap = 20 - (int)strlen(o->word) - (o->meta == NULL ? 0 :
		    1 + (int)strlen(o->meta));
		fputc('\t', fp);
		option_put(fp, o);
		fprintf(fp, "%-*s%s\n", gap, o->kind == OPTION_LIST ? "..." :
		    "", o->means);
	}
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

static void __attribute__((noreturn))
options_unknown(const struct command *cmd, const char *arg)
{
	const struct option	*meant = options_meant(cmd, arg);

	if (cmd->options == 0)
		fail_usage("%s: %s: unknown option: it takes none: sbxctl %s",
		    cmd->word, arg, options_usage(cmd));
	fail_usage("%s: %s: unknown option: %s%s%saccepted are %s",
	    cmd->word, arg, meant != NULL ? "is " : "", meant != NULL ?
	    meant->word : "", meant != NULL ? " meant? " : "",
	    options_accepted(cmd));
}

/* One option at argv[i]; returns the place of the next word. */
static int
options_one(const struct command *cmd, int argc, char **argv, int i,
    struct options *opts)
{
	const struct option	*o;
	const char		*value;

	if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
		options_help(stdout, "usage:", cmd);
		options_list(stdout, cmd);
		exit(done(0));
	}
	if ((o = options_find(cmd, argv[i], &value)) == NULL)
		options_unknown(cmd, argv[i]);
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
