/*
 * A file or a link: read on both sides, its post-image copied to the stage,
 * and listed if the two differ.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blocks.h"
#include "content.h"
#include "walk.h"
#include "xattr.h"

#define MODE_BITS	0777	/* setuid, setgid and sticky never land */

/* Both sides open, while they are read. */
struct reading {
	int		 v, r;		/* regular files; -1: not one */
	struct stat	 vst, rst;
	bool		 same;		/* in bytes */
	bool		 xattr;
	char		 vtext[PATH_MAX], rtext[PATH_MAX];	/* of links */
	size_t		 vlen, rlen;
};

/* On either side, whatever folder the other one has. */
static bool
item_file(bool there, const struct stat *st)
{
	return (there && (S_ISREG(st->st_mode) || S_ISLNK(st->st_mode)));
}

static int
reading_link(int dir, const char *name, char *text, size_t *len)
{
	ssize_t	n;

	if ((n = readlinkat(dir, name, text, PATH_MAX)) == -1) {
		if (errno == EINVAL || errno == ENOENT)
			errno = ESTALE;
		return (-1);
	}
	if (n == PATH_MAX) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	*len = (size_t)n;
	return (0);
}

static void
reading_close(struct reading *rd)
{
	int	saved = errno;

	if (rd->v != -1)
		close(rd->v);
	if (rd->r != -1)
		close(rd->r);
	errno = saved;
}

static int
reading_open(const struct item *it, struct reading *rd)
{
	rd->v = rd->r = -1;
	rd->same = rd->xattr = false;
	rd->vlen = rd->rlen = 0;
	rd->vst = it->vst;
	rd->rst = it->rst;
	if (it->view && S_ISLNK(it->vst.st_mode)) {
		if (reading_link(it->vfd, it->name, rd->vtext,
		    &rd->vlen) == -1)
			return (-1);
	} else if (it->view &&
	    (rd->v = content_open(it->vfd, it->name, &rd->vst)) == -1)
		return (-1);
	if (it->real && S_ISLNK(it->rst.st_mode)) {
		if (reading_link(it->rfd, it->name, rd->rtext,
		    &rd->rlen) == -1)
			return (-1);
	} else if (it->real &&
	    (rd->r = content_open(it->rfd, it->name, &rd->rst)) == -1)
		return (-1);
	rd->xattr = it->layer && rd->v != -1 && xattr_differ(rd->v, rd->r);
	return (0);
}

static void
image_set(struct image *im, const struct stat *st, size_t linklen)
{
	bool	link = S_ISLNK(st->st_mode);

	im->mode = link ? S_IFLNK | 0777 :
	    S_IFREG | (st->st_mode & MODE_BITS);
	im->size = link ? linklen : (uint64_t)st->st_size;
	im->dev = st->st_dev;
	im->ino = st->st_ino;
	im->ctime = st->st_ctim;
}

static void
stage_name(uint64_t n, char name[24])
{
	snprintf(name, 24, "%llu", (unsigned long long)n);
}

static void
stage_drop(struct walk *w, struct change *c)
{
	char	name[24];
	int	saved = errno;

	c->pack = 0;
	if (c->stage == 0)
		return;
	stage_name(c->stage, name);
	unlinkat(w->job->stage, name, 0);
	c->stage = 0;
	errno = saved;
}

/* Of small files making and removing them takes longer than their bytes. */
static int
reading_pack(struct walk *w, struct reading *rd, struct change *c,
    uint64_t size)
{
	if (w->pack == -1)
		w->pack = openat(w->job->stage, STAGE_PACK, O_RDWR | O_CREAT |
		    O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (w->pack == -1 || (rd->v == -1 ?
	    content_put(w->pack, w->packed, rd->vtext, rd->vlen,
	    c->post.sha) == -1 :
	    content_pack(rd->v, w->pack, w->packed, size, c->post.sha) == -1))
		return (-1);
	c->pack = w->packed + 1;
	w->packed += size;
	return (0);
}

/* One side's hash: a file's, or with none that of a link's text. */
static int
reading_hash(int fd, const struct stat *st, const char *text, size_t len,
    uint8_t sha[DIGEST_LEN])
{
	struct digest	d;
	uint64_t	size;

	if (fd == -1) {
		digest_init(&d);
		digest_add(&d, text, len);
		digest_end(&d, sha);
		return (0);
	}
	if (blocks_digest(fd, sha, &size) == -1)
		return (-1);
	if (size != (uint64_t)st->st_size) {
		errno = ESTALE;
		return (-1);
	}
	return (0);
}

static int
reading_hash_real(const struct reading *rd, uint8_t sha[DIGEST_LEN])
{
	return (reading_hash(rd->r, &rd->rst, rd->rtext, rd->rlen, sha));
}

/* Copies the view's side to the stage: a link as a file with its text. */
static int
reading_stage(struct walk *w, const struct item *it, struct reading *rd,
    struct change *c)
{
	char		name[24];
	uint64_t	size = (uint64_t)rd->vst.st_size;
	struct stat	st;
	int		to, from2 = -1, rv, saved;

	if (w->job->dry)
		return (reading_hash(rd->v, &rd->vst, rd->vtext, rd->vlen,
		    c->post.sha));
	if (rd->v == -1 || size <= BLOCK)
		return (reading_pack(w, rd, c, rd->v == -1 ? rd->vlen : size));
	stage_name(c->stage = ++w->nstage, name);
	to = openat(w->job->stage, name, O_RDWR | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to == -1)
		return (-1);
	/* The layer's own file, which lies beside the stage. */
	if (it->layer && S_ISREG(it->lst.st_mode) &&
	    it->lst.st_size == rd->vst.st_size)
		from2 = content_open(it->lfd, it->name, &st);
	rv = content_stage(rd->v, from2, to, size, c->post.sha);
	saved = errno;
	if (from2 != -1)
		close(from2);
	if (close(to) == -1 && rv == 0)
		return (-1);
	errno = saved;
	return (rv);
}

/* Equal bytes on both sides: 1 and the hash; 0; -1. */
static int
reading_same(const struct item *it, struct reading *rd,
    uint8_t sha[DIGEST_LEN])
{
	if (!it->view || !it->real)
		return (0);
	if (rd->v != -1 && rd->r != -1)
		return (rd->vst.st_size != rd->rst.st_size ? 0 :
		    blocks_same(rd->v, rd->r, (uint64_t)rd->vst.st_size,
		    sha));
	if (rd->v != -1 || rd->r != -1 || rd->vlen != rd->rlen ||
	    memcmp(rd->vtext, rd->rtext, rd->vlen) != 0)
		return (0);
	return (reading_hash_real(rd, sha) == -1 ? -1 : 1);
}

static bool
reading_steady(const struct item *it, const struct reading *rd)
{
	struct stat	st;

	if (it->view && rd->v == -1 && (fstatat(it->vfd, it->name, &st,
	    AT_SYMLINK_NOFOLLOW) == -1 || st.st_ino != rd->vst.st_ino ||
	    !S_ISLNK(st.st_mode)))
		return (false);
	if (it->real && rd->r == -1 && (fstatat(it->rfd, it->name, &st,
	    AT_SYMLINK_NOFOLLOW) == -1 || st.st_ino != rd->rst.st_ino ||
	    !S_ISLNK(st.st_mode)))
		return (false);
	return ((rd->v == -1 || content_steady(rd->v, &rd->vst)) &&
	    (rd->r == -1 || content_steady(rd->r, &rd->rst)));
}

/* Once: fills c's images, stages what differs. -1 ESTALE: it moved. */
static int
entry_read_once(struct walk *w, const struct item *it, struct reading *rd,
    struct change *c)
{
	int	rv;

	if (reading_open(it, rd) == -1)
		return (-1);
	if ((rv = reading_same(it, rd, c->post.sha)) == -1)
		return (-1);
	rd->same = rv == 1;
	if (rd->same)
		memcpy(c->pre.sha, c->post.sha, DIGEST_LEN);
	else if ((it->view && reading_stage(w, it, rd, c) == -1) ||
	    (it->real && reading_hash_real(rd, c->pre.sha) == -1))
		return (-1);
	if (it->view)
		image_set(&c->post, &rd->vst, rd->vlen);
	if (it->real)
		image_set(&c->pre, &rd->rst, rd->rlen);
	if (!reading_steady(it, rd)) {
		errno = ESTALE;
		return (-1);
	}
	return (0);
}

static bool
stat_again(int dir, const char *name, bool there, struct stat *st)
{
	mode_t	type = st->st_mode & S_IFMT;

	if (!there)
		return (true);
	return (fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (st->st_mode & S_IFMT) == type);
}

/* -1 EACCES: not for us; EBUSY: it does not hold still. */
static int
entry_read(struct walk *w, struct item *it, struct reading *rd,
    struct change *c)
{
	int	i, rv = -1;

	for (i = 0; i < WALK_TRIES; i++) {
		rv = entry_read_once(w, it, rd, c);
		reading_close(rd);
		if (rv == 0)
			return (0);
		stage_drop(w, c);
		if ((errno != ESTALE && errno != ENOENT) ||
		    !stat_again(it->vfd, it->name, it->view, &it->vst) ||
		    !stat_again(it->rfd, it->name, it->real, &it->rst))
			break;
	}
	if (errno == ESTALE || errno == ENOENT)
		errno = EBUSY;
	return (rv);
}

/* What of a file is told, and not landed. */
static int
entry_tell(struct walk *w, const struct item *it, const struct reading *rd)
{
	mode_t	had = it->real ? it->rst.st_mode : 0;

	if (rd->xattr && walk_skip(w, it->path, "xattr",
	    "extended attributes are not landed") == -1)
		return (-1);
	if (it->view && S_ISREG(it->vst.st_mode) &&
	    (it->vst.st_mode & ~had & (S_ISUID | S_ISGID)) != 0 &&
	    walk_skip(w, it->path, "setuid",
	    "setuid and setgid are not landed") == -1)
		return (-1);
	return (0);
}

static enum change_kind
entry_kind(const struct change *c, bool same)
{
	if (c->pre.mode == 0)
		return (CHANGE_ADDED);
	if (c->post.mode == 0)
		return (CHANGE_DELETED);
	if ((c->pre.mode & S_IFMT) != (c->post.mode & S_IFMT))
		return (CHANGE_TYPE);
	return (same ? CHANGE_MODE : CHANGE_MODIFIED);
}

static bool
image_equal(const struct image *a, const struct image *b)
{
	return (a->mode == b->mode && (a->mode == 0 ||
	    (a->size == b->size &&
	    memcmp(a->sha, b->sha, DIGEST_LEN) == 0)));
}

static void
found_free(struct found *fo)
{
	free(fo->c.path);
	free(fo);
}

/* Names of one file stay so in no landing: each gets a file. */
static int
entry_tell_links(struct walk *w, const struct item *it)
{
	if (!it->view || !S_ISREG(it->vst.st_mode) ||
	    (!(it->real && it->rst.st_nlink > 1) &&
	    !(it->layer && it->vst.st_nlink > 1)))
		return (0);
	return (walk_skip(w, it->path, "links",
	    "a hard link lands as a file of its own"));
}

/* fo->c.path is the list's own from here on. */
static int
entry_list(struct walk *w, const struct item *it, struct found *fo, bool same)
{
	const struct baseline	*base = drift_base(w, it->path);
	struct change		*c = &fo->c;

	if ((same && c->pre.mode == c->post.mode) ||
	    (base != NULL && image_equal(&c->post, &base->image))) {
		stage_drop(w, c);
		found_free(fo);
		return (0);
	}
	if (++w->nchanges > walk_max) {
		found_free(fo);
		return (walk_full(w, it->path, "changes"));
	}
	c->kind = entry_kind(c, same);
	fo->vino = it->view ? WALK_INO(it->vst.st_ino) : 0;
	fo->standin = it->view && !it->layer && !it->real &&
	    S_ISREG(it->vst.st_mode) && it->vst.st_size == 0 &&
	    (it->vst.st_mode & 07777) == 0444 &&
	    (it->vst.st_uid == 0 || it->vst.st_uid == geteuid());
	if (entry_tell_links(w, it) == -1 ||
	    drift_judge(w, it, base, fo) == -1) {
		found_free(fo);
		return (-1);
	}
	/* Where the view has it is nothing that a landing may stand on. */
	c->post.dev = c->post.ino = 0;
	memset(&c->post.ctime, 0, sizeof(c->post.ctime));
	TAILQ_INSERT_TAIL(&w->set->changes, c, entry);
	return (0);
}

static int
entry_ignored(struct walk *w, struct item *it)
{
	struct folder	*f = it->f;
	struct ignored	*ig = f->ignored;

	if (walk_keep(w, it) == -1 || walk_seen(w, it) == -1)
		return (-1);
	/* Not read: what was only touched may count as changed. */
	if (it->view && it->real && it->vst.st_size == it->rst.st_size &&
	    it->vst.st_mode == it->rst.st_mode &&
	    it->vst.st_mtim.tv_sec == it->rst.st_mtim.tv_sec &&
	    it->vst.st_mtim.tv_nsec == it->rst.st_mtim.tv_nsec)
		return (0);
	if (ig == NULL && f->files == NULL &&
	    (f->files = ignored_new(w, f->path)) == NULL)
		return (-1);
	if (ig == NULL)
		ig = f->files;
	ig->files++;
	ig->bytes += it->view ? (uint64_t)it->vst.st_size : 0;
	return (0);
}

/* 1 ignored, 0 not, -1. */
static int
entry_is_ignored(struct walk *w, const struct item *it)
{
	int	rv;

	if (it->f->ignored == NULL &&
	    !ignore_match(it->f->rules, it->path, false))
		return (0);
	rv = walk_tracked(w, it->path);
	return (rv == -1 ? -1 : !rv);
}

static int
entry_unreadable(struct walk *w, struct item *it)
{
	if (walk_keep(w, it) == -1)
		return (-1);
	return (walk_skip(w, it->path, "unreadable",
	    "the session's user cannot read it"));
}

/* A hole costs nothing, but for where the next byte is. */
static bool
stat_large(const struct stat *st)
{
	return ((uint64_t)st->st_size > WALK_FILE_MAX &&
	    ((uint64_t)st->st_blocks * 512 > WALK_FILE_MAX ||
	    (uint64_t)st->st_size > WALK_HOLES_MAX));
}

static int
entry_too_large(struct walk *w, struct item *it)
{
	if (walk_keep(w, it) == -1)
		return (-1);
	return (walk_skip(w, it->path, "special",
	    "a file with more than 16 GiB of data is not landed"));
}

int
entry_walk(struct walk *w, struct item *it)
{
	struct reading	 rd;
	struct found	*fo;
	bool		 folder = it->real && S_ISDIR(it->rst.st_mode);
	int		 rv;

	it->view = item_file(it->view, &it->vst);
	it->real = item_file(it->real, &it->rst);
	if ((rv = entry_is_ignored(w, it)) != 0)
		return (rv == -1 ? -1 : entry_ignored(w, it));
	if ((it->view && stat_large(&it->vst)) ||
	    (it->real && stat_large(&it->rst)))
		return (entry_too_large(w, it));
	if (walk_seen(w, it) == -1)
		return (-1);
	if ((fo = calloc(1, sizeof(*fo))) == NULL ||
	    (fo->c.path = strdup(it->path)) == NULL) {
		free(fo);
		return (walk_fail(w, it->path, "list"));
	}
	fo->replaces = folder;
	if (entry_read(w, it, &rd, &fo->c) == -1) {
		found_free(fo);
		return (errno == EACCES ? entry_unreadable(w, it) :
		    walk_fail(w, it->path, "copy to the staging folder"));
	}
	if (entry_tell(w, it, &rd) == -1) {
		found_free(fo);
		return (-1);
	}
	return (entry_list(w, it, fo, rd.same));
}

int
entry_differs(struct walk *w, const struct item *it)
{
	struct reading	rd;
	uint8_t		sha[DIGEST_LEN];
	int		rv;

	if (it->view != it->real ||
	    (it->vst.st_mode & S_IFMT) != (it->rst.st_mode & S_IFMT))
		return (1);
	if (S_ISDIR(it->vst.st_mode) || !item_file(true, &it->vst))
		return (0);
	if (S_ISREG(it->vst.st_mode) &&
	    (it->vst.st_size != it->rst.st_size ||
	    (it->vst.st_mode & MODE_BITS) != (it->rst.st_mode & MODE_BITS)))
		return (1);
	rv = reading_open(it, &rd);
	if (rv == 0)
		rv = reading_same(it, &rd, sha);
	reading_close(&rd);
	if (rv == -1 && (errno == ENOMEM || errno == EIO))
		return (walk_fail(w, it->path, "read"));
	return (rv != 1);	/* unreadable, or being written: it does */
}
