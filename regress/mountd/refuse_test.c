/*
 * What mountd refuses: a broker that is broken, one that is hostile, and
 * sessions that cannot be.
 */
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "drive.h"

static void
up(struct test_helper *h)
{
	scripted_up(h, "mountd", ROLE_MOUNTD);
}

static const uint32_t may[] = {
	MSG_PREP, MSG_SFD, MSG_REFRESH, MSG_RELEASE, MSG_VIEW, MSG_CLEAN,
	MSG_OUTSIDE, MSG_ERASE, MSG_PROBE, MSG_MEASURE, MSG_EXPLAIN,
	MSG_SPARE, 0
};
static const struct scripted mountd = { .up = up, .may = may };

CASE(forbidden, "messages that it may not get")
{
	scripted_forbidden(&mountd);
}

CASE(garbage, "bytes that are no message")
{
	scripted_garbage(&mountd);
}

CASE(frames, "half frames, oversize, wrong lengths")
{
	scripted_broken_frames(&mountd);
}

CASE(descriptors, "missing and surplus descriptors")
{
	scripted_descriptors(&mountd);
}

CASE(eof, "the broker's end is the helper's")
{
	scripted_eof(&mountd);
}

/* SUITE as a hostile or broken broker would send it: no READY, one line. */
static void
suite_refused(void (*spoil)(struct m_SUITE *), const char *says)
{
	struct test_helper	h;
	struct m_SUITE		suite;

	scripted_suite(&suite);
	spoil(&suite);
	test_helper_start(&h, "mountd", ROLE_MOUNTD);
	test_send(&h, MSG_SUITE, 0, -1, &suite);
	ATF_CHECK(test_helper_wait(&h) != 0);
	ATF_CHECK_MSG(strstr(test_helper_log(&h), says) != NULL, "%s",
	    test_helper_log(&h));
	imsg_clear(&h.ib);
}

static void
uid_root(struct m_SUITE *s)
{
	s->uids.v[UID_MOUNTD] = 0;
}

static void
uid_shared(struct m_SUITE *s)
{
	s->uids.v[UID_MOUNTD] = s->uids.v[UID_SPAWN];
}

static void
uid_large(struct m_SUITE *s)
{
	s->uids.v[UID_LANDD] = UINT64_C(1) << 32;
}

static void
uid_few(struct m_SUITE *s)
{
	s->uids.n = 3;
}

static void
state_relative(struct m_SUITE *s)
{
	s->state = "state";
}

static void
state_root(struct m_SUITE *s)
{
	s->state = "/";
}

static void
state_missing(struct m_SUITE *s)
{
	s->state = "/nowhere/state";
}

static void
state_link(struct m_SUITE *s)
{
	static char	path[PATH_MAX];

	strlcpy(path, test_path("link"), sizeof(path));
	ATF_REQUIRE_EQ(0, symlink(s->state, path));
	s->state = path;
}

static void
state_open(struct m_SUITE *s)
{
	ATF_REQUIRE_EQ(0, chmod(s->state, 0777));
}

static void
state_theirs(struct m_SUITE *s)
{
	ATF_REQUIRE_EQ(0, chmod(s->state, 0711));
	ATF_REQUIRE_EQ(0, chown(test_path("state/s"), 1001, 1001));
}

CASE(suite, "uids and state folders that cannot be")
{
	suite_refused(uid_root, "uid 0");
	suite_refused(uid_shared, "two roles");
	suite_refused(uid_large, "none for a role");
	suite_refused(uid_few, "3 uids");
	suite_refused(state_relative, "not an absolute path");
	suite_refused(state_root, "not an absolute path");
	suite_refused(state_missing, "No such file");
	suite_refused(state_link, "state folder");
	suite_refused(state_open, "others than root may write");
	suite_refused(state_theirs, "belongs to uid 1001");
}

/* One that must be refused with this code, leaving nothing; what mountd makes
 * for the next one begins with a dot. */
static void
start_refused(struct drive *d, const char *code, const char *says)
{
	ATF_CHECK(!drive_start(d));
	ATF_CHECK_EQ_MSG(0, strcmp(d->code, code), "%s where %s was due: %s",
	    d->code, code, d->text);
	ATF_CHECK_MSG(strstr(d->text, says) != NULL, "%s", d->text);
	ATF_CHECK_EQ(0, test_sh("test -z \"$(ls '%s/state/s')\"",
	    test_scratch()));
}

CASE(projects, "projects and homes that cannot be: one clear line each")
{
	struct drive	d = { .uid = 1001, .gid = 1001 }, e;
	char		longest[PATH_MAX];
	struct {
		const char	*project, *home, *code, *says;
	} t[] = {
		{ "/", NULL, "mount.project", "the whole machine" },
		{ "/proc", NULL, "mount.project", "/proc of its own" },
		{ "/proc/self", NULL, "mount.project", "/proc of its own" },
		{ "/sys/kernel", NULL, "mount.project", "/sys of its own" },
		{ "/dev", NULL, "mount.project", "/dev of its own" },
		{ "/nowhere", NULL, "mount.project", "No such file" },
		{ "relative", NULL, "mount.project", "absolute" },
		{ "/tmp/../etc", NULL, "mount.project", "absolute" },
		{ "/etc/passwd", NULL, "mount.project", "Not a directory" },
		{ NULL, "/nowhere", "mount.home", "No such file" },
		{ NULL, "/dev/shm", "mount.home", "/dev of its own" },
		{ NULL, "home", "mount.home", "absolute" },
		{ longest, NULL, "mount.project", "No such file" },
		{ strdup(test_path("state")), NULL, "mount.project",
		    "state folder" },
		{ strdup(test_path("state/s")), NULL, "mount.project",
		    "state folder" },
		{ NULL, strdup(test_path("state/sbxd")), "mount.home",
		    "state folder" },
		{ strdup(test_path("link")), NULL, "mount.project",
		    "Too many levels" },
	};
	size_t		i;

	drive_begin();
	memset(longest, 'x', sizeof(longest));
	for (i = 0; i < sizeof(longest); i += 200)
		longest[i] = '/';
	longest[4095] = '\0';
	ATF_REQUIRE_EQ(0, symlink(test_path("proj"), test_path("link")));
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		e = d;
		e.project = t[i].project;
		e.home = t[i].home;
		start_refused(&e, t[i].code, t[i].says);
		ATF_CHECK(strlen(e.text) < 600);
	}
	drive_end();
}

CASE(uids, "users that no session has")
{
	const uint64_t	bad[] = {
		65534, UINT32_MAX, UINT64_C(1) << 32, SCRIPTED_UID + UID_SBXD,
		SCRIPTED_UID + UID_SPAWN, SCRIPTED_UID + UID_MOUNTD,
		UINT64_MAX
	};
	struct drive	d = { .uid = 1001, .gid = 1001 };
	struct m_PREP	m = { .gid = 1001 };
	size_t		i;

	drive_begin();
	strlcpy(d.id, "abcdefgh2345", sizeof(d.id));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		m.session = d.id;
		m.uid = bad[i];
		m.home = test_path("home");
		m.project = test_path("proj");
		ATF_CHECK(!drive_ask(&d, MSG_PREP, -1, &m, MSG_MOUNTED));
		ATF_CHECK_STREQ("mount.uid", d.code);
	}
	ATF_CHECK_EQ(-1, access(test_path("state/s/%s", d.id), F_OK));
	drive_end();
}

CASE(ids, "session ids that would be paths")
{
	static const char *const	bad[] = {
		"..", "../../../etc", "abc", "ABCDEFGH2345", "abcdefgh2341",
		"abcdefgh234/", "abcdefgh23455", "."
	};
	struct drive	d = { .uid = 1001, .gid = 1001 };
	struct m_PREP	m = { .uid = 1001, .gid = 1001 };
	struct m_SID	sid;
	size_t		i;

	drive_begin();
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		strlcpy(d.id, bad[i], sizeof(d.id));
		m.session = sid.session = d.id;
		m.home = test_path("home");
		m.project = test_path("proj");
		ATF_CHECK(!drive_ask(&d, MSG_PREP, -1, &m, MSG_MOUNTED));
		ATF_CHECK_STREQ("mount.session", d.code);
		ATF_CHECK(!drive_ask(&d, MSG_ERASE, -1, &sid, MSG_ERASED));
		ATF_CHECK_STREQ("mount.session", d.code);
		ATF_CHECK(!drive_ask(&d, MSG_REFRESH, -1, &sid,
		    MSG_REFRESHED));
	}
	ATF_CHECK_EQ(0, test_sh("test -d /etc && test -d '%s/state/sbxd'",
	    test_scratch()));
	drive_end();
}

/* PREP with these descriptors in place of init's. */
static void
with_fds(const char *home, const char *project, const char *code)
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_namespaces(&d);
	drive_prep(&d);
	drive_send_fd(&d, "pidns", 0, fcntl(d.ns_pid, F_DUPFD_CLOEXEC, 0));
	drive_send_fd(&d, "home", 0, open(home, O_PATH | O_CLOEXEC));
	drive_send_fd(&d, "project", 0, open(project, O_PATH | O_CLOEXEC));
	ATF_CHECK(!drive_await(&d));
	ATF_CHECK_STREQ(code, d.code);
	ATF_CHECK_EQ(-1, access(test_path("state/s/%s", d.id), F_OK));
	drive_kill(&d);
}

CASE(identity, "folders that are not those which init opened")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	char		home[PATH_MAX], proj[PATH_MAX];
	int		fd;

	drive_begin();
	strlcpy(home, test_path("home"), sizeof(home));
	strlcpy(proj, test_path("proj"), sizeof(proj));
	with_fds(proj, proj, "mount.identity");
	with_fds(home, home, "mount.identity");
	with_fds(home, "/", "mount.identity");
	with_fds("/etc/passwd", proj, "mount.identity");
	/* The project is another one by the time that init comes to it. */
	drive_namespaces(&d);
	drive_prep(&d);
	usleep(200000);
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mv proj old && mkdir proj && "
	    "chown 1001:1001 proj", test_scratch()));
	drive_send_all(&d);
	ATF_CHECK(!drive_await(&d));
	ATF_CHECK_STREQ("mount.identity", d.code);
	drive_kill(&d);
	/* A read-only path that init opened elsewhere. */
	d.ro[0] = "/usr/share";
	drive_namespaces(&d);
	drive_prep(&d);
	drive_send_fd(&d, "ro", 0, open("/usr/lib", O_PATH | O_CLOEXEC));
	drive_send_fd(&d, "pidns", 0, fcntl(d.ns_pid, F_DUPFD_CLOEXEC, 0));
	drive_send_fd(&d, "home", 0, drive_open(&d, d.home));
	drive_send_fd(&d, "project", 0, drive_open(&d, d.project));
	ATF_CHECK(!drive_await(&d));
	ATF_CHECK_STREQ("mount.identity", d.code);
	drive_kill(&d);
	/* What the user cannot open is never shown: no descriptor comes. */
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mkdir -m 700 shut && "
	    "mkdir -m 777 shut/proj", test_scratch()));
	d.ro[0] = NULL;
	d.project = strdup(test_path("shut/proj"));
	ATF_CHECK_EQ(-1, drive_open(&d, d.project));
	ATF_REQUIRE((fd = open(d.project, O_PATH | O_CLOEXEC)) != -1);
	close(fd);
	drive_end();
}

/* Descriptors that are not due. */
static void
with_extra(const char *kind, uint64_t n, bool twice)
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	int		i;

	drive_namespaces(&d);
	drive_prep(&d);
	for (i = 0; i < 1 + twice; i++)
		drive_send_fd(&d, kind, n, strcmp(kind, "pidns") == 0 ?
		    fcntl(d.ns_pid, F_DUPFD_CLOEXEC, 0) :
		    open("/", O_PATH | O_CLOEXEC));
	ATF_CHECK(!drive_await(&d));
	ATF_CHECK_STREQ("mount.descriptor", d.code);
	drive_kill(&d);
}

CASE(extra, "descriptors of a wrong kind or number, or twice")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	with_extra("tree", 0, false);
	with_extra("clone-home", 0, false);
	with_extra("home", 1, false);
	with_extra("ro", 0, false);
	with_extra("ro", UINT64_MAX, false);
	with_extra("home", 0, true);
	with_extra("pidns", 0, true);
	/* For a session that is not there, or not waiting: no harm. */
	strlcpy(d.id, "zzzzzzzzzzzz", sizeof(d.id));
	drive_send_fd(&d, "home", 0, open("/", O_PATH | O_CLOEXEC));
	drive_send_fd(&d, "tree", 7, open("/", O_PATH | O_CLOEXEC));
	d.id[0] = '\0';
	START(&d);
	drive_send_fd(&d, "home", 0, open("/", O_PATH | O_CLOEXEC));
	ATF_CHECK_EQ(0, drive_sh(&d, "echo x >x"));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

/* Of a session with one further root. */
static void
with_roots(const char *more, const char *fd, uint64_t n, const char *code)
{
	struct drive	d = { .uid = 1001, .gid = 1001, .more = { more } };

	drive_namespaces(&d);
	drive_prep(&d);
	drive_send_fd(&d, "pidns", 0, fcntl(d.ns_pid, F_DUPFD_CLOEXEC, 0));
	drive_send_fd(&d, "home", 0, drive_open(&d, d.home));
	drive_send_fd(&d, "project", 0, drive_open(&d, d.project));
	if (fd != NULL)
		drive_send_fd(&d, "project", n, open(fd, O_PATH | O_CLOEXEC));
	ATF_CHECK(!drive_await(&d));
	ATF_CHECK_EQ_MSG(0, strcmp(code, d.code), "%s: %s: %s", more, d.code,
	    d.text);
	ATF_CHECK_EQ(-1, access(test_path("state/s/%s", d.id), F_OK));
	drive_kill(&d);
}

CASE(roots, "several roots: nested, the same, others than init opened")
{
	struct drive	 d = { .uid = 1001, .gid = 1001 };
	char		 two[PATH_MAX], proj[PATH_MAX], in[PATH_MAX];
	char		 again[PATH_MAX], above[PATH_MAX];
	size_t		 i;

	/* What is mounted here later reaches mountd. */
	ATF_REQUIRE_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL));
	drive_begin();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mkdir two again proj/in && "
	    "chown 1001:1001 two again proj/in", test_scratch()));
	strlcpy(two, test_path("two"), sizeof(two));
	strlcpy(proj, test_path("proj"), sizeof(proj));
	strlcpy(in, test_path("proj/in"), sizeof(in));
	strlcpy(again, test_path("again"), sizeof(again));
	strlcpy(above, test_scratch(), sizeof(above));
	with_roots(proj, NULL, 0, "mount.project");
	with_roots(in, NULL, 0, "mount.project");
	with_roots(above, NULL, 0, "mount.project");
	with_roots("/", NULL, 0, "mount.project");
	with_roots("/none", "/", 1, "mount.project");
	with_roots("two", NULL, 0, "mount.project");
	with_roots(test_path("state/s"), NULL, 0, "mount.project");
	/* The same folder under another name. */
	ATF_REQUIRE_EQ(0, mount(proj, again, NULL, MS_BIND, NULL));
	with_roots(again, again, 1, "mount.project");
	d.more[0] = again;
	d.ro[0] = "/missing";
	d.ro[1] = "/usr/share";
	ATF_CHECK(!drive_start(&d));
	ATF_CHECK_STREQ("mount.project", d.code);
	d = (struct drive){ .uid = 1001, .gid = 1001 };
	ATF_REQUIRE_EQ(0, umount2(again, 0));
	with_roots(two, proj, 1, "mount.identity");
	with_roots(two, "/", 1, "mount.identity");
	with_roots(two, two, 0, "mount.descriptor");
	with_roots(two, two, 2, "mount.descriptor");
	with_roots(two, two, UINT64_MAX, "mount.descriptor");
	/* One more than there can be. */
	drive_namespaces(&d);
	for (i = 0; i < DRIVE_LIST; i++)
		d.more[i] = two;
	drive_prep(&d);
	ATF_CHECK(!drive_await(&d));
	ATF_CHECK_STREQ("mount.project", d.code);
	drive_kill(&d);
	drive_end();
}

/* The same as the one that /proc is made of beforehand. */
static void
spare_pidns(int fd)
{
	test_send(&drive_mountd, MSG_SPARE, 0, fcntl(fd, F_DUPFD_CLOEXEC, 0),
	    NULL);
	/* The child for it has a layer as soon as it runs, and is gone with
	 * its session. */
	ATF_REQUIRE_EQ(0, test_sh("n=0; until for d in '%s'/state/s/.[0-9]*; "
	    "do kill -0 ${d##*/.} 2>/dev/null && break; done; do "
	    "n=$((n + 1)); [ $n -lt 500 ] || exit 1; sleep 0.02; done",
	    test_scratch()));
}

static void
with_pidns(int fd)
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	spare_pidns(fd);
	drive_namespaces(&d);
	drive_prep(&d);
	drive_send_fd(&d, "pidns", 0, fd);
	drive_send_fd(&d, "home", 0, drive_open(&d, d.home));
	drive_send_fd(&d, "project", 0, drive_open(&d, d.project));
	ATF_CHECK(!drive_await(&d));
	ATF_CHECK_EQ_MSG(0, strcmp("mount.pidns", d.code), "%s: %s", d.code,
	    d.text);
	drive_kill(&d);
}

CASE(pidns, "a /proc of the host's, of somebody else's, of no namespace")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	char		path[64];
	int		p[2], fd;
	pid_t		pid;
	char		c;

	drive_begin();
	with_pidns(open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC));
	with_pidns(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
	with_pidns(open("/dev/null", O_RDONLY | O_CLOEXEC));
	with_pidns(open("/", O_PATH | O_CLOEXEC));
	drive_namespaces(&d);
	with_pidns(fcntl(d.ns_user, F_DUPFD_CLOEXEC, 0));
	drive_kill(&d);
	/* Nor is it what a session gets that has another. */
	ATF_REQUIRE((fd = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC)) !=
	    -1);
	spare_pidns(fd);
	close(fd);
	ATF_REQUIRE_MSG(drive_start(&d), "%s: %s", d.code, d.text);
	ATF_CHECK_EQ(0, drive_sh(&d, "test -e /proc/1/status && "
	    "test $(ls -d /proc/[0-9]* | wc -l) -lt 6"));
	drive_kill(&d);
	drive_release(&d);
	drive_erase(&d);
	/* One that root made, not spawn. */
	ATF_REQUIRE_EQ(0, pipe2(p, O_CLOEXEC));
	if ((pid = fork()) == 0) {
		if (dup2(p[1], 3) == -1 || close_range(4, ~0U, 0) == -1 ||
		    unshare(CLONE_NEWPID) == -1 || fork() == -1 ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 ||
		    write(3, "x", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	ATF_REQUIRE_EQ(1, read(p[0], &c, 1));
	snprintf(path, sizeof(path), "/proc/%d/ns/pid_for_children",
	    (int)pid);
	ATF_REQUIRE((fd = open(path, O_RDONLY | O_CLOEXEC)) != -1);
	with_pidns(fd);
	kill(pid, SIGKILL);
	ATF_REQUIRE_EQ(pid, waitpid(pid, NULL, 0));
	close(p[0]);
	close(p[1]);
	ATF_CHECK_EQ(0, test_sh("test -z \"$(ls '%s/state/s')\"",
	    test_scratch()));
	drive_end();
}

CASE(owner, "a layer is one user's, and one project's")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo mine >mine"));
	drive_release(&d);
	d.uid = d.gid = 1002;
	ATF_CHECK(!drive_start(&d));
	ATF_CHECK_STREQ("mount.owner", d.code);
	d.uid = d.gid = 0;
	ATF_CHECK(!drive_start(&d));
	ATF_CHECK_STREQ("mount.owner", d.code);
	d.uid = d.gid = 1001;
	d.project = strdup(test_path("home"));
	ATF_CHECK(!drive_start(&d));
	ATF_CHECK_STREQ("mount.project", d.code);
	/* What was there is there still. */
	d.project = NULL;
	START(&d);
	ATF_CHECK_STREQ("mine", drive_out(&d, "cat mine"));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(planted, "a folder of s/ that is a link, or another's")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	struct m_SID	sid = { .session = "abcdefgh2345" };

	drive_begin();
	ATF_REQUIRE_EQ(0, test_sh("mkdir '%s/elsewhere' && "
	    "echo safe >'%s/elsewhere/f' && ln -s '%s/elsewhere' "
	    "'%s/state/s/abcdefgh2345'", test_scratch(), test_scratch(),
	    test_scratch(), test_scratch()));
	ATF_CHECK(!drive_start(&d));
	ATF_CHECK_STREQ("mount.layer", d.code);
	drive_ask(&d, MSG_ERASE, -1, &sid, MSG_ERASED);
	ATF_CHECK_EQ(0, test_sh("grep -q safe '%s/elsewhere/f' && "
	    "test -z \"$(ls '%s/elsewhere' | grep -v '^f$')\"",
	    test_scratch(), test_scratch()));
	drive_end();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, forbidden);
	ATF_TP_ADD_TC(tp, garbage);
	ATF_TP_ADD_TC(tp, frames);
	ATF_TP_ADD_TC(tp, descriptors);
	ATF_TP_ADD_TC(tp, eof);
	ATF_TP_ADD_TC(tp, suite);
	ATF_TP_ADD_TC(tp, projects);
	ATF_TP_ADD_TC(tp, uids);
	ATF_TP_ADD_TC(tp, ids);
	ATF_TP_ADD_TC(tp, identity);
	ATF_TP_ADD_TC(tp, extra);
	ATF_TP_ADD_TC(tp, roots);
	ATF_TP_ADD_TC(tp, pidns);
	ATF_TP_ADD_TC(tp, owner);
	ATF_TP_ADD_TC(tp, planted);
	return (atf_no_error());
}
