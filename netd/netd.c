/*
 * netd: the networks of sessions. It opens nothing and joins no namespace: it
 * works through the netlink sockets that a session's init opened inside and
 * passed out. The kernel asks both the opener of such a socket and its user
 * for CAP_NET_ADMIN over the namespace, so a socket from someone without it
 * is of no use here, and netd keeps just that one capability.
 *
 * Modes: "host", where there is nothing to do, and "none", loopback only.
 */
#include <sys/types.h>
#include <sys/queue.h>

#include <linux/capability.h>

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "../privsep/drop.h"
#include "../privsep/mode.h"
#include "../privsep/peer.h"
#include "../privsep/pledge.h"
#include "../privsep/proc.h"
#include "../privsep/unveil.h"

#include "netd.h"

/* A session that NET told of and NETEND has not ended. */
struct session {
	TAILQ_ENTRY(session)	 entry;
	char			*id;
	bool			 none;		/* a network of its own */
	bool			 up;		/* NETUP was sent */
};
static TAILQ_HEAD(, session) sessions = TAILQ_HEAD_INITIALIZER(sessions);

static struct session *
session_find(const char *id)
{
	struct session	*s;

	TAILQ_FOREACH(s, &sessions, entry)
		if (strcmp(s->id, id) == 0)
			return (s);
	return (NULL);
}

static struct session *
session_new(const char *id, bool none)
{
	struct session	*s;

	if ((s = calloc(1, sizeof(*s))) == NULL ||
	    (s->id = strdup(id)) == NULL)
		fatal("session %s", id);
	s->none = none;
	TAILQ_INSERT_TAIL(&sessions, s, entry);
	return (s);
}

static void
session_free(struct session *s)
{
	TAILQ_REMOVE(&sessions, s, entry);
	free(s->id);
	free(s);
}

/* One session's failure: said to the broker, which ends that session. */
static void
netd_refuse(struct peer *p, const struct msg *msg, const char *sid,
    const char *code, const char *why)
{
	struct m_ERROR	e = { .code = code, .message = why, .at = sid };

	peer_send(p, MSG_ERROR, msg->id, -1, &e);
}

static void
netd_up(struct peer *p, const struct msg *msg, struct session *s)
{
	struct m_SID	body = { .session = s->id };

	s->up = true;
	peer_send(p, MSG_NETUP, msg->id, -1, &body);
}

static void
netd_on_net(struct peer *p, struct msg *msg)
{
	const struct m_NET	*m = msg->body;
	struct session		*s;
	bool			 none = strcmp(m->network, "none") == 0;
	char			 why[128];

	if (session_find(m->session) != NULL) {
		netd_refuse(p, msg, m->session, "net.twice",
		    "this session's network was asked for before");
		return;
	}
	if (!none && strcmp(m->network, "host") != 0) {
		snprintf(why, sizeof(why), "network \"%s\" is unknown: "
		    "\"host\" or \"none\"", m->network);
		netd_refuse(p, msg, m->session, "net.mode", why);
		return;
	}
	s = session_new(m->session, none);
	if (!none)
		netd_up(p, msg, s);
}

/*
 * A netlink socket out of a session. The descriptor comes from init, by way
 * of the worker and the broker: nothing about it is believed.
 */
static void
netd_on_sfd(struct peer *p, struct msg *msg)
{
	const struct m_SFD	*m = msg->body;
	struct session		*s = session_find(m->session);
	const char		*code = "net.socket", *why = NULL;
	char			 reason[256];
	int			 fd = msg_take_fd(msg);

	if (s == NULL) {
		code = "session.unknown";
		why = "no network was asked for this session";
	} else if (strcmp(m->kind, "route") != 0 || m->n != 0)
		why = "only one socket of kind \"route\" is wanted";
	else if (!s->none)
		why = "a session with the host's network has no sockets here";
	else if (s->up)
		why = "a second route socket";
	else if (link_check(fd, reason, sizeof(reason)) == -1 ||
	    link_up(fd, "lo", reason, sizeof(reason)) == -1)
		why = reason;
	close(fd);
	if (why != NULL)
		netd_refuse(p, msg, m->session, code, why);
	else
		netd_up(p, msg, s);
}

static void
netd_on_netend(struct peer *p, struct msg *msg)
{
	const struct m_SID	*m = msg->body;
	struct session		*s = session_find(m->session);

	if (s == NULL)
		netd_refuse(p, msg, m->session, "session.unknown",
		    "no network was asked for this session");
	else
		session_free(s);
}

static void
netd_on_probe(struct peer *p, struct msg *msg)
{
	struct m_TEXT	t = { .level = "ok", .what = "network" };

	t.text = "modes host and none: loopback in a session's own namespace "
	    "is brought up by netlink with CAP_NET_ADMIN";
	peer_send(p, MSG_TEXT, msg->id, -1, &t);
	if (!link_knows_host()) {
		t.level = "warn";
		t.text = "this kernel has no SO_NETNS_COOKIE (Linux 5.14): a "
		    "socket of the host's own network is told from a "
		    "session's by its opener's rights only";
		peer_send(p, MSG_TEXT, msg->id, -1, &t);
	}
	peer_send(p, MSG_END, msg->id, -1, NULL);
}

static const struct handler netd_handlers[] = {
	{ MSG_NET,	PERMIT_ALWAYS,	netd_on_net },
	{ MSG_SFD,	PERMIT_ALWAYS,	netd_on_sfd },
	{ MSG_NETEND,	PERMIT_ALWAYS,	netd_on_netend },
	{ MSG_PROBE,	PERMIT_ALWAYS,	netd_on_probe },
};

static void
netd_gone(struct peer *p, const char *why)
{
	if (why != NULL)
		fatalx("from sbxd: %s", why);
	peer_free(p);
	exit(0);
}

static const struct peer_ops netd_ops = {
	.table = netd_handlers,
	.n = sizeof(netd_handlers) / sizeof(netd_handlers[0]),
	.gone = netd_gone,
};

static void
netd_confine(const struct m_SUITE *suite, struct imsgbuf *ib)
{
	struct drop	d = { .keep = CAP_BIT(CAP_NET_ADMIN) };

	proc_suite_ids(suite, UID_NETD, &d);
	mode_enter(ib);
	drop_to(&d);
	unveil_end(unveil_begin());
	pledge(PLEDGE_NETD);
}

int
main(void)
{
	struct event_base	*base;
	struct peer		*p;
	struct msg		 msg;

	proc_begin("netd", PROC_FD + 1);
	mode_begin();
	drop_limits(256, 256 << 20);
	if ((base = event_base_new()) == NULL)
		fatalx("no event loop");
	p = peer_new(base, PROC_FD, ROLE_NETD, ROLE_SBXD, &netd_ops, NULL);
	if (p == NULL)
		fatal("fd %d", PROC_FD);
	/* Until the loop runs messages are taken one by one. */
	peer_pause(p);
	proc_hello(&p->ib, ROLE_NETD, ROLE_SBXD);
	proc_expect(&p->ib, MSG_SUITE, &msg);
	link_learn_host(PROC_FD);
	netd_confine(msg.body, &p->ib);
	msg_free(&msg);
	peer_send(p, MSG_READY, 0, -1, NULL);
	peer_resume(p);
	event_base_dispatch(base);
	fatalx("the event loop ended");
}
