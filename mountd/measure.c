/*
 * MEASURE: what the layers below s/ cost on the disk, or which there are.
 * They are only read, without a lock: a session may be at work in one.
 */
#include <sys/stat.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/ids.h"
#include "at.h"
#include "fault.h"
#include "layer.h"
#include "mountd.h"
#include "session.h"

#define MEASURE_ALIVE	512	/* entries between two signs of life */

/* The inodes with several names that were counted already. */
struct seen {
	uint64_t	*v;		/* open addressing, 0: free */
	size_t		 room, n;
};

/* A folder on the way down: its own number, and what is to be visited in it,
 * since one descriptor is open at a time, however deep it goes. */
struct level {
	ino_t		 ino;
	char		**v;
	size_t		 n;
};

struct measure {
	uint64_t	 bytes, inodes;
	dev_t		 dev;
	struct seen	 seen;
	struct level	*level;
	size_t		 depth, done;
};

static bool	seen_add(struct seen *, uint64_t);

static int
seen_grow(struct seen *s)
{
	struct seen	old = *s;
	size_t		i;

	s->room = old.room == 0 ? 1024 : 2 * old.room;
	s->n = 0;
	if ((s->v = calloc(s->room, sizeof(*s->v))) == NULL) {
		*s = old;
		return (-1);
	}
	for (i = 0; i < old.room; i++)
		if (old.v[i] != 0)
			seen_add(s, old.v[i]);
	free(old.v);
	return (0);
}

/* True: it was not there yet. Without memory it counts again. */
static bool
seen_add(struct seen *s, uint64_t ino)
{
	size_t	i;

	if (2 * s->n >= s->room && seen_grow(s) == -1)
		return (true);
	for (i = ino * 0x9e3779b97f4a7c15U % s->room; s->v[i] != 0;
	    i = (i + 1) % s->room)
		if (s->v[i] == ino)
			return (false);
	s->v[i] = ino;
	s->n++;
	return (true);
}

static void
measure_count(struct measure *m, const struct stat *st)
{
	if (!S_ISDIR(st->st_mode) && st->st_nlink > 1 &&
	    !seen_add(&m->seen, st->st_ino))
		return;
	m->bytes += (uint64_t)st->st_blocks * 512;
	m->inodes++;
	if (++m->done % MEASURE_ALIVE == 0)
		child_alive();
}

static int
level_add(struct level *l, const char *name)
{
	char	**v;

	/* Doubled at each power of two. */
	if ((l->n & (l->n - 1)) == 0) {
		v = reallocarray(l->v, l->n == 0 ? 1 : 2 * l->n, sizeof(*v));
		if (v == NULL)
			return (-1);
		l->v = v;
	}
	if ((l->v[l->n] = strdup(name)) == NULL)
		return (-1);
	l->n++;
	return (0);
}

static void
level_drop(struct measure *m)
{
	struct level	*l = &m->level[--m->depth];

	while (l->n > 0)
		free(l->v[--l->n]);
	free(l->v);
}

static int
level_push(struct measure *m, ino_t ino)
{
	struct level	*v;

	v = reallocarray(m->level, m->depth + 1, sizeof(*v));
	if (v == NULL)
		return (-1);
	m->level = v;
	v[m->depth++] = (struct level){ .ino = ino };
	return (0);
}

/* Counts a folder's entries; the folders of it are visited later. What goes
 * while we look does not count. */
static int
measure_read(struct measure *m, int dir)
{
	struct level	*l = &m->level[m->depth - 1];
	struct dirent	*de;
	struct stat	 st;
	DIR		*d;
	int		 r = 0;

	if ((d = at_opendir(dir, "")) == NULL)
		return (errno == ENOENT ? 0 : -1);
	while (r == 0 && (de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0 ||
		    fstatat(dir, de->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
		    st.st_dev != m->dev)
			continue;
		measure_count(m, &st);
		if (S_ISDIR(st.st_mode))
			r = level_add(l, de->d_name);
	}
	closedir(d);
	return (r);
}

/* 1: in the next folder of this level; 0: it is done; -1. */
static int
measure_down(struct measure *m, int *dir)
{
	struct level	*l = &m->level[m->depth - 1];
	struct stat	 st;
	char		*name;
	int		 fd;

	while (l->n > 0) {
		name = l->v[--l->n];
		fd = openat(*dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
		free(name);
		if (fd == -1)
			continue;	/* gone meanwhile */
		if (fstat(fd, &st) == -1 || st.st_dev != m->dev) {
			close(fd);
			continue;
		}
		close(*dir);
		*dir = fd;
		if (level_push(m, st.st_ino) == -1)
			return (-1);
		return (measure_read(m, *dir) == -1 ? -1 : 1);
	}
	return (0);
}

/* -1 where the session has moved the folder that we are in: what is left of
 * the walk cannot be found from here. */
static int
measure_up(struct measure *m, int *dir)
{
	struct stat	st;
	int		fd;

	level_drop(m);
	if (m->depth == 0)
		return (0);
	fd = openat(*dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return (-1);
	close(*dir);
	*dir = fd;
	if (fstat(fd, &st) == -1 || st.st_dev != m->dev ||
	    st.st_ino != m->level[m->depth - 1].ino) {
		errno = EAGAIN;
		return (-1);
	}
	return (0);
}

/* store/name and all below it. */
static int
measure_tree(int store, const char *name, struct measure *m)
{
	struct stat	st;
	int		dir, r = 0;

	memset(m, 0, sizeof(*m));
	if (fstatat(store, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (errno == ENOENT ? 0 : -1);
	m->dev = st.st_dev;
	measure_count(m, &st);
	if (!S_ISDIR(st.st_mode))
		return (0);
	dir = openat(store, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir == -1)
		return (errno == ENOENT ? 0 : -1);
	r = level_push(m, st.st_ino) == -1 || measure_read(m, dir) == -1 ?
	    -1 : 0;
	while (r == 0 && m->depth > 0)
		if ((r = measure_down(m, &dir)) == 0)
			r = measure_up(m, &dir);
		else if (r == 1)
			r = 0;
	while (m->depth > 0)
		level_drop(m);
	free(m->level);
	free(m->seen.v);
	close(dir);
	return (r);
}

/* A folder that is moved while we are in it: from its top again. */
static int
measure_steady(int store, const char *name, struct measure *m)
{
	int	i;

	for (i = 0; i < 5; i++)
		if (measure_tree(store, name, m) == 0)
			return (0);
		else if (errno != EAGAIN)
			break;
	return (errno == EAGAIN ? 0 : fault_errno("mount.layer",
	    "measuring a layer"));
}

static int
measure_layers(struct child *c, const char *sid, int store, size_t *n)
{
	char		 at[PATH_MAX], name[16];
	struct measure	 m;
	struct m_MEASURED out = { .session = sid, .kind = "layer" };

	for (; layer_at(store, (unsigned int)*n, at) == 1; (*n)++) {
		snprintf(name, sizeof(name), "%zu", *n);
		if (measure_steady(store, name, &m) == -1)
			return (-1);
		out.n = *n;
		out.path = at;
		out.bytes = m.bytes;
		out.inodes = m.inodes;
		child_send(c, MSG_MEASURED, -1, &out);
	}
	return (0);
}

static bool
name_is_layer(const char *name, size_t n)
{
	const char	*why;

	return (strtonum(name, 0, LAYER_MAX, &why) < (long long)n &&
	    why == NULL);
}

static bool
measure_idle(int store)
{
	struct survey	found;

	layer_survey(store, &found);
	return (found.idle || layer_is_unborn(store));
}

/* The stage of landings; and what is neither, with the folder itself: there it
 * is said whether the layer is empty, when all of it was read. */
static int
measure_others(struct child *c, const char *sid, int store, size_t n)
{
	struct m_MEASURED	 out = { .session = sid, .kind = "stage" };
	struct m_MEASURED	 rest = { .session = sid, .kind = "rest" };
	struct measure		 m;
	struct stat		 st;
	struct dirent		*de;
	DIR			*d;
	int			 r = 0;

	if (fstat(store, &st) == 0) {
		rest.inodes = 1;
		rest.bytes = (uint64_t)st.st_blocks * 512;
	}
	if ((d = at_opendir(store, "")) == NULL)
		return (fault_errno("mount.layer", "measuring a layer"));
	while (r == 0 && (de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") ==
		    0 || name_is_layer(de->d_name, n))
			continue;
		r = measure_steady(store, de->d_name, &m);
		if (strcmp(de->d_name, "stage") == 0) {
			out.bytes = m.bytes;
			out.inodes = m.inodes;
			child_send(c, MSG_MEASURED, -1, &out);
			continue;
		}
		rest.bytes += m.bytes;
		rest.inodes += m.inodes;
	}
	closedir(d);
	rest.pristine = measure_idle(store);
	child_send(c, MSG_MEASURED, -1, &rest);
	return (r);
}

static int
measure_session(struct child *c, const char *sid)
{
	struct m_MEASURED	 none = {
		.session = sid, .kind = "none", .pristine = true
	};
	size_t			 n = 0;
	int			 store, r;

	if (!sid_valid(sid))
		return (fault("mount.session", "no session has such an id: "
		    "twelve characters of a-z and 2-7"));
	store = openat(mountd.store, sid,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (store == -1) {
		if (errno != ENOENT)
			return (fault_errno("mount.layer", "the layer of "
			    "session %s", sid));
		child_send(c, MSG_MEASURED, -1, &none);
		return (0);
	}
	r = measure_layers(c, sid, store, &n);
	if (r == 0)
		r = measure_others(c, sid, store, n);
	close(store);
	return (r);
}

static void
list_one(struct child *c, const char *sid)
{
	struct m_MEASURED	out = { .session = sid, .kind = "layer" };
	struct stat		st;
	int			store;

	store = openat(mountd.store, sid,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (store == -1)
		return;
	if (fstatat(store, "stage", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode) && st.st_uid != mountd.uids[UID_MOUNTD]) {
		out.uid = st.st_uid;
		out.owned = true;
	}
	out.pristine = measure_idle(store);
	close(store);
	child_send(c, MSG_MEASURED, -1, &out);
}

static int
measure_list(struct child *c)
{
	struct dirent	*de;
	DIR		*d;

	if ((d = at_opendir(mountd.store, "")) == NULL)
		return (fault_errno("mount.layer", "the layers"));
	while ((de = readdir(d)) != NULL) {
		if (sid_valid(de->d_name))
			list_one(c, de->d_name);
		child_alive();
	}
	closedir(d);
	return (0);
}

int
measure_run(struct child *c)
{
	const struct m_MEASURE	*m = c->body;
	size_t			 i;

	if (m->list && measure_list(c) == -1)
		return (-1);
	for (i = 0; i < m->sessions.n; i++) {
		if (measure_session(c, m->sessions.v[i]) == -1)
			return (-1);
		child_alive();
	}
	child_send(c, MSG_END, -1, NULL);
	return (0);
}
