/*
 * The processes of a session, made for none in particular: init in namespaces
 * and a control group of its own, and a worker. What makes them one session's
 * is spawn_become.c.
 */
#include <sys/socket.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "proc.h"
#include "spawn.h"

#define FDS_KEPT	16

static int
worker_setup(void *arg)
{
	(void)arg;
	drop_to(&spawn.as_worker);
	/* Nothing of it may reach the log but by message. */
	return (dup2(STDIN_FILENO, STDERR_FILENO) == -1 ? -1 : 0);
}

static pid_t
worker_start(int hand, int init)
{
	const int		fds[] = { hand, init };
	struct proc_start	ps = {
		.exe = spawn.exe_worker, .argv0 = "sbx-worker",
		.fds = fds, .nfds = 2, .setup = worker_setup
	};

	return (proc_spawn(&ps));
}

static void
fd_close(int fd)
{
	int	saved = errno;

	if (fd != -1)
		close(fd);
	errno = saved;
}

static int
pair_make(int *ours, int *theirs)
{
	int	pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
		return (-1);
	*ours = pair[0];
	*theirs = pair[1];
	return (0);
}

/* The ends that the processes get are closed by the caller. */
static int
live_start(struct live *l, int hand, int word, const char **step)
{
	int	pair[2], r = -1;

	*step = "a socket pair";
	if (pair_make(&pair[0], &pair[1]) == -1)
		return (-1);
	if (clone_init(l, pair[0], word, step) == 0) {
		*step = "starting the session's worker";
		if ((l->worker = worker_start(hand, pair[1])) == -1)
			l->worker = 0;
		else
			r = 0;
	}
	fd_close(pair[0]);
	fd_close(pair[1]);
	return (r);
}

static struct live *
live_new(const char **step)
{
	struct live	*l;
	int		 hand = -1, word = -1, r = -1, saved;

	*step = "memory for a session";
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return (NULL);
	l->pidfd = l->userns = l->pidns = l->cgroupns = l->cgroup = -1;
	l->hand = l->word = -1;
	*step = "making the session's control group";
	if (spawn.cgroup == -1 || cgroup_make(l) == 0) {
		*step = "a socket pair";
		if (pair_make(&l->hand, &hand) == 0 &&
		    pair_make(&l->word, &word) == 0)
			r = live_start(l, hand, word, step);
	}
	fd_close(hand);
	fd_close(word);
	if (r == 0)
		return (l);
	saved = errno;
	live_drop(l);
	errno = saved;
	return (NULL);
}

void
live_free(struct live *l)
{
	const int	fds[] = {
		l->pidfd, l->userns, l->pidns, l->cgroupns, l->cgroup,
		l->hand, l->word
	};
	size_t		i;

	if (l->timer != NULL)
		event_free(l->timer);
	peer_free(l->becoming);
	pids_free(&l->held);
	for (i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		fd_close(fds[i]);
	free(l);
}

/* What comes with a message that finds no room for it would be the end of us:
 * the next client's, which is refused, and all that ends or freezes. */
struct live *
live_make(const char **step)
{
	struct live	*l;
	int		 saved;

	proc_descriptors(FDS_KEPT);
	l = live_new(step);
	saved = errno;
	proc_descriptors(0);
	errno = saved;
	return (l);
}

/* The worker ends with its sockets, and is nobody's when it is reaped. */
void
live_drop(struct live *l)
{
	peer_free(l->becoming);
	l->becoming = NULL;
	l->id[0] = '\0';
	l->killing = true;
	TAILQ_INSERT_TAIL(&spawn.lives, l, entry);
	cgroup_kill(l);
	if (l->init == 0)
		cgroup_remove(l);
}
