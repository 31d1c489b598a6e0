#include <sys/socket.h>
#include <sched.h>
#include <unistd.h>

#include "../common/log.h"
#include "mode.h"
#include "proc.h"

static bool	user, inside;
static uid_t	owner;
static gid_t	group;

void
mode_begin(void)
{
	owner = geteuid();
	user = owner != 0;
	group = user ? getegid() : 0;
}

bool
mode_user(void)
{
	return (user);
}

bool
mode_user_by(int fd)
{
	struct ucred	cred;
	socklen_t	len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1)
		fatal("SO_PEERCRED");
	return (cred.uid != 0 && cred.uid == geteuid());
}

uid_t
mode_owner(void)
{
	return (owner);
}

gid_t
mode_group(void)
{
	return (group);
}

/* What is to be nobody's but the suite's cannot be root's. */
bool
mode_role(uint64_t uid, uint64_t gid)
{
	if (user)
		return (uid == owner && gid == group);
	return (uid != 0 && uid < UINT32_MAX && gid != 0 && gid < UINT32_MAX);
}

void
mode_enter(struct imsgbuf *ib)
{
	struct msg	msg;

	if (!user)
		return;
	proc_expect(ib, MSG_OUTER, &msg);
	if (setns(msg.fd, CLONE_NEWUSER) == -1)
		fatal("entering the outer user namespace");
	msg_free(&msg);
	if (geteuid() != 0 || getegid() != 0)
		fatalx("uid %u and gid %u in the outer user namespace, not 0",
		    (unsigned int)geteuid(), (unsigned int)getegid());
	inside = true;
}

uid_t
mode_uid(uint64_t uid)
{
	return (inside ? (uid == owner ? 0 : (uid_t)-1) : (uid_t)uid);
}

gid_t
mode_gid(uint64_t gid)
{
	return (inside ? 0 : (gid_t)gid);
}
