/*
 * What is listed of a layer that is no root's: kinds, counts, bounds. The
 * three folders are plain ones here, as the overlay would show them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limits.h"
#include "landd/outside.h"
#include "regress/lib/test.h"

static char	heard[65536];

static void
hear(void *arg, const struct m_FOUND *m)
{
	const char	*word = arg;
	char		 line[8192];

	ATF_CHECK_STREQ(word, "arg");
	snprintf(line, sizeof(line), "%s %s %llu %llu\n", m->kind, m->path,
	    (unsigned long long)m->files, (unsigned long long)m->bytes);
	strlcat(heard, line, sizeof(heard));
}

static int
folder(const char *name)
{
	int	fd;

	fd = open(test_path("%s", name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ATF_REQUIRE(fd != -1);
	return (fd);
}

/* A view that differs from the real one by this script, whose changes are in
 * the layer as far as it says. */
static void
make(const char *script)
{
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && rm -rf real view layer && "
	    "mkdir real layer && cd real && mkdir -p d/e k && echo a >a && "
	    "echo b >d/b && echo c >d/e/c && ln -s a l && cd .. && "
	    "cp -a real view && cd view && (%s)", test_scratch(), script));
}

static void
look(struct m_COUNTED *sum, const char *top, uint64_t listed, uint64_t looked)
{
	const char	*own[] = { "/t/own", "/own", NULL };
	struct outside	 o = {
		.view = folder("view"), .real = folder("real"),
		.layer = folder("layer"), .top = top, .own = own,
		.listed = listed, .looked = looked, .tell = hear,
		.arg = (void *)(uintptr_t)"arg"
	};

	heard[0] = '\0';
	ATF_REQUIRE_EQ(0, outside_walk(&o, sum));
	close(o.view);
	close(o.real);
	close(o.layer);
}

static void
has(const char *line)
{
	if (strstr(heard, line) == NULL)
		atf_tc_fail("not \"%s\" in:\n%s", line, heard);
}

ATF_TC_WITHOUT_HEAD(kinds);
ATF_TC_BODY(kinds, tc)
{
	struct m_COUNTED	sum;

	make("true");
	look(&sum, "/t", 100, 1000);
	ATF_CHECK_STREQ("", heard);
	ATF_CHECK_EQ(0, sum.found);
	make("echo more >>a; rm l; ln -s b l; rm -r d/e; mkdir -p n/m own/x; "
	    "echo 12 >n/1; echo 1234 >n/m/2; rmdir k; echo >k; "
	    "chmod 700 d; touch -d 2001-01-01 d/b; echo s >s");
	look(&sum, "/t", 100, 1000);
	has("modified /t/a 1 7\n");
	has("modified /t/l 1 1\n");
	has("deleted /t/d/e 1 2\n");
	has("added /t/n 2 8\n");
	has("type /t/k 0 0\n");
	has("mode /t/d 0 0\n");
	has("modified /t/d/b 1 2\n");
	has("added /t/s 1 2\n");
	ATF_CHECK(strstr(heard, "own") == NULL);
	ATF_CHECK_EQ(8, sum.found);
	ATF_CHECK_EQ(8, sum.listed);
	ATF_CHECK(!sum.cut);
	/* Of "/" itself names have one slash. */
	look(&sum, "/", 100, 1000);
	has("added /s 1 2\n");
	ATF_CHECK(strstr(heard, "own") == NULL);
}

ATF_TC_WITHOUT_HEAD(bounds);
ATF_TC_BODY(bounds, tc)
{
	struct m_COUNTED	sum;

	make("for i in 1 2 3 4 5 6 7 8 9; do echo $i >f$i; done; "
	    "mkdir big; cd big; for i in 1 2 3 4 5; do echo $i >$i; done");
	look(&sum, "/t", 4, 1000);
	ATF_CHECK_EQ(4, sum.listed);
	ATF_CHECK_EQ(10, sum.found);
	ATF_CHECK_EQ(14, sum.files);
	ATF_CHECK_EQ(28, sum.bytes);
	ATF_CHECK(!sum.cut);
	look(&sum, "/t", 0, 1000);
	ATF_CHECK_STREQ("", heard);
	ATF_CHECK_EQ(10, sum.found);
	/* Nothing at all may be looked at; not even what is in the new one. */
	look(&sum, "/t", 100, 3);
	ATF_CHECK(sum.cut);
	ATF_CHECK_EQ(0, sum.found);
	look(&sum, "/t", 100, 20);
	ATF_CHECK(sum.cut);
	ATF_CHECK(sum.found > 0);
}

/* Deeper than one path is long: what is too deep is said to be there. */
ATF_TC_WITHOUT_HEAD(deep);
ATF_TC_BODY(deep, tc)
{
	struct m_COUNTED	sum;

	make("python3 -c 'import os\n"
	    "for i in range(40):\n"
	    "    os.mkdir(\"d\" * 127)\n"
	    "    os.chdir(\"d\" * 127)\n"
	    "    open(\"x\", \"w\").close()\n'");
	look(&sum, "/t", 100, 1000);
	ATF_CHECK_EQ(1, sum.found);
	/* 32 folders of 128 bytes are not longer than a path. */
	ATF_CHECK_EQ(32, sum.files);
	ATF_CHECK_EQ(1, sum.unreadable);
	ATF_REQUIRE_EQ(0, test_sh("rm -rf '%s/view'", test_scratch()));
}

/* A folder that the user cannot read is said to be there. */
ATF_TC(closed);
ATF_TC_HEAD(closed, tc)
{
	atf_tc_set_md_var(tc, "require.user", "root");
}
ATF_TC_BODY(closed, tc)
{
	struct m_COUNTED	sum;

	make("mkdir -m 700 mine; echo x >mine/x; chmod 700 d");
	ATF_REQUIRE_EQ(0, seteuid(1001));
	look(&sum, "/t", 100, 1000);
	ATF_REQUIRE_EQ(0, seteuid(0));
	has("added /t/mine 0 0\n");
	ATF_CHECK_EQ(2, sum.unreadable);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, kinds);
	ATF_TP_ADD_TC(tp, bounds);
	ATF_TP_ADD_TC(tp, deep);
	ATF_TP_ADD_TC(tp, closed);
	return (atf_no_error());
}
