#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/ids.h"
#include "../common/log.h"
#include "fault.h"
#include "job.h"
#include "mountd.h"
#include "spare.h"
#include "stage.h"

#define JOB_FDS		(3 * CLONE_COUNT + LAYER_MAX)

static TAILQ_HEAD(, job) jobs = TAILQ_HEAD_INITIALIZER(jobs);
static struct event_base *loop;
static struct child *current;	/* in a child: itself */

/*
 * The child's half.
 */
void
child_send(struct child *c, uint32_t type, int fd, const void *body)
{
	if (imsg_send(&c->ib, type, 0, fd, body) == -1)
		_exit(1);	/* the parent is gone, or has given up */
}

void
child_alive(void)
{
	static time_t	last;
	struct timespec	now;

	if (current == NULL || clock_gettime(CLOCK_MONOTONIC, &now) == -1 ||
	    now.tv_sec - last < 2)
		return;
	last = now.tv_sec;
	alarm(JOB_SECONDS);
	child_send(current, MSG_OK, -1, NULL);
}

int
child_hide(const struct child *c, struct strv *hide)
{
	hide->n = c->s->nhide;
	hide->v = (const char **)(uintptr_t)c->s->hide;
	return (0);
}

const struct user *
child_user(const struct child *c)
{
	static const struct user	nobody = {
		.uid = UID_NOROLE, .gid = UID_NOROLE
	};

	if (c->s->hide == NULL)
		return (&nobody);
	return (c->s->byroot ? NULL : &c->s->user);
}

static int
fd_compare(const void *a, const void *b)
{
	return (*(const int *)a - *(const int *)b);
}

void
fds_keep(int *keep, size_t n)
{
	unsigned int	from = 3;
	size_t		i;

	qsort(keep, n, sizeof(*keep), fd_compare);
	for (i = 0; i < n; i++) {
		if (keep[i] < (int)from)
			continue;	/* not open, or twice */
		if (keep[i] > (int)from)
			syscall(SYS_close_range, from,
			    (unsigned int)keep[i] - 1, 0);
		from = (unsigned int)keep[i] + 1;
	}
	if (syscall(SYS_close_range, from, ~0U, 0) == -1)
		_exit(1);
}

/*
 * Other sessions' clones and sockets are none of this child's: as long as it
 * held one, that session could not end.
 */
static void
child_close_others(const struct child *c)
{
	const struct session	*s = c->s;
	int			*keep;
	size_t			 i, n = 0;

	keep = calloc(CLONE_COUNT + 9 + (s != NULL ? s->nkept : 0),
	    sizeof(*keep));
	if (keep == NULL)
		_exit(1);
	keep[n++] = c->ib.fd;
	keep[n++] = c->fd;
	keep[n++] = mountd.root;
	keep[n++] = mountd.store;
	keep[n++] = mountd.stage;
	if (s != NULL)
		keep[n++] = s->store;
	for (i = 0; s != NULL && s->mounted && i < CLONE_COUNT; i++)
		keep[n++] = s->clone[i];
	for (i = 0; s != NULL && s->mounted && i < s->nkept; i++)
		keep[n++] = s->kept[i].fd;
	fds_keep(keep, n);
	free(keep);
}

static void __attribute__((noreturn))
child_main(struct session *s, const struct msg *msg, int sock,
    int (*run)(struct child *))
{
	struct child	 c = { .s = s, .body = msg->body, .fd = msg->fd };
	const char	*why;
	struct msg	 more;
	struct m_ERROR	 e;

	alarm(JOB_SECONDS);
	if (imsg_init(&c.ib, sock, ROLE_MOUNTD, ROLE_SBXD) == -1)
		_exit(1);
	child_close_others(&c);
	current = &c;
	fault_clear();
	if (run(&c) == 0)
		_exit(0);
	e = (struct m_ERROR){
		.code = fault_code(), .message = fault_text(),
		.at = c.s != NULL ? c.s->id : NULL
	};
	child_send(&c, MSG_ERROR, -1, &e);
	/* What is on its way to us still must not meet a closed socket: the
	 * parent would see that before what we said. */
	while (imsg_recv(&c.ib, &more, -1, &why) == 1)
		msg_free(&more);
	_exit(1);
}

/*
 * The parent's half.
 */
static void
job_free(struct job *j)
{
	size_t	i;

	TAILQ_REMOVE(&jobs, j, entry);
	if (j->child != NULL)
		peer_free(j->child);
	if (j->timer != NULL)
		event_free(j->timer);
	for (i = 0; i < j->nfds; i++)
		if (j->fds[i].fd != -1)
			close(j->fds[i].fd);
	free(j->fds);
	free(j->code);
	free(j->text);
	free(j);
}

/* Over when it has ended and all it sent is read; or when it will not end. */
static void
job_settle(struct job *j)
{
	if (!j->late && (j->child != NULL || !j->reaped))
		return;
	spare_over(j);
	session_job_over(j);
	job_free(j);
}

static void
job_gone(struct peer *p, const char *why)
{
	struct job	*j = p->ctx;

	if (why != NULL)
		log_warnx("process %d of mountd: %s", (int)j->pid, why);
	peer_free(p);
	j->child = NULL;
	job_settle(j);
}

static void
job_text(struct job *j, const char *code, const char *text)
{
	if (j->code != NULL)
		return;
	if ((j->code = strdup(code)) == NULL ||
	    (j->text = strdup(text)) == NULL)
		fatal("an error's text");
}

/* A process in the kernel's hands may not even be killed: it is left. */
static void
job_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct job	*j = arg;

	(void)fd;
	(void)what;
	job_kill(j);
	j->answer = 0;
	j->late = true;
	job_text(j, "mount.timeout", "a filesystem does not answer: nothing "
	    "in ten seconds");
	job_settle(j);
}

void
job_kill(struct job *j)
{
	if (!j->reaped)
		kill(j->pid, SIGKILL);
}

void
job_await(struct job *j, bool due)
{
	const struct timeval	tv = { .tv_sec = JOB_SECONDS + 1 };

	if ((due ? event_add(j->timer, &tv) : event_del(j->timer)) == -1)
		fatal("a timer");
}

static void
job_on_fd(struct job *j, const char *kind, uint64_t n, int fd)
{
	struct jobfd	*v;

	if (j->nfds == JOB_FDS || (v = reallocarray(j->fds, j->nfds + 1,
	    sizeof(*v))) == NULL)
		fatal("a request's descriptors");
	j->fds = v;
	v += j->nfds++;
	snprintf(v->kind, sizeof(v->kind), "%s", kind);
	v->n = n;
	v->fd = fd;
}

static void
job_on_sfd(struct peer *p, struct msg *msg)
{
	const struct m_SFD	*m = msg->body;

	job_on_fd(p->ctx, m->kind, m->n, msg_take_fd(msg));
}

static void
job_on_lfd(struct peer *p, struct msg *msg)
{
	const struct m_LFD	*m = msg->body;

	job_on_fd(p->ctx, m->kind, 0, msg_take_fd(msg));
}

static void
job_on_error(struct peer *p, struct msg *msg)
{
	const struct m_ERROR	*m = msg->body;
	struct job		*j = p->ctx;

	job_text(j, m->code, m->message);
	/* It takes no more, and ends when it sees that. */
	peer_free(p);
	j->child = NULL;
	job_settle(j);
}

static void
job_on_mounted(struct peer *p, struct msg *msg)
{
	struct job	*j = p->ctx;

	if (j->s != NULL && !j->s->release)
		session_mounted(j, msg->body);
}

static void
job_on_answer(struct peer *p, struct msg *msg)
{
	struct job	*j = p->ctx;

	j->answer = msg->type;
}

static void
job_on_text(struct peer *p, struct msg *msg)
{
	session_relay(p->ctx, msg->type, msg->body);
}

static void
job_on_end(struct peer *p, struct msg *msg)
{
	struct job	*j = p->ctx;

	job_on_answer(p, msg);
	j->ended = true;
	session_relay(j, MSG_END, NULL);
}

static void
job_on_refreshed(struct peer *p, struct msg *msg)
{
	job_on_answer(p, msg);
	session_relay(p->ctx, msg->type, msg->body);
}

static void
job_on_ok(struct peer *p, struct msg *msg)
{
	(void)msg;
	job_await(p->ctx, true);
}

static const struct handler job_table[] = {
	{ MSG_SFD,	PERMIT_ALWAYS,	job_on_sfd },
	{ MSG_LFD,	PERMIT_ALWAYS,	job_on_lfd },
	{ MSG_ERROR,	PERMIT_ALWAYS,	job_on_error },
	{ MSG_MOUNTED,	PERMIT_ALWAYS,	job_on_mounted },
	{ MSG_VIEWED,	PERMIT_ALWAYS,	job_on_answer },
	{ MSG_CLEANED,	PERMIT_ALWAYS,	job_on_answer },
	{ MSG_REFRESHED, PERMIT_ALWAYS,	job_on_refreshed },
	{ MSG_RELEASED,	PERMIT_ALWAYS,	job_on_answer },
	{ MSG_ERASED,	PERMIT_ALWAYS,	job_on_answer },
	{ MSG_TEXT,	PERMIT_ALWAYS,	job_on_text },
	{ MSG_END,	PERMIT_ALWAYS,	job_on_end },
	{ MSG_MEASURED,	PERMIT_ALWAYS,	job_on_text },
	{ MSG_EXPLAINED, PERMIT_ALWAYS,	job_on_text },
	{ MSG_LAYER,	PERMIT_ALWAYS,	job_on_text },
	{ MSG_OK,	PERMIT_ALWAYS,	job_on_ok },
};

/* Its answer, which may be here already, would be one without that. */
static void
job_lost(struct peer *p, struct msg *msg)
{
	struct job	*j = p->ctx;

	(void)msg;
	job_text(j, "limit.descriptors", no_room);
	job_kill(j);
	peer_free(p);
	j->child = NULL;
	job_settle(j);
}

static const struct peer_ops job_ops = {
	.table = job_table,
	.n = sizeof(job_table) / sizeof(job_table[0]),
	.gone = job_gone,
	.lost = job_lost,
};

static const char *
job_work(const struct job *j)
{
	static const struct {
		uint32_t	 type;
		const char	*work;
	} works[] = {
		{ MSG_PREP,	"making the session's mounts" },
		{ MSG_VIEW,	"opening the session's changes" },
		{ MSG_OUTSIDE,	"opening what is changed outside" },
		{ MSG_CLEAN,	"taking what landed or was discarded out of "
		    "the session" },
		{ MSG_RELEASE,	"ending the session's mounts" },
		{ MSG_ERASE,	"removing the session's layer" },
		{ MSG_REFRESH,	"showing the session what is new" },
		{ MSG_PROBE,	"trying what the kernel has" },
		{ MSG_MEASURE,	"measuring the session's layer" },
		{ MSG_EXPLAIN,	"looking at what the session sees" },
	};
	size_t	i;

	for (i = 0; i < sizeof(works) / sizeof(works[0]); i++)
		if (works[i].type == j->type)
			return (works[i].work);
	return ("a request");
}

/* How the child ended, where it did not say so itself. */
static void
job_ended(struct job *j, int status)
{
	char	text[256];

	j->reaped = true;
	stage_clear(j->pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		;
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		job_text(j, "mount.timeout", "a filesystem does not answer: "
		    "nothing in ten seconds");
	else if (WIFSIGNALED(status)) {
		snprintf(text, sizeof(text), "%s: mountd's process for it "
		    "was ended by signal %d: try again; where that ends the "
		    "same way and the machine has memory left, it is a fault "
		    "of sbx's to be reported", job_work(j), WTERMSIG(status));
		job_text(j, "mount.failed", text);
	}
	/* What it said last may still be on its way. */
	job_settle(j);
}

static void
job_on_sigchld(evutil_socket_t fd, short what, void *arg)
{
	struct job	*j;
	pid_t		 pid;
	int		 status;

	(void)fd;
	(void)what;
	(void)arg;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		TAILQ_FOREACH(j, &jobs, entry)
			if (j->pid == pid && !j->reaped)
				break;
		if (j != NULL)
			job_ended(j, status);
	}
}

static struct job *
job_new(const struct msg *msg, int sock)
{
	struct job	*j;

	if ((j = calloc(1, sizeof(*j))) == NULL) {
		close(sock);
		return (NULL);
	}
	TAILQ_INSERT_TAIL(&jobs, j, entry);
	j->type = msg->type;
	j->id = msg->id;
	j->timer = evtimer_new(loop, job_on_timer, j);
	j->child = peer_new(loop, sock, ROLE_SBXD, ROLE_MOUNTD, &job_ops, j);
	if (j->timer != NULL && j->child != NULL)
		return (j);
	job_free(j);
	return (NULL);
}

struct job *
job_beside(struct session *s, struct msg *msg, int (*run)(struct child *))
{
	struct job	*j;
	int		 sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) == -1)
		return (NULL);
	if ((j = job_new(msg, sv[0])) == NULL) {
		close(sv[1]);
		return (NULL);
	}
	if ((j->pid = fork()) == 0)
		child_main(s, msg, sv[1], run);
	close(sv[1]);
	if (j->pid == -1) {
		job_free(j);
		return (NULL);
	}
	job_await(j, true);
	return (j);
}

struct job *
job_start(struct session *s, struct msg *msg, int (*run)(struct child *))
{
	struct job	*j = job_beside(s, msg, run);

	if (j != NULL && s != NULL) {
		j->s = s;
		s->job = j;
	}
	return (j);
}

void
job_begin(struct event_base *base)
{
	static struct event	*ev;

	loop = base;
	ev = evsignal_new(base, SIGCHLD, job_on_sigchld, NULL);
	if (ev == NULL || event_add(ev, NULL) == -1)
		fatal("SIGCHLD");
}
