#include <sys/ioctl.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <atf-c.h>

#include "pty.h"

#define PTY_WAIT_MS	10000

static long
now_ms(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

void
pty_start(struct pty *p, unsigned short rows, unsigned short cols,
    const char *const *argv)
{
	struct winsize	ws = { .ws_row = rows, .ws_col = cols };

	memset(p, 0, sizeof(*p));
	ATF_REQUIRE(openpty(&p->master, &p->slave, NULL, NULL, &ws) == 0);
	fcntl(p->master, F_SETFD, FD_CLOEXEC);
	fcntl(p->slave, F_SETFD, FD_CLOEXEC);
	fcntl(p->master, F_SETFL, O_NONBLOCK);
	ATF_REQUIRE(tcgetattr(p->slave, &p->before) == 0);
	p->out = calloc(1, 1);
	ATF_REQUIRE((p->pid = fork()) != -1);
	if (p->pid == 0) {
		setsid();
		ioctl(p->slave, TIOCSCTTY, 0);
		dup2(p->slave, STDIN_FILENO);
		dup2(p->slave, STDOUT_FILENO);
		dup2(p->slave, STDERR_FILENO);
		execv(argv[0], (char *const *)(uintptr_t)argv);
		_exit(99);
	}
}

static void
pty_answer(struct pty *p)
{
	static const char	query[] = "\033[5n", answer[] = "\033[0n";
	char			*at;

	while (p->answers && (at = memmem(p->out + p->answered,
	    p->len - p->answered, query, strlen(query))) != NULL) {
		p->answered = (size_t)(at - p->out) + strlen(query);
		ATF_REQUIRE_EQ(write(p->master, answer, strlen(answer)),
		    (ssize_t)strlen(answer));
	}
}

/* What there is now; false at the end of it. */
static bool
pty_take(struct pty *p)
{
	char	buf[65536];
	ssize_t	n;

	n = read(p->master, buf, sizeof(buf));
	if (n == -1)
		return (errno == EAGAIN || errno == EINTR);
	if (p->len + (size_t)n + 1 > p->room) {
		p->room = (p->len + (size_t)n + 1) * 2;
		ATF_REQUIRE((p->out = realloc(p->out, p->room)) != NULL);
	}
	memcpy(p->out + p->len, buf, (size_t)n);
	p->len += (size_t)n;
	p->out[p->len] = '\0';
	pty_answer(p);
	return (n > 0);
}

static void
pty_step(struct pty *p, int ms)
{
	struct pollfd	pfd = { .fd = p->master, .events = POLLIN };

	if (poll(&pfd, 1, ms) > 0 && !pty_take(p))
		poll(NULL, 0, ms < 20 ? ms : 20);
}

void
pty_expect(struct pty *p, const char *text)
{
	long	end = now_ms() + PTY_WAIT_MS;
	char	*at;

	while ((at = memmem(p->out + p->mark, p->len - p->mark, text,
	    strlen(text))) == NULL) {
		if (now_ms() > end) {
			fprintf(stderr, "shown: %s\n", p->out + p->mark);
			atf_tc_fail("never shown: %s", text);
		}
		pty_step(p, 100);
	}
	p->mark = (size_t)(at - p->out) + strlen(text);
}

void
pty_read(struct pty *p, int ms)
{
	long	end = now_ms() + ms, left;

	while ((left = end - now_ms()) > 0)
		pty_step(p, (int)left);
}

void
pty_type(struct pty *p, const void *data, size_t len)
{
	const char	*d = data;
	struct pollfd	 pfd = { .fd = p->master };
	long		 end = now_ms() + 3 * PTY_WAIT_MS;
	ssize_t		 n;

	while (len > 0) {
		if (now_ms() > end)
			atf_tc_fail("%zu bytes are not taken", len);
		pfd.events = POLLIN | POLLOUT;
		poll(&pfd, 1, 100);
		if (pfd.revents & POLLIN)
			pty_take(p);
		if (!(pfd.revents & POLLOUT))
			continue;
		n = write(p->master, d, len);
		if (n == -1 && errno != EAGAIN)
			atf_tc_fail("typing: %s", strerror(errno));
		if (n > 0) {
			d += n;
			len -= (size_t)n;
		}
	}
}

void
pty_say(struct pty *p, const char *text)
{
	pty_type(p, text, strlen(text));
}

void
pty_resize(struct pty *p, unsigned short rows, unsigned short cols)
{
	struct winsize	ws = { .ws_row = rows, .ws_col = cols };

	ATF_REQUIRE(ioctl(p->master, TIOCSWINSZ, &ws) == 0);
}

int
pty_wait(struct pty *p, int ms)
{
	long	end = now_ms() + ms;
	int	status;
	pid_t	pid;

	while ((pid = waitpid(p->pid, &status, WNOHANG)) == 0) {
		if (now_ms() > end) {
			fprintf(stderr, "shown: %s\n", p->out);
			kill(p->pid, SIGKILL);
			waitpid(p->pid, NULL, 0);
			atf_tc_fail("it does not end in %d ms", ms);
		}
		if (p->master != -1)
			pty_step(p, 20);
		else
			poll(NULL, 0, 20);
	}
	ATF_REQUIRE_EQ(pid, p->pid);
	p->pid = -1;
	if (p->master != -1)
		while (poll(&(struct pollfd){ .fd = p->master,
		    .events = POLLIN }, 1, 0) > 0 && pty_take(p))
			;
	return (status);
}

void
pty_hangup(struct pty *p)
{
	close(p->master);
	p->master = -1;
	close(p->slave);
	p->slave = -1;
}

size_t
pty_left(struct pty *p, char *buf, size_t size)
{
	struct termios	now;
	ssize_t		n;

	ATF_REQUIRE(tcgetattr(p->slave, &now) == 0);
	now.c_lflag &= ~(tcflag_t)ICANON;
	now.c_cc[VMIN] = 0;
	now.c_cc[VTIME] = 1;
	ATF_REQUIRE(tcsetattr(p->slave, TCSANOW, &now) == 0);
	n = read(p->slave, buf, size - 1);
	ATF_REQUIRE(n >= 0);
	buf[n] = '\0';
	return ((size_t)n);
}

void
pty_sane(struct pty *p)
{
	struct termios	now;

	ATF_REQUIRE(tcgetattr(p->slave, &now) == 0);
	ATF_CHECK_EQ(now.c_iflag, p->before.c_iflag);
	ATF_CHECK_EQ(now.c_oflag, p->before.c_oflag);
	ATF_CHECK_EQ(now.c_lflag, p->before.c_lflag);
	ATF_CHECK_EQ(now.c_cflag, p->before.c_cflag);
	ATF_CHECK(memcmp(now.c_cc, p->before.c_cc, sizeof(now.c_cc)) == 0);
}

void
pty_free(struct pty *p)
{
	if (p->pid > 0) {
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	if (p->master != -1)
		close(p->master);
	if (p->slave != -1)
		close(p->slave);
	free(p->out);
	memset(p, 0, sizeof(*p));
}
