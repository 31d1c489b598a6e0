/*
 * Clients: sbxd hands their sockets over when they attach. What a client
 * sends is its session's own affair, but none of it ends the worker.
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
	TAILQ_REMOVE(&c->w->clients, c, entry);
	c->w->nclients--;
	event_free(c->closed);
	peer_free(c->peer);
	free(c);
}

/* Its last word goes out if the socket takes it at once. */
static void
client_drop(struct client *c, const char *why)
{
	struct worker	*w = c->w;

	if (why != NULL) {
		log_warnx("%s: client: %s", w->session, why);
		peer_error(c->peer, 0, "protocol.broken", "the connection is "
		    "closed: %s", why);
	}
	client_free(c);
	if (w->nclients == 0)
		end_hangup(w);
	output_flow(w);
	end_settle(w);
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

	output_flow(c->w);
	end_settle(c->w);
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
	input_add(c->w, m->d.p, m->d.len);
	if (input_full(c->w))
		client_pause_all(c->w);
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
	input_resize(c->w, (uint16_t)m->rows, (uint16_t)m->cols);
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
	if (!inside_stuck(c->w))
		inside_signal(c->w, (int)m->sig);
}

static void
worker_on_eof(struct peer *p, struct msg *msg)
{
	struct client	*c = p->ctx;

	(void)msg;
	peer_permit(p, MSG_DATA, PERMIT_NO);
	input_eof(c->w);
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

/* HELLO has been said to sbxd, from whom the connection comes. */
void
client_add(struct worker *w, int fd)
{
	struct client	*c;
	struct stat	 st;

	if (pledge_fstat(fd, &st) == -1 || !S_ISSOCK(st.st_mode))
		fatalx("ATTACH with a descriptor that is no socket");
	if ((c = calloc(1, sizeof(*c))) == NULL)
		fatal("a client");
	c->w = w;
	if ((c->peer = peer_new(w->base, fd, ROLE_WORKER, ROLE_CLIENT,
	    &client_ops, c)) == NULL || (c->closed = event_new(w->base, fd,
	    EV_CLOSED, client_on_closed, c)) == NULL)
		fatal("a client");
	TAILQ_INSERT_TAIL(&w->clients, c, entry);
	if (++w->nclients > CLIENTS_MAX) {
		peer_error(c->peer, 0, "session.attached", "session %s has "
		    "%d client already", w->session, CLIENTS_MAX);
		client_free(c);
		return;
	}
	if (input_full(w))
		client_pause_all(w);
	if (w->running) {
		struct m_RUNNING m = { .pid = w->pid };

		peer_send(c->peer, MSG_RUNNING, 0, -1, &m);
		output_give(w, c);
	}
	w->clients_told = false;
	end_settle(w);
}

void
client_all(struct worker *w, uint32_t type, const void *body)
{
	struct client	*c;

	TAILQ_FOREACH(c, &w->clients, entry)
		peer_send(c->peer, type, 0, -1, body);
}

/* A paused client's socket is not read, so its end is watched for itself. */
void
client_pause_all(struct worker *w)
{
	struct client	*c;

	TAILQ_FOREACH(c, &w->clients, entry) {
		peer_pause(c->peer);
		event_add(c->closed, NULL);
	}
}

void
client_resume_all(struct worker *w)
{
	struct client	*c;

	TAILQ_FOREACH(c, &w->clients, entry) {
		event_del(c->closed);
		peer_resume(c->peer);
	}
}

/* Of the slowest one. */
size_t
client_queued(const struct worker *w)
{
	struct client	*c;
	size_t		 n, most = 0;

	TAILQ_FOREACH(c, &w->clients, entry)
		if ((n = peer_queued(c->peer)) > most)
			most = n;
	return (most);
}
