/*
 * Lifelines: who ends with whom; and the socket by which sbxd comes back.
 */
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

static int
null(void)
{
	int	fd;

	ATF_REQUIRE((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) != -1);
	return (fd);
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
	s.late = true;
	session_await(&s, &s.cl.exited, "EXITED for the client");
	ATF_CHECK_EQ(s.outlen[1], s.cl.past);
	ATF_CHECK_EQ(3000006, s.cl.gap + s.outlen[1]);
	ATF_CHECK(s.outlen[1] >= 1 << 20 && s.outlen[1] < (1 << 20) + 65536);
	ATF_CHECK_STREQ("x<last>", s.out[1] + s.outlen[1] - 7);
	ATF_CHECK_EQ(11, session_end(&s));
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, worker_killed);
	ATF_TP_ADD_TC(tp, broker_closes);
	ATF_TP_ADD_TC(tp, init_killed);
	ATF_TP_ADD_TC(tp, init_killed_early);
	ATF_TP_ADD_TC(tp, listen_strangers);
	ATF_TP_ADD_TC(tp, listen_adoption);
	ATF_TP_ADD_TC(tp, attach_late);
	return (atf_no_error());
}
