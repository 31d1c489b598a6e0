#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test.h"
#include "trip.h"

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL	0x404
#endif

#define SYSCALL_STOP	(SIGTRAP | 0x80)

/* The tracer is a process of its own, since a test waits for answers. */
static pid_t	tracer;
static int	word[2];		/* from it */

static struct {
	int		parent, child;
	long		nr;
	unsigned int	first, last, n;
	int		error;
	bool		inside, failing;	/* of a call */
} trip;

static void
regs_get(struct user_regs_struct *r)
{
	struct iovec	iov = { r, sizeof(*r) };

	if (ptrace(PTRACE_GETREGSET, trip.child, NT_PRSTATUS, &iov) == -1)
		_exit(2);
}

static void
regs_set(struct user_regs_struct *r)
{
	struct iovec	iov = { r, sizeof(*r) };

	if (ptrace(PTRACE_SETREGSET, trip.child, NT_PRSTATUS, &iov) == -1)
		_exit(2);
}

static long
call_number(const struct user_regs_struct *r)
{
#if defined(__x86_64__)
	return ((long)r->orig_rax);
#elif defined(__aarch64__)
	return ((long)r->regs[8]);
#else
#error "trip knows x86-64 and arm64"
#endif
}

/* No call at all is made. */
static void
call_skip(struct user_regs_struct *r)
{
#if defined(__x86_64__)
	r->orig_rax = (unsigned long)-1;
	regs_set(r);
#else
	int		none = -1;
	struct iovec	iov = { &none, sizeof(none) };

	(void)r;
	if (ptrace(PTRACE_SETREGSET, trip.child, NT_ARM_SYSTEM_CALL, &iov) ==
	    -1)
		_exit(2);
#endif
}

static void
call_result(struct user_regs_struct *r)
{
#if defined(__x86_64__)
	r->rax = (unsigned long)-trip.error;
#else
	r->regs[0] = (unsigned long)-trip.error;
#endif
	regs_set(r);
}

static void
on_call(void)
{
	struct user_regs_struct	r;

	trip.inside = !trip.inside;
	regs_get(&r);
	if (trip.inside && call_number(&r) == trip.nr) {
		trip.n++;
		trip.failing = trip.n >= trip.first && trip.n <= trip.last;
		if (trip.failing && trip.error == 0)
			kill(trip.child, SIGKILL);
		else if (trip.failing)
			call_skip(&r);
	} else if (!trip.inside && trip.failing) {
		trip.failing = false;
		call_result(&r);
	}
}

/* False: the child has ended. */
static bool
on_stop(int pid, int status)
{
	unsigned long	child;
	int		sig = 0;

	if (!WIFSTOPPED(status))
		return (pid != trip.child);
	if (pid == trip.parent) {
		if (status >> 16 == PTRACE_EVENT_FORK && trip.child == 0 &&
		    ptrace(PTRACE_GETEVENTMSG, pid, NULL, &child) == 0)
			trip.child = (int)child;
		else if (status >> 16 == 0)
			sig = WSTOPSIG(status);
		ptrace(PTRACE_CONT, pid, NULL, (long)sig);
		return (true);
	}
	/* One more child, or ours before its parent has told of it. */
	if (pid != trip.child && trip.child != 0) {
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
		return (true);
	}
	trip.child = pid;
	if (WSTOPSIG(status) == SYSCALL_STOP)
		on_call();
	else if (status >> 16 == 0)
		sig = WSTOPSIG(status);
	ptrace(PTRACE_SYSCALL, pid, NULL, (long)sig);
	return (true);
}

static void __attribute__((noreturn))
trace(int pid)
{
	int	status, got;

	trip.parent = pid;
	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD |
	    PTRACE_O_TRACEFORK) == -1 || write(word[1], "", 1) != 1)
		_exit(1);
	do {
		while ((got = waitpid(-1, &status, __WALL)) == -1)
			if (errno != EINTR)
				_exit(3);
	} while (on_stop(got, status));
	/* Its end lets go of the parent. */
	_exit(write(word[1], &trip.n, sizeof(trip.n)) == sizeof(trip.n) ? 0 :
	    4);
}

void
trip_begin(int pid, long nr, unsigned int first, unsigned int last, int error)
{
	char	c;

	trip.nr = nr;
	trip.first = first;
	trip.last = last;
	trip.error = error;
	ATF_REQUIRE_EQ(0, pipe(word));
	fflush(NULL);
	ATF_REQUIRE((tracer = fork()) != -1);
	if (tracer == 0)
		trace(pid);
	close(word[1]);
	ATF_REQUIRE_EQ(1, read(word[0], &c, 1));
}

unsigned int
trip_end(void)
{
	unsigned int	n = 0;
	int		status;

	ATF_REQUIRE_EQ((ssize_t)sizeof(n), read(word[0], &n, sizeof(n)));
	close(word[0]);
	ATF_REQUIRE_EQ(tracer, waitpid(tracer, &status, 0));
	ATF_REQUIRE_EQ(0, status);
	return (n);
}
