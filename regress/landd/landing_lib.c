#include <sys/stat.h>
#include <sys/wait.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "landd/blocks.h"
#include "landing_lib.h"

static const char *
at(const struct world *w, const char *path)
{
	static char	buf[4][2 * PATH_MAX];
	static int	n;
	char		*p = buf[n++ % 4];

	snprintf(p, sizeof(buf[0]), "%s/%s", w->dir, path);
	return (p);
}

void
world_make(struct world *w, const char *dir)
{
	static const char *const parts[] = { "R", "V", "S" };
	int			*fds[] = { &w->job.project, &w->job.view,
				    &w->job.stage };
	size_t			 i;

	memset(w, 0, sizeof(*w));
	snprintf(w->dir, sizeof(w->dir), "%s", dir);
	if (mkdir(dir, 0755) == -1 && errno != EEXIST)
		atf_tc_fail("mkdir %s: %s", dir, strerror(errno));
	ATF_REQUIRE((w->fd = open(dir, O_RDONLY | O_DIRECTORY)) != -1);
	for (i = 0; i < 3; i++) {
		ATF_REQUIRE(mkdir(at(w, parts[i]), 0755) == 0);
		*fds[i] = open(at(w, parts[i]), O_RDONLY | O_DIRECTORY);
		ATF_REQUIRE(*fds[i] != -1);
	}
	w->job.layer = -1;
	ATF_REQUIRE((w->job.root = strdup(at(w, "R"))) != NULL);
	TAILQ_INIT(&w->set.changes);
	TAILQ_INIT(&w->set.skipped);
	TAILQ_INIT(&w->set.ignored);
	landing_result_init(&w->res);
}

static void
set_free(struct world *w)
{
	struct change	*c;

	while ((c = TAILQ_FIRST(&w->set.changes)) != NULL) {
		TAILQ_REMOVE(&w->set.changes, c, entry);
		free(c->path);
		free(c->from);
		free(c);
	}
}

void
world_free(struct world *w)
{
	set_free(w);
	landing_result_free(&w->res);
	close(w->job.project);
	close(w->job.view);
	close(w->job.stage);
	close(w->fd);
	free((char *)(uintptr_t)w->job.root);
}

void
world_remove(struct world *w)
{
	char	*argv[] = { w->dir, NULL };
	FTS	*fts;
	FTSENT	*e;

	world_free(w);
	ATF_REQUIRE((fts = fts_open(argv, FTS_PHYSICAL, NULL)) != NULL);
	while ((e = fts_read(fts)) != NULL)
		if (e->fts_info == FTS_D)
			chmod(e->fts_accpath, 0700);
		else if (e->fts_info == FTS_DP)
			rmdir(e->fts_accpath);
		else
			unlink(e->fts_accpath);
	fts_close(fts);
}

static void
parents_make(const struct world *w, const char *path)
{
	char	 buf[PATH_MAX], *slash;

	snprintf(buf, sizeof(buf), "%s", path);
	for (slash = buf; (slash = strchr(slash, '/')) != NULL; *slash++ =
	    '/') {
		*slash = '\0';
		mkdirat(w->fd, buf, 0755);
	}
}

void
world_file(const struct world *w, const char *path, const char *text,
    mode_t mode)
{
	int	fd;

	parents_make(w, path);
	fd = openat(w->fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd == -1)
		atf_tc_fail("%s: %s", path, strerror(errno));
	ATF_REQUIRE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	ATF_REQUIRE(fchmod(fd, mode == 0 ? 0644 : mode) == 0);
	close(fd);
}

void
world_link(const struct world *w, const char *path, const char *text)
{
	parents_make(w, path);
	unlinkat(w->fd, path, 0);
	ATF_REQUIRE(symlinkat(text, w->fd, path) == 0);
}

void
world_dir(const struct world *w, const char *path, mode_t mode)
{
	parents_make(w, path);
	mkdirat(w->fd, path, 0755);
	ATF_REQUIRE(fchmodat(w->fd, path, mode, 0) == 0);
}

void
world_view(const struct world *w)
{
	ATF_REQUIRE(test_sh("cp -a '%s/R/.' '%s/V/' && rm -rf '%s/V/.git'",
	    w->dir, w->dir, w->dir) == 0);
}

/*
 * The change set
 */
static void
hash_at(int dir, const char *path, const struct stat *st, uint8_t *sha)
{
	struct digest	d;
	char		text[PATH_MAX];
	ssize_t		n;
	int		fd;

	if (S_ISLNK(st->st_mode)) {
		n = readlinkat(dir, path, text, sizeof(text));
		ATF_REQUIRE(n > 0);
		digest_init(&d);
		digest_add(&d, text, (size_t)n);
		digest_end(&d, sha);
		return;
	}
	fd = openat(dir, path, O_RDONLY);
	if (fd == -1)
		atf_tc_fail("%s: %s", path, strerror(errno));
	ATF_REQUIRE(blocks_digest(fd, sha, NULL) == 0);
	close(fd);
}

static bool
image_at(int dir, const char *path, struct image *im)
{
	struct stat	st;

	memset(im, 0, sizeof(*im));
	if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    S_ISDIR(st.st_mode))
		return (false);
	im->mode = st.st_mode & (S_IFMT | 0777);
	im->size = (uint64_t)st.st_size;
	im->dev = st.st_dev;
	im->ino = st.st_ino;
	im->ctime = st.st_ctim;
	hash_at(dir, path, &st, im->sha);
	return (true);
}

/* A copy into S: files as they are, a link's text as a file. */
static uint64_t
stage_at(struct world *w, const char *path, const struct image *im)
{
	static uint64_t	next;
	char		name[24], buf[65536];
	ssize_t		n;
	int		from, to;

	snprintf(name, sizeof(name), "%llu", (unsigned long long)++next);
	to = openat(w->job.stage, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
	ATF_REQUIRE(to != -1);
	if (S_ISLNK(im->mode)) {
		n = readlinkat(w->job.view, path, buf, sizeof(buf));
		ATF_REQUIRE(write(to, buf, (size_t)n) == n);
	} else {
		from = openat(w->job.view, path, O_RDONLY);
		ATF_REQUIRE(from != -1);
		while ((n = read(from, buf, sizeof(buf))) > 0)
			ATF_REQUIRE(write(to, buf, (size_t)n) == n);
		close(from);
	}
	close(to);
	return (next);
}

static void
set_add(struct world *w, const char *path)
{
	struct image	 pre, post;
	struct change	*c, *after;
	bool		 was, is;

	was = image_at(w->job.project, path, &pre);
	is = image_at(w->job.view, path, &post);
	if ((!was && !is) || (was && is && pre.mode == post.mode &&
	    pre.size == post.size && memcmp(pre.sha, post.sha,
	    DIGEST_LEN) == 0) || world_change(w, path) != NULL)
		return;
	ATF_REQUIRE((c = calloc(1, sizeof(*c))) != NULL);
	ATF_REQUIRE((c->path = strdup(path)) != NULL);
	c->pre = pre;
	c->post = post;
	if (!was)
		c->kind = CHANGE_ADDED;
	else if (!is)
		c->kind = CHANGE_DELETED;
	else if ((pre.mode & S_IFMT) != (post.mode & S_IFMT))
		c->kind = CHANGE_TYPE;
	else if (pre.size == post.size && memcmp(pre.sha, post.sha,
	    DIGEST_LEN) == 0)
		c->kind = CHANGE_MODE;
	else
		c->kind = CHANGE_MODIFIED;
	if (is && c->kind != CHANGE_MODE)
		c->stage = stage_at(w, path, &post);
	TAILQ_FOREACH(after, &w->set.changes, entry)
		if (strcmp(after->path, path) > 0)
			break;
	if (after != NULL)
		TAILQ_INSERT_BEFORE(after, c, entry);
	else
		TAILQ_INSERT_TAIL(&w->set.changes, c, entry);
}

static bool
passed_over(const char *path)
{
	return (strcmp(path, ".git") == 0 ||
	    strncmp(path, ".sbx-land-", 10) == 0);
}

static void
set_walk(struct world *w, const char *side)
{
	char	*argv[] = { NULL, NULL };
	char	 root[2 * PATH_MAX];
	FTS	*fts;
	FTSENT	*e;

	snprintf(root, sizeof(root), "%s", at(w, side));
	argv[0] = root;
	ATF_REQUIRE((fts = fts_open(argv, FTS_PHYSICAL | FTS_NOCHDIR,
	    NULL)) != NULL);
	while ((e = fts_read(fts)) != NULL) {
		const char *rel = e->fts_path + strlen(root);

		rel += *rel == '/';
		if (e->fts_info == FTS_D && passed_over(rel))
			fts_set(fts, e, FTS_SKIP);
		else if (e->fts_info != FTS_D && e->fts_info != FTS_DP &&
		    !passed_over(rel))
			set_add(w, rel);
	}
	fts_close(fts);
}

void
world_set(struct world *w)
{
	struct digest	 d;
	struct change	*c;

	set_free(w);
	set_walk(w, "R");
	set_walk(w, "V");
	digest_init(&d);
	TAILQ_FOREACH(c, &w->set.changes, entry)
		digest_add(&d, c->path, strlen(c->path) + 1);
	digest_end(&d, w->set.digest);
}

struct change *
world_change(struct world *w, const char *path)
{
	struct change	*c;

	TAILQ_FOREACH(c, &w->set.changes, entry)
		if (strcmp(c->path, path) == 0)
			return (c);
	return (NULL);
}

void
world_drop(struct world *w, const char *path)
{
	struct change	*c = world_change(w, path);

	ATF_REQUIRE_MSG(c != NULL, "no change of %s", path);
	TAILQ_REMOVE(&w->set.changes, c, entry);
	free(c->path);
	free(c);
}

/* The deleted one and the added one become one change. */
void
world_rename(struct world *w, const char *from, const char *to)
{
	struct change	*a = world_change(w, from), *b = world_change(w, to);

	ATF_REQUIRE(a != NULL && a->kind == CHANGE_DELETED);
	ATF_REQUIRE(b != NULL && b->kind == CHANGE_ADDED);
	b->kind = CHANGE_RENAMED;
	b->from = a->path;
	b->pre = a->pre;
	b->stage = 0;
	TAILQ_REMOVE(&w->set.changes, a, entry);
	free(a);
}

/*
 * Landing
 */
static int
commit(void *arg, const uint8_t *p, size_t len)
{
	struct world	*w = arg;
	size_t		 done = 0;
	ssize_t		 n;
	int		 fd;

	w->commits++;
	if (w->nocommit)
		return (-1);
	fd = openat(w->fd, "J.new", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd == -1)
		return (-1);
	for (; done < len; done += (size_t)n)
		if ((n = write(fd, p + done, len - done)) == -1) {
			close(fd);
			return (-1);
		}
	if (close(fd) == -1)
		return (-1);
	/* The intent is kept for who wants to cut the journal back to it: by
	 * a second name, so that a journal is there at every call. */
	if (w->commits == 2 && linkat(w->fd, "J", w->fd, "J.first", 0) == -1)
		return (-1);
	if (renameat(w->fd, "J.new", w->fd, "J") == -1)
		return (-1);
	if (w->commits == 2 && w->meanwhile != NULL)
		w->meanwhile(w);
	return (0);
}

int
world_land(struct world *w)
{
	struct landing_ops	ops = { .commit = commit, .arg = w };

	landing_result_free(&w->res);
	return (landing_write(&w->job, &w->set, WORLD_SID, 1, &ops, &w->res));
}

/* Code and why by a pipe: the child's memory is its own. */
static void
answer_send(int fd, const struct landing_result *res)
{
	struct landing_result	out = *res;

	if (out.code == NULL)
		out.code = "";
	if (write(fd, out.code, strlen(out.code) + 1) == -1 ||
	    write(fd, out.why, sizeof(out.why)) == -1)
		_exit(99);
}

static void
answer_take(int fd, struct landing_result *res)
{
	static char	buf[2 * LANDING_WHY];
	size_t		len = 0;
	ssize_t		n;

	while ((n = read(fd, buf + len, sizeof(buf) - len)) > 0)
		len += (size_t)n;
	res->code = buf;
	snprintf(res->why, sizeof(res->why), "%s", buf + strlen(buf) + 1);
}

int
world_land_as(struct world *w, uid_t uid)
{
	int	p[2], status;
	pid_t	pid;

	ATF_REQUIRE(test_sh("chown -Rh %u:%u '%s/R' '%s/S' && "
	    "chmod 777 '%s'", uid, uid, w->dir, w->dir, w->dir) == 0);
	ATF_REQUIRE(pipe(p) == 0);
	fflush(NULL);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		if (setgroups(0, NULL) == -1 || setresgid(uid, uid, uid) ==
		    -1 || setresuid(uid, uid, uid) == -1)
			_exit(98);
		status = world_land(w);
		answer_send(p[1], &w->res);
		_exit(status == 0 ? 0 : 1);
	}
	close(p[1]);
	landing_result_free(&w->res);
	answer_take(p[0], &w->res);
	close(p[0]);
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	    WEXITSTATUS(status) <= 1);
	return (WEXITSTATUS(status) == 0 ? 0 : -1);
}

void
world_refused(struct world *w, const char *code)
{
	char	*before = world_tree(w, "R", true), *after;

	if (world_land(w) == 0)
		atf_tc_fail("landed, and should be refused with %s", code);
	after = world_tree(w, "R", true);
	if (strcmp(w->res.code, code) != 0)
		atf_tc_fail("refused with %s, not %s: %s", w->res.code, code,
		    w->res.why);
	printf("%s: %s\n", w->res.code, w->res.why);
	if (strcmp(before, after) != 0)
		atf_tc_fail("refused, but changed:\n%s\nwas\n%s", after,
		    before);
	ATF_REQUIRE_EQ_MSG(world_leftovers(w), 0, "a landing folder is left");
	free(before);
	free(after);
}

void
world_landed(struct world *w)
{
	char	*want = world_tree(w, "V", false), *got;

	if (world_land(w) == -1)
		atf_tc_fail("%s: %s", w->res.code, w->res.why);
	got = world_tree(w, "R", false);
	if (strcmp(want, got) != 0)
		atf_tc_fail("landed\n%s\ninstead of\n%s", got, want);
	free(want);
	free(got);
}

void
world_baseline(const struct world *w, const struct baseline *b)
{
	struct baseline		*now = S_ISDIR(b->image.mode) ?
				    baseline_folder(w->job.project, b->path) :
				    baseline_make(w->job.project, b->path);
	const struct image	*x, *y = &b->image;

	ATF_REQUIRE(now != NULL);
	x = &now->image;
	ATF_REQUIRE_MSG(x->mode == y->mode && x->size == y->size &&
	    x->dev == y->dev && x->ino == y->ino &&
	    x->ctime.tv_sec == y->ctime.tv_sec &&
	    x->ctime.tv_nsec == y->ctime.tv_nsec &&
	    memcmp(x->sha, y->sha, DIGEST_LEN) == 0, "the baseline of %s",
	    b->path);
	free(now->path);
	free(now);
}

long
world_journal(const struct world *w)
{
	struct stat	st;

	return (fstatat(w->fd, "J", &st, 0) == -1 ? -1 : (long)st.st_size);
}

int
world_recover(struct world *w)
{
	struct landings	none = TAILQ_HEAD_INITIALIZER(none);
	uint8_t	*buf;
	long	 len = world_journal(w);
	int	 fd, rv;

	if (len == -1)
		len = 0;
	ATF_REQUIRE((buf = malloc((size_t)len + 1)) != NULL);
	if (len > 0) {
		ATF_REQUIRE((fd = openat(w->fd, "J", O_RDONLY)) != -1);
		ATF_REQUIRE(read(fd, buf, (size_t)len) == len);
		close(fd);
	}
	landing_result_free(&w->res);
	rv = landing_recover(&w->job, WORLD_SID, buf, (size_t)len,
	    w->made != NULL ? w->made : &none, &w->res);
	free(buf);
	return (rv);
}

int
world_leftovers(const struct world *w)
{
	static const char *const places[] = { "R", "R/.git" };
	struct dirent		*de;
	DIR			*dir;
	size_t			 i;
	int			 n = 0;

	for (i = 0; i < 2; i++) {
		if ((dir = opendir(at(w, places[i]))) == NULL)
			continue;
		while ((de = readdir(dir)) != NULL)
			n += strncmp(de->d_name, ".sbx-land-", 10) == 0 ||
			    strncmp(de->d_name, "sbx-land-", 9) == 0;
		closedir(dir);
	}
	return (n);
}
