/*
 * conf as the real program: whose rights it reads with, what it takes, what
 * it says.
 */
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privsep/proc.h"
#include "regress/lib/scripted.h"

#define OWNER	64400

/*
 * Hostile starters: conf waits for SUITE, and for nothing else.
 */
static void
up(struct test_helper *h)
{
	test_helper_start(h, "conf", ROLE_CONF);
}

static const uint32_t		may[] = { MSG_SUITE, 0 };
static const struct scripted	conf = { .up = up, .may = may };

ATF_TC_WITHOUT_HEAD(forbidden);
ATF_TC_BODY(forbidden, tc)
{
	scripted_forbidden(&conf);
}

ATF_TC_WITHOUT_HEAD(garbage);
ATF_TC_BODY(garbage, tc)
{
	scripted_garbage(&conf);
}

ATF_TC_WITHOUT_HEAD(broken_frames);
ATF_TC_BODY(broken_frames, tc)
{
	scripted_broken_frames(&conf);
}

ATF_TC_WITHOUT_HEAD(hello_mismatch);
ATF_TC_BODY(hello_mismatch, tc)
{
	struct m_HELLO		hello;
	struct test_helper	h;
	int			i;

	for (i = 0; i < 3; i++) {
		test_helper_exec(&h, "conf", ROLE_CONF, ROLE_SBXD);
		proc_hello_fill(&hello, ROLE_SBXD);
		if (i == 0)
			hello.protocol = PROTO_VERSION + 1;
		else if (i == 1)
			hello.build = "another";
		else
			hello.role = "client";
		test_send(&h, MSG_HELLO, 0, -1, &hello);
		scripted_refused(&conf, &h, "HELLO");
	}
}

/*
 * Runs. What conf answered, one line a setting: "key=value\n", then "READY"
 * or "ERROR text"; with print, its standard output.
 */
static char	answer[65536], printed[65536];

static const char	*out_path;

static int
stdout_to(void *arg)
{
	const struct test_helper	*h = arg;
	int				 fd, log;

	if ((fd = open(out_path, O_WRONLY | O_CREAT | O_TRUNC, 0600)) == -1 ||
	    (log = open(h->log, O_WRONLY | O_CREAT | O_TRUNC, 0600)) == -1 ||
	    dup2(fd, STDOUT_FILENO) == -1 || dup2(log, STDERR_FILENO) == -1)
		return (-1);
	return (0);
}

static void
start(struct test_helper *h, bool print)
{
	struct proc_start	ps = { .exe = -1, .argv0 = "conf",
				    .nfds = 1, .setup = stdout_to, .arg = h };
	int			sv[2];

	out_path = test_path("conf.out");
	strlcpy(h->log, test_path("conf.log"), sizeof(h->log));
	ps.path = test_program("libexec/sbx/conf");
	ps.argv1 = print ? "-v" : NULL;
	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) ==
	    0);
	ps.fds = &sv[1];
	ATF_REQUIRE((h->pid = proc_spawn(&ps)) != -1);
	close(sv[1]);
	ATF_REQUIRE(imsg_init(&h->ib, sv[0], ROLE_SBXD, ROLE_CONF) == 0);
	proc_hello(&h->ib, ROLE_SBXD, ROLE_CONF);
}

static bool
take(const struct msg *msg)
{
	const struct m_SETTING	*s = msg->body;
	const struct m_ERROR	*e = msg->body;
	size_t			 len = strlen(answer);

	if (msg->type == MSG_SETTING) {
		snprintf(answer + len, sizeof(answer) - len, "%s=%.*s\n",
		    s->key, (int)s->value.len, (const char *)s->value.p);
		return (true);
	}
	if (msg->type == MSG_ERROR) {
		ATF_REQUIRE_STREQ(e->code, "conf.invalid");
		snprintf(answer + len, sizeof(answer) - len, "ERROR %s",
		    e->message);
	} else {
		ATF_REQUIRE_EQ(msg->type, MSG_READY);
		strlcat(answer, "READY", sizeof(answer));
	}
	return (false);
}

static void
run(const char *file, bool print)
{
	struct m_SUITE		suite = { .state = "/", .libexec = "/",
				    .conf = file };
	struct test_helper	h;
	struct msg		msg;
	const char		*why;
	int			status, fd;
	ssize_t			n;
	bool			more;

	start(&h, print);
	answer[0] = '\0';
	test_send(&h, MSG_SUITE, 0, -1, &suite);
	do {
		if (imsg_recv(&h.ib, &msg, 10000, &why) != 1)
			atf_tc_fail("no answer; log: %s", test_helper_log(&h));
		more = take(&msg);
		msg_free(&msg);
	} while (more);
	status = test_helper_wait(&h);
	ATF_REQUIRE_EQ(imsg_recv(&h.ib, &msg, 1000, &why), 0);
	imsg_clear(&h.ib);
	ATF_REQUIRE_EQ(status, strstr(answer, "ERROR") != NULL ? 1 << 8 : 0);
	ATF_REQUIRE((fd = open(out_path, O_RDONLY)) != -1);
	n = read(fd, printed, sizeof(printed) - 1);
	close(fd);
	printed[n < 0 ? 0 : n] = '\0';
	if (strstr(answer, "ERROR") != NULL)
		ATF_REQUIRE_STREQ(test_helper_log(&h), "");
}

static const char *
file_with(const char *text, size_t len)
{
	const char	*path = test_path("conf.d/sbxd.conf");
	int		 fd;

	if (mkdir(test_path("conf.d"), 0755) == -1)
		ATF_REQUIRE_EQ(errno, EEXIST);
	unlink(path);
	ATF_REQUIRE((fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644)) !=
	    -1);
	ATF_REQUIRE(write(fd, text, len) == (ssize_t)len);
	close(fd);
	return (path);
}

/* The file's text gives this answer; an error also names the file. */
static void
gives(const char *text, const char *want)
{
	char	path[PATH_MAX];

	strlcpy(path, file_with(text, strlen(text)), sizeof(path));
	run(path, false);
	if (strncmp(want, "ERROR ", 6) == 0) {
		if (strncmp(answer, "ERROR ", 6) != 0 ||
		    strncmp(answer + 6, path, strlen(path)) != 0 ||
		    strstr(answer, want + 6) == NULL)
			atf_tc_fail("%s: %s, not %s", text, answer, want);
	} else if (strcmp(answer, want) != 0)
		atf_tc_fail("%s: %s, not %s", text, answer, want);
}

static const char	whole[] =
    "{ \"roles\": { \"user\": [1001, \"bob\"], \"admin\": [ 0,\"al-x\" ] },\n"
    "\t\"socketGroup\":\"sbx\",\r\n \"state\": \"/var//lib/./sbx/\","
    " \"socket\": \"/run/\\u0073bx/sock\" }\n\n";
static const char	whole_answer[] =
    "state=/var/lib/sbx\nsocket=/run/sbx/sock\nsocketGroup=sbx\n"
    "roles.admin=0\nroles.admin=al-x\nroles.user=1001\nroles.user=bob\nREADY";

ATF_TC_WITHOUT_HEAD(settings);
ATF_TC_BODY(settings, tc)
{
	gives("{}", "READY");
	gives(" {\n} ", "READY");
	gives(whole, whole_answer);
	gives("{\"roles\":{}}", "READY");
	gives("{\"roles\":{\"admin\":[]}}", "READY");
	gives("{\"roles\":{\"user\":[4294967294]}}",
	    "roles.user=4294967294\nREADY");
}

/* Place, value, what is allowed. */
ATF_TC_WITHOUT_HEAD(refusals);
ATF_TC_BODY(refusals, tc)
{
	gives("", "ERROR line 1, column 0: ");
	gives("{", "ERROR line 1, column 1: ");
	gives("{\n  \"state\": \"/a\",\n}", "ERROR line 3, column 1: ");
	gives("{} {}", "ERROR line 1, column 4: ");
	gives("{ // no\n}", "ERROR line 1, column 3: a comment; ");
	gives("{\n # no\n}", "ERROR line 2, column 2: a comment; ");
	gives("{\"state\": /* no */ \"/a\"}", "ERROR line 1, column 11: a "
	    "comment; ");
	gives("{\"state\":\"/a\",\"state\":\"/b\"}", "ERROR duplicate");
	gives("{\"state\":\"/\\u0000\"}", "ERROR a NUL in a string");
	gives("{\"state\":\"/\xff\"}", "ERROR line 1");
	gives("[]", "ERROR the file: is [], must be an object with \"state\"");
	gives("{\"stat\":\"/a\"}", "ERROR \"stat\" is no key: \"state\", ");
	gives("{\"St\\u001bate\":1}", "ERROR \"St<U+001B>ate\" is no key");
	gives("{\"state\":1}", "ERROR state: is 1, must be an absolute path");
	gives("{\"state\":null}", "ERROR state: is null, must be");
	gives("{\"state\":\"a\"}", "ERROR state: is \"a\", must be");
	gives("{\"state\":\"\"}", "ERROR state: is \"\", must be");
	gives("{\"state\":\"/\"}", "ERROR state: is \"/\", must be a path "
	    "below the root");
	gives("{\"state\":\"/a/../b\"}", "ERROR state: is \"/a/../b\", must");
	gives("{\"socket\":\"/a/..\"}", "ERROR socket: is \"/a/..\", must");
	gives("{\"socketGroup\":0}", "ERROR socketGroup: is 0, must be the "
	    "name of a group");
	gives("{\"socketGroup\":\"a b\"}", "ERROR socketGroup: is \"a b\"");
	gives("{\"socketGroup\":\"12\"}", "ERROR socketGroup: is \"12\"");
	gives("{\"roles\":[]}", "ERROR roles: is [], must be an object with "
	    "\"admin\", \"user\"");
	gives("{\"roles\":{\"daemon\":[]}}", "ERROR roles: \"daemon\" is no "
	    "key: \"admin\", \"user\"");
	gives("{\"roles\":{\"admin\":1}}", "ERROR roles.admin: is 1, must be "
	    "a list");
	gives("{\"roles\":{\"admin\":[1,2,true]}}", "ERROR roles.admin[2]: "
	    "is true, must be a uid");
	gives("{\"roles\":{\"user\":[65534]}}", "ERROR roles.user[0]: is "
	    "65534, must be a uid as a number, or the name of a user; 65534 "
	    "has no role");
	gives("{\"roles\":{\"user\":[-1]}}", "ERROR roles.user[0]: is -1");
	gives("{\"roles\":{\"user\":[1.0]}}", "ERROR roles.user[0]: is 1.0");
	gives("{\"roles\":{\"user\":[4294967295]}}", "ERROR roles.user[0]");
	gives("{\"roles\":{\"user\":[99999999999999999999]}}", "ERROR line");
	gives("{\"roles\":{\"user\":[\"1001\"]}}", "ERROR roles.user[0]: is "
	    "\"1001\"");
	gives("{\"roles\":{\"user\":[\"a:b\"]}}", "ERROR roles.user[0]");
	gives("{\"roles\":{\"user\":[\"\\u202ebob\"]}}", "ERROR roles.user[0]"
	    ": is \"<U+202E>bob\"");
}

ATF_TC_WITHOUT_HEAD(long_values);
ATF_TC_BODY(long_values, tc)
{
	char	*text = malloc(1 << 21);
	size_t	 i, n;

	ATF_REQUIRE(text != NULL);
	/* A path of 4,095 bytes, and of one more. */
	n = (size_t)sprintf(text, "{\"state\":\"/");
	memset(text + n, 'a', 4094);
	strlcpy(text + n + 4094, "\"}", 16);
	run(file_with(text, strlen(text)), false);
	ATF_REQUIRE(strncmp(answer, "state=/aaa", 10) == 0);
	strlcpy(text + n + 4094, "a\"}", 16);
	run(file_with(text, strlen(text)), false);
	ATF_REQUIRE(strstr(answer, "ERROR") != NULL);
	ATF_REQUIRE(strlen(answer) < 1000);
	/* A file of 1 MiB, and of one byte more. */
	memset(text, ' ', 1 << 21);
	text[0] = '{';
	text[1] = '}';
	run(file_with(text, 1 << 20), false);
	ATF_REQUIRE_STREQ(answer, "READY");
	run(file_with(text, (1 << 20) + 1), false);
	ATF_REQUIRE(strstr(answer, "at most 1048576 are allowed") != NULL);
	/* Half a MiB of brackets. */
	for (i = 0; i < 1 << 19; i++)
		text[i] = '[';
	run(file_with(text, 1 << 19), false);
	ATF_REQUIRE(strstr(answer, "ERROR") != NULL);
	/* 1,024 members of a role, and one more. */
	n = (size_t)sprintf(text, "{\"roles\":{\"user\":[1");
	for (i = 1; i < 1024; i++)
		n += (size_t)sprintf(text + n, ",%zu", i);
	strlcpy(text + n, "]}}", 16);
	run(file_with(text, strlen(text)), false);
	ATF_REQUIRE(strstr(answer, "roles.user=1023\nREADY") != NULL);
	strlcpy(text + n, ",7]}}", 16);
	run(file_with(text, strlen(text)), false);
	ATF_REQUIRE(strstr(answer, "ERROR") != NULL);
	ATF_REQUIRE(strstr(answer, "roles.user: is [1,1,2") != NULL);
	free(text);
}

/* What -v prints is taken again, and then prints the same. */
ATF_TC_WITHOUT_HEAD(canonical_text);
ATF_TC_BODY(canonical_text, tc)
{
	char	first[4096];

	run(file_with(whole, sizeof(whole) - 1), true);
	ATF_REQUIRE_STREQ(answer, whole_answer);
	ATF_REQUIRE(strlcpy(first, printed, sizeof(first)) < sizeof(first));
	ATF_REQUIRE_STREQ(first, "{\n  \"state\": \"/var/lib/sbx\",\n"
	    "  \"socket\": \"/run/sbx/sock\",\n  \"socketGroup\": \"sbx\",\n"
	    "  \"roles\": {\n    \"admin\": [\n      0,\n      \"al-x\"\n"
	    "    ],\n    \"user\": [\n      1001,\n      \"bob\"\n    ]\n"
	    "  }\n}\n");
	run(file_with(first, strlen(first)), true);
	ATF_REQUIRE_STREQ(answer, whole_answer);
	ATF_REQUIRE_STREQ(printed, first);
	/* Nothing is printed unasked, or of what is refused. */
	run(file_with(first, strlen(first)), false);
	ATF_REQUIRE_STREQ(printed, "");
	run(file_with("{]", 2), true);
	ATF_REQUIRE_STREQ(printed, "");
}

/* Each setting that a refusal lists is in the sample's normal form. */
static void
sample_has(const char *text, const char *bad)
{
	char	*p, word[64];

	run(file_with(bad, strlen(bad)), false);
	ATF_REQUIRE((p = strstr(answer, "is no key: ")) != NULL);
	for (; (p = strchr(p, '"')) != NULL; p++) {
		snprintf(word, sizeof(word), "%.*s:", (int)strcspn(p + 1,
		    "\"") + 2, p);
		if (strstr(text, word) == NULL)
			atf_tc_fail("no %s in the sample", word);
		p = strchr(p + 1, '"');
	}
}

/* As its head says it is to be used: without the comments. */
ATF_TC_WITHOUT_HEAD(the_sample);
ATF_TC_BODY(the_sample, tc)
{
	static char	text[sizeof(printed)];

	/* Its owner may be anybody; the text is what counts. */
	ATF_REQUIRE_EQ(test_sh("sed '/^ *#/d' '%s/etc/sbxd.conf.sample' >'%s'",
	    getenv("SBX_SRC"), file_with("", 0)), 0);
	run(test_path("conf.d/sbxd.conf"), true);
	ATF_REQUIRE(strstr(answer, "READY") != NULL);
	strlcpy(text, printed, sizeof(text));
	sample_has(text, "{ \"x\": 1 }");
	sample_has(text, "{ \"roles\": { \"x\": 1 } }");
	/* The defaults are sbxd's. */
	ATF_CHECK_EQ(test_sh("sed -n 's/^#define [A-Z]*_DEFAULT\t//p' "
	    "'%s'/privsep/sbxd.c '%s'/privsep/sbxd_start.c >defaults && "
	    "test $(wc -l <defaults) = 3 && while read -r d; do grep -q -F "
	    "\": $d\" '%s'/etc/sbxd.conf.sample || exit 1; done <defaults",
	    getenv("SBX_SRC"), getenv("SBX_SRC"), getenv("SBX_SRC")), 0);
}

static void
error_says(const char *file, const char *text)
{
	run(file, false);
	if (strncmp(answer, "ERROR ", 6) != 0 || strstr(answer, text) == NULL)
		atf_tc_fail("%s: %s, not %s", file, answer, text);
}

ATF_TC_WITHOUT_HEAD(what_is_no_file);
ATF_TC_BODY(what_is_no_file, tc)
{
	char	f[PATH_MAX];

	strlcpy(f, test_path("d/f"), sizeof(f));
	ATF_REQUIRE_EQ(mkdir(test_path("d"), 0755), 0);
	error_says(f, "No such file");
	error_says(test_path("nowhere/f"), "No such file");
	ATF_REQUIRE_EQ(symlink("/etc/passwd", f), 0);
	error_says(f, "symbolic link");
	ATF_REQUIRE_EQ(unlink(f), 0);
	ATF_REQUIRE_EQ(mkfifo(f, 0600), 0);
	error_says(f, "no regular file");
	ATF_REQUIRE_EQ(unlink(f), 0);
	ATF_REQUIRE_EQ(mkdir(f, 0700), 0);
	error_says(f, "no regular file");
	ATF_REQUIRE_EQ(rmdir(f), 0);
	ATF_REQUIRE_EQ(mknod(f, S_IFCHR | 0600, makedev(1, 5)), 0);
	error_says(f, "no regular file");
	ATF_REQUIRE_EQ(unlink(f), 0);
	error_says("relative", "absolute path");
	error_says("/", "absolute path");
	error_says("/etc/../etc/passwd", "absolute path");
	error_says("/no\nsuch\033[2J", "/no<U+000A>such<U+001B>[2J: ");
	error_says("/no\xff", "/no<FF>: ");
}

/* The default file may be missing, one that was named may not. */
ATF_TC_WITHOUT_HEAD(the_default);
ATF_TC_BODY(the_default, tc)
{
	/* The case has a mount namespace of its own. */
	ATF_REQUIRE_EQ(mount("etc", "/etc", "tmpfs", 0, "mode=755"), 0);
	run(NULL, false);
	ATF_REQUIRE_STREQ(answer, "READY");
	ATF_REQUIRE_EQ(mkdir("/etc/sbx", 0755), 0);
	run(NULL, true);
	ATF_REQUIRE_STREQ(answer, "READY");
	ATF_REQUIRE_STREQ(printed, "{}\n");
	ATF_REQUIRE_EQ(test_sh("echo '{\"state\":\"/s\"}' "
	    ">/etc/sbx/sbxd.conf"), 0);
	run(NULL, false);
	ATF_REQUIRE_STREQ(answer, "state=/s\nREADY");
	ATF_REQUIRE_EQ(test_sh("echo '{]' >/etc/sbx/sbxd.conf"), 0);
	error_says(NULL, "/etc/sbx/sbxd.conf: line 1, column 2");
	ATF_REQUIRE_EQ(umount2("/etc", MNT_DETACH), 0);
}

/* The file is read with its owner's rights, and no others. */
ATF_TC_WITHOUT_HEAD(owners_rights);
ATF_TC_BODY(owners_rights, tc)
{
	char	f[PATH_MAX], d[PATH_MAX];

	strlcpy(f, file_with("{}", 2), sizeof(f));
	strlcpy(d, test_path("conf.d"), sizeof(d));
	/* Only the owner may read it, and go there. */
	ATF_REQUIRE(chown(f, OWNER, OWNER) == 0 && chmod(f, 0600) == 0);
	ATF_REQUIRE(chown(d, OWNER, OWNER) == 0 && chmod(d, 0700) == 0);
	run(f, false);
	ATF_REQUIRE_STREQ(answer, "READY");
	ATF_REQUIRE_EQ(test_sh("grep -q 'belongs to uid %d' '%s'", OWNER,
	    test_path("conf.log")), 0);
	/* A file of the owner's in a folder that is root's alone. */
	ATF_REQUIRE(chown(d, 0, 0) == 0);
	error_says(f, "Permission denied, as its owner (uid 64400)");
	/* Root's file, which root itself may not read without capabilities. */
	ATF_REQUIRE(chown(d, 0, 0) == 0 && chown(f, 0, 0) == 0);
	ATF_REQUIRE(chmod(f, 0) == 0);
	error_says(f, "Permission denied, as its owner (uid 0)");
	ATF_REQUIRE(chmod(f, 0620) == 0);
	error_says(f, "mode 0620): chmod go-w");
	ATF_REQUIRE(chmod(f, 0602) == 0);
	error_says(f, "mode 0602): chmod go-w");
	ATF_REQUIRE(chmod(f, 0644) == 0);
	run(f, false);
	ATF_REQUIRE_STREQ(answer, "READY");
	ATF_REQUIRE_EQ(test_sh("test ! -s '%s'", test_path("conf.log")), 0);
}

/* The same by way of sbxd -n and -nv, whose output -n takes again. */
ATF_TC_WITHOUT_HEAD(checked_by_sbxd);
ATF_TC_BODY(checked_by_sbxd, tc)
{
	char	sbxd[PATH_MAX], d[PATH_MAX];

	strlcpy(sbxd, test_program("sbin/sbxd"), sizeof(sbxd));
	file_with("{\"roles\":{\"admin\":[\"root\",1]},\"state\":\"/s/\"}", 44);
	strlcpy(d, test_path("conf.d"), sizeof(d));
	ATF_REQUIRE_EQ(test_sh("cd %s && %s -n -f $PWD/sbxd.conf >out 2>&1 && "
	    "test ! -s out", d, sbxd), 0);
	ATF_REQUIRE_EQ(test_sh("cd %s && %s -nv -f $PWD/sbxd.conf >one 2>err "
	    "&& test ! -s err && grep -q '\"state\": \"/s\"' one", d, sbxd), 0);
	ATF_REQUIRE_EQ(test_sh("cd %s && %s -nv -f $PWD/one >two && cmp one "
	    "two", d, sbxd), 0);
	/* One line, status 1, nothing printed. */
	ATF_REQUIRE_EQ(test_sh("cd %s && echo '{]' >bad && ! %s -nv -f "
	    "$PWD/bad >out 2>err && test ! -s out && test $(wc -l <err) = 1 "
	    "&& grep -q 'bad: line 1, column 2' err", d, sbxd), 0);
	ATF_REQUIRE_EQ(test_sh("cd %s && ! %s -n -f $PWD/none 2>err && "
	    "test $(wc -l <err) = 1 && grep -q 'none: No such file' err", d,
	    sbxd), 0);
	ATF_REQUIRE_EQ(test_sh("cd %s && echo '{\"roles\":{\"user\":"
	    "[\"no-such-user\"]}}' >who && ! %s -n -f $PWD/who 2>err && "
	    "test $(wc -l <err) = 1 && grep -q \"$PWD/who: roles.user: .*"
	    "no-such-user\" err", d, sbxd), 0);
	ATF_REQUIRE_EQ(test_sh("cd %s && echo '{\"socketGroup\":"
	    "\"no-such-group\"}' >who && ! %s -n -f $PWD/who 2>err && "
	    "test $(wc -l <err) = 1 && grep -q \"$PWD/who: socketGroup "
	    "no-such-group: there is no such group\" err", d, sbxd), 0);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, forbidden);
	ATF_TP_ADD_TC(tp, garbage);
	ATF_TP_ADD_TC(tp, broken_frames);
	ATF_TP_ADD_TC(tp, hello_mismatch);
	ATF_TP_ADD_TC(tp, settings);
	ATF_TP_ADD_TC(tp, refusals);
	ATF_TP_ADD_TC(tp, long_values);
	ATF_TP_ADD_TC(tp, canonical_text);
	ATF_TP_ADD_TC(tp, the_sample);
	ATF_TP_ADD_TC(tp, what_is_no_file);
	ATF_TP_ADD_TC(tp, the_default);
	ATF_TP_ADD_TC(tp, owners_rights);
	ATF_TP_ADD_TC(tp, checked_by_sbxd);
	return (atf_no_error());
}
