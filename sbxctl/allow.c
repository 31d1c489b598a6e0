/*
 * Which control sequences go through: those of which it is known what they
 * change, and what puts that back. A list, as for strings: every terminal has
 * modes of its own, and more come.
 */
#include <stdio.h>
#include <string.h>

#include "filter.h"

/* Not among them: HTS, which sets a tab stop that nobody knows of later; the
 * shifts for one character, which would be one of ours; memory lock. */
bool
esc_listed(const uint8_t *inter, size_t n, unsigned int final)
{
	if (n == 0)
		return (strchr("6789=>DEMZ\\cno|}~", (int)final) != NULL);
	if (n > 1)
		return (false);
	switch (inter[0]) {
	case '#':
		return (final == '8');
	case ' ':
		/* Not G: answers in C1, which are not known as ones. */
		return (final == 'F');
	}
	/* A set of letters; not ESC %, another coding, nor what is a string
	 * to screen. */
	return (inter[0] >= '(' && inter[0] <= '/' && inter[0] != ',');
}

static bool
is_modes(const struct csi *csi)
{
	if (csi->inter != 0)
		return (false);
	return (csi->final == 'h' || csi->final == 'l' ||
	    (csi->prefix == '?' && (csi->final == 'r' || csi->final == 's')));
}

static bool
mode_passes(const struct csi *csi, uint32_t mode)
{
	return (csi->prefix == '?' ? mode_listed(mode) :
	    csi->prefix == 0 && mode == 4);
}

bool
csi_trim(struct filter *f, struct csi *csi)
{
	size_t	i, n = 0, at;

	if (!is_modes(csi))
		return (true);
	for (i = 0; i < csi->n; i++)
		if (mode_passes(csi, csi->p[i]))
			csi->p[n++] = csi->p[i];
	if (n == 0 || csi->more || csi->colon)
		return (false);
	if (n == csi->n)
		return (true);
	csi->n = n;
	at = (size_t)snprintf((char *)f->hold, sizeof(f->hold), "\033[%s",
	    csi->prefix == '?' ? "?" : "");
	for (i = 0; i < n; i++)
		at += (size_t)snprintf((char *)f->hold + at,
		    sizeof(f->hold) - at, "%u%c", csi->p[i],
		    i + 1 < n ? ';' : csi->final);
	f->holdlen = at;
	return (true);
}

/* By what comes before the final byte. Not among them, but the most of what
 * there is: media copy (to a printer), tab stops, locators, macros, checksums
 * of what the screen shows, and whatever else a terminal answers in a form that
 * nobody here waits for. */
static const struct {
	uint8_t		 prefix, inter;
	const char	*finals;
} csi_list[] = {
	{ 0, 0, "@ABCDEFGHIJKLMPSTXZ^`abcdefhlmnrstux" },
	{ '?', 0, "JKSchlmnrsu" },
	{ '>', 0, "cmnqu" },
	{ '=', 0, "cu" },
	{ '<', 0, "u" },
	{ 0, ' ', "@Aq" },
	{ 0, '!', "p" },
	{ 0, '#', "PQpq{}" },
	{ 0, '$', "prtvxz{}" },
	{ '?', '$', "p" },
	{ 0, '\'', "}~" },
};

static bool
csi_known(const struct csi *csi)
{
	size_t	i;

	for (i = 0; i < sizeof(csi_list) / sizeof(csi_list[0]); i++)
		if (csi_list[i].prefix == csi->prefix &&
		    csi_list[i].inter == csi->inter)
			return (strchr(csi_list[i].finals, csi->final) != NULL);
	return (false);
}

/* Of the window: questions and the stack of titles. 20 and 21 would make the
 * terminal type the title that the session has set; nor is it for a session to
 * say how large it is, or where. */
static bool
window_listed(uint32_t what)
{
	switch (what) {
	case 11:
	case 13:
	case 14:
	case 15:
	case 16:
	case 18:
	case 19:
	case 22:
	case 23:
		return (true);
	}
	return (false);
}

static bool
status_listed(const struct csi *csi)
{
	uint32_t	what = csi->p[0];

	if (csi->prefix == '>')
		return (what < MODIFY_KEYS);
	if (csi->n > 1)
		return (false);
	if (csi->prefix == 0)
		return (what == 5 || what == 6);
	return (what == 6 || what == 15 || what == 25 || what == 26 ||
	    what == 996);
}

bool
csi_listed(const struct csi *csi)
{
	if (csi->bad || !csi_known(csi))
		return (false);
	/* Shades of colours and underlines are all that has them. */
	if (csi->colon && (csi->final != 'm' || csi->prefix != 0))
		return (false);
	if (csi->inter != 0)
		return (csi->inter != '$' || csi->final != 'p' || csi->n == 1);
	switch (csi->final) {
	case 'c':
		return (csi->prefix == '?' || csi->p[0] == 0);
	case 'm':
		return (csi->prefix == 0 || csi->p[0] < MODIFY_KEYS);
	case 'n':
		return (status_listed(csi));
	case 'q':
		return (csi->p[0] == 0);
	case 'u':
		/* None to some terminals, one to others. */
		return (csi->prefix != '<' || !csi->given || csi->p[0] != 0);
	case 'S':
		/* Sizes of graphics: what they are, and not to set them. */
		return (csi->prefix == 0 || (csi->n > 1 &&
		    (csi->p[1] == 1 || csi->p[1] == 4)));
	case 'T':
		/* xterm waits for an answer after five. */
		return (csi->n == 1);
	case 't':
		return (window_listed(csi->p[0]));
	}
	return (true);
}
