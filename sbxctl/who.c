/*
 * Whom a session runs as. What is found here is what the caller says of
 * itself; sbxd and spawn go by SO_PEERCRED.
 */
#include <sys/stat.h>
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/fields.h"
#include "sbxctl.h"

char *
who_name(uid_t uid)
{
	const struct passwd	*pw = getpwuid(uid);
	char			*name;

	if (pw != NULL)
		return (copy(pw->pw_name));
	if (asprintf(&name, "uid %u", uid) == -1)
		fail("out of memory");
	return (name);
}

char *
who_user(uint64_t uid)
{
	const struct passwd	*pw = NULL;
	char			*name;

	if (uid < UINT32_MAX)
		pw = getpwuid((uid_t)uid);
	if (pw != NULL)
		return (copy(pw->pw_name));
	if (asprintf(&name, "%" PRIu64, uid) == -1)
		fail("out of memory");
	return (name);
}

/* A folder of this user's own, canonical; NULL: it is none. */
static char *
who_folder(const char *path, uid_t uid)
{
	struct stat	 st;
	char		*real;

	if (path == NULL || *path != '/' ||
	    (real = realpath(path, NULL)) == NULL)
		return (NULL);
	if (stat(real, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid)
		return (real);
	free(real);
	return (NULL);
}

/*
 * HOME counts where it is the user's own folder: people set it for tests and
 * tools. Under sudo it is often another's, and with --as always: then the
 * password entry's.
 */
static void
who_home(const struct passwd *pw, struct who *who)
{
	const char	*env = who->as ? NULL : getenv("HOME");

	if ((who->home = who_folder(env, who->uid)) != NULL)
		return;
	who->home = pw == NULL ? NULL : realpath(pw->pw_dir, NULL);
	if (who->home == NULL)
		fail("%s has no home folder (%s): make it, or set HOME to "
		    "another one of that user's", who->user,
		    pw != NULL ? pw->pw_dir : "no password entry");
}

static void
who_groups(const struct passwd *pw, struct who *who)
{
	gid_t	*list;
	int	 i, n = LIMIT_GROUPS;

	list = need(calloc((size_t)n, sizeof(*list)));
	if (getgrouplist(pw->pw_name, pw->pw_gid, list, &n) == -1)
		fail("%s is in more than %d groups, which is the limit: take "
		    "it out of some", pw->pw_name, LIMIT_GROUPS);
	who->groups = need(calloc((size_t)n + 1, sizeof(*who->groups)));
	for (i = 0; i < n; i++)
		who->groups[i] = list[i];
	who->ngroups = (size_t)n;
	free(list);
}

void
who_find(const char *as, struct who *who)
{
	const struct passwd	*pw;

	memset(who, 0, sizeof(*who));
	if (as != NULL) {
		pw = getpwnam(as);
		if (geteuid() != 0 && (pw == NULL || pw->pw_uid != geteuid()))
			fail("--as %s: only root runs sessions as others: "
			    "leave it out, or call sbxctl as root", as);
		if (pw == NULL)
			fail("--as %s: there is no such user: give one of "
			    "those in passwd", as);
		/* Oneself is not another user. */
		who->as = pw->pw_uid != geteuid();
		if (who->as)
			who_groups(pw, who);
	} else
		pw = getpwuid(geteuid());
	who->uid = pw != NULL ? pw->pw_uid : geteuid();
	who->gid = pw != NULL ? pw->pw_gid : getegid();
	who->user = pw != NULL ? copy(pw->pw_name) : who_name(who->uid);
	if (!utf8_valid(who->user, strlen(who->user)))
		fail("%s: a user name that is not UTF-8: sessions of such "
		    "users cannot be named: rename it", who->user);
	who->shell = copy(pw != NULL && *pw->pw_shell != '\0' ?
	    pw->pw_shell : "/bin/sh");
	who_home(pw, who);
}
