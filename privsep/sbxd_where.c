/*
 * Who holds the state, and where that one listens: who starts us to have a
 * suite looks where suites are by default, and its configuration may say
 * otherwise.
 */
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/log.h"
#include "../common/state.h"
#include "mode.h"
#include "sbxd.h"

/* One that just starts, or just ends, holds the state so long; one whose
 * socket is not even there is seen at once, but for the moment of its start,
 * which is a long one where several start together on a busy machine. */
#define OTHER_MS	15000
#define OTHER_GONE_MS	5000
#define OTHER_ASK_MS	2000
#define OTHER_PAUSE_NS	50000000L

int
where_name(const char *path, struct sockaddr_un *sun)
{
	char	dir[LIMIT_PATH + 1], base[LIMIT_PATH + 1];
	int	fd;

	strlcpy(dir, path, sizeof(dir));
	strlcpy(base, path, sizeof(base));
	if ((fd = open(dirname(dir), O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
		return (-1);
	/* By descriptor: a state's path may be longer than sun_path. */
	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	snprintf(sun->sun_path, sizeof(sun->sun_path),
	    "/proc/self/fd/%d/%.64s", fd, basename(base));
	return (fd);
}

bool
where_listens(const struct sockaddr_un *sun)
{
	bool	yes;
	int	fd, saved;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		fatal("a socket");
	/* A full backlog is one, too; a dead one's refuses. */
	yes = connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) == 0 ||
	    errno == EAGAIN;
	saved = errno;
	close(fd);
	errno = saved;
	return (yes);
}

/* Its socket, if somebody listens there; gone: there is no file even. */
static bool
where_found(int state, char *sock, size_t size, bool *gone)
{
	struct sockaddr_un	sun;
	bool			yes;
	int			dir;

	state_where(state, mode_owner(), sock, size);
	*gone = true;
	if (sock[0] == '\0' || (dir = where_name(sock, &sun)) == -1)
		return (false);
	yes = where_listens(&sun);
	*gone = errno == ENOENT;
	close(dir);
	return (yes);
}

static void
where_write(int state)
{
	char	line[LIMIT_PATH + 2];
	int	fd, n;

	n = snprintf(line, sizeof(line), "%s\n", sbxd.conf.socket);
	fd = openat(state, STATE_WHERE, O_WRONLY | O_CREAT | O_TRUNC |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	/* For all who may use the socket, by whatever group. */
	if (fd == -1 || write(fd, line, (size_t)n) != n ||
	    fchmod(fd, 0644) == -1)
		fatal("%s/" STATE_WHERE, sbxd.conf.state);
	close(fd);
}

/* Milliseconds since the first call; a pause before it says so. */
static int
where_waited(void)
{
	const struct timespec	pause = { .tv_nsec = OTHER_PAUSE_NS };
	static struct timespec	first;
	struct timespec		now;

	if (first.tv_sec != 0)
		nanosleep(&pause, NULL);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (first.tv_sec == 0)
		first = now;
	return ((int)((now.tv_sec - first.tv_sec) * 1000 +
	    (now.tv_nsec - first.tv_nsec) / 1000000));
}

/* Returns as long as the other may still begin to listen, or end. */
static void
where_other(int state)
{
	char	sock[LIMIT_PATH + 1];
	bool	gone, found = where_found(state, sock, sizeof(sock), &gone);
	int	ms;

	if (!sbxd.conf.embedded)
		fatalx("another sbxd runs on %s%s%s: stop it, or name another "
		    "state by SBX_STATE", sbxd.conf.state, sock[0] != '\0' ?
		    ", its socket is " : "", sock);
	if (found) {
		log_info("another sbxd runs on %s: its socket is %s",
		    sbxd.conf.state, sock);
		ready_tell(sock);
		exit(0);
	}
	ms = where_waited();
	if (gone && ms >= OTHER_GONE_MS)
		fatalx("another sbxd runs on %s, and %s%s is not there: stop "
		    "it", sbxd.conf.state, sock[0] != '\0' ? "its socket " :
		    "where it listens", sock);
	if (ms >= OTHER_MS)
		fatalx("another sbxd runs on %s, and its socket %s takes no "
		    "connection: look at its log, or stop it",
		    sbxd.conf.state, sock);
}

void
where_take(int state, int lock)
{
	while (flock(lock, LOCK_EX | LOCK_NB) == -1) {
		if (errno != EWOULDBLOCK)
			fatal("locking %s", sbxd.conf.state);
		where_other(state);
	}
	if (state_hold(lock) == -1)
		fatal("locking %s", sbxd.conf.state);
	where_write(state);
}

void
start_none(void)
{
	char	sock[LIMIT_PATH + 1];
	bool	gone;
	int	state;

	state = open(sbxd.conf.state, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	while (state != -1 && state_held(state) &&
	    where_waited() < OTHER_ASK_MS)
		if (where_found(state, sock, sizeof(sock), &gone)) {
			close(state);
			ready_tell(sock);
			return;
		}
	fatalx("no sbxd runs on %s: start one", sbxd.conf.state);
}
