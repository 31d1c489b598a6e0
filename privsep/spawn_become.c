/*
 * Processes become a session's: init is told whose it is, and answers with the
 * namespaces that it makes only then; the worker gets the broker's socket.
 * All that init has read by then is BECOME: it is our own program still.
 */
#include <sys/syscall.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "spawn.h"

static void
become_failed(struct live *l, const char *step, const char *why)
{
	peer_free(l->becoming);
	l->becoming = NULL;
	peer_error_at(spawn.sbxd, 0, l->id, "start.failed", "%s: %s", step,
	    why);
}

/* Tells the broker what the session is made of. */
static int
become_send(const struct live *l, const char *kind, int fd)
{
	struct m_SFD	sfd = { .session = l->id, .kind = kind };

	if (fd == -1 || (fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) == -1)
		return (-1);
	peer_send(spawn.sbxd, MSG_SFD, 0, fd, &sfd);
	return (0);
}

static void
become_done(struct live *l)
{
	struct m_STARTED	started = {
		.session = l->id, .init = (uint64_t)l->init,
		.worker = (uint64_t)l->worker
	};
	int			fd;

	peer_free(l->becoming);
	l->becoming = NULL;
	fd = (int)syscall(SYS_pidfd_open, l->worker, 0);
	if (become_send(l, "pidfd", l->pidfd) == -1 ||
	    become_send(l, "workerfd", fd) == -1)
		become_failed(l, "a descriptor of its processes",
		    strerror(errno));
	else
		peer_send(spawn.sbxd, MSG_STARTED, 0, -1, &started);
	if (fd != -1)
		close(fd);
}

static void
become_on_sfd(struct peer *p, struct msg *msg)
{
	static const char *const	due[] = { "mntns", "netns" };
	const struct m_SFD		*m = msg->body;
	struct live			*l = p->ctx;

	if (strcmp(m->session, l->id) != 0 ||
	    strcmp(m->kind, due[l->told]) != 0) {
		become_failed(l, "the session's first process",
		    "it sent a descriptor that was not due");
		return;
	}
	if (become_send(l, due[l->told], msg->fd) == -1)
		become_failed(l, "a namespace's descriptor", strerror(errno));
	else if (++l->told == sizeof(due) / sizeof(due[0]))
		become_done(l);
}

/* The worker says why, if init could tell it. */
static void
become_gone(struct peer *p, const char *why)
{
	become_failed(p->ctx, "the session's first process", why != NULL ?
	    why : "it ended before it was the session's user");
}

static const struct handler become_table[] = {
	{ MSG_SFD, PERMIT_ALWAYS, become_on_sfd },
};
static const struct peer_ops become_ops = {
	.table = become_table,
	.n = sizeof(become_table) / sizeof(become_table[0]),
	.gone = become_gone
};

/* The worker has read nothing yet: this comes before all that the broker has
 * put into its socket. */
static int
become_worker(struct live *l, int broker)
{
	struct imsgbuf	ib;
	int		r, saved;

	if ((broker = fcntl(broker, F_DUPFD_CLOEXEC, 0)) == -1)
		return (-1);
	if (imsg_init(&ib, l->hand, ROLE_SPAWN, ROLE_WORKER) == -1) {
		saved = errno;
		close(broker);
		errno = saved;
		return (-1);
	}
	l->hand = -1;
	r = imsg_send(&ib, MSG_CHANNEL, 0, broker, NULL);
	saved = errno;
	imsg_clear(&ib);
	errno = saved;
	return (r);
}

/* The kernel knows of its death before we hear of it. */
static int
become_alive(const struct live *l)
{
	siginfo_t	si = { .si_pid = 0 };

	if (waitid(P_PIDFD, (id_t)l->pidfd, &si, WEXITED | WNOHANG |
	    WNOWAIT) == -1)
		return (-1);
	if (si.si_pid == 0)
		return (0);
	errno = ESRCH;
	return (-1);
}

static int
become_init(struct live *l, const struct drop *user, bool isolated)
{
	static uint64_t	 groups[LIMIT_GROUPS];
	struct m_BECOME	 m = {
		.session = l->id, .uid = user->uid, .gid = user->gid,
		.groups = { user->ngroups, groups }, .isolated = isolated
	};
	size_t		 i;

	for (i = 0; i < user->ngroups; i++)
		groups[i] = user->groups[i];
	l->becoming = peer_new(spawn.base, l->word, ROLE_SPAWN, ROLE_INIT,
	    &become_ops, l);
	l->word = -1;
	if (l->becoming == NULL)
		return (-1);
	peer_send(l->becoming, MSG_BECOME, 0, -1, &m);
	/* It fits into an empty socket: or else nobody is at the other end. */
	if (peer_queued(l->becoming) > 0) {
		errno = EPIPE;
		return (-1);
	}
	return (become_alive(l));
}

/* The worker last: what it has read of the broker's is nobody else's. */
int
live_become(struct live *l, const struct whose *w, int broker,
    const char **step)
{
	strlcpy(l->id, w->session, sizeof(l->id));
	*step = "telling its first process whose it is";
	if (become_init(l, w->user, w->isolated) == -1)
		return (-1);
	*step = "telling its worker whose it is";
	return (become_worker(l, broker));
}

void
live_told(struct live *l)
{
	/* mountd waits for the first. */
	if (become_send(l, "pidns", l->pidns) == -1 ||
	    become_send(l, "userns", l->userns) == -1 ||
	    become_send(l, "cgroupns", l->cgroupns) == -1)
		become_failed(l, "a namespace's descriptor", strerror(errno));
}
