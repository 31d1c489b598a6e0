#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privsep/proc.h"
#include "sample.h"
#include "scripted.h"

#define WAIT_MS	10000

/*
 * Coming up
 */
static void
folder(const char *path, mode_t mode, int role)
{
	if ((mkdir(path, mode) == -1 && errno != EEXIST) ||
	    chmod(path, mode) == -1 || chown(path, SCRIPTED_UID + role,
	    SCRIPTED_GID + role) == -1)
		atf_tc_fail("%s: %s", path, strerror(errno));
}

void
scripted_suite(struct m_SUITE *suite)
{
	static char	state[PATH_MAX], libexec[PATH_MAX];
	static uint64_t	uids[UID_COUNT], gids[UID_COUNT];
	int		i;

	strlcpy(state, test_path("state"), sizeof(state));
	strlcpy(libexec, test_program("libexec/sbx"), sizeof(libexec));
	for (i = 0; i < UID_COUNT; i++) {
		uids[i] = SCRIPTED_UID + (uint64_t)i;
		gids[i] = SCRIPTED_GID + (uint64_t)i;
	}
	if ((mkdir(state, 0711) == -1 && errno != EEXIST) ||
	    chmod(state, 0711) == -1)
		atf_tc_fail("%s: %s", state, strerror(errno));
	folder(test_path("state/sbxd"), 0700, UID_SBXD);
	folder(test_path("state/s"), 0700, UID_MOUNTD);
	folder(test_path("state/landd"), 0700, UID_LANDD);
	memset(suite, 0, sizeof(*suite));
	suite->state = state;
	suite->libexec = libexec;
	suite->uids.n = UID_COUNT;
	suite->uids.v = uids;
	suite->gids.n = UID_COUNT;
	suite->gids.v = gids;
}

void
scripted_up(struct test_helper *h, const char *name, enum role role)
{
	struct m_SUITE	suite;
	struct msg	msg;

	scripted_suite(&suite);
	suite.spares = role == ROLE_MOUNTD;
	test_helper_start(h, name, role);
	test_send(h, MSG_SUITE, 0, -1, &suite);
	test_expect(h, MSG_READY, &msg);
	msg_free(&msg);
}

int
scripted_channel(struct test_helper *h)
{
	struct m_SUITE	suite;
	struct msg	msg;
	int		sv[2];

	scripted_suite(&suite);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) == -1)
		atf_tc_fail("socketpair: %s", strerror(errno));
	test_send(h, MSG_SUITE, 0, -1, &suite);
	test_send(h, MSG_CHANNEL, 0, sv[1], NULL);
	test_expect(h, MSG_READY, &msg);
	msg_free(&msg);
	return (sv[0]);
}

int	(*scripted_setup)(void);

static int
log_setup(void *arg)
{
	const struct test_helper	*h = arg;
	int				 fd, null;

	if ((fd = open(h->log, O_WRONLY | O_CREAT | O_APPEND, 0600)) == -1 ||
	    (null = open("/dev/null", O_RDWR)) == -1 ||
	    dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1 || dup2(fd, STDERR_FILENO) == -1)
		return (-1);
	close(fd);
	close(null);
	return (scripted_setup == NULL ? 0 : scripted_setup());
}

int
scripted_exec(struct test_helper *h, const char *name, enum role helper,
    enum role self, int n)
{
	static int		count;
	struct proc_start	ps = { .exe = -1, .argv0 = name };
	char			prog[64];
	int			a[2], b[2] = { -1, -1 }, fds[2];

	ATF_REQUIRE(n == 1 || n == 2);
	snprintf(prog, sizeof(prog), "libexec/sbx/%s", name);
	snprintf(h->log, sizeof(h->log), "%s/%s-%d.log", test_scratch(), name,
	    ++count);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, a) == -1 ||
	    (n == 2 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, b) ==
	    -1))
		atf_tc_fail("socketpair: %s", strerror(errno));
	fds[0] = a[1];
	fds[1] = b[1];
	ps.path = test_program(prog);
	ps.fds = fds;
	ps.nfds = (size_t)n;
	ps.setup = log_setup;
	ps.arg = h;
	if ((h->pid = proc_spawn(&ps)) == -1)
		atf_tc_fail("%s: %s", ps.path, strerror(errno));
	close(a[1]);
	if (n == 2)
		close(b[1]);
	if (imsg_init(&h->ib, a[0], self, helper) == -1)
		atf_tc_fail("imsg_init: %s", strerror(errno));
	return (b[0]);
}

/*
 * Frames
 */
static void
raw_send(int fd, const void *p, size_t len, const int *fds, size_t nfds)
{
	char		 control[CMSG_SPACE(sizeof(int) * 8)];
	struct pollfd	 pfd = { .fd = fd, .events = POLLOUT };
	struct iovec	 iov;
	struct msghdr	 mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr	*c;
	const char	*s = p;
	ssize_t		 n;

	for (; len > 0; s += n, len -= (size_t)n) {
		iov.iov_base = (void *)(uintptr_t)s;
		iov.iov_len = len;
		mh.msg_control = NULL;
		mh.msg_controllen = 0;
		if (nfds > 0) {
			memset(control, 0, sizeof(control));
			mh.msg_control = control;
			mh.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
			c = CMSG_FIRSTHDR(&mh);
			c->cmsg_level = SOL_SOCKET;
			c->cmsg_type = SCM_RIGHTS;
			c->cmsg_len = CMSG_LEN(sizeof(int) * nfds);
			memcpy(CMSG_DATA(c), fds, sizeof(int) * nfds);
		}
		if ((n = sendmsg(fd, &mh, MSG_NOSIGNAL)) == -1) {
			if (errno == EPIPE || errno == ECONNRESET)
				return;		/* it has refused already */
			if (errno != EAGAIN || poll(&pfd, 1, WAIT_MS) != 1)
				atf_tc_fail("sendmsg: %s", strerror(errno));
			n = 0;
			continue;
		}
		nfds = 0;
	}
}

void
scripted_raw(int fd, const void *p, size_t len)
{
	raw_send(fd, p, len, NULL, 0);
}

void
scripted_frame(int fd, const struct frame *f)
{
	struct imsg_hdr	 hdr = { .type = f->type, .peerid = f->id };
	size_t		 len = sizeof(hdr) + f->bodylen;
	char		*buf = malloc(len);
	int		 fds[8], i;

	ATF_REQUIRE(buf != NULL && f->nfds <= 8 && f->cut <= len);
	hdr.len = f->len != 0 ? f->len : (uint32_t)len;
	if (f->mark)
		hdr.len |= IMSG_FD_MARK;
	memcpy(buf, &hdr, sizeof(hdr));
	if (f->bodylen > 0)
		memcpy(buf + sizeof(hdr), f->body, f->bodylen);
	for (i = 0; i < f->nfds; i++)
		ATF_REQUIRE((fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC)) !=
		    -1);
	raw_send(fd, buf, len - f->cut, fds, (size_t)f->nfds);
	for (i = 0; i < f->nfds; i++)
		close(fds[i]);
	free(buf);
}

void
scripted_valid(int fd, uint32_t type)
{
	static struct sample_rng r = { 4 };
	const struct proto_row	*row = proto_row(type);
	struct frame		 f = { .type = type, .id = 9 };
	uint8_t			*body;

	body = sample_encoded(type, SAMPLE_SOME, &r, &f.bodylen);
	f.body = body;
	f.mark = row->fd == FD_ONE;
	f.nfds = row->fd == FD_ONE;
	scripted_frame(fd, &f);
	free(body);
}

/*
 * Refusals
 */
static void
must_close(struct test_helper *h, const char *what)
{
	struct pollfd	pfd = { .fd = h->ib.fd, .events = POLLIN };
	char		buf[4096];
	ssize_t		n;

	for (;;) {
		if (poll(&pfd, 1, WAIT_MS) != 1)
			atf_tc_fail("%s: still connected", what);
		n = recv(h->ib.fd, buf, sizeof(buf), 0);
		if (n == 0 || (n == -1 && errno == ECONNRESET))
			return;
		if (n == -1 && errno != EAGAIN)
			atf_tc_fail("%s: %s", what, strerror(errno));
	}
}

static void
attempt_end(const struct scripted *s, struct test_helper *h)
{
	imsg_clear(&h->ib);
	if (s->down != NULL)
		s->down(h);
	unlink(h->log);
}

/* The lines that the helper itself has written. */
static int
log_lines(const struct scripted *s, const char *log)
{
	size_t	len = s->children == NULL ? 0 : strlen(s->children);
	int	n = 0;

	for (; *log != '\0'; log += strcspn(log, "\n") + 1) {
		if (log[strcspn(log, "\n")] == '\0')
			return (-1);
		/* 2026-11-30T01:25:10Z, where nobody else adds a time */
		if (strcspn(log, " \n") == 20 && log[19] == 'Z')
			log += 20 + (log[20] == ' ');
		n += len == 0 || (strncmp(log, s->children, len) == 0 &&
		    log[len] == ':');
	}
	return (n);
}

void
scripted_refused(const struct scripted *s, struct test_helper *h,
    const char *what)
{
	const char	*log;
	int		 status;

	if (s->drops) {
		must_close(h, what);
		attempt_end(s, h);
		return;
	}
	status = test_helper_wait(h);
	log = test_helper_log(h);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 1)
		atf_tc_fail("%s: wait status %#x, log: %s", what,
		    (unsigned int)status, log);
	if (log_lines(s, log) != 1)
		atf_tc_fail("%s: the log is not one line: %s", what, log);
	attempt_end(s, h);
}

static bool
may_get(const struct scripted *s, uint32_t type)
{
	const uint32_t	*m;

	for (m = s->may; m != NULL && *m != 0; m++)
		if (*m == type)
			return (true);
	return (false);
}

/* Every message of the list but those it takes, and numbers that are none. */
void
scripted_forbidden(const struct scripted *s)
{
	static const uint32_t	none[] = {
		MSG_INVALID, MSG_COUNT, 1000, 0x7fffffff, UINT32_MAX
	};
	struct test_helper	h;
	struct frame		f = { .body = "\x80", .bodylen = 1 };
	char			what[64];
	uint32_t		type;
	size_t			i;

	for (type = MSG_INVALID + 1; type < MSG_COUNT; type++) {
		/* A part of what it may get is no message by itself. */
		if (may_get(s, type) || type == MSG_PART)
			continue;
		s->up(&h);
		scripted_valid(h.ib.fd, type);
		scripted_refused(s, &h, proto_name(type));
	}
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		snprintf(what, sizeof(what), "message %u", none[i]);
		s->up(&h);
		f.type = none[i];
		scripted_frame(h.ib.fd, &f);
		scripted_refused(s, &h, what);
	}
}

static void
refuse_raw(const struct scripted *s, const void *p, size_t len,
    const char *what)
{
	struct test_helper	h;

	s->up(&h);
	scripted_raw(h.ib.fd, p, len);
	scripted_refused(s, &h, what);
}

void
scripted_garbage(const struct scripted *s)
{
	struct sample_rng	r = { 99 };
	char			buf[4096];
	size_t			i;
	int			round;

	memset(buf, 0, sizeof(buf));
	refuse_raw(s, buf, sizeof(buf), "zeros");
	memset(buf, 0xff, sizeof(buf));
	refuse_raw(s, buf, sizeof(buf), "ones");
	refuse_raw(s, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27, "HTTP");
	for (round = 0; round < 5; round++) {
		for (i = 0; i < sizeof(buf); i++)
			buf[i] = (char)sample_random(&r);
		refuse_raw(s, buf, sizeof(buf), "random bytes");
	}
}

static void
refuse_frame(const struct scripted *s, const struct frame *f, bool hang_up,
    const char *what)
{
	struct test_helper	h;

	s->up(&h);
	scripted_frame(h.ib.fd, f);
	if (hang_up)
		ATF_REQUIRE(shutdown(h.ib.fd, SHUT_WR) == 0);
	scripted_refused(s, &h, what);
}

/* Lengths, halves and bodies that are none, in a message that it may get. */
void
scripted_broken_frames(const struct scripted *s)
{
	struct sample_rng	 r = { 5 };
	uint32_t		 type = s->may[0];
	bool			 fd = proto_row(type)->fd == FD_ONE;
	struct frame		 good = { .type = type, .mark = fd,
				    .nfds = fd }, f;
	static uint8_t		 big[LIMIT_FRAME];
	uint8_t			*body;

	body = sample_encoded(type, SAMPLE_SOME, &r, &good.bodylen);
	good.body = body;
	f = good;
	f.len = 15;
	refuse_frame(s, &f, false, "a length below the header's");
	f.len = LIMIT_FRAME + 1;
	refuse_frame(s, &f, false, "a length above a frame's");
	f.len = 0x7fffffff;
	refuse_frame(s, &f, false, "a length of 2 GiB");
	f = good;
	f.cut = 1;
	refuse_frame(s, &f, true, "all but the last byte");
	f.cut = good.bodylen + 1;
	refuse_frame(s, &f, true, "a part of a header");
	f = good;
	f.body = big;
	f.bodylen = proto_row(type)->max < sizeof(big) - 16 ?
	    proto_row(type)->max + 1 : sizeof(big) - 16;
	refuse_frame(s, &f, false, "a body of zeros above its limit");
	f.bodylen = 0;
	refuse_frame(s, &f, false, "no body");
	f.body = "\xdd\x40\x00\x00\x00";
	f.bodylen = 5;
	refuse_frame(s, &f, false, "five bytes that ask for a gigabyte");
	f.body = "\x81\xa1x\x01";
	f.bodylen = 4;
	refuse_frame(s, &f, false, "an unknown key");
	free(body);
}

/* Descriptors: one that is missing, one too many, one where none belongs. */
void
scripted_descriptors(const struct scripted *s)
{
	struct sample_rng	 r = { 6 };
	const uint32_t		*m;
	struct frame		 f;
	uint8_t			*body;
	char			 what[64];
	bool			 fd;

	for (m = s->may; *m != 0; m++) {
		fd = proto_row(*m)->fd == FD_ONE;
		memset(&f, 0, sizeof(f));
		f.type = *m;
		body = sample_encoded(*m, SAMPLE_SOME, &r, &f.bodylen);
		f.body = body;
		f.mark = true;
		snprintf(what, sizeof(what), "%s, a mark without descriptor",
		    proto_name(*m));
		refuse_frame(s, &f, false, what);
		f.mark = fd;
		f.nfds = fd + 1;
		snprintf(what, sizeof(what), "%s, a surplus descriptor",
		    proto_name(*m));
		refuse_frame(s, &f, false, what);
		f.nfds = 8;
		snprintf(what, sizeof(what), "%s, eight descriptors",
		    proto_name(*m));
		refuse_frame(s, &f, false, what);
		f.mark = !fd;
		f.nfds = 1;
		snprintf(what, sizeof(what), "%s, the wrong mark",
		    proto_name(*m));
		refuse_frame(s, &f, false, what);
		free(body);
	}
}

void
scripted_eof(const struct scripted *s)
{
	struct test_helper	 h;
	const char		*log;
	int			 status;

	s->up(&h);
	status = test_helper_end(&h);
	log = test_helper_log(&h);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || *log != '\0')
		atf_tc_fail("wait status %#x, log: %s", (unsigned int)status,
		    log);
	attempt_end(s, &h);
}
