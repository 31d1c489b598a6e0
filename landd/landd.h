/*
 * landd: what it keeps of the sessions' seals and the jobs under way.
 */
#ifndef LANDD_LANDD_H
#define LANDD_LANDD_H

#include <sys/queue.h>
#include <stdbool.h>
#include <stdint.h>

#include "../common/digest.h"
#include "../privsep/peer.h"

#define KEY_LEN		32

struct landd {
	struct event_base *base;
	struct peer	*sbxd, *spawn;
	uint8_t		 key[KEY_LEN];
};
extern struct landd	landd;

/* key.c: STATE/landd/key, made if it is not there; while still root. What it
 * gives is settled before anything is sealed: a key that a power cut could
 * still take is not used. */
int	key_load(const char *state, uid_t, gid_t, uint8_t[KEY_LEN]);
void	key_settle(int made);

/*
 * seal.c: who a session runs as and what a root of its is, under our MAC. The
 * first comes from spawn, on a channel of its own, the second from sbxd.
 */
struct seal {
	const char	*session, *project;
	uint64_t	 root;		/* its number among the session's */
	uint64_t	 dev, ino, t0;
	uint64_t	 uid, gid;
	struct u64v	 groups;
};
struct msgpack_zone;
/* 0, or -1 with a reason; what is in it belongs to the zone and to buf. */
int	seal_open(const struct blob *, const char *session, struct seal *,
	    struct msgpack_zone *, const char **why);
void	landd_on_word(struct peer *, struct msg *);
void	landd_on_seal(struct peer *, struct msg *);

/*
 * keep.c: journals and baselines, in files that sbxd owns and we alone can
 * write so that they verify.
 */
struct keep_id {
	const char	*kind, *session;
	uint64_t	 root;		/* its number among the session's */
};
struct keep_out {
	int		 fd;
	struct keep_id	 id;
	uint64_t	 seq;		/* segments before this one */
	uint64_t	 off, len;	/* where it starts; content so far */
	struct digest	 ctx;
};
void	keep_begin(struct keep_out *, int fd, const struct keep_id *);
/* -1 errno, EFBIG above LIMIT_KEEP. */
int	keep_add(struct keep_out *, const void *, size_t);
/* Durable when this returns 0; the next segment may begin. */
int	keep_end(struct keep_out *);
/*
 * The last whole segment, malloc'ed; *len 0 where there is none: an empty
 * file, or one whose first segment was never finished. -1 errno; EBADMSG with
 * a reason: it was changed, or is another session's or root's.
 */
int	keep_read(int fd, const struct keep_id *, uint8_t **buf, size_t *len,
	    const char **why);

/* job.c */
void	landd_on_job(struct peer *, struct msg *);
void	landd_on_jobend(struct peer *, struct msg *);
void	landd_on_lfd(struct peer *, struct msg *);
void	landd_on_childend(struct peer *, struct msg *);
void	landd_on_child_error(struct peer *, struct msg *);
void	jobs_drained(void);

#endif
