/*
 * The real mountd with the test as its broker, as spawn and as init: the
 * namespaces are made as spawn makes them, the folders are opened with the
 * session user's rights, and commands run in the tree that comes back.
 */
#ifndef REGRESS_MOUNTD_DRIVE_H
#define REGRESS_MOUNTD_DRIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../lib/scripted.h"
#include "../lib/test.h"

#define DRIVE_LIST	16

/* A session, asked for: what is not set is made or left out. */
struct drive {
	char		 id[LIMIT_SID + 1];
	uid_t		 uid;
	gid_t		 gid;
	const char	*home, *project;	/* NULL: <scratch>/home, proj */
	const char	*hide[DRIVE_LIST], *ro[DRIVE_LIST];	/* NULL-ended */
	const char	*more[DRIVE_LIST];	/* roots beside project */
	size_t		 nmore;
	const char	*argv[DRIVE_LIST];
	bool		 again;	/* a resume, of the dev and ino below */
	/* What came of it. */
	pid_t		 outer, init;	/* as spawn's child, and pid 1 in it */
	int		 ns_user, ns_pid, ns_mnt;
	int		 clone[3];	/* project, home, root: the worker's */
	int		 sock;		/* to init, while it waits */
	uint64_t	 dev[LIMIT_ROOTS], ino[LIMIT_ROOTS];
	bool		 pristine;	/* as RELEASE, or a resume, was told */
	char		 notes[8192], hidden[8192];	/* a line each */
	char		 code[64], text[LIMIT_MESSAGE + 1];	/* refused */
};

extern struct test_helper drive_mountd;

/* mountd up to READY; home and proj of uid 1001 in the scratch folder. */
void	drive_begin(void);
/* At the end: nothing of it is left. */
void	drive_end(void);

/* The namespaces, PREP, the descriptors, the tree, pivoting. False: refused,
 * code and text say why. */
bool	drive_start(struct drive *);
void	drive_fd_send(int sock, int fd);
/* The same up to PREP and the pid namespace, and its single steps. */
void	drive_prep(struct drive *);
void	drive_namespaces(struct drive *);
void	drive_send_fd(struct drive *, const char *kind, uint64_t n, int fd);
void	drive_send_all(struct drive *);
bool	drive_await(struct drive *);
/* Opens a folder or file with the user's rights, O_PATH. */
int	drive_open(const struct drive *, const char *path);

/* Runs a script of sh's inside, as the session's user without capabilities;
 * its exit status. out: what it printed, less the last newline. */
int	drive_sh(struct drive *, const char *fmt, ...)
	    __attribute__((format(printf, 2, 3)));
const char *drive_out(struct drive *, const char *fmt, ...)
	    __attribute__((format(printf, 2, 3)));
/* A process inside with this script that goes on; its pid here. Closing
 * what is in *in ends its input; it is frozen and thawed by signals. */
pid_t	drive_background(struct drive *, int *in, int *out, const char *);

/* Ends the processes inside and closes what the worker would hold. */
void	drive_kill(struct drive *);
/* RELEASE and its answer; kill before it. */
void	drive_release(struct drive *);
void	drive_erase(struct drive *);

/* Any request with one answer. True: that type came; else code and text. */
bool	drive_ask(struct drive *, uint32_t type, int fd, const void *body,
	    uint32_t answer);
/* VIEW: the three descriptors, -1 each where it was refused. */
struct drive_view {
	int	view, layer, stage;
};
bool	drive_look(struct drive *, bool live, struct drive_view *);
void	drive_look_end(struct drive_view *);
bool	drive_clean(struct drive *, bool live, bool discard,
	    const char *const *paths);

/* Which host path a layer is of, a line each in the layers' order; and the
 * project's, by its path. */
const char *drive_layers(const struct drive *);
const char *drive_layer(const struct drive *);
/* The bytes of a file below an open folder, NULL: not there. */
const char *drive_read(int dir, const char *path);

#endif
