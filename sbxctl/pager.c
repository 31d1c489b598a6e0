/*
 * What people read at a terminal goes through their pager: a change must not
 * be out of the terminal's memory before it has been seen.
 */
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sbxctl.h"

#define PAGER_DEFAULT	"less"

static pid_t	pager;		/* 0: there is none */
static int	pager_stdout = -1;
static void	(*pager_int)(int);	/* SIGINT's, before */

bool
pager_runs(void)
{
	return (pager != 0);
}

/* NULL: none is wanted, or none is there. */
static const char *
pager_command(void)
{
	const char	*word = getenv("PAGER"), *term = getenv("TERM");

	if (term == NULL || strcmp(term, "dumb") == 0)
		return (NULL);
	if (word != NULL)
		return (*word == '\0' || strcmp(word, "cat") == 0 ? NULL :
		    word);
	return (access("/usr/bin/" PAGER_DEFAULT, X_OK) == 0 ||
	    access("/bin/" PAGER_DEFAULT, X_OK) == 0 ? PAGER_DEFAULT : NULL);
}

static void __attribute__((noreturn))
pager_exec(const char *command, int in)
{
	/* Ends by itself where all fits, passes colours, leaves it there. */
	if (dup2(in, STDIN_FILENO) == -1 || setenv("LESS", "FRX", 0) == -1 ||
	    signal(SIGPIPE, SIG_DFL) == SIG_ERR ||
	    signal(SIGINT, SIG_DFL) == SIG_ERR)
		_exit(126);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

void
pager_begin(void)
{
	const char	*command = pager_command();
	int		 end[2];

	if (command == NULL || !isatty(STDOUT_FILENO))
		return;
	fflush(stdout);
	if (pipe2(end, O_CLOEXEC) == -1)
		return;
	pager_stdout = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (pager_stdout == -1 || (pager = fork()) == -1) {
		pager = 0;
		if (pager_stdout != -1)
			close(pager_stdout);
		close(end[0]);
		close(end[1]);
		return;
	}
	if (pager == 0)
		pager_exec(command, end[0]);
	/* The keys are the pager's as long as it runs. */
	pager_int = signal(SIGINT, SIG_IGN);
	dup2(end[1], STDOUT_FILENO);
	close(end[0]);
	close(end[1]);
}

/* One that was left early has seen what it wanted. */
void
pager_end(void)
{
	if (pager == 0)
		return;
	fflush(stdout);
	clearerr(stdout);
	dup2(pager_stdout, STDOUT_FILENO);
	close(pager_stdout);
	while (waitpid(pager, NULL, 0) == -1 && errno == EINTR)
		;
	pager = 0;
	signal(SIGINT, pager_int);
}
