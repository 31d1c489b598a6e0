/*
 * Sessions as the parent knows them, and the child that serves a request.
 */
#ifndef MOUNTD_SESSION_H
#define MOUNTD_SESSION_H

#include <sys/queue.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../privsep/peer.h"
#include "tree.h"

struct job;

struct session {
	TAILQ_ENTRY(session) entry;
	char		 id[LIMIT_SID + 1];
	int		 store;		/* STATE/s/ID, locked; -1: not open */
	bool		 fresh;		/* made by the PREP at work */
	bool		 mounted;
	bool		 settled;	/* released by us: nothing mounted */
	int		 clone[CLONE_COUNT];
	struct kept	*kept;		/* of its further overlays */
	size_t		 nkept;
	size_t		 nroots;
	char		*root[LIMIT_ROOTS];	/* as PREP named them */
	uint64_t	 dev[LIMIT_ROOTS], ino[LIMIT_ROOTS];
	char		**hide;		/* as PREP named them, NULL-ended */
	size_t		 nhide;
	struct user	 user;		/* as PREP named that one */
	uint64_t	*groups;	/* its */
	bool		 byroot;
	struct job	*job;		/* one at a time */
	bool		 release;	/* RELEASE waits for the job's end */
	uint32_t	 release_id;
};

/* The request, in the child that serves it. Everything else is closed. */
struct child {
	struct imsgbuf	 ib;		/* to the parent, which relays */
	const struct session *s;	/* NULL for PROBE */
	const void	*body;
	int		 fd;		/* that came with the request, or -1 */
	struct fresh	*fresh;		/* made beforehand, or NULL */
	struct early	*early;		/* the same */
};

/* Sends to the parent, at last to sbxd; ends the child where that fails. fd
 * is taken over. */
void	child_send(struct child *, uint32_t type, int fd, const void *body);
/* What the session hides, as PREP named it. */
int	child_hide(const struct child *, struct strv *);
/* With whose rights hidden names are followed, NULL: root's. Of a session that
 * was not prepared here where they led is known. */
const struct user *child_user(const struct child *);
/* Of a mounted session: the number of this root, whose folder is fd; -1
 * fault. */
int	child_root(const struct child *, const char *project, int fd);
/* view.c: the folder at path, open as lower, with its layer, which is only
 * read; nothing of it is mounted. A detached mount, -1 fault. */
int	view_overlay(const struct child *, struct build *, const char *path,
	    int lower);

/* One for each request. -1: fault says why. */
int	prep_run(struct child *);
int	spare_run(struct child *);
int	view_run(struct child *);
int	outside_run(struct child *);
int	refresh_run(struct child *);
int	clean_run(struct child *);
int	release_run(struct child *);
int	erase_run(struct child *);
int	probe_run(struct child *);
int	measure_run(struct child *);
int	explain_run(struct child *);

/* told.c: what PREP said and later requests need; -1 errno. */
int	session_remember(struct session *, const struct m_PREP *);
void	session_forget(struct session *);

/* session.c: the parent's table of what sbxd may say. */
extern const struct handler session_table[];
extern const size_t session_ntable;
/* told.c: a message came whose descriptor found no room. */
extern const char no_room[];
void	session_lost(struct peer *, struct msg *);
void	session_begin(struct event_base *, struct peer *);

/* In a spare: the session that its PREP is for. store is taken over. */
const struct session *session_adopt(const struct m_PREP *, int store,
	    bool fresh, bool settled);

#endif
