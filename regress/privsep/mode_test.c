/*
 * Whose suite it is: what an ordinary user's program keeps, gives up and
 * takes for an id; and the way into the outer user namespace.
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/capability.h>

#include "privsep/drop.h"
#include "privsep/mode.h"
#include "regress/lib/test.h"

#define UID	64321
#define GID	64322
#define MORE	64323

/* How a child ended that had become the user, and what it said. */
static char	said[4096];

static int
as_user(int (*fn)(int), int arg)
{
	static const gid_t	groups[] = { MORE };
	ssize_t			n;
	pid_t			pid;
	int			p[2], status;

	ATF_REQUIRE(pipe(p) == 0);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		dup2(p[1], STDERR_FILENO);
		if (setgroups(1, groups) == -1 ||
		    setresgid(GID, GID, GID) == -1 ||
		    setresuid(UID, UID, UID) == -1)
			_exit(99);
		prctl(PR_SET_DUMPABLE, 1);
		mode_begin();
		_exit(fn(arg));
	}
	close(p[1]);
	n = read(p[0], said, sizeof(said) - 1);
	said[n > 0 ? n : 0] = '\0';
	close(p[0]);
	ATF_REQUIRE(waitpid(pid, &status, 0) == pid);
	ATF_REQUIRE(WIFEXITED(status));
	return (WEXITSTATUS(status));
}

static int
roles(int arg)
{
	(void)arg;
	if (!mode_user() || mode_owner() != UID || mode_group() != GID)
		return (1);
	/* The one uid, and neither root's nor a number of the other kind. */
	if (!mode_role(UID, GID) || mode_role(0, 0) || mode_role(UID, 0) ||
	    mode_role(0, GID) || mode_role(UID + 1, GID))
		return (2);
	/* Not in S: an id is itself. */
	return (mode_uid(UID) == UID && mode_gid(GID) == GID ? 0 : 3);
}

ATF_TC_WITHOUT_HEAD(ids);
ATF_TC_BODY(ids, tc)
{
	ATF_REQUIRE_EQ(as_user(roles, 0), 0);
	/* Root's, where no role is root and each has its own. */
	mode_begin();
	ATF_REQUIRE(!mode_user() && mode_owner() == 0);
	ATF_REQUIRE(mode_role(UID, GID) && !mode_role(0, GID) &&
	    !mode_role(UID, 0) && !mode_role(UINT32_MAX, GID));
	ATF_REQUIRE_EQ(mode_uid(UID), UID);
	/* Nothing comes, and nothing is waited for. */
	mode_enter(NULL);
}

static int
drops(int keep)
{
	struct drop	d = {
		.uid = UID + 1, .gid = GID + 1,
		.keep = keep != 0 ? CAP_BIT(keep) : 0
	};
	gid_t		groups[8];
	uid_t		r, e, s;

	drop_to(&d);
	/* Its ids and groups are what they were: none may be given up. */
	if (getresuid(&r, &e, &s) == -1 || r != UID || e != UID || s != UID ||
	    getgid() != GID || getgroups(8, groups) != 1 || groups[0] != MORE)
		return (2);
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 ||
	    prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return (3);
	return (0);
}

ATF_TC_WITHOUT_HEAD(dropped);
ATF_TC_BODY(dropped, tc)
{
	ATF_REQUIRE_EQ(as_user(drops, 0), 0);
	/* What it has not it cannot keep. */
	ATF_REQUIRE_EQ(as_user(drops, CAP_SYS_ADMIN), 1);
	ATF_REQUIRE(strstr(said, "capability") != NULL);
}

static void
write_file(pid_t pid, const char *name, const char *text)
{
	char	path[64];
	int	fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_WRONLY);
	if (fd == -1 || write(fd, text, strlen(text)) == -1)
		_exit(90);
	close(fd);
}

/* A user namespace of the user's, with or without its maps. */
static int
outer_make(int mapped)
{
	char	path[64];
	pid_t	pid;
	int	up[2], fd;
	char	c;

	if (pipe(up) == -1 || (pid = fork()) == -1)
		_exit(91);
	if (pid == 0) {
		if (unshare(CLONE_NEWUSER) == -1 || write(up[1], "", 1) != 1)
			_exit(1);
		pause();
	}
	if (read(up[0], &c, 1) != 1)
		_exit(92);
	if (mapped) {
		write_file(pid, "setgroups", "deny");
		write_file(pid, "uid_map", "0 64321 1");
		write_file(pid, "gid_map", "0 64322 1");
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	fd = open(path, O_RDONLY);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return (fd);
}

enum { GOOD, UNMAPPED, NO_NAMESPACE, OTHER_MESSAGE };

static int
enters(int how)
{
	struct imsgbuf	sbxd, self;
	int		sv[2], fd;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == -1 ||
	    imsg_init(&sbxd, sv[0], ROLE_SBXD, ROLE_MOUNTD) == -1 ||
	    imsg_init(&self, sv[1], ROLE_MOUNTD, ROLE_SBXD) == -1)
		return (80);
	fd = how == NO_NAMESPACE ? open("/dev/null", O_RDONLY) :
	    how == OTHER_MESSAGE ? -1 : outer_make(how == GOOD);
	if (imsg_send(&sbxd, how == OTHER_MESSAGE ? MSG_PROBE : MSG_OUTER, 0,
	    fd, NULL) == -1)
		return (81);
	mode_enter(&self);
	/* Root there, over nothing but the user's. */
	if (geteuid() != 0 || mode_uid(UID) != 0 || mode_gid(GID) != 0 ||
	    mode_uid(0) != (uid_t)-1 || mode_uid(UID + 1) != (uid_t)-1)
		return (82);
	/* In there the bounding set can be emptied, and is. */
	drop_to(&(struct drop){ .keep = CAP_BIT(CAP_NET_ADMIN) });
	return (prctl(PR_CAPBSET_READ, CAP_NET_ADMIN, 0, 0, 0) == 0 ? 0 : 83);
}

ATF_TC_WITHOUT_HEAD(entered);
ATF_TC_BODY(entered, tc)
{
	ATF_REQUIRE_EQ(as_user(enters, GOOD), 0);
	ATF_REQUIRE_EQ(as_user(enters, UNMAPPED), 1);
	ATF_REQUIRE(strstr(said, "in the outer user namespace, not 0") !=
	    NULL);
	ATF_REQUIRE_EQ(as_user(enters, NO_NAMESPACE), 1);
	ATF_REQUIRE(strstr(said, "entering the outer user namespace") !=
	    NULL);
	ATF_REQUIRE_EQ(as_user(enters, OTHER_MESSAGE), 1);
	ATF_REQUIRE(strstr(said, "PROBE from sbxd where OUTER was due") !=
	    NULL);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, ids);
	ATF_TP_ADD_TC(tp, dropped);
	ATF_TP_ADD_TC(tp, entered);
	return (atf_no_error());
}
