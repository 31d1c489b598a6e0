/*
 * Clients: sbxd hands their sockets over when they attach. What a client
 * sends is its session's own affair, but none of it ends the worker, and none
 * of them slows another: each has its own place in the output.
 */
#include <sys/stat.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "../privsep/pledge.h"
#include "worker.h"

static void
client_free(struct client *c)
{
	TAILQ_REMOVE(&c->task->clients, c, entry);
	c->task->w->nclients--;
	event_free(c->closed);
	peer_free(c->peer);
	free(c);
}

/* Its last word goes out if the socket takes it at once. */
static void
client_drop(struct client *c, const char *why)
{
	struct task	*t = c->task;
	bool		 whole = c->whole;

	if (why != NULL) {
		log_warnx("%s: client: %s", t->w->session, why);
		peer_error(c->peer, 0, "protocol.broken", "the connection is "
		    "closed: %s", why);
	}
	client_free(c);
	if (whole)
		end_hangup(t);
	turn_settle(t);
	output_flow(t);
	end_settle(t->w);
}

static void
client_gone(struct peer *p, const char *why)
{
	client_drop(p->ctx, why);
}

static void
client_drained(struct peer *p)
{
	struct client	*c = p->ctx;

	client_feed(c);
	output_flow(c->task);
	end_settle(c->task->w);
}

static void
worker_on_data(struct peer *p, struct msg *msg)
{
	struct client		*c = p->ctx;
	const struct m_DATA	*m = msg->body;

	if (m->n != 0) {
		client_drop(c, "DATA: input has number 0");
		return;
	}
	turn_take(c);
	input_add(c->task, m->d.p, m->d.len);
	if (input_full(c->task))
		client_pause_all(c->task);
}

static void
worker_on_resize(struct peer *p, struct msg *msg)
{
	struct client		*c = p->ctx;
	const struct m_RESIZE	*m = msg->body;

	if (m->rows > UINT16_MAX || m->cols > UINT16_MAX) {
		client_drop(c, "RESIZE: above 65535");
		return;
	}
	c->rows = (uint16_t)m->rows;
	c->cols = (uint16_t)m->cols;
	turn_settle(c->task);
}

static void
worker_on_signal(struct peer *p, struct msg *msg)
{
	struct client		*c = p->ctx;
	const struct m_SIGNAL	*m = msg->body;

	if (m->sig < 1 || m->sig > (uint64_t)SIGRTMAX) {
		client_drop(c, "SIGNAL: there is no such signal");
		return;
	}
	/* Whoever floods us is not queued without end. */
	if (!inside_stuck(c->task->w))
		inside_signal(c->task, (int)m->sig);
}

/* Of one that only looks in it says nothing about the command's input. */
static void
worker_on_eof(struct peer *p, struct msg *msg)
{
	struct client	*c = p->ctx;

	(void)msg;
	peer_permit(p, MSG_DATA, PERMIT_NO);
	if (c->whole)
		input_eof(c->task);
}

static const struct handler client_table[] = {
	{ MSG_DATA,	PERMIT_ALWAYS,	worker_on_data },
	{ MSG_RESIZE,	PERMIT_ALWAYS,	worker_on_resize },
	{ MSG_SIGNAL,	PERMIT_ALWAYS,	worker_on_signal },
	{ MSG_EOF,	PERMIT_ONCE,	worker_on_eof },
};

static const struct peer_ops client_ops = {
	.table = client_table,
	.n = sizeof(client_table) / sizeof(client_table[0]),
	.gone = client_gone,
	.drained = client_drained,
};

static void
client_on_closed(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	client_drop(arg, NULL);
}

static struct client *
client_new(struct task *t, int fd)
{
	struct client	*c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		fatal("a client");
	c->task = t;
	if ((c->peer = peer_new(t->w->base, fd, ROLE_WORKER, ROLE_CLIENT,
	    &client_ops, c)) == NULL || (c->closed = event_new(t->w->base, fd,
	    EV_CLOSED, client_on_closed, c)) == NULL)
		fatal("a client");
	TAILQ_INSERT_TAIL(&t->clients, c, entry);
	t->w->nclients++;
	return (c);
}

/* HELLO has been said to sbxd, from whom the connection comes. */
void
client_add(struct task *t, int fd)
{
	struct client	*c;
	struct stat	 st;

	if (pledge_fstat(fd, &st) == -1 || !S_ISSOCK(st.st_mode))
		fatalx("ATTACH with a descriptor that is no socket");
	c = client_new(t, fd);
	if (t->w->nclients > CLIENTS_MAX) {
		peer_error(c->peer, 0, "limit.clients", "session %s has %d "
		    "clients already: wait for one to leave", t->w->session,
		    CLIENTS_MAX);
		c->whole = t->n != 0;
		client_drop(c, NULL);
		return;
	}
	/* The first one at a command that is only about to start. */
	c->whole = t->n != 0 || (!t->running && !t->over);
	c->past = t->history.end;
	/* All that is kept comes at once: nobody waits for that. */
	c->slow = true;
	if (input_full(t))
		client_pause_all(t);
	turn_settle(t);
	client_feed(c);
	output_flow(t);
	end_settle(t->w);
}

/* Output comes before RUNNING where it is from before the client came: what
 * it asks of a terminal is not to be answered any more. */
static void
client_announce(struct client *c)
{
	struct task		*t = c->task;
	struct m_RUNNING	 m = { .pid = t->pid };

	if (c->announced || !t->running || c->at < c->past)
		return;
	c->announced = true;
	peer_send(c->peer, MSG_RUNNING, 0, -1, &m);
}

/* It has caught up, after a gap: what fills a screen draws it anew. */
static void
client_redraw(struct client *c)
{
	if (!c->gap || c->at < c->task->history.end)
		return;
	c->gap = false;
	if (c->task->tty && !inside_stuck(c->task->w))
		inside_signal(c->task, SIGWINCH);
}

void
client_feed(struct client *c)
{
	struct history	*h = &c->task->history;
	struct m_DATA	 m = { 0 };
	struct m_GAP	 gap = { 0 };

	client_announce(c);
	while (peer_queued(c->peer) < OUTPUT_HIGH &&
	    history_next(h, &c->at, c->past, &m, &gap.bytes)) {
		if (gap.bytes > 0) {
			c->gap = true;
			peer_send(c->peer, MSG_GAP, 0, -1, &gap);
		}
		if (m.d.len > 0)
			peer_send(c->peer, MSG_DATA, 0, -1, &m);
		client_announce(c);
	}
	if (client_served(c))
		c->slow = false;
	client_redraw(c);
}

void
client_feed_all(struct task *t)
{
	struct client	*c;

	TAILQ_FOREACH(c, &t->clients, entry)
		client_feed(c);
}

bool
client_served(const struct client *c)
{
	return (c->at == c->task->history.end);
}

void
client_dismiss_all(struct task *t)
{
	struct client	*c, *next;

	TAILQ_FOREACH_SAFE(c, &t->clients, entry, next)
		if (c->told && peer_queued(c->peer) == 0)
			client_free(c);
}

/* A paused client's socket is not read, so its end is watched for itself. */
void
client_pause_all(struct task *t)
{
	struct client	*c;

	TAILQ_FOREACH(c, &t->clients, entry) {
		peer_pause(c->peer);
		event_add(c->closed, NULL);
	}
}

void
client_resume_all(struct task *t)
{
	struct client	*c;

	TAILQ_FOREACH(c, &t->clients, entry) {
		event_del(c->closed);
		peer_resume(c->peer);
	}
}
