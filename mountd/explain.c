#include <sys/stat.h>
#include <sys/xattr.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/ids.h"
#include "../common/path.h"
#include "../privsep/mode.h"
#include "attr.h"
#include "explain.h"
#include "fault.h"
#include "fresh.h"
#include "fs.h"
#include "mountd.h"
#include "session.h"
#include "sockets.h"
#include "xattr.h"

int
explain_say(struct explain *e, const char *state, const char *rule,
    const char *of, const char *mechanism)
{
	e->state = state;
	e->rule = rule;
	strlcpy(e->of, of != NULL ? of : "", sizeof(e->of));
	strlcpy(e->mechanism, mechanism, sizeof(e->mechanism));
	return (0);
}

/* From the root again, along this path. -1: it is too long to be opened. */
static int
walk_again(struct explain *e, const char *dir, const char *text,
    const char *rest)
{
	char		path[sizeof(e->rest)];
	struct spot	root;

	if (snprintf(path, sizeof(path), "%s/%s/%s", dir, text, rest) >=
	    (int)sizeof(path)) {
		explain_say(e, "missing", "filesystem", NULL,
		    "the path is too long");
		return (-1);
	}
	strlcpy(e->rest, path, sizeof(e->rest));
	if (place_enter(e, NULL, &root) != 1) {
		fault("explain.failed", "the root's overlay");
		return (-1);
	}
	spot_close(&e->at);
	e->at = root;
	return (0);
}

static int
walk_up(struct explain *e, const char *rest)
{
	char	dir[PATH_MAX], *slash;

	strlcpy(dir, e->at.path, sizeof(dir));
	if ((slash = strrchr(dir, '/')) != NULL)
		*slash = '\0';
	return (walk_again(e, dir, "", rest));
}

static int
walk_link(struct explain *e, int fd, const char *rest)
{
	char	text[PATH_MAX];
	ssize_t	len;

	if (++e->links > EXPLAIN_LINKS) {
		explain_say(e, "missing", "filesystem", NULL,
		    "too many links, or a link to itself");
		return (-1);
	}
	if ((len = readlinkat(fd, "", text, sizeof(text) - 1)) == -1)
		return (fault_errno("explain.failed", "a link"));
	text[len] = '\0';
	return (walk_again(e, text[0] == '/' ? "" : e->at.path, text, rest));
}

static int
say_hidden(struct explain *e, const struct hidden *h)
{
	if (h->gone)
		return (explain_say(e, "hidden", "state", h->path, "the "
		    "suite's state: a whiteout in the mask, nothing is "
		    "there"));
	return (explain_say(e, "hidden", "hide", h->path, "a stand-in in the "
	    "mask below the layer, and a read-only face on it"));
}

/* Of the machine's /sys what is mounted in it is not there. */
static int
say_sys(struct explain *e, const char *path)
{
	const char	*over;
	struct stat	 st;
	int		 fd;

	if ((over = sys_over(path)) != NULL)
		return (explain_say(e, "covered", "fresh", over,
		    "an empty folder"));
	fd = fs_openat2(mountd.root, path + 1, O_PATH | O_NOFOLLOW,
	    FS_PLAIN | RESOLVE_BENEATH);
	if (fd == -1 || fstat(fd, &st) == -1) {
		if (fd != -1)
			close(fd);
		return (explain_say(e, "missing", "fresh", "/sys",
		    "the machine's sysfs, read-only"));
	}
	close(fd);
	return (explain_say(e, "read-only", "fresh", "/sys",
	    "the machine's sysfs, read-only, without what is mounted in it"));
}

/* No session can add to it, so that what it has is known. */
static int
say_dev(struct explain *e, const char *path)
{
	static const char	dev[] = "/dev";

	switch (dev_kind(path_below(dev, path))) {
	case DEV_NODE:
		return (explain_say(e, "device", "fresh", dev, "the machine's "
		    "own, which every session has"));
	case DEV_NONE:
		return (explain_say(e, "missing", "fresh", dev, "of the "
		    "machine's devices a session has null, zero, full, random, "
		    "urandom and tty"));
	case DEV_OWN:
		break;
	}
	return (explain_say(e, "own", "fresh", dev, "terminals, shared memory "
	    "and links of the session's own, and a few of the machine's "
	    "devices"));
}

static int
say_fresh(struct explain *e, const char *path)
{
	const char	*fresh = fresh_over(path);

	if (strcmp(fresh, "/dev") == 0)
		return (say_dev(e, path));
	if (strcmp(fresh, "/sys") == 0)
		return (say_sys(e, path));
	if (e->resolver[0] != '\0' && strcmp(path, e->resolver) == 0)
		return (explain_say(e, "read-only", "fresh", "/run", "the "
		    "machine's own file, since /etc/resolv.conf leads to it"));
	return (explain_say(e, "own", "fresh", fresh, strcmp(fresh, "/proc") ==
	    0 ? "proc of the session's own processes" : "a filesystem in "
	    "memory of the session's own: what the machine has there is not "
	    "in it"));
}

static int
say_denied(struct explain *e, const char *path, bool folder)
{
	return (explain_say(e, "denied", "permissions", path, folder ?
	    "the session's user may not search this folder" :
	    "the session's user may not read it"));
}

/* The stand-in of something hidden, in a folder that has been moved. */
static bool
found_is_stand_in(const struct found *f, char *of)
{
	ssize_t	len;

	if (f->top != -1 || f->low == -1)
		return (false);
	len = getxattr(fdpath(f->low).s, xattr_name(XATTR_HIDDEN), of,
	    PATH_MAX - 1);
	if (len <= 0)
		return (false);
	of[len] = '\0';
	return (true);
}

/* Where the walk ends. low: of the host's side at the same path. */
static int
say_there(struct explain *e, int top, int low, bool dir, bool moved)
{
	const struct place	*p = e->at.place;
	const char		*of, *rule = place_rule(e, p, &of);
	char			 how[128];
	struct stat		 st;
	int			 fd = top != -1 ? top : low;

	if (!access_may(fd, &e->user, ACCESS_READ))
		return (say_denied(e, e->target, false));
	if (fstat(fd, &st) == 0 && (S_ISCHR(st.st_mode) ||
	    S_ISBLK(st.st_mode)))
		return (explain_say(e, "denied", rule, of,
		    "a device: none but those of /dev can be opened"));
	if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    sockets_covered(&e->plan, e->target))
		return (explain_say(e, "covered", rule, of,
		    "a socket of the machine's: an empty file"));
	place_mechanism(e, p, how, sizeof(how));
	if (place_is_read_only(p))
		return (explain_say(e, "read-only", rule, of, how));
	if (moved)
		return (explain_say(e, "layer", rule, of, "the layer moved "
		    "here what is the real one's, or the layer's own"));
	/* A folder that only the layer has; a file of the layer's. */
	if (top != -1 && (!dir || low == -1))
		return (explain_say(e, "layer", rule, of, how));
	return (explain_say(e, "shown", rule, of, how));
}

static int
say_missing(struct explain *e, const char *why)
{
	const char	*of, *rule = place_rule(e, e->at.place, &of);

	return (explain_say(e, "missing", rule, of, why));
}

/* Into another mount. 1: go on; 0: the walk is over; -1. */
static int
walk_mount(struct explain *e, const struct place *p, bool last)
{
	struct spot	s;
	int		r;

	if ((r = place_enter(e, p, &s)) == -1)
		return (-1);
	spot_close(&e->at);
	e->at = s;
	if (r == 0) {
		explain_say(e, last ? "covered" : "missing", "filesystem",
		    p->path, "a filesystem that is not shown: an empty "
		    "folder or file");
		return (0);
	}
	if (last)
		return (say_there(e, s.top, s.low, p->dir, false));
	if (p->dir)
		return (1);
	say_missing(e, "a part of the path is no folder");
	return (0);
}

/* One name in a folder of a place. */
static int
walk_name(struct explain *e, const char *name, const char *next,
    const char *rest)
{
	struct found	f;
	char		of[PATH_MAX];
	bool		last = *rest == '\0';
	int		r = 1;

	if (found_at(&e->at, name, &f) == -1)
		return (fault_errno("explain.failed", "%s", shown(next)));
	if (!f.is && place_below(e, next)) {
		/* Made for what is mounted in it. */
		spot_leave(&e->at);
		strlcpy(e->at.path, next, sizeof(e->at.path));
		return (last ? explain_say(e, "own", "filesystem", next, "a "
		    "folder made for what is mounted in it") : 1);
	}
	if (!f.is)
		return (say_missing(e, "nothing is there"));
	if (f.link) {
		r = walk_link(e, f.top != -1 ? f.top : f.low, rest) == -1 ?
		    (fault_is() ? -1 : 0) : 1;
		found_close(&f);
		return (r);
	}
	if (found_is_stand_in(&f, of))
		r = explain_say(e, "hidden", "hide", of, "a stand-in in the "
		    "mask below the layer: what it was in has been moved");
	else if (last)
		r = say_there(e, f.top, f.low, f.dir, f.moved);
	else if (!f.dir)
		r = say_missing(e, "a part of the path is no folder");
	if (r != 1) {
		found_close(&f);
		return (r);
	}
	spot_leave(&e->at);
	e->at.top = f.top;
	e->at.low = f.low;
	e->at.moved = f.moved;
	strlcpy(e->at.path, next, sizeof(e->at.path));
	return (1);
}

/* A folder that is only there for a mount in it lets everybody through. */
static bool
spot_is_searched(const struct explain *e)
{
	int	fd = e->at.top != -1 ? e->at.top : e->at.low;

	return (e->at.fresh || fd == -1 ||
	    access_may(fd, &e->user, ACCESS_SEARCH));
}

/* One part of the path. 1: go on, 0: the answer is there, -1: fault. */
static int
walk_part(struct explain *e, const char *part, const char *rest)
{
	const struct hidden	*h;
	const struct place	*p;
	char			 next[PATH_MAX];

	if (strcmp(part, ".") == 0)
		return (1);
	if (strcmp(part, "..") == 0)
		return (walk_up(e, rest) == -1 ? (fault_is() ? -1 : 0) : 1);
	if (snprintf(next, sizeof(next), "%s/%s", e->at.path, part) >=
	    (int)sizeof(next))
		return (say_missing(e, "the path is too long"));
	strlcpy(e->target, next, sizeof(e->target));
	if ((h = hides_over(&e->b.hides, next)) != NULL)
		return (say_hidden(e, h));
	if (!spot_is_searched(e))
		return (say_denied(e, *e->at.path != '\0' ? e->at.path : "/",
		    true));
	if ((p = place_at(e, next)) != NULL)
		return (walk_mount(e, p, *rest == '\0'));
	/* Project, home and read-only paths may lie in a fresh folder, and
	 * over it. */
	if (e->at.fresh || (e->at.place == NULL && fresh_over(next) != NULL)) {
		/* Not looked at, but for what is mounted in it. */
		if (*rest == '\0')
			return (say_fresh(e, next));
		spot_leave(&e->at);
		e->at.fresh = true;
		strlcpy(e->at.path, next, sizeof(e->at.path));
		return (1);
	}
	return (walk_name(e, part, next, rest));
}

static int
walk(struct explain *e)
{
	char		 part[PATH_MAX], rest[sizeof(e->rest)];
	const char	*p;
	size_t		 len;
	int		 more = 1;

	if (walk_again(e, "", "", e->m->path) == -1)
		return (fault_is() ? -1 : 0);
	while (more == 1) {
		p = e->rest + strspn(e->rest, "/");
		len = strcspn(p, "/");
		if (len == 0) {
			strlcpy(e->target, *e->at.path != '\0' ? e->at.path :
			    "/", sizeof(e->target));
			return (e->at.fresh ? say_fresh(e, e->at.path) :
			    say_there(e, e->at.top, e->at.low, true,
			    e->at.moved));
		}
		if (len > NAME_MAX)
			return (say_missing(e, "a name is too long"));
		memcpy(part, p, len);
		part[len] = '\0';
		p += len + strspn(p + len, "/");
		strlcpy(rest, p, sizeof(rest));
		strlcpy(e->rest, rest, sizeof(e->rest));
		more = walk_part(e, part, rest);
	}
	return (more);
}

/* As the user could: what a folder that is closed to that one holds is no
 * matter of ours to tell. -1 errno. */
static int
explain_open(const struct explain *e, const char *path, int flags)
{
	char		 part[PATH_MAX];
	const char	*p;
	bool		 may;
	int		 fd;

	for (p = path; (p = strchr(p, '/')) != NULL; p++) {
		memcpy(part, path, (size_t)(p - path));
		part[p - path] = '\0';
		fd = fs_openat2(mountd.root, p == path ? "." : part + 1,
		    O_PATH | O_DIRECTORY, FS_PLAIN);
		if (fd == -1)
			return (-1);
		may = access_may(fd, &e->user, ACCESS_SEARCH);
		close(fd);
		if (!may) {
			errno = EACCES;
			return (-1);
		}
	}
	return (fs_openat2(mountd.root, path[1] == '\0' ? "." : path + 1,
	    O_PATH | flags, FS_PLAIN));
}

static int
explain_ro(struct explain *e)
{
	const struct strv	*ro = &e->m->ro;
	size_t			 i;

	if ((e->ro = calloc(ro->n + 1, sizeof(*e->ro))) == NULL)
		return (fault_errno("explain.failed", "read-only paths"));
	e->w.ro = ro;
	e->w.ro_fd = e->ro;
	for (i = 0; i < ro->n; i++) {
		e->ro[i] = -1;
		if (!path_is_canonical(ro->v[i]))
			return (fault("mount.ro", "read-only path %s: an "
			    "absolute path without \".\" and \"..\" is "
			    "needed", shown(ro->v[i])));
		/* What cannot be got at is as if it were missing. */
		e->ro[i] = explain_open(e, ro->v[i], O_NOFOLLOW);
	}
	return (0);
}

static int
explain_folder(const struct explain *e, const char *what, const char *path)
{
	int	fd;

	if (!path_is_canonical(path))
		return (fault("mount.project", "%s %s: an absolute path "
		    "without \".\" and \"..\" is needed", what, shown(path)));
	fd = explain_open(e, path, O_DIRECTORY);
	return (fd != -1 ? fd : fault_errno("mount.project", "%s %s", what,
	    shown(path)));
}

/* The same wants as PREP would make of it. */
static int
explain_want(struct explain *e)
{
	const struct m_EXPLAIN	*m = e->m;
	struct want		*w = &e->w;
	const struct hidden	*h = NULL;
	size_t			 i;

	if (!roots_set(&w->roots, m->project, &m->more))
		return (fault("explain.invalid", "more than %d folders",
		    LIMIT_ROOTS));
	w->home = m->home;
	w->uid = mode_uid(m->uid);
	w->gid = mode_gid(m->gid);
	for (i = 0; i < w->roots.n; i++) {
		w->root_fd[i] = explain_folder(e, "project",
		    w->roots.v[i]);
		if (w->root_fd[i] == -1)
			return (-1);
		if (h == NULL)
			h = hides_over(&e->b.hides, w->roots.v[i]);
	}
	if ((w->home_fd = explain_folder(e, "home", m->home)) == -1 ||
	    explain_ro(e) == -1)
		return (-1);
	w->home_own = strcmp(m->home, "/") != 0 &&
	    roots_over(&w->roots, m->home) == NULL;
	if (h != NULL || (h = hides_over(&e->b.hides, m->home)) != NULL)
		return (fault("mount.hide", "hide %s: it is, or contains, "
		    "home or the project: hide something in there",
		    shown(h->path)));
	return (0);
}

static void
explain_resolver(struct explain *e)
{
	struct resolved	r;

	if (resolve("/etc/resolv.conf", &r, NULL) == 0 && r.exists && !r.dir &&
	    path_within("/run", r.target))
		strlcpy(e->resolver, r.target, sizeof(e->resolver));
}

static int
explain_begin(struct explain *e)
{
	const struct m_EXPLAIN	*m = e->m;

	e->user = (struct user){
		mode_uid(m->uid), mode_gid(m->gid), m->groups
	};
	e->store = -1;
	strlcpy(e->target, "/", sizeof(e->target));
	e->at = (struct spot){ .top = -1, .low = -1, .root = -1 };
	if (m->project == NULL || m->home == NULL || m->path[0] != '/' ||
	    m->uid >= UINT32_MAX || m->uid == UID_NOROLE ||
	    e->user.uid == (uid_t)-1)
		return (fault("explain.invalid", "a path, a user and two "
		    "folders are needed"));
	if (build_begin(&e->b, &m->hide, m->byroot ? NULL : &e->user) == -1 ||
	    explain_want(e) == -1 ||
	    plan_make(&e->plan, &e->b, &e->w) == -1)
		return (-1);
	explain_resolver(e);
	if (m->session == NULL)
		return (0);
	if (!sid_valid(m->session))
		return (fault("mount.session", "no session has such an id"));
	e->store = openat(mountd.store, m->session,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return (e->store != -1 ? 0 : fault_errno("mount.layer",
	    "the layer of session %s", m->session));
}

int
explain_run(struct child *c)
{
	static struct explain	e;
	struct m_EXPLAINED	out;

	e.m = c->body;
	if (explain_begin(&e) == -1 || walk(&e) == -1)
		return (-1);
	out = (struct m_EXPLAINED){
		.path = e.m->path, .target = e.target, .state = e.state,
		.rule = e.rule, .of = e.of[0] != '\0' ? e.of : NULL,
		.mechanism = e.mechanism
	};
	child_send(c, MSG_EXPLAINED, -1, &out);
	child_send(c, MSG_END, -1, NULL);
	return (0);
}
