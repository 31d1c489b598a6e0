#include <sys/stat.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "at.h"
#include "attr.h"
#include "early.h"
#include "fault.h"
#include "fs.h"
#include "mountd.h"
#include "rm.h"
#include "stage.h"

/* Its layer's folder, until it has a session: no session has such an id. */
static void
early_name(pid_t pid, char *name, size_t size)
{
	snprintf(name, size, ".%d", (int)pid);
}

static int
early_mount(struct early *e, const char *name)
{
	struct layer	l;
	int		r = -1;

	if (layer_make(mountd.store, name, "/", mountd.root, &l) == -1)
		fault_errno("mount.layer", "a layer made beforehand");
	else if ((e->mnt = overlay_make(&e->b, "/", mountd.root, &l, -1)) !=
	    -1)
		r = 0;
	layer_close(&l);
	return (r);
}

int
early_make(struct early *e)
{
	char	name[16];

	memset(e, 0, sizeof(*e));
	e->mnt = -1;
	early_name(getpid(), name, sizeof(name));
	/* First, so that nothing changes unseen. */
	e->watch = openat(AT_FDCWD, "/proc/self/mountinfo",
	    O_RDONLY | O_CLOEXEC);
	if (e->watch == -1)
		return (fault_errno("mount.failed", "/proc/self/mountinfo"));
	if (build_begin(&e->b, &(const struct strv){ 0, NULL },
	    NULL) == 0 &&
	    early_mount(e, name) == 0)
		return (0);
	early_drop(e);
	return (-1);
}

/* The folder of the mask, or the layer's own, is as the real one is now: whom
 * that lets in, it lets in. (Its times are those of when it was made.) */
static bool
early_like(int copy, const char *path)
{
	int	real;
	bool	same;

	/* Where the mask ends another filesystem begins, or there is nothing:
	 * only a mount could change that. */
	if (copy == -1)
		return (errno == ENOENT);
	real = fs_openat2(mountd.root, path, O_PATH | O_DIRECTORY, FS_PLAIN);
	same = real != -1 && attr_same(real, copy);
	if (real != -1)
		close(real);
	close(copy);
	return (same);
}

/* Each folder above a hidden path. */
static bool
early_mask_fits(const struct early *e)
{
	const struct hides	*hs = &e->b.hides;
	char			 path[PATH_MAX + 2], *p;
	size_t			 i;

	for (i = 0; i < hs->n; i++) {
		snprintf(path, sizeof(path), "0%s", hs->v[i].path);
		for (p = path + 2; (p = strchr(p, '/')) != NULL; p++) {
			*p = '\0';
			if (!early_like(openat(e->b.masks.tmpfs, path, O_PATH |
			    O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), path + 2))
				return (false);
			*p = '/';
		}
	}
	return (true);
}

bool
early_fits(const struct early *e)
{
	struct pollfd	pfd = { .fd = e->watch, .events = POLLPRI };
	char		name[32];

	early_name(getpid(), name, 16);
	strlcat(name, "/u", sizeof(name));
	return (poll(&pfd, 1, 0) == 0 && early_like(openat(mountd.store, name,
	    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), ".") &&
	    (e->b.masks.tmpfs == -1 || early_mask_fits(e)));
}

int
early_take(struct early *e, int store)
{
	char	name[16], layer[16];

	early_name(getpid(), name, sizeof(name));
	snprintf(layer, sizeof(layer), "%d", LAYER_ROOT);
	if (renameat2(mountd.store, name, store, layer, RENAME_NOREPLACE) ==
	    -1)
		return (fault_errno("mount.layer", "the layer of /"));
	return (e->mnt);
}

void
early_drop(struct early *e)
{
	if (e->mnt != -1)
		close(e->mnt);
	if (e->watch != -1)
		close(e->watch);
	build_end(&e->b);
	early_sweep(getpid());
}

void
early_sweep(pid_t pid)
{
	char	name[16];

	early_name(pid, name, sizeof(name));
	if (rm_all(mountd.store, name) == -1)
		log_warn("%s/s/%s, a layer of no session", mountd.state, name);
}

void
early_sweep_all(void)
{
	struct dirent	*de;
	DIR		*d;

	if ((d = at_opendir(mountd.store, "")) == NULL)
		fatal("%s/s", mountd.state);
	while ((de = readdir(d)) != NULL)
		if (de->d_name[0] == '.' && de->d_name[1] != '\0' &&
		    de->d_name[1] != '.' &&
		    strcmp(de->d_name, STAGE_NAME) != 0 && rm_all(mountd.store,
		    de->d_name) == -1)
			log_warn("%s/s/%s, a layer of no session",
			    mountd.state, de->d_name);
	closedir(d);
}
