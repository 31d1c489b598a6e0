/*
 * The changes that a session makes, in a project that is the same each time,
 * and what is left of them when they have landed or been discarded.
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
#include "changes.h"

static const char base[] =
    "mkdir -p d d2/sub/in ed .hid && echo one >f && echo a >d/a && "
    "echo b >d/b && echo c >d2/sub/c && echo e >d2/sub/in/e && echo t >t && "
    "printf '#!/bin/sh\\n' >x && chmod 755 x && ln -s f l && "
    "head -c 200000 /dev/zero >big";

const char *const changes[] = {
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
const size_t nchanges = sizeof(changes) / sizeof(changes[0]);

char	real_before[CHANGES_LIST], real_now[CHANGES_LIST];
char	inside[CHANGES_LIST];

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
	n = fread(out, 1, CHANGES_LIST - 1, f);
	while (n > 0 && out[n - 1] == '\n')
		n--;
	out[n] = '\0';
	pclose(f);
}

void
list_real(char *out)
{
	list_at(test_path("proj"), out);
}

void
list_inside(struct drive *d)
{
	strlcpy(inside, drive_out(d, "%s", list), sizeof(inside));
}

void
list_view(int view)
{
	char	dir[64];

	snprintf(dir, sizeof(dir), "/proc/self/fd/%d", view);
	ATF_REQUIRE(fcntl(view, F_SETFD, 0) != -1);
	list_at(dir, inside);
}

/* The paths of the lines that are in one text only, once each. */
static char	names[CHANGES_PATHS][256];
const char *paths[CHANGES_PATHS + 1];

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
	ATF_REQUIRE(*n < CHANGES_PATHS && name < 256);
	memcpy(names[*n], line, name);
	names[*n][name] = '\0';
	for (i = 0; i < *n; i++)
		if (strcmp(names[i], names[*n]) == 0)
			return;
	paths[*n] = names[*n];
	(*n)++;
}

size_t
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

void
same(const char *change, const char *when)
{
	if (strcmp(inside, real_now) == 0)
		return;
	printf("--- %s: %s\nreal:\n%s\ninside:\n%s\n", change, when, real_now,
	    inside);
	atf_tc_fail_nonfatal("%s: %s: the session sees something else",
	    change, when);
}

/*
 * The project's layer has nothing in it. Lenient: but copies that are the
 * real file's equals, as a link or a rename there and back leaves them. They
 * are no change, and named by nobody.
 */
bool	lenient;

void
empty(struct drive *d, const char *change, const char *when)
{
	ATF_CHECK_EQ_MSG(0, test_sh("cd '%s' && find . -mindepth 1 %s "
	    "-printf '%%p %%y\\n' | while read -r p y; do case $y in "
	    "f) %s cmp \"$p\" '%s/proj/'\"$p\" || exit 1;; "
	    "l) %s test \"$(readlink \"$p\")\" = \"$(readlink '%s/proj/'"
	    "\"$p\")\" || exit 1;; *) echo \"$p $y\"; exit 1;; esac; done",
	    drive_layer(d), lenient ? "! -type d" : "",
	    lenient ? "" : "false && ", test_scratch(),
	    lenient ? "" : "false && ", test_scratch()),
	    "%s: %s: the layer", change, when);
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

void
reset(void)
{
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/proj' && rm -rf ..?* .[!.]* * && "
	    "chmod 755 . && %s && chown -Rh 1001:1001 .", test_scratch(),
	    base));
	list_real(real_before);
}

/* The same change outside: what the landing would have written. */
void
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

void
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

void
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
		if (!lenient) {
			later_edits(d, change);
			reset();
		}
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

/* Reads a line that a process inside prints. */
const char *
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

/* Watches hold inodes without a name. */
static const char watcher[] =
    "exec perl -e 'require \"syscall.ph\" if 0; my $i = syscall(294, 0); "
    "die if $i < 0; sub go { my ($p) = @_; syscall(254, $i, $p, 0xfff); "
    "opendir(my $d, $p) or return; for (readdir($d)) { "
    "next if /^\\.\\.?$/; -l \"$p/$_\" or go(\"$p/$_\"); } } go(\".\"); "
    "$| = 1; print \"r\\n\"; my $l = <STDIN>; exit 0'";

void
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
