/*
 * What a landing's child gets to read, and what may ask for it; refreshes;
 * the end of a session's mounts and of its layer.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/origins.h"
#include "cases.h"
#include "drive.h"

#define REFUSED(code_, call)						\
	do {								\
		ATF_CHECK(!(call));					\
		ATF_CHECK_EQ_MSG(0, strcmp(d.code, code_), "%s: %s",	\
		    d.code, d.text);					\
	} while (0)

static void
project(void)
{
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/proj' && mkdir d && echo a >a && "
	    "echo b >d/b && echo KEY >key && chown -R 1001:1001 .",
	    test_scratch()));
}

/* Nothing can be changed through it, whoever has it. */
static void
read_only(int fd)
{
	ATF_CHECK_EQ(-1, openat(fd, "new", O_WRONLY));
	ATF_CHECK_EQ(EROFS, errno);
	ATF_CHECK_EQ(-1, mkdirat(fd, "newer", 0755));
	ATF_CHECK_EQ(-1, unlinkat(fd, "new", 0));
	ATF_CHECK_EQ(-1, fchmodat(fd, "new", 0600, 0));
}

CASE(view, "the merged project and its layer, read-only, live and stopped")
{
	struct drive		d = { .uid = 1001, .gid = 1001 };
	struct drive_view	v;
	struct stat		st, real;
	int			turn;

	drive_begin();
	project();
	d.hide[0] = strdup(test_path("proj/key"));
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo new >new; rm a; mv d e; echo >z"));
	for (turn = 0; turn < 2; turn++) {
		if (turn == 1)
			drive_release(&d);
		ATF_REQUIRE_MSG(drive_look(&d, turn == 0, &v), "%s: %s",
		    d.code, d.text);
		ATF_CHECK_STREQ("new\n", drive_read(v.view, "new"));
		ATF_CHECK_STREQ("b\n", drive_read(v.view, "e/b"));
		ATF_CHECK(drive_read(v.view, "a") == NULL);
		ATF_CHECK(drive_read(v.view, "d/b") == NULL);
		ATF_CHECK_STREQ("", drive_read(v.view, "key"));
		ATF_CHECK_STREQ("new\n", drive_read(v.layer, "new"));
		ATF_REQUIRE_EQ(0, fstatat(v.layer, "a", &st,
		    AT_SYMLINK_NOFOLLOW));
		ATF_CHECK(S_ISCHR(st.st_mode) && st.st_rdev == 0);
		read_only(v.view);
		read_only(v.layer);
		/* By number what was not touched is the real one. */
		ATF_REQUIRE_EQ(0, fstatat(v.view, "e/b", &st, 0));
		ATF_REQUIRE_EQ(0, stat(test_path("proj/d/b"), &real));
		ATF_CHECK_EQ(real.st_ino, st.st_ino & 0xffffffffffffff);
		ATF_REQUIRE_EQ(0, fstat(v.stage, &st));
		ATF_CHECK_EQ(1001, st.st_uid);
		ATF_CHECK_EQ(0700, st.st_mode & 07777);
		ATF_CHECK_EQ(0, mkdirat(v.stage, turn == 0 ? "0" : "1", 0700));
		drive_look_end(&v);
	}
	drive_erase(&d);
	drive_end();
}

/* The real folder that ino lies on, as the list has it. */
static char	lies[PATH_MAX];

/* How many copies the list has, and whether ino is among them. */
static int
listed(int stage, uint64_t ino, bool *there)
{
	unsigned char	p[4096];
	ssize_t		n, off;
	uint64_t	at;
	int		fd, i, count = 0;

	*there = false;
	ATF_REQUIRE((fd = openat(stage, ORIGINS_NAME, O_RDONLY)) != -1);
	ATF_REQUIRE((n = read(fd, p, sizeof(p))) != -1);
	close(fd);
	*lies = '\0';
	for (off = 0; off < n; off += ORIGINS_HEAD + p[off + 8] +
	    p[off + 10]) {
		for (at = 0, i = 7; i >= 0; i--)
			at = at << 8 | p[off + i];
		*there |= at == ino;
		if (p[off + 10] != 0 && at == ino)
			snprintf(lies, sizeof(lies), "%.*s%s", p[off + 10],
			    p + off + ORIGINS_HEAD + p[off + 8],
			    p[off + 8] > ORIGIN_FID ? "" : ", not copied");
		count += p[off + 10] == 0;
	}
	ATF_REQUIRE_EQ(off, n);
	return (count);
}

/* On which real folder the layer's lies; "" on none. */
static const char *
lies_on(const struct drive_view *v, const char *path)
{
	struct stat	st;
	bool		there;

	ATF_REQUIRE_EQ(0, fstatat(v->layer, path, &st, AT_SYMLINK_NOFOLLOW));
	listed(v->stage, st.st_ino, &there);
	return (lies);
}

CASE(copies, "which of the layer's files are copies is listed, anew each "
    "time, and on which real folders its own lie")
{
	struct drive		d = { .uid = 1001, .gid = 1001 };
	struct drive_view	v;
	struct stat		st;
	bool			there;
	int			turn;

	drive_begin();
	project();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/proj' && ln -s a l && mkdir -p "
	    "e/e g/in h k/m && echo c >e/e/c && echo x >g/in/x && "
	    "chown -Rh 1001:1001 .", test_scratch()));
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo new >new; echo more >>a; mv l m; "
	    "echo more >>e/e/c; mkdir f; mv d/b f/b; mkfifo p; rm key; "
	    "mv g f/g; echo more >>f/g/in/x; rm -r h; mkdir -p h/sub; "
	    "mv k/m k/n"));
	for (turn = 0; turn < 2; turn++) {
		if (turn == 1)
			drive_release(&d);
		ATF_REQUIRE(drive_look(&d, turn == 0, &v));
		ATF_REQUIRE_EQ(0, fstatat(v.layer, "new", &st, 0));
		ATF_CHECK_EQ(5, listed(v.stage, st.st_ino, &there));
		ATF_CHECK(!there);
		ATF_REQUIRE_EQ(0, fstatat(v.layer, "f/b", &st, 0));
		ATF_CHECK_EQ(5, listed(v.stage, st.st_ino, &there));
		ATF_CHECK(there);
		ATF_CHECK_STREQ("e", lies_on(&v, "e"));
		ATF_CHECK_STREQ("e/e", lies_on(&v, "e/e"));
		ATF_CHECK_STREQ("g", lies_on(&v, "f/g"));
		ATF_CHECK_STREQ("g/in", lies_on(&v, "f/g/in"));
		ATF_CHECK_STREQ("k/m", lies_on(&v, "k/n"));
		ATF_CHECK_STREQ("", lies_on(&v, "f"));
		ATF_CHECK_STREQ("", lies_on(&v, "h"));
		ATF_CHECK_STREQ("", lies_on(&v, "h/sub"));
		ATF_REQUIRE_EQ(0, fstatat(v.stage, ORIGINS_NAME, &st, 0));
		ATF_CHECK_EQ(0444, st.st_mode & 07777);
		drive_look_end(&v);
	}
	drive_erase(&d);
	drive_end();
}

CASE(below, "what was written into a filesystem mounted below the project is "
    "no part of it, and is not lost")
{
	struct drive		d = { .uid = 1001, .gid = 1001 };
	struct drive_view	v;
	bool			there;

	/* mountd's own namespace gets what is mounted later. */
	ATF_REQUIRE_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL));
	drive_begin();
	ATF_REQUIRE_EQ(0, mkdir(test_path("proj/t"), 0755));
	ATF_REQUIRE_EQ(0, mount("t", test_path("proj/t"), "tmpfs", 0,
	    "mode=777"));
	START(&d);
	drive_release(&d);
	ATF_CHECK(d.pristine);
	START(&d);
	ATF_REQUIRE(drive_look(&d, true, &v));
	listed(v.stage, 0, &there);
	ATF_CHECK(!there);
	drive_look_end(&v);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo x >t/x"));
	ATF_REQUIRE(drive_look(&d, true, &v));
	listed(v.stage, 0, &there);
	ATF_CHECK(there);
	ATF_CHECK_STREQ("t, not copied", lies);
	drive_look_end(&v);
	drive_release(&d);
	ATF_CHECK(!d.pristine);
	drive_erase(&d);
	ATF_CHECK_EQ(0, umount(test_path("proj/t")));
	drive_end();
}

CASE(kept, "a live view holds what is written after it was made")
{
	struct drive		d = { .uid = 1001, .gid = 1001 };
	struct drive_view	v;
	struct m_SID		sid = { .session = "abcdefgh2345" };

	drive_begin();
	project();
	START(&d);
	ATF_REQUIRE(drive_look(&d, true, &v));
	ATF_CHECK_EQ(0, drive_sh(&d, "echo late >late"));
	ATF_CHECK_STREQ("late\n", drive_read(v.view, "late"));
	/* Its holder holds the session's mounts: RELEASE waits for it. */
	drive_kill(&d);
	test_send(&drive_mountd, MSG_RELEASE, 3, -1, &sid);
	usleep(300000);
	ATF_CHECK_EQ(0, test_sh("test -e '%s/state/s/%s'", test_scratch(),
	    d.id));
	struct msg msg;
	const char *why = NULL;
	ATF_CHECK_EQ(-1, imsg_recv(&drive_mountd.ib, &msg, 100, &why));
	ATF_CHECK_EQ(ETIMEDOUT, errno);
	drive_look_end(&v);
	test_expect(&drive_mountd, MSG_RELEASED, &msg);
	msg_free(&msg);
	drive_erase(&d);
	drive_end();
}

/* The layer of a root has this file, and no other root's has. */
static void
layer_has(struct drive *d, bool live, const char *project, const char *file)
{
	struct drive_view	v;
	const char		*first = d->project;

	d->project = project;
	ATF_REQUIRE_MSG(drive_look(d, live, &v), "%s: %s", d->code, d->text);
	ATF_CHECK_EQ(-1, mkdirat(v.view, "newer", 0755));
	ATF_CHECK_EQ(EROFS, errno);
	ATF_CHECK_EQ(0, faccessat(v.layer, file, F_OK, 0));
	ATF_CHECK_EQ(0, faccessat(v.view, file, F_OK, 0));
	ATF_CHECK_EQ(-1, faccessat(v.layer, file[0] == '1' ? "2" : "1", F_OK,
	    0));
	drive_look_end(&v);
	d->project = first;
}

CASE(roots, "views and cleaning of each root, live and stopped")
{
	static const char *const	all[] = { "", NULL };
	struct drive			d = { .uid = 1001, .gid = 1001 };
	char				two[PATH_MAX];
	const char			*first;

	drive_begin();
	project();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mkdir two && echo t >two/a && "
	    "chown -R 1001:1001 two", test_scratch()));
	strlcpy(two, test_path("two"), sizeof(two));
	d.more[0] = two;
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo x >'%s/1'; echo x >'%s/2'",
	    d.project, two));
	layer_has(&d, true, d.project, "1");
	layer_has(&d, true, two, "2");
	/* Home's is no root's. */
	first = d.project;
	d.project = d.home;
	REFUSED("mount.project", drive_look(&d, true,
	    &(struct drive_view){ 0 }));
	REFUSED("mount.project", drive_clean(&d, true, true, all));
	/* What is taken out of one stays in the other. */
	d.project = two;
	ATF_REQUIRE_MSG(drive_clean(&d, true, true, all), "%s", d.text);
	d.project = first;
	ATF_CHECK_EQ(0, drive_sh(&d, "test -e '%s/1' && test ! -e '%s/2'",
	    d.project, two));
	ATF_CHECK_EQ(0, drive_sh(&d, "echo x >'%s/2'", two));
	drive_release(&d);
	ATF_CHECK(!d.pristine);
	layer_has(&d, false, d.project, "1");
	layer_has(&d, false, two, "2");
	ATF_REQUIRE_MSG(drive_clean(&d, false, true, all), "%s", d.text);
	/* The second's is enough: nothing is said of an empty layer. */
	d.again = true;
	START(&d);
	ATF_CHECK(!d.pristine);
	drive_release(&d);
	d.project = two;
	ATF_REQUIRE_MSG(drive_clean(&d, false, true, all), "%s", d.text);
	d.project = first;
	START(&d);
	ATF_CHECK(d.pristine);
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

static void
take(struct msg *msg)
{
	const char	*why = NULL;

	if (imsg_recv(&drive_mountd.ib, msg, 30000, &why) != 1)
		atf_tc_fail("mountd: %s", why != NULL ? why : "nothing");
}

/* One OUTSIDE; what it says of a layer in *path ("": there is none) and *n. */
static void
outside(struct drive *d, bool live, uint64_t *n, char *path, int fds[3])
{
	static const char *const	kinds[] = { "view", "layer", "real" };
	struct m_OUTSIDE		m = {
		.session = d->id, .live = live, .n = *n, .home = d->home
	};
	const struct m_LAYER		*l;
	struct msg			 msg;
	int				 i;

	*path = '\0';
	if (!live)
		m.hide = (struct strv){ 1, d->hide };
	test_send(&drive_mountd, MSG_OUTSIDE, 7, -1, &m);
	take(&msg);
	if (msg.type == MSG_LAYER) {
		l = msg.body;
		*n = l->n + 1;
		strlcpy(path, l->path, PATH_MAX);
		msg_free(&msg);
		for (i = 0; i < 3; i++) {
			test_expect(&drive_mountd, MSG_LFD, &msg);
			ATF_CHECK_STREQ(kinds[i],
			    ((const struct m_LFD *)msg.body)->kind);
			fds[i] = msg_take_fd(&msg);
			ATF_CHECK_EQ(-1, mkdirat(fds[i], "newer", 0755));
			ATF_CHECK_EQ(EROFS, errno);
			msg_free(&msg);
		}
		take(&msg);
	}
	ATF_REQUIRE_EQ(msg.type, MSG_VIEWED);
	ATF_CHECK_EQ(7, msg.id);
	msg_free(&msg);
}

static void
outside_home(struct drive *d, bool live)
{
	char		path[PATH_MAX];
	uint64_t	n = 0;
	int		fd[3] = { -1, -1, -1 }, i;

	outside(d, live, &n, path, fd);
	ATF_REQUIRE_STREQ(d->home, path);
	/* The view has what the layer has, the real one has it not; what is
	 * hidden is in neither. */
	ATF_CHECK_EQ(0, faccessat(fd[0], "new", F_OK, 0));
	ATF_CHECK_EQ(0, faccessat(fd[1], "new", F_OK, 0));
	ATF_CHECK_EQ(-1, faccessat(fd[2], "new", F_OK, 0));
	ATF_CHECK_EQ(0, test_sh("test ! -s /proc/%d/fd/%d/key && "
	    "test ! -s /proc/%d/fd/%d/key", (int)getpid(), fd[0],
	    (int)getpid(), fd[2]));
	for (i = 0; i < 3; i++)
		close(fd[i]);
	outside(d, live, &n, path, fd);
	ATF_CHECK_STREQ("", path);
	n = UINT64_MAX;
	outside(d, live, &n, path, fd);
	ATF_CHECK_STREQ("", path);
}

CASE(outside, "the layers that are no root's, one after the other")
{
	struct drive	 d = { .uid = 1001, .gid = 1001 };
	struct m_OUTSIDE m = { .live = false };
	char		 key[PATH_MAX], path[PATH_MAX];
	uint64_t	 n = 0;
	int		 fd[3];

	drive_begin();
	project();
	ATF_REQUIRE_EQ(0, test_sh("echo KEY >'%s/home/key' && "
	    "chown 1001:1001 '%s/home/key'", test_scratch(),
	    test_scratch()));
	strlcpy(key, test_path("home/key"), sizeof(key));
	d.hide[0] = key;
	START(&d);
	/* The project's is not among them. */
	ATF_CHECK_EQ(0, drive_sh(&d, "echo x >'%s/n'", d.project));
	outside(&d, true, &n, path, fd);
	ATF_CHECK_STREQ("", path);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo x >'%s/new'", d.home));
	outside_home(&d, true);
	m.session = d.id;
	REFUSED("mount.state", drive_ask(&d, MSG_OUTSIDE, -1, &m,
	    MSG_VIEWED));
	drive_release(&d);
	outside_home(&d, false);
	m.live = true;
	REFUSED("mount.state", drive_ask(&d, MSG_OUTSIDE, -1, &m,
	    MSG_VIEWED));
	drive_erase(&d);
	drive_end();
}

CASE(refused, "VIEW for another user, project, folder, state of the session")
{
	struct drive		d = { .uid = 1001, .gid = 1001 };
	struct drive_view	v;
	struct m_VIEW		m = {
		.session = "abcdefgh2345", .live = true, .uid = 1002,
		.gid = 1002
	};

	drive_begin();
	project();
	START(&d);
	m.home = d.home;
	m.project = d.project;
	REFUSED("mount.owner", drive_ask(&d, MSG_VIEW,
	    drive_open(&d, d.project), &m, MSG_VIEWED));
	m.uid = UINT64_C(0x1000003e9);
	ATF_CHECK(!drive_ask(&d, MSG_VIEW, drive_open(&d, d.project), &m,
	    MSG_VIEWED));
	m.uid = 1001;
	REFUSED("mount.identity", drive_ask(&d, MSG_VIEW,
	    open(d.home, O_PATH | O_CLOEXEC), &m, MSG_VIEWED));
	m.project = d.home;
	REFUSED("mount.project", drive_ask(&d, MSG_VIEW,
	    open(d.home, O_PATH | O_CLOEXEC), &m, MSG_VIEWED));
	REFUSED("mount.state", drive_look(&d, false, &v));
	drive_release(&d);
	REFUSED("mount.state", drive_look(&d, true, &v));
	m.live = false;
	m.project = d.project;
	REFUSED("mount.identity", drive_ask(&d, MSG_VIEW,
	    open(d.home, O_PATH | O_CLOEXEC), &m, MSG_VIEWED));
	/* H224: another folder has its name now. */
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mv proj old && mkdir proj",
	    test_scratch()));
	REFUSED("mount.identity", drive_ask(&d, MSG_VIEW,
	    open(test_path("old"), O_PATH | O_CLOEXEC), &m, MSG_VIEWED));
	drive_erase(&d);
	REFUSED("mount.layer", drive_look(&d, false, &v));
	drive_end();
}

CASE(refresh, "REFRESH shows what the owner replaced, removed and made")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	struct m_SID	sid = { .session = "abcdefgh2345" };

	drive_begin();
	project();
	ATF_REQUIRE_EQ(0, test_sh("echo h >'%s/home/h'", test_scratch()));
	REFUSED("mount.state", (strlcpy(d.id, sid.session, sizeof(d.id)),
	    drive_ask(&d, MSG_REFRESH, -1, &sid, MSG_REFRESHED)));
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "cat a d/b '%s/h'; ls new; ls '%s'; "
	    "true", d.home, d.home));
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && echo A >proj/t && "
	    "mv proj/t proj/a && rm proj/d/b && echo n >proj/new && "
	    "echo H >home/t && mv home/t home/h", test_scratch()));
	ATF_REQUIRE(drive_ask(&d, MSG_REFRESH, -1, &sid, MSG_REFRESHED));
	ATF_CHECK_STREQ("A n H", drive_out(&d, "echo $(cat a d/b new '%s/h' "
	    "2>/dev/null)", d.home));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(twice, "two starts of one session, and a layer in two suites")
{
	struct drive	d = { .uid = 1001, .gid = 1001 }, e;
	struct test_helper first;

	drive_begin();
	project();
	START(&d);
	e = d;
	REFUSED("mount.busy", (drive_prep(&d), drive_await(&d)));
	/* Another mountd over the same state: the lock is the first one's. */
	first = drive_mountd;
	scripted_up(&drive_mountd, "mountd", ROLE_MOUNTD);
	REFUSED("mount.busy", (drive_prep(&d), drive_await(&d)));
	ATF_CHECK_EQ(0, test_helper_end(&drive_mountd));
	/* The first one dies: the mounts live on in the session. */
	kill(first.pid, SIGKILL);
	ATF_REQUIRE_EQ(SIGKILL, test_helper_wait(&first));
	imsg_clear(&first.ib);
	scripted_up(&drive_mountd, "mountd", ROLE_MOUNTD);
	REFUSED("mount.busy", (drive_prep(&d), drive_await(&d)));
	ATF_CHECK(strstr(d.text, "end its processes") != NULL);
	struct m_SID sid = { .session = d.id };
	REFUSED("mount.busy", drive_ask(&d, MSG_ERASE, -1, &sid, MSG_ERASED));
	/* One of its layers cannot be looked at: that is no "not mounted". */
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/state/s/%s' && mv 0 zero && "
	    "echo file >0", test_scratch(), d.id));
	REFUSED("mount.layer", drive_ask(&d, MSG_ERASE, -1, &sid, MSG_ERASED));
	ATF_CHECK_MSG(strstr(d.text, d.id) != NULL, "%s", d.text);
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/state/s/%s' && rm 0 && mv zero 0",
	    test_scratch(), d.id));
	ATF_CHECK_EQ(0, drive_sh(&e, "echo still >still"));
	drive_kill(&e);
	d = (struct drive){ .uid = 1001, .gid = 1001 };
	START(&d);
	ATF_CHECK_STREQ("still", drive_out(&d, "cat still"));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(erase, "ERASE: any depth, any node, no other filesystem, nothing there")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	struct m_SID	sid = { .session = "abcdefgh2345" };

	drive_begin();
	project();
	strlcpy(d.id, sid.session, sizeof(d.id));
	ATF_CHECK(drive_ask(&d, MSG_ERASE, -1, &sid, MSG_ERASED));
	START(&d);
	REFUSED("mount.busy", drive_ask(&d, MSG_ERASE, -1, &sid, MSG_ERASED));
	/* Longer than any path, with a fifo, a socket, links, no rights. */
	ATF_CHECK_EQ(0, drive_sh(&d, "perl -e 'for (1 .. 1500) { "
	    "mkdir(\"deep\") or die; chdir(\"deep\") or die; }'; "
	    "mkfifo fifo; ln -s /etc/passwd link; ln a hard; mkdir -m 000 no; "
	    "touch -- '%%s' ' ' '-rf' '*'; rm -rf d"));
	drive_release(&d);
	ATF_REQUIRE_EQ(0, mkdir(test_path("state/s/%s/other", d.id), 0700));
	ATF_REQUIRE_EQ(0, mount("t", test_path("state/s/%s/other", d.id),
	    "tmpfs", 0, NULL));
	ATF_REQUIRE_EQ(0, test_sh("echo safe >'%s/state/s/%s/other/file'",
	    test_scratch(), d.id));
	/* mountd was there before the mount, so it is busy for it only where
	 * mounts are shared: either way what is in it stays. */
	drive_ask(&d, MSG_ERASE, -1, &sid, MSG_ERASED);
	ATF_CHECK_EQ(0, test_sh("grep -q safe '%s/state/s/%s/other/file' || "
	    "! mountpoint -q '%s/state/s/%s/other'", test_scratch(), d.id,
	    test_scratch(), d.id));
	umount2(test_path("state/s/%s/other", d.id), MNT_DETACH);
	drive_erase(&d);
	ATF_CHECK_EQ(0, test_sh("test -s /etc/passwd && test -z "
	    "\"$(ls '%s/state/s')\"", test_scratch()));
	drive_end();
}

CASE(early, "RELEASE while the tree is being made, and before any PREP")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	struct m_SID	sid = { .session = "abcdefgh2345" };

	drive_begin();
	strlcpy(d.id, sid.session, sizeof(d.id));
	ATF_CHECK(drive_ask(&d, MSG_RELEASE, -1, &sid, MSG_RELEASED));
	drive_namespaces(&d);
	drive_prep(&d);
	usleep(100000);
	ATF_CHECK(drive_ask(&d, MSG_RELEASE, -1, &sid, MSG_RELEASED));
	ATF_CHECK_EQ(-1, access(test_path("state/s/%s", d.id), F_OK));
	drive_kill(&d);
	START(&d);
	drive_release(&d);
	ATF_CHECK(d.pristine);
	ATF_CHECK(drive_ask(&d, MSG_RELEASE, -1, &sid, MSG_RELEASED));
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo x >x"));
	drive_release(&d);
	ATF_CHECK(!d.pristine);
	drive_erase(&d);
	drive_end();
}

CASE(many, "twenty sessions at once, and their end with the broker's")
{
	static struct drive	d[20];
	size_t			i;

	drive_begin();
	project();
	for (i = 0; i < 20; i++) {
		d[i].uid = d[i].gid = 1001;
		snprintf(d[i].id, sizeof(d[i].id), "abcdefgh22%c%c",
		    (char)('a' + i), (char)('a' + i));
		START(&d[i]);
	}
	for (i = 0; i < 20; i++)
		ATF_CHECK_EQ(0, drive_sh(&d[i], "echo %zu >a", i));
	for (i = 0; i < 20; i++)
		ATF_CHECK_EQ(i, (size_t)atoi(drive_out(&d[i], "cat a")));
	for (i = 0; i < 10; i++) {
		drive_release(&d[i]);
		drive_erase(&d[i]);
	}
	ATF_CHECK_EQ(0, test_helper_end(&drive_mountd));
	for (i = 10; i < 20; i++) {
		ATF_CHECK_EQ(i, (size_t)atoi(drive_out(&d[i], "cat a")));
		drive_kill(&d[i]);
	}
	test_clean_check();
}

CASE(init_late, "an init that opens nothing is told, and leaves nothing")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	drive_namespaces(&d);
	drive_prep(&d);
	drive_send_fd(&d, "pidns", 0, fcntl(d.ns_pid, F_DUPFD_CLOEXEC, 0));
	ATF_CHECK(!drive_await(&d));
	ATF_CHECK_STREQ("mount.timeout", d.code);
	ATF_CHECK(strstr(d.text, "has not opened its folders") != NULL);
	ATF_CHECK_EQ(-1, access(test_path("state/s/%s", d.id), F_OK));
	drive_kill(&d);
	drive_end();
}

/* A filesystem that never answers: FUSE, with nobody behind it. */
CASE(hung, "a filesystem that hangs is one session's failure, in ten seconds")
{
	struct drive	d = { .uid = 1001, .gid = 1001 }, o = d;
	char		opts[128];
	int		fuse;

	ATF_REQUIRE_EQ(0, mkdir(test_path("hung"), 0755));
	ATF_REQUIRE((fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC)) != -1);
	snprintf(opts, sizeof(opts), "fd=%d,rootmode=40755,user_id=0,"
	    "group_id=0,allow_other", fuse);
	ATF_REQUIRE_EQ(0, mount("hung", test_path("hung"), "fuse",
	    0, opts));
	drive_begin();
	project();
	d.project = strdup(test_path("hung/in"));
	/* Others do without it. */
	strlcpy(o.id, "otherother22", sizeof(o.id));
	START(&o);
	ATF_CHECK(strstr(o.notes, "hung: a filesystem of type fuse") != NULL);
	ATF_CHECK_STREQ("", drive_out(&o, "ls ../hung"));
	drive_release(&o);
	drive_namespaces(&d);
	drive_prep(&d);
	/* And are served meanwhile. */
	drive_erase(&o);
	ATF_CHECK(!drive_await(&d));
	ATF_CHECK_STREQ("mount.timeout", d.code);
	drive_kill(&d);
	ATF_CHECK_EQ(-1, access(test_path("state/s/%s", d.id), F_OK));
	umount2(test_path("hung"), MNT_FORCE | MNT_DETACH);
	close(fuse);
	ATF_CHECK_EQ(0, test_helper_end(&drive_mountd));
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, view);
	ATF_TP_ADD_TC(tp, copies);
	ATF_TP_ADD_TC(tp, below);
	ATF_TP_ADD_TC(tp, kept);
	ATF_TP_ADD_TC(tp, roots);
	ATF_TP_ADD_TC(tp, outside);
	ATF_TP_ADD_TC(tp, refused);
	ATF_TP_ADD_TC(tp, refresh);
	ATF_TP_ADD_TC(tp, twice);
	ATF_TP_ADD_TC(tp, erase);
	ATF_TP_ADD_TC(tp, early);
	ATF_TP_ADD_TC(tp, many);
	ATF_TP_ADD_TC(tp, init_late);
	ATF_TP_ADD_TC(tp, hung);
	return (atf_no_error());
}
