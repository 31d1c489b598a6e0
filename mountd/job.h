/*
 * A request at work: a child of ours, its socket, and what it has said.
 */
#ifndef MOUNTD_JOB_H
#define MOUNTD_JOB_H

#include "session.h"

#define JOB_SECONDS	10	/* for a request, or between signs of life */

struct jobfd {
	char		kind[20];
	uint64_t	n;
	int		fd;
};

struct job {
	TAILQ_ENTRY(job) entry;
	struct session	*s;		/* NULL: none, or done with it */
	uint32_t	 type, id;	/* the request's */
	pid_t		 pid;
	struct peer	*child;		/* NULL once it is closed */
	struct event	*timer;
	bool		 reaped, late;
	bool		 undo;		/* erases what a refused PREP made */
	bool		 early;		/* was the spare one */
	bool		 ended;		/* its END was sent */
	uint32_t	 answer;	/* the message that ends it well; 0 */
	char		*code, *text;	/* the one that does not */
	struct jobfd	*fds;		/* until the answer is there */
	size_t		 nfds;
};

void	job_begin(struct event_base *);
/* Forks; the message may be freed afterwards. NULL errno. */
struct job *job_start(struct session *, struct msg *, int (*)(struct child *));
/* The same beside whatever is at work for the session, which it does not lock:
 * it answers by itself. */
struct job *job_beside(struct session *, struct msg *,
	    int (*)(struct child *));
void	job_kill(struct job *);
/* A sign of life is due in some seconds, or none is. */
void	job_await(struct job *, bool due);

/* session.c, called by the jobs. */
void	session_mounted(struct job *, const struct m_MOUNTED *);
void	session_relay(const struct job *, uint32_t type, const void *body);
void	session_job_over(struct job *);

#endif
