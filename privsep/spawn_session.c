/*
 * A session's processes, from START to KILLED. Who it runs as is spawn's own
 * finding: it asks the kernel who the client at the other end of the socket
 * is, since the broker, which reads every client, may have fallen.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/ids.h"
#include "../common/log.h"
#include "mode.h"
#include "outside.h"
#include "proc.h"
#include "spawn.h"

struct live *
live_find(const char *id)
{
	struct live	*l;

	TAILQ_FOREACH(l, &spawn.lives, entry)
		if (strcmp(l->id, id) == 0)
			return (l);
	return (NULL);
}

void
spawn_on_peer(struct peer *p, struct msg *msg)
{
	const struct m_SID	*sid = msg->body;

	(void)p;
	if (spawn.client != -1)
		close(spawn.client);
	spawn.client = msg_take_fd(msg);
	strlcpy(spawn.client_for, sid->session, sizeof(spawn.client_for));
}

/*
 * The kernel calls a socket root's also where no client of root's is behind
 * it: the pairs that the broker made before it dropped, our own among them,
 * which says who made it; one that listens; a log that is a socket. All of
 * these a broker that has fallen still holds.
 */
static bool
peer_is_client(int fd, const struct ucred *cred)
{
	struct ucred	broker;
	struct stat	st, log;
	socklen_t	len = sizeof(broker);
	int		listens;

	if (getsockopt(spawn.sbxd->ib.fd, SOL_SOCKET, SO_PEERCRED, &broker,
	    &len) == -1 || cred->pid == broker.pid)
		return (false);
	len = sizeof(listens);
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == -1 ||
	    listens != 0)
		return (false);
	return (fstat(fd, &st) == 0 && fstat(STDERR_FILENO, &log) == 0 &&
	    (st.st_dev != log.st_dev || st.st_ino != log.st_ino));
}

/* The client's own groups, as the kernel kept them. */
static int
peer_groups(int fd, struct drop *user)
{
	static gid_t	groups[LIMIT_GROUPS];
	socklen_t	len = sizeof(groups);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == -1)
		return (-1);
	user->groups = groups;
	user->ngroups = len / sizeof(groups[0]);
	return (0);
}

/* root's word on whom a session runs as: --as. */
static int
user_as(const struct m_START *start, struct drop *user)
{
	static gid_t	groups[LIMIT_GROUPS];
	size_t		i;

	user->uid = (uid_t)start->uid;
	user->gid = (gid_t)start->gid;
	if (start->uid >= UINT32_MAX || start->gid >= UINT32_MAX)
		return (-1);
	for (i = 0; i < start->groups.n; i++) {
		if (start->groups.v[i] >= UINT32_MAX)
			return (-1);
		groups[i] = (gid_t)start->groups.v[i];
	}
	user->groups = groups;
	user->ngroups = start->groups.n;
	return (0);
}

/* NULL, or why this session may not be. */
static const char *
user_find(const struct m_START *start, struct drop *user)
{
	struct ucred	cred;
	socklen_t	len = sizeof(cred);
	const char	*why;

	if (spawn.client == -1 || strcmp(spawn.client_for, start->session) !=
	    0)
		return ("no client's socket came with it");
	if (getsockopt(spawn.client, SOL_SOCKET, SO_PEERCRED, &cred, &len) ==
	    -1)
		return ("its client's socket has no credentials");
	if (!peer_is_client(spawn.client, &cred))
		return ("its client's socket leads to no client");
	if (cred.uid != 0 && (why = outside_refuses(spawn.client)) != NULL)
		return (why);
	if (cred.uid == UID_NOROLE || start->uid == UID_NOROLE)
		return ("uid 65534 has no role");
	if (mode_user() && start->uid != mode_owner())
		return ("this suite runs sessions as its owner only");
	if (start->uid != cred.uid && cred.uid != 0)
		return ("only root runs a session as somebody else");
	if (start->uid != cred.uid)
		return (user_as(start, user) == -1 ? "no such uid or gid" :
		    NULL);
	user->uid = cred.uid;
	user->gid = cred.gid;
	if (peer_groups(spawn.client, user) == -1)
		return ("its client's groups are not known");
	return (NULL);
}

static int
worker_setup(void *arg)
{
	(void)arg;
	drop_to(&spawn.as_worker);
	/* Nothing of it may reach the log but by message. */
	return (dup2(STDIN_FILENO, STDERR_FILENO) == -1 ? -1 : 0);
}

static pid_t
worker_start(int broker, int init)
{
	const int		fds[] = { broker, init };
	struct proc_start	ps = {
		.exe = spawn.exe_worker, .argv0 = "sbx-worker",
		.fds = fds, .nfds = 2, .setup = worker_setup
	};

	return (proc_spawn(&ps));
}

static void
live_free(struct live *l)
{
	TAILQ_REMOVE(&spawn.lives, l, entry);
	if (l->timer != NULL)
		event_free(l->timer);
	pids_free(&l->held);
	if (l->pidfd != -1)
		close(l->pidfd);
	if (l->userns != -1)
		close(l->userns);
	if (l->pidns != -1)
		close(l->pidns);
	if (l->cgroup != -1)
		close(l->cgroup);
	free(l);
}

static void
live_tell(struct live *l)
{
	struct m_STARTED	started = {
		.session = l->id, .init = (uint64_t)l->init,
		.worker = (uint64_t)l->worker
	};
	struct m_SFD		sfd = { .session = l->id };
	int			fd;

	sfd.kind = "pidfd";
	if ((fd = fcntl(l->pidfd, F_DUPFD_CLOEXEC, 0)) != -1)
		peer_send(spawn.sbxd, MSG_SFD, 0, fd, &sfd);
	sfd.kind = "workerfd";
	fd = (int)syscall(SYS_pidfd_open, l->worker, 0);
	if (fd != -1)
		peer_send(spawn.sbxd, MSG_SFD, 0, fd, &sfd);
	peer_send(spawn.sbxd, MSG_STARTED, 0, -1, &started);
}

/* Clones and executes; on failure says so, and what began ends with KILL. */
static void
live_start(struct live *l, const struct m_START *start, struct drop *user,
    int broker)
{
	struct clone_as	 as = {
		.user = *user, .newnet = strcmp(start->network, "host") != 0
	};
	const char	*step = "a socket pair";
	int		 pair[2];

	if (spawn.cgroup != -1 && (l->cgroup = cgroup_make(l->id)) == -1) {
		peer_error_at(spawn.sbxd, 0, l->id, "start.failed",
		    "making the session's control group: %s", strerror(errno));
		return;
	}
	as.cgroup = l->cgroup;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
		goto fail;
	as.sock = pair[0];
	l->init = clone_session(&as, l, &step);
	if (l->init == -1) {
		l->init = 0;
		goto fail_pair;
	}
	step = "starting the session's worker";
	if ((l->worker = worker_start(broker, pair[1])) == -1) {
		l->worker = 0;
		goto fail_pair;
	}
	close(pair[0]);
	close(pair[1]);
	live_tell(l);
	return;
fail_pair:
	close(pair[0]);
	close(pair[1]);
fail:
	peer_error_at(spawn.sbxd, 0, l->id, "start.failed", "%s: %s", step,
	    strerror(errno));
}

void
spawn_on_start(struct peer *p, struct msg *msg)
{
	const struct m_START	*start = msg->body;
	struct drop		 user = { 0 };
	struct live		*l;
	const char		*why;
	int			 broker;

	if (!sid_valid(start->session) || live_find(start->session) != NULL)
		fatalx("START of a session that is or cannot be: %s",
		    start->session);
	if ((l = calloc(1, sizeof(*l))) == NULL)
		fatal("session");
	strlcpy(l->id, start->session, sizeof(l->id));
	l->pidfd = l->userns = l->pidns = l->cgroup = -1;
	TAILQ_INSERT_TAIL(&spawn.lives, l, entry);
	broker = msg_take_fd(msg);
	if ((why = user_find(start, &user)) != NULL)
		peer_error_at(p, 0, start->session, "auth.denied",
		    "session %s as uid %llu: %s", start->session,
		    (unsigned long long)start->uid, why);
	else {
		spawn_word(start->session, &user);
		live_start(l, start, &user, broker);
	}
	close(broker);
	if (spawn.client != -1)
		close(spawn.client);
	spawn.client = -1;
}

void
live_init_gone(struct live *l, int status)
{
	struct m_SENDED	ended = {
		.session = l->id, .status = (uint64_t)(unsigned int)status
	};

	l->init = 0;
	peer_send(spawn.sbxd, MSG_SENDED, 0, -1, &ended);
	if (l->killing)
		cgroup_remove(l);
}

/* The session's end is init's: the broker has lost its socket already. */
void
live_worker_gone(struct live *l)
{
	l->worker = 0;
}

void
live_ended(struct live *l)
{
	struct m_SID	sid = { .session = l->id };

	peer_send(spawn.sbxd, MSG_KILLED, 0, -1, &sid);
	live_free(l);
}

void
spawn_on_kill(struct peer *p, struct msg *msg)
{
	const struct m_SID	*sid = msg->body;
	struct live		*l;

	if ((l = live_find(sid->session)) == NULL) {
		peer_send(p, MSG_KILLED, 0, -1, sid);
		return;
	}
	if (l->killing)
		return;
	l->killing = true;
	/* Whoever waits for it goes on, and finds the session ended. */
	if (l->freezing)
		freeze_failed(l, "it is being ended");
	cgroup_kill(l);
	if (l->init == 0)
		cgroup_remove(l);
}
