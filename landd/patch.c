/*
 * The patch: for each change our own headers, and a body by diff.c. It is
 * read by `git apply` of any version, inside a repository and outside.
 */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <git2.h>

#include "../common/escape.h"
#include "../common/put.h"
#include "blocks.h"
#include "changeset.h"
#include "content.h"
#include "diff.h"
#include "quote.h"
#include "tree.h"

_Static_assert(DIFF_PLAIN_MAX <= BLOCKS_MIN, "what is diffed is hashed whole");

#define PATCH_MAX	(UINT64_C(64) << 20)
#define BODY_ROOM	65536		/* what is gathered for a write */
#define MODES_MAX	((size_t)8 << 20)	/* of lines about modes */

struct patch {
	const struct job *job;
	struct changeset *set;
	int		 body;		/* stage/body */
	struct buf	 out;		/* what is to be written there */
	int		 pack;		/* stage/pack, -1: there is none */
	uint64_t	 size;
	bool		 modes;		/* one that git's two do not say */
	char		*why;
	size_t		 whylen;
};

/* A side as it is loaded. */
struct loaded {
	struct side	 s;
	uint8_t		*p;		/* to be freed */
};

static int
patch_fail(struct patch *pa, const char *path, const char *what)
{
	int	 saved = errno;
	char	*shown = escape_name(path);

	if (saved == EBUSY)
		snprintf(pa->why, pa->whylen, "%s: changed while it was "
		    "reviewed; review again", shown != NULL ? shown : "?");
	else
		snprintf(pa->why, pa->whylen, "%s: %s: %s",
		    shown != NULL ? shown : "?", what, strerror(saved));
	free(shown);
	errno = saved;
	return (-1);
}

static unsigned int
git_mode(const struct image *im)
{
	if (S_ISLNK(im->mode))
		return (0120000);
	return (im->mode & 0100 ? 0100755 : 0100644);
}

/*
 * The bits of a mode that git's two do not say: of a file that was there what
 * becomes other, of a new one what a usual umask (022) takes away.
 */
static mode_t
mode_untold(const struct change *c)
{
	mode_t	pre = c->pre.mode, post = c->post.mode, bits;

	if (!S_ISREG(post))
		return (0);
	if (!S_ISREG(pre))
		return (post & 0777 & ~(mode_t)((post & 0100) != 0 ? 0755 :
		    0644));
	bits = (pre ^ post) & 0777;
	return ((bits & 0100) != 0 ? bits & ~(mode_t)0111 : bits);
}

static int
loaded_link(int dir, const char *name, struct loaded *l)
{
	char	text[PATH_MAX + 1];
	ssize_t	n;

	if ((n = tree_readlink(dir, name, text, sizeof(text))) == -1)
		return (-1);
	if ((l->p = malloc((size_t)n + 1)) == NULL)
		return (-1);
	memcpy(l->p, text, (size_t)n);
	l->s.len = (size_t)n;
	return (0);
}

static int
loaded_file(int dir, const char *name, uint64_t size, struct loaded *l)
{
	struct stat	st;
	int		fd, saved;

	if ((fd = content_open(dir, name, &st)) == -1)
		return (-1);
	l->p = content_get(fd, size);
	saved = errno;
	close(fd);
	errno = saved;
	l->s.len = (size_t)size;
	return (l->p == NULL ? -1 : 0);
}

/* The real file, which has to be the one that was walked over. */
static int
load_pre(const struct patch *pa, const struct change *c, struct loaded *l)
{
	const char	*path = c->from != NULL ? c->from : c->path;
	struct digest	 d;
	struct place	 pl;
	uint8_t		 sha[DIGEST_LEN];
	int		 rv = -1;

	if (place_open(pa->job->project, path, &pl) == -1 || !pl.present)
		errno = ESTALE;
	else
		rv = S_ISLNK(c->pre.mode) ? loaded_link(pl.parent, pl.base,
		    l) : loaded_file(pl.parent, pl.base, c->pre.size, l);
	place_close(&pl);
	if (rv == -1) {
		if (errno != ENOMEM)
			errno = EBUSY;
		return (-1);
	}
	l->s.p = l->p;
	digest_init(&d);
	digest_add(&d, l->p, l->s.len);
	digest_end(&d, sha);
	if (memcmp(sha, c->pre.sha, DIGEST_LEN) != 0) {
		errno = EBUSY;
		return (-1);
	}
	return (0);
}

/* The staged copy: a link's is a file with its text. */
static int
load_post(const struct patch *pa, const struct change *c, struct loaded *l)
{
	char	name[24];

	if (c->pack != 0) {
		l->s.p = l->p = content_part(pa->pack, c->pack - 1,
		    c->post.size);
		l->s.len = (size_t)c->post.size;
		return (l->p == NULL ? -1 : 0);
	}
	snprintf(name, sizeof(name), "%llu", (unsigned long long)c->stage);
	if (loaded_file(pa->job->stage, name, c->post.size, l) == -1)
		return (-1);
	l->s.p = l->p;
	return (0);
}

static int
put_name(struct buf *b, const char *prefix, const char *path, const char *end)
{
	return (quote_path(b, prefix, path) == -1 ? -1 : buf_str(b, end));
}

static int
put_git(struct buf *b, const char *from, const char *path)
{
	return (buf_str(b, "diff --git ") == -1 ||
	    put_name(b, "a/", from, " ") == -1 ? -1 :
	    put_name(b, "b/", path, "\n"));
}

static int
put_modes(struct buf *b, unsigned int pre, unsigned int post)
{
	if (pre == post)
		return (0);
	return (buf_fmt(b, "old mode %o\nnew mode %o\n", pre, post));
}

static int
put_id(struct buf *b, const struct side *s, bool there)
{
	git_oid	id;
	char	hex[GIT_OID_HEXSZ + 1];

	memset(&id, 0, sizeof(id));
	if (there && git_odb_hash(&id, s->p, s->len, GIT_OBJECT_BLOB) < 0) {
		errno = ENOMEM;
		return (-1);
	}
	git_oid_tostr(hex, sizeof(hex), &id);
	return (buf_str(b, hex));
}

static int
put_index(struct buf *b, const struct side *a, const struct side *z,
    unsigned int pre, unsigned int post)
{
	if (buf_str(b, "index ") == -1 || put_id(b, a, pre != 0) == -1 ||
	    buf_str(b, "..") == -1 || put_id(b, z, post != 0) == -1)
		return (-1);
	return (pre == post ? buf_fmt(b, " %o\n", pre) : buf_str(b, "\n"));
}

/* Header and body of one file that has other bytes than before; pre or post
 * 0: there is none on that side. */
static int
put_file(struct diff *d, const char *path, const struct side *a,
    const struct side *z, unsigned int pre, unsigned int post, bool binary)
{
	struct buf	*b = &d->body;

	if (put_git(b, path, path) == -1)
		return (-1);
	if (pre == 0 ? buf_fmt(b, "new file mode %o\n", post) == -1 :
	    post == 0 ? buf_fmt(b, "deleted file mode %o\n", pre) == -1 :
	    put_modes(b, pre, post) == -1)
		return (-1);
	if (put_index(b, a, z, pre, post) == -1)
		return (-1);
	if (a->len == 0 && z->len == 0)
		return (0);
	if (binary)
		return (diff_blob(a, z, d));
	if (buf_str(b, "--- ") == -1 || (pre == 0 ?
	    buf_str(b, "/dev/null\n") : put_name(b, "a/", path, "\n")) == -1)
		return (-1);
	if (buf_str(b, "+++ ") == -1 || (post == 0 ?
	    buf_str(b, "/dev/null\n") : put_name(b, "b/", path, "\n")) == -1)
		return (-1);
	return (diff_text(a, z, d));
}

/* Without a body: another mode, another name. */
static int
put_header(struct buf *b, const struct change *c)
{
	unsigned int	pre = git_mode(&c->pre), post = git_mode(&c->post);

	/* A mode that git does not keep is landed, and in no patch. */
	if (c->kind == CHANGE_MODE && pre == post)
		return (0);
	if (put_git(b, c->from != NULL ? c->from : c->path, c->path) == -1 ||
	    put_modes(b, pre, post) == -1)
		return (-1);
	if (c->kind != CHANGE_RENAMED)
		return (0);
	return (buf_str(b, "similarity index 100%\nrename from ") == -1 ||
	    put_name(b, "", c->from, "\nrename to ") == -1 ? -1 :
	    put_name(b, "", c->path, "\n"));
}

/* A NUL among the first bytes of either side, of files of any size. */
static int
look_binary(struct patch *pa, struct change *c)
{
	char		name[24];
	uint8_t		head[DIFF_NUL];
	struct side	s = { .p = head };
	struct stat	st;
	ssize_t		n;
	int		fd;

	if (c->post.mode == 0 || !S_ISREG(c->post.mode))
		return (0);
	if (c->pack != 0) {
		n = pread(pa->pack, head, c->post.size < sizeof(head) ?
		    (size_t)c->post.size : sizeof(head),
		    (off_t)(c->pack - 1));
	} else {
		snprintf(name, sizeof(name), "%llu",
		    (unsigned long long)c->stage);
		if ((fd = content_open(pa->job->stage, name, &st)) == -1)
			return (patch_fail(pa, c->path, "staged copy"));
		n = pread(fd, head, sizeof(head), 0);
		close(fd);
	}
	s.len = n > 0 ? (size_t)n : 0;
	c->binary = diff_binary(&s);
	return (0);
}

static bool
change_fits(const struct change *c, uint64_t max)
{
	return (c->pre.size <= max && c->post.size <= max);
}

static int
put_change(struct diff *d, const struct change *c, const struct side *a,
    const struct side *z)
{
	static const struct side	none = { (const uint8_t *)"", 0 };
	unsigned int			pre = 0, post = 0;
	if (c->pre.mode != 0)
		pre = git_mode(&c->pre);
	if (c->post.mode != 0)
		post = git_mode(&c->post);
	if (c->kind != CHANGE_TYPE)
		return (put_file(d, c->path, a, z, pre, post, c->binary));
	/* File to link and back: one goes, the other comes. */
	if (put_file(d, c->path, a, &none, pre, 0, diff_binary(a)) == -1)
		return (-1);
	return (put_file(d, c->path, &none, z, 0, post, diff_binary(z)));
}

/* Loads both sides and makes the change's part; leaves it out where it is
 * too large, which makes it opaque. */
static int
build_bodied(struct patch *pa, struct change *c, struct diff *d)
{
	struct loaded	a = { .s = { (const uint8_t *)"", 0 } };
	struct loaded	z = { .s = { (const uint8_t *)"", 0 } };
	int		rv = 0;

	if (!change_fits(c, DIFF_PLAIN_MAX)) {
		c->opaque = true;
		return (look_binary(pa, c));
	}
	if ((c->pre.mode != 0 && load_pre(pa, c, &a) == -1) ||
	    (c->post.mode != 0 && load_post(pa, c, &z) == -1))
		rv = patch_fail(pa, c->path, "read");
	else {
		c->binary = diff_binary(&a.s) || diff_binary(&z.s);
		if (c->binary && !change_fits(c, DIFF_BINARY_MAX))
			c->opaque = true;
		else if (put_change(d, c, &a.s, &z.s) == -1)
			rv = patch_fail(pa, c->path, "diff");
	}
	free(a.p);
	free(z.p);
	return (rv);
}

static int
body_flush(struct patch *pa)
{
	size_t	len = pa->out.len;

	pa->out.len = 0;
	return (put_all(pa->body, pa->out.p, len));
}

/* Of many small changes a write each would be felt. */
static int
body_write(struct patch *pa, const struct buf *b)
{
	pa->size += b->len;
	if (b->len < BODY_ROOM && buf_add(&pa->out, b->p, b->len) == -1)
		return (-1);
	if (pa->out.len >= BODY_ROOM || b->len >= BODY_ROOM)
		if (body_flush(pa) == -1)
			return (-1);
	return (b->len < BODY_ROOM ? 0 : put_all(pa->body, b->p, b->len));
}

static int
build_change(struct patch *pa, struct change *c)
{
	struct diff	d = { .insertions = 0 };
	int		rv = 0;

	c->opaque = c->binary = false;
	if (c->kind == CHANGE_MODE || c->kind == CHANGE_RENAMED) {
		if (put_header(&d.body, c) == -1)
			rv = patch_fail(pa, c->path, "header");
	} else
		rv = build_bodied(pa, c, &d);
	if (rv == 0 && !c->opaque && d.body.len > PATCH_MAX - pa->size)
		c->opaque = true;
	if (rv == 0 && !c->opaque && body_write(pa, &d.body) == -1)
		rv = patch_fail(pa, c->path, "staging folder");
	c->insertions = d.insertions;
	c->deletions = d.deletions;
	pa->set->insertions += d.insertions;
	pa->set->deletions += d.deletions;
	pa->set->incomplete |= c->opaque;
	pa->modes |= mode_untold(c) != 0;
	buf_free(&d.body);
	return (rv);
}

static int
mode_line(struct buf *b, const struct change *c)
{
	mode_t	pre = S_ISREG(c->pre.mode) ? c->pre.mode : 0;

	if (put_name(b, "MODE: ", c->path, "") == -1 ||
	    buf_fmt(b, " lands with mode %06o", (unsigned int)c->post.mode) ==
	    -1 || (pre != 0 && buf_fmt(b, ", was %06o", (unsigned int)pre) ==
	    -1))
		return (-1);
	return (buf_str(b, (c->post.mode & ~pre & 022) != 0 ?
	    ": others than its owner may write it\n" : "\n"));
}

/* As many as a client reads; "sbxctl changes" has them all. */
static int
mode_lines(const struct patch *pa, struct buf *b)
{
	const struct change	*c;
	size_t			 more = 0, from = b->len;

	TAILQ_FOREACH(c, &pa->set->changes, entry) {
		if (mode_untold(c) == 0)
			continue;
		if (b->len - from > MODES_MAX)
			more++;
		else if (mode_line(b, c) == -1)
			return (-1);
	}
	return (more == 0 ? 0 : buf_fmt(b, "MODE: and %zu more, see sbxctl "
	    "changes\n", more));
}

/* What of the changes is not in the patch. */
static int
opaque_lines(const struct patch *pa, struct buf *b)
{
	const struct change	*c;
	char			 hex[2 * DIGEST_LEN + 1];

	if (buf_str(b, "sbx: git apply alone does not give the whole; "
	    "sbxctl apply lands these too:\n") == -1)
		return (-1);
	TAILQ_FOREACH(c, &pa->set->changes, entry) {
		if (!c->opaque)
			continue;
		if (put_name(b, "sbx: ", c->path, "") == -1)
			return (-1);
		digest_hex(c->post.sha, hex);
		if (c->post.mode == 0 ? buf_str(b, " is deleted\n") == -1 :
		    buf_fmt(b, " is %llu bytes, SHA-256%s %s\n",
		    (unsigned long long)c->post.size,
		    c->post.size > BLOCKS_MIN ? " by blocks" : "", hex) == -1)
			return (-1);
	}
	return (0);
}

/* The first lines of a patch that is not the whole. git skips what comes
 * before a "diff --git". */
static int
preamble(const struct patch *pa, struct buf *b)
{
	if ((pa->set->incomplete && opaque_lines(pa, b) == -1) ||
	    mode_lines(pa, b) == -1)
		return (-1);
	return (buf_str(b, "\n"));
}

static int
stage_create(const struct job *job, const char *name)
{
	if (unlinkat(job->stage, name, 0) == -1 && errno != ENOENT)
		return (-1);
	return (openat(job->stage, name, O_RDWR | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0600));
}

/* The body behind its preamble, as stage/patch. */
static int
patch_prefix(struct patch *pa)
{
	struct buf	b = { 0 };
	struct patch	to = *pa;
	uint8_t		block[65536];
	uint64_t	off = 0;
	ssize_t		n;
	int		rv = -1;

	to.size = 0;
	to.out = (struct buf){ 0 };
	if ((to.body = stage_create(pa->job, "patch")) == -1)
		return (-1);
	if (preamble(pa, &b) == -1 || body_write(&to, &b) == -1)
		goto done;
	while ((n = pread(pa->body, block, sizeof(block), (off_t)off)) > 0) {
		struct buf	part = { .p = block, .len = (size_t)n };

		if (body_write(&to, &part) == -1)
			goto done;
		off += (uint64_t)n;
	}
	rv = n == 0 ? body_flush(&to) : -1;
	pa->size = to.size;
done:
	buf_free(&b);
	buf_free(&to.out);
	close(to.body);
	return (rv);
}

static int
patch_finish(struct patch *pa)
{
	if (body_flush(pa) == -1)
		return (-1);
	if (!pa->set->incomplete && !pa->modes)
		return (tree_rename(pa->job->stage, "body", pa->job->stage,
		    "patch", 0));
	return (patch_prefix(pa) == -1 ? -1 :
	    unlinkat(pa->job->stage, "body", 0));
}

int
changeset_patch(const struct job *job, struct changeset *set, char *why,
    size_t whylen)
{
	struct patch	 pa = { .job = job, .set = set, .why = why,
			    .whylen = whylen };
	struct change	*c;
	int		 rv = 0;

	set->insertions = set->deletions = 0;
	set->incomplete = false;
	if ((pa.body = stage_create(job, "body")) == -1)
		return (patch_fail(&pa, "patch", "staging folder"));
	pa.pack = openat(job->stage, STAGE_PACK, O_RDONLY | O_NOFOLLOW |
	    O_CLOEXEC);
	TAILQ_FOREACH(c, &set->changes, entry)
		if ((rv = build_change(&pa, c)) == -1)
			break;
	if (rv == 0 && (rv = patch_finish(&pa)) == -1)
		patch_fail(&pa, "patch", "staging folder");
	set->patchsize = pa.size;
	buf_free(&pa.out);
	close(pa.body);
	if (pa.pack != -1)
		close(pa.pack);
	return (rv);
}
