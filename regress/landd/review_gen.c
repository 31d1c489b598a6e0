#include <sys/stat.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "review_gen.h"
#include "review_lib.h"

#define PATHS_MAX	512
#define LARGE		400000

/* The paths of a tree below its top, by type. */
struct paths {
	char	*v[PATHS_MAX];
	mode_t	 mode[PATHS_MAX];
	size_t	 n;
};

static struct paths	 paths;
static size_t		 top;

uint64_t
gen_random(struct gen *g)
{
	uint64_t	x = g->s += 0x9e3779b97f4a7c15ULL;	/* splitmix64 */

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return (x ^ (x >> 31));
}

uint64_t
gen_below(struct gen *g, uint64_t n)
{
	return (gen_random(g) % n);
}

static const char *
gen_name(struct gen *g)
{
	static const char *const	odd[] = { "tab\there", "new\nline",
	    "quo\"te", "back\\slash", "lat\xedn1", "x b/y b", " leading",
	    "trailing ", "-rf", "--", "\xf0\x9f\x98\x80", "\x01\x1b[31mred",
	    "\x7f", "a b", "dot.", "...", "..x", "*", "?", "$(id)", "'", "~",
	    "#", "%s%n", "e\xcc\x81", "\xff\xfe", "\r", "\v\f\a\b", "a\\nb",
	    "/dev/null", "diff --git a", "\xe2\x80\xaegpj.exe", "CON", ":",
	    ".wh.a", ".wh..wh..opq", "a=b", "@@", "\"", "+++", "`" };
	static char			name[300];
	size_t				i, len;

	switch (gen_below(g, 6)) {
	case 0:
		snprintf(name, sizeof(name), "%s",
		    odd[gen_below(g, sizeof(odd) / sizeof(*odd))]);
		for (i = 0; name[i] != '\0'; i++)
			if (name[i] == '/')
				name[i] = '_';
		if (strcmp(name, "x b_y b") == 0)
			strlcpy(name, "x b", sizeof(name));
		return (name);
	case 1:
		len = gen_below(g, 20) == 0 ? 255 : 1 + gen_below(g, 12);
		for (i = 0; i < len; i++)
			do
				name[i] = (char)(1 + gen_below(g, 255));
			while (name[i] == '/');
		name[len] = '\0';
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			name[0] = 'd';
		return (name);
	default:
		snprintf(name, sizeof(name), "%c%llu%s",
		    (int)('a' + gen_below(g, 4)),
		    (unsigned long long)gen_below(g, 6),
		    gen_below(g, 3) == 0 ? ".c" : "");
		return (name);
	}
}

/* A file's content into buf; how long it is. */
static size_t
gen_content(struct gen *g, char *buf)
{
	static const char *const	ends[] = { "\n", "\n", "\n", "\r\n",
	    "\r", "\n\n" };
	const char			*end = ends[gen_below(g, 6)];
	size_t				 len = 0, i, n, k;

	switch (gen_below(g, 12)) {
	case 0:
		return (0);
	case 1:			/* binary */
		n = gen_below(g, 3000);
		for (i = 0; i < n; i++)
			buf[len++] = (char)gen_below(g, 256);
		return (len);
	case 2:			/* UTF-16 with its mark */
		memcpy(buf, "\xff\xfeh\0i\0\n\0", 8);
		return (8);
	case 3:
		memcpy(buf, "\xef\xbb\xbf", 3);
		len = 3;
		break;
	case 4:			/* one long line, a NUL beyond 8,000 */
		n = 9000 + gen_below(g, 3000);
		memset(buf, 'x', n);
		if (gen_below(g, 2) == 0)
			buf[8500] = '\0';
		return (n);
	case 5:			/* repetitive, large now and then */
		n = gen_below(g, 8) == 0 ? LARGE : 2000;
		while (len < n)
			len += (size_t)sprintf(buf + len, "line %llu\n",
			    (unsigned long long)gen_below(g, 50));
		return (len);
	}
	n = gen_below(g, 40);
	for (i = 0; i < n; i++) {
		k = gen_below(g, 30);
		while (k-- > 0)
			buf[len++] = "abc {}\t;"[gen_below(g, 8)];
		k = strlen(end);
		memcpy(buf + len, end, k);
		len += k;
	}
	if (len > 0 && gen_below(g, 4) == 0)
		len--;
	return (len);
}

static void
write_file(const char *path, const char *p, size_t len, mode_t mode)
{
	int	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

	/* Of a name that is taken, or a folder that is gone, nothing. */
	if (fd == -1)
		return;
	ATF_REQUIRE(write(fd, p, len) == (ssize_t)len);
	close(fd);
}

static void
gen_file(struct gen *g, const char *path)
{
	static char	buf[LARGE * 2];

	write_file(path, buf, gen_content(g, buf),
	    gen_below(g, 4) == 0 ? 0755 : 0644);
}

/* An entry at path; folders get something to hold. */
static void
gen_entry(struct gen *g, const char *path, int depth)
{
	const char	*texts[] = { "a1", "../b2", "/etc/shadow", ".",
			    "nowhere", "x\ny", "\xff", strrchr(path, '/') + 1 };
	char		 sub[PATH_MAX];
	uint64_t	 n;

	switch (gen_below(g, 8)) {
	case 0:
		if (symlink(texts[gen_below(g, 8)], path) == -1)
			return;
		break;
	case 1:
	case 2:
		if (depth < 5 && mkdir(path, 0755) == 0) {
			for (n = 1 + gen_below(g, 5); n > 0; n--) {
				snprintf(sub, sizeof(sub), "%s/%s", path,
				    gen_name(g));
				gen_entry(g, sub, depth + 1);
			}
			/* git knows no empty folders. */
			snprintf(sub, sizeof(sub), "%s/in", path);
			gen_file(g, sub);
			break;
		}
		/* FALLTHROUGH */
	default:
		gen_file(g, path);
	}
}

void
gen_tree(struct gen *g, const char *dir)
{
	char		path[PATH_MAX];
	uint64_t	n;

	for (n = 3 + gen_below(g, 25); n > 0; n--) {
		snprintf(path, sizeof(path), "%s/%s", dir, gen_name(g));
		gen_entry(g, path, 0);
	}
}

static int
paths_add(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)flag;
	if (ftw->level == 0 || paths.n == PATHS_MAX)
		return (0);
	ATF_REQUIRE((paths.v[paths.n] = strdup(path)) != NULL);
	paths.mode[paths.n++] = st->st_mode;
	return (0);
}

static void
paths_read(const char *dir)
{
	while (paths.n > 0)
		free(paths.v[--paths.n]);
	top = strlen(dir) + 1;
	nftw(dir, paths_add, 32, FTW_PHYS);
}

/* A random path that is of this type (0: any), NULL: there is none. */
static const char *
paths_pick(struct gen *g, mode_t type)
{
	size_t	i, start;

	if (paths.n == 0)
		return (NULL);
	start = gen_below(g, paths.n);
	for (i = 0; i < paths.n; i++)
		if (type == 0 || (paths.mode[(start + i) % paths.n] &
		    S_IFMT) == type)
			return (paths.v[(start + i) % paths.n]);
	return (NULL);
}

/* A name, mostly new, in a random folder. */
static void
gen_place(struct gen *g, const char *dir, char *path)
{
	const char	*in = gen_below(g, 3) == 0 ? NULL :
			    paths_pick(g, S_IFDIR);

	if (gen_below(g, 6) == 0 && paths.n > 0)
		snprintf(path, PATH_MAX, "%s", paths_pick(g, 0));
	else
		snprintf(path, PATH_MAX, "%s/%s", in == NULL ? dir : in,
		    gen_name(g));
}

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	remove(path);
	return (0);
}

static void
remove_all(const char *path)
{
	nftw(path, remove_one, 32, FTW_PHYS | FTW_DEPTH);
}

/* Some lines of a file changed, as an edit in place or a new file. */
static void
gen_edit(struct gen *g, const char *path)
{
	static char	buf[LARGE * 2 + 256], tmp[PATH_MAX];
	struct stat	st;
	size_t		at, cut, len, i, n;
	ssize_t		got;
	int		fd;

	if ((fd = open(path, O_RDONLY)) == -1 || fstat(fd, &st) == -1)
		return;
	got = read(fd, buf, LARGE * 2);
	close(fd);
	for (n = 1 + gen_below(g, 3); n > 0 && got >= 0; n--) {
		len = (size_t)got;
		at = len == 0 ? 0 : gen_below(g, len + 1);
		cut = gen_below(g, 30);
		if (cut > len - at)
			cut = len - at;
		memmove(buf + at, buf + at + cut, len - at - cut);
		len -= cut;
		i = gen_below(g, 20);
		memmove(buf + at + i, buf + at, len - at);
		for (got = (ssize_t)(len + i); i > 0; i--)
			buf[at + i - 1] = "xy\n\r\t "[gen_below(g, 6)];
	}
	if (gen_below(g, 2) == 0) {
		write_file(path, buf, (size_t)got, 0644);
		return;
	}
	snprintf(tmp, sizeof(tmp), "%.*s.tmp~", (int)top, path);
	write_file(tmp, buf, (size_t)got, st.st_mode & 0777);
	if (rename(tmp, path) == -1)
		unlink(tmp);
}

struct worklog {
	char	*p;
	size_t	 size;
};

static void
logged(struct worklog *l, const char *what, const char *a, const char *b)
{
	int	n = snprintf(l->p, l->size, "%s %s%s%s\n", what, a + top,
		    b != NULL ? " -> " : "", b != NULL ? b + top : "");

	if (n > 0 && (size_t)n < l->size) {
		l->p += n;
		l->size -= (size_t)n;
	}
}

/* A path's place taken by something of another type. */
static void
gen_replace(struct gen *g, const char *path, struct worklog *l)
{
	char	sub[PATH_MAX];
	bool	folder;
	struct stat	st;

	if (lstat(path, &st) == -1)
		return;
	folder = S_ISDIR(st.st_mode);
	remove_all(path);
	switch (gen_below(g, 4)) {
	case 0:
		logged(l, "link to itself", path, NULL);
		if (symlink(strrchr(path, '/') + 1, path) == -1)
			logged(l, "no", path, NULL);
		break;
	case 1:
		logged(l, "link", path, NULL);
		if (symlink(folder ? "/tmp/out" : "a1", path) == -1)
			logged(l, "no", path, NULL);
		break;
	case 2:
		logged(l, "to folder", path, NULL);
		mkdir(path, 0755);
		snprintf(sub, sizeof(sub), "%s/%s", path, gen_name(g));
		gen_entry(g, sub, 3);
		snprintf(sub, sizeof(sub), "%s/in", path);
		gen_file(g, sub);
		break;
	default:
		logged(l, "to file", path, NULL);
		gen_file(g, path);
	}
}

static void
gen_move(struct gen *g, const char *from, const char *to, struct worklog *l)
{
	if (rename(from, to) == 0) {
		logged(l, "move", from, to);
		if (gen_below(g, 4) == 0)
			chmod(to, 0755);
	}
}

/* rm -r, and something of that name again. */
static void
gen_recreate(struct gen *g, const char *path, struct worklog *l)
{
	char	sub[PATH_MAX];

	logged(l, "recreate", path, NULL);
	remove_all(path);
	if (gen_below(g, 3) == 0)
		return;
	mkdir(path, 0755);
	snprintf(sub, sizeof(sub), "%s/in", path);
	gen_file(g, sub);
	snprintf(sub, sizeof(sub), "%s/%s", path, gen_name(g));
	gen_entry(g, sub, 3);
}

static void
gen_step(struct gen *g, const char *dir, struct worklog *l)
{
	char		 to[PATH_MAX];
	const char	*p;
	uint64_t	 what = gen_below(g, 20);
	mode_t		 type = what < 6 ? S_IFREG : what < 9 ? 0 :
			    what < 12 ? S_IFDIR : 0;

	if ((p = paths_pick(g, type)) == NULL)
		return;
	gen_place(g, dir, to);
	if (what < 4) {
		logged(l, "edit", p, NULL);
		gen_edit(g, p);
	} else if (what == 4) {
		logged(l, "chmod", p, NULL);
		chmod(p, gen_below(g, 2) ? 0755 : 0644);
	} else if (what == 5) {
		if (link(p, to) == 0)
			logged(l, "hard link", p, to);
	} else if (what < 9)
		gen_move(g, p, to, l);
	else if (what == 9)
		gen_recreate(g, p, l);
	else if (what < 12)
		gen_move(g, p, to, l);
	else if (what < 14) {
		logged(l, "remove", p, NULL);
		remove_all(p);
	} else if (what < 17)
		gen_replace(g, p, l);
	else {
		logged(l, "new", to, NULL);
		gen_entry(g, to, 2);
	}
}

void
gen_work(struct gen *g, const char *dir, char *log, size_t size)
{
	struct worklog	l = { log, size };
	uint64_t	n;

	log[0] = '\0';
	for (n = 1 + gen_below(g, 14); n > 0; n--) {
		paths_read(dir);
		gen_step(g, dir, &l);
	}
}
