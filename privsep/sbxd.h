/*
 * sbxd's own: the broker. It decides everything and does nothing itself; what
 * it holds is its own folder of the state, and the sockets of the others.
 */
#ifndef PRIVSEP_SBXD_H
#define PRIVSEP_SBXD_H

#include <sys/queue.h>
#include <sys/types.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "../common/roots.h"
#include "peer.h"
#include "record.h"

#define SESSIONS_MAX	1024	/* records, ended ones included */
#define SESSIONS_ROOT	64	/* of them, that only root may have */
#define SESSIONS_A_UID	512	/* root has no such bound */
#define RECORDS_A_UID	(64 << 20)	/* bytes of argv, environment, lists */
#define CLIENTS_MAX	256	/* connections */
#define CLIENTS_ROOT	64	/* of them, that only root may have */
#define CLIENTS_A_UID	128
/* Descriptors that no client and no session is given, so that those that there
 * are can go on, be reviewed and end; half of them root's clients may have. */
#define FDS_KEPT	32
#define WAITS_MAX	64	/* WAITs and DOCTORs of one connection */
#define UNREAD_MAX	(16 << 20)	/* bytes a client lets lie */
/* Of lists, in bytes: each goes on in messages beside other fields, and one
 * that did not fit its row would end the suite. VIEW is a single frame. */
#define LISTS_BYTES	(LIMIT_LARGE - 3 * LIMIT_FRAME)	/* argv to ro */
/* In one list with a layer's folder, home and the roots, or with the state. */
#define NAMED_PATHS	(LIMIT_PATHS - LIMIT_ROOTS - 2)	/* hide, ro */
#define HIDES_BYTES	(LIMIT_FRAME - 4 * LIMIT_PATH)
#define DISCARD_BYTES	(LIMIT_LARGE - LIMIT_FRAME)

enum helper { H_SPAWN, H_NETD, H_MOUNTD, H_LANDD, H_COUNT };

struct uids {
	size_t	 n;
	uid_t	*v;
};

/* What was asked for at the start, by options and by conf. */
struct sbxd_conf {
	const char	*file;		/* -f, NULL: the default */
	char		 state[LIMIT_PATH + 1];
	char		 socket[LIMIT_PATH + 1];
	char		 runtime[LIMIT_PATH + 1]; /* the socket's folder: no
						     session's; "": none */
	char		 libexec[LIMIT_PATH + 1];
	char		 group[64];	/* the socket's */
	bool		 group_set;
	bool		 embedded;
	bool		 socket_in_state;
	bool		 user;		/* --user */
	struct uids	 admins;	/* beside root */
	struct uids	 users;		/* empty: whoever reaches the socket */
	int		 verbose;
};

struct gc;

struct client {
	TAILQ_ENTRY(client) entry;
	struct peer	*peer;
	uid_t		 uid;
	gid_t		 gid;
	unsigned int	 waits;		/* WAITs and DOCTORs under way */
	int		 stream;	/* a patch that it reads, -1 */
	uint32_t	 stream_id;
	uint64_t	 chunk;
};

/* Who waits for a session's end. */
struct waiter {
	TAILQ_ENTRY(waiter) entry;
	struct client	*client;
	uint32_t	 id, type;	/* of a type there is one a session */
	bool		 remove;
};

enum session_state {
	S_STARTING, S_RUNNING, S_ENDING, S_ENDED, S_FAILED
};

struct session {
	TAILQ_ENTRY(session) entry;
	struct record	 rec;
	enum session_state state;
	int		 dir;		/* its folder, O_DIRECTORY */
	struct peer	*worker;
	/* who asked for it, until it runs: a client that waits, or the dup
	 * of a connection that has become the terminal's; neither: it is
	 * another session's terminal now, or gone */
	struct client	*starter;
	int		 starter_fd;
	uint32_t	 starter_id;
	bool		 unheard;	/* gone */
	/* start */
	bool		 started, mounted, netup, went;
	size_t		 sealed;	/* roots of it */
	uint32_t	 net, seal;	/* NET's and SEAL's numbers, or 0 */
	bool		 ran;		/* the command was executed, once */
	struct record	 before;	/* a resume's, till it runs */
	bool		 empty;		/* its layer */
	struct event	*grace;		/* of a STOP or KILL */
	bool		 dying;		/* of a KILL */
	uint64_t	 ns[8];		/* inodes, by enum in sbxd_helper.c */
	/* teardown: answers owed */
	bool		 killed, released;
	uint32_t	 release;	/* RELEASE's number */
	bool		 pristine;	/* no root's layer holds anything */
	bool		 unsynced;	/* record or seal is not on disk yet */
	int		 unsafe;	/* errno: and could not be put there */
	struct event	*sync;
	/* removal: who waits for it, if anybody does */
	bool		 erase;
	bool		 forced;	/* whatever of it cannot be removed */
	bool		 unrecovered;	/* its landing, though we tried */
	bool		 landed;	/* its roots may hold what it left */
	struct client	*remover;
	struct gc	*collector;	/* the same, of a GC */
	uint32_t	 remover_id;
	struct job	*job;
	TAILQ_HEAD(, waiter) waiters;
};

enum job_what {
	J_CHANGES, J_PATCH, J_APPLY, J_DISCARD, J_RECOVER, J_REMOVE, J_FORGET,
	J_GC, J_OUTSIDE
};

/* What a recovery takes over from the landing that failed: whose it was, and
 * what its client hears if nothing of it arrived. */
struct owed {
	uid_t		 uid;		/* whose request it was */
	char		 actor[LIMIT_NAME + 1];
	char		 code[65], error[LIMIT_MESSAGE + 1];
};

struct job {
	TAILQ_ENTRY(job) entry;
	uint32_t	 id;
	struct session	*session;
	size_t		 root;		/* of the session's, by its number */
	uint64_t	 layer;		/* of an OUTSIDE: from this one on */
	bool		 layered;	/* there is one, and landd has it */
	bool		 missing;	/* or its host's folder is gone */
	enum job_what	 what;
	struct client	*client;	/* NULL: gone, or our own */
	struct gc	*gc;		/* whose J_GC this is */
	uint32_t	 reqid;
	bool		 live, frozen, staged;
	struct event	*settling;	/* till its FREEZE: sbxd_hold.c */
	bool		 freezing;	/* that is not answered yet */
	bool		 asked;		/* RECOVER, since a client wants more */
	uint8_t		 digest[LIMIT_DIGEST];
	bool		 digest_set;
	char		**paths;	/* of a discard */
	size_t		 npaths;
	struct owed	 owed;
	int		 patch;		/* what will be streamed, -1 */
	uint64_t	 files, skipped, ignored;	/* of LANDING */
	bool		 landing;
	uint8_t		 computed[LIMIT_DIGEST];
	uint64_t	 landed;
	struct msg	 result;	/* LANDED, whose paths are audited */
};

struct sbxd {
	struct sbxd_conf conf;
	struct event_base *base;
	uid_t		 uids[UID_COUNT];
	gid_t		 gids[UID_COUNT];
	struct peer	*helper[H_COUNT];
	char		 cgroup[LIMIT_PATH + 1];
	int		 outer;		/* a user's suite: S, until given on */
	int		 dir;		/* STATE/sbxd */
	int		 audit;
	int		 workers;	/* the folder of their sockets */
	int		 listener;
	int		 ready;		/* the starter's pipe, -1 */
	char		 boot[65];
	struct event	*accepting, *idle;
	TAILQ_HEAD(, session) sessions;
	size_t		 nsessions;
	TAILQ_HEAD(, client) clients;
	size_t		 nclients;
	TAILQ_HEAD(, job) jobs;
	bool		 stopping;
	int		 landlock;	/* the kernel's ABI */
	int		 nfds;		/* so many descriptors we may have */
};
extern struct sbxd	sbxd;

/* sbxd_start.c: all that is done as root, in order; fatal on failure. */
void		 start_powers(void);
void		 start_state(void);
/* To who started an embedded suite: one listens on that socket. */
void		 ready_tell(const char *path);
void		 start_uids(void);
void		 start_cgroup(void);
void		 start_outer(void);	/* sbxd_outer.c */
void		 start_socket(void);
void		 start_helpers(void);
void		 start_confine(void);
/* One of libexec's programs, in that control group (-1: in ours); our end of
 * its fd 3. With an argument it prints for us: it keeps our stdout. */
int		 start_program(const char *name, const char *argv1, int cgroup,
		    pid_t *);
/* sbxd_where.c: says who holds the state, and makes nothing. */
void		 start_none(void);
/* The state is ours from now on, and says where we listen; or does not return.
 * An embedded one waits for another to end, or to listen. */
void		 where_take(int state, int lock);
/* A socket's address by its folder, whose descriptor is returned; -1. */
int		 where_name(const char *path, struct sockaddr_un *);
/* Does anybody there? errno if not. */
bool		 where_listens(const struct sockaddr_un *);
/* sbxd_conf.c: conf's settings into sbxd.conf; print: sbxd -nv. */
void		 conf_run(bool print);

/* sbxd_session.c: the files of a session's folder that are a root's each:
 * "seal", and of further roots "seal.1" and so on. */
struct root_file {
	char	s[32];
};
struct root_file root_file(const char *name, size_t root);
/* What a record says; it never has too many. */
void		 session_roots(const struct session *, struct roots *);

/* sbxd_client.c */
void		 clients_listen(void);
void		 client_drop(struct client *);
bool		 uid_is_admin(uid_t);
/* What is asked of a session; the table in sbxd_client.c says of whom. */
enum act { ACT_LOOK, ACT_END, ACT_TYPE, ACT_RESUME, ACT_LAND };
bool		 client_may(const struct client *, const struct session *,
		    enum act);
/* The same; false: ERROR was answered. */
bool		 client_allowed(struct peer *, uint32_t, const struct session *,
		    enum act);
/* Finds the session of a request or answers ERROR. */
struct session	*client_session(struct peer *, uint32_t, const char *sid);
/* To be answered by client_send_end; false: an ERROR is answered. */
bool		 client_await(struct client *, const struct msg *,
		    struct session *, bool remove);
void		 client_send_session(struct client *, uint32_t,
		    const struct session *);
/* Short, so that it goes out at once: in a list, and before a connection is
 * given away. */
void		 client_send_brief(struct client *, uint32_t,
		    const struct session *, bool listed);
void		 client_send_end(struct client *, uint32_t,
		    const struct session *);
/* What a list takes in a message. */
size_t		 strv_bytes(const struct strv *);
/* True, and LIMIT answered, where it waits for too much already. */
bool		 client_waits(struct client *, uint32_t);

/* sbxd_session.c */
struct session	*session_new(const struct m_RECORD *);
struct session	*session_find(const char *id);
void		 session_load_all(void);
void		 session_free(struct session *);
const char	*session_state(const struct session *);
void		 session_set(struct session *, enum session_state,
		    const char *reason);
/* Whatever bytes it has: a record and every SESSION take it. */
void		 session_reason(struct session *, const char *);
void		 session_save(struct session *);
/* Record and seal to the disk, soon; now, if that was not done yet. */
void		 session_sync_soon(struct session *);
void		 session_sync(struct session *);
void		 session_answer(struct session *, bool removed);
void		 session_end(struct session *, const char *reason);
void		 session_fail(struct session *, const char *code,
		    const char *reason);
void		 session_killed(struct session *);
void		 session_settled(struct session *);
void		 sessions_stop(void);
void		 idle_check(void);

/* sbxd_new.c */
void		 client_on_new(struct peer *, struct msg *);
/* Of what a uid's sessions may cost, their number and our memory for them;
 * but: without this one, which will be another. */
bool		 share_is_left(const struct client *,
		    const struct session *but);
/* By who asks and by its paths; false: the answer is given. */
bool		 new_is_allowed(struct peer *, uint32_t, const struct m_NEW *);
/* The connection's, by the kernel's word; v has room for LIMIT_GROUPS. */
void		 client_groups(const struct client *, uint64_t *v,
		    struct u64v *);
/* A session's environment with its mark at the end: mark lends the memory,
 * the list is the caller's to free. */
const char	**session_env(const struct session *, char *mark, size_t);
/* Everything that makes its processes is sent, of m only the terminal is
 * looked at. -1: errno, and *what says where it failed. */
int		 session_start(struct session *, struct client *, uint32_t,
		    const struct m_NEW *, const char **what);
/* Mounted, network up, sealed: the command may be executed. */
void		 session_advance(struct session *);
void		 session_running(struct session *);
/* This client has gone: what it asked for and has not heard of is given up. */
void		 session_unheard(struct session *);
void		 session_seal(struct session *);

/* sbxd_attach.c */
void		 client_on_join(struct peer *, struct msg *);
void		 client_on_exec(struct peer *, struct msg *);
/* REFRESHED, or why not; false: nobody waits for it. */
bool		 attach_refreshed(uint32_t number, const char *why);
void		 attach_client_gone(const struct client *);
/* Who types into another one's session is in the audit log first; false: it
 * is not, and ERROR was answered. word: the command's, or NULL. */
bool		 audit_other(struct peer *, uint32_t, const char *what,
		    const struct session *, const char *word);

/* sbxd_hold.c: true: it is answered when the session is let go. */
bool		 hold_exec(struct peer *, struct msg *,
		    const struct session *);
bool		 hold_resume(struct peer *, struct msg *,
		    const struct session *);
void		 hold_client_gone(const struct client *);
void		 holds_soon(void);
/* FREEZE, when those that were let through before have begun. */
void		 hold_freeze(struct job *);
/* The worker has said so, of this number. */
void		 hold_settled(const struct session *, uint32_t number);
/* The session ends: nobody says so any more. */
void		 hold_session_ends(const struct session *);

/* sbxd_life.c */
void		 client_on_stop(struct peer *, struct msg *);
void		 client_on_kill(struct peer *, struct msg *);
void		 client_on_resume(struct peer *, struct msg *);
/* No STOP or KILL waits for it any more. */
void		 session_grace_end(struct session *);
/* Nothing is in its roots' layers: drift is counted from now on. */
void		 session_resume_empty(struct session *);
/* It did not come to run: the session is as it was. */
void		 session_resume_undo(struct session *);

/* sbxd_ask.c */
void		 client_on_du(struct peer *, struct msg *);
void		 client_on_explain(struct peer *, struct msg *);
/* Of this layer, or, sid NULL, which there are. gc_on_end follows. */
void		 ask_measure(struct gc *, const char *sid);
bool		 ask_on_item(struct msg *);
/* False: it is no answer to one of these. */
bool		 ask_on_end(uint32_t id);
bool		 ask_on_error(uint32_t id, const struct m_ERROR *);
void		 ask_client_gone(struct client *);
void		 ask_gc_gone(const struct gc *);

/* sbxd_gc.c */
void		 client_on_gc(struct peer *, struct msg *);
void		 gc_on_measured(struct gc *, const struct m_MEASURED *);
void		 gc_on_end(struct gc *, const char *why);
void		 gc_client_gone(struct client *);
/* What a review of a session that might go came to; why: it failed. */
void		 gc_on_judged(struct gc *, const struct job *, const char *why);
/* ERASED or ERROR of something that was no session any more. */
bool		 gc_on_erased(uint32_t id, const char *why);
/* The session is gone, or why not. */
void		 gc_on_removed(struct gc *, const char *why);
void		 gc_on_swept(const struct m_SWEPT *);

/* sbxd_worker.c */
int		 worker_listen(const char *id);
struct peer	*worker_peer(struct session *, int fd);

/* sbxd_helper.c */
struct peer	*helper_peer(enum helper, int fd);
/* They end, and are waited for: then nothing of the suite's holds the state's
 * filesystem. */
void		 helpers_end(void);

/* sbxd_job.c, sbxd_clean.c, sbxd_end.c, sbxd_review.c: reviews and landings */
struct job	*job_new(struct session *, enum job_what, size_t root,
		    struct client *, uint32_t reqid);
const char	*job_project(const struct job *);
/* The same where that says something: it is not the only one. NULL. */
const char	*job_named(const struct job *);
void		 job_start(struct job *);
struct job	*job_find(uint32_t id);
bool		 job_writes(const struct job *);
void		 job_fail(struct job *, const char *code, const char *why);
void		 job_finish(struct job *);
/* why: it cannot be frozen, NULL. */
void		 job_frozen(struct job *, const char *why);
/* The real files have it; warning: what did not follow, NULL. */
void		 job_landed(struct job *, const char *warning);
void		 job_unclean(struct job *, const char *why);
/* One of the root's own files. */
struct root_file job_name(const struct job *, const char *name);
bool		 lists_fit(size_t bytes);
/* Nothing is to be cleaned for it any more. */
void		 clean_end(const struct job *);
/* What an earlier run of the suite was to clean the layer of, if anything. */
void		 clean_again(struct session *);
void		 job_on_mountd(struct msg *);
void		 job_on_cleaned(struct session *);
void		 landd_on_item(struct peer *, struct msg *);
void		 landd_on_lfd(struct peer *, struct msg *);
void		 landd_on_staged(struct peer *, struct msg *);
void		 landd_on_landed(struct peer *, struct msg *);
void		 landd_on_end(struct peer *, struct msg *);
void		 client_on_changes(struct peer *, struct msg *);
void		 client_on_patch(struct peer *, struct msg *);
void		 client_on_apply(struct peer *, struct msg *);
void		 client_on_discard(struct peer *, struct msg *);
void		 client_on_remove(struct peer *, struct msg *);

/* sbxd_outside.c */
void		 client_on_outside(struct peer *, struct msg *);
/* Asks mountd for the next layer. */
void		 outside_start(struct job *);
void		 outside_on_layer(struct msg *);
void		 outside_on_viewed(struct job *);
void		 outside_on_end(struct job *);

/* The job's seal, in buf[LIMIT_SEAL]; -1: none. */
int		 seal_read(const struct job *, uint8_t *buf, size_t *len);
/* sbxd_review.c: the session, if it can be reviewed now; else the answer is
 * given. */
struct session	*review_session(struct peer *, uint32_t id, const char *sid);

/* sbxd_remove.c */
void		 session_erase(struct session *, struct client *, uint32_t);
void		 session_erase_layer(struct session *);
void		 session_erase_failed(struct session *, const char *code,
		    const char *why);
void		 session_remove(struct session *);
void		 session_untouched(struct session *);
/* False: the folder is that of a session that is there. */
bool		 session_unborn(const char *id, int dir);

/* sbxd_stream.c: takes the descriptor over unless one is under way. */
bool		 stream_start(struct client *, uint32_t reqid, int fd);
void		 stream_go(struct client *);
void		 streams_stop(void);
/* Its client is gone. */
void		 job_abandon(struct job *);
/* A number for a request of ours that is no other's. */
uint32_t	 job_number(void);
/* The suite ends: reviews are broken off, what writes goes to its end. */
void		 jobs_stop(void);

/* sbxd_recover.c */
/* A landing of it was begun and is neither finished nor taken back: until one
 * of these is, no other may take the journal's place. */
bool		 job_interrupted(const struct session *);
/* The same, of which root: its number, or -1. */
int		 root_interrupted(const struct session *);
void		 job_recover(struct session *, struct client *, uint32_t);
void		 jobs_recover(void);
/* The landing's job makes way for one that recovers it. */
void		 job_recover_failed(struct job *, const char *code,
		    const char *why);

/* sbxd_forget.c: what landings left in the roots, before a session goes; then
 * its layer goes */
void		 job_forget(struct session *);
/* Its end; code NULL: nothing is left. */
void		 job_forgot(struct job *, const char *code, const char *why);

/* sbxd_doctor.c */
void		 client_on_doctor(struct peer *, struct msg *);
void		 doctor_on_text(enum helper, struct msg *);
void	doctor_on_end(enum helper);
void		 doctor_client_gone(struct client *);

/* sbxd_fds.c */
void		 fds_count(void);	/* at the start */
/* This one is not of those that are kept back from such a client. */
bool		 fds_left(int fd, uid_t);
/* With errno; where it is that there are no more: what helps. */
const char	*fds_why(const char *what);
void		 fds_session_lost(struct session *);
void		 fds_helper_lost(struct peer *, struct msg *);

/* sbxd_full.c: what went wrong with the state, as one line; the next call
 * writes over it. state_full: there is no room in it, whose words these are;
 * state_why: the same from errno, if that says so, and its reason in any
 * case. */
const char	*state_full(const char *what);
const char	*state_why(const char *what);

/* sbxd_audit.c: room for what is written when there is none any more; one
 * line, synced. root, paths: NULL for none. -1: it is not there. */
void		 audit_reserve(void);
/* What a client says, as one word of a line: with blanks in it, it would look
 * like other words of it. Cut where it is too long. */
struct audit_word {
	char	s[512];
};
struct audit_word audit_word(const char *);
int		 audit(const char *what, const struct session *,
		    const char *root, uid_t peer, const struct strv *paths,
		    const char *fmt, ...)
		    __attribute__((format(printf, 6, 7)));

#endif
