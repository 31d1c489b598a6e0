#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regress/privsep/spawned.h"

int	spawn_channel = -1;
char	spawn_cgroup[256];
bool	spawn_spares;
struct rlimit spawn_limit;

static void
put(const char *path, const char *text)
{
	int	fd;

	ATF_REQUIRE((fd = open(path, O_WRONLY)) != -1);
	ATF_REQUIRE_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

/* As sbxd does it while root; the case has a cgroup of its own. */
static void
cgroup_up(pid_t spawn)
{
	static const char *const	give[] = {
		"", "/cgroup.procs", "/cgroup.subtree_control", "/spawn",
		"/spawn/cgroup.procs"
	};
	char				path[512], self[256], mnt[128], n[32];
	FILE				*f;
	size_t				i;

	ATF_REQUIRE((f = popen("awk '$8==\"cgroup2\"||$9==\"cgroup2\"||"
	    "$10==\"cgroup2\"{print $5; exit}' /proc/self/mountinfo; "
	    "sed -n 's/^0:://p' /proc/self/cgroup", "r")) != NULL);
	ATF_REQUIRE(fscanf(f, "%127s %255s", mnt, self) == 2);
	pclose(f);
	snprintf(spawn_cgroup, sizeof(spawn_cgroup),
	    "%.100s%.100s/sbx-spawn-test", mnt, strcmp(self, "/") == 0 ? "" :
	    self);
	mkdir(spawn_cgroup, 0755);
	snprintf(path, sizeof(path), "%s/spawn", spawn_cgroup);
	mkdir(path, 0755);
	for (i = 0; i < sizeof(give) / sizeof(give[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", spawn_cgroup, give[i]);
		if (chown(path, SCRIPTED_UID + UID_SPAWN,
		    SCRIPTED_UID + UID_SPAWN) == -1)
			atf_tc_fail("%s: %s", path, strerror(errno));
	}
	snprintf(path, sizeof(path), "%s/spawn/cgroup.procs", spawn_cgroup);
	snprintf(n, sizeof(n), "%d", (int)spawn);
	put(path, n);
}

void
spawn_up(struct test_helper *h)
{
	struct m_SUITE	 suite;
	struct msg	 msg;
	int		 pair[2];

	test_helper_start(h, "spawn", ROLE_SPAWN);
	if (spawn_limit.rlim_max != 0)
		ATF_REQUIRE_EQ(0, prlimit(h->pid, RLIMIT_NOFILE, &spawn_limit,
		    NULL));
	cgroup_up(h->pid);
	scripted_suite(&suite);
	suite.cgroup = spawn_cgroup;
	suite.spares = spawn_spares;
	test_send(h, MSG_SUITE, 0, -1, &suite);
	ATF_REQUIRE_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    pair));
	test_send(h, MSG_CHANNEL, 0, pair[1], NULL);
	test_expect(h, MSG_READY, &msg);
	msg_free(&msg);
	if (spawn_channel != -1)
		close(spawn_channel);
	spawn_channel = pair[0];
}

void
spawn_down(struct test_helper *h)
{
	char	path[512];
	int	i;

	(void)h;
	if (spawn_channel != -1)
		close(spawn_channel);
	spawn_channel = -1;
	snprintf(path, sizeof(path), "%s/spawn", spawn_cgroup);
	for (i = 0; i < 200 && (rmdir(path) == -1 ||
	    rmdir(spawn_cgroup) == -1) && errno != ENOENT; i++)
		usleep(10000);
}

/* The client lives as long as anybody holds the socket; nobody waits for it. */
static void
client(const struct sockaddr_un *sun, uid_t uid, gid_t gid,
    const gid_t *groups, size_t n)
{
	char	byte;
	int	c;

	if (fork() != 0)
		_exit(0);
	if ((c = socket(AF_UNIX, SOCK_STREAM, 0)) == -1 ||
	    dup2(c, 3) == -1 || close_range(4, ~0U, 0) == -1)
		_exit(1);
	if (setgroups(n, groups) == -1 || setgid(gid) == -1 ||
	    setuid(uid) == -1 || connect(3, (const struct sockaddr *)sun,
	    sizeof(*sun)) == -1)
		_exit(1);
	_exit(read(3, &byte, 1) == 0 ? 0 : 1);
}

int
spawn_client(uid_t uid, gid_t gid, const gid_t *groups, size_t n)
{
	struct sockaddr_un	sun = { .sun_family = AF_UNIX };
	struct timeval		wait = { .tv_sec = 10 };
	int			l, c, status;
	pid_t			pid;

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s/c.sock",
	    test_scratch());
	unlink(sun.sun_path);
	ATF_REQUIRE((l = socket(AF_UNIX, SOCK_STREAM, 0)) != -1);
	ATF_REQUIRE_EQ(0, bind(l, (struct sockaddr *)&sun, sizeof(sun)));
	ATF_REQUIRE_EQ(0, chmod(sun.sun_path, 0666));
	ATF_REQUIRE_EQ(0, listen(l, 1));
	ATF_REQUIRE_EQ(0, setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, &wait,
	    sizeof(wait)));
	if ((pid = fork()) == 0)
		client(&sun, uid, gid, groups, n);
	ATF_REQUIRE((c = accept(l, NULL, NULL)) != -1);
	ATF_REQUIRE_EQ(pid, waitpid(pid, &status, 0));
	ATF_REQUIRE_EQ(0, status);
	close(l);
	return (c);
}

int
spawn_start(struct test_helper *h, const char *sid, int client, uid_t uid,
    gid_t gid, const char *network)
{
	struct m_SID	peer = { .session = sid };
	struct m_START	m = {
		.session = sid, .generation = 1, .uid = uid, .gid = gid,
		.network = network
	};
	int		pair[2];

	ATF_REQUIRE_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    pair));
	if (client != -1)
		test_send(h, MSG_PEER, 0, client, &peer);
	test_send(h, MSG_START, 0, pair[1], &m);
	return (pair[0]);
}

/* STARTED is sent while both are still on their way to exec. */
void
spawn_wait_exec(pid_t pid, const char *argv0)
{
	char	path[64], buf[64] = "";
	int	fd, i;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	for (i = 0; i < 1000; i++) {
		if ((fd = open(path, O_RDONLY)) != -1) {
			memset(buf, 0, sizeof(buf));
			if (read(fd, buf, sizeof(buf) - 1) == -1)
				buf[0] = '\0';
			close(fd);
		}
		if (strcmp(buf, argv0) == 0)
			return;
		usleep(1000);
	}
	atf_tc_fail("%s was not executed: it is %s", argv0, buf);
}

void
spawn_expect(struct test_helper *h, struct started *st)
{
	const char	*why;
	struct msg	 msg;

	st->kinds = 0;
	for (;;) {
		ATF_REQUIRE_EQ(1, imsg_recv(&h->ib, &msg, 10000, &why));
		if (msg.type == MSG_ERROR)
			atf_tc_fail("%s", ((const struct m_ERROR *)msg.body)->
			    message);
		if (msg.type != MSG_SFD && msg.type != MSG_SPARE)
			break;
		st->kinds += msg.type == MSG_SFD;
		msg_free(&msg);
	}
	ATF_REQUIRE_EQ(MSG_STARTED, msg.type);
	st->init = (pid_t)((const struct m_STARTED *)msg.body)->init;
	st->worker = (pid_t)((const struct m_STARTED *)msg.body)->worker;
	ATF_REQUIRE_EQ(7, st->kinds);
	msg_free(&msg);
	spawn_wait_exec(st->init, "sbx-init");
	spawn_wait_exec(st->worker, "sbx-worker");
}

int
spawn_groups(char *name, size_t size)
{
	struct dirent	*de;
	DIR		*d;
	int		 n = 0;

	ATF_REQUIRE((d = opendir(spawn_cgroup)) != NULL);
	while ((de = readdir(d)) != NULL)
		if (de->d_type == DT_DIR && de->d_name[0] == 's' &&
		    strcmp(de->d_name, "spawn") != 0) {
			strlcpy(name, de->d_name, size);
			n++;
		}
	closedir(d);
	return (n);
}

void
spawn_kill(struct test_helper *h, const char *sid, int broker)
{
	struct m_SID	 m = { .session = sid };
	struct msg	 msg;
	const char	*why;
	char		 name[64];
	int		 before = spawn_groups(name, sizeof(name));

	test_send(h, MSG_KILL, 0, -1, &m);
	do {
		ATF_REQUIRE_EQ(1, imsg_recv(&h->ib, &msg, 10000, &why));
		if (msg.type == MSG_KILLED)
			break;
		ATF_REQUIRE(msg.type == MSG_SENDED || msg.type == MSG_SPARE);
		msg_free(&msg);
	} while (1);
	msg_free(&msg);
	if (broker != -1)
		close(broker);
	/* A spare's may have come beside it, if there are any. */
	if (!spawn_spares)
		ATF_REQUIRE_EQ(before > 0 ? before - 1 : 0,
		    spawn_groups(name, sizeof(name)));
}

void
spawn_finish(struct test_helper *h)
{
	ATF_REQUIRE_EQ(0, test_helper_end(h));
	spawn_down(h);
}

void
spawn_status(pid_t pid, const char *name, char *out, size_t size)
{
	char	path[64], line[1024];
	FILE	*f;

	out[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if ((f = fopen(path, "r")) == NULL) {
		if (errno == ENOENT)
			return;		/* it is gone */
		atf_tc_fail("%s: %s", path, strerror(errno));
	}
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, strlen(name)) == 0 &&
		    line[strlen(name)] == ':') {
			line[strcspn(line, "\n")] = '\0';
			strlcpy(out, line + strlen(name) + 1, size);
		}
	fclose(f);
}

bool
spawn_ns_same(pid_t a, pid_t b, const char *ns)
{
	char	path[64];
	struct stat sa, sb;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)a, ns);
	ATF_REQUIRE_EQ(0, stat(path, &sa));
	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)b, ns);
	ATF_REQUIRE_EQ(0, stat(path, &sb));
	return (sa.st_ino == sb.st_ino);
}

