/*
 * ls, show, rm; and what is asked of a session.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/path.h"
#include "sbxctl.h"

/* Of several roots that are meant, so many are told: one line. */
#define LIST_ROOTS	3

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

	for (i = 0; i < roots->n && i < LIST_ROOTS; i++)
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
	char		*sid = session_find(c, opts->argv[0], PICK_NEWEST);
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

/* False: there is no suite any more, or none that answers. */
static bool
gone_ask(struct conn *c, const char *sid, struct msg *msg)
{
	struct m_SID	 body = { .session = sid };
	const char	*why;

	if (imsg_send(&c->ib, MSG_SHOW, ++c->id, -1, &body) == -1)
		return (false);
	while (imsg_recv(&c->ib, msg, CONN_SHORT_MS, &why) == 1) {
		if (msg->id == c->id)
			return (true);
		msg_free(msg);
	}
	return (false);
}

/* What keeps a session needs no suite; all else that is asked of one which is
 * not there has a line of its own. */
bool
session_gone(struct conn *c, const char *sid)
{
	const struct m_ERROR	*e;
	struct msg		 msg;
	bool			 gone;

	if (!gone_ask(c, sid, &msg))
		return (false);
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

/* Asked before it is removed, where somebody is told. */
static bool
session_strayed(struct conn *c, const char *sid)
{
	struct msg	msg;
	bool		outside;

	if (!isatty(STDERR_FILENO))
		return (false);
	session_show(c, sid, &msg);
	outside = ((const struct m_SESSION *)msg.body)->outside;
	msg_free(&msg);
	return (outside);
}

int
rm_main(struct options *opts)
{
	struct conn	*c = conn_open();
	char		*sid = session_find(c, opts->argv[0], PICK_ONE);
	char		*warning;
	bool		 outside = session_strayed(c, sid);
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
	choice_outside(sid, outside, true);
	free(warning);
	free(sid);
	conn_close(c);
	return (done(0));
}
