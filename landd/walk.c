#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/escape.h"
#include "../common/limits.h"
#include "tree.h"
#include "walk.h"
#include "xattr.h"

/* A folder's three sides while its names are gone through. */
struct sides {
	int		v, r, l;
	struct names	vn, rn, ln;
};

/* Of 100,000 paths an index takes some milliseconds: read when first asked
 * for. */
int
walk_tracked(struct walk *w, const char *path)
{
	if (!w->tracked_read && w->job->gitdir > 0 &&
	    tracked_read(w->job->gitdir, &w->tracked) == -1)
		return (walk_fail(w, path, "git's index"));
	w->tracked_read = true;
	return (tracked_has(&w->tracked, path));
}

struct unit *
unit_new(struct walk *w, const char *path, enum unit_kind kind)
{
	struct unit	*u;

	if ((u = calloc(1, sizeof(*u))) == NULL ||
	    (u->path = strdup(path)) == NULL) {
		free(u);
		walk_fail(w, path, "list");
		return (NULL);
	}
	u->kind = kind;
	TAILQ_INSERT_TAIL(&w->units, u, entry);
	return (u);
}

struct ignored *
ignored_new(struct walk *w, const char *path)
{
	struct ignored	*i;

	if ((i = calloc(1, sizeof(*i))) == NULL ||
	    (i->path = strdup(*path == '\0' ? "." : path)) == NULL) {
		free(i);
		walk_fail(w, path, "list");
		return (NULL);
	}
	TAILQ_INSERT_TAIL(&w->set->ignored, i, entry);
	return (i);
}

static struct folder *
folder_new(struct walk *w, const char *path, bool view, bool real)
{
	struct folder	*f;

	if ((f = calloc(1, sizeof(*f))) == NULL ||
	    (f->path = strdup(path)) == NULL) {
		free(f);
		walk_fail(w, path, "queue");
		return (NULL);
	}
	f->view = view;
	f->real = real;
	/* At the head: the queue holds what lies beside a path, not a whole
	 * level of the tree. */
	TAILQ_INSERT_HEAD(&w->queue, f, entry);
	return (f);
}

struct folder *
walk_push(struct walk *w, const struct item *it, bool view, bool real,
    struct unit *unit, struct ignored *ignored)
{
	const struct origin	*o = NULL;
	struct folder		*f;

	if ((f = folder_new(w, it->path, view, real)) == NULL)
		return (NULL);
	if (view && it->layer)
		o = origins_find(&w->origins, it->lst.st_ino);
	f->lies = o != NULL && o->lowerlen > 0;
	f->unit = unit;
	f->ignored = ignored;
	f->rules = it->f->rules;
	return (f);
}

static void
folder_free(struct folder *f)
{
	free(f->path);
	free(f);
}

static void
sides_close(struct sides *s)
{
	int	saved = errno;

	if (s->v != -1)
		close(s->v);
	if (s->r != -1)
		close(s->r);
	if (s->l != -1)
		close(s->l);
	names_free(&s->vn);
	names_free(&s->rn);
	names_free(&s->ln);
	errno = saved;
}

/* Opens and lists one side. 1 done, 0 it cannot be read (errno), -1. */
static int
side_open(int root, const char *path, int *fd, struct names *names)
{
	*fd = tree_open(root, path, O_RDONLY | O_DIRECTORY);
	if (*fd == -1)
		return (errno == ENOMEM || errno == EMFILE ||
		    errno == ENFILE ? -1 : 0);
	return (names_read(*fd, names) == -1 ? -1 : 1);
}

static bool
errno_absent(void)
{
	return (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
}

/* A folder of which a side is closed to us: nothing below it can be told. */
static int
folder_closed(struct walk *w, const struct folder *f, bool mount)
{
	struct item	it = { .path = f->path, .real = f->real };

	if (walk_keep(w, &it) == -1)
		return (-1);
	if (f->unit != NULL || f->ignored != NULL)
		return (0);
	return (mount ? walk_skip(w, f->path, "mount",
	    "another filesystem is mounted here") :
	    walk_skip(w, f->path, "unreadable",
	    "the session's user cannot read this folder"));
}

/* 1 go on, 0 leave the folder, -1 with why. */
static int
sides_open(struct walk *w, struct folder *f, struct sides *s)
{
	int	rv;

	if (f->view && (rv = side_open(w->job->view, f->path, &s->v,
	    &s->vn)) != 1) {
		if (rv == 0 && errno == EACCES)
			return (folder_closed(w, f, false));
		if (errno_absent() || errno == ESTALE)
			errno = EBUSY;
		return (walk_fail(w, f->path, "the session's folder"));
	}
	if (f->real && (rv = side_open(w->job->project, f->path, &s->r,
	    &s->rn)) != 1) {
		if (rv == 0 && (errno == EACCES || errno == EXDEV))
			return (folder_closed(w, f, errno == EXDEV));
		if (!errno_absent())
			return (walk_fail(w, f->path, "the real folder"));
		f->real = false;	/* the owner removed it just now */
	}
	rv = side_open(w->job->layer, f->path, &s->l, &s->ln);
	if (rv != 1 && (rv == -1 || !errno_absent()))
		return (errno == EACCES ? folder_closed(w, f, false) :
		    walk_fail(w, f->path, "the layer's folder"));
	return (1);
}

static bool
names_git(const struct names *names)
{
	size_t	i;

	for (i = 0; i < names->n; i++)
		if (tree_gitname(names->v[i].name, strlen(names->v[i].name)))
			return (true);
	return (false);
}

/*
 * A real folder that is a repository, with a .git or as one without, is a
 * nested one, and so is a new one. Not a real folder that became one in the
 * session: or `git init src` would take all that was changed in there out of
 * the owner's sight. Nor the project, whatever it is. There each name that
 * makes it one stays out.
 */
static int
folder_nested(struct walk *w, struct folder *f, const struct sides *s)
{
	static const struct names	 none;
	const struct names		*was = f->real ? &s->rn : &s->vn;
	struct item			 it = {
		.path = f->path, .real = f->real
	};

	if (f->unit != NULL || f->ignored != NULL)
		return (0);
	if (*f->path == '\0' || (!names_git(was) && !names_bare(was, &none))) {
		f->bare = names_bare(&s->vn, &s->rn);
		return (0);
	}
	if ((f->unit = unit_new(w, f->path, UNIT_NESTED)) == NULL ||
	    walk_keep(w, &it) == -1)
		return (-1);
	return (f->view && f->real ? 0 : unit_differs(w, f->unit));
}

static char *
item_path(const struct folder *f, const char *name)
{
	size_t	 n = strlen(f->path), m = strlen(name);
	char	*p;

	if (n + 1 + m > LIMIT_PATH) {
		errno = ENAMETOOLONG;
		return (NULL);
	}
	if ((p = malloc(n + m + 2)) == NULL)
		return (NULL);
	memcpy(p, f->path, n);
	if (n > 0)
		p[n++] = '/';
	memcpy(p + n, name, m + 1);
	return (p);
}

/*
 * The real .gitignore; where there is none, one that came with a folder the
 * session moved and that it did not write (then it is not in the layer).
 */
static int
folder_rules(struct walk *w, struct folder *f, const struct sides *s)
{
	static const char	name[] = ".gitignore";
	char			*path;
	bool			failed = false, hidden;
	int			dir = -1, fd = -1;

	if (f->unit != NULL || f->ignored != NULL ||
	    (path = item_path(f, name)) == NULL)
		return (0);
	hidden = hides_path(&w->hides, path);
	free(path);
	if (hidden)
		return (0);
	if (names_find(&s->rn, name) != NULL)
		dir = s->r;
	else if (names_find(&s->vn, name) != NULL &&
	    names_find(&s->ln, name) == NULL)
		dir = s->v;
	if (dir != -1)
		fd = tree_open(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd == -1)
		return (0);
	f->rules = ignore_read(fd, f->path, f->rules, &w->rules, &failed);
	if (failed) {
		errno = ENOMEM;
		return (walk_fail(w, f->path, "rules of .gitignore"));
	}
	return (0);
}

/* What of the folder itself is told, and not landed. */
static int
folder_tell(struct walk *w, const struct folder *f, const struct sides *s)
{
	if (*f->path == '\0' || f->unit != NULL || f->ignored != NULL)
		return (0);
	if (f->view && !f->real && s->vn.n == 0)
		return (walk_skip(w, f->path, "dir",
		    "an empty folder is not landed"));
	if (f->real && !f->view && s->rn.n == 0)
		return (walk_skip(w, f->path, "dir",
		    "the removal of an empty folder is not landed"));
	if (f->view && f->real && s->l != -1 && xattr_differ(s->v, s->r))
		return (walk_skip(w, f->path, "xattr",
		    "extended attributes are not landed"));
	return (0);
}

/* One name of the folder, from any of its sides. */
static int
folder_name(struct walk *w, struct folder *f, const struct sides *s,
    const struct name *vn, const struct name *rn)
{
	struct item	it = { .f = f, .vfd = s->v, .rfd = s->r, .lfd = s->l };
	int		rv;

	it.vn = vn;
	it.rn = rn;
	it.name = vn != NULL ? vn->name : rn->name;
	it.ln = names_find(&s->ln, it.name);
	it.view = vn != NULL;
	it.real = rn != NULL;
	/* A whiteout is a device that the view does not show. */
	it.layer = it.ln != NULL && (it.view || it.ln->type != DT_CHR);
	if (vn != NULL && rn != NULL && !it.layer && vn->type == rn->type &&
	    WALK_INO(vn->ino) == WALK_INO(rn->ino))
		return (0);
	/* Of a copy the layer tells alone: what differs else the owner has
	 * changed since it was made. */
	if (w->origins.copy && it.ln == NULL && (it.view || f->lies))
		return (0);
	if ((it.path = item_path(f, it.name)) == NULL) {
		if (errno != ENAMETOOLONG)
			return (walk_fail(w, f->path, "list"));
		return (walk_skip(w, f->path, "special",
		    "a path in here is longer than 4,095 bytes"));
	}
	rv = item_walk(w, &it);
	free(it.path);
	return (rv);
}

static int
folder_names(struct walk *w, struct folder *f, const struct sides *s)
{
	struct merge		 m = { .a = &s->vn, .b = &s->rn };
	const struct name	*v, *r;

	while (names_next(&m, &v, &r))
		if (folder_name(w, f, s, v, r) == -1)
			return (-1);
	return (0);
}

static int
folder_walk(struct walk *w, struct folder *f)
{
	struct sides	s = { .v = -1, .r = -1, .l = -1 };
	int		rv;

	if (f->unit != NULL && f->unit->kind != UNIT_GIT &&
	    f->unit->differs)
		return (0);
	if ((rv = sides_open(w, f, &s)) == 1) {
		rv = folder_nested(w, f, &s);
		if (rv == 0)
			rv = folder_rules(w, f, &s);
		if (rv == 0)
			rv = folder_tell(w, f, &s);
		if (rv == 0)
			rv = folder_names(w, f, &s);
	}
	sides_close(&s);
	return (rv);
}

int
changeset_unstage(const struct job *job)
{
	struct names	names;
	size_t		i;
	int		fd, rv;

	fd = openat(job->stage, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	rv = names_read(fd, &names);
	close(fd);
	if (rv == -1)
		return (-1);
	for (i = 0; i < names.n; i++)
		if (unlinkat(job->stage, names.v[i].name, 0) == -1 &&
		    errno != ENOENT && errno != EISDIR)
			rv = -1;
	names_free(&names);
	return (rv);
}

/* What the session's git did lies in another layer: it does not land either. */
static int
walk_outside(struct walk *w)
{
	struct unit	*u = unit_new(w, ".git", UNIT_GIT);

	return (u == NULL ? -1 : unit_differs(w, u));
}

/* What mountd has found to be written to beside the layer. */
static int
walk_mounted(struct walk *w)
{
	const struct origin	*o;
	char			*path;
	size_t			 i;
	int			 rv = 0;

	for (i = 0; i < w->origins.n && rv == 0; i++) {
		o = &w->origins.v[i];
		if (o->ino != 0)
			break;
		if ((path = strndup(o->lower, o->lowerlen)) == NULL)
			return (walk_fail(w, "", "list"));
		if (*path == '/')
			rv = walk_outside(w);
		else
			rv = walk_skip(w, path, "mount", "another filesystem "
			    "is mounted here: what is written into it is not "
			    "landed");
		free(path);
	}
	return (rv);
}

static int
walk_begin(struct walk *w)
{
	struct folder	*root;
	struct stat	 st;
	bool		 failed = false;
	int		 fd = -1;

	if (changeset_unstage(w->job) == -1)
		return (walk_fail(w, "", "the staging folder"));
	if (fstat(w->job->project, &st) == -1)
		return (walk_fail(w, "", "the project"));
	w->dev = st.st_dev;
	if (hides_make(w->job->project, w->job->root, w->job->hide,
	    &w->hides) == -1)
		return (walk_fail(w, "", "hidden paths"));
	if (hides_make(w->job->project, w->job->root, w->job->ro,
	    &w->readonly) == -1)
		return (walk_fail(w, "", "read-only paths"));
	if (w->job->origins > 0 && origins_read(w->job->origins,
	    &w->origins) == -1)
		return (walk_fail(w, "", "the list of copies"));
	if (walk_mounted(w) == -1)
		return (-1);
	if (drift_begin(w) == -1)
		return (walk_fail(w, "", "baselines"));
	if ((root = folder_new(w, "", true, true)) == NULL)
		return (-1);
	/* Which it is land has looked at: by device and inode. */
	root->lies = true;
	root->recent = drift_recent(w, &st.st_ctim);
	if (w->job->commondir > 0)
		fd = tree_open(w->job->commondir, "info/exclude",
		    O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd != -1)
		root->rules = ignore_read(fd, "", NULL, &w->rules, &failed);
	if (failed) {
		errno = ENOMEM;
		return (walk_fail(w, "", "info/exclude"));
	}
	return (0);
}

static void
walk_end(struct walk *w)
{
	struct folder	*f;
	struct unit	*u;
	size_t		 i;

	while ((f = TAILQ_FIRST(&w->queue)) != NULL) {
		TAILQ_REMOVE(&w->queue, f, entry);
		folder_free(f);
	}
	while ((u = TAILQ_FIRST(&w->units)) != NULL) {
		TAILQ_REMOVE(&w->units, u, entry);
		free(u->path);
		free(u);
	}
	for (i = 0; i < w->nkept; i++)
		free(w->kept[i]);
	free(w->kept);
	if (w->pack != -1)
		close(w->pack);
	free(w->seen.v);
	origins_free(&w->origins);
	free(w->base);
	free(w->dirs);
	hides_free(&w->hides);
	hides_free(&w->readonly);
	ignore_free(w->rules);
	tracked_free(&w->tracked);
}

int
changeset_walk(const struct job *job, struct changeset *set, char *why,
    size_t whylen)
{
	struct walk	 w = { .job = job, .set = set, .why = why,
			    .whylen = whylen, .pack = -1 };
	struct folder	*f;
	int		 rv, saved;

	TAILQ_INIT(&w.queue);
	TAILQ_INIT(&w.units);
	rv = walk_begin(&w);
	while (rv == 0 && (f = TAILQ_FIRST(&w.queue)) != NULL) {
		TAILQ_REMOVE(&w.queue, f, entry);
		rv = folder_walk(&w, f);
		folder_free(f);
	}
	if (rv == 0)
		rv = walk_settle(&w);
	saved = errno;
	walk_end(&w);
	errno = saved;
	return (rv);
}
