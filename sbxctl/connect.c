/*
 * The connection to sbxd: one request at a time, and a line for each way in
 * which its answer can fail to come.
 */
#include <sys/socket.h>
#include <sys/un.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../privsep/proc.h"
#include "sbxctl.h"

/* A full backlog is no missing suite: wait for it so long. */
#define CONN_BUSY_TRIES	100
#define CONN_BUSY_NS	50000000L

#define CONN_STARTS	2

static int
conn_socket(const struct sockaddr_un *sun)
{
	const struct timespec	pause = { .tv_nsec = CONN_BUSY_NS };
	int			fd, i, saved;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1)
		return (-1);
	for (i = 0; i < CONN_BUSY_TRIES; i++) {
		if (connect(fd, (const struct sockaddr *)sun,
		    sizeof(*sun)) == 0)
			return (fd);
		if (errno != EAGAIN && errno != EINTR)
			break;
		nanosleep(&pause, NULL);
	}
	saved = errno;
	close(fd);
	errno = saved;
	return (-1);
}

/* A path that sockaddr_un cannot hold is reached through its folder. */
static int
conn_long(const char *path, struct sockaddr_un *sun)
{
	char	*dir = copy(path), *base = copy(path);
	int	 dirfd, fd = -1, saved;

	dirfd = open(dirname(dir), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dirfd != -1) {
		if ((size_t)snprintf(sun->sun_path, sizeof(sun->sun_path),
		    "/proc/self/fd/%d/%s", dirfd, basename(base)) <
		    sizeof(sun->sun_path))
			fd = conn_socket(sun);
		else
			errno = ENAMETOOLONG;
		saved = errno;
		close(dirfd);
		errno = saved;
	}
	free(dir);
	free(base);
	return (fd);
}

/* A suite listens before it drops root. Anybody else who does in a folder of
 * his own would be told our environment. */
static void
conn_judge(int fd, const char *path)
{
	struct ucred	cred;
	socklen_t	len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1)
		fail("%s: %s", path, strerror(errno));
	if (cred.uid != 0 && cred.uid != geteuid())
		fail("%s: uid %u listens there, and not root: it is not used; "
		    "look at SBX_STATE", path, (unsigned int)cred.uid);
}

static int
conn_connect(const char *path)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	int			fd;

	if (strlen(path) >= sizeof(sun.sun_path))
		fd = conn_long(path, &sun);
	else {
		memcpy(sun.sun_path, path, strlen(path) + 1);
		fd = conn_socket(&sun);
	}
	if (fd != -1)
		conn_judge(fd, path);
	return (fd);
}

/* Takes fd over; HELLO is on its way. */
static struct conn *
conn_new(int fd, const char *path)
{
	struct m_HELLO	 mine;
	struct conn	*c = need(calloc(1, sizeof(*c)));

	if (imsg_init(&c->ib, fd, ROLE_CLIENT, ROLE_SBXD) == -1)
		fail("%s: %s", path, strerror(errno));
	c->path = copy(path);
	proc_hello_fill(&mine, ROLE_CLIENT);
	/* Where the other end is gone it may have said why: read first. */
	if (imsg_send(&c->ib, MSG_HELLO, 0, -1, &mine) == -1 &&
	    errno != EPIPE && errno != ECONNRESET)
		fail("%s: %s", path, strerror(errno));
	return (c);
}

void
conn_close(struct conn *c)
{
	if (c == NULL)
		return;
	imsg_clear(&c->ib);
	free(c->path);
	free(c);
}

/* The version with a sum of the source, and the commit, if that is known, after
 * a "+". */
static void
conn_build(struct conn *c, const char *build)
{
	size_t	len = strcspn(build, "+");

	strlcpy(c->build, build, sizeof(c->build));
	if (build[len] == '\0' || len >= sizeof(c->build))
		return;
	c->build[len] = '\0';
	strlcpy(c->commit, build + len + 1, sizeof(c->commit));
}

/* Takes the suite's HELLO in. False: it went away before it said anything. */
static bool
conn_hello(struct conn *c)
{
	const struct m_HELLO	*hello;
	const char		*why = NULL;
	struct msg		 msg;
	int			 r;

	r = imsg_recv(&c->ib, &msg, CONN_HELLO_MS, &why);
	/* What it had not read yet makes a reset of its end. */
	if (r == -1 && errno == ECONNRESET && c->ib.inlen > 0)
		why = "closed in the middle of a message";
	else if (r == 0 || (r == -1 && errno == ECONNRESET))
		return (false);
	if (r == -1 && errno == ETIMEDOUT)
		fail("%s: the suite does not answer (%d seconds): look at its "
		    "log, or restart it", c->path, CONN_HELLO_MS / 1000);
	if (r == -1)
		fail("%s: %s instead of HELLO: this is no socket of sbxd's, "
		    "or one of another version: look at SBX_STATE", c->path,
		    why != NULL ? why : strerror(errno));
	if (msg.type == MSG_ERROR)
		conn_refused(&msg);
	if (msg.type != MSG_HELLO)
		fail("%s: %s instead of HELLO: this is no socket of sbxd's: "
		    "look at SBX_STATE", c->path, proto_name(msg.type));
	hello = msg.body;
	if (hello->protocol != PROTO_VERSION)
		fail("%s: the suite (%s) speaks protocol %llu, this sbxctl "
		    "(%s) %d: use the sbxctl that came with it", c->path,
		    hello->build, (unsigned long long)hello->protocol,
		    SBX_VERSION, PROTO_VERSION);
	/* A newer suite may say more than this sbxctl knows. */
	c->ib.lax = hello->minor > PROTO_MINOR;
	c->minor = hello->minor;
	conn_build(c, hello->build);
	msg_free(&msg);
	return (true);
}

/* With the first request, if there is one. NULL: nothing listens there. */
static struct conn *
conn_try(const char *path, uint32_t type, const void *body)
{
	struct conn	*c;
	int		 fd;

	if ((fd = conn_connect(path)) != -1) {
		c = conn_new(fd, path);
		if (type != MSG_INVALID)
			conn_send(c, type, body);
		if (conn_hello(c))
			return (c);
		conn_close(c);
	} else if (errno == EACCES) {
		if (suite_is_meant() && !suite_left(path))
			fail("%s: you may not use this suite: ask its "
			    "administrator for access to the socket", path);
	} else if (errno != ENOENT && errno != ECONNREFUSED)
		fail("%s: %s", path, strerror(errno));
	return (NULL);
}

/* One round over the sockets; last of all where a suite on the state that is
 * named says that it listens. */
static struct conn *
conn_round(uint32_t type, const void *body)
{
	char		*sockets[SUITE_SOCKETS], *where;
	struct conn	*c = NULL;
	size_t		 i, n;

	n = suite_sockets(sockets);
	for (i = 0; i < n; i++) {
		if (c == NULL)
			c = conn_try(sockets[i], type, body);
		free(sockets[i]);
	}
	if (c == NULL && (where = suite_where()) != NULL) {
		c = conn_try(where, type, body);
		free(where);
	}
	return (c);
}

struct conn *
conn_find(void)
{
	struct conn	*c = conn_round(MSG_INVALID, NULL);

	if (c == NULL && suite_find())
		c = conn_round(MSG_INVALID, NULL);
	return (c);
}

/* An sbxd that we start waits for another one to end, or to listen. The one
 * that it found may end before we are there, hence the second try. */
struct conn *
conn_ask(uint32_t type, const void *body)
{
	struct conn	*c = conn_round(type, body);
	char		*why;
	int		 i;

	for (i = 0; c == NULL && i < CONN_STARTS; i++) {
		if ((why = suite_start()) != NULL)
			fail("%s", why);
		c = conn_round(type, body);
	}
	if (c == NULL)
		fail("%s: the suite there takes no connection: look at its "
		    "log, sbxd.log in its state folder, or stop it",
		    suite_last());
	return (c);
}

struct conn *
conn_open(void)
{
	return (conn_ask(MSG_INVALID, NULL));
}

struct conn *
conn_again(const struct conn *first)
{
	int	fd = conn_connect(first->path);

	return (fd == -1 ? NULL : conn_new(fd, first->path));
}

void
conn_finish(struct conn *c)
{
	if (!conn_hello(c))
		fail("%s: the suite has ended", c->path);
}

void
conn_send(struct conn *c, uint32_t type, const void *body)
{
	if (imsg_send(&c->ib, type, ++c->id, -1, body) == 0)
		return;
	switch (errno) {
	case EMSGSIZE:
	case EINVAL:
		/* What was too long by itself has been refused before. */
		fail("the request (command, environment, paths) is above the "
		    "limit of %d bytes or %d words: make it smaller",
		    LIMIT_LARGE, LIMIT_ARGC);
	case EPIPE:
	case ECONNRESET:
		/* It may have said why before it went: conn_recv reads it. */
		return;
	default:
		fail("%s: %s", c->path, strerror(errno));
	}
}

/* The same as imsg_recv, with a look at the clock in between. */
static int
conn_await(struct conn *c, struct msg *msg, int ms, const char **why)
{
	int64_t	left, end = now_ms() + ms;
	int	r;

	if (!progress_is())
		return (imsg_recv(&c->ib, msg, ms, why));
	do {
		progress_tell();
		left = end - now_ms();
		r = imsg_recv(&c->ib, msg, left > PROGRESS_MS ? PROGRESS_MS :
		    left > 0 ? (int)left : 0, why);
	} while (r == -1 && errno == ETIMEDOUT && left > 0);
	return (r);
}

void
conn_recv(struct conn *c, struct msg *msg, int ms)
{
	const char	*why = NULL;
	int		 r;

	for (;;) {
		r = conn_await(c, msg, ms, &why);
		if (c->writes != NULL && (r == 0 || (r == -1 &&
		    (errno == ECONNRESET || errno == ETIMEDOUT))))
			fail("%s: the suite did not answer: whether it did all "
			    "of it or nothing is not known; \"sbxctl changes "
			    "%s\" shows what is left to land", c->path,
			    c->writes);
		if (r == 0 || (r == -1 && errno == ECONNRESET))
			fail("%s: the suite closed the connection without an "
			    "answer: look at its log", c->path);
		if (r == -1 && errno == ETIMEDOUT)
			fail("%s: the suite has not answered for %d seconds: "
			    "look at its log", c->path, ms / 1000);
		if (r == -1)
			fail("%s: broken answer: %s", c->path,
			    why != NULL ? why : strerror(errno));
		/* What is left of an earlier answer is nobody's. An error
		 * without a request concerns the whole connection. */
		if (c->any || msg->id == c->id ||
		    (msg->type == MSG_ERROR && msg->id == 0))
			return;
		msg_free(msg);
	}
}

/* Those of others may have paths in them, which stay as they are. */
static bool
error_is_of_users(const struct m_ERROR *e)
{
	return (strcmp(e->code, "auth.denied") == 0 ||
	    strcmp(e->code, "session.stopped") == 0);
}

char *
conn_error(const struct msg *msg)
{
	const struct m_ERROR	*e = msg->body;
	char			*text, *message;

	message = error_is_of_users(e) ? text_names(e->message) :
	    copy(e->message);
	if (asprintf(&text, "%s%s%s%s%s", e->at != NULL ? e->at : "",
	    e->at != NULL ? ": " : "", message,
	    e->hint != NULL ? ": " : "", e->hint != NULL ? e->hint : "") == -1)
		fail("out of memory");
	free(message);
	return (text);
}

void
conn_refused(const struct msg *msg)
{
	fail("%s", conn_error(msg));
}

void
conn_expect(struct conn *c, uint32_t type, struct msg *msg, int ms)
{
	conn_recv(c, msg, ms);
	if (msg->type == type)
		return;
	if (msg->type == MSG_ERROR)
		conn_refused(msg);
	fail("%s: broken answer: %s where %s was due", c->path,
	    proto_name(msg->type), proto_name(type));
}

void
conn_collect(struct conn *c, uint32_t type, const void *body, int ms,
    bool (*take)(void *, struct msg *), void *all)
{
	struct msg	msg;

	conn_send(c, type, body);
	for (;;) {
		conn_recv(c, &msg, ms);
		if (msg.type == MSG_END)
			break;
		if (msg.type == MSG_ERROR)
			conn_refused(&msg);
		if (!take(all, &msg))
			fail("%s: broken answer: %s to %s", c->path,
			    proto_name(msg.type), proto_name(type));
		msg_free(&msg);
	}
	msg_free(&msg);
}
