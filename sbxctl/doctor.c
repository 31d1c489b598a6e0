/*
 * doctor, version: what can be told without a suite is told without one.
 */
#include <sys/utsname.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sbxctl.h"

static void __attribute__((format(printf, 4, 5)))
checks_add(struct checks *all, const char *level, const char *what,
    const char *fmt, ...)
{
	struct check	*one;
	va_list		 ap;

	all->v = need(reallocarray(all->v, all->n + 1, sizeof(*all->v)));
	one = &all->v[all->n++];
	one->level = copy(level);
	one->what = copy(what);
	va_start(ap, fmt);
	if (vasprintf(&one->text, fmt, ap) == -1)
		fail("out of memory");
	va_end(ap);
}

static void
checks_free(struct checks *all)
{
	size_t	i;

	for (i = 0; i < all->n; i++) {
		free(all->v[i].level);
		free(all->v[i].what);
		free(all->v[i].text);
	}
	free(all->v);
}

/* Whoever crashes chooses what is in its core, and in its name. */
static void
doctor_cores(struct checks *all)
{
	FILE	*f = fopen("/proc/sys/kernel/core_pattern", "re");
	int	 c;

	if (f == NULL)
		return;
	/* A program, or (from Linux 6.16 on) a service's socket. */
	if ((c = getc(f)) == '|' || c == '@')
		checks_add(all, "warn", "cores", "kernel.core_pattern is no "
		    "file: what crashes in a session is handed to a program "
		    "on this machine, as root, which keeps its core there; a "
		    "plain name, as \"core\", keeps cores in the session");
	fclose(f);
}

/* What sbxctl itself can see. */
static void
doctor_here(struct checks *all)
{
	struct utsname	 un;
	char		*program = suite_program();

	if (uname(&un) == 0)
		checks_add(all, "ok", "kernel", "%s %s", un.release,
		    un.machine);
	if (program != NULL)
		checks_add(all, "ok", "program", "%s", program);
	else
		checks_add(all, "fail", "program", "no sbxd beside sbxctl "
		    "and none at " SBX_SBINDIR ": install the suite whole");
	free(program);
	doctor_cores(all);
}

/* A running suite, or one started for this; NULL: neither is to be had. */
static struct conn *
doctor_suite(struct checks *all)
{
	struct conn	*c = conn_find();
	char		*why;

	if (c != NULL) {
		checks_add(all, "ok", "suite", "runs: %s", c->path);
		return (c);
	}
	if ((why = suite_start()) == NULL && (c = conn_find()) != NULL)
		checks_add(all, "ok", "suite", "none runs, one can be "
		    "started: %s", c->path);
	else
		checks_add(all, "fail", "suite", "%s", why != NULL ? why :
		    "it starts and ends at once: look at its log");
	free(why);
	return (c);
}

static bool
doctor_take(void *all, struct msg *msg)
{
	const struct m_TEXT	*t = msg->body;

	if (msg->type != MSG_TEXT)
		return (false);
	checks_add(all, t->level, t->what, "%s", t->text);
	return (true);
}

int
doctor_main(struct options *opts)
{
	struct checks	 all = { 0 };
	struct conn	*c;
	size_t		 i;
	bool		 good = true;

	doctor_here(&all);
	if ((c = doctor_suite(&all)) != NULL)
		conn_collect(c, MSG_DOCTOR, NULL, CONN_SHORT_MS, doctor_take,
		    &all);
	conn_close(c);
	for (i = 0; i < all.n; i++)
		if (strcmp(all.v[i].level, "fail") == 0)
			good = false;
	out_form(opts)->checks(&all, good);
	checks_free(&all);
	return (done(good ? 0 : EXIT_OTHER));
}

/* Asks a running suite only: a version is no reason to start one. */
int
version_main(struct options *opts)
{
	struct conn	*c = getenv("SBX_SESSION") ? NULL : conn_find();

	out_form(opts)->version(c);
	conn_close(c);
	return (done(0));
}
