#include <sys/file.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../common/put.h"
#include "plan.h"

#define LOCK_SECONDS	10
#define LOCK_HZ		20

void
landing_result_init(struct landing_result *res)
{
	memset(res, 0, sizeof(*res));
	TAILQ_INIT(&res->done);
}

void
landing_result_free(struct landing_result *res)
{
	size_t	i;

	baselines_free(&res->done);
	for (i = 0; i < res->npaths; i++)
		free(res->paths[i]);
	free(res->paths);
	free(res->made.folder);
	landing_result_init(res);
}

/* Of a landing that was killed the child may still be at work, for as long as
 * it takes: whoever comes after it waits for that. */
static int
lock_take(int root, bool wait)
{
	const struct timespec	ts = { .tv_nsec = 1000000000 / LOCK_HZ };
	int			tries = wait ? LOCK_SECONDS * LOCK_HZ : 0;

	while (flock(root, LOCK_EX | LOCK_NB) == -1) {
		if (errno != EWOULDBLOCK || tries-- == 0)
			return (-1);
		nanosleep(&ts, NULL);
	}
	return (0);
}

/* One landing at a time in a project, and none beside git's own writing. What
 * ends one waits, and looks at nothing of git's. */
int
landing_lock(const struct job *job, bool begins, struct landing_result *res)
{
	struct place	pl;
	int		root;

	root = tree_open(job->project, ".", O_RDONLY | O_DIRECTORY);
	if (root == -1)
		return (landing_errno(res, "opening", job->root));
	if (lock_take(root, !begins) == -1) {
		landing_fail(res, "land.locked", "%s: another landing or a "
		    "program holds its lock; wait for its end and try again",
		    shown_path(job->root).s);
		close(root);
		return (-1);
	}
	/* Only looked at: whether it is in use is git's to know. */
	if (!begins)
		return (root);
	if (place_open(root, ".git/index.lock", &pl) == 0 && pl.present) {
		landing_fail(res, "land.locked", "%s/.git/index.lock is there: "
		    "git is at work; wait for its end, or remove the file if "
		    "no git runs", shown_path(job->root).s);
		place_close(&pl);
		close(root);
		return (-1);
	}
	place_close(&pl);
	return (root);
}

/* The same bytes as the journal, for an UNDO; known by their SHA-256. */
static int
record_write(const struct folder *f, const uint8_t *p, size_t len)
{
	int	fd;

	fd = openat(f->fd, "record", O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		return (-1);
	if (put_all(fd, p, len) == -1) {
		close(fd);
		return (-1);
	}
	return (close(fd));
}

static int
write_intent(const struct plan *p, const char *sid,
    const struct landing_ops *ops, struct landing_result *res)
{
	uint8_t	*intent;
	size_t	 len;
	int	 rv;

	if (journal_encode(p, sid, false, &intent, &len) == -1)
		return (landing_fail(res, "land.failed", "out of memory"));
	rv = ops->commit(ops->arg, intent, len);
	free(intent);
	if (rv == -1)
		landing_fail(res, "land.failed", "the journal could not be "
		    "written");
	return (rv);
}

/* Up to the commit point. On failure nothing real was touched. */
static int
write_prepare(struct plan *p, const struct job *job, int root,
    const char *sid, const struct folder *f, const struct landing_ops *ops,
    uint8_t **journal, size_t *len, struct landing_result *res)
{
	if (write_intent(p, sid, ops, res) == -1 ||
	    plan_stage(p, job, root, f, res) == -1 ||
	    plan_fits(p, root, ops->state, res) == -1)
		return (-1);
	if (journal_encode(p, sid, true, journal, len) == -1)
		return (landing_fail(res, "land.failed", "the journal: %s",
		    strerror(errno)));
	if (record_write(f, *journal, *len) == -1 || syncfs(f->fd) == -1)
		return (landing_errno(res, "staging in", p->folder));
	if (ops->commit(ops->arg, *journal, *len) == -1)
		return (landing_fail(res, "land.failed", "the journal could "
		    "not be written"));
	return (0);
}

/* Nothing real is in the folder: it goes, if need be at the next start. */
static void
write_clear(const struct plan *p, struct folder *f,
    struct landing_result *res)
{
	char	why[LANDING_WHY];

	if (folder_remove(f, p) == 0)
		return;
	snprintf(why, sizeof(why), "%s", res->why);
	res->code = "land.unfinished";
	snprintf(res->why, sizeof(res->why), "%.600s; %s could not be removed "
	    "(%s), which is tried again at the next start", why, p->folder,
	    strerror(errno));
}

/* After it: whole, or back. */
static int
write_carry_out(const struct plan *p, int root, struct folder *f,
    const uint8_t *journal, size_t len, struct landing_result *res)
{
	if (plan_forward(p, root, f, res) == 0 &&
	    plan_verify(p, root, f, res) == 0) {
		if (syncfs(f->fd) == -1)
			landing_errno(res, "syncing", p->folder);
		else if (plan_finish(p, root, f, journal, len, res) == 0) {
			res->applied = true;
			return (0);
		} else
			landing_fail(res, "land.failed", "out of memory");
	}
	(void)plan_back(p, root, f, journal, len, res);
	if (f->fd != -1)
		(void)syncfs(f->fd);
	return (-1);
}

int
landing_write(const struct job *job, const struct changeset *set,
    const char *sid, uint64_t number, const struct landing_ops *ops,
    struct landing_result *res)
{
	struct folder	 f = { -1, -1, -1 };
	struct plan	 p;
	uint8_t		*journal = NULL;
	size_t		 len = 0;
	int		 root, rv = -1;

	plan_init(&p);
	if ((root = landing_lock(job, true, res)) == -1)
		return (-1);
	if (plan_make(&p, job, root, set, res) == -1 ||
	    plan_check(&p, root, res) == -1)
		goto out;
	if (folder_make(&f, &p, root, sid, number, res) == -1)
		goto out;
	if (write_prepare(&p, job, root, sid, &f, ops, &journal, &len,
	    res) == -1)
		write_clear(&p, &f, res);
	else
		rv = write_carry_out(&p, root, &f, journal, len, res);
out:
	free(journal);
	folder_close(&f);
	plan_free(&p);
	close(root);
	return (rv);
}
