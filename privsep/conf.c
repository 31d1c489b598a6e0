/*
 * conf: reads sbxd.conf and answers with its settings, then ends. sbxd runs
 * it while still root and parses nothing itself: the file's text meets only a
 * process with its owner's rights, which sees that one folder.
 *
 * "conf -v" also writes the canonical text to its standard output, which is
 * sbxd's own then (sbxd -nv).
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/escape.h"
#include "../common/limits.h"
#include "../common/log.h"
#include "../common/path.h"
#include "../common/state.h"
#include "conf_parse.h"
#include "drop.h"
#include "mode.h"
#include "pledge.h"
#include "proc.h"
#include "unveil.h"

#define CONF_NOGROUP	65534

/* The file, found as root, read as its owner. */
struct source {
	char	 path[LIMIT_PATH + 1];
	char	*shown;			/* fit for a terminal */
	int	 dir;			/* O_PATH, -1: no such folder */
	char	 name[256];
	uid_t	 owner;
	bool	 missing;		/* and need not be there */
	bool	 foreign;		/* the owner is not who starts us */
};

static struct imsgbuf	conf_ib;

/* Tells sbxd, which says it to the user and ends. */
static void __attribute__((noreturn, format(printf, 2, 3)))
conf_refuse(const struct source *src, const char *fmt, ...)
{
	char		text[LIMIT_MESSAGE + 1];
	struct m_ERROR	e = { .code = "conf.invalid", .message = text };
	va_list		ap;
	int		n;

	n = snprintf(text, sizeof(text), "%.2000s: ", src->shown);
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n, fmt, ap);
	va_end(ap);
	escape_fit(text, sizeof(text));
	if (imsg_send(&conf_ib, MSG_ERROR, 0, -1, &e) == -1)
		fatal("%s", text);
	exit(1);
}

static void
source_name(struct source *src, const char *path)
{
	if (strlcpy(src->path, path, sizeof(src->path)) >= sizeof(src->path))
		fatalx("SUITE: conf: too long");
	src->shown = escape_text(path, strlen(path), "");
	if (src->shown == NULL)
		fatal("escape");
	if (!path_is_canonical(path) || strcmp(path, "/") == 0)
		conf_refuse(src, "the configuration file's name must be an "
		    "absolute path of a file");
}

/* Root's part: where the file is and whose. Nothing of it is read. */
static void
source_find(struct source *src, bool may_miss)
{
	char		 copy[sizeof(src->path)];
	struct stat	 st;

	memcpy(copy, src->path, sizeof(copy));
	if (strlcpy(src->name, basename(copy), sizeof(src->name)) >=
	    sizeof(src->name))
		conf_refuse(src, "%s", strerror(ENAMETOOLONG));
	memcpy(copy, src->path, sizeof(copy));
	src->dir = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (src->dir == -1 || fstatat(src->dir, src->name, &st,
	    AT_SYMLINK_NOFOLLOW) == -1) {
		if (errno != ENOENT || !may_miss)
			conf_refuse(src, "%s", strerror(errno));
		src->missing = true;
		return;
	}
	if (S_ISLNK(st.st_mode))
		conf_refuse(src, "is a symbolic link: name the file that it "
		    "leads to");
	if (!S_ISREG(st.st_mode))
		conf_refuse(src, "is no regular file");
	src->owner = st.st_uid;
	src->foreign = src->owner != getuid();
}

/* Who may write this file decides who is admin here. */
static void
source_check(const struct source *src, const struct stat *st)
{
	if (!S_ISREG(st->st_mode) || st->st_uid != src->owner)
		conf_refuse(src, "was replaced while it was opened");
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		conf_refuse(src, "others than its owner may write it (mode "
		    "%04o): chmod go-w", (unsigned int)st->st_mode & 07777);
	if (st->st_size > CONF_SIZE)
		conf_refuse(src, "has %lld bytes, at most %d are allowed",
		    (long long)st->st_size, CONF_SIZE);
}

/* The drop: to the owner, with no group, no capability, that folder only. */
static void
conf_confine(const struct source *src)
{
	struct drop	 d = { .uid = src->owner, .gid = CONF_NOGROUP };
	struct unveil	*u;

	drop_to(&d);
	u = unveil_begin();
	if (src->dir != -1)
		unveil_fd(u, src->dir, UNVEIL_READ);
	unveil_end(u);
	pledge(PLEDGE_CONF);
}

static char *
source_read(const struct source *src, size_t *len)
{
	struct stat	 st;
	char		*text;
	ssize_t		 n;
	int		 fd;

	fd = openat(src->dir, src->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
	    O_NOCTTY | O_CLOEXEC);
	if (fd == -1 || pledge_fstat(fd, &st) == -1)
		conf_refuse(src, "%s, as its owner (uid %u)", strerror(errno),
		    (unsigned int)src->owner);
	source_check(src, &st);
	if ((text = malloc(CONF_SIZE)) == NULL)
		fatal("configuration");
	for (*len = 0; *len < CONF_SIZE; *len += (size_t)n) {
		n = read(fd, text + *len, CONF_SIZE - *len);
		if (n == -1)
			conf_refuse(src, "%s", strerror(errno));
		if (n == 0)
			break;
	}
	close(fd);
	return (text);
}

static int
conf_send(void *arg, const char *key, const char *value)
{
	struct m_SETTING	m = { .key = key };

	(void)arg;
	m.value.p = (const uint8_t *)value;
	m.value.len = strlen(value);
	if (imsg_send(&conf_ib, MSG_SETTING, 0, -1, &m) == -1) {
		proc_over(&conf_ib, errno);
		fatal("SETTING %s", key);
	}
	return (0);
}

static void
conf_print(const struct conf *c)
{
	char	*text = conf_text(c), *p;
	size_t	 left;
	ssize_t	 n;

	if (text == NULL)
		fatalx("out of memory");
	left = strlen(text);
	text[left++] = '\n';	/* in place of the NUL */
	for (p = text; left > 0; p += n, left -= (size_t)n)
		if ((n = write(STDOUT_FILENO, p, left)) == -1)
			fatal("standard output");
	free(text);
}

int
main(int argc, char **argv)
{
	struct source		 src = { .dir = -1 };
	struct msg		 msg;
	const struct m_SUITE	*suite;
	struct conf		*c;
	char			*text, why[CONF_ERROR];
	size_t			 len = 2;

	proc_begin("conf", PROC_FD + 1);
	mode_begin();
	drop_limits(64, 256 << 20);
	if (imsg_init(&conf_ib, PROC_FD, ROLE_CONF, ROLE_SBXD) == -1)
		fatal("fd %d", PROC_FD);
	proc_hello(&conf_ib, ROLE_CONF, ROLE_SBXD);
	proc_expect(&conf_ib, MSG_SUITE, &msg);
	suite = msg.body;
	source_name(&src, suite->conf != NULL ? suite->conf : CONF_DEFAULT);
	/* The machine's file says nothing about a user's own suite. */
	if (mode_user() && suite->conf == NULL)
		src.missing = true;
	else
		source_find(&src, suite->conf == NULL);
	msg_free(&msg);
	conf_seed();
	conf_confine(&src);
	text = src.missing ? strdup("{}") : source_read(&src, &len);
	if (text == NULL)
		fatal("configuration");
	if ((c = conf_parse(text, len, why)) == NULL)
		conf_refuse(&src, "%s", why);
	if (argc > 1 && strcmp(argv[1], "-v") == 0)
		conf_print(c);
	if (src.foreign)
		log_warnx("%s belongs to uid %u, who so decides who is admin "
		    "here", src.path, (unsigned int)src.owner);
	conf_each(c, conf_send, NULL);
	if (imsg_send(&conf_ib, MSG_READY, 0, -1, NULL) == -1) {
		proc_over(&conf_ib, errno);
		fatal("READY");
	}
	return (0);
}
