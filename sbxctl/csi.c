/*
 * Control sequences: what they set, what they ask for, and what puts it back.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "filter.h"

/* Private modes that are put back. Those whose start differs from terminal
 * to terminal (12, 1007, 1034 ...) are left alone. */
static const struct {
	uint16_t	mode;
	bool		start;
} filter_modes[] = {
	{ 1, false }, { 5, false }, { 6, false }, { 7, true }, { 9, false },
	{ 25, true }, { 66, false }, { 69, false }, { 1000, false },
	{ 1001, false }, { 1002, false }, { 1003, false }, { 1004, false },
	{ 1005, false }, { 1006, false }, { 1015, false }, { 1016, false },
	{ 2004, false }, { 2026, false }, { 2031, false }, { 2048, false },
	{ 9001, false },
};
#define MODES	(sizeof(filter_modes) / sizeof(filter_modes[0]))

void
csi_parse(const struct filter *f, size_t start, struct csi *csi)
{
	size_t	i;
	uint8_t	b;

	memset(csi, 0, sizeof(*csi));
	csi->n = 1;
	for (i = start; i < f->holdlen; i++) {
		b = f->hold[i];
		if (b >= '<' && b <= '?' && csi->prefix == 0)
			csi->prefix = b;
		else if (b >= '0' && b <= '9') {
			csi->given = true;
			if (csi->p[csi->n - 1] <= 0xffff)
				csi->p[csi->n - 1] = csi->p[csi->n - 1] * 10 +
				    (b - '0');
		} else if (b == ';' || b == ':') {
			csi->given = true;
			if (csi->n < CSI_PARAMS)
				csi->n++;
			else
				csi->more = true;
		} else if (b >= 0x20 && b <= 0x2f)
			csi->inter = b;
		else if (b >= 0x40 && b <= 0x7e)
			csi->final = b;
	}
}

static void
mode_set(struct filter *f, uint32_t mode, bool on)
{
	size_t	i;

	if (mode == 47 || mode == 1047 || mode == 1049) {
		f->alternate = on;
		f->alternate_mode = (uint16_t)mode;
		return;
	}
	if (mode == 6 && on)
		f->origin = true;
	/* Not off again: whether the terminal saw what ends it as that, only
	 * a reader of VT52's own sequences could tell. */
	if (mode == 2 && !on)
		f->vt52 = true;
	for (i = 0; i < MODES; i++) {
		if (filter_modes[i].mode != mode)
			continue;
		if (on != filter_modes[i].start)
			f->modes |= 1U << i;
		else
			f->modes &= ~(1U << i);
	}
}

static bool
mode_is(const struct filter *f, uint32_t mode)
{
	size_t	i;

	for (i = 0; i < MODES; i++)
		if (filter_modes[i].mode == mode)
			return ((f->modes & 1U << i) != 0);
	return (false);
}

/* CSI ! p: what a soft reset puts back; mouse, paste and screen are not. */
static void
filter_soft(struct filter *f)
{
	mode_set(f, 1, false);
	mode_set(f, 6, false);
	mode_set(f, 7, true);
	mode_set(f, 25, true);
	f->insert = f->keypad = f->shifted = f->charset = false;
	f->sgr = f->region = false;
}

/* ESC c: all is as at the start. */
void
filter_full(struct filter *f)
{
	f->modes = 0;
	f->insert = f->keypad = f->shifted = f->charset = false;
	f->sgr = f->region = f->cursor_style = f->modify_keys = false;
	f->alternate = f->link = f->status = f->c1 = false;
	f->colours = 0;
	f->keys[0] = f->keys[1] = 0;
	f->keys_set[0] = f->keys_set[1] = false;
}

/* Attributes, character sets, origin and wrap mode: they are put back until
 * the session itself sets them anew. Origin mode only if it can have been
 * saved: putting it back moves the cursor. */
void
filter_restored(struct filter *f)
{
	if (f->origin)
		mode_set(f, 6, true);
	mode_set(f, 7, false);
	f->sgr = f->shifted = f->charset = true;
}

/* CSI ? Pm r: modes as they were saved, which is not known. */
static void
csi_modes_restored(struct filter *f, const struct csi *csi)
{
	size_t	i, k;

	for (i = 0; i < csi->n; i++) {
		if (csi->p[i] == 2)
			mode_set(f, 2, false);
		if (csi->p[i] == 47 || csi->p[i] == 1047 || csi->p[i] == 1049)
			mode_set(f, csi->p[i], true);
		for (k = 0; k < MODES; k++)
			if (filter_modes[k].mode == csi->p[i] &&
			    (csi->p[i] != 6 || f->origin))
				f->modes |= 1U << k;
	}
}

/* Kitty's keyboard protocol keeps a stack for each screen. */
static void
csi_keys(struct filter *f, const struct csi *csi)
{
	uint32_t	*depth = &f->keys[f->alternate];
	uint32_t	 n = csi->p[0] == 0 ? 1 : csi->p[0];

	if (csi->prefix == '>')
		(*depth)++;
	else if (csi->prefix == '<')
		*depth -= n < *depth ? n : *depth;
	else if (csi->prefix == '=')
		f->keys_set[f->alternate] = csi->p[0] != 0;
	else if (csi->prefix == '?')
		f->asked[ANSWER_KEYS]++;
}

static void
csi_modes(struct filter *f, const struct csi *csi, bool on)
{
	size_t	i;

	for (i = 0; i < csi->n; i++) {
		if (csi->prefix == '?')
			mode_set(f, csi->p[i], on);
		else if (csi->prefix == 0 && csi->p[i] == 4)
			f->insert = on;
	}
}

static void
csi_sgr(struct filter *f, const struct csi *csi)
{
	if (csi->prefix == '>')
		f->modify_keys = csi->n > 1 && csi->p[1] != 0;
	else if (csi->prefix == '?')
		f->asked[ANSWER_OTHER]++;
	else
		f->sgr = csi->n > 1 || csi->p[0] != 0;
}

/* With an intermediate byte before the final one. */
static void
csi_marked(struct filter *f, const struct csi *csi)
{
	if (csi->inter == ' ' && csi->final == 'q')
		f->cursor_style = csi->p[0] != 0;
	else if (csi->inter == '$' && csi->final == 'p')
		f->asked[ANSWER_MODE]++;
	else if (csi->inter == '$' && csi->final == '}')
		f->status = csi->p[0] != 0;
	else if (csi->inter == '#' && (csi->final == '}' || csi->final == 'q'))
		f->sgr = true;		/* off xterm's stack of them */
	else if (csi->inter == '#' && csi->final == 'Q')
		f->colours = ~0U;
	else if (csi->inter == '!' && csi->final == 'p')
		filter_soft(f);
	else if ((csi->inter == '*' && csi->final == 'y') ||
	    (csi->inter == '$' && csi->final == 'w') ||
	    (csi->inter == '&' && csi->final == 'u'))
		f->asked[ANSWER_STRING]++;
	else if (csi->inter == '"' || csi->inter == '#')
		f->asked[ANSWER_OTHER] += csi->final == 'v' ||
		    csi->final == 'R';
}

static void
csi_status(struct filter *f, const struct csi *csi)
{
	if (csi->p[0] == 6)
		f->asked[ANSWER_CURSOR]++;
	else if (csi->p[0] == 5 && csi->prefix == 0)
		f->asked[ANSWER_OK]++;
	else if (csi->prefix != '>')
		f->asked[ANSWER_STATUS]++;
}

/* Remembers what an allowed sequence does. */
void
csi_note(struct filter *f, const struct csi *csi)
{
	if (csi->inter != 0) {
		csi_marked(f, csi);
		return;
	}
	switch (csi->final) {
	case 'h':
	case 'l':
		csi_modes(f, csi, csi->final == 'h');
		break;
	case 'm':
		csi_sgr(f, csi);
		break;
	case 'n':
		csi_status(f, csi);
		break;
	case 'u':
		if (csi->prefix == 0)
			filter_restored(f);
		else
			csi_keys(f, csi);
		break;
	case 'r':
		if (csi->prefix == 0)
			f->region = csi->given;
		else if (csi->prefix == '?')
			csi_modes_restored(f, csi);
		break;
	case 'c':
		if (csi->prefix != '?')
			f->asked[ANSWER_DEVICE]++;
		break;
	case 'q':
		if (csi->prefix == '>')
			f->asked[ANSWER_STRING]++;
		break;
	case 't':
		f->asked[csi->p[0] == 20 || csi->p[0] == 21 ? ANSWER_STRING :
		    ANSWER_OTHER] += csi->p[0] >= 11 && csi->p[0] <= 21;
		break;
	case 'x':
		f->asked[ANSWER_OTHER]++;
		break;
	case 'S':
		f->asked[ANSWER_OTHER] += csi->prefix == '?';
		break;
	}
}

/* The same of ESC, an intermediate (0: none) and a final byte. */
void
esc_note(struct filter *f, uint8_t inter, unsigned int c)
{
	if (inter == '(')
		f->charset = c != 'B';
	else if (inter >= ')' && inter <= '/')
		f->charset = true;
	else if (inter == ' ' && (c == 'F' || c == 'G'))
		f->c1 = c == 'G';
	if (inter != 0)
		return;
	if (c == '=' || c == '>')
		f->keypad = c == '=';
	else if (c == '8')
		filter_restored(f);
	else if (c == 'n' || c == 'o' || c == '|' || c == '}' || c == '~')
		f->shifted = f->charset = true;	/* locking shifts */
	else if (c == 'c')
		filter_full(f);
	else if (c == 'Z')
		f->asked[ANSWER_DEVICE]++;
}

uint32_t
filter_pending(const struct filter *f)
{
	uint32_t	n = 0;
	size_t		i;

	for (i = 0; i < ANSWER_KINDS; i++)
		n += f->asked[i];
	return (n);
}

bool
filter_mute(struct filter *f, const uint32_t before[ANSWER_KINDS])
{
	if (!f->quiet || f->raw ||
	    memcmp(before, f->asked, sizeof(f->asked)) == 0)
		return (false);
	memcpy(f->asked, before, sizeof(f->asked));
	return (true);
}

/* VT52's sequences are others: nothing that is left out here would be known
 * there. Modes beyond those that were read are not put back. */
static bool
csi_modes_forbidden(const struct csi *csi)
{
	size_t	i;

	if (csi->prefix != '?' || (csi->final != 'h' && csi->final != 'l' &&
	    csi->final != 'r'))
		return (false);
	for (i = 0; i < csi->n; i++)
		if (csi->p[i] == 2 && csi->final != 'h')
			return (true);
	return (csi->more);
}

/* Title reports: the terminal types the title that the session has set. Media
 * copy: what is written goes to a printer, and not to the screen. */
bool
csi_forbidden(const struct csi *csi)
{
	/* DECSCL: how it answers, and what it knows of what puts it back. */
	if (csi->inter != 0)
		return (csi->inter == '"' && csi->final == 'p');
	if (csi_modes_forbidden(csi))
		return (true);
	return (csi->final == 'i' || (csi->final == 't' && csi->prefix == 0 &&
	    (csi->p[0] == 20 || csi->p[0] == 21 || csi->p[0] > 0xffff)));
}

struct text {
	char	*p;
	size_t	 size, n;
};

static void __attribute__((format(printf, 2, 3)))
text_add(struct text *t, const char *fmt, ...)
{
	va_list	ap;
	int	n;

	va_start(ap, fmt);
	n = vsnprintf(t->p + t->n, t->size - t->n, fmt, ap);
	va_end(ap);
	if (n > 0 && (size_t)n < t->size - t->n)
		t->n += (size_t)n;
}

static void
reset_keys(struct filter *f, struct text *t)
{
	if (f->keys_set[f->alternate])
		text_add(t, "\033[=0u");
	if (f->keys[f->alternate] > 0)
		text_add(t, "\033[<%uu", f->keys[f->alternate]);
}

static void
reset_modes(struct filter *f, struct text *t)
{
	size_t	i;

	for (i = 0; i < MODES; i++)
		if (f->modes & 1U << i)
			text_add(t, "\033[?%u%c", filter_modes[i].mode,
			    filter_modes[i].start ? 'h' : 'l');
	if (f->insert)
		text_add(t, "\033[4l");
	if (f->keypad && !mode_is(f, 66))
		text_add(t, "\033>");
	if (f->modify_keys)
		text_add(t, "\033[>4m");
	if (f->cursor_style)
		text_add(t, "\033[0 q");
	if (f->status)
		text_add(t, "\033[0$}");
	if (f->link)
		text_add(t, "\033]8;;\033\\");
	if (f->shifted)
		text_add(t, "\017");
	if (f->charset)
		text_add(t, "\033(B");
	/* Without its region the cursor would go home. */
	if (f->region)
		text_add(t, "\0337\033[r\0338");
	if (f->sgr)
		text_add(t, "\033[m");
}

static void
reset_colours(struct filter *f, struct text *t)
{
	unsigned int	i;

	for (i = 0; i < 10; i++)
		if (f->colours & 1U << i)
			text_add(t, "\033]%u\033\\", 110 + i);
	if (f->colours & 1U << 31)
		text_add(t, "\033]104\033\\");
	if (f->palette)
		text_add(t, "\033]R\033\\");
	f->palette = false;
}

size_t
filter_reset(struct filter *f, char *out, size_t size)
{
	struct text	t = { out, size, 0 };

	/* Should the terminal take something for a string that is none here
	 * it would take all that we say for it, too. */
	if (f->seen || f->open)
		text_add(&t, "\030\033\\");
	f->open = f->seen = false;
	f->state = FILTER_GROUND;
	f->esc = false;
	f->holdlen = f->unitlen = 0;
	/* Before all that VT52 does not know. */
	if (f->vt52)
		text_add(&t, "\033<");
	f->vt52 = false;
	if (f->c1)
		text_add(&t, "\033 F");
	reset_keys(f, &t);
	if (f->alternate) {
		text_add(&t, "\033[?%ul", f->alternate_mode);
		f->alternate = false;
		reset_keys(f, &t);
	}
	reset_modes(f, &t);
	reset_colours(f, &t);
	/* It would lie over what is shown in its place. */
	if (f->picture)
		text_add(&t, "\033_Ga=d\033\\");
	f->picture = false;
	filter_full(f);
	return (t.n);
}

