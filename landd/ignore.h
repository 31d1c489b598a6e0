/*
 * What the real tree's rules ignore: its .gitignore files, and info/exclude
 * of its repository.
 *
 * An evaluator of our own, and not libgit2's: that one wants a repository,
 * which it opens by path and whose configuration it obeys, and it reads rule
 * files through links. These are read by descriptor, through none.
 */
#ifndef LANDD_IGNORE_H
#define LANDD_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

struct ignore_rule {
	char		*text;
	bool		 negate;	/* ! */
	bool		 dir;		/* ends with / */
	bool		 name;		/* no slash: matches the last name */
};

/* The rules of one file. They hold for paths below base, and go before those
 * of the lists further up. */
struct ignore {
	struct ignore	*up;
	struct ignore	*made;		/* all that were made: ignore_free */
	char		*base;		/* "" or "folder/" */
	struct ignore_rule *v;
	size_t		 n;
};

/*
 * Reads fd (taken over; not a regular file, or above 1 MiB: no rules) as the
 * rules of base, in front of up, and adds it to *made. Returns up where there
 * are none; NULL with errno ENOMEM sets *failed.
 */
struct ignore *ignore_read(int fd, const char *base, struct ignore *up,
	    struct ignore **made, bool *failed);
/* Whether the rules ignore path, whose folder they do not ignore. */
bool	ignore_match(const struct ignore *, const char *path, bool dir);
void	ignore_free(struct ignore *made);

#endif
