/*
 * The command: how it is found, started, ended and told of.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session.h"

static struct session	s;

#define ARGV(...)	((const char *const[]){ __VA_ARGS__, NULL })
#define SH(script)	ARGV("sh", "-c", script)

static int
run(const char *const *argv)
{
	struct session_opts	o = { .argv = argv };

	return (session_simple(&s, &o));
}

/* A file below the project, with this text and mode; its path. */
static const char *
file(const char *name, const char *text, mode_t mode)
{
	const char	*path;
	int		 fd;

	if (mkdir(test_path("project"), 0755) == -1 && errno != EEXIST)
		atf_tc_fail("project: %s", strerror(errno));
	path = test_path("project/%s", name);
	ATF_REQUIRE((fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode)) !=
	    -1);
	ATF_REQUIRE(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	ATF_REQUIRE(fchmod(fd, mode) == 0);
	close(fd);
	return (path);
}

ATF_TC_WITHOUT_HEAD(status);
ATF_TC_BODY(status, tc)
{
	ATF_CHECK_EQ(0, run(ARGV("true")));
	ATF_CHECK_EQ(1, run(ARGV("false")));
	ATF_CHECK_EQ(255, run(SH("exit 255")));
	ATF_CHECK_EQ(128 + SIGKILL, run(SH("kill -KILL $$")));
	ATF_CHECK_EQ(128 + SIGTERM, run(SH("kill -TERM $$")));
	ATF_CHECK_EQ(128 + SIGHUP, run(SH("kill -HUP $$")));
	ATF_CHECK_EQ(128 + SIGSEGV, run(SH("kill -SEGV $$")));
	ATF_CHECK_EQ(128 + SIGPIPE, run(SH("kill -PIPE $$")));
}

/* From the exec to the end, in milliseconds. */
ATF_TC_WITHOUT_HEAD(duration);
ATF_TC_BODY(duration, tc)
{
	ATF_CHECK_EQ(0, run(ARGV("sleep", "0.5")));
	ATF_CHECK(s.sbxd.ms >= 500 && s.sbxd.ms < 1500);
	ATF_CHECK_EQ(2, s.sbxd.pid);
}

/*
 * Pipes
 */
ATF_TC_WITHOUT_HEAD(pipes);
ATF_TC_BODY(pipes, tc)
{
	ATF_CHECK_EQ(0, run(SH("echo out; echo err >&2; "
	    "test ! -t 0 && test ! -t 1 && echo no terminal; "
	    "echo again >/dev/fd/1; tty </dev/tty; true")));
	ATF_CHECK(strstr(s.out[1], "out\nno terminal\nagain\n") != NULL);
	ATF_CHECK(strncmp(s.out[2], "err\n", 4) == 0);
	ATF_CHECK(strstr(s.out[2], "/dev/tty") != NULL);
}

ATF_TC_WITHOUT_HEAD(pipes_eof);
ATF_TC_BODY(pipes_eof, tc)
{
	struct session_opts	 o = { .argv = ARGV("cat") };
	char			*text = malloc(2 << 20);
	size_t			 i;

	ATF_REQUIRE(text != NULL);
	for (i = 0; i < 2 << 20; i++)
		text[i] = (char)(i * 31 + i / 257);
	session_run(&s, &o);
	session_type(&s, text, 2 << 20);
	session_client(&s, MSG_EOF, NULL);
	ATF_CHECK_EQ(0, session_end(&s));
	ATF_CHECK_EQ(2 << 20, s.outlen[1]);
	ATF_CHECK(memcmp(text, s.out[1], 2 << 20) == 0);
	free(text);
}

/* Input that came before there was a command. */
ATF_TC_WITHOUT_HEAD(pipes_early);
ATF_TC_BODY(pipes_early, tc)
{
	struct session_opts	o = { .argv = ARGV("wc", "-c") };

	session_begin(&s, &o);
	session_say(&s, "12345");
	session_client(&s, MSG_EOF, NULL);
	session_tree(&s);
	session_go(&s);
	session_end(&s);
	ATF_CHECK_STREQ("5\n", s.out[1]);
}

/* The command closes its input: the rest of it harms nobody. */
ATF_TC_WITHOUT_HEAD(pipes_closed);
ATF_TC_BODY(pipes_closed, tc)
{
	struct session_opts	 o = { .argv = SH("exec <&-; echo '<closed>'; "
				    "sleep 1; exit 3") };
	char			*text = calloc(1, 3 << 20);

	ATF_REQUIRE(text != NULL);
	session_run(&s, &o);
	session_expect(&s, "<closed>");
	session_type(&s, text, 3 << 20);
	ATF_CHECK_EQ(3, session_end(&s));
	free(text);
}

ATF_TC_WITHOUT_HEAD(pipes_output);
ATF_TC_BODY(pipes_output, tc)
{
	ATF_CHECK_EQ(0, run(SH("head -c 10000000 /dev/zero; "
	    "head -c 3000000 /dev/zero >&2")));
	ATF_CHECK_EQ(10000000, s.outlen[1]);
	ATF_CHECK_EQ(3000000, s.outlen[2]);
}

/* Who is left behind holds the pipe's end, and is gone. */
ATF_TC_WITHOUT_HEAD(pipes_background);
ATF_TC_BODY(pipes_background, tc)
{
	test_clean_mark();
	ATF_CHECK_EQ(0, run(SH("setsid sleep 9993 & echo out; exit 0")));
	ATF_CHECK_STREQ("out\n", s.out[1]);
	test_clean_check();
}

/* HUP and TERM where there is no terminal: the command's group. */
ATF_TC_WITHOUT_HEAD(pipes_signal);
ATF_TC_BODY(pipes_signal, tc)
{
	struct session_opts	o = { .argv = SH("trap 'echo usr1; exit 3' "
				    "USR1; echo '<ready>'; while :; do "
				    "sleep 0.1; done") };
	struct m_SIGNAL		m = { .sig = SIGUSR1 };

	session_run(&s, &o);
	session_expect(&s, "<ready>");
	session_client(&s, MSG_SIGNAL, &m);
	ATF_CHECK_EQ(3, session_end(&s));
	ATF_CHECK(strstr(s.out[1], "usr1") != NULL);
	/* From sbxd as well, and one that nobody can ignore. */
	session_run(&s, &o);
	session_expect(&s, "<ready>");
	m.sig = SIGKILL;
	test_send(&s.w, MSG_SIGNAL, 0, -1, &m);
	ATF_CHECK_EQ(128 + SIGKILL, session_end(&s));
}

/* One that comes before the command is there. */
ATF_TC_WITHOUT_HEAD(signal_early);
ATF_TC_BODY(signal_early, tc)
{
	struct session_opts	o = { .argv = ARGV("sleep", "100") };
	struct m_SIGNAL		m = { .sig = SIGINT };

	session_begin(&s, &o);
	session_client(&s, MSG_SIGNAL, &m);
	session_tree(&s);
	session_go(&s);
	ATF_CHECK_EQ(128 + SIGINT, session_end(&s));
}

/*
 * Finding it
 */
static void
fails(const char *const *argv, const char *code, const char *text, int status)
{
	struct session_opts	o = { .argv = argv };

	session_begin(&s, &o);
	session_tree(&s);
	session_go(&s);
	session_await(&s, &s.sbxd.errors, "ERROR");
	ATF_CHECK_STREQ(code, s.sbxd.code);
	ATF_CHECK_MSG(strstr(s.sbxd.message, text) != NULL, "\"%s\" has no "
	    "\"%s\"", s.sbxd.message, text);
	if (status != 0) {
		session_await(&s, &s.sbxd.exited, "EXITED");
		ATF_CHECK_EQ(status, (int)s.sbxd.status);
	}
	/* sbxd tells the client; the worker has said nothing to it. */
	session_pump(&s, 50);
	ATF_CHECK(s.cl.errors == 0 && s.cl.exited == 0 && s.cl.running == 0);
	ATF_CHECK_EQ(0, s.sbxd.running);
	session_abort(&s);
}

ATF_TC_WITHOUT_HEAD(missing);
ATF_TC_BODY(missing, tc)
{
	fails(ARGV("no-such-command"), "command.missing", "no-such-command",
	    127);
	fails(ARGV("/no/such/command"), "command.missing", "/no/such/command",
	    127);
	fails(ARGV("./nothing"), "command.missing", "./nothing", 127);
	fails(ARGV(""), "command.missing", "empty", 0);
	fails(ARGV("b\xff\033[31m\nd"), "command.missing", "b<FF>", 127);
}

ATF_TC_WITHOUT_HEAD(notexec);
ATF_TC_BODY(notexec, tc)
{
	file("plain", "echo no\n", 0644);
	fails(ARGV("./plain"), "command.notexec", "ermission", 126);
	fails(ARGV("/etc"), "command.notexec", "/etc", 126);
	file("lost", "#!/no/such/interpreter\n", 0755);
	fails(ARGV("./lost"), "command.notexec", "interpreter", 126);
	file("binary", "\177ELF\001\001\001", 0755);
	ATF_REQUIRE(truncate(test_path("project/binary"), 500) == 0);
	fails(ARGV("./binary"), "command.notexec", "./binary", 126);
}

/* As a shell or execvp does it. */
ATF_TC_WITHOUT_HEAD(script);
ATF_TC_BODY(script, tc)
{
	file("script", "echo \"$0 $1 $2\"; exit 12\n", 0755);
	ATF_CHECK_EQ(12, run(ARGV("./script", "a", "b c")));
	ATF_CHECK_STREQ("./script a b c\n", s.out[1]);
	file("empty", "", 0755);
	ATF_CHECK_EQ(0, run(ARGV("./empty")));
}

ATF_TC_WITHOUT_HEAD(search);
ATF_TC_BODY(search, tc)
{
	static char		path[2 * PATH_MAX];
	const char		*env[] = { path, NULL };
	struct session_opts	o = { .argv = ARGV("tool"), .env = env };

	file("tool", "#!/bin/sh\necho project\n", 0644);
	ATF_REQUIRE(mkdir(test_path("project/bin"), 0755) == 0);
	file("bin/tool", "#!/bin/sh\necho bin\n", 0755);
	/* What cannot be executed is passed over; a folder that is none too. */
	snprintf(path, sizeof(path), "PATH=/etc/passwd:/no/such:%s:%s/bin",
	    test_path("project"), test_path("project"));
	ATF_CHECK_EQ(0, session_simple(&s, &o));
	ATF_CHECK_STREQ("bin\n", s.out[1]);
	/* An empty part is the current folder. */
	file("tool", "#!/bin/sh\necho project\n", 0755);
	snprintf(path, sizeof(path), "PATH=:/bin:/usr/bin");
	ATF_CHECK_EQ(0, session_simple(&s, &o));
	ATF_CHECK_STREQ("project\n", s.out[1]);
	/* Without a PATH the system's own is searched, not init's. */
	env[0] = "X=1";
	o.argv = ARGV("ls", "-d", "/");
	ATF_CHECK_EQ(0, session_simple(&s, &o));
}

ATF_TC_WITHOUT_HEAD(found_not_executable);
ATF_TC_BODY(found_not_executable, tc)
{
	static char		path[PATH_MAX + 16];
	const char		*env[] = { path, NULL };
	struct session_opts	o = { .argv = ARGV("tool"), .env = env };

	file("tool", "#!/bin/sh\n", 0644);
	snprintf(path, sizeof(path), "PATH=%s", test_path("project"));
	session_begin(&s, &o);
	session_tree(&s);
	session_go(&s);
	session_await(&s, &s.sbxd.exited, "EXITED");
	ATF_CHECK_EQ(126, s.sbxd.status);
	ATF_CHECK_STREQ("command.notexec", s.sbxd.code);
	session_abort(&s);
}

/*
 * How it starts
 */
ATF_TC_WITHOUT_HEAD(state);
ATF_TC_BODY(state, tc)
{
	static char		inside[PATH_MAX];
	struct session_opts	o = { .argv = ARGV(inside, "state"),
				    .tty = true };

	strlcpy(inside, test_program("regress/worker/inside"),
	    sizeof(inside));
	/* Whoever started the suite had signals ignored and blocked. */
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	session_simple(&s, &o);
	ATF_CHECK_STREQ("fd 0\r\nfd 1\r\nfd 2\r\n"
	    "leader 1 1 foreground 1\r\nparent 1\r\n", s.out[1]);
	o.tty = false;
	session_simple(&s, &o);
	ATF_CHECK_STREQ("fd 0\nfd 1\nfd 2\nleader 1 1 foreground 0\n"
	    "parent 1\n", s.out[1]);
}

ATF_TC_WITHOUT_HEAD(environment);
ATF_TC_BODY(environment, tc)
{
	static const char *const env[] = {
		"PATH=/bin:/usr/bin", "A=b c", "EMPTY=", NULL
	};
	struct session_opts	 o = { .argv = ARGV("env"), .env = env };

	setenv("TMUX", "/tmp/tmux-0/default,1,0", 1);
	session_simple(&s, &o);
	ATF_CHECK_STREQ("PATH=/bin:/usr/bin\nA=b c\nEMPTY=\n", s.out[1]);
}

/* More than a frame holds, and more than the kernel takes. */
ATF_TC_WITHOUT_HEAD(environment_large);
ATF_TC_BODY(environment_large, tc)
{
	static char		 text[30][100001];
	const char		*env[32] = { "PATH=/bin:/usr/bin" };
	struct session_opts	 o = { .argv = SH("env | wc -c"), .env = env };
	int			 i;

	for (i = 0; i < 30; i++) {
		memset(text[i], 'x', 100000);
		text[i][0] = (char)('A' + i);
		text[i][1] = '=';
		if (i < 15)
			env[i + 1] = text[i];
	}
	session_simple(&s, &o);
	ATF_CHECK(atoi(s.out[1]) > 1500000);
	for (i = 15; i < 30; i++)
		env[i + 1] = text[i];
	session_begin(&s, &o);
	session_tree(&s);
	session_go(&s);
	session_await(&s, &s.sbxd.exited, "EXITED");
	ATF_CHECK_EQ(126, s.sbxd.status);
	ATF_CHECK(strstr(s.sbxd.message, "too long") != NULL);
	session_abort(&s);
}

ATF_TC_WITHOUT_HEAD(user);
ATF_TC_BODY(user, tc)
{
	struct session_opts	o = { .argv = SH("id -u; id -g; id -G; pwd; "
				    "umask; hostname >/dev/null 2>&1; "
				    "cat /proc/sys/kernel/hostname") };
	char			want[PATH_MAX + 256], host[128] = "";

	ATF_REQUIRE(gethostname(host, sizeof(host) - 1) == 0);
	session_simple(&s, &o);
	snprintf(want, sizeof(want), "64151\n64152\n64152 64153\n%s\n0022\n"
	    "%s\n", test_path("project"), host);
	ATF_CHECK_STREQ(want, s.out[1]);
	o.umask = (struct maybe){ true, 027 };
	o.root = true;
	o.cwd = "/usr";
	session_simple(&s, &o);
	snprintf(want, sizeof(want), "0\n0\n0\n/usr\n0027\n%s\n", host);
	ATF_CHECK_STREQ(want, s.out[1]);
	/* 0 is a mask like any other. */
	o.umask.v = 0;
	session_simple(&s, &o);
	snprintf(want, sizeof(want), "0\n0\n0\n/usr\n0000\n%s\n", host);
	ATF_CHECK_STREQ(want, s.out[1]);
}

/*
 * The tree and its folders
 */
static void
refused(const struct session_opts *o, const char *code, const char *text)
{
	session_begin(&s, o);
	session_await(&s, &s.sbxd.errors, "ERROR");
	ATF_CHECK_STREQ(code, s.sbxd.code);
	ATF_CHECK_MSG(strstr(s.sbxd.message, text) != NULL, "\"%s\" has no "
	    "\"%s\"", s.sbxd.message, text);
	session_abort(&s);
}

ATF_TC_WITHOUT_HEAD(folders);
ATF_TC_BODY(folders, tc)
{
	static char		path[PATH_MAX];
	struct session_opts	o = { .argv = ARGV("true"), .project = path };

	snprintf(path, sizeof(path), "%s", test_path("none"));
	refused(&o, "path.unreadable", "/none: ");
	ATF_REQUIRE(symlink("/usr", test_path("link")) == 0);
	snprintf(path, sizeof(path), "%s", test_path("link"));
	refused(&o, "path.symlink", "symbolic link");
	snprintf(path, sizeof(path), "%s", test_path("link/share"));
	refused(&o, "path.symlink", "symbolic link");
	snprintf(path, sizeof(path), "/etc/passwd");
	refused(&o, "path.unreadable", "Not a directory");
	/* The user's own rights count, not those of who maps every id. */
	ATF_REQUIRE(mkdir(test_path("closed"), 0700) == 0);
	ATF_REQUIRE(mkdir(test_path("closed/in"), 0777) == 0);
	snprintf(path, sizeof(path), "%s", test_path("closed/in"));
	refused(&o, "path.unreadable", "uid 64151");
	/* Nor is root's session above another user's permissions. */
	ATF_REQUIRE(chown(test_path("closed"), 64199, 64199) == 0);
	o.root = true;
	refused(&o, "path.unreadable", "uid 0");
}

ATF_TC_WITHOUT_HEAD(readonly_paths);
ATF_TC_BODY(readonly_paths, tc)
{
	static char		closed[PATH_MAX];
	const char *const	ro[] = { "/usr", "/no/such", "/etc/passwd",
				    closed, "/var", NULL };
	struct session_opts	o = { .argv = ARGV("true"), .ro = ro };

	ATF_REQUIRE(mkdir(test_path("closed"), 0700) == 0);
	ATF_REQUIRE(mkdir(test_path("closed/in"), 0777) == 0);
	snprintf(closed, sizeof(closed), "%s", test_path("closed/in"));
	session_simple(&s, &o);
	ATF_CHECK_EQ(3, s.nro);
	ATF_CHECK_EQ(0, s.ro[0]);
	ATF_CHECK_EQ(2, s.ro[1]);
	ATF_CHECK_EQ(4, s.ro[2]);
}

ATF_TC_WITHOUT_HEAD(cwd);
ATF_TC_BODY(cwd, tc)
{
	struct session_opts	o = { .argv = ARGV("true"),
				    .cwd = "/no/such/folder" };

	session_begin(&s, &o);
	session_tree(&s);
	session_go(&s);
	session_await(&s, &s.sbxd.errors, "ERROR");
	ATF_CHECK_STREQ("cwd.missing", s.sbxd.code);
	ATF_CHECK(strstr(s.sbxd.message, "/no/such/folder") != NULL);
	session_abort(&s);
}

/* The longest path, of bytes that are no text: still one error. */
ATF_TC_WITHOUT_HEAD(cwd_long);
ATF_TC_BODY(cwd_long, tc)
{
	static char		path[LIMIT_PATH + 1] = "/";
	struct session_opts	o = { .argv = ARGV("true"), .cwd = path };
	size_t			i;

	for (i = 1; i < LIMIT_PATH; i++)
		path[i] = (char)(i % 3 == 0 ? 0xff : i % 3 == 1 ? 0xc3 : 0xa9);
	session_begin(&s, &o);
	session_tree(&s);
	session_go(&s);
	session_await(&s, &s.sbxd.errors, "ERROR");
	ATF_CHECK_STREQ("cwd.missing", s.sbxd.code);
	session_abort(&s);
}

/* With no network of the host's, a socket is opened for netd. */
ATF_TC_WITHOUT_HEAD(network);
ATF_TC_BODY(network, tc)
{
	struct session_opts	o = { .argv = SH("cat /proc/net/dev | wc -l"),
				    .network = "none" };
	struct session_opts	other = { .argv = ARGV("true"),
				    .network = "tunnel" };

	session_begin(&s, &o);
	session_tree(&s);
	ATF_CHECK(s.fd_route != -1);
	session_go(&s);
	ATF_CHECK_EQ(0, session_end(&s));
	/* Two lines of heading and lo. */
	ATF_CHECK_STREQ("3\n", s.out[1]);
	refused(&other, "network.unknown", "tunnel");
}

/* The old root is gone: nothing of the host's but the tree. */
ATF_TC_WITHOUT_HEAD(root);
ATF_TC_BODY(root, tc)
{
	struct session_opts	o = { .argv = SH("ls -l /proc/1/root "
				    "/proc/1/cwd /proc/1/fd 2>&1 | "
				    "grep -c denied; "
				    "readlink /proc/self/root; ls -di / /..; "
				    "awk '$5 == \"/\" { n++ } END { print n }' "
				    "/proc/self/mountinfo") };

	session_simple(&s, &o);
	ATF_CHECK_MSG(strncmp(s.out[1], "3\n/\n", 4) == 0, "%s", s.out[1]);
	ATF_CHECK_MSG(strcmp(s.out[1] + s.outlen[1] - 3, "\n1\n") == 0, "%s",
	    s.out[1]);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, status);
	ATF_TP_ADD_TC(tp, duration);
	ATF_TP_ADD_TC(tp, pipes);
	ATF_TP_ADD_TC(tp, pipes_eof);
	ATF_TP_ADD_TC(tp, pipes_early);
	ATF_TP_ADD_TC(tp, pipes_closed);
	ATF_TP_ADD_TC(tp, pipes_output);
	ATF_TP_ADD_TC(tp, pipes_background);
	ATF_TP_ADD_TC(tp, pipes_signal);
	ATF_TP_ADD_TC(tp, signal_early);
	ATF_TP_ADD_TC(tp, missing);
	ATF_TP_ADD_TC(tp, notexec);
	ATF_TP_ADD_TC(tp, script);
	ATF_TP_ADD_TC(tp, search);
	ATF_TP_ADD_TC(tp, found_not_executable);
	ATF_TP_ADD_TC(tp, state);
	ATF_TP_ADD_TC(tp, environment);
	ATF_TP_ADD_TC(tp, environment_large);
	ATF_TP_ADD_TC(tp, user);
	ATF_TP_ADD_TC(tp, folders);
	ATF_TP_ADD_TC(tp, readonly_paths);
	ATF_TP_ADD_TC(tp, cwd);
	ATF_TP_ADD_TC(tp, cwd_long);
	ATF_TP_ADD_TC(tp, network);
	ATF_TP_ADD_TC(tp, root);
	return (atf_no_error());
}
