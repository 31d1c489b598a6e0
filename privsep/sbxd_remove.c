/*
 * The end of a session for good: what it left in the project, its layer, its
 * record, in this order, and what a crash leaves of that.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "sbxd.h"

/* What a root that is not the first has of its own: few sessions have any. */
static void
folder_strip(int dir)
{
	static const char *const	files[] = {
		"seal", "baseline", "baseline.new", "journal", "unclean"
	};
	char				name[64];
	size_t				i, root;

	for (root = 1; root < LIMIT_ROOTS; root++)
		for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
			unlinkat(dir, root_file(files[i], root).s, 0);
			snprintf(name, sizeof(name), "%s.new",
			    root_file(files[i], root).s);
			unlinkat(dir, name, 0);
		}
}

/* The folder and all that a record's owner put into it. */
static void
folder_remove(const char *id, bool roots)
{
	/* The record last: what is left by a crash is a session still, or,
	 * marked, on its way out. */
	static const char *const	files[] = {
		"record.new", "seal", "seal.new", "baseline", "baseline.new",
		"journal", "unclean", "unclean.new", "record", "removed"
	};
	size_t				i;
	int				dir;

	dir = openat(sbxd.dir, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (dir != -1) {
		if (roots)
			folder_strip(dir);
		for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
			unlinkat(dir, files[i], 0);
		close(dir);
	}
	if (unlinkat(sbxd.dir, id, AT_REMOVEDIR) == -1 && errno != ENOENT)
		log_warn("removing the record of session %s", id);
}

/* What it left in its roots, the layer, the record; OK is answered when all
 * of it is gone. A session that never landed does not wait for the first. */
void
session_erase(struct session *s, struct client *c, uint32_t id)
{
	s->erase = true;
	s->remover = c;
	s->remover_id = id;
	job_forget(s);
}

/* From here on it is gone, whatever happens: session_unborn goes on with it
 * at the next start. */
static void
session_mark(struct session *s)
{
	if (renameat(s->dir, "record", s->dir, "removed") == -1 &&
	    errno != ENOENT)
		log_warn("the record of session %s", s->rec.r.session);
}

void
session_erase_layer(struct session *s)
{
	struct m_SID	sid = { .session = s->rec.r.session };

	session_mark(s);
	peer_send(sbxd.helper[H_MOUNTD], MSG_ERASE, 0, -1, &sid);
}

/* What is left of it is there still: it can be removed again. */
void
session_erase_failed(struct session *s, const char *code, const char *why)
{
	struct m_ERROR	e = {
		.code = code, .message = why, .at = s->rec.r.session
	};
	struct gc	*gc = s->collector;

	log_warnx("session %s: %s", s->rec.r.session, why);
	if (s->remover != NULL)
		peer_send(s->remover->peer, MSG_ERROR, s->remover_id, -1, &e);
	s->remover = NULL;
	s->erase = s->forced = false;
	session_save(s);
	unlinkat(s->dir, "removed", 0);
	s->collector = NULL;
	if (gc != NULL)
		gc_on_removed(gc, why);
	idle_check();
}

/* ERASED has come: layer gone, now the record. */
void
session_remove(struct session *s)
{
	struct gc	*gc = s->collector;
	char		 id[LIMIT_SID + 1];
	bool		 roots = s->rec.r.more.n > 0;

	strlcpy(id, s->rec.r.session, sizeof(id));
	session_free(s);
	folder_remove(id, roots);
	if (gc != NULL)
		gc_on_removed(gc, NULL);
	idle_check();
}

/* Nothing is in it: who said so beforehand need not ask for its removal, nor
 * wait while the kernel ends its mounts. */
void
session_untouched(struct session *s)
{
	struct waiter	*w;

	s->pristine = true;
	/* What was landed while it ran is not removed in silence. */
	if (s->job != NULL || s->landed)
		return;
	TAILQ_FOREACH(w, &s->waiters, entry)
		if (w->remove)
			s->erase = true;
	if (!s->erase)
		return;
	session_mark(s);
	session_answer(s, true);
}

/*
 * Killed at its birth, before it had a record, or in the middle of its
 * removal. A folder with anything else in it is not such a one, and stays.
 */
bool
session_unborn(const char *id, int dir)
{
	struct m_SID	sid = { .session = id };
	struct stat	st;

	unlinkat(dir, "record.new", 0);
	if (fstatat(dir, "record", &st, AT_SYMLINK_NOFOLLOW) == -1 &&
	    fstatat(dir, "removed", &st, AT_SYMLINK_NOFOLLOW) == 0)
		folder_remove(id, true);
	else if (unlinkat(sbxd.dir, id, AT_REMOVEDIR) == -1)
		return (false);
	if (unlink(id) == -1 && errno != ENOENT)
		log_warn("the socket of session %s", id);
	peer_send(sbxd.helper[H_MOUNTD], MSG_ERASE, 0, -1, &sid);
	return (true);
}
