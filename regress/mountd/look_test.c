/*
 * EXPLAIN and MEASURE: what comes back, and what a broker cannot make mountd
 * say or do by them.
 */
#include <sys/mount.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "drive.h"

static struct m_EXPLAIN	ask;
static char	state[32], rule[32], of[LIMIT_PATH + 1], target[LIMIT_PATH + 1];
static char	code[80], text[LIMIT_MESSAGE + 1];

static void
receive(struct msg *msg)
{
	const char	*why = NULL;

	if (imsg_recv(&drive_mountd.ib, msg, 20000, &why) != 1)
		atf_tc_fail("from mountd: %s; its log: %s", why != NULL ? why :
		    "end of file", test_helper_log(&drive_mountd));
	ATF_CHECK_EQ(9, msg->id);
}

static void
take_error(const struct msg *msg)
{
	const struct m_ERROR	*e = msg->body;

	ATF_REQUIRE_MSG(msg->type == MSG_ERROR, "%s", proto_name(msg->type));
	ATF_CHECK(strchr(e->message, '\n') == NULL);
	strlcpy(code, e->code, sizeof(code));
	strlcpy(text, e->message, sizeof(text));
}

static bool
explain(const char *path)
{
	const struct m_EXPLAINED *m;
	struct msg		 msg;

	ask.path = path;
	test_send(&drive_mountd, MSG_EXPLAIN, 9, -1, &ask);
	receive(&msg);
	if (msg.type != MSG_EXPLAINED) {
		take_error(&msg);
		msg_free(&msg);
		return (false);
	}
	m = msg.body;
	ATF_CHECK_STREQ(path, m->path);
	strlcpy(state, m->state, sizeof(state));
	strlcpy(rule, m->rule, sizeof(rule));
	strlcpy(of, m->of != NULL ? m->of : "", sizeof(of));
	strlcpy(target, m->target, sizeof(target));
	msg_free(&msg);
	receive(&msg);
	ATF_CHECK_EQ(MSG_END, msg.type);
	msg_free(&msg);
	return (true);
}

#define IS(state_, rule_, ...)						\
	do {								\
		char *path_ = strdup(test_path(__VA_ARGS__));		\
		ATF_REQUIRE_MSG(explain(path_), "%s: %s", code, text);	\
		ATF_CHECK_EQ_MSG(0, strcmp(state_, state), "%s: %s",	\
		    path_, state);					\
		ATF_CHECK_EQ_MSG(0, strcmp(rule_, rule), "%s: %s",	\
		    path_, rule);					\
		free(path_);						\
	} while (0)

#define REFUSED(code_, path)						\
	do {								\
		ATF_CHECK(!explain(path));				\
		ATF_CHECK_EQ_MSG(0, strcmp(code_, code), "%s: %s",	\
		    code, text);					\
	} while (0)

static void
begin(void)
{
	drive_begin();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mkdir -p proj/d proj/shut/in && "
	    "echo a >proj/a && echo b >proj/d/b && echo k >proj/d/key && "
	    "ln -s d/key proj/l && ln -s proj/d dl && mkdir ro && echo r >ro/r "
	    "&& chown -R 1001:1001 proj && chmod 700 proj/shut && "
	    "chown 0:0 proj/shut", test_scratch()));
	ask = (struct m_EXPLAIN){
		.project = strdup(test_path("proj")),
		.home = strdup(test_path("home")), .uid = 1001, .gid = 1001
	};
}

CASE(explain, "states and rules, without a session and with one")
{
	struct drive	 d = { .uid = 1001, .gid = 1001 };
	const char	*hide[2], *ro[2];
	int		 turn;

	begin();
	hide[0] = d.hide[0] = strdup(test_path("proj/d/key"));
	ro[0] = d.ro[0] = strdup(test_path("ro"));
	ask.hide = (struct strv){ 1, hide };
	ask.ro = (struct strv){ 1, ro };
	hide[1] = ro[1] = NULL;
	IS("shown", "project", "proj/a");
	IS("hidden", "hide", "proj/d/key");
	IS("hidden", "hide", "proj/l");
	ATF_CHECK_STREQ(hide[0], target);
	ATF_CHECK_STREQ(hide[0], of);
	IS("hidden", "hide", "dl/key");
	IS("read-only", "ro", "ro/r");
	IS("missing", "project", "proj/none");
	IS("denied", "permissions", "proj/shut/in");
	IS("denied", "permissions", "proj/shut/none");
	IS("hidden", "state", "state/s");
	IS("shown", "filesystem", "proj/..");
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "mv d e; echo n >n; rm a; ln -s e/key m"));
	ask.session = d.id;
	for (turn = 0; turn < 2; turn++) {
		if (turn == 1)
			drive_release(&d);
		IS("layer", "project", "proj/n");
		IS("missing", "project", "proj/a");
		IS("layer", "project", "proj/e/b");
		IS("hidden", "hide", "proj/e/key");
		ATF_CHECK_STREQ(hide[0], of);
		IS("hidden", "hide", "proj/m");
		IS("missing", "project", "proj/d/b");
		IS("read-only", "ro", "ro/r");
	}
	drive_erase(&d);
	REFUSED("mount.layer", "/etc");
	drive_end();
}

CASE(refused, "what a broker asks for that no client could")
{
	const char	*bad[] = { "relative", NULL };
	const char	*own[2] = { NULL, NULL };
	char		 deep[LIMIT_PATH + 1];
	size_t		 i;

	begin();
	REFUSED("explain.invalid", "etc");
	ask.uid = 65534;
	REFUSED("explain.invalid", "/etc");
	ask.uid = UINT64_MAX;
	REFUSED("explain.invalid", "/etc");
	ask.uid = 1001;
	ask.session = "../../etc";
	REFUSED("mount.session", "/etc");
	ask.session = "abcdefgh2345";
	REFUSED("mount.layer", "/etc");
	ask.session = NULL;
	ask.hide = (struct strv){ 1, bad };
	REFUSED("mount.hide", "/etc");
	ask.hide.n = 0;
	ask.ro = (struct strv){ 1, bad };
	REFUSED("mount.ro", "/etc");
	ask.ro.n = 0;
	own[0] = ask.project;
	ask.hide = (struct strv){ 1, own };
	REFUSED("mount.hide", "/etc");
	ask.hide.n = 0;
	ask.project = NULL;
	REFUSED("explain.invalid", "/etc");
	ask.project = "/proc/self/root";
	REFUSED("mount.project", "/etc");
	ask.project = "/nowhere";
	REFUSED("mount.project", "/etc");
	ask.project = strdup(test_path("proj"));
	/* As long as a path can be, and with as many steps. */
	for (i = 0; i + 2 < sizeof(deep); i += 2)
		memcpy(deep + i, "/.", 2);
	deep[i] = '\0';
	ATF_CHECK(explain(deep));
	for (i = 0; i + 3 < sizeof(deep); i += 3)
		memcpy(deep + i, "/..", 3);
	deep[i] = '\0';
	ATF_CHECK(explain(deep));
	ATF_CHECK_STREQ("/", target);
	memset(deep + 1, 'x', sizeof(deep) - 2);
	deep[sizeof(deep) - 1] = '\0';
	ATF_CHECK(explain(deep));
	ATF_CHECK_STREQ("missing", state);
	/* A link that grows, and one to itself. */
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/proj' && ln -s loop/x loop && "
	    "ln -s me me", test_scratch()));
	IS("missing", "filesystem", "proj/loop");
	IS("missing", "filesystem", "proj/me");
	IS("shown", "project", "proj/a");
	drive_end();
}

CASE(hung, "a filesystem that hangs: an error in ten seconds, for one only")
{
	char	opts[128], *at;
	int	fuse;

	ATF_REQUIRE_EQ(0, mkdir(test_path("hung"), 0755));
	ATF_REQUIRE((fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC)) != -1);
	snprintf(opts, sizeof(opts), "fd=%d,rootmode=40755,user_id=0,"
	    "group_id=0,allow_other", fuse);
	ATF_REQUIRE_EQ(0, mount("hung", test_path("hung"), "fuse", 0, opts));
	begin();
	at = strdup(test_path("hung"));
	/* It is none that a session would see, so nobody asks it. */
	IS("covered", "filesystem", "hung");
	IS("missing", "filesystem", "hung/in");
	ask.project = strdup(test_path("hung/in"));
	REFUSED("mount.timeout", "/etc");
	ask.project = strdup(test_path("proj"));
	IS("shown", "project", "proj/a");
	umount2(at, MNT_FORCE | MNT_DETACH);
	close(fuse);
	ATF_CHECK_EQ(0, test_helper_end(&drive_mountd));
}

/* Until END or ERROR; how many items came. */
static int
measure(const struct m_MEASURE *m, uint64_t *inodes)
{
	const struct m_MEASURED	*one;
	struct msg		 msg;
	int			 n = 0;

	*inodes = 0;
	code[0] = '\0';
	test_send(&drive_mountd, MSG_MEASURE, 9, -1, m);
	for (;;) {
		receive(&msg);
		if (msg.type != MSG_MEASURED)
			break;
		one = msg.body;
		*inodes += one->inodes;
		n++;
		msg_free(&msg);
	}
	if (msg.type != MSG_END)
		take_error(&msg);
	msg_free(&msg);
	return (n);
}

CASE(measured, "layers, while a session works and after it; and none")
{
	struct drive	 d = { .uid = 1001, .gid = 1001 };
	const char	*v[2] = { NULL, NULL };
	struct m_MEASURE m = { .sessions = { 1, v } };
	uint64_t	 before, after;

	begin();
	START(&d);
	v[0] = d.id;
	ATF_CHECK(measure(&m, &before) >= 4);
	ATF_CHECK_EQ(0, drive_sh(&d, "mkdir x && echo 1 >x/1 && ln x/1 x/2"));
	measure(&m, &after);
	ATF_CHECK_EQ_MSG(before + 2, after, "%llu, %llu",
	    (unsigned long long)before, (unsigned long long)after);
	drive_release(&d);
	ATF_CHECK(measure(&m, &after) >= 4);
	m.list = true;
	m.sessions.n = 0;
	ATF_CHECK_EQ(1, measure(&m, &after));
	drive_erase(&d);
	ATF_CHECK_EQ(0, measure(&m, &after));
	m.list = false;
	m.sessions.n = 1;
	ATF_CHECK_EQ(1, measure(&m, &after));
	ATF_CHECK_EQ(0, after);
	v[0] = "../state";
	ATF_CHECK_EQ(0, measure(&m, &after));
	ATF_CHECK_STREQ("mount.session", code);
	v[0] = "abcdefgh2345";
	/* Not through a link. */
	ATF_REQUIRE_EQ(0, symlink("/etc", test_path("state/s/abcdefgh2345")));
	ATF_CHECK_EQ(0, measure(&m, &after));
	ATF_CHECK_STREQ("mount.layer", code);
	ATF_REQUIRE_EQ(0, unlink(test_path("state/s/abcdefgh2345")));
	drive_end();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, explain);
	ATF_TP_ADD_TC(tp, refused);
	ATF_TP_ADD_TC(tp, hung);
	ATF_TP_ADD_TC(tp, measured);
	return (atf_no_error());
}
