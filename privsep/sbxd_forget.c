/*
 * A session's removal, as far as its landings left something in the project:
 * landd's child takes that away before the layer and the record go, for
 * nobody would know of it afterwards.
 */
#include <stdio.h>
#include <string.h>

#include "../common/escape.h"
#include "../common/log.h"
#include "sbxd.h"

/* Its client is the session's remover, whose going does not end it. */
void
job_forget(struct session *s)
{
	struct job	*j = job_new(s, J_FORGET, NULL, 0);

	if (s->remover != NULL) {
		j->owed.uid = s->remover->uid;
		snprintf(j->owed.actor, sizeof(j->owed.actor), "uid:%u",
		    (unsigned int)j->owed.uid);
	} else
		strlcpy(j->owed.actor, s->rec.r.owner, sizeof(j->owed.actor));
	job_start(j);
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
forget_tell(struct session *s, const char *why)
{
	const struct m_RECORD	*r = &s->rec.r;
	char			 text[LIMIT_MESSAGE + 1];
	struct m_TEXT		 m = {
		.level = "warn", .what = "landing folder", .text = text
	};

	snprintf(text, sizeof(text), "session %s is removed, but what its "
	    "landings displaced stays in %.1024s (in .git/sbx-land-%s, or "
	    "without git in .sbx-land-%s): %.2048s", r->session, r->project,
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
	bool		 goes;

	goes = code == NULL || s->forced || forget_is_hopeless(code);
	audit("forget", s, j->owed.uid, NULL,
	    "result=%s actor=%s", code != NULL ? code : "ok", j->owed.actor);
	job_finish(j);
	if (!goes) {
		session_erase_failed(s, code, why);
		return;
	}
	if (code != NULL)
		forget_tell(s, why);
	session_erase_layer(s);
}
