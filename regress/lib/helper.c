#include <sys/socket.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "privsep/proc.h"
#include "test.h"

#define WAIT_MS	10000

static int
stderr_to_log(void *arg)
{
	const struct test_helper *h = arg;
	int fd, null;

	if ((fd = open(h->log, O_WRONLY | O_CREAT | O_APPEND, 0600)) == -1 ||
	    (null = open("/dev/null", O_RDWR)) == -1)
		return -1;
	if (dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1 || dup2(fd, STDERR_FILENO) == -1)
		return -1;
	close(fd);
	close(null);
	return 0;
}

void
test_helper_exec(struct test_helper *h, const char *name, enum role role,
    enum role self)
{
	static int n;
	struct proc_start ps = { .exe = -1, .argv0 = name, .nfds = 1,
	    .setup = stderr_to_log, .arg = h };
	char prog[64];
	int sv[2];

	snprintf(prog, sizeof(prog), "libexec/sbx/%s", name);
	snprintf(h->log, sizeof(h->log), "%s/%s.%d.log", test_scratch(), name,
	    ++n);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) == -1)
		atf_tc_fail("socketpair: %s", strerror(errno));
	ps.path = test_program(prog);
	ps.fds = &sv[1];
	if ((h->pid = proc_spawn(&ps)) == -1)
		atf_tc_fail("%s: %s", ps.path, strerror(errno));
	close(sv[1]);
	if (imsg_init(&h->ib, sv[0], self, role) == -1)
		atf_tc_fail("imsg_init: %s", strerror(errno));
}

void
test_helper_start(struct test_helper *h, const char *name, enum role role)
{
	test_helper_exec(h, name, role, ROLE_SBXD);
	proc_hello(&h->ib, ROLE_SBXD, role);
}

void
test_send(struct test_helper *h, uint32_t type, uint32_t id, int fd,
    const void *body)
{
	if (imsg_send(&h->ib, type, id, fd, body) == -1)
		atf_tc_fail("%s to %s: %s; its log: %s", proto_name(type),
		    role_name(h->ib.other), strerror(errno),
		    test_helper_log(h));
}

void
test_expect(struct test_helper *h, uint32_t type, struct msg *msg)
{
	const struct m_ERROR *e;
	const char *why = NULL;
	int r;

	r = imsg_recv(&h->ib, msg, WAIT_MS, &why);
	if (r == 0)
		atf_tc_fail("end of file where %s was due; its log: %s",
		    proto_name(type), test_helper_log(h));
	if (r == -1)
		atf_tc_fail("waiting for %s: %s; its log: %s",
		    proto_name(type), why != NULL ? why : strerror(errno),
		    test_helper_log(h));
	if (msg->type == type)
		return;
	if (msg->type == MSG_ERROR) {
		e = msg->body;
		atf_tc_fail("ERROR %s \"%s\" where %s was due", e->code,
		    e->message, proto_name(type));
	}
	atf_tc_fail("%s where %s was due", proto_name(msg->type),
	    proto_name(type));
}

int
test_helper_wait(struct test_helper *h)
{
	int ms, status;
	pid_t pid;

	for (ms = 0; ms < WAIT_MS; ms += 5) {
		if ((pid = waitpid(h->pid, &status, WNOHANG)) == h->pid)
			return status;
		if (pid == -1)
			atf_tc_fail("wait: %s", strerror(errno));
		usleep(5000);
	}
	kill(h->pid, SIGKILL);
	waitpid(h->pid, &status, 0);
	atf_tc_fail("still running after %d ms; its log: %s", WAIT_MS,
	    test_helper_log(h));
}

int
test_helper_end(struct test_helper *h)
{
	imsg_clear(&h->ib);
	return test_helper_wait(h);
}

const char *
test_helper_log(const struct test_helper *h)
{
	static char text[4096];
	ssize_t n;
	int fd;

	if ((fd = open(h->log, O_RDONLY | O_CLOEXEC)) == -1)
		return strerror(errno);
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}
