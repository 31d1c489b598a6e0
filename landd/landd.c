/*
 * landd: orders landings, and opens no repository. It seals what a session
 * is, so that nobody can order a landing somewhere else or as somebody else;
 * it keeps the journals and baselines so that nobody can forge one; and it
 * relays between the broker and a landing's child, whom it does not believe.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "../privsep/drop.h"
#include "../privsep/mode.h"
#include "../privsep/pledge.h"
#include "../privsep/proc.h"
#include "../privsep/unveil.h"
#include "landd.h"

#define LANDD_NOFILE	4096	/* ten a job */

struct landd	landd;

static void
landd_on_probe(struct peer *p, struct msg *msg)
{
	struct m_TEXT	t = { .level = "ok", .what = "landing" };

	t.text = "what sessions are, journals and baselines are sealed with "
	    "a key that only landd holds";
	peer_send(p, MSG_TEXT, msg->id, -1, &t);
	peer_send(p, MSG_END, msg->id, -1, NULL);
}

static void
landd_gone(struct peer *p, const char *why)
{
	if (why != NULL)
		fatalx("from %s: %s", role_name(p->ib.other), why);
	exit(0);
}

static void
landd_drained(struct peer *p)
{
	(void)p;
	jobs_drained();
}

static const struct handler sbxd_table[] = {
	{ MSG_SEAL,	PERMIT_ALWAYS,	landd_on_seal },
	{ MSG_JOB,	PERMIT_ALWAYS,	landd_on_job },
	{ MSG_JOBEND,	PERMIT_ALWAYS,	landd_on_jobend },
	{ MSG_LFD,	PERMIT_ALWAYS,	landd_on_lfd },
	{ MSG_PROBE,	PERMIT_ALWAYS,	landd_on_probe },
};
static const struct peer_ops sbxd_ops = {
	.table = sbxd_table,
	.n = sizeof(sbxd_table) / sizeof(sbxd_table[0]),
	.gone = landd_gone,
	.drained = landd_drained,
};

static const struct handler spawn_table[] = {
	{ MSG_WORD,	PERMIT_ALWAYS,	landd_on_word },
	{ MSG_CHILDEND,	PERMIT_ALWAYS,	landd_on_childend },
	{ MSG_ERROR,	PERMIT_ALWAYS,	landd_on_child_error },
};
static const struct peer_ops spawn_ops = {
	.table = spawn_table,
	.n = sizeof(spawn_table) / sizeof(spawn_table[0]),
	.gone = landd_gone,
};

/* While still root: the key, and our end of the channel to spawn. */
static int
landd_suite(struct imsgbuf *ib, struct drop *drop, int *channel)
{
	const struct m_SUITE	*suite;
	struct msg		 msg;
	int			 made;

	proc_expect(ib, MSG_SUITE, &msg);
	suite = msg.body;
	proc_suite_ids(suite, UID_LANDD, drop);
	made = key_load(suite->state, drop->uid, drop->gid, landd.key);
	msg_free(&msg);
	proc_expect(ib, MSG_CHANNEL, &msg);
	*channel = msg_take_fd(&msg);
	msg_free(&msg);
	return (made);
}

int
main(void)
{
	struct drop	drop = { .keep = 0 };
	int		channel, made;

	proc_begin("landd", PROC_FD + 1);
	mode_begin();
	drop_limits(LANDD_NOFILE, 1 << 30);
	if ((landd.base = event_base_new()) == NULL)
		fatalx("no event loop");
	landd.sbxd = peer_new(landd.base, PROC_FD, ROLE_LANDD, ROLE_SBXD,
	    &sbxd_ops, NULL);
	if (landd.sbxd == NULL)
		fatal("fd %d", PROC_FD);
	/* Until the loop runs messages are taken one by one. */
	peer_pause(landd.sbxd);
	proc_hello(&landd.sbxd->ib, ROLE_LANDD, ROLE_SBXD);
	made = landd_suite(&landd.sbxd->ib, &drop, &channel);
	landd.spawn = peer_new(landd.base, channel, ROLE_LANDD, ROLE_SPAWN,
	    &spawn_ops, NULL);
	if (landd.spawn == NULL)
		fatal("the channel to spawn");
	if (chdir("/") == -1)
		fatal("/");
	drop_to(&drop);
	/* No file at all: what it writes to is handed in. */
	unveil_end(unveil_begin());
	pledge(PLEDGE_LANDD);
	/* The others go on meanwhile. */
	peer_send(landd.sbxd, MSG_READY, 0, -1, NULL);
	key_settle(made);
	peer_resume(landd.sbxd);
	event_base_dispatch(landd.base);
	fatalx("the event loop ended");
}
