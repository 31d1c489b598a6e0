/*
 * The manifest: what is to land, a line an entry, and with the patch what the
 * digest stands for. Text, and the same bytes for the same change set:
 *
 *	sbx manifest 1
 *	KIND PREMODE POSTMODE PRESIZE POSTSIZE PRESHA POSTSHA FLAG PATH [FROM]
 *
 * modes in octal, SHA-256 (blocks.h) in hexadecimal, "-" where a side has no
 * file; FLAG
 * is "opaque" or "-"; names quoted as in the patch.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../common/put.h"
#include "changeset.h"
#include "quote.h"
#include "tree.h"

static const char *const kinds[] = {
	[CHANGE_ADDED] = "added",
	[CHANGE_MODIFIED] = "modified",
	[CHANGE_DELETED] = "deleted",
	[CHANGE_MODE] = "mode",
	[CHANGE_TYPE] = "type",
	[CHANGE_RENAMED] = "renamed",
};

static int
manifest_sha(struct buf *b, const struct image *im)
{
	char	hex[2 * DIGEST_LEN + 1];

	if (im->mode == 0)
		return (buf_str(b, " -"));
	digest_hex(im->sha, hex);
	return (buf_fmt(b, " %s", hex));
}

static int
manifest_line(struct buf *b, const struct change *c)
{
	if (buf_fmt(b, "%s %o %o %llu %llu", kinds[c->kind],
	    (unsigned int)c->pre.mode, (unsigned int)c->post.mode,
	    (unsigned long long)c->pre.size,
	    (unsigned long long)c->post.size) == -1 ||
	    manifest_sha(b, &c->pre) == -1 ||
	    manifest_sha(b, &c->post) == -1 ||
	    buf_str(b, c->opaque ? " opaque " : " - ") == -1 ||
	    quote_path(b, "", c->path) == -1)
		return (-1);
	if (c->from != NULL && (buf_str(b, " ") == -1 ||
	    quote_path(b, "", c->from) == -1))
		return (-1);
	return (buf_str(b, "\n"));
}

static int
manifest_write(const struct job *job, const struct buf *b)
{
	int	fd;

	if (unlinkat(job->stage, "manifest", 0) == -1 && errno != ENOENT)
		return (-1);
	fd = openat(job->stage, "manifest", O_WRONLY | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		return (-1);
	if (put_all(fd, b->p, b->len) == -1) {
		close(fd);
		return (-1);
	}
	return (close(fd));
}

/* Adds all of stage/patch, which has to be of the size it was written. */
static int
manifest_patch(const struct job *job, const struct changeset *set,
    struct digest *d)
{
	uint8_t		block[65536];
	uint64_t	size = 0;
	ssize_t		n;
	int		fd;

	if ((fd = tree_open(job->stage, "patch", O_RDONLY)) == -1)
		return (-1);
	while ((n = read(fd, block, sizeof(block))) > 0) {
		digest_add(d, block, (size_t)n);
		size += (uint64_t)n;
	}
	close(fd);
	if (n == 0 && size != set->patchsize) {
		errno = ESTALE;
		n = -1;
	}
	return (n == 0 ? 0 : -1);
}

int
changeset_manifest(const struct job *job, struct changeset *set, char *why,
    size_t whylen)
{
	const struct change	*c;
	struct digest		 d;
	struct buf		 b = { 0 };
	int			 rv;

	rv = buf_str(&b, "sbx manifest 1\n");
	TAILQ_FOREACH(c, &set->changes, entry)
		if (rv == 0)
			rv = manifest_line(&b, c);
	if (rv == 0)
		rv = manifest_write(job, &b);
	digest_init(&d);
	digest_add(&d, b.p, b.len);
	if (rv == 0)
		rv = manifest_patch(job, set, &d);
	digest_end(&d, set->digest);
	buf_free(&b);
	if (rv == -1)
		snprintf(why, whylen, "manifest: staging folder: %s",
		    strerror(errno));
	return (rv);
}
