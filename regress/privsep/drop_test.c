/*
 * Giving power up, as the kernel tells it afterwards; and what happens where
 * a step fails, or says that it worked and did not.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privsep/drop.h"
#include "regress/lib/test.h"

#define UID	64321
#define GID	64322

/* What the child wrote, and how it ended. */
struct outcome {
	char	text[16384];
	int	status;
};

static void
in_child(struct outcome *o, void (*fn)(const void *), const void *arg)
{
	size_t	len = 0;
	ssize_t	n;
	pid_t	pid;
	int	p[2];

	ATF_REQUIRE(pipe(p) == 0);
	ATF_REQUIRE((pid = fork()) != -1);
	if (pid == 0) {
		dup2(p[1], STDOUT_FILENO);
		dup2(p[1], STDERR_FILENO);
		fn(arg);
		_exit(0);
	}
	close(p[1]);
	while ((n = read(p[0], o->text + len, sizeof(o->text) - 1 - len)) > 0)
		len += (size_t)n;
	o->text[len] = '\0';
	close(p[0]);
	ATF_REQUIRE(waitpid(pid, &o->status, 0) == pid);
}

static void
drop_and_tell(const void *arg)
{
	char	buf[8192];
	ssize_t	n;
	int	fd;

	/* Open before: a non-dumpable process's own files are root's. */
	if ((fd = open("/proc/self/status", O_RDONLY)) == -1)
		_exit(2);
	drop_to(arg);
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		if (write(STDOUT_FILENO, buf, (size_t)n) != n)
			_exit(3);
	n = snprintf(buf, sizeof(buf), "Dumpable:\t%d\nKeepcaps:\t%d\n",
	    prctl(PR_GET_DUMPABLE), prctl(PR_GET_KEEPCAPS));
	if (write(STDOUT_FILENO, buf, (size_t)n) != n)
		_exit(3);
	/* No way back, but for who kept it. */
	if (((const struct drop *)arg)->keep & CAP_BIT(CAP_SETUID))
		return;
	if (setuid(0) != -1 || seteuid(0) != -1 || setgid(0) != -1)
		_exit(4);
}

static void
must_say(const struct outcome *o, const char *key, const char *want)
{
	char		line[256];
	const char	*p;
	size_t		len;

	snprintf(line, sizeof(line), "\n%s:\t", key);
	p = strstr(o->text, line);
	if (p == NULL)
		atf_tc_fail("no %s in %s", key, o->text);
	p += strlen(line);
	len = strcspn(p, "\n");
	while (len > 0 && p[len - 1] == ' ')
		len--;
	if (strlen(want) != len || strncmp(p, want, len) != 0)
		atf_tc_fail("%s is \"%.*s\", not \"%s\"", key, (int)len, p,
		    want);
}

static void
check(uint64_t keep, const gid_t *groups, size_t ngroups, const char *want)
{
	static struct outcome	 o;
	struct drop		 d = { UID, GID, groups, ngroups, keep };
	char			 caps[32];

	in_child(&o, drop_and_tell, &d);
	if (o.status != 0)
		atf_tc_fail("status %#x: %s", (unsigned int)o.status, o.text);
	snprintf(caps, sizeof(caps), "%016llx", (unsigned long long)keep);
	must_say(&o, "Uid", "64321\t64321\t64321\t64321");
	must_say(&o, "Gid", "64322\t64322\t64322\t64322");
	must_say(&o, "Groups", want);
	must_say(&o, "CapInh", "0000000000000000");
	must_say(&o, "CapPrm", caps);
	must_say(&o, "CapEff", caps);
	must_say(&o, "CapBnd", "0000000000000000");
	must_say(&o, "CapAmb", "0000000000000000");
	must_say(&o, "NoNewPrivs", "1");
	must_say(&o, "Dumpable", "0");
	must_say(&o, "Keepcaps", "0");
}

ATF_TC_WITHOUT_HEAD(nothing_kept);
ATF_TC_BODY(nothing_kept, tc)
{
	check(0, NULL, 0, "");
}

ATF_TC_WITHOUT_HEAD(kept_sets);
ATF_TC_BODY(kept_sets, tc)
{
	static const gid_t	some[] = { 30, 10, 20 };

	check(CAP_BIT(CAP_NET_ADMIN), NULL, 0, "");
	check(CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_SETFCAP),
	    some, 3, "10 20 30");
	check(CAP_BIT(CAP_SYS_ADMIN) | CAP_BIT(CAP_CHOWN) |
	    CAP_BIT(CAP_DAC_OVERRIDE) | CAP_BIT(CAP_FOWNER) |
	    CAP_BIT(CAP_FSETID) | CAP_BIT(CAP_MKNOD) | CAP_BIT(CAP_SETFCAP) |
	    CAP_BIT(CAP_DAC_READ_SEARCH), NULL, 0, "");
	/* One of the second word. */
	check(CAP_BIT(CAP_MAC_ADMIN), some, 1, "30");
	check(CAP_BIT(CAP_CHECKPOINT_RESTORE), NULL, 0, "");
}

ATF_TC_WITHOUT_HEAD(many_groups);
ATF_TC_BODY(many_groups, tc)
{
	static struct outcome	o;
	static gid_t		groups[1024];
	struct drop		d = { UID, GID, groups, 1024, 0 };
	size_t			i;

	for (i = 0; i < 1024; i++)
		groups[i] = (gid_t)(100000 - i);
	in_child(&o, drop_and_tell, &d);
	ATF_REQUIRE_EQ(o.status, 0);
	ATF_REQUIRE(strstr(o.text, "\nGroups:\t98977 98978 ") != NULL);
}

/* One line that says it, and status 1. */
static void
must_fail(const struct outcome *o, const char *what, const char *text)
{
	const char	*nl = strchr(o->text, '\n');

	if (!WIFEXITED(o->status) || WEXITSTATUS(o->status) != 1 ||
	    nl == NULL || nl[1] != '\0' ||
	    strstr(o->text, "fatal: ") == NULL ||
	    strstr(o->text, text) == NULL)
		atf_tc_fail("%s: status %#x, not \"%s\": %s", what,
		    (unsigned int)o->status, text, o->text);
}

static void
drop_as_user(const void *arg)
{
	if (setresuid(UID, UID, UID) == -1)
		_exit(2);
	drop_to(arg);
}

ATF_TC_WITHOUT_HEAD(not_root);
ATF_TC_BODY(not_root, tc)
{
	static struct outcome	o;
	struct drop		d = { .uid = UID, .gid = GID };

	in_child(&o, drop_as_user, &d);
	must_fail(&o, "as a user", "bounding set");
}

/* A capability to keep that the process does not have. */
static void
drop_without(const void *arg)
{
	struct drop	d = { .uid = 0, .gid = 0, .keep = 0 };

	d.keep = CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID) |
	    CAP_BIT(CAP_SETPCAP);
	(void)arg;
	{
		struct __user_cap_header_struct	hdr = {
			.version = _LINUX_CAPABILITY_VERSION_3
		};
		struct __user_cap_data_struct	data[2] = { { 0 } };

		data[0].effective = data[0].permitted = (uint32_t)d.keep;
		if (syscall(SYS_capset, &hdr, data) == -1)
			_exit(2);
	}
	d.uid = UID;
	d.gid = GID;
	d.keep = CAP_BIT(CAP_NET_ADMIN);
	drop_to(&d);
}

ATF_TC_WITHOUT_HEAD(keep_what_is_not_there);
ATF_TC_BODY(keep_what_is_not_there, tc)
{
	static struct outcome	o;

	in_child(&o, drop_without, NULL);
	must_fail(&o, "without NET_ADMIN", "capability");
}

/*
 * A call that does nothing and answers as told: an error, or 0 although
 * nothing was done, which only a check afterwards can find.
 */
struct liar {
	int		nr, answer;
	struct drop	drop;
};

static void
drop_with_liar(const void *arg)
{
	const struct liar	*l = arg;
	struct sock_filter	 code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)l->nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO |
		    (uint32_t)l->answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog	 prog = { 4, code };

	/* As root without no_new_privs, which drop_to is to set. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == -1)
		_exit(2);
	drop_to(&l->drop);
}

ATF_TC_WITHOUT_HEAD(steps_that_fail);
ATF_TC_BODY(steps_that_fail, tc)
{
	static const gid_t	group = 77, root = 0;
	static struct outcome	o;
	static const struct {
		int		 nr;
		const char	*error, *lie;
	} t[] = {
		{ SYS_setgroups, "setgroups", "group" },
		{ SYS_setresgid, "setresgid", "gid 64322 was not taken on" },
		{ SYS_setresuid, "setresuid", "uid 64321 was not taken on" },
		{ SYS_capset, "capability sets", "capability sets are" },
		/* every prctl: the first of them, and what is read back */
		{ SYS_prctl, "", "" },
		{ SYS_capget, "capability", "capability" },
	};
	struct liar	l = { .drop = { UID, GID, &group, 1, 0 } };
	size_t		i;

	/* As many groups as wanted, but others. */
	ATF_REQUIRE_EQ(setgroups(1, &root), 0);
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		l.nr = t[i].nr;
		l.answer = EPERM;
		in_child(&o, drop_with_liar, &l);
		must_fail(&o, "an error", t[i].error);
		l.answer = 0;
		in_child(&o, drop_with_liar, &l);
		must_fail(&o, "a lie", t[i].lie);
	}
}

static void
limit_and_tell(const void *arg)
{
	struct rlimit	core, files, as;

	(void)arg;
	drop_limits(100, 1 << 30);
	/* A second, higher wish does not raise what is there. */
	drop_limits(200, 0);
	if (getrlimit(RLIMIT_CORE, &core) == -1 ||
	    getrlimit(RLIMIT_NOFILE, &files) == -1 ||
	    getrlimit(RLIMIT_AS, &as) == -1)
		_exit(2);
	printf("%llu %llu %llu %llu\n", (unsigned long long)core.rlim_max,
	    (unsigned long long)files.rlim_cur,
	    (unsigned long long)files.rlim_max,
	    (unsigned long long)as.rlim_max);
	fflush(stdout);
}

ATF_TC_WITHOUT_HEAD(limits);
ATF_TC_BODY(limits, tc)
{
	static struct outcome	o;

	in_child(&o, limit_and_tell, NULL);
	ATF_REQUIRE_EQ(o.status, 0);
#ifdef SBX_SANITIZED
	ATF_REQUIRE(strncmp(o.text, "0 100 100 ", 10) == 0);
#else
	ATF_REQUIRE_STREQ(o.text, "0 100 100 1073741824\n");
#endif
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, nothing_kept);
	ATF_TP_ADD_TC(tp, kept_sets);
	ATF_TP_ADD_TC(tp, many_groups);
	ATF_TP_ADD_TC(tp, not_root);
	ATF_TP_ADD_TC(tp, keep_what_is_not_there);
	ATF_TP_ADD_TC(tp, steps_that_fail);
	ATF_TP_ADD_TC(tp, limits);
	return (atf_no_error());
}
