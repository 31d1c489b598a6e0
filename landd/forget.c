#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan.h"

/*
 * The end of a session's landings: what they displaced is removed, which was
 * kept for an undo that cannot come any more. The folder lies where the
 * session's user writes, so nothing in it is taken for ours by its name
 * alone: the landing's folder is known to the state by its inode, the record
 * in it by its SHA-256, and the record knows each displaced file by inode and
 * bytes. One that has other bytes was written to by who had it open still:
 * that is somebody's work, and stays.
 */
struct forget {
	int		 root;
	const char	*sid;
	char		 why[400];	/* of the first thing that stays */
	bool		 failed;	/* ours, but not to be removed now */
};

static void
forget_left(struct forget *g, const struct landing *l, const char *name,
    const char *why)
{
	if (g->why[0] == '\0')
		snprintf(g->why, sizeof(g->why), "%llu%s%s %.340s",
		    (unsigned long long)l->n, *name != '\0' ? "/" : "", name,
		    why);
}

/* The same where the next time may be another: its reason goes first. */
static void
forget_failed(struct forget *g, const struct landing *l, const char *name)
{
	const char	*why = strerror(errno);

	if (!g->failed)
		g->why[0] = '\0';
	g->failed = true;
	forget_left(g, l, name, why);
}

/*
 * What a landing displaced that was taken back is nobody's approved loss:
 * others' edit lies in its place, and it goes only where they have put back
 * the same.
 */
static bool
forget_needed(struct forget *g, const struct landing *l, const struct op *op)
{
	char		why[380];
	uint8_t		sha[DIGEST_LEN];
	struct place	pl;
	bool		same;

	if (!l->back || op->kind == OP_RMDIR)
		return (false);
	same = place_open(g->root, op->path, &pl) == 0 && pl.present &&
	    (pl.st.st_mode & S_IFMT) == (op->pre.mode & S_IFMT) &&
	    tree_hash(pl.parent, pl.base, sha) == 0 &&
	    digest_cmp(sha, op->pre.sha) == 0;
	place_close(&pl);
	if (same)
		return (false);
	snprintf(why, sizeof(why), "is %s as it was before a landing that "
	    "was taken back", shown_path(op->path).s);
	forget_left(g, l, op_name(op).s, why);
	return (true);
}

/* False: it stays. */
static bool
forget_op(struct forget *g, const struct folder *f, const struct landing *l,
    const struct op *op)
{
	struct opname	name = op_name(op);
	struct stat	st;
	uint8_t		sha[DIGEST_LEN];

	if (fstatat(f->fd, name.s, &st, AT_SYMLINK_NOFOLLOW) == -1) {
		if (errno == ENOENT)
			return (true);
		forget_failed(g, l, name.s);
	} else if (st.st_ino != op->pre.ino ||
	    (st.st_mode & S_IFMT) != (op->pre.mode & S_IFMT))
		forget_left(g, l, name.s, "is not what the landing put there");
	else if (op->kind != OP_RMDIR &&
	    tree_hash(f->fd, name.s, sha) == -1)
		forget_failed(g, l, name.s);
	else if (op->kind != OP_RMDIR && digest_cmp(sha, op->pre.sha) != 0)
		forget_left(g, l, name.s, "was written to since it was "
		    "displaced");
	else if (forget_needed(g, l, op))
		return (false);
	else if (unlinkat(f->fd, name.s, op->kind == OP_RMDIR ?
	    AT_REMOVEDIR : 0) == 0)
		return (true);
	else if (errno == ENOTEMPTY || errno == EEXIST)
		forget_left(g, l, name.s, "has something in it now");
	else
		forget_failed(g, l, name.s);
	return (false);
}

/* The record, if it is the one that the state knows. */
static int
forget_record(const struct forget *g, const struct folder *f,
    const struct landing *l, struct plan *p)
{
	struct digest	 d;
	uint8_t		*buf, sha[DIGEST_LEN];
	const char	*why;
	size_t		 len;
	bool		 whole;
	int		 rv = -1;

	if (folder_record(f, &buf, &len) != 1)
		return (-1);
	digest_init(&d);
	digest_add(&d, buf, len);
	digest_end(&d, sha);
	if (digest_cmp(sha, l->record) == 0 && journal_decode(buf, len, g->sid,
	    p, &whole, &why) == 0 && whole && p->number == l->n)
		rv = 0;
	free(buf);
	return (rv);
}

/* The record goes last: without it nothing here could be told apart. */
static void
forget_files(struct forget *g, const struct folder *f, const struct landing *l)
{
	struct plan	p;
	size_t		i;
	bool		known, left;

	plan_init(&p);
	known = forget_record(g, f, l, &p) == 0;
	/* Killed after the record was removed, it is empty. */
	left = !known && tree_empty(f->fd) != 1;
	if (left)
		forget_left(g, l, "", "has no record of its landing any more");
	for (i = 0; known && i < p.n; i++)
		if ((p.v[i].kind == OP_REPLACE || p.v[i].kind == OP_DELETE ||
		    p.v[i].kind == OP_RMDIR) && !forget_op(g, f, l, &p.v[i]))
			left = true;
	if (!left && unlinkat(f->fd, "record", 0) == -1 && errno != ENOENT)
		forget_failed(g, l, "record");
	plan_free(&p);
}

static void
forget_landing(struct forget *g, const struct landing *l)
{
	struct folder	f;
	struct plan	at;
	char		name[24];
	int		r;

	plan_init(&at);
	at.number = l->n;
	at.ino = l->ino;
	at.folder = l->folder;
	r = folder_open(&f, &at, g->root);
	if (r == -1)
		forget_failed(g, l, "");
	if (r == 1) {
		forget_files(g, &f, l);
		snprintf(name, sizeof(name), "%llu", (unsigned long long)l->n);
		if (unlinkat(f.top, name, AT_REMOVEDIR) == -1) {
			if (errno == ENOTEMPTY || errno == EEXIST)
				forget_left(g, l, "", "has something in it "
				    "that no landing put there");
			else if (errno != ENOENT)
				forget_failed(g, l, "");
		}
	}
	folder_close(&f);
}

/* Whether anything is at path. A landing's parent that is no folder any more
 * may have taken with it what was there. */
static bool
forget_stays(int root, const char *path, bool used)
{
	struct place	pl, dir;
	bool		stays;

	stays = place_open(root, path, &pl) == -1 || pl.present;
	if (!stays && used && pl.parent == -1) {
		stays = place_open(root, ".git", &dir) == -1 || dir.present;
		place_close(&dir);
	}
	place_close(&pl);
	return (stays);
}

/* The session's record goes next, and with it all that is known of this. */
static void
forget_sync(int root, const char *parent)
{
	int	fd;

	if ((fd = tree_open(root, parent, O_RDONLY | O_DIRECTORY)) == -1)
		return;
	(void)fsync(fd);
	close(fd);
}

static int
forget_check(const struct forget *g, const struct job *job, const char *path,
    bool used, struct landing_result *res)
{
	if (!forget_stays(g->root, path, used)) {
		if (used)
			forget_sync(g->root, strchr(path, '/') != NULL ?
			    ".git" : "");
		return (0);
	}
	if (g->failed)
		return (landing_fail(res, "land.failed", "what its landings "
		    "displaced cannot be removed from %s/%s: %s; put that "
		    "right and try again, or let it stay there by \"sbxctl "
		    "rm --discard %s\"", shown_path(job->root).s, path,
		    g->why, g->sid));
	return (landing_fail(res, "land.left", "%s/%s: %s; look into it, and "
	    "remove it by hand", shown_path(job->root).s, path,
	    g->why[0] != '\0' ? g->why : "it is not as its landings left "
	    "it"));
}

int
landing_forget(const struct job *job, const char *sid,
    const struct landings *made, struct landing_result *res)
{
	struct forget		 g = { .sid = sid };
	const struct landing	*l;
	char			 paths[2][64];
	bool			 used[2] = { false, false };
	int			 i, rv = 0;

	g.root = tree_open(job->project, ".", O_RDONLY | O_DIRECTORY);
	if (g.root == -1)
		return (landing_errno(res, "opening", job->root));
	snprintf(paths[0], sizeof(paths[0]), ".git/sbx-land-%s", sid);
	snprintf(paths[1], sizeof(paths[1]), ".sbx-land-%s", sid);
	TAILQ_FOREACH(l, made, entry)
		/* The only two that a landing uses, whatever the state says. */
		for (i = 0; i < 2; i++)
			if (strcmp(l->folder, paths[i]) == 0) {
				used[i] = true;
				forget_landing(&g, l);
			}
	folder_sweep(g.root, sid);
	for (i = 0; i < 2; i++)
		if (forget_check(&g, job, paths[i], used[i], res) == -1)
			rv = -1;
	close(g.root);
	return (rv);
}
