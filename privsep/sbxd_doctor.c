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

#define DOCTORS_A_UID	8	/* at once; root has no such bound */

/* Who hears the helpers' lines, of this probe or of the next. */
struct asked {
	TAILQ_ENTRY(asked) entry;
	struct client	*client;
	uint32_t	 id;
};
TAILQ_HEAD(askers, asked);
static struct askers	hearing = TAILQ_HEAD_INITIALIZER(hearing);
static struct askers	waiting = TAILQ_HEAD_INITIALIZER(waiting);
static bool		doctor_owed[H_COUNT];	/* by a probe under way */

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

/*
 * A probe makes mountd fork and mount: there is one at a time, for all who
 * have asked until it begins, and none for those that have left. One helper
 * after the other, so that all are told the same in the same order.
 */
static void
doctor_next(void)
{
	if (TAILQ_EMPTY(&waiting) || doctor_owed[H_MOUNTD] ||
	    doctor_owed[H_NETD])
		return;
	TAILQ_CONCAT(&hearing, &waiting, entry);
	doctor_owed[H_MOUNTD] = doctor_owed[H_NETD] = true;
	peer_send(sbxd.helper[H_NETD], MSG_PROBE, 0, -1, NULL);
}

static size_t
doctor_count(const struct askers *askers, uid_t uid)
{
	const struct asked	*a;
	size_t			 n = 0;

	TAILQ_FOREACH(a, askers, entry)
		n += a->client->uid == uid;
	return (n);
}

static void
doctor_free(struct askers *askers, struct asked *a)
{
	TAILQ_REMOVE(askers, a, entry);
	free(a);
}

void
client_on_doctor(struct peer *p, struct msg *msg)
{
	struct client	*c = p->ctx;
	struct asked	*a;

	if (c->uid != 0 && doctor_count(&hearing, c->uid) +
	    doctor_count(&waiting, c->uid) >= DOCTORS_A_UID) {
		peer_error(p, msg->id, "limit.requests", "too many of these "
		    "at once: try again");
		return;
	}
	if (client_waits(c, msg->id))
		return;
	if ((a = calloc(1, sizeof(*a))) == NULL) {
		peer_error(p, msg->id, "memory", "out of memory");
		return;
	}
	a->client = c;
	a->id = msg->id;
	TAILQ_INSERT_TAIL(&waiting, a, entry);
	doctor_own(c, msg->id);
	doctor_next();
}

void
doctor_on_text(enum helper h, struct msg *msg)
{
	struct asked	*a;

	if (!doctor_owed[h])
		return;
	TAILQ_FOREACH(a, &hearing, entry)
		peer_send(a->client->peer, MSG_TEXT, a->id, -1, msg->body);
}

void
doctor_on_end(enum helper h)
{
	struct asked	*a;

	if (!doctor_owed[h])
		return;
	doctor_owed[h] = false;
	if (h == H_NETD)
		peer_send(sbxd.helper[H_MOUNTD], MSG_PROBE, 0, -1, NULL);
	if (doctor_owed[H_MOUNTD] || doctor_owed[H_NETD])
		return;
	while ((a = TAILQ_FIRST(&hearing)) != NULL) {
		a->client->waits--;
		peer_send(a->client->peer, MSG_END, a->id, -1, NULL);
		doctor_free(&hearing, a);
	}
	doctor_next();
}

static void
doctor_forget(struct askers *askers, const struct client *c)
{
	struct asked	*a, *next;

	TAILQ_FOREACH_SAFE(a, askers, entry, next)
		if (a->client == c)
			doctor_free(askers, a);
}

void
doctor_client_gone(struct client *c)
{
	doctor_forget(&hearing, c);
	doctor_forget(&waiting, c);
}
