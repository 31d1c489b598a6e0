#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privsep/drop.h"
#include "privsep/proc.h"
#include "mill.h"

#ifndef SYS_open_tree
#define SYS_open_tree		428
#define SYS_mount_setattr	442
#endif

void
mill_up(struct mill *m, uid_t uid)
{
	static int	n;

	memset(m, 0, sizeof(*m));
	m->patch = -1;
	m->id = 100;
	lab_start(&m->lab);
	review_make(&m->r, test_path("mill%d", ++n), uid);
	snprintf(m->landlog, sizeof(m->landlog), "%s/land.log",
	    m->lab.dir);
}

void
mill_start(struct mill *m)
{
	struct stat	st;

	review_start(&m->r);
	snprintf(m->lab.project, sizeof(m->lab.project), "%s/R", m->r.dir);
	ATF_REQUIRE(stat(m->lab.project, &st) == 0);
	m->lab.dev = st.st_dev;
	m->lab.ino = st.st_ino;
	m->lab.t0 = (uint64_t)m->r.t0.tv_sec * 1000000000 +
	    (uint64_t)m->r.t0.tv_nsec;
	lab_word(&m->lab, SID, m->r.uid);
	lab_seal_ask(&m->lab, 1, SID);
	lab_seal_take(&m->lab, 1);
}

void
mill_down(struct mill *m)
{
	if (m->patch != -1)
		close(m->patch);
	lab_down(&m->lab);
	review_free(&m->r);
}

/*
 * spawn
 */
static const struct m_CHILD	*child;
static const char		*childlog;

static int
land_setup(void *arg)
{
	static gid_t	groups[16];
	struct drop	d = {
		.uid = (uid_t)child->uid, .gid = (gid_t)child->gid,
		.groups = groups, .ngroups = child->groups.n
	};
	size_t		i;
	int		fd;

	(void)arg;
	fd = open(childlog, O_WRONLY | O_CREAT | O_APPEND, 0666);
	if (fd == -1 || dup2(fd, STDERR_FILENO) == -1)
		return (-1);
	for (i = 0; i < d.ngroups && i < 16; i++)
		groups[i] = (gid_t)child->groups.v[i];
	drop_to(&d);
	return (0);
}

static void
land_start(struct mill *m)
{
	struct proc_start	ps = {
		.exe = -1, .argv0 = "land", .nfds = 1, .setup = land_setup
	};
	const char		*why = NULL;
	struct msg		 msg;
	int			 fd;

	ATF_REQUIRE_MSG(imsg_recv(&m->lab.spawn, &msg, 10000, &why) == 1,
	    "no CHILD: %s; %s", why, test_helper_log(&m->lab.h));
	ATF_REQUIRE_EQ(msg.type, MSG_CHILD);
	child = msg.body;
	childlog = m->landlog;
	ATF_REQUIRE_EQ(child->uid, m->r.uid);
	fd = msg_take_fd(&msg);
	ps.path = test_program("libexec/sbx/land");
	ps.fds = &fd;
	ATF_REQUIRE((m->land = proc_spawn(&ps)) > 0);
	close(fd);
	msg_free(&msg);
}

static void
land_reap(struct mill *m, int flags)
{
	int	status;

	if (m->land == 0 || waitpid(m->land, &status, flags) != m->land)
		return;
	m->land = 0;
	lab_childend(&m->lab, m->id, status);
}

/*
 * mountd
 */
static int
clone_ro(const struct mill *m, const char *name)
{
	uint64_t	attr[4] = { MS_RDONLY | MS_NOSUID | MS_NODEV |
			    MS_NOEXEC };
	char		path[PATH_MAX];
	long		fd;

	snprintf(path, sizeof(path), "%s/%s", m->r.dir, name);
	fd = syscall(SYS_open_tree, AT_FDCWD, path, 1 | O_CLOEXEC);
	ATF_REQUIRE_MSG(fd != -1, "%s: %s", path, strerror(errno));
	ATF_REQUIRE(syscall(SYS_mount_setattr, (int)fd, "", AT_EMPTY_PATH,
	    attr, sizeof(attr)) == 0);
	return ((int)fd);
}

static void
view_give(struct mill *m)
{
	char	path[PATH_MAX];

	if (m->viewed != NULL)
		m->viewed(m);
	lab_fd(&m->lab, m->id, "view", clone_ro(m, "V"));
	lab_fd(&m->lab, m->id, "layer", clone_ro(m, "S/u"));
	review_origins(&m->r);
	snprintf(path, sizeof(path), "%s/G", m->r.dir);
	lab_fd(&m->lab, m->id, "stage", open(path, O_RDONLY | O_DIRECTORY));
}

/*
 * sbxd
 */
static void	line_add(char *, size_t, const char *, ...)
		    __attribute__((format(printf, 3, 4)));

static void
line_add(char *list, size_t size, const char *fmt, ...)
{
	size_t	len = strlen(list);
	va_list	ap;

	va_start(ap, fmt);
	vsnprintf(list + len, size - len, fmt, ap);
	va_end(ap);
}

static void
take_item(struct mill *m, const struct msg *msg)
{
	const struct m_CHANGE	*c = msg->body;
	const struct m_SKIPPED	*s = msg->body;
	const struct m_LANDING	*l = msg->body;

	if (msg->type == MSG_CHANGE)
		line_add(m->items, sizeof(m->items), "%s %s%s\n", c->kind,
		    c->path, c->drift != NULL ? " drift" : "");
	else if (msg->type == MSG_SKIPPED)
		line_add(m->items, sizeof(m->items), "skipped %s %s\n",
		    s->class != NULL ? s->class : "-", s->path);
	else if (msg->type == MSG_LANDING) {
		ATF_REQUIRE(l->digest.len == 32);
		ATF_REQUIRE_STREQ(l->target, m->lab.project);
		memcpy(m->digest, l->digest.p, 32);
		m->landing = true;
	}
}

static void
take_landed(struct mill *m, const struct m_LANDED *l)
{
	size_t	i;

	m->files = l->files;
	for (i = 0; i < l->paths.n; i++)
		line_add(m->paths, sizeof(m->paths), "%s\n", l->paths.v[i]);
}

/* True where it was the last one. */
static bool
take(struct mill *m, struct msg *msg)
{
	const struct m_ERROR	*e = msg->body;
	const struct m_LFD	*lfd = msg->body;

	ATF_REQUIRE_EQ(msg->id, m->id);
	switch (msg->type) {
	case MSG_LFD:
		if (strcmp(lfd->kind, "project") == 0)
			view_give(m);
		else
			m->patch = msg_take_fd(msg);
		return (false);
	case MSG_STAGED:
		m->staged = true;
		return (false);
	case MSG_ERROR:
		snprintf(m->code, sizeof(m->code), "%s", e->code);
		snprintf(m->why, sizeof(m->why), "%s", e->message);
		return (true);
	case MSG_LANDED:
		take_landed(m, msg->body);
		return (true);
	case MSG_END:
		return (true);
	default:
		take_item(m, msg);
		return (false);
	}
}

static void
job_run(struct mill *m)
{
	struct pollfd	 pfd = { .fd = m->lab.h.ib.fd, .events = POLLIN };
	const char	*why = NULL;
	struct msg	 msg;
	bool		 last = false;
	int		 ms, r;

	for (ms = 0; !last && ms < 60000;) {
		if (m->working != NULL)
			m->working(m);
		land_reap(m, WNOHANG);
		r = imsg_next(&m->lab.h.ib, &msg, &why);
		if (r == 1) {
			last = take(m, &msg);
			msg_free(&msg);
			continue;
		}
		ATF_REQUIRE_MSG(r == 0, "from landd: %s", why);
		if (poll(&pfd, 1, 5) == 0)
			ms += 5;
		else
			ATF_REQUIRE_MSG(imsg_read(&m->lab.h.ib) > 0,
			    "landd is gone: %s", test_helper_log(&m->lab.h));
	}
	ATF_REQUIRE_MSG(last, "no answer within a minute");
}

static void
job_order(struct mill *m, const char *what, const uint8_t *digest,
    const char *const *paths)
{
	struct m_JOB	job = {
		.session = SID, .what = what,
		.seal = { m->lab.seal, m->lab.seallen },
		.digest = { digest, digest != NULL ? 32 : 0 }
	};

	job.hide.v = (const char **)(uintptr_t)m->r.hide;
	while (job.hide.v[job.hide.n] != NULL)
		job.hide.n++;
	job.ro.v = (const char **)(uintptr_t)m->r.ro;
	while (job.ro.v[job.ro.n] != NULL)
		job.ro.n++;
	if (paths != NULL) {
		job.paths.v = (const char **)(uintptr_t)paths;
		while (paths[job.paths.n] != NULL)
			job.paths.n++;
	}
	test_send(&m->lab.h, MSG_JOB, m->id, -1, &job);
	if (lab_size(&m->lab, "baseline") > 0)
		lab_file(&m->lab, m->id, "baseline", O_RDONLY);
	lab_files(&m->lab, m->id, what);
}

bool
mill_job(struct mill *m, const char *what, const uint8_t *digest,
    const char *const *paths)
{
	m->id++;
	m->code[0] = m->why[0] = m->items[0] = m->paths[0] = '\0';
	m->landing = m->staged = false;
	m->files = 0;
	if (m->patch != -1)
		close(m->patch);
	m->patch = -1;
	job_order(m, what, digest, paths);
	land_start(m);
	job_run(m);
	/* A child that has answered ends. */
	land_reap(m, 0);
	lab_jobend(&m->lab, m->id);
	if (m->code[0] != '\0') {
		printf("%s: %s: %s\n", what, m->code, m->why);
		return (false);
	}
	ATF_REQUIRE(test_sh("cd '%s' && if [ -s newbase ]; then "
	    "mv newbase baseline; fi; rm -f journal newbase",
	    m->lab.dir) == 0);
	return (true);
}

void
mill_works(struct mill *m, const char *what)
{
	if (!mill_job(m, what, NULL, NULL)) {
		test_sh("cat '%s' >&2", m->landlog);
		atf_tc_fail("%s: %s: %s", what, m->code, m->why);
	}
}

void
mill_fails(struct mill *m, const char *what, const char *code)
{
	if (mill_job(m, what, NULL, NULL))
		atf_tc_fail("%s worked, and should fail with %s", what, code);
	if (strcmp(m->code, code) != 0) {
		test_sh("cat '%s' >&2", m->landlog);
		atf_tc_fail("%s failed with %s, not %s: %s", what, m->code,
		    code, m->why);
	}
}

void
mill_same(struct mill *m)
{
	char		 a[PATH_MAX], b[PATH_MAX];
	const char	*differ;

	snprintf(a, sizeof(a), "%s/V", m->r.dir);
	snprintf(b, sizeof(b), "%s/R", m->r.dir);
	ATF_REQUIRE(test_sh("rm -rf '%s/.sbx-land-" SID "'", b) == 0);
	/* The overlay knows nothing of what was renamed below it. */
	review_refresh(&m->r);
	if ((differ = review_differ(a, b)) != NULL)
		atf_tc_fail("R is not as V: %s", differ);
}
