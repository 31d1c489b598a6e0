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
struct task;
struct worker;

/* A descriptor of the session's that is kept for sbxd. */
struct kept {
	TAILQ_ENTRY(kept) entry;
	char		 kind[17];
	uint64_t	 n;
	int		 fd;
};

/* A piece of output. */
struct chunk {
	TAILQ_ENTRY(chunk) entry;
	uint64_t	 at;		/* of all output, from the start on */
	unsigned int	 n;
	size_t		 len;
	uint8_t		 data[LIMIT_CHUNK];
};

/* A task's last output: what is to be sent, and what late comers get. */
struct history {
	TAILQ_HEAD(chunkq, chunk) chunks;
	struct chunk	*spare;
	int		 count;
	uint64_t	 start, end;	/* what is there of all output */
};

struct client {
	TAILQ_ENTRY(client) entry;
	struct task	*task;
	struct peer	*peer;
	struct event	*closed;	/* its hang-up, while it is paused */
	/* It started the command: gets every byte, is waited for, and hangs
	 * the command up when it goes. All others only look in. */
	bool		 whole;
	bool		 announced;	/* RUNNING */
	bool		 told;		/* the end */
	bool		 other;		/* it knows that the turn is not its */
	bool		 gap;		/* something is to be drawn anew */
	bool		 slow;		/* not waited for */
	uint64_t	 at;		/* what it gets next of the output */
	uint64_t	 past;		/* what was there before it came */
	uint64_t	 typed;		/* when it typed last, as a count */
	uint16_t	 rows, cols;	/* 0: not said */
};

/* The terminal's master, or the command's pipes 1 and 2. */
struct source {
	struct task	*task;
	unsigned int	 n;
	int		 fd;
	struct event	*rev;
	bool		 on;
};

/* A command: the session's own, or one that EXEC has added. */
struct task {
	TAILQ_ENTRY(task) entry;
	struct worker	*w;
	uint32_t	 n;		/* to init; 0: the session's own */
	uint32_t	 tag;		/* EXEC's, until its client has come */
	bool		 tty;

	unsigned int	 wired;		/* PTYs that have come */
	bool		 running, over;
	int		 early;		/* a signal before the command */
	uint64_t	 pid, status, signal, ms;
	bool		 exited;	/* status and ms are there */
	char		*code, *reason;	/* why it is over, if not */
	uint64_t	 written;	/* so far, when it was over */

	TAILQ_HEAD(, client) clients;
	uint64_t	 turns;		/* how often another one typed */

	struct source	 source[2];
	struct history	 history;
	struct event	*stall;
	struct event	*pace;
	int64_t		 pace_until;	/* reading waits, 0: it does not */
	uint64_t	 pace_next;	/* it may when so much has come */

	int		 in_fd;
	struct evbuffer	*in;
	struct event	*in_wev;
	bool		 in_eof, in_dead, in_push;
	size_t		 in_line;	/* bytes since the line's beginning */
	uint16_t	 rows, cols;	/* a RESIZE before the terminal, too */

	struct event	*grace;
	int		 grace_stage;
};

struct worker {
	struct event_base *base;
	struct peer	*sbxd;
	struct peer	*init;		/* NULL: gone */
	uid_t		 broker;	/* sbxd's, by the kernel's word */

	/* SETUP's */
	char		 session[LIMIT_SID + 1];
	bool		 isolated;
	size_t		 nro, nroots;

	/* what has happened */
	bool		 greeted;	/* HELLO of init's */
	bool		 setup;		/* SETUP has gone down */
	int		 rank;		/* of the last descriptor from init */
	uint64_t	 nextro, nextroot;
	bool		 sbxd_told;

	TAILQ_HEAD(, kept) kept;
	struct peer	*candidate;	/* on the listening socket */
	struct event	*listener;

	struct task	 own;
	TAILQ_HEAD(, task) tasks;	/* own is the first */
	int		 ntasks, nclients;
	uint32_t	 lastn;
	struct event	*reaper;	/* what is over is freed by it */
	unsigned int	 syncs;		/* SYNCs that init has not answered */
	uint32_t	 sync;		/* the last one's number, sbxd's */
	struct event	*linger;	/* for clients, at the end */
	bool		 lingered;
};

/* Of a session, all commands together. */
#define CLIENTS_MAX	64
#define TASKS_MAX	33
/* Above this a client is given no more. It is also what is still shown after
 * an interrupt of a flood, so it is far below the queue's own limit. */
#define OUTPUT_HIGH	(128 << 10)

/* broker.c: what sbxd says */
extern const struct peer_ops broker_ops;
void	broker_listen(struct worker *, int);

/* inside.c: what init says */
extern const struct peer_ops inside_ops;
void	inside_begin(struct worker *);
/* Nothing is sent, and the descriptor is closed, where there is no init. */
void	inside_send(struct worker *, uint32_t, uint32_t, int, const void *);
void	inside_signal(struct task *, int);
/* sbxd is answered when init has begun all that it was told to. */
void	inside_sync(struct worker *, uint32_t number);
bool	inside_stuck(const struct worker *);
/* init is gone or to go: why it is, NULL for a plain end of file. */
void	inside_gone(struct worker *, const char *why);

/* keep.c */
bool	kept_kind(const char *);
void	kept_add(struct worker *, const char *, uint64_t, int);
void	kept_give(struct worker *, struct peer *);

/* task.c */
void	task_begin(struct worker *, struct task *);
/* EXEC: it is passed on to init, or over already. */
void	task_exec(struct worker *, uint32_t tag, const struct m_EXEC *);
struct task *task_find(struct worker *, uint32_t n);
/* Whose client ATTACH brings: 0 is the session's own. */
struct task *task_tagged(struct worker *, uint32_t tag);
/* How many PTYs it has. */
unsigned int task_wires(const struct task *);
/* Frees what is over and has no client, in the loop's next turn. */
void	tasks_reap(struct worker *);

/* client.c */
void	client_add(struct task *, int);
/* The output that it has not got, as much as it takes, and what is due with
 * it: RUNNING, the end. */
void	client_feed(struct client *);
void	client_feed_all(struct task *);
void	client_pause_all(struct task *);
void	client_resume_all(struct task *);
/* It has all that there is. */
bool	client_served(const struct client *);
/* Whoever has been told the end, and has taken it. */
void	client_dismiss_all(struct task *);

/* turn.c: whose size and answers count */
void	turn_settle(struct task *);
void	turn_take(struct client *);

/* history.c */
void	history_init(struct history *);
/* Where the source's next output is to be read to; then how much it was. */
uint8_t	*history_room(struct history *, unsigned int, size_t *);
void	history_added(struct history *, size_t);
/* Drops what lies before; all but the last MiB. */
void	history_trim(struct history *, uint64_t);
void	history_bound(struct history *);
/*
 * The piece at *at, which ends at or before until where it begins before it,
 * and *at behind it; *lost is how much was missing before it. False: there is
 * none.
 */
bool	history_next(struct history *, uint64_t *at, uint64_t until,
	    struct m_DATA *, uint64_t *lost);
void	history_free(struct history *);

/* pace.c: how many ms output is not to be read, for those that look in */
int64_t	pace_wait(struct task *, int64_t now);

/* output.c */
void	output_begin(struct task *);
/* Takes the descriptor over; -1 if it is not what it should be. */
int	output_take(struct task *, unsigned int, int);
bool	output_open(const struct task *);
void	output_stop(struct task *);
void	output_free(struct task *);
/* Reads, or stops to, as there is room. */
void	output_flow(struct task *);

/* input.c */
void	input_begin(struct task *);
int	input_take(struct task *, int);
void	input_add(struct task *, const void *, size_t);
void	input_eof(struct task *);
void	input_resize(struct task *, uint16_t, uint16_t);
bool	input_full(const struct task *);
void	input_free(struct task *);

/* end.c */
void	end_begin(struct worker *);
void	end_hangup(struct task *);
void	end_because(struct task *, const char *, const char *);
/* To this client, that it is over and how. */
void	end_say(struct task *, struct peer *);
/* Tells clients and sbxd, each when it is its turn. */
void	end_settle(struct worker *);

#endif
