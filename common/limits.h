/*
 * The suite's limits, each once. Units are in the names' comments; a list's
 * limit is in elements, everything else in bytes unless it says otherwise.
 */
#ifndef COMMON_LIMITS_H
#define COMMON_LIMITS_H

#define LIMIT_FRAME	65536		/* a whole frame, header included */
#define LIMIT_CHUNK	32768		/* data in one DATA, CHUNK, PART */
#define LIMIT_LARGE	(4 << 20)	/* a request sent in parts */
#define LIMIT_SMALL	8192
#define LIMIT_DEPTH	8		/* of msgpack nesting */
#define LIMIT_UNKNOWN	4096		/* objects under keys we do not know */
#define LIMIT_FDQUEUE	64		/* descriptors received, not taken */
#define LIMIT_OUTQ	(1 << 20)	/* queued output before back-pressure */

#define LIMIT_PATH	4095		/* PATH_MAX less the NUL */
#define LIMIT_SID	32		/* a session's id */
#define LIMIT_NAME	128
#define LIMIT_MESSAGE	4096
#define LIMIT_ARGC	131072		/* elements of argv, of environment */
#define LIMIT_PATHS	65536		/* elements of a path list */
#define LIMIT_GROUPS	1024
#define LIMIT_ROOTS	16		/* of a session */
#define LIMIT_LISTED	10000		/* changes outside, of one layer */
#define LIMIT_LOOKED	1000000		/* names that are looked at for it */
#define LIMIT_NOTES	64
#define LIMIT_DIGEST	32		/* SHA-256 */
#define LIMIT_SEAL	8192
#define LIMIT_KEEP	(64 << 20)	/* of a journal or baseline file */

#endif
