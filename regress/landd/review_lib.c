#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/origins.h"
#include "privsep/pledge.h"
#include "privsep/unveil.h"
#include "review_lib.h"

#ifndef SYS_open_tree
#define SYS_open_tree		428
#define SYS_mount_setattr	442
#endif
#define CLONE_TREE	1		/* OPEN_TREE_CLONE */

struct attr {
	uint64_t	set, clr, propagation, userns;
};

static char *
at(const struct review *r, const char *path)
{
	static char	buf[8][PATH_MAX * 2];
	static int	n;
	char		*p = buf[n++ % 8];

	snprintf(p, sizeof(buf[0]), "%s/%s", r->dir, path);
	return (p);
}

static void
owned(const struct review *r, const char *path)
{
	ATF_REQUIRE_MSG(lchown(path, r->uid, r->uid) == 0, "%s: %s", path,
	    strerror(errno));
}

void
review_make(struct review *r, const char *dir, uid_t uid)
{
	static const char *const	names[] =
	    { "", "R", "M", "S", "S/u", "S/w", "V", "G" };
	size_t				i;

	memset(r, 0, sizeof(*r));
	snprintf(r->dir, sizeof(r->dir), "%s", dir);
	r->uid = uid;
	TAILQ_INIT(&r->baselines);
	changeset_init(&r->set);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		ATF_REQUIRE_MSG(mkdir(at(r, names[i]), 0755) == 0, "%s: %s",
		    at(r, names[i]), strerror(errno));
		owned(r, at(r, names[i]));
	}
}

void
review_begin(struct review *r)
{
	review_make(r, test_path("w"), REVIEW_UID);
}

static void
review_mount(struct review *r, bool stopped)
{
	char	opts[3 * PATH_MAX];

	if (stopped)
		snprintf(opts, sizeof(opts), "lowerdir=%s/S/u:%s%s%s/R",
		    r->dir, r->masked ? r->dir : "", r->masked ? "/M:" : "",
		    r->dir);
	else
		snprintf(opts, sizeof(opts), "lowerdir=%s%s%s/R,"
		    "upperdir=%s/S/u,workdir=%s/S/w",
		    r->masked ? r->dir : "", r->masked ? "/M:" : "", r->dir,
		    r->dir, r->dir);
	if (strlcat(opts, ",redirect_dir=on,metacopy=off,index=off",
	    sizeof(opts)) >= sizeof(opts))
		atf_tc_fail("options too long");
	if (r->options != NULL)
		snprintf(opts + strlen(opts), sizeof(opts) - strlen(opts),
		    ",%s", r->options);
	ATF_REQUIRE_MSG(mount("sbx", at(r, "V"), "overlay",
	    MS_NOSUID | MS_NODEV, opts) == 0, "mount %s: %s", opts,
	    strerror(errno));
	r->mounted = true;
}

void
review_start(struct review *r)
{
	usleep(40000);
	clock_gettime(CLOCK_REALTIME_COARSE, &r->t0);
	usleep(10000);
	review_mount(r, false);
}

void
review_start_fast(struct review *r)
{
	clock_gettime(CLOCK_REALTIME_COARSE, &r->t0);
	r->t0.tv_sec += 3600;
	review_mount(r, false);
}

void
review_unmount(struct review *r)
{
	if (r->mounted)
		ATF_REQUIRE(umount2(at(r, "V"), 0) == 0);
	r->mounted = false;
}

/* The same superblock's caches go with the mount. */
void
review_refresh(struct review *r)
{
	review_unmount(r);
	review_mount(r, false);
}

/* An overlay has no handles that would last. */
void
review_handleless(struct review *r)
{
	char	opts[3 * PATH_MAX];

	ATF_REQUIRE(test_sh("mkdir '%s/HL' '%s/HU' '%s/HW'", r->dir, r->dir,
	    r->dir) == 0);
	snprintf(opts, sizeof(opts), "lowerdir=%s/HL,upperdir=%s/HU,"
	    "workdir=%s/HW", r->dir, r->dir, r->dir);
	ATF_REQUIRE_MSG(mount("real", at(r, "R"), "overlay", 0, opts) == 0,
	    "%s", strerror(errno));
	owned(r, at(r, "R"));
	r->foreign = true;
}

void
review_foreign(struct review *r)
{
	ATF_REQUIRE(mount("tmpfs", at(r, "R"), "tmpfs", 0, "mode=755") == 0);
	owned(r, at(r, "R"));
	r->foreign = true;
}

static void
mask_node(struct review *r, const char *path, mode_t mode)
{
	char	file[PATH_MAX], *slash;

	if (!r->masked) {
		ATF_REQUIRE(mount("tmpfs", at(r, "M"), "tmpfs", 0,
		    "mode=755") == 0);
		owned(r, at(r, "M"));
		r->masked = true;
	}
	snprintf(file, sizeof(file), "%s", at(r, "M/"));
	strlcat(file, path, sizeof(file));
	for (slash = strchr(file + strlen(r->dir) + 3, '/'); slash != NULL;
	    slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(file, 0755) == 0)
			owned(r, file);
		*slash = '/';
	}
	ATF_REQUIRE(mknod(file, mode, 0) == 0);
}

/* Empty, 0444, root's. */
void
review_mask_file(struct review *r, const char *path)
{
	mask_node(r, path, S_IFREG | 0444);
}

void
review_mask_absent(struct review *r, const char *path)
{
	mask_node(r, path, S_IFCHR);
}

void
review_free(struct review *r)
{
	struct baseline	*b;

	review_unmount(r);
	if (r->masked)
		ATF_REQUIRE(umount2(at(r, "M"), 0) == 0);
	if (r->foreign)
		ATF_REQUIRE(umount2(at(r, "R"), 0) == 0);
	while ((b = TAILQ_FIRST(&r->baselines)) != NULL) {
		TAILQ_REMOVE(&r->baselines, b, entry);
		free(b->path);
		free(b);
	}
	changeset_free(&r->set);
}

static int
clone_ro(const char *path)
{
	struct attr	attr = { .set = MS_RDONLY | MS_NOSUID | MS_NODEV |
			    MS_NOEXEC };	/* the same bits */
	long		fd;

	fd = syscall(SYS_open_tree, AT_FDCWD, path, CLONE_TREE | O_CLOEXEC);
	ATF_REQUIRE_MSG(fd != -1, "open_tree %s: %s", path, strerror(errno));
	ATF_REQUIRE(syscall(SYS_mount_setattr, (int)fd, "", AT_EMPTY_PATH,
	    &attr, sizeof(attr)) == 0);
	return ((int)fd);
}

/* Effective ids of the session's user, and with them no capability. */
static void
become(uid_t uid)
{
	if (geteuid() == uid)
		return;
	ATF_REQUIRE(seteuid(0) == 0);
	ATF_REQUIRE(setegid(uid) == 0);
	ATF_REQUIRE(seteuid(uid) == 0);
}

static int
review_steps(struct review *r, struct job *job, bool walkonly)
{
	struct timespec	a, b;
	int		rv;

	clock_gettime(CLOCK_MONOTONIC, &a);
	rv = changeset_walk(job, &r->set, r->why, sizeof(r->why));
	clock_gettime(CLOCK_MONOTONIC, &b);
	r->ms = (double)(b.tv_sec - a.tv_sec) * 1e3 +
	    (double)(b.tv_nsec - a.tv_nsec) / 1e6;
	if (rv == 0 && !walkonly)
		rv = changeset_patch(job, &r->set, r->why, sizeof(r->why));
	if (rv == 0 && !walkonly)
		rv = changeset_manifest(job, &r->set, r->why, sizeof(r->why));
	return (rv);
}

static void
join_path(char *to, size_t size, const char *dir, const char *name)
{
	ATF_REQUIRE((size_t)snprintf(to, size, "%s%s%s", dir,
	    *dir == '\0' ? "" : "/", name) < size);
}

static FILE	*origins;

static void
origins_put(const char *path, const char *lower)
{
	unsigned char	head[ORIGINS_HEAD], attr[ORIGINS_ATTR];
	struct stat	st;
	ssize_t		len;
	int		i;

	ATF_REQUIRE(lstat(path, &st) == 0);
	len = lgetxattr(path, "trusted.overlay.origin", attr, sizeof(attr));
	if (len == -1 && *lower == '\0')
		return;
	if (len == -1)
		len = 0;
	for (i = 0; i < 8; i++)
		head[i] = (unsigned char)(st.st_ino >> 8 * i);
	head[8] = (unsigned char)len;
	head[9] = 0;
	head[10] = (unsigned char)strlen(lower);
	head[11] = (unsigned char)(strlen(lower) >> 8);
	ATF_REQUIRE(fwrite(head, sizeof(head), 1, origins) == 1);
	ATF_REQUIRE(fwrite(attr, 1, (size_t)len, origins) == (size_t)len);
	ATF_REQUIRE(fputs(lower, origins) >= 0);
}

/* Where the layer's folder path lies, called name, in one that lies on above;
 * "": on nothing. */
static void
origins_lower(const char *path, const char *name, const char *above,
    char lower[PATH_MAX])
{
	char	value[PATH_MAX];
	ssize_t	len;

	lower[0] = '\0';
	if (lgetxattr(path, "trusted.overlay.opaque", value, 1) == 1 &&
	    value[0] == 'y')
		return;
	len = lgetxattr(path, "trusted.overlay.redirect", value,
	    sizeof(value) - 1);
	if (len > 0)
		value[len] = '\0';
	if (len > 0 && value[0] == '/')
		snprintf(lower, PATH_MAX, "%s", value + 1);
	else if (above != NULL)
		join_path(lower, PATH_MAX, above, len > 0 ? value : name);
}

static void
origins_dir(const char *dir, const char *above)
{
	char		 path[PATH_MAX], lower[PATH_MAX];
	struct dirent	*de;
	DIR		*d;

	ATF_REQUIRE((d = opendir(dir)) != NULL);
	while ((de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		/* As of mountd's, nothing of what has so long a path. */
		if (strlen(dir) + strlen(de->d_name) + 2 > sizeof(path))
			continue;
		join_path(path, sizeof(path), dir, de->d_name);
		if (de->d_type != DT_DIR) {
			origins_put(path, "");
			continue;
		}
		origins_lower(path, de->d_name, above, lower);
		if (*lower != '\0')
			origins_put(path, lower);
		origins_dir(path, *lower != '\0' ? lower : NULL);
	}
	closedir(d);
}

void
review_origins(struct review *r)
{
	unlink(at(r, "G/" ORIGINS_NAME));
	ATF_REQUIRE((origins = fopen(at(r, "G/" ORIGINS_NAME), "wx")) != NULL);
	origins_dir(at(r, "S/u"), "");
	ATF_REQUIRE(fclose(origins) == 0);
	ATF_REQUIRE(chmod(at(r, "G/" ORIGINS_NAME), 0444) == 0);
}

static void
job_open(struct review *r, struct job *job)
{
	static char	root[PATH_MAX];

	snprintf(root, sizeof(root), "%s", at(r, "R"));
	changeset_free(&r->set);
	r->why[0] = '\0';
	memset(job, 0, sizeof(*job));
	job->t0 = r->t0;
	job->baselines = &r->baselines;
	job->root = root;
	job->hide = r->hide;
	job->ro = r->ro;
	job->view = clone_ro(at(r, "V"));
	job->layer = clone_ro(at(r, "S/u"));
	ATF_REQUIRE((job->project = open(root, O_PATH | O_DIRECTORY)) != -1);
	ATF_REQUIRE((job->stage = open(at(r, "G"), O_RDONLY | O_DIRECTORY)) !=
	    -1);
	review_origins(r);
	ATF_REQUIRE((job->origins = open(at(r, "G/" ORIGINS_NAME),
	    O_RDONLY)) != -1);
}

static void
job_close(struct job *job)
{
	close(job->view);
	close(job->layer);
	close(job->project);
	close(job->stage);
	close(job->origins);
	if (job->gitdir > 0)
		close(job->gitdir);
	if (job->commondir > 0)
		close(job->commondir);
}

static int
review_do(struct review *r, bool walkonly)
{
	struct job	job;
	int		rv;

	job_open(r, &job);
	become(r->uid);
	ATF_REQUIRE(changeset_setup(&job) == 0);
	rv = review_steps(r, &job, walkonly);
	become(0);
	job_close(&job);
	return (rv);
}

static void
confine(const struct job *job)
{
	struct unveil	*u = unveil_begin();

	unveil_fd(u, job->project, UNVEIL_READ);
	unveil_fd(u, job->view, UNVEIL_READ);
	unveil_fd(u, job->layer, UNVEIL_READ);
	unveil_fd(u, job->stage, UNVEIL_READ | UNVEIL_WRITE);
	if (job->gitdir > 0)
		unveil_fd(u, job->gitdir, UNVEIL_READ);
	if (job->commondir > 0)
		unveil_fd(u, job->commondir, UNVEIL_READ);
	unveil_end(u);
	pledge(PLEDGE_LAND);
}

int
review_confined(struct review *r)
{
	struct job	job;
	pid_t		pid;
	int		status;

	job_open(r, &job);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		if (setresgid(r->uid, r->uid, r->uid) == -1 ||
		    setresuid(r->uid, r->uid, r->uid) == -1 ||
		    changeset_setup(&job) == -1)
			_exit(2);
		confine(&job);
		if (review_steps(r, &job, false) == -1) {
			dprintf(2, "%s\n", r->why);
			_exit(1);
		}
		_exit(0);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	job_close(&job);
	return (WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status));
}

int
review_run(struct review *r)
{
	return (review_do(r, false));
}

int
review_walk(struct review *r)
{
	return (review_do(r, true));
}

int
review_run_stopped(struct review *r)
{
	review_unmount(r);
	review_mount(r, true);
	return (review_do(r, false));
}

static void
parents(struct review *r, const char *path)
{
	char	dir[PATH_MAX * 2], *slash;
	size_t	top = strlen(r->dir) + 3;	/* behind "/R" */

	snprintf(dir, sizeof(dir), "%s", at(r, path));
	for (slash = strchr(dir + top, '/'); slash != NULL;
	    slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(dir, 0755) == 0)
			owned(r, dir);
		*slash = '/';
	}
}

void
review_bytes(struct review *r, const char *path, const void *p, size_t len)
{
	int	fd;

	parents(r, path);
	fd = open(at(r, path), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ATF_REQUIRE_MSG(fd != -1, "%s: %s", path, strerror(errno));
	ATF_REQUIRE(write(fd, p, len) == (ssize_t)len);
	close(fd);
	owned(r, at(r, path));
}

void
review_file(struct review *r, const char *path, const char *text)
{
	review_bytes(r, path, text, strlen(text));
}

void
review_link(struct review *r, const char *path, const char *text)
{
	parents(r, path);
	ATF_REQUIRE(symlink(text, at(r, path)) == 0);
	owned(r, at(r, path));
}

void
review_folder(struct review *r, const char *path)
{
	parents(r, path);
	ATF_REQUIRE(mkdir(at(r, path), 0755) == 0);
	owned(r, at(r, path));
}

/* A command as the session's user, in dir; output to file. */
static int
run_as(const struct review *r, const char *dir, const char *out,
    const char *const *argv)
{
	static const char *const	envp[] = { "PATH=/usr/bin:/bin",
	    "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
	    "GIT_CEILING_DIRECTORIES=/", NULL };
	int				fd, status;
	pid_t				pid;

	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		fd = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
		if (fd == -1 || dup2(fd, 1) == -1 || dup2(fd, 2) == -1 ||
		    setresgid(r->uid, r->uid, r->uid) == -1 ||
		    setresuid(r->uid, r->uid, r->uid) == -1 ||
		    chdir(dir) == -1)
			_exit(126);
		umask(022);
		execve(argv[0], (char *const *)(uintptr_t)argv,
		    (char *const *)(uintptr_t)envp);
		_exit(127);
	}
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	return (WIFEXITED(status) ? WEXITSTATUS(status) : 128);
}

static const char *
slurp(const char *path, size_t *len)
{
	static char	*text;
	static size_t	 size;
	FILE		*f;
	size_t		 n = 0, m;

	ATF_REQUIRE_MSG((f = fopen(path, "re")) != NULL, "%s: %s", path,
	    strerror(errno));
	do {
		if (size - n < 65536) {
			size = size * 2 + 65537;
			ATF_REQUIRE((text = realloc(text, size)) != NULL);
		}
		m = fread(text + n, 1, size - n - 1, f);
		n += m;
	} while (m > 0);
	fclose(f);
	text[n] = '\0';
	if (len != NULL)
		*len = n;
	return (text);
}

void
review_sh(struct review *r, const char *fmt, ...)
{
	char		 cmd[8192], out[PATH_MAX];
	const char	*argv[] = { "/bin/sh", "-euc", cmd, NULL };
	va_list		 ap;
	int		 rv;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	snprintf(out, sizeof(out), "%s", at(r, "out"));
	rv = run_as(r, r->dir, out, argv);
	if (rv != 0)
		atf_tc_fail("%s: exit %d: %s", cmd, rv, slurp(out, NULL));
}

const char *
review_patch(struct review *r)
{
	return (slurp(at(r, "G/patch"), NULL));
}

static const char *
kind_word(enum change_kind kind)
{
	static const char *const	words[] = { "added", "modified",
	    "deleted", "mode", "type", "renamed" };

	return (words[kind]);
}

const char *
review_text(struct review *r)
{
	static char	*text;
	size_t		 len;
	struct change	*c;
	struct skipped	*s;
	struct ignored	*i;
	FILE		*f;

	free(text);
	ATF_REQUIRE((f = open_memstream(&text, &len)) != NULL);
	TAILQ_FOREACH(c, &r->set.changes, entry)
		fprintf(f, "%s %o %o %s%s%s%s\n", kind_word(c->kind),
		    (unsigned int)c->pre.mode, (unsigned int)c->post.mode,
		    c->from != NULL ? c->from : "",
		    c->from != NULL ? " -> " : "", c->path,
		    c->drift != NULL ? " drift" : "");
	TAILQ_FOREACH(s, &r->set.skipped, entry)
		fprintf(f, "skipped %s %s\n", s->class, s->path);
	TAILQ_FOREACH(i, &r->set.ignored, entry)
		fprintf(f, "ignored %llu %s\n", (unsigned long long)i->files,
		    i->path);
	fclose(f);
	return (text);
}

void
review_expect(struct review *r, const char *want)
{
	const char	*got = review_text(r);

	if (strcmp(got, want) == 0)
		return;
	fprintf(stderr, "expected:\n%sbut it is:\n%s", want, got);
	atf_tc_fail("another change set");
}

void
review_is(struct review *r, const char *want)
{
	ATF_REQUIRE_MSG(review_run(r) == 0, "%s", r->why);
	review_expect(r, want);
}

int
review_git(struct review *r, bool repo, const char **said)
{
	static const char	*cp[] = { "/bin/cp", "-a", "R", "C", NULL };
	static const char	*rm[] = { "/bin/rm", "-rf", "C", NULL };
	static const char	*init[] = { "/usr/bin/git", "init", "-q",
	    "--template=", ".", NULL };
	static const char	*ap[] = { "/usr/bin/git", "apply", "../G/patch",
	    NULL };
	char			 c[PATH_MAX], out[PATH_MAX];
	const char		*patch;
	bool			 file;
	int			 rv;

	snprintf(c, sizeof(c), "%s", at(r, "C"));
	snprintf(out, sizeof(out), "%s", at(r, "out"));
	owned(r, r->dir);
	ATF_REQUIRE(run_as(r, r->dir, out, rm) == 0);
	ATF_REQUIRE(run_as(r, r->dir, out, cp) == 0);
	if (repo)
		ATF_REQUIRE(run_as(r, c, out, init) == 0);
	*said = "";
	/* git calls one without a file an error. */
	patch = slurp(at(r, "G/patch"), NULL);
	file = strncmp(patch, "diff ", 5) == 0 ||
	    strstr(patch, "\ndiff ") != NULL;
	if (!file)
		return (0);
	rv = run_as(r, c, out, ap);
	*said = slurp(out, NULL);
	return (rv);
}
