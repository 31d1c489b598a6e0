/*
 * Links of a session's network namespace, by a netlink socket made in it.
 */
#include <sys/socket.h>
#include <sys/uio.h>

#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <errno.h>
#include <libmnl/libmnl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "netd.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE	71
#endif

#define LINK_BUF	1024	/* a request of ours, or an ack to one */

static uint64_t	host_cookie;
static bool	host_known;

void
link_learn_host(int fd)
{
	socklen_t	len = sizeof(host_cookie);

	host_known = getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &host_cookie,
	    &len) == 0;
}

bool
link_knows_host(void)
{
	return (host_known);
}

static int
link_option(int fd, int option)
{
	int		value;
	socklen_t	len = sizeof(value);

	if (getsockopt(fd, SOL_SOCKET, option, &value, &len) == -1)
		return (-1);
	return (value);
}

int
link_check(int fd, char *why, size_t size)
{
	uint64_t	cookie;
	socklen_t	len = sizeof(cookie);

	if (link_option(fd, SO_DOMAIN) != AF_NETLINK ||
	    link_option(fd, SO_PROTOCOL) != NETLINK_ROUTE) {
		snprintf(why, size, "the descriptor is no route socket");
		return (-1);
	}
	/* Setting the host's links is no work for a session's socket. */
	if (host_known && (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie,
	    &len) == -1 || cookie == host_cookie)) {
		snprintf(why, size, "the route socket is of the host's own "
		    "network");
		return (-1);
	}
	return (0);
}

static struct nlmsghdr *
link_request(void *buf, const char *name)
{
	struct nlmsghdr		*nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg	*ifi;

	nlh->nlmsg_type = RTM_NEWLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	nlh->nlmsg_seq = 1;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_family = AF_UNSPEC;
	ifi->ifi_change = IFF_UP;
	ifi->ifi_flags = IFF_UP;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, name);
	return (nlh);
}

/*
 * The kernel works a request off within sendmsg(2), so its ack is there by
 * the time that returns. Nothing here may wait: init holds the other copy of
 * this socket and may have read the ack away, or sent one of its own making,
 * which is known by its sender's port (the kernel's is 0).
 */
static int
link_ack(int fd, uint32_t seq)
{
	_Alignas(struct nlmsghdr) char buf[LINK_BUF];
	struct sockaddr_nl	from;
	struct iovec		iov = { buf, sizeof(buf) };
	struct msghdr		mh = {
		.msg_name = &from, .msg_namelen = sizeof(from),
		.msg_iov = &iov, .msg_iovlen = 1
	};
	ssize_t			n;

	memset(&from, 0, sizeof(from));
	if ((n = recvmsg(fd, &mh, MSG_DONTWAIT)) == -1)
		return (-1);
	if (mh.msg_namelen != sizeof(from) || from.nl_pid != 0 ||
	    (mh.msg_flags & MSG_TRUNC) != 0) {
		errno = EPROTO;
		return (-1);
	}
	/* MNL_CB_STOP (0) is an ack of 0; an errno of the ack's is -1. */
	if ((n = mnl_cb_run(buf, (size_t)n, seq, 0, NULL, NULL)) == MNL_CB_OK)
		errno = EPROTO;
	return (n == MNL_CB_STOP ? 0 : -1);
}

/*
 * No address goes with it, as libmnl's own call would give one: the kernel
 * asks for its opener's rights, too, only on a socket used without one. One
 * that init has connected to somewhere else brings no ack.
 */
int
link_up(int fd, const char *name, char *why, size_t size)
{
	_Alignas(struct nlmsghdr) char buf[LINK_BUF];
	struct nlmsghdr		*nlh = link_request(buf, name);

	if (send(fd, nlh, nlh->nlmsg_len, MSG_DONTWAIT) == -1 ||
	    link_ack(fd, nlh->nlmsg_seq) == -1) {
		snprintf(why, size, "link %s cannot be brought up: %s", name,
		    strerror(errno));
		return (-1);
	}
	return (0);
}
