/*
 * sbxd as the real program: hostile clients, which it must outlive, and
 * helpers that have gone bad, which it must not.
 */
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

#include "privsep/proc.h"
#include "broker.h"
#include "regress/lib/scripted.h"

/*
 * Clients
 */
static void
client_up(struct test_helper *h)
{
	memset(h, 0, sizeof(*h));
	h->pid = -1;
	ATF_REQUIRE(imsg_init(&h->ib, broker_connect(), ROLE_CLIENT,
	    ROLE_SBXD) == 0);
}

static void
client_greeted(struct test_helper *h)
{
	client_up(h);
	proc_hello(&h->ib, ROLE_CLIENT, ROLE_SBXD);
}

/* The broker lives and answers the next one. */
static void
client_down(struct test_helper *unused)
{
	struct test_helper	h;
	struct msg		msg;

	(void)unused;
	ATF_REQUIRE_EQ(waitpid(broker, NULL, WNOHANG), 0);
	client_greeted(&h);
	test_send(&h, MSG_LIST, 5, -1, NULL);
	test_expect(&h, MSG_END, &msg);
	ATF_REQUIRE_EQ(msg.id, 5);
	msg_free(&msg);
	imsg_clear(&h.ib);
}

static const uint32_t	fresh_may[] = { MSG_HELLO, 0 };
static const uint32_t	greeted_may[] = {
	MSG_REMOVE, MSG_NEW, MSG_LIST, MSG_SHOW, MSG_WAIT, MSG_CHANGES,
	MSG_PATCH, MSG_APPLY, MSG_DISCARD, MSG_DOCTOR, MSG_JOIN, MSG_EXEC,
	MSG_STOP, MSG_KILL, MSG_RESUME, MSG_DU, MSG_GC, MSG_EXPLAIN,
	MSG_OUTSIDE, 0
};
static const struct scripted	fresh = {
	.up = client_up, .down = client_down, .may = fresh_may, .drops = true
};
static const struct scripted	greeted = {
	.up = client_greeted, .down = client_down, .may = greeted_may,
	.drops = true
};

ATF_TC_WITHOUT_HEAD(clients_before_hello);
ATF_TC_BODY(clients_before_hello, tc)
{
	broker_start(test_program("sbin/sbxd"));
	scripted_forbidden(&fresh);
	scripted_garbage(&fresh);
	scripted_descriptors(&fresh);
	broker_stop();
}

ATF_TC_WITHOUT_HEAD(clients_after_hello);
ATF_TC_BODY(clients_after_hello, tc)
{
	broker_start(test_program("sbin/sbxd"));
	scripted_forbidden(&greeted);
	scripted_garbage(&greeted);
	scripted_descriptors(&greeted);
	broker_stop();
}

/* Where it knows what was broken the client is told before it is dropped. */
ATF_TC_WITHOUT_HEAD(clients_are_told);
ATF_TC_BODY(clients_are_told, tc)
{
	const struct m_ERROR	*e;
	struct test_helper	 h;
	struct m_HELLO		 hello;
	struct msg		 msg;
	const char		*why;

	broker_start(test_program("sbin/sbxd"));
	client_greeted(&h);
	scripted_raw(h.ib.fd, "GET / HTTP/1.1\r\n\r\n", 18);
	test_expect(&h, MSG_ERROR, &msg);
	e = msg.body;
	ATF_REQUIRE_STREQ(e->code, "protocol.broken");
	msg_free(&msg);
	ATF_REQUIRE_EQ(imsg_recv(&h.ib, &msg, 5000, &why), 0);
	imsg_clear(&h.ib);
	/* Another protocol. */
	client_up(&h);
	proc_hello_fill(&hello, ROLE_CLIENT);
	hello.protocol = 2;
	test_send(&h, MSG_HELLO, 3, -1, &hello);
	test_expect(&h, MSG_HELLO, &msg);
	msg_free(&msg);
	test_expect(&h, MSG_ERROR, &msg);
	e = msg.body;
	ATF_REQUIRE_STREQ(e->code, "protocol.version");
	ATF_REQUIRE_EQ(msg.id, 3);
	msg_free(&msg);
	ATF_REQUIRE_EQ(imsg_recv(&h.ib, &msg, 5000, &why), 0);
	imsg_clear(&h.ib);
	client_down(NULL);
	broker_stop();
}

/*
 * DOCTOR
 */
/* So many requests, in one write. */
static void
ask_doctor(struct test_helper *h, uint32_t n)
{
	uint32_t	i;

	for (i = 1; i <= n; i++)
		ATF_REQUIRE_EQ(0, imsg_compose(&h->ib, MSG_DOCTOR, i, -1,
		    NULL));
	ATF_REQUIRE_EQ(1, imsg_flush(&h->ib));
}

/* What comes after some TEXTs, at least one or none. */
static void
doctor_says(struct test_helper *h, bool texts, uint32_t type, uint32_t id)
{
	struct msg	msg;
	const char	*why;
	int		 n;

	for (n = 0;; n++) {
		ATF_REQUIRE_EQ(1, imsg_recv(&h->ib, &msg, 20000, &why));
		if (msg.type != MSG_TEXT)
			break;
		msg_free(&msg);
	}
	if (msg.type != type || msg.id != id || texts != (n > 0)) {
		test_sh("cat '%s' >&2", log_path);
		atf_tc_fail("%s %u after %d lines, not %s %u",
		    proto_name(msg.type), msg.id, n, proto_name(type), id);
	}
	msg_free(&msg);
}

/* Who asks while there is a probe is told by one more, all by the same, and
 * there is none for those that have left. */
ATF_TC_WITHOUT_HEAD(doctors_at_once);
ATF_TC_BODY(doctors_at_once, tc)
{
	struct test_helper	h, left;
	struct msg		msg;

	broker_start(test_program("sbin/sbxd"));
	client_greeted(&left);
	client_greeted(&h);
	ask_doctor(&h, 4);
	test_expect(&h, MSG_TEXT, &msg);
	msg_free(&msg);
	ask_doctor(&left, 64);
	imsg_clear(&left.ib);
	doctor_says(&h, true, MSG_END, 1);
	doctor_says(&h, true, MSG_END, 2);
	doctor_says(&h, false, MSG_END, 3);
	doctor_says(&h, false, MSG_END, 4);
	/* Gone while it is probed for it. */
	client_greeted(&left);
	ask_doctor(&left, 1);
	imsg_clear(&left.ib);
	ask_doctor(&h, 1);
	doctor_says(&h, true, MSG_END, 1);
	imsg_clear(&h.ib);
	broker_stop();
}

ATF_TC(doctors_of_a_uid);
ATF_TC_HEAD(doctors_of_a_uid, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(doctors_of_a_uid, tc)
{
	struct test_helper	h;
	uint32_t		i;

	broker_start(test_program("sbin/sbxd"));
	broker_ready();
	ATF_REQUIRE_EQ(0, test_sh("chmod 0666 '%s'", test_path(
	    "state/sbxd.sock")));
	ATF_REQUIRE_EQ(0, seteuid(4711));
	client_greeted(&h);
	ATF_REQUIRE_EQ(0, seteuid(0));
	ask_doctor(&h, 9);
	doctor_says(&h, true, MSG_ERROR, 9);
	doctor_says(&h, true, MSG_END, 1);
	for (i = 2; i < 9; i++)
		doctor_says(&h, i == 2, MSG_END, i);
	ask_doctor(&h, 1);
	doctor_says(&h, true, MSG_END, 1);
	imsg_clear(&h.ib);
	client_greeted(&h);
	ask_doctor(&h, 9);
	doctor_says(&h, true, MSG_END, 1);
	imsg_clear(&h.ib);
	broker_stop();
}

/*
 * Helpers. A copy of the build in which one of them is the fake.
 */
static char	suite[PATH_MAX];

static void
suite_copy(const char *faked)
{
	snprintf(suite, sizeof(suite), "%s/suite", test_scratch());
	/* Of the last one a child may not have executed its helper yet. */
	ATF_REQUIRE_EQ(test_sh("rm -rf %s && mkdir -p %s/sbin %s/libexec && "
	    "cp %s %s/sbin/sbxd && cp -r %s %s/libexec/sbx && "
	    "cp %s %s/libexec/sbx/%s", suite, suite, suite,
	    test_program("sbin/sbxd"), suite, test_program("libexec/sbx"),
	    suite, test_program("regress/privsep/fake_helper"), suite,
	    faked), 0);
}

/* sbxd must end with status 1, by a line that names the helper and this. */
static void
must_end(const char *say, const char *helper, const char *text)
{
	int	status, ms;

	ATF_REQUIRE_EQ(test_sh("echo %s >%s", say, test_path("say")), 0);
	broker_start(test_path("suite/sbin/sbxd"));
	for (ms = 0; ms < 10000; ms += 5) {
		if (waitpid(broker, &status, WNOHANG) == broker)
			break;
		usleep(5000);
	}
	if (ms >= 10000) {
		kill(broker, SIGKILL);
		atf_tc_fail("%s: %s: sbxd goes on", helper, say);
	}
	if (status != 1 << 8 || test_sh("grep 'sbxd: fatal: .*%s' '%s' | "
	    "grep -q '%s'", helper, log_path, text) != 0) {
		test_sh("cat '%s'", log_path);
		atf_tc_fail("%s: %s: status %#x", helper, say,
		    (unsigned int)status);
	}
}

/* What it may say by the list, but is no answer of this helper's; what it may
 * not say at all; and what is no message. */
static void
gone_bad(const char *name, enum role role, const uint32_t *may)
{
	const uint32_t	*m;
	uint32_t	 type, refused = 0;
	char		 say[16];

	suite_copy(name);
	must_end("junk", name, "a message that this peer may not send\\|an "
	    "unknown message\\|a length out of bounds");
	must_end("half", name, "closed in the middle of a message");
	/* Of the two on the channel the other ends as well. */
	must_end("end", role == ROLE_SPAWN || role == ROLE_LANDD ?
	    "\\(spawn\\|landd\\)" : name, "has ended");
	for (type = MSG_INVALID + 1; type < MSG_COUNT; type++) {
		for (m = may; *m != 0 && *m != type; m++)
			;
		if (*m != 0 || type == MSG_PART)
			continue;
		/* Of those that the list forbids, a few. */
		if (!proto_may(type, role, ROLE_SBXD) && ++refused % 12 != 0)
			continue;
		snprintf(say, sizeof(say), "%u", type);
		must_end(say, name, proto_may(type, role, ROLE_SBXD) ?
		    "not for this program\\|out of turn" : "may not send");
	}
}

ATF_TC_WITHOUT_HEAD(bad_netd);
ATF_TC_BODY(bad_netd, tc)
{
	static const uint32_t	may[] = {
		MSG_NETUP, MSG_TEXT, MSG_END, MSG_ERROR, 0
	};

	gone_bad("netd", ROLE_NETD, may);
}

ATF_TC_WITHOUT_HEAD(bad_spawn);
ATF_TC_BODY(bad_spawn, tc)
{
	static const uint32_t	may[] = {
		MSG_SFD, MSG_STARTED, MSG_SENDED, MSG_KILLED, MSG_FROZEN,
		MSG_THAWED, MSG_TEXT, MSG_SWEPT, MSG_SPARE,
		MSG_ERROR, 0
	};

	gone_bad("spawn", ROLE_SPAWN, may);
}

ATF_TC_WITHOUT_HEAD(bad_mountd);
ATF_TC_BODY(bad_mountd, tc)
{
	static const uint32_t	may[] = {
		MSG_SFD, MSG_MOUNTED, MSG_REFRESHED, MSG_RELEASED, MSG_LFD,
		MSG_VIEWED, MSG_CLEANED, MSG_ERASED, MSG_PRISTINE, MSG_STRAYED,
		MSG_TEXT, MSG_END, MSG_MEASURED, MSG_EXPLAINED, MSG_LAYER,
		MSG_ERROR, 0
	};

	gone_bad("mountd", ROLE_MOUNTD, may);
}

ATF_TC_WITHOUT_HEAD(bad_landd);
ATF_TC_BODY(bad_landd, tc)
{
	static const uint32_t	may[] = {
		MSG_SEALED, MSG_LFD, MSG_STAGED, MSG_CHANGE, MSG_SKIPPED,
		MSG_IGNORED, MSG_LANDING, MSG_LANDED, MSG_FOUND, MSG_COUNTED,
		MSG_END, MSG_ERROR, 0
	};

	gone_bad("landd", ROLE_LANDD, may);
}

/* One that does not even come up, each in turn: one line says which. */
ATF_TC_WITHOUT_HEAD(helpers_that_do_not_start);
ATF_TC_BODY(helpers_that_do_not_start, tc)
{
	static const char *const	names[] = {
		"spawn", "netd", "mountd", "landd", "conf"
	};
	int				status;
	size_t				i, j;
	const char *const		how[] = {
		"cp /bin/false", "printf '#!/bin/sh\nkill -9 $$\n' >", "rm"
	};

	/* Without a file conf is not asked. */
	ATF_REQUIRE_EQ(0, test_sh("echo '{}' >'%s'", test_path("sbxd.conf")));
	broker_conf = strdup(test_path("sbxd.conf"));
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (j = 0; j < sizeof(how) / sizeof(how[0]); j++) {
			suite_copy(names[i]);
			ATF_REQUIRE_EQ(test_sh("%s %s/libexec/sbx/%s", how[j],
			    suite, names[i]), 0);
			broker_start(test_path("suite/sbin/sbxd"));
			ATF_REQUIRE(waitpid(broker, &status, 0) == broker);
			if (status == 1 << 8 && test_sh("test $(grep -c fatal "
			    "'%s') = 1 && grep -q 'sbxd: fatal: .*%s' '%s'",
			    log_path, names[i], log_path) == 0)
				continue;
			test_sh("cat '%s'", log_path);
			atf_tc_fail("%s, %zu: status %#x", names[i], j,
			    (unsigned int)status);
		}
}

/* Where there is no file, nothing is started to say so. */
ATF_TC_WITHOUT_HEAD(conf_without_file);
ATF_TC_BODY(conf_without_file, tc)
{
	ATF_REQUIRE_EQ(0, test_sh("! test -d /etc/sbx || "
	    "mount -t tmpfs t /etc/sbx"));
	suite_copy("conf");
	ATF_REQUIRE_EQ(0, test_sh("rm %s/libexec/sbx/conf", suite));
	broker_start(test_path("suite/sbin/sbxd"));
	broker_ready();
	broker_stop();
}

/* Answers about sessions and jobs that there are none of: nobody is harmed,
 * the broker goes on or ends by its own word, never by a signal. */
ATF_TC_WITHOUT_HEAD(answers_out_of_nowhere);
ATF_TC_BODY(answers_out_of_nowhere, tc)
{
	static const struct {
		const char	*name;
		uint32_t	 type[16];
	} t[] = {
		{ "netd", { MSG_NETUP, MSG_TEXT, MSG_END, MSG_ERROR } },
		{ "spawn", { MSG_SFD, MSG_STARTED, MSG_SENDED, MSG_KILLED,
		    MSG_FROZEN, MSG_THAWED, MSG_TEXT, MSG_ERROR } },
		{ "mountd", { MSG_SFD, MSG_MOUNTED, MSG_REFRESHED,
		    MSG_RELEASED, MSG_LFD, MSG_VIEWED, MSG_CLEANED,
		    MSG_ERASED, MSG_PRISTINE, MSG_STRAYED, MSG_LAYER,
		    MSG_TEXT, MSG_END, MSG_ERROR } },
		{ "landd", { MSG_SEALED, MSG_LFD, MSG_STAGED, MSG_CHANGE,
		    MSG_SKIPPED, MSG_IGNORED, MSG_LANDING, MSG_LANDED,
		    MSG_FOUND, MSG_COUNTED, MSG_END, MSG_ERROR } },
	};
	int	status, r;
	size_t	i, j;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		suite_copy(t[i].name);
		for (j = 0; t[i].type[j] != 0; j++) {
			ATF_REQUIRE_EQ(test_sh("echo %u >%s", t[i].type[j],
			    test_path("say")), 0);
			broker_start(test_path("suite/sbin/sbxd"));
			usleep(150000);
			r = waitpid(broker, &status, WNOHANG);
			if (r == 0) {
				client_down(NULL);
				kill(broker, SIGKILL);
				waitpid(broker, &status, 0);
				continue;
			}
			if (!WIFEXITED(status) || WEXITSTATUS(status) != 1) {
				test_sh("cat '%s'", log_path);
				atf_tc_fail("%s: %s: status %#x", t[i].name,
				    proto_name(t[i].type[j]),
				    (unsigned int)status);
			}
		}
	}
}

/* Within ten seconds this succeeds. */
static void
comes(const char *what)
{
	int	i;

	for (i = 0; test_sh("cd '%s' && %s", test_scratch(), what) != 0; i++) {
		if (i == 500) {
			test_sh("cat '%s' '%s'", log_path, test_path("new"));
			atf_tc_fail("it does not come: %s", what);
		}
		usleep(20000);
	}
}

/* What has another number is no answer to this start's NET, or SEAL. */
static void
answered_late(const char *helper, const char *rest)
{
	char	starting[256];

	suite_copy(helper);
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && rm -rf asked go ended state p && "
	    "mkdir p && echo late >say", test_scratch()));
	broker_start(test_path("suite/sbin/sbxd"));
	broker_ready();
	snprintf(starting, sizeof(starting), "%s ls | grep -q ' starting '",
	    test_program("bin/sbxctl"));
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && { '%s' new --repo p -- sleep "
	    "1000 >new 2>&1; echo $? >ended; } </dev/null &", test_scratch(),
	    test_program("bin/sbxctl")));
	comes("test -e asked");
	/* All that a start waits for is there, but this. */
	comes(rest);
	usleep(200000);
	comes(starting);
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && test ! -e ended && touch go",
	    test_scratch()));
	comes("test -s ended");
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && test $(cat ended) = 0 || "
	    "{ cat new; false; }", test_scratch()));
	broker_stop();
}

ATF_TC_WITHOUT_HEAD(numbers);
ATF_TC_BODY(numbers, tc)
{
	answered_late("netd", "test -s state/sbxd/*/seal");
	answered_late("landd", "test ! -e state/sbxd/*/seal");
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, clients_before_hello);
	ATF_TP_ADD_TC(tp, clients_after_hello);
	ATF_TP_ADD_TC(tp, clients_are_told);
	ATF_TP_ADD_TC(tp, doctors_at_once);
	ATF_TP_ADD_TC(tp, doctors_of_a_uid);
	ATF_TP_ADD_TC(tp, bad_netd);
	ATF_TP_ADD_TC(tp, bad_spawn);
	ATF_TP_ADD_TC(tp, bad_mountd);
	ATF_TP_ADD_TC(tp, bad_landd);
	ATF_TP_ADD_TC(tp, helpers_that_do_not_start);
	ATF_TP_ADD_TC(tp, conf_without_file);
	ATF_TP_ADD_TC(tp, answers_out_of_nowhere);
	ATF_TP_ADD_TC(tp, numbers);
	return (atf_no_error());
}
