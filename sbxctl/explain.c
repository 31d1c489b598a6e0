/*
 * explain: what a session sees at a path, one that is there or one that run
 * would start with the same options.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../common/fields.h"
#include "sbxctl.h"

/* Links and ".." in it are the session's to follow: all that is folded is a
 * slash that comes twice. */
static char *
explain_path(const char *path)
{
	char	*cwd, *full, *in, *out;

	if (*path == '\0')
		fail("explain: an empty path: name a file or folder");
	if (*path == '/')
		full = copy(path);
	else {
		cwd = project_cwd();
		if (asprintf(&full, "%s/%s", cwd, path) == -1)
			fail("out of memory");
		free(cwd);
	}
	for (in = out = full; *in != '\0'; in++)
		if (in[0] != '/' || in[1] != '/')
			*out++ = *in;
	*out = '\0';
	if (strlen(full) > LIMIT_PATH)
		fail("explain %.40s...: longer than %d bytes: give a "
		    "shorter one", path, LIMIT_PATH);
	return (full);
}

static void
explain_options_none(const struct options *opts)
{
	if (opts->repo.n > 0 || opts->as != NULL || opts->hide.n > 0 ||
	    opts->ro.n > 0)
		fail_usage("explain: %s: a session that is there has its own "
		    "--repo, --hide, --ro and --as: leave them or it out",
		    opts->argv[1]);
}

static void
explain_here(const struct options *opts, struct m_EXPLAIN *m)
{
	struct roots	 roots;
	struct who	 who;
	char		*cwd;
	size_t		 i;

	who_find(opts->as, &who);
	project_roots(&opts->repo, &who, &roots, &m->more);
	m->project = roots.v[0];
	/* The list outlives what it was made in. */
	m->more.v = need(calloc(LIMIT_ROOTS, sizeof(*m->more.v)));
	for (i = 0; i < m->more.n; i++)
		m->more.v[i] = roots.v[i + 1];
	m->home = who.home;
	cwd = project_cwd();
	project_paths("--hide", &opts->hide, &who, cwd, &m->hide);
	project_paths("--ro", &opts->ro, &who, cwd, &m->ro);
	free(cwd);
	if ((m->as = who.as)) {
		m->uid = who.uid;
		m->gid = who.gid;
		m->groups.n = who.ngroups;
		m->groups.v = who.groups;
	}
}

int
explain_main(struct options *opts)
{
	struct m_EXPLAIN	 body = { .path = explain_path(opts->argv[0]) };
	struct conn		*c;
	struct msg		 msg, end;

	if (opts->argc == 2)
		explain_options_none(opts);
	else
		explain_here(opts, &body);
	c = conn_open();
	if (opts->argc == 2)
		body.session = session_find(c, opts->argv[1], PICK_ONE);
	conn_send(c, MSG_EXPLAIN, &body);
	conn_expect(c, MSG_EXPLAINED, &msg, CONN_SHORT_MS);
	conn_expect(c, MSG_END, &end, CONN_SHORT_MS);
	out_form(opts)->explained(msg.body, body.session);
	msg_free(&end);
	msg_free(&msg);
	conn_close(c);
	return (done(0));
}
