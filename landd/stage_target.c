#include <sys/xattr.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/put.h"
#include "blocks.h"
#include "plan.h"

#define ACL_ACCESS	"system.posix_acl_access"
#define ACL_DEFAULT	"system.posix_acl_default"

/* A filesystem without them, or a file without this one. */
static bool
xattr_none(int e)
{
	return (e == ENODATA || e == EOPNOTSUPP || e == EPERM);
}

/* One attribute as it is, under another name where to differs. */
static int
xattr_copy(int from, const char *name, int to, const char *toname)
{
	char	value[XATTR_SIZE_MAX];
	ssize_t	n;

	if ((n = fgetxattr(from, name, value, sizeof(value))) == -1)
		return (xattr_none(errno) ? 0 : -1);
	return (fsetxattr(to, toname, value, (size_t)n, 0) == -1 &&
	    errno != EOPNOTSUPP ? -1 : 0);
}

static int
xattrs_user(int from, int to)
{
	char	names[XATTR_LIST_MAX];
	ssize_t	n;
	char	*p;

	if ((n = flistxattr(from, names, sizeof(names))) == -1)
		return (xattr_none(errno) ? 0 : -1);
	for (p = names; p < names + n; p += strlen(p) + 1)
		if (strncmp(p, "user.", 5) == 0 &&
		    xattr_copy(from, p, to, p) == -1)
			return (-1);
	return (0);
}

/* The group where we are a member of it; else it stays ours. */
static bool
group_not_ours(int e)
{
	return (e == EPERM || e == EINVAL);
}

static int
group_set(int fd, gid_t gid)
{
	struct stat	st;

	/* As a rule it is this one: setting it writes the inode. */
	if (fstat(fd, &st) == 0 && st.st_gid == gid)
		return (0);
	return (fchown(fd, (uid_t)-1, gid) == -1 && !group_not_ours(errno) ?
	    -1 : 0);
}

/* A post-image takes over what it replaces has, but for bytes and mode. */
static int
meta_replace(int root, const char *like, int to)
{
	struct stat	st;
	int		from, rv;

	if ((from = tree_open(root, like, O_RDONLY | O_NONBLOCK)) == -1)
		/* A link, or not readable: its group at most. */
		return (errno == ELOOP || errno == EACCES ? 0 : -1);
	rv = fstat(from, &st);
	if (rv == 0 && S_ISREG(st.st_mode) &&
	    (group_set(to, st.st_gid) == -1 ||
	    xattr_copy(from, ACL_ACCESS, to, ACL_ACCESS) == -1 ||
	    xattrs_user(from, to) == -1))
		rv = -1;
	close(from);
	return (rv);
}

/*
 * What is new gets from the nearest folder that is there what it would get if
 * it were made in it: the group of a setgid one, its default ACL.
 */
static int
meta_inherit(int root, const char *path, int to, bool isdir, mode_t *mode)
{
	char		dir[PATH_MAX], *slash;
	struct stat	st;
	int		from = -1, rv;

	strlcpy(dir, path, sizeof(dir));
	while (from == -1 && (slash = strrchr(dir, '/')) != NULL) {
		*slash = '\0';
		from = tree_open(root, dir, O_RDONLY | O_DIRECTORY);
		if (from == -1 && errno == EACCES)
			return (0);
	}
	if (from == -1)
		from = tree_open(root, ".", O_RDONLY | O_DIRECTORY);
	if (from == -1)
		return (errno == EACCES ? 0 : -1);
	rv = fstat(from, &st);
	if (rv == 0 && (st.st_mode & S_ISGID) != 0) {
		rv = group_set(to, st.st_gid);
		if (isdir)
			*mode |= S_ISGID;
	} else if (rv == 0)
		rv = group_set(to, getegid());
	if (rv == 0)
		rv = xattr_copy(from, ACL_DEFAULT, to, ACL_ACCESS);
	if (rv == 0 && isdir)
		rv = xattr_copy(from, ACL_DEFAULT, to, ACL_DEFAULT);
	close(from);
	return (rv);
}

/* Where a post-image's bytes are: the job's stage, or the file renamed. */
static int
source_open(const struct job *job, int root, const struct op *op)
{
	char	name[24];

	if (op->pack != 0)
		return (openat(job->stage, STAGE_PACK, O_RDONLY | O_NOFOLLOW |
		    O_NONBLOCK | O_CLOEXEC));
	if (op->stage == 0)
		return (tree_open(root, op->like, O_RDONLY | O_NONBLOCK));
	snprintf(name, sizeof(name), "%llu", (unsigned long long)op->stage);
	return (openat(job->stage, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC));
}

static int
stage_wrong(const struct op *op, struct landing_result *res)
{
	return (landing_fail(res, "land.stale", "the reviewed copy of %s is "
	    "not what it was; review again", shown_path(op->path).s));
}

/* One of the small ones that lie in one file. */
static int
fill_packed(const struct op *op, int from, int to, uint8_t sha[DIGEST_LEN],
    uint64_t *size)
{
	struct digest	d;
	uint8_t		buf[BLOCK];
	size_t		len;
	ssize_t		n = 0;

	*size = 0;
	len = op->post.size < BLOCK ? (size_t)op->post.size : BLOCK;
	for (; *size < len; *size += (uint64_t)n)
		if ((n = pread(from, buf + *size, len - *size,
		    (off_t)(op->pack - 1 + *size))) <= 0)
			break;
	if (n == -1)
		return (-1);
	digest_init(&d);
	digest_add(&d, buf, *size);
	digest_end(&d, sha);
	return (put_all(to, buf, *size));
}

static int
stage_fill(struct op *op, const struct job *job, int root, int to,
    struct landing_result *res)
{
	uint8_t		sha[DIGEST_LEN];
	uint64_t	size;
	mode_t		mode = op->post.mode & 0777;
	int		from, rv;

	if ((from = source_open(job, root, op)) == -1)
		return (errno == ENOENT || errno == ELOOP ?
		    stage_wrong(op, res) :
		    landing_errno(res, "reading the copy of", op->path));
	rv = op->pack != 0 ? fill_packed(op, from, to, sha, &size) :
	    blocks_copy(from, to, sha, &size);
	close(from);
	if (rv == -1)
		return (landing_errno(res, "staging", op->path));
	if (size != op->post.size || digest_cmp(sha, op->post.sha) != 0)
		return (stage_wrong(op, res));
	if (op->like != NULL || op->kind == OP_REPLACE)
		rv = meta_replace(root, op->like != NULL ? op->like : op->path,
		    to);
	else
		rv = meta_inherit(root, op->path, to, false, &mode);
	if (rv == -1 || fchmod(to, mode) == -1)
		return (landing_errno(res, "mode and attributes of", op->path));
	return (0);
}

static int
stage_file(struct op *op, const struct job *job, int root,
    const struct folder *f, struct landing_result *res)
{
	int	to, rv;

	to = openat(f->fd, op_name(op).s, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to == -1)
		return (landing_errno(res, "staging", op->path));
	rv = stage_fill(op, job, root, to, res);
	if (close(to) == -1 && rv == 0)
		rv = landing_errno(res, "staging", op->path);
	return (rv);
}

/* A link is staged as a link; or its text is, as a file. */
static ssize_t
link_text(const struct op *op, const struct job *job, int root, char *text,
    size_t size)
{
	struct place	pl;
	ssize_t		n = -1;
	int		fd;

	if (op->stage == 0 && op->pack == 0) {
		if (place_open(root, op->like, &pl) == 0 && pl.present)
			n = tree_readlink(pl.parent, pl.base, text, size);
		place_close(&pl);
		return (n);
	}
	if ((fd = source_open(job, root, op)) == -1) {
		char name[24];

		snprintf(name, sizeof(name), "%llu",
		    (unsigned long long)op->stage);
		return (errno == ELOOP ?
		    tree_readlink(job->stage, name, text, size) : -1);
	}
	if (op->pack == 0)
		n = read(fd, text, size);
	else
		n = pread(fd, text, op->post.size < size ?
		    (size_t)op->post.size : size, (off_t)(op->pack - 1));
	close(fd);
	if (n != -1 && (size_t)n < size)
		text[n] = '\0';
	return (n);
}

static int
stage_link(struct op *op, const struct job *job, int root,
    const struct folder *f, struct landing_result *res)
{
	char		text[PATH_MAX + 1];
	uint8_t		sha[DIGEST_LEN];
	struct digest	d;
	struct place	pl;
	ssize_t		n;
	int		rv;

	n = link_text(op, job, root, text, sizeof(text));
	if (n <= 0 || n > PATH_MAX - 1 || memchr(text, '\0', (size_t)n) != NULL)
		return (stage_wrong(op, res));
	digest_init(&d);
	digest_add(&d, text, (size_t)n);
	digest_end(&d, sha);
	if ((uint64_t)n != op->post.size || digest_cmp(sha, op->post.sha) != 0)
		return (stage_wrong(op, res));
	if (symlinkat(text, f->fd, op_name(op).s) == -1)
		return (landing_errno(res, "staging", op->path));
	rv = place_open(root, op->path, &pl);
	if (rv == 0 && pl.present && fchownat(f->fd, op_name(op).s, (uid_t)-1,
	    pl.st.st_gid, AT_SYMLINK_NOFOLLOW) == -1 && !group_not_ours(errno))
		rv = -1;
	place_close(&pl);
	return (rv == -1 ? landing_errno(res, "the group of", op->path) : 0);
}

/* With all rights of the owner until everything is in it. */
static int
stage_dir(struct op *op, int root, const struct folder *f,
    struct landing_result *res)
{
	mode_t	mode = op->post.mode & 0777;
	int	fd, rv;

	if (mkdirat(f->fd, op_name(op).s, 0700) == -1)
		return (landing_errno(res, "staging", op->path));
	fd = openat(f->fd, op_name(op).s, O_RDONLY | O_DIRECTORY |
	    O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (landing_errno(res, "staging", op->path));
	rv = meta_inherit(root, op->path, fd, true, &mode);
	if (rv == 0)
		rv = fchmod(fd, mode | 0700);
	op->post.mode = S_IFDIR | mode;
	close(fd);
	return (rv == -1 ?
	    landing_errno(res, "mode and attributes of", op->path) : 0);
}

static int
stage_op(struct op *op, const struct job *job, int root,
    const struct folder *f, struct landing_result *res)
{
	struct stat	st;
	int		rv = 0;

	if (op->kind == OP_MKDIR)
		rv = stage_dir(op, root, f, res);
	else if (op->kind == OP_REPLACE || op->kind == OP_CREATE)
		rv = S_ISLNK(op->post.mode) ? stage_link(op, job, root, f,
		    res) : stage_file(op, job, root, f, res);
	else
		return (0);
	if (rv == -1)
		return (-1);
	if (fstatat(f->fd, op_name(op).s, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (landing_errno(res, "staging", op->path));
	op->post.dev = st.st_dev;
	op->post.ino = st.st_ino;
	op->mtime = st.st_mtim;
	return (0);
}

int
plan_stage(struct plan *p, const struct job *job, int root,
    const struct folder *f, struct landing_result *res)
{
	size_t	i;

	for (i = 0; i < p->n; i++)
		if (stage_op(&p->v[i], job, root, f, res) == -1)
			return (-1);
	return (0);
}
