/*
 * sbx-init: see init.h. No event loop: it waits for one thing after another,
 * and from the command's start on for three.
 */
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/escape.h"
#include "../common/log.h"
#include "../privsep/proc.h"
#include "init.h"

static void	init_send_error(struct init *, const char *, const char *,
		    va_list) __attribute__((format(printf, 3, 0)));

/* Paths in a message may hold any byte; the message is UTF-8. */
static void
init_send_error(struct init *in, const char *code, const char *fmt, va_list ap)
{
	char		 text[2 * LIMIT_MESSAGE], *seen;
	struct m_ERROR	 e = { .code = code };
	size_t		 len;

	vsnprintf(text, sizeof(text), fmt, ap);
	if ((seen = escape_text(text, strlen(text), "")) == NULL)
		_exit(1);
	if (strlen(seen) > LIMIT_MESSAGE) {
		len = LIMIT_MESSAGE;
		while (len > 0 && ((unsigned char)seen[len] & 0xc0) == 0x80)
			len--;
		seen[len] = '\0';
	}
	e.message = seen;
	if (imsg_send(&in->ib, MSG_ERROR, 0, -1, &e) == -1)
		_exit(1);
	free(seen);
}

void
init_error(struct init *in, const char *code, const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	init_send_error(in, code, fmt, ap);
	va_end(ap);
}

noreturn void
init_refuse(struct init *in, const char *code, const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	init_send_error(in, code, fmt, ap);
	va_end(ap);
	_exit(1);
}

/* Waits as long as it takes: mountd keeps a deadline, and the worker one for
 * when nobody is attached; its end is an end of file here. */
void
init_expect(struct init *in, uint32_t type, struct msg *msg)
{
	const char	*why = NULL;
	int		 r;

	if ((r = imsg_recv(&in->ib, msg, -1, &why)) == 0)
		_exit(0);
	if (r == -1)
		init_refuse(in, "init.protocol", "waiting for %s: %s",
		    proto_name(type), why != NULL ? why : strerror(errno));
	if (msg->type != type)
		init_refuse(in, "init.protocol", "%s where %s was due",
		    proto_name(msg->type), proto_name(type));
}

/*
 * The command is over. What it left in the background ends with this
 * process, by the kernel's hand; only then the terminal's last reader sees its
 * end, so nothing that was written is lost.
 */
noreturn void
init_end(struct init *in, unsigned int status)
{
	struct m_EXITED	m = { .status = status };

	if (in->started != 0)
		m.ms = (uint64_t)(now_ms() - in->started);
	console_close(in);
	if (imsg_send(&in->ib, MSG_EXITED, 0, -1, &m) == -1)
		_exit(1);
	_exit(0);
}

/* Every child that has ended: the command, and orphans of whoever's. */
static void
init_reap(struct init *in)
{
	struct signalfd_siginfo	si;
	int			status, ended = -1;
	pid_t			pid;

	while (read(in->signals, &si, sizeof(si)) == sizeof(si))
		continue;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == in->command)
			ended = status;
	if (ended == -1)
		return;
	/* A failed exec has been reported by now; RUNNING goes first. */
	if (in->report != -1)
		command_result(in);
	init_end(in, WIFSIGNALED(ended) ? 128 + (unsigned int)WTERMSIG(ended) :
	    (unsigned int)WEXITSTATUS(ended));
}

static void
init_receive(struct init *in)
{
	const struct m_SIGNAL	*m;
	struct msg		 msg;
	const char		*why = NULL;
	ssize_t			 n;
	int			 r;

	if ((n = imsg_read(&in->ib)) == 0 || (n == -1 && errno != EAGAIN))
		_exit(0);
	while ((r = imsg_next(&in->ib, &msg, &why)) == 1) {
		m = msg.body;
		if (msg.type != MSG_SIGNAL)
			init_refuse(in, "init.protocol", "%s out of turn",
			    proto_name(msg.type));
		if (m->sig < 1 || m->sig > (uint64_t)SIGRTMAX)
			init_refuse(in, "init.protocol", "no signal %llu",
			    (unsigned long long)m->sig);
		command_signal(in, (int)m->sig);
		msg_free(&msg);
	}
	if (r == -1)
		init_refuse(in, "init.protocol", "from the worker: %s", why);
}

static noreturn void
init_loop(struct init *in)
{
	struct pollfd	pfd[3];

	for (;;) {
		pfd[0] = (struct pollfd){ in->report, POLLIN, 0 };
		pfd[1] = (struct pollfd){ in->signals, POLLIN, 0 };
		pfd[2] = (struct pollfd){ in->ib.fd, POLLIN, 0 };
		if (poll(pfd, 3, -1) == -1 && errno != EINTR)
			init_refuse(in, "init.failed", "poll: %m");
		if (pfd[0].revents != 0)
			command_result(in);
		if (pfd[1].revents != 0)
			init_reap(in);
		if (pfd[2].revents != 0)
			init_receive(in);
	}
}

static void
init_signals(struct init *in)
{
	sigset_t	all, child;

	sigfillset(&all);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &all, NULL) == -1 || (in->signals =
	    signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK)) == -1)
		init_refuse(in, "init.failed", "signalfd: %m");
}

int
main(void)
{
	static struct init	in = {
		.master = -1, .std = { -1, -1, -1 }, .report = -1
	};
	struct msg		msg;

	/* Before anything else: the session must not read or trace us. (The
	 * file's mode has it so from the exec on where nobody changed it.) */
	if (prctl(PR_SET_DUMPABLE, 0) == -1)
		_exit(1);
	proc_begin("init", PROC_FD + 1);
	prctl(PR_SET_NAME, "sbx-init");
	if (imsg_init(&in.ib, PROC_FD, ROLE_INIT, ROLE_WORKER) == -1)
		fatal("imsg_init");
	proc_hello(&in.ib, ROLE_INIT, ROLE_WORKER);
	init_expect(&in, MSG_SETUP, &in.msg);
	in.set = in.msg.body;

	enter_open(&in);
	enter_tree(&in);
	console_make(&in);
	enter_confine(&in);
	init_signals(&in);

	init_expect(&in, MSG_GO, &msg);
	msg_free(&msg);
	command_start(&in);
	init_loop(&in);
}
