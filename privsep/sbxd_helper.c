/*
 * The helpers, as the broker hears them. Losing one ends the suite: an
 * unprivileged broker cannot start it anew.
 */
#include <sys/stat.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/log.h"
#include "mode.h"
#include "sbxd.h"
#include "whole.h"

/* ms: of one that hangs in the kernel nobody hears more. */
#define HELPERS_WAIT	2000

static const char *const	ns_kinds[] = {
	"pidns", "userns", "mntns", "netns", "cgroupns"
};

static void
helper_gone(struct peer *p, const char *why)
{
	if (sbxd.stopping)
		_exit(0);
	fatalx("%s %s: ending, since without it nothing is safe; start the "
	    "suite anew", role_name(p->ib.other), why != NULL ? why :
	    "has ended");
}

static void
fact_take(struct session *s, const char *kind, int fd)
{
	struct stat	st;
	size_t		i;

	if (fstat(fd, &st) == -1)
		return;
	if (strcmp(kind, "pidfd") == 0)
		s->rec.r.initfd = st.st_ino;
	else if (strcmp(kind, "workerfd") == 0)
		s->rec.r.workerfd = st.st_ino;
	for (i = 0; i < sizeof(ns_kinds) / sizeof(ns_kinds[0]); i++)
		if (strcmp(kind, ns_kinds[i]) == 0)
			s->ns[i] = st.st_ino;
	s->rec.r.ns.v = s->ns;
	s->rec.r.ns.n = sizeof(ns_kinds) / sizeof(ns_kinds[0]);
}

/* Namespaces and pidfds: the worker keeps them all, as the second witness;
 * mountd needs the pid namespace for /proc. */
static void
spawn_on_sfd(struct peer *p, struct msg *msg)
{
	const struct m_SFD	*sfd = msg->body;
	struct session		*s = session_find(sfd->session);
	int			 fd = msg_take_fd(msg), copy;

	(void)p;
	if (s == NULL || s->worker == NULL || s->state != S_STARTING) {
		close(fd);
		return;
	}
	fact_take(s, sfd->kind, fd);
	if (strcmp(sfd->kind, "pidns") == 0) {
		if ((copy = fcntl(fd, F_DUPFD_CLOEXEC, 0)) == -1) {
			close(fd);
			session_fail(s, "start.failed", fds_why("its pid "
			    "namespace"));
			return;
		}
		peer_send(sbxd.helper[H_MOUNTD], MSG_SFD, 0, copy, sfd);
	}
	peer_send(s->worker, MSG_SFD, 0, fd, sfd);
}

/* mountd's part of what is made beforehand. */
static void
spawn_on_spare(struct peer *p, struct msg *msg)
{
	(void)p;
	peer_send(sbxd.helper[H_MOUNTD], MSG_SPARE, 0, msg_take_fd(msg), NULL);
}

static void
spawn_on_started(struct peer *p, struct msg *msg)
{
	const struct m_STARTED	*m = msg->body;
	struct session		*s = session_find(m->session);

	(void)p;
	if (s == NULL)
		return;
	s->rec.r.init = m->init;
	s->rec.r.worker = m->worker;
	s->started = true;
	session_advance(s);
}

/* init is reaped. The worker knows first and better; this is for when it
 * does not: a session ends with its init. */
static void
spawn_on_sended(struct peer *p, struct msg *msg)
{
	const struct m_SENDED	*m = msg->body;
	struct session		*s = session_find(m->session);

	(void)p;
	if (s == NULL || s->state != S_STARTING)
		return;
	if (s->worker == NULL)
		session_fail(s, "start.failed",
		    "its first process ended before it ran");
}

static void
spawn_on_killed(struct peer *p, struct msg *msg)
{
	const struct m_SID	*m = msg->body;
	struct session		*s = session_find(m->session);

	(void)p;
	if (s != NULL && !s->killed)
		session_killed(s);
}

static void
spawn_on_frozen(struct peer *p, struct msg *msg)
{
	struct job	*j = job_find(msg->id);

	(void)p;
	if (j != NULL)
		job_frozen(j, NULL);
}

static void
spawn_on_thawed(struct peer *p, struct msg *msg)
{
	(void)p;
	(void)msg;
}

static void
helper_on_error(struct peer *p, struct msg *msg)
{
	const struct m_ERROR	*e = msg->body;
	const char		*why = e->message;
	struct session		*s;
	struct job		*j;

	if (strcmp(e->code, "state.full") == 0)
		why = state_full(why);
	if (msg->id != 0 && (ask_on_error(msg->id, e) ||
	    attach_refreshed(msg->id, why) || gc_on_erased(msg->id, why)))
		return;
	if (msg->id != 0 && (j = job_find(msg->id)) != NULL) {
		if (strcmp(e->code, "freeze.failed") == 0)
			job_frozen(j, why);
		else
			job_fail(j, e->code, why);
		return;
	}
	s = e->at != NULL ? session_find(e->at) : NULL;
	if (s == NULL) {
		log_warnx("%s: %s", role_name(p->ib.other), e->message);
		return;
	}
	/* Something holds its mounts still: whoever needs the layer next asks
	 * for itself whether it is in use. */
	if (msg->id != 0 && msg->id == s->release) {
		log_warnx("session %s: %s", s->rec.r.session, e->message);
		s->released = true;
		session_settled(s);
		return;
	}
	/* Of a review that was given up, or of an earlier start: what is about
	 * the session itself has no number but these. */
	if (msg->id != 0 && msg->id != s->net && msg->id != s->seal) {
		log_info("session %s: too late: %s: %s", s->rec.r.session,
		    role_name(p->ib.other), e->message);
		return;
	}
	if (s->erase)
		session_erase_failed(s, e->code, why);
	else
		session_fail(s, e->code, why);
}

static void
netd_on_netup(struct peer *p, struct msg *msg)
{
	const struct m_SID	*m = msg->body;
	struct session		*s = session_find(m->session);

	(void)p;
	if (s == NULL || msg->id != s->net)
		return;
	s->netup = true;
	session_advance(s);
}

/* The tree goes on to init, the clones stay with the worker. */
static void
mountd_on_sfd(struct peer *p, struct msg *msg)
{
	const struct m_SFD	*sfd = msg->body;
	struct session		*s = session_find(sfd->session);

	(void)p;
	if (s != NULL && s->worker != NULL && s->state == S_STARTING)
		peer_send(s->worker, MSG_SFD, 0, msg_take_fd(msg), sfd);
}

/* What of the boundary this machine could not give: SHOW has it. */
static void
session_missing(struct strv *out, const struct m_MOUNTED *m)
{
	size_t	i;

	if (sbxd.cgroup[0] == '\0') {
		out->v[out->n++] = "no control group: a review stops it by "
		    "signals, which it can undo";
	}
	if (sbxd.landlock < 6)
		out->v[out->n++] = "no Landlock scopes in this kernel: "
		    "abstract sockets of the machine can be reached";
	if (mode_user() && sbxd.landlock < 2)
		out->v[out->n++] = "no Landlock for writes in this kernel: "
		    "FIFOs of the machine can be written to where no overlay "
		    "lies";
	for (i = 0; i < m->missing.n && out->n < LIMIT_NOTES; i++)
		out->v[out->n++] = m->missing.v[i];
}

/* As many folders as there are roots, and of a resume the same ones. */
static bool
mounted_fits(const struct m_RECORD *r, const struct m_MOUNTED *m)
{
	size_t	i, n = r->more.n + 1;

	if (m->devs.n != n || m->inos.n != n)
		return (false);
	if (r->generation == 1)
		return (true);
	if (r->devs.n != r->more.n || r->inos.n != r->more.n)
		return (false);
	for (i = 0; i < n; i++)
		if (m->devs.v[i] != (i == 0 ? r->dev : r->devs.v[i - 1]) ||
		    m->inos.v[i] != (i == 0 ? r->ino : r->inos.v[i - 1]))
			return (false);
	return (true);
}

static void
mountd_on_mounted(struct peer *p, struct msg *msg)
{
	const struct m_MOUNTED	*m = msg->body;
	const char		*missing[LIMIT_NOTES];
	struct session		*s = session_find(m->session);
	struct m_RECORD		 r;
	struct record		 rec;

	(void)p;
	if (s == NULL || s->state != S_STARTING)
		return;
	r = s->rec.r;
	if (!mounted_fits(&r, m)) {
		session_fail(s, "project.moved", "its project is another "
		    "folder than the one that it was made on");
		return;
	}
	r.dev = m->devs.v[0];
	r.ino = m->inos.v[0];
	if (r.more.n > 0) {
		r.devs = (struct u64v){ r.more.n, m->devs.v + 1 };
		r.inos = (struct u64v){ r.more.n, m->inos.v + 1 };
	}
	r.notes = m->notes;
	r.missing = (struct strv){ 0, missing };
	session_missing(&r.missing, m);
	/* What was masked, by its canonical paths: frozen from now on. */
	if (m->hide.n > 0)
		r.hide = m->hide;
	if (strv_bytes(&r.hide) > HIDES_BYTES) {
		session_fail(s, "hide.invalid", "the hidden paths, with those "
		    "of other mounts of the same folders, are too long, all "
		    "together");
		return;
	}
	if (record_copy(&rec, &r) == -1) {
		session_fail(s, "state.failed", "the record of its mounts");
		return;
	}
	record_free(&s->rec);
	s->rec = rec;
	s->mounted = true;
	session_seal(s);
	session_advance(s);
}

static void
mountd_on_released(struct peer *p, struct msg *msg)
{
	const struct m_SID	*m = msg->body;
	struct session		*s = session_find(m->session);

	(void)p;
	if (s == NULL)
		return;
	s->released = true;
	session_settled(s);
}

/* Before MOUNTED: a resume, whose drift counts from here on. Before RELEASED,
 * which waits for the kernel to end the mounts: nobody has to wait for that to
 * know that nothing was changed. */
static void
mountd_on_pristine(struct peer *p, struct msg *msg)
{
	const struct m_SID	*m = msg->body;
	struct session		*s = session_find(m->session);

	(void)p;
	if (s == NULL)
		return;
	if (s->state == S_STARTING)
		session_resume_empty(s);
	else if (s->state == S_ENDING && s->ran)
		session_untouched(s);
}

/* It goes with the session: who waits for its end is told. */
static void
mountd_on_strayed(struct peer *p, struct msg *msg)
{
	const struct m_SID	*m = msg->body;
	struct session		*s = session_find(m->session);

	(void)p;
	if (s != NULL && s->state == S_ENDING && s->ran)
		s->rec.r.outside = true;
}

static void
mountd_on_erased(struct peer *p, struct msg *msg)
{
	const struct m_SID	*m = msg->body;
	struct session		*s = session_find(m->session);

	(void)p;
	if (s == NULL)
		gc_on_erased(msg->id, NULL);
	if (s == NULL || !s->erase)
		return;
	if (s->remover != NULL)
		peer_send(s->remover->peer, MSG_OK, s->remover_id, -1, NULL);
	session_remove(s);
}

static void
mountd_on_lfd(struct peer *p, struct msg *msg)
{
	(void)p;
	job_on_mountd(msg);
}

static void
mountd_on_viewed(struct peer *p, struct msg *msg)
{
	struct job	*j = job_find(msg->id);

	(void)p;
	if (j != NULL && j->what == J_OUTSIDE)
		outside_on_viewed(j);
}

static void
mountd_on_layer(struct peer *p, struct msg *msg)
{
	(void)p;
	outside_on_layer(msg);
}

static void
mountd_on_cleaned(struct peer *p, struct msg *msg)
{
	const struct m_SID	*m = msg->body;
	struct session		*s = session_find(m->session);

	(void)p;
	if (s != NULL)
		job_on_cleaned(s);
}

static void
mountd_on_refreshed(struct peer *p, struct msg *msg)
{
	(void)p;
	attach_refreshed(msg->id, NULL);
}

static void
landd_on_sealed(struct peer *p, struct msg *msg)
{
	const struct m_SEALED	*m = msg->body;
	struct session		*s = session_find(m->session);

	(void)p;
	/* In the roots' order. */
	if (s == NULL || s->state != S_STARTING || msg->id != s->seal ||
	    m->root != s->sealed || m->root > s->rec.r.more.n)
		return;
	s->unsynced = true;
	if (whole_write(s->dir, root_file("seal", m->root).s, m->seal.p,
	    m->seal.len, false) == -1) {
		session_fail(s, "state.failed", state_why("writing its seal"));
		return;
	}
	s->sealed++;
	session_advance(s);
}

static void
spawn_on_text(struct peer *p, struct msg *msg)
{
	(void)p;
	doctor_on_text(H_SPAWN, msg);
}

static void
netd_on_text(struct peer *p, struct msg *msg)
{
	(void)p;
	doctor_on_text(H_NETD, msg);
}

static void
mountd_on_text(struct peer *p, struct msg *msg)
{
	(void)p;
	doctor_on_text(H_MOUNTD, msg);
}

static void
netd_on_end(struct peer *p, struct msg *msg)
{
	(void)p;
	(void)msg;
	doctor_on_end(H_NETD);
}

static void
mountd_on_end(struct peer *p, struct msg *msg)
{
	(void)p;
	if (!ask_on_end(msg->id))
		doctor_on_end(H_MOUNTD);
}

static void
mountd_on_item(struct peer *p, struct msg *msg)
{
	(void)p;
	ask_on_item(msg);
}

static void
spawn_on_swept(struct peer *p, struct msg *msg)
{
	(void)p;
	gc_on_swept(msg->body);
}

static const struct handler spawn_table[] = {
	{ MSG_SFD, PERMIT_ALWAYS, spawn_on_sfd },
	{ MSG_STARTED, PERMIT_ALWAYS, spawn_on_started },
	{ MSG_SPARE, PERMIT_ALWAYS, spawn_on_spare },
	{ MSG_SENDED, PERMIT_ALWAYS, spawn_on_sended },
	{ MSG_KILLED, PERMIT_ALWAYS, spawn_on_killed },
	{ MSG_FROZEN, PERMIT_ALWAYS, spawn_on_frozen },
	{ MSG_THAWED, PERMIT_ALWAYS, spawn_on_thawed },
	{ MSG_SWEPT, PERMIT_ALWAYS, spawn_on_swept },
	{ MSG_TEXT, PERMIT_ALWAYS, spawn_on_text },
	{ MSG_ERROR, PERMIT_ALWAYS, helper_on_error },
};

static const struct handler netd_table[] = {
	{ MSG_NETUP, PERMIT_ALWAYS, netd_on_netup },
	{ MSG_TEXT, PERMIT_ALWAYS, netd_on_text },
	{ MSG_END, PERMIT_ALWAYS, netd_on_end },
	{ MSG_ERROR, PERMIT_ALWAYS, helper_on_error },
};

static const struct handler mountd_table[] = {
	{ MSG_SFD, PERMIT_ALWAYS, mountd_on_sfd },
	{ MSG_MOUNTED, PERMIT_ALWAYS, mountd_on_mounted },
	{ MSG_REFRESHED, PERMIT_ALWAYS, mountd_on_refreshed },
	{ MSG_RELEASED, PERMIT_ALWAYS, mountd_on_released },
	{ MSG_PRISTINE, PERMIT_ALWAYS, mountd_on_pristine },
	{ MSG_STRAYED, PERMIT_ALWAYS, mountd_on_strayed },
	{ MSG_LFD, PERMIT_ALWAYS, mountd_on_lfd },
	{ MSG_VIEWED, PERMIT_ALWAYS, mountd_on_viewed },
	{ MSG_LAYER, PERMIT_ALWAYS, mountd_on_layer },
	{ MSG_CLEANED, PERMIT_ALWAYS, mountd_on_cleaned },
	{ MSG_ERASED, PERMIT_ALWAYS, mountd_on_erased },
	{ MSG_MEASURED, PERMIT_ALWAYS, mountd_on_item },
	{ MSG_EXPLAINED, PERMIT_ALWAYS, mountd_on_item },
	{ MSG_TEXT, PERMIT_ALWAYS, mountd_on_text },
	{ MSG_END, PERMIT_ALWAYS, mountd_on_end },
	{ MSG_ERROR, PERMIT_ALWAYS, helper_on_error },
};

static const struct handler landd_table[] = {
	{ MSG_SEALED, PERMIT_ALWAYS, landd_on_sealed },
	{ MSG_LFD, PERMIT_ALWAYS, landd_on_lfd },
	{ MSG_STAGED, PERMIT_ALWAYS, landd_on_staged },
	{ MSG_CHANGE, PERMIT_ALWAYS, landd_on_item },
	{ MSG_SKIPPED, PERMIT_ALWAYS, landd_on_item },
	{ MSG_IGNORED, PERMIT_ALWAYS, landd_on_item },
	{ MSG_LANDING, PERMIT_ALWAYS, landd_on_item },
	{ MSG_FOUND, PERMIT_ALWAYS, landd_on_item },
	{ MSG_COUNTED, PERMIT_ALWAYS, landd_on_item },
	{ MSG_LANDED, PERMIT_ALWAYS, landd_on_landed },
	{ MSG_END, PERMIT_ALWAYS, landd_on_end },
	{ MSG_ERROR, PERMIT_ALWAYS, helper_on_error },
};

#define OPS(t)	{ .table = t, .n = sizeof(t) / sizeof((t)[0]),		\
		    .gone = helper_gone, .lost = fds_helper_lost }
static const struct {
	enum role	role;
	struct peer_ops	ops;
} helper_kinds[H_COUNT] = {
	[H_SPAWN] = { ROLE_SPAWN, OPS(spawn_table) },
	[H_NETD] = { ROLE_NETD, OPS(netd_table) },
	[H_MOUNTD] = { ROLE_MOUNTD, OPS(mountd_table) },
	[H_LANDD] = { ROLE_LANDD, OPS(landd_table) },
};

struct peer *
helper_peer(enum helper h, int fd)
{
	struct peer	*p;

	p = peer_new(sbxd.base, fd, ROLE_SBXD, helper_kinds[h].role,
	    &helper_kinds[h].ops, NULL);
	if (p == NULL)
		fatal("%s", role_name(helper_kinds[h].role));
	return (p);
}

void
helpers_end(void)
{
	const struct timespec	 ms = { 0, 1000000 };
	int64_t			 end = now_ms() + HELPERS_WAIT;
	pid_t			 pid;
	int			 h;

	for (h = 0; h < H_COUNT; h++)
		peer_free(sbxd.helper[h]);
	while ((pid = waitpid(-1, NULL, WNOHANG)) != -1 && now_ms() < end)
		if (pid == 0)
			nanosleep(&ms, NULL);
}
