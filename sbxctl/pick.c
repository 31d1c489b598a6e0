/*
 * Which session a word, or the current folder, means.
 */
#include <stdlib.h>
#include <string.h>

#include "../common/path.h"
#include "sbxctl.h"

/* Those that are meant, the newest first. */
struct picks {
	size_t			 n;
	const struct m_SESSION	**v;
};

/* By the beginning of its id, else by its whole name. */
static bool
match_id(const struct m_SESSION *s, const char *word)
{
	return (strncmp(s->session, word, strlen(word)) == 0);
}

static bool
match_name(const struct m_SESSION *s, const char *word)
{
	return (s->name != NULL && strcmp(s->name, word) == 0);
}

static bool
match_folder(const struct m_SESSION *s, const char *cwd)
{
	size_t	i;

	for (i = 0; i < s->more.n; i++)
		if (path_within(s->more.v[i], cwd))
			return (true);
	return (path_within(s->project, cwd));
}

/* Of one second's the later one in the list is the newer. */
static void
picks_take(struct picks *p, const struct sessions *all,
    bool (*match)(const struct m_SESSION *, const char *), const char *what)
{
	const struct m_SESSION	*s;
	size_t			 i, at;

	p->n = 0;
	for (i = 0; i < all->n; i++) {
		s = all->msgs[i].body;
		if (!match(s, what))
			continue;
		for (at = p->n++; at > 0 && p->v[at - 1]->created <=
		    s->created; at--)
			p->v[at] = p->v[at - 1];
		p->v[at] = s;
	}
}

static bool
pick_fits(const struct m_SESSION *s, enum pick pick)
{
	if (pick == PICK_LIVE)
		return (strcmp(s->state, "running") == 0 ||
		    strcmp(s->state, "starting") == 0);
	if (pick == PICK_ENDED)
		return (strcmp(s->state, "ended") == 0 ||
		    strcmp(s->state, "ending") == 0);
	return (true);
}

/* Leaves those out that this cannot be for; false: it is for none, and all
 * stay. */
static bool
picks_narrow(struct picks *p, enum pick pick)
{
	size_t	i, n = 0;

	for (i = 0; i < p->n; i++)
		if (pick_fits(p->v[i], pick))
			n++;
	if (n == 0)
		return (false);
	for (i = n = 0; i < p->n; i++)
		if (pick_fits(p->v[i], pick))
			p->v[n++] = p->v[i];
	p->n = n;
	return (true);
}

static void __attribute__((noreturn))
picks_refuse(const struct picks *p, const char *what, const char *why)
{
	say("%s: %s several sessions: name one:", what, why);
	text_choices(p->v, p->n);
	exit(fail_status);
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

/* The newest one that is not through: what has landed stays until it is
 * removed, and the next session is the one that is meant. NULL: none is.
 * *only: no other is either. */
static const struct m_SESSION *
picks_waiting(struct conn *c, const struct picks *p, bool *only)
{
	const struct m_SESSION	*found = NULL;
	size_t			 i;

	*only = false;
	for (i = 0; i < p->n; i++) {
		if (session_is_through(c, p->v[i]))
			continue;
		*only = found == NULL;
		if (found != NULL)
			break;
		found = p->v[i];
	}
	return (found);
}

static const struct m_SESSION *
pick_of_several(struct conn *c, const struct picks *p, const char *cwd,
    enum pick pick)
{
	const struct m_SESSION	*s;
	bool			 only;

	s = picks_waiting(c, p, &only);
	if (only)
		return (s);
	if (pick != PICK_NEWEST)
		picks_refuse(p, cwd, "the project of");
	if (s == NULL)
		s = p->v[0];
	say("session %s is taken, the newest of %zu of this folder%s: \"sbxctl "
	    "ls\" lists them", s->session, p->n, s == p->v[0] ? "" :
	    " of which something waits");
	return (s);
}

/* There are some, but in another state. */
static void __attribute__((noreturn))
pick_none(const struct m_SESSION *s, const char *cwd, enum pick pick)
{
	const char	*what = pick == PICK_ENDED ? "has ended" : "runs";
	const char	*sid = s->session;

	if (strcmp(s->state, "ended") == 0)
		fail("%s: no session of this folder %s: session %s has ended: "
		    "\"sbxctl resume %s\" starts it again", cwd, what, sid,
		    sid);
	if (strcmp(s->state, "running") == 0)
		fail("%s: no session of this folder %s: session %s runs: "
		    "\"sbxctl stop %s\" ends it", cwd, what, sid, sid);
	fail("%s: no session of this folder %s: session %s is %s: \"sbxctl "
	    "show %s\" says more", cwd, what, sid, s->state, sid);
}

static char *
pick_folder(struct conn *c, const struct sessions *all, struct picks *p,
    enum pick pick)
{
	const struct m_SESSION	*s;
	char			*cwd = project_cwd();

	picks_take(p, all, match_folder, cwd);
	if (p->n == 0)
		fail("%s: no session has this folder as its project: name "
		    "one, \"sbxctl ls\" lists them", cwd);
	if (!picks_narrow(p, pick))
		pick_none(p->v[0], cwd, pick);
	s = p->n == 1 ? p->v[0] : pick_of_several(c, p, cwd, pick);
	free(cwd);
	return (copy(s->session));
}

/* NULL where there is none; fails where there are several. Of one name, one
 * that this cannot be for is in nobody's way; alone the suite says what it is.
 * What an id's beginning leaves open may be a slip: the other one's end would
 * be the price. */
static char *
pick_word(const struct sessions *all, struct picks *p, const char *word,
    enum pick pick)
{
	if (*word == '\0')
		return (NULL);
	picks_take(p, all, match_id, word);
	if (p->n == 0) {
		picks_take(p, all, match_name, word);
		picks_narrow(p, pick);
	}
	if (p->n > 1)
		picks_refuse(p, word, "stands for");
	return (p->n == 1 ? copy(p->v[0]->session) : NULL);
}

/* word NULL: the folder's. */
static char *
session_pick(struct conn *c, const char *word, enum pick pick)
{
	struct sessions	 all;
	struct picks	 p = { 0 };
	char		*sid;

	sessions_get(c, &all);
	p.v = need(calloc(all.n + 1, sizeof(struct m_SESSION *)));
	sid = word == NULL ? pick_folder(c, &all, &p, pick) :
	    pick_word(&all, &p, word, pick);
	free(p.v);
	sessions_free(&all);
	return (sid);
}

char *
session_try(struct conn *c, const char *word)
{
	return (session_pick(c, word, PICK_ONE));
}

char *
session_find(struct conn *c, const char *word, enum pick pick)
{
	char	*sid;

	if (word != NULL && *word == '\0')
		fail("an empty session: name one by its id or name, \"sbxctl "
		    "ls\" lists them");
	if ((sid = session_pick(c, word, pick)) == NULL)
		fail("%s: no session's id begins so, and none has that name: "
		    "\"sbxctl ls\" lists them", word);
	return (sid);
}
