/*
 * Whether a socket that we may not connect to is anything but what an ended
 * suite has left: nobody of its own may remove it from the state's folder.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sbxctl.h"

#define LEFT_BUF	32768	/* what the kernel sends at once, at most */

enum left { LEFT_ASK_ON, LEFT_NONE, LEFT_FOUND };

/* All listening sockets of this network namespace, with their files. */
static bool
left_ask(int fd)
{
	const struct {
		struct nlmsghdr		nlh;
		struct unix_diag_req	req;
	} ask = {
		.nlh = {
			.nlmsg_len = sizeof(ask),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP
		},
		.req = {
			.sdiag_family = AF_UNIX,
			.udiag_states = 1U << TCP_LISTEN,
			.udiag_show = UDIAG_SHOW_VFS
		}
	};

	return (send(fd, &ask, sizeof(ask), 0) == (ssize_t)sizeof(ask));
}

/* The inode alone: which device a file is on is told otherwise by stat, on
 * some filesystems. One too many that is taken for ours does no harm. */
static bool
left_is(const char *msg, size_t len, ino_t ino)
{
	struct unix_diag_vfs	vfs;
	struct nlattr		attr;
	size_t			off;

	off = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct unix_diag_msg));
	while (off + NLA_HDRLEN <= len) {
		memcpy(&attr, msg + off, sizeof(attr));
		if (attr.nla_len < NLA_HDRLEN || attr.nla_len > len - off)
			break;
		if (attr.nla_type == UNIX_DIAG_VFS &&
		    attr.nla_len >= NLA_HDRLEN + sizeof(vfs)) {
			memcpy(&vfs, msg + off + NLA_HDRLEN, sizeof(vfs));
			return (vfs.udiag_vfs_ino == (uint32_t)ino);
		}
		off += NLA_ALIGN(attr.nla_len);
	}
	return (false);
}

/* One datagram of the answer. What is not understood is taken for a suite. */
static enum left
left_look(const char *buf, size_t len, ino_t ino)
{
	struct nlmsghdr	nlh;
	size_t		off;

	for (off = 0; off + sizeof(nlh) <= len;
	    off += NLMSG_ALIGN(nlh.nlmsg_len)) {
		memcpy(&nlh, buf + off, sizeof(nlh));
		if (nlh.nlmsg_len < sizeof(nlh) || nlh.nlmsg_len > len - off)
			return (LEFT_FOUND);
		if (nlh.nlmsg_type == NLMSG_DONE)
			return (LEFT_NONE);
		if (nlh.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
		    left_is(buf + off, nlh.nlmsg_len, ino))
			return (LEFT_FOUND);
	}
	return (LEFT_ASK_ON);
}

bool
suite_left(const char *path)
{
	enum left	r = LEFT_ASK_ON;
	struct stat	st;
	char		buf[LEFT_BUF];
	ssize_t		n;
	int		fd;

	if (stat(path, &st) == -1 || !S_ISSOCK(st.st_mode))
		return (false);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd == -1)
		return (false);
	if (!left_ask(fd))
		r = LEFT_FOUND;
	while (r == LEFT_ASK_ON) {
		n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT | MSG_TRUNC);
		if (n == -1 && errno == EINTR)
			continue;
		r = n <= 0 || (size_t)n > sizeof(buf) ? LEFT_FOUND :
		    left_look(buf, (size_t)n, st.st_ino);
	}
	close(fd);
	return (r == LEFT_NONE);
}
