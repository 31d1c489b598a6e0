/*
 * landd as the real program: journals and baselines, kept and verified.
 */
#include <sys/resource.h>
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "landd_lib.h"

static struct lab	lab;

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

static void	refused_state(uint32_t, const char *, const char *);

/* The same project as the first and the second root: only their numbers
 * differ. */
static void
seal_two(uint8_t seal[2][LIMIT_SEAL], size_t len[2])
{
	const char		*roots[] = { lab.project, lab.project };
	uint64_t		 devs[] = { lab.dev, lab.dev };
	uint64_t		 inos[] = { lab.ino, lab.ino };
	struct m_SEAL		 m = {
		.session = SID, .roots = { 2, roots }, .devs = { 2, devs },
		.inos = { 2, inos }, .t0 = lab.t0
	};
	const struct m_SEALED	*got;
	struct msg		 msg;
	size_t			 i;

	lab_word(&lab, SID, USER);
	test_send(&lab.h, MSG_SEAL, 9, -1, &m);
	for (i = 0; i < 2; i++) {
		test_expect(&lab.h, MSG_SEALED, &msg);
		got = msg.body;
		ATF_CHECK_EQ(got->root, i);
		memcpy(seal[i], got->seal.p, got->seal.len);
		len[i] = got->seal.len;
		msg_free(&msg);
	}
}

static void
seal_use(const uint8_t *seal, size_t len)
{
	memcpy(lab.seal, seal, len);
	lab.seallen = len;
}

ATF_TC_WITHOUT_HEAD(roots);
ATF_TC_BODY(roots, tc)
{
	static uint8_t	seal[2][LIMIT_SEAL];
	size_t		len[2];

	blob_fill(5);
	lab_up(&lab);
	seal_two(seal, len);
	/* Of the first it is what one of an only root is. */
	ATF_CHECK_EQ(len[0], lab.seallen);
	ATF_CHECK_EQ(0, memcmp(seal[0], lab.seal, len[0]));
	seal_use(seal[1], len[1]);
	apply(2, 200, 3000, 500);
	ATF_REQUIRE(test_sh("cd '%s' && mv newbase baseline", lab.dir) == 0);
	hear_baseline(3, 500);
	hear_journal(4, 3000);
	/* With the first one's seal neither verifies. */
	seal_use(seal[0], len[0]);
	refused_state(5, "changes", "baseline");
	refused_state(6, "recover", "journal");
	seal_use(seal[1], len[1]);
	hear_baseline(7, 500);
	lab_down(&lab);
}

static void
seal_broken(size_t roots, size_t devs, size_t inos, const char *first)
{
	const char	*v[] = { first, "/b" };
	uint64_t	 n[] = { 1, 2 };
	struct m_SEAL	 m = {
		.session = SID, .roots = { roots, v }, .devs = { devs, n },
		.inos = { inos, n }, .t0 = 1
	};

	lab_start(&lab);
	test_send(&lab.h, MSG_SEAL, 9, -1, &m);
	lab_dead(&lab, "from sbxd: SEAL of");
}

ATF_TC_WITHOUT_HEAD(seals);
ATF_TC_BODY(seals, tc)
{
	seal_broken(0, 0, 0, "/a");
	seal_broken(2, 1, 2, "/a");
	seal_broken(2, 2, 1, "/a");
	seal_broken(1, 1, 1, "a");
	seal_broken(2, 2, 2, "/a/../b");
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

static void
forget_large(void)
{
	lab_up(&lab);
	/* Never begun, so good; but large. */
	ATF_REQUIRE(test_sh("truncate -s 63M '%s/baseline'", lab.dir) == 0);
	lab_job(&lab, 2, SID, "forget");
	lab_file(&lab, 2, "baseline", O_RDONLY);
	lab_child(&lab, 2, USER);
	lab_child_hello(&lab);
}

/* What cannot be read now is not what was changed: nobody may give up for it
 * what landings have displaced. */
ATF_TC_WITHOUT_HEAD(unreadable);
ATF_TC_BODY(unreadable, tc)
{
	struct rlimit	few = { 60 << 20, 60 << 20 };
	struct msg	msg;
	size_t		len;

	forget_large();
	lab_child_work(&lab, &msg);
	msg_free(&msg);
	lab_hear_bytes(&lab, "baseline", &len);
	ATF_REQUIRE_EQ(len, 0);
	lab_down(&lab);
	ATF_REQUIRE(setrlimit(RLIMIT_AS, &few) == 0);
	forget_large();
	ATF_REQUIRE(strstr(lab_error(&lab, 2, "land.failed"), "memory") !=
	    NULL);
	lab_down(&lab);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, roots);
	ATF_TP_ADD_TC(tp, seals);
	ATF_TP_ADD_TC(tp, kept);
	ATF_TP_ADD_TC(tp, baseline_tampered);
	ATF_TP_ADD_TC(tp, journal_tampered);
	if (TEST_PLAIN)		/* a sanitizer needs all of it */
		ATF_TP_ADD_TC(tp, unreadable);
	return (atf_no_error());
}
