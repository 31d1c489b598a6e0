/*
 * spawn's own: the only program that executes others once the suite runs.
 */
#ifndef PRIVSEP_SPAWN_H
#define PRIVSEP_SPAWN_H

#include <sys/queue.h>
#include <sys/types.h>
#include <event2/event.h>
#include <stdbool.h>

#include "drop.h"
#include "peer.h"

struct pids {
	pid_t	*v;
	size_t	 n;
};

/* One session's processes and its control group. */
struct live {
	TAILQ_ENTRY(live) entry;
	char		 id[LIMIT_SID + 1];
	pid_t		 init, worker;	/* 0: reaped */
	int		 pidfd;		/* init's */
	int		 userns, pidns;	/* the session's; closed to us by path
					 * once init cannot be traced */
	int		 cgroup;	/* O_PATH of its folder, -1: none */
	bool		 killing;	/* KILL came, KILLED is owed */
	bool		 stopped;	/* by signal: spawn_stop.c */
	struct pids	 held;		/* those that were stopped before */
	bool		 freezing;	/* FREEZE came, its answer is owed */
	struct event	*timer;		/* a freeze or an rmdir under way */
	int		 tries;
};

struct spawn {
	struct event_base *base;
	struct peer	*sbxd, *landd;
	int		 exe_init, exe_worker, exe_land;	/* O_PATH */
	int		 cgroup;	/* the suite's folder, -1: none */
	int		 proc;		/* a /proc of its own, writable */
	int		 outer;		/* S of a user's suite, -1: root's */
	struct drop	 as_worker;	/* no power at all */
	TAILQ_HEAD(, live) lives;
	/* PEER has come for this session, START has not. */
	int		 client;
	char		 client_for[LIMIT_SID + 1];
};
extern struct spawn	spawn;

/* spawn_session.c */
void		 spawn_on_peer(struct peer *, struct msg *);
void		 spawn_on_start(struct peer *, struct msg *);
void		 spawn_on_kill(struct peer *, struct msg *);
struct live	*live_find(const char *id);
void		 live_init_gone(struct live *, int status);
void		 live_worker_gone(struct live *);

/* spawn_clone.c: pid, or -1 with errno and the step in *step. */
struct clone_as {
	struct drop	 user;
	bool		 newnet;
	int		 cgroup;	/* the session's folder, -1: none */
	int		 sock;		/* init's end, closed by the caller */
};
/* Sets pidfd, userns and pidns of live too. */
pid_t		 clone_session(const struct clone_as *, struct live *,
		    const char **step);

struct clone_args;
void		 clone_fill(struct clone_args *, const struct clone_as *);

/* spawn_outer.c: the same, as a child of S's; pid, or -1 with errno. In the
 * child 0 and no pidfd. */
pid_t		 outer_clone(const struct clone_as *, int *pidfd);

/* spawn_cgroup.c */
int		 cgroup_make(const char *id);
void		 spawn_on_freeze(struct peer *, struct msg *);
void		 spawn_on_thaw(struct peer *, struct msg *);
void		 spawn_on_sweep(struct peer *, struct msg *);
/* Answers a FREEZE that comes to nothing. */
void		 freeze_failed(struct live *, const char *why);
void		 cgroup_kill(struct live *);
/* Removes the folder, now or soon, then calls live_ended. */
void		 cgroup_remove(struct live *);
void		 live_ended(struct live *);
/* At our own end: waits a little, says nothing to anybody. */
void		 cgroup_remove_now(struct live *);

/* spawn_stop.c: freezing without a control group. -1: errno. */
int		 stop_begin(struct live *);
bool		 stop_took(const struct live *);
void		 stop_undo(struct live *);
void		 pids_free(struct pids *);

/* spawn_land.c */
void		 spawn_on_child(struct peer *, struct msg *);
bool		 land_gone(pid_t, int status);
void		 spawn_word(const char *id, const struct drop *);

#endif
