/*
 * RELEASE waits for the end of a session's mounts, ERASE removes what is left.
 */
#include <sys/inotify.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/log.h"
#include "attr.h"
#include "fault.h"
#include "layer.h"
#include "mountd.h"
#include "pending.h"
#include "rm.h"
#include "session.h"

#define RELEASE_WAIT	60	/* seconds until somebody must have a hold */
#define WATCH_MAX	4096

/*
 * A watch does not keep a filesystem alive, but is told of its end: so the
 * last holder, whoever it is, ends the wait, and nobody has to poll.
 */
struct watches {
	int	in;
	int	wd[WATCH_MAX];
	size_t	n;
};

static int
watch_add(struct watches *w, int fd)
{
	size_t	i;
	int	wd;

	wd = inotify_add_watch(w->in, fdpath(fd).s, IN_DELETE_SELF);
	if (wd == -1)
		return (-1);
	for (i = 0; i < w->n; i++)
		if (w->wd[i] == wd)
			return (0);	/* clones of one overlay */
	if (w->n == WATCH_MAX) {
		errno = ENOSPC;
		return (-1);
	}
	w->wd[w->n++] = wd;
	return (0);
}

static void
watch_ended(struct watches *w, int wd)
{
	size_t	i;

	for (i = 0; i < w->n; i++)
		if (w->wd[i] == wd)
			w->wd[i--] = w->wd[--w->n];
}

static int
watch_read(struct watches *w)
{
	_Alignas(struct inotify_event) char	 buf[4096];
	struct inotify_event			 ev;
	ssize_t					 n, off;

	if ((n = read(w->in, buf, sizeof(buf))) == -1)
		return (-1);
	for (off = 0; off + (ssize_t)sizeof(ev) <= n;
	    off += (ssize_t)(sizeof(ev) + ev.len)) {
		memcpy(&ev, buf + off, sizeof(ev));
		/* IN_UNMOUNT comes with it, and then the watch is gone. */
		if ((ev.mask & IN_IGNORED) != 0)
			watch_ended(w, ev.wd);
	}
	return (0);
}

static int
release_wait(struct watches *w)
{
	struct pollfd	pfd = { .fd = w->in, .events = POLLIN };
	int		waited = 0, r;

	while (w->n > 0) {
		if ((r = poll(&pfd, 1, 1000)) == -1 ||
		    (r == 1 && watch_read(w) == -1))
			return (fault_errno("mount.failed", "waiting for the "
			    "end of the session's mounts"));
		if (r == 0 && ++waited == RELEASE_WAIT)
			return (fault("mount.busy", "the session's mounts are "
			    "still held by a process after %d seconds",
			    RELEASE_WAIT));
		child_alive();
	}
	return (0);
}

static int
release_watch(const struct session *s, struct watches *w)
{
	size_t	i;

	if ((w->in = inotify_init1(IN_CLOEXEC)) == -1)
		return (-1);
	for (i = 0; i < CLONE_COUNT; i++)
		if (s->clone[i] != -1 && watch_add(w, s->clone[i]) == -1)
			return (-1);
	for (i = 0; i < s->nkept; i++)
		if (watch_add(w, s->kept[i].fd) == -1)
			return (-1);
	return (0);
}

/* Asks the kernel again and again, less and less often. */
static int
unused_wait(struct child *c, int seconds)
{
	struct timespec	pause = { 0, 10000000L };
	long		left = 1000L * seconds;		/* ms */
	int		used;

	while ((used = layer_in_use(c->s->store)) == 1 && left > 0) {
		nanosleep(&pause, NULL);
		left -= pause.tv_nsec / 1000000;
		if (pause.tv_nsec < 640000000L)
			pause.tv_nsec *= 2;
		child_alive();
	}
	if (used == 1)
		return (fault("mount.busy", "the session's layer is still "
		    "mounted: a process of it lives, or was left behind"));
	return (used);
}

/* What landings could not take out of the layer while it was in use. */
static int
release_pending(const struct child *c)
{
	struct strv	 hide;
	struct build	 b;
	int		 r;

	if (!pending_is(c->s->store))
		return (0);
	if (child_hide(c, &hide) == -1 ||
	    build_begin(&b, &hide, child_user(c)) == -1)
		return (-1);
	r = pending_run(c->s->store, &b);
	build_end(&b);
	return (r);
}

/*
 * Closing the last descriptor of a clone unmounts it, which can wait for the
 * disk. The parent has to serve the other sessions: so it closes its own
 * first, and then says OK.
 */
static void
release_go(struct child *c)
{
	const char	*why;
	struct msg	 msg;

	if (imsg_recv(&c->ib, &msg, -1, &why) != 1)
		_exit(1);	/* the parent is gone */
	msg_free(&msg);
}

int
release_run(struct child *c)
{
	static struct watches	 w;
	const struct session	*s = c->s;
	struct m_SID		 sid = { .session = s->id };
	size_t			 i;
	bool			 watched;

	watched = release_watch(s, &w) == 0;
	release_go(c);
	for (i = 0; i < CLONE_COUNT; i++)
		if (s->clone[i] != -1)
			close(s->clone[i]);
	for (i = 0; i < s->nkept; i++)
		close(s->kept[i].fd);
	if ((watched ? release_wait(&w) :
	    unused_wait(c, RELEASE_WAIT)) == -1)
		return (-1);
	if (release_pending(c) == -1) {
		/* The mounts are gone; the layer's next use tries again. */
		log_warnx("%s: %s", s->id, fault_text());
		fault_clear();
	}
	child_send(c, MSG_RELEASED, -1, &sid);
	return (0);
}

int
erase_run(struct child *c)
{
	struct m_SID	sid = { .session = c->s->id };

	if (!c->s->settled && !c->s->fresh && unused_wait(c, 5) == -1)
		return (-1);
	if (rm_all(mountd.store, c->s->id) == -1)
		return (fault_errno("mount.erase", "removing the session's "
		    "layer"));
	child_send(c, MSG_ERASED, -1, &sid);
	return (0);
}
