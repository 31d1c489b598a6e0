#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/path.h"
#include "fault.h"
#include "mountd.h"
#include "mounts.h"
#include "plan.h"
#include "stage.h"

static bool
option_is(const char *options, const char *want)
{
	size_t	len = strlen(want);

	return (strncmp(options, want, len) == 0 &&
	    (options[len] == ',' || options[len] == '\0'));
}

/* 36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/x rw,errors=c */
static int
line_parse(char *line, struct mnt *m)
{
	char	*field[6], *super, *type, *p = line;
	size_t	 i;

	memset(m, 0, sizeof(*m));
	/* A private mount has no field between the sixth and the hyphen. */
	if ((super = strstr(line, " - ")) == NULL)
		return (-1);
	*super = '\0';
	super += 3;
	for (i = 0; i < 6; i++)
		if ((field[i] = strsep(&p, " ")) == NULL)
			return (-1);
	type = strsep(&super, " ");
	if (super == NULL || strsep(&super, " ") == NULL || super == NULL)
		return (-1);
	m->id = strtoull(field[0], NULL, 10);
	m->parent = strtoull(field[1], NULL, 10);
	m->major = (unsigned int)strtoul(field[2], &p, 10);
	if (*p != ':')
		return (-1);
	m->minor = (unsigned int)strtoul(p + 1, NULL, 10);
	/* A mutable option comes first in either list. */
	m->ro = option_is(field[5], "ro") || option_is(super, "ro");
	path_octal_undo(field[3]);
	path_octal_undo(field[4]);
	path_octal_undo(type);
	if ((m->root = strdup(field[3])) == NULL ||
	    (m->point = strdup(field[4])) == NULL ||
	    (m->type = strdup(type)) == NULL)
		return (-1);
	return (0);
}

static char *
mountinfo_read(void)
{
	char	*buf = NULL, *more;
	size_t	 len = 0, size = 0;
	ssize_t	 n;
	int	 fd;

	if ((fd = openat(AT_FDCWD, "/proc/self/mountinfo",
	    O_RDONLY | O_CLOEXEC)) == -1)
		return (NULL);
	do {
		if (size - len < 4096) {
			size += 32768;
			if ((more = realloc(buf, size)) == NULL)
				goto fail;
			buf = more;
		}
		if ((n = read(fd, buf + len, size - len - 1)) == -1)
			goto fail;
		len += (size_t)n;
	} while (n > 0);
	buf[len] = '\0';
	close(fd);
	return (buf);
fail:
	free(buf);
	close(fd);
	return (NULL);
}

bool
mnts_are_shared(void)
{
	char	*buf, *p, *line, *end;
	bool	 all = true;

	if ((buf = p = mountinfo_read()) == NULL)
		return (false);
	/* The optional fields end at a lone "-"; no blank is in any field. */
	while (all && (line = strsep(&p, "\n")) != NULL && *line != '\0') {
		if ((end = strstr(line, " - ")) != NULL)
			*end = '\0';
		all = strstr(line, " shared:") != NULL;
	}
	free(buf);
	return (all);
}

/* Whether a walk to the mount's point ends in the mount itself. */
static bool
mnt_shows(const struct mnt *m)
{
	struct statx	sx;

	return (statx(mountd.root, m->point[1] == '\0' ? "." : m->point + 1,
	    AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
	    STATX_MNT_ID, &sx) == 0 && (sx.stx_mask & STATX_MNT_ID) != 0 &&
	    sx.stx_mnt_id == m->id);
}

/* What lies in a filesystem whose server may be dead cannot even be looked
 * for. (A parent that is not listed is outside of our root.) */
static bool
mnt_is_asked(const struct mnts *ms, uint64_t id)
{
	size_t	i;

	for (i = 0; i < ms->n; i++)
		if (ms->v[i].id == id)
			return (kind_is_asked(&ms->v[i]));
	return (true);
}

static void
mnt_free(struct mnt *m)
{
	free(m->root);
	free(m->point);
	free(m->type);
}

int
mnts_read(struct mnts *ms)
{
	char		*buf, *p, *line;
	struct mnt	*v;
	bool		 whole;

	memset(ms, 0, sizeof(*ms));
	if ((buf = p = mountinfo_read()) == NULL)
		return (fault_errno("mount.failed", "/proc/self/mountinfo"));
	while ((line = strsep(&p, "\n")) != NULL && *line != '\0') {
		if ((v = reallocarray(ms->v, ms->n + 1, sizeof(*v))) == NULL)
			break;
		ms->v = v;
		v += ms->n++;
		if (line_parse(line, v) == -1)
			break;
		/* What is on its way into a session is none of the host's. */
		if (stage_is(v->point)) {
			mnt_free(v);
			ms->n--;
			continue;
		}
		v->covered = !mnt_is_asked(ms, v->parent) || !mnt_shows(v);
	}
	whole = line == NULL || *line == '\0';
	free(buf);
	if (whole)
		return (0);
	mnts_free(ms);
	return (fault("mount.failed", "/proc/self/mountinfo has a line that "
	    "cannot be read"));
}

void
mnts_free(struct mnts *ms)
{
	size_t	i;

	for (i = 0; i < ms->n; i++)
		mnt_free(&ms->v[i]);
	free(ms->v);
	memset(ms, 0, sizeof(*ms));
}

const struct mnt *
mnts_of(const struct mnts *ms, const char *path)
{
	const struct mnt	*best = NULL;
	size_t			 i;

	for (i = 0; i < ms->n; i++)
		if (!ms->v[i].covered && path_within(ms->v[i].point, path) &&
		    (best == NULL || strlen(ms->v[i].point) >=
		    strlen(best->point)))
			best = &ms->v[i];
	return (best);
}
