/*
 * Our evaluator of ignore rules and our reader of the index, against git's:
 * random rules in random folders (check-ignore), and the index in each form
 * that git writes (ls-files).
 */
#include <sys/stat.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "landd/ignore.h"
#include "landd/tracked.h"
#include "landd/wildmatch.h"
#include "review_gen.h"
#include "review_lib.h"

#define ROUNDS	60
#define RULES	8
#define PATHS	60

static const char *const folders[] = { "", "a", "a/b", "foo", "foo/a b" };
#define NFOLDERS	(sizeof(folders) / sizeof(*folders))

#define TEXT	256		/* of a rule, of a path */

static void
gen_rule(struct gen *g, char s[TEXT])
{
	static const char *const	parts[] = { "a", "b", "foo", "*", "**",
	    "/", "/", "?", "[ab]", "[!a]", "[a-f]", "[^]b]", "[[:alpha:]]",
	    "\\a", "\\*", "*.c", ".c", "o", " ", "a b", "**/", "/**",
	    "[]-b]", "[", "\\", "!", "#", "\xc3\xa9" };
	uint64_t			n = 1 + gen_below(g, 5);

	*s = '\0';
	if (gen_below(g, 5) == 0)
		strlcat(s, "!", TEXT);
	if (gen_below(g, 4) == 0)
		strlcat(s, "/", TEXT);
	while (n-- > 0)
		strlcat(s,
		    parts[gen_below(g, sizeof(parts) / sizeof(*parts))],
		    TEXT);
	if (gen_below(g, 4) == 0)
		strlcat(s, "/", TEXT);
	if (gen_below(g, 8) == 0)
		strlcat(s, "  ", TEXT);
	if (gen_below(g, 8) == 0)
		strlcat(s, "\r", TEXT);
}

static void
gen_path(struct gen *g, char s[TEXT])
{
	static const char *const	names[] = { "a", "b", "foo", "a.c",
	    "foo.c", "a b", "ab", "o", "*", "!a", "#a", "f", "]", "-",
	    "\xc3\xa9", "a\\b" };
	uint64_t			n = 1 + gen_below(g, 4);

	*s = '\0';
	while (n-- > 0) {
		strlcat(s, names[gen_below(g, sizeof(names) /
		    sizeof(*names))], TEXT);
		if (n > 0)
			strlcat(s, "/", TEXT);
	}
}

/* As the walk does it: from the top, a folder's rules when it is entered,
 * and what is below an ignored folder is ignored. */
static bool
ours(const char *dir, const char *path)
{
	struct ignore	*made = NULL, *rules = NULL;
	char		 part[512], file[PATH_MAX + 1024];
	const char	*p = path;
	struct stat	 st;
	bool		 failed = false, in = false;
	size_t		 len;
	int		 fd;

	for (len = 0; !in; len = (size_t)(p - path)) {
		snprintf(part, sizeof(part), "%.*s", (int)len, path);
		snprintf(file, sizeof(file), "%s/%s%s.gitignore", dir, part,
		    len > 0 ? "/" : "");
		if ((fd = open(file, O_RDONLY)) != -1)
			rules = ignore_read(fd, part, rules, &made, &failed);
		p = strchr(len > 0 ? p + 1 : p, '/');
		if (p == NULL) {
			strlcpy(file, dir, sizeof(file));
			strlcat(file, "/", sizeof(file));
			strlcat(file, path, sizeof(file));
			in = ignore_match(rules, path,
			    stat(file, &st) == 0 && S_ISDIR(st.st_mode));
			break;
		}
		snprintf(part, sizeof(part), "%.*s", (int)(p - path), path);
		in = ignore_match(rules, part, true);
	}
	ATF_REQUIRE(!failed);
	ignore_free(made);
	return (in);
}

static void
one(struct gen *g, const char *dir)
{
	char	rules[NFOLDERS][RULES * TEXT], rule[TEXT];
	char	paths[PATHS][TEXT], got[256], file[PATH_MAX];
	size_t	i, j;
	FILE	*f;

	ATF_REQUIRE(test_sh("rm -rf '%s' && mkdir -p '%s/foo/a b' '%s/a/b' "
	    "&& git init -q --template= '%s'", dir, dir, dir, dir) == 0);
	for (i = 0; i < NFOLDERS; i++) {
		rules[i][0] = '\0';
		for (j = 0; j < gen_below(g, RULES); j++) {
			gen_rule(g, rule);
			strlcat(rules[i], rule, sizeof(rules[i]));
			strlcat(rules[i], "\n", sizeof(rules[i]));
		}
		snprintf(file, sizeof(file), "%s/%s/.gitignore", dir,
		    folders[i]);
		ATF_REQUIRE((f = fopen(file, "we")) != NULL);
		fputs(rules[i], f);
		fclose(f);
	}
	snprintf(file, sizeof(file), "%s/.git/in", dir);
	ATF_REQUIRE((f = fopen(file, "we")) != NULL);
	for (i = 0; i < PATHS; i++) {
		gen_path(g, paths[i]);
		fprintf(f, "%s%c", paths[i], 0);
	}
	fclose(f);
	/* Each path, and "" or the rule's place where it is ignored. */
	ATF_REQUIRE(test_sh("cd '%s' && git check-ignore --no-index -z -v -n "
	    "--stdin <.git/in >.git/out || [ $? = 1 ]", dir) == 0);
	snprintf(file, sizeof(file), "%s/.git/out", dir);
	ATF_REQUIRE((f = fopen(file, "re")) != NULL);
	for (i = 0; i < PATHS; i++) {
		char	field[4][256];

		for (j = 0; j < 4; j++) {
			size_t	n = 0;
			int	c;

			while ((c = getc(f)) > 0 && n < 255)
				field[j][n++] = (char)c;
			field[j][n] = '\0';
		}
		strlcpy(got, field[2], sizeof(got));
		if (ours(dir, paths[i]) != (*got != '\0' && *got != '!'))
			atf_tc_fail("%s: git's rule is \"%s\" of %s:%s, ours "
			    "says %signored; in %s", paths[i], got, field[0],
			    field[1], *got != '\0' && *got != '!' ? "not " :
			    "", dir);
	}
	fclose(f);
}

ATF_TC(rules);
ATF_TC_HEAD(rules, tc)
{
	atf_tc_set_md_var(tc, "timeout", "120");
}
ATF_TC_BODY(rules, tc)
{
	const char	*env = getenv("SBX_TEST_SEED");
	struct gen	 g;
	int		 i;

	g.s = env != NULL ? strtoull(env, NULL, 10) : (uint64_t)time(NULL);
	printf("seed %llu\n", (unsigned long long)g.s);
	fflush(stdout);
	for (i = 0; i < ROUNDS; i++)
		one(&g, test_path("r"));
}

/* Many stars do not hang it. */
ATF_TC(stars);
ATF_TC_HEAD(stars, tc)
{
	atf_tc_set_md_var(tc, "timeout", "20");
}
ATF_TC_BODY(stars, tc)
{
	char	text[4000];
	int	i;

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (i = 0; i < 100; i++) {
		ATF_CHECK(!wildmatch("*a*a*a*a*a*a*a*a*a*a*a*a*b", text,
		    false));
		ATF_CHECK(!wildmatch("**/a*a*a*a*a/**/a*a*a*a*/**/*b", text,
		    true));
	}
}

/* Both say the same of every path there is, and of some there is not. */
static void
index_is(const char *dir)
{
	struct tracked	 t;
	char		 line[512], cmd[PATH_MAX + 64];
	size_t		 n = 0;
	FILE		*f;
	int		 fd;

	snprintf(cmd, sizeof(cmd), "%s/.git", dir);
	ATF_REQUIRE((fd = open(cmd, O_RDONLY | O_DIRECTORY)) != -1);
	ATF_REQUIRE(tracked_read(fd, &t) == 0);
	close(fd);
	snprintf(cmd, sizeof(cmd), "git -C '%s' ls-files -z | tr '\\0\\n' "
	    "'\\n\\1'", dir);
	ATF_REQUIRE((f = popen(cmd, "re")) != NULL);
	while (fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		ATF_CHECK_MSG(tracked_has(&t, line), "%s", line);
		strlcat(line, "x", sizeof(line));
		ATF_CHECK_MSG(!tracked_has(&t, line), "%s", line);
		n++;
	}
	pclose(f);
	ATF_CHECK(n > 100);
	ATF_CHECK(!tracked_has(&t, "") && !tracked_has(&t, "d") &&
	    !tracked_has(&t, "d1/"));
	tracked_free(&t);
}

static void
index_make(const char *dir, const char *init)
{
	ATF_REQUIRE(test_sh("rm -rf '%s' && git init -q --template= %s '%s' && "
	    "cd '%s' && for i in 1 2 3 4 5 6 7 8 9 10; do mkdir -p d$i/e && "
	    "for j in 1 2 3 4 5 6 7 8 9 10; do echo x >d$i/e/$j$i; "
	    "echo y >\"d$i/  $j\"; done; done; "
	    "printf x >\"$(printf 'od\\377d')\"; git add -A", dir, init, dir,
	    dir) == 0);
}

ATF_TC_WITHOUT_HEAD(indexes);
ATF_TC_BODY(indexes, tc)
{
	const char	*dir = test_path("i");

	index_make(dir, "");
	index_is(dir);
	ATF_REQUIRE(test_sh("cd '%s' && echo n >new && git add -N new && "
	    "git update-index --skip-worktree d1/e/11", dir) == 0);
	index_is(dir);
	ATF_REQUIRE(test_sh("cd '%s' && git update-index --index-version 4",
	    dir) == 0);
	index_is(dir);
	ATF_REQUIRE(test_sh("cd '%s' && git update-index --index-version 2 && "
	    "git update-index --split-index && echo z >zz && git add zz && "
	    "git rm -q --cached d2/e/12", dir) == 0);
	index_is(dir);
	index_make(dir, "--object-format=sha256");
	index_is(dir);
}

/* What is no index tracks nothing, whatever it is cut off at. */
ATF_TC_WITHOUT_HEAD(broken_index);
ATF_TC_BODY(broken_index, tc)
{
	const char	*dir = test_path("i");
	struct tracked	 t;
	struct gen	 g = { 7 };
	static uint8_t	 buf[65536], bad[65536];
	char		 path[PATH_MAX];
	ssize_t		 n;
	int		 fd, out, i;

	index_make(dir, "");
	snprintf(path, sizeof(path), "%s/.git", dir);
	ATF_REQUIRE((fd = open(path, O_RDONLY | O_DIRECTORY)) != -1);
	ATF_REQUIRE((out = openat(fd, "index", O_RDWR)) != -1);
	n = read(out, buf, sizeof(buf));
	ATF_REQUIRE(n > 1000 && n < (ssize_t)sizeof(buf));
	for (i = 0; i < 600; i++) {
		memcpy(bad, buf, (size_t)n);
		ATF_REQUIRE(ftruncate(out, 0) == 0);
		if (i % 2 == 0)
			bad[gen_below(&g, (uint64_t)n)] =
			    (uint8_t)gen_random(&g);
		ATF_REQUIRE(pwrite(out, bad, i % 2 == 0 ? (size_t)n :
		    gen_below(&g, (uint64_t)n), 0) != -1);
		ATF_REQUIRE(tracked_read(fd, &t) == 0);
		if (i % 2 == 1)
			ATF_CHECK_EQ(t.n, 0);
		tracked_free(&t);
	}
	ATF_REQUIRE(unlinkat(fd, "index", 0) == 0);
	ATF_REQUIRE(symlinkat("/etc/passwd", fd, "index") == 0);
	ATF_REQUIRE(tracked_read(fd, &t) == 0);
	ATF_CHECK_EQ(t.n, 0);
	ATF_REQUIRE(unlinkat(fd, "index", 0) == 0);
	ATF_REQUIRE(mkfifoat(fd, "index", 0600) == 0);
	ATF_REQUIRE(tracked_read(fd, &t) == 0);
	ATF_CHECK_EQ(t.n, 0);
	close(out);
	close(fd);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, rules);
	ATF_TP_ADD_TC(tp, stars);
	ATF_TP_ADD_TC(tp, indexes);
	ATF_TP_ADD_TC(tp, broken_index);
	return (atf_no_error());
}
