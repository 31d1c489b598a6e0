/*
 * More clients of a session of session.h's: those that come later, and those
 * of commands that EXEC adds.
 */
#ifndef REGRESS_VIEWER_H
#define REGRESS_VIEWER_H

#include "session.h"

struct viewer {
	struct session	*s;
	struct imsgbuf	 ib;
	struct told	 t;
	char		*out[3];	/* output by number, with a NUL */
	size_t		 outlen[3];
	bool		 asleep;	/* it is not read */
};

/* Hands a new connection to the worker; tag 0: to the session's own command. */
void	viewer_attach(struct session *, struct viewer *, uint32_t tag);
/* EXEC, and the connection for it. */
void	viewer_exec(struct session *, struct viewer *, bool tty,
	    const char *const *argv);
/* Handles what comes within so many ms, for the session and all its viewers. */
void	viewers_pump(struct session *, int ms);
void	viewer_await(struct viewer *, const int *what, const char *name);
/* Until the output has this text; then forgets all up to its end. */
void	viewer_expect(struct viewer *, const char *text);
void	viewer_say(struct viewer *, const char *);
void	viewer_send(struct viewer *, uint32_t type, const void *body);
void	viewer_size(struct viewer *, unsigned int rows, unsigned int cols);
/* Closes its end. */
void	viewer_leave(struct viewer *);

#endif
