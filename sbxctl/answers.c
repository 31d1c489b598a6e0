/*
 * What a terminal sends: which of it answers a query. Only counted, never
 * changed: it is the session's.
 */
#include "filter.h"

#define ESC	0x1b
#define BEL	0x07

enum { IN_GROUND, IN_ESC, IN_CSI, IN_STRING, IN_STRING_ESC };

static enum filter_answer
answer_kind(const struct filter *f, uint8_t final)
{
	switch (final) {
	case 'R':
		return (f->in_more ? ANSWER_CURSOR : ANSWER_KINDS);
	case 'c':
		return (ANSWER_DEVICE);
	case 'n':
		return (f->in_prefix == 0 && (f->in_number == 0 ||
		    f->in_number == 3) ? ANSWER_OK : ANSWER_STATUS);
	case 'y':
		return (f->in_inter == '$' ? ANSWER_MODE : ANSWER_KINDS);
	case 'u':
		return (f->in_prefix == '?' ? ANSWER_KEYS : ANSWER_KINDS);
	case 't':
	case 'x':
	case 'S':
	case 'w':
		return (ANSWER_OTHER);
	case 'm':
		return (f->in_prefix == '>' ? ANSWER_OTHER : ANSWER_KINDS);
	}
	return (ANSWER_KINDS);
}

static bool
answer_take(struct filter *f, enum filter_answer kind)
{
	f->in_state = IN_GROUND;
	if (kind < ANSWER_KINDS && f->asked[kind] > 0) {
		f->asked[kind]--;
		f->answered = true;
	}
	return (kind == ANSWER_OK);
}

static bool
in_csi(struct filter *f, uint8_t b)
{
	if (b >= '0' && b <= '9') {
		if (f->in_number <= 0xffff && !f->in_more)
			f->in_number = f->in_number * 10 + (b - '0');
	} else if (b == ';')
		f->in_more = true;
	else if (b >= '<' && b <= '?')
		f->in_prefix = b;
	else if (b >= 0x20 && b < 0x30)
		f->in_inter = b;
	else if (b >= 0x40 && b < 0x7f)
		return (answer_take(f, answer_kind(f, b)));
	return (false);
}

static void
in_esc(struct filter *f, uint8_t b)
{
	f->in_prefix = f->in_inter = 0;
	f->in_number = 0;
	f->in_more = false;
	f->in_state = b == '[' ? IN_CSI : b == ']' || b == 'P' || b == '_' ?
	    IN_STRING : b == ESC ? IN_ESC : IN_GROUND;
}

bool
filter_in(struct filter *f, const uint8_t *in, size_t len)
{
	bool	ok = false;
	size_t	i;

	for (i = 0; i < len; i++) {
		ok = false;
		switch (f->in_state) {
		case IN_GROUND:
			if (in[i] == ESC)
				f->in_state = IN_ESC;
			break;
		case IN_ESC:
			in_esc(f, in[i]);
			break;
		case IN_CSI:
			if (in[i] == ESC)
				f->in_state = IN_ESC;
			else
				ok = in_csi(f, in[i]);
			break;
		case IN_STRING:
			if (in[i] == BEL)
				answer_take(f, ANSWER_STRING);
			else if (in[i] == ESC)
				f->in_state = IN_STRING_ESC;
			break;
		case IN_STRING_ESC:
			if (in[i] == '\\')
				answer_take(f, ANSWER_STRING);
			else
				in_esc(f, in[i]);
			break;
		}
	}
	return (ok);
}
