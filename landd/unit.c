/*
 * What is one thing to its owner and never lands: a repository's .git, a
 * nested repository, and what the session had read-only. It is compared only
 * until it is known to differ; of a .git, what git would run or obey is told
 * by its path.
 */
#include <sys/stat.h>
#include <string.h>
#include <strings.h>

#include "walk.h"

static const struct {
	const char	*class, *reason;
} unit_words[] = {
	[UNIT_GIT] = { "git", "git's own files are not landed: commits "
	    "and branches made inside go with the session" },
	[UNIT_NESTED] = { "nested", "a nested repository is not landed" },
	[UNIT_BARE] = { "nested", "git would take the folder for a repository "
	    "with it: that is not landed" },
	/* Whoever moves a folder above it takes the mount along, and can make
	 * another thing in its place. */
	[UNIT_READONLY] = { "readonly", "read-only for the session: what is "
	    "in its place is not landed" }
};

/*
 * A folder without a .git is a repository to git if it has HEAD, objects and
 * refs, or HEAD and a commondir that leads to the other two, and git then runs
 * what its config says. By name alone, and any spelling, as of .git: what HEAD
 * says can be landed later, and so can each of them alone.
 */
static const char *const	bare_names[] = {
	"HEAD", "commondir", "objects", "refs", "config", "config.worktree",
	"hooks", "info", "packed-refs"
};

static bool
names_either(const struct names *a, const struct names *b, const char *name)
{
	size_t	i;

	for (i = 0; i < a->n; i++)
		if (strcasecmp(a->v[i].name, name) == 0)
			return (true);
	for (i = 0; i < b->n; i++)
		if (strcasecmp(b->v[i].name, name) == 0)
			return (true);
	return (false);
}

bool
names_bare(const struct names *a, const struct names *b)
{
	return (names_either(a, b, "HEAD") &&
	    (names_either(a, b, "commondir") ||
	    (names_either(a, b, "objects") && names_either(a, b, "refs"))));
}

bool
name_bare(const char *name)
{
	size_t	i;

	for (i = 0; i < sizeof(bare_names) / sizeof(bare_names[0]); i++)
		if (strcasecmp(name, bare_names[i]) == 0)
			return (true);
	return (false);
}

int
unit_differs(struct walk *w, struct unit *u)
{
	if (u->differs)
		return (0);
	u->differs = true;
	return (walk_skip(w, u->path, unit_words[u->kind].class,
	    unit_words[u->kind].reason));
}

/* The first name below .git, or further down, is this one. */
static bool
git_inside(const char *rest, const char *name)
{
	size_t	len = strlen(name);

	for (; rest != NULL; rest = strchr(rest, '/')) {
		if (*rest == '/')
			rest++;
		if (strncmp(rest, name, len) == 0 && rest[len] == '/')
			return (true);
	}
	return (false);
}

/* git runs no hook whose name ends with .sample. */
static bool
git_hook(const char *rest, const char *name)
{
	size_t	len = strlen(name);

	if (strcmp(name, "hooks") == 0)		/* a link to some */
		return (true);
	return (git_inside(rest, "hooks") &&
	    (len < 7 || strcmp(name + len - 7, ".sample") != 0));
}

/* 1: listed by its own path; 0: one of the rest. */
static int
git_listed(struct walk *w, const struct item *it, const char *rest)
{
	int	rv;

	if (git_hook(rest, it->name)) {
		if ((rv = entry_differs(w, it)) == 1)
			rv = walk_skip(w, it->path, "hooks",
			    "a hook of git's is not landed");
		return (rv == -1 ? -1 : 1);
	}
	if (strcmp(it->name, "config") == 0 ||
	    strcmp(it->name, "config.worktree") == 0) {
		if ((rv = entry_differs(w, it)) == 1)
			rv = walk_skip(w, it->path, "config",
			    "git's configuration is not landed");
		return (rv == -1 ? -1 : 1);
	}
	return (0);
}

int
unit_item(struct walk *w, struct item *it)
{
	struct unit	*u = it->f->unit;
	const char	*rest = it->path + strlen(u->path) + 1;
	bool		 v = it->view && S_ISDIR(it->vst.st_mode);
	bool		 r = it->real && S_ISDIR(it->rst.st_mode);
	bool		 git = u->kind == UNIT_GIT;
	int		 rv;

	if (!git && u->differs)
		return (0);
	if (git && !v && !r && (rv = git_listed(w, it, rest)) != 0)
		return (rv == 1 ? 0 : -1);
	if (it->mount)
		return (0);
	if (!u->differs && ((rv = entry_differs(w, it)) == -1 ||
	    (rv == 1 && unit_differs(w, u) == -1)))
		return (-1);
	/* Objects hold nothing that has a class of its own. */
	if ((v || r) && (!u->differs ||
	    (git && strcmp(rest, "objects") != 0)))
		return (walk_push(w, it, v, r, u, NULL) == NULL ? -1 : 0);
	return (0);
}

int
unit_begin(struct walk *w, struct item *it, enum unit_kind kind)
{
	struct unit	*u;
	bool		 v = it->view && S_ISDIR(it->vst.st_mode);
	bool		 r = it->real && S_ISDIR(it->rst.st_mode);
	int		 rv;

	if (walk_keep(w, it) == -1)
		return (-1);
	if (it->mount)
		return (0);
	if ((u = unit_new(w, it->path, kind)) == NULL)
		return (-1);
	if ((rv = entry_differs(w, it)) == -1 ||
	    (rv == 1 && unit_differs(w, u) == -1))
		return (-1);
	return ((v || r) && walk_push(w, it, v, r, u, NULL) == NULL ? -1 : 0);
}
