/*
 * stall PID CALL N [SKIP]: of what the process PID starts from now on, but for
 * the first SKIP, the first that comes to its Nth call of that name (renameat2,
 * unlinkat) is stopped before it. "ready" is printed when they are watched,
 * "stalled PID" then. All go on when stall ends.
 */
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK |		\
		    PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE)

static pid_t		watched;
static uint64_t		call;

/* A child's calls are seen, those of its parent are not. */
static void
go_on(pid_t pid, int sig)
{
	if (ptrace(pid == watched ? PTRACE_CONT : PTRACE_SYSCALL, pid, NULL,
	    (void *)(intptr_t)sig) == -1 && errno != ESRCH)
		err(1, "going on with %d", (int)pid);
}

static int
at_call(pid_t pid)
{
	struct {
		uint8_t		op, pad[3];
		uint32_t	arch;
		uint64_t	ip, sp, nr, rest[7];
	}	info;

	/* PTRACE_GET_SYSCALL_INFO; 1 is an entry. */
	return (ptrace((enum __ptrace_request)0x420e, pid,
	    (void *)sizeof(info), &info) > 0 && info.op == 1 &&
	    info.nr == call);
}

int
main(int argc, char **argv)
{
	pid_t	pid, last = 0;
	long	n = 0, want, skip;
	int	status, sig;

	if (argc < 4 || (watched = atoi(argv[1])) <= 0 ||
	    (want = atol(argv[3])) <= 0)
		errx(2, "usage: stall PID CALL N [SKIP]");
	skip = argc > 4 ? atol(argv[4]) : 0;
	call = strcmp(argv[2], "unlinkat") == 0 ? SYS_unlinkat : SYS_renameat2;
	if (ptrace(PTRACE_SEIZE, watched, NULL, OPTIONS) == -1)
		err(1, "watching %d", (int)watched);
	puts("ready");
	fflush(stdout);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		if (!WIFSTOPPED(status))
			continue;
		sig = WSTOPSIG(status);
		if (sig == (SIGTRAP | 0x80)) {
			if (pid != last) {
				n = 0;
				skip--;
			}
			last = pid;
			if (at_call(pid) && ++n == want && skip < 0) {
				printf("stalled %d\n", (int)pid);
				fflush(stdout);
				pause();
			}
			sig = 0;
		} else if (status >> 16 != 0)
			sig = 0;	/* an event of ours */
		go_on(pid, sig);
	}
	errx(1, "%d has ended, and nothing came to %s %ld", (int)watched,
	    argv[2], want);
}
