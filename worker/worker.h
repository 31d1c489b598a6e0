/*
 * worker: a session's terminal, outside. It opens nothing and decides little:
 * it hands sbxd's set-up down to init and init's descriptors up to sbxd, each
 * only in its turn, moves the terminal's bytes, and keeps what sbxd would need
 * to find the session again. init, and whoever answers in its place, is taken
 * for hostile.
 */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <sys/queue.h>
#include <sys/types.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "../privsep/peer.h"

struct evbuffer;
struct worker;

/* A descriptor of the session's that is kept for sbxd. */
struct kept {
	TAILQ_ENTRY(kept) entry;
	char		 kind[17];
	uint64_t	 n;
	int		 fd;
};

/* Output that no client has taken. */
struct chunk {
	TAILQ_ENTRY(chunk) entry;
	unsigned int	 n;
	size_t		 len;
	uint8_t		 data[LIMIT_CHUNK];
};

struct client {
	TAILQ_ENTRY(client) entry;
	struct worker	*w;
	struct peer	*peer;
	struct event	*closed;	/* its hang-up, while it is paused */
};

/* The terminal's master, or the command's pipes 1 and 2. */
struct source {
	struct worker	*w;
	unsigned int	 n;
	int		 fd;
	struct event	*rev;
	bool		 on;
};

struct worker {
	struct event_base *base;
	struct peer	*sbxd;
	struct peer	*init;		/* NULL: gone */
	uid_t		 broker;	/* sbxd's, by the kernel's word */

	/* SETUP's */
	char		 session[LIMIT_SID + 1];
	bool		 tty, isolated;
	size_t		 nro;

	/* what has happened */
	bool		 greeted;	/* HELLO of init's */
	bool		 setup;		/* SETUP has gone down */
	int		 rank;		/* of the last descriptor from init */
	uint64_t	 nextro;
	unsigned int	 wired;		/* PTYs that have come */
	bool		 running, over;
	int		 early;		/* a signal before the command */
	uint64_t	 pid, status, ms;
	bool		 exited;	/* status and ms are there */
	char		*code, *reason;	/* why it is over, if not */
	bool		 clients_told, sbxd_told;

	TAILQ_HEAD(, kept) kept;
	TAILQ_HEAD(, client) clients;
	int		 nclients;
	struct peer	*candidate;	/* on the listening socket */
	struct event	*listener;

	struct source	 source[2];
	TAILQ_HEAD(chunkq, chunk) backlog;
	size_t		 backlog_len;
	int		 backlog_n;
	struct event	*stall;

	int		 in_fd;
	struct evbuffer	*in;
	struct event	*in_wev;
	bool		 in_eof, in_dead, in_push;
	size_t		 in_line;	/* bytes since the line's beginning */
	uint16_t	 rows, cols;	/* a RESIZE before the terminal */

	struct event	*grace;
	int		 grace_stage;
};

#define CLIENTS_MAX	1

/* broker.c: what sbxd says */
extern const struct peer_ops broker_ops;
void	broker_listen(struct worker *, int);

/* inside.c: what init says */
extern const struct peer_ops inside_ops;
void	inside_begin(struct worker *);
/* Nothing is sent, and the descriptor is closed, where there is no init. */
void	inside_send(struct worker *, uint32_t, int, const void *);
void	inside_signal(struct worker *, int);
bool	inside_stuck(const struct worker *);
/* init is gone or to go: why it is, NULL for a plain end of file. */
void	inside_gone(struct worker *, const char *why);

/* keep.c */
bool	kept_kind(const char *);
void	kept_add(struct worker *, const char *, uint64_t, int);
void	kept_give(struct worker *, struct peer *);

/* client.c */
void	client_add(struct worker *, int);
void	client_all(struct worker *, uint32_t, const void *);
void	client_pause_all(struct worker *);
void	client_resume_all(struct worker *);
size_t	client_queued(const struct worker *);

/* output.c */
void	output_begin(struct worker *);
/* Takes the descriptor over; -1 if it is not what it should be. */
int	output_take(struct worker *, unsigned int, int);
bool	output_open(const struct worker *);
/* Reads, or stops to, as there is room. */
void	output_flow(struct worker *);
void	output_give(struct worker *, struct client *);

/* input.c */
void	input_begin(struct worker *);
int	input_take(struct worker *, int);
void	input_add(struct worker *, const void *, size_t);
void	input_eof(struct worker *);
void	input_resize(struct worker *, uint16_t, uint16_t);
bool	input_full(const struct worker *);

/* end.c */
void	end_hangup(struct worker *);
void	end_because(struct worker *, const char *, const char *);
/* Tells clients and sbxd, each when it is its turn. */
void	end_settle(struct worker *);

#endif
