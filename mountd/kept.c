/*
 * What a clean puts aside, written down beside it: where each is from. So it
 * comes back also where the clean itself could not bring it back, or was
 * killed. Nothing of it is given up as long as that file is there, and all of
 * it with its removal.
 *
 * The file: the layer's number, then each step in turn, "a" of a discard, "l"
 * of a landing, or "o" where a folder took a whiteout's place, and its path; a
 * NUL behind each. What is of a landing has landed, or is a folder with nothing
 * of its own: where it cannot come back any more it is of no worth. A step is
 * written before it is made, and not synced: what a power cut leaves of it may
 * be shorter than what was put aside, and that stays for who looks by hand.
 */
#include <sys/stat.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../common/put.h"
#include "../privsep/whole.h"
#include "clean.h"
#include "fault.h"
#include "layer.h"
#include "mountd.h"
#include "rm.h"

#define STEPS		"steps"
#define STEPS_MAX	(256 << 20)

struct kept {
	char		*file;
	const char	**v;		/* the steps' records */
	size_t		 n;
	int		 aside, u;
	bool		 still;		/* see kept_return */
	size_t		 stay;
	const char	*first;		/* path of the one that stays, NULL: */
	int		 error;		/* it is not known; and why */
};

struct number
step_number(size_t i)
{
	struct number	n;

	snprintf(n.s, sizeof(n.s), "%zu", i);
	return (n);
}

static int
kept_begin(struct clean *c)
{
	struct number	n = step_number(c->n);

	c->steps_fd = openat(c->aside, STEPS, O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (c->steps_fd == -1)
		return (-1);
	return (put_all(c->steps_fd, n.s, strlen(n.s) + 1));
}

int
kept_note(struct clean *c, const char *path, bool opened)
{
	char	record[PATH_MAX + 1];
	int	len;

	if (c->steps_fd == -1 && kept_begin(c) == -1)
		return (-1);
	len = snprintf(record, sizeof(record), "%c%s", opened ? 'o' :
	    c->discard ? 'a' : 'l', path) + 1;
	c->steps_len += (size_t)len;
	if (c->steps_len > STEPS_MAX - sizeof(struct number)) {
		errno = EFBIG;
		return (-1);
	}
	return (put_all(c->steps_fd, record, (size_t)len));
}

void
kept_close(struct clean *c)
{
	if (c->steps_fd != -1)
		close(c->steps_fd);
	c->steps_fd = -1;
}

int
kept_give_up(struct clean *c)
{
	if (c->steps_fd == -1)
		return (0);
	kept_close(c);
	return (unlinkat(c->aside, STEPS, 0));
}

/* A folder with nothing in it but whiteouts, as it is when a discard makes it;
 * what else is in there the session has written since. */
static bool
only_hides(int dir, const char *name)
{
	struct names	ns;
	struct stat	st;
	size_t		i;
	bool		r = true;
	int		fd;

	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd == -1)
		return (false);
	if (names_read(fd, "", &ns) == -1) {
		close(fd);
		return (false);
	}
	for (i = 0; r && i < ns.n; i++)
		r = at_stat(fd, ns.v[i], &st) && whiteout_is(&st);
	names_free(&ns);
	close(fd);
	return (r);
}

/* Where something is that the session has made meanwhile, a whiteout hides
 * nothing that it has not taken the place of. */
static int
return_into(int aside, const char *n, int dir, const char *name,
    const struct stat *st, bool opened, bool still)
{
	if (opened && (still || only_hides(dir, name)) &&
	    rm_all(dir, name) == -1)
		return (-1);
	if (renameat2(aside, n, dir, name, RENAME_NOREPLACE) == 0)
		return (0);
	if (errno == EEXIST && !still && whiteout_is(st))
		return (unlinkat(aside, n, 0));
	return (-1);
}

int
kept_return(int aside, int u, size_t i, const char *path, bool opened,
    bool still)
{
	struct number	 n = step_number(i);
	struct stat	 st;
	const char	*name;
	int		 dir, r, saved;

	if (fstatat(aside, n.s, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return (errno == ENOENT ? 0 : -1);
	/* It has not come to take the whiteout's place. */
	if (opened && S_ISDIR(st.st_mode))
		return (rm_all(aside, n.s));
	if ((dir = at_parent(u, path, &name)) == -1)
		return (-1);
	r = return_into(aside, n.s, dir, name, &st, opened, still);
	saved = errno;
	close(dir);
	errno = saved;
	return (r);
}

/* A step's: what a power cut has left of the file may end in zeros. */
static bool
record_is(const char *p)
{
	return ((*p == 'a' || *p == 'l' || *p == 'o') && p[1] != '\0');
}

/* The records that are whole: the one that was being written is of no step,
 * nor is any behind what is no record. */
static int
kept_split(struct kept *k, size_t len)
{
	const char	*p, *end = k->file + len;
	size_t		 n = 0;

	for (p = k->file; (p = memchr(p, '\0', (size_t)(end - p))) != NULL;
	    p++)
		n++;
	if ((k->v = calloc(n + 1, sizeof(*k->v))) == NULL)
		return (-1);
	for (p = k->file; k->n < n && (k->n == 0 ? *p != '\0' :
	    record_is(p)); p += strlen(p) + 1)
		k->v[k->n++] = p;
	return (0);
}

/* 1; 0: there is none, nothing is kept; -1 errno. */
static int
kept_read(struct kept *k, int store)
{
	const char	*why, *error;
	unsigned int	 layer;
	size_t		 len;

	k->file = (char *)whole_read(k->aside, STEPS, STEPS_MAX, &len, &why);
	if (k->file == NULL)
		return (errno == ENOENT ? 0 : -1);
	if (kept_split(k, len) == -1)
		return (-1);
	if (k->n == 0)
		return (1);
	layer = (unsigned int)strtonum(k->v[0], LAYER_ROOT, LAYER_MAX,
	    &error);
	if (error != NULL) {
		errno = EBADMSG;
		return (-1);
	}
	k->u = layer_upper(store, layer);
	return (k->u == -1 ? -1 : 1);
}

static void
kept_stays(struct kept *k, const char *path, int error)
{
	if (k->stay++ > 0)
		return;
	k->first = path;
	k->error = error;
}

/* Landed, and the session has gone on where it was: kept, it would be a reason
 * for ever not to look at the session. */
static bool
kept_landed(const struct kept *k, const char *record, int error)
{
	return (record[0] == 'l' && !k->still && (error == EEXIST ||
	    error == ENOENT || error == ENOTDIR || error == ELOOP));
}

static int
kept_step(struct kept *k, size_t i, const char *record)
{
	bool	opened = record[0] == 'o';

	if (opened && k->stay > 0) {
		errno = EBUSY;
		return (-1);
	}
	if (kept_return(k->aside, k->u, i, record + 1, opened,
	    k->still) == 0)
		return (0);
	if (!kept_landed(k, record, errno))
		return (-1);
	return (rm_all(k->aside, step_number(i).s));
}

/* All that can be: one that cannot keeps none of the others. But what has
 * taken a whiteout's place is left alone as long as something of it may be
 * among them. */
static void
kept_steps(struct kept *k)
{
	size_t	i;

	for (i = k->n; i-- > 1; ) {
		child_alive();
		if (kept_step(k, i - 1, k->v[i]) == -1)
			kept_stays(k, k->v[i] + 1, errno);
	}
}

/* What is there, and no record says from where. */
static int
kept_strays(struct kept *k)
{
	struct names	 ns;
	const char	*error;
	size_t		 i;

	if (names_read(k->aside, "", &ns) == -1)
		return (-1);
	for (i = 0; i < ns.n; i++) {
		(void)strtonum(ns.v[i], k->n > 0 ? (long long)k->n - 1 : 0,
		    LLONG_MAX, &error);
		if (error == NULL)
			kept_stays(k, NULL, ENOENT);
	}
	names_free(&ns);
	return (0);
}

static int
kept_told(const struct kept *k)
{
	if (k->first == NULL)
		return (fault_also("mount.aside", "%zu of the session's "
		    "files, put aside when the machine went down in a discard "
		    "or landing, stay in \"aside\" in the session's folder "
		    "below %s/s: where they belong was not written any more; "
		    "move them away by hand", k->stay, shown(mountd.state)));
	return (fault_also("mount.aside", "%zu of what a discard or landing "
	    "that did not end took out of the session stays in \"aside\" in "
	    "its folder below %s/s, since %s cannot come back (%s%s): that is "
	    "tried again whenever the session is looked at", k->stay,
	    shown(mountd.state), shown(k->first), strerror(k->error),
	    k->error == EEXIST ? ", move away what is there now" : ""));
}

int
kept_back(int aside, int store, bool still)
{
	struct kept	k = { .aside = aside, .u = -1, .still = still };
	int		r;

	if ((r = kept_read(&k, store)) == 1) {
		kept_steps(&k);
		r = kept_strays(&k);
	}
	if (r == -1)
		r = fault_also("mount.aside", "what was put aside of the "
		    "session's layer, in \"aside\" in its folder below %s/s, "
		    "cannot be read: %s", shown(mountd.state),
		    strerror(errno));
	else if (k.stay > 0)
		r = kept_told(&k);
	if (k.u != -1)
		close(k.u);
	free(k.v);
	free(k.file);
	return (r);
}
