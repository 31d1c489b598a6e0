/*
 * A session's control group: a v2 folder below the suite's, without
 * controllers, for freezing and killing all of a session at once. Always a
 * new folder: one that was killed once kills each later child at its birth.
 */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/log.h"
#include "spawn.h"

/* A task in the kernel for longer is stuck, and is told. */
#define FREEZE_MS	2000
#define REMOVE_TRIES	2000	/* at 1 ms */

static int
cgroup_write(int dir, const char *file, const char *value)
{
	int	fd, saved, r;

	if ((fd = openat(dir, file, O_WRONLY | O_CLOEXEC)) == -1)
		return (-1);
	r = write(fd, value, strlen(value)) == (ssize_t)strlen(value) ? 0 : -1;
	saved = errno;
	close(fd);
	errno = saved;
	return (r);
}

/* By number, since it is made before there is a session; s, so that none can
 * be one of the kernel's own files. */
int
cgroup_make(struct live *l)
{
	static unsigned long long	made;
	int				saved;

	do
		snprintf(l->group, sizeof(l->group), "s%llu", ++made);
	while (mkdirat(spawn.cgroup, l->group, 0755) == -1 &&
	    errno == EEXIST);
	l->cgroup = openat(spawn.cgroup, l->group, O_PATH | O_DIRECTORY |
	    O_CLOEXEC);
	if (l->cgroup != -1)
		return (0);
	saved = errno;
	unlinkat(spawn.cgroup, l->group, AT_REMOVEDIR);
	errno = saved;
	return (-1);
}

/* Kills all; without a group, init, and the kernel the rest with it. */
void
cgroup_kill(struct live *l)
{
	if (l->cgroup != -1 && cgroup_write(l->cgroup, "cgroup.kill", "1") ==
	    0)
		return;
	if (l->init != 0)
		syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
}

static void
live_timer(struct live *l, event_callback_fn fn)
{
	const struct timeval	ms = { 0, 1000 };

	if (l->timer != NULL)
		event_free(l->timer);
	if ((l->timer = evtimer_new(spawn.base, fn, l)) == NULL ||
	    event_add(l->timer, &ms) == -1)
		fatalx("a timer");
}

static void
cgroup_on_remove(evutil_socket_t fd, short what, void *arg)
{
	struct live	*l = arg;

	(void)fd;
	(void)what;
	/* EBUSY: somebody is dying in it still. */
	if (unlinkat(spawn.cgroup, l->group, AT_REMOVEDIR) == -1 &&
	    errno == EBUSY && ++l->tries < REMOVE_TRIES) {
		live_timer(l, cgroup_on_remove);
		return;
	}
	if (l->tries == REMOVE_TRIES)
		log_warnx("processes that do not end hold the control group "
		    "%s, of %s", l->group, l->id[0] != '\0' ? l->id :
		    "no session");
	live_ended(l);
}

void
cgroup_remove(struct live *l)
{
	l->tries = 0;
	if (l->cgroup == -1)
		live_ended(l);
	else
		cgroup_on_remove(-1, 0, l);
}

void
cgroup_remove_now(struct live *l)
{
	const struct timespec	ms = { 0, 1000000 };
	int			i;

	if (l->cgroup == -1)
		return;
	for (i = 0; i < REMOVE_TRIES; i++) {
		if (unlinkat(spawn.cgroup, l->group, AT_REMOVEDIR) == 0 ||
		    errno != EBUSY)
			return;
		nanosleep(&ms, NULL);
	}
}

/* By its control group, or by signals where it has none. */
static const char *
freeze_begin(struct live *l)
{
	if (l->cgroup == -1)
		return (stop_begin(l));
	return (cgroup_write(l->cgroup, "cgroup.freeze", "1") == -1 ?
	    strerror(errno) : NULL);
}

static int
freeze_end(struct live *l)
{
	stop_undo(l);
	if (l->cgroup == -1)
		return (0);
	return (cgroup_write(l->cgroup, "cgroup.freeze", "0"));
}

/* Do the events of the group at this path have this line? */
static bool
cgroup_event(int dir, const char *path, const char *line)
{
	char	file[GROUP_NAME + 32], buf[256];
	ssize_t	n;
	int	fd;

	snprintf(file, sizeof(file), "%s/cgroup.events", path);
	if ((fd = openat(dir, file, O_RDONLY | O_CLOEXEC)) == -1)
		return (false);
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return (false);
	buf[n] = '\0';
	return (strstr(buf, line) != NULL);
}

void
freeze_failed(struct live *l, const char *why)
{
	l->freezing = false;
	log_info("session %s cannot be frozen: %s", l->id, why);
	(void)freeze_end(l);
	peer_error_at(spawn.sbxd, l->freeze, l->id, "freeze.failed",
	    "session %s cannot be frozen: %s", l->id, why);
}

static void
freeze_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct live	*l = arg;
	struct m_SID	 sid = { .session = l->id };

	(void)fd;
	(void)what;
	if (!l->freezing)
		return;
	if (l->cgroup == -1 ? stop_took(l) :
	    cgroup_event(l->cgroup, ".", "frozen 1")) {
		l->freezing = false;
		peer_send(spawn.sbxd, MSG_FROZEN, l->freeze, -1, &sid);
	} else if (now_ms() >= l->until)
		freeze_failed(l, "a process of it is stuck in the kernel");
	else
		live_timer(l, freeze_on_timer);
}

void
spawn_on_freeze(struct peer *p, struct msg *msg)
{
	const struct m_SID	*sid = msg->body;
	struct live		*l;
	const char		*why;

	if ((l = live_find(sid->session)) == NULL || l->killing) {
		peer_error_at(p, msg->id, sid->session, "session.ended",
		    "session %s has no process to freeze", sid->session);
		return;
	}
	l->freezing = true;
	l->freeze = msg->id;
	l->until = now_ms() + FREEZE_MS;
	if ((why = freeze_begin(l)) != NULL)
		freeze_failed(l, why);
	else
		freeze_on_timer(-1, 0, l);
}

void
spawn_on_thaw(struct peer *p, struct msg *msg)
{
	const struct m_SID	*sid = msg->body;
	struct live		*l;

	if ((l = live_find(sid->session)) != NULL) {
		l->freezing = false;
		if (freeze_end(l) == -1)
			log_warn("thawing session %s", l->id);
	}
	peer_send(p, MSG_THAWED, 0, -1, sid);
}

/* It is one of ours, and no session's any more. */
static bool
cgroup_is_past(const char *name)
{
	struct live	*l;

	if (name[0] != 's' || name[1] == '\0' || strlen(name) >= GROUP_NAME ||
	    name[1 + strspn(name + 1, "0123456789")] != '\0' ||
	    spare_group(name))
		return (false);
	TAILQ_FOREACH(l, &spawn.lives, entry)
		if (strcmp(l->group, name) == 0)
			return (false);
	return (true);
}

/* Nobody is in it: the kernel says so, or lets it be removed. */
static bool
cgroup_is_over(int groups, const char *name, bool dry)
{
	if (!cgroup_is_past(name))
		return (false);
	if (!dry)
		return (unlinkat(groups, name, AT_REMOVEDIR) == 0);
	return (cgroup_event(groups, name, "populated 0"));
}

static void
sweep_add(struct strv *names, const char *name)
{
	names->v = reallocarray(names->v, names->n + 2, sizeof(*names->v));
	if (names->v == NULL || (names->v[names->n] = strdup(name)) == NULL)
		fatal("names of control groups");
	names->v[++names->n] = NULL;
}

/* Those that could not be removed at their session's end, since a process of
 * it was stuck in the kernel. */
void
spawn_on_sweep(struct peer *p, struct msg *msg)
{
	const struct m_SWEEP	*m = msg->body;
	struct m_SWEPT		 out = { .names = { 0, NULL } };
	struct dirent		*de;
	DIR			*d = NULL;
	size_t			 i;
	int			 fd = -1;

	if (spawn.cgroup != -1)
		fd = openat(spawn.cgroup, ".", O_RDONLY | O_DIRECTORY |
		    O_CLOEXEC);
	if (fd != -1 && (d = fdopendir(fd)) == NULL)
		close(fd);
	while (d != NULL && out.names.n < LIMIT_PATHS &&
	    (de = readdir(d)) != NULL)
		if (cgroup_is_over(fd, de->d_name, m->dry))
			sweep_add(&out.names, de->d_name);
	if (d != NULL)
		closedir(d);
	peer_send(p, MSG_SWEPT, msg->id, -1, &out);
	for (i = 0; i < out.names.n; i++)
		free((void *)(uintptr_t)out.names.v[i]);
	free(out.names.v);
}
