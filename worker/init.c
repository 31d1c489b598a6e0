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

/* Paths in a message may hold any byte; the message is UTF-8. */
void
init_verror(struct init *in, uint32_t n, const char *code,
    const char *fmt, va_list ap)
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
	if (imsg_send(&in->ib, MSG_ERROR, n, -1, &e) == -1)
		_exit(1);
	free(seen);
}

void
init_error(struct init *in, uint32_t n, const char *code, const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	init_verror(in, n, code, fmt, ap);
	va_end(ap);
}

noreturn void
init_refuse(struct init *in, const char *code, const char *fmt, ...)
{
	va_list	ap;

	va_start(ap, fmt);
	init_verror(in, 0, code, fmt, ap);
	va_end(ap);
	_exit(1);
}

const char *
init_filtered(void)
{
	return (errno == EPERM || errno == ENOSYS ? ": if the suite runs "
	    "where system calls are filtered, as in a container, have them "
	    "allowed" : "");
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

void
init_exited(struct init *in, const struct command *c, unsigned int status)
{
	struct m_EXITED	m = { .status = status };

	if (c->status != -1 && WIFSIGNALED(c->status))
		m.signal = (uint64_t)WTERMSIG(c->status);
	if (c->started != 0)
		m.ms = (uint64_t)(now_ms() - c->started);
	if (imsg_send(&in->ib, MSG_EXITED, c->n, -1, &m) == -1)
		_exit(1);
}

/*
 * The session's command is over. What it left in the background, and all
 * other commands, end with this process, by the kernel's hand; only then the
 * terminal's last reader sees its end, so nothing that was written is lost.
 */
noreturn void
init_end(struct init *in, unsigned int status)
{
	console_close(&in->own);
	init_exited(in, &in->own, status);
	_exit(0);
}

/* Every child that has ended: commands, and orphans of whoever's. The
 * session's own goes last, since nobody is told anything after it. */
static void
init_reap(struct init *in)
{
	struct signalfd_siginfo	 si;
	struct command		*c, *next;
	int			 status;
	pid_t			 pid;

	while (read(in->signals, &si, sizeof(si)) == sizeof(si))
		continue;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		TAILQ_FOREACH(c, &in->commands, entry)
			if (c->pid == pid)
				c->status = status;
	TAILQ_FOREACH_SAFE(c, &in->commands, entry, next)
		if (c != &in->own && c->status != -1)
			command_ended(in, c);
	if (in->own.status != -1)
		command_ended(in, &in->own);
}

static void
init_signal(struct init *in, const struct msg *msg)
{
	const struct m_SIGNAL	*m = msg->body;
	struct command		*c;

	if (m->sig < 1 || m->sig > (uint64_t)SIGRTMAX)
		init_refuse(in, "init.protocol", "no signal %llu",
		    (unsigned long long)m->sig);
	/* One that has just ended is no mistake of the worker's. */
	if ((c = command_find(in, msg->id)) != NULL)
		command_signal(c, (int)m->sig);
}

/* What came before it has been forked by now. */
static void
init_synced(struct init *in, uint32_t number)
{
	if (imsg_send(&in->ib, MSG_OK, number, -1, NULL) == -1)
		_exit(1);
}

static void
init_receive(struct init *in)
{
	struct msg	 msg;
	const char	*why = NULL;
	ssize_t		 n;
	int		 r;

	if ((n = imsg_read(&in->ib)) == 0 || (n == -1 && errno != EAGAIN))
		_exit(0);
	while ((r = imsg_next(&in->ib, &msg, &why)) == 1) {
		if (msg.type == MSG_SIGNAL)
			init_signal(in, &msg);
		else if (msg.type == MSG_EXEC)
			command_add(in, &msg);
		else if (msg.type == MSG_SYNC)
			init_synced(in, msg.id);
		else
			init_refuse(in, "init.protocol", "%s out of turn",
			    proto_name(msg.type));
		msg_free(&msg);
	}
	if (r == -1)
		init_refuse(in, "init.protocol", "from the worker: %s", why);
}

/* Of commands whose exec has not been reported yet. */
static nfds_t
init_reports(struct init *in, struct pollfd *pfd)
{
	struct command	*c;
	nfds_t		 n = 0;

	TAILQ_FOREACH(c, &in->commands, entry)
		if (c->report != -1)
			pfd[n++] = (struct pollfd){ c->report, POLLIN, 0 };
	return (n);
}

static void
init_reported(struct init *in, const struct pollfd *pfd, nfds_t n)
{
	struct command	*c;
	nfds_t		 i;

	for (i = 0; i < n; i++) {
		if (pfd[i].revents == 0)
			continue;
		TAILQ_FOREACH(c, &in->commands, entry)
			if (c->report == pfd[i].fd)
				break;
		if (c != NULL)
			command_result(in, c);
	}
}

static noreturn void
init_loop(struct init *in)
{
	struct pollfd	pfd[2 + COMMANDS_MAX];
	nfds_t		n;

	for (;;) {
		pfd[0] = (struct pollfd){ in->signals, POLLIN, 0 };
		pfd[1] = (struct pollfd){ in->ib.fd, POLLIN, 0 };
		n = init_reports(in, pfd + 2);
		if (poll(pfd, 2 + n, -1) == -1 && errno != EINTR)
			init_refuse(in, "init.failed", "poll: %m");
		init_reported(in, pfd + 2, n);
		if (pfd[0].revents != 0)
			init_reap(in);
		if (pfd[1].revents != 0)
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

/* Beside the worker's: spawn's, until it has said whose we are. */
#define WORD_FD	(PROC_FD + 1)

int
main(void)
{
	static struct init	 in;
	struct msg		 msg;
	const char		*what;

	/* Before anything else: the session must not read or trace us. (The
	 * file's mode has it so from the exec on where nobody changed it.) */
	if (prctl(PR_SET_DUMPABLE, 0) == -1)
		_exit(1);
	proc_begin("init", WORD_FD + 1);
	/* Nobody's yet: who looks for a session's processes finds those. */
	prctl(PR_SET_NAME, "sbx-spare");
	if (imsg_init(&in.ib, PROC_FD, ROLE_INIT, ROLE_WORKER) == -1)
		fatal("imsg_init");
	become(&in, WORD_FD);
	prctl(PR_SET_NAME, "sbx-init");
	proc_hello(&in.ib, ROLE_INIT, ROLE_WORKER);
	init_expect(&in, MSG_SETUP, &in.msg);
	in.set = in.msg.body;

	enter_open(&in);
	enter_tree(&in);
	command_own(&in);
	if (console_make(&in, &in.own, &what) == -1)
		init_refuse(&in, "terminal.failed", "%s: %m", what);
	enter_confine(&in);
	init_signals(&in);

	init_expect(&in, MSG_GO, &msg);
	msg_free(&msg);
	command_start(&in, &in.own);
	init_loop(&in);
}
