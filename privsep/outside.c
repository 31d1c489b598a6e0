#include <sys/socket.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/log.h"
#include "mode.h"
#include "outside.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD	77
#endif

#define ENDED	"the process that connected has ended"
#define UNTOLD	"whether that is a session, which could see this socket, the " \
		"kernel tells from 6.5 on: leave out socket in the suite's " \
		"configuration"

static int	infos = -1;	/* /proc/self/fdinfo */
static bool	only;		/* nothing else keeps a session away */
static bool	told;

static void
outside_try(void)
{
	socklen_t	len = sizeof(int);
	int		sv[2], pidfd;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) == -1)
		fatal("socketpair");
	told = getsockopt(sv[0], SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0;
	if (told)
		close(pidfd);
	close(sv[0]);
	close(sv[1]);
}

int
outside_begin(bool bare)
{
	only = bare && mode_user();
	outside_try();
	infos = open("/proc/self/fdinfo", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (infos == -1)
		fatal("/proc/self/fdinfo");
	return (infos);
}

/* What the kernel says of a pidfd: its process's numbers in our namespace and
 * in those below it. Asking for the namespace itself would be tracing, which
 * Landlock keeps from us. */
static const char *
outside_read(int pidfd)
{
	char	 name[16], buf[1024], *line;
	ssize_t	 n;
	int	 fd;

	snprintf(name, sizeof(name), "%d", pidfd);
	if ((fd = openat(infos, name, O_RDONLY | O_CLOEXEC)) == -1)
		return ("what it is cannot be read");
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[n > 0 ? n : 0] = '\0';
	if ((line = strstr(buf, "\nNSpid:\t")) == NULL)
		return (ENDED);
	line += strlen("\nNSpid:\t");
	line[strcspn(line, "\n")] = '\0';
	if (*line == '-')
		return (ENDED);
	/* One number, and not 0: it is of our namespace, and of none below. */
	if (strchr(line, '\t') == NULL && strcmp(line, "0") != 0)
		return (NULL);
	return ("inside of a session, or of a container, a suite that runs "
	    "outside of it is out of reach: call sbxctl outside");
}

bool
outside_told(void)
{
	return (told);
}

const char *
outside_refuses(int fd)
{
	const char	*why;
	socklen_t	 len = sizeof(int);
	int		 pidfd;

	if (infos == -1)
		return (NULL);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == -1) {
		if (errno != ENOPROTOOPT)
			return (ENDED);
		return (only ? UNTOLD : NULL);
	}
	why = outside_read(pidfd);
	close(pidfd);
	return (why);
}
