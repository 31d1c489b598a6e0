/*
 * sbx-worker: see worker.h. Descriptor 3 is spawn, which sends the socket to
 * sbxd once there is a session; 4 is init.
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "../common/slice.h"
#include "../privsep/caps.h"
#include "../privsep/drop.h"
#include "../privsep/mode.h"
#include "../privsep/pledge.h"
#include "../privsep/proc.h"
#include "../privsep/unveil.h"
#include "worker.h"

#define INIT_FD		(PROC_FD + 1)

/* Descriptors: the kept ones, those on their way, clients, and a terminal or
 * three pipes a command. */
#define WORKER_NOFILE	512
/* Queues of 1 MiB, and a SETUP of 4 three times over while it is relayed. */
#define WORKER_AS	((size_t)128 << 20)

/* spawn has changed the uid, and emptied every set, before the exec. */
static void
worker_confine(void)
{
	if (prctl(PR_SET_DUMPABLE, 0) == -1)
		fatal("PR_SET_DUMPABLE");
	drop_limits(WORKER_NOFILE, WORKER_AS);
	slice_short();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		fatal("PR_SET_NO_NEW_PRIVS");
	/* In a user's own suite all is of one uid, and sets were never full. */
	if (!caps_none(!mode_user_by(PROC_FD)))
		fatalx("started with a capability: spawn has to drop them");
	unveil_end(unveil_begin());
	pledge(PLEDGE_WORKER);
}

/* A session is there. Who made the socket pair is the one uid that may connect
 * to us later. */
static int
worker_broker(struct worker *w)
{
	struct imsgbuf	 ib;
	struct msg	 msg;
	struct ucred	 cred;
	socklen_t	 len = sizeof(cred);
	const char	*why = NULL;
	int		 fd, r;

	if (imsg_init(&ib, PROC_FD, ROLE_WORKER, ROLE_SPAWN) == -1)
		fatal("the socket to spawn");
	if ((r = imsg_recv(&ib, &msg, -1, &why)) == 0)
		exit(0);	/* there will be none */
	if (r == -1 || msg.type != MSG_CHANNEL)
		fatalx("waiting for CHANNEL from spawn: %s", r == 1 ?
		    proto_name(msg.type) : why != NULL ? why :
		    strerror(errno));
	fd = msg_take_fd(&msg);
	msg_free(&msg);
	imsg_clear(&ib);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1)
		fatal("SO_PEERCRED of sbxd");
	w->broker = cred.uid;
	return (fd);
}

static struct event_base *
worker_base(void)
{
	struct event_config	*cfg;
	struct event_base	*base;

	if ((cfg = event_config_new()) == NULL ||
	    event_config_set_flag(cfg, EVENT_BASE_FLAG_IGNORE_ENV) == -1 ||
	    (base = event_base_new_with_config(cfg)) == NULL)
		fatalx("no event loop");
	event_config_free(cfg);
	return (base);
}

int
main(void)
{
	static struct worker	w;
	struct m_HELLO		hello;

	proc_begin("worker", INIT_FD + 1);
	prctl(PR_SET_NAME, "sbx-spare");
	TAILQ_INIT(&w.kept);
	TAILQ_INIT(&w.tasks);
	w.base = worker_base();
	worker_confine();
	task_begin(&w, &w.own);
	end_begin(&w);
	w.init = peer_new(w.base, INIT_FD, ROLE_WORKER, ROLE_INIT, &inside_ops,
	    &w);
	if (w.init == NULL)
		fatal("the socket to init");
	/* What init waits for goes out at once. */
	proc_hello_fill(&hello, ROLE_WORKER);
	peer_send(w.init, MSG_HELLO, 0, -1, &hello);

	w.sbxd = peer_new(w.base, worker_broker(&w), ROLE_WORKER, ROLE_SBXD,
	    &broker_ops, &w);
	if (w.sbxd == NULL)
		fatal("the socket to sbxd");
	prctl(PR_SET_NAME, "sbx-worker");
	/* Its HELLO has been waiting for us, and more behind it. */
	peer_pause(w.sbxd);
	proc_hello(&w.sbxd->ib, ROLE_WORKER, ROLE_SBXD);
	peer_resume(w.sbxd);
	event_base_dispatch(w.base);
	fatalx("the event loop ended");
}
