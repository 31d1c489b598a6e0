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
	init_up(h);
	proc_hello(&h->ib, ROLE_INIT, ROLE_WORKER);
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
	struct m_SFD		m = { .session = SESSION_ID };
	struct test_helper	h;
	struct msg		msg;

	memset(&opts, 0, sizeof(opts));
	opts.network = network;
	opts.ro = ro;
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
	test_expect(h, MSG_SETUP, &msg);
	msg_free(&msg);
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
	init_no_terminal(true, false, 0, p[1], "a pipe where a terminal is due");
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
	exited.status = 256;
	init_running_sends(MSG_EXITED, &exited, "status 256");
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

/* Kilobytes of memory that the worker really has. */
static long
worker_rss(pid_t pid)
{
	char	path[64], line[256];
	long	kb = -1;
	FILE	*f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	ATF_REQUIRE((f = fopen(path, "re")) != NULL);
	while (fgets(line, sizeof(line), f) != NULL)
		sscanf(line, "VmRSS: %ld", &kb);
	fclose(f);
	return (kb);
}

#ifdef SBX_SANITIZED
#define RSS_MAX		(512 << 10)
#else
#define RSS_MAX		(12 << 10)
#endif

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
	ATF_CHECK_MSG(worker_rss(aside.pid) < RSS_MAX, "%ld kB",
	    worker_rss(aside.pid));
	close(slave);
	imsg_clear(&h.ib);
	init_down(&h);
}

/*
 * Clients
 */
static void
client_up(struct test_helper *h)
{
	memset(&opts, 0, sizeof(opts));
	opts.argv = ARGV("true");
	opts.no_init = true;
	session_begin(&s, &opts);
	aside = s.w;
	TAILQ_INIT(&aside.ib.out);	/* an empty one does not bear a copy */
	*h = s.w;
	h->ib = s.client;
	TAILQ_INIT(&h->ib.out);
}

/* The worker itself goes on. */
static void
client_down(struct test_helper *h)
{
	int	status;

	(void)h;
	ATF_CHECK(waitpid(aside.pid, &status, WNOHANG) == 0);
	close(s.init_sock);
	status = test_helper_end(&aside);
	ATF_CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%#x",
	    (unsigned int)status);
}

static const uint32_t	client_may[] = {
	MSG_DATA, MSG_RESIZE, MSG_SIGNAL, MSG_EOF, 0
};
static const struct scripted client = {
	.up = client_up, .down = client_down, .may = client_may, .drops = true
};

ATF_TC_WITHOUT_HEAD(client_forbidden);
ATF_TC_BODY(client_forbidden, tc)
{
	scripted_forbidden(&client);
}

/* All but an unknown key, which a newer client may send. */
ATF_TC_WITHOUT_HEAD(client_frames);
ATF_TC_BODY(client_frames, tc)
{
	scripted_garbage(&client);
	scripted_descriptors(&client);
}

static void
client_sends(uint32_t type, const void *body, const char *what)
{
	struct test_helper	h;

	client_up(&h);
	test_send(&h, type, 0, -1, body);
	scripted_refused(&client, &h, what);
}

ATF_TC_WITHOUT_HEAD(client_values);
ATF_TC_BODY(client_values, tc)
{
	struct m_DATA		data = { .n = 1, .d = {
				    (const uint8_t *)"x", 1 } };
	struct m_RESIZE		size = { .rows = 65536, .cols = 80 };
	struct m_SIGNAL		sig = { .sig = 0 };
	struct test_helper	h;

	client_sends(MSG_DATA, &data, "DATA of output");
	client_sends(MSG_RESIZE, &size, "65536 rows");
	client_sends(MSG_SIGNAL, &sig, "signal 0");
	sig.sig = 65;
	client_sends(MSG_SIGNAL, &sig, "signal 65");
	client_up(&h);
	data.n = 0;
	test_send(&h, MSG_EOF, 0, -1, NULL);
	test_send(&h, MSG_DATA, 0, -1, &data);
	scripted_refused(&client, &h, "DATA after EOF");
}

/* In a running session: it gets a reason, and its session is ended. */
ATF_TC_WITHOUT_HEAD(client_garbage_running);
ATF_TC_BODY(client_garbage_running, tc)
{
	struct session_opts	o = { .argv = ARGV("sleep", "100"),
				    .tty = true };

	session_run(&s, &o);
	while (s.cl.running == 0)
		session_pump(&s, 100);
	scripted_raw(s.client.fd, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27);
	session_await(&s, &s.cl.errors, "ERROR");
	ATF_CHECK_STREQ("protocol.broken", s.cl.code);
	session_hang_up(&s);
	ATF_CHECK_EQ(128 + SIGHUP, session_end(&s));
}

/* init is stopped, as in a frozen session, and the client sends on. */
ATF_TC_WITHOUT_HEAD(client_floods);
ATF_TC_BODY(client_floods, tc)
{
	struct session_opts	o = { .argv = ARGV("sleep", "100"),
				    .tty = true };
	struct m_SIGNAL		sig = { .sig = SIGWINCH };
	struct m_RESIZE		size = { .rows = 1, .cols = 1 };
	int			i;

	session_run(&s, &o);
	ATF_REQUIRE(kill(s.init, SIGSTOP) == 0);
	for (i = 0; i < 100000; i++) {
		session_client(&s, MSG_SIGNAL, &sig);
		size.rows = (uint64_t)(i % 100 + 1);
		session_client(&s, MSG_RESIZE, &size);
	}
	ATF_CHECK_MSG(worker_rss(s.w.pid) < RSS_MAX, "%ld kB",
	    worker_rss(s.w.pid));
	ATF_REQUIRE(kill(s.init, SIGCONT) == 0);
	session_hang_up(&s);
	ATF_CHECK_EQ(128 + SIGHUP, session_end(&s));
}

ATF_TC_WITHOUT_HEAD(client_never_reads);
ATF_TC_BODY(client_never_reads, tc)
{
	struct session_opts	o = { .argv = ARGV("yes"), .tty = true };

	test_clean_mark();
	session_run(&s, &o);
	sleep(1);
	ATF_CHECK_MSG(worker_rss(s.w.pid) < RSS_MAX, "%ld kB",
	    worker_rss(s.w.pid));
	session_hang_up(&s);
	ATF_CHECK_EQ(128 + SIGHUP, session_end(&s));
	test_clean_check();
}

ATF_TC_WITHOUT_HEAD(client_second);
ATF_TC_BODY(client_second, tc)
{
	struct session_opts	 o = { .argv = ARGV("cat"), .tty = true };
	const struct m_ERROR	*m;
	struct test_helper	 other;
	struct msg		 msg;
	int			 sv[2];

	session_run(&s, &o);
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	test_send(&s.w, MSG_ATTACH, 0, sv[1], NULL);
	other = s.w;
	ATF_REQUIRE(imsg_init(&other.ib, sv[0], ROLE_CLIENT, ROLE_WORKER) ==
	    0);
	test_expect(&other, MSG_ERROR, &msg);
	m = msg.body;
	ATF_CHECK_STREQ("session.attached", m->code);
	msg_free(&msg);
	imsg_clear(&other.ib);
	/* The first one has not noticed. */
	session_say(&s, "still\r");
	session_expect(&s, "still");
	session_say(&s, "\004");
	ATF_CHECK_EQ(0, session_end(&s));
}

/*
 * Lifelines
 */
ATF_TC_WITHOUT_HEAD(worker_killed);
ATF_TC_BODY(worker_killed, tc)
{
	struct session_opts	o = { .argv = SH("setsid sleep 9994 & "
				    "trap '' HUP; sleep 9995"), .tty = true };
	int			status;

	test_clean_mark();
	session_run(&s, &o);
	session_pump(&s, 300);
	ATF_REQUIRE(kill(s.w.pid, SIGKILL) == 0);
	ATF_REQUIRE(waitpid(s.w.pid, &status, 0) == s.w.pid);
	ATF_REQUIRE(waitpid(s.init, &status, 0) == s.init);
	ATF_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	imsg_clear(&s.w.ib);
	imsg_clear(&s.client);
	close(s.pidfd);
	close(s.fd_home);
	close(s.fd_project);
	test_clean_check();
}

ATF_TC_WITHOUT_HEAD(broker_closes);
ATF_TC_BODY(broker_closes, tc)
{
	struct session_opts	o = { .argv = SH("setsid sleep 9994 & "
				    "trap '' HUP; sleep 9995"), .tty = true };

	test_clean_mark();
	session_run(&s, &o);
	session_pump(&s, 300);
	session_abort(&s);
	test_clean_check();
}

/* What was put out before comes through, then the reason. */
ATF_TC_WITHOUT_HEAD(init_killed);
ATF_TC_BODY(init_killed, tc)
{
	struct session_opts	o = { .argv = SH("echo before; sleep 9995"),
				    .tty = true };
	int			status;

	test_clean_mark();
	session_run(&s, &o);
	session_expect(&s, "before");
	ATF_REQUIRE(kill(s.init, SIGKILL) == 0);
	session_await(&s, &s.sbxd.errors, "ERROR");
	ATF_CHECK_STREQ("init.ended", s.sbxd.code);
	session_await(&s, &s.cl.errors, "ERROR for the client");
	ATF_CHECK_STREQ("init.ended", s.cl.code);
	ATF_CHECK(s.sbxd.exited == 0 && s.cl.exited == 0);
	/* The worker keeps this until sbxd has taken it. */
	ATF_CHECK(waitpid(s.w.pid, &status, WNOHANG) == 0);
	session_abort(&s);
	test_clean_check();
}

/* Before the command runs only sbxd is told. */
ATF_TC_WITHOUT_HEAD(init_killed_early);
ATF_TC_BODY(init_killed_early, tc)
{
	struct session_opts	o = { .argv = ARGV("true") };

	session_begin(&s, &o);
	while (s.fd_project == -1)
		session_pump(&s, 100);
	ATF_REQUIRE(kill(s.init, SIGKILL) == 0);
	session_await(&s, &s.sbxd.errors, "ERROR");
	ATF_CHECK_STREQ("init.ended", s.sbxd.code);
	session_pump(&s, 100);
	ATF_CHECK_EQ(0, s.cl.errors);
	session_abort(&s);
}

/*
 * The listening socket
 */
static int
listening(struct session *x)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	int			fd;

	strlcpy(sun.sun_path, test_path("w"), sizeof(sun.sun_path));
	ATF_REQUIRE((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) !=
	    -1);
	ATF_REQUIRE(bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0);
	ATF_REQUIRE(chmod(sun.sun_path, 0666) == 0);
	ATF_REQUIRE(listen(fd, 5) == 0);
	test_send(&x->w, MSG_LISTEN, 0, fd, NULL);
	return (0);
}

static int
connected(uid_t uid)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	int			fd;

	strlcpy(sun.sun_path, test_path("w"), sizeof(sun.sun_path));
	ATF_REQUIRE((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) !=
	    -1);
	ATF_REQUIRE(seteuid(uid) == 0);
	ATF_REQUIRE(connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0);
	ATF_REQUIRE(seteuid(0) == 0);
	return (fd);
}

/* The other side closes, having said nothing. */
static void
turned_away(int fd, const char *who)
{
	struct pollfd	pfd = { .fd = fd, .events = POLLIN };
	char		c;

	ATF_REQUIRE_MSG(poll(&pfd, 1, 5000) == 1, "%s: not turned away", who);
	ATF_CHECK_MSG(read(fd, &c, 1) <= 0, "%s: answered", who);
	close(fd);
}

ATF_TC_WITHOUT_HEAD(listen_strangers);
ATF_TC_BODY(listen_strangers, tc)
{
	struct session_opts	o = { .argv = ARGV("cat"), .tty = true,
				    .broker = 64100 };
	struct m_HELLO		m;
	struct imsgbuf		ib;
	int			fd;

	session_run(&s, &o);
	listening(&s);
	turned_away(connected(0), "root");
	turned_away(connected(64151), "the session's user");
	turned_away(connected(64105), "the worker's uid");
	fd = connected(64100);
	scripted_raw(fd, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 32);
	turned_away(fd, "garbage");
	/* sbxd's uid, and not its first message. */
	ATF_REQUIRE(imsg_init(&ib, connected(64100), ROLE_SBXD, ROLE_WORKER) ==
	    0);
	ATF_REQUIRE(imsg_send(&ib, MSG_ATTACH, 0, null(), NULL) == 0);
	turned_away(ib.fd, "ATTACH before HELLO");
	ATF_REQUIRE(imsg_init(&ib, connected(64100), ROLE_SBXD, ROLE_WORKER) ==
	    0);
	proc_hello_fill(&m, ROLE_SBXD);
	m.build = "another";
	ATF_REQUIRE(imsg_send(&ib, MSG_HELLO, 0, -1, &m) == 0);
	turned_away(ib.fd, "another build");
	/* The session is as it was. */
	session_say(&s, "still\r");
	session_expect(&s, "still");
	session_say(&s, "\004");
	ATF_CHECK_EQ(0, session_end(&s));
}

static ino_t
inode(int fd)
{
	struct stat	st;

	ATF_REQUIRE(fstat(fd, &st) == 0);
	return (st.st_ino);
}

/* sbxd comes back: it gets what was kept, and the session goes on. */
ATF_TC_WITHOUT_HEAD(listen_adoption);
ATF_TC_BODY(listen_adoption, tc)
{
	static const char *const kinds[] = { "pidns", "clone-home" };
	struct session_opts	 o = { .argv = SH("echo one; read x; "
				    "echo \"two $x\"; exit 5"), .tty = true };
	struct m_SFD		 m = { .session = SESSION_ID };
	struct test_helper	 old;
	const struct m_SFD	*got;
	struct msg		 msg;
	ino_t			 ino[2];
	int			 fd, i;

	session_run(&s, &o);
	for (i = 0; i < 2; i++) {
		ATF_REQUIRE((fd = memfd_create(kinds[i], MFD_CLOEXEC)) != -1);
		ino[i] = inode(fd);
		m.kind = kinds[i];
		test_send(&s.w, MSG_SFD, 0, fd, &m);
	}
	session_expect(&s, "one");
	listening(&s);
	old = s.w;
	ATF_REQUIRE(imsg_init(&s.w.ib, connected(0), ROLE_SBXD, ROLE_WORKER) ==
	    0);
	proc_hello(&s.w.ib, ROLE_SBXD, ROLE_WORKER);
	for (i = 0; i < 2; i++) {
		test_expect(&s.w, MSG_SFD, &msg);
		got = msg.body;
		ATF_CHECK_STREQ(kinds[i], got->kind);
		ATF_CHECK_EQ(ino[i], inode(msg.fd));
		msg_free(&msg);
	}
	test_expect(&s.w, MSG_RUNNING, &msg);
	ATF_CHECK_EQ(2, ((const struct m_RUNNING *)msg.body)->pid);
	msg_free(&msg);
	turned_away(old.ib.fd, "the old connection");
	session_say(&s, "words\r");
	session_expect(&s, "two words");
	ATF_CHECK_EQ(5, session_end(&s));
}

/* Nobody was attached: the last MiB of output and the status are there. */
ATF_TC_WITHOUT_HEAD(attach_late);
ATF_TC_BODY(attach_late, tc)
{
	struct session_opts	o = { .argv = SH("head -c 3000000 /dev/zero | "
				    "tr '\\0' x; printf '<last>'; exit 11"),
				    .tty = true, .alone = true };
	int			sv[2];

	session_run(&s, &o);
	session_await(&s, &s.sbxd.exited, "EXITED");
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) ==
	    0);
	test_send(&s.w, MSG_ATTACH, 0, sv[1], NULL);
	ATF_REQUIRE(imsg_init(&s.client, sv[0], ROLE_CLIENT, ROLE_WORKER) ==
	    0);
	session_await(&s, &s.cl.exited, "EXITED for the client");
	ATF_CHECK(s.outlen[1] >= 1 << 20 && s.outlen[1] < (1 << 20) + 65536);
	ATF_CHECK_STREQ("x<last>", s.out[1] + s.outlen[1] - 7);
	ATF_CHECK_EQ(11, session_end(&s));
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
	ATF_TP_ADD_TC(tp, client_forbidden);
	ATF_TP_ADD_TC(tp, client_frames);
	ATF_TP_ADD_TC(tp, client_values);
	ATF_TP_ADD_TC(tp, client_garbage_running);
	ATF_TP_ADD_TC(tp, client_floods);
	ATF_TP_ADD_TC(tp, client_never_reads);
	ATF_TP_ADD_TC(tp, client_second);
	ATF_TP_ADD_TC(tp, worker_killed);
	ATF_TP_ADD_TC(tp, broker_closes);
	ATF_TP_ADD_TC(tp, init_killed);
	ATF_TP_ADD_TC(tp, init_killed_early);
	ATF_TP_ADD_TC(tp, listen_strangers);
	ATF_TP_ADD_TC(tp, listen_adoption);
	ATF_TP_ADD_TC(tp, attach_late);
	return (atf_no_error());
}
