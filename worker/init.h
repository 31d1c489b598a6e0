/*
 * init: pid 1 of a session, and its first and last process. It enters the
 * tree that mountd made, makes the terminal, puts every power down, starts the
 * command, and others beside it, and reports their ends. Whatever it cannot
 * do it says in one ERROR, and ends; with it ends the session, and nothing
 * else.
 */
#ifndef WORKER_INIT_H
#define WORKER_INIT_H

#include <sys/queue.h>
#include <sys/types.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

#include "../privsep/imsg.h"

/* A command: the session's own, or one that EXEC has added. */
struct command {
	TAILQ_ENTRY(command) entry;
	uint32_t	 n;		/* 0: the session's own */
	struct msg	 msg;		/* EXEC, which what follows points to */
	struct strv	 argv, env;
	const char	*cwd;
	bool		 tty;
	unsigned short	 rows, cols;
	struct maybe	 umask;
	int		 master;	/* of the terminal, -1 with pipes */
	int		 std[3];	/* what the command gets as 0, 1, 2 */
	int		 report;	/* closed by the command's exec; -1 */
	pid_t		 pid;
	int		 status;	/* of wait, once it has ended; -1 */
	int64_t		 started;	/* now_ms(); 0: not yet */
};

struct init {
	struct imsgbuf	 ib;		/* to the worker */
	struct msg	 msg;		/* SETUP, which set points into */
	const struct m_SETUP *set;
	int		 signals;	/* signalfd: SIGCHLD */
	TAILQ_HEAD(, command) commands;	/* own is the first */
	struct command	 own;
	unsigned int	 ncommands;
};

#define COMMANDS_MAX	64

/* init.c. %m in the format is the system's reason. */
noreturn void	init_refuse(struct init *, const char *code, const char *fmt,
		    ...) __attribute__((format(printf, 3, 4)));
/* By errno, behind it: what to do if a filter on the suite is the reason. */
const char *init_filtered(void);
void	init_error(struct init *, uint32_t n, const char *code, const char *fmt,
	    ...) __attribute__((format(printf, 4, 5)));
void	init_verror(struct init *, uint32_t n, const char *code,
	    const char *fmt, va_list) __attribute__((format(printf, 4, 0)));
/* The next message, which has to be of this type. */
void	init_expect(struct init *, uint32_t type, struct msg *);
void	init_exited(struct init *, const struct command *, unsigned int status);
noreturn void	init_end(struct init *, unsigned int status);

/* become.c: waits on fd, spawn's, for whose it is. */
void	become(struct init *, int fd);

/* enter.c */
void	enter_open(struct init *);	/* the descriptors that others need */
void	enter_tree(struct init *);
void	enter_writes(struct init *);	/* writes.c */
void	enter_confine(struct init *);

/* console.c: terminal or pipes; their other ends go to the worker. -1 errno,
 * and what failed; the worker has got none or all. */
int	console_make(struct init *, struct command *, const char **what);
void	console_close(struct command *);
/* The terminal's foreground process group, 0 if there is none. */
pid_t	console_foreground(const struct command *);

/* command.c */
/* What SETUP says of the session's own. */
void	command_own(struct init *);
/* Another one: EXEC, which is taken over. */
void	command_add(struct init *, struct msg *);
struct command *command_find(struct init *, uint32_t n);
void	command_start(struct init *, struct command *);
/* The exec has succeeded, and RUNNING is told, or it has failed; then init
 * ends if it is the session's own, and else the command is gone: false. */
bool	command_result(struct init *, struct command *);
/* It has ended, with the status that is in it; init with the session's own. */
void	command_ended(struct init *, struct command *);
void	command_signal(struct command *, int);

#endif
