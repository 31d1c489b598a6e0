/*
 * Freezing where there is no control group to freeze: SIGSTOP to all of a
 * session but its init, by kill(-1) in its pid namespace, which no fork
 * outruns. It is weaker. A session that means to goes on, by a timer of its
 * own that sends SIGCONT, and programs see that they were continued. What the
 * session itself had stopped before stays stopped afterwards.
 */
#include <sys/wait.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "spawn.h"

/* The number that a name in /proc is, or 0. */
static pid_t
name_pid(const char *name)
{
	const char	*bad;
	pid_t		 pid = (pid_t)strtonum(name, 1, INT_MAX, &bad);

	return (bad == NULL ? pid : 0);
}

static void
pids_add(struct pids *p, pid_t pid)
{
	pid_t	*v = reallocarray(p->v, p->n + 1, sizeof(*v));

	if (v == NULL)
		fatal("the processes of a session");
	v[p->n] = pid;
	p->v = v;
	p->n++;
}

static bool
pids_have(const struct pids *p, pid_t pid)
{
	size_t	i;

	for (i = 0; i < p->n; i++)
		if (p->v[i] == pid)
			return (true);
	return (false);
}

void
pids_free(struct pids *p)
{
	free(p->v);
	p->v = NULL;
	p->n = 0;
}

/* Newer ones come first, as a rule: a child before who waits for it. */
static int
pid_compare(const void *a, const void *b)
{
	const pid_t	*pa = a, *pb = b;

	return (*pa < *pb ? 1 : *pa > *pb ? -1 : 0);
}

/* A process's or thread's state letter, and its parent; 'X': it is gone. */
static char
stat_read(const char *path, pid_t *parent)
{
	char	 buf[512], *end;
	ssize_t	 n;
	long	 ppid;
	int	 fd;

	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return ('X');
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return ('X');
	buf[n] = '\0';
	/* ") S 12": its name may hold anything, a parenthesis too. */
	if ((end = strrchr(buf, ')')) == NULL || strlen(end) < 5)
		return ('X');
	ppid = strtol(end + 4, NULL, 10);
	if (ppid < 0 || ppid > INT_MAX)
		return ('X');
	*parent = (pid_t)ppid;
	return (end[2]);
}

/* Each process of the machine with its parent, one after the other. */
static int
pids_all(struct pids *all)
{
	struct dirent	*de;
	char		 path[48];
	pid_t		 pid, parent;
	DIR		*d;

	if ((d = opendir("/proc")) == NULL)
		return (-1);
	while ((de = readdir(d)) != NULL) {
		if ((pid = name_pid(de->d_name)) == 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		if (stat_read(path, &parent) == 'X')
			continue;
		pids_add(all, pid);
		pids_add(all, parent);
	}
	closedir(d);
	return (0);
}

/*
 * All of the session's processes but its init: those that descend from it.
 * (Which namespace one is in is told only to who may trace it.)
 */
static int
pids_find(const struct live *l, struct pids *p)
{
	struct pids	all = { NULL, 0 };
	bool		more = true;
	size_t		i;

	p->v = NULL;
	p->n = 0;
	if (l->init == 0 || pids_all(&all) == -1)
		return (-1);
	while (more)
		for (i = 0, more = false; i < all.n; i += 2)
			if ((all.v[i + 1] == l->init ||
			    pids_have(p, all.v[i + 1])) &&
			    !pids_have(p, all.v[i])) {
				pids_add(p, all.v[i]);
				more = true;
			}
	pids_free(&all);
	if (p->n > 0)
		qsort(p->v, p->n, sizeof(*p->v), pid_compare);
	return (0);
}

static bool
process_stopped(pid_t pid)
{
	struct dirent	*de;
	char		 path[64];
	bool		 stopped = true;
	pid_t		 task, parent;
	DIR		*d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	if ((d = opendir(path)) == NULL)
		return (true);
	while (stopped && (de = readdir(d)) != NULL) {
		if ((task = name_pid(de->d_name)) == 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat",
		    (int)pid, (int)task);
		stopped = strchr("TtZX", stat_read(path, &parent)) != NULL;
	}
	closedir(d);
	return (stopped);
}

/* In the session's pid namespace; in its user namespace, which we own, for
 * the right to. */
static void __attribute__((noreturn))
stop_child(const struct live *l)
{
	pid_t	pid;
	int	status;

	if (setns(l->userns, CLONE_NEWUSER) == -1 ||
	    setns(l->pidns, CLONE_NEWPID) == -1 ||
	    (pid = fork()) == -1)
		_exit(errno);
	/* ESRCH: there is nobody but us. */
	if (pid == 0)
		_exit(kill(-1, SIGSTOP) == -1 && errno != ESRCH ? errno : 0);
	if (waitpid(pid, &status, 0) == -1 || !WIFEXITED(status))
		_exit(ECHILD);
	_exit(WEXITSTATUS(status));
}

static int
child_wait(pid_t pid)
{
	int	status;

	if (pid == -1 || waitpid(pid, &status, 0) == -1)
		return (-1);
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
	return (errno == 0 ? 0 : -1);
}

int
stop_begin(struct live *l)
{
	struct pids	p;
	pid_t		pid;
	size_t		i;

	pids_free(&l->held);
	if (pids_find(l, &p) == -1)
		return (-1);
	for (i = 0; i < p.n; i++)
		if (process_stopped(p.v[i]))
			pids_add(&l->held, p.v[i]);
	pids_free(&p);
	l->stopped = true;
	if ((pid = fork()) == 0)
		stop_child(l);
	return (child_wait(pid));
}

bool
stop_took(const struct live *l)
{
	struct pids	p;
	bool		took = true;
	size_t		i;

	if (pids_find(l, &p) == -1)
		return (false);
	for (i = 0; i < p.n && took; i++)
		took = process_stopped(p.v[i]);
	pids_free(&p);
	return (took);
}

static void __attribute__((noreturn))
undo_child(const struct live *l, const struct pids *p)
{
	size_t	i;

	if (setns(l->userns, CLONE_NEWUSER) == -1)
		_exit(errno);
	/* They were found by us, and one that is stopped does not end. */
	for (i = 0; i < p->n; i++)
		if (!pids_have(&l->held, p->v[i]) &&
		    kill(p->v[i], SIGCONT) == -1 && errno != ESRCH)
			_exit(errno);
	_exit(0);
}

void
stop_undo(struct live *l)
{
	struct pids	p;
	pid_t		pid;

	if (!l->stopped)
		return;
	l->stopped = false;
	if (pids_find(l, &p) == 0) {
		if ((pid = fork()) == 0)
			undo_child(l, &p);
		if (child_wait(pid) == -1)
			log_warn("continuing session %s", l->id);
	}
	pids_free(&p);
	pids_free(&l->held);
}
