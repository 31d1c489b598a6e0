#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/keyctl.h>
#include <linux/sched.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "privsep/drop.h"
#include "privsep/proc.h"
#include "session.h"

#define WAIT_MS		20000
#define PASTE_AHEAD	(64 << 10)	/* queued here before more is */

#define MUST(e)	do {							\
	if ((e) == -1)							\
		atf_tc_fail("%s:%d: %s: %s", __FILE__, __LINE__, #e,	\
		    strerror(errno));					\
} while (0)

static int64_t
now_ms(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

/*
 * The tree
 */
static void
tree_dev(void)
{
	static const struct { const char *name; int major, minor; } nodes[] = {
		{ "null", 1, 3 }, { "zero", 1, 5 }, { "full", 1, 7 },
		{ "random", 1, 8 }, { "urandom", 1, 9 }, { "tty", 5, 0 }
	};
	const char	*path;
	size_t		 i;

	MUST(mount("dev", test_path("tree/dev"), "tmpfs", MS_NOSUID |
	    MS_NOEXEC, "mode=755"));
	for (i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		path = test_path("tree/dev/%s", nodes[i].name);
		MUST(mknod(path, S_IFCHR | 0666, makedev(nodes[i].major,
		    nodes[i].minor)));
		MUST(chmod(path, 0666));
	}
	MUST(symlink("pts/ptmx", test_path("tree/dev/ptmx")));
	MUST(symlink("/proc/self/fd", test_path("tree/dev/fd")));
	MUST(mkdir(test_path("tree/dev/pts"), 0755));
	MUST(mount("devpts", test_path("tree/dev/pts"), "devpts", MS_NOSUID |
	    MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620,gid=5,max=1024"));
}

int
session_tree_fd(void)
{
	int	fd;

	MUST(mkdir(test_path("tree"), 0755));
	MUST(mount("/", test_path("tree"), NULL, MS_BIND | MS_REC, NULL));
	tree_dev();
	MUST(fd = (int)syscall(SYS_open_tree, AT_FDCWD, test_path("tree"),
	    1 /* OPEN_TREE_CLONE */ | O_CLOEXEC | 0x8000 /* AT_RECURSIVE */));
	MUST(umount2(test_path("tree"), MNT_DETACH));
	MUST(rmdir(test_path("tree")));
	return (fd);
}

/*
 * The worker
 */
struct worker_start {
	const struct test_helper *h;
};

static int
worker_setup(void *arg)
{
	const struct worker_start *ws = arg;
	struct drop	d = { .uid = WORKER_UID, .gid = WORKER_UID };
	int		fd, null;

	if ((fd = open(ws->h->log, O_WRONLY | O_CREAT | O_APPEND, 0600)) ==
	    -1 || (null = open("/dev/null", O_RDWR)) == -1 ||
	    dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1 || dup2(fd, STDERR_FILENO) == -1)
		return (-1);
	close(fd);
	close(null);
	drop_to(&d);
	return (0);
}

/* A pair whose ends say that this uid made them. */
static void
pair_as(uid_t uid, int sv[2])
{
	MUST(seteuid(uid));
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv));
	MUST(seteuid(0));
}

int
session_worker(struct test_helper *h, uid_t broker)
{
	static int		count;
	struct worker_start	ws = { h };
	struct proc_start	ps = { .exe = -1, .argv0 = "sbx-worker",
				    .nfds = 2, .setup = worker_setup,
				    .arg = &ws };
	int			a[2], b[2], fds[2];

	snprintf(h->log, sizeof(h->log), "%s/worker-%d.log", test_scratch(),
	    ++count);
	pair_as(broker, a);
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b));
	fds[0] = a[1];
	fds[1] = b[1];
	/* By descriptor, since no helper's file is readable by that uid. */
	MUST(ps.exe = open(test_program("libexec/sbx/worker"), O_PATH |
	    O_CLOEXEC));
	ps.fds = fds;
	MUST(h->pid = proc_spawn(&ps));
	close(ps.exe);
	close(a[1]);
	close(b[1]);
	MUST(imsg_init(&h->ib, a[0], ROLE_SBXD, ROLE_WORKER));
	return (b[0]);
}

/*
 * init
 */
static int
caps(uint32_t perm, uint32_t inh)
{
	struct __user_cap_header_struct	hdr = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct	data[2] = { { perm, perm, inh } };

	return ((int)syscall(SYS_capset, &hdr, data));
}

static int
init_become(bool root)
{
	const uint32_t	keep = 1U << CAP_SYS_ADMIN | 1U << CAP_NET_ADMIN;
	gid_t		group = SESSION_GROUP;
	int		c;

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == -1 ||
	    setgroups(root ? 0 : 1, &group) == -1 ||
	    (!root && setresgid(SESSION_GID, SESSION_GID, SESSION_GID) ==
	    -1) ||
	    (!root && setresuid(SESSION_UID, SESSION_UID, SESSION_UID) ==
	    -1) ||
	    caps(keep | 1U << CAP_SETPCAP, keep) == -1 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0) ==
	    -1 ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_ADMIN, 0, 0) ==
	    -1)
		return (-1);
	for (c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) != -1; c++)
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == -1)
			return (-1);
	return (caps(keep, keep));
}

static void
init_child(int exe, int sock, int go, bool root)
{
	static char	 name[] = "sbx-init", *argv[] = { name, NULL };
	static char	*envp[] = { NULL };
	char		 c;
	int		 null;

	if (read(go, &c, 1) != 1 || init_become(root) == -1 ||
	    syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) == -1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    (null = open("/dev/null", O_RDWR)) == -1 || dup2(null, 0) == -1 ||
	    dup2(null, 1) == -1 || dup2(null, 2) == -1 ||
	    dup2(sock, 3) == -1 ||
	    syscall(SYS_close_range, 4U, ~0U, CLOSE_RANGE_CLOEXEC) == -1)
		_exit(99);
	syscall(SYS_execveat, exe, "", argv, envp, AT_EMPTY_PATH);
	_exit(98);
}

static void
map(pid_t pid, const char *name)
{
	static const char	full[] = "0 0 4294967295";
	char			path[64];
	int			fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	MUST(fd = open(path, O_WRONLY | O_CLOEXEC));
	MUST(write(fd, full, sizeof(full) - 1));
	close(fd);
}

static void
init_start(struct session *s, const struct session_opts *o, int sock)
{
	struct clone_args ca = {
		.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS |
		    CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP |
		    CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&s->pidfd,
		.exit_signal = SIGCHLD
	};
	int		  exe, fd, go[2];

	if (o->network != NULL && strcmp(o->network, "none") == 0)
		ca.flags |= CLONE_NEWNET;
	MUST(fd = open(test_program("libexec/sbx/init"), O_PATH | O_CLOEXEC));
	MUST(exe = fcntl(fd, F_DUPFD_CLOEXEC, 20));
	close(fd);
	MUST(sock = fcntl(sock, F_DUPFD_CLOEXEC, 21));
	MUST(pipe2(go, O_CLOEXEC));
	MUST(s->init = (pid_t)syscall(SYS_clone3, &ca, sizeof(ca)));
	if (s->init == 0) {
		close(go[1]);
		init_child(exe, sock, go[0], o->root);
	}
	close(exe);
	close(sock);
	close(go[0]);
	map(s->init, "uid_map");
	map(s->init, "gid_map");
	MUST(write(go[1], "", 1));
	close(go[1]);
}

/*
 * The start
 */
static void
folder(const char *path, uid_t uid)
{
	if (mkdir(path, 0755) == -1 && errno != EEXIST)
		atf_tc_fail("%s: %s", path, strerror(errno));
	MUST(chown(path, uid, uid));
}

static struct strv
list(const char *const *v)
{
	struct strv	l = { .v = (const char **)(uintptr_t)v };

	while (v != NULL && v[l.n] != NULL)
		l.n++;
	return (l);
}

static void
setup_send(struct session *s, const struct session_opts *o)
{
	static const char *const env[] = {
		"PATH=/usr/local/bin:/usr/bin:/bin", "TERM=xterm",
		"LANG=C.UTF-8", "HOME=/", NULL
	};
	char		home[PATH_MAX], project[PATH_MAX];
	struct m_SETUP	m = {
		.session = SESSION_ID, .argv = list(o->argv),
		.env = list(o->env != NULL ? o->env : env), .cwd = o->cwd,
		.home = o->home, .project = o->project, .ro = list(o->ro),
		.network = o->network != NULL ? o->network : "host",
		.tty = o->tty, .rows = o->rows, .cols = o->cols,
		.umask = o->umask
	};

	strlcpy(home, test_path("home"), sizeof(home));
	strlcpy(project, test_path("project"), sizeof(project));
	folder(home, o->root ? 0 : SESSION_UID);
	folder(project, o->root ? 0 : SESSION_UID);
	if (m.home == NULL)
		m.home = home;
	if (m.project == NULL)
		m.project = project;
	if (m.cwd == NULL)
		m.cwd = project;
	test_send(&s->w, MSG_SETUP, 0, -1, &m);
}

void
session_begin(struct session *s, const struct session_opts *o)
{
	int	sock, sv[2];

	memset(s, 0, sizeof(*s));
	s->fd_home = s->fd_project = s->fd_route = s->pidfd = -1;
	s->init_sock = -1;
	s->client.fd = -1;
	sock = session_worker(&s->w, o->broker);
	if (o->no_init)
		s->init_sock = sock;
	else {
		init_start(s, o, sock);
		close(sock);
	}
	proc_hello(&s->w.ib, ROLE_SBXD, ROLE_WORKER);
	setup_send(s, o);
	if (o->alone)
		return;
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv));
	test_send(&s->w, MSG_ATTACH, 0, sv[1], NULL);
	MUST(imsg_init(&s->client, sv[0], ROLE_CLIENT, ROLE_WORKER));
}

void
session_tree(struct session *s)
{
	struct m_SFD	m = { .session = SESSION_ID, .kind = "tree" };
	int64_t		end = now_ms() + WAIT_MS;

	while (s->fd_project == -1 && now_ms() < end &&
	    !s->sbxd.closed && s->sbxd.errors == 0)
		session_pump(s, 100);
	if (s->fd_project == -1)
		atf_tc_fail("no project from init: %s; the worker's log: %s",
		    s->sbxd.message, test_helper_log(&s->w));
	test_send(&s->w, MSG_SFD, 0, session_tree_fd(), &m);
}

void
session_go(struct session *s)
{
	test_send(&s->w, MSG_GO, 0, -1, NULL);
}

void
session_run(struct session *s, const struct session_opts *o)
{
	session_begin(s, o);
	session_tree(s);
	session_go(s);
	session_await(s, &s->sbxd.running, "RUNNING");
}

/*
 * Messages
 */
static void
told_error(struct told *t, const struct m_ERROR *m)
{
	t->errors++;
	strlcpy(t->code, m->code, sizeof(t->code));
	strlcpy(t->message, m->message, sizeof(t->message));
}

static bool
told_common(struct told *t, const struct msg *msg)
{
	const struct m_EXITED	*x = msg->body;
	const struct m_RUNNING	*r = msg->body;

	switch (msg->type) {
	case MSG_RUNNING:
		t->running++;
		t->pid = r->pid;
		return (true);
	case MSG_EXITED:
		t->exited++;
		t->status = x->status;
		t->ms = x->ms;
		return (true);
	case MSG_ERROR:
		told_error(t, msg->body);
		return (true);
	default:
		return (false);
	}
}

static void
sbxd_message(struct session *s, struct msg *msg)
{
	const struct m_SFD	*m = msg->body;

	if (told_common(&s->sbxd, msg))
		return;
	if (msg->type != MSG_SFD)
		atf_tc_fail("%s from the worker", proto_name(msg->type));
	ATF_REQUIRE_STREQ(m->session, SESSION_ID);
	if (strcmp(m->kind, "home") == 0)
		s->fd_home = msg_take_fd(msg);
	else if (strcmp(m->kind, "project") == 0)
		s->fd_project = msg_take_fd(msg);
	else if (strcmp(m->kind, "route") == 0)
		s->fd_route = msg_take_fd(msg);
	else if (strcmp(m->kind, "ro") == 0 && s->nro < 16)
		s->ro[s->nro++] = m->n;
	else
		atf_tc_fail("a descriptor of kind %s", m->kind);
}

static void
client_message(struct session *s, struct msg *msg)
{
	const struct m_DATA	*m = msg->body;
	char			*p;

	if (told_common(&s->cl, msg))
		return;
	if (msg->type != MSG_DATA || m->n < 1 || m->n > 2)
		atf_tc_fail("%s from the worker to the client",
		    proto_name(msg->type));
	ATF_REQUIRE_MSG(s->cl.running == 1, "DATA before RUNNING");
	ATF_REQUIRE_MSG(s->cl.exited == 0, "DATA after EXITED");
	p = realloc(s->out[m->n], s->outlen[m->n] + m->d.len + 1);
	ATF_REQUIRE(p != NULL);
	memcpy(p + s->outlen[m->n], m->d.p, m->d.len);
	s->outlen[m->n] += m->d.len;
	p[s->outlen[m->n]] = '\0';
	s->out[m->n] = p;
}

static void
side_read(struct session *s, struct imsgbuf *ib, struct told *t,
    void (*fn)(struct session *, struct msg *))
{
	struct msg	 msg;
	const char	*why = NULL;
	ssize_t		 n;
	int		 r;

	n = imsg_read(ib);
	while ((r = imsg_next(ib, &msg, &why)) == 1) {
		fn(s, &msg);
		msg_free(&msg);
	}
	if (r == -1)
		atf_tc_fail("from the worker: %s", why);
	if (n == 0 || (n == -1 && errno != EAGAIN))
		t->closed = true;
}

/* As much of the paste as is not too far ahead of the socket. */
static void
paste_more(struct session *s)
{
	struct m_DATA	m = { .n = 0 };

	while (s->pasted < s->pastelen && s->client.queued < PASTE_AHEAD) {
		m.d.p = (const uint8_t *)s->paste + s->pasted;
		m.d.len = s->pastelen - s->pasted;
		if (m.d.len > LIMIT_CHUNK)
			m.d.len = LIMIT_CHUNK;
		MUST(imsg_compose(&s->client, MSG_DATA, 0, -1, &m));
		s->pasted += m.d.len;
		imsg_flush(&s->client);
	}
}

void
session_pump(struct session *s, int ms)
{
	struct pollfd	pfd[2];

	paste_more(s);
	pfd[0] = (struct pollfd){ s->sbxd.closed ? -1 : s->w.ib.fd, POLLIN,
	    0 };
	pfd[1] = (struct pollfd){ s->cl.closed ? -1 : s->client.fd, POLLIN,
	    0 };
	if (s->client.fd != -1 && s->client.queued > 0)
		pfd[1].events |= POLLOUT;
	if (poll(pfd, 2, ms) == -1 && errno != EINTR)
		atf_tc_fail("poll: %s", strerror(errno));
	if (pfd[0].revents != 0)
		side_read(s, &s->w.ib, &s->sbxd, sbxd_message);
	if (pfd[1].revents & POLLOUT)
		imsg_flush(&s->client);
	if (pfd[1].revents & (POLLIN | POLLHUP | POLLERR))
		side_read(s, &s->client, &s->cl, client_message);
}

void
session_await(struct session *s, const int *what, const char *name)
{
	int64_t	end = now_ms() + WAIT_MS;

	while (*what == 0) {
		if (now_ms() > end || s->sbxd.closed)
			atf_tc_fail("no %s; sbxd was told %s %s, client %s "
			    "%s; output: %s; the worker's log: %s", name,
			    s->sbxd.code, s->sbxd.message, s->cl.code,
			    s->cl.message, s->out[1] != NULL ? s->out[1] : "",
			    test_helper_log(&s->w));
		session_pump(s, 100);
	}
}

void
session_expect(struct session *s, const char *text)
{
	int64_t	 end = now_ms() + WAIT_MS;
	char	*at;

	while (s->out[1] == NULL || (at = strstr(s->out[1], text)) == NULL) {
		if (now_ms() > end || s->cl.closed || s->cl.exited)
			atf_tc_fail("the output has no \"%s\": %s", text,
			    s->out[1] != NULL ? s->out[1] : "");
		session_pump(s, 100);
	}
	at += strlen(text);
	s->outlen[1] -= (size_t)(at - s->out[1]);
	memmove(s->out[1], at, s->outlen[1] + 1);
}

void
session_type(struct session *s, const void *p, size_t len)
{
	int64_t	end = now_ms() + WAIT_MS;

	s->paste = p;
	s->pasted = 0;
	s->pastelen = len;
	while (s->pasted < s->pastelen || s->client.queued > 0) {
		if (now_ms() > end || s->cl.closed)
			atf_tc_fail("%zu of %zu bytes typed; output: %s",
			    s->pasted, len, s->out[1] != NULL ? s->out[1] :
			    "");
		session_pump(s, 100);
	}
}

void
session_say(struct session *s, const char *text)
{
	session_type(s, text, strlen(text));
}

void
session_client(struct session *s, uint32_t type, const void *body)
{
	MUST(imsg_send(&s->client, type, 0, -1, body));
}

void
session_hang_up(struct session *s)
{
	imsg_clear(&s->client);
	s->cl.closed = true;
}

/*
 * The end
 */
static void
fd_close(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

/* What was put out stays: it is what the test is about. */
static void
session_close(struct session *s)
{
	fd_close(&s->fd_home);
	fd_close(&s->fd_project);
	fd_close(&s->fd_route);
	fd_close(&s->pidfd);
	fd_close(&s->init_sock);
	if (s->client.fd != -1)
		imsg_clear(&s->client);
}

static int
init_wait(struct session *s)
{
	struct pollfd	pfd = { .fd = s->pidfd, .events = POLLIN };
	int		status;

	if (poll(&pfd, 1, 2000) != 1)
		atf_tc_fail("init is there 2 s after its end was due");
	MUST(waitpid(s->init, &status, 0));
	return (status);
}

int
session_end(struct session *s)
{
	int	status;

	session_await(s, &s->sbxd.exited, "EXITED");
	if (s->init != 0) {
		status = init_wait(s);
		ATF_REQUIRE_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		    "init: wait status %#x", (unsigned int)status);
	}
	/* sbxd is told last: the client can have all of it by now. */
	while (s->client.fd != -1 && !s->cl.closed && s->cl.exited == 0)
		session_pump(s, 100);
	status = test_helper_end(&s->w);
	ATF_REQUIRE_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "worker: wait status %#x; its log: %s", (unsigned int)status,
	    test_helper_log(&s->w));
	if (s->client.fd != -1) {
		ATF_REQUIRE_EQ(s->cl.status, s->sbxd.status);
		ATF_REQUIRE_EQ(s->cl.ms, s->sbxd.ms);
	}
	session_close(s);
	return ((int)s->sbxd.status);
}

void
session_abort(struct session *s)
{
	int	status;

	status = test_helper_end(&s->w);
	ATF_REQUIRE_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "worker: wait status %#x; its log: %s", (unsigned int)status,
	    test_helper_log(&s->w));
	if (s->init != 0)
		init_wait(s);
	session_close(s);
}

int
session_simple(struct session *s, const struct session_opts *o)
{
	session_run(s, o);
	return (session_end(s));
}
