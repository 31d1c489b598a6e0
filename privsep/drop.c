#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cap-ng.h>
#include <linux/capability.h>

#include "../common/log.h"
#include "drop.h"
#include "mode.h"

/* Highest capability this kernel knows; PR_CAPBSET_READ fails above it. */
static int
cap_last(void)
{
	static int	last = -1;

	if (last == -1)
		while (last < 63 && prctl(PR_CAPBSET_READ, last + 1, 0, 0,
		    0) != -1)
			last++;
	return (last);
}

/*
 * An ordinary user's process cannot empty it, as it has no SETPCAP; without a
 * capability and with no_new_privs nothing comes out of it.
 */
static bool
bounding_stays(void)
{
	struct __user_cap_header_struct	hdr = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct	data[2];
	static int			stays = -1;

	if (!mode_user())
		return (false);
	if (stays == -1) {
		if (syscall(SYS_capget, &hdr, data) == -1)
			fatal("capget");
		stays = (data[0].effective & CAP_BIT(CAP_SETPCAP)) == 0;
	}
	return (stays == 1);
}

/*
 * The bounding set goes first: after setresuid even KEEPCAPS leaves no
 * effective CAP_SETPCAP, and PR_CAPBSET_DROP would fail silently for a caller
 * that does not look.
 */
static void
drop_bounding(void)
{
	int	c, last = cap_last();

	/* What spawn starts comes with an empty one, and without SETPCAP. */
	for (c = 0; c <= last && !bounding_stays(); c++)
		if (prctl(PR_CAPBSET_READ, c, 0, 0, 0) == 1 &&
		    prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == -1)
			fatal("dropping capability %d from the bounding set",
			    c);
}

/* A user's own suite has the one uid, and the groups it was started with. */
static void
drop_ids(const struct drop *d)
{
	if (mode_user())
		return;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == -1)
		fatal("PR_SET_KEEPCAPS");
	if (setgroups(d->ngroups, d->groups) == -1)
		fatal("setgroups");
	if (setresgid(d->gid, d->gid, d->gid) == -1)
		fatal("setresgid %u", (unsigned int)d->gid);
	if (setresuid(d->uid, d->uid, d->uid) == -1)
		fatal("setresuid %u", (unsigned int)d->uid);
	if (prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) == -1)
		fatal("PR_SET_KEEPCAPS");
}

static void
drop_caps(const struct drop *d)
{
	int	c, last = cap_last();

	capng_clear(CAPNG_SELECT_BOTH);
	for (c = 0; c <= last; c++)
		if (d->keep & CAP_BIT(c) && capng_update(CAPNG_ADD,
		    CAPNG_EFFECTIVE | CAPNG_PERMITTED, (unsigned int)c) != 0)
			fatalx("keeping capability %d", c);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		fatal("setting the capability sets");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1)
		fatal("clearing the ambient set");
}

void
drop_need(uint64_t caps)
{
	const char	*name;
	char		 list[512] = "";
	int		 c, last = cap_last();

	if (capng_get_caps_process() != 0)
		fatal("the capability sets");
	for (c = 0; c <= last; c++) {
		if ((caps & CAP_BIT(c)) == 0 || capng_have_capability(
		    CAPNG_PERMITTED, (unsigned int)c))
			continue;
		name = capng_capability_to_name((unsigned int)c);
		strlcat(list, list[0] == '\0' ? "" : " ", sizeof(list));
		strlcat(list, name != NULL ? name : "?", sizeof(list));
	}
	if (list[0] != '\0')
		fatalx("started without these capabilities of root's: %s: give "
		    "them to the container or service that it runs in", list);
}

static bool
has_group(const gid_t *groups, size_t n, gid_t gid)
{
	while (n-- > 0)
		if (groups[n] == gid)
			return (true);
	return (false);
}

static void
verify_ids(const struct drop *d)
{
	uid_t	r, e, s, uid = mode_user() ? geteuid() : d->uid;
	gid_t	groups[1024], gid = mode_user() ? getegid() : d->gid;
	size_t	i;
	int	n;

	if (getresuid(&r, &e, &s) == -1 || r != uid || e != uid || s != uid)
		fatalx("uid %u was not taken on", (unsigned int)uid);
	if (getresgid(&r, &e, &s) == -1 || r != gid || e != gid || s != gid)
		fatalx("gid %u was not taken on", (unsigned int)gid);
	if (mode_user())
		return;
	n = getgroups(sizeof(groups) / sizeof(groups[0]), groups);
	if (n == -1 || (size_t)n != d->ngroups)
		fatalx("%d supplementary groups, not %zu", n, d->ngroups);
	/* The kernel gives them back sorted. */
	for (i = 0; i < d->ngroups; i++)
		if (!has_group(groups, d->ngroups, d->groups[i]))
			fatalx("group %u was not taken on",
			    (unsigned int)d->groups[i]);
}

static void
verify_caps(const struct drop *d)
{
	struct __user_cap_header_struct	hdr = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct	data[2];
	uint64_t			eff, perm, inh;
	int				c, last = cap_last();

	if (syscall(SYS_capget, &hdr, data) == -1)
		fatal("capget");
	eff = data[0].effective | (uint64_t)data[1].effective << 32;
	perm = data[0].permitted | (uint64_t)data[1].permitted << 32;
	inh = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
	if (eff != d->keep || perm != d->keep || inh != 0)
		fatalx("capability sets are %llx %llx %llx, not %llx",
		    (unsigned long long)eff, (unsigned long long)perm,
		    (unsigned long long)inh, (unsigned long long)d->keep);
	for (c = 0; c <= last; c++)
		if ((prctl(PR_CAPBSET_READ, c, 0, 0, 0) != 0 &&
		    !bounding_stays()) ||
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, c, 0, 0) != 0)
			fatalx("capability %d is still bounding or ambient",
			    c);
}

void
drop_to(const struct drop *d)
{
	drop_bounding();
	drop_ids(d);
	drop_caps(d);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		fatal("PR_SET_NO_NEW_PRIVS");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		fatal("PR_SET_DUMPABLE");
	verify_ids(d);
	verify_caps(d);
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		fatalx("no_new_privs was not set");
	if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		fatalx("the process is still dumpable");
}

/* Lowers a limit, never raises it: CAP_SYS_RESOURCE may not be there. */
static void
limit_to(int what, rlim_t want, const char *name)
{
	struct rlimit	rl;

	if (getrlimit((__rlimit_resource_t)what, &rl) == -1)
		fatal("getrlimit %s", name);
	if (rl.rlim_max == RLIM_INFINITY || rl.rlim_max > want)
		rl.rlim_max = want;
	rl.rlim_cur = rl.rlim_max;
	if (setrlimit((__rlimit_resource_t)what, &rl) == -1)
		fatal("setrlimit %s", name);
}

void
drop_limits(size_t nofile, size_t as)
{
	limit_to(RLIMIT_CORE, 0, "RLIMIT_CORE");
	if (nofile != 0)
		limit_to(RLIMIT_NOFILE, nofile, "RLIMIT_NOFILE");
#ifndef SBX_SANITIZED
	if (as != 0)
		limit_to(RLIMIT_AS, as, "RLIMIT_AS");
#else
	(void)as;
#endif
}
