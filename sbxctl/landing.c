/*
 * apply and discard.
 */
#include <sys/stat.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/digest.h"
#include "../common/path.h"
#include "sbxctl.h"

/* It is not ours to stop: what is begun goes to its end, and says so. */
static void
landing_on_signal(int sig)
{
	static const char	text[] = "\nsbxctl: the landing goes on, and "
	    "this waits for it: interrupt once more to leave it alone\n";

	(void)sig;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
}

/* A second one ends us, as ever; where it was ignored it still is. */
static void
landing_signals(struct sigaction *before)
{
	struct sigaction	sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = landing_on_signal;
	sa.sa_flags = (int)SA_RESETHAND;
	sigaction(SIGINT, NULL, before);
	if (before->sa_handler != SIG_IGN)
		sigaction(SIGINT, &sa, NULL);
}

int
landing_apply(struct conn *c, const char *sid, const char *root,
    const uint8_t *digest, bool stays, const struct out *out)
{
	struct m_APPLY	body = { .session = sid, .root = root };
	struct sigaction before;
	struct review	r;
	int		status = 0;

	if (digest != NULL) {
		body.digest.p = digest;
		body.digest.len = DIGEST_LEN;
	}
	landing_signals(&before);
	review_get(c, sid, MSG_APPLY, &body, &r);
	sigaction(SIGINT, &before, NULL);
	r.root = root;
	if (r.error != NULL) {
		out->refused(&r);
		say("%s", r.error);
		status = EXIT_OTHER;
	} else {
		r.unseen = digest == NULL;
		r.stays = stays;
		out->landed(&r);
	}
	/* It landed all the same. */
	if (r.warning != NULL) {
		fflush(stdout);
		say("session %s: %s", sid, r.warning);
	}
	review_free(&r);
	return (status);
}

/* With the words of the question after a command; yes and no are these too. */
static bool
apply_wanted(struct conn *c, const struct reviews *shown, const char *root)
{
	static const char *const	words[] = { "apply", "keep", "view",
					    "yes", "no", NULL };

	for (;;) {
		switch (choice_ask("apply, keep, or view? [a/K/v] ", words)) {
		case 'a':
		case 'y':
			return (true);
		case 'v':
			choice_view(c, shown, NULL, root);
			break;
		default:
			return (false);
		}
	}
}

/* The summary, the question; what was shown is what is applied. */
static int
apply_asking(struct conn *c, const char *sid, const char *root,
    const struct out *out)
{
	struct reviews	all;
	int		status = EXIT_OTHER;

	reviews_get(c, sid, MSG_CHANGES, NULL, root, false, &all);
	out->changes(&all);
	fflush(stdout);
	if (all.sum.sum.files == 0)
		status = 0;
	else if (apply_wanted(c, &all, root))
		status = landing_apply(c, sid, root, all.v[0].digest,
		    root == NULL && session_ended(c, sid), out);
	else if (!session_gone(c, sid))
		say("nothing was applied: session %s keeps its changes", sid);
	reviews_free(&all);
	return (status);
}

int
apply_main(struct options *opts)
{
	struct conn	*c;
	struct roots	 roots;
	const char	*root;
	uint8_t		 digest[DIGEST_LEN];
	char		*sid;
	bool		 ask = !opts->yes && opts->digest == NULL;
	int		 status;

	if (opts->yes && opts->digest != NULL)
		fail_usage("apply: --yes and --digest %s: give one of them",
		    opts->digest);
	if (opts->digest != NULL && digest_parse(opts->digest, digest) == -1)
		fail_usage("apply: --digest %s: not 64 hexadecimal digits: "
		    "\"sbxctl changes\" prints it", opts->digest);
	if (ask && (opts->json || !isatty(STDIN_FILENO) ||
	    !isatty(STDOUT_FILENO)))
		fail("apply: there is no terminal to ask on: give --digest "
		    "DIGEST, as \"sbxctl changes\" prints it, or --yes for "
		    "what is there now");
	c = conn_open();
	sid = session_find(c, opts->argv[0], PICK_ONE);
	session_roots(c, sid, &roots);
	root = session_root("apply", sid, &roots, opts->root);
	progress_allow(!opts->json);
	if (ask)
		status = apply_asking(c, sid, root, out_form(opts));
	else
		status = landing_apply(c, sid, root, opts->yes ? NULL :
		    digest, root == NULL && session_ended(c, sid),
		    out_form(opts));
	session_roots_free(&roots);
	free(sid);
	conn_close(c);
	return (done(status));
}

/*
 * The first word may be a session's or a path. Before "--" it is a session's
 * if it can be; what could be both is asked for in clear.
 */
static char *
discard_session(struct conn *c, const struct options *opts, int *first)
{
	struct stat	 st;
	char		*sid;

	*first = 0;
	if (opts->before == 0 || (sid = session_try(c, opts->argv[0])) == NULL)
		return (session_find(c, NULL, PICK_ONE));
	if (strlen(opts->argv[0]) < strlen(sid) &&
	    lstat(opts->argv[0], &st) == 0)
		fail("discard: %s: session %s, or the file of that name: "
		    "write the id whole, or ./%s", opts->argv[0], sid,
		    opts->argv[0]);
	*first = 1;
	return (sid);
}

/* The root that this path is in, which is the one that was meant so far. */
static const char *
discard_root(const struct roots *roots, const char *root, const char *word,
    const char *path)
{
	const char	*over = roots_over(roots, path);

	if (root != NULL && over != NULL && strcmp(root, over) != 0)
		fail("discard: %s: not in %s: discard of one root after the "
		    "other", word, root);
	if (over == NULL)
		fail("discard: %s: not in the session's project %s: name a "
		    "path below it", word, root != NULL ? root : roots->v[0]);
	return (over);
}

/* Words to paths below a root; returns which. */
static const char *
discard_paths(const struct roots *roots, const char *root,
    const struct options *opts, int first, struct strv *paths)
{
	char	 clean[PATH_MAX];
	char	*cwd = project_cwd();
	int	 i;

	paths->v = need(calloc((size_t)opts->argc + 1, sizeof(*paths->v)));
	for (i = first; i < opts->argc; i++) {
		if (*opts->argv[i] == '\0')
			fail("discard: an empty path: name one");
		if (path_clean(cwd, opts->argv[i], clean, sizeof(clean)) == -1)
			fail("discard: %.40s...: longer than %d bytes: give a "
			    "shorter one", opts->argv[i], LIMIT_PATH);
		root = discard_root(roots, root, opts->argv[i], clean);
		/* The root itself stands for all there is. */
		paths->v[paths->n++] = copy(path_below(root, clean));
	}
	free(cwd);
	return (root);
}

int
discard_main(struct options *opts)
{
	struct m_DISCARD body = { 0 };
	struct review	 r;
	struct roots	 roots;
	struct conn	*c;
	const char	*root;
	char		*sid;
	int		 first;

	if (!opts->yes)
		fail("discard: what is discarded is gone: give --yes, or look "
		    "first with \"sbxctl diff\"");
	c = conn_open();
	sid = discard_session(c, opts, &first);
	body.session = sid;
	session_roots(c, sid, &roots);
	/* Paths say which root they are of. */
	root = opts->argc > first && opts->root == NULL ? NULL :
	    session_root("discard", sid, &roots, opts->root);
	if (opts->argc > first)
		root = discard_paths(&roots, root, opts, first, &body.paths);
	body.root = roots.n > 1 ? root : NULL;
	progress_allow(!opts->json);
	review_get(c, sid, MSG_DISCARD, &body, &r);
	if (r.landed == 0 && body.paths.n > 0)
		fail("discard: %s%s: the session has changed nothing there: "
		    "\"sbxctl changes\" lists what it has", body.paths.v[0],
		    body.paths.n > 1 ? ", ..." : "");
	r.root = body.root;
	out_form(opts)->discarded(&r);
	review_free(&r);
	session_roots_free(&roots);
	free(sid);
	conn_close(c);
	return (done(0));
}
