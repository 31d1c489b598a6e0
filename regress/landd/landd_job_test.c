/*
 * landd as the real program: what it does for a broker, what it refuses one.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "landd_lib.h"

static struct lab	lab;

/*
 * Seals
 */
ATF_TC_WITHOUT_HEAD(seal_before_word);
ATF_TC_BODY(seal_before_word, tc)
{
	lab_start(&lab);
	lab_seal_ask(&lab, 5, SID);
	lab_none(&lab);
	lab_word(&lab, SID2, USER);
	lab_none(&lab);
	lab_word(&lab, SID, USER);
	lab_seal_take(&lab, 5);
	/* One word, one seal. */
	lab_seal_ask(&lab, 6, SID);
	lab_none(&lab);
	lab_alive(&lab);
	lab_down(&lab);
}

/* The broker cannot say as whom: it is not even asked. */
ATF_TC_WITHOUT_HEAD(seal_is_spawns);
ATF_TC_BODY(seal_is_spawns, tc)
{
	lab_up(&lab);
	lab_job(&lab, 2, SID, "changes");
	lab_child(&lab, 2, USER);
	lab_jobend(&lab, 2);
	lab_word(&lab, SID, USER + 1);
	lab_seal_ask(&lab, 3, SID);
	lab_seal_take(&lab, 3);
	lab_job(&lab, 4, SID, "changes");
	lab_child(&lab, 4, USER + 1);
	lab_down(&lab);
}

/* Whatever number SEAL has: what answers it has that one, also where the answer
 * waits, and where it is an ERROR. */
ATF_TC_WITHOUT_HEAD(seal_numbers);
ATF_TC_BODY(seal_numbers, tc)
{
	static const uint32_t	number[] = { 0, 1, INT32_MAX, UINT32_MAX };
	char			sid[LIMIT_SID + 1];
	size_t			i;

	lab_start(&lab);
	for (i = 0; i < sizeof(number) / sizeof(number[0]); i++) {
		lab_word(&lab, SID, USER);
		lab_seal_ask(&lab, number[i], SID);
		lab_seal_take(&lab, number[i]);
		lab_seal_ask(&lab, number[i], SID2);
		lab_word(&lab, SID2, USER);
		lab_seal_take(&lab, number[i]);
	}
	/* More than may wait: the first of them is answered for it. */
	for (i = 0; i <= 256; i++) {
		snprintf(sid, sizeof(sid), "s%zu", i);
		lab_seal_ask(&lab, UINT32_MAX - (uint32_t)i, sid);
	}
	lab_error(&lab, UINT32_MAX, "land.unsealed");
	lab_none(&lab);
	lab_word(&lab, "s1", USER);
	lab_seal_take(&lab, UINT32_MAX - 1);
	lab_down(&lab);
}

/* As many roots as there may be, of paths as long as they may be, are a SEAL of
 * several frames; and with as many groups too much for a seal. */
static void
seal_large(size_t ngroups)
{
	static char	 path[LIMIT_ROOTS][LIMIT_PATH + 1];
	static uint64_t	 groups[LIMIT_GROUPS], max[LIMIT_ROOTS];
	const char	*roots[LIMIT_ROOTS];
	struct m_WORD	 word = {
		.session = SID, .uid = USER, .gid = USER,
		.groups = { ngroups, groups }
	};
	struct m_SEAL	 m = {
		.session = SID, .roots = { LIMIT_ROOTS, roots },
		.devs = { LIMIT_ROOTS, max }, .inos = { LIMIT_ROOTS, max },
		.t0 = UINT64_MAX
	};
	struct msg	 msg;
	size_t		 i;

	memset(groups, 0xff, sizeof(groups));
	memset(max, 0xff, sizeof(max));
	for (i = 0; i < LIMIT_ROOTS; i++) {
		memset(path[i], 'a' + (int)i, LIMIT_PATH);
		path[i][0] = '/';
		roots[i] = path[i];
	}
	ATF_REQUIRE(imsg_send(&lab.spawn, MSG_WORD, 0, -1, &word) == 0);
	test_send(&lab.h, MSG_SEAL, 70, -1, &m);
	if (ngroups == LIMIT_GROUPS) {
		lab_error(&lab, 70, "land.toolarge");
		return;
	}
	for (i = 0; i < LIMIT_ROOTS; i++) {
		test_expect(&lab.h, MSG_SEALED, &msg);
		ATF_CHECK_EQ(70, msg.id);
		ATF_CHECK_EQ(i, ((const struct m_SEALED *)msg.body)->root);
		msg_free(&msg);
	}
}

ATF_TC_WITHOUT_HEAD(seal_bounds);
ATF_TC_BODY(seal_bounds, tc)
{
	struct msg	msg;

	lab_start(&lab);
	seal_large(0);
	seal_large(LIMIT_GROUPS);
	lab_none(&lab);
	/* Numbers come out as they went in. */
	lab.dev = lab.ino = lab.t0 = UINT64_MAX;
	lab_word(&lab, SID, USER);
	lab_seal_ask(&lab, 1, SID);
	lab_seal_take(&lab, 1);
	lab_job(&lab, 2, SID, "changes");
	lab_child(&lab, 2, USER);
	lab_child_hello(&lab);
	lab_child_work(&lab, &msg);
	msg_free(&msg);
	lab_down(&lab);
}

ATF_TC_WITHOUT_HEAD(seal_forged);
ATF_TC_BODY(seal_forged, tc)
{
	uint8_t	good[LIMIT_SEAL];
	size_t	len, i;
	uint32_t id = 10;

	lab_up(&lab);
	len = lab.seallen;
	memcpy(good, lab.seal, len);
	for (i = 0; i < len; i++) {
		lab.seal[i] ^= 1 << i % 8;
		lab_job(&lab, id, SID, "apply");
		lab_error(&lab, id++, "land.seal");
		lab.seal[i] = good[i];
	}
	for (i = 0; i < len; i += 7) {
		lab.seallen = i;
		lab_job(&lab, id, SID, "apply");
		lab_error(&lab, id++, "land.seal");
	}
	memcpy(lab.seal + len, "x", 1);
	lab.seallen = len + 1;
	lab_job(&lab, id, SID, "apply");
	lab_error(&lab, id++, "land.seal");
	lab.seallen = len;
	lab_job(&lab, id, SID2, "apply");
	lab_error(&lab, id++, "land.seal");
	/* No child was asked for in all this; this is the first. */
	lab_job(&lab, id, SID, "changes");
	lab_child(&lab, id, USER);
	lab_down(&lab);
}

/* The key is one for a state, and lives as long as it. */
ATF_TC_WITHOUT_HEAD(key);
ATF_TC_BODY(key, tc)
{
	uint8_t		seal[LIMIT_SEAL];
	size_t		len;
	struct stat	st;

	lab_up(&lab);
	len = lab.seallen;
	memcpy(seal, lab.seal, len);
	lab_down(&lab);
	ATF_REQUIRE(stat(test_path("state/landd/key"), &st) == 0);
	ATF_REQUIRE_EQ(st.st_size, 32);
	ATF_REQUIRE_EQ(st.st_mode, (mode_t)(S_IFREG | 0600));
	ATF_REQUIRE_EQ(st.st_uid, SCRIPTED_UID + UID_LANDD);
	ATF_REQUIRE_EQ(st.st_gid, SCRIPTED_GID + UID_LANDD);
	lab_start(&lab);
	memcpy(lab.seal, seal, len);
	lab.seallen = len;
	lab_job(&lab, 2, SID, "changes");
	lab_child(&lab, 2, USER);
	lab_down(&lab);
	/* Another key: what it has not sealed it does not take. */
	ATF_REQUIRE(unlink(test_path("state/landd/key")) == 0);
	lab_start(&lab);
	memcpy(lab.seal, seal, len);
	lab.seallen = len;
	lab_job(&lab, 2, SID, "changes");
	lab_error(&lab, 2, "land.seal");
	lab_down(&lab);
}

static void
key_refused(const char *command, const char *text)
{
	struct m_SUITE	suite;
	int		sv[2];

	ATF_REQUIRE(test_sh("cd '%s' && %s", test_path("state/landd"),
	    command) == 0);
	scripted_suite(&suite);
	test_helper_start(&lab.h, "landd", ROLE_LANDD);
	test_send(&lab.h, MSG_SUITE, 0, -1, &suite);
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	(void)imsg_send(&lab.h.ib, MSG_CHANNEL, 0, sv[1], NULL);
	ATF_REQUIRE(imsg_init(&lab.spawn, sv[0], ROLE_SPAWN, ROLE_LANDD) ==
	    0);
	lab.child = false;
	lab_dead(&lab, text);
}

ATF_TC_WITHOUT_HEAD(key_broken);
ATF_TC_BODY(key_broken, tc)
{
	lab_up(&lab);
	lab_down(&lab);
	key_refused("head -c 31 /dev/urandom >key", "not 32 bytes");
	key_refused(": >key", "not 32 bytes");
	key_refused("head -c 33 /dev/urandom >key", "not 32 bytes");
	key_refused("head -c 32 /dev/urandom >key && chmod 640 key",
	    "mode 600");
	key_refused("chmod 600 key && ln key key2", "mode 600");
	key_refused("rm key2 && mv key k && ln -s k key", "landd/key");
	key_refused("rm key && mkfifo -m 600 key", "mode 600");
}

/*
 * A broker that makes no sense ends it
 */
static void
order_dead(const char *text)
{
	lab_dead(&lab, text);
}

ATF_TC_WITHOUT_HEAD(orders_broken);
ATF_TC_BODY(orders_broken, tc)
{
	struct m_JOB	m = { .session = SID, .what = "changes" };

	lab_up(&lab);
	lab_job(&lab, 0, SID, "changes");
	order_dead("makes no sense");
	lab_up(&lab);
	lab_job(&lab, 2, SID, "undo");
	order_dead("makes no sense");
	lab_up(&lab);
	lab_job(&lab, 2, SID, "changes");
	lab_job(&lab, 2, SID, "changes");
	order_dead("makes no sense");
	lab_up(&lab);
	snprintf(lab.project, sizeof(lab.project), "/a/../b");
	lab_seal_ask(&lab, 2, SID2);
	order_dead("\"/a/../b\"");
	lab_up(&lab);
	m.seal.p = lab.seal;
	m.seal.len = lab.seallen;
	m.digest.p = (const uint8_t *)"short";
	m.digest.len = 5;
	test_send(&lab.h, MSG_JOB, 2, -1, &m);
	order_dead("makes no sense");
}

static void
fd_dead(const char *what, const char *first, const char *kind, int flags,
    const char *text)
{
	printf("%s: %s then %s\n", what, first, kind);
	lab_up(&lab);
	lab_job(&lab, 2, SID, what);
	lab_child(&lab, 2, USER);
	ATF_REQUIRE(test_sh(": >'%s/%s'", lab.dir, kind) == 0);
	if (*first != '\0')
		lab_file(&lab, 2, first, O_RDWR | O_CREAT);
	lab_file(&lab, 2, kind, flags);
	order_dead(text);
}

ATF_TC_WITHOUT_HEAD(descriptors_out_of_turn);
ATF_TC_BODY(descriptors_out_of_turn, tc)
{
	static const int	rw = O_RDWR | O_CREAT;

	fd_dead("changes", "", "journal", rw, "is not due");
	fd_dead("changes", "", "newbase", rw, "is not due");
	fd_dead("patch", "", "newbase", rw, "is not due");
	fd_dead("discard", "", "journal", rw, "is not due");
	fd_dead("apply", "", "newbase", rw, "is not due");
	fd_dead("recover", "", "newbase", rw, "is not due");
	fd_dead("apply", "journal", "journal", rw, "is not due");
	fd_dead("apply", "baseline", "baseline", rw, "is not due");
	fd_dead("discard", "newbase", "newbase", rw, "is not due");
	fd_dead("discard", "newbase", "baseline", rw, "is not due");
	/* The project has not been opened yet. */
	fd_dead("changes", "", "view", rw, "is not due");
	fd_dead("apply", "journal", "stage", rw, "is not due");
	fd_dead("recover", "journal", "view", rw, "is not due");
	/* To forget there is the baseline, and it is all. */
	fd_dead("forget", "", "journal", rw, "is not due");
	fd_dead("forget", "", "newbase", rw, "is not due");
	fd_dead("forget", "baseline", "baseline", rw, "is not due");
	fd_dead("forget", "baseline", "view", rw, "is not due");
	/* To list a layer there are three folders, and no file of sbxd's. */
	fd_dead("outside", "", "baseline", rw, "is not due");
	fd_dead("outside", "", "newbase", rw, "is not due");
	fd_dead("outside", "", "stage", rw, "is not due");
	fd_dead("outside", "view", "view", rw, "is not due");
	fd_dead("changes", "", "real", rw, "is not due");
	fd_dead("apply", "", "real", rw, "is not due");
	fd_dead("changes", "", "sesame", rw, "of kind");
	fd_dead("changes", "", "patch", rw, "of kind");
	/* Not what it must be. */
	fd_dead("apply", "", "journal", O_RDONLY | O_CREAT, "no such file");
	fd_dead("discard", "", "newbase", O_RDONLY | O_CREAT, "no such file");
	fd_dead("changes", "", "baseline", O_PATH | O_CREAT, "no such file");
}

ATF_TC_WITHOUT_HEAD(files_wrong);
ATF_TC_BODY(files_wrong, tc)
{
	static const char *const	kinds[] = { "journal", "newbase" };
	size_t				i;

	for (i = 0; i < 2; i++) {
		lab_up(&lab);
		ATF_REQUIRE(test_sh("echo x >'%s/%s'", lab.dir, kinds[i]) ==
		    0);
		lab_job(&lab, 2, SID, i == 0 ? "apply" : "discard");
		lab_file(&lab, 2, kinds[i], O_RDWR);
		if (i == 0) {
			lab_error(&lab, 2, "land.unfinished");
			ATF_REQUIRE_EQ(lab_size(&lab, "journal"), 2);
			lab_jobend(&lab, 2);
			lab_alive(&lab);
			lab_down(&lab);
		} else
			order_dead("is not empty");
		lab_up(&lab);
		ATF_REQUIRE(test_sh("mkfifo '%s/%s'", lab.dir, kinds[i]) ==
		    0);
		lab_job(&lab, 2, SID, i == 0 ? "apply" : "discard");
		lab_file(&lab, 2, kinds[i], O_RDWR);
		order_dead("no such file");
	}
}

/* What crosses the end of a job on its way is no fault of the broker's. */
ATF_TC_WITHOUT_HEAD(late);
ATF_TC_BODY(late, tc)
{
	lab_up(&lab);
	lab_jobend(&lab, 99);
	lab_file(&lab, 99, "view", O_RDWR | O_CREAT);
	lab_childend(&lab, 99, 0);
	lab_job(&lab, 2, SID, "changes");
	lab_child(&lab, 2, USER);
	lab_child_gone(&lab);
	lab_childend(&lab, 2, 0);
	lab_error(&lab, 2, "land.failed");
	lab_file(&lab, 2, "view", O_RDWR);
	lab_childend(&lab, 2, 0);
	lab_jobend(&lab, 2);
	lab_jobend(&lab, 2);
	lab_alive(&lab);
	lab_down(&lab);
}

ATF_TC_WITHOUT_HEAD(one_at_a_time);
ATF_TC_BODY(one_at_a_time, tc)
{
	lab_up(&lab);
	lab_job(&lab, 2, SID, "apply");
	lab_child(&lab, 2, USER);
	lab_job(&lab, 3, SID, "changes");
	lab_error(&lab, 3, "land.busy");
	lab_jobend(&lab, 3);
	lab_child_gone(&lab);
	lab_childend(&lab, 2, SIGKILL);
	ATF_REQUIRE(strstr(lab_error(&lab, 2, "land.failed"), "signal 9") !=
	    NULL);
	/* Its number is still the broker's, its session is free. */
	lab_job(&lab, 4, SID, "changes");
	lab_child(&lab, 4, USER);
	lab_down(&lab);
}

ATF_TC_WITHOUT_HEAD(spawn_refuses);
ATF_TC_BODY(spawn_refuses, tc)
{
	struct m_ERROR	e = { .code = "land.failed", .message = "no memory" };

	lab_up(&lab);
	lab_job(&lab, 2, SID, "changes");
	lab_child(&lab, 2, USER);
	ATF_REQUIRE(imsg_send(&lab.spawn, MSG_ERROR, 2, -1, &e) == 0);
	lab_error(&lab, 2, "land.failed");
	lab_alive(&lab);
	/* Without spawn there is no landing, nor a landd. */
	imsg_clear(&lab.spawn);
	int status = test_helper_wait(&lab.h);
	ATF_REQUIRE(WIFEXITED(status));
	imsg_clear(&lab.h.ib);
}

/*
 * A whole job of each kind
 */
ATF_TC_WITHOUT_HEAD(changes);
ATF_TC_BODY(changes, tc)
{
	struct m_CHANGE		 c = {
		.path = "b\377", .from = "a", .kind = "renamed",
		.oldmode = 0100644, .newmode = 0100755, .oldsize = 7,
		.newsize = 7, .insertions = 1, .deletions = 2,
		.binary = true, .opaque = true, .drift = "edited"
	};
	struct m_SKIPPED	 s = {
		.path = "p", .reason = "r", .class = "git"
	};
	struct m_IGNORED	 i = { .path = "o", .files = 3, .bytes = 4 };
	const struct m_CHANGE	*got;
	struct msg		 msg;

	lab_up(&lab);
	lab_to_view(&lab, 2, "changes");
	lab_say(&lab, MSG_STAGED, -1, NULL);
	lab_expect(&lab, 2, MSG_STAGED, &msg);
	msg_free(&msg);
	lab_say(&lab, MSG_CHANGE, -1, &c);
	lab_say(&lab, MSG_SKIPPED, -1, &s);
	lab_say(&lab, MSG_IGNORED, -1, &i);
	lab_expect(&lab, 2, MSG_CHANGE, &msg);
	got = msg.body;
	ATF_REQUIRE_STREQ(got->path, c.path);
	ATF_REQUIRE_STREQ(got->from, c.from);
	ATF_REQUIRE_STREQ(got->drift, c.drift);
	ATF_REQUIRE(got->newmode == c.newmode && got->deletions == 2 &&
	    got->binary && got->opaque);
	msg_free(&msg);
	lab_expect(&lab, 2, MSG_SKIPPED, &msg);
	msg_free(&msg);
	lab_expect(&lab, 2, MSG_IGNORED, &msg);
	msg_free(&msg);
	lab_say_landing(&lab);
	lab_expect(&lab, 2, MSG_LANDING, &msg);
	msg_free(&msg);
	lab_say(&lab, MSG_END, -1, NULL);
	lab_expect(&lab, 2, MSG_END, &msg);
	msg_free(&msg);
	lab_jobend(&lab, 2);
	lab_alive(&lab);
	lab_down(&lab);
}

ATF_TC_WITHOUT_HEAD(patch);
ATF_TC_BODY(patch, tc)
{
	struct msg	msg;
	int		fd;

	lab_up(&lab);
	lab_to_landing(&lab, 2, "patch");
	ATF_REQUIRE(test_sh("echo patch >'%s/patch'", lab.dir) == 0);
	ATF_REQUIRE((fd = open(test_path("lab1/patch"), O_RDONLY)) != -1);
	lab_say_fd(&lab, "patch", fd);
	lab_expect(&lab, 2, MSG_LFD, &msg);
	ATF_REQUIRE_STREQ(((const struct m_LFD *)msg.body)->kind, "patch");
	ATF_REQUIRE(msg.fd != -1);
	msg_free(&msg);
	lab_say(&lab, MSG_END, -1, NULL);
	lab_expect(&lab, 2, MSG_END, &msg);
	msg_free(&msg);
	lab_down(&lab);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, seal_before_word);
	ATF_TP_ADD_TC(tp, seal_is_spawns);
	ATF_TP_ADD_TC(tp, seal_numbers);
	ATF_TP_ADD_TC(tp, seal_bounds);
	ATF_TP_ADD_TC(tp, seal_forged);
	ATF_TP_ADD_TC(tp, key);
	ATF_TP_ADD_TC(tp, key_broken);
	ATF_TP_ADD_TC(tp, orders_broken);
	ATF_TP_ADD_TC(tp, descriptors_out_of_turn);
	ATF_TP_ADD_TC(tp, files_wrong);
	ATF_TP_ADD_TC(tp, late);
	ATF_TP_ADD_TC(tp, one_at_a_time);
	ATF_TP_ADD_TC(tp, spawn_refuses);
	ATF_TP_ADD_TC(tp, changes);
	ATF_TP_ADD_TC(tp, patch);
	return (atf_no_error());
}
