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

#include "regress/privsep/spawned.h"

static const uint32_t	may[] = {
	MSG_PEER, MSG_START, MSG_KILL, MSG_FREEZE, MSG_THAW, MSG_SWEEP, 0
};
static const struct scripted spawn = {
	.up = spawn_up, .down = spawn_down, .may = may
};

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

/*
 * Who a session may run as
 */
ATF_TC_WITHOUT_HEAD(broker_asks_for_root);
ATF_TC_BODY(broker_asks_for_root, tc)
{
	struct test_helper	h;
	struct test_user	u;

	test_user(&u);
	spawn_up(&h);
	close(spawn_start(&h, SID, spawn_client(u.uid, u.gid, NULL, 0), 0, 0,
	    "host"));
	denied(&h, "auth.denied");
	spawn_kill(&h, SID, -1);
	spawn_finish(&h);
}

ATF_TC_WITHOUT_HEAD(broker_asks_for_another);
ATF_TC_BODY(broker_asks_for_another, tc)
{
	struct test_helper	h;
	struct test_user	u;

	test_user(&u);
	spawn_up(&h);
	close(spawn_start(&h, SID, spawn_client(u.uid, u.gid, NULL, 0),
	    u.uid + 1, u.gid, "host"));
	denied(&h, "auth.denied");
	spawn_kill(&h, SID, -1);
	spawn_finish(&h);
}

ATF_TC_WITHOUT_HEAD(broker_has_no_client);
ATF_TC_BODY(broker_has_no_client, tc)
{
	struct test_helper	h;
	struct m_SID		other = { .session = SID2 };

	spawn_up(&h);
	close(spawn_start(&h, SID, -1, 0, 0, "host"));
	denied(&h, "auth.denied");
	spawn_kill(&h, SID, -1);
	/* another session's client is none either */
	test_send(&h, MSG_PEER, 0, spawn_client(0, 0, NULL, 0), &other);
	close(spawn_start(&h, SID, -1, 0, 0, "host"));
	denied(&h, "auth.denied");
	spawn_kill(&h, SID, -1);
	spawn_finish(&h);
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
	close(spawn_start(h, SID, fd, 0, 0, "host"));
	denied(h, "auth.denied");
	spawn_kill(h, SID, -1);
}

ATF_TC_WITHOUT_HEAD(broker_has_sockets_of_roots);
ATF_TC_BODY(broker_has_sockets_of_roots, tc)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	struct test_helper	h;
	int			c, l, own, pair[2], status;
	pid_t			pid;

	spawn_up(&h);
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
	/* One that it connects to a service of root's. */
	ATF_REQUIRE((c = socket(AF_UNIX, SOCK_STREAM, 0)) != -1);
	ATF_REQUIRE_EQ(0, connect(c, (struct sockaddr *)&sun, sizeof(sun)));
	not_a_client(&h, c);
	not_a_client(&h, l);
	spawn_finish(&h);
}

ATF_TC_WITHOUT_HEAD(nobody_has_no_role);
ATF_TC_BODY(nobody_has_no_role, tc)
{
	struct test_helper	h;

	spawn_up(&h);
	close(spawn_start(&h, SID, spawn_client(65534, 65534, NULL, 0), 65534,
	    65534, "host"));
	denied(&h, "auth.denied");
	spawn_kill(&h, SID, -1);
	close(spawn_start(&h, SID, spawn_client(0, 0, NULL, 0), 65534, 65534,
	    "host"));
	denied(&h, "auth.denied");
	spawn_kill(&h, SID, -1);
	spawn_finish(&h);
}

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
	spawn_up(&h);
	test_clean_mark();
	ATF_REQUIRE_EQ(0, imsg_init(&landd, spawn_channel, ROLE_LANDD,
	    ROLE_SPAWN));
	broker = spawn_start(&h, SID, spawn_client(u.uid, u.gid, groups, 2),
	    u.uid, 0, "none");
	spawn_expect(&h, &st);
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
	spawn_kill(&h, SID, broker);
	test_clean_check();
	spawn_channel = -1;
	imsg_clear(&landd);
	test_helper_wait(&h);
	spawn_down(&h);
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

	spawn_up(&h);
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
	broker = spawn_start(&h, SID, spawn_client(0, 0, NULL, 0), 0, 0,
	    "host");
	spawn_expect(&h, &st);
	uid = SCRIPTED_UID + UID_WORKER;
	snprintf(want, sizeof(want), "%u\t%u\t%u\t%u", uid, uid, uid, uid);
	STATUS(st.worker, "Uid", want);
	gid = SCRIPTED_GID + UID_WORKER;
	snprintf(want, sizeof(want), "%u\t%u\t%u\t%u", gid, gid, gid, gid);
	STATUS(st.worker, "Gid", want);
	STATUS(st.worker, "CapPrm", NOCAPS);
	STATUS(st.worker, "CapBnd", NOCAPS);
	STATUS(st.worker, "NoNewPrivs", "1");
	spawn_kill(&h, SID, broker);
	spawn_finish(&h);
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

	spawn_up(&h);
	x = spawn_start(&h, SID, spawn_client(0, 0, NULL, 0), 0, 0, "host");
	spawn_expect(&h, &a);
	y = spawn_start(&h, SID2, spawn_client(0, 0, NULL, 0), 0, 0, "none");
	spawn_expect(&h, &b);
	for (i = 0; i < sizeof(fresh) / sizeof(fresh[0]); i++)
		if (spawn_ns_same(a.init, getpid(), fresh[i]) ||
		    spawn_ns_same(a.init, b.init, fresh[i]))
			atf_tc_fail("the %s namespace is shared", fresh[i]);
	ATF_REQUIRE(spawn_ns_same(a.init, getpid(), "net"));
	ATF_REQUIRE(!spawn_ns_same(b.init, getpid(), "net"));
	spawn_kill(&h, SID, x);
	spawn_kill(&h, SID2, y);
	spawn_finish(&h);
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

	spawn_up(&h);
	broker = spawn_start(&h, SID, spawn_client(0, 0, NULL, 0), 0, 0,
	    "host");
	spawn_expect(&h, &st);
	/* The answer has its number. */
	test_send(&h, MSG_FREEZE, UINT32_MAX, -1, &m);
	test_expect(&h, MSG_FROZEN, &msg);
	ATF_REQUIRE_EQ(UINT32_MAX, msg.id);
	msg_free(&msg);
	ATF_REQUIRE_EQ(1, spawn_groups(name, sizeof(name)));
	snprintf(path, sizeof(path), "%s/%s/cgroup.events", spawn_cgroup, name);
	ATF_REQUIRE((fd = open(path, O_RDONLY)) != -1);
	ATF_REQUIRE(read(fd, buf, sizeof(buf) - 1) > 0);
	close(fd);
	ATF_REQUIRE(strstr(buf, "frozen 1") != NULL);
	test_send(&h, MSG_THAW, 0, -1, &m);
	test_expect(&h, MSG_THAWED, &msg);
	msg_free(&msg);
	test_send(&h, MSG_FREEZE, 8, -1, &none);
	test_expect(&h, MSG_ERROR, &msg);
	ATF_REQUIRE_EQ(8, msg.id);
	msg_free(&msg);
	/* a frozen session dies as well */
	test_send(&h, MSG_FREEZE, 0, -1, &m);
	test_expect(&h, MSG_FROZEN, &msg);
	msg_free(&msg);
	spawn_kill(&h, SID, broker);
	spawn_finish(&h);
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

	spawn_up(&h);
	broker = spawn_start(&h, SID, spawn_client(0, 0, NULL, 0), 0, 0,
	    "host");
	spawn_expect(&h, &st);
	/* Both lie there when spawn looks. */
	ATF_REQUIRE_EQ(0, kill(h.pid, SIGSTOP));
	test_send(&h, MSG_FREEZE, 9, -1, &m);
	test_send(&h, MSG_KILL, 0, -1, &m);
	ATF_REQUIRE_EQ(0, kill(h.pid, SIGCONT));
	do {
		ATF_REQUIRE_EQ(1, imsg_recv(&h.ib, &msg, 10000, &why));
		answers += (msg.type == MSG_FROZEN || msg.type == MSG_ERROR) &&
		    msg.id == 9;
		if (msg.type == MSG_KILLED)
			break;
		msg_free(&msg);
	} while (1);
	msg_free(&msg);
	ATF_REQUIRE_EQ(1, answers);
	close(broker);
	spawn_finish(&h);
}

/* The worker's end closes: init dies, and spawn says so. */
ATF_TC_WITHOUT_HEAD(lifeline);
ATF_TC_BODY(lifeline, tc)
{
	struct test_helper	h;
	struct started		st;
	struct msg		msg;
	int			broker;

	spawn_up(&h);
	test_clean_mark();
	broker = spawn_start(&h, SID, spawn_client(0, 0, NULL, 0), 0, 0,
	    "host");
	spawn_expect(&h, &st);
	close(broker);
	test_expect(&h, MSG_SENDED, &msg);
	msg_free(&msg);
	spawn_kill(&h, SID, -1);
	test_clean_check();
	spawn_finish(&h);
}

/* A session whose broker dies at any moment leaves nothing. */
ATF_TC_WITHOUT_HEAD(broker_dies);
ATF_TC_BODY(broker_dies, tc)
{
	struct test_helper	h;
	struct timespec		ts = { 0, 0 };
	int			i, broker;

	for (i = 0; i < 40; i++) {
		spawn_up(&h);
		if (i == 0) {
			spawn_finish(&h);
			test_clean_mark();
			continue;
		}
		broker = spawn_start(&h, SID, spawn_client(0, 0, NULL, 0), 0, 0,
		    i % 2 ? "host" : "none");
		ts.tv_nsec = i * 250000L;
		nanosleep(&ts, NULL);
		close(broker);
		test_helper_end(&h);
		spawn_down(&h);
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
	spawn_up(&h);
	ATF_REQUIRE_EQ(0, imsg_init(&landd, spawn_channel, ROLE_LANDD,
	    ROLE_SPAWN));
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
	spawn_channel = -1;
	imsg_clear(&landd);
	test_helper_wait(&h);
	spawn_down(&h);
}

/* Sessions until one is refused, 40 at most; broker: of each. */
static int
sessions_start(struct test_helper *h, int *broker, struct started *st,
    char *why, size_t size)
{
	char		 sid[] = SID;
	const char	*bad;
	struct msg	 msg;
	int		 n;

	for (n = 0; n < 40; n++) {
		sid[10] = (char)('a' + n / 20);
		sid[11] = (char)('a' + n % 20);
		broker[n] = spawn_start(h, sid, spawn_client(0, 0, NULL, 0), 0,
		    0, "host");
		do {
			ATF_REQUIRE_EQ(1, imsg_recv(&h->ib, &msg, 10000,
			    &bad));
			if (msg.type == MSG_ERROR)
				strlcpy(why, ((const struct m_ERROR *)msg.
				    body)->message, size);
			if (msg.type == MSG_STARTED)
				st->init = (pid_t)((const struct m_STARTED *)
				    msg.body)->init;
			bad = msg.type == MSG_SFD ? "" : NULL;
			msg_free(&msg);
		} while (bad != NULL);
		if (why[0] != '\0') {
			close(broker[n]);
			break;
		}
	}
	return (n);
}

/* Nobody's soft limit is how many sessions there can be; a command's is as it
 * was. At the hard one the next is refused, and nothing ends. */
ATF_TC_WITHOUT_HEAD(many);
ATF_TC_BODY(many, tc)
{
	struct test_helper	h;
	struct started		st = { 0 };
	struct rlimit		rl;
	char			why[512] = "", sid[] = SID;
	int			broker[40], i, n;
	rlim_t			hard;

	spawn_limit = (struct rlimit){ 100, 4096 };
	spawn_up(&h);
	ATF_REQUIRE_EQ(40, sessions_start(&h, broker, &st, why, sizeof(why)));
	spawn_wait_exec(st.init, "sbx-init");
	ATF_REQUIRE_EQ(0, prlimit(st.init, RLIMIT_NOFILE, NULL, &rl));
	ATF_REQUIRE_EQ(100, rl.rlim_cur);
	ATF_REQUIRE_EQ(4096, rl.rlim_max);
	for (i = 0; i < 40; i++)
		close(broker[i]);
	spawn_finish(&h);
	/* Wherever in a start it is reached. */
	for (hard = 70; hard < 75; hard++) {
		spawn_limit = (struct rlimit){ hard, hard };
		spawn_up(&h);
		why[0] = '\0';
		n = sessions_start(&h, broker, &st, why, sizeof(why));
		ATF_REQUIRE(n > 2 && n < 40);
		ATF_REQUIRE_MSG(strstr(why, "RLIMIT_NOFILE") != NULL, "%s",
		    why);
		sid[10] = sid[11] = 'a';
		spawn_kill(&h, sid, broker[0]);
		broker[0] = spawn_start(&h, sid, spawn_client(0, 0, NULL, 0),
		    0, 0, "host");
		spawn_expect(&h, &st);
		for (i = 0; i < n; i++)
			close(broker[i]);
		spawn_finish(&h);
	}
}

/* Loaded by exec into all that spawn starts: shut for good. */
ATF_TC_WITHOUT_HEAD(twice);
ATF_TC_BODY(twice, tc)
{
	struct test_helper	h;
	struct started		st;
	int			broker;

	spawn_up(&h);
	broker = spawn_start(&h, SID, spawn_client(0, 0, NULL, 0), 0, 0,
	    "host");
	spawn_expect(&h, &st);
	/* the same id again is a broken broker */
	close(spawn_start(&h, SID, spawn_client(0, 0, NULL, 0), 0, 0, "host"));
	ATF_REQUIRE(test_helper_wait(&h) != 0);
	ATF_REQUIRE(strstr(test_helper_log(&h), "START of a session") !=
	    NULL);
	close(broker);
	spawn_down(&h);
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
	ATF_TP_ADD_TC(tp, many);
	ATF_TP_ADD_TC(tp, twice);
	return (atf_no_error());
}
