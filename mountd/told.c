/*
 * What PREP said of a session, and what later requests need of it.
 */
#include <sys/stat.h>
#include <stdlib.h>
#include <string.h>

#include "../common/roots.h"
#include "../privsep/mode.h"
#include "fault.h"
#include "mountd.h"
#include "session.h"

void
session_forget(struct session *s)
{
	size_t	i;

	for (i = 0; i < s->nhide; i++)
		free(s->hide[i]);
	free(s->hide);
	s->hide = NULL;
	s->nhide = 0;
	free(s->groups);
	s->groups = NULL;
	for (i = 0; i < s->nroots; i++)
		free(s->root[i]);
	s->nroots = 0;
}

/* Too many are for the child to refuse. */
static int
session_roots(struct session *s, const struct m_PREP *m)
{
	struct roots	roots;
	size_t		i;

	(void)roots_set(&roots, m->project, &m->more);
	for (i = 0; i < roots.n; i++, s->nroots++)
		if ((s->root[i] = strdup(roots.v[i])) == NULL)
			return (-1);
	return (0);
}

static int
session_user(struct session *s, const struct m_PREP *m)
{
	size_t	n = m->groups.n;

	if ((s->groups = calloc(n + 1, sizeof(*s->groups))) == NULL)
		return (-1);
	if (n > 0)
		memcpy(s->groups, m->groups.v, n * sizeof(*s->groups));
	s->user = (struct user){
		mode_uid(m->uid), mode_gid(m->gid), { n, s->groups }
	};
	s->byroot = m->byroot;
	return (0);
}

int
session_remember(struct session *s, const struct m_PREP *m)
{
	size_t	i;

	session_forget(s);
	if (session_user(s, m) == -1)
		return (-1);
	s->hide = calloc(m->hide.n + 1, sizeof(*s->hide));
	if (s->hide == NULL)
		return (-1);
	for (i = 0; i < m->hide.n; i++, s->nhide++)
		if ((s->hide[i] = strdup(m->hide.v[i])) == NULL)
			return (-1);
	return (session_roots(s, m));
}

int
child_root(const struct child *c, const char *project, int fd)
{
	const struct session	*s = c->s;
	struct stat		 st;
	size_t			 i;

	for (i = 0; i < s->nroots; i++)
		if (strcmp(s->root[i], project) == 0)
			break;
	if (i < s->nroots && fstat(fd, &st) == 0 && st.st_dev == s->dev[i] &&
	    st.st_ino == s->ino[i])
		return ((int)i);
	return (fault("mount.identity", "project %s is not the folder that "
	    "the session was started on", shown(project)));
}

const char	no_room[] = "mountd has no room for another descriptor "
    "(RLIMIT_NOFILE): end some sessions, or start sbxd with a higher hard "
    "limit";

/* The broker ends the start, or the review, that it is about; what was to be
 * made beforehand is not. */
void
session_lost(struct peer *p, struct msg *msg)
{
	const struct m_SFD	*sfd = msg->body;
	const struct m_VIEW	*view = msg->body;

	if (msg->type == MSG_SFD)
		peer_error_at(p, 0, sfd->session, "limit.descriptors", "%s",
		    no_room);
	else if (msg->type == MSG_VIEW)
		peer_error_at(p, msg->id, view->session, "limit.descriptors",
		    "%s", no_room);
}
