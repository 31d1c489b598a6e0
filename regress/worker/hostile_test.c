/*
 * The worker between a hostile init, a hostile client and a broken broker.
 */
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/scripted.h"
#include "privsep/proc.h"
#include "session.h"

static struct session	s;

#define ARGV(...)	((const char *const[]){ __VA_ARGS__, NULL })
#define SH(script)	ARGV("sh", "-c", script)

/*
 * The broker
 */
static int	init_end;

static void
broker_up(struct test_helper *h)
{
	init_end = session_worker(h, 0);
	proc_hello(&h->ib, ROLE_SBXD, ROLE_WORKER);
}

static void
broker_down(struct test_helper *h)
{
	(void)h;
	close(init_end);
}

static const uint32_t	broker_may[] = {
	MSG_SETUP, MSG_LISTEN, MSG_ATTACH, MSG_SFD, MSG_SIGNAL, 0
};
static const struct scripted broker = {
	.up = broker_up, .down = broker_down, .may = broker_may
};

ATF_TC_WITHOUT_HEAD(broker_forbidden);
ATF_TC_BODY(broker_forbidden, tc)
{
	scripted_forbidden(&broker);
}

ATF_TC_WITHOUT_HEAD(broker_frames);
ATF_TC_BODY(broker_frames, tc)
{
	scripted_garbage(&broker);
	scripted_broken_frames(&broker);
	scripted_descriptors(&broker);
}

ATF_TC_WITHOUT_HEAD(broker_eof);
ATF_TC_BODY(broker_eof, tc)
{
	scripted_eof(&broker);
}

static int
null(void)
{
	int	fd;

	ATF_REQUIRE((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) != -1);
	return (fd);
}

static void
broker_sends(uint32_t type, int fd, const void *body, const char *what)
{
	struct test_helper	h;

	broker_up(&h);
	test_send(&h, type, 0, fd, body);
	scripted_refused(&broker, &h, what);
}

ATF_TC_WITHOUT_HEAD(broker_values);
ATF_TC_BODY(broker_values, tc)
{
	struct m_SFD	tree = { .session = SESSION_ID, .kind = "tree" };
	struct m_SFD	other = { .session = SESSION_ID, .kind = "home" };
	struct m_SIGNAL	none = { .sig = 0 }, high = { .sig = 65 };
	struct test_helper h;

	broker_sends(MSG_SFD, null(), &tree, "a tree before SETUP");
	broker_sends(MSG_SFD, null(), &other, "a home");
	broker_sends(MSG_LISTEN, null(), NULL, "a socket that is none");
	broker_sends(MSG_SIGNAL, -1, &none, "signal 0");
	broker_sends(MSG_SIGNAL, -1, &high, "signal 65");
	broker_up(&h);
	other.kind = "pidns";
	test_send(&h, MSG_SFD, 0, null(), &other);
	test_send(&h, MSG_SFD, 0, null(), &other);
	scripted_refused(&broker, &h, "two pid namespaces");
}

/*
 * init. The frames go to fd 4's other end, sbxd's is kept aside.
 */
static struct test_helper	aside;
static struct session_opts	opts;

/* Moves what s has to where the scripted cases look for it. */
static void
as_helper(struct test_helper *h, int fd, enum role self)
{
	aside = s.w;
	TAILQ_INIT(&aside.ib.out);	/* an empty one does not bear a copy */
	*h = s.w;
	ATF_REQUIRE(imsg_init(&h->ib, fd, self, ROLE_WORKER) == 0);
}

static void
init_up(struct test_helper *h)
{
	opts.argv = ARGV("true");
	opts.no_init = opts.alone = true;
	session_begin(&s, &opts);
	as_helper(h, s.init_sock, ROLE_INIT);
}

static void
init_up_greeted(struct test_helper *h)
{
	struct msg	msg;

	init_up(h);
	proc_hello(&h->ib, ROLE_INIT, ROLE_WORKER);
	test_expect(h, MSG_SETUP, &msg);
	msg_free(&msg);
}

static void
init_sends(struct test_helper *h, uint32_t type, int fd, const void *body)
{
	test_send(h, type, 0, fd, body);
}

/* sbxd has been told that the session is over, and why. */
static void
init_down(struct test_helper *h)
{
	const struct m_ERROR	*m;
	struct msg		 msg;
	int			 status;

	(void)h;
	test_expect(&aside, MSG_ERROR, &msg);
	m = msg.body;
	ATF_CHECK_MSG(strncmp(m->code, "init.", 5) == 0, "%s", m->code);
	msg_free(&msg);
	status = test_helper_end(&aside);
	ATF_CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%#x",
	    (unsigned int)status);
}

static const uint32_t	init_may[] = { MSG_HELLO, MSG_ERROR, 0 };
static const struct scripted init_fresh = {
	.up = init_up, .down = init_down, .may = init_may, .drops = true
};
static const uint32_t	init_may_sfd[] = { MSG_SFD, MSG_ERROR, 0 };
static const struct scripted init_greeted = {
	.up = init_up_greeted, .down = init_down, .may = init_may_sfd,
	.drops = true
};

ATF_TC_WITHOUT_HEAD(init_forbidden);
ATF_TC_BODY(init_forbidden, tc)
{
	scripted_forbidden(&init_fresh);
	scripted_forbidden(&init_greeted);
}

ATF_TC_WITHOUT_HEAD(init_frames);
ATF_TC_BODY(init_frames, tc)
{
	scripted_garbage(&init_fresh);
	scripted_broken_frames(&init_fresh);
	scripted_garbage(&init_greeted);
	scripted_broken_frames(&init_greeted);
	scripted_descriptors(&init_greeted);
}

struct due {
	const char	*kind;
	uint64_t	 n;
};

/* These descriptors in this order, of which only the last is refused. */
static void
init_not_due(const char *network, const struct due *v, const char *session)
{
	static const char *const ro[] = { "/usr", "/etc", "/var", NULL };
	static const char *const more[] = { "/lib", "/opt", NULL };
	struct m_SFD		m = { .session = SESSION_ID };
	struct test_helper	h;
	struct msg		msg;

	memset(&opts, 0, sizeof(opts));
	opts.network = network;
	opts.ro = ro;
	opts.more = more;
	init_up_greeted(&h);
	for (; v->kind != NULL; v++) {
		m.kind = v->kind;
		m.n = v->n;
		if (v[1].kind == NULL)
			m.session = session;
		init_sends(&h, MSG_SFD, null(), &m);
		if (v[1].kind == NULL)
			break;
		test_expect(&aside, MSG_SFD, &msg);
		msg_free(&msg);
	}
	scripted_refused(&init_greeted, &h, v->kind);
	memset(&opts, 0, sizeof(opts));
}

#define DUE(...)	((const struct due[]){ __VA_ARGS__, { NULL, 0 } })

ATF_TC_WITHOUT_HEAD(init_descriptors);
ATF_TC_BODY(init_descriptors, tc)
{
	init_not_due("host", DUE({ "route", 0 }), SESSION_ID);
	init_not_due("none", DUE({ "route", 0 }, { "route", 0 }), SESSION_ID);
	init_not_due("none", DUE({ "route", 1 }), SESSION_ID);
	init_not_due("none", DUE({ "nft", 0 }), SESSION_ID);
	init_not_due("host", DUE({ "home", 0 }, { "home", 0 }), SESSION_ID);
	init_not_due("host", DUE({ "home", 0 }, { "ro", 0 }), SESSION_ID);
	init_not_due("host", DUE({ "home", 0 }, { "project", 0 },
	    { "project", 0 }), SESSION_ID);
	init_not_due("host", DUE({ "project", 0 }, { "home", 0 }), SESSION_ID);
	init_not_due("host", DUE({ "project", 1 }), SESSION_ID);
	init_not_due("host", DUE({ "project", 0 }, { "project", 2 }),
	    SESSION_ID);
	init_not_due("host", DUE({ "project", 0 }, { "project", 1 },
	    { "project", 2 }, { "project", 3 }), SESSION_ID);
	init_not_due("host", DUE({ "project", 0 }, { "ro", 0 }), SESSION_ID);
	init_not_due("host", DUE({ "ro", 1 }, { "ro", 1 }), SESSION_ID);
	init_not_due("host", DUE({ "ro", 2 }, { "ro", 0 }), SESSION_ID);
	init_not_due("host", DUE({ "ro", 3 }), SESSION_ID);
	init_not_due("host", DUE({ "ro", UINT64_MAX }), SESSION_ID);
	init_not_due("host", DUE({ "tree", 0 }), SESSION_ID);
	init_not_due("host", DUE({ "pidns", 0 }), SESSION_ID);
	init_not_due("host", DUE({ "clone-root", 0 }), SESSION_ID);
	init_not_due("host", DUE({ "home", 0 }), "zzzzzzzzzzzz");
}

/* Up to where init makes the terminal. */
static void
init_up_wired(struct test_helper *h, bool tty)
{
	struct m_SFD	m = { .session = SESSION_ID, .kind = "home" };
	struct msg	msg;

	memset(&opts, 0, sizeof(opts));
	opts.tty = tty;
	init_up_greeted(h);
	init_sends(h, MSG_SFD, null(), &m);
	m.kind = "project";
	init_sends(h, MSG_SFD, null(), &m);
	test_expect(&aside, MSG_SFD, &msg);
	msg_free(&msg);
	test_expect(&aside, MSG_SFD, &msg);
	msg_free(&msg);
	m.kind = "tree";
	test_send(&aside, MSG_SFD, 0, null(), &m);
	test_expect(h, MSG_SFD, &msg);
	msg_free(&msg);
}

static void
init_up_tty(struct test_helper *h)
{
	init_up_wired(h, true);
}

static const uint32_t	init_may_pty[] = { MSG_PTY, MSG_ERROR, 0 };
static const struct scripted init_wired = {
	.up = init_up_tty, .down = init_down, .may = init_may_pty,
	.drops = true
};

/* A descriptor that is no terminal's master, no pipe. */
static void
init_no_terminal(bool tty, bool said, uint64_t n, int fd, const char *what)
{
	struct m_PTY		m = { .tty = said, .n = n };
	struct test_helper	h;

	init_up_wired(&h, tty);
	init_sends(&h, MSG_PTY, fd, &m);
	scripted_refused(&init_wired, &h, what);
}

static int
master(int *slave)
{
	int	fd, unlock = 0;

	ATF_REQUIRE_EQ(0, test_sh("mkdir -p %s && { mountpoint -q %s || "
	    "mount -t devpts -o newinstance,ptmxmode=0666 devpts %s; }",
	    test_path("pts"), test_path("pts"), test_path("pts")));
	ATF_REQUIRE((fd = open(test_path("pts/ptmx"), O_RDWR | O_NOCTTY |
	    O_CLOEXEC)) != -1);
	ATF_REQUIRE(ioctl(fd, TIOCSPTLCK, &unlock) == 0);
	ATF_REQUIRE((*slave = ioctl(fd, _IO('T', 0x41), O_RDWR | O_NOCTTY |
	    O_CLOEXEC)) != -1);
	return (fd);
}

ATF_TC_WITHOUT_HEAD(init_terminal);
ATF_TC_BODY(init_terminal, tc)
{
	int	fd, p[2], slave;

	scripted_forbidden(&init_wired);
	init_no_terminal(true, true, 0, null(), "/dev/null as terminal");
	init_no_terminal(true, true, 0, open("/etc/passwd", O_RDONLY),
	    "a file as terminal");
	fd = master(&slave);
	close(fd);
	init_no_terminal(true, true, 0, slave, "a slave as terminal");
	ATF_REQUIRE(pipe2(p, O_CLOEXEC) == 0);
	init_no_terminal(true, true, 0, p[0], "a pipe as terminal");
	init_no_terminal(true, false, 0, p[1], "a pipe, not a terminal");
	init_no_terminal(true, true, 1, master(&slave), "terminal 1");
	close(slave);
	init_no_terminal(false, false, 0, null(), "/dev/null as pipe");
	init_no_terminal(false, true, 0, master(&slave),
	    "a terminal where a pipe is due");
	close(slave);
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, p) == 0);
	init_no_terminal(false, false, 0, p[0], "a socket as pipe");
	close(p[1]);
	ATF_REQUIRE(pipe2(p, O_CLOEXEC) == 0);
	init_no_terminal(false, false, 1, p[0], "pipe 1 before 0");
	close(p[1]);
}

/* Up to the point where the command runs, at a terminal of the test's. */
static int
init_up_running(struct test_helper *h)
{
	struct m_PTY		pty = { .tty = true };
	struct m_RUNNING	running = { .pid = 2 };
	struct msg		msg;
	int			slave;

	init_up_wired(h, true);
	init_sends(h, MSG_PTY, master(&slave), &pty);
	test_send(&aside, MSG_GO, 0, -1, NULL);
	test_expect(h, MSG_GO, &msg);
	msg_free(&msg);
	init_sends(h, MSG_RUNNING, -1, &running);
	test_expect(&aside, MSG_RUNNING, &msg);
	msg_free(&msg);
	return (slave);
}

static void
init_out_of_turn(uint32_t type, const void *body, const char *what)
{
	struct test_helper	h;

	init_up_wired(&h, true);
	init_sends(&h, type, -1, body);
	scripted_refused(&init_wired, &h, what);
}

static void
init_running_sends(uint32_t type, const void *body, const char *what)
{
	struct test_helper	h;
	int			slave;

	slave = init_up_running(&h);
	close(slave);
	init_sends(&h, type, -1, body);
	scripted_refused(&init_wired, &h, what);
}

ATF_TC_WITHOUT_HEAD(init_turns);
ATF_TC_BODY(init_turns, tc)
{
	struct m_RUNNING	running = { .pid = 2 };
	struct m_EXITED		exited = { .status = 0 };
	struct m_ERROR		error = { .code = "land.stale",
				    .message = "x" };
	struct m_ERROR		missing = { .code = "command.missing",
				    .message = "x" };
	struct test_helper	h;

	init_out_of_turn(MSG_RUNNING, &running, "RUNNING before GO");
	init_out_of_turn(MSG_EXITED, &exited, "EXITED before GO");
	init_out_of_turn(MSG_ERROR, &error, "an error of somebody else's");
	init_running_sends(MSG_RUNNING, &running, "RUNNING twice");
	init_running_sends(MSG_ERROR, &error, "an error of somebody else's");
	init_running_sends(MSG_OK, NULL, "an answer to nothing");
	exited.status = 256;
	init_running_sends(MSG_EXITED, &exited, "status 256");
	exited.status = 1;
	exited.signal = 1;
	init_running_sends(MSG_EXITED, &exited, "a signal that the status is "
	    "not of");
	exited.status = 127;
	exited.signal = UINT64_MAX;
	init_running_sends(MSG_EXITED, &exited, "a signal beyond all");
	/* RUNNING with no terminal; of a process that cannot be. */
	init_up_wired(&h, true);
	test_send(&aside, MSG_GO, 0, -1, NULL);
	init_sends(&h, MSG_RUNNING, -1, &running);
	scripted_refused(&init_wired, &h, "RUNNING without a terminal");
	/* Twice the reason: the first one counts. */
	init_up_wired(&h, true);
	init_sends(&h, MSG_ERROR, -1, &missing);
	init_sends(&h, MSG_ERROR, -1, &missing);
	ATF_REQUIRE(test_helper_end(&aside) == 0);
	imsg_clear(&h.ib);
}

/* The terminal never ends: somebody outside holds it. The session does. */
ATF_TC_WITHOUT_HEAD(init_holds_terminal);
ATF_TC_BODY(init_holds_terminal, tc)
{
	struct m_EXITED		exited = { .status = 3 };
	struct test_helper	h;
	struct msg		msg;
	int			slave;

	slave = init_up_running(&h);
	init_sends(&h, MSG_EXITED, -1, &exited);
	imsg_clear(&h.ib);
	test_expect(&aside, MSG_EXITED, &msg);
	ATF_CHECK_EQ(3, ((const struct m_EXITED *)msg.body)->status);
	msg_free(&msg);
	ATF_CHECK(test_helper_end(&aside) == 0);
	close(slave);
}

/* A flood with nobody attached: the last MiB is kept, and no more. */
ATF_TC_WITHOUT_HEAD(init_floods);
ATF_TC_BODY(init_floods, tc)
{
	static char		buf[65536];
	struct test_helper	h;
	int			i, slave;

	slave = init_up_running(&h);
	for (i = 0; i < 1000; i++)
		ATF_REQUIRE(write(slave, buf, sizeof(buf)) > 0);
	ATF_CHECK_MSG(session_rss(aside.pid) < SESSION_RSS_MAX, "%ld kB",
	    session_rss(aside.pid));
	close(slave);
	imsg_clear(&h.ib);
	init_down(&h);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, broker_forbidden);
	ATF_TP_ADD_TC(tp, broker_frames);
	ATF_TP_ADD_TC(tp, broker_eof);
	ATF_TP_ADD_TC(tp, broker_values);
	ATF_TP_ADD_TC(tp, init_forbidden);
	ATF_TP_ADD_TC(tp, init_frames);
	ATF_TP_ADD_TC(tp, init_descriptors);
	ATF_TP_ADD_TC(tp, init_terminal);
	ATF_TP_ADD_TC(tp, init_turns);
	ATF_TP_ADD_TC(tp, init_holds_terminal);
	ATF_TP_ADD_TC(tp, init_floods);
	return (atf_no_error());
}
