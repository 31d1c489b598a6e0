/*
 * For programs: one object on standard output.
 */
#include <stdlib.h>
#include <string.h>

#include "../common/commit.h"
#include "../common/digest.h"
#include "../common/proto.h"
#include "json.h"

/* All of them, the project being the first. */
static void
json_roots(json_t *o, const struct m_SESSION *s)
{
	struct roots	roots;
	struct strv	list;

	if (!roots_set(&roots, s->project, &s->more))
		return;
	list.n = roots.n;
	list.v = roots.v;
	json_list(o, "roots", &list);
}

/* whole: its lists of paths came with it. */
static json_t *
json_session(const struct m_SESSION *s, bool whole)
{
	json_t	*o = json_object();
	char	*user = who_user(s->uid);

	json_bytes(o, "session", s->session);
	json_bytes(o, "name", s->name);
	json_bytes(o, "state", s->state);
	json_bytes(o, "owner", s->owner);
	json_bytes(o, "user", user);
	json_number(o, "uid", s->uid);
	free(user);
	json_bytes(o, "project", s->project);
	json_roots(o, s);
	json_bytes(o, "home", s->home);
	json_bytes(o, "cwd", s->cwd);
	json_list(o, "argv", &s->argv);
	if (whole) {
		json_list(o, "hide", &s->hide);
		json_list(o, "ro", &s->ro);
	}
	json_bytes(o, "network", s->network);
	json_number(o, "created", s->created);
	if (s->ended != 0) {
		json_number(o, "ended", s->ended);
		json_put(o, "outside", json_boolean(s->outside));
	}
	if (s->exited) {
		json_number(o, "status", s->status);
		json_number(o, "ms", s->ms);
	}
	if (s->signal != 0)
		json_number(o, "signal", s->signal);
	json_bytes(o, "reason", s->reason);
	json_list(o, "notes", &s->notes);
	json_list(o, "missing", &s->missing);
	return (o);
}

static void
json_out_sessions(const struct sessions *all)
{
	json_t	*o = json_object(), *list = json_array();
	size_t	 i;

	for (i = 0; i < all->n; i++)
		json_array_append_new(list, json_session(all->msgs[i].body,
		    false));
	json_put(o, "sessions", list);
	json_print(o);
}

static void
json_out_session(const struct m_SESSION *s)
{
	json_print(json_session(s, true));
}

/* Told briefly: which lists it has is not among that. */
static void
json_out_ended(const struct m_SESSION *s)
{
	json_print(json_session(s, false));
}

static json_t *
json_change(const struct m_CHANGE *f)
{
	json_t	*o = json_object();

	json_bytes(o, "path", f->path);
	json_bytes(o, "from", f->from);
	json_bytes(o, "kind", f->kind);
	json_mode(o, "old_mode", f->oldmode);
	json_mode(o, "new_mode", f->newmode);
	json_number(o, "old_size", f->oldsize);
	json_number(o, "new_size", f->newsize);
	json_number(o, "insertions", f->insertions);
	json_number(o, "deletions", f->deletions);
	json_put(o, "binary", json_boolean(f->binary));
	json_put(o, "opaque", json_boolean(f->opaque));
	json_bytes(o, "drift", f->drift);
	return (o);
}

static void
json_files(json_t *o, const struct review *r, bool drifted)
{
	json_t	*list = json_array();
	size_t	 i;

	for (i = 0; i < r->nfiles; i++)
		if (!drifted || r->files[i].drift != NULL)
			json_array_append_new(list, json_change(
			    &r->files[i]));
	json_put(o, "files", list);
}

static void
json_reasons(json_t *o, const char *key, const struct m_SKIPPED *v, size_t n)
{
	json_t	*list = json_array(), *one;
	size_t	 i;

	for (i = 0; i < n; i++) {
		one = json_object();
		json_bytes(one, "path", v[i].path);
		json_bytes(one, "reason", v[i].reason);
		json_bytes(one, "class", v[i].class);
		json_array_append_new(list, one);
	}
	json_put(o, key, list);
}

static void
json_skipped(json_t *o, const struct review *r)
{
	json_reasons(o, "stripped", r->stripped, r->nstripped);
	json_reasons(o, "skipped", r->skipped, r->nskipped);
}

static void
json_ignored(json_t *o, const struct review *r)
{
	json_t	*list = json_array(), *one;
	size_t	 i;

	for (i = 0; i < r->nignored; i++) {
		one = json_object();
		json_bytes(one, "path", r->ignored[i].path);
		json_number(one, "files", r->ignored[i].files);
		json_number(one, "bytes", r->ignored[i].bytes);
		json_array_append_new(list, one);
	}
	json_put(o, "ignored", list);
}

static json_t *
json_review(const struct review *r)
{
	json_t	*o = json_object();
	char	 hex[2 * DIGEST_LEN + 1];

	json_bytes(o, "session", r->session);
	if (r->have) {
		json_bytes(o, "target", r->target);
		digest_hex(r->digest, hex);
		json_bytes(o, "digest", hex);
		json_number(o, "insertions", r->sum.insertions);
		json_number(o, "deletions", r->sum.deletions);
		json_number(o, "drifted", r->sum.drifted);
		json_number(o, "patch_bytes", r->sum.bytes);
		json_put(o, "incomplete", json_boolean(r->sum.incomplete));
	}
	json_files(o, r, r->error != NULL);
	return (o);
}

static json_t *
json_changes(const struct review *r)
{
	json_t	*o = json_review(r);

	json_skipped(o, r);
	json_ignored(o, r);
	return (o);
}

/* Of all roots: one object a root in a list, else that object itself. */
static void
json_each(const struct reviews *all, json_t *(*make)(const struct review *))
{
	json_t	*o, *list;
	size_t	 i;

	if (!all->all) {
		json_print(make(&all->v[0]));
		return;
	}
	o = json_object();
	list = json_array();
	json_bytes(o, "session", all->session);
	for (i = 0; i < all->n; i++)
		json_array_append_new(list, make(&all->v[i]));
	json_put(o, "roots", list);
	json_print(o);
}

static void
json_out_changes(const struct reviews *all)
{
	json_each(all, json_changes);
}

static json_t *
json_diff(const struct review *r)
{
	json_t	*o = json_review(r);
	char	*text;

	text = need(malloc(r->patchlen + 1));
	if (r->patchlen > 0)
		memcpy(text, r->patch, r->patchlen);
	text[r->patchlen] = '\0';
	/* A patch has no NUL: binary bodies are coded. */
	json_bytes(o, "diff", text);
	free(text);
	return (o);
}

static void
json_out_diff(const struct reviews *all)
{
	json_each(all, json_diff);
}

static void
json_out_patch(const struct review *r, const char *file)
{
	json_t	*o = json_review(r);

	json_bytes(o, "file", file);
	json_print(o);
}

static void
json_out_landed(const struct review *r)
{
	json_t	*o = json_object();

	json_bytes(o, "session", r->session);
	json_bytes(o, "root", r->root);
	json_number(o, "landed", r->landed);
	json_skipped(o, r);
	if (r->warning != NULL)
		json_bytes(o, "warning", r->warning);
	json_print(o);
}

static void
json_out_refused(const struct review *r)
{
	json_t	*o = json_review(r);

	json_bytes(o, "error", r->code);
	json_bytes(o, "message", r->error);
	json_print(o);
}

static void
json_out_discarded(const struct review *r)
{
	json_t	*o = json_object();

	json_bytes(o, "session", r->session);
	json_bytes(o, "root", r->root);
	json_number(o, "discarded", r->landed);
	json_print(o);
}

static void
json_out_removed(const char *sid, const char *warning)
{
	json_t	*o = json_object();

	json_bytes(o, "session", sid);
	json_put(o, "removed", json_true());
	if (warning != NULL)
		json_bytes(o, "warning", warning);
	json_print(o);
}

static json_t *
json_usage(const struct usage *u)
{
	json_t	*o = json_object(), *list = json_array(), *one;
	size_t	 i;

	json_bytes(o, "session", u->session);
	json_number(o, "bytes", u->bytes);
	json_number(o, "inodes", u->inodes);
	for (i = 0; i < u->n; i++) {
		one = json_object();
		json_bytes(one, "kind", u->v[i].kind);
		if (u->v[i].path != NULL)
			json_number(one, "layer", u->v[i].number);
		json_bytes(one, "path", u->v[i].path);
		json_number(one, "bytes", u->v[i].bytes);
		json_number(one, "inodes", u->v[i].inodes);
		json_array_append_new(list, one);
	}
	json_put(o, "parts", list);
	return (o);
}

static void
json_out_usages(const struct usages *all)
{
	json_t	*o = json_object(), *list = json_array();
	size_t	 i;

	for (i = 0; i < all->n; i++)
		json_array_append_new(list, json_usage(&all->v[i]));
	json_put(o, "sessions", list);
	json_number(o, "bytes", all->bytes);
	json_number(o, "inodes", all->inodes);
	json_print(o);
}

static void
json_out_explained(const struct m_EXPLAINED *m, const char *sid)
{
	json_t	*o = json_object();

	json_bytes(o, "session", sid);
	json_bytes(o, "path", m->path);
	json_bytes(o, "target", m->target);
	json_bytes(o, "state", m->state);
	json_bytes(o, "rule", m->rule);
	json_bytes(o, "of", m->of);
	json_bytes(o, "mechanism", m->mechanism);
	json_print(o);
}

static void
json_out_collected(const struct collection *all)
{
	json_t	*o = json_object(), *gone = json_array(), *kept = json_array();
	json_t	*one;
	size_t	 i;

	for (i = 0; i < all->n; i++) {
		one = json_object();
		json_bytes(one, "kind", all->v[i].kind);
		json_bytes(one, "what", all->v[i].what);
		json_bytes(one, "why", all->v[i].why);
		json_number(one, "bytes", all->v[i].bytes);
		json_number(one, "inodes", all->v[i].inodes);
		json_array_append_new(all->v[i].gone ? gone : kept, one);
	}
	json_put(o, "dry_run", json_boolean(all->dry));
	json_put(o, "removed", gone);
	json_put(o, "kept", kept);
	json_number(o, "bytes", all->bytes);
	json_number(o, "inodes", all->inodes);
	json_print(o);
}

static json_t *
json_found(const struct m_FOUND *f)
{
	json_t	*o = json_object();

	json_bytes(o, "path", f->path);
	json_bytes(o, "kind", f->kind);
	json_mode(o, "old_mode", f->oldmode);
	json_mode(o, "new_mode", f->newmode);
	json_number(o, "old_size", f->oldsize);
	json_number(o, "new_size", f->newsize);
	json_number(o, "files", f->files);
	json_number(o, "bytes", f->bytes);
	return (o);
}

static json_t *
json_counted(const struct m_COUNTED *m)
{
	json_t	*o = json_object();

	json_bytes(o, "path", m->path);
	json_number(o, "changes", m->found);
	json_number(o, "listed", m->listed);
	json_number(o, "files", m->files);
	json_number(o, "bytes", m->bytes);
	json_number(o, "unreadable", m->unreadable);
	json_put(o, "cut", json_boolean(m->cut));
	json_put(o, "missing", json_boolean(m->missing));
	return (o);
}

static void
json_out_outside(const struct outside *out)
{
	json_t	*o = json_object(), *found = json_array();
	json_t	*layers = json_array();
	size_t	 i;

	json_bytes(o, "session", out->session);
	for (i = 0; i < out->nfound; i++)
		json_array_append_new(found, json_found(&out->found[i]));
	for (i = 0; i < out->nlayers; i++)
		json_array_append_new(layers, json_counted(&out->layers[i]));
	json_put(o, "outside", found);
	json_put(o, "layers", layers);
	json_print(o);
}

static void
json_out_started(const char *sid)
{
	json_t	*o = json_object();

	json_bytes(o, "session", sid);
	json_print(o);
}

static void
json_out_checks(const struct checks *all, bool good)
{
	json_t	*o = json_object(), *list = json_array(), *one;
	size_t	 i;

	json_put(o, "ok", json_boolean(good));
	for (i = 0; i < all->n; i++) {
		one = json_object();
		json_bytes(one, "level", all->v[i].level);
		json_bytes(one, "what", all->v[i].what);
		json_bytes(one, "text", all->v[i].text);
		json_array_append_new(list, one);
	}
	json_put(o, "checks", list);
	json_print(o);
}

/* NULL: not known. */
static void
json_commit(json_t *o, const char *commit)
{
	json_put(o, "commit", commit != NULL ? json_string(commit) :
	    json_null());
}

static void
json_out_version(const struct conn *c)
{
	json_t	*o = json_object(), *suite;

	json_bytes(o, "version", SBX_VERSION);
	json_commit(o, commit_built());
	json_number(o, "protocol", PROTO_VERSION);
	json_number(o, "minor", PROTO_MINOR);
	if (c == NULL)
		json_put(o, "suite", json_null());
	else {
		suite = json_object();
		json_bytes(suite, "version", c->build);
		json_commit(suite, c->commit[0] != '\0' ? c->commit : NULL);
		json_number(suite, "protocol", PROTO_VERSION);
		json_number(suite, "minor", c->minor);
		json_bytes(suite, "socket", c->path);
		json_put(o, "suite", suite);
	}
	json_print(o);
}

const struct out	out_json = {
	.sessions = json_out_sessions,
	.session = json_out_session,
	.changes = json_out_changes,
	.diff = json_out_diff,
	.patch = json_out_patch,
	.landed = json_out_landed,
	.refused = json_out_refused,
	.discarded = json_out_discarded,
	.ended = json_out_ended,
	.removed = json_out_removed,
	.usages = json_out_usages,
	.explained = json_out_explained,
	.collected = json_out_collected,
	.outside = json_out_outside,
	.started = json_out_started,
	.checks = json_out_checks,
	.version = json_out_version,
};
