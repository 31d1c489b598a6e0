#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "landing.h"
#include "records.h"
#include "tree.h"

/*
 * What the state knows of a session's earlier landings and discards: one
 * record a file or folder, then one a landing. Of two baselines of one path
 * the later counts. ctime is in nanoseconds since 1970.
 */
#define STATE_MAGIC	"sbx baseline 1\n"
#define NSEC		UINT64_C(1000000000)

struct row {
	const char	*path;
	uint64_t	 mode, size, dev, ino, ctime;
	struct blob	 sha;
	/* A landing: path is its folder. */
	uint64_t	 number, when;
	struct blob	 digest, record;
	bool		 back;
};

#define ROW(f, type, need, max)	RECORD_FIELD(row, f, #f, type, need, max)
static const struct field row_fields[] = {
	ROW(path, PATH, true, LIMIT_PATH),
	ROW(mode, U64, false, 0),
	ROW(size, U64, false, 0),
	ROW(dev, U64, false, 0),
	ROW(ino, U64, false, 0),
	ROW(ctime, U64, false, 0),
	ROW(sha, BIN, false, DIGEST_LEN),
	ROW(number, U64, false, 0),
	ROW(when, U64, false, 0),
	ROW(digest, BIN, false, DIGEST_LEN),
	ROW(record, BIN, false, DIGEST_LEN),
	ROW(back, BOOL, false, 0),
};
#define NROW	(sizeof(row_fields) / sizeof(row_fields[0]))

void
landing_state_init(struct landing_state *s)
{
	TAILQ_INIT(&s->baselines);
	TAILQ_INIT(&s->landings);
}

static void
baseline_free(struct baseline *b)
{
	free(b->path);
	free(b);
}

void
baselines_free(struct baselines *list)
{
	struct baseline	*b;

	while ((b = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, b, entry);
		baseline_free(b);
	}
}

void
landing_state_free(struct landing_state *s)
{
	struct landing	*l;

	baselines_free(&s->baselines);
	while ((l = TAILQ_FIRST(&s->landings)) != NULL) {
		TAILQ_REMOVE(&s->landings, l, entry);
		free(l->folder);
		free(l);
	}
}

static int
row_baseline(const struct row *r, struct landing_state *s)
{
	struct baseline	*b;

	if ((b = calloc(1, sizeof(*b))) == NULL ||
	    (b->path = strdup(r->path)) == NULL) {
		free(b);
		return (-1);
	}
	b->image.mode = (mode_t)r->mode;
	b->image.size = r->size;
	b->image.dev = r->dev;
	b->image.ino = r->ino;
	b->image.ctime.tv_sec = (time_t)(r->ctime / NSEC);
	b->image.ctime.tv_nsec = (long)(r->ctime % NSEC);
	if (r->sha.len == DIGEST_LEN)
		memcpy(b->image.sha, r->sha.p, DIGEST_LEN);
	TAILQ_INSERT_TAIL(&s->baselines, b, entry);
	return (0);
}

static int
row_landing(const struct row *r, struct landing_state *s)
{
	struct landing	*l;

	if ((l = calloc(1, sizeof(*l))) == NULL ||
	    (l->folder = strdup(r->path)) == NULL) {
		free(l);
		return (-1);
	}
	l->n = r->number;
	l->dev = r->dev;
	l->ino = r->ino;
	l->when = r->when;
	l->back = r->back;
	if (r->digest.len == DIGEST_LEN)
		memcpy(l->digest, r->digest.p, DIGEST_LEN);
	if (r->record.len == DIGEST_LEN)
		memcpy(l->record, r->record.p, DIGEST_LEN);
	TAILQ_INSERT_TAIL(&s->landings, l, entry);
	return (0);
}

int
landing_state_decode(const uint8_t *buf, size_t len, struct landing_state *s,
    const char **why)
{
	static char		reason[160];
	struct record_in	in;
	struct row		r;
	int			more = -1;

	if (record_open(&in, buf, len, STATE_MAGIC) == 0)
		do {
			memset(&r, 0, sizeof(r));
			more = record_next(&in, row_fields, NROW, &r);
			if (more == 1 && (r.number != 0 ? row_landing(&r, s) :
			    row_baseline(&r, s)) == -1) {
				in.why = FIELDS_NOMEM;
				more = -1;
			}
		} while (more == 1);
	if (more == -1)
		snprintf(reason, sizeof(reason), "%s", in.why);
	*why = reason;
	record_close(&in);
	return (more);
}

static void
put_baseline(struct record_out *o, const struct baseline *b)
{
	struct row	r = {
		.path = b->path, .mode = b->image.mode,
		.size = b->image.size, .dev = b->image.dev,
		.ino = b->image.ino,
		.ctime = (uint64_t)b->image.ctime.tv_sec * NSEC +
		    (uint64_t)b->image.ctime.tv_nsec,
		.sha = { b->image.sha, DIGEST_LEN }
	};

	if (b->image.mode == 0)
		r.sha.p = NULL;
	record_put(o, row_fields, NROW, &r);
}

static void
put_landing(struct record_out *o, const struct landing *l)
{
	struct row	r = {
		.path = l->folder, .number = l->n, .dev = l->dev,
		.ino = l->ino, .when = l->when, .back = l->back,
		.digest = { l->digest, DIGEST_LEN },
		.record = { l->record, DIGEST_LEN }
	};

	record_put(o, row_fields, NROW, &r);
}

int
landing_state_encode(const struct landing_state *s, uint8_t **buf,
    size_t *len)
{
	const struct baseline	*b;
	const struct landing	*l;
	struct record_out	 o;

	record_begin(&o, STATE_MAGIC);
	TAILQ_FOREACH(b, &s->baselines, entry)
		put_baseline(&o, b);
	TAILQ_FOREACH(l, &s->landings, entry)
		put_landing(&o, l);
	return (record_end(&o, buf, len));
}

/* A new one, by path; one path may have a folder's and a file's that is
 * absent. */
struct newer {
	const char	*path;
	bool		 dir;
};

static int
newer_cmp(const void *a, const void *b)
{
	const struct newer	*x = a, *y = b;
	int			 cmp = strcmp(x->path, y->path);

	return (cmp != 0 ? cmp : (int)x->dir - (int)y->dir);
}

/* The result's, sorted; the caller frees them. */
static struct newer *
newer_sorted(const struct landing_result *res, size_t *n)
{
	const struct baseline	*b;
	struct newer		*v;
	size_t			 i = 0;

	*n = 0;
	TAILQ_FOREACH(b, &res->done, entry)
		(*n)++;
	if ((v = calloc(*n + 1, sizeof(*v))) == NULL)
		return (NULL);
	TAILQ_FOREACH(b, &res->done, entry) {
		v[i].path = b->path;
		v[i++].dir = S_ISDIR(b->image.mode);
	}
	qsort(v, *n, sizeof(*v), newer_cmp);
	return (v);
}

static bool
newer_has(const struct newer *sorted, size_t n, const struct baseline *b)
{
	struct newer	key = { b->path, S_ISDIR(b->image.mode) };

	return (bsearch(&key, sorted, n, sizeof(*sorted), newer_cmp) != NULL);
}

int
landing_state_room(const struct landing_state *s,
    const struct landing_result *res, size_t *len)
{
	const struct baseline	*b;
	const struct landing	*l;
	struct record_out	 o;
	struct newer		*sorted;
	uint8_t			*buf;
	size_t			 n;

	if ((sorted = newer_sorted(res, &n)) == NULL)
		return (-1);
	record_begin(&o, STATE_MAGIC);
	TAILQ_FOREACH(b, &s->baselines, entry)
		if (!newer_has(sorted, n, b))
			put_baseline(&o, b);
	TAILQ_FOREACH(b, &res->done, entry)
		put_baseline(&o, b);
	TAILQ_FOREACH(l, &s->landings, entry)
		put_landing(&o, l);
	put_landing(&o, &res->made);
	free(sorted);
	if (record_end(&o, &buf, len) == -1)
		return (-1);
	free(buf);
	return (0);
}

/* The old ones that the sorted new ones do not replace stay. */
static void
merge_baselines(struct baselines *old, struct baselines *new,
    const struct newer *sorted, size_t n)
{
	struct baseline	*b, *next;

	for (b = TAILQ_FIRST(old); b != NULL; b = next) {
		next = TAILQ_NEXT(b, entry);
		if (!newer_has(sorted, n, b))
			continue;
		TAILQ_REMOVE(old, b, entry);
		baseline_free(b);
	}
	TAILQ_CONCAT(old, new, entry);
}

int
landing_state_merge(struct landing_state *s, struct landing_result *res)
{
	struct newer	*sorted;
	struct landing	*l, *have;
	size_t		 n;

	if ((sorted = newer_sorted(res, &n)) == NULL)
		return (-1);
	merge_baselines(&s->baselines, &res->done, sorted, n);
	free(sorted);
	if (res->made.folder == NULL)
		return (0);
	/* A landing recovered twice is one. */
	TAILQ_FOREACH(have, &s->landings, entry)
		if (have->n == res->made.n)
			return (0);
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return (-1);
	*l = res->made;
	res->made.folder = NULL;
	TAILQ_INSERT_TAIL(&s->landings, l, entry);
	return (0);
}

struct baseline *
baseline_make(int project, const char *path)
{
	struct baseline	*b;
	struct place	 pl;
	int		 rv = 0;

	if ((b = calloc(1, sizeof(*b))) == NULL ||
	    (b->path = strdup(path)) == NULL) {
		free(b);
		return (NULL);
	}
	if (place_open(project, path, &pl) == -1)
		rv = -1;
	else if (pl.present && !S_ISDIR(pl.st.st_mode)) {
		b->image.mode = pl.st.st_mode & (S_IFMT | 0777);
		b->image.size = (uint64_t)pl.st.st_size;
		b->image.dev = pl.st.st_dev;
		b->image.ino = pl.st.st_ino;
		b->image.ctime = pl.st.st_ctim;
		rv = tree_hash(pl.parent, pl.base, b->image.sha);
	}
	place_close(&pl);
	if (rv == -1) {
		baseline_free(b);
		return (NULL);
	}
	return (b);
}

struct baseline *
baseline_folder(int project, const char *path)
{
	struct baseline	*b;
	struct stat	 st;
	int		 fd;

	if ((b = calloc(1, sizeof(*b))) == NULL ||
	    (b->path = strdup(path)) == NULL) {
		free(b);
		return (NULL);
	}
	b->image.mode = S_IFDIR;
	if ((fd = tree_open(project, path, O_PATH | O_DIRECTORY)) == -1)
		return (b);
	if (fstat(fd, &st) == 0) {
		b->image.dev = st.st_dev;
		b->image.ino = st.st_ino;
		b->image.ctime = st.st_ctim;
	}
	close(fd);
	return (b);
}
