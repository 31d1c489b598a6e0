/*
 * Every kind of change, landed or discarded: by their lists of paths, through
 * the real mountd.
 */
#ifndef REGRESS_MOUNTD_CHANGES_H
#define REGRESS_MOUNTD_CHANGES_H

#include "drive.h"

#define CHANGES_LIST	65536	/* bytes of a listing */
#define CHANGES_PATHS	512

/* When they leave the layer: after the session's end; while it lives, with
 * nothing held open, everything, or everything watched. */
enum how { STOPPED, LIVE, HELD };

extern const char *const changes[];
extern const size_t nchanges;

/* Listings: the project before and now, and what the session sees. */
extern char	real_before[CHANGES_LIST], real_now[CHANGES_LIST];
extern char	inside[CHANGES_LIST];
/* What differences found last; ends with NULL. */
extern const char *paths[CHANGES_PATHS + 1];

void	reset(void);		/* the project as it is at first */
void	land(const char *change);	/* the same script outside */
void	list_real(char *);
void	list_inside(struct drive *);
void	list_view(int view);
size_t	differences(const char *, const char *);
/* Checks: inside is what real_now is; the layer has nothing in it. */
void	same(const char *change, const char *when);
void	empty(struct drive *, const char *change, const char *when);
extern bool	lenient;
/* Whole rounds, from a start to an erase. */
void	landed(struct drive *, const char *change, enum how);
void	discarded(struct drive *, const char *change, enum how, bool all);
void	watched(struct drive *, const char *change, bool discard);

/* Reads a line that a process inside prints. */
const char *line_of(int fd);

#define LISTED(...)	((const char *const[]){ __VA_ARGS__, NULL })

#define EACH(name, text, call)						\
	CASE(name, text)						\
	{								\
		struct drive	 d = { .uid = 1001, .gid = 1001 };	\
		size_t		 i;					\
		drive_begin();						\
		for (i = 0; i < nchanges; i++)				\
			call;						\
		drive_end();						\
	}

#endif
