/*
 * The processes that spawn makes beforehand, for the session that comes next.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "privsep/proc.h"
#include "regress/privsep/spawned.h"

/* The one process in the one group that there is: a spare's init. */
static pid_t
spare_await(void)
{
	char	path[512], name[64];
	FILE	*f;
	int	i, pid = 0;

	for (i = 0; i < 2000 && pid == 0; i++) {
		usleep(5000);
		if (spawn_groups(name, sizeof(name)) != 1)
			continue;
		snprintf(path, sizeof(path), "%s/%s/cgroup.procs", spawn_cgroup,
		    name);
		if ((f = fopen(path, "r")) == NULL)
			continue;
		if (fscanf(f, "%d", &pid) != 1)
			pid = 0;
		fclose(f);
	}
	if (pid == 0)
		atf_tc_fail("no spare was made");
	spawn_wait_exec(pid, "sbx-init");
	return (pid);
}

/* The one that is told to mountd is the one that waits. */
static void
spare_told(struct test_helper *h, pid_t pid)
{
	struct stat	told, real;
	struct msg	msg;
	char		path[64];

	test_expect(h, MSG_SPARE, &msg);
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	ATF_REQUIRE_EQ(0, stat(path, &real));
	ATF_REQUIRE_EQ(0, fstat(msg.fd, &told));
	ATF_CHECK_EQ(real.st_ino, told.st_ino);
	msg_free(&msg);
}

/* Until that message, past those. */
static void
spare_past(struct test_helper *h, uint32_t type, struct msg *msg)
{
	const char	*why;

	for (;;) {
		ATF_REQUIRE_EQ(1, imsg_recv(&h->ib, msg, 10000, &why));
		if (msg->type != MSG_SPARE)
			break;
		msg_free(msg);
	}
	ATF_REQUIRE_EQ(type, msg->type);
}

/* It was nobody's, and has become this user's; namespaces and ids are those
 * of any other session. */
ATF_TC_WITHOUT_HEAD(spare);
ATF_TC_BODY(spare, tc)
{
	static const char *const	fresh[] = {
		"user", "pid", "mnt", "ipc", "uts", "net", "cgroup"
	};
	const gid_t			more[] = { 4242, 4343 };
	struct test_helper		h;
	struct test_user		u;
	struct started			st;
	char				want[128];
	size_t				i;
	pid_t				pid;
	int				broker;

	test_user(&u);
	spawn_spares = true;
	spawn_up(&h);
	pid = spare_await();
	snprintf(want, sizeof(want), "%d\t%d\t%d\t%d",
	    SCRIPTED_UID + UID_SPAWN, SCRIPTED_UID + UID_SPAWN,
	    SCRIPTED_UID + UID_SPAWN, SCRIPTED_UID + UID_SPAWN);
	STATUS(pid, "Uid", want);
	/* SETGID 6, SETUID 7, SETPCAP 8, NET_ADMIN 12, SYS_ADMIN 21, in its
	 * own user namespace */
	STATUS(pid, "CapPrm", "00000000002011c0");
	ATF_REQUIRE(!spawn_ns_same(pid, h.pid, "user"));
	spare_told(&h, pid);
	broker = spawn_start(&h, SID, spawn_client(u.uid, u.gid, more, 2),
	    u.uid, 0, "none");
	spawn_expect(&h, &st);
	ATF_REQUIRE_EQ(pid, st.init);
	snprintf(want, sizeof(want), "%u\t%u\t%u\t%u", u.uid, u.uid, u.uid,
	    u.uid);
	STATUS(st.init, "Uid", want);
	STATUS(st.init, "Groups", "4242 4343");
	STATUS(st.init, "CapBnd", NOCAPS);
	STATUS(st.init, "CapAmb", NOCAPS);
	STATUS(st.init, "CapInh", NOCAPS);
	for (i = 0; i < sizeof(fresh) / sizeof(fresh[0]); i++)
		if (spawn_ns_same(st.init, h.pid, fresh[i]))
			atf_tc_fail("the %s namespace is spawn's", fresh[i]);
	spawn_kill(&h, SID, broker);
	spawn_finish(&h);
}

/* One that has died is no reason to refuse a start. */
ATF_TC_WITHOUT_HEAD(spare_dies);
ATF_TC_BODY(spare_dies, tc)
{
	struct test_helper	h;
	struct started		st;
	char			state[64];
	pid_t			pid;
	int			broker;

	spawn_spares = true;
	spawn_up(&h);
	pid = spare_await();
	ATF_REQUIRE_EQ(0, kill(pid, SIGKILL));
	/* Dead, and perhaps not reaped yet. */
	do
		spawn_status(pid, "State", state, sizeof(state));
	while (state[0] != '\0' && strchr(state, 'Z') == NULL);
	broker = spawn_start(&h, SID, spawn_client(0, 0, NULL, 0), 0, 0,
	    "host");
	spawn_expect(&h, &st);
	ATF_REQUIRE(st.init != pid);
	spawn_kill(&h, SID, broker);
	spawn_finish(&h);
}

/* 0: it is not there yet. */
static pid_t
worker_of(pid_t spawned_by)
{
	char	 cmd[64];
	FILE	*f;
	int	 pid;

	snprintf(cmd, sizeof(cmd), "pgrep -P %d -f '^sbx-worker'",
	    (int)spawned_by);
	ATF_REQUIRE((f = popen(cmd, "r")) != NULL);
	if (fscanf(f, "%d", &pid) != 1)
		pid = 0;
	pclose(f);
	return (pid);
}

/* Nor is its worker alone, which nobody asks. */
ATF_TC_WITHOUT_HEAD(spare_worker_dies);
ATF_TC_BODY(spare_worker_dies, tc)
{
	struct m_SID		mine = { .session = SID };
	struct m_SID		none = { .session = SID2 };
	struct test_helper	h;
	struct started		st;
	struct msg		msg;
	char			state[64];
	pid_t			pid, worker;
	int			broker;

	spawn_spares = true;
	spawn_up(&h);
	pid = spare_await();
	while ((worker = worker_of(h.pid)) == 0)
		usleep(1000);
	test_send(&h, MSG_PEER, 0, spawn_client(0, 0, NULL, 0), &mine);
	test_send(&h, MSG_KILL, 0, -1, &none);
	spare_past(&h, MSG_KILLED, &msg);
	msg_free(&msg);
	/* spawn has heard nothing of it, nor has init ended with it. */
	ATF_REQUIRE_EQ(0, kill(h.pid, SIGSTOP));
	ATF_REQUIRE_EQ(0, kill(pid, SIGSTOP));
	ATF_REQUIRE_EQ(0, kill(worker, SIGKILL));
	do
		spawn_status(worker, "State", state, sizeof(state));
	while (strchr(state, 'Z') == NULL);
	broker = spawn_start(&h, SID, -1, 0, 0, "host");
	ATF_REQUIRE_EQ(0, kill(h.pid, SIGCONT));
	spawn_expect(&h, &st);
	ATF_REQUIRE(st.init != pid && st.worker != worker);
	spawn_kill(&h, SID, broker);
	spawn_finish(&h);
}

/* Nor is an init that ends in between: alive when it is taken, and nobody there
 * when it is told whose it is. */
ATF_TC_WITHOUT_HEAD(spare_does_not_hear);
ATF_TC_BODY(spare_does_not_hear, tc)
{
	struct test_helper	h;
	struct started		st;
	char			state[64];
	pid_t			pid;
	int			broker, pidfd, word;

	spawn_spares = true;
	spawn_up(&h);
	pid = spare_await();
	ATF_REQUIRE_EQ(0, kill(pid, SIGSTOP));
	do
		spawn_status(pid, "State", state, sizeof(state));
	while (strchr(state, 'T') == NULL);
	/* Its end of the socket to spawn. */
	ATF_REQUIRE((pidfd = (int)syscall(SYS_pidfd_open, pid, 0)) != -1);
	ATF_REQUIRE((word = (int)syscall(SYS_pidfd_getfd, pidfd, PROC_FD + 1,
	    0)) != -1);
	ATF_REQUIRE_EQ(0, shutdown(word, SHUT_RDWR));
	close(word);
	close(pidfd);
	broker = spawn_start(&h, SID, spawn_client(0, 0, NULL, 0), 0, 0,
	    "host");
	spawn_expect(&h, &st);
	ATF_REQUIRE(st.init != pid);
	ATF_REQUIRE(strstr(test_helper_log(&h), "are of no use: telling its "
	    "first process whose it is") != NULL);
	spawn_kill(&h, SID, broker);
	spawn_finish(&h);
}

/* What died is made anew; and where it leaves something that is in the way of
 * its control group's end, nobody waits for that. */
ATF_TC_WITHOUT_HEAD(spare_anew);
ATF_TC_BODY(spare_anew, tc)
{
	struct m_SID		none = { .session = SID2 };
	struct test_helper	h;
	struct msg		msg;
	char			name[64], path[512], sub[600];
	pid_t			pid;
	int			i;

	spawn_spares = true;
	spawn_up(&h);
	pid = spare_await();
	ATF_REQUIRE_EQ(1, spawn_groups(name, sizeof(name)));
	snprintf(path, sizeof(path), "%s/%s", spawn_cgroup, name);
	snprintf(sub, sizeof(sub), "%s/sub", path);
	ATF_REQUIRE_EQ(0, mkdir(sub, 0755));
	ATF_REQUIRE_EQ(0, kill(pid, SIGKILL));
	while (kill(pid, 0) == 0)
		usleep(1000);
	/* It is reaped: spawn is at it. */
	test_send(&h, MSG_KILL, 0, -1, &none);
	spare_past(&h, MSG_KILLED, &msg);
	msg_free(&msg);
	ATF_REQUIRE_EQ(0, rmdir(sub));
	for (i = 0; access(path, F_OK) == 0; i++) {
		ATF_REQUIRE_MSG(i < 1000, "%s is left", name);
		usleep(10000);
	}
	ATF_REQUIRE(spare_await() != pid);
	spawn_finish(&h);
}

/* With spawn ends what it has made. */
ATF_TC_WITHOUT_HEAD(spare_ends);
ATF_TC_BODY(spare_ends, tc)
{
	struct test_helper	h;

	spawn_spares = true;
	test_clean_mark();
	spawn_up(&h);
	spare_await();
	spawn_finish(&h);
	test_clean_check();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, spare);
	ATF_TP_ADD_TC(tp, spare_dies);
	ATF_TP_ADD_TC(tp, spare_worker_dies);
	ATF_TP_ADD_TC(tp, spare_does_not_hear);
	ATF_TP_ADD_TC(tp, spare_anew);
	ATF_TP_ADD_TC(tp, spare_ends);
	return (atf_no_error());
}
