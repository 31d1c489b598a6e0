/*
 * sbxd.conf: JSON text to settings. No file is touched in here.
 */
#ifndef PRIVSEP_CONF_PARSE_H
#define PRIVSEP_CONF_PARSE_H

#include <stddef.h>

#define CONF_DEFAULT	"/etc/sbx/sbxd.conf"
#define CONF_ERROR	1024		/* room for a reason */
#define CONF_SIZE	(1 << 20)	/* largest file */

struct conf;

/* Sets jansson's seed, so that it opens nothing to find one. */
void		 conf_seed(void);
/* NULL, and one line in why: place in the text or in the tree, value, what is
 * allowed. The file's name is the caller's to add. */
struct conf	*conf_parse(const char *text, size_t len,
		    char why[CONF_ERROR]);
/* Calls fn for each setting, in the order of the manual: key and value as
 * SETTING carries them. Stops where fn answers other than 0, and returns
 * that. */
int		 conf_each(const struct conf *,
		    int (*fn)(void *, const char *key, const char *value),
		    void *);
/* The canonical text, which conf_parse takes again: malloc'ed, NULL: memory. */
char		*conf_text(const struct conf *);
void		 conf_free(struct conf *);

#endif
