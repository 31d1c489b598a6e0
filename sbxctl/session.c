/*
 * ls, show, rm; and which session a word, or the current folder, means.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/path.h"
#include "sbxctl.h"

/* Of several sessions that are meant, so many ids are told: one line. */
#define LIST_IDS	3
#define LIST_SIZE	128

static bool
sessions_take(void *ctx, struct msg *msg)
{
	struct sessions	*all = ctx;

	if (msg->type != MSG_SESSION)
		return (false);
	all->msgs = need(reallocarray(all->msgs, all->n + 1,
	    sizeof(*all->msgs)));
	all->msgs[all->n++] = *msg;
	memset(msg, 0, sizeof(*msg));
	msg->fd = -1;
	return (true);
}

void
sessions_get(struct conn *c, struct sessions *all)
{
	memset(all, 0, sizeof(*all));
	conn_collect(c, MSG_LIST, NULL, CONN_SHORT_MS, sessions_take, all);
}

void
sessions_free(struct sessions *all)
{
	size_t	i;

	for (i = 0; i < all->n; i++)
		msg_free(&all->msgs[i]);
	free(all->msgs);
	memset(all, 0, sizeof(*all));
}

static const struct m_SESSION *
sessions_at(const struct sessions *all, size_t i)
{
	return (all->msgs[i].body);
}

/* By the beginning of its id, else by its whole name. */
static bool
session_matches(const struct m_SESSION *s, const char *word, bool name)
{
	if (name)
		return (s->name != NULL && strcmp(s->name, word) == 0);
	return (strncmp(s->session, word, strlen(word)) == 0);
}

static bool
session_here(const struct m_SESSION *s, const char *cwd, bool unused)
{
	size_t	i;

	(void)unused;
	for (i = 0; i < s->more.n; i++)
		if (path_within(s->more.v[i], cwd))
			return (true);
	return (path_within(s->project, cwd));
}

typedef bool	match_fn(const struct m_SESSION *, const char *, bool);

/* How many match; the first ones' ids in list, the last one's in *sid. */
static size_t
session_count(const struct sessions *all, match_fn *match, const char *what,
    bool name, const char **sid, char list[LIST_SIZE])
{
	size_t	i, n = 0;
	char	more[LIST_SIZE];

	list[0] = '\0';
	for (i = 0; i < all->n; i++) {
		if (!match(sessions_at(all, i), what, name))
			continue;
		*sid = sessions_at(all, i)->session;
		if (n++ >= LIST_IDS)
			continue;
		strlcat(list, n == 1 ? "" : ", ", LIST_SIZE);
		strlcat(list, *sid, LIST_SIZE);
	}
	if (n > LIST_IDS) {
		snprintf(more, sizeof(more), "; %zu in all: sbxctl ls", n);
		strlcat(list, more, LIST_SIZE);
	}
	return (n);
}

/* Nothing of it waits for anybody. */
static bool
session_is_through(struct conn *c, const struct m_SESSION *s)
{
	size_t	i;

	if (strcmp(s->state, "failed") == 0)
		return (true);
	if (strcmp(s->state, "ended") != 0 || review_waits(c, s->session,
	    s->more.n > 0 ? s->project : NULL))
		return (false);
	for (i = 0; i < s->more.n; i++)
		if (review_waits(c, s->session, s->more.v[i]))
			return (false);
	return (true);
}

/* Of several the only one that is not through: what has landed stays until it
 * is removed, and the next session is the one that is meant. */
static char *
session_of_several(struct conn *c, const struct sessions *all,
    const char *cwd)
{
	const struct m_SESSION	*s;
	char			*found = NULL;
	size_t			 i;

	for (i = 0; i < all->n; i++) {
		s = sessions_at(all, i);
		if (!session_here(s, cwd, false) || session_is_through(c, s))
			continue;
		if (found != NULL) {
			free(found);
			return (NULL);
		}
		found = copy(s->session);
	}
	return (found);
}

static char *
session_of_folder(struct conn *c, const struct sessions *all)
{
	char		 list[LIST_SIZE], *cwd = project_cwd(), *found = NULL;
	const char	*sid;
	size_t		 n;

	n = session_count(all, session_here, cwd, false, &sid, list);
	if (n == 1)
		found = copy(sid);
	else if (n == 0)
		fail("%s: no session has this folder as its project: name "
		    "one, \"sbxctl ls\" lists them", cwd);
	else if ((found = session_of_several(c, all, cwd)) == NULL)
		fail("%s: the project of several sessions: name one: %s", cwd,
		    list);
	free(cwd);
	return (found);
}

/* NULL where there is none; fails where there are several. */
static char *
session_of_word(const struct sessions *all, const char *word)
{
	char		 list[LIST_SIZE];
	const char	*sid;
	size_t		 n;

	if (*word == '\0')
		return (NULL);
	n = session_count(all, session_matches, word, false, &sid, list);
	if (n == 0)
		n = session_count(all, session_matches, word, true, &sid,
		    list);
	if (n > 1)
		fail("%s: stands for several sessions: name one: %s", word,
		    list);
	return (n == 1 ? copy(sid) : NULL);
}

char *
session_try(struct conn *c, const char *word)
{
	struct sessions	 all;
	char		*sid;

	sessions_get(c, &all);
	sid = session_of_word(&all, word);
	sessions_free(&all);
	return (sid);
}

/* Leaves those that have ended out. */
static void
sessions_live(struct sessions *all)
{
	size_t	i, n = 0;

	for (i = 0; i < all->n; i++)
		if (strcmp(sessions_at(all, i)->state, "running") == 0)
			all->msgs[n++] = all->msgs[i];
		else
			msg_free(&all->msgs[i]);
	all->n = n;
}

static char *
session_pick(struct conn *c, const char *word, bool live)
{
	struct sessions	 all;
	char		*sid;

	if (word != NULL && *word == '\0')
		fail("an empty session: name one by its id or name, \"sbxctl "
		    "ls\" lists them");
	sessions_get(c, &all);
	if (live)
		sessions_live(&all);
	sid = word == NULL ? session_of_folder(c, &all) :
	    session_of_word(&all, word);
	sessions_free(&all);
	if (sid == NULL)
		fail("%s: no session's id begins so, and none has that name: "
		    "\"sbxctl ls\" lists them", word);
	return (sid);
}

char *
session_find(struct conn *c, const char *word)
{
	return (session_pick(c, word, false));
}

char *
session_find_live(struct conn *c, const char *word)
{
	return (session_pick(c, word, word == NULL));
}

static void
session_show(struct conn *c, const char *sid, struct msg *msg)
{
	struct m_SID	body = { .session = sid };

	conn_send(c, MSG_SHOW, &body);
	conn_expect(c, MSG_SESSION, msg, CONN_SHORT_MS);
}

void
session_roots(struct conn *c, const char *sid, struct roots *roots)
{
	const struct m_SESSION	*m;
	struct msg		 msg;
	size_t			 i;

	session_show(c, sid, &msg);
	m = msg.body;
	if (!roots_set(roots, m->project, &m->more))
		fail("%s: broken answer: a session of more than %d roots",
		    c->path, LIMIT_ROOTS);
	for (i = 0; i < roots->n; i++)
		roots->v[i] = copy(roots->v[i]);
	msg_free(&msg);
}

void
session_roots_free(struct roots *roots)
{
	size_t	i;

	for (i = 0; i < roots->n; i++)
		free((void *)(uintptr_t)roots->v[i]);
	roots->n = 0;
}

/* "A, B and 2 more": for one line. */
static char *
roots_list(const struct roots *roots)
{
	char	*text;
	size_t	 i, size;
	FILE	*fp = need(open_memstream(&text, &size));

	for (i = 0; i < roots->n && i < LIST_IDS; i++)
		fprintf(fp, "%s%s", i == 0 ? "" : i + 1 == roots->n ?
		    " or " : ", ", roots->v[i]);
	if (i < roots->n)
		fprintf(fp, " or one of %zu more", roots->n - i);
	fclose(fp);
	return (need(text));
}

/* A folder that is gone is a root still. */
static const char *
root_by_path(const char *command, const char *sid, const struct roots *roots,
    const char *repo)
{
	char		 clean[PATH_MAX], *cwd, *real = realpath(repo, NULL);
	const char	*root;

	if (real != NULL && (root = roots_over(roots, real)) != NULL) {
		free(real);
		return (root);
	}
	free(real);
	cwd = project_cwd();
	if (*repo == '\0' || path_clean(cwd, repo, clean, sizeof(clean)) ==
	    -1 || (root = roots_over(roots, clean)) == NULL)
		fail("%s: --repo %s: no root of session %s: name %s", command,
		    repo, sid, roots_list(roots));
	free(cwd);
	return (root);
}

const char *
session_root_or_all(const char *command, const char *sid,
    const struct roots *roots, const char *repo, bool *all)
{
	*all = repo == NULL && roots->n > 1;
	if (repo == NULL)
		return (NULL);
	return (root_by_path(command, sid, roots, repo));
}

const char *
session_root(const char *command, const char *sid, const struct roots *roots,
    const char *repo)
{
	const char	*root;
	bool		 all;

	root = session_root_or_all(command, sid, roots, repo, &all);
	if (all)
		fail("%s: session %s has %zu roots: give --repo %s", command,
		    sid, roots->n, roots_list(roots));
	return (root);
}

bool
session_ended(struct conn *c, const char *sid)
{
	struct msg	msg;
	bool		ended;

	session_show(c, sid, &msg);
	ended = strcmp(((const struct m_SESSION *)msg.body)->state,
	    "ended") == 0;
	msg_free(&msg);
	return (ended);
}

int
ls_main(struct options *opts)
{
	struct conn	*c = conn_open();
	struct sessions	 all;

	sessions_get(c, &all);
	out_form(opts)->sessions(&all);
	/* Nothing at all would leave open whether it was looked for. */
	if (all.n == 0 && !opts->json)
		say("no sessions");
	sessions_free(&all);
	conn_close(c);
	return (done(0));
}

int
show_main(struct options *opts)
{
	struct conn	*c = conn_open();
	char		*sid = session_find(c, opts->argv[0]);
	struct msg	 msg;

	session_show(c, sid, &msg);
	out_form(opts)->session(msg.body);
	msg_free(&msg);
	free(sid);
	conn_close(c);
	return (done(0));
}

static void
remove_ask(struct conn *c, const char *sid, bool discard, struct msg *msg,
    char **warning)
{
	struct m_REMOVE	body = { .session = sid, .discard = discard };

	*warning = NULL;
	progress_begin("removing", sid);
	conn_send(c, MSG_REMOVE, &body);
	for (;;) {
		conn_recv(c, msg, CONN_REVIEW_MS);
		progress_end();
		if (msg->type == MSG_OK || msg->type == MSG_ERROR)
			return;
		if (msg->type != MSG_TEXT || *warning != NULL)
			fail("%s: broken answer: %s to REMOVE", c->path,
			    proto_name(msg->type));
		*warning = copy(((const struct m_TEXT *)msg->body)->text);
		msg_free(msg);
	}
}

bool
session_gone(struct conn *c, const char *sid)
{
	const struct m_ERROR	*e;
	struct m_SID		 body = { .session = sid };
	struct msg		 msg;
	bool			 gone;

	conn_send(c, MSG_SHOW, &body);
	conn_recv(c, &msg, CONN_SHORT_MS);
	e = msg.body;
	gone = msg.type == MSG_ERROR && strcmp(e->code, "session.unknown") == 0;
	msg_free(&msg);
	if (gone)
		say("session %s is gone: it was removed elsewhere before this "
		    "was answered, and nothing is done now", sid);
	return (gone);
}

void
session_wait(struct conn *c, const char *sid)
{
	struct m_WAIT	wait = { .session = sid };
	struct msg	msg;

	conn_send(c, MSG_WAIT, &wait);
	conn_expect(c, MSG_SESSION, &msg, CONN_START_MS);
	msg_free(&msg);
}

bool
session_waited(struct conn *c, const char *sid, struct msg *msg)
{
	if (msg->type != MSG_ERROR || strcmp(((const struct m_ERROR *)
	    msg->body)->code, "session.ending") != 0)
		return (false);
	msg_free(msg);
	session_wait(c, sid);
	return (true);
}

void
session_remove(struct conn *c, const char *sid, bool discard, struct msg *msg,
    char **warning)
{
	remove_ask(c, sid, discard, msg, warning);
	if (session_waited(c, sid, msg))
		remove_ask(c, sid, discard, msg, warning);
}

int
rm_main(struct options *opts)
{
	struct conn	*c = conn_open();
	char		*sid = session_find(c, opts->argv[0]);
	char		*warning;
	struct msg	 msg;

	progress_allow(!opts->json);
	session_remove(c, sid, opts->discard, &msg, &warning);
	if (msg.type == MSG_ERROR)
		conn_refused(&msg);
	msg_free(&msg);
	out_form(opts)->removed(sid, warning);
	fflush(stdout);
	if (warning != NULL)
		say("%s", warning);
	free(warning);
	free(sid);
	conn_close(c);
	return (done(0));
}
