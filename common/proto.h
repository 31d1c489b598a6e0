/*
 * Every message of the suite, once: its number and name, who may send it to
 * whom, whether a descriptor comes with it, its largest body, and its fields.
 * The enum, the structs, the packer's and the reader's tables, the permission
 * check, the round-trip test and the fuzz seeds all come from this list.
 *
 * A new message is a row in PROTO_MESSAGES, a PROTO_FIELDS_<NAME> list, the
 * sender's call and one handler with its line in the receiver's table.
 */
#ifndef COMMON_PROTO_H
#define COMMON_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "limits.h"

#define PROTO_VERSION	1
#define PROTO_MINOR	0

/* Roles are bits: a row's sender and receiver are sets of them. */
enum role {
	ROLE_CLIENT	= 1 << 0,
	ROLE_SBXD	= 1 << 1,
	ROLE_SPAWN	= 1 << 2,
	ROLE_NETD	= 1 << 3,
	ROLE_MOUNTD	= 1 << 4,
	ROLE_LANDD	= 1 << 5,
	ROLE_LAND	= 1 << 6,
	ROLE_WORKER	= 1 << 7,
	ROLE_INIT	= 1 << 8,
	ROLE_CONF	= 1 << 9,
};
#define ROLE_HELPERS	(ROLE_SPAWN | ROLE_NETD | ROLE_MOUNTD | ROLE_LANDD)
#define ROLE_ANY	0x3ff

/* Values of decoded fields. All memory belongs to the message's zone. */
struct blob {
	const uint8_t	*p;
	size_t		 len;
};
struct strv {		/* v[n] is NULL, so v is an argv as it stands */
	size_t		  n;
	const char	**v;
};
struct u64v {
	size_t		 n;
	uint64_t	*v;
};
struct maybe {		/* a number of which 0 is one like any other */
	bool		 said;
	uint64_t	 v;
};

/*
 * A field is F(type, name, need, max). Types, with their form on the wire:
 *   U64 I64 BOOL   integers and a boolean
 *   MAYBE          an integer, OPT only: that it is absent is kept
 *   STR            str, valid UTF-8, no NUL, at most max bytes
 *   PATH           bin, no NUL, 1 to max bytes (max is below PATH_MAX)
 *   BIN            bin, at most max bytes
 *   STRV           array of bin without NUL, at most max elements
 *   PATHV          the same, of at most LIMIT_PATH bytes each
 *   U64V           array of integers, at most max elements
 * need is REQ or OPT; an absent optional field decodes as 0, false or NULL.
 */
#define PROTO_FIELDS_NONE(F)
#include "proto_land.h"
#include "proto_life.h"

#define PROTO_FIELDS_HELLO(F)						\
	F(U64,  protocol, REQ, 0)					\
	F(U64,  minor, REQ, 0)						\
	F(STR,  build, REQ, 64)						\
	F(STR,  role, REQ, 16)

#define PROTO_FIELDS_ERROR(F)						\
	F(STR,  code, REQ, 64)		/* stable dotted word */	\
	F(STR,  message, REQ, LIMIT_MESSAGE)				\
	F(STR,  at, OPT, LIMIT_MESSAGE)					\
	F(STR,  hint, OPT, LIMIT_MESSAGE)

/* A request above one frame: its body in numbered pieces. */
#define PROTO_FIELDS_PART(F)						\
	F(U64,  type, REQ, 0)						\
	F(U64,  n, REQ, 0)						\
	F(BOOL, last, REQ, 0)						\
	F(BIN,  data, REQ, LIMIT_CHUNK)

/* What a helper is told once, while sbxd is still root. */
#define PROTO_FIELDS_SUITE(F)						\
	F(PATH, state, REQ, LIMIT_PATH)					\
	F(PATH, libexec, REQ, LIMIT_PATH)				\
	F(PATH, cgroup, OPT, LIMIT_PATH)  /* the folder F, absent: none */ \
	F(U64V, uids, REQ, 16)		/* by enum suite_uid */		\
	F(U64V, gids, REQ, 16)						\
	F(PATH, conf, OPT, LIMIT_PATH)					\
	F(BOOL, spares, OPT, 0)	/* the next start is prepared for */	\
	F(PATH, runtime, OPT, LIMIT_PATH) /* hidden as the state is: the \
					   * folder of a user's socket */ \
	F(BOOL, bare, OPT, 0)	/* that one lies where sessions look */

#define PROTO_FIELDS_SID(F)						\
	F(STR,  session, REQ, LIMIT_SID)

/* client -> sbxd */
#define PROTO_FIELDS_NEW(F)						\
	F(STRV, argv, REQ, LIMIT_ARGC)					\
	F(STRV, env, REQ, LIMIT_ARGC)					\
	F(PATH, cwd, REQ, LIMIT_PATH)					\
	F(PATH, project, REQ, LIMIT_PATH)				\
	F(PATHV, more, OPT, LIMIT_ROOTS) /* roots beside project */	\
	F(PATH, home, REQ, LIMIT_PATH)					\
	F(STR,  user, REQ, 64)						\
	F(STR,  name, OPT, LIMIT_NAME)					\
	F(PATHV, hide, OPT, LIMIT_PATHS)				\
	F(PATHV, ro, OPT, LIMIT_PATHS)					\
	F(STR,  network, REQ, 8)	/* "host" or "none" */		\
	F(BOOL, tty, REQ, 0)						\
	F(U64,  rows, OPT, 0)						\
	F(U64,  cols, OPT, 0)						\
	F(BOOL, attach, REQ, 0)	/* the connection becomes the terminal */ \
	F(BOOL, as, OPT, 0)		/* run as uid, gid, groups: root's */ \
	F(U64,  uid, OPT, 0)						\
	F(U64,  gid, OPT, 0)						\
	F(U64V, groups, OPT, LIMIT_GROUPS)				\
	F(MAYBE, umask, OPT, 0)		/* absent: 022 */

/* remove: a session that has changed nothing goes, and is answered as "removed"
 * when that is known, though the kernel may be at its mounts still. */
#define PROTO_FIELDS_WAIT(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(BOOL, remove, OPT, 0)

#define PROTO_FIELDS_REMOVE(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(BOOL, discard, REQ, 0)

/* root: the one that is reviewed or landed; absent: of a session that has no
 * other one. */
#define PROTO_FIELDS_CHANGES(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(PATH, root, OPT, LIMIT_PATH)

#define PROTO_FIELDS_PATCH(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(PATH, root, OPT, LIMIT_PATH)					\
	F(BIN,  digest, OPT, LIMIT_DIGEST)

#define PROTO_FIELDS_APPLY(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(PATH, root, OPT, LIMIT_PATH)					\
	F(BIN,  digest, OPT, LIMIT_DIGEST) /* absent: what is computed now */ \
	F(STR,  actor, OPT, LIMIT_NAME)

#define PROTO_FIELDS_DISCARD(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(PATH, root, OPT, LIMIT_PATH)					\
	F(PATHV, paths, OPT, LIMIT_PATHS) /* below the root; none: all */ \
	F(STR,  actor, OPT, LIMIT_NAME)

/* sbxd -> client: a session as LIST, SHOW, WAIT and NEW answer it */
#define PROTO_FIELDS_SESSION(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(STR,  name, OPT, LIMIT_NAME)					\
	F(STR,  state, REQ, 16)	/* starting running ending ended failed	\
				   removed */				\
	F(STR,  owner, REQ, LIMIT_NAME)	/* "uid:N" without a bot */	\
	F(STR,  user, REQ, 64)						\
	F(U64,  uid, REQ, 0)						\
	F(PATH, project, REQ, LIMIT_PATH)				\
	F(PATHV, more, OPT, LIMIT_ROOTS) /* roots beside project */	\
	F(PATH, home, REQ, LIMIT_PATH)					\
	F(PATH, cwd, REQ, LIMIT_PATH)					\
	F(STRV, argv, REQ, LIMIT_ARGC)					\
	F(PATHV, hide, OPT, LIMIT_PATHS)				\
	F(PATHV, ro, OPT, LIMIT_PATHS)					\
	F(STR,  network, REQ, 8)					\
	F(U64,  created, REQ, 0)	/* seconds since 1970 */	\
	F(U64,  ended, OPT, 0)						\
	F(BOOL, exited, OPT, 0)	/* status is there */		\
	F(U64,  status, OPT, 0)		/* exit code, 128+n by signal n */ \
	F(U64,  signal, OPT, 0)		/* 0: it has exited */		\
	F(U64,  ms, OPT, 0)		/* from exec to the end */	\
	F(STR,  reason, OPT, LIMIT_MESSAGE) /* why it failed or was ended */ \
	F(STRV, notes, OPT, LIMIT_NOTES)				\
	F(STRV, missing, OPT, LIMIT_NOTES) /* what the machine has not */ \
	F(BOOL, outside, OPT, 0)	/* ended: it wrote outside its roots */

/* sbxd -> spawn; with START comes the worker's end, with PEER the client */
#define PROTO_FIELDS_START(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(U64,  generation, REQ, 0)					\
	F(U64,  uid, REQ, 0)						\
	F(U64,  gid, REQ, 0)						\
	F(U64V, groups, OPT, LIMIT_GROUPS)				\
	F(STR,  network, REQ, 8)

#define PROTO_FIELDS_STARTED(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(U64,  init, REQ, 0)		/* pids, as spawn sees them */	\
	F(U64,  worker, REQ, 0)

/* A descriptor of a session's, by kind: what it is, and its place in a list.
 * kinds: pidns userns mntns netns cgroupns pidfd | home project ro route nft
 *        tree | clone-project clone-home clone-root (one is kept by mountd,
 *        one by the worker)
 * init sends route and nft, then ro in rising n without those that the user
 * cannot open, then home, and project last, a root each in rising n: no more
 * ro comes after it. A clone's n is twice its root's, and one more for the
 * worker's. */
#define PROTO_FIELDS_SFD(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(STR,  kind, REQ, 16)						\
	F(U64,  n, OPT, 0)

#define PROTO_FIELDS_SENDED(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(U64,  status, REQ, 0)		/* wait status of init */

/* sbxd -> mountd */
#define PROTO_FIELDS_PREP(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(U64,  uid, REQ, 0)						\
	F(U64,  gid, REQ, 0)						\
	F(PATH, home, REQ, LIMIT_PATH)					\
	F(PATH, project, REQ, LIMIT_PATH)				\
	F(PATHV, more, OPT, LIMIT_ROOTS) /* roots beside project */	\
	F(PATHV, hide, OPT, LIMIT_PATHS)				\
	F(PATHV, ro, OPT, LIMIT_PATHS)					\
	F(STRV, argv, OPT, LIMIT_ARGC)	/* for executables below /run */ \
	F(BOOL, again, OPT, 0)	/* a resume: the layer has to be there, */ \
	F(U64V, devs, OPT, LIMIT_ROOTS)	/* and the roots these folders */ \
	F(U64V, inos, OPT, LIMIT_ROOTS)					\
	F(U64V, groups, OPT, LIMIT_GROUPS)				\
	F(BOOL, byroot, OPT, 0)	/* root asked: hidden links are followed */

#define PROTO_FIELDS_MOUNTED(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(U64V, devs, REQ, LIMIT_ROOTS)	/* the roots', st_dev, st_ino */ \
	F(U64V, inos, REQ, LIMIT_ROOTS)					\
	F(STRV, notes, OPT, LIMIT_NOTES)				\
	F(PATHV, hide, OPT, LIMIT_PATHS) /* canonical, as masked */	\
	F(STRV, missing, OPT, LIMIT_NOTES) /* of the boundary, here */

/* A review of one root of a session's, which is called project from here on:
 * comes with it as land opened it. The header's peerid is the job. Answered
 * by LFD view, layer, stage; VIEWED. */
#define PROTO_FIELDS_VIEW(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(BOOL, live, REQ, 0)						\
	F(U64,  uid, REQ, 0)						\
	F(U64,  gid, REQ, 0)						\
	F(PATH, home, REQ, LIMIT_PATH)					\
	F(PATH, project, REQ, LIMIT_PATH)				\
	F(PATHV, hide, OPT, LIMIT_PATHS)				\
	F(BOOL, discard, OPT, 0)	/* even without a list of copies */ \
	F(PATH, git, OPT, LIMIT_PATH)	/* as land's LFD says */

/* Take entries out of the layer of a root. After a landing their bytes
 * are the real ones; for a discard the real ones are what must show. */
#define PROTO_FIELDS_CLEAN(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(PATH, project, REQ, LIMIT_PATH)				\
	F(BOOL, live, REQ, 0)						\
	F(BOOL, discard, REQ, 0)					\
	F(PATHV, paths, REQ, LIMIT_PATHS) /* below the project; "": all, for \
					  * a discard */		\
	F(PATHV, hide, OPT, LIMIT_PATHS) /* stopped: as for VIEW */

/* sbxd -> netd */
#define PROTO_FIELDS_NET(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(STR,  network, REQ, 8)

/* sbxd -> worker -> init */
#define PROTO_FIELDS_SETUP(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(STRV, argv, REQ, LIMIT_ARGC)					\
	F(STRV, env, REQ, LIMIT_ARGC)					\
	F(PATH, cwd, REQ, LIMIT_PATH)					\
	F(PATH, home, REQ, LIMIT_PATH)					\
	F(PATH, project, REQ, LIMIT_PATH)				\
	F(PATHV, more, OPT, LIMIT_ROOTS) /* roots beside project */	\
	F(PATHV, ro, OPT, LIMIT_PATHS)					\
	F(STR,  network, REQ, 8)					\
	F(BOOL, tty, REQ, 0)						\
	F(U64,  rows, OPT, 0)						\
	F(U64,  cols, OPT, 0)						\
	F(MAYBE, umask, OPT, 0)		/* absent: 022 */

/* init -> worker: terminal (n 0) or the command's pipes (n 0, 1, 2) */
#define PROTO_FIELDS_PTY(F)						\
	F(BOOL, tty, REQ, 0)						\
	F(U64,  n, REQ, 0)

#define PROTO_FIELDS_RUNNING(F)						\
	F(U64,  pid, OPT, 0)

#define PROTO_FIELDS_EXITED(F)						\
	F(U64,  status, REQ, 0)		/* exit code, 128+n by signal n */ \
	F(U64,  ms, REQ, 0)		/* from exec to the end */	\
	F(U64,  signal, OPT, 0)		/* 0: it has exited */

#define PROTO_FIELDS_DATA(F)						\
	F(U64,  n, REQ, 0)		/* 0 in, 1 out or terminal, 2 err */ \
	F(BIN,  d, REQ, LIMIT_CHUNK)

#define PROTO_FIELDS_RESIZE(F)						\
	F(U64,  rows, REQ, 0)						\
	F(U64,  cols, REQ, 0)

#define PROTO_FIELDS_SIGNAL(F)						\
	F(U64,  sig, REQ, 0)

/* spawn -> landd, on their own channel: who a session runs as */
#define PROTO_FIELDS_WORD(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(U64,  uid, REQ, 0)						\
	F(U64,  gid, REQ, 0)						\
	F(U64V, groups, OPT, LIMIT_GROUPS)

/* landd -> spawn: start land as that user; comes with land's fd 3.
 * The peerid is the job. */
#define PROTO_FIELDS_CHILD(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(U64,  uid, REQ, 0)						\
	F(U64,  gid, REQ, 0)						\
	F(U64V, groups, OPT, LIMIT_GROUPS)

#define PROTO_FIELDS_STATUS(F)						\
	F(U64,  status, REQ, 0)

#define PROTO_FIELDS_TEXT(F)						\
	F(STR,  level, REQ, 8)		/* ok warn fail */		\
	F(STR,  what, REQ, 64)						\
	F(STR,  text, REQ, LIMIT_MESSAGE)

/* conf -> sbxd: one setting */
#define PROTO_FIELDS_SETTING(F)						\
	F(STR,  key, REQ, 64)						\
	F(BIN,  value, REQ, LIMIT_PATH)

/*
 * X(name, fields, from, to, descriptor, largest body). Descriptor: FD_NONE,
 * FD_ONE. The numbers are of the protocol: append, never reorder.
 */
#define FD_NONE	0
#define FD_ONE	1

#define PROTO_MESSAGES(X)						\
X(HELLO,    HELLO,   ROLE_ANY, ROLE_ANY, FD_NONE, LIMIT_SMALL)		\
X(READY,    NONE,    ROLE_HELPERS | ROLE_CONF, ROLE_SBXD, FD_NONE, LIMIT_SMALL) \
X(ERROR,    ERROR,   ROLE_ANY, ROLE_ANY, FD_NONE, LIMIT_FRAME)		\
X(OK,       NONE,    ROLE_ANY, ROLE_ANY, FD_NONE, LIMIT_SMALL)		\
X(END,      NONE,    ROLE_ANY, ROLE_ANY, FD_NONE, LIMIT_SMALL)		\
X(PART,     PART,    ROLE_ANY, ROLE_ANY, FD_NONE, LIMIT_FRAME)		\
X(SUITE,    SUITE,   ROLE_SBXD, ROLE_HELPERS | ROLE_CONF, FD_NONE, LIMIT_FRAME) \
X(SETTING,  SETTING, ROLE_CONF, ROLE_SBXD, FD_NONE, LIMIT_FRAME)		\
X(CHANNEL,  NONE,    ROLE_SBXD | ROLE_SPAWN, ROLE_SPAWN | ROLE_LANDD | ROLE_WORKER, FD_ONE, LIMIT_SMALL) \
									\
X(NEW,      NEW,     ROLE_CLIENT, ROLE_SBXD, FD_NONE, LIMIT_LARGE)	\
X(LIST,     NONE,    ROLE_CLIENT, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(SHOW,     SID,     ROLE_CLIENT, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(WAIT,     WAIT,    ROLE_CLIENT, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(REMOVE,   REMOVE,  ROLE_CLIENT, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(CHANGES,  CHANGES, ROLE_CLIENT, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(PATCH,    PATCH,   ROLE_CLIENT, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(APPLY,    APPLY,   ROLE_CLIENT, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(DISCARD,  DISCARD, ROLE_CLIENT, ROLE_SBXD, FD_NONE, LIMIT_LARGE)	\
X(DOCTOR,   NONE,    ROLE_CLIENT, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(SESSION,  SESSION, ROLE_SBXD, ROLE_CLIENT, FD_NONE, LIMIT_LARGE)	\
X(TEXT,     TEXT,    ROLE_SBXD | ROLE_HELPERS, ROLE_CLIENT | ROLE_SBXD, FD_NONE, LIMIT_FRAME) \
									\
X(PEER,     SID,     ROLE_SBXD, ROLE_SPAWN, FD_ONE, LIMIT_SMALL)	\
X(START,    START,   ROLE_SBXD, ROLE_SPAWN, FD_ONE, LIMIT_FRAME)		\
X(STARTED,  STARTED, ROLE_SPAWN, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(SFD,      SFD,     ROLE_SPAWN | ROLE_SBXD | ROLE_MOUNTD | ROLE_WORKER | ROLE_INIT, \
		     ROLE_SBXD | ROLE_NETD | ROLE_MOUNTD |		\
		     ROLE_WORKER | ROLE_INIT | ROLE_SPAWN,		\
		     FD_ONE, LIMIT_SMALL)				\
X(SENDED,   SENDED,  ROLE_SPAWN, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(KILL,     SID,     ROLE_CLIENT | ROLE_SBXD, ROLE_SBXD | ROLE_SPAWN, FD_NONE, LIMIT_SMALL) \
X(KILLED,   SID,     ROLE_SPAWN, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(FREEZE,   SID,     ROLE_SBXD, ROLE_SPAWN, FD_NONE, LIMIT_SMALL)	\
X(FROZEN,   SID,     ROLE_SPAWN, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(THAW,     SID,     ROLE_SBXD, ROLE_SPAWN, FD_NONE, LIMIT_SMALL)	\
X(THAWED,   SID,     ROLE_SPAWN, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
									\
X(PREP,     PREP,    ROLE_SBXD, ROLE_MOUNTD, FD_NONE, LIMIT_LARGE)	\
X(MOUNTED,  MOUNTED, ROLE_MOUNTD, ROLE_SBXD, FD_NONE, LIMIT_LARGE)	\
X(REFRESH,  SID,     ROLE_SBXD, ROLE_MOUNTD, FD_NONE, LIMIT_SMALL)	\
X(REFRESHED, SID,    ROLE_MOUNTD, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(RELEASE,  SID,     ROLE_SBXD, ROLE_MOUNTD, FD_NONE, LIMIT_SMALL)	\
X(RELEASED, SID,     ROLE_MOUNTD, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(VIEW,     VIEW,    ROLE_SBXD, ROLE_MOUNTD, FD_ONE, LIMIT_FRAME)	\
X(VIEWED,   SID,     ROLE_MOUNTD, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(CLEAN,    CLEAN,   ROLE_SBXD, ROLE_MOUNTD, FD_NONE, LIMIT_LARGE)	\
X(CLEANED,  SID,     ROLE_MOUNTD, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(ERASE,    SID,     ROLE_SBXD, ROLE_MOUNTD, FD_NONE, LIMIT_SMALL)	\
X(ERASED,   SID,     ROLE_MOUNTD, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(PROBE,    NONE,    ROLE_SBXD, ROLE_HELPERS, FD_NONE, LIMIT_SMALL)	\
									\
X(NET,      NET,     ROLE_SBXD, ROLE_NETD, FD_NONE, LIMIT_SMALL)		\
X(NETUP,    SID,     ROLE_NETD, ROLE_SBXD, FD_NONE, LIMIT_SMALL)		\
X(NETEND,   SID,     ROLE_SBXD, ROLE_NETD, FD_NONE, LIMIT_SMALL)		\
									\
X(SETUP,    SETUP,   ROLE_SBXD | ROLE_WORKER, ROLE_WORKER | ROLE_INIT, FD_NONE, LIMIT_LARGE) \
X(LISTEN,   NONE,    ROLE_SBXD, ROLE_WORKER, FD_ONE, LIMIT_SMALL)	\
X(ATTACH,   NONE,    ROLE_SBXD, ROLE_WORKER, FD_ONE, LIMIT_SMALL)	\
X(GO,       NONE,    ROLE_SBXD | ROLE_WORKER, ROLE_WORKER | ROLE_INIT, FD_NONE, LIMIT_SMALL) \
X(PTY,      PTY,     ROLE_INIT, ROLE_WORKER, FD_ONE, LIMIT_SMALL)	\
X(RUNNING,  RUNNING, ROLE_INIT | ROLE_WORKER, ROLE_WORKER | ROLE_SBXD | ROLE_CLIENT, FD_NONE, LIMIT_SMALL) \
X(EXITED,   EXITED,  ROLE_INIT | ROLE_WORKER, ROLE_WORKER | ROLE_SBXD | ROLE_CLIENT, FD_NONE, LIMIT_SMALL) \
X(DATA,     DATA,    ROLE_CLIENT | ROLE_WORKER, ROLE_CLIENT | ROLE_WORKER, FD_NONE, LIMIT_FRAME) \
X(RESIZE,   RESIZE,  ROLE_CLIENT, ROLE_WORKER, FD_NONE, LIMIT_SMALL)	\
X(SIGNAL,   SIGNAL,  ROLE_CLIENT | ROLE_SBXD | ROLE_WORKER, ROLE_WORKER | ROLE_INIT, FD_NONE, LIMIT_SMALL) \
X(EOF,      NONE,    ROLE_CLIENT, ROLE_WORKER, FD_NONE, LIMIT_SMALL)	\
									\
X(WORD,     WORD,    ROLE_SPAWN, ROLE_LANDD, FD_NONE, LIMIT_FRAME)	\
X(CHILD,    CHILD,   ROLE_LANDD, ROLE_SPAWN, FD_ONE, LIMIT_FRAME)	\
X(CHILDEND, STATUS,  ROLE_SPAWN, ROLE_LANDD, FD_NONE, LIMIT_SMALL)	\
X(SEAL,     SEAL,    ROLE_SBXD, ROLE_LANDD, FD_NONE, LIMIT_LARGE)	\
X(SEALED,   SEALED,  ROLE_LANDD, ROLE_SBXD, FD_NONE, LIMIT_FRAME)	\
X(JOB,      JOB,     ROLE_SBXD, ROLE_LANDD, FD_NONE, LIMIT_LARGE)	\
X(JOBEND,   NONE,    ROLE_SBXD, ROLE_LANDD, FD_NONE, LIMIT_SMALL)	\
X(WORK,     WORK,    ROLE_LANDD, ROLE_LAND, FD_NONE, LIMIT_LARGE)	\
X(LFD,      LFD,     ROLE_SBXD | ROLE_MOUNTD | ROLE_LANDD | ROLE_LAND,	\
		     ROLE_SBXD | ROLE_LANDD | ROLE_LAND, FD_ONE, LIMIT_SMALL) \
X(BYTES,    BYTES,   ROLE_LANDD | ROLE_LAND, ROLE_LANDD | ROLE_LAND, FD_NONE, LIMIT_FRAME) \
X(COMMITTED, NONE,   ROLE_LANDD, ROLE_LAND, FD_NONE, LIMIT_SMALL)	\
X(STAGED,   NONE,    ROLE_LANDD | ROLE_LAND, ROLE_SBXD | ROLE_LANDD, FD_NONE, LIMIT_SMALL) \
X(CHANGE,   CHANGE,  ROLE_LAND | ROLE_LANDD | ROLE_SBXD, ROLE_LANDD | ROLE_SBXD | ROLE_CLIENT, FD_NONE, LIMIT_FRAME) \
X(SKIPPED,  SKIPPED, ROLE_LAND | ROLE_LANDD | ROLE_SBXD, ROLE_LANDD | ROLE_SBXD | ROLE_CLIENT, FD_NONE, LIMIT_FRAME) \
X(IGNORED,  IGNORED, ROLE_LAND | ROLE_LANDD | ROLE_SBXD, ROLE_LANDD | ROLE_SBXD | ROLE_CLIENT, FD_NONE, LIMIT_FRAME) \
X(LANDING,  LANDING, ROLE_LAND | ROLE_LANDD | ROLE_SBXD, ROLE_LANDD | ROLE_SBXD | ROLE_CLIENT, FD_NONE, LIMIT_FRAME) \
X(LANDED,   LANDED,  ROLE_LAND | ROLE_LANDD | ROLE_SBXD, ROLE_LANDD | ROLE_SBXD | ROLE_CLIENT, FD_NONE, LIMIT_LARGE) \
X(CHUNK,    CHUNK,   ROLE_SBXD, ROLE_CLIENT, FD_NONE, LIMIT_FRAME)	\
/* before RELEASED, and before MOUNTED of a resume: nothing is in the layer \
 * of any root */							\
X(PRISTINE, SID,     ROLE_MOUNTD, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
/* the connection becomes a terminal of that session's; ATTACH is what hands \
 * it to the worker */							\
X(JOIN,     SID,     ROLE_CLIENT, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(EXEC,     EXEC,    ROLE_CLIENT | ROLE_SBXD | ROLE_WORKER, ROLE_SBXD | ROLE_WORKER | ROLE_INIT, FD_NONE, LIMIT_LARGE) \
X(TURN,     TURN,    ROLE_WORKER, ROLE_CLIENT, FD_NONE, LIMIT_SMALL)	\
X(GAP,      GAP,     ROLE_WORKER, ROLE_CLIENT, FD_NONE, LIMIT_SMALL)	\
									\
/* STOP: HUP and TERM, five seconds, then the end; KILL: at once. Both are \
 * answered by SESSION when the session has ended. */			\
X(STOP,     SID,     ROLE_CLIENT, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(RESUME,   RESUME,  ROLE_CLIENT, ROLE_SBXD, FD_NONE, LIMIT_LARGE)	\
X(DU,       DU,      ROLE_CLIENT, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(GC,       GC,      ROLE_CLIENT, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(GONE,     GONE,    ROLE_SBXD, ROLE_CLIENT, FD_NONE, LIMIT_FRAME)	\
X(EXPLAIN,  EXPLAIN, ROLE_CLIENT | ROLE_SBXD, ROLE_SBXD | ROLE_MOUNTD, FD_NONE, LIMIT_LARGE) \
X(EXPLAINED, EXPLAINED, ROLE_MOUNTD | ROLE_SBXD, ROLE_SBXD | ROLE_CLIENT, FD_NONE, LIMIT_FRAME) \
X(MEASURE,  MEASURE, ROLE_SBXD, ROLE_MOUNTD, FD_NONE, LIMIT_LARGE)	\
X(MEASURED, MEASURED, ROLE_MOUNTD | ROLE_SBXD, ROLE_SBXD | ROLE_CLIENT, FD_NONE, LIMIT_FRAME) \
X(SWEEP,    SWEEP,   ROLE_SBXD, ROLE_SPAWN, FD_NONE, LIMIT_SMALL)	\
X(SWEPT,    SWEPT,   ROLE_SPAWN, ROLE_SBXD, FD_NONE, LIMIT_LARGE)	\
/* a user's suite, after SUITE: the user namespace that it all stands in */ \
X(OUTER,    NONE,    ROLE_SBXD, ROLE_SPAWN | ROLE_NETD | ROLE_MOUNTD, FD_ONE, LIMIT_SMALL) \
/* init is a session's from here on */					\
X(BECOME,   BECOME,  ROLE_SPAWN, ROLE_INIT, FD_NONE, LIMIT_FRAME)	\
X(OUTSIDE,  OUTSIDE, ROLE_CLIENT | ROLE_SBXD, ROLE_SBXD | ROLE_MOUNTD, FD_NONE, LIMIT_LARGE) \
X(LAYER,    LAYER,   ROLE_MOUNTD, ROLE_SBXD, FD_NONE, LIMIT_SMALL)	\
X(FOUND,    FOUND,   ROLE_LAND | ROLE_LANDD | ROLE_SBXD, ROLE_LANDD | ROLE_SBXD | ROLE_CLIENT, FD_NONE, LIMIT_FRAME) \
X(COUNTED,  COUNTED, ROLE_LAND | ROLE_LANDD | ROLE_SBXD, ROLE_LANDD | ROLE_SBXD | ROLE_CLIENT, FD_NONE, LIMIT_FRAME) \
/* answered by OK when every EXEC before it is a process, or refused */	\
X(SYNC,     NONE,    ROLE_SBXD | ROLE_WORKER, ROLE_WORKER | ROLE_INIT, FD_NONE, LIMIT_SMALL) \
/* the pid namespace of the pair that waits for the next START */	\
X(SPARE,    NONE,    ROLE_SPAWN | ROLE_SBXD, ROLE_SBXD | ROLE_MOUNTD, FD_ONE, LIMIT_SMALL) \
/* before PRISTINE and RELEASED: something is in a layer that is no root's */ \
X(STRAYED,  SID,     ROLE_MOUNTD, ROLE_SBXD, FD_NONE, LIMIT_SMALL)

enum msg_type {
	MSG_INVALID = 0,
#define X(name, fields, from, to, fd, max)	MSG_##name,
	PROTO_MESSAGES(X)
#undef X
	MSG_COUNT
};

/* struct m_<FIELDS>, made from the field lists; MSG_NONE has no body. */
#define PROTO_CTYPE_U64		uint64_t
#define PROTO_CTYPE_I64		int64_t
#define PROTO_CTYPE_MAYBE	struct maybe
#define PROTO_CTYPE_BOOL	bool
#define PROTO_CTYPE_STR		const char *
#define PROTO_CTYPE_PATH	const char *
#define PROTO_CTYPE_BIN		struct blob
#define PROTO_CTYPE_STRV	struct strv
#define PROTO_CTYPE_PATHV	struct strv
#define PROTO_CTYPE_U64V	struct u64v
#define PROTO_MEMBER(type, name, need, max)	PROTO_CTYPE_##type name;

/* Field lists by name; each gives struct m_<NAME> and fields_<NAME>[]. */
#define PROTO_BODIES(X)							\
X(HELLO) X(ERROR) X(PART) X(SUITE) X(SID) X(NEW) X(WAIT) X(REMOVE)	\
X(CHANGES) X(PATCH) X(APPLY) X(DISCARD) X(SESSION) X(START) X(STARTED) X(SFD) X(SENDED)	\
X(PREP) X(MOUNTED) X(VIEW) X(CLEAN) X(NET) X(SETUP) X(PTY) X(RUNNING)	\
X(EXITED) X(DATA) X(RESIZE) X(SIGNAL) X(WORD) X(BECOME) X(CHILD) X(STATUS) \
X(SEAL) X(SEALED) X(JOB) X(WORK) X(LFD) X(BYTES) X(CHANGE) X(SKIPPED)	\
X(IGNORED) X(LANDING) X(CHUNK) X(LANDED) X(TEXT) X(SETTING)		\
X(EXEC) X(TURN) X(GAP) X(RESUME)					\
X(DU) X(GC) X(GONE) X(EXPLAIN) X(EXPLAINED) X(MEASURE) X(MEASURED)	\
X(SWEEP) X(SWEPT) X(OUTSIDE) X(LAYER) X(FOUND) X(COUNTED)

#define X(name)	struct m_##name { PROTO_FIELDS_##name(PROTO_MEMBER) };
PROTO_BODIES(X)
#undef X

/* Whom a role of the suite's own runs as: index of SUITE's uids and gids. */
enum suite_uid {
	UID_SBXD, UID_SPAWN, UID_NETD, UID_MOUNTD, UID_LANDD, UID_WORKER,
	UID_FORWARDER, UID_COUNT
};

struct proto_row {
	const char	*name;
	unsigned int	 from, to;
	int		 fd;
	uint32_t	 max;
	const struct field *fields;
	size_t		 nfields;
	size_t		 size;		/* of the struct */
};

const struct proto_row	*proto_row(uint32_t);
const char		*proto_name(uint32_t);
/* True where this message may go from one role to the other. */
bool			 proto_may(uint32_t, enum role, enum role);
const char		*role_name(enum role);

#endif
