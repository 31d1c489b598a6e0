/*
 * Fields of the messages of a review or a landing: its order, its files, what
 * it finds. A part of proto.h, which says how they are read.
 */
#ifndef COMMON_PROTO_LAND_H
#define COMMON_PROTO_LAND_H

/* sbxd -> landd: all roots of a session at once, answered by SEALED for each
 * in their order. */
#define PROTO_FIELDS_SEAL(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(STRV, roots, REQ, LIMIT_ROOTS)				\
	F(U64V, devs, REQ, LIMIT_ROOTS)					\
	F(U64V, inos, REQ, LIMIT_ROOTS)					\
	F(U64,  t0, REQ, 0)		/* ns since 1970, before exec */

#define PROTO_FIELDS_SEALED(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(U64,  root, OPT, 0)		/* its place in SEAL's list */	\
	F(BIN,  seal, REQ, LIMIT_SEAL)

/* A review or a landing. peerid is the job, on every hop.
 * what: "changes", "patch", "apply", "discard", "recover", "forget" */
#define PROTO_FIELDS_JOB(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(STR,  what, REQ, 16)						\
	F(BIN,  seal, REQ, LIMIT_SEAL)					\
	F(BOOL, live, REQ, 0)						\
	F(BIN,  digest, OPT, LIMIT_DIGEST)				\
	F(STRV, paths, OPT, LIMIT_PATHS)				\
	F(STRV, hide, OPT, LIMIT_PATHS)

/* landd -> land: the job, with what the seal said, in the clear */
#define PROTO_FIELDS_WORK(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(STR,  what, REQ, 16)						\
	F(BOOL, live, REQ, 0)						\
	F(PATH, project, REQ, LIMIT_PATH)				\
	F(U64,  dev, REQ, 0)						\
	F(U64,  ino, REQ, 0)						\
	F(U64,  t0, REQ, 0)						\
	F(BIN,  digest, OPT, LIMIT_DIGEST)				\
	F(STRV, paths, OPT, LIMIT_PATHS)				\
	F(STRV, hide, OPT, LIMIT_PATHS)

/* A descriptor of a job's. kinds: project (land's own), view layer stage
 * (mountd's), patch (land's), baseline journal newbase (sbxd's files) */
#define PROTO_FIELDS_LFD(F)						\
	F(STR,  kind, REQ, 16)

/* Bytes of a job's, in order: journal and baseline between land and landd */
#define PROTO_FIELDS_BYTES(F)						\
	F(STR,  kind, REQ, 16)						\
	F(U64,  n, REQ, 0)						\
	F(BOOL, last, REQ, 0)						\
	F(BIN,  data, REQ, LIMIT_CHUNK)

/* kind: added modified deleted mode type renamed */
#define PROTO_FIELDS_CHANGE(F)						\
	F(PATH, path, REQ, LIMIT_PATH)					\
	F(PATH, from, OPT, LIMIT_PATH)	/* renamed, exact */		\
	F(STR,  kind, REQ, 16)						\
	F(U64,  oldmode, OPT, 0)	/* st_mode; 0: there is none */	\
	F(U64,  newmode, OPT, 0)					\
	F(U64,  oldsize, OPT, 0)					\
	F(U64,  newsize, OPT, 0)					\
	F(U64,  insertions, OPT, 0)	/* lines */			\
	F(U64,  deletions, OPT, 0)					\
	F(BOOL, binary, OPT, 0)						\
	F(BOOL, opaque, OPT, 0)	/* not in the patch, landable */	\
	F(STR,  drift, OPT, 128)	/* why it has drifted, if it has */

#define PROTO_FIELDS_SKIPPED(F)						\
	F(PATH, path, REQ, LIMIT_PATH)					\
	F(STR,  reason, REQ, 128)					\
	F(STR,  class, OPT, 16)	/* git hooks config special hidden ... */

#define PROTO_FIELDS_IGNORED(F)						\
	F(PATH, path, REQ, LIMIT_PATH)	/* the folder */		\
	F(U64,  files, REQ, 0)						\
	F(U64,  bytes, REQ, 0)

#define PROTO_FIELDS_LANDING(F)						\
	F(BIN,  digest, REQ, LIMIT_DIGEST)				\
	F(PATH, target, REQ, LIMIT_PATH)				\
	F(U64,  files, REQ, 0)						\
	F(U64,  insertions, REQ, 0)					\
	F(U64,  deletions, REQ, 0)					\
	F(U64,  skipped, REQ, 0)					\
	F(U64,  ignored, REQ, 0)					\
	F(U64,  drifted, REQ, 0)					\
	F(U64,  bytes, REQ, 0)		/* of the patch */		\
	F(BOOL, incomplete, OPT, 0)	/* git apply does not give all */

#define PROTO_FIELDS_CHUNK(F)						\
	F(U64,  n, REQ, 0)						\
	F(BIN,  data, REQ, LIMIT_CHUNK)

/* warning: sbxd's to the client, of what did not follow the landing. code and
 * why: it was taken back, and its baseline knows what that left. */
#define PROTO_FIELDS_LANDED(F)						\
	F(U64,  files, REQ, 0)						\
	F(STRV, paths, OPT, LIMIT_PATHS) /* what the layer is cleaned of */ \
	F(STR,  warning, OPT, LIMIT_MESSAGE)				\
	F(STR,  code, OPT, 64)						\
	F(STR,  why, OPT, LIMIT_MESSAGE)

#endif
