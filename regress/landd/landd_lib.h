/*
 * landd as the real program, with this test as its sbxd, as spawn on the
 * channel, and as a job's child.
 */
#ifndef REGRESS_LANDD_LANDD_LIB_H
#define REGRESS_LANDD_LANDD_LIB_H

#include "regress/lib/scripted.h"

#define SID	"abcdefghijkl"
#define SID2	"mnopqrstuvwx"
#define USER	61002

struct lab {
	struct test_helper	h;	/* landd; its ib is sbxd's */
	struct imsgbuf		spawn;	/* the channel */
	struct imsgbuf		land;	/* the last job's child */
	bool			child;	/* land is open */
	char			dir[PATH_MAX];	/* sbxd's files */
	uint8_t			seal[LIMIT_SEAL];
	size_t			seallen;
	char			project[PATH_MAX];
	uint64_t		dev, ino, t0;
};

/* Up to READY, a project, and its seal for SID. */
void	lab_up(struct lab *);
/* Without seal. */
void	lab_start(struct lab *);
/* Plain end of all; landd must end with status 0. */
void	lab_down(struct lab *);
/* landd must have ended itself, with this in its one line. */
void	lab_dead(struct lab *, const char *text);
/* It lives: a PROBE is answered. Nothing else may be waiting. */
void	lab_alive(struct lab *);

void	lab_word(struct lab *, const char *sid, uid_t);
void	lab_seal_ask(struct lab *, uint32_t id, const char *sid);
void	lab_seal_take(struct lab *, uint32_t id);

/* JOB with the seal in the lab. */
void	lab_job(struct lab *, uint32_t id, const char *sid, const char *what);
/* LFD of a file in dir ("" kind's own name); flags of open. */
void	lab_file(struct lab *, uint32_t id, const char *kind, int flags);
void	lab_fd(struct lab *, uint32_t id, const char *kind, int fd);
void	lab_jobend(struct lab *, uint32_t id);
/* What a job of this kind gets before its view. */
void	lab_files(struct lab *, uint32_t id, const char *what);
/* ERROR of this job with this code; its text, static. */
const char *lab_error(struct lab *, uint32_t id, const char *code);
/* From landd to sbxd, of this job. */
void	lab_expect(struct lab *, uint32_t id, uint32_t type, struct msg *);
void	lab_none(struct lab *);		/* nothing comes, for 100 ms */

/* CHILD on the channel: the child's end, before and after HELLO and WORK. */
void	lab_child(struct lab *, uint32_t id, uid_t);
void	lab_child_hello(struct lab *);
void	lab_child_work(struct lab *, struct msg *);
void	lab_child_gone(struct lab *);
void	lab_childend(struct lab *, uint32_t id, int status);
/* As the child: sends, receives. */
void	lab_say(struct lab *, uint32_t type, int fd, const void *);
void	lab_hear(struct lab *, uint32_t type, struct msg *);
void	lab_say_bytes(struct lab *, const char *kind, uint64_t n, bool last,
	    const void *, size_t);
void	lab_say_fd(struct lab *, const char *kind, int fd);
/* BYTES of a kind, to the last; static. */
const uint8_t *lab_hear_bytes(struct lab *, const char *kind, size_t *);
void	lab_say_item(struct lab *);
void	lab_say_landing(struct lab *);
/* A whole job up to: the view has been handed in; LANDING was sent. */
void	lab_to_view(struct lab *, uint32_t id, const char *what);
void	lab_to_landing(struct lab *, uint32_t id, const char *what);

int	lab_folder(const struct lab *);	/* a folder's descriptor */
/* A file of dir's: its size, -1: none; its bytes (static). */
long	lab_size(const struct lab *, const char *name);

#endif
