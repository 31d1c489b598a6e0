/*
 * spawn as the real program, with the test as the broker, as landd and as its
 * clients; the control group that it makes sessions in is the case's own.
 */
#ifndef REGRESS_SPAWNED_H
#define REGRESS_SPAWNED_H

#include <sys/resource.h>
#include <sys/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "regress/lib/scripted.h"

#define SID	"abcdefghijkl"
#define SID2	"abcdefghijkm"

extern int	spawn_channel;		/* landd's end of it, -1 */
extern char	spawn_cgroup[256];
extern bool	spawn_spares;		/* what SUITE will say */
extern struct rlimit spawn_limit;	/* of its descriptors, 0: ours */

void	spawn_up(struct test_helper *);
void	spawn_down(struct test_helper *);
/* It ends with status 0. */
void	spawn_finish(struct test_helper *);

/* A client's connected socket, whose other end a process of that uid opened. */
int	spawn_client(uid_t, gid_t, const gid_t *groups, size_t n);
/* START for a client; gives the broker's end of the worker. */
int	spawn_start(struct test_helper *, const char *sid, int client, uid_t,
	    gid_t, const char *network);

struct started {
	pid_t	init, worker;
	int	kinds;
};
/* What a START gives: seven descriptors, then the pids. */
void	spawn_expect(struct test_helper *, struct started *);
/* STARTED is sent while both are still on their way to exec. */
void	spawn_wait_exec(pid_t, const char *argv0);
/* KILL, and everything of it gone. */
void	spawn_kill(struct test_helper *, const char *sid, int broker);

/* How many groups there are but spawn's own; one's name. */
int	spawn_groups(char *name, size_t size);
/* Two namespaces' links are the same. */
bool	spawn_ns_same(pid_t, pid_t, const char *ns);
/* A line of /proc/PID/status, without its name; "" where it is gone. */
void	spawn_status(pid_t, const char *name, char *out, size_t size);

#define STATUS(pid, name, want) do {					\
	char	 got[1024], *g = got, *e;				\
									\
	spawn_status(pid, name, got, sizeof(got));			\
	g += strspn(g, "\t ");						\
	for (e = g + strlen(g); e > g && e[-1] == ' ';)			\
		*--e = '\0';						\
	if (strcmp(g, want) != 0)					\
		atf_tc_fail("%s of %s is %s, not %s", name, #pid, g,	\
		    want);						\
} while (0)

#define NOCAPS	"0000000000000000"

#endif
