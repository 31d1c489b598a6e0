#include <sys/wait.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "../privsep/mode.h"
#include "early.h"
#include "fault.h"
#include "fresh.h"
#include "layer.h"
#include "mountd.h"
#include "spare.h"
#include "stage.h"

/* After the start that took the last one, or the suite's own, which need the
 * processors. */
#define SPARE_AFTER	20000	/* microseconds */

/* What a spare is told of its session's folder, as the number of that. */
#define STORE_FRESH	1U
#define STORE_SETTLED	2U

static struct event	*timer;
static struct job	*spare;
static int		 pidns = -1;	/* spawn's spare pair's */

/*
 * In the child: up to what says whose it is. The clock of a request runs from
 * when there is one.
 */
static bool
spare_wait(struct child *c, struct fresh *f, struct msg *msg)
{
	const char	*why;

	for (;;) {
		alarm(0);
		if (imsg_recv(&c->ib, msg, -1, &why) != 1)
			return (false);
		alarm(JOB_SECONDS);
		if (msg->type != MSG_SPARE)
			return (true);
		if ((mountd.ways & WAY_STAGED) == 0)
			proc_early(f, msg_take_fd(msg));
		msg_free(msg);
	}
}

/* What was in the way now need not be when a session comes: then it makes its
 * own. */
int
spare_run(struct child *c)
{
	static struct fresh	 fresh;
	static struct early	 early;
	static struct msg	 store, prep;
	const struct m_SFD	*m;
	const char		*why;

	if (fresh_make(&fresh) == -1) {
		log_warnx("no mounts beforehand: %s", fault_text());
		_exit(1);
	}
	/* The same of its first overlay; its own mask would be the mount that
	 * makes it of no use, where that is attached. */
	if (!mode_user() && mountd.unfit == NULL &&
	    (mountd.ways & WAY_STAGED) == 0 && early_make(&early) == 0)
		c->early = &early;
	fault_clear();
	stock_make();
	if (!spare_wait(c, &fresh, &store) ||
	    imsg_recv(&c->ib, &prep, -1, &why) != 1)
		_exit(0);	/* the parent is gone */
	if (store.type != MSG_SFD || prep.type != MSG_PREP)
		fatalx("a spare was sent %s and %s", proto_name(store.type),
		    proto_name(prep.type));
	m = store.body;
	c->body = prep.body;
	c->fresh = &fresh;
	c->s = session_adopt(c->body, msg_take_fd(&store),
	    (m->n & STORE_FRESH) != 0, (m->n & STORE_SETTLED) != 0);
	return (prep_run(c));
}

/* One at a time: a child that does not read has enough of them. */
static void
spare_tell(void)
{
	if (spare == NULL || spare->child == NULL || pidns == -1 ||
	    peer_queued(spare->child) > 0)
		return;
	peer_send(spare->child, MSG_SPARE, 0, pidns, NULL);
	pidns = -1;
}

static void
spare_pidns(int fd)
{
	if (pidns != -1)
		close(pidns);
	pidns = fd;
	spare_tell();
}

void
mountd_on_spare(struct peer *p, struct msg *msg)
{
	(void)p;
	spare_pidns(msg_take_fd(msg));
}

static void
spare_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct msg	msg = { .type = MSG_PREP, .fd = -1 };

	(void)fd;
	(void)what;
	(void)arg;
	/* Without one the next start forks by itself. */
	if (spare != NULL || (spare = job_start(NULL, &msg, spare_run)) == NULL)
		return;
	job_await(spare, false);
	spare_tell();
}

void
spare_soon(void)
{
	static const struct timeval	tv = { 0, SPARE_AFTER };

	/* A suite for one command would end it unused, and the end of an
	 * overlay waits for the disk. */
	if (!mountd.spares)
		return;
	if (event_add(timer, &tv) == -1)
		fatalx("a timer");
}

void
spare_begin(struct event_base *base)
{
	if ((timer = evtimer_new(base, spare_on_timer, NULL)) == NULL)
		fatalx("a timer");
	spare_soon();
}

bool
spare_take(struct session *s, const struct msg *msg)
{
	const struct m_PREP	*prep = msg->body;
	struct m_SFD		 store = {
		.session = prep->session, .kind = "store",
		.n = (s->fresh ? STORE_FRESH : 0) |
		    (s->settled ? STORE_SETTLED : 0)
	};
	struct job		*j = spare;
	int			 fd;

	spare_pidns(-1);	/* its pair is taken too */
	if (j == NULL || j->child == NULL || j->reaped ||
	    (fd = fcntl(s->store, F_DUPFD_CLOEXEC, 0)) == -1)
		return (false);
	spare = NULL;
	j->early = true;
	j->s = s;
	j->id = msg->id;
	s->job = j;
	job_await(j, true);
	peer_send(j->child, MSG_SFD, 0, fd, &store);
	peer_send(j->child, MSG_PREP, 0, -1, prep);
	return (true);
}

/* Also one that was killed leaves nothing. */
void
spare_over(const struct job *j)
{
	if (j != spare && !j->early)
		return;
	early_sweep(j->pid);
	stock_sweep(j->pid);
	if (j == spare)
		spare = NULL;
}

void
spare_end(void)
{
	if (spare == NULL)
		return;
	kill(spare->pid, SIGKILL);
	waitpid(spare->pid, NULL, 0);
	early_sweep(spare->pid);
	stock_sweep(spare->pid);
}
