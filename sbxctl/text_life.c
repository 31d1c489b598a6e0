/*
 * For people: what sessions take on the disk, what went of it, and what one
 * sees at a path.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sbxctl.h"

/* Bytes for people: "0 B", "4.0 KiB", "1.5 GiB". */
const char *
text_size(uint64_t bytes, char *buf, size_t size)
{
	static const char	units[] = "KMGTPE";
	double			v = (double)bytes;
	size_t			i;

	if (bytes < 1024)
		snprintf(buf, size, "%" PRIu64 " B", bytes);
	else {
		for (i = 0, v /= 1024; v >= 1023.95; i++)
			v /= 1024;
		snprintf(buf, size, "%.1f %ciB", v, units[i]);
	}
	return (buf);
}

static void
text_usage_parts(const struct usage *u)
{
	const struct usage_part	*p;
	char			 size[32], *path;
	size_t			 i;

	for (i = 0; i < u->n; i++) {
		p = &u->v[i];
		path = visible_name(p->path != NULL ? p->path :
		    strcmp(p->kind, "stage") == 0 ? "(its last review)" :
		    "(the rest)");
		if (strcmp(p->kind, "none") != 0)
			printf("%12s  %10" PRIu64 "  %s\n", text_size(p->bytes,
			    size, sizeof(size)), p->inodes, path);
		free(path);
	}
}

void
text_usages(const struct usages *all)
{
	char	size[32];
	size_t	i;

	if (all->n == 0)
		return;
	printf("%12s  %10s  %s\n", "ON DISK", "INODES", all->one ?
	    "LAYER OF" : "SESSION");
	for (i = 0; i < all->n; i++)
		if (all->one)
			text_usage_parts(&all->v[i]);
		else
			printf("%12s  %10" PRIu64 "  %s\n", text_size(
			    all->v[i].bytes, size, sizeof(size)),
			    all->v[i].inodes, all->v[i].session);
	printf("%12s  %10" PRIu64 "  all\n", text_size(all->bytes, size,
	    sizeof(size)), all->inodes);
}

static const struct {
	const char	*state, *text;
} text_states[] = {
	{ "shown", "shown: the real one; writes land in the layer" },
	{ "layer", "shown: the session's own, from its layer" },
	{ "read-only", "shown, read-only: the real one; writes fail" },
	{ "hidden", "hidden: nothing of it is shown" },
	{ "own", "the session's own, not the machine's" },
	{ "device", "shown: the machine's device itself" },
	{ "covered", "not shown: an empty stand-in" },
	{ "missing", "not there" },
	{ "denied", "cannot be opened" },
};

void
text_explained(const struct m_EXPLAINED *m, const char *sid)
{
	const char	*text = m->state;
	size_t		 i;

	for (i = 0; i < sizeof(text_states) / sizeof(text_states[0]); i++)
		if (strcmp(text_states[i].state, m->state) == 0)
			text = text_states[i].text;
	text_line("path", m->path);
	if (strcmp(m->path, m->target) != 0)
		text_line("leads to", m->target);
	text_line("session", sid);
	text_line("is", text);
	text_line("rule", m->rule);
	text_line("of", m->of);
	text_line("by", m->mechanism);
}

static void
text_gone(const struct gone *g, bool dry)
{
	char	size[32], *what = visible(g->what), *kind = visible(g->kind);
	char	*why = visible(g->why != NULL ? g->why : "");

	if (g->gone)
		printf("%s %s: %s: %s, %" PRIu64 " inode%s\n", kind, what, dry ?
		    "would be removed" : "removed", text_size(g->bytes, size,
		    sizeof(size)), g->inodes, g->inodes == 1 ? "" : "s");
	else
		printf("%s %s: kept: %s\n", kind, what, why);
	free(why);
	free(kind);
	free(what);
}

void
text_collected(const struct collection *all)
{
	char	size[32];
	size_t	i, n = 0;

	for (i = 0; i < all->n; i++) {
		text_gone(&all->v[i], all->dry);
		n += all->v[i].gone;
	}
	printf("%zu removed%s, %s and %" PRIu64 " inode%s on the disk\n", n,
	    all->dry ? " if it were not a dry run" : "", text_size(all->bytes,
	    size, sizeof(size)), all->inodes, all->inodes == 1 ? "" : "s");
}
