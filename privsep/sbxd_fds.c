/*
 * Descriptors, of which each session and each connection takes some. No more
 * are begun near the end of what we may have, so that what there is can go on;
 * where one that comes with a message finds no room all the same, that costs
 * the start or the job that it is for.
 */
#include <sys/resource.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../common/log.h"
#include "sbxd.h"

void
fds_count(void)
{
	struct rlimit	rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		fatal("getrlimit RLIMIT_NOFILE");
	sbxd.nfds = rl.rlim_cur > INT_MAX ? INT_MAX : (int)rl.rlim_cur;
}

/* The kernel gives the lowest number that is free: above this nothing is that
 * stays. */
bool
fds_left(int fd, uid_t uid)
{
	return (fd < sbxd.nfds - (uid == 0 ? FDS_KEPT / 2 : FDS_KEPT));
}

const char *
fds_why(const char *what)
{
	static char	text[512];
	int		e = errno;

	if (e == EMFILE)
		snprintf(text, sizeof(text), "%s: %s: the suite's hard limit "
		    "is %d (RLIMIT_NOFILE): end or remove some sessions, or "
		    "start sbxd with a higher one", what, strerror(e),
		    sbxd.nfds);
	else
		snprintf(text, sizeof(text), "%s: %s", what, strerror(e));
	return (text);
}

static const char *
fds_none(void)
{
	errno = EMFILE;
	return (fds_why("what a message brought along"));
}

void
fds_session_lost(struct session *s)
{
	if (s != NULL && s->state == S_STARTING)
		session_fail(s, "limit.descriptors", fds_none());
}

void
fds_helper_lost(struct peer *p, struct msg *msg)
{
	const struct m_SFD	*sfd = msg->body;
	struct job		*j;

	(void)p;
	if (msg->type == MSG_SFD)
		fds_session_lost(session_find(sfd->session));
	else if ((j = job_find(msg->id)) != NULL)
		job_fail(j, "limit.descriptors", fds_none());
}
