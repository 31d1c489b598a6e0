/*
 * du, gc: what sessions cost on the disk, and what of it nobody can want.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sbxctl.h"

static struct usage *
usage_of(struct usages *all, const char *sid)
{
	struct usage	*u;
	size_t		 i;

	for (i = 0; i < all->n; i++)
		if (strcmp(all->v[i].session, sid) == 0)
			return (&all->v[i]);
	all->v = need(reallocarray(all->v, all->n + 1, sizeof(*all->v)));
	u = &all->v[all->n++];
	memset(u, 0, sizeof(*u));
	u->session = copy(sid);
	return (u);
}

static bool
usage_take(void *ctx, struct msg *msg)
{
	const struct m_MEASURED	*m = msg->body;
	struct usages		*all = ctx;
	struct usage		*u;
	struct usage_part	*p;

	if (msg->type != MSG_MEASURED)
		return (false);
	u = usage_of(all, m->session);
	u->bytes += m->bytes;
	u->inodes += m->inodes;
	all->bytes += m->bytes;
	all->inodes += m->inodes;
	u->v = need(reallocarray(u->v, u->n + 1, sizeof(*u->v)));
	p = &u->v[u->n++];
	p->kind = copy(m->kind);
	p->number = m->n;
	p->path = m->path != NULL ? copy(m->path) : NULL;
	p->bytes = m->bytes;
	p->inodes = m->inodes;
	return (true);
}

int
du_main(struct options *opts)
{
	struct conn	*c = conn_open();
	char		*sid = NULL;
	struct usages	 all = { .one = opts->argv[0] != NULL };
	struct m_DU	 body = { .session = NULL };

	if (all.one)
		body.session = sid = session_find(c, opts->argv[0], PICK_ONE);
	conn_collect(c, MSG_DU, &body, CONN_REVIEW_MS, usage_take, &all);
	out_form(opts)->usages(&all);
	free(sid);
	conn_close(c);
	return (done(0));
}

/* "7d", "12h", "30m", "90s", "0"; seconds. A bare number may have been meant
 * for days: what it would remove is gone. */
static uint64_t
gc_age(const char *text)
{
	static const struct {
		char		unit;
		uint64_t	seconds;
	} units[] = {
		{ 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 },
	};
	char		number[32];
	const char	*why;
	uint64_t	 by = 0;
	size_t		 i, len = strlen(text);
	long long	 n;

	for (i = 0; len > 1 && i < sizeof(units) / sizeof(units[0]); i++)
		if (text[len - 1] == units[i].unit) {
			by = units[i].seconds;
			len--;
			break;
		}
	if (len > 0 && len < sizeof(number) &&
	    strspn(text, "0123456789") >= len) {
		memcpy(number, text, len);
		number[len] = '\0';
		/* Ten thousand years. */
		n = strtonum(number, 0, by == 0 ? 0 :
		    (long long)(315360000000 / by), &why);
		if (why == NULL)
			return ((uint64_t)n * by);
	}
	fail_usage("gc: --older %s: not an age: give a number and s, m, h or d "
	    "for its unit, like 12h", text);
}

static bool
gc_take(void *ctx, struct msg *msg)
{
	const struct m_GONE	*m = msg->body;
	struct collection	*all = ctx;
	struct gone		*g;

	if (msg->type != MSG_GONE)
		return (false);
	all->v = need(reallocarray(all->v, all->n + 1, sizeof(*all->v)));
	g = &all->v[all->n++];
	g->kind = copy(m->kind);
	g->what = copy(m->what);
	g->bytes = m->bytes;
	g->inodes = m->inodes;
	g->gone = m->gone;
	g->why = m->why != NULL ? copy(m->why) : NULL;
	if (g->gone) {
		all->bytes += m->bytes;
		all->inodes += m->inodes;
	}
	return (true);
}

int
gc_main(struct options *opts)
{
	struct m_GC		 body = {
		.dry = opts->dry_run, .discard = opts->discard,
		.age = gc_age(opts->older != NULL ? opts->older : "7d")
	};
	struct collection	 all = { .dry = opts->dry_run };
	struct conn		*c = conn_open();

	conn_collect(c, MSG_GC, &body, CONN_REVIEW_MS, gc_take, &all);
	out_form(opts)->collected(&all);
	conn_close(c);
	return (done(0));
}
