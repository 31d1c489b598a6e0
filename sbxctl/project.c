/*
 * The project: --repo, else the nearest parent with ".git" (by name: git is
 * not run, and nothing in the repository is read), else the current folder.
 * sbxd decides; what is refused here is refused in better words.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/path.h"
#include "sbxctl.h"

/* Of paths where nothing is, so many are told. */
#define MISSING_SAID	8

char *
project_cwd(void)
{
	char	*cwd = realpath(".", NULL);

	if (cwd == NULL)
		fail("the current folder: %s: change to one that exists",
		    strerror(errno));
	return (cwd);
}

/* The nearest folder at or above path that has a ".git", or NULL. */
static char *
project_above(const char *path)
{
	char		 probe[PATH_MAX + sizeof("/.git")];
	struct stat	 st;
	char		*end;

	if (strlcpy(probe, path, PATH_MAX) >= PATH_MAX)
		return (NULL);
	for (;;) {
		end = probe + strlen(probe);
		memcpy(end, "/.git", sizeof("/.git"));
		if (lstat(probe, &st) == 0) {
			*end = '\0';
			return (copy(*probe == '\0' ? "/" : probe));
		}
		*end = '\0';
		if ((end = strrchr(probe, '/')) == NULL)
			return (NULL);
		*end = '\0';
	}
}

/* Fresh inside, or the machine's own: no files of anybody's project. */
static void
project_never(const char *given, const char *path)
{
	static const char *const	never[] = { "/proc", "/sys", "/dev" };
	size_t				i;

	for (i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		if (path_within(never[i], path))
			fail("%s: nothing below %s can be a project: name "
			    "another folder by --repo DIR", given, never[i]);
}

/* given: what the user said, for the message. */
static void
project_check(const char *given, const char *path, const struct who *who)
{
	struct stat	st;

	if (strcmp(path, "/") == 0)
		fail("%s: the whole machine cannot be a project: name a "
		    "folder by --repo DIR", given);
	project_never(given, path);
	if (stat(path, &st) == -1)
		fail("%s: %s: name an existing folder by --repo DIR", given,
		    strerror(errno));
	if (!S_ISDIR(st.st_mode))
		fail("%s: not a folder: name one by --repo DIR", given);
	if (st.st_uid != who->uid && geteuid() == 0)
		fail("%s: owned by %s, and the session would run as %s: give "
		    "--as %s", given, who_name(st.st_uid), who->user,
		    who_name(st.st_uid));
	if (st.st_uid != who->uid)
		fail("%s: owned by %s, not by you (%s): only its owner runs "
		    "sessions in it: name a folder of yours by --repo DIR",
		    given, who_name(st.st_uid), who->user);
	if (!who->as && access(path, R_OK | X_OK) == -1)
		fail("%s: %s: make it readable and searchable for %s", given,
		    strerror(errno), who->user);
}

static char *
project_named(const char *repo, const struct who *who)
{
	char	*path, clean[PATH_MAX];

	if (*repo == '\0')
		fail("--repo: an empty path: name a folder");
	/* Links of /proc lead anywhere: judged as they are named. */
	if (*repo == '/' && path_clean("/", repo, clean, sizeof(clean)) == 0)
		project_never(repo, clean);
	if ((path = realpath(repo, NULL)) == NULL)
		fail("--repo %s: %s: name an existing folder", repo,
		    strerror(errno));
	project_check(repo, path, who);
	return (path);
}

static char *
project_here(const struct who *who)
{
	char	*cwd = project_cwd(), *path;

	if ((path = project_above(cwd)) == NULL)
		path = copy(cwd);
	free(cwd);
	project_check(path, path, who);
	return (path);
}

void
project_roots(const struct words *repo, const struct who *who,
    struct roots *roots, struct strv *more)
{
	const char	*outer, *inner;
	size_t		 i;

	if (repo->n > LIMIT_ROOTS)
		fail("--repo: %zu folders: a session has at most %d: leave "
		    "some out, or name a folder above them", repo->n,
		    LIMIT_ROOTS);
	for (i = 0; i < repo->n; i++)
		roots->v[i] = project_named(repo->v[i], who);
	if (repo->n == 0)
		roots->v[0] = project_here(who);
	roots->n = repo->n == 0 ? 1 : repo->n;
	if (roots_clash(roots, &outer, &inner))
		fail(strcmp(outer, inner) == 0 ? "--repo %s: given twice%.0s: "
		    "give it once" : "--repo %s: lies in %s: leave it out, "
		    "what changes in it is a change of that one", inner,
		    outer);
	more->n = roots->n - 1;
	more->v = more->n == 0 ? NULL : roots->v + 1;
}

/* "~" and "~/x" are the session user's home; "~user" is a name like any. */
static char *
project_path(const char *option, const char *in, const struct who *who,
    const char *cwd)
{
	char	 out[PATH_MAX], *real, *full;
	const char *base = cwd, *rest = in;

	if (*in == '\0')
		fail("%s: an empty path: name a file or folder", option);
	if (in[0] == '~' && (in[1] == '\0' || in[1] == '/')) {
		base = who->home;
		for (rest = in + 1; *rest == '/'; rest++)
			;
		if (*rest == '\0')
			rest = ".";
	}
	/* What is read-only is a place: a link to one means that one. What is
	 * hidden is hidden under each of its names, by mountd. */
	if (strcmp(option, "--ro") == 0) {
		if (asprintf(&full, "%s%s%s", *rest == '/' ? "" : base,
		    *rest == '/' ? "" : "/", rest) == -1)
			fail("out of memory");
		real = realpath(full, NULL);
		free(full);
		if (real != NULL)
			return (real);
	}
	if (path_clean(base, rest, out, sizeof(out)) == -1)
		fail("%s %.40s...: %s: the limit is %d bytes: give a shorter "
		    "one", option, in, strerror(errno), LIMIT_PATH);
	return (copy(out));
}

void
project_paths(const char *option, const struct words *words,
    const struct who *who, const char *cwd, struct strv *out)
{
	size_t	i;

	out->n = words->n;
	out->v = need(calloc(words->n + 1, sizeof(*out->v)));
	for (i = 0; i < words->n; i++)
		out->v[i] = project_path(option, words->v[i], who, cwd);
}

/*
 * A mistyped path protects nothing, silently. Looked at with our own rights,
 * so that nobody is told more than he can see for himself; what may not be
 * looked at is left alone.
 */
void
project_missing(const char *option, const struct words *words,
    const struct strv *paths, const char *then)
{
	struct statx	sx;
	size_t		i, n = 0;

	for (i = 0; i < paths->n; i++) {
		/* A link is something, wherever it leads. */
		if (statx(AT_FDCWD, paths->v[i], AT_SYMLINK_NOFOLLOW |
		    AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE, &sx) ==
		    0 ||
		    (errno != ENOENT && errno != ENOTDIR))
			continue;
		if (n++ < MISSING_SAID)
			say("%s %s: nothing is at %s now: %s", option,
			    words->v[i], paths->v[i], then);
	}
	if (n > MISSING_SAID)
		say("%s: and %zu more like these", option, n - MISSING_SAID);
}
