#include <sys/syscall.h>
#include <sys/xattr.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan.h"

/* A session's landings are counted; numbers left over by a crash are gone
 * over, never looked into. */
#define FOLDER_TRIES	1000
#define RECORD_MAX	(64 << 20)

static void
folder_init(struct folder *f)
{
	f->parent = f->top = f->fd = -1;
}

void
folder_close(struct folder *f)
{
	if (f->fd != -1)
		close(f->fd);
	if (f->top != -1)
		close(f->top);
	if (f->parent != -1)
		close(f->parent);
	folder_init(f);
}

static int	folder_remove_top(const struct folder *, const char *);

/*
 * Where it goes: .git, where git looks at nothing of it and no session's
 * change ever lands, if that is a real folder on the project's filesystem
 * that we may write; else the project, and a .gitignore hides it.
 */
static int
folder_parent(struct folder *f, int root, const char *sid, char *path,
    size_t size)
{
	struct stat	st, rst;
	int		git;

	git = tree_open(root, ".git", O_RDONLY | O_DIRECTORY);
	if (git != -1 && fstat(root, &rst) == 0 && fstat(git, &st) == 0 &&
	    st.st_dev == rst.st_dev && faccessat(git, ".", W_OK | X_OK,
	    AT_EACCESS) == 0) {
		f->parent = git;
		snprintf(path, size, ".git/sbx-land-%s", sid);
		return (0);
	}
	if (git != -1)
		close(git);
	snprintf(path, size, ".sbx-land-%s", sid);
	f->parent = tree_open(root, ".", O_RDONLY | O_DIRECTORY);
	return (f->parent == -1 ? -1 : 0);
}

/* Nobody else may reach into it, and what is made in it inherits nothing. */
static int
folder_private(int fd)
{
	if (fremovexattr(fd, "system.posix_acl_default") == -1 &&
	    errno != ENODATA && errno != EOPNOTSUPP)
		return (-1);
	return (fchmod(fd, 0700));
}

static int
folder_mkdir(int parent, const char *name)
{
	int	fd;

	if (mkdirat(parent, name, 0700) == -1)
		return (-1);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1 || folder_private(fd) == -1) {
		if (fd != -1)
			close(fd);
		(void)unlinkat(parent, name, AT_REMOVEDIR);
		return (-1);
	}
	return (fd);
}

/* What folder_ignore wrote, or as much of it as it came to; nothing that
 * somebody made of it. */
static bool
folder_ignored(int top)
{
	char	text[3];
	ssize_t	n;
	int	fd;

	fd = openat(top, ".gitignore", O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC);
	if (fd == -1)
		return (false);
	n = read(fd, text, sizeof(text));
	close(fd);
	return (n >= 0 && n <= 2 && memcmp(text, "*\n", (size_t)n) == 0);
}

/* In the project itself git is not to see it. */
static int
folder_ignore(int top)
{
	int	fd;

	fd = openat(top, ".gitignore", O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1 && errno != EEXIST)
		return (-1);
	/* Killed in the middle of this, it may be an empty one. */
	if (fd == -1 && !folder_ignored(top))
		return (0);
	if (fd == -1 && (fd = openat(top, ".gitignore", O_WRONLY | O_NOFOLLOW |
	    O_NONBLOCK | O_CLOEXEC)) == -1)
		return (-1);
	if (write(fd, "*\n", 2) != 2) {
		close(fd);
		unlinkat(top, ".gitignore", 0);
		return (-1);
	}
	return (close(fd));
}

/* Of an earlier landing, if it is ours in every respect that matters. */
static int
folder_again(struct folder *f, const char *name, struct landing_result *res)
{
	struct stat	st;

	f->top = openat(f->parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (f->top != -1 && fstat(f->top, &st) == 0 &&
	    st.st_uid == geteuid() && (st.st_mode & 0077) == 0)
		return (0);
	/* Not even an empty one is removed. */
	if (f->top != -1)
		close(f->top);
	f->top = -1;
	return (landing_fail(res, "land.folder", "%s is there and is no folder "
	    "of this uid with mode 700; look at it, remove it, and land again",
	    name));
}

static int
folder_top(struct folder *f, const char *path, struct landing_result *res)
{
	const char	*slash = strrchr(path, '/');
	const char	*name = slash != NULL ? slash + 1 : path;

	f->top = folder_mkdir(f->parent, name);
	if (f->top == -1 && errno != EEXIST)
		return (landing_errno(res, "making the landing folder", path));
	if (f->top == -1 && folder_again(f, name, res) == -1)
		return (-1);
	if (slash == NULL && folder_ignore(f->top) == -1)
		return (landing_errno(res, "making .gitignore in", path));
	return (0);
}

/* This landing's own, under the first free number. */
static int
folder_number(struct folder *f, struct plan *p, uint64_t number)
{
	char		name[24];
	struct stat	st;
	int		i;

	for (i = 0; i < FOLDER_TRIES && f->fd == -1; i++) {
		p->number = number + (uint64_t)i;
		snprintf(name, sizeof(name), "%llu",
		    (unsigned long long)p->number);
		f->fd = folder_mkdir(f->top, name);
		if (f->fd == -1 && errno != EEXIST)
			return (-1);
	}
	if (f->fd == -1)
		return (-1);
	if (fstat(f->fd, &st) == -1) {
		(void)unlinkat(f->top, name, AT_REMOVEDIR);
		return (-1);
	}
	p->dev = st.st_dev;
	p->ino = st.st_ino;
	return (0);
}

int
folder_make(struct folder *f, struct plan *p, int root, const char *sid,
    uint64_t number, struct landing_result *res)
{
	char	path[NAME_MAX];

	folder_init(f);
	if (folder_parent(f, root, sid, path, sizeof(path)) == -1)
		return (landing_errno(res, "opening", "."));
	if ((p->folder = strdup(path)) == NULL)
		return (landing_fail(res, "land.failed", "out of memory"));
	if (folder_top(f, path, res) == 0) {
		if (folder_number(f, p, number) == 0)
			return (0);
		landing_errno(res, "making the landing folder", path);
	}
	if (f->top != -1)
		(void)folder_remove_top(f, path);
	return (-1);
}

int
folder_open(struct folder *f, const struct plan *p, int root)
{
	char		 name[24];
	const char	*slash = strrchr(p->folder, '/');
	struct stat	 st;

	folder_init(f);
	snprintf(name, sizeof(name), "%llu", (unsigned long long)p->number);
	f->parent = slash != NULL ?
	    tree_open(root, ".git", O_RDONLY | O_DIRECTORY) :
	    tree_open(root, ".", O_RDONLY | O_DIRECTORY);
	if (f->parent != -1)
		f->top = tree_open(f->parent, slash != NULL ? slash + 1 :
		    p->folder, O_RDONLY | O_DIRECTORY);
	if (f->top != -1)
		f->fd = tree_open(f->top, name, O_RDONLY | O_DIRECTORY);
	if (f->fd == -1)
		return (errno == ENOENT || errno == ENOTDIR ||
		    errno == ELOOP ? 0 : -1);
	if (fstat(f->fd, &st) == -1)
		return (-1);
	if (st.st_ino == p->ino && st.st_uid == geteuid())
		return (1);
	/* Somebody else's: not ours to look into, not ours to remove. */
	folder_close(f);
	return (0);
}

/* The top folder goes with the last landing in it. */
static int
folder_remove_top(const struct folder *f, const char *path)
{
	const char	*slash = strrchr(path, '/');
	const char	*name = slash != NULL ? slash + 1 : path;

	if (unlinkat(f->parent, name, AT_REMOVEDIR) == 0)
		return (0);
	if (errno != ENOTEMPTY && errno != EEXIST)
		return (-1);
	/* Only our .gitignore may be left in it: try, and put it back. */
	if (slash != NULL || !folder_ignored(f->top) ||
	    unlinkat(f->top, ".gitignore", 0) == -1)
		return (0);
	if (unlinkat(f->parent, name, AT_REMOVEDIR) == 0)
		return (0);
	(void)folder_ignore(f->top);
	return (errno == ENOTEMPTY || errno == EEXIST ? 0 : -1);
}

/* 1, 2, ...: what a landing's folder is called. */
static bool
name_is_number(const char *name)
{
	return (*name >= '1' && *name <= '9' &&
	    name[strspn(name, "0123456789")] == '\0');
}

/* Killed before any journal: the top folder and an empty one in it. */
static void
sweep_one(int root, const char *parent, const char *name, const char *path)
{
	struct folder	 f = { -1, -1, -1 };
	struct dirent	*de;
	struct stat	 st;
	DIR		*dir;

	f.parent = tree_open(root, parent, O_RDONLY | O_DIRECTORY);
	if (f.parent != -1)
		f.top = tree_open(f.parent, name, O_RDONLY | O_DIRECTORY);
	if (f.top != -1)
		f.fd = tree_open(f.top, ".", O_RDONLY | O_DIRECTORY);
	if (f.fd != -1 && fstat(f.fd, &st) == 0 && st.st_uid == geteuid() &&
	    (dir = fdopendir(f.fd)) != NULL) {
		f.fd = -1;	/* dir's */
		while ((de = readdir(dir)) != NULL)
			if (name_is_number(de->d_name))
				(void)unlinkat(f.top, de->d_name,
				    AT_REMOVEDIR);
		closedir(dir);
		(void)folder_remove_top(&f, path);
	}
	folder_close(&f);
}

/* Nothing is removed that is not empty. */
void
folder_sweep(int root, const char *sid)
{
	char	path[64];

	snprintf(path, sizeof(path), ".git/sbx-land-%s", sid);
	sweep_one(root, ".git", path + 5, path);
	snprintf(path, sizeof(path), ".sbx-land-%s", sid);
	sweep_one(root, "", path, path);
}

int
folder_record(const struct folder *f, uint8_t **buf, size_t *len)
{
	struct stat	st;
	ssize_t		n;
	int		fd;

	fd = openat(f->fd, "record", O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_CLOEXEC);
	if (fd == -1)
		return (errno == ENOENT ? 0 : -1);
	*buf = NULL;
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) ||
	    st.st_size > RECORD_MAX || (*buf = malloc((size_t)st.st_size +
	    1)) == NULL)
		goto fail;
	for (*len = 0; *len < (size_t)st.st_size; *len += (size_t)n)
		if ((n = read(fd, *buf + *len, (size_t)st.st_size - *len)) <=
		    0)
			goto fail;
	close(fd);
	return (1);
fail:
	free(*buf);
	close(fd);
	return (-1);
}

/* This landing's own, and what has nothing in it then. */
static int
folder_remove_number(struct folder *f, const struct plan *p)
{
	char	name[24];

	(void)unlinkat(f->fd, "record", 0);
	snprintf(name, sizeof(name), "%llu", (unsigned long long)p->number);
	if (unlinkat(f->top, name, AT_REMOVEDIR) == -1)
		return (-1);
	return (folder_remove_top(f, p->folder));
}

int
folder_remove(struct folder *f, const struct plan *p)
{
	char		name[24];
	uint64_t	i;

	for (i = 1; i <= p->names; i++) {
		snprintf(name, sizeof(name), "%llu", (unsigned long long)i);
		if (unlinkat(f->fd, name, 0) == -1 && errno == EISDIR)
			(void)unlinkat(f->fd, name, AT_REMOVEDIR);
	}
	return (folder_remove_number(f, p));
}

/* By who has it open since it was landed: his bytes are nowhere else. */
static bool
staged_written(const struct folder *f, const struct op *op,
    const struct stat *st)
{
	uint8_t	sha[DIGEST_LEN];

	if (op->kind == OP_MKDIR || (st->st_mtim.tv_sec == op->mtime.tv_sec &&
	    st->st_mtim.tv_nsec == op->mtime.tv_nsec))
		return (false);
	return (tree_hash(f->fd, op_name(op).s, sha) == -1 ||
	    digest_cmp(sha, op->post.sha) != 0);
}

/* 1 it stays, 0 nothing has its name any more, -1. */
static int
staged_clear(const struct folder *f, const struct op *op)
{
	struct opname	name = op_name(op);
	struct stat	st;

	if (fstatat(f->fd, name.s, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (errno == ENOENT ? 0 : -1);
	if (op->post.mode == 0 || st.st_ino != op->post.ino ||
	    staged_written(f, op, &st))
		return (1);
	if (unlinkat(f->fd, name.s, op->kind == OP_MKDIR ? AT_REMOVEDIR :
	    0) == 0 || errno == ENOENT)
		return (0);
	return (errno == ENOTEMPTY || errno == EEXIST ? 1 : -1);
}

int
folder_clear(struct folder *f, const struct plan *p, size_t *left)
{
	size_t	i;
	int	r;

	*left = 0;
	if (f->fd == -1)
		return (0);
	for (i = 0; i < p->n; i++) {
		if ((r = staged_clear(f, &p->v[i])) == -1)
			return (-1);
		*left += (size_t)r;
	}
	if (*left > 0 || folder_remove_number(f, p) == 0)
		return (0);
	if (errno != ENOTEMPTY && errno != EEXIST)
		return (-1);
	/* Somebody's, who may: neither ours nor in anybody's way. */
	*left = 1;
	return (0);
}
