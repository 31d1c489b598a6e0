#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "privsep/proc.h"
#include "landd_lib.h"

#define WAIT_MS	10000

/*
 * landd
 */
void
lab_start(struct lab *lab)
{
	static int	n;
	struct stat	st;

	memset(lab, 0, sizeof(*lab));
	/* Nothing here is about disks: syncs cost nothing in memory. */
	if (n == 0)
		ATF_REQUIRE(mount("lab", test_scratch(), "tmpfs", 0,
		    "mode=755") == 0);
	test_helper_start(&lab->h, "landd", ROLE_LANDD);
	ATF_REQUIRE(imsg_init(&lab->spawn, scripted_channel(&lab->h),
	    ROLE_SPAWN, ROLE_LANDD) == 0);
	snprintf(lab->dir, sizeof(lab->dir), "%s", test_path("lab%d", ++n));
	ATF_REQUIRE(mkdir(lab->dir, 0700) == 0);
	snprintf(lab->project, sizeof(lab->project), "%s",
	    test_path("lab%d/project", n));
	ATF_REQUIRE(mkdir(lab->project, 0755) == 0);
	ATF_REQUIRE(stat(lab->project, &st) == 0);
	lab->dev = st.st_dev;
	lab->ino = st.st_ino;
	lab->t0 = 1700000000000000001;
}

void
lab_up(struct lab *lab)
{
	lab_start(lab);
	lab_word(lab, SID, USER);
	lab_seal_ask(lab, 1, SID);
	lab_seal_take(lab, 1);
}

void
lab_down(struct lab *lab)
{
	int	status;

	if (lab->child)
		imsg_clear(&lab->land);
	status = test_helper_end(&lab->h);
	imsg_clear(&lab->spawn);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		atf_tc_fail("landd ended with %#x: %s", (unsigned int)status,
		    test_helper_log(&lab->h));
}

void
lab_dead(struct lab *lab, const char *text)
{
	int		 status = test_helper_wait(&lab->h);
	const char	*log = test_helper_log(&lab->h);

	if (!WIFEXITED(status) || WEXITSTATUS(status) != 1)
		atf_tc_fail("landd ended with %#x: %s", (unsigned int)status,
		    log);
	if (strstr(log, text) == NULL)
		atf_tc_fail("landd's log is \"%s\", not \"%s\"", log, text);
	if (lab->child)
		imsg_clear(&lab->land);
	imsg_clear(&lab->h.ib);
	imsg_clear(&lab->spawn);
}

void
lab_alive(struct lab *lab)
{
	struct msg	msg;

	test_send(&lab->h, MSG_PROBE, 77, -1, NULL);
	test_expect(&lab->h, MSG_TEXT, &msg);
	msg_free(&msg);
	test_expect(&lab->h, MSG_END, &msg);
	ATF_REQUIRE_EQ(msg.id, 77);
	msg_free(&msg);
}

/*
 * Seals
 */
void
lab_word(struct lab *lab, const char *sid, uid_t uid)
{
	uint64_t	groups[] = { uid, 100, 101 };
	struct m_WORD	m = {
		.session = sid, .uid = uid, .gid = uid,
		.groups = { 3, groups }
	};

	ATF_REQUIRE(imsg_send(&lab->spawn, MSG_WORD, 0, -1, &m) == 0);
}

void
lab_seal_ask(struct lab *lab, uint32_t id, const char *sid)
{
	const char	*roots[] = { lab->project };
	struct m_SEAL	 m = {
		.session = sid, .roots = { 1, roots },
		.devs = { 1, &lab->dev }, .inos = { 1, &lab->ino },
		.t0 = lab->t0
	};

	test_send(&lab->h, MSG_SEAL, id, -1, &m);
}

void
lab_seal_take(struct lab *lab, uint32_t id)
{
	const struct m_SEALED	*m;
	struct msg		 msg;

	test_expect(&lab->h, MSG_SEALED, &msg);
	ATF_REQUIRE_EQ(msg.id, id);
	m = msg.body;
	memcpy(lab->seal, m->seal.p, m->seal.len);
	lab->seallen = m->seal.len;
	msg_free(&msg);
}

/*
 * Jobs
 */
void
lab_job(struct lab *lab, uint32_t id, const char *sid, const char *what)
{
	static const char	*hide[] = { "/home/u/secret", NULL };
	static const char	*ro[] = { "/home/u/fixed", NULL };
	struct m_JOB		 m = {
		.session = sid, .what = what,
		.seal = { lab->seal, lab->seallen }, .hide = { 1, hide },
		.ro = { 1, ro }
	};
	const char		*folder[] = { "/home/u", lab->project };

	if (strcmp(what, "outside") == 0)
		m.paths = (struct strv){ 2, folder };
	test_send(&lab->h, MSG_JOB, id, -1, &m);
}

void
lab_fd(struct lab *lab, uint32_t id, const char *kind, int fd)
{
	struct m_LFD	m = { .kind = kind };

	test_send(&lab->h, MSG_LFD, id, fd, &m);
}

void
lab_file(struct lab *lab, uint32_t id, const char *kind, int flags)
{
	char	path[PATH_MAX + 32];
	int	fd;

	snprintf(path, sizeof(path), "%s/%s", lab->dir, kind);
	fd = open(path, flags | O_CLOEXEC, 0600);
	if (fd == -1)
		atf_tc_fail("%s: %s", path, strerror(errno));
	lab_fd(lab, id, kind, fd);
}

void
lab_jobend(struct lab *lab, uint32_t id)
{
	struct m_STATUS	m = { 0 };

	test_send(&lab->h, MSG_JOBEND, id, -1, NULL);
	/* Its child, if it had one, sees the end of its socket. */
	ATF_REQUIRE(imsg_send(&lab->spawn, MSG_CHILDEND, id, -1, &m) == 0);
}

void
lab_files(struct lab *lab, uint32_t id, const char *what)
{
	bool	recover = strcmp(what, "recover") == 0;

	if (strcmp(what, "apply") == 0 || recover)
		lab_file(lab, id, "journal", recover ? O_RDWR :
		    O_RDWR | O_CREAT | O_TRUNC);
	if (strcmp(what, "apply") == 0 || recover ||
	    strcmp(what, "discard") == 0)
		lab_file(lab, id, "newbase", O_RDWR | O_CREAT | O_TRUNC);
}

void
lab_expect(struct lab *lab, uint32_t id, uint32_t type, struct msg *msg)
{
	test_expect(&lab->h, type, msg);
	ATF_REQUIRE_EQ(msg->id, id);
}

const char *
lab_error(struct lab *lab, uint32_t id, const char *code)
{
	static char		 text[LIMIT_MESSAGE + 1];
	const struct m_ERROR	*e;
	struct msg		 msg;

	test_expect(&lab->h, MSG_ERROR, &msg);
	e = msg.body;
	if (strcmp(e->code, code) != 0)
		atf_tc_fail("ERROR %s \"%s\" instead of %s", e->code,
		    e->message, code);
	ATF_REQUIRE_EQ(msg.id, id);
	ATF_REQUIRE(e->at != NULL);
	snprintf(text, sizeof(text), "%s", e->message);
	printf("%s: %s\n", code, text);
	msg_free(&msg);
	return (text);
}

void
lab_none(struct lab *lab)
{
	struct pollfd	pfd = { .fd = lab->h.ib.fd, .events = POLLIN };

	ATF_REQUIRE_EQ_MSG(poll(&pfd, 1, 100), 0, "an answer that is not due");
}

/*
 * The child
 */
static void
ib_expect(struct imsgbuf *ib, uint32_t type, struct msg *msg)
{
	const char	*why = NULL;
	int		 r = imsg_recv(ib, msg, WAIT_MS, &why);

	if (r != 1 || msg->type != type)
		atf_tc_fail("waiting for %s from landd: %s", proto_name(type),
		    r == 1 ? proto_name(msg->type) : r == 0 ? "end of file" :
		    why != NULL ? why : strerror(errno));
}

void
lab_child(struct lab *lab, uint32_t id, uid_t uid)
{
	const struct m_CHILD	*m;
	struct msg		 msg;

	ib_expect(&lab->spawn, MSG_CHILD, &msg);
	m = msg.body;
	ATF_REQUIRE_EQ(msg.id, id);
	/* spawn's word, by way of the seal, and nobody else's. */
	ATF_REQUIRE_EQ(m->uid, uid);
	ATF_REQUIRE_EQ(m->gid, uid);
	ATF_REQUIRE(m->groups.n == 3 && m->groups.v[0] == uid &&
	    m->groups.v[1] == 100 && m->groups.v[2] == 101);
	if (lab->child)
		imsg_clear(&lab->land);
	ATF_REQUIRE(imsg_init(&lab->land, msg_take_fd(&msg), ROLE_LAND,
	    ROLE_LANDD) == 0);
	lab->child = true;
	msg_free(&msg);
}

void
lab_child_hello(struct lab *lab)
{
	proc_hello(&lab->land, ROLE_LAND, ROLE_LANDD);
}

void
lab_child_work(struct lab *lab, struct msg *msg)
{
	const struct m_WORK	*w;

	ib_expect(&lab->land, MSG_WORK, msg);
	w = msg->body;
	ATF_REQUIRE_STREQ(w->project, lab->project);
	ATF_REQUIRE(w->dev == lab->dev && w->ino == lab->ino &&
	    w->t0 == lab->t0);
	ATF_REQUIRE(w->hide.n == 1 &&
	    strcmp(w->hide.v[0], "/home/u/secret") == 0);
	ATF_REQUIRE(w->ro.n == 1 &&
	    strcmp(w->ro.v[0], "/home/u/fixed") == 0);
}

void
lab_child_gone(struct lab *lab)
{
	imsg_clear(&lab->land);
	lab->child = false;
}

void
lab_childend(struct lab *lab, uint32_t id, int status)
{
	struct m_STATUS	m = { .status = (uint64_t)status };

	ATF_REQUIRE(imsg_send(&lab->spawn, MSG_CHILDEND, id, -1, &m) == 0);
}

void
lab_say(struct lab *lab, uint32_t type, int fd, const void *body)
{
	if (imsg_send(&lab->land, type, 0, fd, body) == -1)
		atf_tc_fail("the child's %s: %s", proto_name(type),
		    strerror(errno));
}

void
lab_hear(struct lab *lab, uint32_t type, struct msg *msg)
{
	ib_expect(&lab->land, type, msg);
}

void
lab_say_bytes(struct lab *lab, const char *kind, uint64_t n, bool last,
    const void *p, size_t len)
{
	struct m_BYTES	m = {
		.kind = kind, .n = n, .last = last, .data = { p, len }
	};

	lab_say(lab, MSG_BYTES, -1, &m);
}

void
lab_say_fd(struct lab *lab, const char *kind, int fd)
{
	struct m_LFD	m = { .kind = kind };

	lab_say(lab, MSG_LFD, fd, &m);
}

const uint8_t *
lab_hear_bytes(struct lab *lab, const char *kind, size_t *len)
{
	static uint8_t		 buf[1 << 20];
	const struct m_BYTES	*m;
	struct msg		 msg;
	bool			 last;
	uint64_t		 n = 0;

	*len = 0;
	do {
		lab_hear(lab, MSG_BYTES, &msg);
		m = msg.body;
		ATF_REQUIRE_STREQ(m->kind, kind);
		ATF_REQUIRE_EQ(m->n, n++);
		ATF_REQUIRE(*len + m->data.len <= sizeof(buf));
		memcpy(buf + *len, m->data.p, m->data.len);
		*len += m->data.len;
		last = m->last;
		msg_free(&msg);
	} while (!last);
	return (buf);
}

void
lab_say_item(struct lab *lab)
{
	struct m_CHANGE	m = {
		.path = "a", .kind = "added", .newmode = 0100644
	};

	lab_say(lab, MSG_CHANGE, -1, &m);
}

void
lab_say_landing(struct lab *lab)
{
	static const uint8_t	digest[32] = { 1, 2, 3 };
	struct m_LANDING	m = {
		.digest = { digest, 32 }, .target = lab->project, .files = 1
	};

	lab_say(lab, MSG_LANDING, -1, &m);
}

int
lab_folder(const struct lab *lab)
{
	int	fd = open(lab->project, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ATF_REQUIRE(fd != -1);
	return (fd);
}

void
lab_to_view(struct lab *lab, uint32_t id, const char *what)
{
	static const char *const	kinds[] = { "view", "layer", "stage" };
	struct msg			msg;
	size_t				len;
	int				i;

	lab_job(lab, id, SID, what);
	lab_files(lab, id, what);
	lab_child(lab, id, USER);
	lab_child_hello(lab);
	lab_child_work(lab, &msg);
	msg_free(&msg);
	lab_say_fd(lab, "project", lab_folder(lab));
	lab_expect(lab, id, MSG_LFD, &msg);
	ATF_REQUIRE(msg.fd != -1);
	msg_free(&msg);
	for (i = 0; i < 3; i++)
		lab_fd(lab, id, kinds[i], lab_folder(lab));
	lab_hear_bytes(lab, "baseline", &len);
	for (i = 0; i < 3; i++) {
		lab_hear(lab, MSG_LFD, &msg);
		ATF_REQUIRE_STREQ(((const struct m_LFD *)msg.body)->kind,
		    kinds[i]);
		ATF_REQUIRE(msg.fd != -1);
		msg_free(&msg);
	}
}

void
lab_to_landing(struct lab *lab, uint32_t id, const char *what)
{
	struct msg	msg;

	lab_to_view(lab, id, what);
	lab_say(lab, MSG_STAGED, -1, NULL);
	lab_expect(lab, id, MSG_STAGED, &msg);
	msg_free(&msg);
	lab_say_landing(lab);
	lab_expect(lab, id, MSG_LANDING, &msg);
	msg_free(&msg);
}

long
lab_size(const struct lab *lab, const char *name)
{
	char		path[PATH_MAX + 32];
	struct stat	st;

	snprintf(path, sizeof(path), "%s/%s", lab->dir, name);
	return (stat(path, &st) == -1 ? -1 : (long)st.st_size);
}
