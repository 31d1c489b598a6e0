/*
 * Landings that were begun and neither finished nor taken back: their journal
 * is there still. Until one is recovered no other job of its session begins.
 */
#include <sys/stat.h>
#include <fcntl.h>
#include <string.h>

#include "../common/log.h"
#include "sbxd.h"

/* One job at a time a session: there is one at most. */
int
root_interrupted(const struct session *s)
{
	struct stat	st;
	size_t		i;

	for (i = 0; i <= s->rec.r.more.n; i++)
		if (fstatat(s->dir, root_file("journal", i).s, &st,
		    AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > 0)
			return ((int)i);
	return (-1);
}

bool
job_interrupted(const struct session *s)
{
	return (root_interrupted(s) != -1);
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
	size_t		 root = failed->root;
	struct job	*j;

	strlcpy(owed.code, code, sizeof(owed.code));
	strlcpy(owed.error, why, sizeof(owed.error));
	job_finish(failed);
	j = job_new(s, J_RECOVER, root, c, reqid);
	j->owed = owed;
	job_start(j);
}

void
job_recover(struct session *s, struct client *c, uint32_t reqid)
{
	int		 root = root_interrupted(s);
	struct job	*j;

	log_info("session %s: a landing was interrupted: recovering",
	    s->rec.r.session);
	j = job_new(s, J_RECOVER, (size_t)root, c, reqid);
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
		else
			clean_again(s);
}
