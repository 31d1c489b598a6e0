#include <sys/syscall.h>
#include <sys/wait.h>
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "inside.h"

/*
 * No signal comes of its end, for the handler that we have of the parent's
 * would write to a descriptor that is another one here. Nothing in there can
 * reach it: the session's command is not executed before all is mounted, and
 * its first process has no right over ours.
 */
int
inside_run(int pidns, int (*run)(void *), void *arg)
{
	pid_t	pid, r;
	int	status;

	if (setns(pidns, CLONE_NEWPID) == -1)
		return (-1);
	pid = (pid_t)syscall(SYS_clone, CLONE_FILES, 0, 0, 0, 0);
	if (pid == -1)
		return (-1);
	if (pid == 0)
		_exit(run(arg) == -1 ? errno : 0);
	while ((r = waitpid(pid, &status, __WALL)) == -1 && errno == EINTR)
		;
	if (r == -1)
		return (-1);
	/* The namespace has ended. */
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : ESRCH;
	return (errno == 0 ? 0 : -1);
}
