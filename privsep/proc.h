/*
 * A suite program's first steps: it is executed with fd 3 as its socket to
 * its starter (fd 4 for a second one), an empty environment and /dev/null on
 * 0 and 1; stderr is the log.
 */
#ifndef PRIVSEP_PROC_H
#define PRIVSEP_PROC_H

#include <sys/resource.h>

#include "drop.h"
#include "imsg.h"

#define PROC_FD	3

/* Program starts: checks descriptors, sets the log's name, closes all above
 * the ones it was given (first_free is 4, or 5 for init's worker end). */
void	proc_begin(const char *name, int first_free);
/* HELLO both ways over ib, blocking, 10 s; fatal on any mismatch. */
void	proc_hello(struct imsgbuf *, enum role self, enum role other);
/* Its halves, for who must not block: our own HELLO, and whether theirs is of
 * this protocol, role and build. */
void	proc_hello_fill(struct m_HELLO *, enum role self);
bool	proc_hello_fits(const struct m_HELLO *, enum role other);
/* Ends a program whose starter is gone (EPIPE, ECONNRESET), without a line;
 * returns in the starter itself, and for any other error. */
void	proc_over(const struct imsgbuf *, int);
/* Receives exactly this type, blocking, 10 s; fatal else. */
void	proc_expect(struct imsgbuf *, uint32_t type, struct msg *);

/* A role's uid and gid of SUITE's into the drop; fatal where one of them is
 * root's, or none at all. Roles may share a group: no file of the suite's
 * gives its group anything. */
void	proc_suite_ids(const struct m_SUITE *, enum suite_uid, struct drop *);

/* Starts a program: fork, fds[i] becomes 3 + i, everything else closed, clean
 * environment, /dev/null on 0 and 1, stderr as it is, execveat of the O_PATH
 * descriptor (or by path). Returns its pid, or -1; reports a failed exec
 * through the socket's end of file. */
struct proc_start {
	int		 exe;		/* O_PATH descriptor, or -1 */
	const char	*path;		/* used if exe is -1 */
	const char	*argv0, *argv1;	/* argv1: NULL for none */
	const int	*fds;
	size_t		 nfds;
	const int	*cgroup;	/* a v2 group to be born in, or NULL */
	/* Runs in the child before exec (drop of ids); -1 ends it. */
	int		(*setup)(void *);
	void		*arg;
	bool		 keep_stdout;	/* it prints for its starter: conf -v */
};
int	proc_spawn(const struct proc_start *);

/* A session costs descriptors: as many as allowed, but for so many. */
void	proc_descriptors(rlim_t keep);
/* What is executed from here on has the limit that we had, as proc_spawn sees
 * to: a session's command inherits it. -1: errno. */
int	proc_descriptors_back(void);

#endif
