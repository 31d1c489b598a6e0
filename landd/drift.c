/*
 * Drift: the owner's file is not the one any more that the session began
 * with. Each path is judged by its own baseline: the session's start, or,
 * once it was landed or discarded, exactly what the real file then was.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tree.h"
#include "walk.h"

/* Timestamps are of the kernel's last tick: up to 10 ms old. */
#define DRIFT_TICK	10000000L

static const char	drift_changed[] = "changed since the session began";
static const char	drift_replaced[] =
    "replaced since the session made its copy";
static const char	drift_gone[] =
    "removed since the session made its copy";
static const char	drift_landed[] = "changed since it was last landed";
static const char	drift_unlanded[] = "removed since it was last landed";
static const char	drift_appeared[] = "appeared since it was last landed";

static const char	drift_unseen[] =
    "landed, but not seen by the session while it runs";

static int
drift_compare(const void *a, const void *b)
{
	const struct baseline	*x = *(const struct baseline *const *)a;
	const struct baseline	*y = *(const struct baseline *const *)b;

	return (strcmp(x->path, y->path));
}

int
drift_begin(struct walk *w)
{
	const struct baseline	*b;
	size_t			 n = 0;

	w->since = w->job->t0;
	w->since.tv_nsec -= DRIFT_TICK;
	if (w->since.tv_nsec < 0) {
		w->since.tv_nsec += 1000000000L;
		w->since.tv_sec--;
	}
	if (w->job->baselines == NULL)
		return (0);
	TAILQ_FOREACH(b, w->job->baselines, entry)
		n++;
	if (n == 0)
		return (0);
	if ((w->base = calloc(n, sizeof(struct baseline *))) == NULL)
		return (-1);
	TAILQ_FOREACH(b, w->job->baselines, entry)
		w->base[w->nbase++] = b;
	qsort(w->base, n, sizeof(struct baseline *), drift_compare);
	return (0);
}

const struct baseline *
drift_base(const struct walk *w, const char *path)
{
	size_t	low = 0, high = w->nbase, mid;
	int	cmp;

	while (low < high) {
		mid = low + (high - low) / 2;
		if ((cmp = strcmp(path, w->base[mid]->path)) == 0)
			return (w->base[mid]);
		if (cmp < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return (NULL);
}

bool
drift_recent(const struct walk *w, const struct timespec *t)
{
	return (t->tv_sec > w->since.tv_sec ||
	    (t->tv_sec == w->since.tv_sec &&
	    t->tv_nsec >= w->since.tv_nsec));
}

static const char *
drift_from_base(const struct image *base, const struct image *pre)
{
	if (base->mode == 0)
		return (pre->mode == 0 ? NULL : drift_appeared);
	if (pre->mode == 0)
		return (drift_unlanded);
	if (base->dev != pre->dev || base->ino != pre->ino ||
	    base->size != pre->size ||
	    base->ctime.tv_sec != pre->ctime.tv_sec ||
	    base->ctime.tv_nsec != pre->ctime.tv_nsec ||
	    memcmp(base->sha, pre->sha, DIGEST_LEN) != 0)
		return (drift_landed);
	return (NULL);
}

/* Was a name taken out of the real folder of path, or out of the nearest one
 * above that is still there, since the session began? */
static bool
drift_folder_recent(const struct walk *w, const struct item *it)
{
	struct stat	 st;
	char		*dir, *slash;
	int		 fd = -1;

	if (it->rfd != -1)
		return (fstat(it->rfd, &st) == -1 ||
		    drift_recent(w, &st.st_ctim));
	if ((dir = strdup(it->f->path)) == NULL)
		return (true);
	while (fd == -1) {
		fd = tree_open(w->job->project, dir, O_PATH | O_DIRECTORY);
		if (fd != -1 || *dir == '\0')
			break;
		slash = strrchr(dir, '/');
		*(slash == NULL ? dir : slash) = '\0';
	}
	free(dir);
	if (fd == -1 || fstat(fd, &st) == -1) {
		if (fd != -1)
			close(fd);
		return (true);
	}
	close(fd);
	return (drift_recent(w, &st.st_ctim));
}

/* The real file is another one than the copy was made of. */
static bool
drift_is_other(const struct item *it, const struct found *fo, uint64_t ino)
{
	if (ino != it->lst.st_ino)
		return (ino != WALK_INO(it->rst.st_ino));
	return (fo->copied != NULL &&
	    origin_is(fo->copied, it->rfd, it->name) == 0);
}

/*
 * A copy in the layer shows the inode number of the file it was made from, if
 * that is still there and the session's own overlay shows it; else mountd's
 * list has its handle. If that is not the real file at this path, the owner
 * replaced, moved or removed it, or the session moved the copy here: only
 * when all is walked is it known which. What nobody moved the owner did.
 *
 * A copy of a file that had a second name, and one that the session replaced
 * as a whole, look like files that it created. A path that git tracks was no
 * new one, though, whatever lies there now.
 */
static int
drift_doubt(struct walk *w, const struct item *it, struct found *fo)
{
	uint64_t	ino = WALK_INO(it->vst.st_ino);
	int		rv;

	if (!it->view || !it->layer)
		return (0);
	fo->origin = ino;
	fo->copied = origins_find(&w->origins, it->lst.st_ino);
	if (it->real) {
		if (drift_is_other(it, fo, ino))
			fo->doubt = drift_replaced;
	} else if (drift_folder_recent(w, it)) {
		if ((rv = walk_tracked(w, it->path)) == -1)
			return (-1);
		if (rv == 1)
			fo->c.drift = drift_gone;
		else if (ino != it->lst.st_ino || fo->copied != NULL)
			fo->doubt = drift_gone;
	}
	return (0);
}

/*
 * A folder that the session moved and holds open shows as empty to it once
 * the move has landed, since the kernel keeps reading the real folder that is
 * gone. That is no deletion: one leaves a whiteout, or takes the folder away.
 * Where the session has made the folder anew the two cannot be told apart
 * before it ends, and then neither lands.
 */
static bool
drift_is_unseen(const struct walk *w, const struct item *it,
    const struct image *base)
{
	return (w->job->live && base->mode != 0 && it->real && !it->view &&
	    it->vfd != -1 && it->ln == NULL);
}

int
drift_judge(struct walk *w, const struct item *it,
    const struct baseline *base, struct found *fo)
{
	if (base != NULL && drift_is_unseen(w, it, &base->image))
		fo->c.drift = drift_unseen;
	else if (base != NULL)
		fo->c.drift = drift_from_base(&base->image, &fo->c.pre);
	else if (it->real && drift_recent(w, &fo->c.pre.ctime))
		fo->c.drift = drift_changed;
	else
		return (drift_doubt(w, it, fo));
	return (0);
}
