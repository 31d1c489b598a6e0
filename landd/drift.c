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

#include "../common/limits.h"
#include "tree.h"
#include "walk.h"

static const char	drift_changed[] = "changed since the session began";
static const char	drift_replaced[] =
    "replaced since the session made its copy";
static const char	drift_gone[] =
    "removed since the session made its copy";
static const char	drift_other[] =
    "in another folder than the session began with: that was removed, moved "
    "or replaced";
static const char	drift_unsure[] =
    "in a folder that may be another one than the session began with: it and "
    "the one above it have changed since";
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

/* Those of folders, or the others, sorted. */
static int
drift_sort(const struct job *job, bool dirs, const struct baseline ***v,
    size_t *n)
{
	const struct baseline	*b;
	size_t			 all = 0;

	TAILQ_FOREACH(b, job->baselines, entry)
		all++;
	if (all == 0)
		return (0);
	if ((*v = calloc(all, sizeof(struct baseline *))) == NULL)
		return (-1);
	TAILQ_FOREACH(b, job->baselines, entry)
		if (S_ISDIR(b->image.mode) == dirs)
			(*v)[(*n)++] = b;
	qsort(*v, *n, sizeof(struct baseline *), drift_compare);
	return (0);
}

int
drift_begin(struct walk *w)
{
	if (w->job->baselines == NULL)
		return (0);
	return (drift_sort(w->job, false, &w->base, &w->nbase) == -1 ||
	    drift_sort(w->job, true, &w->dirs, &w->ndirs) == -1 ? -1 : 0);
}

static const struct baseline *
drift_find(const struct baseline **v, size_t n, const char *path)
{
	size_t	low = 0, high = n, mid;
	int	cmp;

	while (low < high) {
		mid = low + (high - low) / 2;
		if ((cmp = strcmp(path, v[mid]->path)) == 0)
			return (v[mid]);
		if (cmp < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return (NULL);
}

const struct baseline *
drift_base(const struct walk *w, const char *path)
{
	return (drift_find(w->base, w->nbase, path));
}

/*
 * T0 is by the clock that files are stamped by, which stands still between
 * the kernel's ticks: what changes after it has that time or a later one. A
 * filesystem that counts whole seconds has them cut off.
 */
bool
drift_recent(const struct walk *w, const struct timespec *t)
{
	const struct timespec	*t0 = &w->job->t0;

	return (t->tv_sec > t0->tv_sec || (t->tv_sec == t0->tv_sec &&
	    (t->tv_nsec == 0 || t->tv_nsec >= t0->tv_nsec)));
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

/* The real file is another one than the copy was made of. What was made of a
 * copy of the project says nothing about it. */
static bool
drift_is_other(const struct walk *w, const struct item *it,
    const struct found *fo, uint64_t ino)
{
	if (w->origins.copy)
		return (false);
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
		if (drift_is_other(w, it, fo, ino))
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

/* The real folder as a landing or a discard left it; st NULL: it is gone. */
static bool
drift_left(const struct walk *w, const char *path, const struct stat *st)
{
	const struct baseline	*b = drift_find(w->dirs, w->ndirs, path);

	if (b == NULL || st == NULL)
		return (b != NULL && b->image.ino == 0);
	return (b->image.dev == st->st_dev && b->image.ino == st->st_ino &&
	    b->image.ctime.tv_sec == st->st_ctim.tv_sec &&
	    b->image.ctime.tv_nsec == st->st_ctim.tv_nsec);
}

/* 1: the real folder that one of the layer lies on is what it was copied
 * from, or what a landing left there; 0: it is not; -1: it cannot be known. */
static int
drift_lies(const struct walk *w, const struct origin *o)
{
	char		path[LIMIT_PATH + 1];
	struct stat	st;
	int		fd, rv;

	memcpy(path, o->lower, o->lowerlen);
	path[o->lowerlen] = '\0';
	fd = tree_open(w->job->project, path, O_PATH | O_DIRECTORY);
	if (fd == -1)
		return (drift_left(w, path, NULL));
	rv = origin_is(o, fd, "");
	if (rv != 1 && fstat(fd, &st) == 0 && drift_left(w, path, &st))
		rv = 1;
	close(fd);
	/* What was copied up is the mask's, if that has a folder there. */
	return (rv == 0 && hides_below(&w->hides, path) ? -1 : rv);
}

/*
 * Files are looked at one by one, but not those that a folder was swapped
 * with: a rename leaves their times as they were. Every folder that the
 * session changed something in was copied up, with its handle. Of one that
 * the session removed or made there is none: such a one is the old one as
 * long as it has not changed, or the one above it has not. A rename changes
 * both.
 */
void
drift_folder(struct walk *w, const struct item *it, struct folder *f)
{
	const struct origin	*o = NULL;
	int			 rv = -1;

	f->other = it->f->other;
	f->unsure = it->f->unsure;
	f->recent = f->real && drift_recent(w, &it->rst.st_ctim);
	if (f->view && it->layer)
		o = origins_find(&w->origins, it->lst.st_ino);
	if (o != NULL && o->lowerlen > 0)
		rv = drift_lies(w, o);
	if (rv == 0)
		f->other = true;
	if (!f->real)
		return;
	/* What lies on another path says nothing of this one. */
	if (rv == -1 || o->lowerlen != strlen(f->path) ||
	    memcmp(o->lower, f->path, o->lowerlen) != 0)
		rv = origins_lies(&w->origins, it->rfd, it->name, f->path) ||
		    drift_left(w, f->path, &it->rst);
	if (rv == 1)
		f->unsure = false;
	else if (f->recent && it->f->recent)
		f->unsure = true;
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
	/* A file that is exactly the one that was landed is in its folder. */
	if (fo->c.drift != NULL || (base != NULL && base->image.mode != 0))
		return (0);
	if (it->f->other)
		fo->c.drift = drift_other;
	else if (it->real && it->f->unsure)
		fo->c.drift = drift_unsure;
	else if (base == NULL)
		return (drift_doubt(w, it, fo));
	return (0);
}
