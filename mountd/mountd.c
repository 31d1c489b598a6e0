/*
 * mountd: the trees of sessions. It makes detached mounts and nothing else,
 * out of the host's folders that a session's init opened too, and of layers
 * below STATE/s. It executes nothing, opens no socket and reads no file of a
 * session's; each request is served by a child with ten seconds.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <linux/capability.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "../common/path.h"
#include "../privsep/drop.h"
#include "../privsep/mode.h"
#include "../privsep/pledge.h"
#include "../privsep/proc.h"
#include "fs.h"
#include "mountd.h"
#include "mounts.h"
#include "early.h"
#include "probe.h"
#include "session.h"
#include "spare.h"
#include "stage.h"
#include "sweep.h"

struct mountd mountd;

static void
mountd_gone(struct peer *p, const char *why)
{
	peer_free(p);
	spare_end();
	sweep_end();
	if (why != NULL)
		fatalx("from sbxd: %s", why);
	exit(0);
}

static struct peer_ops mountd_ops = {
	.gone = mountd_gone,
	.lost = session_lost,
};

/*
 * A slave of the host's: what is mounted there later is seen here, nothing
 * that is done here is seen there. A mount that is not shared has no slaves:
 * where there is one we stay with the host, whom nothing that we make is
 * attached to.
 */
static void
mountd_namespace(void)
{
	struct mount_attr	slave = { .propagation = MS_SLAVE };

	if ((mountd.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
		fatal("/");
	mountd.blind = !mnts_are_shared();
	if (!mode_user() && !stage_needed() && mountd.blind) {
		mountd.blind = false;
		return;
	}
	close(mountd.root);
	if (unshare(CLONE_NEWNS) == -1)
		fatal("a mount namespace of its own%s", mode_user() ? ", in "
		    "which a suite of one's own mounts (sysctl "
		    "kernel.apparmor_restrict_unprivileged_userns may "
		    "forbid it): have it allowed, or have root start sbxd" :
		    "");
	if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &slave,
	    sizeof(slave)) == -1 &&
	    mount("", "/", NULL, MS_REC | MS_SLAVE, NULL) == -1)
		fatal("mounts apart from the host's");
	if ((mountd.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
		fatal("/");
	/* Before, a user may not even try. */
	if (mode_user())
		(void)stage_needed();
}

/* The suite's uids, without one that would be no drop or no distinction. */
static void
mountd_uids(const struct m_SUITE *suite)
{
	struct drop	d;
	int		i, j;

	for (i = 0; i < UID_COUNT; i++) {
		proc_suite_ids(suite, (enum suite_uid)i, &d);
		mountd.uids[i] = mode_uid(d.uid);
		/* A user's own suite has no uid but that one's, 0 here. */
		for (j = 0; j < i && !mode_user(); j++)
			if (mountd.uids[i] == mountd.uids[j])
				fatalx("uid %u from sbxd is two roles'",
				    (unsigned int)d.uid);
		if (i == UID_MOUNTD)
			mountd.gid = mode_gid(d.gid);
	}
}

/* s/ is ours alone: a session's files lie in it as they are inside. */
static void
mountd_store(const struct m_SUITE *suite)
{
	uid_t		self = mountd.uids[UID_MOUNTD];
	struct stat	st;
	int		state;

	if (suite->cgroup != NULL)
		sweep_begin(suite->cgroup);
	if (!path_is_canonical(suite->state) || suite->state[1] == '\0')
		fatalx("state folder \"%s\": not an absolute path",
		    suite->state);
	strlcpy(mountd.state, suite->state, sizeof(mountd.state));
	if (suite->runtime != NULL) {
		if (!path_is_canonical(suite->runtime) ||
		    suite->runtime[1] == '\0')
			fatalx("socket folder \"%s\": not an absolute path",
			    suite->runtime);
		strlcpy(mountd.runtime, suite->runtime,
		    sizeof(mountd.runtime));
	}
	state = fs_openat2(mountd.root, suite->state + 1,
	    O_RDONLY | O_DIRECTORY, FS_PLAIN);
	if (state == -1)
		fatal("state folder %s", suite->state);
	if (fstat(state, &st) == -1 || st.st_uid != 0 ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		fatalx("state folder %s: others than root may write there",
		    suite->state);
	if (mkdirat(state, "s", 0700) == -1 && errno != EEXIST)
		fatal("%s/s", suite->state);
	mountd.store = openat(state, "s",
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (mountd.store == -1 || fstat(mountd.store, &st) == -1)
		fatal("%s/s", suite->state);
	if (st.st_uid != 0 && st.st_uid != self)
		fatalx("%s/s belongs to uid %u, not to mountd (%u)",
		    suite->state, (unsigned int)st.st_uid,
		    (unsigned int)self);
	/* Where that is not possible no layer is either: see probe_state. */
	if ((fchown(mountd.store, self, mountd.gid) == -1 ||
	    fchmod(mountd.store, 0700) == -1) && errno != EPERM)
		fatal("%s/s", suite->state);
	close(state);
}

/*
 * overlayfs copies up with its mounter's rights, whoever writes in the
 * session: with one of these fewer something fails inside, and without
 * DAC_READ_SEARCH inode numbers change at each start.
 */
/* What a newer kernel does without is not in the filter there. */
static enum pledge
mountd_pledge(void)
{
	if ((mountd.ways & WAY_INSIDE) != 0)
		return (mountd.stage != -1 ? PLEDGE_STAGED_INSIDE :
		    PLEDGE_INSIDE);
	return (mountd.stage != -1 ? PLEDGE_STAGED : PLEDGE_MOUNTD);
}

static void
mountd_confine(void)
{
	struct drop	d = {
		.uid = mountd.uids[UID_MOUNTD], .gid = mountd.gid,
		.keep = CAP_BIT(CAP_SYS_ADMIN) | CAP_BIT(CAP_CHOWN) |
		    CAP_BIT(CAP_DAC_OVERRIDE) | CAP_BIT(CAP_FOWNER) |
		    CAP_BIT(CAP_FSETID) | CAP_BIT(CAP_MKNOD) |
		    CAP_BIT(CAP_SETFCAP) | CAP_BIT(CAP_DAC_READ_SEARCH)
	};

	/* In S the same ones, over the user's own files only. */
	drop_to(&d);
	pledge(mountd_pledge());
}

int
main(void)
{
	struct event_base	*base;
	struct peer		*p;
	struct msg		 msg;

	proc_begin("mountd", PROC_FD + 1);
	mode_begin();
	drop_limits(65536, 0);
	umask(0);	/* modes are copied, and meant as they are */
	if ((base = event_base_new()) == NULL)
		fatalx("no event loop");
	mountd_ops.table = session_table;
	mountd_ops.n = session_ntable;
	p = peer_new(base, PROC_FD, ROLE_MOUNTD, ROLE_SBXD, &mountd_ops, NULL);
	if (p == NULL)
		fatal("fd %d", PROC_FD);
	peer_pause(p);
	proc_hello(&p->ib, ROLE_MOUNTD, ROLE_SBXD);
	proc_expect(&p->ib, MSG_SUITE, &msg);
	mode_enter(&p->ib);
	mountd_uids(msg.body);
	mountd_namespace();
	mountd_store(msg.body);
	mountd.spares = ((const struct m_SUITE *)msg.body)->spares;
	msg_free(&msg);
	stage_begin();
	session_begin(base, p);
	mountd_confine();
	early_sweep_all();
	if (mountd.unfit == NULL)
		mountd.unfit = probe_state();
	peer_send(p, MSG_READY, 0, -1, NULL);
	peer_resume(p);
	event_base_dispatch(base);
	fatalx("the event loop ended");
}
