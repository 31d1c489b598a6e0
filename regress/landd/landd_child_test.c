/*
 * landd as the real program: nothing a child says or does ends it.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fields.h"
#include "landd_lib.h"

static struct lab	lab;

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

/* A layer's sum, after which nothing more is found. */
static void
counted(uint32_t id)
{
	struct m_COUNTED	m = { .path = "/home/u" };
	struct msg		msg;

	lab_say(&lab, MSG_COUNTED, -1, &m);
	lab_expect(&lab, id, MSG_COUNTED, &msg);
	msg_free(&msg);
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
		{ 1, "forget", { MSG_END, MSG_ERROR } },
		{ 1, "outside", { MSG_FOUND, MSG_COUNTED, MSG_ERROR } },
		{ 4, "outside", { MSG_END, MSG_ERROR } },
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
				if (steps[i].step >= 1)
					lab_child_hello(&lab);
				if (steps[i].step == 4)
					counted(id);
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

/* Taken back, and what that left is in its baselines: sbxd is told, and the
 * journal is sbxd's to remove, after those are in their place. */
ATF_TC_WITHOUT_HEAD(child_back);
ATF_TC_BODY(child_back, tc)
{
	static const char	*paths[] = { "a", NULL };
	static const struct m_LANDED says[] = {
		{ .code = "land.drifted", .why = "a was changed" },
		{ .code = "land.drifted" },
		{ .why = "a was changed" },
		{ .code = "land drifted", .why = "a was changed" },
		{ .code = "", .why = "a was changed" },
		{ .code = "land.drifted", .why = "a", .files = 1 },
		{ .code = "land.drifted", .why = "a", .paths = { 1, paths } },
	};
	const struct m_LANDED	*got;
	struct msg		 msg;
	uint32_t		 id = 2;
	size_t			 i;
	int			 n;

	lab_up(&lab);
	for (i = 0; i < sizeof(says) / sizeof(says[0]); i++, id++) {
		lab_to_landing(&lab, id, "apply");
		for (n = 0; n < 2; n++) {
			lab_say_bytes(&lab, "journal", 0, true, "x", 1);
			lab_hear(&lab, MSG_COMMITTED, &msg);
			msg_free(&msg);
		}
		lab_say_bytes(&lab, "baseline", 0, true, "x", 1);
		lab_say(&lab, MSG_LANDED, -1, &says[i]);
		if (i > 0)
			child_fails(id, "land.unfinished");
		else {
			lab_expect(&lab, id, MSG_LANDED, &msg);
			got = msg.body;
			ATF_REQUIRE_STREQ(got->code, says[0].code);
			ATF_REQUIRE_STREQ(got->why, says[0].why);
			msg_free(&msg);
			lab_jobend(&lab, id);
		}
		ATF_REQUIRE(lab_size(&lab, "journal") > 0);
		ATF_REQUIRE(test_sh("cd '%s' && : >journal && : >newbase",
		    lab.dir) == 0);
	}
	lab_down(&lab);
}

/* What the layer is to be cleaned of goes on to the broker: no path in it is
 * longer than one can be. */
ATF_TC_WITHOUT_HEAD(child_long_path);
ATF_TC_BODY(child_long_path, tc)
{
	static char		 as[LIMIT_PATH + 2];
	const char		*path = as;
	struct m_LANDED		 landed = { .files = 1, .paths = { 1, &path } };
	const struct proto_row	*row = proto_row(MSG_LANDED);
	struct field		 fields[16];
	struct frame		 f = { .type = MSG_LANDED };
	struct msg		 msg;
	uint8_t			*body;
	uint32_t		 id = 2;
	size_t			 i;

	/* Of any length, as one that has fallen would say it. */
	ATF_REQUIRE(row->nfields <= 16);
	for (i = 0; i < row->nfields; i++) {
		fields[i] = row->fields[i];
		if (fields[i].type == FIELD_PATHV)
			fields[i].type = FIELD_STRV;
	}
	memset(as, 'a', LIMIT_PATH + 1);
	lab_up(&lab);
	for (; id < 4; id++) {
		ATF_REQUIRE_EQ(0, fields_encode(fields, row->nfields, &landed,
		    &body, &f.bodylen));
		f.body = body;
		lab_to_landing(&lab, id, "apply");
		for (i = 0; i < 2; i++) {
			lab_say_bytes(&lab, "journal", 0, true, "x", 1);
			lab_hear(&lab, MSG_COMMITTED, &msg);
			msg_free(&msg);
		}
		lab_say_bytes(&lab, "baseline", 0, true, "x", 1);
		scripted_frame(lab.land.fd, &f);
		free(body);
		if (id == 2)
			child_fails(id, "land.unfinished");
		else {
			lab_expect(&lab, id, MSG_LANDED, &msg);
			msg_free(&msg);
			lab_jobend(&lab, id);
		}
		ATF_REQUIRE(test_sh("cd '%s' && : >journal && : >newbase",
		    lab.dir) == 0);
		as[LIMIT_PATH] = '\0';
	}
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
	msg_free(&msg);
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
	msg_free(&msg);
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
	msg_free(&msg);
	lab_down(&lab);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, child_garbage);
	ATF_TP_ADD_TC(tp, child_out_of_turn);
	ATF_TP_ADD_TC(tp, child_descriptors);
	ATF_TP_ADD_TC(tp, child_bytes);
	ATF_TP_ADD_TC(tp, child_back);
	ATF_TP_ADD_TC(tp, child_long_path);
	ATF_TP_ADD_TC(tp, child_dies);
	ATF_TP_ADD_TC(tp, child_waits);
	return (atf_no_error());
}
