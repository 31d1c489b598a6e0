/*
 * A real session of the real worker and init, with the test as sbxd, as
 * mountd and as the client: namespaces, id maps and capabilities are made as
 * spawn makes them, the tree is a copy of the test's own mounts with a /dev
 * and a devpts of its own. The test is in one process: whatever waits here
 * pumps the messages of worker and client.
 */
#ifndef REGRESS_SESSION_H
#define REGRESS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lib/test.h"

#define SESSION_ID	"abcdefghijkl"
#define WORKER_UID	64105
#define SPAWN_UID	64101
#define SESSION_UID	64151
#define SESSION_GID	64152
#define SESSION_GROUP	64153

struct session_opts {
	const char *const *argv;	/* NULL-ended */
	const char *const *env;		/* NULL: PATH, HOME, TERM, LANG */
	const char	*cwd;		/* NULL: the project */
	const char	*home, *project; /* NULL: <scratch>/home, project */
	const char *const *ro, *const *more;	/* more roots */
	const char	*network;	/* NULL: host */
	bool		 tty;
	bool		 root;		/* uid 0 instead of SESSION_UID */
	unsigned int	 rows, cols;
	struct maybe	 umask;
	bool		 alone;		/* no client yet */
	bool		 no_init;	/* the test is init, by init_sock */
	uid_t		 broker;	/* who sbxd's socket says it is; 0 */
};

/* What one side has been told. */
struct told {
	int		 running, exited, errors;
	int		 oks;		/* to SYNC */
	uint32_t	 ok;		/* of which number */
	uint64_t	 pid, status, ms;
	char		 code[64], message[512];
	bool		 closed;
	/* a client: output of before RUNNING, and what was missing of it */
	size_t		 past;
	uint64_t	 gap;
	int		 turns;
	bool		 other;		/* the turn is another's */
};

struct session {
	struct test_helper w;		/* the worker; ib is sbxd's end */
	pid_t		 init;
	int		 pidfd, init_sock;
	struct imsgbuf	 client;	/* fd -1: none */
	struct told	 sbxd, cl;
	bool		 late;		/* the client came to a running one */
	char		*out[3];	/* output by number, with a NUL */
	size_t		 outlen[3];
	const char	*paste;		/* input on its way */
	size_t		 pasted, pastelen;
	int		 fd_home, fd_project, fd_route, nro;
	uint64_t	 ro[16];
};

/* The worker by itself, as spawn starts it; fd 4's other end is the answer.
 * No HELLO. */
int	session_worker(struct test_helper *, uid_t broker);
/* Everything up to a certain point. */
void	session_begin(struct session *, const struct session_opts *);
void	session_tree(struct session *);
void	session_go(struct session *);
/* All of that, and RUNNING. */
void	session_run(struct session *, const struct session_opts *);

/* A message that every side may get, or a client: it is noted. */
bool	told_common(struct told *, const struct msg *);
bool	told_client(struct told *, const struct msg *);

int64_t	session_now(void);		/* ms */
/* Kilobytes of memory that a worker really has, and what it may. */
long	session_rss(pid_t);
#ifdef SBX_SANITIZED
#define SESSION_RSS_MAX	(512 << 10)
#else
#define SESSION_RSS_MAX	(12 << 10)
#endif
/* Handles what comes within so many ms, 0: what is there. */
void	session_pump(struct session *, int ms);
/* Waits until *what is not 0. */
void	session_await(struct session *, const int *what, const char *name);
/* Until the output has this text; then forgets all up to its end. */
void	session_expect(struct session *, const char *text);
void	session_type(struct session *, const void *, size_t);
void	session_say(struct session *, const char *);
void	session_client(struct session *, uint32_t type, const void *body);
/* Closes the client's end. */
void	session_hang_up(struct session *);
/* Waits for EXITED at sbxd, closes, reaps, checks that both processes ended
 * as they should; the status. */
int	session_end(struct session *);
/* The same where the session does not end by itself. */
void	session_abort(struct session *);
/* session_run and session_end: for commands that need nobody. */
int	session_simple(struct session *, const struct session_opts *);

/* A detached copy of the tree; the caller's. */
int	session_tree_fd(void);

#endif
