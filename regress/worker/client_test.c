/*
 * The worker and a hostile client, or one that never reads.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/scripted.h"
#include "session.h"

static struct session	s;

#define ARGV(...)	((const char *const[]){ __VA_ARGS__, NULL })

static struct test_helper	aside;	/* sbxd's end of the worker */
static struct session_opts	opts;

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
	ATF_CHECK_MSG(session_rss(s.w.pid) < SESSION_RSS_MAX, "%ld kB",
	    session_rss(s.w.pid));
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
	ATF_CHECK_MSG(session_rss(s.w.pid) < SESSION_RSS_MAX, "%ld kB",
	    session_rss(s.w.pid));
	session_hang_up(&s);
	ATF_CHECK_EQ(128 + SIGHUP, session_end(&s));
	test_clean_check();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, client_forbidden);
	ATF_TP_ADD_TC(tp, client_frames);
	ATF_TP_ADD_TC(tp, client_values);
	ATF_TP_ADD_TC(tp, client_garbage_running);
	ATF_TP_ADD_TC(tp, client_floods);
	ATF_TP_ADD_TC(tp, client_never_reads);
	return (atf_no_error());
}
