/*
 * The child of the next PREP, made while there is time: a session's start does
 * not wait for a fork, nor for what is alike in every session.
 */
#ifndef MOUNTD_SPARE_H
#define MOUNTD_SPARE_H

#include "job.h"

void	spare_begin(struct event_base *);
/* SPARE: spawn's spare pair has this pid namespace, what the next session's
 * /proc will be of, if it gets both. */
void	mountd_on_spare(struct peer *, struct msg *);
/* One is made in a moment, if there is none. */
void	spare_soon(void);
/* Gives it the request. False: there is none, a child has to be made. */
bool	spare_take(struct session *, const struct msg *);
/* Called with each job that is over. */
void	spare_over(const struct job *);
/* The suite ends. */
void	spare_end(void);

#endif
