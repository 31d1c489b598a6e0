#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <sys/wait.h>

#include <linux/openat2.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drive.h"

struct test_helper	drive_mountd;

static const char *const kinds[3] = {
	"clone-project", "clone-home", "clone-root"
};

void
drive_begin(void)
{
	static const char *const	made[] = { "home", "proj" };
	size_t				i;

	test_clean_mark();
	scripted_up(&drive_mountd, "mountd", ROLE_MOUNTD);
	for (i = 0; i < 2; i++) {
		ATF_REQUIRE_EQ(0, mkdir(test_path("%s", made[i]), 0755));
		ATF_REQUIRE_EQ(0, chown(test_path("%s", made[i]), 1001,
		    1001));
	}
}

void
drive_end(void)
{
	ATF_CHECK_EQ(0, test_helper_end(&drive_mountd));
	ATF_CHECK_STREQ("", test_helper_log(&drive_mountd));
	test_clean_check();
}

/*
 * Asking mountd
 */
static void
list(struct strv *v, const char *const *from)
{
	v->v = (const char **)(uintptr_t)from;
	for (v->n = 0; v->n < DRIVE_LIST && from[v->n] != NULL; v->n++)
		;
}

static void
defaults(struct drive *d)
{
	static char	home[PATH_MAX], project[PATH_MAX];

	if (d->id[0] == '\0')
		strlcpy(d->id, "abcdefgh2345", sizeof(d->id));
	strlcpy(home, test_path("home"), sizeof(home));
	strlcpy(project, test_path("proj"), sizeof(project));
	if (d->home == NULL)
		d->home = home;
	if (d->project == NULL)
		d->project = project;
	if (d->argv[0] == NULL)
		d->argv[0] = "true";
}

void
drive_prep(struct drive *d)
{
	struct m_PREP	m = { .uid = d->uid, .gid = d->gid };

	m.again = d->again;
	if (d->again) {
		m.devs = (struct u64v){ 1 + d->nmore, d->dev };
		m.inos = (struct u64v){ 1 + d->nmore, d->ino };
	}
	defaults(d);
	d->code[0] = d->text[0] = '\0';
	m.session = d->id;
	m.home = d->home;
	m.project = d->project;
	list(&m.more, d->more);
	d->nmore = m.more.n;
	list(&m.hide, d->hide);
	list(&m.ro, d->ro);
	list(&m.argv, d->argv);
	test_send(&drive_mountd, MSG_PREP, 0, -1, &m);
}

void
drive_send_fd(struct drive *d, const char *kind, uint64_t n, int fd)
{
	struct m_SFD	m = { .session = d->id, .kind = kind, .n = n };

	test_send(&drive_mountd, MSG_SFD, 0, fd, &m);
}

int
drive_open(const struct drive *d, const char *path)
{
	struct open_how	how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS
	};
	int		fd;

	ATF_REQUIRE_EQ(0, setegid(d->gid));
	ATF_REQUIRE_EQ(0, seteuid(d->uid));
	fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	ATF_REQUIRE_EQ(0, seteuid(0));
	ATF_REQUIRE_EQ(0, setegid(0));
	return (fd);
}

/* Of what cannot be opened mountd says nothing before init has: an init that
 * could, by then. */
static int
drive_judged(const struct drive *d, const char *path)
{
	int	fd = drive_open(d, path);

	return (fd != -1 ? fd : drive_open(d, "/"));
}

void
drive_send_all(struct drive *d)
{
	int	fd;
	size_t	i;

	drive_send_fd(d, "pidns", 0, fcntl(d->ns_pid, F_DUPFD_CLOEXEC, 0));
	for (i = 0; i < DRIVE_LIST && d->ro[i] != NULL; i++)
		if ((fd = drive_open(d, d->ro[i])) != -1)
			drive_send_fd(d, "ro", i, fd);
	drive_send_fd(d, "home", 0, drive_judged(d, d->home));
	drive_send_fd(d, "project", 0, drive_judged(d, d->project));
	for (i = 0; i < d->nmore; i++)
		drive_send_fd(d, "project", i + 1, drive_judged(d,
		    d->more[i]));
}

static void
lines(char *out, size_t size, const struct strv *v)
{
	size_t	i;

	out[0] = '\0';
	for (i = 0; i < v->n; i++) {
		strlcat(out, v->v[i], size);
		strlcat(out, "\n", size);
	}
}

static void
receive(struct msg *msg)
{
	const char	*why = NULL;
	int		 r;

	r = imsg_recv(&drive_mountd.ib, msg, 70000, &why);
	if (r == 0)
		printf("mountd ended: %#x\n",
		    test_helper_wait(&drive_mountd));
	if (r != 1)
		atf_tc_fail("from mountd: %s; its log: %s", r == 0 ?
		    "end of file" : why != NULL ? why : strerror(errno),
		    test_helper_log(&drive_mountd));
}

static void
take_error(struct drive *d, const struct msg *msg)
{
	const struct m_ERROR	*e = msg->body;

	ATF_REQUIRE_MSG(msg->type == MSG_ERROR, "%s where an answer was due",
	    proto_name(msg->type));
	ATF_REQUIRE(e->at != NULL);
	ATF_CHECK_STREQ(d->id, e->at);
	ATF_CHECK(strchr(e->message, '\n') == NULL);
	strlcpy(d->code, e->code, sizeof(d->code));
	strlcpy(d->text, e->message, sizeof(d->text));
}

/* True: MOUNTED came, and with it the tree, which goes to init. */
bool
drive_await(struct drive *d)
{
	const struct m_MOUNTED	*m;
	const struct m_SFD	*s;
	struct msg		 msg;
	int			 tree = -1, fd, i;
	char			 c;

	receive(&msg);
	d->pristine = d->again && msg.type == MSG_PRISTINE;
	if (d->pristine) {
		msg_free(&msg);
		receive(&msg);
	}
	for (; msg.type == MSG_SFD; receive(&msg)) {
		s = msg.body;
		ATF_CHECK_STREQ(d->id, s->session);
		fd = msg_take_fd(&msg);
		for (i = 0; i < 3 && strcmp(kinds[i], s->kind) != 0; i++)
			;
		/* Of further roots the worker has more of the kind. */
		ATF_CHECK(i == 3 || s->n % 2 == 1);
		if (i < 3 && s->n > 1)
			close(fd);
		else if (i < 3)
			d->clone[i] = fd;
		else if (strcmp(s->kind, "tree") == 0)
			tree = fd;
		else
			atf_tc_fail("a descriptor of kind %s", s->kind);
		msg_free(&msg);
	}
	if (msg.type != MSG_MOUNTED) {
		take_error(d, &msg);
		msg_free(&msg);
		return (false);
	}
	m = msg.body;
	ATF_REQUIRE_EQ(m->devs.n, 1 + d->nmore);
	ATF_REQUIRE_EQ(m->inos.n, 1 + d->nmore);
	memcpy(d->dev, m->devs.v, m->devs.n * sizeof(*d->dev));
	memcpy(d->ino, m->inos.v, m->inos.n * sizeof(*d->ino));
	lines(d->notes, sizeof(d->notes), &m->notes);
	lines(d->hidden, sizeof(d->hidden), &m->hide);
	msg_free(&msg);
	ATF_REQUIRE(tree != -1 && d->clone[0] != -1 && d->clone[1] != -1 &&
	    d->clone[2] != -1);
	drive_fd_send(d->sock, tree);
	close(tree);
	ATF_REQUIRE_EQ(1, read(d->sock, &c, 1));
	return (true);
}

bool
drive_start(struct drive *d)
{
	drive_namespaces(d);
	drive_prep(d);
	drive_send_all(d);
	if (drive_await(d))
		return (true);
	drive_kill(d);
	return (false);
}

void
drive_kill(struct drive *d)
{
	int	i, *fd;

	if (d->outer > 0) {
		if (d->init > 0)
			kill(d->init, SIGKILL);
		ATF_REQUIRE_EQ(d->outer, waitpid(d->outer, NULL, 0));
	}
	d->outer = d->init = 0;
	for (i = 0; i < 7; i++) {
		fd = i < 3 ? &d->clone[i] : i == 3 ? &d->ns_user :
		    i == 4 ? &d->ns_pid : i == 5 ? &d->ns_mnt : &d->sock;
		if (*fd > 0)
			close(*fd);
		*fd = -1;
	}
}

bool
drive_ask(struct drive *d, uint32_t type, int fd, const void *body,
    uint32_t want)
{
	struct msg	msg;
	bool		ok;

	d->code[0] = d->text[0] = '\0';
	test_send(&drive_mountd, type, 77, fd, body);
	receive(&msg);
	/* Who is released may be told before that nothing was written, or
	 * something elsewhere. */
	if (want == MSG_RELEASED && msg.type == MSG_STRAYED) {
		msg_free(&msg);
		receive(&msg);
	}
	d->pristine = want == MSG_RELEASED && msg.type == MSG_PRISTINE;
	if (d->pristine) {
		msg_free(&msg);
		receive(&msg);
	}
	ATF_CHECK_EQ(77, msg.id);
	ok = msg.type == want;
	if (!ok)
		take_error(d, &msg);
	msg_free(&msg);
	return (ok);
}

void
drive_release(struct drive *d)
{
	struct m_SID	sid = { .session = d->id };

	drive_kill(d);
	ATF_REQUIRE_MSG(drive_ask(d, MSG_RELEASE, -1, &sid, MSG_RELEASED),
	    "%s: %s", d->code, d->text);
}

void
drive_erase(struct drive *d)
{
	struct m_SID	sid = { .session = d->id };

	ATF_REQUIRE_MSG(drive_ask(d, MSG_ERASE, -1, &sid, MSG_ERASED),
	    "%s: %s", d->code, d->text);
	ATF_CHECK_EQ(-1, access(test_path("state/s/%s", d->id), F_OK));
}

bool
drive_look(struct drive *d, bool live, struct drive_view *v)
{
	struct m_VIEW		 m = {
		.session = d->id, .live = live, .uid = d->uid, .gid = d->gid,
		.home = d->home, .project = d->project
	};
	const struct m_LFD	*l;
	struct msg		 msg;
	int			 fd;

	v->view = v->layer = v->stage = -1;
	list(&m.hide, d->hide);
	ATF_REQUIRE((fd = drive_open(d, d->project)) != -1);
	test_send(&drive_mountd, MSG_VIEW, 9, fd, &m);
	for (receive(&msg); msg.type == MSG_LFD; receive(&msg)) {
		ATF_CHECK_EQ(9, msg.id);
		l = msg.body;
		fd = msg_take_fd(&msg);
		if (strcmp(l->kind, "view") == 0)
			v->view = fd;
		else if (strcmp(l->kind, "layer") == 0)
			v->layer = fd;
		else
			v->stage = fd;
		msg_free(&msg);
	}
	if (msg.type != MSG_VIEWED) {
		take_error(d, &msg);
		msg_free(&msg);
		return (false);
	}
	msg_free(&msg);
	ATF_REQUIRE(v->view != -1 && v->layer != -1 && v->stage != -1);
	return (true);
}

void
drive_look_end(struct drive_view *v)
{
	close(v->view);
	close(v->layer);
	close(v->stage);
}

bool
drive_clean(struct drive *d, bool live, bool discard,
    const char *const *paths)
{
	struct m_CLEAN	m = {
		.session = d->id, .project = d->project, .live = live,
		.discard = discard
	};

	m.paths.v = (const char **)(uintptr_t)paths;
	while (paths[m.paths.n] != NULL)
		m.paths.n++;
	if (!live)
		list(&m.hide, d->hide);
	return (drive_ask(d, MSG_CLEAN, -1, &m, MSG_CLEANED));
}

/* The path of N of a session, as mountd marks it. */
static bool
layer_of(const struct drive *d, int n, char *path)
{
	ssize_t	len;

	len = getxattr(test_path("state/s/%s/%d", d->id, n), "trusted.sbx.at",
	    path, PATH_MAX - 1);
	if (len == -1)
		return (false);
	path[len] = '\0';
	return (true);
}

const char *
drive_layers(const struct drive *d)
{
	static char	out[2][8192];
	static unsigned	turn;
	char		path[PATH_MAX], *o = out[turn++ % 2];
	int		n;

	for (o[0] = '\0', n = 0; layer_of(d, n, path); n++) {
		strlcat(o, path, sizeof(out[0]));
		strlcat(o, "\n", sizeof(out[0]));
	}
	return (o);
}

const char *
drive_layer(const struct drive *d)
{
	static char	out[PATH_MAX];
	char		path[PATH_MAX];
	int		n;

	for (n = 0; layer_of(d, n, path); n++)
		if (strcmp(path, d->project) == 0) {
			strlcpy(out, test_path("state/s/%s/%d/u", d->id, n),
			    sizeof(out));
			return (out);
		}
	atf_tc_fail("the project has no layer");
}

const char *
drive_read(int dir, const char *path)
{
	static char	text[4][4096];
	static unsigned	turn;
	char		*t = text[turn++ % 4];
	ssize_t		 n;
	int		 fd;

	if ((fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) == -1)
		return (NULL);
	n = read(fd, t, sizeof(text[0]) - 1);
	close(fd);
	if (n == -1)
		return (NULL);
	t[n] = '\0';
	return (t);
}
