/*
 * Clients that no sbxctl is: client SOCKET KIND [N].
 *	garbage N	N bytes of noise, each connection anew
 *	half		a frame's beginning, and then nothing
 *	huge		a header that promises more than any frame holds
 *	protocol N	HELLO of another protocol
 *	early		a request before HELLO
 *	flood N		N connections, one after the other
 *	hold N		N connections at once, held until stdin ends
 *	mute N		HELLO, N requests, and never a read; until stdin ends
 *	leave SID	asks for its patch and goes in the middle of it
 *	drop SID	asks for its changes and is gone at once
 *	outside SID	the same, then from another connection for what is
 *			changed outside; says when that has begun
 *	slow SID	asks for its patch and reads a little of it each second
 *	owner SID	asks for all that is its owner's, each on a line
 *	types SID	asks for its terminal, and for a command in it
 *	follow SID	the same, and says more before the answer
 *	halfway SID	the same, and is gone at once; and in half a request
 *	plain PROJECT	NEW with nothing that is optional: a command that
 *			writes its umask there; says the session's id
 *	explain PROJECT	/etc, as a session in there would see it
 *	asks PROJECT	that 32 times, by 8 connections, and how often it is
 *			refused; until stdin ends
 *	life SID	asks to explain, measure, resume, stop and kill it
 *	odd SID		asks for what no sbxctl would
 *	busy SID	says why a review of it is refused
 *	full PROJECT	small sessions, and each resumed by a large command
 *			until that is refused
 *	ros PROJECT N	NEW with so many read-only paths, its end, and what it
 *			changed outside; says the session's id
 *	waits SID	for its end, twice, by stopping it too; what it hears
 *	many PROJECT	NEW with as many variables as there may be, then a
 *			resume with the terminal's; says the session's id
 *	two PROJECT	NEW that waits, and at once one that is given the
 *			connection; says how their sessions ended
 * What the suite says before it hangs up is printed, made visible.
 */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../common/proto.h"
#include "../../privsep/imsg.h"
#include "../../privsep/proc.h"

static const char	*socket_path;

static int
connected(void)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	int			fd;

	if (strlen(socket_path) >= sizeof(sun.sun_path))
		errx(2, "%s: too long", socket_path);
	memcpy(sun.sun_path, socket_path, strlen(socket_path));
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1)
		err(2, "socket");
	while (connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == -1)
		if (errno != EAGAIN && errno != EINTR)
			err(2, "%s", socket_path);
	return (fd);
}

/* What comes until the other end hangs up, at most some seconds. */
static void
listen_to(int fd)
{
	struct pollfd	pfd = { .fd = fd, .events = POLLIN };
	char		buf[4096];
	ssize_t		i, n;

	while (poll(&pfd, 1, 5000) == 1) {
		if ((n = read(fd, buf, sizeof(buf))) <= 0) {
			printf("\nclosed\n");
			return;
		}
		for (i = 0; i < n; i++)
			putchar(isprint((unsigned char)buf[i]) ? buf[i] : '.');
	}
	printf("\nopen\n");
}

static void
put(int fd, const void *p, size_t n)
{
	if (send(fd, p, n, MSG_NOSIGNAL) == -1 && errno != EPIPE &&
	    errno != ECONNRESET)
		err(2, "send");
}

static void
garbage(long n)
{
	uint32_t	x = 12345, noise[1024];
	size_t		i, j;
	int		fd;

	for (; n > 0; n -= (long)sizeof(noise)) {
		for (i = 0; i < 1024; i++)
			noise[i] = x = x * 1664525 + 1013904223;
		/* Some of it looks like a header. */
		for (j = 0; j < 4; j++)
			if (n % 3 == 0)
				noise[j] = (uint32_t)(j == 1 ? 64 : j);
		fd = connected();
		put(fd, noise, sizeof(noise));
		shutdown(fd, SHUT_WR);
		listen_to(fd);
		close(fd);
	}
}

static void
hello(int fd, uint64_t protocol)
{
	struct m_HELLO	mine;
	struct imsgbuf	ib;

	if (imsg_init(&ib, dup(fd), ROLE_CLIENT, ROLE_SBXD) == -1)
		err(2, "imsg");
	proc_hello_fill(&mine, ROLE_CLIENT);
	mine.protocol = protocol;
	if (imsg_send(&ib, MSG_HELLO, 0, -1, &mine) == -1)
		err(2, "HELLO");
	imsg_clear(&ib);
}

static void
asked(struct imsgbuf *ib, int fd)
{
	hello(fd, PROTO_VERSION);
	if (imsg_init(ib, fd, ROLE_CLIENT, ROLE_SBXD) == -1)
		err(2, "imsg");
}

/* A header in host byte order and nothing, or not all, after it. */
static void
header(int fd, uint32_t type, uint32_t len, size_t sent)
{
	uint32_t	h[4] = { type, len, 1, 0 };

	put(fd, h, sent);
}

static void
flood(long n)
{
	while (n-- > 0)
		close(connected());
}

static void
hold(long n)
{
	struct rlimit	rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
	while (n-- > 0)
		connected();
	printf("held\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
}

static void
mute(long n)
{
	int		fd = connected();
	long		sent = 0;
	uint8_t		frame[17];
	uint32_t	h[4] = { MSG_LIST, sizeof(frame), 1, 0 };

	hello(fd, PROTO_VERSION);
	memcpy(frame, h, sizeof(h));
	frame[16] = 0x80;		/* the empty map */
	fcntl(fd, F_SETFL, O_NONBLOCK);
	/* As far as it is taken: a suite that reads no more is right. */
	while (sent < n && send(fd, frame, sizeof(frame), MSG_NOSIGNAL) ==
	    (ssize_t)sizeof(frame))
		sent++;
	printf("sent\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
}

/* Asks for a patch, and is gone when it has begun to come. */
static void
leave(const char *sid)
{
	struct m_PATCH	 m = { .session = sid };
	struct imsgbuf	 ib;
	struct msg	 msg = { .fd = -1 };
	const char	*why = "";
	int		 fd = connected();

	hello(fd, PROTO_VERSION);
	if (imsg_init(&ib, fd, ROLE_CLIENT, ROLE_SBXD) == -1 ||
	    imsg_send(&ib, MSG_PATCH, 1, -1, &m) == -1)
		err(2, "PATCH");
	while (msg.type != MSG_CHUNK) {
		msg_free(&msg);
		if (imsg_recv(&ib, &msg, 20000, &why) != 1 ||
		    msg.type == MSG_ERROR)
			errx(2, "no patch: %s", why);
	}
	exit(0);
}

/* Reads 60 KB a second of a patch, which is progress; until stdin ends. */
static void
slow(const char *sid)
{
	struct m_PATCH	 m = { .session = sid };
	struct pollfd	 in = { .fd = STDIN_FILENO, .events = POLLIN };
	struct imsgbuf	 ib;
	int		 fd = connected();
	struct pollfd	 out = { .fd = fd, .events = POLLIN };
	char		 buf[60000];

	hello(fd, PROTO_VERSION);
	if (imsg_init(&ib, dup(fd), ROLE_CLIENT, ROLE_SBXD) == -1 ||
	    imsg_send(&ib, MSG_PATCH, 1, -1, &m) == -1)
		err(2, "PATCH");
	do {
		if (poll(&out, 1, 20000) != 1 ||
		    read(fd, buf, sizeof(buf)) <= 0)
			errx(2, "dropped");
		printf("read\n");
		fflush(stdout);
	} while (poll(&in, 1, 1000) == 0);
	exit(0);
}

/* One request, and what became of it: "SHOW: SESSION", "APPLY: auth.denied". */
static void
ask(struct imsgbuf *ib, uint32_t type, const void *body)
{
	static uint32_t	 id;
	struct msg	 msg;
	const char	*why = "";

	if (imsg_send(ib, type, ++id, -1, body) == -1)
		err(2, "%s", proto_name(type));
	do {
		if (imsg_recv(ib, &msg, 20000, &why) != 1)
			errx(2, "%s: no answer: %s", proto_name(type), why);
		if (msg.id == id)
			printf("%s: %s\n", proto_name(type), msg.type ==
			    MSG_ERROR ? ((const struct m_ERROR *)msg.body)->code
			    : proto_name(msg.type));
		type = msg.id == id ? 0 : type;
		msg_free(&msg);
	} while (type != 0);
}

static void
drop(const char *sid)
{
	struct m_CHANGES m = { .session = sid };
	struct imsgbuf	 ib;
	int		 fd = connected();

	hello(fd, PROTO_VERSION);
	if (imsg_init(&ib, fd, ROLE_CLIENT, ROLE_SBXD) == -1 ||
	    imsg_send(&ib, MSG_CHANGES, 1, -1, &m) == -1)
		err(2, "CHANGES");
	imsg_clear(&ib);
}

static void
outside(const char *sid)
{
	struct m_OUTSIDE m = { .session = sid };
	struct imsgbuf	 ib;
	struct msg	 msg = { .fd = -1 };
	const char	*why = "";
	uint32_t	 id = 0;
	int		 fd;

	drop(sid);
	fd = connected();
	hello(fd, PROTO_VERSION);
	if (imsg_init(&ib, fd, ROLE_CLIENT, ROLE_SBXD) == -1)
		err(2, "imsg");
	/* Heard in their order: at the list's end the other has begun, or was
	 * refused, as long as the review is still there. */
	do {
		if (msg.type == 0 || (msg.type == MSG_ERROR && msg.id == id)) {
			if (imsg_send(&ib, MSG_OUTSIDE, id += 2, -1, &m) ==
			    -1 || imsg_send(&ib, MSG_LIST, id + 1, -1, NULL) ==
			    -1)
				err(2, "OUTSIDE");
		} else if (msg.id == id + 1 && msg.type == MSG_END) {
			printf("asked\n");
			fflush(stdout);
		}
		msg_free(&msg);
		if (imsg_recv(&ib, &msg, 20000, &why) != 1)
			errx(2, "OUTSIDE: no answer: %s", why);
	} while (msg.id != id || (msg.type == MSG_ERROR &&
	    strcmp(((const struct m_ERROR *)msg.body)->code, "land.busy") ==
	    0) || msg.type == MSG_COUNTED || msg.type == MSG_FOUND);
	printf("%s\n", proto_name(msg.type));
	exit(0);
}

static void
owner(const char *sid)
{
	struct m_SID	 show = { .session = sid };
	struct m_WAIT	 gone = { .session = sid, .remove = true };
	struct m_REMOVE	 rm = { .session = sid, .discard = true };
	struct m_APPLY	 apply = { .session = sid };
	struct m_DISCARD discard = { .session = sid };
	struct imsgbuf	 ib;
	int		 fd = connected();

	hello(fd, PROTO_VERSION);
	if (imsg_init(&ib, fd, ROLE_CLIENT, ROLE_SBXD) == -1)
		err(2, "imsg");
	ask(&ib, MSG_SHOW, &show);
	ask(&ib, MSG_WAIT, &gone);
	ask(&ib, MSG_REMOVE, &rm);
	ask(&ib, MSG_DISCARD, &discard);
	ask(&ib, MSG_APPLY, &apply);
	exit(0);
}

static void
life(const char *sid)
{
	static const char *argv[] = { "/bin/true", NULL };
	struct m_SID	 it = { .session = sid };
	struct m_DU	 du = { .session = sid };
	struct m_EXPLAIN explain = { .session = sid, .path = "/etc" };
	struct m_RESUME	 resume = { .session = sid, .argv = { 1, argv } };
	struct imsgbuf	 ib;
	int		 fd = connected();

	hello(fd, PROTO_VERSION);
	if (imsg_init(&ib, fd, ROLE_CLIENT, ROLE_SBXD) == -1)
		err(2, "imsg");
	ask(&ib, MSG_EXPLAIN, &explain);
	ask(&ib, MSG_DU, &du);
	ask(&ib, MSG_RESUME, &resume);
	ask(&ib, MSG_STOP, &it);
	ask(&ib, MSG_KILL, &it);
	exit(0);
}

static void
explain(const char *project)
{
	struct m_EXPLAIN m = {
		.path = "/etc", .project = project, .home = getenv("HOME")
	};
	struct imsgbuf	 ib;
	struct msg	 msg;
	const char	*why = "";
	int		 fd = connected();

	hello(fd, PROTO_VERSION);
	if (imsg_init(&ib, fd, ROLE_CLIENT, ROLE_SBXD) == -1 ||
	    imsg_send(&ib, MSG_EXPLAIN, 1, -1, &m) == -1)
		err(2, "EXPLAIN");
	do
		if (imsg_recv(&ib, &msg, 20000, &why) != 1)
			errx(2, "EXPLAIN: no answer: %s", why);
	while (msg.id != 1);
	if (msg.type == MSG_ERROR)
		errx(1, "%s", ((const struct m_ERROR *)msg.body)->message);
	exit(0);
}

static void
asks(const char *project)
{
	struct m_EXPLAIN m = {
		.path = "/etc", .project = project, .home = getenv("HOME")
	};
	struct imsgbuf	 ib;
	struct msg	 msg = { .fd = -1 };
	const char	*why = "";
	int		 i, n, refused = 0;

	for (i = 0; i < 8; i++) {
		asked(&ib, connected());
		for (n = 0; n < 4; n++)
			if (imsg_send(&ib, MSG_EXPLAIN, 1, -1, &m) == -1)
				err(2, "EXPLAIN");
		if (imsg_send(&ib, MSG_LIST, 2, -1, NULL) == -1)
			err(2, "LIST");
		do {
			msg_free(&msg);
			if (imsg_recv(&ib, &msg, 20000, &why) != 1)
				errx(2, "no answer: %s", why);
			refused += msg.type == MSG_ERROR;
		} while (msg.type != MSG_END);
	}
	printf("%d refused\n", refused);
	fflush(stdout);
	while (getchar() != EOF)
		;
	exit(0);
}

static void
odd_explain(struct imsgbuf *ib, const char *sid)
{
	struct m_EXPLAIN m = { .path = "/etc" };

	ask(ib, MSG_EXPLAIN, &m);
	m.project = "/usr/lib";
	m.home = "/root";
	m.as = true;
	m.uid = 65534;
	ask(ib, MSG_EXPLAIN, &m);
	m.as = false;
	m.path = "etc";
	ask(ib, MSG_EXPLAIN, &m);
	m.path = "/etc";
	m.project = "/usr/../lib";
	ask(ib, MSG_EXPLAIN, &m);
	m.project = "/proc/1/root";
	ask(ib, MSG_EXPLAIN, &m);
	/* Whatever else it says: of a session the record counts. */
	m.session = sid;
	ask(ib, MSG_EXPLAIN, &m);
}

static void
odd(const char *sid)
{
	const char	*argv[] = { "", NULL }, *term[] = { "PATH=/x", NULL,
			 NULL };
	struct m_RESUME	 resume = { .session = sid, .argv = { 1, argv } };
	struct m_GC	 gc = { .age = UINT64_MAX };
	struct imsgbuf	 ib;
	int		 fd = connected();

	hello(fd, PROTO_VERSION);
	if (imsg_init(&ib, fd, ROLE_CLIENT, ROLE_SBXD) == -1)
		err(2, "imsg");
	ask(&ib, MSG_RESUME, &resume);
	resume.argv.n = 0;
	resume.term = (struct strv){ 1, term };
	ask(&ib, MSG_RESUME, &resume);
	term[0] = "TERMCAP=x";
	ask(&ib, MSG_RESUME, &resume);
	term[0] = term[1] = "TERM=x";
	resume.term.n = 2;
	ask(&ib, MSG_RESUME, &resume);
	resume.term.n = 0;
	resume.rows = 65536;
	ask(&ib, MSG_RESUME, &resume);
	odd_explain(&ib, sid);
	ask(&ib, MSG_GC, &gc);
	exit(0);
}

/* A review asked for: refused at once where somebody else is at one, else given
 * up after two seconds. */
static void
busy(const char *sid)
{
	struct m_CHANGES m = { .session = sid };
	struct imsgbuf	 ib;
	int		 fd = connected();

	asked(&ib, fd);
	alarm(2);
	ask(&ib, MSG_CHANGES, &m);
	imsg_clear(&ib);
}

/* The next SESSION; its id. */
static void
told(struct imsgbuf *ib, char *sid, size_t size)
{
	struct msg	 msg = { .fd = -1 };
	const char	*why = "";

	while (msg.type != MSG_SESSION) {
		msg_free(&msg);
		if (imsg_recv(ib, &msg, 20000, &why) != 1)
			errx(2, "no session: %s", why);
		if (msg.type == MSG_ERROR)
			errx(2, "no session: %s",
			    ((const struct m_ERROR *)msg.body)->message);
	}
	strlcpy(sid, ((const struct m_SESSION *)msg.body)->session, size);
	msg_free(&msg);
}

/* NEW with these, then its end. */
static void
begun(struct imsgbuf *ib, const char *project, struct strv argv,
    struct strv env, char *sid, size_t size)
{
	struct m_NEW	 m = {
		.argv = argv, .env = env, .cwd = project, .project = project,
		.home = getenv("HOME"), .user = "root", .network = "host"
	};
	struct m_WAIT	 w = { .session = sid };
	int		 fd = connected();

	hello(fd, PROTO_VERSION);
	if (imsg_init(ib, fd, ROLE_CLIENT, ROLE_SBXD) == -1 ||
	    imsg_send(ib, MSG_NEW, 1, -1, &m) == -1)
		err(2, "NEW");
	told(ib, sid, size);
	if (imsg_send(ib, MSG_WAIT, 2, -1, &w) == -1)
		err(2, "WAIT");
	told(ib, sid, size);
}

static void
plain(const char *project)
{
	static const char	*argv[] = { "/bin/sh", "-c", "umask >mask",
				    NULL };
	static const char	*env[] = { "PATH=/usr/bin:/bin", NULL };
	char			 sid[LIMIT_SID + 1];
	struct imsgbuf		 ib;

	begun(&ib, project, (struct strv){ 3, argv }, (struct strv){ 1, env },
	    sid, sizeof(sid));
	imsg_clear(&ib);
	printf("%s\n", sid);
}

/* Paths that are not there, so that each costs little. */
static void
ros(const char *project, const char *count)
{
	static const char	*argv[] = { "/bin/true", NULL };
	static const char	*env[] = { NULL };
	static const char	*ro[LIMIT_PATHS];
	static char		 path[LIMIT_PATHS][8];
	char			 sid[LIMIT_SID + 1];
	struct m_NEW		 m = {
		.argv = { 1, argv }, .env = { 0, env }, .cwd = project,
		.project = project, .home = getenv("HOME"), .user = "root",
		.network = "host", .ro = { 0, ro }
	};
	struct m_WAIT		 w = { .session = sid };
	struct m_OUTSIDE	 o = { .session = sid };
	struct imsgbuf		 ib;
	struct msg		 msg;
	const char		*why = "";
	int			 fd;

	for (; m.ro.n < strtoul(count, NULL, 10); m.ro.n++) {
		snprintf(path[m.ro.n], sizeof(path[0]), "/.%zx", m.ro.n);
		ro[m.ro.n] = path[m.ro.n];
	}
	fd = connected();
	hello(fd, PROTO_VERSION);
	if (imsg_init(&ib, fd, ROLE_CLIENT, ROLE_SBXD) == -1 ||
	    imsg_send(&ib, MSG_NEW, 1, -1, &m) == -1)
		err(2, "NEW");
	told(&ib, sid, sizeof(sid));
	if (imsg_send(&ib, MSG_WAIT, 2, -1, &w) == -1)
		err(2, "WAIT");
	told(&ib, sid, sizeof(sid));
	if (imsg_send(&ib, MSG_OUTSIDE, 3, -1, &o) == -1)
		err(2, "OUTSIDE");
	do
		if (imsg_recv(&ib, &msg, 20000, &why) != 1)
			errx(2, "OUTSIDE: no answer: %s", why);
	while (msg.type != MSG_END && msg.type != MSG_ERROR);
	printf("%s %s\n", proto_name(msg.type), sid);
	exit(0);
}

/* The next with one of these numbers: which, and what it says of lists. */
static void
hear(struct imsgbuf *ib, uint32_t least)
{
	const struct m_SESSION	*m;
	struct msg		 msg = { .fd = -1 };
	const char		*why = "";

	do {
		msg_free(&msg);
		if (imsg_recv(ib, &msg, 20000, &why) != 1)
			errx(2, "no answer: %s", why);
	} while (msg.id < least);
	m = msg.body;
	if (msg.type == MSG_ERROR)
		printf("%u %s\n", msg.id, ((const struct m_ERROR *)msg.body)->
		    code);
	else
		printf("%u %s, %zu hidden, %zu words\n", msg.id, m->state,
		    m->hide.n, m->argv.n);
	msg_free(&msg);
}

static void
waits(const char *sid)
{
	struct m_WAIT	 w = { .session = sid };
	struct m_SID	 it = { .session = sid };
	struct imsgbuf	 ib;

	asked(&ib, connected());
	if (imsg_send(&ib, MSG_WAIT, 1, -1, &w) == -1 ||
	    imsg_send(&ib, MSG_WAIT, 2, -1, &w) == -1 ||
	    imsg_send(&ib, MSG_STOP, 3, -1, &it) == -1 ||
	    imsg_send(&ib, MSG_STOP, 4, -1, &it) == -1)
		err(2, "WAIT");
	hear(&ib, 1);
	hear(&ib, 1);
	hear(&ib, 1);
	hear(&ib, 1);
	if (imsg_send(&ib, MSG_WAIT, 5, -1, &w) == -1 ||
	    imsg_send(&ib, MSG_SHOW, 6, -1, &it) == -1)
		err(2, "SHOW");
	hear(&ib, 1);
	hear(&ib, 1);
	exit(0);
}

/* The most that NEW takes: the session's own mark is one more. */
static void
many(const char *project)
{
	static const char	*argv[] = { "/bin/true", NULL };
	static const char	*term[] = { "TERM=a", "COLORTERM=b", NULL };
	static const char	*env[LIMIT_ARGC];
	static char		 var[LIMIT_ARGC][7];
	char			 sid[LIMIT_SID + 1];
	struct m_RESUME		 resume = { .session = sid };
	struct imsgbuf		 ib;
	size_t			 i;

	for (i = 0; i < LIMIT_ARGC - 1; i++) {
		snprintf(var[i], sizeof(var[i]), "v%c%c%c=",
		    (int)('>' + i / 4096), (int)('>' + i / 64 % 64),
		    (int)('>' + i % 64));
		env[i] = var[i];
	}
	begun(&ib, project, (struct strv){ 1, argv },
	    (struct strv){ LIMIT_ARGC - 1, env }, sid, sizeof(sid));
	resume.term = (struct strv){ 1, term };
	ask(&ib, MSG_RESUME, &resume);
	resume.term.n = 2;
	ask(&ib, MSG_RESUME, &resume);
	resume.term.n = 0;
	ask(&ib, MSG_RESUME, &resume);
	imsg_clear(&ib);
	printf("%s\n", sid);
}

#define FULL	60
/* Each is as large as execve takes it: 64 MiB of them are too many. */
static void
full(const char *project)
{
	static const char	*argv[16] = { "/bin/true" };
	static const char	*env[] = { NULL };
	static char		 word[120000], sid[FULL][LIMIT_SID + 1];
	struct m_RESUME		 resume = { .argv = { 15, argv } };
	struct m_WAIT		 w = { 0 };
	struct imsgbuf		 ib;
	struct msg		 msg = { .fd = -1 };
	const char		*why = "";
	int			 i;

	memset(word, 'x', sizeof(word) - 1);
	for (i = 1; i < 15; i++)
		argv[i] = word;
	for (i = 0; i < FULL; i++) {
		begun(&ib, project, (struct strv){ 1, argv },
		    (struct strv){ 0, env }, sid[i], sizeof(sid[i]));
		if (i + 1 < FULL)
			imsg_clear(&ib);
	}
	for (i = 0; i < FULL; i++) {
		resume.session = w.session = sid[i];
		if (imsg_send(&ib, MSG_RESUME, 3, -1, &resume) == -1 ||
		    imsg_recv(&ib, &msg, 20000, &why) != 1)
			errx(2, "RESUME: %s", why);
		if (msg.type != MSG_SESSION)
			break;
		msg_free(&msg);
		if (imsg_send(&ib, MSG_WAIT, 4, -1, &w) == -1)
			err(2, "WAIT");
		told(&ib, sid[i], sizeof(sid[i]));
	}
	if (i == FULL)
		errx(1, "all of them");
	printf("%d: %s\n", i, msg.type == MSG_ERROR ? ((const struct m_ERROR *)
	    msg.body)->code : proto_name(msg.type));
	msg_free(&msg);
	imsg_clear(&ib);
}

static const char	*true_argv[] = { "true", NULL };

static void
types(const char *sid)
{
	struct m_SID	join = { .session = sid };
	struct m_EXEC	exec = { .session = sid, .argv = { 1, true_argv } };
	struct imsgbuf	ib;

	asked(&ib, connected());
	ask(&ib, MSG_JOIN, &join);
	imsg_clear(&ib);
	asked(&ib, connected());
	ask(&ib, MSG_EXEC, &exec);
	imsg_clear(&ib);
	exit(0);
}

/* Two requests in one write. */
static void
put_two(struct imsgbuf *ib)
{
	struct outbuf	*a = TAILQ_FIRST(&ib->out), *b = TAILQ_NEXT(a, entry);
	uint8_t		 both[8192];

	if (a->len + b->len > sizeof(both))
		errx(2, "too long");
	memcpy(both, a->data, a->len);
	memcpy(both + a->len, b->data, b->len);
	put(ib->fd, both, a->len + b->len);
}

/* In one write, so that it is there when the request is looked at. */
static void
follow(const char *sid)
{
	struct m_EXEC	 exec = { .session = sid, .argv = { 1, true_argv } };
	struct imsgbuf	 ib;
	struct msg	 msg;
	const char	*why = "";

	asked(&ib, connected());
	if (imsg_compose(&ib, MSG_EXEC, 1, -1, &exec) == -1 ||
	    imsg_compose(&ib, MSG_LIST, 2, -1, NULL) == -1)
		err(2, "EXEC");
	put_two(&ib);
	while (imsg_recv(&ib, &msg, 20000, &why) == 1 && msg.id == 0)
		msg_free(&msg);
	if (msg.type != MSG_ERROR || strcmp(((const struct m_ERROR *)
	    msg.body)->code, "protocol.order") != 0)
		errx(2, "%s where ERROR was due: %s", proto_name(msg.type),
		    why);
	msg_free(&msg);
	imsg_clear(&ib);
	exit(0);
}

static void
halfway(const char *sid)
{
	struct m_EXEC	 exec = { .session = sid, .argv = { 1, true_argv } };
	struct m_SID	 join = { .session = sid };
	struct imsgbuf	 ib;
	int		 i;

	for (i = 0; i < 50; i++) {
		asked(&ib, connected());
		if (imsg_send(&ib, i % 2 == 0 ? MSG_EXEC : MSG_JOIN, 1, -1,
		    i % 2 == 0 ? (void *)&exec : (void *)&join) == -1)
			err(2, "EXEC");
		imsg_clear(&ib);
		asked(&ib, connected());
		header(ib.fd, MSG_EXEC, 100, 16);
		imsg_clear(&ib);
	}
	exit(0);
}

/* The session that is not this one. */
static void
other(struct imsgbuf *ib, const char *than, char *sid, size_t size)
{
	if (imsg_send(ib, MSG_LIST, 1, -1, NULL) == -1)
		err(2, "LIST");
	do
		told(ib, sid, size);
	while (strcmp(sid, than) == 0);
}

static void
two(const char *project)
{
	static const char	*env[] = { "PATH=/usr/bin:/bin", NULL };
	char			 sid[LIMIT_SID + 1], given[LIMIT_SID + 1];
	struct m_NEW		 m = {
		.argv = { 1, true_argv }, .env = { 1, env }, .cwd = project,
		.project = project, .home = getenv("HOME"), .user = "root",
		.network = "host"
	};
	struct m_WAIT		 w = { .session = sid };
	struct imsgbuf		 ib, asks;

	asked(&ib, connected());
	if (imsg_compose(&ib, MSG_NEW, 1, -1, &m) == -1)
		err(2, "NEW");
	m.attach = true;
	if (imsg_compose(&ib, MSG_NEW, 2, -1, &m) == -1)
		err(2, "NEW");
	put_two(&ib);
	told(&ib, given, sizeof(given));
	asked(&asks, connected());
	other(&asks, given, sid, sizeof(sid));
	if (imsg_send(&asks, MSG_WAIT, 2, -1, &w) == -1)
		err(2, "WAIT");
	hear(&asks, 2);
	w.session = given;
	if (imsg_send(&asks, MSG_WAIT, 3, -1, &w) == -1)
		err(2, "WAIT");
	hear(&asks, 3);
	exit(0);
}

int
main(int argc, char **argv)
{
	long	n = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
	int	fd;

	if (argc < 3)
		errx(2, "usage: client socket kind [n]");
	socket_path = argv[1];
	if (strcmp(argv[2], "garbage") == 0)
		garbage(n);
	else if (strcmp(argv[2], "flood") == 0)
		flood(n);
	else if (strcmp(argv[2], "hold") == 0)
		hold(n);
	else if (strcmp(argv[2], "mute") == 0)
		mute(n);
	else if (strcmp(argv[2], "leave") == 0 && argc > 3)
		leave(argv[3]);
	else if (strcmp(argv[2], "drop") == 0 && argc > 3)
		drop(argv[3]);
	else if (strcmp(argv[2], "outside") == 0 && argc > 3)
		outside(argv[3]);
	else if (strcmp(argv[2], "slow") == 0 && argc > 3)
		slow(argv[3]);
	else if (strcmp(argv[2], "owner") == 0 && argc > 3)
		owner(argv[3]);
	else if (strcmp(argv[2], "types") == 0 && argc > 3)
		types(argv[3]);
	else if (strcmp(argv[2], "follow") == 0 && argc > 3)
		follow(argv[3]);
	else if (strcmp(argv[2], "halfway") == 0 && argc > 3)
		halfway(argv[3]);
	else if (strcmp(argv[2], "life") == 0 && argc > 3)
		life(argv[3]);
	else if (strcmp(argv[2], "odd") == 0 && argc > 3)
		odd(argv[3]);
	else if (strcmp(argv[2], "explain") == 0 && argc > 3)
		explain(argv[3]);
	else if (strcmp(argv[2], "asks") == 0 && argc > 3)
		asks(argv[3]);
	else if (strcmp(argv[2], "plain") == 0 && argc > 3)
		plain(argv[3]);
	else if (strcmp(argv[2], "full") == 0 && argc > 3)
		full(argv[3]);
	else if (strcmp(argv[2], "busy") == 0 && argc > 3)
		busy(argv[3]);
	else if (strcmp(argv[2], "ros") == 0 && argc > 4)
		ros(argv[3], argv[4]);
	else if (strcmp(argv[2], "waits") == 0 && argc > 3)
		waits(argv[3]);
	else if (strcmp(argv[2], "many") == 0 && argc > 3)
		many(argv[3]);
	else if (strcmp(argv[2], "two") == 0 && argc > 3)
		two(argv[3]);
	else {
		fd = connected();
		if (strcmp(argv[2], "half") == 0)
			header(fd, MSG_HELLO, 100, 10);
		else if (strcmp(argv[2], "huge") == 0)
			header(fd, MSG_HELLO, 0x7fffffff, 16);
		else if (strcmp(argv[2], "early") == 0)
			header(fd, MSG_LIST, 16, 16);
		else if (strcmp(argv[2], "protocol") == 0)
			hello(fd, (uint64_t)n);
		else
			errx(2, "%s: no such kind", argv[2]);
		listen_to(fd);
	}
	return (0);
}
