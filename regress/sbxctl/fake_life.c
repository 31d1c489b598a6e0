/*
 * The made-up suite's part for stop, kill, explain, du and gc. "broken": an
 * answer that is none to what was asked; "refuses": an error.
 */
#include <stdint.h>
#include <string.h>

#include "fake.h"

#define EVIL	"ev\033[2Jil\n\342\200\256x"

static void
on_du(struct imsgbuf *ib, struct msg *msg)
{
	struct m_MEASURED	m[] = {
		{ .session = "aaaabbbbcccc", .kind = "layer", .n = 0,
		    .path = "/", .bytes = 4096, .inodes = 3 },
		{ .session = "aaaabbbbcccc", .kind = "layer", .n = 1,
		    .path = "/" EVIL "\377", .bytes = UINT64_C(3) << 40,
		    .inodes = UINT64_MAX / 2 },
		{ .session = "aaaabbbbcccc", .kind = "stage", .bytes = 1023,
		    .inodes = 1 },
		{ .session = "ddddeeeeffff", .kind = "none" },
	};
	size_t			i;

	for (i = 0; i < sizeof(m) / sizeof(m[0]); i++)
		fake_send(ib, MSG_MEASURED, msg->id, &m[i]);
	fake_send(ib, MSG_END, msg->id, NULL);
}

static void
on_gc(struct imsgbuf *ib, struct msg *msg)
{
	const struct m_GC	*ask = msg->body;
	struct m_GONE		 m[] = {
		{ .kind = "session", .what = "aaaabbbbcccc", .bytes = 8192,
		    .inodes = 1, .gone = true },
		{ .kind = "layer", .what = "ddddeeeeffff", .why = EVIL },
		{ .kind = "cgroup", .what = "s" EVIL, .inodes = 1,
		    .gone = true },
	};
	size_t			 i;

	fake_asked("age %llu dry %d discard %d", (unsigned long long)ask->age,
	    ask->dry, ask->discard);
	for (i = 0; i < sizeof(m) / sizeof(m[0]); i++)
		fake_send(ib, MSG_GONE, msg->id, &m[i]);
	fake_send(ib, MSG_END, msg->id, NULL);
}

static void
on_explain(struct imsgbuf *ib, struct msg *msg)
{
	const struct m_EXPLAIN	*ask = msg->body;
	struct m_EXPLAINED	 m = {
		.path = ask->path, .target = "/" EVIL "\377",
		.state = "hidden", .rule = "hide", .of = "/" EVIL,
		.mechanism = EVIL
	};

	fake_asked("path %s", ask->path);
	fake_send(ib, MSG_EXPLAINED, msg->id, &m);
	fake_send(ib, MSG_END, msg->id, NULL);
}

bool
fake_life(struct imsgbuf *ib, struct msg *msg)
{
	switch (msg->type) {
	case MSG_STOP:
	case MSG_KILL:
	case MSG_DU:
	case MSG_GC:
	case MSG_EXPLAIN:
		break;
	default:
		return (false);
	}
	if (fake_does("refuses"))
		fake_error(ib, msg->id, "no.way", "not " EVIL);
	else if (fake_does("broken"))
		fake_send(ib, MSG_OK, msg->id, NULL);
	else if (msg->type == MSG_DU)
		on_du(ib, msg);
	else if (msg->type == MSG_GC)
		on_gc(ib, msg);
	else if (msg->type == MSG_EXPLAIN)
		on_explain(ib, msg);
	else
		return (false);
	return (true);
}
