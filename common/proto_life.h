/*
 * Fields of the messages about sessions that are there: resuming, more
 * commands and terminals, measuring, collecting, explaining. A part of
 * proto.h, which says how they are read.
 */
#ifndef COMMON_PROTO_LIFE_H
#define COMMON_PROTO_LIFE_H

/* A new command, in a new terminal or without one, over the layer of a session
 * that has ended; everything else is as it was frozen. Answered as NEW is. */
#define PROTO_FIELDS_RESUME(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(STRV, argv, OPT, LIMIT_ARGC)	/* none: the recorded one */	\
	F(STRV, term, OPT, 8)	/* TERM=, COLORTERM=: the terminal's */	\
	F(BOOL, tty, REQ, 0)						\
	F(U64,  rows, OPT, 0)						\
	F(U64,  cols, OPT, 0)						\
	F(BOOL, attach, REQ, 0)

/* client -> sbxd -> worker -> init: another command in a session. A client's
 * env goes over the session's own; further on it is all of it. Between our own
 * programs the header's peerid says which command a message is about, 0: the
 * session's own. */
#define PROTO_FIELDS_EXEC(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(STRV, argv, REQ, LIMIT_ARGC)					\
	F(STRV, env, OPT, LIMIT_ARGC)					\
	F(PATH, cwd, OPT, LIMIT_PATH)	/* absent: the session's */	\
	F(BOOL, tty, REQ, 0)						\
	F(U64,  rows, OPT, 0)						\
	F(U64,  cols, OPT, 0)						\
	F(MAYBE, umask, OPT, 0)		/* the session's */

/* worker -> client: is it the one who typed last, whose size the terminal has
 * and who answers the command's queries? Until told otherwise it is. */
#define PROTO_FIELDS_TURN(F)						\
	F(BOOL, yours, REQ, 0)

/* worker -> client: so much of the output, here, is kept no more. */
#define PROTO_FIELDS_GAP(F)						\
	F(U64,  bytes, REQ, 0)

#define PROTO_FIELDS_DU(F)						\
	F(STR,  session, OPT, LIMIT_SID) /* none: all that it may see */

/* What nobody can want any more. Answered by GONE for each, then END. */
#define PROTO_FIELDS_GC(F)						\
	F(U64,  age, REQ, 0)		/* seconds since a session's end */ \
	F(BOOL, dry, OPT, 0)		/* say it, do nothing */	\
	F(BOOL, discard, OPT, 0)	/* layers without a record too */

#define PROTO_FIELDS_GONE(F)						\
	F(STR,  kind, REQ, 16)	/* session layer socket cgroup */	\
	F(STR,  what, REQ, 64)						\
	F(U64,  bytes, REQ, 0)						\
	F(U64,  inodes, REQ, 0)						\
	F(BOOL, gone, OPT, 0)		/* or would be; else it is kept */ \
	F(STR,  why, OPT, LIMIT_MESSAGE)

/* A path as a session sees it: one that is there, by its id; or one that
 * would be started so. To mountd the user is always said, and of a session
 * what its record says. */
#define PROTO_FIELDS_EXPLAIN(F)						\
	F(STR,  session, OPT, LIMIT_SID)				\
	F(PATH, path, REQ, LIMIT_PATH)	/* absolute */			\
	F(PATH, project, OPT, LIMIT_PATH)				\
	F(PATHV, more, OPT, LIMIT_ROOTS) /* roots beside project */	\
	F(PATH, home, OPT, LIMIT_PATH)					\
	F(PATHV, hide, OPT, LIMIT_PATHS)				\
	F(PATHV, ro, OPT, LIMIT_PATHS)					\
	F(BOOL, as, OPT, 0)		/* root's word on whom */	\
	F(U64,  uid, OPT, 0)						\
	F(U64,  gid, OPT, 0)						\
	F(U64V, groups, OPT, LIMIT_GROUPS)				\
	F(BOOL, byroot, OPT, 0)		/* sbxd's word, as in PREP */

/* state: shown layer read-only hidden own covered missing denied
 * rule: project home filesystem hide ro state fresh permissions */
#define PROTO_FIELDS_EXPLAINED(F)					\
	F(PATH, path, REQ, LIMIT_PATH)	/* as asked */			\
	F(PATH, target, REQ, LIMIT_PATH) /* where it leads inside */	\
	F(STR,  state, REQ, 16)						\
	F(STR,  rule, REQ, 32)						\
	F(PATH, of, OPT, LIMIT_PATH)	/* the path that the rule names */ \
	F(STR,  mechanism, REQ, LIMIT_MESSAGE)

/* What layers cost, read only; or, as a list, which there are at all, and
 * then without their sizes. Answered by MEASURED for each, then END. */
#define PROTO_FIELDS_MEASURE(F)						\
	F(STRV, sessions, OPT, LIMIT_PATHS)				\
	F(BOOL, list, OPT, 0)

/* bytes: on the disk. An inode with several names counts once a layer. */
#define PROTO_FIELDS_MEASURED(F)					\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(STR,  kind, REQ, 16)	/* layer stage rest; none: no folder */	\
	F(U64,  n, OPT, 0)		/* the layer's number, and */	\
	F(PATH, path, OPT, LIMIT_PATH)	/* the host's folder it is of */ \
	F(U64,  bytes, REQ, 0)						\
	F(U64,  inodes, REQ, 0)						\
	F(U64,  uid, OPT, 0)		/* of a list: the stage's */	\
	F(BOOL, owned, OPT, 0)		/* uid is there */		\
	F(BOOL, pristine, OPT, 0)	/* no root's layer holds anything */

/* Groups of sessions that are over: removed, or only named. */
#define PROTO_FIELDS_SWEEP(F)						\
	F(BOOL, dry, OPT, 0)

#define PROTO_FIELDS_SWEPT(F)						\
	F(STRV, names, OPT, LIMIT_PATHS)

/* spawn -> init, which was made for nobody in particular: whose session it is,
 * and whether it has a network of its own. Answered, when it is that user, by
 * the two namespaces that init has made then: SFD mntns and netns. */
#define PROTO_FIELDS_BECOME(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(U64,  uid, REQ, 0)						\
	F(U64,  gid, REQ, 0)						\
	F(U64V, groups, OPT, LIMIT_GROUPS)				\
	F(BOOL, isolated, REQ, 0)

#endif
