/*
 * Commands that EXEC adds to a session: each with a terminal or pipes of its
 * own, for one client, and nothing that outlives either it or the session.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/scripted.h"
#include "privsep/proc.h"
#include "viewer.h"

static struct session	s;

#define ARGV(...)	((const char *const[]){ __VA_ARGS__, NULL })
#define SH(script)	ARGV("sh", "-c", script)

static void
begin(void)
{
	struct session_opts	o = { .argv = SH("echo up; cat"),
				    .tty = true };

	session_run(&s, &o);
	session_expect(&s, "up\r\n");
}

static void
end(void)
{
	session_say(&s, "\004");
	ATF_CHECK_EQ(0, session_end(&s));
}

static int
status(bool tty, const char *const *argv)
{
	static struct viewer	v;

	viewer_exec(&s, &v, tty, argv);
	viewer_await(&v, &v.t.exited, "EXITED");
	ATF_CHECK_EQ(1, v.t.running);
	while (!v.t.closed)
		viewers_pump(&s, 20);
	viewer_leave(&v);
	return ((int)v.t.status);
}

ATF_TC_WITHOUT_HEAD(pipes);
ATF_TC_BODY(pipes, tc)
{
	static struct viewer	v;

	begin();
	viewer_exec(&s, &v, false, SH("tty; pwd; echo $IN; echo wrong >&2; "
	    "cat; exit 6"));
	viewer_await(&v, &v.t.running, "RUNNING");
	viewer_say(&v, "word");
	viewer_send(&v, MSG_EOF, NULL);
	viewer_await(&v, &v.t.exited, "EXITED");
	ATF_CHECK_EQ(6, v.t.status);
	ATF_CHECK_MSG(strstr(v.out[1], "not a tty\n") == v.out[1] &&
	    strstr(v.out[1], "/project\nexec\nword") != NULL, "%s", v.out[1]);
	ATF_CHECK_STREQ("wrong\n", v.out[2]);
	/* Every byte, through a pipe that is full. */
	viewer_exec(&s, &v, false, SH("head -c 3000000 /dev/zero"));
	viewer_await(&v, &v.t.exited, "EXITED");
	ATF_CHECK_EQ(3000000, v.outlen[1]);
	end();
}

ATF_TC_WITHOUT_HEAD(terminal);
ATF_TC_BODY(terminal, tc)
{
	static struct viewer	v;

	begin();
	viewer_exec(&s, &v, true, SH("tty; stty size; trap 'echo int' INT; "
	    "echo up; read x; read x; echo $x; exit 9"));
	viewer_size(&v, 33, 44);
	viewer_expect(&v, "/dev/pts/1");
	viewer_expect(&v, "up");
	viewer_say(&v, "\003");
	viewer_expect(&v, "int");
	viewer_say(&v, "one\rtwo\r");
	viewer_await(&v, &v.t.exited, "EXITED");
	ATF_CHECK_EQ(9, v.t.status);
	/* The session's own terminal has noticed nothing. */
	ATF_CHECK_EQ(0, s.outlen[1]);
	/* Its last output is there, all of it. */
	viewer_exec(&s, &v, true, SH("seq 20000; echo end"));
	viewer_expect(&v, "\n20000\r\nend\r\n");
	viewer_await(&v, &v.t.exited, "EXITED");
	end();
}

ATF_TC_WITHOUT_HEAD(statuses);
ATF_TC_BODY(statuses, tc)
{
	static struct viewer	v;

	test_clean_mark();
	begin();
	ATF_CHECK_EQ(0, status(false, ARGV("true")));
	ATF_CHECK_EQ(1, status(true, ARGV("false")));
	ATF_CHECK_EQ(137, status(true, SH("kill -9 $$")));
	ATF_CHECK_EQ(143, status(false, SH("kill -15 $$")));
	viewer_exec(&s, &v, true, ARGV("nowhere"));
	viewer_await(&v, &v.t.errors, "ERROR");
	ATF_CHECK_STREQ("command.missing", v.t.code);
	ATF_CHECK_EQ(0, v.t.running);
	viewer_leave(&v);
	viewer_exec(&s, &v, false, ARGV("/etc/passwd"));
	viewer_await(&v, &v.t.errors, "ERROR");
	ATF_CHECK_STREQ("command.notexec", v.t.code);
	viewer_leave(&v);
	viewer_exec(&s, &v, false, ARGV(""));
	viewer_await(&v, &v.t.errors, "ERROR");
	ATF_CHECK_STREQ("command.missing", v.t.code);
	viewer_leave(&v);
	end();
	test_clean_check();
}

static size_t
children(pid_t pid)
{
	char	path[64], list[512] = "";
	size_t	i, n = 0;
	FILE	*f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
	    (int)pid);
	ATF_REQUIRE((f = fopen(path, "r")) != NULL);
	if (fgets(list, sizeof(list), f) == NULL)
		list[0] = '\0';
	fclose(f);
	for (i = 0; list[i] != '\0'; i++)
		if (list[i] == ' ')
			n++;
	return (n);
}

/* What was asked for before SYNC is a process when that is answered: whoever
 * stops all of them then leaves none out. */
ATF_TC_WITHOUT_HEAD(synced);
ATF_TC_BODY(synced, tc)
{
	static struct viewer	v;
	size_t			n;

	begin();
	n = children(s.init);
	ATF_REQUIRE_EQ(0, kill(s.init, SIGSTOP));
	viewer_exec(&s, &v, false, SH("echo begun; exec cat"));
	/* The first one was given up meanwhile. */
	test_send(&s.w, MSG_SYNC, 76, -1, NULL);
	test_send(&s.w, MSG_SYNC, 77, -1, NULL);
	viewers_pump(&s, 200);
	ATF_CHECK_EQ(0, s.sbxd.oks);
	ATF_CHECK_EQ(n, children(s.init));
	ATF_REQUIRE_EQ(0, kill(s.init, SIGCONT));
	session_await(&s, &s.sbxd.oks, "OK");
	ATF_CHECK_EQ(n + 1, children(s.init));
	ATF_CHECK_EQ(77, s.sbxd.ok);
	viewer_expect(&v, "begun");
	viewer_send(&v, MSG_EOF, NULL);
	viewer_await(&v, &v.t.exited, "EXITED");
	viewer_leave(&v);
	/* Of one that is gone nothing more is begun. */
	ATF_REQUIRE_EQ(0, kill(s.init, SIGSTOP));
	s.sbxd.oks = 0;
	test_send(&s.w, MSG_SYNC, 78, -1, NULL);
	viewers_pump(&s, 100);
	ATF_CHECK_EQ(0, s.sbxd.oks);
	ATF_REQUIRE_EQ(0, kill(s.init, SIGKILL));
	session_await(&s, &s.sbxd.oks, "OK");
	ATF_CHECK_EQ(78, s.sbxd.ok);
	s.sbxd.oks = 0;
	test_send(&s.w, MSG_SYNC, 79, -1, NULL);
	session_await(&s, &s.sbxd.oks, "OK");
	ATF_CHECK_EQ(79, s.sbxd.ok);
	session_abort(&s);
}

/* What it leaves behind holds its terminal, or its pipe, and is not waited
 * for; it ends with the session. */
ATF_TC_WITHOUT_HEAD(background);
ATF_TC_BODY(background, tc)
{
	int64_t	before;

	begin();
	before = session_now();
	ATF_CHECK_EQ(3, status(false, SH("sleep 1000 & exit 3")));
	ATF_CHECK_EQ(4, status(true, SH("trap '' HUP; sleep 1000 & exit 4")));
	ATF_CHECK_EQ(5, status(false, SH("yes & exit 5")));
	ATF_CHECK(session_now() - before < 10000);
	end();
}

/* Its client goes, and it with it: told at first, then killed. */
ATF_TC_WITHOUT_HEAD(hangup);
ATF_TC_BODY(hangup, tc)
{
	static struct viewer	v;
	const char		*told = strdup(test_path("project/told"));
	int64_t			 limit;

	begin();
	viewer_exec(&s, &v, true, SH("trap 'echo x >told; exit' HUP; "
	    "echo up; while :; do sleep 0.1; done"));
	viewer_expect(&v, "up");
	viewer_leave(&v);
	for (limit = session_now() + 20000; access(told, F_OK) == -1;) {
		ATF_REQUIRE(session_now() < limit);
		viewers_pump(&s, 20);
	}
	viewer_exec(&s, &v, false, SH("trap '' HUP; echo up; sleep 1000"));
	viewer_expect(&v, "up");
	viewer_leave(&v);
	for (limit = session_now() + 20000; status(false,
	    ARGV("pgrep", "-x", "sleep")) != 1;)
		ATF_REQUIRE(session_now() < limit);
	end();
}

/* Its client does not read: that is between the two of them, and keeps
 * neither the session's own terminal nor its end up. */
ATF_TC_WITHOUT_HEAD(asleep);
ATF_TC_BODY(asleep, tc)
{
	static struct viewer	a, b;
	int64_t			before;

	begin();
	viewer_exec(&s, &a, true, ARGV("yes"));
	viewer_exec(&s, &b, false, ARGV("yes"));
	viewer_await(&a, &a.t.running, "RUNNING");
	viewer_await(&b, &b.t.running, "RUNNING");
	a.asleep = b.asleep = true;
	session_say(&s, "word\r");
	session_expect(&s, "word\r\nword\r\n");
	before = session_now();
	end();
	ATF_CHECK(session_now() - before < 10000);
}

/* The session's command ends: so does all else, and each client is told. */
ATF_TC_WITHOUT_HEAD(session_ends);
ATF_TC_BODY(session_ends, tc)
{
	static struct viewer	a, b;

	begin();
	viewer_exec(&s, &a, true, SH("trap '' HUP; echo up; sleep 1000"));
	viewer_exec(&s, &b, false, SH("echo up; sleep 1000"));
	viewer_expect(&a, "up");
	viewer_expect(&b, "up");
	session_say(&s, "\004");
	viewer_await(&a, &a.t.errors, "ERROR");
	viewer_await(&b, &b.t.errors, "ERROR");
	ATF_CHECK_STREQ("session.ended", a.t.code);
	ATF_CHECK_STREQ("session.ended", b.t.code);
	ATF_CHECK_EQ(0, session_end(&s));
}

/* It comes when the session has just ended, or is killed. */
ATF_TC_WITHOUT_HEAD(session_ended);
ATF_TC_BODY(session_ended, tc)
{
	static struct viewer	v;

	begin();
	session_client(&s, MSG_EOF, NULL);
	s.cl.closed = true;		/* not read, so not over yet */
	while (waitid(P_PID, (id_t)s.init, &(siginfo_t){ 0 }, WEXITED |
	    WNOWAIT | WNOHANG) == 0 && s.sbxd.exited == 0)
		viewers_pump(&s, 5);
	if (s.sbxd.exited == 0) {
		viewer_exec(&s, &v, true, ARGV("true"));
		viewer_await(&v, &v.t.errors, "ERROR");
		ATF_CHECK_STREQ("session.ended", v.t.code);
	}
	s.cl.closed = false;
	ATF_CHECK_EQ(0, session_end(&s));
}

/* Many at once; one too many is told so. Then there is room again. */
ATF_TC_WITHOUT_HEAD(many);
ATF_TC_BODY(many, tc)
{
	static struct viewer	v[33];
	size_t			i;

	begin();
	for (i = 0; i < 32; i++)
		viewer_exec(&s, &v[i], i % 2 == 0, SH("read x; echo $x; "
		    "exit 2"));
	for (i = 0; i < 32; i++)
		viewer_await(&v[i], &v[i].t.running, "RUNNING");
	viewer_exec(&s, &v[32], false, ARGV("true"));
	viewer_await(&v[32], &v[32].t.errors, "ERROR");
	ATF_CHECK_STREQ("limit.commands", v[32].t.code);
	for (i = 0; i < 32; i++)
		viewer_say(&v[i], "word\n");
	for (i = 0; i < 32; i++) {
		viewer_await(&v[i], &v[i].t.exited, "EXITED");
		ATF_CHECK_EQ(2, v[i].t.status);
		ATF_CHECK(strstr(v[i].out[1], "word") != NULL);
	}
	ATF_CHECK_EQ(7, status(true, SH("exit 7")));
	end();
}

/*
 * A hostile init: the frames go to fd 4's other end, and sbxd's is kept aside.
 */
static struct test_helper	aside, in;
static struct session_opts	opts;

static void
init_gets(uint32_t type, uint32_t *id)
{
	struct msg	msg;

	test_expect(&in, type, &msg);
	if (id != NULL)
		*id = msg.id;
	msg_free(&msg);
}

static void
init_wires(uint32_t n)
{
	struct m_PTY	m = { .tty = false };
	int		p[2];

	for (m.n = 0; m.n < 3; m.n++) {
		ATF_REQUIRE(pipe2(p, O_CLOEXEC) == 0);
		test_send(&in, MSG_PTY, n, p[m.n == 0 ? 1 : 0], &m);
		close(p[m.n == 0 ? 0 : 1]);
	}
}

/* A session that runs, and a command that was added: its number. */
static uint32_t
init_up(struct viewer *v)
{
	struct m_SFD		m = { .session = SESSION_ID, .kind = "home" };
	struct m_RUNNING	running = { .pid = 2 };
	struct msg		msg;
	uint32_t		n;

	opts.argv = ARGV("true");
	opts.no_init = opts.alone = true;
	session_begin(&s, &opts);
	aside = s.w;
	TAILQ_INIT(&aside.ib.out);
	in = s.w;
	ATF_REQUIRE(imsg_init(&in.ib, s.init_sock, ROLE_INIT, ROLE_WORKER) ==
	    0);
	proc_hello(&in.ib, ROLE_INIT, ROLE_WORKER);
	init_gets(MSG_SETUP, NULL);
	test_send(&in, MSG_SFD, 0, open("/dev/null", O_RDWR), &m);
	m.kind = "project";
	test_send(&in, MSG_SFD, 0, open("/dev/null", O_RDWR), &m);
	test_expect(&aside, MSG_SFD, &msg);
	msg_free(&msg);
	test_expect(&aside, MSG_SFD, &msg);
	msg_free(&msg);
	m.kind = "tree";
	test_send(&aside, MSG_SFD, 0, open("/dev/null", O_RDWR), &m);
	init_gets(MSG_SFD, NULL);
	init_wires(0);
	test_send(&aside, MSG_GO, 0, -1, NULL);
	init_gets(MSG_GO, NULL);
	test_send(&in, MSG_RUNNING, 0, -1, &running);
	test_expect(&aside, MSG_RUNNING, &msg);
	msg_free(&msg);
	viewer_exec(&s, v, false, ARGV("true"));
	init_gets(MSG_EXEC, &n);
	ATF_REQUIRE(n != 0);
	return (n);
}

/* It has been dropped for it: sbxd is told, the client too, the worker lives
 * until sbxd closes. */
static void
init_down(struct viewer *v, const char *what)
{
	struct msg	msg;
	const char	*why = NULL;

	ATF_CHECK_EQ_MSG(0, imsg_recv(&in.ib, &msg, 5000, &why), "%s", what);
	test_expect(&aside, MSG_ERROR, &msg);
	ATF_CHECK_STREQ_MSG("init.protocol",
	    ((const struct m_ERROR *)msg.body)->code, "%s", what);
	msg_free(&msg);
	ATF_REQUIRE_EQ(1, imsg_recv(&v->ib, &msg, 5000, &why));
	if (msg.type == MSG_RUNNING) {
		msg_free(&msg);
		ATF_REQUIRE_EQ(1, imsg_recv(&v->ib, &msg, 5000, &why));
	}
	ATF_REQUIRE_EQ(MSG_ERROR, msg.type);
	ATF_CHECK_STREQ_MSG("session.ended",
	    ((const struct m_ERROR *)msg.body)->code, "%s", what);
	msg_free(&msg);
	ATF_CHECK_MSG(test_helper_end(&aside) == 0, "%s", what);
	imsg_clear(&in.ib);
	viewer_leave(v);
}

static void
init_says(uint32_t type, bool another, const void *body, const char *what)
{
	static struct viewer	v;
	uint32_t		n = init_up(&v);
	int			fd = type == MSG_PTY ?
				    open("/dev/null", O_RDWR) : -1;

	test_send(&in, type, another ? n + 1 : n, fd, body);
	init_down(&v, what);
}

ATF_TC_WITHOUT_HEAD(init_hostile);
ATF_TC_BODY(init_hostile, tc)
{
	struct m_PTY		pty = { .tty = false };
	struct m_RUNNING	running = { .pid = 3 };
	struct m_EXITED		exited = { .status = 0 };
	struct m_ERROR		error = { .code = "land.stale",
				    .message = "x" };
	static struct viewer	v;
	uint32_t		n;

	init_says(MSG_RUNNING, true, &running, "RUNNING of what never was");
	init_says(MSG_PTY, true, &pty, "PTY of what never was");
	init_says(MSG_EXITED, true, &exited, "EXITED of what never was");
	init_says(MSG_PTY, false, &pty, "/dev/null as pipe");
	pty.tty = true;
	init_says(MSG_PTY, false, &pty, "a terminal for pipes");
	init_says(MSG_RUNNING, false, &running, "RUNNING without pipes");
	init_says(MSG_EXITED, false, &exited, "EXITED before RUNNING");
	init_says(MSG_ERROR, false, &error, "an error of somebody else's");
	pty.tty = false;
	n = init_up(&v);
	init_wires(n);
	test_send(&in, MSG_PTY, n, open("/dev/null", O_RDWR), &pty);
	init_down(&v, "a fourth pipe");
	n = init_up(&v);
	init_wires(n);
	test_send(&in, MSG_RUNNING, n, -1, &running);
	test_send(&in, MSG_RUNNING, n, -1, &running);
	init_down(&v, "RUNNING twice");
}

/* init is slow, or frozen: what was given up meanwhile is killed when it
 * comes to run, and what is said of it is nobody's affair. */
ATF_TC_WITHOUT_HEAD(init_slow);
ATF_TC_BODY(init_slow, tc)
{
	struct m_RUNNING	 running = { .pid = 3 };
	struct m_EXITED		 exited = { .status = 137 };
	static struct viewer	 v;
	struct msg		 msg;
	uint32_t		 n = init_up(&v);

	viewer_leave(&v);
	sleep(8);
	init_wires(n);
	test_send(&in, MSG_RUNNING, n, -1, &running);
	test_expect(&in, MSG_SIGNAL, &msg);
	ATF_CHECK_EQ(n, msg.id);
	ATF_CHECK_EQ(SIGKILL, ((const struct m_SIGNAL *)msg.body)->sig);
	msg_free(&msg);
	test_send(&in, MSG_EXITED, n, -1, &exited);
	/* It has not been dropped for any of it. */
	test_send(&in, MSG_EXITED, 0, -1, &exited);
	imsg_clear(&in.ib);
	test_expect(&aside, MSG_EXITED, &msg);
	msg_free(&msg);
	ATF_CHECK(test_helper_end(&aside) == 0);
}

/* A broken word of sbxd's ends the worker. */
static void
broker_says(uint32_t type, uint32_t tag, int fd, const void *body,
    const char *what)
{
	static struct viewer	v;
	int			status;

	init_up(&v);
	test_send(&aside, type, tag, fd, body);
	ATF_REQUIRE(waitpid(aside.pid, &status, 0) == aside.pid);
	ATF_CHECK_MSG(WIFEXITED(status) && WEXITSTATUS(status) == 1, "%s: "
	    "wait status %#x", what, (unsigned int)status);
	imsg_clear(&aside.ib);
	imsg_clear(&in.ib);
	viewer_leave(&v);
}

ATF_TC_WITHOUT_HEAD(broker_broken);
ATF_TC_BODY(broker_broken, tc)
{
	static const char	*argv[] = { "true", NULL };
	struct m_EXEC		 m = { .session = "zzzzzzzzzzzz",
				    .argv = { 1, argv } };
	int			 sv[2];

	broker_says(MSG_EXEC, 7, -1, &m, "another session's");
	m.session = SESSION_ID;
	broker_says(MSG_EXEC, 0, -1, &m, "the session's own command");
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	broker_says(MSG_ATTACH, 7, sv[0], NULL, "a client of no command");
	close(sv[1]);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, pipes);
	ATF_TP_ADD_TC(tp, terminal);
	ATF_TP_ADD_TC(tp, statuses);
	ATF_TP_ADD_TC(tp, synced);
	ATF_TP_ADD_TC(tp, background);
	ATF_TP_ADD_TC(tp, hangup);
	ATF_TP_ADD_TC(tp, asleep);
	ATF_TP_ADD_TC(tp, session_ends);
	ATF_TP_ADD_TC(tp, session_ended);
	ATF_TP_ADD_TC(tp, many);
	ATF_TP_ADD_TC(tp, init_hostile);
	ATF_TP_ADD_TC(tp, init_slow);
	ATF_TP_ADD_TC(tp, broker_broken);
	return (atf_no_error());
}
