/*
 * The writer over odd names, sizes and numbers; what it tells the state.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "landing_lib.h"

static struct world	w;

static void
begin(void)
{
	world_make(&w, test_path("w"));
	world_dir(&w, "R/.git", 0755);
}

/*
 * Names (G109)
 */
ATF_TC_WITHOUT_HEAD(names);
ATF_TC_BODY(names, tc)
{
	static const char *const names[] = {
		" leading", "trailing ", "two  blanks", "tab\there",
		"new\nline", "\r", "\"quoted\"", "back\\slash", "a b/c d",
		"x b/y", "-rf", "--help", "*", "?", "[a]", "$HOME", "`id`",
		";", "|", "&", "#", "~", "\033[31mred\033[0m", "\001\002",
		"\177", "\303\244", "\344", "\377\376", "\360\237\230\200",
		"\342\200\256txt.exe", "...", "..a", ".a", "a.", "sbx-land-x",
		"a/.sbx-land-b", "git", ".gitignore", ".git-x", "xgit~1",
		".gitmodules", "con", "a:b", "a%sb", "%n%n",
	};
	char	 path[PATH_MAX], long1[256];
	size_t	 i;

	begin();
	memset(long1, 'n', 255);
	long1[255] = '\0';
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "R/m/%s", names[i]);
		world_file(&w, path, "before\n", 0);
		snprintf(path, sizeof(path), "V/m/%s", names[i]);
		world_file(&w, path, "after\n", 0);
		snprintf(path, sizeof(path), "R/d/%s", names[i]);
		world_file(&w, path, "gone\n", 0);
		snprintf(path, sizeof(path), "V/c/%s", names[i]);
		world_file(&w, path, "made\n", 0);
	}
	snprintf(path, sizeof(path), "V/%s", long1);
	world_file(&w, path, "long\n", 0);
	world_set(&w);
	world_landed(&w);
}

/* 4,095 bytes of path and nothing longer. */
ATF_TC_WITHOUT_HEAD(long_path);
ATF_TC_BODY(long_path, tc)
{
	char	path[PATH_MAX + 1];
	size_t	len = 0;
	int	fd, next;

	begin();
	ATF_REQUIRE((fd = dup(w.job.view)) != -1);
	while (len < 4096 - 202) {
		memset(path + len, 'd', 200);
		path[len + 200] = '\0';
		ATF_REQUIRE(mkdirat(fd, path + len, 0755) == 0);
		next = openat(fd, path + len, O_RDONLY | O_DIRECTORY);
		ATF_REQUIRE(next != -1);
		close(fd);
		fd = next;
		len += 200;
		path[len++] = '/';
	}
	memset(path + len, 'f', 4095 - len);
	path[4095] = '\0';
	next = openat(fd, path + len, O_WRONLY | O_CREAT, 0644);
	ATF_REQUIRE(next != -1 && write(next, "deep\n", 5) == 5);
	close(next);
	close(fd);
	struct change *c = calloc(1, sizeof(*c));
	c->path = strdup(path);
	c->kind = CHANGE_ADDED;
	c->post.mode = S_IFREG | 0644;
	c->post.size = 5;
	struct digest d;
	digest_init(&d);
	digest_add(&d, "deep\n", 5);
	digest_end(&d, c->post.sha);
	c->stage = 1;
	world_file(&w, "S/1", "deep\n", 0);
	TAILQ_INSERT_TAIL(&w.set.changes, c, entry);
	if (world_land(&w) == -1)
		atf_tc_fail("%s", w.res.why);
	struct baseline *b = baseline_make(w.job.project, path);
	ATF_REQUIRE(b != NULL && b->image.size == 5);
	ATF_REQUIRE(test_sh("rm -rf '%s/R' '%s/V'", w.dir, w.dir) == 0);
}

ATF_TC_WITHOUT_HEAD(sparse_and_large);
ATF_TC_BODY(sparse_and_large, tc)
{
	begin();
	world_file(&w, "V/sparse", "", 0);
	ATF_REQUIRE(test_sh("truncate -s 64M '%s/V/sparse' && printf end >> "
	    "'%s/V/sparse' && head -c 5000001 /dev/urandom > '%s/V/large'",
	    w.dir, w.dir, w.dir) == 0);
	world_set(&w);
	world_landed(&w);
	struct stat st;
	ATF_REQUIRE(fstatat(w.fd, "R/sparse", &st, 0) == 0);
	ATF_REQUIRE(st.st_blocks < 2048);
}

ATF_TC_WITHOUT_HEAD(many);
ATF_TC_BODY(many, tc)
{
	char	path[64];
	int	i;

	world_fs(test_path("fs"), "tmpfs", 256);
	world_make(&w, test_path("fs/w"));
	world_dir(&w, "R/.git", 0755);
	for (i = 0; i < 3000; i++) {
		snprintf(path, sizeof(path), "R/%d/%d/f", i % 50, i);
		if (i % 3 != 0)
			world_file(&w, path, "before\n", 0);
		path[0] = 'V';
		if (i % 3 != 1)
			world_file(&w, path, "after\n", 0);
	}
	world_set(&w);
	world_landed(&w);
}

/*
 * A project that is on an overlay itself, as in a container: its files lie in
 * the lower folder and are copied up when they are moved. Where inode numbers
 * do not stay the same then, nothing must be changed.
 */
static void
on_overlay(const char *upper, bool lands)
{
	char	*before, *after;
	int	 rv;

	begin();
	ATF_REQUIRE(test_sh("cd '%s' && mkdir L F && cp -a R/.git L/ && "
	    "mkdir L/d && echo 1 >L/a && echo 1 >L/d/b && echo 1 >L/gone && "
	    "echo 1 >L/exe && %s && mkdir F/u F/w && mount -t overlay o "
	    "-o lowerdir=L,upperdir=F/u,workdir=F/w R", w.dir, upper) == 0);
	close(w.job.project);
	w.job.project = openat(w.fd, "R", O_RDONLY | O_DIRECTORY);
	world_file(&w, "V/a", "2\n", 0);
	world_file(&w, "V/d/b", "2\n", 0);
	world_file(&w, "V/exe", "1\n", 0755);
	world_file(&w, "V/new/n", "2\n", 0);
	world_set(&w);
	before = world_tree(&w, "R", false);
	rv = world_land(&w);
	printf("%s\n", rv == -1 ? w.res.why : "landed");
	after = world_tree(&w, "R", false);
	if (rv == 0) {
		free(before);
		before = world_tree(&w, "V", false);
	}
	ATF_REQUIRE_STREQ(before, after);
	if (lands)
		ATF_REQUIRE_EQ(rv, 0);
	free(before);
	free(after);
}

ATF_TC_WITHOUT_HEAD(overlay);
ATF_TC_BODY(overlay, tc)
{
	on_overlay(":", true);
}

ATF_TC_WITHOUT_HEAD(overlay_of_two);
ATF_TC_BODY(overlay_of_two, tc)
{
	on_overlay("mount -t tmpfs f F", false);
}

/*
 * The state
 */
ATF_TC_WITHOUT_HEAD(state);
ATF_TC_BODY(state, tc)
{
	struct landing_state	 s, t;
	const char		*why;
	uint8_t			*buf, *again;
	size_t			 len, len2, n;

	begin();
	world_file(&w, "R/a", "1\n", 0);
	world_file(&w, "R/b", "1\n", 0);
	world_file(&w, "V/a", "2\n", 0);
	world_file(&w, "V/d/x", "2\n", 0);
	world_set(&w);
	ATF_REQUIRE(world_land(&w) == 0);
	landing_state_init(&s);
	ATF_REQUIRE(landing_state_merge(&s, &w.res) == 0);
	world_file(&w, "V/a", "3\n", 0);
	world_file(&w, "V/c", "3\n", 0);
	world_file(&w, "V/d/x", "3\n", 0);
	world_set(&w);
	ATF_REQUIRE(world_land(&w) == 0);
	ATF_REQUIRE(landing_state_merge(&s, &w.res) == 0);
	ATF_REQUIRE(landing_state_encode(&s, &buf, &len) == 0);
	landing_state_init(&t);
	ATF_REQUIRE(landing_state_decode(buf, len, &t, &why) == 0);
	ATF_REQUIRE(landing_state_encode(&t, &again, &len2) == 0);
	ATF_REQUIRE(len == len2 && memcmp(buf, again, len) == 0);
	/* a, b (gone), c, d/x and d, each once and as it now is; two
	 * landings. */
	n = 0;
	struct baseline *b;
	TAILQ_FOREACH(b, &t.baselines, entry) {
		world_baseline(&w, b);
		n++;
	}
	ATF_REQUIRE_EQ(n, 5);
	ATF_REQUIRE_EQ(TAILQ_FIRST(&t.landings)->n, 1);
	ATF_REQUIRE_EQ(TAILQ_LAST(&t.landings, landings)->n, 2);
	/* Cut off anywhere it is broken, unless between two records. */
	for (n = 0; n < len; n++) {
		struct landing_state u;

		landing_state_init(&u);
		if (landing_state_decode(buf, n, &u, &why) == 0)
			ATF_REQUIRE(TAILQ_EMPTY(&u.landings) ||
			    TAILQ_FIRST(&u.landings) ==
			    TAILQ_LAST(&u.landings, landings));
		landing_state_free(&u);
	}
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, names);
	ATF_TP_ADD_TC(tp, long_path);
	ATF_TP_ADD_TC(tp, sparse_and_large);
	ATF_TP_ADD_TC(tp, many);
	ATF_TP_ADD_TC(tp, overlay);
	ATF_TP_ADD_TC(tp, overlay_of_two);
	ATF_TP_ADD_TC(tp, state);
	return (atf_no_error());
}
