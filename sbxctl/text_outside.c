/*
 * For people: what a session changed outside of its roots.
 */
#include <sys/stat.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sbxctl.h"

static void
found_detail(const struct m_FOUND *f)
{
	bool	was = S_ISDIR((mode_t)f->oldmode);
	bool	is = S_ISDIR((mode_t)f->newmode);
	char	size[32];

	if (was != is)
		printf("  %" PRIu64 " file%s, %s", f->files, f->files == 1 ?
		    "" : "s", text_size(f->bytes, size, sizeof(size)));
	else if (!is && f->oldmode != 0 && f->newmode != 0)
		printf("  %" PRIu64 " to %" PRIu64 " bytes", f->oldsize,
		    f->newsize);
	else if (!is)
		printf("  %" PRIu64 " bytes", f->newmode != 0 ? f->newsize :
		    f->oldsize);
	if (f->oldmode != 0 && f->newmode != 0 && f->oldmode != f->newmode)
		printf("  mode %06" PRIo64 " to %06" PRIo64, f->oldmode,
		    f->newmode);
}

static void
text_found(const struct m_FOUND *f)
{
	char	*path = visible_name(f->path);

	printf("  %c  %s%s", text_letter(f->kind), path,
	    S_ISDIR((mode_t)(f->newmode != 0 ? f->newmode : f->oldmode)) ?
	    "/" : "");
	found_detail(f);
	putchar('\n');
	free(path);
}

/* What of a layer is not in the list. */
static void
text_counted(const struct m_COUNTED *m)
{
	char	*path = visible_name(m->path);

	if (m->missing)
		printf("%s: not there now: what was changed in it cannot be "
		    "told\n", path);
	if (m->listed < m->found)
		printf("%s: %" PRIu64 " more, which are only counted: at most "
		    "%d of a filesystem are listed\n", path,
		    m->found - m->listed, LIMIT_LISTED);
	if (m->cut)
		printf("%s: INCOMPLETE: there is more than %d names to look "
		    "at\n", path, LIMIT_LOOKED);
	if (m->unreadable != 0)
		printf("%s: %" PRIu64 " folder%s not looked into: closed to "
		    "the session's user, or their paths are too long\n",
		    path, m->unreadable, m->unreadable == 1 ? "" : "s");
	free(path);
}

void
text_outside(const struct outside *out)
{
	uint64_t	found = 0, files = 0, bytes = 0;
	char		size[32];
	size_t		i;

	text_line("session", out->session);
	for (i = 0; i < out->nfound; i++)
		text_found(&out->found[i]);
	for (i = 0; i < out->nlayers; i++) {
		text_counted(&out->layers[i]);
		found += out->layers[i].found;
		files += out->layers[i].files;
		bytes += out->layers[i].bytes;
	}
	printf("%" PRIu64 " change%s outside of what lands, %" PRIu64
	    " file%s, %s: none of it lands\n", found, found == 1 ? "" : "s",
	    files, files == 1 ? "" : "s", text_size(bytes, size,
	    sizeof(size)));
}
