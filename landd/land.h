/*
 * land: the child that does a landing's work, as the session's user. One
 * job, one thread, one socket; it ends with its job.
 */
#ifndef LANDD_LAND_H
#define LANDD_LAND_H

#include "../privsep/imsg.h"
#include "landing.h"

struct land {
	struct imsgbuf	 ib;
	struct msg	 order;		/* WORK, kept to the end */
	const struct m_WORK *work;
	struct job	 job;
	struct landing_state state;	/* as it was at the job's start */
	unsigned int	 commits;
	uint8_t		*journal;	/* of what is to be recovered */
	size_t		 journallen;
};

/* land_io.c. Whatever goes wrong with the socket ends the process: nobody is
 * left to tell. */
void	land_send(struct land *, uint32_t type, int fd, const void *body);
/* ERROR, and the end. */
void	land_fail(struct land *, const char *code, const char *fmt, ...)
	    __attribute__((format(printf, 3, 4), noreturn));
/* The end after any final answer. */
void	land_end(struct land *) __attribute__((noreturn));
/* Exactly this message. */
void	land_expect(struct land *, uint32_t type, struct msg *);
/* BYTES of this kind, all of them; malloc'ed. */
void	land_receive(struct land *, const char *kind, uint8_t **, size_t *);
/* -1 where the socket is broken: for the journal, which must be taken for
 * written or not, whatever happens. */
int	land_keep(struct land *, const char *kind, const uint8_t *, size_t);
/* Waits for COMMITTED; -1 likewise. */
int	land_committed(struct land *);
/* LFD of this kind. */
int	land_receive_fd(struct land *, const char *kind);

/* land.c: who ends with landd at once, and who goes on. */
void	land_abandonable(struct land *, bool);

/* land_items.c: the change set as messages, LANDING last. */
void	land_items(struct land *, const struct changeset *);

/* land_outside.c */
void	land_outside(struct land *) __attribute__((noreturn));

/* land_write.c */
void	land_apply(struct land *, const struct changeset *)
	    __attribute__((noreturn));
void	land_discard(struct land *, const struct changeset *)
	    __attribute__((noreturn));
void	land_recover(struct land *) __attribute__((noreturn));
void	land_forget(struct land *) __attribute__((noreturn));

#endif
