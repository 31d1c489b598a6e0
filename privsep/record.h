/*
 * A session's record, as it lies on disk: one msgpack map by the same field
 * tables as the messages. It freezes what the session was given, and keeps
 * the evidence by which a restarted suite is to know its processes again: not
 * yet used, since a session ends with its suite.
 */
#ifndef PRIVSEP_RECORD_H
#define PRIVSEP_RECORD_H

#include "../common/fields.h"
#include "../common/proto.h"

#define RECORD_VERSION	1

#define PROTO_FIELDS_RECORD(F)						\
	F(U64,  version, REQ, 0)					\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(U64,  generation, REQ, 0)	/* counted up by each start */	\
	F(STR,  boot, REQ, 64)		/* kernel's boot id */		\
	F(STR,  name, OPT, LIMIT_NAME)					\
	F(STR,  state, REQ, 16)						\
	F(STR,  owner, REQ, LIMIT_NAME)					\
	F(STR,  user, REQ, 64)						\
	F(U64,  uid, REQ, 0)						\
	F(U64,  gid, REQ, 0)						\
	F(U64V, groups, OPT, LIMIT_GROUPS)				\
	F(U64,  peer, REQ, 0)		/* uid of the client */		\
	F(PATH, project, REQ, LIMIT_PATH)				\
	F(PATHV, more, OPT, LIMIT_ROOTS) /* roots beside project */	\
	F(PATH, home, REQ, LIMIT_PATH)					\
	F(PATH, cwd, REQ, LIMIT_PATH)					\
	F(STRV, argv, REQ, LIMIT_ARGC)					\
	F(STRV, env, REQ, LIMIT_ARGC)					\
	F(PATHV, hide, OPT, LIMIT_PATHS)				\
	F(PATHV, ro, OPT, LIMIT_PATHS)					\
	F(STR,  network, REQ, 8)					\
	F(BOOL, tty, REQ, 0)						\
	F(MAYBE, umask, OPT, 0)						\
	F(U64,  created, REQ, 0)	/* seconds since 1970 */	\
	F(U64,  t0, REQ, 0)		/* nanoseconds since 1970 */	\
	F(U64,  ended, OPT, 0)						\
	F(BOOL, exited, OPT, 0)						\
	F(U64,  status, OPT, 0)						\
	F(U64,  signal, OPT, 0)						\
	F(U64,  ms, OPT, 0)						\
	F(STR,  reason, OPT, LIMIT_MESSAGE)				\
	F(STRV, notes, OPT, LIMIT_NOTES)				\
	F(U64,  dev, OPT, 0)		/* the project's */		\
	F(U64,  ino, OPT, 0)						\
	F(U64V, devs, OPT, LIMIT_ROOTS)	/* more's, in its order */	\
	F(U64V, inos, OPT, LIMIT_ROOTS)					\
	F(U64,  init, OPT, 0)		/* pid, and its pidfd's inode */ \
	F(U64,  initfd, OPT, 0)						\
	F(U64,  worker, OPT, 0)						\
	F(U64,  workerfd, OPT, 0)					\
	F(U64V, ns, OPT, 8)	/* inodes: pid user mnt net cgroup */	\
	F(STRV, missing, OPT, LIMIT_NOTES)				\
	F(BOOL, outside, OPT, 0)	/* as it ended: STRAYED */

struct m_RECORD { PROTO_FIELDS_RECORD(PROTO_MEMBER) };

/* A record in memory: its strings are the zone's. A suite has one of each
 * session that it keeps, so nothing else is. */
struct record {
	struct m_RECORD		 r;
	struct msgpack_zone	*zone;
	size_t			 len;	/* as it is written */
};

/* Copies all that from points to; -1 errno. record_free afterwards. */
int	record_copy(struct record *, const struct m_RECORD *from);
void	record_free(struct record *);
/* A string that lives as long as the record; NULL: memory. */
const char *record_string(struct record *, const char *);
/* Whole old or whole new: temporary file, rename. */
int	record_save(const struct record *, int dir);
/* -1 with a reason in *why. */
int	record_load(struct record *, int dir, const char **why);

#endif
