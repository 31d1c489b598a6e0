/*
 * PREP: the whole tree of a session, and what init opened beside what we did.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/ids.h"
#include "../common/path.h"
#include "../privsep/mode.h"
#include "clean.h"
#include "early.h"
#include "fault.h"
#include "fresh.h"
#include "fs.h"
#include "mountd.h"
#include "pending.h"
#include "probe.h"
#include "session.h"
#include "snap.h"

#define PREP_WAIT	8000	/* ms, for each descriptor of init's */

struct prep {
	struct child	*c;
	const struct m_PREP *m;
	struct want	 w;
	struct tree	 t;
	int		*ro;		/* opened by us */
	/* As init opened them, with the user's rights. */
	int		 pidns, home, root[LIMIT_ROOTS];
	int		*init_ro;
	bool		 seen;		/* compared with ours */
};

static int
prep_uid(const struct m_PREP *m)
{
	size_t	i;

	if (m->uid >= UINT32_MAX || m->gid >= UINT32_MAX ||
	    m->uid == UID_NOROLE)
		return (fault("mount.uid", "uid %llu, gid %llu: no user that "
		    "a session can run as", (unsigned long long)m->uid,
		    (unsigned long long)m->gid));
	if (mode_user())
		return (mode_uid(m->uid) == 0 ? 0 : fault("mount.uid", "uid "
		    "%llu is not the suite's owner", (unsigned long long)
		    m->uid));
	for (i = 0; i < UID_COUNT; i++)
		if (m->uid == mountd.uids[i])
			return (fault("mount.uid", "uid %llu is the suite's "
			    "own", (unsigned long long)m->uid));
	return (0);
}

/* Puts one descriptor of init's, or spawn's, where it belongs. */
static int
prep_take(struct prep *p, struct msg *msg)
{
	const struct m_SFD	*m = msg->body;
	int			*to = NULL;

	if (strcmp(m->kind, "pidns") == 0 && m->n == 0)
		to = &p->pidns;
	else if (strcmp(m->kind, "home") == 0 && m->n == 0)
		to = &p->home;
	else if (strcmp(m->kind, "project") == 0 && m->n < p->w.roots.n)
		to = &p->root[m->n];
	else if (strcmp(m->kind, "ro") == 0 && m->n < p->m->ro.n &&
	    p->root[0] == -1)
		to = &p->init_ro[m->n];
	if (to == NULL || *to != -1)
		return (fault("mount.descriptor", "a descriptor of kind "
		    "\"%s\", number %llu, is not due", shown(m->kind),
		    (unsigned long long)m->n));
	*to = msg_take_fd(msg);
	return (0);
}

/* Until that one is there. */
static int
prep_receive(struct prep *p, const int *fd)
{
	const char	*why = NULL;
	struct msg	 msg;
	int		 r;

	while (*fd == -1) {
		if ((r = imsg_recv(&p->c->ib, &msg, PREP_WAIT, &why)) == -1 &&
		    errno == ETIMEDOUT)
			return (fault("mount.timeout", "the session's first "
			    "process has not opened its folders in %d "
			    "seconds", PREP_WAIT / 1000));
		if (r != 1)
			_exit(1);	/* the parent has given up */
		r = prep_take(p, &msg);
		msg_free(&msg);
		if (r == -1)
			return (-1);
	}
	return (0);
}

/*
 * Before something is said that hangs on what lies at those paths: init, with
 * the user's rights, says itself what that one cannot open, and then nothing
 * of ours is told.
 */
static int
prep_judged(struct prep *p)
{
	size_t	i;

	if (prep_receive(p, &p->home) == -1)
		return (-1);
	for (i = 0; i < p->w.roots.n; i++)
		if (prep_receive(p, &p->root[i]) == -1)
			return (-1);
	return (0);
}

/* Opens one of the session's folders, or says why it cannot be one. */
static int
prep_folder(struct prep *p, const char *code, const char *what,
    const char *path)
{
	const char	*fresh = fresh_over(path);
	int		 fd, e;

	if (!path_is_canonical(path))
		return (fault(code, "%s %s: an absolute path without \".\" "
		    "and \"..\" is needed", what, shown(path)));
	if (path_within(mountd.state, path))
		return (fault(code, "%s %s lies in the suite's own state "
		    "folder %s: choose another folder", what, shown(path),
		    shown(mountd.state)));
	if (fresh != NULL && strcmp(fresh, "/run") != 0 &&
	    strcmp(fresh, "/tmp") != 0)
		return (fault(code, "%s %s: a session has a %s of its own: "
		    "choose another folder", what, shown(path), fresh));
	fd = fs_openat2(mountd.root, path[1] == '\0' ? "." : path + 1,
	    O_PATH | O_DIRECTORY, FS_PLAIN);
	if (fd != -1)
		return (fd);
	e = errno;
	if (prep_judged(p) == -1)
		return (-1);
	errno = e;
	return (fault_errno(code, "%s %s", what, shown(path)));
}

/* What was changed was changed in that folder, and lands there only. */
static int
prep_moved(struct prep *p, size_t root)
{
	const struct m_PREP	*m = p->m;
	struct stat		 st;

	if (!m->again)
		return (0);
	if (fstat(p->w.root_fd[root], &st) == -1)
		return (fault_errno("mount.project", "project %s",
		    shown(p->w.roots.v[root])));
	if (root < m->devs.n && root < m->inos.n &&
	    st.st_dev == m->devs.v[root] && st.st_ino == m->inos.v[root])
		return (0);
	if (prep_judged(p) == -1)
		return (-1);
	return (fault("project.moved", "project %s is another folder than the "
	    "one that this session was made on: put that one back there, or "
	    "start a new session", shown(p->w.roots.v[root])));
}

/* By whatever names: one folder has one layer, and lands once. */
static int
prep_twice(struct prep *p, size_t root)
{
	const struct roots	*r = &p->w.roots;
	size_t			 i;

	for (i = 0; i < root; i++)
		if (fs_same(p->w.root_fd[i], p->w.root_fd[root]))
			break;
	if (i == root)
		return (0);
	return (prep_judged(p) == -1 ? -1 : fault("mount.project", "%s and %s "
	    "are the same folder: leave one of them out", shown(r->v[i]),
	    shown(r->v[root])));
}

static int
prep_roots(struct prep *p)
{
	struct want	*w = &p->w;
	const char	*outer, *inner;
	size_t		 i;

	if (!roots_set(&w->roots, p->m->project, &p->m->more))
		return (fault("mount.project", "more than %d folders: leave "
		    "some out", LIMIT_ROOTS));
	if (roots_clash(&w->roots, &outer, &inner))
		return (fault("mount.project", "%s lies in %s: leave it out, "
		    "it is a part of that", shown(inner), shown(outer)));
	for (i = 0; i < w->roots.n; i++) {
		if (strcmp(w->roots.v[i], "/") == 0)
			return (fault("mount.project", "project /: the whole "
			    "machine is no project: choose a folder below "
			    "it"));
		if ((w->root_fd[i] = prep_folder(p, "mount.project", "project",
		    w->roots.v[i])) == -1 || prep_moved(p, i) == -1 ||
		    prep_twice(p, i) == -1)
			return (-1);
	}
	return (0);
}

/* A linked worktree's .git, or a submodule's: gitdir.c. */
static int
prep_git(struct prep *p)
{
	struct stat	st;
	size_t		i;

	for (i = 0; i < p->w.roots.n; i++)
		if (fstatat(p->w.root_fd[i], ".git", &st,
		    AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode))
			return (layer_set_git(p->c->s->store));
	return (0);
}

static int
prep_folders(struct prep *p)
{
	const struct m_PREP	*m = p->m;
	struct want		*w = &p->w;

	if (prep_roots(p) == -1 ||
	    (w->home_fd = prep_folder(p, "mount.home", "home",
	    m->home)) == -1)
		return (-1);
	w->home = m->home;
	w->uid = mode_uid(m->uid);
	w->gid = mode_gid(m->gid);
	w->argv = m->argv;
	w->home_own = strcmp(m->home, "/") != 0 &&
	    roots_over(&w->roots, m->home) == NULL;
	return (0);
}

static int
prep_hides(struct prep *p)
{
	const struct hidden	*h = NULL;
	const char		*path = NULL, *what = "the project";
	size_t			 i;

	for (i = 0; i < p->w.roots.n && h == NULL; i++) {
		path = p->w.roots.v[i];
		h = hides_over(&p->t.b.hides, path);
	}
	if (h == NULL) {
		path = p->m->home;
		what = "home";
		h = hides_over(&p->t.b.hides, path);
	}
	if (h == NULL)
		return (0);
	return (fault("mount.hide", "hide %s: it is, or contains, %s %s: hide "
	    "something in there", shown(h->path), what, shown(path)));
}

/* What the session calls read-only; what is not there is no concern. */
static int
prep_ro(struct prep *p)
{
	const struct strv	*ro = &p->m->ro;
	size_t			 i;

	p->w.ro = ro;
	if ((p->ro = calloc(ro->n + 1, sizeof(*p->ro))) == NULL ||
	    (p->init_ro = calloc(ro->n + 1, sizeof(*p->init_ro))) == NULL)
		return (fault_errno("mount.failed", "read-only paths"));
	p->w.ro_fd = p->ro;
	for (i = 0; i < ro->n; i++) {
		p->ro[i] = p->init_ro[i] = -1;
		if (!path_is_canonical(ro->v[i]))
			return (fault("mount.ro", "read-only path %s: an "
			    "absolute path without \".\" and \"..\" is "
			    "needed", shown(ro->v[i])));
		p->ro[i] = fs_openat2(mountd.root, ro->v[i][1] == '\0' ? "." :
		    ro->v[i] + 1, O_PATH | O_NOFOLLOW, FS_PLAIN);
	}
	return (0);
}

/*
 * The user's rights, not ours, decide what a session may be given: init
 * opened these with them. What is not the same folder was not opened.
 */
static int
prep_compare(struct prep *p)
{
	size_t	i;

	if (!fs_same(p->home, p->w.home_fd))
		return (fault("mount.identity", "home %s is not the folder "
		    "that the session's user opened", shown(p->m->home)));
	for (i = 0; i < p->w.roots.n; i++)
		if (!fs_same(p->root[i], p->w.root_fd[i]))
			return (fault("mount.identity", "project %s is not "
			    "the folder that the session's user opened",
			    shown(p->w.roots.v[i])));
	for (i = 0; i < p->m->ro.n; i++) {
		if (p->init_ro[i] == -1 && p->ro[i] != -1) {
			/* Not for this user's eyes: as if it were missing. */
			close(p->ro[i]);
			p->ro[i] = -1;
		} else if (p->init_ro[i] != -1 && (p->ro[i] == -1 ||
		    !fs_same(p->init_ro[i], p->ro[i])))
			return (fault("mount.identity", "read-only path %s is "
			    "not what the session's user opened",
			    shown(p->m->ro.v[i])));
	}
	return (0);
}

/* What init opened: nothing is read-only for it that it has not. */
static int
prep_opened(struct prep *p)
{
	if (p->seen)
		return (0);
	p->seen = true;
	return (prep_judged(p) == -1 ? -1 : prep_compare(p));
}

static void
prep_send_fd(struct prep *p, const char *kind, uint64_t n, int fd)
{
	struct m_SFD	m = {
		.session = p->m->session, .kind = kind, .n = n
	};

	child_send(p->c, MSG_SFD, fd, &m);
}

/* Which folders the roots are. */
static int
prep_facts(const struct prep *p, struct m_MOUNTED *m, uint64_t *devs,
    uint64_t *inos)
{
	struct stat	st;
	size_t		i;

	for (i = 0; i < p->w.roots.n; i++) {
		if (fstat(p->w.root_fd[i], &st) == -1)
			return (fault_errno("mount.project", "project %s",
			    shown(p->w.roots.v[i])));
		devs[i] = st.st_dev;
		inos[i] = st.st_ino;
	}
	m->devs = (struct u64v){ p->w.roots.n, devs };
	m->inos = (struct u64v){ p->w.roots.n, inos };
	return (0);
}

static void
prep_send_clones(struct prep *p)
{
	struct tree	*t = &p->t;
	size_t		 i;

	for (i = 0; i < CLONE_COUNT; i++) {
		if (t->clone[i][0] == -1)
			continue;
		prep_send_fd(p, clone_kind(i), clone_number(i, false),
		    t->clone[i][0]);
		prep_send_fd(p, clone_kind(i), clone_number(i, true),
		    t->clone[i][1]);
	}
	for (i = 0; i < t->nkept; i++)
		prep_send_fd(p, "layer", t->kept[i].n, t->kept[i].fd);
}

static int
prep_answer(struct prep *p)
{
	struct tree		*t = &p->t;
	struct m_MOUNTED	 m = { .session = p->m->session };
	uint64_t		 devs[LIMIT_ROOTS], inos[LIMIT_ROOTS];
	const char		**hide;
	size_t			 i;

	if (prep_facts(p, &m, devs, inos) == -1)
		return (-1);
	if (t->b.hides.n > LIMIT_PATHS ||
	    (hide = calloc(t->b.hides.n + 1, sizeof(*hide))) == NULL)
		return (fault("mount.failed", "too many hidden paths"));
	for (i = 0; i < t->b.hides.n; i++)
		if (!t->b.hides.v[i].gone)
			hide[m.hide.n++] = t->b.hides.v[i].path;
	m.hide.v = hide;
	m.notes.n = t->plan.nnotes;
	m.notes.v = (const char **)(uintptr_t)t->plan.notes;
	m.missing.n = t->plan.missing != NULL;
	m.missing.v = (const char **)(uintptr_t)&t->plan.missing;
	prep_send_fd(p, "tree", 0, t->root);
	prep_send_clones(p);
	child_send(p->c, MSG_MOUNTED, -1, &m);
	free(hide);
	return (0);
}

/* What each root stands on where nothing can lie over it. */
static int
prep_snaps(struct prep *p)
{
	const struct want	*w = &p->w;
	size_t			 i;

	for (i = 0; i < w->roots.n; i++)
		if (snap_begin(&p->t.b, p->c->s->store, w->roots.v[i],
		    w->root_fd[i]) == -1)
			return (-1);
	return (0);
}

static int
prep_store(struct prep *p)
{
	const struct session	*s = p->c->s;
	int			 used;

	if (mountd.unfit != NULL)
		return (fault("mount.state", "%s", mountd.unfit));
	p->t.store = s->store;
	if (!s->fresh && !s->settled) {
		if ((used = layer_in_use(s->store)) == -1)
			return (-1);
		if (used)
			return (fault("mount.busy", "the session's layer is "
			    "mounted by an earlier run that has not ended: "
			    "end its processes"));
	}
	if (stage_make(s->store, p->w.uid, p->w.gid) == -1 ||
	    layer_set_project(s->store, p->m->project) == -1 ||
	    prep_git(p) == -1 || prep_snaps(p) == -1)
		return (-1);
	return (s->fresh || (aside_mend(s->store) == 0 &&
	    pending_run(s->store, &p->t.b) == 0) ? 0 : -1);
}

/* What was made beforehand, if it is as it would be made now. */
static int
prep_build(struct prep *p)
{
	struct child	*c = p->c;

	if (c->early != NULL && c->s->fresh && p->m->hide.n == 0 &&
	    early_fits(c->early)) {
		p->t.early = c->early;
		p->t.b = c->early->b;
	} else {
		if (c->early != NULL)
			early_drop(c->early);
		if (build_begin(&p->t.b, &p->m->hide, child_user(c)) == -1)
			return (-1);
	}
	p->t.b.user = child_user(c);
	p->t.b.steady = &p->w.roots;
	return (0);
}

int
prep_run(struct child *c)
{
	static struct fresh fresh;
	struct prep	p = {
		.c = c, .m = c->body, .pidns = -1, .home = -1
	};
	size_t		i;

	for (i = 0; i < LIMIT_ROOTS; i++)
		p.root[i] = -1;
	/* Init's descriptors, of which those of read-only paths come first,
	 * may be waited for as soon as a folder is looked at. */
	if (prep_uid(p.m) == -1 || prep_ro(&p) == -1 ||
	    prep_folders(&p) == -1 || prep_build(&p) == -1 ||
	    prep_hides(&p) == -1 || prep_store(&p) == -1)
		return (-1);
	/*
	 * Everything is made while init is still on its way; only where a
	 * path is read-only does the plan hang on what it opened.
	 */
	if (p.m->ro.n > 0 && prep_opened(&p) == -1)
		return (-1);
	if (c->fresh == NULL) {
		if (fresh_make(&fresh) == -1)
			return (-1);
		c->fresh = &fresh;
	}
	if (tree_make(&p.t, &p.w, c->fresh) == -1) {
		(void)probe_blame();
		(void)prep_judged(&p);
		return (-1);
	}
	if (prep_receive(&p, &p.pidns) == -1 ||
	    pidns_check(p.pidns) == -1 ||
	    tree_finish(&p.t, p.pidns, p.w.uid) == -1 ||
	    prep_opened(&p) == -1)
		return (-1);
	return (prep_answer(&p));
}
