#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"
#include "privsep/proc.h"
#include "regress/lib/test.h"

pid_t		broker;
char		log_path[PATH_MAX];
const char	*broker_conf;
static char	socket_path[PATH_MAX];

void
broker_start(const char *program)
{
	int	fd;

	strlcpy(log_path, test_path("broker.log"), sizeof(log_path));
	snprintf(socket_path, sizeof(socket_path), "%s/sbxd.sock",
	    getenv("SBX_STATE"));
	unlink(log_path);
	unlink(socket_path);
	fflush(NULL);
	ATF_REQUIRE((broker = fork()) != -1);
	if (broker == 0) {
		if ((fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND,
		    0600)) == -1 || dup2(fd, STDERR_FILENO) == -1)
			_exit(99);
		execl(program, "sbxd", "-d", broker_conf != NULL ? "-f" : NULL,
		    broker_conf, (char *)NULL);
		_exit(98);
	}
}

int
broker_connect(void)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	int			s, ms;

	strlcpy(sun.sun_path, socket_path, sizeof(sun.sun_path));
	ATF_REQUIRE((s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) !=
	    -1);
	for (ms = 0; ms < 10000; ms += 10) {
		if (connect(s, (struct sockaddr *)&sun, sizeof(sun)) == 0)
			return (s);
		ATF_REQUIRE_EQ(waitpid(broker, NULL, WNOHANG), 0);
		usleep(10000);
	}
	atf_tc_fail("sbxd does not listen on %s", socket_path);
}

void
broker_ready(void)
{
	struct imsgbuf	ib;

	/* It listens long before it and its helpers are confined. */
	ATF_REQUIRE(imsg_init(&ib, broker_connect(), ROLE_CLIENT, ROLE_SBXD) ==
	    0);
	proc_hello(&ib, ROLE_CLIENT, ROLE_SBXD);
	imsg_clear(&ib);
}

void
broker_stop(void)
{
	int	status;

	ATF_REQUIRE_EQ(kill(broker, SIGTERM), 0);
	ATF_REQUIRE(waitpid(broker, &status, 0) == broker);
	ATF_REQUIRE_EQ(status, 0);
}

pid_t
broker_helper(const char *name)
{
	char	cmd[128];
	FILE	*f;
	int	pid;

	snprintf(cmd, sizeof(cmd), "pgrep -oP %d -x %s", (int)broker, name);
	ATF_REQUIRE((f = popen(cmd, "r")) != NULL);
	ATF_REQUIRE(fscanf(f, "%d", &pid) == 1);
	pclose(f);
	return (pid);
}
