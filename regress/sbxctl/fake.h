/*
 * The scripted sbxd's parts.
 */
#ifndef REGRESS_SBXCTL_FAKE_H
#define REGRESS_SBXCTL_FAKE_H

#include "privsep/imsg.h"

#define FAKE_SID	"aaaabbbbcccc"

/* $FAKE has this word. */
bool	fake_does(const char *);
/* A line for the test to read. */
void	fake_asked(const char *, ...) __attribute__((format(printf, 1, 2)));
void	fake_send(struct imsgbuf *, uint32_t type, uint32_t id, const void *);
void	fake_error(struct imsgbuf *, uint32_t id, const char *code,
	    const char *text);

/* fake_suite.c: everything but NEW. */
void	fake_suite(struct imsgbuf *, struct msg *);
/* fake_run.c: NEW; returns when the connection has ended. */
void	fake_run(struct imsgbuf *, struct msg *);

/* Until there is $SBX_STATE/go, which is taken away. */
void	fake_await_go(void);

/* True: it was one of these, and is answered. */
bool	fake_life(struct imsgbuf *, struct msg *);

#endif
