/*
 * landd's side of spawn: a landing's child runs as the session's user, on
 * landd's word alone, given on a channel that the broker has no end of.
 */
#include <sys/wait.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/ids.h"
#include "../common/log.h"
#include "proc.h"
#include "spawn.h"

struct landing {
	TAILQ_ENTRY(landing) entry;
	pid_t		 pid;
	uint32_t	 job;
};
static TAILQ_HEAD(, landing)	landings = TAILQ_HEAD_INITIALIZER(landings);

void
spawn_word(const char *id, const struct drop *user)
{
	static uint64_t	groups[LIMIT_GROUPS];
	struct m_WORD	word = {
		.session = id, .uid = user->uid, .gid = user->gid,
		.groups = { user->ngroups, groups }
	};
	size_t		i;

	for (i = 0; i < user->ngroups; i++)
		groups[i] = user->groups[i];
	peer_send(spawn.landd, MSG_WORD, 0, -1, &word);
}

static int
land_setup(void *arg)
{
	drop_to(arg);
	return (0);
}

static pid_t
land_start(const struct m_CHILD *child, int fd)
{
	static gid_t		groups[LIMIT_GROUPS];
	struct drop		user = {
		.uid = (uid_t)child->uid, .gid = (gid_t)child->gid,
		.groups = groups, .ngroups = child->groups.n
	};
	struct proc_start	ps = {
		.exe = spawn.exe_land, .argv0 = "sbx-land", .fds = &fd,
		.nfds = 1, .setup = land_setup, .arg = &user
	};
	size_t			i;

	for (i = 0; i < child->groups.n; i++) {
		if (child->groups.v[i] >= UINT32_MAX)
			fatalx("landd asks for group %llu",
			    (unsigned long long)child->groups.v[i]);
		groups[i] = (gid_t)child->groups.v[i];
	}
	return (proc_spawn(&ps));
}

void
spawn_on_child(struct peer *p, struct msg *msg)
{
	const struct m_CHILD	*child = msg->body;
	struct landing		*ld;
	int			 fd = msg_take_fd(msg);

	if (child->uid >= UINT32_MAX || child->gid >= UINT32_MAX ||
	    child->uid == UID_NOROLE)
		fatalx("landd asks for uid %llu, gid %llu",
		    (unsigned long long)child->uid,
		    (unsigned long long)child->gid);
	if ((ld = calloc(1, sizeof(*ld))) == NULL)
		fatal("landing");
	ld->job = msg->id;
	ld->pid = land_start(child, fd);
	if (ld->pid == -1) {
		peer_error_at(p, msg->id, child->session, "land.failed",
		    "starting the landing's child: %s", strerror(errno));
		free(ld);
	} else
		TAILQ_INSERT_TAIL(&landings, ld, entry);
	close(fd);
}

bool
land_gone(pid_t pid, int status)
{
	struct landing	*ld;
	struct m_STATUS	 end = { .status = (uint64_t)(unsigned int)status };

	TAILQ_FOREACH(ld, &landings, entry)
		if (ld->pid == pid)
			break;
	if (ld == NULL)
		return (false);
	peer_send(spawn.landd, MSG_CHILDEND, ld->job, -1, &end);
	TAILQ_REMOVE(&landings, ld, entry);
	free(ld);
	return (true);
}
