/*
 * init was made for no session in particular, and waits for spawn's word whose
 * it is. What may change on the host until then is made only now: the
 * mounts, the host's name, the network. It still is spawn's uid, and has read
 * nothing but that word: from here on it is the session's user.
 */
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "../privsep/caps.h"
#include "../privsep/proc.h"
#include "init.h"

/* What it still needs: attaching and pivoting, opening netlink sockets. */
#define INIT_CAPS	(CAP_BIT(CAP_SYS_ADMIN) | CAP_BIT(CAP_NET_ADMIN))

#define BECOME_HEARD	5000	/* ms, at most */

/* In a user's own suite they are what the map makes of spawn's own; the groups
 * stay, and none may be given up. */
static int
become_ids(const struct m_BECOME *m)
{
	static gid_t	groups[LIMIT_GROUPS];
	size_t		i;

	if (geteuid() != 0 && geteuid() == m->uid && getegid() == m->gid)
		return (0);
	for (i = 0; i < m->groups.n; i++)
		groups[i] = (gid_t)m->groups.v[i];
	if (setgroups(m->groups.n, groups) == -1 ||
	    setresgid((gid_t)m->gid, (gid_t)m->gid, (gid_t)m->gid) == -1)
		return (-1);
	return (setresuid((uid_t)m->uid, (uid_t)m->uid, (uid_t)m->uid));
}

static int
become_user(const struct m_BECOME *m)
{
	int	c;

	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == -1 || become_ids(m) == -1 ||
	    caps_set(CAP_BIT(CAP_SETPCAP), INIT_CAPS | CAP_BIT(CAP_SETPCAP),
	    0) == -1)
		return (-1);
	for (c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) != -1; c++)
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == -1)
			return (-1);
	if (caps_set(INIT_CAPS, INIT_CAPS, 0) == -1)
		return (-1);
	/* Becoming somebody else may have made us readable to that one. */
	return (prctl(PR_SET_DUMPABLE, 0));
}

/* Our end is known to spawn at once, who could tell the broker of it before
 * the worker has told it why. The session's end is ours. */
static noreturn void
become_failed(struct init *in, const char *what)
{
	struct pollfd	pfd = { .fd = in->ib.fd };

	init_error(in, 0, "init.failed", "%s: %m%s", what, init_filtered());
	(void)poll(&pfd, 1, BECOME_HEARD);
	_exit(1);
}

/* It is done, and these are the namespaces that spawn has not seen. */
static void
become_answer(struct init *in, struct imsgbuf *word, const struct m_BECOME *m)
{
	static const char *const	path[] = {
		"/proc/self/ns/mnt", "/proc/self/ns/net"
	};
	static const char *const	kind[] = { "mntns", "netns" };
	struct m_SFD			sfd = { .session = m->session };
	size_t				i;
	int				fd;

	for (i = 0; i < sizeof(path) / sizeof(path[0]); i++) {
		if ((fd = open(path[i], O_RDONLY | O_CLOEXEC)) == -1)
			become_failed(in, path[i]);
		sfd.kind = kind[i];
		if (imsg_send(word, MSG_SFD, 0, fd, &sfd) == -1)
			_exit(1);	/* spawn is gone */
	}
}

static void
become_whose(struct init *in, struct imsgbuf *word, const struct m_BECOME *m)
{
	if (unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS |
	    (m->isolated ? CLONE_NEWNET : 0)) == -1)
		become_failed(in, "making the session's namespaces, "
		    "unshare(2)");
	if (become_user(m) == -1)
		become_failed(in, "becoming the session's user");
	/* ENOSYS: this kernel has no keys that could be shared. */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) == -1 &&
	    errno != ENOSYS)
		become_failed(in, "a session keyring, keyctl(2)");
	become_answer(in, word, m);
}

void
become(struct init *in, int fd)
{
	struct imsgbuf	 word;
	struct msg	 msg;
	const char	*why = NULL;
	int		 r;

	if (imsg_init(&word, fd, ROLE_INIT, ROLE_SPAWN) == -1)
		fatal("imsg_init");
	if ((r = imsg_recv(&word, &msg, -1, &why)) == 0)
		_exit(0);	/* there is no session to be had any more */
	if (r == -1 || msg.type != MSG_BECOME)
		init_refuse(in, "init.protocol", "waiting for BECOME: %s",
		    r == 1 ? proto_name(msg.type) : why != NULL ? why :
		    strerror(errno));
	become_whose(in, &word, msg.body);
	msg_free(&msg);
	imsg_clear(&word);
}
