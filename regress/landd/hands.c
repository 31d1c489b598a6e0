#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mill.h"

/*
 * Registers: where a call's number and arguments are, and its result.
 */
struct regs {
	struct user_regs_struct	r;
};

static void
regs_get(pid_t pid, struct regs *regs)
{
	struct iovec	iov = { &regs->r, sizeof(regs->r) };

	ATF_REQUIRE(ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov) == 0);
}

static void
regs_set(pid_t pid, struct regs *regs)
{
	struct iovec	iov = { &regs->r, sizeof(regs->r) };

	ATF_REQUIRE(ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov) == 0);
}

#if defined(__x86_64__)
static void
regs_call(struct regs *g, const long a[4])
{
	g->r.rdi = (unsigned long)a[0];
	g->r.rsi = (unsigned long)a[1];
	g->r.rdx = (unsigned long)a[2];
	g->r.r10 = (unsigned long)a[3];
}

static void
number_set(pid_t pid, struct regs *g, long nr)
{
	(void)pid;
	g->r.orig_rax = (unsigned long)nr;
}

static long
regs_result(const struct regs *g)
{
	return ((long)g->r.rax);
}

/* Behind the stack pointer and its red zone. */
static unsigned long
regs_scratch(const struct regs *g)
{
	return ((g->r.rsp - 4096) & ~15UL);
}

/* So that the call it was about to make is made after all. */
static void
regs_again(struct regs *now, const struct regs *entry)
{
	*now = *entry;
	now->r.rax = entry->r.orig_rax;
	now->r.rip -= 2;		/* the syscall instruction */
}
#elif defined(__aarch64__)
static void
regs_call(struct regs *g, const long a[4])
{
	int	i;

	for (i = 0; i < 4; i++)
		g->r.regs[i] = (unsigned long)a[i];
}

static void
number_set(pid_t pid, struct regs *g, long nr)
{
	int		n = (int)nr;
	struct iovec	iov = { &n, sizeof(n) };

	g->r.regs[8] = (unsigned long)nr;
	ATF_REQUIRE(ptrace(PTRACE_SETREGSET, pid, NT_ARM_SYSTEM_CALL, &iov) ==
	    0);
}

static long
regs_result(const struct regs *g)
{
	return ((long)g->r.regs[0]);
}

static unsigned long
regs_scratch(const struct regs *g)
{
	return ((g->r.sp - 4096) & ~15UL);
}

static void
regs_again(struct regs *now, const struct regs *entry)
{
	*now = *entry;
	now->r.pc -= 4;			/* svc */
}
#else
#error "which registers does this architecture have?"
#endif

static void
stop_wait(struct hands *h, const char *what)
{
	int	status;

	ATF_REQUIRE(waitpid(h->pid, &status, __WALL) == h->pid);
	if (!WIFSTOPPED(status))
		atf_tc_fail("%s: it ended with %#x", what,
		    (unsigned int)status);
}

void
hands_on(struct hands *h, pid_t pid)
{
	h->pid = pid;
	ATF_REQUIRE_MSG(ptrace(PTRACE_SEIZE, pid, NULL,
	    PTRACE_O_TRACESYSGOOD) == 0, "ptrace: %s", strerror(errno));
	ATF_REQUIRE(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) == 0);
	stop_wait(h, "attaching");
}

/* To the next stop at a call, entry or exit. */
static void
hands_step(struct hands *h)
{
	int	status;

	do {
		ATF_REQUIRE(ptrace(PTRACE_SYSCALL, h->pid, NULL, NULL) == 0);
		ATF_REQUIRE(waitpid(h->pid, &status, __WALL) == h->pid);
		if (!WIFSTOPPED(status))
			atf_tc_fail("it ended with %#x meanwhile",
			    (unsigned int)status);
	} while (WSTOPSIG(status) != (SIGTRAP | 0x80));
}

static bool
at_entry(struct hands *h)
{
	struct { uint8_t op, pad[3]; uint32_t arch; uint64_t rest[10]; } info;

	ATF_REQUIRE(ptrace((enum __ptrace_request)0x420e, h->pid,
	    (void *)sizeof(info), &info) > 0);
	return (info.op == 1);
}

void
hands_next(struct hands *h)
{
	do
		hands_step(h);
	while (!at_entry(h));
}

void
hands_filtered(struct hands *h)
{
	do
		hands_next(h);
	while (strcmp(status_line(h->pid, "Seccomp"), "2") != 0);
}

static void
text_poke(pid_t pid, unsigned long at, const char *text)
{
	long	word;
	size_t	i, len = strlen(text) + 1;

	for (i = 0; i < len; i += sizeof(word)) {
		word = 0;
		memcpy(&word, text + i, len - i < sizeof(word) ? len - i :
		    sizeof(word));
		ATF_REQUIRE(ptrace(PTRACE_POKEDATA, pid, at + i, word) == 0);
	}
}

/* Stopped at an entry before and after it: that call is put off. */
long
hands_call(struct hands *h, long nr, const char *path, long a, long b, long c,
    long d)
{
	struct regs	entry, g;
	long		args[4] = { a, b, c, d }, result;
	unsigned long	at;
	int		i;

	regs_get(h->pid, &entry);
	g = entry;
	at = regs_scratch(&g);
	if (path != NULL)
		text_poke(h->pid, at, path);
	for (i = 0; i < 4; i++)
		if (args[i] == -1 && path != NULL)
			args[i] = (long)at;
	regs_call(&g, args);
	number_set(h->pid, &g, nr);
	regs_set(h->pid, &g);
	hands_step(h);
	regs_get(h->pid, &g);
	result = regs_result(&g);
	regs_again(&g, &entry);
	regs_set(h->pid, &g);
	hands_next(h);
	return (result);
}

void
hands_off(struct hands *h)
{
	ATF_REQUIRE(ptrace(PTRACE_DETACH, h->pid, NULL, NULL) == 0);
}

int
hands_forbidden(struct hands *h, long nr)
{
	struct regs	g;
	long		args[4] = { 0, 0, 0, 0 };
	int		status, ms, sig = 0;

	regs_get(h->pid, &g);
	regs_call(&g, args);
	number_set(h->pid, &g, nr);
	regs_set(h->pid, &g);
	ATF_REQUIRE(ptrace(PTRACE_SYSCALL, h->pid, NULL, NULL) == 0);
	/* We are shown the call's exit, then its signal, then its end. */
	for (ms = 0; ms < 2000; ms++) {
		if (waitpid(h->pid, &status, __WALL | WNOHANG) != h->pid) {
			usleep(1000);
			continue;
		}
		if (WIFSIGNALED(status))
			return (WTERMSIG(status));
		if (!WIFSTOPPED(status))
			return (0);
		sig = WSTOPSIG(status) == SIGSYS ? SIGSYS : 0;
		ATF_REQUIRE(ptrace(PTRACE_CONT, h->pid, NULL,
		    (void *)(intptr_t)sig) == 0);
	}
	kill(h->pid, SIGKILL);
	waitpid(h->pid, &status, __WALL);
	return (0);
}

const char *
status_line(pid_t pid, const char *name)
{
	static char	line[4096];
	char		path[64];
	size_t		len = strlen(name);
	FILE		*f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	ATF_REQUIRE((f = fopen(path, "re")) != NULL);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, len) == 0 && line[len] == ':') {
			fclose(f);
			line[strcspn(line, "\n")] = '\0';
			return (line + len + 1 + strspn(line + len + 1,
			    " \t"));
		}
	atf_tc_fail("no %s in %s", name, path);
}
