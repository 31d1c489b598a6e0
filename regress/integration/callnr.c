/*
 * callnr NAME...: an extended regular expression of the numbers that these
 * calls have in /proc/PID/syscall on this machine; the ones that it has not
 * got are left out, as poll is on arm64.
 */
#include <sys/syscall.h>
#include <err.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char	*name;
	long		 nr;
} calls[] = {
#ifdef SYS_poll
	{ "poll", SYS_poll },
#else
	{ "poll", -1 },
#endif
	{ "ppoll", SYS_ppoll },
	{ "recvfrom", SYS_recvfrom },
	{ "recvmsg", SYS_recvmsg },
};

static long
number(const char *name)
{
	size_t	i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (strcmp(calls[i].name, name) == 0)
			return (calls[i].nr);
	errx(2, "%s: not in the table: add it", name);
}

int
main(int argc, char *argv[])
{
	const char	*sep = "^(";
	long		 nr;
	int		 i;

	for (i = 1; i < argc; i++) {
		if ((nr = number(argv[i])) == -1)
			continue;
		printf("%s%ld", sep, nr);
		sep = "|";
	}
	puts(") ");
	return (0);
}
