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

/* Title reports: the terminal types the title that the session has set. Media
 * copy: what is written goes to a printer, and not to the screen. */
bool
csi_listed(const struct csi *csi)
{
	if (csi->bad)
		return (false);
	/* DECSCL: how it answers, and what it knows of what puts it back. */
	if (csi->inter != 0)
		return (csi->inter != '\'' && csi->inter != ',' &&
		    !(csi->inter == '"' && (csi->final == 'p' ||
		    csi->final == 'q')));
	switch (csi->final) {
	case 'm':
	case 'n':
		return (csi->prefix != '>' || csi->p[0] < MODIFY_KEYS);
	case 'u':
		/* None to some terminals, one to others. */
		return (csi->prefix != '<' || !csi->given || csi->p[0] != 0);
	case 'g':
	case 'W':
	case 'i':
		return (false);
	case 't':
		return (csi->prefix == 0 && csi->p[0] != 20 &&
		    csi->p[0] != 21 && csi->p[0] <= 0xffff);
	}
	return (true);
}
