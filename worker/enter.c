/*
 * From the host's tree into the session's, and from the last capabilities to
 * none. Until the filter is loaded only code of ours has run here.
 */
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../privsep/caps.h"
#include "../privsep/drop.h"
#include "../privsep/pledge.h"
#include "../privsep/unveil.h"
#include "init.h"

#ifndef MOVE_MOUNT_F_EMPTY_PATH
#define MOVE_MOUNT_F_EMPTY_PATH	0x00000004
#endif

static void
enter_send(struct init *in, const char *kind, uint64_t n, int fd)
{
	struct m_SFD	m = {
		.session = in->set->session, .kind = kind, .n = n
	};

	if (imsg_send(&in->ib, MSG_SFD, 0, fd, &m) == -1)
		_exit(1);
}

/*
 * The kernel checks NET_ADMIN of both who opened a netlink socket and who
 * sends through it, so netd's is opened here, in the session's namespace.
 */
static void
enter_netlink(struct init *in)
{
	int	fd;

	if (strcmp(in->set->network, "host") == 0)
		return;
	if (strcmp(in->set->network, "none") != 0)
		init_refuse(in, "network.unknown", "network \"%s\": this "
		    "version knows \"host\" and \"none\"", in->set->network);
	if ((fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) ==
	    -1)
		init_refuse(in, "network.failed", "a netlink socket: %m");
	enter_send(in, "route", 0, fd);
}

static int
enter_path(const char *path, uint64_t flags)
{
	struct open_how	how = {
		.flags = O_PATH | O_CLOEXEC | flags,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
	};

	return ((int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)));
}

static void
enter_folder(struct init *in, const char *kind, uint64_t n, const char *path)
{
	int	fd;

	fd = enter_path(path, O_DIRECTORY);
	/* Searching it is enough to open it so; a project is read. */
	if (fd != -1 && (strcmp(kind, "project") != 0 ||
	    faccessat(fd, ".", R_OK | X_OK, AT_EACCESS) == 0)) {
		enter_send(in, kind, n, fd);
		return;
	}
	if (errno == ELOOP)
		init_refuse(in, "path.symlink", "%s folder %s: a part of it "
		    "is a symbolic link; name the folder it leads to", kind,
		    path);
	init_refuse(in, "path.unreadable", "%s folder %s: the session's user "
	    "(uid %u) cannot open it: %m", kind, path, (unsigned int)geteuid());
}

/*
 * With a full id map every permission would be passed over by whoever has
 * DAC capabilities in effect, so nothing is: the opens are the user's own.
 */
void
enter_open(struct init *in)
{
	const struct strv	*ro = &in->set->ro;
	size_t			 i;
	int			 fd;

	enter_netlink(in);
	if (caps_set(0, CAP_BIT(CAP_SYS_ADMIN), 0) == -1)
		init_refuse(in, "init.failed", "init was started without "
		    "SYS_ADMIN in its namespace: %m");
	/* What is missing, or not the user's to see, is no reason to refuse;
	 * mountd notes it. The roots go last: nothing follows them. */
	for (i = 0; i < ro->n; i++)
		if ((fd = enter_path(ro->v[i], 0)) != -1)
			enter_send(in, "ro", i, fd);
	enter_folder(in, "home", 0, in->set->home);
	enter_folder(in, "project", 0, in->set->project);
	for (i = 0; i < in->set->more.n; i++)
		enter_folder(in, "project", i + 1, in->set->more.v[i]);
}

/*
 * On "/" itself, which needs no folder; the old root is then below the new
 * one's, and goes with everything in it.
 */
void
enter_tree(struct init *in)
{
	const struct m_SFD	*m;
	struct msg		 msg;

	init_expect(in, MSG_SFD, &msg);
	m = msg.body;
	if (strcmp(m->kind, "tree") != 0)
		init_refuse(in, "init.protocol", "a descriptor of kind \"%s\" "
		    "where the tree was due", m->kind);
	if (caps_set(CAP_BIT(CAP_SYS_ADMIN), CAP_BIT(CAP_SYS_ADMIN), 0) == -1)
		init_refuse(in, "init.failed", "capset: %m");
	if (syscall(SYS_move_mount, msg.fd, "", AT_FDCWD, "/",
	    MOVE_MOUNT_F_EMPTY_PATH) == -1)
		init_refuse(in, "tree.failed", "attaching the tree, "
		    "move_mount(2): %m%s", init_filtered());
	if (fchdir(msg.fd) == -1 || syscall(SYS_pivot_root, ".", ".") == -1 ||
	    umount2(".", MNT_DETACH) == -1 || chdir("/") == -1)
		init_refuse(in, "tree.failed", "entering the tree, "
		    "pivot_root(2): %m%s", init_filtered());
	msg_free(&msg);
}

void
enter_confine(struct init *in)
{
	if (caps_set(0, 0, 0) == -1 || !caps_none(true))
		init_refuse(in, "init.failed", "capabilities are left: %m");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		init_refuse(in, "init.failed", "no_new_privs: %m");
	enter_writes(in);
	pledge(PLEDGE_INIT);
}
