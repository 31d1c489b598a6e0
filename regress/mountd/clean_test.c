/*
 * Taking entries out of a layer: for every kind of change, landed or
 * discarded, stopped or live, with nothing or everything held open.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "drive.h"

#define LIST	65536
#define PATHS	512

static const char base[] =
    "mkdir -p d d2/sub/in ed .hid && echo one >f && echo a >d/a && "
    "echo b >d/b && echo c >d2/sub/c && echo e >d2/sub/in/e && echo t >t && "
    "printf '#!/bin/sh\\n' >x && chmod 755 x && ln -s f l && "
    "head -c 200000 /dev/zero >big";

static const char *const changes[] = {
	"echo m >>f",
	"echo n >new",
	"rm f",
	"chmod 700 f",
	"chmod 700 d",
	"rm f; ln -s d f",
	"rm l; echo was-a-link >l",
	"ln -sfn d2 l",
	"rm f; mkdir f; echo in >f/in",
	"rm -r d; echo file >d",
	"rm -r d",
	"rm d/a",
	"rm -r d2",
	"mkdir n; echo a >n/a; chmod 700 n",
	"mkdir -p q/w/e; echo r >q/w/e/r",
	"rm -r d; mkdir d; echo z >d/z",
	"rm -r d; mkdir d; echo other >d/a",
	"mv f g",
	"mv f F",
	"mv d e",
	"mv d e; echo more >>e/a; echo new >e/new; rm e/b",
	"mv d e; mv e/a e/aa",
	"mv d d2/sub/d",
	"mv d2/sub s; mv s/in s/in2",
	"mv d2 x2; mv x2/sub x2/sub2; mv x2/sub2/in in",
	"mv d tmp; mv d2 d; mv tmp d2",
	"mv d2/sub d2/sub2; mkdir d2/sub; echo n >d2/sub/c",
	"rm f; echo two >f",
	"mv x f",
	"rm -r d; ln -s d2 d",
	"rm l; mkdir l; echo x >l/x",
	"ln f hard; echo both >>hard",
	"echo m >>f; rm d/a; mkdir n; echo n >n/n; mv d2 n/d2; chmod 700 x",
	"rm -r ./* ; echo only >only",
};
#define NCHANGES	(sizeof(changes) / sizeof(changes[0]))

static char	real_before[LIST], real_now[LIST], inside[LIST];

static const char list[] =
    "find . -mindepth 1 -printf '%P\\t%y %m %U:%G %l\\n' | sort; "
    "find . -type f -printf '%P\\n' | sort | while read -r n; do "
    "printf '%s\\t' \"$n\"; md5sum <\"$n\"; done";

/* The project as it is: outside, as the session sees it, in a view. */
static void
list_at(const char *dir, char *out)
{
	char	cmd[1024];
	size_t	n;
	FILE	*f;

	snprintf(cmd, sizeof(cmd), "cd '%s' && { %s; }", dir, list);
	ATF_REQUIRE((f = popen(cmd, "r")) != NULL);
	n = fread(out, 1, LIST - 1, f);
	while (n > 0 && out[n - 1] == '\n')
		n--;
	out[n] = '\0';
	pclose(f);
}

static void
list_real(char *out)
{
	list_at(test_path("proj"), out);
}

static void
list_inside(struct drive *d)
{
	strlcpy(inside, drive_out(d, "%s", list), sizeof(inside));
}

static void
list_view(int view)
{
	char	dir[64];

	snprintf(dir, sizeof(dir), "/proc/self/fd/%d", view);
	ATF_REQUIRE(fcntl(view, F_SETFD, 0) != -1);
	list_at(dir, inside);
}

/* The paths of the lines that are in one text only, once each. */
static char	names[PATHS][256];
static const char *paths[PATHS + 1];

static void
differ_add(const char *line, const char *other, size_t *n)
{
	size_t	len = strcspn(line, "\n"), name = strcspn(line, "\t"), i;
	const char	*p;

	for (p = other; p != NULL && *p != '\0'; ) {
		if (strncmp(p, line, len) == 0 &&
		    (p[len] == '\n' || p[len] == '\0'))
			return;
		if ((p = strchr(p, '\n')) != NULL)
			p++;
	}
	ATF_REQUIRE(*n < PATHS && name < 256);
	memcpy(names[*n], line, name);
	names[*n][name] = '\0';
	for (i = 0; i < *n; i++)
		if (strcmp(names[i], names[*n]) == 0)
			return;
	paths[*n] = names[*n];
	(*n)++;
}

static size_t
differences(const char *a, const char *b)
{
	const char	*p;
	size_t		 n = 0;

	for (p = a; p != NULL && *p != '\0'; p = strchr(p, '\n'),
	    p = p != NULL ? p + 1 : NULL)
		differ_add(p, b, &n);
	for (p = b; p != NULL && *p != '\0'; p = strchr(p, '\n'),
	    p = p != NULL ? p + 1 : NULL)
		differ_add(p, a, &n);
	paths[n] = NULL;
	return (n);
}

static void
same(const char *change, const char *when)
{
	if (strcmp(inside, real_now) == 0)
		return;
	printf("--- %s: %s\nreal:\n%s\ninside:\n%s\n", change, when, real_now,
	    inside);
	atf_tc_fail_nonfatal("%s: %s: the session sees something else",
	    change, when);
}

/* The project's layer has nothing in it. */
static void
empty(struct drive *d, const char *change, const char *when)
{
	ATF_CHECK_EQ_MSG(0, test_sh("cd '%s/state/s/%s' && "
	    "for n in [0-9]*; do test \"$(readlink $n/at)\" = \"$(readlink "
	    "project)\" && cd $n/u && find . -mindepth 1 -printf '%%p %%y\\n' "
	    "&& test -z \"$(find . -mindepth 1)\" && exit 0; done; exit 1",
	    test_scratch(), d->id), "%s: %s: the layer", change, when);
}

/* Everything there is, held open by a process inside. */
static const char holder[] =
    "exec perl -e 'use Fcntl; my @h; sub go { my ($p) = @_; "
    "opendir(my $d, $p) or return; my @n = readdir($d); push @h, $d; "
    "for (@n) { next if /^\\.\\.?$/; my $q = \"$p/$_\"; "
    "if (-l $q) { next } elsif (-d $q) { go($q) } "
    "else { open(my $f, \"<\", $q); push @h, $f } } } "
    "go(\".\"); $| = 1; print \"r\"; my $l = <STDIN>; "
    "for (@h) { seek($_, 0, 0) if fileno($_); } exit 0'";

static pid_t
hold(struct drive *d, int *in)
{
	int	out;
	pid_t	pid;
	char	c;

	pid = drive_background(d, in, &out, holder);
	ATF_REQUIRE_EQ(1, read(out, &c, 1));
	close(out);
	return (pid);
}

static void
let_go(pid_t pid, int in)
{
	close(in);
	ATF_REQUIRE_EQ(pid, waitpid(pid, NULL, 0));
}

static void
reset(void)
{
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/proj' && rm -rf ..?* .[!.]* * && "
	    "chmod 755 . && %s && chown -Rh 1001:1001 .", test_scratch(),
	    base));
	list_real(real_before);
}

/* The same change outside: what the landing would have written. */
static void
land(const char *change)
{
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/proj' && sbx_x() { %s; } && sbx_x "
	    "&& chown -Rh 1001:1001 .", test_scratch(), change));
	list_real(real_now);
}

/* After a landing the owner's edits show, in place and by rename. */
static void
later_edits(struct drive *d, const char *change)
{
	struct m_SID	sid = { .session = d->id };

	ATF_REQUIRE_EQ(0, test_sh("cd '%s/proj' && find . -type f | "
	    "while read -r n; do echo later >>\"$n\"; cp -p \"$n\" "
	    "\"$n.new\"; echo more >>\"$n.new\"; mv \"$n.new\" \"$n\"; "
	    "done; echo owner >owners; chown -h 1001:1001 owners",
	    test_scratch()));
	list_real(real_now);
	ATF_REQUIRE(drive_ask(d, MSG_REFRESH, -1, &sid, MSG_REFRESHED));
	list_inside(d);
	same(change, "the owner's later edits");
}

enum how { STOPPED, LIVE, HELD };

static void
landed(struct drive *d, const char *change, enum how how)
{
	struct drive_view	v;
	pid_t			pid = 0;
	int			in = -1;

	reset();
	START(d);
	ATF_REQUIRE_EQ_MSG(0, drive_sh(d, "%s", change), "%s", change);
	if (how == HELD)
		pid = hold(d, &in);
	if (how == STOPPED)
		drive_release(d);
	land(change);
	differences(real_before, real_now);
	ATF_REQUIRE_MSG(drive_clean(d, how != STOPPED, false, paths),
	    "%s: %s: %s", change, d->code, d->text);
	if (how == HELD && change == changes[0])
		ATF_CHECK_EQ(0, test_sh("test -e '%s'/state/s/%s/*/u/f",
		    test_scratch(), d->id));
	if (how != STOPPED) {
		list_inside(d);
		same(change, "landed");
	}
	if (how == LIVE) {
		empty(d, change, "landed");
		later_edits(d, change);
	} else if (how == HELD) {
		let_go(pid, in);
		drive_release(d);
		empty(d, change, "landed, then released");
	} else
		empty(d, change, "landed");
	if (how == LIVE)
		drive_release(d);
	list_real(real_now);
	ATF_REQUIRE_MSG(drive_look(d, false, &v), "%s: %s", d->code, d->text);
	list_view(v.view);
	same(change, "landed, the view");
	drive_look_end(&v);
	drive_erase(d);
}

static void
discarded(struct drive *d, const char *change, enum how how, bool all)
{
	static const char *const everything[] = { "", NULL };
	struct drive_view	v;
	pid_t			pid = 0;
	int			in = -1;

	reset();
	strlcpy(real_now, real_before, sizeof(real_now));
	START(d);
	ATF_REQUIRE_EQ_MSG(0, drive_sh(d, "%s", change), "%s", change);
	list_inside(d);
	differences(real_before, inside);
	if (how == HELD)
		pid = hold(d, &in);
	if (how == STOPPED)
		drive_release(d);
	ATF_REQUIRE_MSG(drive_clean(d, how != STOPPED, true,
	    all ? everything : paths), "%s: %s: %s", change, d->code,
	    d->text);
	if (how != STOPPED) {
		list_inside(d);
		same(change, "discarded");
	}
	if (how == LIVE) {
		empty(d, change, "discarded");
		later_edits(d, change);
		reset();
	} else if (how == HELD)
		let_go(pid, in);
	if (how != STOPPED)
		drive_release(d);
	empty(d, change, "discarded, at the end");
	list_real(real_now);
	ATF_REQUIRE_MSG(drive_look(d, false, &v), "%s: %s", d->code, d->text);
	list_view(v.view);
	same(change, "discarded, the view");
	drive_look_end(&v);
	drive_erase(d);
}

#define EACH(name, text, call)						\
	CASE(name, text)						\
	{								\
		struct drive	 d = { .uid = 1001, .gid = 1001 };	\
		size_t		 i;					\
		drive_begin();						\
		for (i = 0; i < NCHANGES; i++)				\
			call;						\
		drive_end();						\
	}

/* The lines of a listing that lie in one entry of the project, or do not. */
static void
part(const char *from, const char *top, bool in, char *out)
{
	size_t	len = strlen(top), line;

	for (*out = '\0'; *from != '\0'; from += line) {
		line = strcspn(from, "\n");
		line += from[line] == '\n';
		if ((strncmp(from, top, len) == 0 && (from[len] == '\t' ||
		    from[len] == '/')) == in) {
			strncat(out, from, line);
			if (out[strlen(out) - 1] != '\n')
				strlcat(out, "\n", LIST);
		}
	}
}

/* One entry of several is discarded: the others stay as they are. */
static void
discarded_part(struct drive *d, const char *change, const char *top,
    enum how how)
{
	static char	before[LIST], want[LIST], got[LIST];
	size_t		i, n, k;

	reset();
	START(d);
	ATF_REQUIRE_EQ(0, drive_sh(d, "%s", change));
	list_inside(d);
	strlcpy(before, inside, sizeof(before));
	n = differences(real_before, inside);
	for (i = k = 0; i < n; i++)
		if (strncmp(paths[i], top, strlen(top)) == 0 &&
		    strchr("/", paths[i][strlen(top)]) != NULL)
			paths[k++] = paths[i];
	paths[k] = NULL;
	if (k == 0 || k == n)
		goto out;
	if (how == STOPPED)
		drive_release(d);
	ATF_REQUIRE_MSG(drive_clean(d, how != STOPPED, true, paths),
	    "%s: %s: %s", change, d->code, d->text);
	if (how == STOPPED)
		START(d);
	list_inside(d);
	part(real_before, top, true, want);
	part(inside, top, true, got);
	if (strcmp(want, got) != 0) {
		printf("want:\n%sgot:\n%s", want, got);
		atf_tc_fail_nonfatal("%s: without %s: that", change, top);
	}
	part(before, top, false, want);
	part(inside, top, false, got);
	if (strcmp(want, got) != 0) {
		printf("want:\n%sgot:\n%s", want, got);
		atf_tc_fail_nonfatal("%s: without %s: the rest", change, top);
	}
out:
	drive_release(d);
	drive_erase(d);
}

static void
discarded_parts(enum how how)
{
	static const char *const	tops[] = {
		"d", "d2", "f", "e", "x2", "in", "n", "g", "x"
	};
	struct drive			d = { .uid = 1001, .gid = 1001 };
	size_t				i, j;

	drive_begin();
	for (i = 0; i < NCHANGES; i++)
		for (j = 0; j < sizeof(tops) / sizeof(tops[0]); j++)
			if (strchr(changes[i], ' ') != NULL &&
			    strstr(changes[i], tops[j]) != NULL)
				discarded_part(&d, changes[i], tops[j], how);
	drive_end();
}

CASE(parts_stopped, "one entry of several discarded, stopped")
{
	discarded_parts(STOPPED);
}

CASE(parts_live, "one entry of several discarded, live")
{
	discarded_parts(LIVE);
}

/* What a landing leaves out is as it was, in folders that moved too. */
static void
left_out(struct drive *d, const char *change, const char *landing,
    const char *const *listed, enum how how)
{
	static char	before[LIST];

	reset();
	START(d);
	ATF_REQUIRE_EQ(0, drive_sh(d, "%s", change));
	list_inside(d);
	strlcpy(before, inside, sizeof(before));
	if (how == STOPPED)
		drive_release(d);
	land(landing);
	ATF_REQUIRE_MSG(drive_clean(d, how != STOPPED, false, listed),
	    "%s: %s: %s", change, d->code, d->text);
	if (how == STOPPED)
		START(d);
	list_inside(d);
	if (strcmp(before, inside) != 0) {
		printf("want:\n%s\ngot:\n%s\n", before, inside);
		atf_tc_fail_nonfatal("%s: landed in part", change);
	}
	drive_release(d);
	drive_erase(d);
}

#define LISTED(...)	((const char *const[]){ __VA_ARGS__, NULL })

CASE(partly, "what is not among a landing's paths stays in the session")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	enum how	how;

	drive_begin();
	for (how = STOPPED; how <= LIVE; how++) {
		/* b is ignored, say: it moved inside only. */
		left_out(&d, "mv d e", "mkdir e; mv d/a e/a",
		    LISTED("e", "e/a", "d/a"), how);
		left_out(&d, "mv d2 e; echo x >e/sub/x; rm e/sub/in/e",
		    "mkdir -p e/sub; mv d2/sub/c e/sub/c",
		    LISTED("d2/sub/c", "e", "e/sub", "e/sub/c"), how);
		left_out(&d, "rm -r d", "rm d/a", LISTED("d/a"), how);
		left_out(&d, "rm -r d; mkdir d; echo n >d/n; echo m >d/m",
		    "rm d/a; echo n >d/n", LISTED("d/a", "d/n"), how);
		left_out(&d, "mkdir -p n/o; echo a >n/a; echo b >n/o/b",
		    "mkdir n; echo a >n/a", LISTED("n", "n/a"), how);
		left_out(&d, "chmod 700 d; echo m >>d/a; echo m >>d/b",
		    "echo m >>d/a", LISTED("d/a"), how);
		left_out(&d, "mv d2/sub d2/in; mv d2 q", "mkdir -p q/in; "
		    "mv d2/sub/c q/in/c", LISTED("d2/sub/c", "q", "q/in",
		    "q/in/c"), how);
	}
	drive_end();
}

/* Reads a line that a process inside prints. */
static const char *
line_of(int fd)
{
	static char	line[256];
	size_t		n = 0;

	while (n < sizeof(line) - 1 && read(fd, line + n, 1) == 1 &&
	    line[n] != '\n')
		n++;
	line[n] = '\0';
	return (line);
}

CASE(open_files, "an open file shows what a discard makes of it; what is "
    "written later is kept")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	pid_t		pid;
	int		in, out;

	drive_begin();
	reset();
	START(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "echo changed >f; echo new >new; "
	    "chmod 600 f"));
	pid = drive_background(&d, &in, &out, "exec 3<>f 4<>new; cd d; "
	    "echo ready; read x; cat <&3; cat <&4; read x; echo mine >../f; "
	    "echo late >here; read x; pwd; ls");
	ATF_CHECK_STREQ("ready", line_of(out));
	ATF_REQUIRE_MSG(drive_clean(&d, true, true, LISTED("f", "new")),
	    "%s: %s", d.code, d.text);
	/* It is held, so it is still there. */
	ATF_CHECK_EQ(0, test_sh("test -e '%s'/state/s/%s/*/u/f",
	    test_scratch(), d.id));
	ATF_CHECK_STREQ("644", drive_out(&d, "stat -c %%a f"));
	ATF_CHECK_EQ(0, drive_sh(&d, "test ! -e new"));
	ATF_REQUIRE_EQ(1, write(in, "\n", 1));
	ATF_CHECK_STREQ("one", line_of(out));
	ATF_CHECK_STREQ("new", line_of(out));
	ATF_REQUIRE_EQ(1, write(in, "\n", 1));
	while (drive_sh(&d, "test -e d/here") != 0)
		usleep(10000);
	ATF_CHECK_STREQ("mine", drive_out(&d, "cat f"));
	close(in);
	ATF_CHECK_STREQ(test_path("proj/d"), line_of(out));
	close(out);
	ATF_REQUIRE_EQ(pid, waitpid(pid, NULL, 0));
	drive_release(&d);
	/* It changed after the discard: that is a change of the session's. */
	START(&d);
	ATF_CHECK_STREQ("mine", drive_out(&d, "cat f"));
	ATF_CHECK_STREQ("late", drive_out(&d, "cat d/here"));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(running, "a program that runs goes on when its change is discarded")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	pid_t		pid;
	int		in, out;

	drive_begin();
	reset();
	ATF_REQUIRE_EQ(0, test_sh("cp /bin/cat '%s/proj/prog' && "
	    "chown 1001:1001 '%s/proj/prog'", test_scratch(),
	    test_scratch()));
	START(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "cat /bin/cat prog >p; cp p prog"));
	pid = drive_background(&d, &in, &out, "exec ./prog");
	ATF_REQUIRE_EQ(2, write(in, "a\n", 2));
	ATF_CHECK_STREQ("a", line_of(out));
	ATF_REQUIRE_MSG(drive_clean(&d, true, true, LISTED("prog", "p")),
	    "%s: %s", d.code, d.text);
	ATF_REQUIRE_EQ(2, write(in, "b\n", 2));
	ATF_CHECK_STREQ("b", line_of(out));
	ATF_CHECK_EQ(0, drive_sh(&d, "cmp prog /bin/cat && test ! -e p"));
	close(in);
	close(out);
	ATF_REQUIRE_EQ(pid, waitpid(pid, NULL, 0));
	drive_release(&d);
	empty(&d, "running", "discarded");
	drive_erase(&d);
	drive_end();
}

/* Watches hold inodes without a name. */
static const char watcher[] =
    "exec perl -e 'require \"syscall.ph\" if 0; my $i = syscall(294, 0); "
    "die if $i < 0; sub go { my ($p) = @_; syscall(254, $i, $p, 0xfff); "
    "opendir(my $d, $p) or return; for (readdir($d)) { "
    "next if /^\\.\\.?$/; -l \"$p/$_\" or go(\"$p/$_\"); } } go(\".\"); "
    "$| = 1; print \"r\\n\"; my $l = <STDIN>; exit 0'";

static void
watched(struct drive *d, const char *change, bool discard)
{
	pid_t	pid;
	int	in, out;

	reset();
	strlcpy(real_now, real_before, sizeof(real_now));
	START(d);
	ATF_REQUIRE_EQ(0, drive_sh(d, "%s", change));
	list_inside(d);
	pid = drive_background(d, &in, &out, watcher);
	ATF_CHECK_STREQ("r", line_of(out));
	if (!discard)
		land(change);
	differences(real_before, discard ? inside : real_now);
	ATF_REQUIRE_MSG(drive_clean(d, true, discard, paths), "%s: %s: %s",
	    change, d->code, d->text);
	list_inside(d);
	same(change, discard ? "discarded, watched" : "landed, watched");
	/* What is written is there for whoever looks next. */
	ATF_CHECK_EQ(0, drive_sh(d, "find . -type f | while read -r n; do "
	    "chmod u+w \"$n\"; echo w >>\"$n\"; tail -n 1 \"$n\" | "
	    "grep -q '^w$' || exit 1; done"));
	close(in);
	close(out);
	ATF_REQUIRE_EQ(pid, waitpid(pid, NULL, 0));
	drive_release(d);
	START(d);
	ATF_CHECK_EQ_MSG(0, drive_sh(d, "find . -type f | while read -r n; "
	    "do tail -n 1 \"$n\" | grep -q '^w$' || exit 1; done"), "%s: "
	    "what was written is lost", change);
	drive_release(d);
	drive_erase(d);
}

EACH(watched_landed, "landed, live, everything watched",
    watched(&d, changes[i], false))
EACH(watched_discarded, "discarded, live, everything watched",
    watched(&d, changes[i], true))

CASE(masked, "what is hidden is never written back")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	pid_t		pid;
	int		in, out;

	drive_begin();
	reset();
	ATF_REQUIRE_EQ(0, test_sh("echo KEY >'%s/proj/d/key'",
	    test_scratch()));
	d.hide[0] = strdup(test_path("proj/later"));
	d.hide[1] = strdup(test_path("proj/d/key"));
	START(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "echo own >later; mv d e"));
	pid = drive_background(&d, &in, &out, "exec 3<>later 4<e/a; cd e; "
	    "echo ready; read x; cat <&3; echo end");
	ATF_CHECK_STREQ("ready", line_of(out));
	ATF_REQUIRE_EQ(0, test_sh("echo KEY >'%s/proj/later'",
	    test_scratch()));
	ATF_REQUIRE_MSG(drive_clean(&d, true, true, LISTED("", NULL)),
	    "%s: %s", d.code, d.text);
	ATF_CHECK_STREQ("", drive_out(&d, "cat later d/key e/key "
	    "2>/dev/null"));
	close(in);
	/* Hidden from now on, it is as empty as what hides it. */
	ATF_CHECK_STREQ("end", line_of(out));
	close(out);
	ATF_REQUIRE_EQ(pid, waitpid(pid, NULL, 0));
	ATF_CHECK_EQ(0, test_sh("! grep -r KEY '%s/state/s'",
	    test_scratch()));
	drive_release(&d);
	/* The same for a folder whose rest comes into the layer, stopped. */
	START(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "mv d e"));
	drive_release(&d);
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/proj' && mkdir e && mv d/a e",
	    test_scratch()));
	ATF_REQUIRE_MSG(drive_clean(&d, false, false, LISTED("e", "e/a",
	    "d/a")), "%s: %s", d.code, d.text);
	ATF_CHECK_EQ(0, test_sh("! grep -r KEY '%s/state/s'",
	    test_scratch()));
	START(&d);
	ATF_CHECK_STREQ("a b key", drive_out(&d, "echo $(ls e)"));
	ATF_CHECK_STREQ("", drive_out(&d, "cat e/key"));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(many, "a thousand files at once")
{
	static const char *const	list_of[] = { "", NULL };
	struct drive			d = { .uid = 1001, .gid = 1001 };

	drive_begin();
	reset();
	START(&d);
	ATF_REQUIRE_EQ(0, drive_sh(&d, "for i in 0 1 2 3 4 5 6 7 8 9; do "
	    "mkdir m$i; for j in 0 1 2 3 4 5 6 7 8 9; do "
	    "for k in 0 1 2 3 4 5 6 7 8 9; do echo $k >m$i/$j$k; done; done; "
	    "done; rm -r d2"));
	ATF_REQUIRE_MSG(drive_clean(&d, true, true, list_of), "%s: %s",
	    d.code, d.text);
	list_inside(&d);
	strlcpy(real_now, real_before, sizeof(real_now));
	same("many", "discarded");
	empty(&d, "many", "discarded");
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(paths_refused, "paths that leave the project, and a landing of all")
{
	static const char *const	bad[] = {
		"..", "../x", "a/../b", "/etc/passwd", "a//b", "./a", "a/"
	};
	struct drive	d = { .uid = 1001, .gid = 1001 };
	size_t		i;

	drive_begin();
	reset();
	START(&d);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ATF_CHECK(!drive_clean(&d, true, true, LISTED(bad[i])));
		ATF_CHECK_STREQ("mount.path", d.code);
	}
	ATF_CHECK(!drive_clean(&d, true, false, LISTED("")));
	ATF_CHECK_STREQ("mount.path", d.code);
	ATF_CHECK(!drive_clean(&d, false, true, LISTED("f")));
	ATF_CHECK_STREQ("mount.state", d.code);
	drive_release(&d);
	ATF_CHECK(!drive_clean(&d, true, true, LISTED("f")));
	ATF_CHECK_STREQ("mount.state", d.code);
	drive_erase(&d);
	drive_end();
}

EACH(landed_stopped, "landed, after the session's end",
    landed(&d, changes[i], STOPPED))
EACH(landed_live, "landed, live, nothing held open",
    landed(&d, changes[i], LIVE))
EACH(landed_held, "landed, live, everything held open",
    landed(&d, changes[i], HELD))
EACH(discarded_stopped, "discarded by path, after the session's end",
    discarded(&d, changes[i], STOPPED, false))
EACH(discarded_live, "discarded by path, live",
    discarded(&d, changes[i], LIVE, false))
EACH(discarded_held, "discarded by path, everything held open",
    discarded(&d, changes[i], HELD, false))
EACH(all_stopped, "discarded whole, after the session's end",
    discarded(&d, changes[i], STOPPED, true))
EACH(all_live, "discarded whole, live",
    discarded(&d, changes[i], LIVE, true))
EACH(all_held, "discarded whole, everything held open",
    discarded(&d, changes[i], HELD, true))

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, landed_stopped);
	ATF_TP_ADD_TC(tp, landed_live);
	ATF_TP_ADD_TC(tp, landed_held);
	ATF_TP_ADD_TC(tp, discarded_stopped);
	ATF_TP_ADD_TC(tp, discarded_live);
	ATF_TP_ADD_TC(tp, discarded_held);
	ATF_TP_ADD_TC(tp, all_stopped);
	ATF_TP_ADD_TC(tp, all_live);
	ATF_TP_ADD_TC(tp, all_held);
	ATF_TP_ADD_TC(tp, parts_stopped);
	ATF_TP_ADD_TC(tp, parts_live);
	ATF_TP_ADD_TC(tp, partly);
	ATF_TP_ADD_TC(tp, open_files);
	ATF_TP_ADD_TC(tp, running);
	ATF_TP_ADD_TC(tp, watched_landed);
	ATF_TP_ADD_TC(tp, watched_discarded);
	ATF_TP_ADD_TC(tp, masked);
	ATF_TP_ADD_TC(tp, many);
	ATF_TP_ADD_TC(tp, paths_refused);
	return (atf_no_error());
}
