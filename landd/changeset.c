#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <git2.h>

#include "../common/path.h"
#include "changeset.h"
#include "tree.h"

void
changeset_init(struct changeset *set)
{
	memset(set, 0, sizeof(*set));
	TAILQ_INIT(&set->changes);
	TAILQ_INIT(&set->skipped);
	TAILQ_INIT(&set->ignored);
}

void
changeset_free(struct changeset *set)
{
	struct change	*c;
	struct skipped	*s;
	struct ignored	*i;

	while ((c = TAILQ_FIRST(&set->changes)) != NULL) {
		TAILQ_REMOVE(&set->changes, c, entry);
		free(c->path);
		free(c->from);
		free(c);
	}
	while ((s = TAILQ_FIRST(&set->skipped)) != NULL) {
		TAILQ_REMOVE(&set->skipped, s, entry);
		free(s->path);
		free(s);
	}
	while ((i = TAILQ_FIRST(&set->ignored)) != NULL) {
		TAILQ_REMOVE(&set->ignored, i, entry);
		free(i->path);
		free(i);
	}
	changeset_init(set);
}

/* The first line of a small file behind prefix, or -1. */
static int
gitdir_line(int dir, const char *name, const char *prefix, char *buf,
    size_t size)
{
	size_t	skip = strlen(prefix);
	ssize_t	n;
	int	fd;

	fd = tree_open(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd == -1)
		return (-1);
	n = read(fd, buf, size - 1);
	close(fd);
	if (n <= 0)
		return (-1);
	buf[n] = '\0';
	buf[strcspn(buf, "\r\n")] = '\0';
	if (strncmp(buf, prefix, skip) != 0 || buf[skip] == '\0')
		return (-1);
	memmove(buf, buf + skip, strlen(buf + skip) + 1);
	return (0);
}

/* Where a path in a file of git's leads. Links are followed: these are the
 * owner's, as the owner's own git would. */
static int
gitdir_follow(int dir, const char *path)
{
	return (openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static void
gitdir_open(struct job *job)
{
	char		text[PATH_MAX + 16];
	struct stat	st;

	job->gitdir = job->commondir = -1;
	if (fstatat(job->project, ".git", &st, AT_SYMLINK_NOFOLLOW) == -1)
		return;
	if (S_ISDIR(st.st_mode))
		job->gitdir = tree_open(job->project, ".git",
		    O_RDONLY | O_DIRECTORY);
	else if (S_ISLNK(st.st_mode))
		job->gitdir = gitdir_follow(job->project, ".git");
	else if (S_ISREG(st.st_mode) && gitdir_line(job->project, ".git",
	    "gitdir: ", text, sizeof(text)) == 0)
		job->gitdir = gitdir_follow(job->project, text);
	if (job->gitdir == -1)
		return;
	/* A linked worktree's shares all but the index with the main one. */
	if (gitdir_line(job->gitdir, "commondir", "", text,
	    sizeof(text)) == 0)
		job->commondir = gitdir_follow(job->gitdir, text);
	else
		job->commondir = tree_open(job->gitdir, ".",
		    O_RDONLY | O_DIRECTORY);
}

bool
changeset_git(const struct job *job, char *path, size_t size)
{
	char	link[32];
	ssize_t	n;

	if (job->commondir <= 0)
		return (false);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", job->commondir);
	n = readlink(link, path, size - 1);
	if (n <= 0 || (size_t)n >= size - 1)
		return (false);
	path[n] = '\0';
	return (path_is_canonical(path) && !path_within(job->root, path));
}

int
changeset_setup(struct job *job)
{
	if (git_libgit2_init() < 0) {
		errno = ENOMEM;
		return (-1);
	}
	gitdir_open(job);
	return (0);
}
