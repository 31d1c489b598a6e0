#include <sys/stat.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/path.h"
#include "../privsep/mode.h"
#include "fault.h"
#include "fresh.h"
#include "fs.h"
#include "mountd.h"
#include "rest.h"
#include "snap.h"
#include "twin.h"

void
plan_note(struct plan *p, const char *fmt, ...)
{
	char	line[1024];
	va_list	ap;

	if (p->nnotes == LIMIT_NOTES)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (p->nnotes == LIMIT_NOTES - 1)
		snprintf(line, sizeof(line), "and more like these");
	if ((p->notes[p->nnotes] = strdup(line)) != NULL)
		p->nnotes++;
}

const struct place *
plan_find(const struct plan *p, const char *path)
{
	size_t	i;

	for (i = 0; i < p->n; i++)
		if (strcmp(p->v[i].path, path) == 0)
			return (&p->v[i]);
	return (NULL);
}

const struct place *
plan_over(const struct plan *p, const char *path)
{
	const struct place	*in = NULL;
	size_t			 i;

	for (i = 0; i < p->n; i++)
		if (path_within(p->v[i].path, path) && (in == NULL ||
		    strlen(in->path) < strlen(p->v[i].path)))
			in = &p->v[i];
	return (in);
}

int
plan_add(struct plan *p, const char *path, enum place_kind kind, int fd,
    bool dir)
{
	struct place	*v;

	if ((v = reallocarray(p->v, p->n + 1, sizeof(*v))) == NULL)
		goto fail;
	p->v = v;
	v += p->n;
	memset(v, 0, sizeof(*v));
	v->kind = kind;
	v->fd = fd;
	v->dir = dir;
	if ((v->path = strdup(path)) == NULL)
		goto fail;
	p->n++;
	return (0);
fail:
	close(fd);
	return (fault_errno("mount.failed", "the list of mounts"));
}

static bool
plan_owned(const struct want *w, const char *path)
{
	return (roots_over(&w->roots, path) != NULL ||
	    (w->home_own && path_within(w->home, path)));
}

bool
plan_holds(const struct want *w, const char *path)
{
	size_t	i;

	for (i = 0; i < w->roots.n; i++)
		if (path_within(path, w->roots.v[i]))
			return (true);
	return (path_within(path, w->home));
}

/*
 * Could the session's user ever get there? Only a clear no counts: its groups
 * are not known here, and an access list shows in the group's bits.
 */
static bool
plan_enters(const struct want *w, const char *path)
{
	char		 part[PATH_MAX];
	const char	*p = path;
	struct statx	 sx;

	if (w->uid == 0 && !mode_user())
		return (true);
	do {
		p += *p == '/';
		p += strcspn(p, "/");
		memcpy(part, path, (size_t)(p - path));
		part[p - path] = '\0';
		if (statx(mountd.root, part + 1, AT_SYMLINK_NOFOLLOW |
		    AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE |
		    STATX_MODE | STATX_UID, &sx) == -1)
			return (false);
		if (S_ISDIR(sx.stx_mode) && sx.stx_uid != w->uid &&
		    (sx.stx_mode & 0011) == 0)
			return (false);
	} while (*p != '\0');
	return (true);
}

/* Under what was decided already: an entry of the plan above this one. */
static bool
plan_under(const struct plan *p, const char *path, enum place_kind kind)
{
	size_t	i;

	for (i = 0; i < p->n; i++)
		if (p->v[i].kind == kind && path_within(p->v[i].path, path))
			return (true);
	return (false);
}

/*
 * Whoever is behind a remote filesystem has a second to say something: asked
 * by a process that may be left hanging, so that it is only left out.
 */
static bool
plan_answers(int fd)
{
	struct pollfd	pfd = { .events = POLLIN };
	struct statx	sx;
	pid_t		pid;
	int		p[2], r;
	char		c = 'y';

	if (pipe2(p, O_CLOEXEC) == -1)
		return (false);
	if ((pid = fork()) == 0) {
		/* It may outlive us, and must hold neither a mount of the
		 * session's nor its lock. */
		int	keep[] = { fd, p[1] };

		fds_keep(keep, 2);
		if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC,
		    STATX_BASIC_STATS, &sx) == 0)
			(void)!write(p[1], &c, 1);
		_exit(0);
	}
	close(p[1]);
	pfd.fd = p[0];
	r = pid != -1 && poll(&pfd, 1, 1000) == 1 && read(p[0], &c, 1) == 1;
	close(p[0]);
	if (pid != -1) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, WNOHANG);
	}
	return (r);
}

/* What a mount is in a user's suite, where all of it is there already,
 * read-only: PLACE_CLONE, where nothing can lie over it. Below the project's
 * layer nothing is. */
static enum place_kind
plan_rest(struct plan *p, const struct build *b, const char *path,
    enum place_kind kind, int fd, bool below)
{
	const char	*in = rest_mounted(b, path);

	if (kind != PLACE_OVERLAY && kind != PLACE_READ)
		return (below ? kind : PLACE_CLONE);
	if (in != NULL)
		plan_note(p, "%s: read-only in the session, as %s is mounted "
		    "in it", shown(path), shown(in));
	else if (kind == PLACE_READ)
		return (PLACE_REST);
	return (rest_kind(b, path, fd));
}

static int
plan_mount(struct plan *p, const struct build *b, const struct want *w,
    const struct mnt *m)
{
	enum place_kind	kind;
	struct statx	sx;
	bool		plain, said;
	bool		below = roots_over(&w->roots, m->point) != NULL;
	int		fd;

	if (m->covered || m->point[1] == '\0' ||
	    hides_over(&b->hides, m->point) != NULL ||
	    plan_find(p, m->point) != NULL ||
	    (fresh_over(m->point) != NULL && !plan_owned(w, m->point)) ||
	    plan_under(p, m->point, PLACE_COVER) || !plan_enters(w, m->point))
		return (0);
	/* Not by way of autofs: looking would mount. */
	fd = fs_openat2(mountd.root, m->point + 1, O_PATH | O_NOFOLLOW,
	    FS_PLAIN);
	if (fd == -1 || statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
	    STATX_TYPE, &sx) == -1) {
		if (fd != -1)
			close(fd);
		plan_note(p, "%s: not shown: %s", shown(m->point),
		    strerror(errno));
		return (0);
	}
	kind = kind_of_mount(m, sx.stx_mode, &plain, &said);
	if (kind_is_remote(m) && !plan_answers(fd)) {
		kind = PLACE_COVER;
		said = true;
	}
	if (kind == PLACE_OVERLAY && plan_under(p, m->point, PLACE_READ))
		kind = PLACE_READ;
	if (kind == PLACE_COVER && plan_holds(w, m->point)) {
		/* Home or a root is in there and will be attached: then
		 * what lies below the mount stands for it. */
		close(fd);
		return (0);
	}
	if (mode_user() && kind != PLACE_COVER &&
	    (kind = plan_rest(p, b, m->point, kind, fd, below)) ==
	    PLACE_CLONE && !below) {
		close(fd);
		return (0);
	}
	if (said && kind == PLACE_COVER)
		plan_note(p, "%s: a filesystem of type %s is not shown, only "
		    "an empty folder", shown(m->point), shown(m->type));
	else if (said)
		plan_note(p, "%s: a filesystem of type %s is read-only in "
		    "the session", shown(m->point), shown(m->type));
	if (plan_add(p, m->point, kind, fd, S_ISDIR(sx.stx_mode)) == -1)
		return (-1);
	p->v[p->n - 1].plain = plain;
	p->v[p->n - 1].below = below;
	return (0);
}

static int
plan_ro(struct plan *p, const struct build *b, const struct want *w,
    const char *path, int fd)
{
	const char	*why = NULL, *fresh = fresh_over(path);
	struct stat	 st;
	int		 copy;

	if (plan_holds(w, path))
		why = "it is, or contains, home or the project";
	else if (hides_over(&b->hides, path) != NULL)
		why = "it is hidden";
	else if (fresh != NULL && !plan_owned(w, path) &&
	    strcmp(fresh, "/run") != 0 && strcmp(fresh, "/tmp") != 0)
		why = "a session has its own folder there";
	else if (fstat(fd, &st) == -1 ||
	    (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
		why = "it is no folder and no regular file";
	if (why != NULL) {
		plan_note(p, "read-only path %s is ignored: %s", shown(path),
		    why);
		return (0);
	}
	if (plan_find(p, path) != NULL)
		return (0);
	if ((copy = fcntl(fd, F_DUPFD_CLOEXEC, 0)) == -1)
		return (fault_errno("mount.failed", "the list of mounts"));
	return (plan_add(p, path, S_ISDIR(st.st_mode) ? PLACE_READ :
	    PLACE_FILE, copy, S_ISDIR(st.st_mode)));
}

static void
plan_snap(struct plan *p, const struct build *b, const char *root)
{
	const struct snapped	*snap = snap_of(b, root);
	const char		*in = rest_mounted(b, root);

	if (snap == NULL)
		return;
	plan_note(p, "project %s: as %s is mounted in it, the session works "
	    "on a copy that is made when it starts: what is changed outside "
	    "meanwhile shows at its next start", shown(root),
	    in != NULL ? shown(in) : "a filesystem");
	if (snap->lost > 0)
		plan_note(p, "project %s: %zu of its files are empty or "
		    "missing in the session's copy: they are devices, or not "
		    "this user's to read", shown(root), snap->lost);
}

static int
plan_root(struct plan *p, const struct build *b, const char *root, int from)
{
	int	fd;

	plan_snap(p, b, root);
	if ((fd = fcntl(from, F_DUPFD_CLOEXEC, 0)) == -1)
		return (fault_errno("mount.failed", "the list of mounts"));
	return (plan_add(p, root, PLACE_PROJECT, fd, true));
}

static int
plan_own(struct plan *p, const struct build *b, const struct want *w)
{
	const char	*in;
	size_t		 i;
	int		 fd;

	for (i = 0; i < w->roots.n; i++)
		if (plan_root(p, b, w->roots.v[i], w->root_fd[i]) == -1)
			return (-1);
	if (!w->home_own)
		return (0);
	if (mode_user() && (in = rest_mounted(b, w->home)) != NULL)
		return (rest_home(p, b, w->home, in));
	if ((fd = fcntl(w->home_fd, F_DUPFD_CLOEXEC, 0)) == -1)
		return (fault_errno("mount.failed", "the list of mounts"));
	return (plan_add(p, w->home, PLACE_HOME, fd, true));
}

static int
place_compare(const void *a, const void *b)
{
	const struct place	*pa = a, *pb = b;

	return (path_order(pa->path, pb->path));
}

int
plan_make(struct plan *p, const struct build *b, const struct want *w)
{
	size_t	i;

	memset(p, 0, sizeof(*p));
	if (plan_own(p, b, w) == -1)
		return (-1);
	for (i = 0; i < w->ro->n; i++)
		if (w->ro_fd[i] != -1 &&
		    plan_ro(p, b, w, w->ro->v[i], w->ro_fd[i]) == -1)
			return (-1);
	/* mountinfo lists a mount after the one that it lies on. */
	for (i = 0; i < b->mnts.n; i++)
		if (plan_mount(p, b, w, &b->mnts.v[i]) == -1)
			return (-1);
	if (mode_user() && (rest_plan(p, b) == -1 || twins_plan(p, b) == -1))
		return (-1);
	qsort(p->v, p->n, sizeof(*p->v), place_compare);
	return (0);
}

void
plan_free(struct plan *p)
{
	size_t	i;

	for (i = 0; i < p->n; i++) {
		close(p->v[i].fd);
		free(p->v[i].path);
	}
	for (i = 0; i < p->nnotes; i++)
		free(p->notes[i]);
	free(p->missing);
	free(p->v);
	memset(p, 0, sizeof(*p));
}
