/*
 * Strings (OSC, DCS, APC): which ones go through, what they ask for, and what
 * they set. A list of what passes, since every terminal has inventions of its
 * own, and more come: kitty's DCS run commands, tmux and vim take theirs by
 * other numbers.
 */
#include <ctype.h>
#include <string.h>

#include "filter.h"

/* Titles, colours, the folder, links, notifications, marks of the prompt. All
 * that they set is put back, but for titles and folders. */
static const struct {
	uint16_t	from, to;
} osc_list[] = {
	{ 0, 2 }, { 4, 4 }, { 7, 9 }, { 10, 19 }, { 104, 104 }, { 110, 119 },
	{ 133, 133 },
};

static bool
osc_listed(const struct filter *f)
{
	size_t	i;

	for (i = 0; f->given && i < sizeof(osc_list) / sizeof(osc_list[0]);
	    i++)
		if (f->number >= osc_list[i].from &&
		    f->number <= osc_list[i].to)
			return (true);
	return (false);
}

/* Those that say something by their number alone. Of the others the rest may
 * come as text, and be put together again by who hands strings on. */
bool
osc_bare(const struct filter *f)
{
	return (f->given && (f->number == 104 ||
	    (f->number >= 110 && f->number <= 119)));
}

/* Controls are no part of a string: some terminals skip them, some end it at
 * one. Only text has characters that are not ASCII; sixels have lines. */
bool
string_takes(const struct filter *f, unsigned int code)
{
	if (f->strkind == ']')
		return (code >= 0x20 && code != 0x7f);
	return ((code >= 0x20 && code < 0x7f) || (f->strkind == 'P' &&
	    (code == '\r' || code == '\n')));
}

/* Linux's own palette: P and seven digits, or R. They end by themselves there,
 * and what follows would be lost with them. */
static enum string_verdict
palette_judge(struct filter *f, unsigned int code)
{
	if (f->last != 'P') {
		f->last = (uint8_t)code;
		return (code == 'R' ? STRING_PASS : STRING_MORE);
	}
	if (code >= 0x80 || !isxdigit((int)code))
		return (STRING_DROP);
	return (++f->strlen < 7 ? STRING_MORE : STRING_PASS);
}

enum string_verdict
osc_judge(struct filter *f, unsigned int code)
{
	/* ConEmu's commands begin with a number, one of which starts a
	 * program; 4 is a bar of progress. The rest is a notification. */
	if (f->notice)
		return (code >= '0' && code <= '9' && code != '4' ?
		    STRING_DROP : STRING_PASS);
	if (!f->given && (f->last == 'P' || code == 'P' || code == 'R'))
		return (palette_judge(f, code));
	if (code != ';' || !osc_listed(f))
		return (STRING_DROP);
	f->notice = f->number == 9;
	return (f->notice ? STRING_MORE : STRING_PASS);
}

/*
 * Kitty's pictures, the only APC: "G", letters with their values, and after
 * ";" the data. By its "t" the terminal would take the picture from a file or
 * from shared memory instead: of all that its owner may read, and remove it.
 */
enum { PICTURE_KEY, PICTURE_EQUALS, PICTURE_VALUE, PICTURE_NEXT };

static enum string_verdict
picture_value(struct filter *f, unsigned int code)
{
	bool	first = f->part == PICTURE_VALUE;

	f->part = PICTURE_NEXT;
	if (f->key == 't')
		return (first && code == 'd' ? STRING_MORE : STRING_DROP);
	return (code < 0x80 && (isalnum((int)code) || code == '-') ?
	    STRING_MORE : STRING_DROP);
}

static enum string_verdict
picture_judge(struct filter *f, unsigned int code)
{
	if (f->strlen == 0) {
		f->part = PICTURE_KEY;
		return (code == 'G' ? STRING_MORE : STRING_DROP);
	}
	if (code == ';' && string_whole(f))
		return (STRING_PASS);
	switch (f->part) {
	case PICTURE_KEY:
		f->part = PICTURE_EQUALS;
		f->key = (uint8_t)code;
		return (code < 0x80 && isalpha((int)code) ? STRING_MORE :
		    STRING_DROP);
	case PICTURE_EQUALS:
		f->part = PICTURE_VALUE;
		return (code == '=' ? STRING_MORE : STRING_DROP);
	case PICTURE_NEXT:
		if (code == ',') {
			f->part = PICTURE_KEY;
			return (STRING_MORE);
		}
	}
	return (picture_value(f, code));
}

/*
 * Questions: "$q" and what sets something, "+q" and names in hexadecimal.
 * Some terminals repeat in their answer what they do not know, so that is
 * only what nobody could mind to have typed.
 */
static const char *const setting_list[] = {
	"m", "r", "s", " q", "\"p", "\"q",
};

static bool
setting_listed(const struct filter *f)
{
	size_t	i, n = f->strlen - 2;

	for (i = 0; i < sizeof(setting_list) / sizeof(setting_list[0]); i++)
		if (strlen(setting_list[i]) == n && n <= f->holdlen &&
		    memcmp(setting_list[i], f->hold + f->holdlen - n, n) == 0)
			return (true);
	return (false);
}

static enum string_verdict
question_judge(const struct filter *f, unsigned int code)
{
	if (f->strlen == 1)
		return (code == 'q' ? STRING_MORE : STRING_DROP);
	if (f->key == '$')
		return (f->strlen < 4 ? STRING_MORE : STRING_DROP);
	return (code < 0x80 && (code == ';' || isxdigit((int)code)) ?
	    STRING_MORE : STRING_DROP);
}

bool
string_whole(const struct filter *f)
{
	if (f->strkind == '_')
		return (f->strlen > 0 && (f->part == PICTURE_NEXT ||
		    f->strlen == 1));
	if (f->key == '$')
		return (f->strlen > 2 && setting_listed(f));
	return (f->key == '+' && f->strlen > 2);
}

/* Sixels have numbers before their "q", questions another byte. */
enum string_verdict
string_judge(struct filter *f, unsigned int code)
{
	if (f->strkind == '_')
		return (picture_judge(f, code));
	if (f->key != 0)
		return (question_judge(f, code));
	if (f->strlen == 0 && (code == '$' || code == '+')) {
		f->key = (uint8_t)code;
		return (STRING_MORE);
	}
	if (code == 'q')
		return (STRING_PASS);
	return ((code >= '0' && code <= '9') || code == ';' ? STRING_MORE :
	    STRING_DROP);
}

/* A field of an OSC begins: a question, or a value. */
static void
field_begins(struct filter *f, uint8_t b)
{
	uint32_t	at = f->fields++;

	if (b == '?')
		f->asks++;
	else if (f->number >= 10 && f->number + at <= 19)
		f->sets |= 1U << (f->number - 10 + at);
	else if (f->number == 4 && at % 2 == 1)
		f->sets |= 1U << 31;
}

void
string_asks(struct filter *f, uint8_t b)
{
	size_t	at = f->strlen++;

	if (f->strkind == ']') {
		if (f->last == ';')
			field_begins(f, b);
		/* Kitty's colours and notifications: one answer for all. */
		else if (b == '?' && f->last == '=' &&
		    (f->number == 21 || f->number == 99))
			f->asks = 1;
	} else if (f->strkind == 'P') {
		if (at == 1 && b == 'q' && (f->last == '$' || f->last == '+'))
			f->asks++;
		else if (b == ';' && f->asks > 0)
			f->asks++;
	} else if (f->strkind == '_' && at == 0 && b == 'G')
		f->asks++;
	f->last = b;
}

void
string_note(struct filter *f)
{
	bool	all = f->strlen == 0;	/* resets are of all colours then */

	f->asked[ANSWER_STRING] += f->asks;
	if (f->strkind != ']')
		return;
	f->colours |= f->sets;
	if (f->number >= 110 && f->number <= 119 && all)
		f->colours &= ~(1U << (f->number - 110));
	else if (f->number == 104 && all)
		f->colours &= ~(1U << 31);
	else if (f->number == 21 && f->asks == 0)
		f->colours = ~0U;
	else if (f->number == 8)
		f->link = true;
}
