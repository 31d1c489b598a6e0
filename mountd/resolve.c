#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fs.h"
#include "hide.h"
#include "mountd.h"

#define RESOLVE_LINKS	40	/* the kernel's own limit */

struct walk {
	struct resolved	*r;
	char		 rest[2 * PATH_MAX];
	int		 dir;		/* of r->target, O_PATH */
	int		 links;
	const struct user *user;	/* NULL: whom nothing is closed to */
	int		(*link)(void *, const char *, const char *);
	void		*arg;
};

static int
target_push(struct resolved *r, const char *part)
{
	size_t	len = strlen(r->target);

	if (len + 1 + strlen(part) >= sizeof(r->target)) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	snprintf(r->target + len, sizeof(r->target) - len, "/%s", part);
	return (0);
}

/* To another folder whose own path is in r->target already. */
static int
walk_reopen(struct walk *w)
{
	const char	*rel = w->r->target;
	int		 fd;

	fd = fs_openat2(mountd.root, *rel == '\0' ? "." : rel + 1,
	    O_PATH | O_DIRECTORY, FS_PLAIN);
	if (fd == -1)
		return (-1);
	close(w->dir);
	w->dir = fd;
	return (0);
}

static int
walk_up(struct walk *w)
{
	char	*slash = strrchr(w->r->target, '/');

	if (slash == NULL)
		return (0);
	*slash = '\0';
	return (walk_reopen(w));
}

/* Nothing there: the parts that are left follow as they are written. */
static int
walk_missing(struct walk *w, const char *part, const char *rest)
{
	char	*slash, copy[sizeof(w->rest)], *p = copy;

	if (target_push(w->r, part) == -1)
		return (-1);
	snprintf(copy, sizeof(copy), "%s", rest);
	while ((part = strsep(&p, "/")) != NULL) {
		if (*part == '\0' || strcmp(part, ".") == 0)
			continue;
		if (strcmp(part, "..") == 0) {
			if ((slash = strrchr(w->r->target, '/')) != NULL)
				*slash = '\0';
		} else if (target_push(w->r, part) == -1)
			return (-1);
	}
	return (0);
}

static int
walk_link(struct walk *w, const char *part, const char *rest)
{
	char	text[PATH_MAX], copy[sizeof(w->rest)];
	char	own[2 * PATH_MAX];
	ssize_t	len;

	if ((len = readlinkat(w->dir, part, text, sizeof(text) - 1)) == -1)
		return (-1);
	text[len] = '\0';
	snprintf(own, sizeof(own), "%s/%s", w->r->target, part);
	if (w->link != NULL && w->link(w->arg, own, text) == -1)
		return (-1);
	if (snprintf(copy, sizeof(copy), "%s/%s", text, rest) >=
	    (int)sizeof(copy)) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	memcpy(w->rest, copy, sizeof(copy));
	if (text[0] == '/') {
		w->r->target[0] = '\0';
		return (walk_reopen(w));
	}
	return (0);
}

/* One component. 1: go on, 0: the walk is over, -1: errno. */
static int
walk_part(struct walk *w, const char *part, const char *rest, bool last)
{
	struct resolved	*r = w->r;
	struct stat	 st;
	int		 fd;

	if (strcmp(part, "..") == 0)
		return (walk_up(w) == -1 ? -1 : 1);
	if (last && r->name[0] == '\0' && snprintf(r->name, sizeof(r->name),
	    "%s/%s", r->target, part) >= (int)sizeof(r->name)) {
		errno = ENAMETOOLONG;
		return (-1);
	}
	/* What the user may not look for is as if it were not there. */
	if (w->user != NULL && !access_may(w->dir, w->user, ACCESS_SEARCH))
		return (walk_missing(w, part, rest));
	fd = openat(w->dir, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return (walk_missing(w, part, rest));
	if (fstat(fd, &st) == -1) {
		close(fd);
		return (-1);
	}
	if (S_ISLNK(st.st_mode)) {
		close(fd);
		if (++w->links > RESOLVE_LINKS)
			return (walk_missing(w, part, rest));
		return (walk_link(w, part, rest) == -1 ? -1 : 1);
	}
	if (!S_ISDIR(st.st_mode)) {
		close(fd);
		r->exists = last;
		return (walk_missing(w, part, rest));
	}
	close(w->dir);
	w->dir = fd;
	r->exists = r->dir = last;
	return (target_push(r, part) == -1 ? -1 : 1);
}

int
resolve_each(const char *path, struct resolved *r, const struct user *user,
    int (*link)(void *, const char *, const char *), void *arg)
{
	struct walk	 w = { .r = r, .user = user, .link = link, .arg = arg };
	char		 part[PATH_MAX], rest[sizeof(w.rest)];
	const char	*p;
	size_t		 len;
	int		 more = 1;

	memset(r, 0, sizeof(*r));
	if ((w.dir = fs_openat2(mountd.root, ".", O_PATH | O_DIRECTORY,
	    FS_PLAIN)) == -1)
		return (-1);
	snprintf(w.rest, sizeof(w.rest), "%s", path);
	while (more == 1) {
		p = w.rest + strspn(w.rest, "/");
		len = strcspn(p, "/");
		if (len == 0 || len >= sizeof(part))
			break;
		memcpy(part, p, len);
		part[len] = '\0';
		p += len + strspn(p + len, "/");
		snprintf(rest, sizeof(rest), "%s", p);
		snprintf(w.rest, sizeof(w.rest), "%s", rest);
		if (strcmp(part, ".") != 0)
			more = walk_part(&w, part, rest, *rest == '\0');
	}
	close(w.dir);
	if (more == -1)
		return (-1);
	if (r->target[0] == '\0') {
		strlcpy(r->target, "/", sizeof(r->target));
		r->exists = r->dir = true;
	}
	if (r->name[0] == '\0')
		strlcpy(r->name, r->target, sizeof(r->name));
	return (0);
}

int
resolve(const char *path, struct resolved *r, const struct user *user)
{
	return (resolve_each(path, r, user, NULL, NULL));
}
