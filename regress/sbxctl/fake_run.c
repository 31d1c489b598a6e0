/*
 * The scripted suite's command: NEW's words are what it does, one after the
 * other, as the worker of a session would.
 *	out:TEXT err:TEXT	output; \e, \n, \r and \a stand for themselves
 *	zeros:N			N bytes of output, a counting pattern
 *	cat			gives input back until it ends
 *	read			waits for one piece of input: "read TEXT"
 *	signal			waits for a signal: "signal N"
 *	size			waits for a resize: "size R C"
 *	pause:MS exit:N
 *	die			the connection ends without a status
 *	missing notexec refuse	it does not come to run
 *	wild			a message out of place
 *	held			first: waits for $SBX_STATE/go, starting
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/escape.h"
#include "fake.h"

static bool	running;

static void
log_list(const char *what, const struct strv *list)
{
	char	*seen;
	size_t	 i;

	for (i = 0; i < list->n; i++) {
		seen = escape_text(list->v[i], strlen(list->v[i]), "");
		fake_asked("%s %s", what, seen);
		free(seen);
	}
}

static void
log_path(const char *what, const char *path)
{
	char	*seen = escape_text(path, strlen(path), "");

	fake_asked("%s %s", what, seen);
	free(seen);
}

static void
log_new(const struct m_NEW *m)
{
	size_t	i;

	fake_asked("NEW");
	log_list("argv", &m->argv);
	log_list("env", &m->env);
	log_list("hide", &m->hide);
	log_list("ro", &m->ro);
	log_path("cwd", m->cwd);
	log_path("project", m->project);
	log_path("home", m->home);
	fake_asked("user %s", m->user);
	if (m->name != NULL)
		fake_asked("name %s", m->name);
	fake_asked("network %s", m->network);
	fake_asked("tty %d %llu %llu", m->tty, (unsigned long long)m->rows,
	    (unsigned long long)m->cols);
	if (m->umask.said)
		fake_asked("umask %03llo", (unsigned long long)m->umask.v);
	if (m->as) {
		fake_asked("as %llu %llu", (unsigned long long)m->uid,
		    (unsigned long long)m->gid);
		for (i = 0; i < m->groups.n; i++)
			fake_asked("group %llu",
			    (unsigned long long)m->groups.v[i]);
	}
}

static void
send_data(struct imsgbuf *ib, uint64_t n, const void *p, size_t len)
{
	struct m_DATA	d = { .n = n, .d = { p, len } };

	fake_send(ib, MSG_DATA, 0, &d);
}

static void
send_text(struct imsgbuf *ib, uint64_t n, const char *text)
{
	char	buf[4096], *o = buf;

	for (; *text != '\0' && o < buf + sizeof(buf); text++) {
		if (*text != '\\') {
			*o++ = *text;
			continue;
		}
		switch (*++text) {
		case 'e':
			*o++ = '\033';
			break;
		case 'n':
			*o++ = '\n';
			break;
		case 'r':
			*o++ = '\r';
			break;
		case 'a':
			*o++ = '\a';
			break;
		default:
			*o++ = *text;
		}
	}
	send_data(ib, n, buf, (size_t)(o - buf));
}

/* Waits for a message of this type, or EOF; false at the connection's end. */
static bool
next(struct imsgbuf *ib, uint32_t type, struct msg *msg)
{
	const char	*why;
	char		*seen;

	while (imsg_recv(ib, msg, -1, &why) == 1) {
		if (msg->type == MSG_SIGNAL)
			fake_asked("SIGNAL %llu", (unsigned long long)
			    ((const struct m_SIGNAL *)msg->body)->sig);
		else if (msg->type == MSG_DATA) {
			const struct m_DATA *d = msg->body;

			seen = escape_text((const char *)d->d.p,
			    d->d.len < 200 ? d->d.len : 200, "");
			fake_asked("DATA %zu %s", d->d.len, seen);
			free(seen);
		} else
			fake_asked("%s", proto_name(msg->type));
		if (msg->type == type || msg->type == MSG_EOF)
			return (true);
		msg_free(msg);
	}
	fake_asked("the client is gone");
	_exit(0);
}

static void
do_cat(struct imsgbuf *ib)
{
	const struct m_DATA	*d;
	struct msg		 msg;

	while (next(ib, MSG_DATA, &msg)) {
		if (msg.type == MSG_EOF)
			break;
		d = msg.body;
		send_data(ib, 1, d->d.p, d->d.len);
		msg_free(&msg);
	}
	msg_free(&msg);
}

static void
do_read(struct imsgbuf *ib)
{
	const struct m_DATA	*d;
	struct msg		 msg;

	next(ib, MSG_DATA, &msg);
	if (msg.type == MSG_DATA) {
		d = msg.body;
		send_data(ib, 1, "read ", 5);
		send_data(ib, 1, d->d.p, d->d.len);
	}
	msg_free(&msg);
}

static void
do_wait(struct imsgbuf *ib, uint32_t type)
{
	const struct m_RESIZE	*size;
	struct msg		 msg;
	char			 text[64];

	next(ib, type, &msg);
	while (msg.type == MSG_EOF) {
		msg_free(&msg);
		next(ib, type, &msg);
	}
	size = msg.body;
	if (type == MSG_RESIZE)
		snprintf(text, sizeof(text), "size %llu %llu\r\n",
		    (unsigned long long)size->rows,
		    (unsigned long long)size->cols);
	else
		snprintf(text, sizeof(text), "signal %llu\r\n",
		    (unsigned long long)
		    ((const struct m_SIGNAL *)msg.body)->sig);
	msg_free(&msg);
	send_data(ib, 1, text, strlen(text));
}

static void
do_zeros(struct imsgbuf *ib, size_t n)
{
	uint8_t	buf[LIMIT_CHUNK];
	size_t	off = 0, i, len;

	while (off < n) {
		len = n - off < sizeof(buf) ? n - off : sizeof(buf);
		for (i = 0; i < len; i++)
			buf[i] = (uint8_t)((off + i) % 251);
		send_data(ib, 1, buf, len);
		off += len;
	}
}

static void
run_begin(struct imsgbuf *ib)
{
	struct m_RUNNING	r = { 0 };

	if (!running)
		fake_send(ib, MSG_RUNNING, 0, &r);
	running = true;
}

static void __attribute__((noreturn))
run_end(struct imsgbuf *ib, uint64_t status)
{
	struct m_EXITED	e = { .status = status, .ms = 1 };

	run_begin(ib);
	fake_send(ib, MSG_EXITED, 0, &e);
	fake_asked("exited");
	_exit(0);
}

/* Before the command runs. */
static bool
refused(struct imsgbuf *ib, uint32_t id, const char *word)
{
	struct m_EXITED	e = { .status = 127 };

	if (strcmp(word, "missing") == 0)
		fake_error(ib, 0, "command.missing", "missing: no such file");
	else if (strcmp(word, "notexec") == 0)
		fake_error(ib, id, "command.notexec", "notexec: permission");
	else if (strcmp(word, "refuse") == 0)
		fake_error(ib, id, "start.failed", "no overlay");
	else if (strcmp(word, "wild") == 0) {
		fake_send(ib, MSG_EXITED, 0, &e);
		pause();
	} else
		return (false);
	return (true);
}

static void
word_do(struct imsgbuf *ib, const char *word)
{
	if (strncmp(word, "out:", 4) == 0)
		send_text(ib, 1, word + 4);
	else if (strncmp(word, "err:", 4) == 0)
		send_text(ib, 2, word + 4);
	else if (strncmp(word, "zeros:", 6) == 0)
		do_zeros(ib, strtoul(word + 6, NULL, 10));
	else if (strncmp(word, "pause:", 6) == 0)
		poll(NULL, 0, atoi(word + 6));
	else if (strncmp(word, "exit:", 5) == 0)
		run_end(ib, strtoul(word + 5, NULL, 10));
	else if (strcmp(word, "cat") == 0)
		do_cat(ib);
	else if (strcmp(word, "read") == 0)
		do_read(ib);
	else if (strcmp(word, "signal") == 0)
		do_wait(ib, MSG_SIGNAL);
	else if (strcmp(word, "size") == 0)
		do_wait(ib, MSG_RESIZE);
	else if (strcmp(word, "die") == 0)
		_exit(0);
}

void
fake_run(struct imsgbuf *ib, struct msg *msg)
{
	const struct m_NEW	*m = msg->body;
	struct m_SESSION	 s = {
		.session = FAKE_SID, .state = "starting", .owner = "uid:0",
		.user = m->user, .project = m->project, .home = m->home,
		.cwd = m->cwd, .argv = m->argv, .network = m->network,
		.created = 1700000000
	};
	size_t			 i, first = 0;

	log_new(m);
	fake_send(ib, MSG_SESSION, msg->id, &s);
	ib->self = ROLE_WORKER;
	if (strcmp(m->argv.v[0], "held") == 0 && m->argv.n > 1) {
		fake_await_go();
		first = 1;
	}
	if (refused(ib, msg->id, m->argv.v[first]))
		return;
	run_begin(ib);
	for (i = first; i < m->argv.n; i++)
		word_do(ib, m->argv.v[i]);
	run_end(ib, 0);
}
