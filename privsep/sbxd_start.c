/*
 * What sbxd does while it is root, in order: state folder and its lock, the
 * socket, the helpers, and then giving up all of it.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <linux/capability.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "../common/path.h"
#include "../common/state.h"
#include "drop.h"
#include "mode.h"
#include "outside.h"
#include "pledge.h"
#include "proc.h"
#include "sbxd.h"
#include "unveil.h"

#define RUN_DIR		"/run/sbx"
#define GROUP_DEFAULT	"sbx"

/* What the helpers keep, spawn gives to a session's start, and drop_to itself
 * takes: told at once, not by whichever helper is the first to miss it. */
#define START_CAPS	(CAP_BIT(CAP_SYS_ADMIN) | CAP_BIT(CAP_NET_ADMIN) | \
			CAP_BIT(CAP_CHOWN) | CAP_BIT(CAP_DAC_OVERRIDE) | \
			CAP_BIT(CAP_DAC_READ_SEARCH) | CAP_BIT(CAP_FOWNER) | \
			CAP_BIT(CAP_FSETID) | CAP_BIT(CAP_MKNOD) | \
			CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID) | \
			CAP_BIT(CAP_SETFCAP) | CAP_BIT(CAP_SETPCAP))

void
start_powers(void)
{
	/* A user has none, and makes S, where all of them are. */
	if (!mode_user())
		drop_need(START_CAPS);
}

/* A folder that only the suite's owner, root or the user, can write; made if
 * it is not there. */
static int
folder_own(const char *path, mode_t mode)
{
	struct stat	st;
	int		fd;

	if (mkdir(path, mode) == -1 && errno != EEXIST)
		fatalx("the folder %s cannot be made: %s: make the one "
		    "above it, or name another state by SBX_STATE", path,
		    strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		fatal("the folder %s", path);
	if (fstat(fd, &st) == -1)
		fatal("%s", path);
	if (st.st_uid != mode_owner() || (st.st_mode & 022) != 0)
		fatalx("%s belongs to uid %u, mode %04o: it must be uid %u's "
		    "and writable to that one only", path,
		    (unsigned int)st.st_uid, (unsigned int)st.st_mode & 07777,
		    (unsigned int)mode_owner());
	if (fchmod(fd, mode) == -1)
		fatal("%s: mode %04o", path, (unsigned int)mode);
	return (fd);
}

static int
folder_below(int dir, const char *name)
{
	int	fd;

	if (mkdirat(dir, name, 0700) == -1 && errno != EEXIST)
		fatal("making %s/%s", sbxd.conf.state, name);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1)
		fatal("%s/%s", sbxd.conf.state, name);
	return (fd);
}

/* An embedded suite's log stays with its state. */
static void
log_embedded(int state)
{
	int	fd;

	fd = openat(state, "sbxd.log", O_WRONLY | O_APPEND | O_CREAT |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1 || dup2(fd, STDERR_FILENO) == -1)
		fatal("%s/sbxd.log", sbxd.conf.state);
	close(fd);
}

void
start_state(void)
{
	int	state, lock;

	state = folder_own(sbxd.conf.state, mode_user() ? 0700 : 0711);
	if (sbxd.conf.embedded)
		log_embedded(state);
	sbxd.dir = folder_below(state, "sbxd");
	lock = openat(state, STATE_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW |
	    O_CLOEXEC, 0600);
	if (lock == -1)
		fatal("%s/" STATE_LOCK, sbxd.conf.state);
	/* Kept open, and with it the lock, for as long as we live. */
	where_take(state, lock);
	close(state);
}

/* Where the workers' sockets are, bound by a name relative to it. In the state:
 * a machine may have several suites. */
static void
workers_dir(void)
{
	int	fd = folder_below(sbxd.dir, "w");

	if (fchown(fd, sbxd.uids[UID_SBXD], sbxd.gids[UID_SBXD]) == -1 ||
	    fchdir(fd) == -1)
		fatal("the folder of the workers' sockets");
	/* Kept, since it may not be opened any more later on. */
	sbxd.workers = fd;
}

static void
socket_owner(int dir, const char *name)
{
	struct group	*gr = NULL;
	const char	*group = sbxd.conf.group_set ? sbxd.conf.group :
			    GROUP_DEFAULT;

	/* Whoever names the state by hand means the owner's use. */
	if (!sbxd.conf.embedded && !mode_user())
		gr = getgrnam(group);
	if (gr == NULL && sbxd.conf.group_set && !sbxd.conf.embedded)
		fatalx("socketGroup %s: there is no such group", group);
	if (fchownat(dir, name, mode_owner(), gr != NULL ? gr->gr_gid :
	    mode_group(), 0) == -1 ||
	    fchmodat(dir, name, gr != NULL ? 0660 : 0600, 0) == -1)
		fatal("%s: owner and mode", sbxd.conf.socket);
}

void
start_socket(void)
{
	struct sockaddr_un	sun;
	char			path[LIMIT_PATH + 1], base[LIMIT_PATH + 1];
	int			dir, fd;

	workers_dir();
	strlcpy(path, sbxd.conf.socket, sizeof(path));
	strlcpy(base, sbxd.conf.socket, sizeof(base));
	if (strcmp(dirname(path), RUN_DIR) == 0)
		close(folder_own(RUN_DIR, 0755));
	if ((dir = where_name(sbxd.conf.socket, &sun)) == -1)
		fatal("the socket's folder %s", path);
	/* Another state's suite may have the same socket: who looks for that
	 * one would come to us. */
	if (where_listens(&sun))
		fatalx("another suite listens on %s: stop it, or name another "
		    "socket than that", sbxd.conf.socket);
	if (unlinkat(dir, basename(base), 0) == -1 && errno != ENOENT)
		fatal("removing %s", sbxd.conf.socket);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd == -1 || bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    listen(fd, 128) == -1)
		fatal("%s", sbxd.conf.socket);
	socket_owner(dir, basename(base));
	sbxd.listener = fd;
	close(dir);
}

static const struct {
	const char	*name;
	enum role	 role;
} helpers[H_COUNT] = {
	[H_SPAWN] = { "spawn", ROLE_SPAWN },
	[H_NETD] = { "netd", ROLE_NETD },
	[H_MOUNTD] = { "mountd", ROLE_MOUNTD },
	[H_LANDD] = { "landd", ROLE_LANDD },
};

/* spawn lives in a leaf of its own: where processes are, no session's group
 * could get a controller. -1: there are no groups. */
static int
spawn_place(void)
{
	char	path[LIMIT_PATH + 32];
	int	fd;

	if (sbxd.cgroup[0] == '\0')
		return (-1);
	snprintf(path, sizeof(path), "%s/spawn", sbxd.cgroup);
	if ((fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1)
		fatal("%s", path);
	return (fd);
}

int
start_program(const char *name, const char *argv1, int cgroup, pid_t *pid)
{
	char			path[LIMIT_PATH + 32];
	int			pair[2];
	struct proc_start	ps = {
		.exe = -1, .path = path, .argv0 = name, .argv1 = argv1,
		.fds = &pair[1], .nfds = 1, .keep_stdout = argv1 != NULL,
		.cgroup = cgroup != -1 ? &cgroup : NULL
	};

	snprintf(path, sizeof(path), "%s/%s", sbxd.conf.libexec, name);
	if (access(path, X_OK) == -1)
		fatal("%s: the suite is not installed whole", path);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
		fatal("socketpair");
	if ((*pid = proc_spawn(&ps)) == -1)
		fatal("starting %s", path);
	close(pair[1]);
	return (pair[0]);
}

static void
helper_exec(enum helper h)
{
	pid_t	pid;
	int	cgroup = h == H_SPAWN ? spawn_place() : -1;
	int	fd = start_program(helpers[h].name, NULL, cgroup, &pid);

	if (cgroup != -1)
		close(cgroup);
	sbxd.helper[h] = helper_peer(h, fd);
	peer_pause(sbxd.helper[h]);
}

/* All but landd work with S: its child is the user's, as the user is. */
static void
helper_outer(enum helper h)
{
	int	fd;

	if (sbxd.outer == -1 || h == H_LANDD)
		return;
	if ((fd = fcntl(sbxd.outer, F_DUPFD_CLOEXEC, 0)) == -1 ||
	    imsg_send(&sbxd.helper[h]->ib, MSG_OUTER, 0, fd, NULL) == -1)
		fatal("OUTER to %s", helpers[h].name);
}

/* A user's, in a folder that conf names: that may have anything else in it. */
static bool
socket_is_bare(void)
{
	return (mode_user() && sbxd.conf.runtime[0] == '\0' &&
	    !path_within(sbxd.conf.state, sbxd.conf.socket));
}

static void
helper_tell(enum helper h, int channel)
{
	struct imsgbuf	*ib = &sbxd.helper[h]->ib;
	uint64_t	 uids[UID_COUNT], gids[UID_COUNT];
	struct m_SUITE	 suite = {
		.state = sbxd.conf.state, .libexec = sbxd.conf.libexec,
		.cgroup = sbxd.cgroup[0] != '\0' ? sbxd.cgroup : NULL,
		.uids = { UID_COUNT, uids }, .gids = { UID_COUNT, gids },
		.spares = !sbxd.conf.embedded,
		.runtime = sbxd.conf.runtime[0] != '\0' ?
		    sbxd.conf.runtime : NULL, .bare = socket_is_bare()
	};
	int		 i;

	for (i = 0; i < UID_COUNT; i++) {
		uids[i] = sbxd.uids[i];
		gids[i] = sbxd.gids[i];
	}
	proc_hello(ib, ROLE_SBXD, helpers[h].role);
	if (imsg_send(ib, MSG_SUITE, 0, -1, &suite) == -1)
		fatal("SUITE to %s", helpers[h].name);
	helper_outer(h);
	if (channel != -1 && imsg_send(ib, MSG_CHANNEL, 0, channel, NULL) ==
	    -1)
		fatal("CHANNEL to %s", helpers[h].name);
}

/* READY, or what it says instead. */
static void
helper_ready(enum helper h)
{
	struct imsgbuf	*ib = &sbxd.helper[h]->ib;
	struct msg	 msg;
	const char	*why = NULL;
	int		 r;

	r = imsg_recv(ib, &msg, 10000, &why);
	if (r == 1 && msg.type == MSG_READY) {
		msg_free(&msg);
		return;
	}
	if (r == 1 && msg.type == MSG_ERROR) {
		const struct m_ERROR *e = msg.body;

		fatalx("%s: %s", helpers[h].name, e->message);
	}
	fatalx("%s did not start: %s", helpers[h].name, r == 1 ?
	    proto_name(msg.type) : r == 0 ? "it ended; its reason is in the "
	    "log" : why);
}

void
start_helpers(void)
{
	int	channel[2], h;

	for (h = 0; h < H_COUNT; h++)
		helper_exec((enum helper)h);
	/* landd and spawn have a channel that we keep no end of. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) == -1)
		fatal("socketpair");
	for (h = 0; h < H_COUNT; h++)
		helper_tell((enum helper)h, h == H_SPAWN ? channel[0] :
		    h == H_LANDD ? channel[1] : -1);
	for (h = 0; h < H_COUNT; h++)
		helper_ready((enum helper)h);
	if (sbxd.outer != -1)
		close(sbxd.outer);
	sbxd.outer = -1;
	for (h = 0; h < H_COUNT; h++)
		peer_resume(sbxd.helper[h]);
}

void
start_confine(void)
{
	struct drop	 d = {
		.uid = sbxd.uids[UID_SBXD], .gid = sbxd.gids[UID_SBXD]
	};
	struct unveil	*u;
	int		 outside;

	/* mountd, which is ready, removes the control group at our end. */
	log_fatal_hook(NULL);
	sbxd.audit = openat(sbxd.dir, "audit", O_WRONLY | O_APPEND | O_CREAT |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (sbxd.audit == -1 || fchown(sbxd.audit, d.uid, d.gid) == -1)
		fatal("%s/sbxd/audit", sbxd.conf.state);
	audit_reserve();
	proc_descriptors(0);
	fds_count();
	outside = outside_begin(socket_is_bare());
	sbxd.landlock = unveil_abi();
	drop_limits(0, 0);
	drop_to(&d);
	u = unveil_begin();
	unveil_fd(u, sbxd.dir, UNVEIL_READ | UNVEIL_WRITE | UNVEIL_SOCK);
	unveil_path(u, ".", UNVEIL_SOCK);
	if (outside != -1)
		unveil_fd(u, outside, UNVEIL_READ);
	unveil_end(u);
	pledge(PLEDGE_SBXD);
}
