/*
 * A session's layer used again: only where it is, in the folder that it was
 * made on, and by one at a time.
 */
#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "drive.h"

#define REFUSED(code_)							\
	do {								\
		ATF_CHECK(!drive_start(&d));				\
		ATF_CHECK_EQ_MSG(0, strcmp(d.code, code_), "%s: %s",	\
		    d.code, d.text);					\
	} while (0)

CASE(again, "what was written, hidden and moved is as it was")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	int		i;

	drive_begin();
	ATF_REQUIRE_EQ(0, test_sh("cd '%s/proj' && mkdir -p a/conf && "
	    "echo KEY >a/conf/key && echo old >f && chown -R 1001:1001 .",
	    test_scratch()));
	d.hide[0] = strdup(test_path("proj/a/conf/key"));
	START(&d);
	drive_release(&d);
	/* Nothing is in its layer: said before it is mounted. */
	d.again = true;
	START(&d);
	ATF_CHECK(d.pristine);
	ATF_CHECK_EQ(0, drive_sh(&d, "mv a b; echo new >>f; mkdir -p x/y"));
	for (i = 0; i < 3; i++) {
		drive_release(&d);
		START(&d);
		ATF_CHECK(!d.pristine);
		ATF_CHECK_STREQ("old\nnew", drive_out(&d, "cat f"));
		ATF_CHECK_STREQ("0", drive_out(&d, "wc -c <b/conf/key"));
		ATF_CHECK(drive_sh(&d, "test -e a") != 0);
		ATF_CHECK_EQ(0, drive_sh(&d, "mkdir -p x/%d && "
		    "mv b c && mv c b", i));
	}
	ATF_CHECK_STREQ("0\n1\n2\ny", drive_out(&d, "ls x"));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

CASE(refused, "another folder, a link, none; a layer that is gone or in use")
{
	struct drive	d = { .uid = 1001, .gid = 1001 };
	int		fd;

	drive_begin();
	START(&d);
	ATF_CHECK_EQ(0, drive_sh(&d, "echo mine >f"));
	/* Twice at once. */
	ATF_CHECK_EQ(0, mkdir(test_path("other"), 0755));
	d.again = true;
	struct drive	e = d;
	drive_namespaces(&e);
	drive_prep(&e);
	ATF_CHECK(!drive_await(&e));
	ATF_CHECK_STREQ("mount.busy", e.code);
	drive_kill(&e);
	ATF_CHECK_STREQ("mine", drive_out(&d, "cat f"));
	drive_release(&d);

	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mv proj away && mkdir proj && "
	    "chown 1001:1001 proj", test_scratch()));
	REFUSED("project.moved");
	/* Whatever else init has opened by then. */
	d.ro[0] = "/missing";
	d.ro[1] = "/usr/share";
	REFUSED("project.moved");
	d.ro[0] = d.ro[1] = NULL;
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && rmdir proj && "
	    "ln -s away proj", test_scratch()));
	REFUSED("mount.project");
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && rm proj", test_scratch()));
	REFUSED("mount.project");
	ATF_REQUIRE_EQ(0, test_sh("cd '%s' && mv away proj",
	    test_scratch()));
	/* The same folder by a number that is not its own. */
	d.ino[0]++;
	REFUSED("project.moved");
	d.ino[0]--;
	d.dev[0]++;
	REFUSED("project.moved");
	d.dev[0]--;

	ATF_REQUIRE((fd = open(test_path("state/s/%s", d.id), O_RDONLY)) !=
	    -1);
	ATF_REQUIRE_EQ(0, flock(fd, LOCK_EX));
	REFUSED("mount.busy");
	close(fd);
	ATF_REQUIRE_EQ(0, test_sh("mv '%s/state/s/%s' '%s/layer'",
	    test_scratch(), d.id, test_scratch()));
	REFUSED("mount.layer");
	ATF_CHECK_EQ(-1, access(test_path("state/s/%s", d.id), F_OK));
	ATF_REQUIRE_EQ(0, test_sh("mv '%s/layer' '%s/state/s/%s'",
	    test_scratch(), test_scratch(), d.id));
	START(&d);
	ATF_CHECK_STREQ("mine", drive_out(&d, "cat f"));
	drive_release(&d);
	drive_erase(&d);
	drive_end();
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, again);
	ATF_TP_ADD_TC(tp, refused);
	return (atf_no_error());
}
