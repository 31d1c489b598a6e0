/*
 * The configuration, read by conf: sbxd never sees the file's text.
 */
#include <sys/stat.h>
#include <sys/wait.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/ids.h"
#include "../common/log.h"
#include "../common/state.h"
#include "conf_parse.h"
#include "mode.h"
#include "proc.h"
#include "sbxd.h"

static void
setting_copy(const struct m_SETTING *s, char *out, size_t size)
{
	if (s->value.len >= size)
		fatalx("the setting %s is longer than %zu bytes", s->key,
		    size - 1);
	memcpy(out, s->value.p, s->value.len);
	out[s->value.len] = '\0';
}

/* "roles.admin", "roles.user": one uid or user name a setting. */
static void
role_take(const struct m_SETTING *s, const char *file, struct uids *list)
{
	char		 name[256];
	const char	*bad;
	struct passwd	*pw;
	uid_t		 uid;

	setting_copy(s, name, sizeof(name));
	uid = (uid_t)strtonum(name, 0, UINT32_MAX - 1, &bad);
	if (bad != NULL) {
		if ((pw = getpwnam(name)) == NULL)
			fatalx("%s: %s: there is no user %s: make it, or "
			    "leave it out", file, s->key, name);
		uid = pw->pw_uid;
	}
	if (uid == UID_NOROLE)
		fatalx("%s: %s: uid %d has no role", file, s->key,
		    UID_NOROLE);
	list->v = reallocarray(list->v, list->n + 1, sizeof(*list->v));
	if (list->v == NULL)
		fatal("roles");
	list->v[list->n++] = uid;
}

static void
setting_take(const struct m_SETTING *s, const char *file)
{
	struct sbxd_conf	*c = &sbxd.conf;

	if (strcmp(s->key, "state") == 0)
		setting_copy(s, c->state, sizeof(c->state));
	else if (strcmp(s->key, "socket") == 0)
		setting_copy(s, c->socket, sizeof(c->socket));
	else if (strcmp(s->key, "socketGroup") == 0) {
		setting_copy(s, c->group, sizeof(c->group));
		c->group_set = true;
	} else if (strcmp(s->key, "roles.admin") == 0)
		role_take(s, file, &c->admins);
	else if (strcmp(s->key, "roles.user") == 0)
		role_take(s, file, &c->users);
	else
		fatalx("conf sends the setting %s, which sbxd does not know",
		    s->key);
}

/* An embedded suite lets nobody else in. */
static void
group_check(const char *file)
{
	const struct sbxd_conf	*c = &sbxd.conf;

	if (!c->group_set || c->embedded)
		return;
	if (mode_user())
		fatalx("%s: socketGroup %s: a user's own suite is for that "
		    "user only: leave it out", file, c->group);
	if (getgrnam(c->group) == NULL)
		fatalx("%s: socketGroup %s: there is no such group: make it, "
		    "or name another one", file, c->group);
}

static void
settings_read(struct imsgbuf *ib, const char *file)
{
	struct msg	 msg;
	const char	*why = NULL;
	int		 r;

	while ((r = imsg_recv(ib, &msg, 10000, &why)) == 1) {
		if (msg.type == MSG_READY) {
			msg_free(&msg);
			return;
		}
		if (msg.type == MSG_ERROR)
			fatalx("%s", ((const struct m_ERROR *)msg.body)->
			    message);
		if (msg.type != MSG_SETTING)
			fatalx("%s from conf", proto_name(msg.type));
		setting_take(msg.body, file);
		msg_free(&msg);
	}
	fatalx("the configuration cannot be read: %s", r == 0 ?
	    "conf has ended" : why);
}

/* NULL: conf's own default, which a user's suite does without. */
static const char *
conf_file(char *own, size_t size)
{
	if (sbxd.conf.file != NULL || !mode_user())
		return (sbxd.conf.file);
	if (state_config(own, size) == -1 || access(own, F_OK) == -1)
		return (NULL);
	return (own);
}

/* Where there is none, there is nothing for conf to read or refuse. */
static bool
conf_missing(const char *file)
{
	struct stat	st;

	return (file == NULL && (mode_user() ||
	    (lstat(CONF_DEFAULT, &st) == -1 && errno == ENOENT)));
}

void
conf_run(bool print)
{
	char		own[LIMIT_PATH + 1];
	uint64_t	none = 0;
	struct m_SUITE	suite = {
		.state = "/", .libexec = sbxd.conf.libexec,
		.conf = conf_file(own, sizeof(own)),
		.uids = { 0, &none }, .gids = { 0, &none }
	};
	const char	*file = suite.conf != NULL ? suite.conf : CONF_DEFAULT;
	struct imsgbuf	ib;
	pid_t		pid;
	int		fd;

	if (suite.conf != NULL && (*suite.conf == '\0' ||
	    strlen(suite.conf) > LIMIT_PATH))
		fatalx("-f \"%.40s\": the configuration file's name must be an "
		    "absolute path of at most %d bytes", suite.conf,
		    LIMIT_PATH);
	if (!print && conf_missing(suite.conf))
		return;
	fd = start_program("conf", print ? "-v" : NULL, -1, &pid);
	if (imsg_init(&ib, fd, ROLE_SBXD, ROLE_CONF) == -1)
		fatal("conf");
	proc_hello(&ib, ROLE_SBXD, ROLE_CONF);
	if (imsg_send(&ib, MSG_SUITE, 0, -1, &suite) == -1)
		fatal("SUITE to conf");
	settings_read(&ib, file);
	group_check(file);
	imsg_clear(&ib);
	if (waitpid(pid, NULL, 0) == -1)
		fatal("waiting for conf");
}
