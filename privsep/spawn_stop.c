/*
 * Freezing where there is no control group to freeze: SIGSTOP to all of a
 * session but its init, by kill(-1) in its pid namespace, which no fork
 * outruns. It is weaker. A session that means to goes on, by a timer of its
 * own that sends SIGCONT, and programs see that they were continued. What the
 * session itself had stopped before stays stopped afterwards.
 */
#include <sys/stat.h>
#include <sys/syscall.h>
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

static int
pidns_stat(pid_t pid, struct stat *st)
{
	char	path[48];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	return (stat(path, st));
}

/* Newer ones come first, as a rule: a child before who waits for it. */
static int
pid_compare(const void *a, const void *b)
{
	const pid_t	*pa = a, *pb = b;

	return (*pa < *pb ? 1 : *pa > *pb ? -1 : 0);
}

/* All of the session's processes but its init. */
static int
pids_find(const struct live *l, struct pids *p)
{
	struct dirent	*de;
	struct stat	 own, st;
	pid_t		 pid;
	DIR		*d;

	p->v = NULL;
	p->n = 0;
	if (l->init == 0 || pidns_stat(l->init, &own) == -1 ||
	    (d = opendir("/proc")) == NULL)
		return (-1);
	while ((de = readdir(d)) != NULL)
		if ((pid = name_pid(de->d_name)) != 0 && pid != l->init &&
		    pidns_stat(pid, &st) == 0 && st.st_dev == own.st_dev &&
		    st.st_ino == own.st_ino)
			pids_add(p, pid);
	closedir(d);
	if (p->n > 0)
		qsort(p->v, p->n, sizeof(*p->v), pid_compare);
	return (0);
}

/* A thread's state letter; 'X' for one that is gone. */
static char
task_state(pid_t pid, const char *task)
{
	char	 path[64], buf[512], *end;
	ssize_t	 n;
	int	 fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/stat", (int)pid,
	    task);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return ('X');
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n <= 0)
		return ('X');
	buf[n] = '\0';
	/* Its name may hold anything, a parenthesis too. */
	end = strrchr(buf, ')');
	return (end != NULL && end[1] == ' ' ? end[2] : 'R');
}

static bool
process_stopped(pid_t pid)
{
	struct dirent	*de;
	char		 path[48];
	bool		 stopped = true;
	DIR		*d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	if ((d = opendir(path)) == NULL)
		return (true);
	while (stopped && (de = readdir(d)) != NULL)
		if (name_pid(de->d_name) != 0)
			stopped = strchr("TtZX", task_state(pid,
			    de->d_name)) != NULL;
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

	if (setns(l->pidfd, CLONE_NEWUSER | CLONE_NEWPID) == -1 ||
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

	if (setns(l->pidfd, CLONE_NEWUSER) == -1)
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
