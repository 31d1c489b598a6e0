/*
 * The suite's control group, when the suite is over: mountd is the last that
 * may remove it, since sbxd and spawn have given up the right to and a group
 * with processes in it cannot be removed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/limits.h"
#include "../common/log.h"
#include "at.h"
#include "sweep.h"

#define SWEEP_TRIES	500	/* at 10 ms */

static int	sweep_parent = -1;
static char	sweep_name[256];

void
sweep_begin(const char *cgroup)
{
	char	path[LIMIT_PATH + 1], base[LIMIT_PATH + 1];

	strlcpy(path, cgroup, sizeof(path));
	strlcpy(base, cgroup, sizeof(base));
	if (strlcpy(sweep_name, basename(base), sizeof(sweep_name)) >=
	    sizeof(sweep_name))
		fatalx("%s: a name too long", cgroup);
	sweep_parent = open(dirname(path), O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC);
	if (sweep_parent == -1)
		fatal("%s", path);
}

/* spawn's own group, and those of sessions that it could not remove. */
static void
sweep_leaves(void)
{
	struct dirent	*de;
	DIR		*d;

	if ((d = at_opendir(sweep_parent, sweep_name)) == NULL)
		return;
	while ((de = readdir(d)) != NULL)
		if (de->d_type == DT_DIR && de->d_name[0] != '.')
			unlinkat(dirfd(d), de->d_name, AT_REMOVEDIR);
	closedir(d);
}

void
sweep_end(void)
{
	const struct timespec	pause = { 0, 10000000L };
	int			i;

	if (sweep_parent == -1)
		return;
	/* EBUSY: spawn or a session is dying in it still. */
	for (i = 0; i < SWEEP_TRIES; i++) {
		sweep_leaves();
		if (unlinkat(sweep_parent, sweep_name, AT_REMOVEDIR) == 0 ||
		    errno != EBUSY)
			return;
		nanosleep(&pause, NULL);
	}
	log_warnx("control group %s: processes that do not end hold it",
	    sweep_name);
}
