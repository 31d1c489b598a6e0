/*
 * netd as the real program, with a scripted broker.
 */
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <linux/filter.h>
#include <linux/netlink.h>
#include <net/if.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regress/lib/scripted.h"

#define SID	"abcdefghijkl"

static void
up(struct test_helper *h)
{
	scripted_up(h, "netd", ROLE_NETD);
}

static const uint32_t	may[] = {
	MSG_NET, MSG_SFD, MSG_NETEND, MSG_PROBE, 0
};
static const struct scripted netd = { .up = up, .may = may };

ATF_TC_WITHOUT_HEAD(forbidden);
ATF_TC_BODY(forbidden, tc)
{
	scripted_forbidden(&netd);
}

ATF_TC_WITHOUT_HEAD(garbage);
ATF_TC_BODY(garbage, tc)
{
	scripted_garbage(&netd);
}

ATF_TC_WITHOUT_HEAD(broken_frames);
ATF_TC_BODY(broken_frames, tc)
{
	scripted_broken_frames(&netd);
}

ATF_TC_WITHOUT_HEAD(descriptors);
ATF_TC_BODY(descriptors, tc)
{
	scripted_descriptors(&netd);
}

ATF_TC_WITHOUT_HEAD(eof);
ATF_TC_BODY(eof, tc)
{
	scripted_eof(&netd);
}

/*
 * Answers
 */
static void
net(struct test_helper *h, const char *sid, const char *network)
{
	struct m_NET	m = { .session = sid, .network = network };

	test_send(h, MSG_NET, 7, -1, &m);
}

static void
sfd(struct test_helper *h, const char *sid, const char *kind, uint64_t n,
    int fd)
{
	struct m_SFD	m = { .session = sid, .kind = kind, .n = n };

	test_send(h, MSG_SFD, 8, fd, &m);
}

static void
expect_up(struct test_helper *h, const char *sid)
{
	struct msg		msg;
	const struct m_SID	*m;

	test_expect(h, MSG_NETUP, &msg);
	m = msg.body;
	ATF_REQUIRE_STREQ(m->session, sid);
	msg_free(&msg);
}

/* ERROR with this code, for this session, whose text says this. */
static void
expect_error(struct test_helper *h, const char *code, const char *sid,
    const char *text)
{
	const struct m_ERROR	*e;
	struct msg		 msg;

	test_expect(h, MSG_ERROR, &msg);
	e = msg.body;
	ATF_REQUIRE_STREQ(e->code, code);
	ATF_REQUIRE(e->at != NULL);
	ATF_REQUIRE_STREQ(e->at, sid);
	if (strstr(e->message, text) == NULL)
		atf_tc_fail("\"%s\" does not say \"%s\"", e->message, text);
	msg_free(&msg);
}

/*
 * A session's namespace: a child of ours in a user and network namespace of
 * its own, that opens a socket there as init does and hands it out.
 */
struct inside {
	pid_t	pid;
	int	sock;		/* the route socket, this process's copy */
	int	sv;		/* the child answers here */
};

static void
inside_main(int sv, int proto)
{
	struct ifreq	 ifr = { .ifr_name = "lo" };
	struct iovec	 iov = { (char[]){ 0 }, 1 };
	char		 control[CMSG_SPACE(sizeof(int))] = { 0 }, c;
	struct msghdr	 mh = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr	*cm = CMSG_FIRSTHDR(&mh);
	int		 fd, in;

	/* Other ends of such sockets would keep it alive. */
	if (dup2(sv, 3) == -1 || close_range(4, ~0U, 0) == -1)
		_exit(1);
	sv = 3;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) == -1 ||
	    (fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, proto)) == -1 ||
	    (in = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) == -1)
		_exit(2);
	cm->cmsg_level = SOL_SOCKET;
	cm->cmsg_type = SCM_RIGHTS;
	cm->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cm), &fd, sizeof(int));
	if (sendmsg(sv, &mh, 0) != 1)
		_exit(3);
	/* Each byte asks whether lo is up. */
	while (read(sv, &c, 1) == 1) {
		if (ioctl(in, SIOCGIFFLAGS, &ifr) == -1)
			_exit(4);
		c = (ifr.ifr_flags & IFF_UP) != 0;
		if (write(sv, &c, 1) != 1)
			_exit(5);
	}
	_exit(0);
}

static void
inside_start(struct inside *i, int proto)
{
	char		 control[CMSG_SPACE(sizeof(int))], c;
	struct iovec	 iov = { &c, 1 };
	struct msghdr	 mh = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	int		 sv[2];

	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) ==
	    0);
	ATF_REQUIRE((i->pid = fork()) != -1);
	if (i->pid == 0)
		inside_main(sv[1], proto);
	close(sv[1]);
	i->sv = sv[0];
	ATF_REQUIRE(recvmsg(i->sv, &mh, MSG_CMSG_CLOEXEC) == 1);
	ATF_REQUIRE(CMSG_FIRSTHDR(&mh) != NULL);
	memcpy(&i->sock, CMSG_DATA(CMSG_FIRSTHDR(&mh)), sizeof(int));
}

static bool
inside_lo_up(const struct inside *i)
{
	char	c = 0;

	ATF_REQUIRE(write(i->sv, &c, 1) == 1 && read(i->sv, &c, 1) == 1);
	return (c != 0);
}

static void
inside_end(struct inside *i)
{
	int	status;

	close(i->sock);
	close(i->sv);
	ATF_REQUIRE(waitpid(i->pid, &status, 0) == i->pid);
	ATF_REQUIRE_EQ(status, 0);
}

ATF_TC_WITHOUT_HEAD(mode_host);
ATF_TC_BODY(mode_host, tc)
{
	struct test_helper	h;
	struct m_SID		m = { .session = SID };
	int			i;

	up(&h);
	for (i = 0; i < 3; i++) {
		net(&h, SID, "host");
		expect_up(&h, SID);
		test_send(&h, MSG_NETEND, 0, -1, &m);
	}
	ATF_REQUIRE_EQ(test_helper_end(&h), 0);
	ATF_REQUIRE_STREQ(test_helper_log(&h), "");
}

/* Whatever number NET has: what answers it has that one, an ERROR too. What is
 * told of a session later has that of what made it be told. */
ATF_TC_WITHOUT_HEAD(numbers);
ATF_TC_BODY(numbers, tc)
{
	static const uint32_t	number[] = { 0, 1, INT32_MAX, UINT32_MAX };
	struct m_NET		m = { .session = SID };
	struct m_SID		end = { .session = SID };
	struct test_helper	h;
	struct inside		a;
	struct m_SFD		route = { .session = SID, .kind = "route" };
	struct msg		msg;
	size_t			i;

	up(&h);
	inside_start(&a, NETLINK_ROUTE);
	for (i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
		m.network = "host";
		test_send(&h, MSG_NET, number[i], -1, &m);
		test_expect(&h, MSG_NETUP, &msg);
		ATF_CHECK_EQ(number[i], msg.id);
		msg_free(&msg);
		test_send(&h, MSG_NET, number[i] - 1, -1, &m);
		test_expect(&h, MSG_ERROR, &msg);
		ATF_CHECK_EQ(number[i] - 1, msg.id);
		msg_free(&msg);
		test_send(&h, MSG_NETEND, 0, -1, &end);
		m.network = "none";
		test_send(&h, MSG_NET, 5, -1, &m);
		test_send(&h, MSG_SFD, number[i], dup(a.sock), &route);
		test_expect(&h, MSG_NETUP, &msg);
		ATF_CHECK_EQ(number[i], msg.id);
		msg_free(&msg);
		test_send(&h, MSG_NETEND, 0, -1, &end);
	}
	inside_end(&a);
	ATF_REQUIRE_EQ(test_helper_end(&h), 0);
}

/* The longest id and word that the message takes, and one byte more. */
ATF_TC_WITHOUT_HEAD(bounds);
ATF_TC_BODY(bounds, tc)
{
	char			sid[LIMIT_SID + 2], network[10];
	struct m_NET		m = { .session = sid, .network = network };
	struct test_helper	h;
	struct imsgbuf		*ib = &h.ib;

	memset(sid, 's', sizeof(sid));
	memset(network, 'n', sizeof(network));
	up(&h);
	sid[LIMIT_SID] = network[8] = '\0';
	test_send(&h, MSG_NET, 1, -1, &m);
	expect_error(&h, "net.mode", sid, "nnnnnnnn");
	strlcpy(network, "host", sizeof(network));
	test_send(&h, MSG_NET, 2, -1, &m);
	expect_up(&h, sid);
	sid[LIMIT_SID] = 's';
	sid[LIMIT_SID + 1] = '\0';
	ATF_CHECK_EQ(-1, imsg_compose(ib, MSG_NET, 3, -1, &m));
	sid[LIMIT_SID] = '\0';
	memset(network, 'n', sizeof(network));
	network[9] = '\0';
	ATF_CHECK_EQ(-1, imsg_compose(ib, MSG_NET, 4, -1, &m));
	ATF_REQUIRE_EQ(test_helper_end(&h), 0);
}

ATF_TC_WITHOUT_HEAD(mode_none);
ATF_TC_BODY(mode_none, tc)
{
	struct test_helper	h;
	struct inside		a, b;

	up(&h);
	inside_start(&a, NETLINK_ROUTE);
	inside_start(&b, NETLINK_ROUTE);
	ATF_REQUIRE(!inside_lo_up(&a));
	net(&h, SID, "none");
	net(&h, "bbbbbbbbbbbb", "none");
	sfd(&h, SID, "route", 0, dup(a.sock));
	expect_up(&h, SID);
	ATF_REQUIRE(inside_lo_up(&a));
	ATF_REQUIRE(!inside_lo_up(&b));
	sfd(&h, "bbbbbbbbbbbb", "route", 0, dup(b.sock));
	expect_up(&h, "bbbbbbbbbbbb");
	ATF_REQUIRE(inside_lo_up(&b));
	inside_end(&a);
	inside_end(&b);
	ATF_REQUIRE_EQ(test_helper_end(&h), 0);
}

ATF_TC_WITHOUT_HEAD(unknown_sessions_and_modes);
ATF_TC_BODY(unknown_sessions_and_modes, tc)
{
	struct test_helper	h;
	struct inside		a;
	struct m_SID		m = { .session = SID };

	up(&h);
	inside_start(&a, NETLINK_ROUTE);
	net(&h, SID, "policy");
	expect_error(&h, "net.mode", SID, "policy");
	net(&h, SID, "");
	expect_error(&h, "net.mode", SID, "\"host\" or \"none\"");
	sfd(&h, SID, "route", 0, dup(a.sock));
	expect_error(&h, "session.unknown", SID, "no network");
	test_send(&h, MSG_NETEND, 0, -1, &m);
	expect_error(&h, "session.unknown", SID, "no network");
	net(&h, SID, "none");
	net(&h, SID, "host");
	expect_error(&h, "net.twice", SID, "before");
	test_send(&h, MSG_NETEND, 0, -1, &m);
	sfd(&h, SID, "route", 0, dup(a.sock));
	expect_error(&h, "session.unknown", SID, "no network");
	ATF_REQUIRE(!inside_lo_up(&a));
	inside_end(&a);
	ATF_REQUIRE_EQ(test_helper_end(&h), 0);
}

/* What comes as the route socket and is none; netd goes on each time. */
ATF_TC_WITHOUT_HEAD(wrong_descriptors);
ATF_TC_BODY(wrong_descriptors, tc)
{
	struct test_helper	h;
	struct inside		a, nft;
	int			p[2];

	up(&h);
	inside_start(&a, NETLINK_ROUTE);
	inside_start(&nft, NETLINK_NETFILTER);
	net(&h, SID, "none");
	sfd(&h, SID, "route", 0, open("/dev/null", O_RDWR));
	expect_error(&h, "net.socket", SID, "no route socket");
	sfd(&h, SID, "route", 0, open("/", O_PATH));
	expect_error(&h, "net.socket", SID, "no route socket");
	ATF_REQUIRE(pipe(p) == 0);
	sfd(&h, SID, "route", 0, p[0]);
	expect_error(&h, "net.socket", SID, "no route socket");
	close(p[1]);
	sfd(&h, SID, "route", 0, socket(AF_INET, SOCK_DGRAM, 0));
	expect_error(&h, "net.socket", SID, "no route socket");
	sfd(&h, SID, "route", 0, socket(AF_UNIX, SOCK_STREAM, 0));
	expect_error(&h, "net.socket", SID, "no route socket");
	sfd(&h, SID, "route", 0, dup(nft.sock));
	expect_error(&h, "net.socket", SID, "no route socket");
	/* One of the network that the suite itself runs in. */
	sfd(&h, SID, "route", 0, socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
	expect_error(&h, "net.socket", SID, "host's own network");
	sfd(&h, SID, "tree", 0, dup(a.sock));
	expect_error(&h, "net.socket", SID, "\"route\"");
	sfd(&h, SID, "nft", 0, dup(nft.sock));
	expect_error(&h, "net.socket", SID, "\"route\"");
	sfd(&h, SID, "route", 1, dup(a.sock));
	expect_error(&h, "net.socket", SID, "\"route\"");
	ATF_REQUIRE(!inside_lo_up(&a));
	sfd(&h, SID, "route", 0, dup(a.sock));
	expect_up(&h, SID);
	sfd(&h, SID, "route", 0, dup(a.sock));
	expect_error(&h, "net.socket", SID, "second");
	net(&h, "hhhhhhhhhhhh", "host");
	expect_up(&h, "hhhhhhhhhhhh");
	sfd(&h, "hhhhhhhhhhhh", "route", 0, dup(a.sock));
	expect_error(&h, "net.socket", "hhhhhhhhhhhh", "host's network");
	inside_end(&a);
	inside_end(&nft);
	ATF_REQUIRE_EQ(test_helper_end(&h), 0);
}

/* A second route socket in the namespace, and the number of the first. */
static int
inside_other(const struct inside *i, struct sockaddr_nl *first)
{
	socklen_t	len = sizeof(*first);
	char		path[64];
	int		own, theirs, fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)i->pid);
	ATF_REQUIRE((own = open("/proc/self/ns/net", O_RDONLY)) != -1);
	ATF_REQUIRE((theirs = open(path, O_RDONLY)) != -1);
	ATF_REQUIRE(setns(theirs, CLONE_NEWNET) == 0);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	ATF_REQUIRE(setns(own, CLONE_NEWNET) == 0);
	close(own);
	close(theirs);
	memset(first, 0, sizeof(*first));
	first->nl_family = AF_NETLINK;
	ATF_REQUIRE(bind(i->sock, (struct sockaddr *)first, sizeof(*first)) ==
	    0);
	ATF_REQUIRE(getsockname(i->sock, (struct sockaddr *)first, &len) ==
	    0);
	return (fd);
}

/* The socket in a state that a hostile init may have left it in. */
static void
hostile(void (*spoil)(const struct inside *))
{
	struct test_helper	h;
	struct inside		a;

	up(&h);
	inside_start(&a, NETLINK_ROUTE);
	net(&h, SID, "none");
	spoil(&a);
	sfd(&h, SID, "route", 0, dup(a.sock));
	expect_error(&h, "net.socket", SID, "cannot be brought up");
	/* netd works on. */
	net(&h, "hhhhhhhhhhhh", "host");
	expect_up(&h, "hhhhhhhhhhhh");
	inside_end(&a);
	ATF_REQUIRE_EQ(test_helper_end(&h), 0);
}

/* A dump's first answer lies before the ack. */
static void
spoil_queue(const struct inside *i)
{
	static const char	request[64] = { 64, 0, 0, 0, 18, 0, 1, 3 };
	struct sockaddr_nl	to = { .nl_family = AF_NETLINK };

	ATF_REQUIRE(sendto(i->sock, request, sizeof(request), 0,
	    (struct sockaddr *)&to, sizeof(to)) == sizeof(request));
}

/* An ack that no kernel sent. */
static void
spoil_forge(const struct inside *i)
{
	struct {
		struct nlmsghdr	h;
		struct nlmsgerr	e;
	} ack = { .h = { .nlmsg_len = sizeof(ack), .nlmsg_type = NLMSG_ERROR,
	    .nlmsg_seq = 1 } };
	struct sockaddr_nl	first;
	int			other = inside_other(i, &first);

	ATF_REQUIRE(sendto(other, &ack, sizeof(ack), 0,
	    (struct sockaddr *)&first, sizeof(first)) == sizeof(ack));
	close(other);
}

/* Connected to someone else than the kernel. */
static void
spoil_connect(const struct inside *i)
{
	struct sockaddr_nl	first, to = { .nl_family = AF_NETLINK };
	socklen_t		len = sizeof(to);
	int			other = inside_other(i, &first);

	ATF_REQUIRE(bind(other, (struct sockaddr *)&to, sizeof(to)) == 0);
	ATF_REQUIRE(getsockname(other, (struct sockaddr *)&to, &len) == 0);
	ATF_REQUIRE(connect(i->sock, (struct sockaddr *)&to, sizeof(to)) == 0);
	ATF_REQUIRE(dup(other) != -1);	/* stays open */
}

/* A program on the socket that drops all that comes. */
static void
spoil_filter(const struct inside *i)
{
	struct sock_filter	drop = { BPF_RET | BPF_K, 0, 0, 0 };
	struct sock_fprog	prog = { 1, &drop };

	ATF_REQUIRE(setsockopt(i->sock, SOL_SOCKET, SO_ATTACH_FILTER, &prog,
	    sizeof(prog)) == 0);
}

ATF_TC_WITHOUT_HEAD(hostile_sockets);
ATF_TC_BODY(hostile_sockets, tc)
{
	hostile(spoil_queue);
	hostile(spoil_forge);
	hostile(spoil_connect);
	hostile(spoil_filter);
}

/*
 * A socket opened by an ordinary user in a network of root's: the kernel asks
 * netd, which has the right, and the opener, who had none.
 */
ATF_TC_WITHOUT_HEAD(opener_without_right);
ATF_TC_BODY(opener_without_right, tc)
{
	struct test_helper	h;
	pid_t			pid;
	int			sv[2], fd, p[2], status;
	char			c;

	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	ATF_REQUIRE(pipe(p) == 0);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		struct imsgbuf	ib;
		struct m_SFD	m = { .session = SID, .kind = "route" };

		if (unshare(CLONE_NEWNET) == -1 || setresuid(64999, 64999,
		    64999) == -1 || (fd = socket(AF_NETLINK, SOCK_RAW,
		    NETLINK_ROUTE)) == -1 ||
		    imsg_init(&ib, sv[1], ROLE_INIT, ROLE_WORKER) == -1 ||
		    imsg_send(&ib, MSG_SFD, 0, fd, &m) == -1)
			_exit(1);
		_exit(read(p[0], &c, 1) == 1 ? 0 : 1);
	}
	{
		struct imsgbuf	 ib;
		struct msg	 msg;
		const char	*why;

		ATF_REQUIRE(imsg_init(&ib, sv[0], ROLE_WORKER, ROLE_INIT) ==
		    0);
		ATF_REQUIRE_EQ(imsg_recv(&ib, &msg, 5000, &why), 1);
		fd = msg_take_fd(&msg);
		msg_free(&msg);
		imsg_clear(&ib);
	}
	up(&h);
	net(&h, SID, "none");
	sfd(&h, SID, "route", 0, fd);
	expect_error(&h, "net.socket", SID, "Operation not permitted");
	ATF_REQUIRE(write(p[1], "", 1) == 1);
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
	ATF_REQUIRE_EQ(test_helper_end(&h), 0);
}

ATF_TC_WITHOUT_HEAD(probe);
ATF_TC_BODY(probe, tc)
{
	struct test_helper	 h;
	const struct m_TEXT	*t;
	struct msg		 msg;

	up(&h);
	test_send(&h, MSG_PROBE, 3, -1, NULL);
	test_expect(&h, MSG_TEXT, &msg);
	t = msg.body;
	ATF_REQUIRE_STREQ(t->level, "ok");
	ATF_REQUIRE_EQ(msg.id, 3);
	msg_free(&msg);
	test_expect(&h, MSG_END, &msg);
	msg_free(&msg);
	ATF_REQUIRE_EQ(test_helper_end(&h), 0);
}

/* netd's own state while it runs, and a descriptor leak over many rounds. */
ATF_TC_WITHOUT_HEAD(confinement);
ATF_TC_BODY(confinement, tc)
{
	struct test_helper	h;
	struct inside		a;
	char			sid[32];
	int			i;

	up(&h);
	ATF_REQUIRE_EQ(test_sh("cd /proc/%d && grep -qx 'Uid:.%d.%d.%d.%d' "
	    "status && grep -qx 'Gid:.%d.%d.%d.%d' status && "
	    "grep -qx 'CapEff:.0000000000001000' status && "
	    "grep -qx 'CapPrm:.0000000000001000' status && "
	    "grep -qx 'CapInh:.0*' status && grep -qx 'CapBnd:.0*' status && "
	    "grep -qx 'CapAmb:.0*' status && grep -qx 'NoNewPrivs:.1' status "
	    "&& grep -qx 'Seccomp:.2' status && grep -qx 'Groups:. *' status",
	    (int)h.pid, SCRIPTED_UID + UID_NETD, SCRIPTED_UID + UID_NETD,
	    SCRIPTED_UID + UID_NETD, SCRIPTED_UID + UID_NETD,
	    SCRIPTED_GID + UID_NETD, SCRIPTED_GID + UID_NETD,
	    SCRIPTED_GID + UID_NETD, SCRIPTED_GID + UID_NETD), 0);
	inside_start(&a, NETLINK_ROUTE);
	for (i = 0; i < 300; i++) {
		snprintf(sid, sizeof(sid), "s%d", i);
		net(&h, sid, "none");
		sfd(&h, sid, "route", 0, dup(a.sock));
		expect_up(&h, sid);
	}
	ATF_REQUIRE_EQ(test_sh("test $(ls /proc/%d/fd | wc -l) -lt 12",
	    (int)h.pid), 0);
	inside_end(&a);
	ATF_REQUIRE_EQ(test_helper_end(&h), 0);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, forbidden);
	ATF_TP_ADD_TC(tp, garbage);
	ATF_TP_ADD_TC(tp, broken_frames);
	ATF_TP_ADD_TC(tp, descriptors);
	ATF_TP_ADD_TC(tp, eof);
	ATF_TP_ADD_TC(tp, mode_host);
	ATF_TP_ADD_TC(tp, numbers);
	ATF_TP_ADD_TC(tp, bounds);
	ATF_TP_ADD_TC(tp, mode_none);
	ATF_TP_ADD_TC(tp, unknown_sessions_and_modes);
	ATF_TP_ADD_TC(tp, wrong_descriptors);
	ATF_TP_ADD_TC(tp, hostile_sockets);
	ATF_TP_ADD_TC(tp, opener_without_right);
	ATF_TP_ADD_TC(tp, probe);
	ATF_TP_ADD_TC(tp, confinement);
	return (atf_no_error());
}
