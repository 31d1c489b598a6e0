/*
 * Peers in the event loop: who may say what now, pauses, back-pressure.
 */
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privsep/peer.h"
#include "regress/lib/scripted.h"

/* netd's side is the peer under test, sbxd's a bare imsgbuf. */
static struct event_base	*base;
static struct imsgbuf		 far;
static struct peer		*near;
static char			 heard[4096];	/* names, one after another */
static char			 gone[256];	/* "" not yet, "eof", why */
static int			 drains;
static void			(*on_net)(struct peer *, struct msg *);

static void
note(const struct msg *msg)
{
	strlcat(heard, proto_name(msg->type), sizeof(heard));
	strlcat(heard, " ", sizeof(heard));
}

static void
on_any(struct peer *p, struct msg *msg)
{
	(void)p;
	note(msg);
}

static void
on_net_message(struct peer *p, struct msg *msg)
{
	note(msg);
	if (on_net != NULL)
		on_net(p, msg);
}

static void
on_gone(struct peer *p, const char *why)
{
	snprintf(gone, sizeof(gone), "%s", why == NULL ? "eof" : why);
	peer_free(p);
	near = NULL;
}

static void
on_drained(struct peer *p)
{
	ATF_REQUIRE(peer_queued(p) < LIMIT_OUTQ / 2);
	drains++;
}

static const struct handler table[] = {
	{ MSG_NET,	PERMIT_ALWAYS,	on_net_message },
	{ MSG_NETEND,	PERMIT_ONCE,	on_any },
	{ MSG_PROBE,	PERMIT_NO,	on_any },
	{ MSG_SFD,	PERMIT_ALWAYS,	on_any },
};
static const struct peer_ops ops = {
	.table = table, .n = sizeof(table) / sizeof(table[0]),
	.gone = on_gone, .drained = on_drained
};

static void
begin(void)
{
	int	sv[2];

	if (base == NULL)
		ATF_REQUIRE((base = event_base_new()) != NULL);
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) ==
	    0);
	ATF_REQUIRE(imsg_init(&far, sv[0], ROLE_SBXD, ROLE_NETD) == 0);
	near = peer_new(base, sv[1], ROLE_NETD, ROLE_SBXD, &ops, NULL);
	ATF_REQUIRE(near != NULL);
	heard[0] = gone[0] = '\0';
	drains = 0;
	on_net = NULL;
}

static void
end(void)
{
	peer_free(near);
	near = NULL;
	imsg_clear(&far);
}

/* Lets the loop run until there is nothing to do. */
static void
settle(void)
{
	int	i;

	for (i = 0; i < 20; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

static void
say(uint32_t type)
{
	struct m_NET	m = { .session = "s", .network = "host" };

	/* SID's field is NET's first. */
	ATF_REQUIRE_EQ(imsg_send(&far, type, 1, -1, &m), 0);
}

static void
must_hear(const char *want, const char *want_gone)
{
	if (strcmp(heard, want) != 0 || strcmp(gone, want_gone) != 0)
		atf_tc_fail("heard \"%s\", gone \"%s\"; not \"%s\", \"%s\"",
		    heard, gone, want, want_gone);
}

/* It answers, and is gone before it has read what it is sent next. */
ATF_TC_WITHOUT_HEAD(last_words);
ATF_TC_BODY(last_words, tc)
{
	struct m_SID	sid = { .session = "s" };

	begin();
	say(MSG_NET);
	say(MSG_NETEND);
	imsg_clear(&far);
	peer_send(near, MSG_NETUP, 1, -1, &sid);
	settle();
	must_hear("NET NETEND ", "eof");
	end();
	/* What it may not say is still wrong. */
	begin();
	say(MSG_NETEND);
	say(MSG_NETEND);
	say(MSG_NET);
	imsg_clear(&far);
	peer_send(near, MSG_NETUP, 1, -1, &sid);
	settle();
	must_hear("NETEND ", "NETEND: a message out of turn");
	end();
	/* One that is paused hears nothing more. */
	begin();
	peer_pause(near);
	say(MSG_NET);
	imsg_clear(&far);
	peer_send(near, MSG_NETUP, 1, -1, &sid);
	settle();
	must_hear("", "eof");
	end();
}

ATF_TC_WITHOUT_HEAD(permits);
ATF_TC_BODY(permits, tc)
{
	/* Always. */
	begin();
	say(MSG_NET);
	say(MSG_NET);
	settle();
	must_hear("NET NET ", "");
	end();
	/* Once, and the second time not. */
	begin();
	say(MSG_NETEND);
	settle();
	must_hear("NETEND ", "");
	say(MSG_NETEND);
	settle();
	must_hear("NETEND ", "NETEND: a message out of turn");
	end();
	/* Both in one read. */
	begin();
	say(MSG_NETEND);
	say(MSG_NETEND);
	say(MSG_NET);
	settle();
	must_hear("NETEND ", "NETEND: a message out of turn");
	end();
	/* Not before it was permitted. */
	begin();
	say(MSG_PROBE);
	settle();
	must_hear("", "PROBE: a message out of turn");
	end();
	begin();
	peer_permit(near, MSG_PROBE, PERMIT_ONCE);
	say(MSG_PROBE);
	settle();
	must_hear("PROBE ", "");
	peer_permit(near, MSG_NET, PERMIT_NO);
	say(MSG_NET);
	settle();
	must_hear("PROBE ", "NET: a message out of turn");
	end();
	/* Allowed by the list, but this program has no handler for it. */
	begin();
	say(MSG_OK);
	settle();
	must_hear("", "OK: a message that is not for this program");
	end();
}

ATF_TC_WITHOUT_HEAD(broken);
ATF_TC_BODY(broken, tc)
{
	struct frame	f = { .type = MSG_START, .body = "\x80",
			    .bodylen = 1, .mark = true, .nfds = 1 };

	/* What came before it was good is handled. */
	begin();
	say(MSG_NET);
	scripted_frame(far.fd, &f);
	say(MSG_NET);
	settle();
	must_hear("NET ", "a message that this peer may not send");
	end();
	begin();
	f.type = MSG_NET;
	f.mark = false;
	f.nfds = 0;
	scripted_frame(far.fd, &f);
	settle();
	must_hear("", "session: missing");
	end();
	begin();
	say(MSG_NET);
	scripted_raw(far.fd, "\1\0\0\0", 4);
	ATF_REQUIRE_EQ(shutdown(far.fd, SHUT_WR), 0);
	settle();
	must_hear("NET ", "closed in the middle of a message");
	end();
	begin();
	say(MSG_NET);
	ATF_REQUIRE_EQ(shutdown(far.fd, SHUT_WR), 0);
	settle();
	must_hear("NET ", "eof");
	end();
}

static void
pause_self(struct peer *p, struct msg *msg)
{
	(void)msg;
	peer_pause(p);
}

/* A pause holds what was read already, a full buffer, and an end behind it. */
ATF_TC_WITHOUT_HEAD(pauses);
ATF_TC_BODY(pauses, tc)
{
	int	i;

	begin();
	on_net = pause_self;
	for (i = 0; i < 3; i++)
		say(MSG_NET);
	settle();
	must_hear("NET ", "");
	peer_resume(near);
	settle();
	must_hear("NET NET ", "");
	say(MSG_NETEND);
	ATF_REQUIRE_EQ(shutdown(far.fd, SHUT_WR), 0);
	settle();
	must_hear("NET NET ", "");
	on_net = NULL;
	peer_resume(near);
	settle();
	must_hear("NET NET NET NETEND ", "eof");
	end();
}

static int	 counted;

static void
count(struct peer *p, struct msg *msg)
{
	(void)p;
	(void)msg;
	counted++;
	heard[0] = '\0';
}

static void
pause_count(struct peer *p, struct msg *msg)
{
	count(p, msg);
	peer_pause(p);
}

ATF_TC_WITHOUT_HEAD(pause_with_a_full_buffer);
ATF_TC_BODY(pause_with_a_full_buffer, tc)
{
	struct m_NET	m = { .session = "s", .network = "host" };
	int		sent, i;

	begin();
	counted = 0;
	on_net = pause_count;
	/* More than a buffer of small frames, read while paused. */
	for (sent = 0; sent < 4000; sent++) {
		ATF_REQUIRE_EQ(imsg_compose(&far, MSG_NET, 1, -1, &m), 0);
		ATF_REQUIRE(imsg_flush(&far) != -1);
	}
	settle();
	ATF_REQUIRE_EQ(counted, 1);
	for (i = 0; i < 100000 && counted < sent; i++) {
		peer_resume(near);
		event_base_loop(base, EVLOOP_NONBLOCK);
		ATF_REQUIRE(imsg_flush(&far) != -1);
	}
	ATF_REQUIRE_EQ(counted, sent);
	must_hear("", "");
	end();
}

static void
free_self(struct peer *p, struct msg *msg)
{
	(void)msg;
	peer_free(p);
	near = NULL;
}

/* A handler may end its own peer: no later message of it is handled. */
ATF_TC_WITHOUT_HEAD(free_in_a_handler);
ATF_TC_BODY(free_in_a_handler, tc)
{
	char	c;

	begin();
	on_net = free_self;
	say(MSG_NET);
	say(MSG_NET);
	settle();
	must_hear("NET ", "");
	ATF_REQUIRE(near == NULL);
	ATF_REQUIRE(recv(far.fd, &c, 1, 0) <= 0);
	end();
}

/* A peer that does not read: the queue grows, then drains, and says so. */
ATF_TC_WITHOUT_HEAD(back_pressure);
ATF_TC_BODY(back_pressure, tc)
{
	static char	 text[4000];
	struct m_TEXT	 m = { .level = "ok", .what = "x", .text = text };
	struct msg	 msg;
	const char	*why;
	int		 sent = 0, got = 0, r;

	memset(text, 'a', sizeof(text) - 1);
	begin();
	while (peer_queued(near) <= LIMIT_OUTQ) {
		peer_send(near, MSG_TEXT, (uint32_t)sent++, -1, &m);
		ATF_REQUIRE(sent < 10000);
	}
	settle();
	ATF_REQUIRE(peer_queued(near) > LIMIT_OUTQ / 2);
	ATF_REQUIRE_EQ(drains, 0);
	must_hear("", "");
	while (got < sent) {
		while ((r = imsg_next(&far, &msg, &why)) == 1) {
			ATF_REQUIRE_EQ(msg.id, (uint32_t)got);
			msg_free(&msg);
			got++;
		}
		ATF_REQUIRE_EQ(r, 0);
		if (got < sent && imsg_read(&far) == -1)
			ATF_REQUIRE_EQ(errno, EAGAIN);
		settle();
		ATF_REQUIRE(drains == 0 ||
		    peer_queued(near) < LIMIT_OUTQ / 2);
	}
	ATF_REQUIRE(drains > 0);
	ATF_REQUIRE_EQ(peer_queued(near), 0);
	end();
}

/*
 * A client that asks and does not read: what waits for it stays bounded,
 * nothing that it asked is lost once it reads, and others are served.
 */
static int	asked, answered;

static void
on_list(struct peer *p, struct msg *msg)
{
	static char	text[4000];
	struct m_TEXT	m = { .level = "ok", .what = "x", .text = text };

	memset(text, 'a', sizeof(text) - 1);
	answered++;
	peer_send(p, MSG_TEXT, msg->id, -1, &m);
}

static const struct handler	client_table[] = {
	{ MSG_LIST,	PERMIT_ALWAYS,	on_list },
};
static const struct peer_ops	client_ops = {
	.table = client_table, .n = 1, .gone = on_gone
};

static void
client_begin(void)
{
	int	sv[2];

	begin();
	end();
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) ==
	    0);
	ATF_REQUIRE(imsg_init(&far, sv[0], ROLE_CLIENT, ROLE_SBXD) == 0);
	near = peer_new(base, sv[1], ROLE_SBXD, ROLE_CLIENT, &client_ops,
	    NULL);
	ATF_REQUIRE(near != NULL);
	asked = answered = 0;
}

ATF_TC_WITHOUT_HEAD(client_that_does_not_read);
ATF_TC_BODY(client_that_does_not_read, tc)
{
	struct msg	 msg;
	const char	*why;
	int		 got = 0, r;

	client_begin();
	while (asked < 20000) {
		ATF_REQUIRE_EQ(imsg_compose(&far, MSG_LIST, (uint32_t)asked++,
		    -1, NULL), 0);
		ATF_REQUIRE(imsg_flush(&far) != -1);
		if (asked % 100 == 0)
			settle();
	}
	settle();
	ATF_REQUIRE(answered < asked);
	ATF_REQUIRE(peer_queued(near) > LIMIT_OUTQ);
	ATF_REQUIRE(peer_queued(near) < 3 * LIMIT_OUTQ);
	must_hear("", "");
	while (got < asked) {
		ATF_REQUIRE(imsg_flush(&far) != -1);
		while ((r = imsg_next(&far, &msg, &why)) == 1) {
			ATF_REQUIRE_EQ(msg.id, (uint32_t)got++);
			msg_free(&msg);
		}
		ATF_REQUIRE_EQ(r, 0);
		if (got < asked && imsg_read(&far) == -1)
			ATF_REQUIRE_EQ(errno, EAGAIN);
		event_base_loop(base, EVLOOP_NONBLOCK);
		ATF_REQUIRE(peer_queued(near) < 3 * LIMIT_OUTQ);
	}
	ATF_REQUIRE_EQ(answered, asked);
	/* Gone while it is choked. */
	while (peer_queued(near) <= 2 * LIMIT_OUTQ) {
		ATF_REQUIRE_EQ(imsg_compose(&far, MSG_LIST, 0, -1, NULL), 0);
		ATF_REQUIRE(imsg_flush(&far) != -1);
		settle();
	}
	imsg_clear(&far);
	settle();
	ATF_REQUIRE(near == NULL);
	must_hear("", "eof");
	far.fd = -1;
}

/* So many requests, all of which lie in near's socket then. */
static void
client_asks(int n)
{
	for (; n > 0; n--)
		ATF_REQUIRE_EQ(imsg_compose(&far, MSG_LIST, (uint32_t)asked++,
		    -1, NULL), 0);
	ATF_REQUIRE_EQ(imsg_flush(&far), 1);
}

/* One that has asked much in one go is not all that the loop does. */
ATF_TC_WITHOUT_HEAD(turns);
ATF_TC_BODY(turns, tc)
{
	int	i, before;

	client_begin();
	client_asks(200);
	for (i = 1; i <= 2; i++) {
		event_base_loop(base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
		ATF_REQUIRE_EQ(16 * i, answered);
	}
	/* Once its answers lie there, one more each time. */
	while (peer_queued(near) == 0)
		event_base_loop(base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
	ATF_REQUIRE(answered < 200);
	before = answered;
	event_base_loop(base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
	ATF_REQUIRE_EQ(before + 1, answered);
	/* Gone: what else it has asked for is nobody's. */
	imsg_clear(&far);
	settle();
	ATF_REQUIRE(answered <= before + 2);
	ATF_REQUIRE(near == NULL);
	must_hear("", "eof");
	/* Gone, with its answers unread, before any of it was handled. */
	client_begin();
	peer_send(near, MSG_END, 0, -1, NULL);
	client_asks(200);
	event_base_loop(base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
	before = answered;
	imsg_clear(&far);
	settle();
	ATF_REQUIRE(answered <= before + 1);
	must_hear("", "eof");
	far.fd = -1;
}

/* A full socket is not tried again for each message. */
ATF_TC_WITHOUT_HEAD(full_socket);
ATF_TC_BODY(full_socket, tc)
{
	struct m_TEXT	m = { .level = "ok", .what = "x", .text = "y" };
	char		buf[65536];
	size_t		queued;

	begin();
	while ((queued = peer_queued(near)) == 0)
		peer_send(near, MSG_TEXT, 0, -1, &m);
	/* There is room, but the loop has not said so. */
	while (recv(far.fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	peer_send(near, MSG_TEXT, 0, -1, &m);
	ATF_REQUIRE(peer_queued(near) > queued);
	settle();
	ATF_REQUIRE_EQ(peer_queued(near), 0);
	end();
}

/* Sending to one that has gone is no matter; gone is told once. */
ATF_TC_WITHOUT_HEAD(send_after_the_end);
ATF_TC_BODY(send_after_the_end, tc)
{
	struct m_SID	sid = { .session = "s" };

	begin();
	imsg_clear(&far);
	peer_send(near, MSG_NETUP, 0, -1, &sid);
	peer_send(near, MSG_NETUP, 0, -1, &sid);
	settle();
	must_hear("", "eof");
	ATF_REQUIRE(near == NULL);
	far.fd = -1;
}

ATF_TC_WITHOUT_HEAD(errors);
ATF_TC_BODY(errors, tc)
{
	struct msg		 msg;
	const struct m_ERROR	*e;
	const char		*why;

	begin();
	peer_error(near, 99, "net.mode", "no %s", "mode");
	ATF_REQUIRE_EQ(imsg_recv(&far, &msg, 1000, &why), 1);
	ATF_REQUIRE(msg.type == MSG_ERROR && msg.id == 99);
	e = msg.body;
	ATF_REQUIRE_STREQ(e->code, "net.mode");
	ATF_REQUIRE_STREQ(e->message, "no mode");
	ATF_REQUIRE(e->at == NULL);
	msg_free(&msg);
	/* Other people's bytes in it, and more of them than there is room. */
	peer_error(near, 1, "x", "%s", "a\xff" "b");
	peer_error(near, 2, "x", "%5000s\xe2\x82\xac", "long");
	ATF_REQUIRE_EQ(imsg_recv(&far, &msg, 1000, &why), 1);
	ATF_REQUIRE_EQ(msg.id, 1);
	msg_free(&msg);
	ATF_REQUIRE_EQ(imsg_recv(&far, &msg, 1000, &why), 1);
	ATF_REQUIRE_EQ(msg.id, 2);
	msg_free(&msg);
	end();
}

/* What fits no row costs a client, or a session's worker, and nobody else. */
ATF_TC_WITHOUT_HEAD(too_large);
ATF_TC_BODY(too_large, tc)
{
	static const enum role	theirs[] = { ROLE_CLIENT, ROLE_WORKER };
	static char		text[LIMIT_MESSAGE + 2];
	struct m_ERROR		e = { .code = "x", .message = text };
	size_t			i;
	int			sv[2];

	memset(text, 'x', LIMIT_MESSAGE + 1);
	ATF_REQUIRE((base = event_base_new()) != NULL);
	for (i = 0; i < sizeof(theirs) / sizeof(theirs[0]); i++) {
		ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
		    sv) == 0);
		heard[0] = gone[0] = '\0';
		near = peer_new(base, sv[0], ROLE_SBXD, theirs[i], &ops, NULL);
		ATF_REQUIRE(near != NULL);
		peer_send(near, MSG_ERROR, 0, -1, &e);
		settle();
		must_hear("", "a message could not be sent");
		close(sv[1]);
	}
}

ATF_TC_WITHOUT_HEAD(release);
ATF_TC_BODY(release, tc)
{
	int	fd = -1;

	begin();
	scripted_raw(far.fd, "\1", 1);
	settle();
	ATF_REQUIRE_EQ(peer_release(near, &fd), -1);
	ATF_REQUIRE_EQ(errno, EBUSY);
	ATF_REQUIRE_EQ(fd, -1);
	end();
	begin();
	ATF_REQUIRE_EQ(peer_release(near, &fd), 0);
	near = NULL;
	/* The socket works, and the loop has nothing to do with it. */
	say(MSG_NET);
	settle();
	must_hear("", "");
	ATF_REQUIRE(fcntl(fd, F_GETFD) == FD_CLOEXEC);
	ATF_REQUIRE_EQ(close(fd), 0);
	end();
}

static int	released = -1;

static void
release_self(struct peer *p, struct msg *msg)
{
	(void)msg;
	ATF_REQUIRE_EQ(peer_release(p, &released), 0);
	near = NULL;
}

/* ATTACH's way: the handler of the last message gives the socket away. */
ATF_TC_WITHOUT_HEAD(release_in_a_handler);
ATF_TC_BODY(release_in_a_handler, tc)
{
	char	c;

	begin();
	on_net = release_self;
	say(MSG_NET);
	settle();
	must_hear("NET ", "");
	ATF_REQUIRE(write(far.fd, "x", 1) == 1);
	ATF_REQUIRE(read(released, &c, 1) == 1 && c == 'x');
	close(released);
	end();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, permits);
	ATF_TP_ADD_TC(tp, last_words);
	ATF_TP_ADD_TC(tp, broken);
	ATF_TP_ADD_TC(tp, pauses);
	ATF_TP_ADD_TC(tp, pause_with_a_full_buffer);
	ATF_TP_ADD_TC(tp, free_in_a_handler);
	ATF_TP_ADD_TC(tp, back_pressure);
	ATF_TP_ADD_TC(tp, client_that_does_not_read);
	ATF_TP_ADD_TC(tp, turns);
	ATF_TP_ADD_TC(tp, full_socket);
	ATF_TP_ADD_TC(tp, send_after_the_end);
	ATF_TP_ADD_TC(tp, errors);
	ATF_TP_ADD_TC(tp, too_large);
	ATF_TP_ADD_TC(tp, release);
	ATF_TP_ADD_TC(tp, release_in_a_handler);
	return (atf_no_error());
}
