/*
 * Frames over real socketpairs.
 */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <msgpack.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fields.h"
#include "regress/lib/sample.h"
#include "regress/lib/scripted.h"

struct pair {
	struct imsgbuf	a, b;		/* a says, b hears */
};

static void
pair_make(struct pair *p, enum role a, enum role b)
{
	int	sv[2];

	ATF_REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) ==
	    0);
	ATF_REQUIRE(imsg_init(&p->a, sv[0], a, b) == 0);
	ATF_REQUIRE(imsg_init(&p->b, sv[1], b, a) == 0);
}

static void
pair_clear(struct pair *p)
{
	imsg_clear(&p->a);
	imsg_clear(&p->b);
}

static int
open_fds(void)
{
	DIR	*d = opendir("/proc/self/fd");
	int	 n = 0;

	ATF_REQUIRE(d != NULL);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return (n);
}

/* Some pair of roles between which the message may go. */
static void
roles_of(uint32_t type, enum role *from, enum role *to)
{
	unsigned int	f, t;

	for (f = 1; f & ROLE_ANY; f <<= 1)
		for (t = 1; t & ROLE_ANY; t <<= 1)
			if (f != t && proto_may(type, (enum role)f,
			    (enum role)t)) {
				*from = (enum role)f;
				*to = (enum role)t;
				return;
			}
	atf_tc_fail("%s goes from nobody to nobody", proto_name(type));
}

/* Composes a random message; the struct is the caller's to free. */
static void *
compose_random(struct imsgbuf *ib, uint32_t type, uint32_t id,
    struct sample_rng *r)
{
	const struct proto_row	*row = proto_row(type);
	void			*body;
	int			 fd = -1;

	body = sample_body(row->fields, row->nfields, SAMPLE_SOME, r);
	if (row->fd == FD_ONE)
		ATF_REQUIRE((fd = open("/dev/null", O_RDWR)) != -1);
	if (imsg_compose(ib, type, id, fd, body) == -1)
		atf_tc_fail("%s: %s", row->name, strerror(errno));
	return (body);
}

static void
must_be(struct msg *msg, uint32_t type, uint32_t id, void *body)
{
	const struct proto_row	*row = proto_row(type);
	const char		*key;

	ATF_REQUIRE_EQ(msg->type, type);
	ATF_REQUIRE_EQ(msg->id, id);
	ATF_REQUIRE_EQ(msg->pid, (uint32_t)getpid());
	ATF_REQUIRE_EQ(msg->fd != -1, row->fd == FD_ONE);
	key = sample_differ(row->fields, row->nfields, msg->body, body);
	if (key != NULL)
		atf_tc_fail("%s: %s came back different", row->name, key);
	msg_free(msg);
	sample_free(row->fields, row->nfields, body);
}

/* Moves one byte (with what comes along) from a's stream into b's. */
static bool
trickle(int from, int to)
{
	char		 c, control[CMSG_SPACE(sizeof(int))];
	struct iovec	 iov = { &c, 1 };
	struct msghdr	 mh = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr	*cm;
	int		 fd;

	if (recvmsg(from, &mh, MSG_DONTWAIT) != 1)
		return (false);
	if (mh.msg_controllen == 0)
		mh.msg_control = NULL;
	ATF_REQUIRE(sendmsg(to, &mh, 0) == 1);
	if (mh.msg_control != NULL) {
		ATF_REQUIRE((cm = CMSG_FIRSTHDR(&mh)) != NULL);
		memcpy(&fd, CMSG_DATA(cm), sizeof(int));
		close(fd);
	}
	return (true);
}

ATF_TC_WITHOUT_HEAD(byte_by_byte);
ATF_TC_BODY(byte_by_byte, tc)
{
	struct sample_rng	 r = { 3 };
	struct pair		 p, q;
	struct msg		 msg;
	enum role		 from, to;
	const char		*why;
	uint32_t		 type;
	void			*body;
	int			 got, n, fds = open_fds();

	for (type = MSG_INVALID + 1; type < MSG_COUNT; type++) {
		if (type == MSG_PART)
			continue;
		roles_of(type, &from, &to);
		/* a writes into p; p's other end feeds q's b. */
		pair_make(&p, from, to);
		pair_make(&q, from, to);
		body = compose_random(&p.a, type, 4711, &r);
		ATF_REQUIRE_EQ(imsg_flush(&p.a), 1);
		for (n = got = 0; trickle(p.b.fd, q.a.fd); n++) {
			ATF_REQUIRE_EQ(got, 0);
			ATF_REQUIRE_EQ(imsg_read(&q.b), 1);
			got = imsg_next(&q.b, &msg, &why);
			if (got == -1)
				atf_tc_fail("%s: %s after %d bytes",
				    proto_name(type), why, n + 1);
		}
		ATF_REQUIRE_EQ(got, 1);
		must_be(&msg, type, 4711, body);
		pair_clear(&p);
		pair_clear(&q);
	}
	ATF_REQUIRE_EQ(open_fds(), fds);
}

ATF_TC_WITHOUT_HEAD(several_a_read);
ATF_TC_BODY(several_a_read, tc)
{
	struct sample_rng	 r = { 4 };
	struct pair		 p;
	struct msg		 msg;
	const char		*why;
	void			*bodies[60];
	uint32_t		 i;

	pair_make(&p, ROLE_SBXD, ROLE_NETD);
	for (i = 0; i < 60; i++)
		bodies[i] = compose_random(&p.a, i % 2 ? MSG_NET : MSG_NETEND,
		    i, &r);
	ATF_REQUIRE_EQ(imsg_flush(&p.a), 1);
	ATF_REQUIRE(imsg_read(&p.b) > 0);
	for (i = 0; i < 60; i++) {
		ATF_REQUIRE_EQ(imsg_next(&p.b, &msg, &why), 1);
		must_be(&msg, i % 2 ? MSG_NET : MSG_NETEND, i, bodies[i]);
	}
	ATF_REQUIRE_EQ(imsg_next(&p.b, &msg, &why), 0);
	ATF_REQUIRE_EQ(imsg_read(&p.b), -1);
	ATF_REQUIRE_EQ(errno, EAGAIN);
	pair_clear(&p);
}

/* Which descriptor comes with which message, however they are read. */
ATF_TC_WITHOUT_HEAD(descriptors_in_order);
ATF_TC_BODY(descriptors_in_order, tc)
{
	struct m_SFD	 m = { .session = "s", .kind = "ro" };
	struct m_SID	 sid = { .session = "s" };
	struct pair	 p;
	struct msg	 msg;
	const char	*why;
	struct stat	 st;
	int		 fd, fds;
	uint32_t	 i;

	fds = open_fds();
	pair_make(&p, ROLE_SBXD, ROLE_NETD);
	for (i = 0; i < 20; i++) {
		ATF_REQUIRE((fd = open(test_path("f%u", i), O_RDWR | O_CREAT,
		    0600)) != -1);
		ATF_REQUIRE_EQ(ftruncate(fd, (off_t)i), 0);
		m.n = i;
		ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_NETEND, 0, -1, &sid), 0);
		ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_SFD, 0, fd, &m), 0);
	}
	ATF_REQUIRE_EQ(imsg_flush(&p.a), 1);
	/* The queue gives its copies up as they are sent. */
	ATF_REQUIRE_EQ(open_fds(), fds + 2);
	for (i = 0; i < 20; i++) {
		ATF_REQUIRE_EQ(imsg_recv(&p.b, &msg, 1000, &why), 1);
		ATF_REQUIRE_EQ(msg.type, MSG_NETEND);
		msg_free(&msg);
		ATF_REQUIRE_EQ(imsg_recv(&p.b, &msg, 1000, &why), 1);
		ATF_REQUIRE_EQ(msg.type, MSG_SFD);
		ATF_REQUIRE_EQ(fstat(msg.fd, &st), 0);
		ATF_REQUIRE_EQ(st.st_size, (off_t)i);
		ATF_REQUIRE_EQ(fcntl(msg.fd, F_GETFD), FD_CLOEXEC);
		fd = msg_take_fd(&msg);
		ATF_REQUIRE_EQ(msg_take_fd(&msg), -1);
		msg_free(&msg);
		ATF_REQUIRE_EQ(close(fd), 0);
	}
	pair_clear(&p);
	ATF_REQUIRE_EQ(open_fds(), fds);
}

/* Reads until a message or a refusal: its reason, NULL if one was taken. */
static const char *
heard(struct imsgbuf *b, struct msg *msg)
{
	static char	 copy[256];
	const char	*why = "end of file";

	errno = 0;
	if (imsg_recv(b, msg, 500, &why) == 1)
		return (NULL);
	snprintf(copy, sizeof(copy), "%s", why);
	return (copy);
}

static void
refused(const struct frame *f, const char *want)
{
	struct pair	 p;
	struct msg	 msg;
	const char	*why;
	int		 fds = open_fds();

	pair_make(&p, ROLE_SBXD, ROLE_NETD);
	scripted_frame(p.a.fd, f);
	if ((why = heard(&p.b, &msg)) == NULL) {
		msg_free(&msg);
		why = heard(&p.b, &msg);
	}
	if (why == NULL || strstr(why, want) == NULL)
		atf_tc_fail("\"%s\", not \"%s\"", why == NULL ? "taken" : why,
		    want);
	pair_clear(&p);
	ATF_REQUIRE_EQ(open_fds(), fds);
}

ATF_TC_WITHOUT_HEAD(descriptor_marks);
ATF_TC_BODY(descriptor_marks, tc)
{
	static const char	sid[] = "\x81\xa7session\xa1s";
	static const char	sfd[] = "\x82\xa7session\xa1s\xa4kind\xa1k";
	struct frame		one = { .type = MSG_SFD, .body = sfd,
				    .bodylen = sizeof(sfd) - 1 };
	struct frame		none = { .type = MSG_NETEND, .body = sid,
				    .bodylen = sizeof(sid) - 1 };

	one.mark = true;
	refused(&one, "mark without");
	one.nfds = 2;
	refused(&one, "without a mark");
	one.mark = false;
	one.nfds = 1;
	refused(&one, "mark against");
	one.nfds = 8;
	one.mark = true;
	refused(&one, "Bad message");
	none.nfds = 1;
	refused(&none, "without a mark");
	none.mark = true;
	refused(&none, "mark against");
}

/* Sends a descriptor that the receiver has no room for: the kernel cuts it off.
 * What is heard, as heard() has it. */
static const char *
cut_off(struct pair *p, struct msg *msg)
{
	struct m_SFD	m = { .session = "s", .kind = "ro" };
	struct rlimit	rl, low;
	const char	*why;
	int		fd;

	ATF_REQUIRE((fd = open("/dev/null", O_RDWR)) != -1);
	ATF_REQUIRE_EQ(imsg_send(&p->a, MSG_SFD, 7, fd, &m), 0);
	ATF_REQUIRE_EQ(getrlimit(RLIMIT_NOFILE, &rl), 0);
	/* The lowest free number is above what is allowed. */
	ATF_REQUIRE((fd = dup(0)) != -1);
	close(fd);
	low = rl;
	low.rlim_cur = (rlim_t)fd;
	ATF_REQUIRE_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
	why = heard(&p->b, msg);
	ATF_REQUIRE_EQ(setrlimit(RLIMIT_NOFILE, &rl), 0);
	return (why);
}

ATF_TC_WITHOUT_HEAD(no_room_for_a_descriptor);
ATF_TC_BODY(no_room_for_a_descriptor, tc)
{
	struct m_SFD	m = { .session = "s", .kind = "ro" };
	struct pair	p;
	struct msg	msg;
	const char	*why;
	int		fd;

	pair_make(&p, ROLE_SBXD, ROLE_NETD);
	why = cut_off(&p, &msg);
	ATF_REQUIRE(why != NULL);
	ATF_REQUIRE_STREQ(why, "no room for a descriptor");
	pair_clear(&p);
	/* Who can do without it hears the message, and the next one's own. */
	pair_make(&p, ROLE_SBXD, ROLE_NETD);
	p.b.lossy = true;
	ATF_REQUIRE(cut_off(&p, &msg) == NULL);
	ATF_REQUIRE(msg.lost && msg.fd == -1 && msg.id == 7);
	msg_free(&msg);
	ATF_REQUIRE((fd = open("/dev/null", O_RDWR)) != -1);
	ATF_REQUIRE_EQ(imsg_send(&p.a, MSG_SFD, 8, fd, &m), 0);
	ATF_REQUIRE(heard(&p.b, &msg) == NULL);
	ATF_REQUIRE(!msg.lost && msg.fd != -1 && msg.id == 8);
	msg_free(&msg);
	pair_clear(&p);
}

/* More descriptors than may wait: one each with frames that never end. */
ATF_TC_WITHOUT_HEAD(descriptor_queue);
ATF_TC_BODY(descriptor_queue, tc)
{
	struct pair	p;
	struct msg	msg;
	struct frame	f = { .type = MSG_SFD, .len = LIMIT_SMALL,
			    .mark = true, .nfds = 1 };
	const char	*why = NULL;
	int		i, fds = open_fds(), r = 0;

	pair_make(&p, ROLE_SBXD, ROLE_NETD);
	for (i = 0; i <= LIMIT_FDQUEUE && r != -1; i++) {
		scripted_frame(p.a.fd, &f);
		if (imsg_read(&p.b) == -1) {
			ATF_REQUIRE_EQ(errno, EBADMSG);
			break;
		}
		r = imsg_next(&p.b, &msg, &why);
		ATF_REQUIRE_EQ(r, 0);
	}
	ATF_REQUIRE_EQ(i, LIMIT_FDQUEUE);
	pair_clear(&p);
	ATF_REQUIRE_EQ(open_fds(), fds);
}

ATF_TC_WITHOUT_HEAD(lengths);
ATF_TC_BODY(lengths, tc)
{
	static const uint32_t	bad[] = {
		1, 15, LIMIT_FRAME + 1, 0x7fffffff
	};
	struct pair		p;
	struct msg		msg;
	struct frame		f = { .type = MSG_NETEND };
	const struct proto_row	*row;
	enum role		from, to;
	const char		*why;
	uint32_t		type;
	size_t			i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f.len = bad[i];
		refused(&f, "a length out of bounds");
	}
	/* Each row's own limit, told from the header alone. */
	for (type = MSG_INVALID + 1; type < MSG_COUNT; type++) {
		row = proto_row(type);
		if (row->max >= LIMIT_FRAME - sizeof(struct imsg_hdr))
			continue;
		roles_of(type, &from, &to);
		pair_make(&p, from, to);
		f.type = type;
		f.mark = row->fd == FD_ONE;
		f.nfds = f.mark;
		f.len = (uint32_t)sizeof(struct imsg_hdr) + row->max + 1;
		scripted_frame(p.a.fd, &f);
		why = heard(&p.b, &msg);
		ATF_REQUIRE(why != NULL);
		ATF_REQUIRE_STREQ(why, "a body above its limit");
		pair_clear(&p);
	}
}

/* From whom to whom: all that the list does not allow. */
ATF_TC_WITHOUT_HEAD(directions);
ATF_TC_BODY(directions, tc)
{
	struct frame	f = { .body = "\x80", .bodylen = 1 };
	struct pair	p;
	struct msg	msg;
	unsigned int	from, to;
	const char	*why;

	for (f.type = MSG_INVALID + 1; f.type < MSG_COUNT; f.type++)
		for (from = 1; from & ROLE_ANY; from <<= 1)
			for (to = 1; to & ROLE_ANY; to <<= 1) {
				if (proto_may(f.type, (enum role)from,
				    (enum role)to))
					continue;
				pair_make(&p, (enum role)from,
				    (enum role)to);
				ATF_REQUIRE_EQ(imsg_compose(&p.a, f.type, 0,
				    -1, ""), -1);
				ATF_REQUIRE_EQ(errno, EINVAL);
				ATF_REQUIRE_EQ(p.a.queued, 0);
				scripted_frame(p.a.fd, &f);
				why = heard(&p.b, &msg);
				if (why == NULL || strcmp(why, "a message "
				    "that this peer may not send") != 0)
					atf_tc_fail("%s from %s to %s",
					    proto_name(f.type),
					    role_name((enum role)from),
					    role_name((enum role)to));
				pair_clear(&p);
			}
}

ATF_TC_WITHOUT_HEAD(unknown_messages);
ATF_TC_BODY(unknown_messages, tc)
{
	struct frame	f = { .body = "\x80", .bodylen = 1 };

	refused(&f, "an unknown message");
	f.type = MSG_COUNT;
	refused(&f, "an unknown message");
	f.type = UINT32_MAX;
	refused(&f, "an unknown message");
}

/* Only from a client, who may be newer, are unknown keys let through. */
ATF_TC_WITHOUT_HEAD(unknown_keys);
ATF_TC_BODY(unknown_keys, tc)
{
	static const char	body[] = "\x82\xa7session\xa1s\xa3new\x01";
	struct frame		f = { .type = MSG_SHOW, .body = body,
				    .bodylen = sizeof(body) - 1 };
	struct pair		p;
	struct msg		msg;

	pair_make(&p, ROLE_CLIENT, ROLE_SBXD);
	scripted_frame(p.a.fd, &f);
	ATF_REQUIRE(heard(&p.b, &msg) == NULL);
	ATF_REQUIRE_STREQ(((const struct m_SID *)msg.body)->session, "s");
	msg_free(&msg);
	pair_clear(&p);
	f.type = MSG_NETEND;
	refused(&f, "unknown key");
}

ATF_TC_WITHOUT_HEAD(compose_refuses);
ATF_TC_BODY(compose_refuses, tc)
{
	struct pair	p;
	struct m_SFD	m = { .session = "s", .kind = "ro" };
	struct m_ERROR	e = { .code = "c", .message = NULL };
	int		fd, fds;

	pair_make(&p, ROLE_SBXD, ROLE_NETD);
	fds = open_fds();
	ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_SFD, 0, -1, &m), -1);
	ATF_REQUIRE_EQ(errno, EINVAL);
	ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_SFD, 0, dup(0), NULL), -1);
	ATF_REQUIRE_EQ(errno, EINVAL);
	ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_NETEND, 0, dup(0), &m), -1);
	ATF_REQUIRE_EQ(errno, EINVAL);
	ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_COUNT, 0, -1, &m), -1);
	ATF_REQUIRE_EQ(errno, EINVAL);
	ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_ERROR, 0, -1, &e), -1);
	ATF_REQUIRE_EQ(errno, EINVAL);
	m.kind = "a kind that is longer than sixteen";
	ATF_REQUIRE((fd = dup(0)) != -1);
	ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_SFD, 0, fd, &m), -1);
	ATF_REQUIRE_EQ(errno, EINVAL);
	/* A descriptor is taken over also where it could not be sent. */
	ATF_REQUIRE_EQ(open_fds(), fds);
	ATF_REQUIRE_EQ(p.a.queued, 0);
	pair_clear(&p);
}

/* Nobody reads: it waits in order, then goes on where it stopped. */
ATF_TC_WITHOUT_HEAD(full_socket);
ATF_TC_BODY(full_socket, tc)
{
	static uint8_t	 data[LIMIT_CHUNK];
	struct m_DATA	 m = { .n = 1, .d = { data, sizeof(data) } };
	struct pair	 p;
	struct msg	 msg;
	const char	*why;
	uint32_t	 n, i;

	pair_make(&p, ROLE_WORKER, ROLE_CLIENT);
	for (n = 0; n < 1000; n++) {
		memset(data, (int)n, sizeof(data));
		ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_DATA, n, -1, &m), 0);
		if (imsg_flush(&p.a) == 0)
			break;
	}
	ATF_REQUIRE(n < 1000 && p.a.queued > 0);
	for (i = n + 1; i < n + 100; i++) {
		memset(data, (int)i, sizeof(data));
		ATF_REQUIRE_EQ(imsg_compose(&p.a, MSG_DATA, i, -1, &m), 0);
	}
	for (i = 0; i < n + 100; i++) {
		while (imsg_next(&p.b, &msg, &why) == 0) {
			ATF_REQUIRE(imsg_flush(&p.a) != -1);
			ATF_REQUIRE(imsg_read(&p.b) > 0);
		}
		ATF_REQUIRE_EQ(msg.id, i);
		memset(data, (int)i, sizeof(data));
		ATF_REQUIRE(memcmp(((const struct m_DATA *)msg.body)->d.p,
		    data, sizeof(data)) == 0);
		msg_free(&msg);
	}
	ATF_REQUIRE_EQ(imsg_flush(&p.a), 1);
	ATF_REQUIRE_EQ(p.a.queued, 0);
	pair_clear(&p);
}

ATF_TC_WITHOUT_HEAD(receive_ends);
ATF_TC_BODY(receive_ends, tc)
{
	struct pair	 p;
	struct msg	 msg;
	const char	*why;

	pair_make(&p, ROLE_SBXD, ROLE_NETD);
	ATF_REQUIRE_EQ(imsg_recv(&p.b, &msg, 50, &why), -1);
	ATF_REQUIRE_EQ(errno, ETIMEDOUT);
	ATF_REQUIRE_EQ(imsg_send(&p.a, MSG_PROBE, 1, -1, NULL), 0);
	ATF_REQUIRE_EQ(shutdown(p.a.fd, SHUT_WR), 0);
	ATF_REQUIRE_EQ(imsg_recv(&p.b, &msg, 50, &why), 1);
	msg_free(&msg);
	ATF_REQUIRE_EQ(imsg_recv(&p.b, &msg, 50, &why), 0);
	imsg_clear(&p.b);
	ATF_REQUIRE_EQ(imsg_send(&p.a, MSG_PROBE, 1, -1, NULL), -1);
	ATF_REQUIRE_EQ(errno, EPIPE);
	imsg_clear(&p.a);
	/* The end in the middle of something is no plain end. */
	pair_make(&p, ROLE_SBXD, ROLE_NETD);
	scripted_raw(p.a.fd, "\1\0\0\0", 4);
	ATF_REQUIRE_EQ(shutdown(p.a.fd, SHUT_WR), 0);
	ATF_REQUIRE_EQ(imsg_recv(&p.b, &msg, 50, &why), -1);
	ATF_REQUIRE_EQ(errno, EBADMSG);
	pair_clear(&p);
}

ATF_TP_ADD_TCS(tp)
{
	ATF_TP_ADD_TC(tp, byte_by_byte);
	ATF_TP_ADD_TC(tp, several_a_read);
	ATF_TP_ADD_TC(tp, descriptors_in_order);
	ATF_TP_ADD_TC(tp, descriptor_marks);
	ATF_TP_ADD_TC(tp, no_room_for_a_descriptor);
	ATF_TP_ADD_TC(tp, descriptor_queue);
	ATF_TP_ADD_TC(tp, lengths);
	ATF_TP_ADD_TC(tp, directions);
	ATF_TP_ADD_TC(tp, unknown_messages);
	ATF_TP_ADD_TC(tp, unknown_keys);
	ATF_TP_ADD_TC(tp, compose_refuses);
	ATF_TP_ADD_TC(tp, full_socket);
	ATF_TP_ADD_TC(tp, receive_ends);
	return (atf_no_error());
}
