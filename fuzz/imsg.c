/*
 * A peer's whole stream, with descriptors, in pieces as they may be read.
 */
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/proto.h"
#include "fuzz.h"
#include "privsep/imsg.h"

/* Writes a piece with nfds descriptors; false where it does not fit. */
static bool
piece_send(int fd, const uint8_t *p, size_t len, int nfds)
{
	static int	 null = -1;
	char		 control[CMSG_SPACE(sizeof(int) * FUZZ_FDS)] = { 0 };
	struct iovec	 iov = { (void *)(uintptr_t)p, len };
	struct msghdr	 mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr	*c;
	int		 i;

	if (null == -1)
		MUST((null = open("/dev/null", O_RDWR | O_CLOEXEC)) != -1);
	if (nfds > 0) {
		mh.msg_control = control;
		mh.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)nfds);
		c = CMSG_FIRSTHDR(&mh);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)nfds);
		for (i = 0; i < nfds; i++)
			memcpy(CMSG_DATA(c) + sizeof(int) * (size_t)i, &null,
			    sizeof(int));
	}
	return (sendmsg(fd, &mh, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len);
}

/* Everything that is there; false once the peer is broken. */
static bool
drain(struct imsgbuf *ib)
{
	struct msg	 msg;
	const char	*why = NULL;
	ssize_t		 n;
	int		 r;

	for (;;) {
		while ((r = imsg_next(ib, &msg, &why)) == 1) {
			MUST(proto_may(msg.type, ib->other, ib->self));
			MUST((msg.fd != -1) == (proto_row(msg.type)->fd ==
			    FD_ONE));
			msg_free(&msg);
		}
		if (r == -1) {
			MUST(why != NULL && strlen(why) < 256);
			return (false);
		}
		if ((n = imsg_read(ib)) <= 0)
			return (n == -1 && errno == EAGAIN);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct imsgbuf	ib;
	size_t		len;
	int		sv[2];

	if (size < 2)
		return (0);
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) == 0);
	MUST(imsg_init(&ib, sv[0], (enum role)(1 << data[1] % FUZZ_ROLES),
	    (enum role)(1 << data[0] % FUZZ_ROLES)) == 0);
	data += 2;
	size -= 2;
	while (size > FUZZ_PIECE) {
		len = data[0] | (size_t)data[1] << 8;
		if (len == 0 || len > size - FUZZ_PIECE)
			len = size - FUZZ_PIECE;
		if (!piece_send(sv[1], data + FUZZ_PIECE, len,
		    data[2] % (FUZZ_FDS + 1)) || !drain(&ib))
			break;
		data += FUZZ_PIECE + len;
		size -= FUZZ_PIECE + len;
	}
	close(sv[1]);
	imsg_clear(&ib);
	return (0);
}
