/*
 * init: pid 1 of a session, and its first and last process. It enters the
 * tree that mountd made, makes the terminal, puts every power down, starts the
 * command and reports its end. Whatever it cannot do it says in one ERROR, and
 * ends; with it ends the session, and nothing else.
 */
#ifndef WORKER_INIT_H
#define WORKER_INIT_H

#include <sys/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

#include "../privsep/imsg.h"

struct init {
	struct imsgbuf	 ib;		/* to the worker */
	struct msg	 msg;		/* SETUP, which set points into */
	const struct m_SETUP *set;
	int		 master;	/* of the terminal, -1 with pipes */
	int		 std[3];	/* what the command gets as 0, 1, 2 */
	int		 signals;	/* signalfd: SIGCHLD */
	int		 report;	/* closed by the command's exec; -1 */
	pid_t		 command;
	int64_t		 started;	/* now_ms(); 0: not yet */
};

/* init.c. %m in the format is the system's reason. */
noreturn void	init_refuse(struct init *, const char *code, const char *fmt,
		    ...) __attribute__((format(printf, 3, 4)));
void	init_error(struct init *, const char *code, const char *fmt, ...)
	    __attribute__((format(printf, 3, 4)));
/* The next message, which has to be of this type. */
void	init_expect(struct init *, uint32_t type, struct msg *);
noreturn void	init_end(struct init *, unsigned int status);

/* enter.c */
void	enter_open(struct init *);	/* the descriptors that others need */
void	enter_tree(struct init *);
void	enter_confine(struct init *);

/* console.c: terminal or pipes; their other ends go to the worker. */
void	console_make(struct init *);
void	console_close(struct init *);
/* The terminal's foreground process group, 0 if there is none. */
pid_t	console_foreground(const struct init *);

/* command.c */
void	command_start(struct init *);
/* The exec has succeeded, and RUNNING is told, or it has failed, and init
 * ends. */
void	command_result(struct init *);
void	command_signal(struct init *, int);

#endif
