#include <stdlib.h>
#include <string.h>
#include <msgpack.h>

#include "../common/fields.h"
#include "../common/log.h"
#include "../common/path.h"
#include "landd.h"

/*
 * A seal is a line that says what it is, one map, and the MAC over both. It
 * lies in sbxd's state; that it verifies is all that is believed of it.
 */
#define SEAL_MAGIC	"sbx seal 1\n"
#define SEAL_MAGICLEN	(sizeof(SEAL_MAGIC) - 1)
#define WORDS_MAX	4096
#define SEALS_MAX	256
#define SEAL_WAIT	10		/* seconds for spawn's word */

#define FIELD(f, type, need, max)					\
	{ #f, FIELD_##type, need, offsetof(struct seal, f), max }
static const struct field seal_fields[] = {
	FIELD(session, STR, true, LIMIT_SID),
	FIELD(project, PATH, true, LIMIT_PATH),
	FIELD(root, U64, false, 0),
	FIELD(dev, U64, true, 0),
	FIELD(ino, U64, true, 0),
	FIELD(t0, U64, true, 0),
	FIELD(uid, U64, true, 0),
	FIELD(gid, U64, true, 0),
	FIELD(groups, U64V, false, LIMIT_GROUPS),
};
#define NFIELDS	(sizeof(seal_fields) / sizeof(seal_fields[0]))

/* spawn's word on a session that was started, until it is sealed. */
struct word {
	TAILQ_ENTRY(word) entry;
	struct msg	 msg;
};
static TAILQ_HEAD(, word)	words = TAILQ_HEAD_INITIALIZER(words);
static size_t			nwords;

/* sbxd's request, where the word is not here yet: it comes by another
 * socket. */
struct waiting {
	TAILQ_ENTRY(waiting) entry;
	struct msg	 msg;
	struct event	*timer;
};
static TAILQ_HEAD(, waiting)	waitings = TAILQ_HEAD_INITIALIZER(waitings);
static size_t			nwaitings;

static struct word *
word_find(const char *session)
{
	struct word	*w;

	TAILQ_FOREACH(w, &words, entry)
		if (strcmp(((const struct m_WORD *)w->msg.body)->session,
		    session) == 0)
			return (w);
	return (NULL);
}

static void
word_free(struct word *w)
{
	TAILQ_REMOVE(&words, w, entry);
	nwords--;
	msg_free(&w->msg);
	free(w);
}

static void
waiting_free(struct waiting *w)
{
	TAILQ_REMOVE(&waitings, w, entry);
	nwaitings--;
	event_free(w->timer);
	msg_free(&w->msg);
	free(w);
}

/* A handler's message outlives it: its memory is ours from here on. */
static void
msg_keep(struct msg *to, struct msg *from)
{
	*to = *from;
	memset(from, 0, sizeof(*from));
	from->fd = -1;
}

/* False: an ERROR was answered. */
static bool
seal_root(uint32_t id, const struct m_SEAL *m, const struct m_WORD *word,
    size_t root)
{
	struct seal	 s = {
		.session = m->session, .project = m->roots.v[root],
		.root = root, .dev = m->devs.v[root],
		.ino = m->inos.v[root], .t0 = m->t0, .uid = word->uid,
		.gid = word->gid, .groups = word->groups
	};
	struct m_SEALED	 out = { .session = m->session, .root = root };
	uint8_t		*map, buf[LIMIT_SEAL];
	size_t		 len;

	if (fields_encode(seal_fields, NFIELDS, &s, &map, &len) == -1)
		fatal("sealing session %s", m->session);
	if (len > sizeof(buf) - SEAL_MAGICLEN - DIGEST_LEN) {
		/* A thousand groups and a path of 4,095 bytes. */
		free(map);
		peer_error_at(landd.sbxd, id, m->session, "land.toolarge",
		    "the project's path and the user's groups are too long "
		    "for a seal");
		return (false);
	}
	memcpy(buf, SEAL_MAGIC, SEAL_MAGICLEN);
	memcpy(buf + SEAL_MAGICLEN, map, len);
	free(map);
	len += SEAL_MAGICLEN;
	hmac(landd.key, sizeof(landd.key), buf, len, buf + len);
	out.seal.p = buf;
	out.seal.len = len + DIGEST_LEN;
	peer_send(landd.sbxd, MSG_SEALED, id, -1, &out);
	return (true);
}

static void
seal_answer(uint32_t id, const struct m_SEAL *m, const struct m_WORD *word)
{
	size_t	i;

	for (i = 0; i < m->roots.n; i++)
		if (!seal_root(id, m, word, i))
			return;
}

int
seal_open(const struct blob *b, const char *session, struct seal *s,
    struct msgpack_zone *zone, const char **why)
{
	uint8_t	mac[DIGEST_LEN];
	size_t	len;

	if (b->len < SEAL_MAGICLEN + DIGEST_LEN ||
	    memcmp(b->p, SEAL_MAGIC, SEAL_MAGICLEN) != 0) {
		*why = "is none of this version";
		return (-1);
	}
	len = b->len - DIGEST_LEN;
	hmac(landd.key, sizeof(landd.key), b->p, len, mac);
	if (digest_cmp(mac, b->p + len) != 0) {
		*why = "does not verify";
		return (-1);
	}
	memset(s, 0, sizeof(*s));
	if (fields_decode(seal_fields, NFIELDS, b->p + SEAL_MAGICLEN,
	    len - SEAL_MAGICLEN, true, s, zone, why) == -1)
		return (-1);
	if (strcmp(s->session, session) != 0) {
		*why = "is another session's";
		return (-1);
	}
	return (0);
}

void
landd_on_word(struct peer *p, struct msg *msg)
{
	const struct m_WORD	*m = msg->body;
	struct word		*w;
	struct waiting		*wait, *next;

	(void)p;
	if (m->uid >= UINT32_MAX || m->gid >= UINT32_MAX)
		fatalx("spawn's word on %s: uid %llu, gid %llu", m->session,
		    (unsigned long long)m->uid, (unsigned long long)m->gid);
	if ((w = word_find(m->session)) != NULL)
		word_free(w);
	if (nwords == WORDS_MAX)
		word_free(TAILQ_FIRST(&words));
	if ((w = calloc(1, sizeof(*w))) == NULL)
		fatal("a word");
	msg_keep(&w->msg, msg);
	TAILQ_INSERT_TAIL(&words, w, entry);
	nwords++;
	m = w->msg.body;
	TAILQ_FOREACH_SAFE(wait, &waitings, entry, next) {
		const struct m_SEAL *seal = wait->msg.body;

		if (strcmp(seal->session, m->session) != 0)
			continue;
		seal_answer(wait->msg.id, seal, m);
		waiting_free(wait);
		word_free(w);
		return;
	}
}

static void
seal_unanswered(evutil_socket_t fd, short what, void *arg)
{
	struct waiting		*w = arg;
	const struct m_SEAL	*m = w->msg.body;

	(void)fd;
	(void)what;
	peer_error_at(landd.sbxd, w->msg.id, m->session, "land.unsealed",
	    "spawn said nothing about session %s", m->session);
	waiting_free(w);
}

static void
seal_wait(struct msg *msg)
{
	static const struct timeval	tv = { .tv_sec = SEAL_WAIT };
	struct waiting			*w;

	if (nwaitings == SEALS_MAX)
		seal_unanswered(-1, 0, TAILQ_FIRST(&waitings));
	if ((w = calloc(1, sizeof(*w))) == NULL ||
	    (w->timer = evtimer_new(landd.base, seal_unanswered, w)) == NULL ||
	    evtimer_add(w->timer, &tv) == -1)
		fatal("a seal");
	msg_keep(&w->msg, msg);
	TAILQ_INSERT_TAIL(&waitings, w, entry);
	nwaitings++;
}

/* One word, one SEAL, of all roots: nothing is sealed for a session that was
 * not started in between. */
void
landd_on_seal(struct peer *p, struct msg *msg)
{
	const struct m_SEAL	*m = msg->body;
	struct word		*w;
	size_t			 i;

	(void)p;
	if (m->roots.n == 0 || m->devs.n != m->roots.n ||
	    m->inos.n != m->roots.n)
		fatalx("from sbxd: SEAL of %zu roots, %zu devices and %zu "
		    "inodes", m->roots.n, m->devs.n, m->inos.n);
	for (i = 0; i < m->roots.n; i++)
		if (!path_is_canonical(m->roots.v[i]) ||
		    strlen(m->roots.v[i]) > LIMIT_PATH)
			fatalx("from sbxd: SEAL of the root \"%s\", which is "
			    "no absolute and clean path", m->roots.v[i]);
	if ((w = word_find(m->session)) == NULL) {
		seal_wait(msg);
		return;
	}
	seal_answer(msg->id, m, w->msg.body);
	word_free(w);
}
