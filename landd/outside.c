#include <sys/queue.h>
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "names.h"
#include "outside.h"
#include "tree.h"

/* A folder that waits to be looked into, below the layer's; "" is that one. */
struct waiting {
	TAILQ_ENTRY(waiting) entry;
	char		*path;
};
TAILQ_HEAD(waitings, waiting);

struct look {
	const struct outside	*o;
	struct m_COUNTED	*sum;
	struct waitings		 queue;
	uint64_t		 looked;
};

/* One folder on its three sides. */
struct sides {
	int		v, r, l;
	struct names	vn, rn, ln;
};

static int
waiting_add(struct waitings *q, const char *path)
{
	struct waiting	*w;

	if ((w = calloc(1, sizeof(*w))) == NULL ||
	    (w->path = strdup(path)) == NULL) {
		free(w);
		return (-1);
	}
	TAILQ_INSERT_HEAD(q, w, entry);
	return (0);
}

/* The next one's path, to be freed; NULL: there is none. */
static char *
waiting_take(struct waitings *q)
{
	struct waiting	*w = TAILQ_FIRST(q);
	char		*path;

	if (w == NULL)
		return (NULL);
	path = w->path;
	TAILQ_REMOVE(q, w, entry);
	free(w);
	return (path);
}

static void
waiting_drop(struct waitings *q)
{
	int	saved = errno;
	char	*path;

	while ((path = waiting_take(q)) != NULL)
		free(path);
	errno = saved;
}

/* Below dir, "" being the top; -1: longer than any path. */
static int
path_join(const char *dir, const char *name, char out[PATH_MAX])
{
	strlcpy(out, dir, PATH_MAX);
	if (*dir != '\0')
		strlcat(out, "/", PATH_MAX);
	return (strlcat(out, name, PATH_MAX) < PATH_MAX ? 0 : -1);
}

static int
path_absolute(const struct outside *o, const char *path, char out[PATH_MAX])
{
	if (o->top[1] == '\0') {
		out[0] = '/';
		return (strlcpy(out + 1, path, PATH_MAX - 1) < PATH_MAX - 1 ?
		    0 : -1);
	}
	return (path_join(o->top, path, out));
}

/* More names than may be looked at: what is left is said to be. */
static bool
look_at(struct look *k, size_t names)
{
	k->looked += names;
	if (k->looked <= k->o->looked)
		return (true);
	k->sum->cut = true;
	return (false);
}

/*
 * Opens and lists one side. 1 done, 0 it is not there or not for this user,
 * -1 errno. What vanishes while it is looked at is not there.
 */
static int
side_open(struct look *k, int root, const char *path, int *fd,
    struct names *names)
{
	*fd = tree_open(root, path, O_RDONLY | O_DIRECTORY);
	if (*fd != -1 && names_read(*fd, names) == 0)
		return (1);
	if (errno == EACCES)
		k->sum->unreadable++;
	else if (errno == E2BIG)
		k->sum->cut = true;
	else if (errno == ENOMEM || errno == EMFILE || errno == ENFILE)
		return (-1);
	return (0);
}

/* All that is below a folder which only one side has. */
static int
tree_count(struct look *k, int root, const char *top, struct m_FOUND *m)
{
	struct waitings	 q = TAILQ_HEAD_INITIALIZER(q);
	struct names	 names;
	struct stat	 st;
	char		*path, sub[PATH_MAX];
	size_t		 i;
	int		 fd, rv;

	rv = waiting_add(&q, top);
	while (rv == 0 && !k->sum->cut && (path = waiting_take(&q)) != NULL) {
		memset(&names, 0, sizeof(names));
		rv = side_open(k, root, path, &fd, &names);
		if (rv == 1 && look_at(k, names.n))
			for (i = 0; i < names.n; i++) {
				if (fstatat(fd, names.v[i].name, &st,
				    AT_SYMLINK_NOFOLLOW) == -1)
					continue;
				if (!S_ISDIR(st.st_mode)) {
					m->files++;
					m->bytes += (uint64_t)st.st_size;
				} else if (path_join(path, names.v[i].name,
				    sub) == -1)
					k->sum->unreadable++;
				else if (waiting_add(&q, sub) == -1)
					rv = -1;
			}
		rv = rv == -1 ? -1 : 0;
		names_free(&names);
		if (fd != -1)
			close(fd);
		free(path);
	}
	waiting_drop(&q);
	return (rv);
}

/* v, r: NULL where that side has nothing. */
static const char *
look_kind(const struct stat *v, const struct stat *r)
{
	if (r == NULL)
		return ("added");
	if (v == NULL)
		return ("deleted");
	if ((v->st_mode & S_IFMT) != (r->st_mode & S_IFMT))
		return ("type");
	if (!S_ISDIR(v->st_mode) && (v->st_size != r->st_size ||
	    v->st_mtim.tv_sec != r->st_mtim.tv_sec ||
	    v->st_mtim.tv_nsec != r->st_mtim.tv_nsec))
		return ("modified");
	return (v->st_mode != r->st_mode || v->st_uid != r->st_uid ||
	    v->st_gid != r->st_gid ? "mode" : NULL);
}

static int
look_tell(struct look *k, const char *path, const struct stat *v,
    const struct stat *r)
{
	struct m_FOUND	m = { .kind = look_kind(v, r) };
	char		full[PATH_MAX];
	bool		vdir = v != NULL && S_ISDIR(v->st_mode);
	bool		rdir = r != NULL && S_ISDIR(r->st_mode);

	if (m.kind == NULL)
		return (0);
	if (path_absolute(k->o, path, full) == -1) {
		k->sum->unreadable++;
		return (0);
	}
	m.path = full;
	m.newmode = v != NULL ? v->st_mode : 0;
	m.oldmode = r != NULL ? r->st_mode : 0;
	m.newsize = v != NULL ? (uint64_t)v->st_size : 0;
	m.oldsize = r != NULL ? (uint64_t)r->st_size : 0;
	if ((vdir && !rdir && tree_count(k, k->o->view, path, &m) == -1) ||
	    (rdir && !vdir && tree_count(k, k->o->real, path, &m) == -1))
		return (-1);
	if (vdir == rdir && !vdir) {
		m.files = 1;
		m.bytes = m.newsize;
	}
	k->sum->found++;
	k->sum->files += m.files;
	k->sum->bytes += m.bytes;
	if (k->sum->listed == k->o->listed)
		return (0);
	k->sum->listed++;
	k->o->tell(k->o->arg, &m);
	return (0);
}

/* Another layer is mounted there. */
static bool
look_is_own(const struct look *k, const char *path)
{
	char	full[PATH_MAX];
	size_t	i;

	if (path_absolute(k->o, path, full) == -1)
		return (false);
	for (i = 0; k->o->own[i] != NULL; i++)
		if (strcmp(k->o->own[i], full) == 0)
			return (true);
	return (false);
}

/* A name that is not seen to be unchanged by its inode number alone. */
static int
look_name(struct look *k, const struct sides *s, const char *path,
    const char *name, bool view, bool real)
{
	struct stat	v, r;

	if (look_is_own(k, path))
		return (0);
	view = view && fstatat(s->v, name, &v, AT_SYMLINK_NOFOLLOW) == 0;
	real = real && fstatat(s->r, name, &r, AT_SYMLINK_NOFOLLOW) == 0;
	if (!view && !real)
		return (0);
	if (view && real && S_ISDIR(v.st_mode) && S_ISDIR(r.st_mode) &&
	    waiting_add(&k->queue, path) == -1)
		return (-1);
	return (look_tell(k, path, view ? &v : NULL, real ? &r : NULL));
}

/* Unchanged at once: the layer has no such name, and both show one file. */
static bool
look_is_same(const struct sides *s, const struct name *v, const struct name *r)
{
	return (v != NULL && r != NULL && v->ino == r->ino &&
	    v->type == r->type && names_find(&s->ln, v->name) == NULL);
}

static int
look_names(struct look *k, const char *dir, const struct sides *s)
{
	struct merge		 m = { .a = &s->vn, .b = &s->rn };
	const struct name	*v, *r;
	const char		*name;
	char			 path[PATH_MAX];

	while (names_next(&m, &v, &r)) {
		if (look_is_same(s, v, r))
			continue;
		name = v != NULL ? v->name : r->name;
		if (path_join(dir, name, path) == -1)
			k->sum->unreadable++;
		else if (look_name(k, s, path, name, v != NULL, r != NULL) ==
		    -1)
			return (-1);
	}
	return (0);
}

static int
look_folder(struct look *k, const char *path)
{
	struct sides	s = { .v = -1, .r = -1, .l = -1 };
	int		rv;

	rv = side_open(k, k->o->view, path, &s.v, &s.vn);
	if (rv == 1)
		rv = side_open(k, k->o->real, path, &s.r, &s.rn);
	/* What was moved there as a whole is in no layer. */
	if (rv == 1 && side_open(k, k->o->layer, path, &s.l, &s.ln) == -1)
		rv = -1;
	if (rv == 1)
		rv = look_at(k, s.vn.n + s.rn.n) ? look_names(k, path, &s) : 0;
	names_free(&s.vn);
	names_free(&s.rn);
	names_free(&s.ln);
	if (s.v != -1)
		close(s.v);
	if (s.r != -1)
		close(s.r);
	if (s.l != -1)
		close(s.l);
	return (rv == -1 ? -1 : 0);
}

int
outside_walk(const struct outside *o, struct m_COUNTED *sum)
{
	struct look	 k = { .o = o, .sum = sum };
	char		*path;
	int		 rv;

	memset(sum, 0, sizeof(*sum));
	sum->path = o->top;
	TAILQ_INIT(&k.queue);
	rv = waiting_add(&k.queue, "");
	while (rv == 0 && !sum->cut &&
	    (path = waiting_take(&k.queue)) != NULL) {
		rv = look_folder(&k, path);
		free(path);
	}
	waiting_drop(&k.queue);
	return (rv);
}
