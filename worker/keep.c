/*
 * Descriptors that outlive their senders here: with them sbxd is to find a
 * session again, and mountd its overlays, after a restart. Not yet used: the
 * worker ends with its suite.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "worker.h"

#define KEPT_MAX	64

bool
kept_kind(const char *kind)
{
	static const char *const	kinds[] = {
		"pidns", "userns", "mntns", "netns", "cgroupns", "pidfd",
		"workerfd",
		"clone-project", "clone-home", "clone-root"
	};
	size_t				i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return (true);
	return (false);
}

void
kept_add(struct worker *w, const char *kind, uint64_t n, int fd)
{
	struct kept	*k;
	int		 count = 0;

	TAILQ_FOREACH(k, &w->kept, entry) {
		if (strcmp(k->kind, kind) == 0 && k->n == n)
			fatalx("a second descriptor %s %llu from sbxd", kind,
			    (unsigned long long)n);
		count++;
	}
	if (count == KEPT_MAX)
		fatalx("more than %d descriptors from sbxd", KEPT_MAX);
	if ((k = calloc(1, sizeof(*k))) == NULL)
		fatal("keeping a descriptor");
	strlcpy(k->kind, kind, sizeof(k->kind));
	k->n = n;
	k->fd = fd;
	TAILQ_INSERT_TAIL(&w->kept, k, entry);
}

void
kept_give(struct worker *w, struct peer *p)
{
	struct m_SFD	 m = { .session = w->session };
	struct kept	*k;
	int		 fd;

	TAILQ_FOREACH(k, &w->kept, entry) {
		if ((fd = fcntl(k->fd, F_DUPFD_CLOEXEC, 3)) == -1)
			fatal("handing %s out", k->kind);
		m.kind = k->kind;
		m.n = k->n;
		peer_send(p, MSG_SFD, 0, fd, &m);
	}
}
