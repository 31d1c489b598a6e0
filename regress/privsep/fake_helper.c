/*
 * In a helper's place: comes up as it does, by the name it is started under,
 * and then says to the broker what the file "say" beside the state holds:
 * a message's number, or "junk", "half", "end", "silent"; "late": it answers
 * NET and SEAL by other numbers than theirs, makes the file "asked", and says
 * what it has to say when there is a file "go".
 */
#include <sys/socket.h>

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "privsep/proc.h"
#include "regress/lib/sample.h"

static enum role
role_of(const char *name)
{
	if (strcmp(name, "spawn") == 0)
		return (ROLE_SPAWN);
	if (strcmp(name, "netd") == 0)
		return (ROLE_NETD);
	return (strcmp(name, "mountd") == 0 ? ROLE_MOUNTD : ROLE_LANDD);
}

/* A whole frame of this type, with its descriptor if it has one. */
static void
say(uint32_t type)
{
	struct sample_rng	 r = { 8 };
	struct imsg_hdr		 hdr = { .type = type };
	char			 control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec		 iov[2] = { { &hdr, sizeof(hdr) } };
	struct msghdr		 mh = { .msg_iov = iov, .msg_iovlen = 2 };
	struct cmsghdr		*c;
	size_t			 len;
	uint8_t			*body;
	int			 fd = STDIN_FILENO;

	body = sample_encoded(type, SAMPLE_SOME, &r, &len);
	hdr.len = (uint32_t)(sizeof(hdr) + len);
	if (proto_row(type)->fd == FD_ONE) {
		hdr.len |= IMSG_FD_MARK;
		mh.msg_control = control;
		mh.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	iov[1].iov_base = body;
	iov[1].iov_len = len;
	if (sendmsg(PROC_FD, &mh, MSG_NOSIGNAL) == -1)
		_exit(2);
	free(body);
}

static char	dir[8192];

static bool
beside(const char *name, bool make)
{
	char	path[8300];
	int	fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (!make)
		return (access(path, F_OK) == 0);
	if ((fd = open(path, O_WRONLY | O_CREAT, 0644)) == -1)
		_exit(2);
	close(fd);
	return (true);
}

static void
answer(struct imsgbuf *ib, uint32_t type, uint32_t id, const char *sid,
    const void *body)
{
	static const uint32_t	others[] = { 100, 1U << 30, 1U << 31 };
	struct m_ERROR		e = {
		.code = "too.late", .message = "of an earlier start", .at = sid
	};
	size_t			i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (imsg_send(ib, type, id + others[i], -1, body) == -1 ||
		    imsg_send(ib, MSG_ERROR, id + others[i], -1, &e) == -1)
			_exit(2);
	/* No answer is without one, though an ERROR may be. */
	if (imsg_send(ib, type, 0, -1, body) == -1)
		_exit(2);
	beside("asked", true);
	while (!beside("go", false))
		usleep(5000);
	if (imsg_send(ib, type, id, -1, body) == -1)
		_exit(2);
}

static void
late(struct imsgbuf *ib)
{
	struct m_SID	 up;
	struct m_SEALED	 sealed = { .seal = { (const uint8_t *)"x", 1 } };
	struct msg	 msg;
	const char	*why;

	while (imsg_recv(ib, &msg, -1, &why) == 1) {
		if (msg.type == MSG_NET) {
			up.session = ((const struct m_NET *)msg.body)->session;
			answer(ib, MSG_NETUP, msg.id, up.session, &up);
		} else if (msg.type == MSG_SEAL) {
			sealed.session = ((const struct m_SEAL *)msg.body)->
			    session;
			answer(ib, MSG_SEALED, msg.id, sealed.session,
			    &sealed);
		}
		msg_free(&msg);
	}
	_exit(0);
}

int
main(int argc, char **argv)
{
	const struct m_SUITE	*suite;
	struct pollfd		 pfd = { .fd = PROC_FD };
	struct imsgbuf		 ib;
	struct msg		 msg;
	enum role		 role = role_of(argv[0]);
	char			 path[8300], word[64] = "silent";
	FILE			*f;

	(void)argc;
	proc_begin(argv[0], PROC_FD + 1);
	if (imsg_init(&ib, PROC_FD, role, ROLE_SBXD) == -1)
		return (2);
	proc_hello(&ib, role, ROLE_SBXD);
	proc_expect(&ib, MSG_SUITE, &msg);
	suite = msg.body;
	snprintf(dir, sizeof(dir), "%s/..", suite->state);
	snprintf(path, sizeof(path), "%s/say", dir);
	if ((f = fopen(path, "re")) != NULL) {
		if (fscanf(f, "%63s", word) != 1)
			word[0] = '\0';
		fclose(f);
	}
	msg_free(&msg);
	if (role == ROLE_SPAWN || role == ROLE_LANDD)
		proc_expect(&ib, MSG_CHANNEL, &msg);
	if (imsg_send(&ib, MSG_READY, 0, -1, NULL) == -1)
		return (2);
	if (strcmp(word, "junk") == 0)
		(void)send(PROC_FD, "GET / HTTP/1.1\r\n\r\n", 18, 0);
	else if (strcmp(word, "half") == 0) {
		(void)send(PROC_FD, "\3\0\0\0\40\0\0\0", 8, 0);
		(void)shutdown(PROC_FD, SHUT_WR);
	} else if (strcmp(word, "end") == 0)
		return (0);
	else if (strcmp(word, "late") == 0)
		late(&ib);
	else if (strcmp(word, "silent") != 0)
		say((uint32_t)atoi(word));
	/* Until the broker is gone. */
	poll(&pfd, 1, 20000);
	return (0);
}
