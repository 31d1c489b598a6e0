/*
 * For people. What came from a session is escaped before it is shown.
 */
#include <sys/stat.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/commit.h"
#include "../common/digest.h"
#include "../common/escape.h"
#include "sbxctl.h"

#define COLOUR_OFF	"\033[m"
#define COLOUR_BOLD	"\033[1m"
#define COLOUR_RED	"\033[31m"
#define COLOUR_GREEN	"\033[32m"
#define COLOUR_CYAN	"\033[36m"

#define LIST_MAX	20	/* skipped and ignored entries shown */

static bool
text_colour(void)
{
	const char	*term = getenv("TERM"), *no = getenv("NO_COLOR");

	return ((isatty(STDOUT_FILENO) || pager_runs()) &&
	    (no == NULL || *no == '\0') &&
	    term != NULL && strcmp(term, "dumb") != 0);
}

/* "KEY   value", escaped. */
void
text_line(const char *key, const char *value)
{
	char	*seen;

	if (value == NULL)
		return;
	seen = visible_name(value);
	printf("%-10s%s\n", key, seen);
	free(seen);
}

/* The same of a sentence, which may have a path in it. */
void
text_said(const char *key, const char *value)
{
	char	*seen;

	if (value == NULL)
		return;
	seen = visible(value);
	printf("%-10s%s\n", key, seen);
	free(seen);
}

char
text_letter(const char *kind)
{
	static const struct {
		const char	*kind;
		char		 letter;
	} letters[] = {
		{ "added", 'A' }, { "modified", 'M' }, { "deleted", 'D' },
		{ "mode", 'm' }, { "type", 'T' }, { "renamed", 'R' },
	};
	size_t	i;

	for (i = 0; i < sizeof(letters) / sizeof(letters[0]); i++)
		if (strcmp(letters[i].kind, kind) == 0)
			return (letters[i].letter);
	return ('?');
}

/* A new file's that a usual umask (022) would not have left so. */
static bool
text_unusual(const struct m_CHANGE *f)
{
	return (f->oldmode == 0 && S_ISREG((mode_t)f->newmode) &&
	    (f->newmode & 0777 & ~((f->newmode & 0100) != 0 ? UINT64_C(0755) :
	    UINT64_C(0644))) != 0);
}

static void
text_mode(const struct m_CHANGE *f)
{
	bool	link = S_ISLNK((mode_t)f->newmode);

	if (f->oldmode != 0 && f->newmode != 0 && f->oldmode != f->newmode)
		printf("  mode %06" PRIo64 " to %06" PRIo64, f->oldmode,
		    f->newmode);
	else if (f->oldmode == 0 && (link || (f->newmode & 0111) != 0))
		printf("  %s", link ? "symbolic link" : "executable");
	if (text_unusual(f))
		printf("  mode %06" PRIo64, f->newmode);
}

/* What does not go with a file that lands. */
static void
text_lost(unsigned char lost)
{
	static const struct {
		unsigned char	 bit;
		const char	*what;
	} words[] = {
		{ STRIP_SETUID, "without setuid and setgid" },
		{ STRIP_XATTR, "without extended attributes" },
		{ STRIP_LINKS, "as a file of its own" }
	};
	const char	*before = "  lands ";
	size_t		 i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if ((lost & words[i].bit) != 0) {
			printf("%s%s", before, words[i].what);
			before = ", and ";
		}
}

static void
text_change(const struct review *r, size_t i)
{
	const struct m_CHANGE	*f = &r->files[i];
	char			*path = visible_name(f->path), *from;

	printf("  %c  %s", text_letter(f->kind), path);
	if (f->from != NULL) {
		from = visible_name(f->from);
		printf("  from %s", from);
		free(from);
	}
	if (f->binary || f->opaque)
		printf("  binary, %" PRIu64 " to %" PRIu64 " bytes",
		    f->oldsize, f->newsize);
	else if (f->insertions != 0 || f->deletions != 0)
		printf("  +%" PRIu64 " -%" PRIu64, f->insertions,
		    f->deletions);
	text_mode(f);
	if (f->opaque)
		printf("  not in the patch: too large");
	text_lost(r->lost[i]);
	if (f->drift != NULL) {
		from = visible(f->drift);
		printf("  DRIFTED: %s", from);
		free(from);
	}
	putchar('\n');
	free(path);
}

static void
text_reasons(const char *what, const struct m_SKIPPED *v, size_t n)
{
	char	*path, *reason;
	size_t	 i;

	if (n == 0)
		return;
	printf("%s (%zu):\n", what, n);
	for (i = 0; i < n && i < LIST_MAX; i++) {
		path = visible_name(v[i].path);
		reason = visible(v[i].reason);
		printf("     %s  %s\n", path, reason);
		free(path);
		free(reason);
	}
	if (i < n)
		printf("     and %zu more: --json lists all\n", n - i);
}

static void
text_skipped(const struct review *r)
{
	text_reasons("skipped, never lands", r->skipped, r->nskipped);
}

static void
text_ignored(const struct review *r)
{
	char	*path;
	size_t	 i;

	if (r->nignored == 0)
		return;
	printf("ignored by the project's rules, not landed:\n");
	for (i = 0; i < r->nignored && i < LIST_MAX; i++) {
		path = visible_name(r->ignored[i].path);
		printf("     %s  %" PRIu64 " file%s, %" PRIu64 " bytes\n",
		    path, r->ignored[i].files,
		    r->ignored[i].files == 1 ? "" : "s", r->ignored[i].bytes);
		free(path);
	}
	if (i < r->nignored)
		printf("     and %zu more: --json lists all\n",
		    r->nignored - i);
}

static void
text_incomplete(const struct review *r)
{
	if (r->sum.incomplete)
		printf("INCOMPLETE: what is marked is not in the patch: git "
		    "apply alone does not give the whole, sbxctl apply "
		    "does\n");
}

static void
text_review(const struct review *r)
{
	char	*counts = review_counts(r), hex[2 * DIGEST_LEN + 1];
	size_t	 i;

	text_line("session", r->session);
	text_line("target", r->target);
	text_incomplete(r);
	for (i = 0; i < r->nfiles; i++)
		text_change(r, i);
	text_skipped(r);
	text_ignored(r);
	printf("%s", counts);
	if (r->sum.drifted != 0)
		printf(", %" PRIu64 " drifted", r->sum.drifted);
	digest_hex(r->digest, hex);
	printf("\ndigest    %s\n", hex);
	free(counts);
}

/* Of each root what of an only one would be shown. */
static void
text_each(const struct reviews *all, void (*show)(const struct review *))
{
	size_t	i;

	for (i = 0; i < all->n; i++) {
		if (i > 0)
			putchar('\n');
		show(&all->v[i]);
	}
}

static void
text_changes(const struct reviews *all)
{
	text_each(all, text_review);
}

static const char *
diff_colour(const char *line, size_t len)
{
	static const struct {
		const char	*start, *colour;
	} colours[] = {
		{ "diff --git ", COLOUR_BOLD }, { "--- ", COLOUR_BOLD },
		{ "+++ ", COLOUR_BOLD }, { "@@ ", COLOUR_CYAN },
		{ "+", COLOUR_GREEN }, { "-", COLOUR_RED },
	};
	size_t	i, n;

	for (i = 0; i < sizeof(colours) / sizeof(colours[0]); i++) {
		n = strlen(colours[i].start);
		if (len >= n && memcmp(line, colours[i].start, n) == 0)
			return (colours[i].colour);
	}
	return (NULL);
}

/* A line at a time: no character spans two, and memory stays bounded. */
static void
diff_line(const char *line, size_t len, bool colour)
{
	const char	*on = colour ? diff_colour(line, len) : NULL;
	char		*seen = need(escape_text(line, len, "\t"));

	printf("%s%s%s\n", on != NULL ? on : "", seen,
	    on != NULL ? COLOUR_OFF : "");
	free(seen);
}

/* Both directions of a binary file, which nobody reads. Returns where the next
 * file begins. How large it is now the first one says, if it has it whole. */
static const char *
diff_binary(const char *p, const char *end)
{
	const char	*nl = memchr(p, '\n', (size_t)(end - p));
	size_t		 size = 0;
	bool		 whole;

	whole = nl != NULL && strncmp(nl + 1, "literal ", 8) == 0;
	if (whole)
		size = strtoul(nl + 9, NULL, 10);
	for (; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (nl == NULL)
			nl = end;
		if (strncmp(p, "diff --git ", 11) == 0)
			break;
	}
	if (whole)
		printf("Binary file, now of %zu byte%s\n", size, size == 1 ?
		    "" : "s");
	else
		printf("Binary file, changed in part\n");
	return (p < end ? p : end);
}

static void
diff_lines(const char *p, const char *end)
{
	static const char	binary[] = "GIT binary patch\n";
	const char		*nl;
	bool			 colour = text_colour();

	while (p < end) {
		if (strncmp(p, binary, sizeof(binary) - 1) == 0) {
			p = diff_binary(p, end);
			continue;
		}
		nl = memchr(p, '\n', (size_t)(end - p));
		if (nl == NULL)
			nl = end;
		diff_line(p, (size_t)(nl - p), colour);
		p = nl + 1;
	}
}

static void
text_diff_one(const struct review *r)
{
	const char	*p = (const char *)r->patch;
	char		*counts = review_counts(r);

	text_line("session", r->session);
	text_line("target", r->target);
	printf("%s\n", counts);
	text_incomplete(r);
	free(counts);
	if (r->patchlen == 0)
		return;
	putchar('\n');
	diff_lines(p, p + r->patchlen);
}

static void
text_diff(const struct reviews *all)
{
	pager_begin();
	text_each(all, text_diff_one);
	pager_end();
}

static void
text_patch(const struct review *r, const char *file)
{
	char	*counts = review_counts(r), *seen = visible_name(file);

	printf("%s: %zu bytes: %s\n", seen, r->patchlen, counts);
	text_incomplete(r);
	free(counts);
	free(seen);
}

static void
text_landed(const struct review *r)
{
	char	*root = visible_name(r->root != NULL ? r->root : "");
	bool	 rest = r->nskipped > 0 || r->nignored > 0;

	printf("session %s: %" PRIu64 " file%s landed%s%s", r->session,
	    r->landed, r->landed == 1 ? "" : "s", *root != '\0' ? " in " :
	    "", root);
	if (r->stays)
		printf("; \"sbxctl rm %s%s\" removes the session",
		    rest ? "--discard " : "", r->session);
	putchar('\n');
	free(root);
	if (!r->unseen)
		return;
	text_reasons("landed, but for this", r->stripped, r->nstripped);
	text_skipped(r);
}

static void
text_refused(const struct review *r)
{
	size_t	i;

	for (i = 0; i < r->nfiles; i++)
		if (r->files[i].drift != NULL)
			text_change(r, i);
	fflush(stdout);
}

static void
text_discarded(const struct review *r)
{
	char	*root = visible_name(r->root != NULL ? r->root : "");

	printf("session %s: %" PRIu64 " change%s discarded%s%s\n", r->session,
	    r->landed, r->landed == 1 ? "" : "s", *root != '\0' ? " in " :
	    "", root);
	free(root);
}

static void
text_removed(const char *sid, const char *warning)
{
	(void)warning;
	printf("session %s: removed\n", sid);
}

/* The id alone: for "$(sbxctl new ...)". */
static void
text_started(const char *sid)
{
	printf("%s\n", sid);
}

static void
text_checks(const struct checks *all, bool good)
{
	char	*what, *text;
	size_t	 i;

	for (i = 0; i < all->n; i++) {
		what = visible(all->v[i].what);
		text = visible(all->v[i].text);
		printf("%-4s  %-14s  %s\n", all->v[i].level, what, text);
		free(what);
		free(text);
	}
	printf("%s\n", good ? "sessions can run here" :
	    "sessions cannot run here: mend what says fail");
}

static void
text_version(const struct conn *c)
{
	const char	*commit = commit_built();

	printf("sbxctl %s%s%s%s, protocol %d.%d\n", SBX_VERSION, commit !=
	    NULL ? " (" : "", commit != NULL ? commit : "", commit != NULL ?
	    ")" : "", PROTO_VERSION, PROTO_MINOR);
	if (c == NULL)
		printf("no suite is running\n");
	else
		printf("sbxd %s%s%s%s, protocol %d.%" PRIu64 ", at %s\n",
		    c->build, c->commit[0] != '\0' ? " (" : "", c->commit,
		    c->commit[0] != '\0' ? ")" : "", PROTO_VERSION, c->minor,
		    c->path);
}

const struct out	out_text = {
	.sessions = text_sessions,
	.session = text_session,
	.changes = text_changes,
	.diff = text_diff,
	.patch = text_patch,
	.landed = text_landed,
	.refused = text_refused,
	.discarded = text_discarded,
	.ended = text_ended,
	.removed = text_removed,
	.usages = text_usages,
	.explained = text_explained,
	.collected = text_collected,
	.outside = text_outside,
	.started = text_started,
	.checks = text_checks,
	.version = text_version,
};

const struct out *
out_form(const struct options *opts)
{
	return (opts->json ? &out_json : &out_text);
}
