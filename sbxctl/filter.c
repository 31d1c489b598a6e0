#include <string.h>

#include "filter.h"

#define ESC	0x1b
#define ENQ	0x05
#define CAN	0x18
#define SUB	0x1a
#define BEL	0x07
#define ST	0x9c		/* as C1 control */
#define TEXT	0x100		/* any character that is not ASCII or C1 */

void
filter_init(struct filter *f, bool utf8, bool raw)
{
	memset(f, 0, sizeof(*f));
	f->utf8 = utf8;
	f->raw = raw;
}

static void
put(struct sinkbuf *sb, const void *p, size_t n)
{
	if (sb->p == NULL)
		return;
	memcpy(sb->p + sb->n, p, n);
	sb->n += n;
}

static bool
in_string(const struct filter *f)
{
	return (f->state >= FILTER_NUMBER);
}

/* Lets go of what is held without passing it on. */
static void
hold_drop(struct filter *f)
{
	f->holdlen = 0;
	f->spoilt = false;
}

static void
hold_pass(struct filter *f, struct sinkbuf *sb)
{
	put(sb, f->hold, f->holdlen);
	f->holdlen = 0;
	f->seen = true;
}

static void
hold_add(struct filter *f, const uint8_t *p, size_t n)
{
	if (n > FILTER_HOLD - f->holdlen) {
		f->spoilt = true;
		return;
	}
	memcpy(f->hold + f->holdlen, p, n);
	f->holdlen += n;
}

static void
csi_end(struct filter *f, struct sinkbuf *sb)
{
	uint32_t	before[ANSWER_KINDS];
	struct csi	csi;
	bool		listed;

	f->state = FILTER_GROUND;
	csi_parse(f, &csi);
	listed = csi_listed(&csi);
	if (!f->raw && (f->spoilt || !listed || !csi_trim(f, &csi))) {
		hold_drop(f);
		return;
	}
	memcpy(before, f->asked, sizeof(before));
	csi_note(f, &csi);
	/* It may be answered, who knows how. */
	if (!listed && memcmp(before, f->asked, sizeof(before)) == 0)
		f->asked[ANSWER_OTHER]++;
	if (filter_mute(f, before)) {
		hold_drop(f);
		return;
	}
	f->moved = f->moved || csi_moves(&csi);
	hold_pass(f, sb);
}

/*
 * Strings: OSC, DCS, APC, PM, SOS
 *
 * Whatever has ended one here, the terminal is given the end that each knows:
 * tmux and screen stay in a string at another sequence's ESC, kitty at CAN,
 * and many at the C1 control that is made for it. All that follows would be
 * the string's there, the owner's question too.
 */
static void
string_close(struct filter *f, struct sinkbuf *sb)
{
	if (!f->open)
		return;
	string_note(f);
	put(sb, "\033\\", 2);
	f->open = false;
}

/* An OSC has ended of which there is nothing but a number. */
static bool
osc_forbidden(const struct filter *f)
{
	return (!f->raw && (f->spoilt || !(f->notice || osc_bare(f))));
}

static void
string_begin(struct filter *f, uint8_t kind)
{
	f->strkind = kind;
	f->number = 0;
	f->strlen = 0;
	f->last = kind == ']' ? ';' : 0;
	f->part = f->key = 0;
	f->asks = f->fields = f->sets = 0;
	f->given = f->notice = f->esc = false;
	f->state = kind == ']' ? FILTER_NUMBER : FILTER_KIND;
}

static void
string_refuse(struct filter *f, enum filter_state state)
{
	hold_drop(f);
	f->state = state;
}

/* What is held begins a string that goes through. */
static void
string_open(struct filter *f, struct sinkbuf *sb)
{
	if (!f->raw && f->spoilt) {
		string_refuse(f, FILTER_DROP);
		return;
	}
	hold_pass(f, sb);
	/* A title, a link; but a prompt's mark may begin a line. */
	f->moved = f->moved || f->strkind != ']' || f->number == 133;
	f->open = true;
	f->picture = f->picture || (f->strkind == '_' && f->asks > 0);
	f->state = FILTER_STRING;
}

/* A string's end has come: BEL, ESC \\ or ST. */
static void
string_end(struct filter *f, struct sinkbuf *sb, unsigned int code)
{
	if ((f->state == FILTER_NUMBER && osc_forbidden(f)) ||
	    (f->state == FILTER_KIND && !f->raw && !string_whole(f)))
		string_refuse(f, FILTER_GROUND);
	else if (f->state == FILTER_NUMBER || f->state == FILTER_KIND)
		string_open(f, sb);
	if (f->open && code == BEL) {
		string_note(f);
		put(sb, "\a", 1);
		f->open = false;
	}
	string_close(f, sb);
	f->state = FILTER_GROUND;
}

/* Which string is it? Held until its number is known. */
static void
osc_number(struct filter *f, struct sinkbuf *sb, unsigned int code,
    const uint8_t *p, size_t n)
{
	enum string_verdict	verdict;

	/* Some terminals skip controls in here, some take the upper half of
	 * Latin 1 for the lower: neither may hide a number. */
	if (!f->raw && !string_takes(f, code))
		return;
	hold_add(f, p, n);
	if (code >= '0' && code <= '9' && !f->notice && f->last != 'P') {
		f->given = true;
		if (f->number <= 0xffff)
			f->number = f->number * 10 + (code - '0');
		return;
	}
	if (code < 0x20 || code == 0x7f)
		return;
	if (code >= 0x80 && !f->notice)
		f->spoilt = true;
	verdict = f->raw ? STRING_PASS : osc_judge(f, code);
	if (verdict == STRING_DROP)
		string_refuse(f, FILTER_DROP);
	else if (verdict == STRING_PASS)
		string_open(f, sb);
	if (!f->given && !f->raw && f->open) {
		f->palette = true;
		string_close(f, sb);
		f->state = FILTER_GROUND;
	}
}

/*
 * The first bytes of a DCS or APC say what it is. tmux hands the inside of its
 * own on to the terminal around it, in which ESC is doubled.
 */
static void
string_kind(struct filter *f, struct sinkbuf *sb, unsigned int code,
    const uint8_t *p, size_t n)
{
	enum string_verdict	verdict;
	bool			tmux;

	tmux = f->strkind == 'P' && f->strlen == 0 && code == 't';
	verdict = f->raw ? STRING_PASS : string_judge(f, code);
	hold_add(f, p, n);
	string_asks(f, code < TEXT ? (uint8_t)code : 0);
	if (f->quiet && !f->raw && f->asks > 0)
		verdict = STRING_DROP;
	if (verdict == STRING_DROP)
		string_refuse(f, tmux ? FILTER_TMUX : FILTER_DROP);
	else if (verdict == STRING_PASS)
		string_open(f, sb);
}

/*
 * Characters
 */
static void
ground_next(struct filter *f, struct sinkbuf *sb, unsigned int code,
    const uint8_t *p, size_t n)
{
	put(sb, p, n);
	if (code == 0x0e || code == 0x0f)
		f->shifted = code == 0x0e;
	if (code == '\n' || (code >= 0x20 && code != 0x7f))
		f->midline = code != '\n';
}

static void
esc_begin(struct filter *f, struct sinkbuf *sb)
{
	/* A sequence cut short by another is void, here as there. */
	string_close(f, sb);
	hold_drop(f);
	f->state = FILTER_ESC;
	/* What comes of it, nobody has looked at. */
	if (f->raw)
		f->seen = f->moved = true;
}

/* ESC x, or its C1 form: what follows. True if it is a sequence's start. */
static bool
esc_introduces(struct filter *f, struct sinkbuf *sb, unsigned int c)
{
	switch (c) {
	case '[':
		f->state = FILTER_CSI;
		return (true);
	case ']':
	case 'P':
	case '_':
		string_begin(f, (uint8_t)c);
		if (c == 'P' && f->screen && !f->raw)
			string_refuse(f, FILTER_DROP);
		return (true);
	case '^':
	case 'X':
		/* No terminal needs one, whatever is in it. */
		string_begin(f, (uint8_t)c);
		if (f->raw)
			string_open(f, sb);
		else
			string_refuse(f, FILTER_DROP);
		return (true);
	case 'k':
		/* screen's and tmux's title: a string there and nowhere else,
		 * which ends at nothing but its own end. */
		if (f->raw)
			break;
		string_begin(f, (uint8_t)c);
		string_refuse(f, FILTER_DROP);
		return (true);
	}
	return (false);
}

/* ESC or its C1 form, with n intermediates behind it, and the final byte. */
static void
esc_end(struct filter *f, struct sinkbuf *sb, size_t n, unsigned int final)
{
	uint32_t	before[ANSWER_KINDS];
	char		leave[16];

	f->state = FILTER_GROUND;
	memcpy(before, f->asked, sizeof(before));
	if (f->spoilt || (!f->raw && !esc_listed(f->hold + 1, n, final))) {
		hold_drop(f);
		return;
	}
	/* tmux stays in the other screen; elsewhere to leave it later would
	 * move the cursor. */
	if (n == 0 && final == 'c' && !f->raw)
		put(sb, leave, screen_leave(f, leave, sizeof(leave)));
	esc_note(f, n > 0 ? f->hold[n] : 0, final);
	if (filter_mute(f, before)) {
		hold_drop(f);
		return;
	}
	/* With colours off comes the usual character set. */
	f->moved = f->moved || n != 1 || f->hold[1] != '(';
	hold_pass(f, sb);
}

/* After ESC: an intermediate, an introducer, or the end. */
static void
esc_next(struct filter *f, struct sinkbuf *sb, unsigned int code,
    const uint8_t *p, size_t n)
{
	size_t	n_inter;

	if (code >= 0x80) {
		/* No sequence goes on like this; a terminal that takes it
		 * for the lower half must not see the ESC. */
		hold_drop(f);
		f->state = FILTER_GROUND;
		put(sb, p, n);
		return;
	}
	hold_add(f, p, n);
	if (code < 0x30)
		return;
	n_inter = f->spoilt ? FILTER_HOLD : f->holdlen - 2;
	if (n_inter > 0 || !esc_introduces(f, sb, code))
		esc_end(f, sb, n_inter, code);
}

/*
 * C1 controls: the same sequences in one character, and as such they go on:
 * many terminals take them for a letter and the rest for text, so that a mode
 * which is off for us would still be on there.
 */
static void
c1_begin(struct filter *f, struct sinkbuf *sb, unsigned int code,
    size_t n)
{
	if (code == ST && in_string(f)) {
		string_end(f, sb, code);
		return;
	}
	esc_begin(f, sb);
	hold_add(f, (const uint8_t[]){ ESC, (uint8_t)(code - 0x40) }, 2);
	if (esc_introduces(f, sb, code - 0x40))
		return;
	if (n > 1 || !f->utf8 || f->raw) {
		esc_end(f, sb, 0, code - 0x40);
		return;
	}
	/* A letter of another coding, by itself: show that there is one. */
	hold_drop(f);
	f->state = FILTER_GROUND;
	ground_next(f, sb, '?', (const uint8_t *)"?", 1);
}

static void
csi_next(struct filter *f, struct sinkbuf *sb, unsigned int code,
    const uint8_t *p, size_t n)
{
	hold_add(f, p, n);
	if (code >= 0x80)
		f->spoilt = true;
	else if (code >= 0x40)
		csi_end(f, sb);
}

/* Inside a string that goes through: all but what ends it. */
static void
string_next(struct filter *f, struct sinkbuf *sb, unsigned int code,
    const uint8_t *p, size_t n)
{
	if (code == BEL && f->strkind == ']') {
		string_end(f, sb, code);
		return;
	}
	if (!f->raw && !string_takes(f, code))
		return;
	string_asks(f, code < TEXT ? (uint8_t)code : 0);
	if (f->asks > 0 && f->quiet && !f->raw) {
		/* It ends here, with nothing in the place of a colour. */
		f->asks = 0;
		string_close(f, sb);
		f->state = FILTER_DROP;
		return;
	}
	put(sb, p, n);
}

/* ESC inside a string: its end, or another sequence's start. */
static bool
string_esc(struct filter *f, struct sinkbuf *sb, unsigned int code)
{
	f->esc = false;
	if (code == '\\') {
		string_end(f, sb, code);
		return (true);
	}
	/* tmux's strings double it. */
	if (f->state == FILTER_TMUX && code == ESC)
		return (true);
	esc_begin(f, sb);
	hold_add(f, (const uint8_t *)"\033", 1);
	return (false);
}

/* CAN and SUB end whatever it is. */
static void
filter_cancel(struct filter *f, struct sinkbuf *sb, const uint8_t *p)
{
	string_close(f, sb);
	hold_drop(f);
	f->state = FILTER_GROUND;
	put(sb, p, 1);
}

static void
filter_unit(struct filter *f, struct sinkbuf *sb, unsigned int code,
    const uint8_t *p, size_t n)
{
	/* Some terminals answer with a text of theirs, wherever it stands. */
	if (code == ENQ) {
		f->asked[ANSWER_OTHER] += f->raw;
		return;
	}
	if (f->esc && string_esc(f, sb, code))
		return;
	if (code == ESC) {
		if (in_string(f)) {
			f->esc = true;
			return;
		}
		esc_begin(f, sb);
		hold_add(f, p, n);
		return;
	}
	if (code == CAN || code == SUB) {
		filter_cancel(f, sb, p);
		return;
	}
	if (code >= 0x80 && code < 0xa0) {
		c1_begin(f, sb, code, n);
		return;
	}
	/* Terminals carry these out where they stand in a sequence, and go
	 * on with it; DEL is nothing. */
	if ((f->state == FILTER_ESC || f->state == FILTER_CSI) &&
	    (code < 0x20 || code == 0x7f)) {
		if (code < 0x20)
			ground_next(f, sb, code, p, n);
		return;
	}
	switch (f->state) {
	case FILTER_GROUND:
		ground_next(f, sb, code, p, n);
		break;
	case FILTER_ESC:
		esc_next(f, sb, code, p, n);
		break;
	case FILTER_CSI:
		csi_next(f, sb, code, p, n);
		break;
	case FILTER_NUMBER:
		if (code == BEL)
			string_end(f, sb, code);
		else
			osc_number(f, sb, code, p, n);
		break;
	case FILTER_KIND:
		string_kind(f, sb, code, p, n);
		break;
	case FILTER_STRING:
		string_next(f, sb, code, p, n);
		break;
	case FILTER_DROP:
		if (code == BEL && f->strkind == ']')
			f->state = FILTER_GROUND;
		break;
	case FILTER_TMUX:
		break;
	}
}

/*
 * Coding: bytes to characters. Where the terminal's is UTF-8, a byte 0x80 to
 * 0x9f inside a character is no control; all by itself it is taken for one,
 * which is the safe side.
 */
static size_t
utf8_want(uint8_t b)
{
	return (b >= 0xc2 && b < 0xe0 ? 2 : b >= 0xe0 && b < 0xf0 ? 3 :
	    b >= 0xf0 && b < 0xf5 ? 4 : 1);
}

/* Can b be the next byte of the character begun? */
static bool
utf8_next(const struct filter *f, uint8_t b)
{
	uint8_t	lo = 0x80, hi = 0xbf;

	if (f->unitlen == 1)
		switch (f->unit[0]) {
		case 0xe0:
			lo = 0xa0;
			break;
		case 0xed:
			hi = 0x9f;
			break;
		case 0xf0:
			lo = 0x90;
			break;
		case 0xf4:
			hi = 0x8f;
			break;
		}
	return (b >= lo && b <= hi);
}

static void
unit_done(struct filter *f, struct sinkbuf *sb)
{
	unsigned int	code = f->unit[0];

	if (f->unitlen == 2 && f->unit[0] == 0xc2 && f->unit[1] < 0xa0)
		code = f->unit[1];
	else if (f->unitlen > 1 || code >= 0xa0)
		code = TEXT;
	filter_unit(f, sb, code, f->unit, f->unitlen);
	f->unitlen = 0;
}

void
filter_byte(struct filter *f, struct sinkbuf *sb, uint8_t b)
{
	if (f->unitlen > 0) {
		if (utf8_next(f, b)) {
			f->unit[f->unitlen++] = b;
			if (f->unitlen == f->unitwant)
				unit_done(f, sb);
			return;
		}
		/* Broken off: its bytes are text, b begins anew. */
		filter_unit(f, sb, TEXT, f->unit, f->unitlen);
		f->unitlen = 0;
	}
	f->unit[0] = b;
	f->unitlen = 1;
	f->unitwant = f->utf8 ? utf8_want(b) : 1;
	if (f->unitwant == 1)
		unit_done(f, sb);
}
