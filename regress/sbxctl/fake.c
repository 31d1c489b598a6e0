/*
 * A scripted sbxd: fake HOW, listening on $SBX_STATE/sbxd.sock until it is
 * killed. What it is asked goes to $SBX_STATE/asked, a line a message.
 *
 * HOW is "suite", a small suite of made-up sessions (below), or a way of
 * being broken:
 *	garbage version half close denied silent long mute wrong
 * The suite does what $FAKE says, words apart by blanks:
 *	lost	an APPLY or a DISCARD ends the connection
 *	drift	an APPLY finds that files have moved
 *	changes	a REMOVE without discard finds changes
 *	clean	nothing has been changed
 *	short	the patch is shorter than LANDING says
 *	order	its pieces are out of order
 *	fails	a review ends in an error
 *	slow	one is held after its changes until there is $SBX_STATE/go
 *	gone	it is removed once its changes have been looked at
 *	going	the same, and once it has been shown after that
 *	bits	what lands does so without something of it
 *	commit	it says which it was built from
 *	names	one has a name that a shell would not like
 *	none	there is no session
 *	wide	the first one's name, user, project and command are long
 *	three	of the first one's project are three, many: five, more: six
 *	alone	there is but the first one
 *	live	the last one runs, and its project's others are called as it
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/escape.h"
#include "privsep/imsg.h"
#include "privsep/proc.h"

#include "fake.h"

static const char	*how;
static int		 asked;

bool
fake_does(const char *word)
{
	const char	*does = getenv("FAKE"), *p;
	size_t		 len = strlen(word);

	for (p = does; p != NULL && (p = strstr(p, word)) != NULL; p += len)
		if ((p == does || p[-1] == ' ') &&
		    (p[len] == '\0' || p[len] == ' '))
			return (true);
	return (false);
}

void
fake_asked(const char *fmt, ...)
{
	char	line[8192];
	va_list	ap;
	int	n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line) - 1)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (write(asked, line, (size_t)n) == -1)
		err(1, "asked");
}

void
fake_send(struct imsgbuf *ib, uint32_t type, uint32_t id, const void *body)
{
	if (imsg_send(ib, type, id, -1, body) == -1) {
		fake_asked("gone while it is sent %s", proto_name(type));
		_exit(0);
	}
}

void
fake_error(struct imsgbuf *ib, uint32_t id, const char *code, const char *text)
{
	struct m_ERROR	e = { .code = code, .message = text };

	fake_send(ib, MSG_ERROR, id, &e);
}

static void
raw(int fd, const void *p, size_t len)
{
	if (send(fd, p, len, MSG_NOSIGNAL) == -1)
		_exit(0);
}

static void __attribute__((noreturn))
stay(void)
{
	for (;;)
		pause();
}

/* The ways of being broken before anything is asked. */
static void
broken(int fd)
{
	struct imsg_hdr	hdr = { .type = MSG_HELLO, .len = 1 << 20 };
	char		buf[512];

	if (strcmp(how, "garbage") == 0)
		raw(fd, "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", 32);
	else if (strcmp(how, "half") == 0) {
		/* What is not read would make a reset of the end. */
		if (recv(fd, buf, sizeof(buf), 0) == -1)
			_exit(1);
		hdr.len = 100;
		raw(fd, &hdr, 10);
		close(fd);
		_exit(0);
	} else if (strcmp(how, "long") == 0)
		raw(fd, &hdr, sizeof(hdr));
	else if (strcmp(how, "close") == 0)
		_exit(0);
	else if (strcmp(how, "silent") != 0)
		return;
	stay();
}

static void
hello(struct imsgbuf *ib)
{
	struct m_HELLO	mine;

	proc_hello_fill(&mine, ROLE_SBXD);
	if (strcmp(how, "denied") == 0) {
		fake_error(ib, 0, "auth.denied",
		    "sbxd.conf gives this uid no role");
		_exit(0);
	}
	if (fake_does("commit"))
		mine.build = "9.8.7+0123456789ab-dirty";
	if (strcmp(how, "version") == 0)
		mine.protocol = PROTO_VERSION + 1;
	fake_send(ib, MSG_HELLO, 0, &mine);
}

static void
answer(struct imsgbuf *ib, struct msg *msg)
{
	struct m_EXITED	exited = { .status = 0 };

	if (msg->type == MSG_HELLO)
		return;
	if (strcmp(how, "mute") == 0) {
		fake_asked("%s", proto_name(msg->type));
		stay();
	}
	if (strcmp(how, "wrong") == 0) {
		/* A message that a client gets, but from others. */
		ib->self = ROLE_WORKER;
		fake_send(ib, MSG_EXITED, msg->id, &exited);
		stay();
	}
	if (msg->type == MSG_NEW)
		fake_run(ib, msg);
	else
		fake_suite(ib, msg);
}

static void
serve(int fd)
{
	struct imsgbuf	 ib;
	struct msg	 msg;
	const char	*why;

	broken(fd);
	if (imsg_init(&ib, fd, ROLE_SBXD, ROLE_CLIENT) == -1)
		err(1, "imsg_init");
	hello(&ib);
	while (imsg_recv(&ib, &msg, -1, &why) == 1) {
		answer(&ib, &msg);
		msg_free(&msg);
	}
}

static int
listen_on(const char *state)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	int			dir, fd;

	if (mkdir(state, 0755) == -1 && errno != EEXIST)
		err(1, "%s", state);
	if ((dir = open(state, O_PATH | O_DIRECTORY)) == -1)
		err(1, "%s", state);
	asked = openat(dir, "asked", O_WRONLY | O_CREAT | O_APPEND | O_TRUNC,
	    0644);
	if (asked == -1)
		err(1, "%s/asked", state);
	snprintf(sun.sun_path, sizeof(sun.sun_path),
	    "/proc/self/fd/%d/sbxd.sock", dir);
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1 ||
	    bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    listen(fd, 16) == -1)
		err(1, "%s/sbxd.sock", state);
	return (fd);
}

int
main(int argc, char **argv)
{
	const char	*state = getenv("SBX_STATE");
	int		 listener, fd;

	if (argc != 2 || state == NULL)
		errx(2, "usage: SBX_STATE=DIR fake HOW");
	how = argv[1];
	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	listener = listen_on(state);
	for (;;) {
		if ((fd = accept(listener, NULL, NULL)) == -1)
			continue;
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(listener);
			serve(fd);
			_exit(0);
		}
		close(fd);
	}
}
