/*
 * land: walks, diffs, stages, writes, as the session's user, shut into the
 * project, the session's view of it and a staging folder. Executed by spawn
 * on landd's word; fd 3 is landd.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/capability.h>
#include <linux/openat2.h>

#include "../common/fields.h"
#include "../common/log.h"
#include "../common/origins.h"
#include "../privsep/drop.h"
#include "../privsep/mode.h"
#include "../privsep/pledge.h"
#include "../privsep/proc.h"
#include "../privsep/unveil.h"
#include "land.h"
#include "plan.h"

#define LAND_NOFILE	256
#define LAND_AS		(1UL << 30)
#define LAND_CPU	600		/* seconds, a whole job */
#define NSEC		UINT64_C(1000000000)

static bool
work_is(const struct land *l, const char *what)
{
	return (strcmp(l->work->what, what) == 0);
}

/* Of the session's changes nothing is looked at. */
static bool
work_is_blind(const struct land *l)
{
	return (work_is(l, "recover") || work_is(l, "forget"));
}

/* spawn has dropped everything before it executed us: looked at, not
 * believed, since uid 0 without this would be root again. */
static void
land_powerless(void)
{
	struct __user_cap_header_struct	hdr = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct	data[2];
	int				c;

	if (syscall(SYS_capget, &hdr, data) == -1)
		fatal("capget");
	if ((data[0].effective | data[0].permitted | data[0].inheritable |
	    data[1].effective | data[1].permitted | data[1].inheritable) != 0)
		fatalx("started with capabilities: this is for spawn to do");
	/* An ordinary user's process has no way to empty that one. */
	for (c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) != -1 &&
	    !mode_user_by(PROC_FD); c++)
		if (prctl(PR_CAPBSET_READ, c, 0, 0, 0) != 0)
			fatalx("started with capability %d in its bounding "
			    "set: this is for spawn to do", c);
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		fatalx("started without no_new_privs: this is for spawn to do");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		fatal("PR_SET_DUMPABLE");
}

static void
land_limits(void)
{
	struct rlimit	cpu = { LAND_CPU, LAND_CPU };

	drop_limits(LAND_NOFILE, LAND_AS);
	if (setrlimit(RLIMIT_CPU, &cpu) == -1)
		fatal("RLIMIT_CPU");
}

/*
 * The project by its recorded path, with the user's own rights and through
 * no link; it must be the folder that it was.
 */
static void
land_project(struct land *l)
{
	const struct m_WORK	*w = l->work;
	struct open_how		 how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
	};
	bool			 forget = work_is(l, "forget");
	/* Once it is forgotten putting it back helps nobody. */
	const char		*whose = forget ? "what was displaced lies in" :
				    "the session's changes belong to";
	const char		*todo = forget ? "" : ", put it back";
	struct stat		 st;

	l->job.project = (int)syscall(SYS_openat2, AT_FDCWD, w->project, &how,
	    sizeof(how));
	if (l->job.project == -1)
		land_fail(l, "land.moved", "%s: %s; %s the folder that was "
		    "there when it started%s", shown_path(w->project).s,
		    errno == ELOOP ? "there is a link on the way now" :
		    strerror(errno), whose, todo);
	if (fstat(l->job.project, &st) == -1)
		land_fail(l, "land.failed", "%s: %s", shown_path(
		    w->project).s, strerror(errno));
	if (st.st_dev != w->dev || st.st_ino != w->ino)
		land_fail(l, "land.moved", "%s is another folder now (device "
		    "%llu, inode %llu; it was %llu, %llu): %s the old one%s",
		    shown_path(w->project).s, (unsigned long long)st.st_dev,
		    (unsigned long long)st.st_ino, (unsigned long long)w->dev,
		    (unsigned long long)w->ino, whose, todo);
}

/* For the view of it. Of its git folder mountd says whether the session wrote
 * into that, if it lies outside. */
static void
land_announce(struct land *l)
{
	struct m_LFD	lfd = { .kind = "project" };
	char		git[LIMIT_PATH + 2];
	int		fd;

	if (changeset_setup(&l->job) == -1)
		land_fail(l, "land.failed", "libgit2 does not start: %s",
		    strerror(errno));
	if (changeset_git(&l->job, git, sizeof(git)))
		lfd.git = git;
	if ((fd = fcntl(l->job.project, F_DUPFD_CLOEXEC, 0)) == -1)
		fatal("the project");
	land_send(l, MSG_LFD, fd, &lfd);
}

/* What landd has verified: earlier landings, the journal. */
static void
land_kept(struct land *l)
{
	const char	*why;
	uint8_t		*buf;
	size_t		 len;

	landing_state_init(&l->state);
	land_receive(l, "baseline", &buf, &len);
	if (len > 0 && landing_state_decode(buf, len, &l->state, &why) == -1)
		land_fail(l, fields_nomem(why) ? "land.failed" : "land.state",
		    "the session's baselines are %s", why);
	free(buf);
	if (work_is(l, "recover"))
		land_receive(l, "journal", &l->journal, &l->journallen);
}

static void
land_job(struct land *l)
{
	struct job	*job = &l->job;

	job->view = job->layer = job->stage = -1;
	job->live = l->work->live;
	job->hide = (const char *const *)l->work->hide.v;
	job->ro = (const char *const *)l->work->ro.v;
	job->t0.tv_sec = (time_t)(l->work->t0 / NSEC);
	job->t0.tv_nsec = (long)(l->work->t0 % NSEC);
	job->baselines = &l->state.baselines;
	if (work_is_blind(l))
		return;
	job->view = land_receive_fd(l, "view");
	job->layer = land_receive_fd(l, "layer");
	job->stage = land_receive_fd(l, "stage");
	/* Dropping changes must not need room for them. */
	job->dry = work_is(l, "discard");
	job->origins = openat(job->stage, ORIGINS_NAME, O_RDONLY |
	    O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (job->origins == -1 && !(job->dry && errno == ENOENT))
		land_fail(l, "land.failed", "mountd's list of copies: %s",
		    strerror(errno));
}

/* The project is written by who lands, recovers or removes what landings
 * left, and by nobody else. */
static void
land_confine(const struct land *l)
{
	const struct job	*job = &l->job;
	struct unveil		*u = unveil_begin();
	bool			 writes;

	writes = work_is(l, "apply") || work_is_blind(l);
	unveil_fd(u, job->project, UNVEIL_READ | (writes ?
	    UNVEIL_WRITE | UNVEIL_REFER : 0));
	if (job->view != -1)
		unveil_fd(u, job->view, UNVEIL_READ);
	if (job->layer != -1)
		unveil_fd(u, job->layer, UNVEIL_READ);
	if (job->stage != -1)
		unveil_fd(u, job->stage, UNVEIL_READ | UNVEIL_WRITE);
	/* git's folders outside of the project, for the index only. */
	if (job->gitdir != -1)
		unveil_fd(u, job->gitdir, UNVEIL_READ);
	if (job->commondir != -1)
		unveil_fd(u, job->commondir, UNVEIL_READ);
	unveil_end(u);
	pledge(PLEDGE_LAND);
}

static void
land_review_failed(struct land *l, const char *why)
{
	int	e = errno;

	/* The room that it took is the session's again. */
	(void)changeset_unstage(&l->job);
	switch (e) {
	case EBUSY:
		land_fail(l, "land.busy", "%s", why);
	case ENOSPC:
	case EDQUOT:
		land_fail(l, "state.full", "%s", why);
	default:
		land_fail(l, "land.failed", "%s", why);
	}
}

static void
land_stale(struct land *l, const struct changeset *set)
{
	const struct blob	*want = &l->work->digest;
	char			 a[2 * DIGEST_LEN + 1], b[2 * DIGEST_LEN + 1];

	if (want->p == NULL || digest_cmp(want->p, set->digest) == 0)
		return;
	digest_hex(want->p, a);
	digest_hex(set->digest, b);
	land_fail(l, "land.stale", "what was approved, %s, is not what there "
	    "is now, %s: the session or the real files have changed, review "
	    "again", a, b);
}

/*
 * While files are read, compared, copied and staged nothing comes from landd,
 * and it may take long. If landd's end closes then, nobody wants the answer:
 * SIGIO ends us in the middle of whatever it is. Never after a landing's commit
 * point: it is there whole sooner than after a recovery.
 */
static void
land_end_abandoned(int fd)
{
	struct pollfd	pfd = { .fd = fd };

	if (poll(&pfd, 1, 0) == 1)
		_exit(1);
}

/* The kernel tells of a message after it has queued it: one that was read
 * before may be told of only now. */
static void
land_on_sigio(int sig)
{
	int	saved = errno;

	(void)sig;
	land_end_abandoned(PROC_FD);
	errno = saved;
}

static void
land_sigio(void)
{
	struct sigaction	sa = {
		.sa_handler = land_on_sigio, .sa_flags = SA_RESTART
	};

	sigemptyset(&sa.sa_mask);
	if (sigaction(SIGIO, &sa, NULL) == -1)
		fatal("SIGIO");
	if (fcntl(PROC_FD, F_SETOWN, getpid()) == -1)
		fatal("F_SETOWN");
}

void
land_abandonable(struct land *l, bool on)
{
	int	flags;

	if ((flags = fcntl(l->ib.fd, F_GETFL)) == -1 ||
	    fcntl(l->ib.fd, F_SETFL, on ? flags | O_ASYNC :
	    flags & ~O_ASYNC) == -1)
		fatal("O_ASYNC");
	if (on)
		land_end_abandoned(l->ib.fd);
}

static void
land_patch(struct land *l)
{
	struct m_LFD	lfd = { .kind = "patch" };
	int		fd;

	fd = openat(l->job.stage, "patch", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		land_fail(l, "land.failed", "the patch: %s", strerror(errno));
	land_send(l, MSG_LFD, fd, &lfd);
}

static void
land_review(struct land *l)
{
	struct changeset	set;
	char			why[LANDING_WHY] = "";

	changeset_init(&set);
	land_abandonable(l, true);
	if (changeset_walk(&l->job, &set, why, sizeof(why)) == -1)
		land_review_failed(l, why);
	land_abandonable(l, false);
	land_send(l, MSG_STAGED, -1, NULL);
	if (work_is(l, "discard"))
		land_discard(l, &set);
	land_abandonable(l, true);
	if (changeset_patch(&l->job, &set, why, sizeof(why)) == -1 ||
	    changeset_manifest(&l->job, &set, why, sizeof(why)) == -1)
		land_review_failed(l, why);
	land_abandonable(l, false);
	land_items(l, &set);
	land_stale(l, &set);
	if (work_is(l, "apply"))
		land_apply(l, &set);
	if (work_is(l, "patch"))
		land_patch(l);
	land_send(l, MSG_END, -1, NULL);
	land_end(l);
}

int
main(void)
{
	static struct land	l;

	proc_begin("land", PROC_FD + 1);
	land_powerless();
	land_limits();
	if (chdir("/") == -1)
		fatal("/");
	if (imsg_init(&l.ib, PROC_FD, ROLE_LAND, ROLE_LANDD) == -1)
		fatal("fd %d", PROC_FD);
	proc_hello(&l.ib, ROLE_LAND, ROLE_LANDD);
	land_expect(&l, MSG_WORK, &l.order);
	l.work = l.order.body;
	if (work_is(&l, "outside")) {
		land_kept(&l);
		land_outside(&l);
	}
	l.job.gitdir = l.job.commondir = -1;
	l.job.root = l.work->project;
	land_project(&l);
	if (!work_is_blind(&l))
		land_announce(&l);
	land_kept(&l);
	land_job(&l);
	land_sigio();
	land_confine(&l);
	if (work_is(&l, "recover"))
		land_recover(&l);
	if (work_is(&l, "forget"))
		land_forget(&l);
	land_review(&l);
	return (0);
}
