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
	F(PATHV, roots, REQ, LIMIT_ROOTS)				\
	F(U64V, devs, REQ, LIMIT_ROOTS)					\
	F(U64V, inos, REQ, LIMIT_ROOTS)					\
	F(U64,  t0, REQ, 0)		/* ns since 1970, before exec */

#define PROTO_FIELDS_SEALED(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(U64,  root, OPT, 0)		/* its place in SEAL's list */	\
	F(BIN,  seal, REQ, LIMIT_SEAL)

/* A review or a landing. peerid is the job, on every hop.
 * what: "changes", "patch", "apply", "discard", "recover", "forget";
 * "outside", whose paths are the layer's folder and then where others lie */
#define PROTO_FIELDS_JOB(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(STR,  what, REQ, 16)						\
	F(BIN,  seal, REQ, LIMIT_SEAL)					\
	F(BOOL, live, REQ, 0)						\
	F(BIN,  digest, OPT, LIMIT_DIGEST)				\
	F(PATHV, paths, OPT, LIMIT_PATHS)				\
	F(PATHV, hide, OPT, LIMIT_PATHS)				\
	F(PATHV, ro, OPT, LIMIT_PATHS)

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
	F(PATHV, paths, OPT, LIMIT_PATHS)				\
	F(PATHV, hide, OPT, LIMIT_PATHS)				\
	F(PATHV, ro, OPT, LIMIT_PATHS)

/* A descriptor of a job's. kinds: project (land's own), view layer stage real
 * (mountd's), patch (land's), baseline journal newbase (sbxd's files) */
#define PROTO_FIELDS_LFD(F)						\
	F(STR,  kind, REQ, 16)						\
	F(PATH, git, OPT, LIMIT_PATH)	/* project: its git folder, if */ \
					/* that lies outside of it */

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

/* What a session changed outside of its roots. To mountd: from layer n on the
 * next one that is no root's and has something in it, answered by LAYER, LFD
 * view, layer, real and VIEWED; by VIEWED alone where there is none. */
#define PROTO_FIELDS_OUTSIDE(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(BOOL, live, OPT, 0)						\
	F(U64,  n, OPT, 0)						\
	F(PATH, home, OPT, LIMIT_PATH)					\
	F(PATHV, hide, OPT, LIMIT_PATHS)

/* Before its descriptors. missing: the host's folder, and then there are
 * none. */
#define PROTO_FIELDS_LAYER(F)						\
	F(STR,  session, REQ, LIMIT_SID)				\
	F(U64,  n, REQ, 0)						\
	F(PATH, path, REQ, LIMIT_PATH)	/* of that folder */		\
	F(BOOL, missing, OPT, 0)

/* kind: as CHANGE's, but renamed. Of a folder that is new or gone what is in
 * it is counted, of a file it is itself. */
#define PROTO_FIELDS_FOUND(F)						\
	F(PATH, path, REQ, LIMIT_PATH)	/* absolute */			\
	F(STR,  kind, REQ, 16)						\
	F(U64,  oldmode, OPT, 0)	/* st_mode; 0: there is none */	\
	F(U64,  newmode, OPT, 0)					\
	F(U64,  oldsize, OPT, 0)					\
	F(U64,  newsize, OPT, 0)					\
	F(U64,  files, OPT, 0)						\
	F(U64,  bytes, OPT, 0)		/* lengths */

/* The sum of a layer's, after its FOUND. */
#define PROTO_FIELDS_COUNTED(F)						\
	F(PATH, path, REQ, LIMIT_PATH)	/* the folder it is of */	\
	F(U64,  found, REQ, 0)		/* changes */			\
	F(U64,  listed, REQ, 0)		/* LIMIT_LISTED at most */	\
	F(U64,  files, REQ, 0)						\
	F(U64,  bytes, REQ, 0)						\
	F(U64,  unreadable, OPT, 0)	/* or longer than a path */	\
	F(BOOL, cut, OPT, 0)		/* at LIMIT_LOOKED: there is more */ \
	F(BOOL, missing, OPT, 0)	/* as LAYER's */

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
	F(PATHV, paths, OPT, LIMIT_PATHS) /* what the layer is cleaned of */ \
	F(STR,  warning, OPT, LIMIT_MESSAGE)				\
	F(STR,  code, OPT, 64)						\
	F(STR,  why, OPT, LIMIT_MESSAGE)

#endif
