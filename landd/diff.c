/*
 * libgit2's differ on two buffers: no repository, no configuration, no
 * attributes are looked at. What it gives is never taken on trust: it counts
 * a failure of its own (no memory) as no difference, and no error.
 */
#include <errno.h>
#include <string.h>

#include <git2.h>

#include "diff.h"

struct sink {
	struct diff	*d;
	bool		 failed;
};

bool
diff_binary(const struct side *s)
{
	size_t	len = s->len < DIFF_NUL ? s->len : DIFF_NUL;

	return (len > 0 && memchr(s->p, '\0', len) != NULL);
}

size_t
diff_lines(const struct side *s)
{
	const uint8_t	*p = s->p, *end = s->p + s->len;
	size_t		 n = 0;

	while (p < end) {
		n++;
		if ((p = memchr(p, '\n', (size_t)(end - p))) == NULL)
			break;
		p++;
	}
	return (n);
}

static int
sink_hunk(const git_diff_delta *delta, const git_diff_hunk *hunk, void *arg)
{
	struct sink	*s = arg;
	size_t		 len = hunk->header_len;

	(void)delta;
	/* The function's name after the second @@ is cut at some length. */
	if (len == 0 || hunk->header[len - 1] != '\n') {
		if (buf_fmt(&s->d->body, "@@ -%d,%d +%d,%d @@\n",
		    hunk->old_start, hunk->old_lines, hunk->new_start,
		    hunk->new_lines) == -1)
			s->failed = true;
	} else if (buf_add(&s->d->body, hunk->header, len) == -1)
		s->failed = true;
	return (s->failed ? -1 : 0);
}

static int
sink_line(const git_diff_delta *delta, const git_diff_hunk *hunk,
    const git_diff_line *line, void *arg)
{
	struct sink	*s = arg;

	(void)delta;
	(void)hunk;
	if (line->origin == GIT_DIFF_LINE_ADDITION)
		s->d->insertions++;
	else if (line->origin == GIT_DIFF_LINE_DELETION)
		s->d->deletions++;
	/* Of the marks of a missing newline the text is whole. */
	if (((line->origin == GIT_DIFF_LINE_ADDITION ||
	    line->origin == GIT_DIFF_LINE_DELETION ||
	    line->origin == GIT_DIFF_LINE_CONTEXT) &&
	    buf_add(&s->d->body, &line->origin, 1) == -1) ||
	    buf_add(&s->d->body, line->content, line->content_len) == -1)
		s->failed = true;
	return (s->failed ? -1 : 0);
}

static int
sink_binary_file(struct sink *s, const git_diff_binary_file *f)
{
	if (f->type != GIT_DIFF_BINARY_LITERAL &&
	    f->type != GIT_DIFF_BINARY_DELTA)
		return (0);		/* the replay will say so */
	if (binary_put(&s->d->body, f->type == GIT_DIFF_BINARY_DELTA ?
	    "delta" : "literal", f->inflatedlen, (const uint8_t *)f->data,
	    f->datalen) == -1)
		s->failed = true;
	return (s->failed ? -1 : 0);
}

static int
sink_binary(const git_diff_delta *delta, const git_diff_binary *bin, void *arg)
{
	struct sink	*s = arg;

	(void)delta;
	if (buf_str(&s->d->body, "GIT binary patch\n") == -1)
		s->failed = true;
	if (s->failed || sink_binary_file(s, &bin->new_file) == -1 ||
	    sink_binary_file(s, &bin->old_file) == -1)
		return (-1);
	return (0);
}

static void
diff_rewind(struct diff *d, const struct diff *was)
{
	d->body.len = was->body.len;
	d->insertions = was->insertions;
	d->deletions = was->deletions;
}

/* Lines of one side, each after mark. */
static int
plain_lines(struct buf *b, const struct side *s, char mark)
{
	const uint8_t	*p = s->p, *end = s->p + s->len, *nl;

	for (; p < end; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (buf_add(b, &mark, 1) == -1 || buf_add(b, p,
		    nl == NULL ? (size_t)(end - p) : (size_t)(nl + 1 - p)) ==
		    -1)
			return (-1);
		if (nl == NULL)
			return (buf_str(b, "\n\\ No newline at end of "
			    "file\n"));
	}
	return (0);
}

/* One hunk: all that was goes, all that is comes. */
static int
diff_plain(const struct side *a, const struct side *b, struct diff *d)
{
	size_t	gone = diff_lines(a), come = diff_lines(b);

	d->deletions += gone;
	d->insertions += come;
	if (buf_fmt(&d->body, "@@ -%d,%zu +%d,%zu @@\n", a->len > 0, gone,
	    b->len > 0, come) == -1 ||
	    plain_lines(&d->body, a, '-') == -1 ||
	    plain_lines(&d->body, b, '+') == -1)
		return (-1);
	return (0);
}

static bool
diff_bounded(const struct side *s)
{
	return (s->len <= DIFF_MAX && diff_lines(s) <= DIFF_LINES &&
	    !diff_collides(s));
}

static int
diff_run(const struct side *a, const struct side *b, uint32_t flags,
    struct sink *s)
{
	git_diff_options	o;

	if (git_diff_options_init(&o, GIT_DIFF_OPTIONS_VERSION) != 0)
		return (-1);
	o.flags = flags;
	return (git_diff_buffers(a->p, a->len, NULL, b->p, b->len, NULL, &o,
	    NULL, sink_binary, sink_hunk, sink_line, s));
}

int
diff_text(const struct side *a, const struct side *b, struct diff *d)
{
	struct sink	s = { .d = d };
	struct diff	was = *d;
	size_t		from = d->body.len;

	/* Of a file that comes or goes the plain form is all there is. */
	if (a->len > 0 && b->len > 0 && diff_bounded(a) && diff_bounded(b) &&
	    diff_run(a, b, GIT_DIFF_FORCE_TEXT, &s) == 0 && !s.failed &&
	    replay_text(&d->body, from, a, b))
		return (0);
	diff_rewind(d, &was);
	if (diff_plain(a, b, d) == -1)
		return (-1);
	if (replay_text(&d->body, from, a, b))
		return (0);
	errno = EINVAL;			/* not by any text */
	return (-1);
}

int
diff_blob(const struct side *a, const struct side *b, struct diff *d)
{
	struct sink	s = { .d = d };
	struct diff	was = *d;
	size_t		from = d->body.len;

	if (diff_run(a, b, GIT_DIFF_FORCE_BINARY | GIT_DIFF_SHOW_BINARY,
	    &s) == 0 && !s.failed && replay_binary(&d->body, from, a, b))
		return (0);
	diff_rewind(d, &was);
	if (buf_str(&d->body, "GIT binary patch\n") == -1 ||
	    binary_plain(&d->body, b) == -1 ||
	    binary_plain(&d->body, a) == -1)
		return (-1);
	if (replay_binary(&d->body, from, a, b))
		return (0);
	errno = EINVAL;
	return (-1);
}
