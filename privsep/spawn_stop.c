/*
 * Freezing where there is no control group to freeze: SIGSTOP to all of a
 * session but its init, by kill(-1) in its pid namespace, which no fork
 * outruns. It is weaker. A session that means to goes on, by a timer of its
 * own that sends SIGCONT, and programs see that they were continued. What the
 * session itself had stopped before stays stopped afterwards.
 */
#include <sys/syscall.h>
#include <sys/wait.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/clock.h"
#include "../common/log.h"
#include "spawn.h"

/* Who waits in the kernel for so long without waking once goes on only with
 * what it waits for. */
#define STUCK_MS	50
/* Who has not stopped by then was born after the signal. */
#define AGAIN_MS	50
/* In the session's pid namespace a session may stop us. */
#define INSIDE_MS	1000
#define CHILD_MS	(2 * INSIDE_MS)

#define SIGSTOP_BIT	(1ULL << (SIGSTOP - 1))

struct proc {
	pid_t	pid, parent;
};

struct procs {
	struct proc	*v;
	size_t		 n;
};

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

static bool
pids_have(const struct pids *p, pid_t pid)
{
	return (p->n > 0 &&
	    bsearch(&pid, p->v, p->n, sizeof(*p->v), pid_compare) != NULL);
}

static void
procs_add(struct procs *all, pid_t pid, pid_t parent)
{
	struct proc	*v = reallocarray(all->v, all->n + 1, sizeof(*v));

	if (v == NULL)
		fatal("the processes of the machine");
	v[all->n].pid = pid;
	v[all->n].parent = parent;
	all->v = v;
	all->n++;
}

static int
parent_compare(const void *a, const void *b)
{
	const struct proc	*pa = a, *pb = b;

	return (pa->parent < pb->parent ? -1 : pa->parent > pb->parent);
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

/* Each process of the machine, by its parent. */
static int
procs_all(struct procs *all)
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
		if (stat_read(path, &parent) != 'X')
			procs_add(all, pid, parent);
	}
	closedir(d);
	if (all->n > 0)
		qsort(all->v, all->n, sizeof(*all->v), parent_compare);
	return (0);
}

static void
children_add(struct pids *p, const struct procs *all, pid_t parent)
{
	size_t	lo = 0, hi = all->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (all->v[mid].parent < parent)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < all->n && all->v[lo].parent == parent; lo++)
		pids_add(p, all->v[lo].pid);
}

static bool
procs_have(const struct procs *all, pid_t pid)
{
	size_t	i;

	for (i = 0; i < all->n; i++)
		if (all->v[i].pid == pid)
			return (true);
	return (false);
}

/*
 * All of the session's processes but its init: those that descend from it.
 * (Which namespace one is in is told only to who may trace it.) A /proc that
 * hides processes (hidepid) shows none or some, and then they are not known.
 */
static int
pids_find(const struct live *l, struct pids *p)
{
	struct procs	all = { NULL, 0 };
	bool		shown;
	size_t		i;

	p->v = NULL;
	p->n = 0;
	if (l->init == 0 || procs_all(&all) == -1)
		return (-1);
	shown = procs_have(&all, l->init);
	children_add(p, &all, l->init);
	for (i = 0; i < p->n; i++)
		children_add(p, &all, p->v[i]);
	free(all.v);
	if (!shown || p->n == 0) {
		pids_free(p);
		return (-1);
	}
	qsort(p->v, p->n, sizeof(*p->v), pid_compare);
	return (0);
}

/* What stands behind a word at a line's start, 0: it is not there. */
static unsigned long long
status_value(const char *status, const char *word, int base)
{
	const char	*p = strstr(status, word);

	return (p != NULL ? strtoull(p + strlen(word), NULL, base) : 0);
}

/*
 * A thread that waits in the kernel, such as one in vfork(2) for a child that
 * was stopped before it executed anything: has SIGSTOP come to it? It is to be
 * told from one that waits for a disk, and writes on: by the wakes.
 */
static bool
thread_told(const char *path, unsigned long long *wakes)
{
	char	buf[4096];
	ssize_t	n = -1;
	int	fd;

	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) != -1) {
		n = read(fd, buf, sizeof(buf) - 1);
		close(fd);
	}
	if (n <= 0)
		return (false);
	buf[n] = '\0';
	*wakes += 1 + status_value(buf, "\nvoluntary_ctxt_switches:", 10);
	return (((status_value(buf, "\nSigPnd:", 16) |
	    status_value(buf, "\nShdPnd:", 16)) & SIGSTOP_BIT) != 0);
}

/* How many of a process's threads run, wait in the kernel, are stopped. */
struct threads {
	size_t			run, wait, stopped;
	unsigned long long	wakes;	/* of those that wait */
	bool			told;	/* SIGSTOP has come to one of them */
};

static void
threads_count(pid_t pid, struct threads *t)
{
	struct dirent	*de;
	char		 path[64], state;
	pid_t		 task, parent;
	DIR		*d;

	memset(t, 0, sizeof(*t));
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	if ((d = opendir(path)) == NULL)
		return;
	while ((de = readdir(d)) != NULL) {
		if ((task = name_pid(de->d_name)) == 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat",
		    (int)pid, (int)task);
		state = stat_read(path, &parent);
		strlcat(path, "us", sizeof(path));
		if (state == 'T' || state == 't')
			t->stopped++;
		else if (state == 'D') {
			t->wait++;
			t->told |= thread_told(path, &t->wakes);
		} else if (state != 'Z' && state != 'X')
			t->run++;
	}
	closedir(d);
}

/* Where one of its threads has taken SIGSTOP, it is none's to come any more.
 * wakes, if not NULL: added up, 0 as long as nobody waits. */
static bool
process_stopped(pid_t pid, unsigned long long *wakes)
{
	struct threads	t;

	threads_count(pid, &t);
	if (wakes != NULL)
		*wakes += t.wakes;
	return (t.run == 0 && (t.wait == 0 || t.told || t.stopped > 0));
}

/* 0, or -1 with the errno that it has exited with. */
static int
child_wait(pid_t pid, int ms)
{
	struct pollfd	p = { .events = POLLIN };
	int64_t		end = now_ms() + ms, left;
	int		status, r = -1;

	if (pid == -1)
		return (-1);
	/* Another child's end interrupts, and is no reason to give up. */
	if ((p.fd = (int)syscall(SYS_pidfd_open, pid, 0)) != -1)
		while ((r = poll(&p, 1, (left = end - now_ms()) > 0 ?
		    (int)left : 0)) == -1 && errno == EINTR)
			continue;
	if (r != 1)
		kill(pid, SIGKILL);
	if (p.fd != -1)
		close(p.fd);
	if (waitpid(pid, &status, 0) == -1)
		return (-1);
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : ETIMEDOUT;
	return (errno == 0 ? 0 : -1);
}

/* In the session's pid namespace; in its user namespace, which we own, for
 * the right to. */
static void __attribute__((noreturn))
all_child(const struct live *l, int sig)
{
	pid_t	pid;

	if (setns(l->userns, CLONE_NEWUSER) == -1 ||
	    setns(l->pidns, CLONE_NEWPID) == -1 ||
	    (pid = fork()) == -1)
		_exit(errno);
	/* ESRCH: there is nobody but us. */
	if (pid == 0)
		_exit(kill(-1, sig) == -1 && errno != ESRCH ? errno : 0);
	_exit(child_wait(pid, INSIDE_MS) == -1 ? errno : 0);
}

static int
all_signal(const struct live *l, int sig)
{
	pid_t	pid;

	if ((pid = fork()) == 0)
		all_child(l, sig);
	return (child_wait(pid, CHILD_MS));
}

const char *
stop_begin(struct live *l)
{
	struct pids	p;
	size_t		i;

	pids_free(&l->held);
	/* Its first process has ended, and with it all that there was. */
	if (l->init == 0)
		return (NULL);
	/* Those that we do not find we would not know how to continue. */
	if (pids_find(l, &p) == -1)
		return ("its processes do not show in /proc");
	for (i = 0; i < p.n; i++)
		if (process_stopped(p.v[i], NULL))
			pids_add(&l->held, p.v[i]);
	pids_free(&p);
	l->stopped = true;
	l->wakes = 0;
	l->again = now_ms() + AGAIN_MS;
	return (all_signal(l, SIGSTOP) == -1 ? strerror(errno) : NULL);
}

bool
stop_took(struct live *l)
{
	unsigned long long	 wakes = 0;
	struct pids		 p;
	bool			 took = true;
	size_t			 i;

	if (l->init == 0)
		return (true);
	if (pids_find(l, &p) == -1)
		return (false);
	for (i = 0; i < p.n && took; i++)
		took = process_stopped(p.v[i], &wakes);
	pids_free(&p);
	if (!took) {
		l->wakes = 0;
		if (now_ms() >= l->again) {
			l->again = now_ms() + AGAIN_MS;
			(void)all_signal(l, SIGSTOP);
		}
		return (false);
	}
	if (wakes != l->wakes) {
		l->wakes = wakes;
		l->waits = now_ms();
	}
	return (wakes == 0 || now_ms() - l->waits >= STUCK_MS);
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
	int		r;

	if (!l->stopped)
		return;
	l->stopped = false;
	if (pids_find(l, &p) == 0) {
		if ((pid = fork()) == 0)
			undo_child(l, &p);
		r = child_wait(pid, CHILD_MS);
	} else
		/* Better that more go on than that anything never does. */
		r = l->init == 0 ? 0 : all_signal(l, SIGCONT);
	if (r == -1)
		log_warn("continuing session %s", l->id);
	pids_free(&p);
	pids_free(&l->held);
}
