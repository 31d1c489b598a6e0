#include <sys/stat.h>
#include <sys/wait.h>
#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

#define BUFFERS	8

static const char *
env_get(const char *name)
{
	const char *v;

	if ((v = getenv(name)) == NULL)
		atf_tc_fail("%s is not set: run the case by kyua or by "
		    "isolate", name);
	return v;
}

static char *
buffer_next(void)
{
	static char buffers[BUFFERS][PATH_MAX];
	static unsigned int n;

	return buffers[n++ % BUFFERS];
}

const char *
test_scratch(void)
{
	return env_get("SBX_SCRATCH");
}

const char *
test_path(const char *fmt, ...)
{
	char *buf = buffer_next();
	va_list ap;
	int n;

	n = snprintf(buf, PATH_MAX, "%s/", test_scratch());
	va_start(ap, fmt);
	ATF_REQUIRE(vsnprintf(buf + n, (size_t)(PATH_MAX - n), fmt, ap) <
	    PATH_MAX - n);
	va_end(ap);
	return buf;
}

const char *
test_program(const char *name)
{
	char *buf = buffer_next();

	ATF_REQUIRE(snprintf(buf, PATH_MAX, "%s/%s", env_get("SBX_BUILDDIR"),
	    name) < PATH_MAX);
	return buf;
}

int
test_sh(const char *fmt, ...)
{
	char cmd[8192];
	va_list ap;
	int status;

	va_start(ap, fmt);
	ATF_REQUIRE(vsnprintf(cmd, sizeof(cmd), fmt, ap) < (int)sizeof(cmd));
	va_end(ap);
	fflush(NULL);
	if ((status = system(cmd)) == -1)
		atf_tc_fail("system: %s", strerror(errno));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
	    WEXITSTATUS(status);
}

void
test_user(struct test_user *u)
{
	static int n;
	struct passwd *pw;

	/* The scratch folder's suffix is what no other case has. */
	snprintf(u->name, sizeof(u->name), "sbxt-%.6s-%d",
	    strrchr(test_scratch(), '.') + 1, ++n);
	snprintf(u->home, sizeof(u->home), "%s/home/%s", test_scratch(),
	    u->name);
	if (test_sh("exec sbx-useradd '%s' '%s'", u->name, u->home) != 0)
		atf_tc_fail("user %s could not be made", u->name);
	if ((pw = getpwnam(u->name)) == NULL)
		atf_tc_fail("user %s is not there after useradd", u->name);
	u->uid = pw->pw_uid;
	u->gid = pw->pw_gid;
}
