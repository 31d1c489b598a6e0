/*
 * Clients: who they are is the kernel's word (SO_PEERCRED), what they may do
 * is looked up here, and what they ask for about sessions is answered here.
 */
#include <sys/socket.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/commit.h"
#include "../common/ids.h"
#include "../common/log.h"
#include "outside.h"
#include "proc.h"
#include "sbxd.h"

#define BRIEF_WORDS	8
#define BRIEF_WORD	128	/* bytes */

static bool
uids_have(const struct uids *u, uid_t uid)
{
	size_t	i;

	for (i = 0; i < u->n; i++)
		if (u->v[i] == uid)
			return (true);
	return (false);
}

bool
uid_is_admin(uid_t uid)
{
	return (uid == 0 || uids_have(&sbxd.conf.admins, uid));
}

/* NULL, or why this uid may not talk to us at all. */
static const char *
uid_refused(uid_t uid)
{
	const struct client	*c;
	size_t			 n = 0;

	if (uid == UID_NOROLE)
		return ("uid 65534 has no role");
	if (!uid_is_admin(uid) && sbxd.conf.users.n > 0 &&
	    !uids_have(&sbxd.conf.users, uid))
		return ("sbxd.conf gives this uid no role");
	if (sbxd.nclients >= CLIENTS_MAX - (uid == 0 ? 0 : CLIENTS_ROOT))
		return ("too many connections");
	TAILQ_FOREACH(c, &sbxd.clients, entry)
		if (c->uid == uid)
			n++;
	if (n >= CLIENTS_A_UID && uid != 0)
		return ("too many connections of this uid");
	return (NULL);
}

/*
 * Root and the owner, who made it, may all. Who types into it, or says what
 * runs in it next, decides what it does, and with whose keys; who ends it,
 * how far it comes. The user that another's session runs as looks, and no
 * more. An admin has no power here that is root's: spawn too takes root's own
 * client for that.
 */
enum allow { NO, YES, NOTROOT };	/* unless it runs as root */
static const struct {
	enum allow	 admin, runsas;
	const char	*who;		/* so that a refusal says it */
} acts[] = {
	[ACT_LOOK] = { YES, YES, "who looks at it" },
	[ACT_END] = { YES, NO, "who ends it" },
	[ACT_TYPE] = { NOTROOT, NO, "who types into it" },
	[ACT_RESUME] = { NO, NO, "who resumes it" },
	[ACT_LAND] = { NO, NO, "who lands and discards its changes" },
};

bool
client_may(const struct client *c, const struct session *s, enum act act)
{
	const struct m_RECORD	*r = &s->rec.r;

	if (c->uid == 0 || r->peer == c->uid)
		return (true);
	if (uid_is_admin(c->uid) && (acts[act].admin == YES ||
	    (acts[act].admin == NOTROOT && r->uid != 0)))
		return (true);
	return (r->uid == c->uid && acts[act].runsas == YES);
}

bool
client_allowed(struct peer *p, uint32_t id, const struct session *s,
    enum act act)
{
	const struct client	*c = p->ctx;

	if (client_may(c, s, act))
		return (true);
	if (acts[act].admin == NOTROOT && uid_is_admin(c->uid))
		peer_error(p, id, "auth.denied", "session %s belongs to %s, "
		    "and runs as root: only root types into it",
		    s->rec.r.session, s->rec.r.owner);
	else
		peer_error(p, id, "auth.denied", "session %s belongs to %s, "
		    "%s", s->rec.r.session, s->rec.r.owner, acts[act].who);
	return (false);
}

struct session *
client_session(struct peer *p, uint32_t id, const char *sid)
{
	struct client	*c = p->ctx;
	struct session	*s = session_find(sid);

	/* Somebody else's session is no session. */
	if (s == NULL || s->erase || !client_may(c, s, ACT_LOOK)) {
		peer_error(p, id, "session.unknown",
		    "there is no session %s: see sbxctl ls", sid);
		return (NULL);
	}
	return (s);
}

/* What may become of its record, before what was noted at its start. */
static struct strv
client_notes(const struct session *s, const char **v)
{
	const struct strv	*notes = &s->rec.r.notes;
	size_t			 i, n = 0;

	if (s->unsafe == 0 || s->erase)
		return (*notes);
	errno = s->unsafe;
	v[n++] = state_why("a power cut may cost this session, since its "
	    "record could not be written to the disk");
	for (i = 0; i < notes->n && n < LIMIT_NOTES; i++)
		v[n++] = notes->v[i];
	v[n] = NULL;
	return ((struct strv){ n, v });
}

void
client_send_session(struct client *c, uint32_t id, const struct session *s)
{
	const struct m_RECORD	*r = &s->rec.r;
	const char		*notes[LIMIT_NOTES + 1];
	struct m_SESSION	 m = {
		.session = r->session, .name = r->name,
		.state = s->erase ? "removed" : session_state(s),
		.owner = r->owner, .user = r->user,
		.uid = r->uid, .project = r->project, .more = r->more,
		.home = r->home, .cwd = r->cwd, .argv = r->argv,
		.hide = r->hide, .ro = r->ro,
		.network = r->network, .created = r->created,
		.ended = r->ended, .exited = r->exited, .status = r->status,
		.signal = r->signal, .ms = r->ms,
		.reason = r->reason,
		.notes = client_notes(s, notes),
		.missing = r->missing, .outside = r->outside
	};

	peer_send(c->peer, MSG_SESSION, id, -1, &m);
}

size_t
strv_bytes(const struct strv *sv)
{
	size_t	i, n = 0;

	for (i = 0; i < sv->n; i++)
		n += strlen(sv->v[i]) + 5;
	return (n);
}

bool
client_waits(struct client *c, uint32_t id)
{
	if (c->waits < WAITS_MAX) {
		c->waits++;
		return (false);
	}
	peer_error(c->peer, id, "limit.requests",
	    "%d requests of this connection wait for their answers", WAITS_MAX);
	return (true);
}

/* A session without its lists, its command by the first words. */
struct brief {
	struct m_SESSION m;
	char		 words[BRIEF_WORDS][BRIEF_WORD + 1];
	const char	*argv[BRIEF_WORDS + 1];
};

static void
brief_fill(struct brief *b, const struct session *s)
{
	const struct m_RECORD	*r = &s->rec.r;
	struct m_SESSION	*m = &b->m;

	memset(b, 0, sizeof(*b));
	*m = (struct m_SESSION){
		.session = r->session, .name = r->name,
		.state = s->erase ? "removed" : session_state(s),
		.owner = r->owner, .user = r->user,
		.uid = r->uid, .project = r->project, .home = r->home,
		.cwd = r->cwd, .network = r->network, .created = r->created,
		.ended = r->ended, .exited = r->exited, .status = r->status,
		.signal = r->signal, .ms = r->ms,
		.reason = r->reason, .argv = { 0, b->argv },
		.outside = r->outside
	};
	for (; m->argv.n < r->argv.n && m->argv.n < BRIEF_WORDS; m->argv.n++) {
		if (strlcpy(b->words[m->argv.n], r->argv.v[m->argv.n],
		    BRIEF_WORD + 1) > BRIEF_WORD)
			strlcpy(b->words[m->argv.n] + BRIEF_WORD - 3, "...",
			    4);
		b->argv[m->argv.n] = b->words[m->argv.n];
	}
	if (m->argv.n < r->argv.n)
		b->argv[m->argv.n - 1] = "...";
}

/*
 * A session as a list shows it, with its roots; these too are left out where
 * it is one frame that has to go out at once. SHOW has all of it.
 */
void
client_send_brief(struct client *c, uint32_t id, const struct session *s,
    bool listed)
{
	struct brief	b;

	brief_fill(&b, s);
	if (listed)
		b.m.more = s->rec.r.more;
	peer_send(c->peer, MSG_SESSION, id, -1, &b.m);
}

/* How it ended, and what its owner is to hear of it. Many may wait, and all of
 * them are answered at once, however little of it they read: without lists. */
void
client_send_end(struct client *c, uint32_t id, const struct session *s)
{
	const char	*notes[LIMIT_NOTES + 1];
	struct brief	 b;

	brief_fill(&b, s);
	b.m.more = s->rec.r.more;
	b.m.notes = client_notes(s, notes);
	b.m.missing = s->rec.r.missing;
	peer_send(c->peer, MSG_SESSION, id, -1, &b.m);
}

/* Of one whose connection was handed over somebody is there still, only not
 * to hear of it. */
static void
client_started(const struct client *c, struct session *s)
{
	if (s->starter != c)
		return;
	if (c->peer != NULL)
		session_unheard(s);
	else
		s->starter = NULL;
}

/* Requests and waits of a connection that is over, or handed over: that one
 * has no peer any more. */
void
client_drop(struct client *c)
{
	struct session	*s;
	struct waiter	*w, *next;
	struct job	*j, *jnext;

	TAILQ_FOREACH(s, &sbxd.sessions, entry) {
		client_started(c, s);
		if (s->remover == c)
			s->remover = NULL;
		TAILQ_FOREACH_SAFE(w, &s->waiters, entry, next)
			if (w->client == c) {
				TAILQ_REMOVE(&s->waiters, w, entry);
				free(w);
			}
	}
	TAILQ_FOREACH_SAFE(j, &sbxd.jobs, entry, jnext)
		if (j->client == c)
			job_abandon(j);
	doctor_client_gone(c);
	if (c->stream != -1)
		close(c->stream);
	ask_client_gone(c);
	attach_client_gone(c);
	gc_client_gone(c);
	hold_client_gone(c);
	TAILQ_REMOVE(&sbxd.clients, c, entry);
	sbxd.nclients--;
	peer_free(c->peer);
	free(c);
	idle_check();
}

static void
client_gone(struct peer *p, const char *why)
{
	struct client	*c = p->ctx;

	if (why != NULL) {
		log_info("client of uid %u: %s", (unsigned int)c->uid, why);
		/* It may still read why; it is not waited for. */
		peer_error(p, 0, "protocol.broken", "%s: connection closed",
		    why);
	}
	client_drop(c);
}

static void
client_drained(struct peer *p)
{
	stream_go(p->ctx);
}

static void
client_on_hello(struct peer *p, struct msg *msg)
{
	const struct m_HELLO	*theirs = msg->body;
	struct client		*c = p->ctx;

	if (theirs->protocol != PROTO_VERSION) {
		peer_error(p, msg->id, "protocol.version",
		    "this suite speaks protocol %d, not %llu: use its own "
		    "sbxctl", PROTO_VERSION,
		    (unsigned long long)theirs->protocol);
		client_drop(c);
		return;
	}
	p->ib.lax = theirs->minor > PROTO_MINOR;
	p->ib.parts = true;
	peer_permit(p, MSG_NEW, PERMIT_ALWAYS);
	peer_permit(p, MSG_LIST, PERMIT_ALWAYS);
	peer_permit(p, MSG_SHOW, PERMIT_ALWAYS);
	peer_permit(p, MSG_WAIT, PERMIT_ALWAYS);
	peer_permit(p, MSG_REMOVE, PERMIT_ALWAYS);
	peer_permit(p, MSG_CHANGES, PERMIT_ALWAYS);
	peer_permit(p, MSG_OUTSIDE, PERMIT_ALWAYS);
	peer_permit(p, MSG_PATCH, PERMIT_ALWAYS);
	peer_permit(p, MSG_APPLY, PERMIT_ALWAYS);
	peer_permit(p, MSG_DISCARD, PERMIT_ALWAYS);
	peer_permit(p, MSG_DOCTOR, PERMIT_ALWAYS);
	peer_permit(p, MSG_JOIN, PERMIT_ALWAYS);
	peer_permit(p, MSG_EXEC, PERMIT_ALWAYS);
	peer_permit(p, MSG_STOP, PERMIT_ALWAYS);
	peer_permit(p, MSG_KILL, PERMIT_ALWAYS);
	peer_permit(p, MSG_RESUME, PERMIT_ALWAYS);
	peer_permit(p, MSG_DU, PERMIT_ALWAYS);
	peer_permit(p, MSG_GC, PERMIT_ALWAYS);
	peer_permit(p, MSG_EXPLAIN, PERMIT_ALWAYS);
}

static void
client_on_list(struct peer *p, struct msg *msg)
{
	struct client	*c = p->ctx;
	struct session	*s;

	TAILQ_FOREACH(s, &sbxd.sessions, entry)
		if (client_may(c, s, ACT_LOOK) && !s->erase)
			client_send_brief(c, msg->id, s, true);
	peer_send(p, MSG_END, msg->id, -1, NULL);
}

static void
client_on_show(struct peer *p, struct msg *msg)
{
	const struct m_SID	*sid = msg->body;
	struct session		*s;

	if ((s = client_session(p, msg->id, sid->session)) != NULL)
		client_send_session(p->ctx, msg->id, s);
}

bool
client_await(struct client *c, const struct msg *msg, struct session *s,
    bool remove)
{
	struct waiter	*w;
	uint32_t	 id = msg->id;

	TAILQ_FOREACH(w, &s->waiters, entry)
		if (w->client == c && w->type == msg->type) {
			peer_error(c->peer, id, "limit.requests", "this "
			    "connection waits for session %s already",
			    s->rec.r.session);
			return (false);
		}
	if (client_waits(c, id))
		return (false);
	if ((w = calloc(1, sizeof(*w))) == NULL) {
		peer_error(c->peer, id, "memory", "out of memory");
		return (false);
	}
	w->client = c;
	w->id = id;
	w->type = msg->type;
	w->remove = remove;
	TAILQ_INSERT_TAIL(&s->waiters, w, entry);
	return (true);
}

static void
client_on_wait(struct peer *p, struct msg *msg)
{
	const struct m_WAIT	*m = msg->body;
	struct session		*s;

	if ((s = client_session(p, msg->id, m->session)) == NULL ||
	    (m->remove && !client_allowed(p, msg->id, s, ACT_LAND)))
		return;
	if (s->state == S_ENDED || s->state == S_FAILED) {
		client_send_end(p->ctx, msg->id, s);
		return;
	}
	if (!client_await(p->ctx, msg, s, m->remove))
		return;
	if (m->remove && s->pristine)
		session_untouched(s);
}

static const struct handler client_table[] = {
	{ MSG_HELLO, PERMIT_ONCE, client_on_hello },
	{ MSG_NEW, PERMIT_NO, client_on_new },
	{ MSG_LIST, PERMIT_NO, client_on_list },
	{ MSG_SHOW, PERMIT_NO, client_on_show },
	{ MSG_WAIT, PERMIT_NO, client_on_wait },
	{ MSG_REMOVE, PERMIT_NO, client_on_remove },
	{ MSG_CHANGES, PERMIT_NO, client_on_changes },
	{ MSG_OUTSIDE, PERMIT_NO, client_on_outside },
	{ MSG_PATCH, PERMIT_NO, client_on_patch },
	{ MSG_APPLY, PERMIT_NO, client_on_apply },
	{ MSG_DISCARD, PERMIT_NO, client_on_discard },
	{ MSG_DOCTOR, PERMIT_NO, client_on_doctor },
	{ MSG_JOIN, PERMIT_NO, client_on_join },
	{ MSG_EXEC, PERMIT_NO, client_on_exec },
	{ MSG_STOP, PERMIT_NO, client_on_stop },
	{ MSG_KILL, PERMIT_NO, client_on_kill },
	{ MSG_RESUME, PERMIT_NO, client_on_resume },
	{ MSG_DU, PERMIT_NO, client_on_du },
	{ MSG_GC, PERMIT_NO, client_on_gc },
	{ MSG_EXPLAIN, PERMIT_NO, client_on_explain },
};
static const struct peer_ops client_ops = {
	.table = client_table,
	.n = sizeof(client_table) / sizeof(client_table[0]),
	.gone = client_gone,
	.drained = client_drained
};

/* Says why, as far as the socket takes it at once, and hangs up. */
static void
client_refuse(int fd, const char *code, const char *why)
{
	struct imsgbuf	ib;
	struct m_ERROR	e = { .code = code, .message = why };

	if (imsg_init(&ib, fd, ROLE_SBXD, ROLE_CLIENT) == 0 &&
	    imsg_compose(&ib, MSG_ERROR, 0, -1, &e) == 0)
		imsg_flush(&ib);
	imsg_clear(&ib);
}

/* For people, to whom the sum that a build is known by says little. */
static void
client_build(struct m_HELLO *hello, char *buf, size_t size)
{
	const char	*commit = commit_built();

	if (commit == NULL)
		return;
	snprintf(buf, size, "%s+%s", hello->build, commit);
	hello->build = buf;
}

static void
client_new(int fd)
{
	struct client	*c;
	struct ucred	 cred;
	socklen_t	 len = sizeof(cred);
	const char	*why, *code = "auth.denied";
	struct m_HELLO	 hello;
	char		 build[65];	/* as long as HELLO's may be */

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1) {
		close(fd);
		return;
	}
	/* Root is no session's. */
	if ((why = uid_refused(cred.uid)) == NULL && cred.uid != 0)
		why = outside_refuses(fd);
	if (why == NULL && !fds_left(fd, cred.uid)) {
		errno = EMFILE;
		code = "limit.descriptors";
		why = fds_why("one more connection");
	}
	if (why != NULL) {
		log_info("a client of uid %u: %s", (unsigned int)cred.uid,
		    why);
		client_refuse(fd, code, why);
		return;
	}
	if ((c = calloc(1, sizeof(*c))) == NULL) {
		close(fd);
		return;
	}
	c->uid = cred.uid;
	c->stream = -1;
	c->gid = cred.gid;
	c->peer = peer_new(sbxd.base, fd, ROLE_SBXD, ROLE_CLIENT, &client_ops,
	    c);
	if (c->peer == NULL) {
		free(c);
		return;
	}
	TAILQ_INSERT_TAIL(&sbxd.clients, c, entry);
	sbxd.nclients++;
	idle_check();
	proc_hello_fill(&hello, ROLE_SBXD);
	client_build(&hello, build, sizeof(build));
	peer_send(c->peer, MSG_HELLO, 0, -1, &hello);
}

/* Whoever holds the descriptors may be no client of ours: asked anew. */
static void
clients_on_pause(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
	if (!sbxd.stopping)
		event_add(sbxd.accepting, NULL);
}

static void
clients_pause(void)
{
	const struct timeval	tv = { 1, 0 };

	if (event_base_once(sbxd.base, -1, EV_TIMEOUT, clients_on_pause, NULL,
	    &tv) == 0)
		event_del(sbxd.accepting);
}

static void
clients_on_accept(evutil_socket_t listener, short what, void *arg)
{
	int	fd, i;

	(void)what;
	(void)arg;
	/* A few a turn, so that a flood of them is not all we do. */
	for (i = 0; i < 16; i++) {
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC |
		    SOCK_NONBLOCK);
		if (fd == -1) {
			if (errno == EMFILE || errno == ENFILE) {
				log_warn("accepting clients");
				clients_pause();
			}
			return;
		}
		client_new(fd);
	}
}

void
clients_listen(void)
{
	sbxd.accepting = event_new(sbxd.base, sbxd.listener, EV_READ |
	    EV_PERSIST, clients_on_accept, NULL);
	if (sbxd.accepting == NULL || event_add(sbxd.accepting, NULL) == -1)
		fatalx("cannot listen for clients");
}
