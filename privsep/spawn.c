/*
 * spawn: namespaces, id maps, control groups, and the execution of init,
 * worker and land, of nothing else. Keeps what writing a full id map takes:
 * SETUID, SETGID, SETFCAP. It owns every session's user namespace, so it is
 * root in all but name, and reads nobody but the broker and landd. In a
 * user's own suite it has no capability and is as good as one: it owns S.
 */
#include <sys/mount.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/capability.h>

#include "../common/log.h"
#include "mode.h"
#include "outside.h"
#include "pledge.h"
#include "proc.h"
#include "spawn.h"

struct spawn	spawn = { .client = -1, .outer = -1 };

/* Every session of ours ends with us, and its control group. */
static void
lives_end(void)
{
	struct live	*l;

	spare_end();
	TAILQ_FOREACH(l, &spawn.lives, entry)
		cgroup_kill(l);
	TAILQ_FOREACH(l, &spawn.lives, entry) {
		if (l->init != 0)
			waitpid(l->init, NULL, 0);
		cgroup_remove_now(l);
	}
}

static void
spawn_gone(struct peer *p, const char *why)
{
	lives_end();
	if (why != NULL)
		fatalx("%s: %s", role_name(p->ib.other), why);
	exit(0);
}

static const struct handler sbxd_table[] = {
	{ MSG_PEER, PERMIT_ALWAYS, spawn_on_peer },
	{ MSG_START, PERMIT_ALWAYS, spawn_on_start },
	{ MSG_KILL, PERMIT_ALWAYS, spawn_on_kill },
	{ MSG_FREEZE, PERMIT_ALWAYS, spawn_on_freeze },
	{ MSG_THAW, PERMIT_ALWAYS, spawn_on_thaw },
	{ MSG_SWEEP, PERMIT_ALWAYS, spawn_on_sweep },
};
static const struct peer_ops sbxd_ops = {
	.table = sbxd_table,
	.n = sizeof(sbxd_table) / sizeof(sbxd_table[0]),
	.gone = spawn_gone
};

static const struct handler landd_table[] = {
	{ MSG_CHILD, PERMIT_ALWAYS, spawn_on_child },
};
static const struct peer_ops landd_ops = {
	.table = landd_table,
	.n = sizeof(landd_table) / sizeof(landd_table[0]),
	.gone = spawn_gone
};

static void
spawn_on_sigchld(evutil_socket_t sig, short what, void *arg)
{
	struct live	*l, *next;
	pid_t		 pid;
	int		 status;

	(void)sig;
	(void)what;
	(void)arg;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (land_gone(pid, status) || spare_gone(pid))
			continue;
		TAILQ_FOREACH_SAFE(l, &spawn.lives, entry, next) {
			if (l->init == pid)
				live_init_gone(l, status);
			else if (l->worker == pid)
				live_worker_gone(l);
			else
				continue;
			break;
		}
	}
}

static int
program_open(const char *libexec, const char *name)
{
	char	path[LIMIT_PATH + 1];
	int	fd;

	if (snprintf(path, sizeof(path), "%s/%s", libexec, name) >=
	    (int)sizeof(path))
		fatalx("%s/%s: path too long", libexec, name);
	if ((fd = open(path, O_PATH | O_CLOEXEC)) == -1)
		fatal("%s", path);
	return (fd);
}

/*
 * A container's /proc/sys is often read-only, and a session's limit on user
 * namespaces is set in there. Not of it alone: the folder "user" is another
 * one for each user namespace.
 */
static int
spawn_proc(void)
{
	int	fs, mnt = -1;

	if ((fs = fsopen("proc", FSOPEN_CLOEXEC)) != -1 &&
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		mnt = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID |
		    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (fs != -1)
		close(fs);
	/* Where none may be made, what there is may do. */
	if (mnt == -1 && (mnt = open("/proc", O_PATH | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		fatal("/proc");
	return (mnt);
}

/* While still root: everything that is opened by path, ever. */
static void
spawn_suite(struct imsgbuf *ib, struct drop *drop, int *channel, bool *bare)
{
	const struct m_SUITE	*suite;
	struct msg		 msg;

	proc_expect(ib, MSG_SUITE, &msg);
	suite = msg.body;
	proc_suite_ids(suite, UID_SPAWN, drop);
	proc_suite_ids(suite, UID_WORKER, &spawn.as_worker);
	spawn.exe_init = program_open(suite->libexec, "init");
	spawn.exe_worker = program_open(suite->libexec, "worker");
	spawn.exe_land = program_open(suite->libexec, "land");
	spawn.proc = spawn_proc();
	spawn.cgroup = -1;
	spawn.spares = suite->spares;
	*bare = suite->bare;
	if (suite->cgroup != NULL && (spawn.cgroup = open(suite->cgroup,
	    O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
		fatal("%s", suite->cgroup);
	msg_free(&msg);
	if (mode_user()) {
		proc_expect(ib, MSG_OUTER, &msg);
		spawn.outer = msg_take_fd(&msg);
		msg_free(&msg);
	}
	proc_expect(ib, MSG_CHANNEL, &msg);
	*channel = msg_take_fd(&msg);
	msg_free(&msg);
}

static void
spawn_signals(void)
{
	static struct event	*ev;

	ev = evsignal_new(spawn.base, SIGCHLD, spawn_on_sigchld, NULL);
	if (ev == NULL || event_add(ev, NULL) == -1)
		fatalx("cannot watch SIGCHLD");
}

int
main(void)
{
	struct drop	drop = {
		.keep = CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID) |
		    CAP_BIT(CAP_SETFCAP)
	};
	int		channel;
	bool		bare;

	proc_begin("spawn", 4);
	mode_begin();
	if (mode_user())
		drop.keep = 0;	/* it is owner of S: that is enough */
	TAILQ_INIT(&spawn.lives);
	if ((spawn.base = event_base_new()) == NULL)
		fatalx("event_base_new");
	spawn.sbxd = peer_new(spawn.base, PROC_FD, ROLE_SPAWN, ROLE_SBXD,
	    &sbxd_ops, NULL);
	if (spawn.sbxd == NULL)
		fatal("peer");
	peer_pause(spawn.sbxd);
	proc_hello(&spawn.sbxd->ib, ROLE_SPAWN, ROLE_SBXD);
	spawn_suite(&spawn.sbxd->ib, &drop, &channel, &bare);
	spawn.landd = peer_new(spawn.base, channel, ROLE_SPAWN, ROLE_LANDD,
	    &landd_ops, NULL);
	if (spawn.landd == NULL)
		fatal("peer");
	spawn_signals();
	(void)outside_begin(bare);
	/* No rlimit is lowered: a session's command would inherit it. The one
	 * of descriptors, five a session, is put back at each exec. */
	proc_descriptors(0);
	drop_to(&drop);
	pledge(PLEDGE_SPAWN);
	peer_send(spawn.sbxd, MSG_READY, 0, -1, NULL);
	peer_resume(spawn.sbxd);
	spare_begin(spawn.base);
	event_base_dispatch(spawn.base);
	fatalx("the event loop ended");
}
