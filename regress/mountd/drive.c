#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/openat2.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drive.h"

struct test_helper	drive_mountd;

static const char *const kinds[3] = {
	"clone-project", "clone-home", "clone-root"
};

void
drive_begin(void)
{
	static const char *const	made[] = { "home", "proj" };
	size_t				i;

	test_clean_mark();
	scripted_up(&drive_mountd, "mountd", ROLE_MOUNTD);
	for (i = 0; i < 2; i++) {
		ATF_REQUIRE_EQ(0, mkdir(test_path("%s", made[i]), 0755));
		ATF_REQUIRE_EQ(0, chown(test_path("%s", made[i]), 1001,
		    1001));
	}
}

void
drive_end(void)
{
	ATF_CHECK_EQ(0, test_helper_end(&drive_mountd));
	ATF_CHECK_STREQ("", test_helper_log(&drive_mountd));
	test_clean_check();
}

/*
 * Inside
 */
static void
init_enter(int tree)
{
	if (syscall(SYS_move_mount, tree, "", AT_FDCWD, "/",
	    MOVE_MOUNT_F_EMPTY_PATH) == -1 || fchdir(tree) == -1 ||
	    syscall(SYS_pivot_root, ".", ".") == -1 ||
	    umount2(".", MNT_DETACH) == -1 || chdir("/") == -1)
		_exit(10);
	close(tree);
}

/* One byte with a descriptor. */
static int
fd_receive(int sock)
{
	char		ctl[CMSG_SPACE(sizeof(int))], c;
	struct iovec	iov = { &c, 1 };
	struct msghdr	m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl,
		.msg_controllen = sizeof(ctl)
	};
	struct cmsghdr	*cm;
	int		 fd;

	if (recvmsg(sock, &m, 0) != 1 || (cm = CMSG_FIRSTHDR(&m)) == NULL)
		return (-1);
	memcpy(&fd, CMSG_DATA(cm), sizeof(fd));
	return (fd);
}

static void
fd_send(int sock, int fd)
{
	char		ctl[CMSG_SPACE(sizeof(int))] = { 0 }, c = 't';
	struct iovec	iov = { &c, 1 };
	struct msghdr	m = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl,
		.msg_controllen = sizeof(ctl)
	};
	struct cmsghdr	*cm = CMSG_FIRSTHDR(&m);

	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cm), &fd, sizeof(fd));
	ATF_REQUIRE_EQ(1, sendmsg(sock, &m, 0));
}

/* pid 1: takes the tree, then reaps until its end. */
static void
init_main(int sock)
{
	int	tree;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (write(sock, "i", 1) != 1)
		_exit(11);
	if ((tree = fd_receive(sock)) == -1)
		_exit(12);
	init_enter(tree);
	if (write(sock, "e", 1) != 1)
		_exit(13);
	close(sock);
	for (;;)
		if (waitpid(-1, NULL, 0) == -1)
			pause();
}

static void
outer_main(int sock)
{
	uid_t	spawn = SCRIPTED_UID + UID_SPAWN;
	char	c;
	pid_t	pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setgroups(0, NULL) == -1 || setresgid(spawn, spawn, spawn) == -1 ||
	    setresuid(spawn, spawn, spawn) == -1 ||
	    unshare(CLONE_NEWUSER) == -1)
		_exit(1);
	prctl(PR_SET_DUMPABLE, 1);
	if (write(sock, "u", 1) != 1 || read(sock, &c, 1) != 1)
		_exit(2);
	if (setresgid(0, 0, 0) == -1 || setresuid(0, 0, 0) == -1 ||
	    unshare(CLONE_NEWPID | CLONE_NEWNS) == -1)
		_exit(3);
	if ((pid = fork()) == 0)
		init_main(sock);
	prctl(PR_SET_DUMPABLE, 1);
	close(sock);
	waitpid(pid, NULL, 0);
	_exit(0);
}

static void
map(pid_t pid, const char *what)
{
	char	path[64];
	int	fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	ATF_REQUIRE((fd = open(path, O_WRONLY | O_CLOEXEC)) != -1);
	ATF_REQUIRE_EQ(14, write(fd, "0 0 4294967295", 14));
	close(fd);
}

static int
ns_open(pid_t pid, const char *what)
{
	char	path[64];
	int	fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, what);
	ATF_REQUIRE_MSG((fd = open(path, O_RDONLY | O_CLOEXEC)) != -1,
	    "%s: %s", path, strerror(errno));
	return (fd);
}

/* init's pid as we see it: the outer one's child. */
static pid_t
child_of(pid_t pid)
{
	char	path[64];
	int	child = 0;
	FILE	*f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
	    (int)pid);
	ATF_REQUIRE((f = fopen(path, "re")) != NULL);
	ATF_REQUIRE_EQ(1, fscanf(f, "%d", &child));
	fclose(f);
	return (child);
}

void
drive_namespaces(struct drive *d)
{
	int	sv[2], i;
	char	c;

	for (i = 0; i < 3; i++)
		d->clone[i] = -1;
	ATF_REQUIRE_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    sv));
	if ((d->outer = fork()) == 0) {
		/* Nothing of other sessions may live on in this one. */
		syscall(SYS_close_range, 3, (unsigned)sv[1] - 1, 0);
		syscall(SYS_close_range, (unsigned)sv[1] + 1, ~0U, 0);
		outer_main(sv[1]);
	}
	ATF_REQUIRE(d->outer != -1);
	close(sv[1]);
	d->sock = sv[0];
	ATF_REQUIRE_EQ(1, read(d->sock, &c, 1));
	map(d->outer, "uid_map");
	map(d->outer, "gid_map");
	ATF_REQUIRE_EQ(1, write(d->sock, "m", 1));
	ATF_REQUIRE_EQ(1, read(d->sock, &c, 1));
	d->init = child_of(d->outer);
	d->ns_user = ns_open(d->init, "user");
	d->ns_pid = ns_open(d->init, "pid");
	d->ns_mnt = ns_open(d->init, "mnt");
}

/*
 * Asking mountd
 */
static void
list(struct strv *v, const char *const *from)
{
	v->v = (const char **)(uintptr_t)from;
	for (v->n = 0; v->n < DRIVE_LIST && from[v->n] != NULL; v->n++)
		;
}

static void
defaults(struct drive *d)
{
	static char	home[PATH_MAX], project[PATH_MAX];

	if (d->id[0] == '\0')
		strlcpy(d->id, "abcdefgh2345", sizeof(d->id));
	strlcpy(home, test_path("home"), sizeof(home));
	strlcpy(project, test_path("proj"), sizeof(project));
	if (d->home == NULL)
		d->home = home;
	if (d->project == NULL)
		d->project = project;
	if (d->argv[0] == NULL)
		d->argv[0] = "true";
}

void
drive_prep(struct drive *d)
{
	struct m_PREP	m = { .uid = d->uid, .gid = d->gid };

	defaults(d);
	d->code[0] = d->text[0] = '\0';
	m.session = d->id;
	m.home = d->home;
	m.project = d->project;
	list(&m.hide, d->hide);
	list(&m.ro, d->ro);
	list(&m.argv, d->argv);
	test_send(&drive_mountd, MSG_PREP, 0, -1, &m);
}

void
drive_send_fd(struct drive *d, const char *kind, uint64_t n, int fd)
{
	struct m_SFD	m = { .session = d->id, .kind = kind, .n = n };

	test_send(&drive_mountd, MSG_SFD, 0, fd, &m);
}

int
drive_open(const struct drive *d, const char *path)
{
	struct open_how	how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
	};
	int		fd;

	ATF_REQUIRE_EQ(0, setegid(d->gid));
	ATF_REQUIRE_EQ(0, seteuid(d->uid));
	fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	ATF_REQUIRE_EQ(0, seteuid(0));
	ATF_REQUIRE_EQ(0, setegid(0));
	return (fd);
}

void
drive_send_all(struct drive *d)
{
	int	fd;
	size_t	i;

	drive_send_fd(d, "pidns", 0, fcntl(d->ns_pid, F_DUPFD_CLOEXEC, 0));
	for (i = 0; i < DRIVE_LIST && d->ro[i] != NULL; i++)
		if ((fd = drive_open(d, d->ro[i])) != -1)
			drive_send_fd(d, "ro", i, fd);
	if ((fd = drive_open(d, d->home)) != -1)
		drive_send_fd(d, "home", 0, fd);
	if ((fd = drive_open(d, d->project)) != -1)
		drive_send_fd(d, "project", 0, fd);
}

static void
lines(char *out, size_t size, const struct strv *v)
{
	size_t	i;

	out[0] = '\0';
	for (i = 0; i < v->n; i++) {
		strlcat(out, v->v[i], size);
		strlcat(out, "\n", size);
	}
}

static void
receive(struct msg *msg)
{
	const char	*why = NULL;
	int		 r;

	r = imsg_recv(&drive_mountd.ib, msg, 70000, &why);
	if (r == 0)
		printf("mountd ended: %#x\n",
		    test_helper_wait(&drive_mountd));
	if (r != 1)
		atf_tc_fail("from mountd: %s; its log: %s", r == 0 ?
		    "end of file" : why != NULL ? why : strerror(errno),
		    test_helper_log(&drive_mountd));
}

static void
take_error(struct drive *d, const struct msg *msg)
{
	const struct m_ERROR	*e = msg->body;

	ATF_REQUIRE_MSG(msg->type == MSG_ERROR, "%s where an answer was due",
	    proto_name(msg->type));
	ATF_REQUIRE(e->at != NULL);
	ATF_CHECK_STREQ(d->id, e->at);
	ATF_CHECK(strchr(e->message, '\n') == NULL);
	strlcpy(d->code, e->code, sizeof(d->code));
	strlcpy(d->text, e->message, sizeof(d->text));
}

/* True: MOUNTED came, and with it the tree, which goes to init. */
bool
drive_await(struct drive *d)
{
	const struct m_MOUNTED	*m;
	const struct m_SFD	*s;
	struct msg		 msg;
	int			 tree = -1, fd, i;
	char			 c;

	for (receive(&msg); msg.type == MSG_SFD; receive(&msg)) {
		s = msg.body;
		ATF_CHECK_STREQ(d->id, s->session);
		fd = msg_take_fd(&msg);
		for (i = 0; i < 3 && strcmp(kinds[i], s->kind) != 0; i++)
			;
		if (i < 3)
			d->clone[i] = fd;
		else if (strcmp(s->kind, "tree") == 0)
			tree = fd;
		else
			atf_tc_fail("a descriptor of kind %s", s->kind);
		msg_free(&msg);
	}
	if (msg.type != MSG_MOUNTED) {
		take_error(d, &msg);
		msg_free(&msg);
		return (false);
	}
	m = msg.body;
	d->dev = m->dev;
	d->ino = m->ino;
	lines(d->notes, sizeof(d->notes), &m->notes);
	lines(d->hidden, sizeof(d->hidden), &m->hide);
	msg_free(&msg);
	ATF_REQUIRE(tree != -1 && d->clone[0] != -1 && d->clone[1] != -1 &&
	    d->clone[2] != -1);
	fd_send(d->sock, tree);
	close(tree);
	ATF_REQUIRE_EQ(1, read(d->sock, &c, 1));
	return (true);
}

bool
drive_start(struct drive *d)
{
	drive_namespaces(d);
	drive_prep(d);
	drive_send_all(d);
	if (drive_await(d))
		return (true);
	drive_kill(d);
	return (false);
}

/*
 * Commands
 */
static void
become(const struct drive *d)
{
	int	c;

	for (c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) != -1; c++)
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == -1)
			_exit(121);
	if (setgroups(0, NULL) == -1 ||
	    setresgid(d->gid, d->gid, d->gid) == -1 ||
	    setresuid(d->uid, d->uid, d->uid) == -1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		_exit(122);
}

static void
join(const struct drive *d, int in, int out, const char *script)
{
	char	 shell[] = "sh", opt[] = "-c", path[] =
	    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:"
	    "/bin", lang[] = "LC_ALL=C", *text = strdup(script);
	char	*argv[] = { shell, opt, text, NULL };
	char	*envp[] = { path, lang, NULL };
	pid_t	 pid;
	int	 status;

	if (setns(d->ns_user, CLONE_NEWUSER) == -1 ||
	    setns(d->ns_pid, CLONE_NEWPID) == -1 ||
	    setns(d->ns_mnt, CLONE_NEWNS) == -1)
		_exit(123);
	if ((pid = fork()) == 0) {
		become(d);
		if (dup2(in, 0) == -1 || dup2(out, 1) == -1 ||
		    dup2(out, 2) == -1)
			_exit(124);
		syscall(SYS_close_range, 3, ~0U, 0);
		if (chdir(d->project) == -1 && chdir("/") == -1)
			_exit(125);
		execve("/bin/sh", argv, envp);
		_exit(127);
	}
	/* What is to be signalled is the shell, so it is told of. */
	signal(SIGTERM, SIG_DFL);
	if (pid == -1 || waitpid(pid, &status, 0) == -1)
		_exit(126);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status));
}

static int
run(struct drive *d, char *out, size_t size, const char *script)
{
	size_t	len = 0;
	ssize_t	n;
	pid_t	pid;
	int	p[2], null, status;

	ATF_REQUIRE_EQ(0, pipe2(p, O_CLOEXEC));
	ATF_REQUIRE((null = open("/dev/null", O_RDWR | O_CLOEXEC)) != -1);
	if ((pid = fork()) == 0)
		join(d, null, p[1], script);
	close(p[1]);
	close(null);
	while ((n = read(p[0], out + len, size - len - 1)) > 0)
		len += (size_t)n;
	close(p[0]);
	while (len > 0 && out[len - 1] == '\n')
		len--;
	out[len] = '\0';
	ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
	ATF_REQUIRE(WIFEXITED(status));
	return (WEXITSTATUS(status));
}

int
drive_sh(struct drive *d, const char *fmt, ...)
{
	static char	out[65536];
	char		script[8192];
	va_list		ap;
	int		r;

	va_start(ap, fmt);
	vsnprintf(script, sizeof(script), fmt, ap);
	va_end(ap);
	r = run(d, out, sizeof(out), script);
	if (r != 0)
		printf("inside: %s\n  gave %d: %s\n", script, r, out);
	return (r);
}

const char *
drive_out(struct drive *d, const char *fmt, ...)
{
	static char	out[8][65536];
	static unsigned	turn;
	char		*o = out[turn++ % 8], script[8192];
	va_list		 ap;

	va_start(ap, fmt);
	vsnprintf(script, sizeof(script), fmt, ap);
	va_end(ap);
	run(d, o, sizeof(out[0]), script);
	return (o);
}

pid_t
drive_background(struct drive *d, int *in, int *out, const char *script)
{
	pid_t	pid;
	int	i[2], o[2];

	ATF_REQUIRE_EQ(0, pipe2(i, O_CLOEXEC));
	ATF_REQUIRE_EQ(0, pipe2(o, O_CLOEXEC));
	if ((pid = fork()) == 0) {
		close(i[1]);
		close(o[0]);
		join(d, i[0], o[1], script);
	}
	close(i[0]);
	close(o[1]);
	*in = i[1];
	*out = o[0];
	return (pid);
}

void
drive_kill(struct drive *d)
{
	int	i, *fd;

	if (d->outer > 0) {
		if (d->init > 0)
			kill(d->init, SIGKILL);
		ATF_REQUIRE_EQ(d->outer, waitpid(d->outer, NULL, 0));
	}
	d->outer = d->init = 0;
	for (i = 0; i < 7; i++) {
		fd = i < 3 ? &d->clone[i] : i == 3 ? &d->ns_user :
		    i == 4 ? &d->ns_pid : i == 5 ? &d->ns_mnt : &d->sock;
		if (*fd > 0)
			close(*fd);
		*fd = -1;
	}
}

bool
drive_ask(struct drive *d, uint32_t type, int fd, const void *body,
    uint32_t want)
{
	struct msg	msg;
	bool		ok;

	d->code[0] = d->text[0] = '\0';
	test_send(&drive_mountd, type, 77, fd, body);
	receive(&msg);
	/* Who is released may be told before that nothing was written. */
	d->pristine = want == MSG_RELEASED && msg.type == MSG_PRISTINE;
	if (d->pristine) {
		msg_free(&msg);
		receive(&msg);
	}
	ATF_CHECK_EQ(77, msg.id);
	ok = msg.type == want;
	if (!ok)
		take_error(d, &msg);
	msg_free(&msg);
	return (ok);
}

void
drive_release(struct drive *d)
{
	struct m_SID	sid = { .session = d->id };

	drive_kill(d);
	ATF_REQUIRE_MSG(drive_ask(d, MSG_RELEASE, -1, &sid, MSG_RELEASED),
	    "%s: %s", d->code, d->text);
}

void
drive_erase(struct drive *d)
{
	struct m_SID	sid = { .session = d->id };

	ATF_REQUIRE_MSG(drive_ask(d, MSG_ERASE, -1, &sid, MSG_ERASED),
	    "%s: %s", d->code, d->text);
	ATF_CHECK_EQ(-1, access(test_path("state/s/%s", d->id), F_OK));
}

bool
drive_look(struct drive *d, bool live, struct drive_view *v)
{
	struct m_VIEW		 m = {
		.session = d->id, .live = live, .uid = d->uid, .gid = d->gid,
		.home = d->home, .project = d->project
	};
	const struct m_LFD	*l;
	struct msg		 msg;
	int			 fd;

	v->view = v->layer = v->stage = -1;
	list(&m.hide, d->hide);
	ATF_REQUIRE((fd = drive_open(d, d->project)) != -1);
	test_send(&drive_mountd, MSG_VIEW, 9, fd, &m);
	for (receive(&msg); msg.type == MSG_LFD; receive(&msg)) {
		ATF_CHECK_EQ(9, msg.id);
		l = msg.body;
		fd = msg_take_fd(&msg);
		if (strcmp(l->kind, "view") == 0)
			v->view = fd;
		else if (strcmp(l->kind, "layer") == 0)
			v->layer = fd;
		else
			v->stage = fd;
		msg_free(&msg);
	}
	if (msg.type != MSG_VIEWED) {
		take_error(d, &msg);
		msg_free(&msg);
		return (false);
	}
	msg_free(&msg);
	ATF_REQUIRE(v->view != -1 && v->layer != -1 && v->stage != -1);
	return (true);
}

void
drive_look_end(struct drive_view *v)
{
	close(v->view);
	close(v->layer);
	close(v->stage);
}

bool
drive_clean(struct drive *d, bool live, bool discard,
    const char *const *paths)
{
	struct m_CLEAN	m = {
		.session = d->id, .live = live, .discard = discard
	};

	m.paths.v = (const char **)(uintptr_t)paths;
	while (paths[m.paths.n] != NULL)
		m.paths.n++;
	if (!live)
		list(&m.hide, d->hide);
	return (drive_ask(d, MSG_CLEAN, -1, &m, MSG_CLEANED));
}

const char *
drive_read(int dir, const char *path)
{
	static char	text[4][4096];
	static unsigned	turn;
	char		*t = text[turn++ % 4];
	ssize_t		 n;
	int		 fd;

	if ((fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) == -1)
		return (NULL);
	n = read(fd, t, sizeof(text[0]) - 1);
	close(fd);
	if (n == -1)
		return (NULL);
	t[n] = '\0';
	return (t);
}
