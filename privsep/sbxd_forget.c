/*
 * A session's removal, as far as its landings left something in its roots:
 * landd's child takes that away before the layer and the record go, for
 * nobody would know of it afterwards.
 */
#include <sys/stat.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "../common/escape.h"
#include "../common/log.h"
#include "sbxd.h"

/* A landing or a discard of it has ended, or was begun. */
static bool
root_has_landed(const struct session *s, size_t root)
{
	struct stat	st;

	return (fstatat(s->dir, root_file("baseline", root).s, &st,
	    AT_SYMLINK_NOFOLLOW) == 0 ||
	    fstatat(s->dir, root_file("journal", root).s, &st,
	    AT_SYMLINK_NOFOLLOW) == 0);
}

/* Its client is the session's remover, whose going does not end it. */
static void
forget_root(struct session *s, size_t root)
{
	struct job	*j = job_new(s, J_FORGET, root, NULL, 0);

	if (s->remover != NULL) {
		j->owed.uid = s->remover->uid;
		snprintf(j->owed.actor, sizeof(j->owed.actor), "uid:%u",
		    (unsigned int)j->owed.uid);
	} else
		strlcpy(j->owed.actor, s->rec.r.owner, sizeof(j->owed.actor));
	job_start(j);
}

static void
forget_from(struct session *s, size_t root)
{
	for (; root <= s->rec.r.more.n; root++)
		if (s->rec.r.more.n == 0 || root_has_landed(s, root)) {
			forget_root(s, root);
			return;
		}
	session_erase_layer(s);
}

void
job_forget(struct session *s)
{
	if (s->landed || s->unrecovered)
		forget_from(s, 0);
	else
		session_erase_layer(s);
}

/*
 * What will not be otherwise another time: the project is another folder or
 * gone, in the landing folder lies what landd did not put there, or the state
 * does not say any more what is whose. A lock, a full disk or a child that
 * was killed are none of these: then all of the session stays.
 */
static bool
forget_is_hopeless(const char *code)
{
	static const char *const	codes[] = {
		"land.left", "land.moved", "land.seal", "land.state",
		"land.unsealed"
	};
	size_t				i;

	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (strcmp(code, codes[i]) == 0)
			return (true);
	return (false);
}

/* The last word on it: the record goes now. */
static void
forget_tell(struct session *s, const char *project, const char *why)
{
	const struct m_RECORD	*r = &s->rec.r;
	char			 text[LIMIT_MESSAGE + 1];
	struct m_TEXT		 m = {
		.level = "warn", .what = "landing folder", .text = text
	};

	snprintf(text, sizeof(text), "session %s is removed, but what its "
	    "landings displaced stays in %.1024s (in .git/sbx-land-%s, or "
	    "without git in .sbx-land-%s): %.2048s", r->session, project,
	    r->session, r->session, why);
	escape_fit(text, sizeof(text));
	log_warnx("%s", text);
	if (s->remover != NULL)
		peer_send(s->remover->peer, MSG_TEXT, s->remover_id, -1, &m);
}

void
job_forgot(struct job *j, const char *code, const char *why)
{
	struct session	*s = j->session;
	const char	*project = job_project(j);
	size_t		 next = j->root + 1;
	bool		 goes;

	goes = code == NULL || s->forced || forget_is_hopeless(code);
	audit("forget", s, job_named(j), j->owed.uid, NULL,
	    "result=%s actor=%s", code != NULL ? code : "ok",
	    audit_word(j->owed.actor).s);
	job_finish(j);
	if (!goes) {
		session_erase_failed(s, code, why);
		return;
	}
	if (code != NULL)
		forget_tell(s, project, why);
	forget_from(s, next);
}
