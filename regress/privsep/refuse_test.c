/*
 * What every helper must refuse, for those with no test of their own for it:
 * both sides of landd, spawn's channel, a landing's child before its work.
 */
#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privsep/drop.h"
#include "privsep/proc.h"
#include "regress/lib/scripted.h"

static int	other = -1;	/* the socket that the attempt is not about */

static void
down(struct test_helper *h)
{
	(void)h;
	close(other);
	other = -1;
}

/* The attempt goes to the channel; the broker's socket stays open. */
static void
swap(struct test_helper *h, enum role self, enum role helper, int channel)
{
	other = h->ib.fd;
	h->ib.fd = -1;
	imsg_clear(&h->ib);
	ATF_REQUIRE(imsg_init(&h->ib, channel, self, helper) == 0);
}

static void
landd_up(struct test_helper *h)
{
	test_helper_start(h, "landd", ROLE_LANDD);
	other = scripted_channel(h);
}

static void
landd_channel_up(struct test_helper *h)
{
	test_helper_start(h, "landd", ROLE_LANDD);
	swap(h, ROLE_SPAWN, ROLE_LANDD, scripted_channel(h));
}

static void
spawn_channel_up(struct test_helper *h)
{
	test_helper_start(h, "spawn", ROLE_SPAWN);
	swap(h, ROLE_LANDD, ROLE_SPAWN, scripted_channel(h));
}

static const uint32_t	landd_may[] = {
	MSG_SEAL, MSG_JOB, MSG_JOBEND, MSG_LFD, MSG_PROBE, 0
};
static const struct scripted	landd = {
	.up = landd_up, .down = down, .may = landd_may
};
static const uint32_t	landd_channel_may[] = {
	MSG_WORD, MSG_CHILDEND, MSG_ERROR, 0
};
static const struct scripted	landd_channel = {
	.up = landd_channel_up, .down = down, .may = landd_channel_may
};
static const uint32_t	spawn_channel_may[] = { MSG_CHILD, 0 };
static const struct scripted	spawn_channel = {
	.up = spawn_channel_up, .down = down, .may = spawn_channel_may,
	.children = "spawn"
};

static void
all(const struct scripted *s)
{
	scripted_forbidden(s);
	scripted_garbage(s);
	scripted_broken_frames(s);
	scripted_descriptors(s);
	scripted_eof(s);
}

ATF_TC_WITHOUT_HEAD(landd_from_sbxd);
ATF_TC_BODY(landd_from_sbxd, tc)
{
	all(&landd);
}

ATF_TC_WITHOUT_HEAD(landd_from_spawn);
ATF_TC_BODY(landd_from_spawn, tc)
{
	all(&landd_channel);
}

ATF_TC_WITHOUT_HEAD(spawn_from_landd);
ATF_TC_BODY(spawn_from_landd, tc)
{
	all(&spawn_channel);
}

/* As spawn would start it. */
static int
land_setup(void)
{
	struct drop	d = { .uid = 64500, .gid = 64500 };

	drop_to(&d);
	return (0);
}

static void
land_up(struct test_helper *h)
{
	scripted_setup = land_setup;
	scripted_exec(h, "land", ROLE_LAND, ROLE_LANDD, 1);
	scripted_setup = NULL;
	proc_hello(&h->ib, ROLE_LANDD, ROLE_LAND);
}

static const uint32_t	land_may[] = { MSG_WORK, 0 };
static const struct scripted	land = { .up = land_up, .may = land_may };

ATF_TC_WITHOUT_HEAD(land_from_landd);
ATF_TC_BODY(land_from_landd, tc)
{
	scripted_forbidden(&land);
	scripted_garbage(&land);
	scripted_broken_frames(&land);
}

/* Power that spawn should have taken is refused, not used. */
ATF_TC_WITHOUT_HEAD(land_with_power);
ATF_TC_BODY(land_with_power, tc)
{
	struct test_helper	h;

	scripted_exec(&h, "land", ROLE_LAND, ROLE_LANDD, 1);
	scripted_refused(&land, &h, "with root's capabilities");
}

/* How SUITE's ids can be none: turn 0 to 4 of its uids, then of its gids. */
#define SPOILS	5

static void
suite_spoil(struct m_SUITE *suite, int index, size_t turn)
{
	static const uint64_t	bad[SPOILS - 1] = {
		0, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX
	};
	struct u64v		*ids = turn < SPOILS ? &suite->uids :
				    &suite->gids;

	if (turn % SPOILS == SPOILS - 1)
		ids->n--;
	else
		ids->v[index] = bad[turn % SPOILS];
}

/* A suite whose ids cannot be: root's, too few, above what there is. */
ATF_TC_WITHOUT_HEAD(ids_from_sbxd);
ATF_TC_BODY(ids_from_sbxd, tc)
{
	static const struct {
		const char	*name;
		enum role	 role;
		int		 index;
	} t[] = {
		{ "netd", ROLE_NETD, UID_NETD },
		{ "landd", ROLE_LANDD, UID_LANDD },
		{ "spawn", ROLE_SPAWN, UID_SPAWN },
		{ "spawn", ROLE_SPAWN, UID_WORKER },
		{ "mountd", ROLE_MOUNTD, UID_MOUNTD },
	};
	struct test_helper	h;
	struct m_SUITE		suite;
	char			what[64];
	size_t			i, j;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		for (j = 0; j < 2 * SPOILS; j++) {
			scripted_suite(&suite);
			suite_spoil(&suite, t[i].index, j);
			test_helper_start(&h, t[i].name, t[i].role);
			test_send(&h, MSG_SUITE, 0, -1, &suite);
			if (t[i].role == ROLE_SPAWN || t[i].role == ROLE_LANDD)
				(void)imsg_send(&h.ib, MSG_CHANNEL, 0, dup(0),
				    NULL);
			snprintf(what, sizeof(what), "%s, ids %zu",
			    t[i].name, j);
			scripted_refused(&land, &h, what);
		}
}

/* Each waits for HELLO, then SUITE, and takes nothing else before. */
ATF_TC_WITHOUT_HEAD(before_the_suite);
ATF_TC_BODY(before_the_suite, tc)
{
	static const struct {
		const char	*name;
		enum role	 role;
	} t[] = {
		{ "netd", ROLE_NETD }, { "landd", ROLE_LANDD },
		{ "spawn", ROLE_SPAWN }, { "mountd", ROLE_MOUNTD },
		{ "conf", ROLE_CONF },
	};
	struct test_helper	h;
	struct m_HELLO		hello;
	struct m_SUITE		suite;
	char			what[64];
	size_t			i;
	int			round;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		for (round = 0; round < 6; round++) {
			test_helper_exec(&h, t[i].name, t[i].role, ROLE_SBXD);
			proc_hello_fill(&hello, ROLE_SBXD);
			scripted_suite(&suite);
			if (round == 0)
				hello.protocol++;
			else if (round == 1)
				hello.build = "0";
			else if (round == 2)
				hello.role = "spawn";
			if (round == 3)
				test_send(&h, MSG_SUITE, 0, -1, &suite);
			else
				test_send(&h, MSG_HELLO, 0, -1, &hello);
			if (round == 4)
				test_send(&h, MSG_HELLO, 0, -1, &hello);
			else if (round == 5)
				scripted_raw(h.ib.fd, "junk junk junk junk",
				    19);
			snprintf(what, sizeof(what), "%s, round %d",
			    t[i].name, round);
			scripted_refused(&land, &h, what);
		}
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, landd_from_sbxd);
	ATF_TP_ADD_TC(tp, landd_from_spawn);
	ATF_TP_ADD_TC(tp, spawn_from_landd);
	ATF_TP_ADD_TC(tp, land_from_landd);
	ATF_TP_ADD_TC(tp, land_with_power);
	ATF_TP_ADD_TC(tp, ids_from_sbxd);
	ATF_TP_ADD_TC(tp, before_the_suite);
	return (atf_no_error());
}
