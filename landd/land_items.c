#include <string.h>

#include "land.h"

static const char *const	kinds[] = {
	[CHANGE_ADDED] = "added", [CHANGE_MODIFIED] = "modified",
	[CHANGE_DELETED] = "deleted", [CHANGE_MODE] = "mode",
	[CHANGE_TYPE] = "type", [CHANGE_RENAMED] = "renamed"
};

static void
item_change(struct land *l, const struct change *c)
{
	struct m_CHANGE	m = {
		.path = c->path, .from = c->from, .kind = kinds[c->kind],
		.oldmode = c->pre.mode, .newmode = c->post.mode,
		.oldsize = c->pre.size, .newsize = c->post.size,
		.insertions = c->insertions, .deletions = c->deletions,
		.binary = c->binary, .opaque = c->opaque, .drift = c->drift
	};

	land_send(l, MSG_CHANGE, -1, &m);
}

void
land_items(struct land *l, const struct changeset *set)
{
	const struct change	*c;
	const struct skipped	*s;
	const struct ignored	*i;
	struct m_LANDING	 sum = {
		.digest = { set->digest, DIGEST_LEN },
		.target = l->work->project, .insertions = set->insertions,
		.deletions = set->deletions, .drifted = set->drifted,
		.bytes = set->patchsize, .incomplete = set->incomplete
	};

	TAILQ_FOREACH(c, &set->changes, entry) {
		item_change(l, c);
		sum.files++;
	}
	TAILQ_FOREACH(s, &set->skipped, entry) {
		struct m_SKIPPED m = {
			.path = s->path, .reason = s->reason,
			.class = s->class
		};

		land_send(l, MSG_SKIPPED, -1, &m);
		sum.skipped++;
	}
	TAILQ_FOREACH(i, &set->ignored, entry) {
		struct m_IGNORED m = {
			.path = i->path, .files = i->files, .bytes = i->bytes
		};

		land_send(l, MSG_IGNORED, -1, &m);
		sum.ignored += i->files;
	}
	land_send(l, MSG_LANDING, -1, &sum);
}
