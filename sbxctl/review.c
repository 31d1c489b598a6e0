/*
 * changes, diff, patch; and the collecting of what a review answers.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/put.h"
#include "sbxctl.h"

/* The suite's own limit of a patch, and something for its first lines. */
#define REVIEW_PATCH_MAX	((size_t)(96 << 20))
#define REVIEW_ITEMS_MAX	(4U << 20)

static void *
review_room(void *list, size_t n, size_t size)
{
	if (n >= REVIEW_ITEMS_MAX)
		fail("broken answer: more than %u items of one review",
		    REVIEW_ITEMS_MAX);
	/* Doubled at each power of two. */
	if ((n & (n - 1)) == 0)
		list = need(reallocarray(list, n == 0 ? 1 : 2 * n, size));
	return (list);
}

static const char *
review_copy(const char *s)
{
	return (s == NULL ? NULL : copy(s));
}

static void
review_change(struct review *r, const struct m_CHANGE *in)
{
	struct m_CHANGE	*f;

	r->files = review_room(r->files, r->nfiles, sizeof(*r->files));
	f = &r->files[r->nfiles++];
	*f = *in;
	f->path = copy(in->path);
	f->from = review_copy(in->from);
	f->kind = copy(in->kind);
	f->drift = review_copy(in->drift);
}

static void
review_skipped(struct review *r, const struct m_SKIPPED *in)
{
	struct m_SKIPPED *s;

	r->skipped = review_room(r->skipped, r->nskipped,
	    sizeof(*r->skipped));
	s = &r->skipped[r->nskipped++];
	s->path = copy(in->path);
	s->reason = copy(in->reason);
	s->class = review_copy(in->class);
}

/* What lands without something of it is told with the rest of what does not
 * land, and its file with those that do. */
static unsigned char
strip_bit(const struct m_SKIPPED *s)
{
	static const struct {
		const char	*class;
		unsigned char	 bit;
	} bits[] = {
		{ "setuid", STRIP_SETUID }, { "xattr", STRIP_XATTR },
		{ "links", STRIP_LINKS }
	};
	size_t	i;

	for (i = 0; s->class != NULL && i < sizeof(bits) / sizeof(bits[0]);
	    i++)
		if (strcmp(s->class, bits[i].class) == 0)
			return (bits[i].bit);
	return (0);
}

struct named {
	const char	*path;
	size_t		 i;		/* in files */
};

static int
named_compare(const void *a, const void *b)
{
	return (strcmp(((const struct named *)a)->path,
	    ((const struct named *)b)->path));
}

/* Out of the one list into the other, so that a path is not told as what lands
 * and as what never does. A folder's, and a file of which nothing else has
 * changed, stay where they are. */
static void
review_strip(struct review *r)
{
	struct named		*byname, *found, want = { 0 };
	struct m_SKIPPED	*s;
	size_t			 i, n = r->nskipped;

	byname = need(calloc(r->nfiles + 1, sizeof(*byname)));
	r->lost = need(calloc(r->nfiles + 1, sizeof(*r->lost)));
	for (i = 0; i < r->nfiles; i++)
		byname[i] = (struct named){ r->files[i].path, i };
	qsort(byname, r->nfiles, sizeof(*byname), named_compare);
	for (i = r->nskipped = 0; i < n; i++) {
		s = &r->skipped[i];
		want.path = s->path;
		found = strip_bit(s) == 0 ? NULL : bsearch(&want, byname,
		    r->nfiles, sizeof(*byname), named_compare);
		if (found == NULL) {
			r->skipped[r->nskipped++] = *s;
			continue;
		}
		r->lost[found->i] |= strip_bit(s);
		r->stripped = review_room(r->stripped, r->nstripped,
		    sizeof(*r->stripped));
		r->stripped[r->nstripped++] = *s;
	}
	if (r->have)
		r->sum.skipped -= r->sum.skipped < r->nstripped ?
		    r->sum.skipped : r->nstripped;
	free(byname);
}

static void
review_ignored(struct review *r, const struct m_IGNORED *in)
{
	r->ignored = review_room(r->ignored, r->nignored,
	    sizeof(*r->ignored));
	r->ignored[r->nignored] = *in;
	r->ignored[r->nignored++].path = copy(in->path);
}

static void
review_landing(struct review *r, const struct m_LANDING *in)
{
	if (in->digest.len != sizeof(r->digest))
		fail("broken answer: a digest of %zu bytes", in->digest.len);
	free(r->target);
	r->sum = *in;
	r->target = copy(in->target);
	r->sum.target = r->target;
	memcpy(r->digest, in->digest.p, sizeof(r->digest));
	r->sum.digest.p = r->digest;
	r->have = true;
}

static void
review_chunk(struct review *r, const struct m_CHUNK *in, uint64_t *next)
{
	if (in->n != (*next)++)
		fail("broken answer: piece %llu of the patch where %llu was "
		    "due", (unsigned long long)in->n,
		    (unsigned long long)*next - 1);
	if (in->data.len > REVIEW_PATCH_MAX - r->patchlen)
		fail("broken answer: a patch above %zu bytes",
		    REVIEW_PATCH_MAX);
	if (in->data.len == 0)
		return;
	/* With an end for who looks for words in it. */
	r->patch = need(realloc(r->patch, r->patchlen + in->data.len + 1));
	memcpy(r->patch + r->patchlen, in->data.p, in->data.len);
	r->patchlen += in->data.len;
	r->patch[r->patchlen] = '\0';
}

static void
review_landed(struct review *r, const struct m_LANDED *in)
{
	r->landed = in->files;
	if (in->warning != NULL)
		r->warning = copy(in->warning);
}

/* An apply's refusal may be told with what has drifted: the caller's affair. */
static void
review_refused(struct review *r, const struct msg *msg)
{
	const struct m_ERROR	*e = msg->body;

	r->error = conn_error(msg);
	strlcpy(r->code, e->code, sizeof(r->code));
}

/* One message of the answer; false when it was the last. */
static bool
review_take(struct review *r, const struct msg *msg, uint64_t *next)
{
	switch (msg->type) {
	case MSG_CHANGE:
		progress_count();
		review_change(r, msg->body);
		return (true);
	case MSG_SKIPPED:
		review_skipped(r, msg->body);
		return (true);
	case MSG_IGNORED:
		review_ignored(r, msg->body);
		return (true);
	case MSG_LANDING:
		review_landing(r, msg->body);
		return (true);
	case MSG_CHUNK:
		review_chunk(r, msg->body, next);
		return (true);
	case MSG_LANDED:
		review_landed(r, msg->body);
		return (false);
	case MSG_ERROR:
		review_refused(r, msg);
		return (false);
	case MSG_END:
		return (false);
	default:
		fail("broken answer: %s in a review", proto_name(msg->type));
	}
}

/* Sends and collects; a refusal is in r->error. */
static void
review_once(struct conn *c, const char *sid, uint32_t type, const void *body,
    struct review *r)
{
	struct msg	 msg;
	uint64_t	 next = 0;
	bool		 more;

	memset(r, 0, sizeof(*r));
	r->session = copy(sid);
	if (type == MSG_APPLY || type == MSG_DISCARD)
		c->writes = sid;
	progress_begin(type == MSG_APPLY ? "landing" : type == MSG_DISCARD ?
	    "discarding in" : "reviewing", sid);
	conn_send(c, type, body);
	do {
		conn_recv(c, &msg, CONN_REVIEW_MS);
		more = review_take(r, &msg, &next);
		msg_free(&msg);
	} while (more);
	c->writes = NULL;
	progress_end();
	review_strip(r);
}

/* One that is about to end is waited for. */
static void
review_ask(struct conn *c, const char *sid, uint32_t type, const void *body,
    struct review *r)
{
	review_once(c, sid, type, body, r);
	if (r->error == NULL || strcmp(r->code, "session.ending") != 0)
		return;
	review_free(r);
	session_wait(c, sid);
	review_once(c, sid, type, body, r);
}

void
review_get(struct conn *c, const char *sid, uint32_t type, const void *body,
    struct review *r)
{
	review_ask(c, sid, type, body, r);
	if (r->error != NULL && type != MSG_APPLY)
		fail("%s", r->error);
	if (type != MSG_CHANGES && type != MSG_PATCH)
		return;
	if (!r->have)
		fail("broken answer: a review without its summary");
	if (type == MSG_PATCH && r->patchlen != r->sum.bytes)
		fail("broken answer: %zu bytes of a patch of %llu",
		    r->patchlen, (unsigned long long)r->sum.bytes);
}

/* The lists hold copies; their strings are const for all who read them. */
static void
review_drop(const char *s)
{
	free((void *)(uintptr_t)s);
}

static void
skipped_free(struct m_SKIPPED *v, size_t n)
{
	size_t	i;

	for (i = 0; i < n; i++) {
		review_drop(v[i].path);
		review_drop(v[i].reason);
		review_drop(v[i].class);
	}
	free(v);
}

void
review_free(struct review *r)
{
	size_t	i;

	for (i = 0; i < r->nfiles; i++) {
		review_drop(r->files[i].path);
		review_drop(r->files[i].from);
		review_drop(r->files[i].kind);
		review_drop(r->files[i].drift);
	}
	skipped_free(r->skipped, r->nskipped);
	skipped_free(r->stripped, r->nstripped);
	for (i = 0; i < r->nignored; i++)
		review_drop(r->ignored[i].path);
	free(r->files);
	free(r->lost);
	free(r->ignored);
	free(r->patch);
	free(r->target);
	free(r->session);
	free(r->error);
	free(r->warning);
	memset(r, 0, sizeof(*r));
}

bool
review_any(const struct review *r)
{
	return (r->nfiles > 0 || r->nskipped > 0 || r->nignored > 0 ||
	    r->sum.files > 0 || r->sum.skipped > 0 || r->sum.ignored > 0);
}

bool
review_waits(struct conn *c, const char *sid, const char *root)
{
	struct m_CHANGES body = { .session = sid, .root = root };
	struct review	r;
	bool		any;

	review_ask(c, sid, MSG_CHANGES, &body, &r);
	any = r.error != NULL || review_any(&r);
	review_free(&r);
	return (any);
}

char *
review_counts(const struct review *r)
{
	char	*text;

	if (asprintf(&text, "%llu file%s changed, %llu insertion%s(+), "
	    "%llu deletion%s(-)", (unsigned long long)r->sum.files,
	    r->sum.files == 1 ? "" : "s",
	    (unsigned long long)r->sum.insertions,
	    r->sum.insertions == 1 ? "" : "s",
	    (unsigned long long)r->sum.deletions,
	    r->sum.deletions == 1 ? "" : "s") == -1)
		fail("out of memory");
	return (text);
}

/* A patch is made against the real files as they are now. */
static void
review_drift(const struct review *r)
{
	size_t	i;

	if (r->sum.drifted == 0)
		return;
	for (i = 0; i < r->nfiles && r->files[i].drift == NULL; i++)
		;
	say("%llu of the real files changed while the session ran (%s%s): "
	    "apply refuses them, and this patch would undo what changed there",
	    (unsigned long long)r->sum.drifted, i < r->nfiles ?
	    r->files[i].path : "", r->sum.drifted > 1 ? ", ..." : "");
}

static void
reviews_add(struct reviews *all, const struct review *r)
{
	struct m_LANDING	*sum = &all->sum.sum;

	sum->files += r->sum.files;
	sum->insertions += r->sum.insertions;
	sum->deletions += r->sum.deletions;
	sum->skipped += r->sum.skipped;
	sum->ignored += r->sum.ignored;
}

static void
reviews_one(struct conn *c, uint32_t type, const char *root,
    struct reviews *all)
{
	struct m_CHANGES	 changes = {
		.session = all->session, .root = root
	};
	struct m_PATCH		 patch = {
		.session = all->session, .root = root
	};
	struct review		*r = &all->v[all->n++];

	review_get(c, all->session, type, type == MSG_PATCH ?
	    (const void *)&patch : (const void *)&changes, r);
	r->root = root;
	reviews_add(all, r);
}

void
reviews_get(struct conn *c, const char *sid, uint32_t type,
    const struct roots *roots, const char *root, bool all, struct reviews *out)
{
	size_t	i;

	memset(out, 0, sizeof(*out));
	out->session = sid;
	out->all = all;
	if (!all)
		reviews_one(c, type, root, out);
	for (i = 0; all && i < roots->n; i++)
		reviews_one(c, type, roots->v[i], out);
}

void
reviews_free(struct reviews *all)
{
	size_t	i;

	for (i = 0; i < all->n; i++)
		review_free(&all->v[i]);
	all->n = 0;
}

/* changes and diff: of one root or of all. */
static int
review_main(struct options *opts, const char *command, uint32_t type)
{
	struct conn	*c = conn_open();
	char		*sid = session_find(c, opts->argv[0], PICK_NEWEST);
	struct roots	 roots;
	struct reviews	 all;
	const char	*root;
	bool		 every;
	size_t		 i;

	progress_allow(!opts->json);
	session_roots(c, sid, &roots);
	root = session_root_or_all(command, sid, &roots, opts->root, &every);
	reviews_get(c, sid, type, &roots, root, every, &all);
	if (type == MSG_CHANGES)
		out_form(opts)->changes(&all);
	else
		out_form(opts)->diff(&all);
	fflush(stdout);
	for (i = 0; type == MSG_PATCH && i < all.n; i++)
		review_drift(&all.v[i]);
	reviews_free(&all);
	session_roots_free(&roots);
	free(sid);
	conn_close(c);
	return (done(0));
}

int
changes_main(struct options *opts)
{
	return (opts->outside ? outside_main(opts) : review_main(opts,
	    "changes", MSG_CHANGES));
}

int
diff_main(struct options *opts)
{
	return (review_main(opts, "diff", MSG_PATCH));
}

/* What cannot be replaced by a rename (a pipe, /dev/null) is written to as it
 * is. */
static bool
patch_special(const char *file, const struct review *r)
{
	struct stat	st;
	int		fd;

	if (stat(file, &st) == -1 || S_ISREG(st.st_mode))
		return (false);
	if (S_ISDIR(st.st_mode))
		fail("-o %s: a folder: name a file, like %s%spatch", file,
		    file, file[strlen(file) - 1] == '/' ? "" : "/");
	if ((fd = open(file, O_WRONLY | O_CLOEXEC)) == -1 ||
	    put_all(fd, r->patch, r->patchlen) == -1 || close(fd) == -1)
		fail("-o %s: %s: nothing whole was written: name a file",
		    file, strerror(errno));
	return (true);
}

/* Exact bytes, which may be any: a terminal would obey some of them. */
static bool
patch_at_terminal(const char *file)
{
	struct stat	st;
	bool		tty;
	int		fd;

	if (strcmp(file, "-") == 0)
		return (isatty(STDOUT_FILENO));
	if (stat(file, &st) == -1 || !S_ISCHR(st.st_mode) || (fd = open(file,
	    O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) == -1)
		return (false);
	tty = isatty(fd);
	close(fd);
	return (tty);
}

/* The whole patch or the old file: temporary beside it, synced, renamed. A
 * link is written through, to where it leads. */
static void
patch_file(const char *file, const struct review *r)
{
	char	*real, *temp, *dir;
	mode_t	 mask;
	int	 fd, saved;

	if (patch_special(file, r))
		return;
	if ((real = realpath(file, NULL)) == NULL)
		real = copy(file);
	dir = copy(real);
	if (asprintf(&temp, "%s/.sbx-patch-XXXXXX", dirname(dir)) == -1)
		fail("out of memory");
	if ((fd = mkostemp(temp, O_CLOEXEC)) == -1)
		fail("-o %s: %s: name a file in a folder that you may write",
		    file, strerror(errno));
	mask = umask(0);
	umask(mask);
	if (put_all(fd, r->patch, r->patchlen) == -1 ||
	    fchmod(fd, 0666 & ~mask) == -1 || fsync(fd) == -1 ||
	    close(fd) == -1 || rename(temp, real) == -1) {
		saved = errno;
		unlink(temp);
		fail("-o %s: %s: nothing was written: make room, or name a "
		    "file elsewhere", file, strerror(saved));
	}
	free(real);
	free(temp);
	free(dir);
}

int
patch_main(struct options *opts)
{
	struct m_PATCH	 body = { 0 };
	struct conn	*c;
	struct review	 r;
	struct roots	 roots;
	char		*sid;

	if (opts->file == NULL || *opts->file == '\0')
		fail_usage("patch: -o FILE is missing: name the file, or - "
		    "for standard output");
	if (patch_at_terminal(opts->file))
		fail_usage("patch: -o %s is a terminal, and a patch is exact "
		    "bytes: give -o FILE, or a pipe behind -o -; \"sbxctl "
		    "diff\" shows it", opts->file);
	c = conn_open();
	sid = session_find(c, opts->argv[0], PICK_ONE);
	session_roots(c, sid, &roots);
	progress_allow(!opts->json);
	body.session = sid;
	body.root = session_root("patch", sid, &roots, opts->root);
	review_get(c, sid, MSG_PATCH, &body, &r);
	if (strcmp(opts->file, "-") != 0)
		patch_file(opts->file, &r);
	else if (put_all(STDOUT_FILENO, r.patch, r.patchlen) == -1)
		fail("standard output: %s: not all was written: make room "
		    "there, or give -o FILE", strerror(errno));
	if (strcmp(opts->file, "-") != 0)
		out_form(opts)->patch(&r, opts->file);
	fflush(stdout);
	review_drift(&r);
	review_free(&r);
	session_roots_free(&roots);
	free(sid);
	conn_close(c);
	return (done(0));
}
