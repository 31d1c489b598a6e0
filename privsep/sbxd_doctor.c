/*
 * DOCTOR: what works on this machine and what does not. mountd and netd try
 * their mechanisms; what sbxd knows itself it adds.
 */
#include <stdlib.h>
#include <string.h>

#include "../common/log.h"
#include "mode.h"
#include "outside.h"
#include "sbxd.h"

/* Who waits for the helpers' lines. */
struct asked {
	TAILQ_ENTRY(asked) entry;
	struct client	*client;
	uint32_t	 id;
};
static TAILQ_HEAD(, asked)	asking = TAILQ_HEAD_INITIALIZER(asking);
static bool			doctor_owed[H_COUNT];	/* to the first */

static void
doctor_line(struct client *c, uint32_t id, const char *level,
    const char *what, const char *text)
{
	struct m_TEXT	m = { .level = level, .what = what, .text = text };

	peer_send(c->peer, MSG_TEXT, id, -1, &m);
}

static void
doctor_mode(struct client *c, uint32_t id)
{
	if (mode_user())
		doctor_line(c, id, "ok", "mode", "an ordinary user's own "
		    "suite: one uid for all of it, renaming a real folder is "
		    "EXDEV, files of others are read-only");
	else
		doctor_line(c, id, "ok", "mode", "root's: a uid for each "
		    "role");
}

/* What a version of it brought, and what holds without. */
static const struct {
	int		 abi;
	const char	*without;
} landlock[] = {
	{ 6, "abstract sockets of the host can be reached, but with "
	    "--no-network (before Linux 6.12)" },
	{ 3, "a review's program that has fallen could empty files of its "
	    "project (before Linux 6.2)" },
	{ 2, "FIFOs can be written to where no overlay lies (before Linux "
	    "5.19)" },
};

static void
doctor_landlock(struct client *c, uint32_t id)
{
	char	text[512] = "";
	size_t	i;

	if (sbxd.landlock == 0)
		strlcpy(text, "not in this kernel: less confines the suite",
		    sizeof(text));
	for (i = 0; i < sizeof(landlock) / sizeof(landlock[0]); i++) {
		if (sbxd.landlock >= landlock[i].abi)
			continue;
		if (text[0] != '\0')
			strlcat(text, "; ", sizeof(text));
		strlcat(text, landlock[i].without, sizeof(text));
	}
	if (text[0] == '\0')
		doctor_line(c, id, "ok", "landlock", "with scopes: abstract "
		    "sockets of the host are out of reach");
	else
		doctor_line(c, id, "warn", "landlock", text);
}

static void
doctor_clients(struct client *c, uint32_t id)
{
	if (outside_told())
		doctor_line(c, id, "ok", "clients", "who connects from inside "
		    "of a session or a container is known, and refused, but "
		    "for root");
	else
		doctor_line(c, id, "warn", "clients", "this kernel does not "
		    "tell who connects from inside of a session or a "
		    "container (before Linux 6.5): that the socket is not "
		    "shown there is all that keeps them away");
}

static void
doctor_own(struct client *c, uint32_t id)
{
	doctor_line(c, id, "ok", "state", sbxd.conf.state);
	if (sbxd.cgroup[0] != '\0')
		doctor_line(c, id, "ok", "cgroup", "v2: sessions are frozen "
		    "for reviews and killed whole; no bound of memory, "
		    "processes or CPU is set");
	else
		doctor_line(c, id, "warn", "cgroup", mode_user() ?
		    "none is this user's: sessions are stopped for reviews by "
		    "a signal, which one that means to undoes, and killed by "
		    "their first process's end" : "no cgroup v2 is mounted: "
		    "sessions are stopped for reviews by a signal, which one "
		    "that means to undoes; mount it by: mount -t cgroup2 none "
		    "/sys/fs/cgroup/unified");
	doctor_mode(c, id);
	doctor_landlock(c, id);
	doctor_clients(c, id);
}

/* One asker after the other, as a probe makes mountd fork and mount; and one
 * helper, so that all are told the same in the same order. */
static void
doctor_next(void)
{
	if (TAILQ_EMPTY(&asking))
		return;
	doctor_owed[H_MOUNTD] = doctor_owed[H_NETD] = true;
	peer_send(sbxd.helper[H_NETD], MSG_PROBE, 0, -1, NULL);
}

void
client_on_doctor(struct peer *p, struct msg *msg)
{
	struct asked	*a;
	bool		 first = TAILQ_EMPTY(&asking);

	if (client_waits(p->ctx, msg->id))
		return;
	if ((a = calloc(1, sizeof(*a))) == NULL) {
		peer_error(p, msg->id, "memory", "out of memory");
		return;
	}
	a->client = p->ctx;
	a->id = msg->id;
	TAILQ_INSERT_TAIL(&asking, a, entry);
	doctor_own(p->ctx, msg->id);
	if (first)
		doctor_next();
}

void
doctor_on_text(enum helper h, struct msg *msg)
{
	struct asked	*a = TAILQ_FIRST(&asking);

	if (a != NULL && a->client != NULL && doctor_owed[h])
		peer_send(a->client->peer, MSG_TEXT, a->id, -1, msg->body);
}

void
doctor_on_end(enum helper h)
{
	struct asked	*a = TAILQ_FIRST(&asking);

	if (!doctor_owed[h])
		return;
	doctor_owed[h] = false;
	if (h == H_NETD)
		peer_send(sbxd.helper[H_MOUNTD], MSG_PROBE, 0, -1, NULL);
	if (a == NULL || doctor_owed[H_MOUNTD] || doctor_owed[H_NETD])
		return;
	if (a->client != NULL) {
		a->client->waits--;
		peer_send(a->client->peer, MSG_END, a->id, -1, NULL);
	}
	TAILQ_REMOVE(&asking, a, entry);
	free(a);
	doctor_next();
}

void
doctor_client_gone(struct client *c)
{
	struct asked	*a;

	TAILQ_FOREACH(a, &asking, entry)
		if (a->client == c)
			a->client = NULL;
}
