#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/sched.h>

#include <errno.h>
#include <fcntl.h>
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

#define MUST(e)	do {							\
	if ((e) == -1)							\
		atf_tc_fail("%s:%d: %s: %s", __FILE__, __LINE__, #e,	\
		    strerror(errno));					\
} while (0)

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
	int			a[2], b[2], hand[2], fds[2];
	struct imsgbuf		spawn;

	snprintf(h->log, sizeof(h->log), "%s/worker-%d.log", test_scratch(),
	    ++count);
	pair_as(broker, a);
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b));
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, hand));
	fds[0] = hand[1];
	fds[1] = b[1];
	/* By descriptor, since no helper's file is readable by that uid. */
	MUST(ps.exe = open(test_program("libexec/sbx/worker"), O_PATH |
	    O_CLOEXEC));
	ps.fds = fds;
	MUST(h->pid = proc_spawn(&ps));
	close(ps.exe);
	close(b[1]);
	close(hand[1]);
	MUST(imsg_init(&spawn, hand[0], ROLE_SPAWN, ROLE_WORKER));
	MUST(imsg_send(&spawn, MSG_CHANNEL, 0, a[1], NULL));
	imsg_clear(&spawn);
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
init_caps(void)
{
	static const int	keep[] = {
		CAP_SETUID, CAP_SETGID, CAP_SETPCAP, CAP_SYS_ADMIN,
		CAP_NET_ADMIN
	};
	uint32_t		bits = 0;
	size_t			i;

	for (i = 0; i < sizeof(keep) / sizeof(keep[0]); i++)
		bits |= 1U << keep[i];
	if (caps(bits, bits) == -1)
		return (-1);
	for (i = 0; i < sizeof(keep) / sizeof(keep[0]); i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, keep[i], 0,
		    0) == -1)
			return (-1);
	return (0);
}

static void
init_child(int exe, int sock, int word, int go)
{
	static char	 name[] = "sbx-init", *argv[] = { name, NULL };
	static char	*envp[] = { NULL };
	char		 c;
	int		 null;

	/* spawn is an ordinary uid, and so is what it makes. */
	if (read(go, &c, 1) != 1 ||
	    prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == -1 ||
	    setresgid(SPAWN_UID, SPAWN_UID, SPAWN_UID) == -1 ||
	    setresuid(SPAWN_UID, SPAWN_UID, SPAWN_UID) == -1 ||
	    init_caps() == -1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    (null = open("/dev/null", O_RDWR)) == -1 || dup2(null, 0) == -1 ||
	    dup2(null, 1) == -1 || dup2(null, 2) == -1 ||
	    dup2(sock, 3) == -1 || dup2(word, 4) == -1 ||
	    syscall(SYS_close_range, 5U, ~0U, CLOSE_RANGE_CLOEXEC) == -1)
		_exit(99);
	syscall(SYS_execveat, exe, "", argv, envp, AT_EMPTY_PATH);
	_exit(98);
}

/* As spawn does it when there is a session. */
static void
init_tell(const struct session_opts *o, int word)
{
	uint64_t	groups[] = { SESSION_GROUP };
	struct m_BECOME	m = { .session = SESSION_ID };
	struct imsgbuf	ib;
	struct msg	msg;
	const char	*why = NULL;
	int		i;

	if (!o->root) {
		m.uid = SESSION_UID;
		m.gid = SESSION_GID;
		m.groups.n = 1;
		m.groups.v = groups;
	}
	m.isolated = o->network != NULL && strcmp(o->network, "none") == 0;
	MUST(imsg_init(&ib, word, ROLE_SPAWN, ROLE_INIT));
	MUST(imsg_send(&ib, MSG_BECOME, 0, -1, &m));
	for (i = 0; i < 2; i++) {
		if (imsg_recv(&ib, &msg, WAIT_MS, &why) != 1 ||
		    msg.type != MSG_SFD)
			atf_tc_fail("init has not become the user: %s",
			    why != NULL ? why : strerror(errno));
		msg_free(&msg);
	}
	imsg_clear(&ib);
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
		.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWCGROUP |
		    CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&s->pidfd,
		.exit_signal = SIGCHLD
	};
	int		  exe, fd, go[2], word[2];

	MUST(fd = open(test_program("libexec/sbx/init"), O_PATH | O_CLOEXEC));
	MUST(exe = fcntl(fd, F_DUPFD_CLOEXEC, 20));
	close(fd);
	MUST(sock = fcntl(sock, F_DUPFD_CLOEXEC, 21));
	MUST(pipe2(go, O_CLOEXEC));
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, word));
	MUST(s->init = (pid_t)syscall(SYS_clone3, &ca, sizeof(ca)));
	if (s->init == 0) {
		close(go[1]);
		init_child(exe, sock, word[1], go[0]);
	}
	close(exe);
	close(sock);
	close(go[0]);
	map(s->init, "uid_map");
	map(s->init, "gid_map");
	MUST(write(go[1], "", 1));
	close(go[1]);
	close(word[1]);
	init_tell(o, word[0]);
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
		.more = list(o->more),
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
	int64_t		end = session_now() + WAIT_MS;

	while (s->fd_project == -1 && session_now() < end &&
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

