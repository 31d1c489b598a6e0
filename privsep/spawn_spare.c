/*
 * What a start takes longest for, init and worker executed and their
 * namespaces made, is the same for every session: one set is made beforehand,
 * while nobody waits. Whose it will be, and what may have changed until then
 * (mounts, the host's name, the network), comes with START.
 */
#include <fcntl.h>
#include <string.h>

#include "../common/log.h"
#include "spawn.h"

/* After the start that took the last one, or the suite's own, which need the
 * processors. */
#define SPARE_AFTER	20	/* ms */
/* What does not stay alive is not made all the time. */
#define SPARE_ANEW	1000

static struct event	*timer;
static struct live	*spare;

/* mountd can make its /proc beforehand too. */
static void
spare_tell(void)
{
	int	fd;

	if ((fd = fcntl(spare->pidns, F_DUPFD_CLOEXEC, 0)) != -1)
		peer_send(spawn.sbxd, MSG_SPARE, 0, fd, NULL);
}

static void
spare_on_timer(evutil_socket_t fd, short what, void *arg)
{
	const char	*step;

	(void)fd;
	(void)what;
	(void)arg;
	/* Without one the next start makes its own, and says what failed. */
	if (spare != NULL)
		return;
	if ((spare = live_make(&step)) == NULL)
		log_warn("no processes made beforehand: %s", step);
	else
		spare_tell();
}

static void
spare_after(int ms)
{
	const struct timeval	tv = { ms / 1000, ms % 1000 * 1000 };

	if (timer != NULL && event_add(timer, &tv) == -1)
		fatalx("a timer");
}

void
spare_begin(struct event_base *base)
{
	if (!spawn.spares)
		return;
	if ((timer = evtimer_new(base, spare_on_timer, NULL)) == NULL)
		fatalx("a timer");
	spare_soon();
}

void
spare_soon(void)
{
	spare_after(SPARE_AFTER);
}

struct live *
spare_take(void)
{
	struct live	*l = spare;

	spare = NULL;
	return (l);
}

/* One of them without the other is of no use. */
bool
spare_gone(pid_t pid)
{
	struct live	*l = spare;

	if (l == NULL || (pid != l->init && pid != l->worker))
		return (false);
	log_warnx("a process that was made beforehand has ended");
	if (pid == l->init)
		l->init = 0;
	spare_end();
	spare_after(SPARE_ANEW);
	return (true);
}

bool
spare_group(const char *name)
{
	return (spare != NULL && strcmp(spare->group, name) == 0);
}

void
spare_end(void)
{
	struct live	*l = spare_take();

	if (l != NULL)
		live_drop(l);
}
