/*
 * Control sequences: what they set, what they ask for, and what puts it back.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "filter.h"

static void	cursor_back(struct filter *);

/* Private modes that pass, as they are put back; the screens' and 1048, the
 * cursor's, are others. How 12 (the cursor blinks), 1007 (the wheel types in
 * the other screen) and 2027 (how wide letters are) start differs from
 * terminal to terminal: it is the usual one here. VT52's is not among them,
 * where other bytes are sequences, nor are those that lock or change keys. */
static const struct {
	uint16_t	mode;
	bool		start;
} filter_modes[] = {
	{ 1, false }, { 5, false }, { 6, false }, { 7, true }, { 9, false },
	{ 12, false }, { 25, true }, { 66, false }, { 69, false },
	{ 80, false }, { 1000, false }, { 1001, false }, { 1002, false },
	{ 1003, false }, { 1004, false }, { 1005, false }, { 1006, false },
	{ 1007, true }, { 1015, false }, { 1016, false }, { 1070, true },
	{ 2004, false }, { 2026, false }, { 2027, false }, { 2031, false },
	{ 2048, false }, { 8452, false }, { 9001, false },
};
#define MODES	(sizeof(filter_modes) / sizeof(filter_modes[0]))
_Static_assert(MODES <= 32, "a bit each in struct filter");

static bool
mode_screen(uint32_t mode)
{
	return (mode == 47 || mode == 1047 || mode == 1049);
}

bool
mode_listed(uint32_t mode)
{
	size_t	i;

	for (i = 0; i < MODES; i++)
		if (filter_modes[i].mode == mode)
			return (true);
	return (mode == 1048 || mode_screen(mode));
}

void
csi_parse(const struct filter *f, struct csi *csi)
{
	size_t	i;
	uint8_t	b;

	memset(csi, 0, sizeof(*csi));
	csi->n = 1;
	for (i = 2; i < f->holdlen; i++) {
		b = f->hold[i];
		if (b >= '<' && b <= '?') {
			csi->bad = csi->bad || i != 2;
			if (csi->prefix == 0)
				csi->prefix = b;
		} else if (b >= '0' && b <= '9') {
			csi->bad = csi->bad || csi->inter != 0;
			csi->given = true;
			if (csi->p[csi->n - 1] <= 0xffff)
				csi->p[csi->n - 1] = csi->p[csi->n - 1] * 10 +
				    (b - '0');
		} else if (b == ';' || b == ':') {
			csi->bad = csi->bad || csi->inter != 0;
			csi->given = true;
			csi->colon = csi->colon || b == ':';
			if (csi->n < CSI_PARAMS)
				csi->n++;
			else
				csi->more = true;
		} else if (b >= 0x20 && b <= 0x2f) {
			csi->bad = csi->bad || csi->inter != 0;
			csi->inter = b;
		} else if (b >= 0x40 && b <= 0x7e)
			csi->final = b;
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

/* A cursor is saved, and with it all that writing depends on. */
static void
cursor_saved(struct filter *f)
{
	f->saved = f->saved || f->sgr || f->shifted || f->charset ||
	    mode_is(f, 7) || f->origin;
}

static void
mode_set(struct filter *f, uint32_t mode, bool on)
{
	size_t	i;

	if ((mode == 1048 || mode == 1049) && on)
		cursor_saved(f);
	else if (mode == 1048 || mode == 1049)
		cursor_back(f);
	if (mode_screen(mode)) {
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

size_t
screen_leave(struct filter *f, char *out, size_t size)
{
	int	n;

	if (!f->alternate)
		return (0);
	n = snprintf(out, size, "\033[?%ul", f->alternate_mode);
	mode_set(f, f->alternate_mode, false);
	return ((size_t)n);
}

/* ESC c, and CSI ! p: not each terminal puts back the same, or knows the
 * latter. So only what moves the cursor if it is done twice is taken as done:
 * where there is no region, origin mode has no effect. */
static void
filter_full(struct filter *f)
{
	mode_set(f, 6, false);
}

/* All is put back. */
static void
filter_clear(struct filter *f)
{
	f->modes = f->modify = f->colours = 0;
	f->insert = f->keypad = f->shifted = f->charset = false;
	f->sgr = f->region = f->cursor_style = f->soft_cursor = false;
	f->alternate = f->link = f->status = f->c1 = f->saved = false;
	f->vt52 = f->palette = f->picture = f->open = f->seen = false;
	f->moved = false;
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

/* The same, where it is known whether anything was: a screen's own cursor. */
static void
cursor_back(struct filter *f)
{
	if (f->saved)
		filter_restored(f);
}

/* CSI ? Pm r: modes as they were saved, which is not known. */
static void
csi_modes_restored(struct filter *f, const struct csi *csi)
{
	size_t	i, k;

	for (i = 0; i < csi->n; i++) {
		if (csi->p[i] == 2)
			mode_set(f, 2, false);
		if (mode_screen(csi->p[i]))
			mode_set(f, csi->p[i], true);
		if (csi->p[i] == 1048 || csi->p[i] == 1049)
			cursor_back(f);
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
	uint32_t	 n = csi->given ? csi->p[0] : 1;
	uint32_t	 how = csi->n > 1 ? csi->p[1] : 1;

	if (csi->prefix == '>')
		(*depth)++;
	else if (csi->prefix == '<')
		*depth -= n < *depth ? n : *depth;
	/* All of them as it says, or some of them on (2), or off. */
	else if (csi->prefix == '=' && how <= 1)
		f->keys_set[f->alternate] = csi->p[0] != 0;
	else if (csi->prefix == '=' && how == 2)
		f->keys_set[f->alternate] |= csi->p[0] != 0;
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

/* xterm's keys. Only the last of these starts as 0, and all without a number
 * may do nothing elsewhere. */
static void
csi_modify(struct filter *f, const struct csi *csi)
{
	uint32_t	which = csi->p[0];

	if (which >= MODIFY_KEYS || !csi->given)
		return;
	if (csi->final == 'n' || (csi->n > 1 &&
	    (csi->p[1] != 0 || which != MODIFY_KEYS - 1)))
		f->modify |= 1U << which;
	else
		f->modify &= ~(1U << which);
}

static void
csi_sgr(struct filter *f, const struct csi *csi)
{
	if (csi->prefix == '>')
		csi_modify(f, csi);
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
		filter_full(f);
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
	if (csi->prefix == '>')
		csi_modify(f, csi);
	else if (csi->p[0] == 6)
		f->asked[ANSWER_CURSOR]++;
	else if (csi->p[0] == 5 && csi->prefix == 0)
		f->asked[ANSWER_OK]++;
	else
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
		/* The shape of the cursor, on Linux's console. */
		if (csi->prefix == '?')
			f->soft_cursor = csi->p[0] != 0;
		else
			f->asked[csi->prefix == '=' ? ANSWER_STRING :
			    ANSWER_DEVICE]++;
		break;
	case 's':
		if (csi->prefix == 0)
			cursor_saved(f);
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

/* All but colours, and what compilers and grep(1) have go with them: erasing
 * the rest of the line. */
bool
csi_moves(const struct csi *csi)
{
	if (csi->inter != 0 || csi->prefix != 0 || csi->bad)
		return (true);
	return (csi->final != 'm' && (csi->final != 'K' || csi->p[0] != 0));
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
	else if (c == '7')
		cursor_saved(f);
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
	/* What was set may have been so before it was put on the stack. */
	if (f->keys[f->alternate] > 0)
		text_add(t, "\033[<%uu", f->keys[f->alternate]);
	if (f->keys_set[f->alternate])
		text_add(t, "\033[=0u");
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
	for (i = 0; i < MODIFY_KEYS; i++)
		if (f->modify & 1U << i)
			text_add(t, "\033[>%zum", i);
	if (f->cursor_style)
		text_add(t, "\033[0 q");
	if (f->soft_cursor)
		text_add(t, "\033[?0c");
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
}

size_t
filter_reset(struct filter *f, char *out, size_t size)
{
	struct text	t = { out, size, 0 };

	/* Should the terminal take something for a string that is none here
	 * it would take all that we say for it, too. */
	if (f->seen || f->open)
		text_add(&t, "\030\033\\");
	f->state = FILTER_GROUND;
	f->esc = false;
	f->holdlen = f->unitlen = 0;
	/* Before all that VT52 does not know. */
	if (f->vt52)
		text_add(&t, "\033<");
	if (f->c1)
		text_add(&t, "\033 F");
	/* Each screen has its own keys, which can be reached from there. */
	if (!f->alternate && (f->keys[1] > 0 || f->keys_set[1])) {
		text_add(&t, "\033[?1049h");
		mode_set(f, 1049, true);
	}
	reset_keys(f, &t);
	if (f->alternate) {
		t.n += screen_leave(f, t.p + t.n, t.size - t.n);
		reset_keys(f, &t);
	}
	reset_modes(f, &t);
	reset_colours(f, &t);
	/* It would lie over what is shown in its place. */
	if (f->picture)
		text_add(&t, "\033_Ga=d\033\\");
	filter_clear(f);
	return (t.n);
}

size_t
filter_leave(struct filter *f, char *out, size_t size)
{
	bool		moved = f->moved;
	struct text	t = { out, size, filter_reset(f, out, size) };

	if (moved) {
		text_add(&t, "%s\r\033[J", f->midline ? "\n" : "");
		f->midline = false;
	}
	return (t.n);
}
