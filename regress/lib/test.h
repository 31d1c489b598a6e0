/*
 * What test programs in C share. Every case runs by way of isolate.c, in
 * namespaces of its own, as root; see regress/README.
 *
 * A failure in here ends the case by atf_tc_fail, with errno where it helps.
 */
#ifndef REGRESS_LIB_TEST_H
#define REGRESS_LIB_TEST_H

#include <sys/types.h>
#include <limits.h>
#include <stddef.h>

#include <atf-c.h>

#include "common/proto.h"
#include "privsep/imsg.h"

/* Cases that a sanitized build, with its wider filters and a libc that ends
 * where a call of its own fails, leaves out: it compiles them all the same. */
#ifdef SBX_SANITIZED
#define TEST_PLAIN	0
#else
#define TEST_PLAIN	1
#endif

/* The case's own folder: empty, root's, 0755, on a filesystem that overlays
 * can have their upper folder on; removed after the case. */
const char	*test_scratch(void);
/* "<scratch>/name", in one of eight static buffers. */
const char	*test_path(const char *fmt, ...)
		    __attribute__((format(printf, 1, 2)));
/* A program of the build: "bin/sbxctl", "libexec/sbx/netd". Static buffers
 * as above. */
const char	*test_program(const char *name);

/* A user with a free uid, a group of the same name and a home below the
 * scratch folder; removed after the case. */
struct test_user {
	char	name[32];
	char	home[PATH_MAX];
	uid_t	uid;
	gid_t	gid;
};
void	test_user(struct test_user *);

/* Runs a command of sh's and gives its exit status (128 + n by a signal). */
int	test_sh(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Leftovers: mark what is mounted, running, open in this process and below
 * the suite's cgroup; check waits up to ten seconds for all of it to be as
 * it was, and fails with what is not.
 */
void	test_clean_mark(void);
void	test_clean_check(void);
extern int	test_clean_ms;		/* how long check waits */

/*
 * A helper of the suite as the real program, with this test as its sbxd on
 * fd 3. start executes it and exchanges HELLO; its log goes to a file.
 */
struct test_helper {
	pid_t		pid;
	struct imsgbuf	ib;
	char		log[PATH_MAX];
};
void	test_helper_start(struct test_helper *, const char *name, enum role);
/* The same without HELLO, and with this process as another role. */
void	test_helper_exec(struct test_helper *, const char *name, enum role,
	    enum role self);
/* Sends; fails the case if that is not possible. */
void	test_send(struct test_helper *, uint32_t type, uint32_t id, int fd,
	    const void *body);
/* Receives exactly this type within ten seconds. */
void	test_expect(struct test_helper *, uint32_t type, struct msg *);
/* Waits up to ten seconds for its end (then kills it and fails); the status
 * as wait gives it. The socket stays open. */
int	test_helper_wait(struct test_helper *);
/* Closes the socket, waits for the end, gives the status. */
int	test_helper_end(struct test_helper *);
/* Its log so far, in a static buffer. */
const char	*test_helper_log(const struct test_helper *);

#endif
