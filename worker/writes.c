/*
 * Where a session may write: in what the suite has mounted for it. In root's
 * suite that is all there is. A user's own tree stands on a read-only clone of
 * the machine's mounts (mountd/rest.h), where no file can be written, but a
 * FIFO could be: whoever reads it is outside. Landlock shuts those.
 */
#include <sys/stat.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/path.h"
#include "../privsep/mode.h"
#include "../privsep/proc.h"
#include "../privsep/unveil.h"
#include "init.h"

struct mounted {
	unsigned long long	 id;
	char			*point;
	bool			 own;	/* the suite's: its source says so */
};

/* 36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/x rw,errors=c */
static bool
mounted_parse(char *line, struct mounted *m)
{
	char	*p = line, *rest, *word = NULL;
	int	 i;

	if ((rest = strstr(line, " - ")) == NULL)
		return (false);
	*rest = '\0';
	rest += 3;
	m->id = strtoull(line, NULL, 10);
	for (i = 0; i < 5; i++)
		word = strsep(&p, " ");
	if (word == NULL)
		return (false);
	m->point = word;
	path_octal_undo(m->point);
	(void)strsep(&rest, " ");	/* the type */
	word = strsep(&rest, " ");
	m->own = word != NULL && strcmp(word, "sbx") == 0;
	return (true);
}

/* The folder at its point is that mount's, and none that lies on it. */
static int
mounted_open(const struct mounted *m)
{
	struct statx	sx;
	int		fd;

	fd = open(m->point, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	if (statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &sx) == 0 &&
	    (sx.stx_mask & STATX_MNT_ID) != 0 && sx.stx_mnt_id == m->id)
		return (fd);
	close(fd);
	return (-1);
}

static void
writes_allow(const struct mounted *m, struct unveil *u)
{
	int	fd;

	if (!m->own || (fd = mounted_open(m)) == -1)
		return;
	unveil_fd(u, fd, UNVEIL_WRITE);
	close(fd);
}

static void
writes_allow_own(struct init *in, struct unveil *u)
{
	struct mounted	 m;
	size_t		 size = 0;
	char		*line = NULL;
	FILE		*f;

	if ((f = fopen("/proc/self/mountinfo", "re")) == NULL)
		init_refuse(in, "init.failed", "/proc/self/mountinfo: %m");
	while (getline(&line, &size, f) != -1)
		if (mounted_parse(line, &m))
			writes_allow(&m, u);
	if (ferror(f))
		init_refuse(in, "init.failed", "/proc/self/mountinfo: %m");
	free(line);
	fclose(f);
}

void
enter_writes(struct init *in)
{
	struct unveil	*u;
	bool		 cloned = mode_user_by(PROC_FD);

	u = unveil_session(cloned);
	if (cloned) {
		unveil_path(u, "/", UNVEIL_REFER);
		writes_allow_own(in, u);
	}
	unveil_end(u);
}
