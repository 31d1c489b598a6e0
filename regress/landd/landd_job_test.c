/*
 * landd as the real program: what it does for a broker, what it refuses one,
 * and that nothing a child says or does ends it.
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
	struct m_SKIPPED	 s = { .path = "p", .reason = "r", .class = "git" };
	struct m_IGNORED	 i = { .path = "o", .files = 3, .bytes = 4 };
	const struct m_CHANGE	*got;
	struct msg		 msg;

	lab_up(&lab);
	lab_to_view(&lab, 2, "changes");
	lab_say(&lab, MSG_STAGED, -1, NULL);
	lab_expect(&lab, 2, MSG_STAGED, &msg);
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
	lab_down(&lab);
}

static uint8_t	blob[100000];

static void
blob_fill(unsigned int seed)
{
	size_t	i;

	srandom(seed);
	for (i = 0; i < sizeof(blob); i++)
		blob[i] = (uint8_t)random();
}

/* In pieces, as the child sends it. */
static void
say_blob(const char *kind, size_t len)
{
	size_t		off = 0, n;
	uint64_t	i = 0;

	do {
		n = len - off < 30000 ? len - off : 30000;
		lab_say_bytes(&lab, kind, i++, off + n == len, blob + off, n);
		off += n;
	} while (off < len);
}

/* As land does it: intent, whole, baselines, the answer. */
static void
apply(uint32_t id, size_t intent, size_t whole, size_t base)
{
	static const char	*paths[] = { "a", "d/b", NULL };
	struct m_LANDED		 m = { .files = 2, .paths = { 2, paths } };
	const struct m_LANDED	*got;
	struct msg		 msg;

	lab_to_landing(&lab, id, "apply");
	say_blob("journal", intent);
	lab_hear(&lab, MSG_COMMITTED, &msg);
	msg_free(&msg);
	ATF_REQUIRE(lab_size(&lab, "journal") >= (long)intent);
	say_blob("journal", whole);
	lab_hear(&lab, MSG_COMMITTED, &msg);
	msg_free(&msg);
	say_blob("baseline", base);
	lab_say(&lab, MSG_LANDED, -1, &m);
	lab_expect(&lab, id, MSG_LANDED, &msg);
	got = msg.body;
	ATF_REQUIRE(got->files == 2 && got->paths.n == 2 &&
	    strcmp(got->paths.v[1], "d/b") == 0);
	msg_free(&msg);
	lab_jobend(&lab, id);
}

/* What the child of a later job is given. */
static void
hear_baseline(uint32_t id, size_t want)
{
	const uint8_t	*p;
	struct msg	 msg;
	size_t		 len;

	lab_job(&lab, id, SID, "changes");
	lab_file(&lab, id, "baseline", O_RDONLY);
	lab_child(&lab, id, USER);
	lab_child_hello(&lab);
	lab_child_work(&lab, &msg);
	msg_free(&msg);
	lab_say_fd(&lab, "project", lab_folder(&lab));
	lab_expect(&lab, id, MSG_LFD, &msg);
	msg_free(&msg);
	lab_fd(&lab, id, "view", lab_folder(&lab));
	p = lab_hear_bytes(&lab, "baseline", &len);
	ATF_REQUIRE_EQ(len, want);
	ATF_REQUIRE(memcmp(p, blob, len) == 0);
	lab_jobend(&lab, id);
}

static void
hear_journal(uint32_t id, size_t want)
{
	const uint8_t	*p;
	struct msg	 msg;
	size_t		 len;

	lab_job(&lab, id, SID, "recover");
	lab_files(&lab, id, "recover");
	lab_child(&lab, id, USER);
	lab_child_hello(&lab);
	lab_child_work(&lab, &msg);
	msg_free(&msg);
	lab_hear_bytes(&lab, "baseline", &len);
	ATF_REQUIRE_EQ(len, 0);
	p = lab_hear_bytes(&lab, "journal", &len);
	if (len != want || memcmp(p, blob, len) != 0)
		atf_tc_fail("a journal of %zu bytes, not %zu", len, want);
	lab_jobend(&lab, id);
}

ATF_TC_WITHOUT_HEAD(kept);
ATF_TC_BODY(kept, tc)
{
	lab_up(&lab);
	blob_fill(1);
	apply(2, 200, sizeof(blob), 70000);
	ATF_REQUIRE(test_sh("cd '%s' && mv newbase baseline", lab.dir) == 0);
	hear_baseline(3, 70000);
	hear_journal(4, sizeof(blob));
	/* Of no session but this one, and in no other place. */
	ATF_REQUIRE(test_sh("cd '%s' && cp journal j && mv baseline journal",
	    lab.dir) == 0);
	lab_job(&lab, 5, SID, "recover");
	lab_files(&lab, 5, "recover");
	lab_child(&lab, 5, USER);
	lab_child_hello(&lab);
	lab_error(&lab, 5, "land.state");
	lab_jobend(&lab, 5);
	ATF_REQUIRE(test_sh("cd '%s' && mv j journal", lab.dir) == 0);
	lab_word(&lab, SID2, USER);
	lab_seal_ask(&lab, 9, SID2);
	lab_seal_take(&lab, 9);
	lab_job(&lab, 6, SID2, "recover");
	lab_files(&lab, 6, "recover");
	lab_child(&lab, 6, USER);
	lab_child_hello(&lab);
	lab_error(&lab, 6, "land.state");
	lab_down(&lab);
}

static void
flip(const char *name, long at)
{
	char	path[PATH_MAX + 32];
	uint8_t	c;
	int	fd;

	snprintf(path, sizeof(path), "%s/%s", lab.dir, name);
	ATF_REQUIRE((fd = open(path, O_RDWR)) != -1);
	ATF_REQUIRE(pread(fd, &c, 1, at) == 1);
	c ^= 0x10;
	ATF_REQUIRE(pwrite(fd, &c, 1, at) == 1);
	close(fd);
}

static void
refused_state(uint32_t id, const char *what, const char *kind)
{
	struct msg	msg;

	lab_job(&lab, id, SID, what);
	lab_file(&lab, id, kind, O_RDWR);
	if (strcmp(what, "recover") == 0)
		lab_file(&lab, id, "newbase", O_RDWR | O_CREAT | O_TRUNC);
	lab_child(&lab, id, USER);
	lab_child_hello(&lab);
	if (strcmp(what, "recover") != 0) {
		lab_child_work(&lab, &msg);
		msg_free(&msg);
		lab_say_fd(&lab, "project", lab_folder(&lab));
		lab_expect(&lab, id, MSG_LFD, &msg);
		msg_free(&msg);
		lab_fd(&lab, id, "view", lab_folder(&lab));
	}
	lab_error(&lab, id, "land.state");
	lab_jobend(&lab, id);
}

ATF_TC_WITHOUT_HEAD(baseline_tampered);
ATF_TC_BODY(baseline_tampered, tc)
{
	uint32_t	id = 10;
	long		size, i;

	lab_up(&lab);
	blob_fill(2);
	apply(2, 100, 200, 500);
	ATF_REQUIRE(test_sh("cd '%s' && mv newbase baseline", lab.dir) == 0);
	size = lab_size(&lab, "baseline");
	ATF_REQUIRE(size > 500);
	for (i = 0; i < size; i += i < 60 ? 1 : 41) {
		flip("baseline", i);
		refused_state(id++, "changes", "baseline");
		flip("baseline", i);
	}
	hear_baseline(id++, 500);
	ATF_REQUIRE(test_sh("cd '%s' && head -c -1 baseline >b && "
	    "mv b baseline", lab.dir) == 0);
	refused_state(id++, "changes", "baseline");
	ATF_REQUIRE(test_sh("echo junk >'%s/baseline'", lab.dir) == 0);
	refused_state(id++, "changes", "baseline");
	lab_alive(&lab);
	lab_down(&lab);
}

/*
 * A journal cut anywhere is the one before it: killed while it was written.
 * One whose first part is not ours is no journal.
 */
ATF_TC_WITHOUT_HEAD(journal_tampered);
ATF_TC_BODY(journal_tampered, tc)
{
	uint32_t	id = 10;
	long		size, first = 100 + 48, i;

	lab_up(&lab);
	blob_fill(3);
	apply(2, 100, 400, 10);
	size = lab_size(&lab, "journal");
	ATF_REQUIRE_EQ(size, first + 400 + 48);
	for (i = 0; i < first; i += 9) {
		flip("journal", i);
		refused_state(id++, "recover", "journal");
		flip("journal", i);
	}
	for (i = first; i < size; i += 23) {
		flip("journal", i);
		hear_journal(id++, 100);
		flip("journal", i);
	}
	hear_journal(id++, 400);
	for (i = size - 1; i >= first; i -= 31) {
		ATF_REQUIRE(test_sh("truncate -s %ld '%s/journal'", i,
		    lab.dir) == 0);
		hear_journal(id++, 100);
	}
	ATF_REQUIRE(test_sh("truncate -s %ld '%s/journal'", first - 1,
	    lab.dir) == 0);
	refused_state(id++, "recover", "journal");
	/* Never begun. */
	ATF_REQUIRE(test_sh("cd '%s' && : >journal", lab.dir) == 0);
	hear_journal(id++, 0);
	ATF_REQUIRE(test_sh("cd '%s' && truncate -s 148 journal", lab.dir) ==
	    0);
	hear_journal(id++, 0);
	lab_down(&lab);
}

/*
 * A child that breaks the rules ends its job and no more
 */
static void
child_fails(uint32_t id, const char *code)
{
	lab_error(&lab, id, code);
	lab_jobend(&lab, id);
	lab_alive(&lab);
}

ATF_TC_WITHOUT_HEAD(child_garbage);
ATF_TC_BODY(child_garbage, tc)
{
	struct m_HELLO	hello = {
		.protocol = PROTO_VERSION, .build = "another",
		.role = "land"
	};
	char		raw[300];
	uint32_t	id = 2;
	size_t		i;

	lab_up(&lab);
	memset(raw, 'A', sizeof(raw));
	for (i = 1; i < sizeof(raw); i *= 3, id++) {
		lab_job(&lab, id, SID, "changes");
		lab_child(&lab, id, USER);
		ATF_REQUIRE(write(lab.land.fd, raw, i) == (ssize_t)i);
		lab_child_gone(&lab);
		lab_childend(&lab, id, 0);
		child_fails(id, "land.failed");
	}
	lab_job(&lab, id, SID, "changes");
	lab_child(&lab, id, USER);
	lab_say(&lab, MSG_HELLO, -1, &hello);
	child_fails(id, "land.failed");
	lab_down(&lab);
}

/* Every message of a child's that is not due, before and after each step. */
static void
say_anything(uint32_t type)
{
	struct frame	f = { .type = type, .body = "\x80", .bodylen = 1 };

	scripted_frame(lab.land.fd, &f);
}

ATF_TC_WITHOUT_HEAD(child_out_of_turn);
ATF_TC_BODY(child_out_of_turn, tc)
{
	static const struct {
		int		step;
		const char	*what;
		uint32_t	may[8];
	} steps[] = {
		{ 0, "changes", { MSG_HELLO, MSG_ERROR } },
		{ 1, "changes", { MSG_LFD, MSG_ERROR } },
		{ 1, "recover", { MSG_BYTES, MSG_LANDED, MSG_ERROR } },
		{ 2, "changes", { MSG_STAGED, MSG_ERROR } },
		{ 3, "changes", { MSG_END, MSG_ERROR } },
		{ 3, "patch", { MSG_END, MSG_LFD, MSG_ERROR } },
		{ 3, "apply", { MSG_BYTES, MSG_LANDED, MSG_ERROR } },
	};
	uint32_t	type, id = 2;
	size_t		i, k;
	bool		may;

	lab_up(&lab);
	ATF_REQUIRE(test_sh(": >'%s/journal'", lab.dir) == 0);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		for (type = 0; type <= MSG_COUNT; type++) {
			for (may = false, k = 0; k < 8; k++)
				may |= steps[i].may[k] == type && type != 0;
			if (may)
				continue;
			if (steps[i].step == 3)
				lab_to_landing(&lab, id, steps[i].what);
			else if (steps[i].step == 2)
				lab_to_view(&lab, id, steps[i].what);
			else {
				lab_job(&lab, id, SID, steps[i].what);
				lab_files(&lab, id, steps[i].what);
				lab_child(&lab, id, USER);
				if (steps[i].step == 1)
					lab_child_hello(&lab);
			}
			say_anything(type);
			child_fails(id++, "land.failed");
		}
	lab_down(&lab);
}

ATF_TC_WITHOUT_HEAD(child_descriptors);
ATF_TC_BODY(child_descriptors, tc)
{
	struct frame	f = { .type = MSG_STAGED, .mark = true, .nfds = 1,
	    .body = "\x80", .bodylen = 1 };
	struct msg	msg;
	uint32_t	id = 2;
	int		i;

	lab_up(&lab);
	/* The project: a file, another kind, none. */
	for (i = 0; i < 3; i++, id++) {
		lab_job(&lab, id, SID, "changes");
		lab_child(&lab, id, USER);
		lab_child_hello(&lab);
		lab_child_work(&lab, &msg);
		msg_free(&msg);
		if (i == 0)
			lab_say_fd(&lab, "project", open("/dev/null", O_RDWR));
		else if (i == 1)
			lab_say_fd(&lab, "view", lab_folder(&lab));
		else
			say_anything(MSG_LFD);
		child_fails(id, "land.failed");
	}
	/* One too many, a surplus one. */
	lab_to_view(&lab, id, "changes");
	lab_say_fd(&lab, "project", lab_folder(&lab));
	child_fails(id++, "land.failed");
	lab_to_view(&lab, id, "changes");
	scripted_frame(lab.land.fd, &f);
	child_fails(id++, "land.failed");
	/* The patch: one that could be written through, a folder. */
	lab_to_landing(&lab, id, "patch");
	lab_say_fd(&lab, "patch", open(test_path("lab1/p"), O_RDWR | O_CREAT,
	    0600));
	child_fails(id++, "land.failed");
	lab_to_landing(&lab, id, "patch");
	lab_say_fd(&lab, "patch", lab_folder(&lab));
	child_fails(id++, "land.failed");
	lab_down(&lab);
}

ATF_TC_WITHOUT_HEAD(child_bytes);
ATF_TC_BODY(child_bytes, tc)
{
	struct m_LANDED	landed = { .files = 1 };
	struct msg	msg;
	uint32_t	id = 2;
	int		i;

	lab_up(&lab);
	for (i = 0; i < 9; i++, id++) {
		lab_to_landing(&lab, id, "apply");
		switch (i) {
		case 0:		/* another kind */
			lab_say_bytes(&lab, "newbase", 0, true, "x", 1);
			break;
		case 1:		/* the second piece first */
			lab_say_bytes(&lab, "journal", 1, true, "x", 1);
			break;
		case 2:		/* an empty piece that is not the last */
			lab_say_bytes(&lab, "journal", 0, false, "", 0);
			break;
		case 3:		/* a piece again */
			lab_say_bytes(&lab, "journal", 0, false, "x", 1);
			lab_say_bytes(&lab, "journal", 0, true, "x", 1);
			break;
		case 4:		/* one file into the other */
			lab_say_bytes(&lab, "journal", 0, false, "x", 1);
			lab_say_bytes(&lab, "baseline", 1, true, "x", 1);
			break;
		case 5:		/* baselines of what was never committed */
			lab_say_bytes(&lab, "baseline", 0, true, "x", 1);
			break;
		case 6:		/* landed, and no baselines */
			lab_say(&lab, MSG_LANDED, -1, &landed);
			break;
		case 7:		/* landed, in the middle of the journal */
			lab_say_bytes(&lab, "journal", 0, false, "x", 1);
			lab_say(&lab, MSG_LANDED, -1, &landed);
			break;
		default:	/* the end of another kind of job */
			lab_say(&lab, MSG_END, -1, NULL);
		}
		child_fails(id, "land.failed");
	}
	/* A journal too many: the first two stand, so it is to be recovered. */
	lab_to_landing(&lab, id, "apply");
	for (i = 0; i < 3; i++) {
		lab_say_bytes(&lab, "journal", 0, true, "x", 1);
		if (i == 2)
			break;
		lab_hear(&lab, MSG_COMMITTED, &msg);
		msg_free(&msg);
	}
	child_fails(id++, "land.unfinished");
	ATF_REQUIRE(lab_size(&lab, "journal") > 0);
	lab_down(&lab);
}

/* Before the first commit it failed; after it, there is something to recover,
 * unless the child says that it has gone back. */
ATF_TC_WITHOUT_HEAD(child_dies);
ATF_TC_BODY(child_dies, tc)
{
	struct m_ERROR	e = { .code = "land.full", .message = "no space" };
	struct m_ERROR	odd = { .code = "LAND FULL", .message = "no space" };
	struct msg	msg;
	uint32_t	id = 2;
	int		i;

	lab_up(&lab);
	lab_to_landing(&lab, id, "apply");
	lab_child_gone(&lab);
	lab_childend(&lab, id, SIGSYS);
	ATF_REQUIRE(strstr(lab_error(&lab, id, "land.failed"), "signal 31") !=
	    NULL);
	lab_jobend(&lab, id++);
	/* Its status first, its last words after. */
	lab_to_landing(&lab, id, "changes");
	lab_say(&lab, MSG_END, -1, NULL);
	lab_childend(&lab, id, 0);
	lab_child_gone(&lab);
	lab_expect(&lab, id, MSG_END, &msg);
	lab_jobend(&lab, id++);
	/* Nobody says how it ended. */
	lab_to_landing(&lab, id, "changes");
	lab_child_gone(&lab);
	lab_error(&lab, id, "land.failed");
	lab_jobend(&lab, id++);
	for (i = 0; i < 4; i++, id++) {
		lab_to_landing(&lab, id, "apply");
		lab_say_bytes(&lab, "journal", 0, true, "intent", 6);
		lab_hear(&lab, MSG_COMMITTED, &msg);
		msg_free(&msg);
		ATF_REQUIRE(lab_size(&lab, "journal") > 0);
		if (i == 0) {		/* killed */
			lab_child_gone(&lab);
			lab_childend(&lab, id, SIGKILL);
		} else if (i == 1)	/* gone back */
			lab_say(&lab, MSG_ERROR, -1, &e);
		else if (i == 2)	/* nonsense */
			lab_say(&lab, MSG_ERROR, -1, &odd);
		else {			/* could not go back */
			e.code = "land.unfinished";
			lab_say(&lab, MSG_ERROR, -1, &e);
		}
		lab_error(&lab, id, i == 1 ? "land.full" : "land.unfinished");
		ATF_REQUIRE_EQ(lab_size(&lab, "journal") > 0, i != 1);
		lab_jobend(&lab, id);
	}
	lab_alive(&lab);
	lab_down(&lab);
}

/* A child that talks faster than the broker listens waits. */
ATF_TC_WITHOUT_HEAD(child_waits);
ATF_TC_BODY(child_waits, tc)
{
	struct m_CHANGE	c = { .kind = "added" };
	struct msg	msg;
	char		path[2001];
	size_t		sent = 0, got;
	int		r = 1;

	lab_up(&lab);
	lab_to_view(&lab, 2, "changes");
	lab_say(&lab, MSG_STAGED, -1, NULL);
	lab_expect(&lab, 2, MSG_STAGED, &msg);
	memset(path, 'p', 2000);
	path[2000] = '\0';
	c.path = path;
	/* 40 MB if nobody stopped it. */
	while (sent < 20000) {
		ATF_REQUIRE(imsg_compose(&lab.land, MSG_CHANGE, 0, -1, &c) ==
		    0);
		sent++;
		if ((r = imsg_flush(&lab.land)) != 1) {
			usleep(200000);
			if ((r = imsg_flush(&lab.land)) != 1)
				break;
		}
	}
	ATF_REQUIRE_EQ_MSG(r, 0, "%zu items taken", sent);
	printf("stopped after %zu items\n", sent);
	for (got = 0; got < sent; got++) {
		lab_expect(&lab, 2, MSG_CHANGE, &msg);
		msg_free(&msg);
		if (r == 0)
			ATF_REQUIRE((r = imsg_flush(&lab.land)) != -1);
	}
	lab_say_landing(&lab);
	lab_expect(&lab, 2, MSG_LANDING, &msg);
	lab_down(&lab);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, seal_before_word);
	ATF_TP_ADD_TC(tp, seal_is_spawns);
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
	ATF_TP_ADD_TC(tp, kept);
	ATF_TP_ADD_TC(tp, baseline_tampered);
	ATF_TP_ADD_TC(tp, journal_tampered);
	ATF_TP_ADD_TC(tp, child_garbage);
	ATF_TP_ADD_TC(tp, child_out_of_turn);
	ATF_TP_ADD_TC(tp, child_descriptors);
	ATF_TP_ADD_TC(tp, child_bytes);
	ATF_TP_ADD_TC(tp, child_dies);
	ATF_TP_ADD_TC(tp, child_waits);
	return (atf_no_error());
}
