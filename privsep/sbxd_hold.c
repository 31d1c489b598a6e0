/*
 * Requests that came while their session is looked at, and are heard again once
 * that is over. An EXEC, since without a control group the session's first
 * process goes on meanwhile, and what it starts would write into what is read;
 * of those that came just before, which it may not have read yet, it says when
 * they have begun: what is a process by then is stopped as all others are. A
 * RESUME, whose client need not know who looks.
 */
#include <sys/socket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/log.h"
#include "sbxd.h"

/* Its client is not read: there is one of a client's at most. */
struct hold {
	TAILQ_ENTRY(hold) entry;
	struct client	*client;
	struct msg	 msg;
	void		(*again)(struct peer *, struct msg *);
};
static TAILQ_HEAD(holds, hold)	holds = TAILQ_HEAD_INITIALIZER(holds);

static struct event	*again;

/* An init that does not answer means to go on: that is read, but nothing of it
 * lands. */
static const struct timeval	settle_wait = { .tv_sec = 2 };

/* What lands is held until all is done, what is only looked at until it is
 * copied. */
static bool
session_is_held(const struct session *s)
{
	const struct job	*j = s->job;

	/* A list of names stops nobody. */
	return (j != NULL && j->live && j->what != J_OUTSIDE &&
	    (!j->staged || job_writes(j)));
}

/* Who has gone meanwhile wants nothing any more. */
static bool
hold_is_wanted(const struct hold *h)
{
	char		c;
	struct iovec	iov = { &c, 1 };
	struct msghdr	mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	return (recvmsg(h->client->peer->ib.fd, &mh, MSG_PEEK |
	    MSG_DONTWAIT) != 0);
}

/* All of them: whose session is looked at still comes back. */
static void
holds_go(evutil_socket_t fd, short what, void *arg)
{
	struct hold	*h, *last = TAILQ_LAST(&holds, holds);
	bool		 more = last != NULL;

	(void)fd;
	(void)what;
	(void)arg;
	while (more && (h = TAILQ_FIRST(&holds)) != NULL) {
		more = h != last;
		TAILQ_REMOVE(&holds, h, entry);
		peer_resume(h->client->peer);
		if (hold_is_wanted(h))
			h->again(h->client->peer, &h->msg);
		msg_free(&h->msg);
		free(h);
	}
}

/* By the loop: who calls is in the middle of a job's end, or a client's. */
void
holds_soon(void)
{
	if (TAILQ_EMPTY(&holds))
		return;
	if (again == NULL &&
	    (again = event_new(sbxd.base, -1, 0, holds_go, NULL)) == NULL)
		fatalx("an event");
	event_active(again, 0, 0);
}

static void
hold(struct peer *p, struct msg *msg, void (*handler)(struct peer *,
    struct msg *))
{
	struct hold	*h;

	if ((h = calloc(1, sizeof(*h))) == NULL)
		fatal("a request");
	h->client = p->ctx;
	h->again = handler;
	h->msg = *msg;
	memset(msg, 0, sizeof(*msg));
	msg->fd = -1;
	TAILQ_INSERT_TAIL(&holds, h, entry);
	peer_pause(p);
}

bool
hold_exec(struct peer *p, struct msg *msg, const struct session *s)
{
	if (!session_is_held(s))
		return (false);
	hold(p, msg, client_on_exec);
	return (true);
}

bool
hold_resume(struct peer *p, struct msg *msg, const struct session *s)
{
	if (s->job == NULL || s->state != S_ENDED || sbxd.stopping)
		return (false);
	hold(p, msg, client_on_resume);
	return (true);
}

void
hold_client_gone(const struct client *c)
{
	struct hold	*h, *next;

	TAILQ_FOREACH_SAFE(h, &holds, entry, next)
		if (h->client == c) {
			TAILQ_REMOVE(&holds, h, entry);
			msg_free(&h->msg);
			free(h);
		}
}

static void
settle_failed(struct job *j, const char *what)
{
	char	why[128];

	snprintf(why, sizeof(why), "session %s cannot be frozen: %s",
	    j->session->rec.r.session, what);
	log_info("%s", why);
	j->freezing = true;
	job_frozen(j, why);
}

static void
settle_end(struct job *j)
{
	struct session	*s = j->session;
	struct m_SID	 sid = { .session = s->rec.r.session };

	if (j->settling != NULL)
		event_free(j->settling);
	j->settling = NULL;
	if (s->state != S_RUNNING) {
		settle_failed(j, "it is being ended");
		return;
	}
	j->freezing = true;
	peer_send(sbxd.helper[H_SPAWN], MSG_FREEZE, j->id, -1, &sid);
}

static void
settle_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct job	*j = arg;

	(void)fd;
	(void)what;
	if (job_writes(j))
		settle_failed(j, "its first process does not say what it has "
		    "begun");
	else
		settle_end(j);
}

/* With a control group its first process is frozen, too. */
void
hold_freeze(struct job *j)
{
	struct session	*s = j->session;

	if (sbxd.cgroup[0] != '\0' || s->worker == NULL) {
		settle_end(j);
		return;
	}
	j->settling = evtimer_new(sbxd.base, settle_on_timer, j);
	if (j->settling == NULL || event_add(j->settling, &settle_wait) == -1)
		fatalx("a timer");
	peer_send(s->worker, MSG_SYNC, j->id, -1, NULL);
}

void
hold_settled(const struct session *s, uint32_t number)
{
	struct job	*j = s->job;

	if (j != NULL && j->settling != NULL && j->id == number)
		settle_end(j);
}

void
hold_session_ends(const struct session *s)
{
	if (s->job != NULL && s->job->settling != NULL)
		settle_end(s->job);
}
