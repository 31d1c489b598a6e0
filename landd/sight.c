#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "plan.h"

int
sight_get(struct sight *s, const struct op *op, int root,
    const struct folder *f)
{
	s->inside = false;
	if (place_open(root, op->path, &s->pl) == -1)
		return (-1);
	if (f->fd == -1)
		return (0);
	if (fstatat(f->fd, op_name(op).s, &s->in, AT_SYMLINK_NOFOLLOW) == 0)
		s->inside = true;
	else if (errno != ENOENT)
		return (-1);
	return (0);
}

void
sight_close(struct sight *s)
{
	place_close(&s->pl);
}

static enum sight_state
state_chmod(const struct sight *s, const struct op *op)
{
	mode_t	mode = s->pl.st.st_mode & 0777;

	if (!s->pl.present || s->pl.st.st_ino != op->pre.ino)
		return (SIGHT_ODD);
	if (mode == (op->post.mode & 0777))
		return (SIGHT_NEW);
	return (mode == (op->pre.mode & 0777) ? SIGHT_OLD : SIGHT_ODD);
}

enum sight_state
sight_state(const struct sight *s, const struct op *op)
{
	uint64_t	at = s->pl.present ? s->pl.st.st_ino : 0;

	switch (op->kind) {
	case OP_CHMOD:
		return (state_chmod(s, op));
	case OP_REPLACE:
		if (at == op->post.ino)
			return (SIGHT_NEW);
		return (at == op->pre.ino ? SIGHT_OLD : SIGHT_ODD);
	case OP_DELETE:
	case OP_RMDIR:
		if (at == op->pre.ino)
			return (SIGHT_OLD);
		return (s->inside && s->in.st_ino == op->pre.ino ? SIGHT_NEW :
		    SIGHT_ODD);
	default:
		if (at == op->post.ino)
			return (SIGHT_NEW);
		return (at == 0 ? SIGHT_OLD : SIGHT_ODD);
	}
}

bool
sight_edited(const struct sight *s, const struct op *op)
{
	uint8_t	sha[DIGEST_LEN];

	if (s->pl.st.st_mtim.tv_sec == op->mtime.tv_sec &&
	    s->pl.st.st_mtim.tv_nsec == op->mtime.tv_nsec)
		return (false);
	return (tree_hash(s->pl.parent, s->pl.base, sha) == -1 ||
	    digest_cmp(sha, op->post.sha) != 0);
}

bool
sight_displaced(const struct sight *s, const struct op *op,
    const struct folder *f)
{
	uint8_t	sha[DIGEST_LEN];

	return (s->inside && s->in.st_ino == op->pre.ino &&
	    (uint64_t)s->in.st_size == op->pre.size &&
	    tree_hash(f->fd, op_name(op).s, sha) == 0 &&
	    digest_cmp(sha, op->pre.sha) == 0);
}
