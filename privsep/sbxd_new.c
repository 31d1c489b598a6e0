/*
 * NEW: a session's start. Everything is sent without waiting for one another;
 * what comes back is put together in session_advance.
 */
#include <sys/random.h>
#include <sys/socket.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/env.h"
#include "../common/escape.h"
#include "../common/ids.h"
#include "../common/log.h"
#include "../common/path.h"
#include "mode.h"
#include "sbxd.h"

/* A request that is refused: code, reason, and the value it is about. */
struct refusal {
	const char	*code, *why, *value;
};

static bool
refuse(struct refusal *r, const char *code, const char *why,
    const char *value)
{
	r->code = code;
	r->why = why;
	r->value = value;
	return (false);
}

static bool
network_is_sane(const char *network)
{
	return (strcmp(network, "host") == 0 || strcmp(network, "none") == 0);
}

/* The places where no root can be: they are fresh inside. */
static bool
root_is_sane(const char *root, struct refusal *r)
{
	static const char *const	fresh[] = { "/proc", "/sys", "/dev" };
	size_t				i;

	if (!path_is_canonical(root) || strlen(root) > LIMIT_PATH)
		return (refuse(r, "repo.invalid", "the repository is not an "
		    "absolute, clean path", root));
	if (strcmp(root, "/") == 0)
		return (refuse(r, "repo.root", "the repository cannot be the "
		    "root folder: name a folder below it", root));
	for (i = 0; i < sizeof(fresh) / sizeof(fresh[0]); i++)
		if (path_within(fresh[i], root))
			return (refuse(r, "repo.invalid", "the repository "
			    "cannot lie there: name a folder on a disk",
			    root));
	if (path_within(sbxd.conf.state, root))
		return (refuse(r, "repo.state", "the repository lies in the "
		    "suite's own state", root));
	return (true);
}

/* One in another would be in both layers, and land twice. */
static bool
roots_are_sane(const struct m_NEW *m, struct refusal *r)
{
	struct roots	 roots;
	const char	*outer, *inner;
	size_t		 i;

	if (!roots_set(&roots, m->project, &m->more))
		return (refuse(r, "repo.toomany", "a session has at most 16 "
		    "repositories: leave some out, or name a folder above "
		    "them", ""));
	for (i = 0; i < roots.n; i++)
		if (!root_is_sane(roots.v[i], r))
			return (false);
	if (roots_clash(&roots, &outer, &inner))
		return (refuse(r, "repo.nested", strcmp(outer, inner) == 0 ?
		    "this repository is named twice: name it once" : "this "
		    "repository lies in another one that is named: leave it "
		    "out, what changes in it is a change of that one",
		    inner));
	return (true);
}

static bool
lists_are_sane(const struct m_NEW *m, struct refusal *r)
{
	size_t	i;

	if (m->argv.n == 0 || m->argv.v[0][0] == '\0')
		return (refuse(r, "command.none", "there is no command", ""));
	if (m->env.n >= LIMIT_ARGC)
		return (refuse(r, "env.invalid", "too many variables", ""));
	if (m->ro.n > NAMED_PATHS)
		return (refuse(r, "ro.invalid", "the read-only paths are too "
		    "many: name a folder above them", ""));
	if (m->hide.n > NAMED_PATHS || strv_bytes(&m->hide) > HIDES_BYTES)
		return (refuse(r, "hide.invalid", "the hidden paths are too "
		    "long, all together: hide a folder above them", ""));
	if (strv_bytes(&m->argv) + strv_bytes(&m->env) +
	    strv_bytes(&m->hide) + strv_bytes(&m->ro) +
	    strv_bytes(&m->more) > LISTS_BYTES)
		return (refuse(r, "command.toolong", "command, environment "
		    "and paths are too long, all together", ""));
	for (i = 0; i < m->env.n; i++)
		if (!env_valid(m->env.v[i]) || env_never(m->env.v[i]))
			return (refuse(r, "env.invalid", "this variable does "
			    "not enter a session", m->env.v[i]));
	for (i = 0; i < m->hide.n; i++)
		if (!path_is_canonical(m->hide.v[i]))
			return (refuse(r, "hide.invalid", "a hidden path is "
			    "not absolute and clean", m->hide.v[i]));
	for (i = 0; i < m->ro.n; i++)
		if (!path_is_canonical(m->ro.v[i]))
			return (refuse(r, "ro.invalid", "a read-only path is "
			    "not absolute and clean", m->ro.v[i]));
	return (true);
}

bool
share_is_left(const struct client *c, const struct session *but)
{
	const struct session	*s;
	size_t			 n = 0, bytes = 0;

	if (c->uid == 0)
		return (true);
	TAILQ_FOREACH(s, &sbxd.sessions, entry)
		if (s->rec.r.peer == c->uid && s != but) {
			n++;
			bytes += s->rec.len + s->before.len;
		}
	return (n < SESSIONS_A_UID && bytes < RECORDS_A_UID);
}

/* Who, and with which paths. */
static bool
new_is_clean(const struct client *c, const struct m_NEW *m, struct refusal *r)
{
	if (m->as && c->uid != 0)
		return (refuse(r, "auth.denied", "only root runs a session as "
		    "somebody else", m->user));
	if (m->as && (m->uid >= UINT32_MAX || m->uid == UID_NOROLE ||
	    m->gid >= UINT32_MAX))
		return (refuse(r, "auth.denied", "this user has no role",
		    m->user));
	if (mode_user() && (m->as ? m->uid : c->uid) != mode_owner())
		return (refuse(r, "auth.denied", "this suite is an ordinary "
		    "user's own, and runs sessions as that user only",
		    m->user));
	if (!network_is_sane(m->network))
		return (refuse(r, "network.invalid", "network is host or "
		    "none", m->network));
	if (!path_is_canonical(m->home) || strcmp(m->home, "/") == 0)
		return (refuse(r, "home.invalid", "the home folder is not an "
		    "absolute, clean path below /", m->home));
	if (!path_is_canonical(m->cwd))
		return (refuse(r, "cwd.invalid", "the current folder is not "
		    "an absolute, clean path", m->cwd));
	return (roots_are_sane(m, r) && lists_are_sane(m, r));
}

static bool
new_is_sane(const struct client *c, const struct m_NEW *m, struct refusal *r)
{
	if (m->name != NULL && (m->name[0] == '\0' ||
	    escape_needed(m->name, strlen(m->name), "")))
		return (refuse(r, "name.invalid", "a name is printable text",
		    m->name));
	if (m->rows > 65535 || m->cols > 65535 || m->umask.v > 0777)
		return (refuse(r, "size.invalid", "a size or umask out of "
		    "bounds", ""));
	if (sbxd.nsessions >= SESSIONS_MAX - (c->uid == 0 ? 0 :
	    SESSIONS_ROOT) || !share_is_left(c, NULL))
		return (refuse(r, "limit.sessions", "there are too many "
		    "sessions: remove some by sbxctl rm", ""));
	if (sbxd.stopping)
		return (refuse(r, "suite.ending", "the suite is ending", ""));
	return (new_is_clean(c, m, r));
}

static void
new_refuse(struct peer *p, uint32_t id, const struct refusal *r)
{
	peer_error(p, id, r->code, "%s%s%s", r->value, r->value[0] == '\0' ?
	    "" : ": ", r->why);
}

bool
new_is_allowed(struct peer *p, uint32_t id, const struct m_NEW *m)
{
	struct refusal	r;

	if (new_is_clean(p->ctx, m, &r))
		return (true);
	new_refuse(p, id, &r);
	return (false);
}

/* 60 random bits, as 12 characters that no eye mixes up. */
static void
session_id(char out[LIMIT_SID + 1])
{
	static const char	set[] = SID_CHARS;
	uint8_t			r[SID_LEN];
	int			i;

	do {
		if (getrandom(r, sizeof(r), 0) != sizeof(r))
			fatal("getrandom");
		for (i = 0; i < SID_LEN; i++)
			out[i] = set[r[i] & 31];
		out[SID_LEN] = '\0';
	} while (session_find(out) != NULL);
}

/* By the clock that files are stamped by: see landd's drift_recent. */
static uint64_t
files_now(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_REALTIME_COARSE, &ts);
	return ((uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec);
}

/* The client's own, as the kernel kept them: what it says of itself is not
 * believed. spawn asks for itself; these are for a resume by root. */
void
client_groups(const struct client *c, uint64_t *v, struct u64v *out)
{
	gid_t		groups[LIMIT_GROUPS];
	socklen_t	len = sizeof(groups);

	out->v = v;
	out->n = 0;
	if (getsockopt(c->peer->ib.fd, SOL_SOCKET, SO_PEERGROUPS, groups,
	    &len) == -1)
		return;
	for (; out->n < len / sizeof(groups[0]); out->n++)
		v[out->n] = groups[out->n];
}

static struct session *
new_record(const struct client *c, const struct m_NEW *m)
{
	char		id[LIMIT_SID + 1], owner[32];
	uint64_t	groups[LIMIT_GROUPS];
	struct m_RECORD	r = {
		.version = RECORD_VERSION, .session = id, .generation = 1,
		.boot = sbxd.boot, .name = m->name, .state = "starting",
		.owner = owner, .user = m->user,
		.uid = m->as ? m->uid : c->uid,
		.gid = m->as ? m->gid : c->gid,
		.groups = m->groups, .peer = c->uid, .project = m->project,
		.home = m->home, .cwd = m->cwd, .argv = m->argv,
		.env = m->env, .hide = m->hide, .ro = m->ro,
		.network = m->network, .tty = m->tty, .umask = m->umask,
		.t0 = files_now()
	};

	/* An empty list is none: a record of one root is as it always was. */
	if (m->more.n > 0)
		r.more = m->more;
	if (!m->as)
		client_groups(c, groups, &r.groups);
	session_id(id);
	snprintf(owner, sizeof(owner), "uid:%u", (unsigned int)c->uid);
	r.created = r.t0 / 1000000000U;
	return (session_new(&r));
}

static void
send_spawn(struct session *s, int client, int worker)
{
	const struct m_RECORD	*r = &s->rec.r;
	struct m_SID		 sid = { .session = r->session };
	struct m_START		 start = {
		.session = r->session, .generation = r->generation,
		.uid = r->uid, .gid = r->gid, .groups = r->groups,
		.network = r->network
	};

	peer_send(sbxd.helper[H_SPAWN], MSG_PEER, 0, client, &sid);
	peer_send(sbxd.helper[H_SPAWN], MSG_START, 0, worker, &start);
}

/* Which folders its roots are, as the record has it. */
struct facts {
	uint64_t	dev[LIMIT_ROOTS], ino[LIMIT_ROOTS];
};

static void
facts_get(const struct session *s, struct facts *f, struct u64v *devs,
    struct u64v *inos)
{
	const struct m_RECORD	*r = &s->rec.r;
	size_t			 i;

	f->dev[0] = r->dev;
	f->ino[0] = r->ino;
	devs->n = inos->n = 1;
	for (i = 0; i < r->more.n && i < r->devs.n && i < r->inos.n; i++) {
		f->dev[devs->n++] = r->devs.v[i];
		f->ino[inos->n++] = r->inos.v[i];
	}
	devs->v = f->dev;
	inos->v = f->ino;
}

static void
send_mountd(struct session *s)
{
	const struct m_RECORD	*r = &s->rec.r;
	struct m_PREP		 prep = {
		.session = r->session, .uid = r->uid, .gid = r->gid,
		.home = r->home, .project = r->project, .more = r->more,
		.hide = r->hide, .ro = r->ro, .argv = r->argv,
		.again = r->generation > 1, .groups = r->groups,
		.byroot = r->peer == 0
	};
	struct facts		 facts;

	if (prep.again)
		facts_get(s, &facts, &prep.devs, &prep.inos);
	peer_send(sbxd.helper[H_MOUNTD], MSG_PREP, 0, -1, &prep);
}

static void
send_netd(struct session *s)
{
	struct m_NET	net = {
		.session = s->rec.r.session, .network = s->rec.r.network
	};

	s->net = job_number();
	peer_send(sbxd.helper[H_NETD], MSG_NET, s->net, -1, &net);
}

/* The command's environment: the request's, and by what sbxctl, run inside,
 * knows where it is. */
const char **
session_env(const struct session *s, char *mark, size_t size)
{
	const struct strv	*env = &s->rec.r.env;
	const char		**v;

	if ((v = calloc(env->n + 2, sizeof(*v))) == NULL)
		fatal("environment");
	memcpy(v, env->v, env->n * sizeof(*v));
	snprintf(mark, size, "SBX_SESSION=%s", s->rec.r.session);
	v[env->n] = mark;
	return (v);
}

static void
send_worker(struct session *s, const struct m_NEW *m, int listener,
    int terminal)
{
	const struct m_RECORD	*r = &s->rec.r;
	struct m_SETUP		 setup = {
		.session = r->session, .argv = r->argv, .env = r->env,
		.cwd = r->cwd, .home = r->home, .project = r->project,
		.more = r->more, .ro = r->ro, .network = r->network,
		.tty = r->tty, .rows = m->rows, .cols = m->cols,
		.umask = r->umask
	};
	char			 mark[64];
	const char		**env = session_env(s, mark, sizeof(mark));

	setup.env.v = env;
	setup.env.n = r->env.n + 1;
	peer_send(s->worker, MSG_SETUP, 0, -1, &setup);
	free(env);
	peer_send(s->worker, MSG_LISTEN, 0, listener, NULL);
	if (terminal != -1)
		peer_send(s->worker, MSG_ATTACH, 0, terminal, NULL);
}

/*
 * The client's connection, three times: for spawn, which asks the kernel who
 * that is; for the worker, if the connection becomes the terminal's; for us,
 * to say why the start failed.
 */
static int
starter_take(struct session *s, struct client *c, uint32_t id, bool attach,
    int *forspawn, int *terminal)
{
	int	fd, saved;

	*terminal = -1;
	s->starter_id = id;
	s->unheard = false;
	*forspawn = fcntl(c->peer->ib.fd, F_DUPFD_CLOEXEC, 0);
	if (*forspawn == -1)
		return (-1);
	if (!attach) {
		s->starter = c;
		return (0);
	}
	/* Once the connection is given away nobody hears of a failure. */
	*terminal = fcntl(c->peer->ib.fd, F_DUPFD_CLOEXEC, 0);
	if (*terminal != -1)
		client_send_brief(c, id, s, false);
	if (*terminal == -1 || peer_release(c->peer, &fd) == -1) {
		saved = errno;
		if (*terminal != -1)
			close(*terminal);
		close(*forspawn);
		errno = saved;
		return (-1);
	}
	c->peer = NULL;
	client_drop(c);
	s->starter_fd = fd;
	return (0);
}

int
session_start(struct session *s, struct client *c, uint32_t id,
    const struct m_NEW *m, const char **what)
{
	int	pair[2], listener, forspawn, terminal, saved;

	*what = "a socket for the session";
	if ((listener = worker_listen(s->rec.r.session)) == -1)
		return (-1);
	*what = "a socket pair";
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1) {
		close(listener);
		return (-1);
	}
	/* The last one of those that stay: the others are below it. */
	if (!fds_left(pair[1], c->uid)) {
		close(listener);
		close(pair[0]);
		close(pair[1]);
		errno = EMFILE;
		return (-1);
	}
	*what = "the worker's connection";
	if ((s->worker = worker_peer(s, pair[0])) == NULL) {
		close(listener);
		close(pair[1]);
		return (-1);
	}
	if (starter_take(s, c, id, m->attach, &forspawn, &terminal) == -1) {
		*what = errno != EBUSY ? "the client's connection" : "handing "
		    "the connection over: nothing may follow NEW before its "
		    "answer";
		saved = errno;
		close(listener);
		close(pair[1]);
		errno = saved;
		return (-1);
	}
	/* Who has the most to do begins first. */
	send_mountd(s);
	send_spawn(s, forspawn, pair[1]);
	send_worker(s, m, listener, terminal);
	send_netd(s);
	return (0);
}

void
client_on_new(struct peer *p, struct msg *msg)
{
	const struct m_NEW	*m = msg->body;
	struct client		*c = p->ctx;
	struct refusal		 r;
	struct session		*s;
	const char		*what;
	char			 id[LIMIT_SID + 1];

	if (!new_is_sane(c, m, &r)) {
		new_refuse(p, msg->id, &r);
		return;
	}
	if ((s = new_record(c, m)) == NULL) {
		peer_error(p, msg->id, "state.failed", "%s",
		    state_why("writing the session's record"));
		return;
	}
	if (session_start(s, c, msg->id, m, &what) == -1) {
		peer_error(p, msg->id, "start.failed", "%s", fds_why(what));
		strlcpy(id, s->rec.r.session, sizeof(id));
		unlink(id);
		session_remove(s);
		return;
	}
	/* While the others work. */
	session_save(s);
	session_sync_soon(s);
	idle_check();
}

void
session_seal(struct session *s)
{
	struct m_SEAL	seal = { .session = s->rec.r.session };
	struct facts	facts;
	struct roots	roots;

	/* As late as can be: what the owner did just before is no drift.
	 * Nothing of the session has read a file before GO; but what is in a
	 * resumed one's layer was read after the T0 that it has. */
	if (s->rec.r.generation == 1 || s->empty)
		s->rec.r.t0 = files_now();
	seal.t0 = s->rec.r.t0;
	session_roots(s, &roots);
	seal.roots = (struct strv){ roots.n, roots.v };
	facts_get(s, &facts, &seal.devs, &seal.inos);
	s->seal = job_number();
	peer_send(sbxd.helper[H_LANDD], MSG_SEAL, s->seal, -1, &seal);
}

/* Who was there to ask for it has ended before it ran: nobody wants it, and of
 * a new one nobody knows. */
static const char	unheard[] = "who started it had gone";

void
session_unheard(struct session *s)
{
	s->starter = NULL;
	s->unheard = true;
	/* After GO it may run already: session_running ends it. */
	if (s->state == S_STARTING && !s->went)
		session_fail(s, "client.gone", unheard);
}

/* Half an end may be a client's that only has no more to send. */
static bool
starter_hung_up(const struct session *s)
{
	struct pollfd	pfd = { .fd = s->starter_fd };

	return (s->starter_fd != -1 && poll(&pfd, 1, 0) == 1 &&
	    (pfd.revents & POLLHUP) != 0);
}

void
session_advance(struct session *s)
{
	if (s->state != S_STARTING || s->went || !s->started || !s->mounted ||
	    !s->netup || s->sealed <= s->rec.r.more.n)
		return;
	if (starter_hung_up(s)) {
		session_fail(s, "client.gone", unheard);
		return;
	}
	s->went = true;
	peer_send(s->worker, MSG_GO, 0, -1, NULL);
}

/* exec succeeded. The evidence is written after the fact that it proves. */
void
session_running(struct session *s)
{
	s->ran = true;
	session_set(s, S_RUNNING, NULL);
	if (s->starter != NULL)
		client_send_session(s->starter, s->starter_id, s);
	s->starter = NULL;
	if (s->starter_fd != -1)
		close(s->starter_fd);
	s->starter_fd = -1;
	record_free(&s->before);
	session_save(s);
	if (s->unheard)
		session_end(s, unheard);
}
