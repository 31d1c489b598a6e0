#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"
#include "records.h"

/*
 * The journal: a head, then the steps in their order. The same bytes are the
 * landing folder's record, from which an UNDO will be made. Times are in
 * nanoseconds since 1970; all devices are the head's.
 */
#define JOURNAL_MAGIC	"sbx landing 1\n"

struct head {
	const char	*session, *folder;
	uint64_t	 number, dev, ino, when, names, ops;
	bool		 whole;
	struct blob	 digest;
};

#define HEAD(f, type, need, max)					\
	RECORD_FIELD(head, f, #f, type, need, max)
static const struct field head_fields[] = {
	HEAD(session, STR, true, LIMIT_SID),
	HEAD(folder, PATH, true, 255),
	HEAD(number, U64, true, 0),
	HEAD(dev, U64, true, 0),
	HEAD(ino, U64, true, 0),
	HEAD(when, U64, true, 0),
	HEAD(names, U64, true, 0),
	HEAD(ops, U64, true, 0),
	HEAD(whole, BOOL, true, 0),
	HEAD(digest, BIN, true, DIGEST_LEN),
};

struct step {
	const char	*op, *path;
	uint64_t	 mode, size, ino;	/* of the pre-image */
	struct blob	 sha;
	uint64_t	 newmode, newsize, newino, newmtime;
	struct blob	 newsha;
	bool		 must;
};

#define STEP(f, type, need, max)					\
	RECORD_FIELD(step, f, #f, type, need, max)
static const struct field step_fields[] = {
	STEP(op, STR, true, 16),
	STEP(path, PATH, true, LIMIT_PATH),
	STEP(mode, U64, false, 0),
	STEP(size, U64, false, 0),
	STEP(ino, U64, false, 0),
	STEP(sha, BIN, false, DIGEST_LEN),
	STEP(newmode, U64, false, 0),
	STEP(newsize, U64, false, 0),
	STEP(newino, U64, false, 0),
	STEP(newmtime, U64, false, 0),
	STEP(newsha, BIN, false, DIGEST_LEN),
	STEP(must, BOOL, false, 0),
};

#define NFIELDS(t)	(sizeof(t) / sizeof((t)[0]))
#define NSEC		UINT64_C(1000000000)

static void
step_put(struct record_out *o, const struct op *op)
{
	struct step	s = { .op = op_word(op->kind), .path = op->path };

	s.must = op->must;
	if (op->pre.mode != 0) {
		s.mode = op->pre.mode;
		s.size = op->pre.size;
		s.ino = op->pre.ino;
		s.sha = (struct blob){ op->pre.sha, DIGEST_LEN };
	}
	if (op->post.mode != 0) {
		s.newmode = op->post.mode;
		s.newsize = op->post.size;
		s.newino = op->post.ino;
		s.newmtime = (uint64_t)op->mtime.tv_sec * NSEC +
		    (uint64_t)op->mtime.tv_nsec;
		s.newsha = (struct blob){ op->post.sha, DIGEST_LEN };
	}
	record_put(o, step_fields, NFIELDS(step_fields), &s);
}

int
journal_encode(const struct plan *p, const char *sid, bool whole,
    uint8_t **out, size_t *len)
{
	struct record_out	o;
	struct head		h = {
		.session = sid, .folder = p->folder, .number = p->number,
		.dev = p->dev, .ino = p->ino, .when = p->when,
		.names = p->names, .ops = whole ? p->n : 0, .whole = whole,
		.digest = { p->digest, DIGEST_LEN }
	};
	size_t			i;

	record_begin(&o, JOURNAL_MAGIC);
	record_put(&o, head_fields, NFIELDS(head_fields), &h);
	for (i = 0; whole && i < p->n; i++)
		step_put(&o, &p->v[i]);
	return (record_end(&o, out, len));
}

static int
op_kind(const char *word, enum op_kind *kind)
{
	int	k;

	for (k = 0; k < OP_COUNT; k++)
		if (strcmp(word, op_word((enum op_kind)k)) == 0) {
			*kind = (enum op_kind)k;
			return (0);
		}
	return (-1);
}

static void
image_take(struct image *im, uint64_t mode, uint64_t size, uint64_t ino,
    const struct blob *sha)
{
	im->mode = (mode_t)mode;
	im->size = size;
	im->ino = ino;
	if (sha->len == DIGEST_LEN)
		memcpy(im->sha, sha->p, DIGEST_LEN);
}

static const char *
step_take(struct plan *p, const struct step *s)
{
	enum op_kind	 kind;
	struct op	*op;
	bool		 pre, post;

	if (op_kind(s->op, &kind) == -1)
		return ("a step of an unknown kind");
	if (plan_path_refused(s->path) != NULL)
		return ("a step outside of what a landing may touch");
	pre = kind <= OP_RMDIR;
	post = kind != OP_DELETE && kind != OP_RMDIR;
	if ((pre && (s->mode == 0 || s->ino == 0)) ||
	    (post && (s->newmode == 0 ||
	    (s->newino == 0 && kind != OP_CHMOD))))
		return ("a step that lacks a side");
	if ((op = plan_add(p, kind, s->path)) == NULL)
		return (FIELDS_NOMEM);
	op->must = s->must;
	op->name = p->n;
	image_take(&op->pre, s->mode, s->size, s->ino, &s->sha);
	image_take(&op->post, s->newmode, s->newsize, s->newino, &s->newsha);
	op->mtime.tv_sec = (time_t)(s->newmtime / NSEC);
	op->mtime.tv_nsec = (long)(s->newmtime % NSEC);
	return (NULL);
}

static const char *
head_take(struct plan *p, const struct head *h, const char *sid)
{
	char	want[64];

	if (strcmp(h->session, sid) != 0)
		return ("of another session");
	/* The only two folders that a landing ever uses. */
	snprintf(want, sizeof(want), ".git/sbx-land-%s", sid);
	if (strcmp(h->folder, want) != 0) {
		snprintf(want, sizeof(want), ".sbx-land-%s", sid);
		if (strcmp(h->folder, want) != 0)
			return ("of a foreign folder");
	}
	if (h->digest.len != DIGEST_LEN)
		return ("without a digest");
	if ((p->folder = strdup(h->folder)) == NULL)
		return (FIELDS_NOMEM);
	p->number = h->number;
	p->dev = h->dev;
	p->ino = h->ino;
	p->when = h->when;
	p->names = h->names;
	memcpy(p->digest, h->digest.p, DIGEST_LEN);
	return (NULL);
}

int
journal_decode(const uint8_t *buf, size_t len, const char *sid,
    struct plan *p, bool *whole, const char **why)
{
	static char		reason[160];
	struct record_in	in;
	struct head		h = { .session = NULL };
	struct step		s;
	int			r;

	if (record_open(&in, buf, len, JOURNAL_MAGIC) == -1) {
		*why = in.why;
		return (-1);
	}
	r = record_next(&in, head_fields, NFIELDS(head_fields), &h);
	if (r == 0)
		in.why = "cut off";
	if (r == 1 && (in.why = head_take(p, &h, sid)) != NULL)
		r = -1;
	while (r == 1) {
		memset(&s, 0, sizeof(s));
		r = record_next(&in, step_fields, NFIELDS(step_fields), &s);
		if (r == 1 && (in.why = step_take(p, &s)) != NULL)
			r = -1;
	}
	if (r == 0 && in.why == NULL && p->n != h.ops)
		in.why = "cut off";
	*whole = h.whole;
	*why = NULL;
	if (in.why != NULL) {	/* which may lie in the zone */
		snprintf(reason, sizeof(reason), "%s", in.why);
		*why = reason;
	}
	record_close(&in);
	return (*why == NULL ? 0 : -1);
}
