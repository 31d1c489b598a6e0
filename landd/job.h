/*
 * A job of landd's: job.c is the broker's side of it, job_child.c the
 * child's.
 */
#ifndef LANDD_JOB_H
#define LANDD_JOB_H

#include "landd.h"

enum job_what {
	JOB_CHANGES, JOB_PATCH, JOB_APPLY, JOB_DISCARD, JOB_RECOVER, JOB_FORGET,
	JOB_OUTSIDE,
	JOB_COUNT
};

enum job_fd {
	JOBFD_BASELINE, JOBFD_JOURNAL, JOBFD_NEWBASE,	/* sbxd's files */
	JOBFD_VIEW, JOBFD_LAYER, JOBFD_STAGE, JOBFD_REAL, /* to the child */
	JOBFD_COUNT
};

struct job {
	TAILQ_ENTRY(job) entry;
	uint32_t	 id;
	char		*session;
	enum job_what	 what;
	struct msg	 order;		/* JOB as it came, and the seal in it */
	struct seal	 seal;
	struct msgpack_zone *zone;
	struct peer	*land;
	int		 fd[JOBFD_COUNT];
	bool		 seen[JOBFD_COUNT];
	bool		 files;		/* sbxd's are complete */
	bool		 greeted;	/* HELLO has come, WORK is sent */
	bool		 project;	/* the child has opened it */
	bool		 staged;
	bool		 over;		/* the final answer is out */
	bool		 child;		/* spawn has one of it, not yet ended */
	bool		 waits;		/* for the end of an earlier job's */
	bool		 leaves;	/* sbxd has ended it */
	unsigned int	 commits;
	bool		 baselined;
	struct keep_out	 keep;		/* being written */
	bool		 keeping;
	bool		 unkept;	/* no room for a discard's baselines */
	uint64_t	 part;		/* its next BYTES */
	uint64_t	 items;
	/* To the child: a file that sbxd keeps, verified. */
	uint8_t		*buf;
	size_t		 len, off;
	uint64_t	 bufn;
	const char	*bufkind;
	bool		 bufjournal;	/* the journal follows the baseline */
	struct event	*timer;		/* EOF came, its status is due */
	bool		 ended;		/* its status came, EOF is due */
	uint64_t	 status;
};

bool	job_writes(const struct job *);
struct job *job_find(uint32_t);
/* The final answer: ERROR; the child is let go. */
void	job_fail(struct job *, const char *code, const char *fmt, ...)
	    __attribute__((format(printf, 3, 4)));
/* The same after any final answer that was sent. */
void	job_over(struct job *);
/* job_child.c */
int	job_child_start(struct job *);
/* Sends on what waits for the child: files, then descriptors. */
void	job_child_feed(struct job *);
/* What its end means, where no final answer came. */
void	job_child_lost(struct job *, bool known, uint64_t status);

#endif
