/*
 * The scripted suite's sessions and their changes. $FAKE_PROJECT is the first
 * one's project; another's path is not UTF-8.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/escape.h"
#include "fake.h"

#define SID_OTHER	"aaaaddddeeee"
#define SID_THIRD	"zzzz22223333"
/* Further ones of the first one's project, where there are to be many. */
#define SID_MORE	"mmmm22222222", "mmmm33333333", "mmmm44444444", \
			"mmmm55555555", "mmmm66666666"

static const uint8_t	digest[LIMIT_DIGEST] = {
	0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa,
	0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55,
	0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff
};

static const char	patch[] =
    "diff --git a/a.txt b/a.txt\n"
    "index 1111111111111111111111111111111111111111.."
    "2222222222222222222222222222222222222222 100644\n"
    "--- a/a.txt\n"
    "+++ b/a.txt\n"
    "@@ -1,2 +1,3 @@\n"
    " one\n"
    "-two\n"
    "+\ttw\303\266\n"
    "+esc \033[31m bidi \342\200\256 bad \377\r\n";

static const char *const	argv_plain[] = {
	"make", "all the things", NULL
};
static const char *const	argv_long[] = {
	"agent", "--prompt", "make all the tests pass again, please", "and",
	"then", "look for what else there is", NULL
};
static const char *const	argv_blanks[] = {
	"sh", "-c", "tail -1 /etc/hosts  /x /", "a ", NULL
};
static const char *const	argv_bytes[] = { "x", "\377\033[31m", NULL };

static struct strv
strv(const char *const *v)
{
	struct strv	out = { 0, (const char **)(uintptr_t)v };

	while (v[out.n] != NULL)
		out.n++;
	return (out);
}

static int
sessions(void)
{
	if (fake_does("none"))
		return (0);
	if (fake_does("alone"))
		return (1);
	if (fake_does("three"))
		return (5);
	return (fake_does("more") ? 8 : fake_does("many") ? 7 : 3);
}

static void
runs(struct m_SESSION *s)
{
	s->state = "running";
	s->exited = false;
	s->ended = 0;
}

static struct m_SESSION
session_of(int i)
{
	static const char *const	sids[] = { FAKE_SID, SID_OTHER,
					    SID_THIRD, SID_MORE };
	const char	*project = getenv("FAKE_PROJECT");
	struct m_SESSION s = {
		.session = sids[i], .state = "ended", .owner = "uid:0",
		.user = "root", .project = "/nowhere", .home = "/root",
		.cwd = "/nowhere", .argv = strv(argv_plain),
		.network = "host", .created = 1700000000, .ended = 1700000009,
		.exited = true, .status = 3
	};

	if (i == 0)
		s.name = "one";
	/* The last one runs, of several of one name. */
	if (fake_does("live")) {
		if (i > 2)
			s.name = "one";
		if (i + 1 == sessions())
			runs(&s);
	}
	if (i == 0 || i > 2)
		s.project = s.cwd = project != NULL ? project : "/nowhere";
	if (i == 0 && fake_does("wide")) {
		s.name = "the parser's tests";
		s.uid = 4294967290;
		s.project = "/home/somebody/\320\264\320\276\320\272/"
		    "\346\227\245\346\234\254/a/compiler";
		s.argv = strv(argv_long);
		s.owner = "uid:4294967290";
		s.reason = "killed by uid:0, not by xuid:0 or uid:0x";
	}
	/* Its user is what whoever made it called itself. */
	if (i == 1) {
		s.user = "mallory";
		s.argv = strv(argv_blanks);
	}
	if (i == 1 && fake_does("names"))
		s.name = "$(>evaluated) `>evaluated`";
	if (i == 2) {
		s.project = "/data/\377\033[31m";
		s.argv = strv(argv_bytes);
		s.network = "none";
		runs(&s);
	}
	return (s);
}

static void
on_list(struct imsgbuf *ib, struct msg *msg)
{
	struct m_SESSION	s;
	int			i, n = sessions();

	for (i = 0; i < n; i++) {
		s = session_of(i);
		fake_send(ib, MSG_SESSION, msg->id, &s);
	}
	fake_send(ib, MSG_END, msg->id, NULL);
}

/* Of this connection's: its changes have been asked for, and then it. */
static bool	looked_at, shown_again;

static void
on_show(struct imsgbuf *ib, struct msg *msg)
{
	const struct m_SID	*sid = msg->body;
	struct m_SESSION	 s;
	int			 i, n = sessions();

	if (looked_at && (fake_does("gone") || shown_again))
		n = 0;
	shown_again = looked_at && fake_does("going");
	for (i = 0; i < n; i++) {
		s = session_of(i);
		if (strcmp(s.session, sid->session) == 0) {
			fake_send(ib, MSG_SESSION, msg->id, &s);
			return;
		}
	}
	fake_error(ib, msg->id, "session.unknown", "there is no such session");
}

static void
send_changes(struct imsgbuf *ib, uint32_t id)
{
	struct m_CHANGE	files[] = {
		{ .path = "a.txt", .kind = "modified", .oldmode = 0100644,
		  .newmode = 0100644, .oldsize = 8, .newsize = 60,
		  .insertions = 2, .deletions = 1 },
		{ .path = "bin/\n\033[2J", .kind = "added",
		  .newmode = 0100755, .newsize = 10, .insertions = 1 },
		{ .path = "bytes\377", .kind = "deleted",
		  .oldmode = 0100644, .oldsize = 5, .deletions = 1 },
		{ .path = "new name", .from = "old \377 ", .kind = "renamed",
		  .oldmode = 0100644, .newmode = 0100644, .oldsize = 1,
		  .newsize = 1 },
		{ .path = "picture", .kind = "modified", .oldmode = 0100644,
		  .newmode = 0100644, .oldsize = 100, .newsize = 200,
		  .binary = true },
		{ .path = "x.sh", .kind = "mode", .oldmode = 0100644,
		  .newmode = 0100755, .oldsize = 1, .newsize = 1 },
	};
	size_t		i;

	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		fake_send(ib, MSG_CHANGE, id, &files[i]);
}

static void
send_rest(struct imsgbuf *ib, uint32_t id)
{
	struct m_SKIPPED	skipped = {
		.path = ".git/hooks/pre-commit", .class = "hooks",
		.reason = "git's own files never land"
	};
	/* x.sh and the new name are changes, the others are none. */
	struct m_SKIPPED	bits[] = {
		{ .path = "x.sh", .class = "xattr", .reason = "not this" },
		{ .path = "x.sh", .class = "setuid", .reason = "nor this" },
		{ .path = "new name", .class = "xattr", .reason = "this" },
		{ .path = "only", .class = "setuid", .reason = "alone" },
		{ .path = "a.txt", .class = "special", .reason = "whole" },
	};
	struct m_IGNORED	ignored = {
		.path = "build", .files = 12, .bytes = 3456
	};
	size_t			i;

	fake_send(ib, MSG_SKIPPED, id, &skipped);
	for (i = 0; fake_does("bits") && i < sizeof(bits) / sizeof(bits[0]);
	    i++)
		fake_send(ib, MSG_SKIPPED, id, &bits[i]);
	fake_send(ib, MSG_IGNORED, id, &ignored);
}

static void
send_landing(struct imsgbuf *ib, uint32_t id)
{
	struct m_LANDING	sum = {
		.digest = { digest, sizeof(digest) }, .target = "/nowhere",
		.files = 6, .insertions = 3, .deletions = 2, .skipped = 1,
		.ignored = 1, .bytes = sizeof(patch) - 1, .incomplete = true
	};

	if (getenv("FAKE_PROJECT") != NULL)
		sum.target = getenv("FAKE_PROJECT");
	if (fake_does("bits"))
		sum.skipped += 5;
	if (fake_does("clean")) {
		sum.files = sum.insertions = sum.deletions = 0;
		sum.skipped = sum.ignored = sum.bytes = 0;
		sum.incomplete = false;
	}
	fake_send(ib, MSG_LANDING, id, &sum);
}

/* In pieces of a size that cuts characters. */
static void
send_patch(struct imsgbuf *ib, uint32_t id)
{
	struct m_CHUNK	chunk = { 0 };
	size_t		off, len = sizeof(patch) - 1;

	if (fake_does("short"))
		len -= 5;
	for (off = 0; off < len; off += chunk.data.len) {
		chunk.data.p = (const uint8_t *)patch + off;
		chunk.data.len = len - off < 37 ? len - off : 37;
		fake_send(ib, MSG_CHUNK, id, &chunk);
		chunk.n += fake_does("order") ? 2 : 1;
	}
}

void
fake_await_go(void)
{
	char	path[4096];

	snprintf(path, sizeof(path), "%s/go", getenv("SBX_STATE"));
	while (unlink(path) == -1)
		usleep(10000);
}

static void
on_review(struct imsgbuf *ib, struct msg *msg)
{
	looked_at = true;
	if (!fake_does("clean")) {
		send_changes(ib, msg->id);
		if (fake_does("slow"))
			fake_await_go();
		if (fake_does("fails")) {
			fake_error(ib, msg->id, "land.failed",
			    "the child was lost");
			return;
		}
		send_rest(ib, msg->id);
	}
	send_landing(ib, msg->id);
	if (msg->type == MSG_PATCH && !fake_does("clean"))
		send_patch(ib, msg->id);
	fake_send(ib, MSG_END, msg->id, NULL);
}

static void
on_apply(struct imsgbuf *ib, struct msg *msg)
{
	const struct m_APPLY	*m = msg->body;
	struct m_LANDED		 landed = { .files = 6 };
	struct m_CHANGE		 moved = {
		.path = "a.txt", .kind = "modified", .oldmode = 0100644,
		.newmode = 0100644,
		.drift = "the real file has changed since the start"
	};

	if (fake_does("lost"))
		_exit(0);
	if (m->digest.len != 0 && (m->digest.len != sizeof(digest) ||
	    memcmp(m->digest.p, digest, sizeof(digest)) != 0)) {
		send_changes(ib, msg->id);
		fake_error(ib, msg->id, "land.stale",
		    "the session has changed: look again");
		return;
	}
	if (fake_does("drift")) {
		send_changes(ib, msg->id);
		fake_send(ib, MSG_CHANGE, msg->id, &moved);
		fake_error(ib, msg->id, "land.drifted",
		    "1 file has moved: nothing was applied");
		return;
	}
	fake_send(ib, MSG_LANDED, msg->id, &landed);
}

static void
on_discard(struct imsgbuf *ib, struct msg *msg)
{
	const struct m_DISCARD	*m = msg->body;
	struct m_LANDED		 landed = { .files = 2 };
	char			*seen;
	size_t			 i;

	if (fake_does("lost"))
		_exit(0);
	for (i = 0; i < m->paths.n; i++) {
		seen = escape_text(m->paths.v[i], strlen(m->paths.v[i]), "");
		fake_asked("path %s", seen);
		free(seen);
	}
	fake_send(ib, MSG_LANDED, msg->id, &landed);
}

static void
on_remove(struct imsgbuf *ib, struct msg *msg)
{
	const struct m_REMOVE	*m = msg->body;

	fake_asked("discard %d", m->discard);
	if (fake_does("changes") && !m->discard)
		fake_error(ib, msg->id, "session.changes", "changes wait");
	else
		fake_send(ib, MSG_OK, msg->id, NULL);
}

static void
on_doctor(struct imsgbuf *ib, struct msg *msg)
{
	struct m_TEXT	lines[] = {
		{ .level = "ok", .what = "overlay", .text = "by descriptor" },
		{ .level = "warn", .what = "landlock", .text = "old \033[m" },
		{ .level = "fail", .what = "userns", .text = "none to be had" },
	};
	size_t		i;

	for (i = 0; i < (fake_does("clean") ? 2 : 3); i++)
		fake_send(ib, MSG_TEXT, msg->id, &lines[i]);
	fake_send(ib, MSG_END, msg->id, NULL);
}

/* JOIN and EXEC, as far as to whom. */
static void
on_enter(struct imsgbuf *ib, struct msg *msg)
{
	const struct m_SID	*join = msg->body;
	const struct m_EXEC	*exec = msg->body;

	fake_asked("sid %s", msg->type == MSG_JOIN ? join->session :
	    exec->session);
	fake_error(ib, msg->id, "protocol.broken", "not here");
}

void
fake_suite(struct imsgbuf *ib, struct msg *msg)
{
	fake_asked("%s", proto_name(msg->type));
	if (fake_life(ib, msg))
		return;
	switch (msg->type) {
	case MSG_LIST:
		on_list(ib, msg);
		break;
	case MSG_SHOW:
	case MSG_WAIT:
	case MSG_STOP:
	case MSG_KILL:
		on_show(ib, msg);
		break;
	case MSG_CHANGES:
	case MSG_PATCH:
		on_review(ib, msg);
		break;
	case MSG_APPLY:
		on_apply(ib, msg);
		break;
	case MSG_DISCARD:
		on_discard(ib, msg);
		break;
	case MSG_REMOVE:
		on_remove(ib, msg);
		break;
	case MSG_JOIN:
	case MSG_EXEC:
		on_enter(ib, msg);
		break;
	case MSG_DOCTOR:
		on_doctor(ib, msg);
		break;
	default:
		fake_error(ib, msg->id, "protocol.broken", "not here");
		break;
	}
}
