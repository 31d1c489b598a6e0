/*
 * A session's processes, from START to KILLED. Who it runs as is spawn's own
 * finding: it asks the kernel who the client at the other end of the socket
 * is, since the broker, which reads every client, may have fallen.
 */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
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
		if (l->id[0] != '\0' && strcmp(l->id, id) == 0)
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
 * these a broker that has fallen still holds. And one that it connects to any
 * service of root's leads to who called listen(2): that one is named, as
 * whoever is connected to has to be, and a client is not.
 */
static bool
peer_is_client(int fd, const struct ucred *cred)
{
	struct ucred		broker;
	struct sockaddr_un	sun;
	struct stat		st, log;
	socklen_t		len = sizeof(broker);
	int			listens;

	if (getsockopt(spawn.sbxd->ib.fd, SOL_SOCKET, SO_PEERCRED, &broker,
	    &len) == -1 || cred->pid == broker.pid)
		return (false);
	len = sizeof(listens);
	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == -1 ||
	    listens != 0)
		return (false);
	len = sizeof(sun);
	if (getpeername(fd, (struct sockaddr *)&sun, &len) == -1 ||
	    len > sizeof(sun.sun_family))
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

/* Processes that have become this session's; NULL: errno, what in *step. Those
 * that were made beforehand may have died meanwhile. */
static struct live *
start_live(const struct whose *w, int broker, const char **step)
{
	struct live	*l;
	int		 saved;

	if ((l = spare_take()) != NULL) {
		if (live_become(l, w, broker, step) == 0)
			return (l);
		log_warn("processes that were made beforehand are of no use: "
		    "%s", *step);
		live_drop(l);
	}
	if ((l = live_make(step)) == NULL ||
	    live_become(l, w, broker, step) == 0)
		return (l);
	saved = errno;
	live_drop(l);
	errno = saved;
	return (NULL);
}

/* errno says why. */
static void
start_failed(struct peer *p, const char *id, const char *step)
{
	const char	*why = strerror(errno);
	struct rlimit	 rl;

	if (errno != EMFILE || getrlimit(RLIMIT_NOFILE, &rl) == -1)
		peer_error_at(p, 0, id, "start.failed", "%s: %s", step, why);
	else
		peer_error_at(p, 0, id, "start.failed", "%s: %s: the suite's "
		    "hard limit is %llu (RLIMIT_NOFILE), and each session "
		    "takes five: end some, or start sbxd with a higher one",
		    step, why, (unsigned long long)rl.rlim_max);
}

void
spawn_on_start(struct peer *p, struct msg *msg)
{
	const struct m_START	*start = msg->body;
	struct drop		 user = { 0 };
	const struct whose	 w = {
		.session = start->session, .user = &user,
		.isolated = strcmp(start->network, "host") != 0
	};
	struct live		*l;
	const char		*why, *step;
	int			 broker;

	if (!sid_valid(start->session) || live_find(start->session) != NULL)
		fatalx("START of a session that is or cannot be: %s",
		    start->session);
	broker = msg_take_fd(msg);
	if ((why = user_find(start, &user)) != NULL)
		peer_error_at(p, 0, start->session, "auth.denied",
		    "session %s as uid %llu: %s", start->session,
		    (unsigned long long)start->uid, why);
	else if ((l = start_live(&w, broker, &step)) == NULL)
		start_failed(p, start->session, step);
	else {
		TAILQ_INSERT_TAIL(&spawn.lives, l, entry);
		spawn_word(start->session, &user);
		live_told(l);
	}
	spare_soon();
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
	if (l->id[0] != '\0')
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

	if (l->id[0] != '\0')
		peer_send(spawn.sbxd, MSG_KILLED, 0, -1, &sid);
	TAILQ_REMOVE(&spawn.lives, l, entry);
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
