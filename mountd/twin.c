#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attr.h"
#include "copy.h"
#include "fault.h"
#include "fresh.h"
#include "fs.h"
#include "mountd.h"
#include "twin.h"

#define TWIN_FOLDER	"/etc/ssh"
#define TWIN_FIRST	"etc/ssh/ssh_config"	/* below the root */
#define TWIN_DEPTH	16		/* ssh's own bound */
#define TWIN_FILES	64
#define TWIN_BYTES	(64 << 10)	/* a file */
#define TWIN_OPTIONS	"mode=0700,size=8m,nr_inodes=80,uid=0,gid=0"
#define TWIN_BLANKS	" \t\r\n"

struct twins {
	struct plan		*plan;
	const struct build	*b;
	size_t			 n;	/* files that were looked at */
};

static int	twin_read(struct twins *, int, int);

/* What shows there is the machine's own file, and the session cannot put
 * another one in its place. */
static bool
twin_shows(const struct twins *t, const char *path)
{
	const struct place	*in = plan_over(t->plan, path);

	if (hides_over(&t->b->hides, path) != NULL ||
	    (in == NULL && fresh_over(path) != NULL))
		return (false);
	return (in == NULL || in->kind == PLACE_REST ||
	    in->kind == PLACE_READ || in->kind == PLACE_CLONE);
}

/*
 * Whose it is, S does not tell: not the user's, but root has named it. What
 * others may write ssh takes from nobody, of whichever owner, and what the
 * user may not read is not there to be copied.
 */
static int
twin_add(struct twins *t, const char *path, int fd, const struct stat *st)
{
	int	dup;

	if (st->st_uid == 0 || (st->st_mode & 022) != 0 ||
	    faccessat(AT_FDCWD, fdpath(fd).s, R_OK, AT_EACCESS) == -1)
		return (0);
	if ((dup = fcntl(fd, F_DUPFD_CLOEXEC, 0)) == -1)
		return (fault_errno("mount.failed", "the list of mounts"));
	return (plan_add(t->plan, path, PLACE_TWIN, dup, false));
}

/* A file that is included, by whatever name. What cannot be read, or is none
 * of the machine's, is as ssh finds it. */
static int
twin_file(struct twins *t, const char *name, int depth)
{
	struct resolved	r;
	struct stat	st;
	int		fd, rv = 0;

	if (t->n++ >= TWIN_FILES || resolve(name, &r, t->b->user) == -1 ||
	    !r.exists || r.dir || !twin_shows(t, r.target))
		return (0);
	fd = fs_openat2(mountd.root, r.target + 1, O_PATH | O_NOFOLLOW,
	    FS_PLAIN);
	if (fd == -1)
		return (0);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size <= TWIN_BYTES) {
		rv = twin_add(t, r.target, fd, &st);
		if (rv == 0 && depth < TWIN_DEPTH)
			rv = twin_read(t, fd, depth + 1);
	}
	close(fd);
	return (rv);
}

static int
twin_include(struct twins *t, const char *word, int depth)
{
	char	pattern[PATH_MAX];
	glob_t	gl;
	size_t	i;
	int	r = 0;

	if (snprintf(pattern, sizeof(pattern), "%s%s", *word == '/' ? "" :
	    TWIN_FOLDER "/", word) >= (int)sizeof(pattern))
		return (0);
	memset(&gl, 0, sizeof(gl));
	if (glob(pattern, 0, NULL, &gl) == 0)
		for (i = 0; r == 0 && i < gl.gl_pathc; i++)
			r = twin_file(t, gl.gl_pathv[i], depth);
	globfree(&gl);
	return (r);
}

/* "Include FILE...", as ssh_config(5) has it: keywords in any case, "=" for the
 * blank after one, words in quotes. Not ${VAR}, tokens with %, backslashes, and
 * quotes within a word: which of those it knows depends on the ssh, and what is
 * not found is only not copied (sbx(7) says so). */
static int
twin_line(struct twins *t, char *line, int depth)
{
	static const char	keyword[] = "include";
	char			*p = line + strspn(line, TWIN_BLANKS), *end;
	int			 r = 0;

	if (strncasecmp(p, keyword, sizeof(keyword) - 1) != 0)
		return (0);
	p += sizeof(keyword) - 1;
	if (strspn(p, TWIN_BLANKS "=") == 0)
		return (0);
	p += strspn(p, TWIN_BLANKS);
	if (*p == '=')
		p++;
	while (r == 0) {
		p += strspn(p, TWIN_BLANKS);
		if (*p == '\0' || *p == '#')
			break;
		if (*p == '"' || *p == '\'') {
			end = strchr(p + 1, *p);
			p++;
		} else
			end = p + strcspn(p, TWIN_BLANKS);
		if (end == NULL)
			break;		/* which ssh refuses */
		if (*end != '\0')
			*end++ = '\0';
		r = twin_include(t, p, depth);
		p = end;
	}
	return (r);
}

static int
twin_read(struct twins *t, int fd, int depth)
{
	size_t	 size = 0;
	char	*line = NULL;
	FILE	*f;
	int	 r = 0;

	if ((f = fopen(fdpath(fd).s, "re")) == NULL)
		return (0);
	while (r == 0 && getline(&line, &size, f) != -1)
		r = twin_line(t, line, depth);
	free(line);
	fclose(f);
	return (r);
}

int
twins_plan(struct plan *p, const struct build *b)
{
	struct twins	t = { .plan = p, .b = b };
	struct stat	st;
	int		fd, r = 0;

	/* ssh does not ask whose this one is. */
	fd = fs_openat2(mountd.root, TWIN_FIRST, O_PATH,
	    RESOLVE_NO_MAGICLINKS);
	if (fd == -1)
		return (0);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size <= TWIN_BYTES)
		r = twin_read(&t, fd, 0);
	close(fd);
	return (r);
}

/* The copy, under a name that no other has. */
static int
twin_copy(int in, const struct place *p)
{
	struct stat	st;
	char		name[32];

	snprintf(name, sizeof(name), "%d", p->fd);
	if (fstat(p->fd, &st) == -1 ||
	    entry_copy(p->fd, in, name, &st) == -1)
		return (-1);
	return (openat(in, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

int
twin_make(int *in, const struct place *p)
{
	unsigned int	attrs = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	int		fd, mnt;

	if (*in == -1 && (*in = fs_base(fs_tmpfs(TWIN_OPTIONS, attrs,
	    "copies that are the user's"), "copies that are the user's")) ==
	    -1)
		return (-1);
	if ((fd = twin_copy(*in, p)) == -1)
		return (fault_errno("mount.failed", "a copy of %s",
		    shown(p->path)));
	mnt = fs_clone(fd, shown(p->path));
	close(fd);
	if (mnt != -1 && fs_attr(mnt, attrs | MOUNT_ATTR_RDONLY,
	    shown(p->path)) == -1) {
		close(mnt);
		return (-1);
	}
	return (mnt);
}
