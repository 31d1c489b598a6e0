#include <stdlib.h>
#include <string.h>

#include "sbxctl.h"

static void
outside_found(struct outside *out, const struct m_FOUND *m)
{
	struct m_FOUND	*f;

	out->found = need(reallocarray(out->found, out->nfound + 1,
	    sizeof(*out->found)));
	f = &out->found[out->nfound++];
	*f = *m;
	f->path = copy(m->path);
	f->kind = copy(m->kind);
}

static void
outside_counted(struct outside *out, const struct m_COUNTED *m)
{
	struct m_COUNTED	*l;

	out->layers = need(reallocarray(out->layers, out->nlayers + 1,
	    sizeof(*out->layers)));
	l = &out->layers[out->nlayers++];
	*l = *m;
	l->path = copy(m->path);
}

static int
found_compare(const void *a, const void *b)
{
	return (strcmp(((const struct m_FOUND *)a)->path,
	    ((const struct m_FOUND *)b)->path));
}

static bool
outside_take(void *ctx, struct msg *msg)
{
	struct outside	*out = ctx;

	if (msg->type == MSG_FOUND)
		outside_found(out, msg->body);
	else if (msg->type == MSG_COUNTED)
		outside_counted(out, msg->body);
	else
		return (false);
	return (true);
}

static void
outside_get(struct conn *c, const char *sid, struct outside *out)
{
	struct m_OUTSIDE	body = { .session = sid };

	out->session = sid;
	conn_collect(c, MSG_OUTSIDE, &body, CONN_REVIEW_MS, outside_take, out);
	if (out->nfound > 1)
		qsort(out->found, out->nfound, sizeof(*out->found),
		    found_compare);
}

int
outside_main(struct options *opts)
{
	struct outside	 out = { 0 };
	struct conn	*c;
	char		*sid;

	if (opts->root != NULL)
		fail_usage("changes: --outside and --repo %s: give one of "
		    "them", opts->root);
	c = conn_open();
	sid = session_find(c, opts->argv[0], PICK_NEWEST);
	outside_get(c, sid, &out);
	out_form(opts)->outside(&out);
	free(sid);
	conn_close(c);
	return (done(0));
}
