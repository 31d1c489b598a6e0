/*
 * Landings that were begun and neither finished nor taken back: their journal
 * is there still. Until one is recovered no other job of its session begins.
 */
#include <sys/stat.h>
#include <fcntl.h>
#include <string.h>

#include "../common/log.h"
#include "sbxd.h"

bool
job_interrupted(const struct session *s)
{
	struct stat	st;

	return (fstatat(s->dir, "journal", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_size > 0);
}

/* The failed landing's job makes way for one that recovers it; if nothing of
 * it arrived, the client hears the first failure. */
void
job_recover_failed(struct job *failed, const char *code, const char *why)
{
	struct session	*s = failed->session;
	struct client	*c = failed->client;
	uint32_t	 reqid = failed->reqid;
	struct owed	 owed = failed->owed;
	struct job	*j;

	strlcpy(owed.code, code, sizeof(owed.code));
	strlcpy(owed.error, why, sizeof(owed.error));
	job_finish(failed);
	j = job_new(s, J_RECOVER, c, reqid);
	j->owed = owed;
	job_start(j);
}

void
job_recover(struct session *s, struct client *c, uint32_t reqid)
{
	struct job	*j;

	log_info("session %s: a landing was interrupted: recovering",
	    s->rec.r.session);
	j = job_new(s, J_RECOVER, c, reqid);
	j->asked = c != NULL;
	strlcpy(j->owed.actor, s->rec.r.owner, sizeof(j->owed.actor));
	job_start(j);
}

/* Landings that an earlier run of the suite did not end. */
void
jobs_recover(void)
{
	struct session	*s;

	TAILQ_FOREACH(s, &sbxd.sessions, entry)
		if (job_interrupted(s))
			job_recover(s, NULL, 0);
}
