/*
 * sbxctl: what its files share. One command is one row of the table in
 * sbxctl.c; every command ends by returning its exit status, or by fail().
 */
#ifndef SBXCTL_SBXCTL_H
#define SBXCTL_SBXCTL_H

#include <sys/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../common/roots.h"
#include "../privsep/imsg.h"

/* Exit statuses: of usage, of everything else, of run's own failures. */
#define EXIT_USAGE	2
#define EXIT_OTHER	1
#define EXIT_RUN	125
#define EXIT_NOTEXEC	126
#define EXIT_MISSING	127

struct out;
struct review;

/*
 * options.c: the words after the command, taken apart by its table.
 */
struct words {
	size_t		  n;
	const char	**v;		/* v[n] is NULL */
};

struct options {
	const char	*root, *name, *as, *file, *digest, *detach_keys, *older;
	struct words	 repo, hide, ro, env;
	bool		 no_network, keep, raw, json, yes, discard, dry_run;
	bool		 outside;
	int		 argc;		/* the words that are no options */
	char		**argv;
	int		 before;	/* how many of them came before "--" */
};

/* Each option there is, in the order that a command's are told in: a row of the
 * table in options.c. */
enum option_id {
	OPT_REPO,	/* of a new session */
	OPT_ROOT,	/* of one that is there */
	OPT_NAME,
	OPT_HIDE,
	OPT_RO,
	OPT_NO_NETWORK,
	OPT_ENV,
	OPT_AS,
	OPT_DETACH_KEYS,
	OPT_KEEP,
	OPT_KEPT,	/* where all are */
	OPT_RAW,
	OPT_OUTSIDE,
	OPT_FILE,
	OPT_DIGEST,
	OPT_YES,
	OPT_OLDER,
	OPT_DRY_RUN,
	OPT_DISCARD,
	OPT_LOST,
	OPT_JSON,
	OPT_MAX
};
#define OPTION(id)	(1U << OPT_##id)

struct command {
	const char	*word;
	int		(*run)(struct options *);
	unsigned int	 options;	/* OPTION() of each */
	const char	*args;		/* "[SESSION]" */
	int		 min, max;	/* of words; max -1: no limit */
	bool		 rest;		/* options end at the first word */
	int		 failure;	/* exit status of its refusals */
	const char	*help;
};

/* Fills opts; a word that is not in the table ends sbxctl with EXIT_USAGE. */
void	options_parse(const struct command *, int, char **, struct options *);
/* What was typed may be a slip for this word, with fewer than *slips, which is
 * set then. */
bool	near_enough(const char *word, const char *meant, unsigned int *slips);
/* "usage: sbxctl run [--repo DIR]... [--] CMD..." and what it does. */
void	options_help(FILE *, const char *before, const struct command *);
/* Each option of it, a line with what it means. */
void	options_list(FILE *, const struct command *);

/*
 * say.c: one line to stderr, escaped. fail() puts the terminal back first.
 */
extern int	fail_status;

void	say(const char *, ...) __attribute__((format(printf, 1, 2)));
void	fail(const char *, ...) __attribute__((format(printf, 1, 2), noreturn));
void	fail_usage(const char *, ...)
	    __attribute__((format(printf, 1, 2), noreturn));
void	*need(void *);		/* fail() where it is NULL: out of memory */
char	*copy(const char *);	/* strdup that cannot fail */
char	*visible(const char *);	/* escaped, malloc'ed */
char	*visible_name(const char *);	/* the same of a path */
char	*visible_label(const char *);	/* of a name or a word that is none */
/* After the last output: 0, or fails where stdout took not all of it. */
int	 done(int status);

/*
 * progress.c: a line at a terminal while the suite is at work for long. None
 * comes before it is allowed, which a command does that has no other output
 * meanwhile.
 */
#define PROGRESS_MS	1000

void	progress_allow(bool);
void	progress_begin(const char *what, const char *sid);
bool	progress_is(void);
void	progress_tell(void);	/* if it is time to */
void	progress_count(void);	/* one thing more has come */
void	progress_end(void);	/* and what is shown is gone */

/*
 * connect.c, suite.c, left.c: the control socket, and the suite behind it.
 */
#define CONN_HELLO_MS	10000		/* to its HELLO */
#define CONN_SHORT_MS	30000		/* to an answer out of sbxd's memory */
#define CONN_START_MS	60000		/* of a session */
#define CONN_REVIEW_MS	600000		/* between two items of a review */

struct conn {
	struct imsgbuf	 ib;
	char		*path;		/* of the socket, for messages */
	uint32_t	 id;		/* of the last request */
	bool		 any;		/* take answers of any id: attached */
	const char	*writes;	/* session that is asked to change */
	char		 build[65];	/* the suite's */
	char		 commit[65];	/* the same's; "": not known */
	uint64_t	 minor;
};

/* Connects; starts the embedded suite where none runs. Never NULL. */
struct conn	*conn_open(void);
/* The same with a request, which goes along with HELLO: one wait less. A suite
 * that has not said HELLO has not read it. */
struct conn	*conn_ask(uint32_t type, const void *body);
/* Connects to a running suite; NULL: there is none. */
struct conn	*conn_find(void);
/* Another connection to the same suite, whose HELLO has been sent only:
 * conn_finish waits for the answer. NULL: cannot connect. */
struct conn	*conn_again(const struct conn *);
void		 conn_finish(struct conn *);
void		 conn_close(struct conn *);
void		 conn_send(struct conn *, uint32_t type, const void *body);
/* The next answer to the last request, ERROR included; fails on anything
 * that is no answer, after ms milliseconds too (-1: never). */
void		 conn_recv(struct conn *, struct msg *, int ms);
/* The same, and fails with the suite's own words on ERROR, or where it is
 * another message than this one. */
void		 conn_expect(struct conn *, uint32_t type, struct msg *,
		    int ms);
/* Asks, and hands each answer before END to take, which says whether it can be
 * one. What it keeps of it, it copies, or empties msg. */
void		 conn_collect(struct conn *, uint32_t type, const void *body,
		    int ms, bool (*take)(void *, struct msg *), void *);
/* The suite's ERROR as one line, malloc'ed. */
char		*conn_error(const struct msg *);
/* Fails with it. */
void		 conn_refused(const struct msg *) __attribute__((noreturn));

/* Where a suite of this state listens, most likely first. */
#define SUITE_SOCKETS	5
size_t		 suite_sockets(char *sockets[SUITE_SOCKETS]);
char		*suite_where(void);	/* as its owner says; or NULL */
/* That socket is of a suite that the caller asked for, by name or being root:
 * one that is not for him is not passed by. */
bool		 suite_is_meant(void);
/* Nobody listens on this socket: true only where that is certain. */
bool		 suite_left(const char *path);
/* Starts an embedded suite, or finds by it the one that there is, whose socket
 * suite_sockets has from then on; NULL, or why not (malloc'ed). */
char		*suite_start(void);
/* The same without starting one: true where suite_sockets has another one. */
bool		 suite_find(void);
const char	*suite_last(void);	/* that socket, for a message */
/* The sbxd that suite_start would run, malloc'ed; NULL: there is none. */
char		*suite_program(void);

/*
 * who.c: whom a session runs as. project.c: on what.
 */
struct who {
	bool		 as;		/* not the caller: --as */
	uid_t		 uid;
	gid_t		 gid;
	char		*user, *home, *shell;
	uint64_t	*groups;
	size_t		 ngroups;
};

void	who_find(const char *as, struct who *);
/* "bob", or "uid 1002" where the uid has no name; malloc'ed. */
char	*who_name(uid_t);
/* "1002" then: of a session, whose record has the name that was claimed. */
char	*who_user(uint64_t uid);

/* The roots by --repo, or the one that is meant without: canonical paths,
 * malloc'ed; fails on what cannot be one. The first is the project, the others
 * are more. */
void	 project_roots(const struct words *repo, const struct who *,
	    struct roots *, struct strv *more);
/* The current folder, canonical. */
char	*project_cwd(void);
/* --hide and --ro: "~" expanded, absolute, clean; the path need not exist. */
void	 project_paths(const char *option, const struct words *,
	    const struct who *, const char *cwd, struct strv *);
/* Says which of them is not there now, and what that means. */
void	 project_missing(const char *option, const struct words *,
	    const struct strv *paths, const char *then);

/*
 * session.c, pick.c: the session that a word, or the current folder, means.
 */
struct sessions {
	size_t		 n;
	struct msg	*msgs;		/* body: struct m_SESSION */
};

void	sessions_get(struct conn *, struct sessions *);
void	sessions_free(struct sessions *);
/* Of several: none, it has to be named; the newest, to look at it; the only one
 * that runs; the only one that has ended. */
enum pick { PICK_ONE, PICK_NEWEST, PICK_LIVE, PICK_ENDED };
/* Its id, malloc'ed; word NULL: by the current folder. Fails else. */
char	*session_find(struct conn *, const char *word, enum pick);
/* Like session_find, but NULL where the word is no session's. */
char	*session_try(struct conn *, const char *word);
/* Its roots, malloc'ed. */
void	 session_roots(struct conn *, const char *sid, struct roots *);
void	 session_roots_free(struct roots *);
/* The root that --repo means, which may be a folder in it. Fails; NULL: repo
 * is, and there is but one. */
const char *session_root(const char *command, const char *sid,
	    const struct roots *, const char *repo);
/* The same where that one is not named, and there are several: NULL with
 * *all. */
const char *session_root_or_all(const char *command, const char *sid,
	    const struct roots *, const char *repo, bool *all);
bool	 session_ended(struct conn *, const char *sid);
/* After a question: somebody else has removed it, which is said then. */
bool	 session_gone(struct conn *, const char *sid);
/* Whoever has seen its command end need not know what comes after: where a
 * request was refused since the session is only ending, that is waited for,
 * but not for ever. True: it can be asked again. */
bool	 session_waited(struct conn *, const char *sid, struct msg *refusal);
void	 session_wait(struct conn *, const char *sid);	/* until it has ended */
/* REMOVE and its answer, OK or ERROR, in msg; what stays of it in the project
 * is in *warning (malloc'ed), else NULL. */
void	 session_remove(struct conn *, const char *sid, bool discard,
	    struct msg *, char **warning);

/*
 * review.c: what a session changed.
 */
struct review {
	char		*session;
	const char	*root;		/* where that has to be said; NULL */
	bool		 have;		/* a LANDING came */
	struct m_LANDING sum;
	char		*target;
	uint8_t		 digest[LIMIT_DIGEST];
	struct m_CHANGE	*files;
	size_t		 nfiles;
	struct m_SKIPPED *skipped;	/* nothing of these lands */
	size_t		 nskipped;
	struct m_SKIPPED *stripped;	/* lands, but for this */
	size_t		 nstripped;
	unsigned char	*lost;		/* STRIP_ bits, one a file */
	struct m_IGNORED *ignored;
	size_t		 nignored;
	uint8_t		*patch;		/* of PATCH */
	size_t		 patchlen;
	uint64_t	 landed;	/* of LANDED */
	bool		 unseen;	/* what does not was not listed yet */
	bool		 stays;		/* a session that rm would remove */
	char		*warning;	/* what did not follow it; NULL */
	char		*error;		/* the suite's refusal, one line */
	char		 code[65];
};

#define STRIP_SETUID	0x1
#define STRIP_XATTR	0x2
#define STRIP_LINKS	0x4

/* Sends and collects until the answer's last message. A refusal fails; of an
 * APPLY it is in r->error, for the list that comes with it. */
void	review_get(struct conn *, const char *sid, uint32_t type,
	    const void *body, struct review *);
void	review_free(struct review *);
/* Something of the session's is not in the real tree. */
bool	review_any(const struct review *);
/* Asks that of a session's root, NULL: its only one; true also where no
 * answer is to be had. */
bool	review_waits(struct conn *, const char *sid, const char *root);

/* One of each root that was asked for. */
struct reviews {
	const char	*session;
	bool		 all;		/* roots, none of which was named */
	size_t		 n;
	struct review	 v[LIMIT_ROOTS];
	struct review	 sum;		/* of files, lines and the rest */
};

/* CHANGES, or PATCH, of this root, or of all. */
void	reviews_get(struct conn *, const char *sid, uint32_t type,
	    const struct roots *, const char *root, bool all,
	    struct reviews *);
void	reviews_free(struct reviews *);

/*
 * outside.c: what it changed elsewhere, a layer after the other.
 */
struct outside {
	const char	*session;
	struct m_FOUND	*found;		/* sorted by path */
	size_t		 nfound;
	struct m_COUNTED *layers;
	size_t		 nlayers;
};

/* changes --outside. */
int	outside_main(struct options *);

/*
 * landing.c
 */
/* APPLY with this digest (NULL: what is computed then). Prints the result or
 * what has drifted; returns the exit status. stays: of a session of one root
 * that has ended, and that nobody is about to remove. */
int	landing_apply(struct conn *, const char *sid, const char *root,
	    const uint8_t *digest, bool stays, const struct out *);

/*
 * terminal.c: the owner's terminal.
 */
struct filter;
struct keys;

bool	terminal_size(int fd, uint64_t *rows, uint64_t *cols);
/* Raw, and remembered how it was; -1 errno. The filter knows what is to be
 * put back on out. */
int	terminal_raw(int in, int out, struct filter *);
void	terminal_again(void);		/* raw anew, after a stop */
/* Puts back modes and settings; any number of times, also from fail(). */
void	terminal_restore(void);
/* The same, and swallows the answers that are still on their way, to queries
 * that the session sent and did not wait for. */
void	terminal_leave(void);
/* Before a question: waits, but not for ever, until all has come that the
 * terminal sends by itself, and throws it away. False: it may be slow, or one
 * that never answers. *unseen: it did before, and now may not show a
 * question either. */
bool	terminal_settle(int in, int out, bool *unseen);
/* After what was typed then: true where it has still answered nothing. Else it
 * is slow, and may have sent by itself what was typed; *settled is then as
 * above. */
bool	terminal_silent(int in, int out, bool *settled);

/* pager.c: between these two stdout is the pager's, where it was a terminal. */
void	pager_begin(void);
void	pager_end(void);
bool	pager_runs(void);

/*
 * sink.c: output that never blocks us, nor changes what others have open.
 */
struct sink {
	int	 fd;
	bool	 own;		/* fd is ours, and non-blocking */
	bool	 gone;		/* it takes no more */
	int	 error;		/* why, 0: nobody reads; stays when closed */
	uint8_t	*buf;
	size_t	 off, len, room;
};

/* Read no more for it: what waits elsewhere, an interrupt still ends. */
#define SINK_FULL	(64U << 10)

void	sink_open(struct sink *, int fd);
/* Writes what is left, waiting for it, and closes what is ours. */
void	sink_close(struct sink *);
/* Room for n bytes at the end; sink_added makes them count. */
uint8_t	*sink_room(struct sink *, size_t n);
void	sink_added(struct sink *, size_t n);
/* As much as it takes now. */
void	sink_write(struct sink *);
/* The same, where nobody has said that it takes anything. */
void	sink_try(struct sink *);
size_t	sink_left(const struct sink *);

/*
 * early.c: a session is about to be asked for; its id; and it runs, so that a
 * signal that came meanwhile is delivered now, to where it is blocked or as the
 * end of us.
 */
void	early_begin(void);
void	early_session(const char *sid);
bool	early_is(void);		/* one has come */
void	early_end(void);

/*
 * relay.c: an attached session, until its command has ended.
 */
struct relay_how {
	bool		 tty, raw;
	uint64_t	 rows, cols;	/* as NEW said them */
	/* By ATTACH: what comes before RUNNING is old, and to leave ends
	 * nothing. */
	bool		 joined;
	struct keys	*keys;		/* that leave; NULL: none */
};

struct relay_end {
	uint64_t	 status;	/* of the command */
	bool		 hangup;	/* terminal gone, or a signal to us */
	bool		 detached;	/* by the keys */
	char		*why;		/* it was ended with its session */
	bool		 lost;		/* so that it has no status */
	bool		 midline;	/* output did not end with a newline */
};

void	relay_run(struct conn *, const struct relay_how *,
	    struct relay_end *);

/*
 * run.c: what starting a command has in common.
 */
struct run;
/* From the first answer to NEW or RESUME, which it takes over, to the choice;
 * the exit status. run: what NEW was of, a session that goes again if nothing
 * comes of it; else NULL. */
int	run_attached(struct conn *, struct msg *first,
	    const struct relay_how *, bool keep, const struct run *);
/* Ours, if we are at one, and its size. */
void	run_terminal(struct relay_how *);
/* Too many words, or one too long for any program: fails. */
void	run_words(const char *what, const char *const *v, size_t n);
/* --env: fails on what never enters a session. */
void	run_env_check(const char *command, const struct words *);
/* The refusal's line is said; the status it stands for. */
int	run_refusal(const struct msg *);

/*
 * choice.c: after the command.
 */
struct after {
	const char	*session;
	bool		 keep, ask;
};

/* What was done otherwise than asked; at a terminal, what never lands of it. */
void	choice_notes(const struct m_SESSION *);
void	choice_outside(const char *sid, bool outside, bool removed);
/* A connection on which WAIT has been sent. */
void	choice_after(struct conn *, const struct after *);
/* The same for one that did not end by its command's end. */
void	choice_lost(struct conn *, const char *sid, const char *why);
/* Waits for the end of one that did not come to run, and, if asked to,
 * removes it; never fails. */
void	choice_forget(const struct conn *, const char *sid, bool remove);
/* Shows what was asked about, of the same roots. */
void	choice_view(struct conn *, const struct reviews *seen,
	    const struct roots *, const char *root);
/* The first letter of the word that is answered (the letter alone will do),
 * or 0: no answer, end of file, a signal. */
char	choice_ask(const char *question, const char *const *words);

/*
 * Output forms: text for people, JSON for programs.
 */
struct check {
	char	*level, *what, *text;	/* level: ok warn fail */
};

struct checks {
	size_t		 n;
	struct check	*v;
};

/* Of du: bytes on the disk, and inodes. */
struct usage_part {
	char		*kind, *path;	/* path: of a layer; else NULL */
	uint64_t	 number, bytes, inodes;
};

struct usage {
	char		*session;
	uint64_t	 bytes, inodes;
	struct usage_part *v;
	size_t		 n;
};

struct usages {
	bool		 one;		/* asked for by name */
	uint64_t	 bytes, inodes;
	struct usage	*v;
	size_t		 n;
};

/* Of gc; the sums are of what went, or would. */
struct gone {
	char		*kind, *what, *why;
	uint64_t	 bytes, inodes;
	bool		 gone;
};

struct collection {
	bool		 dry;
	uint64_t	 bytes, inodes;
	struct gone	*v;
	size_t		 n;
};

struct out {
	void	(*sessions)(const struct sessions *);
	void	(*session)(const struct m_SESSION *);
	void	(*changes)(const struct reviews *);
	void	(*diff)(const struct reviews *);
	void	(*patch)(const struct review *, const char *file);
	void	(*landed)(const struct review *);
	void	(*refused)(const struct review *);	/* what drifted */
	void	(*discarded)(const struct review *);
	void	(*ended)(const struct m_SESSION *);	/* by stop, kill */
	void	(*removed)(const char *sid, const char *warning);
	void	(*usages)(const struct usages *);
	void	(*explained)(const struct m_EXPLAINED *, const char *sid);
	void	(*collected)(const struct collection *);
	void	(*outside)(const struct outside *);
	void	(*started)(const char *sid);
	void	(*checks)(const struct checks *, bool good);
	void	(*version)(const struct conn *);	/* NULL: none runs */
};

extern const struct out	out_text, out_json;
const struct out	*out_form(const struct options *);
/* out_text.c: "KEY   value", escaped; the others are parts of out_text. */
void	text_line(const char *key, const char *value);
void	text_said(const char *key, const char *value);
void	text_sessions(const struct sessions *);		/* text_session.c */
void	text_session(const struct m_SESSION *);
void	text_ended(const struct m_SESSION *);
/* Those that are to be told apart: the first few on stderr, a line each. */
void	text_choices(const struct m_SESSION *const *, size_t);
/* "killed by uid:0", which is all that sbxd knows, with the name that the user
 * has here; malloc'ed. */
char	*text_names(const char *);
/* column.c: of this width, or of what s needs where that is more. */
#define COLUMN_GAP	2
size_t	column_wider(size_t width, const char *s);
/* s in its column, cut to it at its end or, a path, at its beginning; last: the
 * line ends with it. */
void	column_put(FILE *, const char *s, size_t width, bool path, bool last);
/* text_life.c */
void	text_usages(const struct usages *);
void	text_explained(const struct m_EXPLAINED *, const char *sid);
void	text_collected(const struct collection *);
void	text_outside(const struct outside *);	/* text_outside.c */
/* "1.5 GiB", in buf, which is returned. */
const char *text_size(uint64_t bytes, char *buf, size_t size);
/* "added" is A: a letter a kind. */
char	text_letter(const char *kind);
/* Counts for one line: "3 files changed, 10 insertions(+), 5 deletions(-)". */
char	*review_counts(const struct review *);

/* Commands, a row of the table each. */
int	run_main(struct options *);
int	new_main(struct options *);
int	attach_main(struct options *);
int	exec_main(struct options *);
int	ls_main(struct options *);
int	show_main(struct options *);
int	rm_main(struct options *);
int	stop_main(struct options *);
int	kill_main(struct options *);
int	resume_main(struct options *);
int	du_main(struct options *);
int	gc_main(struct options *);
int	explain_main(struct options *);
int	changes_main(struct options *);
int	diff_main(struct options *);
int	patch_main(struct options *);
int	apply_main(struct options *);
int	discard_main(struct options *);
int	doctor_main(struct options *);
int	version_main(struct options *);

#endif
