/*
 * spawn as the real program, with a scripted broker on fd 3, a scripted landd
 * on the channel, and real clients' sockets: whom it starts a session as is
 * its own finding, whatever the broker says.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "privsep/proc.h"
#include "regress/lib/scripted.h"

#define SID	"abcdefghijkl"
#define SID2	"abcdefghijkm"

static int	channel = -1;
static char	cgroup[256];

static void
put(const char *path, const char *text)
{
	int	fd;

	ATF_REQUIRE((fd = open(path, O_WRONLY)) != -1);
	ATF_REQUIRE_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* As sbxd does it while root; the case has a cgroup of its own. */
static void
cgroup_up(pid_t spawn)
{
	static const char *const	give[] = {
		"", "/cgroup.procs", "/cgroup.subtree_control", "/spawn",
		"/spawn/cgroup.procs"
	};
	char				path[512], self[256], mnt[128], n[32];
	FILE				*f;
	size_t				i;

	ATF_REQUIRE((f = popen("awk '$8==\"cgroup2\"||$9==\"cgroup2\"||"
	    "$10==\"cgroup2\"{print $5; exit}' /proc/self/mountinfo; "
	    "sed -n 's/^0:://p' /proc/self/cgroup", "r")) != NULL);
	ATF_REQUIRE(fscanf(f, "%127s %255s", mnt, self) == 2);
	pclose(f);
	snprintf(cgroup, sizeof(cgroup), "%.100s%.100s/sbx-spawn-test", mnt,
	    strcmp(self, "/") == 0 ? "" : self);
	mkdir(cgroup, 0755);
	snprintf(path, sizeof(path), "%s/spawn", cgroup);
	mkdir(path, 0755);
	for (i = 0; i < sizeof(give) / sizeof(give[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", cgroup, give[i]);
		if (chown(path, SCRIPTED_UID + UID_SPAWN,
		    SCRIPTED_UID + UID_SPAWN) == -1)
			atf_tc_fail("%s: %s", path, strerror(errno));
	}
	snprintf(path, sizeof(path), "%s/spawn/cgroup.procs", cgroup);
	snprintf(n, sizeof(n), "%d", (int)spawn);
	put(path, n);
}

static bool	spares;

static void
up(struct test_helper *h)
{
	struct m_SUITE	 suite;
	struct msg	 msg;
	int		 pair[2];

	test_helper_start(h, "spawn", ROLE_SPAWN);
	cgroup_up(h->pid);
	scripted_suite(&suite);
	suite.cgroup = cgroup;
	suite.spares = spares;
	test_send(h, MSG_SUITE, 0, -1, &suite);
	ATF_REQUIRE_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    pair));
	test_send(h, MSG_CHANNEL, 0, pair[1], NULL);
	test_expect(h, MSG_READY, &msg);
	msg_free(&msg);
	if (channel != -1)
		close(channel);
	channel = pair[0];
}

static void
down(struct test_helper *h)
{
	char	path[512];
	int	i;

	(void)h;
	if (channel != -1)
		close(channel);
	channel = -1;
	snprintf(path, sizeof(path), "%s/spawn", cgroup);
	for (i = 0; i < 200 && (rmdir(path) == -1 || rmdir(cgroup) == -1) &&
	    errno != ENOENT; i++)
		usleep(10000);
}

static const uint32_t	may[] = {
	MSG_PEER, MSG_START, MSG_KILL, MSG_FREEZE, MSG_THAW, MSG_SWEEP, 0
};
static const struct scripted spawn = { .up = up, .down = down, .may = may };

#define GENERATED(name)							\
ATF_TC_WITHOUT_HEAD(name);						\
ATF_TC_BODY(name, tc)							\
{									\
	scripted_##name(&spawn);					\
}
GENERATED(forbidden)
GENERATED(garbage)
GENERATED(broken_frames)
GENERATED(descriptors)
GENERATED(eof)

/*
 * A client's connected socket, whose other end a process of that uid opened.
 */
static int
client_socket(uid_t uid, gid_t gid, const gid_t *groups, size_t n)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	int			l, c, status;
	pid_t			pid;

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/c.sock",
	    test_scratch());
	unlink(sun.sun_path);
	ATF_REQUIRE((l = socket(AF_UNIX, SOCK_STREAM, 0)) != -1);
	ATF_REQUIRE_EQ(0, bind(l, (struct sockaddr *)&sun, sizeof(sun)));
	ATF_REQUIRE_EQ(0, chmod(sun.sun_path, 0666));
	ATF_REQUIRE_EQ(0, listen(l, 1));
	if ((pid = fork()) == 0) {
		c = socket(AF_UNIX, SOCK_STREAM, 0);
		if (setgroups(n, groups) == -1 || setgid(gid) == -1 ||
		    setuid(uid) == -1 || connect(c, (struct sockaddr *)&sun,
		    sizeof(sun)) == -1)
			_exit(1);
		_exit(0);
	}
	ATF_REQUIRE((c = accept(l, NULL, NULL)) != -1);
	ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
	ATF_REQUIRE_EQ(0, status);
	close(l);
	return (c);
}

/* START for a client; gives the broker's end of the worker. */
static int
start(struct test_helper *h, const char *sid, int client, uid_t uid,
    gid_t gid, const char *network)
{
	struct m_SID	peer = { .session = sid };
	struct m_START	m = {
		.session = sid, .generation = 1, .uid = uid, .gid = gid,
		.network = network
	};
	int		pair[2];

	ATF_REQUIRE_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    pair));
	if (client != -1)
		test_send(h, MSG_PEER, 0, client, &peer);
	test_send(h, MSG_START, 0, pair[1], &m);
	return (pair[0]);
}

static void
denied(struct test_helper *h, const char *code)
{
	struct msg		 msg;
	const struct m_ERROR	*e;

	test_expect(h, MSG_ERROR, &msg);
	e = msg.body;
	ATF_REQUIRE_STREQ(e->code, code);
	ATF_REQUIRE_STREQ(e->at, SID);
	msg_free(&msg);
}

struct started {
	pid_t	init, worker;
	int	kinds;
};

/* STARTED is sent while both are still on their way to exec. */
static void
wait_exec(pid_t pid, const char *argv0)
{
	char	path[64], buf[64] = "";
	int	fd, i;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	for (i = 0; i < 1000; i++) {
		if ((fd = open(path, O_RDONLY)) != -1) {
			memset(buf, 0, sizeof(buf));
			if (read(fd, buf, sizeof(buf) - 1) == -1)
				buf[0] = '\0';
			close(fd);
		}
		if (strcmp(buf, argv0) == 0)
			return;
		usleep(1000);
	}
	atf_tc_fail("%s was not executed: it is %s", argv0, buf);
}

/* What a START gives: seven descriptors, then the pids. */
static void
expect_started(struct test_helper *h, struct started *st)
{
	const char	*why;
	struct msg	 msg;

	st->kinds = 0;
	for (;;) {
		ATF_REQUIRE_EQ(1, imsg_recv(&h->ib, &msg, 10000, &why));
		if (msg.type == MSG_ERROR)
			atf_tc_fail("%s", ((const struct m_ERROR *)msg.body)->
			    message);
		if (msg.type != MSG_SFD)
			break;
		st->kinds++;
		msg_free(&msg);
	}
	ATF_REQUIRE_EQ(MSG_STARTED, msg.type);
	st->init = (pid_t)((const struct m_STARTED *)msg.body)->init;
	st->worker = (pid_t)((const struct m_STARTED *)msg.body)->worker;
	ATF_REQUIRE_EQ(7, st->kinds);
	msg_free(&msg);
	wait_exec(st->init, "sbx-init");
	wait_exec(st->worker, "sbx-worker");
}

/* How many groups there are but spawn's own; one's name. */
static int
groups_alive(char *name, size_t size)
{
	struct dirent	*de;
	DIR		*d;
	int		 n = 0;

	ATF_REQUIRE((d = opendir(cgroup)) != NULL);
	while ((de = readdir(d)) != NULL)
		if (de->d_type == DT_DIR && de->d_name[0] == 's' &&
		    strcmp(de->d_name, "spawn") != 0) {
			strlcpy(name, de->d_name, size);
			n++;
		}
	closedir(d);
	return (n);
}

/* KILL, and everything of it gone. */
static void
kill_session(struct test_helper *h, const char *sid, int broker)
{
	struct m_SID	 m = { .session = sid };
	struct msg	 msg;
	const char	*why;
	char		 name[64];
	int		 before = groups_alive(name, sizeof(name));

	test_send(h, MSG_KILL, 0, -1, &m);
	do {
		ATF_REQUIRE_EQ(1, imsg_recv(&h->ib, &msg, 10000, &why));
		if (msg.type == MSG_KILLED)
			break;
		ATF_REQUIRE_EQ(MSG_SENDED, msg.type);
		msg_free(&msg);
	} while (1);
	msg_free(&msg);
	if (broker != -1)
		close(broker);
	/* A spare's may have come beside it, if there are any. */
	if (!spares)
		ATF_REQUIRE_EQ(before > 0 ? before - 1 : 0,
		    groups_alive(name, sizeof(name)));
}

static void
finish(struct test_helper *h)
{
	ATF_REQUIRE_EQ(0, test_helper_end(h));
	down(h);
}

/*
 * Who a session may run as
 */
ATF_TC_WITHOUT_HEAD(broker_asks_for_root);
ATF_TC_BODY(broker_asks_for_root, tc)
{
	struct test_helper	h;
	struct test_user	u;

	test_user(&u);
	up(&h);
	close(start(&h, SID, client_socket(u.uid, u.gid, NULL, 0), 0, 0,
	    "host"));
	denied(&h, "auth.denied");
	kill_session(&h, SID, -1);
	finish(&h);
}

ATF_TC_WITHOUT_HEAD(broker_asks_for_another);
ATF_TC_BODY(broker_asks_for_another, tc)
{
	struct test_helper	h;
	struct test_user	u;

	test_user(&u);
	up(&h);
	close(start(&h, SID, client_socket(u.uid, u.gid, NULL, 0), u.uid + 1,
	    u.gid, "host"));
	denied(&h, "auth.denied");
	kill_session(&h, SID, -1);
	finish(&h);
}

ATF_TC_WITHOUT_HEAD(broker_has_no_client);
ATF_TC_BODY(broker_has_no_client, tc)
{
	struct test_helper	h;
	struct m_SID		other = { .session = SID2 };

	up(&h);
	close(start(&h, SID, -1, 0, 0, "host"));
	denied(&h, "auth.denied");
	kill_session(&h, SID, -1);
	/* another session's client is none either */
	test_send(&h, MSG_PEER, 0, client_socket(0, 0, NULL, 0), &other);
	close(start(&h, SID, -1, 0, 0, "host"));
	denied(&h, "auth.denied");
	kill_session(&h, SID, -1);
	finish(&h);
}

/* Sockets that the kernel calls root's without a client of root's. */
static void
not_a_client(struct test_helper *h, int fd)
{
	struct ucred	cred;
	socklen_t	len = sizeof(cred);

	ATF_REQUIRE_EQ(0, getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred,
	    &len));
	ATF_REQUIRE_EQ(0, cred.uid);
	close(start(h, SID, fd, 0, 0, "host"));
	denied(h, "auth.denied");
	kill_session(h, SID, -1);
}

ATF_TC_WITHOUT_HEAD(broker_has_sockets_of_roots);
ATF_TC_BODY(broker_has_sockets_of_roots, tc)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	struct test_helper	h;
	int			l, own, pair[2], status;
	pid_t			pid;

	up(&h);
	/* The channel of the broker's own, and any pair it made as root. */
	ATF_REQUIRE((own = dup(h.ib.fd)) != -1);
	not_a_client(&h, own);
	ATF_REQUIRE_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	not_a_client(&h, pair[0]);
	close(pair[1]);
	/* The one it listens on, were it opened by a service manager. */
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/l.sock",
	    test_scratch());
	ATF_REQUIRE((l = socket(AF_UNIX, SOCK_STREAM, 0)) != -1);
	ATF_REQUIRE_EQ(0, bind(l, (struct sockaddr *)&sun, sizeof(sun)));
	if ((pid = fork()) == 0)
		_exit(listen(l, 1) == -1);
	ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
	ATF_REQUIRE_EQ(0, status);
	not_a_client(&h, l);
	finish(&h);
}

ATF_TC_WITHOUT_HEAD(nobody_has_no_role);
ATF_TC_BODY(nobody_has_no_role, tc)
{
	struct test_helper	h;

	up(&h);
	close(start(&h, SID, client_socket(65534, 65534, NULL, 0), 65534,
	    65534, "host"));
	denied(&h, "auth.denied");
	kill_session(&h, SID, -1);
	close(start(&h, SID, client_socket(0, 0, NULL, 0), 65534, 65534,
	    "host"));
	denied(&h, "auth.denied");
	kill_session(&h, SID, -1);
	finish(&h);
}

/* A line of /proc/PID/status, without its name. */
static void
status_line(pid_t pid, const char *name, char *out, size_t size)
{
	char	path[64], line[1024];
	FILE	*f;

	out[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if ((f = fopen(path, "r")) == NULL) {
		if (errno == ENOENT)
			return;		/* it is gone */
		atf_tc_fail("%s: %s", path, strerror(errno));
	}
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, strlen(name)) == 0 &&
		    line[strlen(name)] == ':') {
			line[strcspn(line, "\n")] = '\0';
			strlcpy(out, line + strlen(name) + 1, size);
		}
	fclose(f);
}

#define STATUS(pid, name, want) do {					\
	char	 got[1024], *g = got, *e;				\
									\
	status_line(pid, name, got, sizeof(got));			\
	g += strspn(g, "\t ");						\
	for (e = g + strlen(g); e > g && e[-1] == ' ';)			\
		*--e = '\0';						\
	if (strcmp(g, want) != 0)					\
		atf_tc_fail("%s of %s is %s, not %s", name, #pid, g,	\
		    want);						\
} while (0)

#define NOCAPS	"0000000000000000"

/* The client's own gid and groups, not the broker's. */
ATF_TC_WITHOUT_HEAD(user_session);
ATF_TC_BODY(user_session, tc)
{
	const gid_t		groups[] = { 4242, 4343 };
	struct test_helper	h;
	struct test_user	u;
	struct started		st;
	struct msg		msg;
	struct imsgbuf		landd;
	const struct m_WORD	*word;
	const char		*why;
	char			want[128];
	int			broker;

	test_user(&u);
	up(&h);
	test_clean_mark();
	ATF_REQUIRE_EQ(0, imsg_init(&landd, channel, ROLE_LANDD, ROLE_SPAWN));
	broker = start(&h, SID, client_socket(u.uid, u.gid, groups, 2), u.uid,
	    0, "none");
	expect_started(&h, &st);
	snprintf(want, sizeof(want), "%u\t%u\t%u\t%u", u.uid, u.uid, u.uid,
	    u.uid);
	STATUS(st.init, "Uid", want);
	snprintf(want, sizeof(want), "%u\t%u\t%u\t%u", u.gid, u.gid, u.gid,
	    u.gid);
	STATUS(st.init, "Gid", want);
	STATUS(st.init, "Groups", "4242 4343");
	STATUS(st.init, "CapBnd", NOCAPS);
	STATUS(st.init, "NoNewPrivs", "1");
	STATUS(st.init, "Seccomp", "2");
	/* landd hears it from spawn itself */
	ATF_REQUIRE_EQ(1, imsg_recv(&landd, &msg, 10000, &why));
	ATF_REQUIRE_EQ(MSG_WORD, msg.type);
	word = msg.body;
	ATF_REQUIRE_EQ(u.uid, word->uid);
	ATF_REQUIRE_EQ(u.gid, word->gid);
	ATF_REQUIRE_EQ(2, word->groups.n);
	msg_free(&msg);
	kill_session(&h, SID, broker);
	test_clean_check();
	channel = -1;
	imsg_clear(&landd);
	test_helper_wait(&h);
	down(&h);
}

ATF_TC_WITHOUT_HEAD(table);
ATF_TC_BODY(table, tc)
{
	struct test_helper	h;
	struct started		st;
	char			want[64];
	uid_t			uid = SCRIPTED_UID + UID_SPAWN;
	gid_t			gid;
	int			broker;

	up(&h);
	snprintf(want, sizeof(want), "%u\t%u\t%u\t%u", uid, uid, uid, uid);
	STATUS(h.pid, "Uid", want);
	gid = SCRIPTED_GID + UID_SPAWN;
	snprintf(want, sizeof(want), "%u\t%u\t%u\t%u", gid, gid, gid, gid);
	STATUS(h.pid, "Gid", want);
	STATUS(h.pid, "Groups", "");
	/* SETGID 6, SETUID 7, SETFCAP 31 */
	STATUS(h.pid, "CapPrm", "00000000800000c0");
	STATUS(h.pid, "CapEff", "00000000800000c0");
	STATUS(h.pid, "CapInh", NOCAPS);
	STATUS(h.pid, "CapBnd", NOCAPS);
	STATUS(h.pid, "CapAmb", NOCAPS);
	STATUS(h.pid, "NoNewPrivs", "1");
	STATUS(h.pid, "Seccomp", "2");
	broker = start(&h, SID, client_socket(0, 0, NULL, 0), 0, 0, "host");
	expect_started(&h, &st);
	uid = SCRIPTED_UID + UID_WORKER;
	snprintf(want, sizeof(want), "%u\t%u\t%u\t%u", uid, uid, uid, uid);
	STATUS(st.worker, "Uid", want);
	gid = SCRIPTED_GID + UID_WORKER;
	snprintf(want, sizeof(want), "%u\t%u\t%u\t%u", gid, gid, gid, gid);
	STATUS(st.worker, "Gid", want);
	STATUS(st.worker, "CapPrm", NOCAPS);
	STATUS(st.worker, "CapBnd", NOCAPS);
	STATUS(st.worker, "NoNewPrivs", "1");
	kill_session(&h, SID, broker);
	finish(&h);
}

/* Two namespaces' links differ, or are the same. */
static bool
ns_same(pid_t a, pid_t b, const char *ns)
{
	char	path[64];
	struct stat sa, sb;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)a, ns);
	ATF_REQUIRE_EQ(0, stat(path, &sa));
	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)b, ns);
	ATF_REQUIRE_EQ(0, stat(path, &sb));
	return (sa.st_ino == sb.st_ino);
}

ATF_TC_WITHOUT_HEAD(namespaces);
ATF_TC_BODY(namespaces, tc)
{
	static const char *const	fresh[] = {
		"user", "pid", "mnt", "ipc", "uts", "cgroup"
	};
	struct test_helper		h;
	struct started			a, b;
	size_t				i;
	int				x, y;

	up(&h);
	x = start(&h, SID, client_socket(0, 0, NULL, 0), 0, 0, "host");
	expect_started(&h, &a);
	y = start(&h, SID2, client_socket(0, 0, NULL, 0), 0, 0, "none");
	expect_started(&h, &b);
	for (i = 0; i < sizeof(fresh) / sizeof(fresh[0]); i++)
		if (ns_same(a.init, getpid(), fresh[i]) ||
		    ns_same(a.init, b.init, fresh[i]))
			atf_tc_fail("the %s namespace is shared", fresh[i]);
	ATF_REQUIRE(ns_same(a.init, getpid(), "net"));
	ATF_REQUIRE(!ns_same(b.init, getpid(), "net"));
	kill_session(&h, SID, x);
	kill_session(&h, SID2, y);
	finish(&h);
}

ATF_TC_WITHOUT_HEAD(freeze);
ATF_TC_BODY(freeze, tc)
{
	struct test_helper	h;
	struct m_SID		m = { .session = SID };
	struct m_SID		none = { .session = SID2 };
	struct started		st;
	struct msg		msg;
	char			path[512], name[64], buf[256] = "";
	int			broker, fd;

	up(&h);
	broker = start(&h, SID, client_socket(0, 0, NULL, 0), 0, 0, "host");
	expect_started(&h, &st);
	test_send(&h, MSG_FREEZE, 0, -1, &m);
	test_expect(&h, MSG_FROZEN, &msg);
	msg_free(&msg);
	ATF_REQUIRE_EQ(1, groups_alive(name, sizeof(name)));
	snprintf(path, sizeof(path), "%s/%s/cgroup.events", cgroup, name);
	ATF_REQUIRE((fd = open(path, O_RDONLY)) != -1);
	ATF_REQUIRE(read(fd, buf, sizeof(buf) - 1) > 0);
	close(fd);
	ATF_REQUIRE(strstr(buf, "frozen 1") != NULL);
	test_send(&h, MSG_THAW, 0, -1, &m);
	test_expect(&h, MSG_THAWED, &msg);
	msg_free(&msg);
	test_send(&h, MSG_FREEZE, 0, -1, &none);
	test_expect(&h, MSG_ERROR, &msg);
	msg_free(&msg);
	/* a frozen session dies as well */
	test_send(&h, MSG_FREEZE, 0, -1, &m);
	test_expect(&h, MSG_FROZEN, &msg);
	msg_free(&msg);
	kill_session(&h, SID, broker);
	finish(&h);
}

/* Ended while it is being frozen: who waits for that is answered, too. */
ATF_TC_WITHOUT_HEAD(freeze_killed);
ATF_TC_BODY(freeze_killed, tc)
{
	struct test_helper	h;
	struct m_SID		m = { .session = SID };
	struct started		st;
	struct msg		msg;
	const char		*why;
	int			broker, answers = 0;

	up(&h);
	broker = start(&h, SID, client_socket(0, 0, NULL, 0), 0, 0, "host");
	expect_started(&h, &st);
	/* Both lie there when spawn looks. */
	ATF_REQUIRE_EQ(0, kill(h.pid, SIGSTOP));
	test_send(&h, MSG_FREEZE, 0, -1, &m);
	test_send(&h, MSG_KILL, 0, -1, &m);
	ATF_REQUIRE_EQ(0, kill(h.pid, SIGCONT));
	do {
		ATF_REQUIRE_EQ(1, imsg_recv(&h.ib, &msg, 10000, &why));
		answers += msg.type == MSG_FROZEN || msg.type == MSG_ERROR;
		if (msg.type == MSG_KILLED)
			break;
		msg_free(&msg);
	} while (1);
	msg_free(&msg);
	ATF_REQUIRE_EQ(1, answers);
	close(broker);
	finish(&h);
}

/* The worker's end closes: init dies, and spawn says so. */
ATF_TC_WITHOUT_HEAD(lifeline);
ATF_TC_BODY(lifeline, tc)
{
	struct test_helper	h;
	struct started		st;
	struct msg		msg;
	int			broker;

	up(&h);
	test_clean_mark();
	broker = start(&h, SID, client_socket(0, 0, NULL, 0), 0, 0, "host");
	expect_started(&h, &st);
	close(broker);
	test_expect(&h, MSG_SENDED, &msg);
	msg_free(&msg);
	kill_session(&h, SID, -1);
	test_clean_check();
	finish(&h);
}

/* A session whose broker dies at any moment leaves nothing. */
ATF_TC_WITHOUT_HEAD(broker_dies);
ATF_TC_BODY(broker_dies, tc)
{
	struct test_helper	h;
	struct timespec		ts = { 0, 0 };
	int			i, broker;

	for (i = 0; i < 40; i++) {
		up(&h);
		if (i == 0) {
			finish(&h);
			test_clean_mark();
			continue;
		}
		broker = start(&h, SID, client_socket(0, 0, NULL, 0), 0, 0,
		    i % 2 ? "host" : "none");
		ts.tv_nsec = i * 250000L;
		nanosleep(&ts, NULL);
		close(broker);
		test_helper_end(&h);
		down(&h);
	}
	test_clean_check();
}

/* landd's child: only on landd's word, as that user. */
ATF_TC_WITHOUT_HEAD(child);
ATF_TC_BODY(child, tc)
{
	struct test_helper	h;
	struct test_user	u;
	struct imsgbuf		landd;
	struct m_CHILD		m = { .session = SID };
	struct msg		msg;
	const char		*why;
	int			pair[2];
	struct ucred		cred;
	socklen_t		len = sizeof(cred);

	test_user(&u);
	up(&h);
	ATF_REQUIRE_EQ(0, imsg_init(&landd, channel, ROLE_LANDD, ROLE_SPAWN));
	m.uid = u.uid;
	m.gid = u.gid;
	ATF_REQUIRE_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    pair));
	ATF_REQUIRE_EQ(0, imsg_send(&landd, MSG_CHILD, 5, pair[1], &m));
	/* it says HELLO, or waits for it; closing our end ends it */
	usleep(100000);
	ATF_REQUIRE_EQ(0, getsockopt(pair[0], SOL_SOCKET, SO_PEERCRED, &cred,
	    &len));
	close(pair[0]);
	ATF_REQUIRE_EQ(1, imsg_recv(&landd, &msg, 10000, &why));
	ATF_REQUIRE_EQ(MSG_CHILDEND, msg.type);
	ATF_REQUIRE_EQ(5, msg.id);
	msg_free(&msg);
	channel = -1;
	imsg_clear(&landd);
	test_helper_wait(&h);
	down(&h);
}

/* Loaded by exec into all that spawn starts: shut for good. */
ATF_TC_WITHOUT_HEAD(twice);
ATF_TC_BODY(twice, tc)
{
	struct test_helper	h;
	struct started		st;
	int			broker;

	up(&h);
	broker = start(&h, SID, client_socket(0, 0, NULL, 0), 0, 0, "host");
	expect_started(&h, &st);
	/* the same id again is a broken broker */
	close(start(&h, SID, client_socket(0, 0, NULL, 0), 0, 0, "host"));
	ATF_REQUIRE(test_helper_wait(&h) != 0);
	ATF_REQUIRE(strstr(test_helper_log(&h), "START of a session") !=
	    NULL);
	close(broker);
	down(&h);
}

/*
 * Processes made beforehand
 */

/* The one process in the one group that there is: a spare's init. */
static pid_t
spare_await(void)
{
	char	path[512], name[64];
	FILE	*f;
	int	i, pid = 0;

	for (i = 0; i < 2000 && pid == 0; i++) {
		usleep(5000);
		if (groups_alive(name, sizeof(name)) != 1)
			continue;
		snprintf(path, sizeof(path), "%s/%s/cgroup.procs", cgroup,
		    name);
		if ((f = fopen(path, "r")) == NULL)
			continue;
		if (fscanf(f, "%d", &pid) != 1)
			pid = 0;
		fclose(f);
	}
	if (pid == 0)
		atf_tc_fail("no spare was made");
	wait_exec(pid, "sbx-init");
	return (pid);
}

/* It was nobody's, and has become this user's; namespaces and ids are those
 * of any other session. */
ATF_TC_WITHOUT_HEAD(spare);
ATF_TC_BODY(spare, tc)
{
	static const char *const	fresh[] = {
		"user", "pid", "mnt", "ipc", "uts", "net", "cgroup"
	};
	const gid_t			more[] = { 4242, 4343 };
	struct test_helper		h;
	struct test_user		u;
	struct started			st;
	char				want[128];
	size_t				i;
	pid_t				pid;
	int				broker;

	test_user(&u);
	spares = true;
	up(&h);
	pid = spare_await();
	snprintf(want, sizeof(want), "%d\t%d\t%d\t%d",
	    SCRIPTED_UID + UID_SPAWN, SCRIPTED_UID + UID_SPAWN,
	    SCRIPTED_UID + UID_SPAWN, SCRIPTED_UID + UID_SPAWN);
	STATUS(pid, "Uid", want);
	/* SETGID 6, SETUID 7, SETPCAP 8, NET_ADMIN 12, SYS_ADMIN 21, in its
	 * own user namespace */
	STATUS(pid, "CapPrm", "00000000002011c0");
	ATF_REQUIRE(!ns_same(pid, h.pid, "user"));
	broker = start(&h, SID, client_socket(u.uid, u.gid, more, 2), u.uid,
	    0, "none");
	expect_started(&h, &st);
	ATF_REQUIRE_EQ(pid, st.init);
	snprintf(want, sizeof(want), "%u\t%u\t%u\t%u", u.uid, u.uid, u.uid,
	    u.uid);
	STATUS(st.init, "Uid", want);
	STATUS(st.init, "Groups", "4242 4343");
	STATUS(st.init, "CapBnd", NOCAPS);
	STATUS(st.init, "CapAmb", NOCAPS);
	STATUS(st.init, "CapInh", NOCAPS);
	for (i = 0; i < sizeof(fresh) / sizeof(fresh[0]); i++)
		if (ns_same(st.init, h.pid, fresh[i]))
			atf_tc_fail("the %s namespace is spawn's", fresh[i]);
	kill_session(&h, SID, broker);
	finish(&h);
}

/* One that has died is no reason to refuse a start. */
ATF_TC_WITHOUT_HEAD(spare_dies);
ATF_TC_BODY(spare_dies, tc)
{
	struct test_helper	h;
	struct started		st;
	char			state[64];
	pid_t			pid;
	int			broker;

	spares = true;
	up(&h);
	pid = spare_await();
	ATF_REQUIRE_EQ(0, kill(pid, SIGKILL));
	/* Dead, and perhaps not reaped yet. */
	do
		status_line(pid, "State", state, sizeof(state));
	while (state[0] != '\0' && strchr(state, 'Z') == NULL);
	broker = start(&h, SID, client_socket(0, 0, NULL, 0), 0, 0, "host");
	expect_started(&h, &st);
	ATF_REQUIRE(st.init != pid);
	kill_session(&h, SID, broker);
	finish(&h);
}

/* 0: it is not there yet. */
static pid_t
worker_of(pid_t spawned_by)
{
	char	 cmd[64];
	FILE	*f;
	int	 pid;

	snprintf(cmd, sizeof(cmd), "pgrep -P %d -f '^sbx-worker'",
	    (int)spawned_by);
	ATF_REQUIRE((f = popen(cmd, "r")) != NULL);
	if (fscanf(f, "%d", &pid) != 1)
		pid = 0;
	pclose(f);
	return (pid);
}

/* Nor is its worker alone, which nobody asks. */
ATF_TC_WITHOUT_HEAD(spare_worker_dies);
ATF_TC_BODY(spare_worker_dies, tc)
{
	struct m_SID		mine = { .session = SID };
	struct m_SID		none = { .session = SID2 };
	struct test_helper	h;
	struct started		st;
	struct msg		msg;
	char			state[64];
	pid_t			pid, worker;
	int			broker;

	spares = true;
	up(&h);
	pid = spare_await();
	while ((worker = worker_of(h.pid)) == 0)
		usleep(1000);
	test_send(&h, MSG_PEER, 0, client_socket(0, 0, NULL, 0), &mine);
	test_send(&h, MSG_KILL, 0, -1, &none);
	test_expect(&h, MSG_KILLED, &msg);
	msg_free(&msg);
	/* spawn has heard nothing of it, nor has init ended with it. */
	ATF_REQUIRE_EQ(0, kill(h.pid, SIGSTOP));
	ATF_REQUIRE_EQ(0, kill(pid, SIGSTOP));
	ATF_REQUIRE_EQ(0, kill(worker, SIGKILL));
	do
		status_line(worker, "State", state, sizeof(state));
	while (strchr(state, 'Z') == NULL);
	broker = start(&h, SID, -1, 0, 0, "host");
	ATF_REQUIRE_EQ(0, kill(h.pid, SIGCONT));
	expect_started(&h, &st);
	ATF_REQUIRE(st.init != pid && st.worker != worker);
	kill_session(&h, SID, broker);
	finish(&h);
}

/* Nor is an init that ends in between: alive when it is taken, and nobody there
 * when it is told whose it is. */
ATF_TC_WITHOUT_HEAD(spare_does_not_hear);
ATF_TC_BODY(spare_does_not_hear, tc)
{
	struct test_helper	h;
	struct started		st;
	char			state[64];
	pid_t			pid;
	int			broker, pidfd, word;

	spares = true;
	up(&h);
	pid = spare_await();
	ATF_REQUIRE_EQ(0, kill(pid, SIGSTOP));
	do
		status_line(pid, "State", state, sizeof(state));
	while (strchr(state, 'T') == NULL);
	/* Its end of the socket to spawn. */
	ATF_REQUIRE((pidfd = (int)syscall(SYS_pidfd_open, pid, 0)) != -1);
	ATF_REQUIRE((word = (int)syscall(SYS_pidfd_getfd, pidfd, PROC_FD + 1,
	    0)) != -1);
	ATF_REQUIRE_EQ(0, shutdown(word, SHUT_RDWR));
	close(word);
	close(pidfd);
	broker = start(&h, SID, client_socket(0, 0, NULL, 0), 0, 0, "host");
	expect_started(&h, &st);
	ATF_REQUIRE(st.init != pid);
	ATF_REQUIRE(strstr(test_helper_log(&h), "are of no use: telling its "
	    "first process whose it is") != NULL);
	kill_session(&h, SID, broker);
	finish(&h);
}

/* What died is made anew; and where it leaves something that is in the way of
 * its control group's end, nobody waits for that. */
ATF_TC_WITHOUT_HEAD(spare_anew);
ATF_TC_BODY(spare_anew, tc)
{
	struct m_SID		none = { .session = SID2 };
	struct test_helper	h;
	struct msg		msg;
	char			name[64], path[512], sub[600];
	pid_t			pid;
	int			i;

	spares = true;
	up(&h);
	pid = spare_await();
	ATF_REQUIRE_EQ(1, groups_alive(name, sizeof(name)));
	snprintf(path, sizeof(path), "%s/%s", cgroup, name);
	snprintf(sub, sizeof(sub), "%s/sub", path);
	ATF_REQUIRE_EQ(0, mkdir(sub, 0755));
	ATF_REQUIRE_EQ(0, kill(pid, SIGKILL));
	while (kill(pid, 0) == 0)
		usleep(1000);
	/* It is reaped: spawn is at it. */
	test_send(&h, MSG_KILL, 0, -1, &none);
	test_expect(&h, MSG_KILLED, &msg);
	msg_free(&msg);
	ATF_REQUIRE_EQ(0, rmdir(sub));
	for (i = 0; access(path, F_OK) == 0; i++) {
		ATF_REQUIRE_MSG(i < 1000, "%s is left", name);
		usleep(10000);
	}
	ATF_REQUIRE(spare_await() != pid);
	finish(&h);
}

/* With spawn ends what it has made. */
ATF_TC_WITHOUT_HEAD(spare_ends);
ATF_TC_BODY(spare_ends, tc)
{
	struct test_helper	h;

	spares = true;
	test_clean_mark();
	up(&h);
	spare_await();
	finish(&h);
	test_clean_check();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, forbidden);
	ATF_TP_ADD_TC(tp, garbage);
	ATF_TP_ADD_TC(tp, broken_frames);
	ATF_TP_ADD_TC(tp, descriptors);
	ATF_TP_ADD_TC(tp, eof);
	ATF_TP_ADD_TC(tp, broker_asks_for_root);
	ATF_TP_ADD_TC(tp, broker_asks_for_another);
	ATF_TP_ADD_TC(tp, broker_has_no_client);
	ATF_TP_ADD_TC(tp, broker_has_sockets_of_roots);
	ATF_TP_ADD_TC(tp, nobody_has_no_role);
	ATF_TP_ADD_TC(tp, user_session);
	ATF_TP_ADD_TC(tp, table);
	ATF_TP_ADD_TC(tp, namespaces);
	ATF_TP_ADD_TC(tp, freeze);
	ATF_TP_ADD_TC(tp, freeze_killed);
	ATF_TP_ADD_TC(tp, lifeline);
	ATF_TP_ADD_TC(tp, broker_dies);
	ATF_TP_ADD_TC(tp, child);
	ATF_TP_ADD_TC(tp, twice);
	ATF_TP_ADD_TC(tp, spare);
	ATF_TP_ADD_TC(tp, spare_dies);
	ATF_TP_ADD_TC(tp, spare_worker_dies);
	ATF_TP_ADD_TC(tp, spare_does_not_hear);
	ATF_TP_ADD_TC(tp, spare_anew);
	ATF_TP_ADD_TC(tp, spare_ends);
	return (atf_no_error());
}
