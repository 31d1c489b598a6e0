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

/* Room for s and a number: a session's control group. */
#define GROUP_NAME	24

/* One session's processes and its control group. No id: a spare one's, which
 * is no session's yet, or one's that will never be. */
struct live {
	TAILQ_ENTRY(live) entry;
	char		 id[LIMIT_SID + 1];
	pid_t		 init, worker;	/* 0: reaped */
	int		 pidfd;		/* init's */
	/* the session's; closed to us by path once init is executed */
	int		 userns, pidns, cgroupns;
	int		 hand;		/* to the worker, for sbxd's socket */
	int		 word;		/* to init, for whose it is */
	struct peer	*becoming;	/* the same, until init has answered */
	unsigned int	 told;		/* what it has sent of that */
	char		 group[GROUP_NAME];
	int		 cgroup;	/* O_PATH of its folder, -1: none */
	bool		 killing;	/* KILL came, KILLED is owed */
	bool		 stopped;	/* by signal: spawn_stop.c */
	struct pids	 held;		/* those that were stopped before */
	unsigned long long wakes;	/* of those that wait in the kernel */
	int64_t		 waits;		/* since when they have not woken */
	int64_t		 again;		/* when to send the signal once more */
	bool		 freezing;	/* FREEZE came, its answer is owed */
	uint32_t	 freeze;	/* of which number */
	int64_t		 until;		/* when it has failed */
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
	bool		 spares;	/* SUITE's word */
	struct drop	 as_worker;	/* no power at all */
	TAILQ_HEAD(, live) lives;
	/* PEER has come for this session, START has not. */
	int		 client;
	char		 client_for[LIMIT_SID + 1];
};
extern struct spawn	spawn;

/* spawn_live.c: the processes, for no session in particular: NULL, errno and
 * the step in *step. */
struct live	*live_make(const char **step);
void		 live_free(struct live *);
/* Ends what has not become a session; it is among the lives until then, with
 * no id. */
void		 live_drop(struct live *);

/* spawn_spare.c: such processes made beforehand, for the next START */
void		 spare_begin(struct event_base *);
void		 spare_soon(void);
struct live	*spare_take(void);	/* NULL: there is none */
bool		 spare_gone(pid_t);	/* it was the spare's */
bool		 spare_group(const char *name);	/* it is the spare's */
void		 spare_end(void);

/* spawn_become.c: they become a session's, which START asks for: init is told,
 * then the worker gets the broker's end. -1: errno, the step in *step; others
 * can have that end. */
struct whose {
	const char	*session;
	const struct drop *user;
	bool		 isolated;
};
int		 live_become(struct live *, const struct whose *, int broker,
		    const char **step);
/* The broker hears of them; STARTED or an ERROR follows. */
void		 live_told(struct live *);

/* spawn_session.c */
void		 spawn_on_peer(struct peer *, struct msg *);
void		 spawn_on_start(struct peer *, struct msg *);
void		 spawn_on_kill(struct peer *, struct msg *);
struct live	*live_find(const char *id);
void		 live_init_gone(struct live *, int status);
void		 live_worker_gone(struct live *);

/* spawn_clone.c: init, in the live's control group, with its ends of the
 * sockets to worker and spawn. Its pid, pidfd and namespaces are put into
 * live; -1: errno, the step in *step, nothing is left. */
int		 clone_init(struct live *, int worker, int word,
		    const char **step);

struct clone_args;
void		 clone_fill(struct clone_args *, int cgroup);

/* spawn_outer.c: the same, as a child of S's; pid, or -1 with errno. In the
 * child 0 and no pidfd. */
pid_t		 outer_clone(int cgroup, int *pidfd);

/* spawn_cgroup.c: sets group and cgroup. -1: errno. */
int		 cgroup_make(struct live *);
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

/* spawn_stop.c: freezing without a control group. NULL, or what is wrong. */
const char	*stop_begin(struct live *);
bool		 stop_took(struct live *);
void		 stop_undo(struct live *);
void		 pids_free(struct pids *);

/* spawn_land.c */
void		 spawn_on_child(struct peer *, struct msg *);
bool		 land_gone(pid_t, int status);
void		 spawn_word(const char *id, const struct drop *);

#endif
