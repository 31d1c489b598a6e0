#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/fields.h"
#include "plan.h"

/*
 * The journal knows of the folder but not of a commit: it holds staged copies
 * only, and they go. Unless the journal was cut back to that by somebody, and
 * what lies there are the owner's displaced files: the record beside them,
 * written before the commit, knows the staged inodes.
 */
static bool
intent_displaced(const struct folder *f, const char *sid)
{
	struct plan	 rec;
	struct stat	 st;
	const char	*why;
	uint8_t		*buf;
	size_t		 len, i;
	bool		 whole, displaced = false;

	if (folder_record(f, &buf, &len) != 1)
		return (false);
	plan_init(&rec);
	if (journal_decode(buf, len, sid, &rec, &whole, &why) == 0)
		for (i = 0; i < rec.n && !displaced; i++)
			displaced = fstatat(f->fd, op_name(&rec.v[i]).s, &st,
			    AT_SYMLINK_NOFOLLOW) == 0 &&
			    st.st_ino != rec.v[i].post.ino;
	plan_free(&rec);
	free(buf);
	return (displaced);
}

static int
recover_intent(const struct plan *p, int root, struct folder *f,
    const char *sid, struct landing_result *res)
{
	if (f->fd == -1) {
		folder_sweep(root, sid);
		return (0);
	}
	if (intent_displaced(f, sid))
		return (landing_fail(res, "land.unfinished", "%s/%llu holds "
		    "files of the project's, and the journal does not say so; "
		    "look into it by hand", p->folder,
		    (unsigned long long)p->number));
	if (folder_remove(f, p) == -1)
		return (landing_errno(res, "removing", p->folder));
	return (0);
}

static int
recover_whole(const struct plan *p, int root, struct folder *f,
    const char *sid, const uint8_t *journal, size_t len,
    struct landing_result *res)
{
	int	back;

	if (plan_forward(p, root, f, res) == 0 &&
	    plan_verify(p, root, f, res) == 0) {
		if (syncfs(root) == -1)
			return (landing_errno(res, "syncing", p->folder));
		if (plan_finish(p, root, f, journal, len, res) == -1)
			return (landing_fail(res, "land.failed",
			    "out of memory"));
		res->applied = true;
		return (0);
	}
	back = plan_back(p, root, f, journal, len, res);
	if (back == 0 && f->fd == -1)
		folder_sweep(root, sid);
	(void)syncfs(root);
	return (back == -1 ? -1 : 0);
}

/*
 * A landing that has its baselines has ended, and since then the session and
 * the owner have gone on: what was lost is the removal of its journal, or
 * somebody has put that back. Numbers only grow, and one that was taken back
 * gives its own to the next, unless it left something.
 */
static bool
recover_stale(const struct plan *p, const struct landings *made,
    struct landing_result *res)
{
	const struct landing	*l;
	size_t			 i;
	bool			 stale = false;

	TAILQ_FOREACH(l, made, entry) {
		if (l->n < p->number)
			continue;
		stale = true;
		if (!l->back && l->n == p->number && l->dev == p->dev &&
		    l->ino == p->ino &&
		    digest_cmp(l->digest, p->digest) == 0)
			res->applied = true;
	}
	for (i = 0; i < p->n && res->applied; i++)
		res->earlier += p->v[i].kind != OP_RMDIR &&
		    p->v[i].kind != OP_MKDIR;
	return (stale);
}

int
landing_recover(const struct job *job, const char *sid,
    const uint8_t *journal, size_t len, const struct landings *made,
    struct landing_result *res)
{
	struct folder	 f = { -1, -1, -1 };
	struct plan	 p;
	const char	*why;
	bool		 whole;
	int		 root, rv;

	if ((root = landing_lock(job, false, res)) == -1)
		return (-1);
	plan_init(&p);
	if (len == 0) {
		folder_sweep(root, sid);
		rv = 0;
	} else if (journal_decode(journal, len, sid, &p, &whole, &why) == -1)
		rv = landing_fail(res, fields_nomem(why) ? "land.failed" :
		    "land.state", "the journal is %s", why);
	else if (recover_stale(&p, made, res))
		rv = 0;
	else if (folder_open(&f, &p, root) == -1)
		rv = landing_errno(res, "opening", p.folder);
	else
		rv = whole ?
		    recover_whole(&p, root, &f, sid, journal, len, res) :
		    recover_intent(&p, root, &f, sid, res);
	folder_close(&f);
	plan_free(&p);
	close(root);
	return (rv);
}
