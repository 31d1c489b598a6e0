/*
 * A helper as the real program with a hostile peer: what every one of them
 * must refuse, made from the list in proto.h. Each case says how the helper
 * comes up and what it may then be told; the rest is generated.
 *
 *	static void
 *	up(struct test_helper *h)
 *	{
 *		scripted_up(h, "netd", ROLE_NETD);
 *	}
 *	static const uint32_t may[] = { MSG_NET, MSG_SFD, MSG_NETEND, 0 };
 *	static const struct scripted netd = { .up = up, .may = may };
 *
 *	ATF_TC_BODY(forbidden, tc) { scripted_forbidden(&netd); }
 */
#ifndef REGRESS_SCRIPTED_H
#define REGRESS_SCRIPTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "test.h"

/* Whom the suite's roles run as in tests: SCRIPTED_UID + UID_x, with a group
 * of another number. */
#define SCRIPTED_UID	64100
#define SCRIPTED_GID	64120

struct scripted {
	/* From exec to the helper's loop; a fresh one for each attempt. */
	void		(*up)(struct test_helper *);
	/* After the attempt, if something else than the socket is to go. */
	void		(*down)(struct test_helper *);
	const uint32_t	*may;		/* messages it takes then, 0-ended */
	const char	*children;	/* its log's name, where programs that
					 * it starts may log a line, too */
	bool		 drops;		/* it goes on without the peer: lives,
					 * and only closes the socket */
};

/* Makes the folders <scratch>/state, s, sbxd, landd with their owners, once,
 * and gives SUITE's values (state, libexec, uids; no cgroup). */
void	scripted_suite(struct m_SUITE *);
/* HELLO, SUITE, READY: netd, mountd. (spawn and landd also want CHANNEL.) */
void	scripted_up(struct test_helper *, const char *name, enum role);
/* Executes it with fd 3 and, if n is 2, a second socketpair as fd 4, whose
 * other end is the answer (else -1). No HELLO. */
int	scripted_exec(struct test_helper *, const char *name, enum role helper,
	    enum role self, int n);
/* If set, runs in the child before scripted_exec's exec; -1 ends it. */
extern int	(*scripted_setup)(void);
/* SUITE and, with it, CHANNEL; gives our end of the channel. */
int	scripted_channel(struct test_helper *);

/* A frame as broken as one wants: raw bytes to the helper's fd 3. */
struct frame {
	uint32_t	 type, id;
	uint32_t	 len;		/* in the header; 0: the true one */
	bool		 mark;		/* "a descriptor comes with it" */
	int		 nfds;		/* so many of /dev/null's come along */
	const void	*body;
	size_t		 bodylen;
	size_t		 cut;		/* so many bytes at the end stay away */
};
void	scripted_frame(int fd, const struct frame *);
void	scripted_raw(int fd, const void *, size_t);
/* A frame of this type with a random valid body and its descriptor. */
void	scripted_valid(int fd, uint32_t type);

/* The helper must be gone, by exit status 1 and exactly one line (or, where
 * it drops, have closed the socket); what: for the failure's text. */
void	scripted_refused(const struct scripted *, struct test_helper *,
	    const char *what);

/* The generated cases. */
void	scripted_forbidden(const struct scripted *);
void	scripted_garbage(const struct scripted *);
void	scripted_broken_frames(const struct scripted *);
void	scripted_descriptors(const struct scripted *);
/* Plain end of file: ends with status 0 and no line. */
void	scripted_eof(const struct scripted *);

#endif
