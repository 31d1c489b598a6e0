/*
 * For people: sessions, one a line or all about one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sbxctl.h"

enum {
	LS_SESSION, LS_NAME, LS_STATE, LS_USER, LS_PROJECT, LS_COMMAND,
	LS_COLUMNS
};

/* Words as a shell would take them, near enough to be read. */
static char *
text_words(const struct strv *words)
{
	char	*text, *seen;
	size_t	 i, size;
	bool	 bare;
	FILE	*fp = need(open_memstream(&text, &size));

	for (i = 0; i < words->n; i++) {
		seen = visible_label(words->v[i]);
		bare = *seen != '\0' && strpbrk(seen, " \"'$&;|<>()*?#~`\\!")
		    == NULL;
		fprintf(fp, "%s%s%s%s", i == 0 ? "" : " ", bare ? "" : "'",
		    seen, bare ? "" : "'");
		free(seen);
	}
	fclose(fp);
	return (need(text));
}

static void
text_list(const char *key, const struct strv *list,
    void (*show)(const char *, const char *))
{
	size_t	i;

	for (i = 0; i < list->n; i++)
		show(i == 0 ? key : "", list->v[i]);
}

static void
text_time(const char *key, uint64_t when)
{
	char		 buf[64];
	struct tm	 tm;
	time_t		 t = (time_t)when;

	if (when != 0 && localtime_r(&t, &tm) != NULL &&
	    strftime(buf, sizeof(buf), "%Y-%m-%d %H:%M:%S", &tm) > 0)
		text_line(key, buf);
}

/* "ended 0", "running": what is told of how it ended. */
static void
text_state(const struct m_SESSION *s, char *buf, size_t size)
{
	if (s->exited)
		snprintf(buf, size, "%s %" PRIu64, s->state, s->status);
	else
		snprintf(buf, size, "%s", s->state);
}

/* All of its roots in one column: a session is a line. */
static char *
text_roots(const struct m_SESSION *s)
{
	char	*text, *root = visible_name(s->project);
	size_t	 i, size;
	FILE	*fp = need(open_memstream(&text, &size));

	fputs(root, fp);
	free(root);
	for (i = 0; i < s->more.n; i++) {
		root = visible_name(s->more.v[i]);
		fprintf(fp, ",%s", root);
		free(root);
	}
	fclose(fp);
	return (need(text));
}

static void
text_cells(const struct m_SESSION *s, char **cell)
{
	char	state[48], *user;

	text_state(s, state, sizeof(state));
	cell[LS_SESSION] = visible(s->session);
	cell[LS_NAME] = visible_label(s->name != NULL ? s->name : "-");
	cell[LS_STATE] = visible(state);
	user = who_user(s->uid);
	cell[LS_USER] = visible(user);
	free(user);
	cell[LS_PROJECT] = text_roots(s);
	cell[LS_COMMAND] = text_words(&s->argv);
}

/* The least that a path and a command are cut to, and what is much for a
 * name. */
#define LS_LEAST	10
#define LS_NAMES	12

/*
 * On a terminal a session is one line of it. What is cut first is long names;
 * a path and a command share what is left, and one that is short leaves the
 * other more.
 */
static void
text_fit(size_t width[LS_COLUMNS], size_t cols)
{
	size_t	i, left, all = COLUMN_GAP * (LS_COLUMNS - 1);

	for (i = 0; i < LS_COLUMNS; i++)
		all += width[i];
	if (all <= cols)
		return;
	all -= width[LS_PROJECT] + width[LS_COMMAND];
	for (i = LS_NAME; i <= LS_USER; i++)
		if (width[i] > LS_NAMES) {
			all -= width[i] - LS_NAMES;
			width[i] = LS_NAMES;
		}
	left = cols > all + 2 * LS_LEAST ? cols - all : 2 * LS_LEAST;
	if (width[LS_PROJECT] + width[LS_COMMAND] <= left)
		return;
	if (width[LS_COMMAND] <= left / 2)
		width[LS_PROJECT] = left - width[LS_COMMAND];
	else {
		if (width[LS_PROJECT] > left / 2)
			width[LS_PROJECT] = left / 2;
		width[LS_COMMAND] = left - width[LS_PROJECT];
	}
}

void
text_sessions(const struct sessions *all)
{
	static const char *const	names[LS_COLUMNS] = {
		"SESSION", "NAME", "STATE", "USER", "PROJECT", "COMMAND"
	};
	char		**cells, **row;
	size_t		  width[LS_COLUMNS] = { 0 }, i, j, n = all->n + 1;
	uint64_t	  rows, cols;

	if (all->n == 0)
		return;
	cells = need(calloc(n, LS_COLUMNS * sizeof(*cells)));
	for (i = 0; i < n; i++) {
		row = cells + i * LS_COLUMNS;
		if (i > 0)
			text_cells(all->msgs[i - 1].body, row);
		for (j = 0; j < LS_COLUMNS; j++) {
			if (i == 0)
				row[j] = copy(names[j]);
			width[j] = column_wider(width[j], row[j]);
		}
	}
	/* What reads a pipe or a file gets all of it. */
	if (terminal_size(STDOUT_FILENO, &rows, &cols))
		text_fit(width, (size_t)cols);
	for (i = 0; i < n; i++) {
		row = cells + i * LS_COLUMNS;
		for (j = 0; j < LS_COLUMNS; j++)
			column_put(stdout, row[j], width[j], j == LS_PROJECT,
			    j == LS_COLUMNS - 1);
		for (j = 0; j < LS_COLUMNS; j++)
			free(row[j]);
	}
	free(cells);
}

/* So many are listed, and so much of a command. */
#define CHOICES		5
#define CHOICE_COMMAND	40

void
text_choices(const struct m_SESSION *const *v, size_t n)
{
	char	*cells[CHOICES][LS_COLUMNS];
	size_t	 width[LS_COLUMNS] = { 0 }, i, j;
	size_t	 rows = n < CHOICES ? n : CHOICES;

	for (i = 0; i < rows; i++) {
		text_cells(v[i], cells[i]);
		for (j = 0; j < LS_COLUMNS; j++)
			width[j] = column_wider(width[j], cells[i][j]);
	}
	if (width[LS_NAME] > LS_NAMES)
		width[LS_NAME] = LS_NAMES;
	if (width[LS_COMMAND] > CHOICE_COMMAND)
		width[LS_COMMAND] = CHOICE_COMMAND;
	for (i = 0; i < rows; i++) {
		fputs("  ", stderr);
		for (j = 0; j < LS_COLUMNS; j++) {
			if (j != LS_USER && j != LS_PROJECT)
				column_put(stderr, cells[i][j], width[j],
				    false, j == LS_COMMAND);
			free(cells[i][j]);
		}
	}
	if (rows < n)
		fprintf(stderr, "  and %zu more: \"sbxctl ls\" lists them\n",
		    n - rows);
}

/* Where "uid:N" stands as a word of its own. NULL: nowhere. */
static const char *
text_uid(const char *from, const char *text, uid_t *uid, const char **end)
{
	const char	*p, *bad;
	char		 number[16];
	size_t		 n;

	for (p = from; (p = strstr(p, "uid:")) != NULL; p += 4) {
		n = strspn(p + 4, "0123456789");
		if ((p > text && p[-1] != ' ') || n >= sizeof(number))
			continue;
		memcpy(number, p + 4, n);
		number[n] = '\0';
		*uid = (uid_t)strtonum(number, 0, UINT32_MAX - 1, &bad);
		*end = p + 4 + n;
		if (bad == NULL && (**end == '\0' || strchr(" ,:;", **end) !=
		    NULL))
			return (p);
	}
	return (NULL);
}

char *
text_names(const char *text)
{
	const char	*p, *from = text, *end;
	char		*out, *name;
	size_t		 size;
	uid_t		 uid;
	FILE		*fp = need(open_memstream(&out, &size));

	while ((p = text_uid(from, text, &uid, &end)) != NULL) {
		name = who_name(uid);
		fprintf(fp, "%.*s%s", (int)(p - from), from, name);
		if (strncmp(name, "uid ", 4) != 0)
			fprintf(fp, " (uid %u)", uid);
		free(name);
		from = end;
	}
	fputs(from, fp);
	fclose(fp);
	return (need(out));
}

static void
text_who(const char *key, const char *value)
{
	char	*text;

	if (value == NULL)
		return;
	text = text_names(value);
	text_said(key, text);
	free(text);
}

/* How long it ran, and what ended it: one that died at once shows by that. */
static void
text_ran(const struct m_SESSION *s)
{
	const char	*name;
	char		 buf[64];

	if (!s->exited)
		return;
	name = sigabbrev_np((int)s->signal);
	if (s->signal == 0)
		snprintf(buf, sizeof(buf), "%" PRIu64 " ms", s->ms);
	else
		snprintf(buf, sizeof(buf), "%" PRIu64 " ms, ended by signal "
		    "%" PRIu64 "%s%s", s->ms, s->signal,
		    name != NULL ? ", SIG" : "", name != NULL ? name : "");
	text_line("ran", buf);
}

void
text_session(const struct m_SESSION *s)
{
	char	state[48], *words = text_words(&s->argv), *label;
	char	*user = who_user(s->uid);
	size_t	i;

	text_state(s, state, sizeof(state));
	text_line("session", s->session);
	if (s->name != NULL) {
		label = visible_label(s->name);
		printf("%-10s%s\n", "name", label);
		free(label);
	}
	text_line("state", state);
	text_who("reason", s->reason);
	text_who("owner", s->owner);
	text_line("user", user);
	text_line("project", s->project);
	for (i = 0; i < s->more.n; i++)
		text_line("", s->more.v[i]);
	text_line("home", s->home);
	text_line("folder", s->cwd);
	printf("%-10s%s\n", "command", words);
	text_list("hidden", &s->hide, text_line);
	text_list("read-only", &s->ro, text_line);
	text_line("network", s->network);
	text_time("created", s->created);
	text_time("ended", s->ended);
	text_ran(s);
	if (s->outside)
		text_line("outside", "it wrote there, too: changes --outside");
	text_list("note", &s->notes, text_said);
	text_list("missing", &s->missing, text_said);
	free(words);
	free(user);
}

void
text_ended(const struct m_SESSION *s)
{
	char	state[48], *why = text_names(s->reason != NULL ? s->reason :
		    "");
	char	*seen = visible(why);

	text_state(s, state, sizeof(state));
	printf("session %s: %s%s%s\n", s->session, state, *seen != '\0' ?
	    ": " : "", seen);
	free(seen);
	free(why);
}
