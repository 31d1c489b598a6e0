#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "inject.h"
#include "test.h"

#ifndef NT_ARM_SYSTEM_CALL
#define NT_ARM_SYSTEM_CALL	0x404
#endif

#define MUST(e)	do {							\
	if ((e) == -1)							\
		atf_tc_fail("inject: %s: %s", #e, strerror(errno));	\
} while (0)

static void
regs_get(int pid, struct user_regs_struct *r)
{
	struct iovec	iov = { r, sizeof(*r) };

	MUST(ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov));
}

static void
regs_set(int pid, struct user_regs_struct *r)
{
	struct iovec	iov = { r, sizeof(*r) };

	MUST(ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov));
}

/* At a call's beginning: another number and arguments. */
static void
call_change(int pid, const struct user_regs_struct *at, long nr,
    const long *a)
{
	struct user_regs_struct	r = *at;

#if defined(__x86_64__)
	r.orig_rax = (unsigned long)nr;
	r.rdi = (unsigned long)a[0];
	r.rsi = (unsigned long)a[1];
	r.rdx = (unsigned long)a[2];
	r.r10 = (unsigned long)a[3];
#elif defined(__aarch64__)
	int		number = (int)nr;
	struct iovec	iov = { &number, sizeof(number) };

	MUST(ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &iov));
	memcpy(r.regs, a, 4 * sizeof(*a));
#else
#error "inject knows x86-64 and arm64"
#endif
	regs_set(pid, &r);
}

/* At its end: what it gave; and the one that was meant is made after all. */
static long
call_end(int pid, const struct user_regs_struct *at)
{
	struct user_regs_struct	r, again = *at;
	long			result;

	regs_get(pid, &r);
#if defined(__x86_64__)
	result = (long)r.rax;
	again.rax = at->orig_rax;
	again.orig_rax = ~0UL;
	again.rip -= 2;
#else
	result = (long)r.regs[0];
	again.pc -= 4;
#endif
	regs_set(pid, &again);
	return (result);
}

static int
stopped(int pid)
{
	int	status;

	while (waitpid(pid, &status, __WALL) == -1)
		if (errno != EINTR)
			atf_tc_fail("inject: wait: %s", strerror(errno));
	return (status);
}

/* On to the next beginning or end of a call, or the process's end. SIGSYS is
 * what a filter kills with; nobody else sends any signal here. */
static int
call_next(int pid)
{
	int	status, sig = 0;

	do {
		MUST(ptrace(PTRACE_SYSCALL, pid, NULL, (long)sig));
		status = stopped(pid);
		sig = WIFSTOPPED(status) && WSTOPSIG(status) == SIGSYS ?
		    SIGSYS : 0;
	} while (WIFSTOPPED(status) && WSTOPSIG(status) != (SIGTRAP | 0x80));
	return (status);
}

/*
 * The filter looks at a call after the tracer has, so a changed one is
 * judged as if the program had made it. A call that it kills for ends as if
 * it had given its own number, and then the signal comes.
 */
long
inject(int pid, long nr, long a, long b, long c, long d)
{
	const long		args[] = { a, b, c, d };
	struct user_regs_struct	r;
	int			status;
	long			result;

	MUST(ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD));
	MUST(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL));
	status = stopped(pid);
	if (WIFSTOPPED(status))
		status = call_next(pid);
	ATF_REQUIRE_MSG(WIFSTOPPED(status), "inject: status %#x",
	    (unsigned int)status);
	regs_get(pid, &r);
	call_change(pid, &r, nr, args);
	status = call_next(pid);
	if (WIFSTOPPED(status)) {
		result = call_end(pid, &r);
		status = call_next(pid);
	}
	if (WIFSIGNALED(status))
		return (INJECT_SIGNAL(WTERMSIG(status)));
	ATF_REQUIRE(WIFSTOPPED(status));
	MUST(ptrace(PTRACE_DETACH, pid, NULL, NULL));
	return (result);
}
