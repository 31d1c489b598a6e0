/*
 * What a session writes to the owner's terminal, looked through on its way:
 * modes it sets are remembered, so that they can be put back; queries it
 * sends are counted, so that late answers do not become the shell's input;
 * sequences that reach the owner's clipboard, or make the terminal type text
 * of the session's choice, are left out. Pure: bytes in, bytes out.
 */
#ifndef SBXCTL_FILTER_H
#define SBXCTL_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_HOLD	512	/* longest sequence that is judged whole */
/* What n bytes become is no longer than this: a string's beginning is two at
 * least, becomes three, and may have to be given an end. */
#define FILTER_ROOM(n)	(3 * (n) + FILTER_HOLD + 16)

enum filter_state {
	FILTER_GROUND,
	FILTER_ESC,		/* ESC, and intermediates after it */
	FILTER_CSI,
	FILTER_NUMBER,		/* an OSC, its number not known yet */
	FILTER_KIND,		/* a DCS or APC, its kind not known yet */
	FILTER_STRING,		/* inside a string that goes through */
	FILTER_DROP,		/* inside one that does not */
	FILTER_TMUX,		/* the same, ESC doubled inside */
};

/* Answers told apart, to be counted down when they come in. */
enum filter_answer {
	ANSWER_CURSOR,		/* CSI ... R */
	ANSWER_DEVICE,		/* CSI ... c */
	ANSWER_OK,		/* CSI 0 n, the answer to CSI 5 n */
	ANSWER_STATUS,		/* other CSI ... n */
	ANSWER_MODE,		/* CSI ... $ y */
	ANSWER_KEYS,		/* CSI ? ... u */
	ANSWER_OTHER,		/* CSI t, x, S, m ... */
	ANSWER_STRING,		/* OSC, DCS or APC */
	ANSWER_KINDS
};

struct filter {
	bool		 raw;		/* leave nothing out */
	bool		 utf8;		/* the terminal's coding */
	/* Leave queries out: another terminal answers them, or nobody waits
	 * any more. The caller's, at any time. */
	bool		 quiet;
	/* GNU screen's: it hands what is in a DCS on to its own terminal, as
	 * it is. The caller's. */
	bool		 screen;

	/* what has come of one character */
	uint8_t		 unit[4];
	size_t		 unitlen, unitwant;

	enum filter_state state;
	bool		 esc;		/* in a string: an ESC has come */
	bool		 open;		/* the terminal is inside a string */
	bool		 seen;		/* it has got a sequence */
	bool		 moved;		/* by one it may be elsewhere */
	bool		 answered;	/* it has answered a query */
	uint8_t		 hold[FILTER_HOLD];
	size_t		 holdlen;
	bool		 spoilt;	/* what is held cannot go through */
	uint8_t		 strkind;	/* the string's: ] P _ ^ X */
	uint32_t	 number;	/* of the OSC */
	bool		 given;		/* it has one */
	bool		 notice;	/* it is 9, and its first byte comes */
	uint32_t	 fields;	/* of the OSC, begun so far */
	uint32_t	 sets;		/* like colours: what it sets */
	size_t		 strlen;	/* bytes of the string so far */
	uint8_t		 last;		/* the last of them */
	uint8_t		 part, key;	/* of a picture; of a question, which */
	uint32_t	 asks;		/* answers that the string asks for */

	/* how the terminal differs from how it starts */
	uint32_t	 modes;		/* bit: place in the table */
	bool		 insert, keypad, shifted, charset, sgr, region;
	bool		 cursor_style, soft_cursor;
	uint32_t	 modify;	/* xterm's resources for keys, bits */
	bool		 saved;		/* a cursor, not as at the start */
	bool		 link;		/* OSC 8: text is one */
	bool		 status;	/* CSI 1 $ }: to the status line */
	bool		 vt52;		/* CSI ? 2 l, once */
	bool		 c1;		/* ESC SP G: it answers in C1 */
	bool		 origin;	/* mode 6 was set, once */
	uint32_t	 colours;	/* bit n: OSC 10 + n; 31: palette */
	bool		 palette;	/* that of Linux's console */
	bool		 picture;	/* one of kitty's */
	bool		 alternate;	/* screen */
	uint16_t	 alternate_mode;
	uint32_t	 keys[2];	/* kitty's stack, by screen */
	bool		 keys_set[2];
	bool		 midline;	/* no newline at the end so far */

	uint32_t	 asked[ANSWER_KINDS];

	/* the other direction: answers among what is typed */
	uint8_t		 in_state, in_prefix, in_inter;
	uint32_t	 in_number;
	bool		 in_more;	/* than one number */
};

void	filter_init(struct filter *, bool utf8, bool raw);
/* out must have room for len + FILTER_HOLD + 8 bytes; returns its length. */
size_t	filter_out(struct filter *, const uint8_t *in, size_t len,
	    uint8_t *out);
/* What the terminal sends; counts answers. True when the last byte ended the
 * answer to a status query (CSI 0 n). */
bool	filter_in(struct filter *, const uint8_t *in, size_t len);
/* The sequences that put back what is set, in out[size]; their length. */
size_t	filter_reset(struct filter *, char *out, size_t size);
/* The same, and of what can have moved the cursor it leaves nothing beside or
 * below the lines that come next. */
size_t	filter_leave(struct filter *, char *out, size_t size);
/* Queries without an answer so far. */
uint32_t filter_pending(const struct filter *);

/*
 * Shared by filter.c, strings.c, plain.c, csi.c, allow.c and answers.c.
 */
/* Where output goes while one call of filter_out runs. NULL: nowhere. */
struct sinkbuf {
	uint8_t	*p;
	size_t	 n;
};

void	filter_byte(struct filter *, struct sinkbuf *, uint8_t);

#define CSI_PARAMS	16
#define MODIFY_KEYS	5	/* xterm's modifyKeyboard to modifyOtherKeys */

struct csi {
	uint8_t		 prefix, inter, final;
	uint32_t	 p[CSI_PARAMS];
	size_t		 n;		/* how many were given, at least one */
	bool		 given;		/* any digit at all */
	bool		 colon;
	bool		 bad;		/* not in a sequence's order */
	bool		 more;		/* than are in p */
};

/* Takes apart what is held. */
void	csi_parse(const struct filter *, struct csi *);
/* Remembers what an allowed sequence sets and asks for. */
void	csi_note(struct filter *, const struct csi *);
/* It can move the cursor, or change what is shown elsewhere. */
bool	csi_moves(const struct csi *);
void	esc_note(struct filter *, uint8_t inter, unsigned int final);
/* A private mode that is put back, if need be. */
bool	mode_listed(uint32_t);
/* Of a list of modes those stay that may be set. False: none. */
bool	csi_trim(struct filter *, struct csi *);
bool	csi_listed(const struct csi *);
bool	esc_listed(const uint8_t *inter, size_t n, unsigned int final);
/* Back from the other screen: what does it, in out[size]; its length. */
size_t	screen_leave(struct filter *, char *out, size_t size);
/* True where what has been noted since then asks the terminal, and must not:
 * then it has not been asked. */
bool	filter_mute(struct filter *, const uint32_t before[ANSWER_KINDS]);

/* What is held of a string: does it pass, or does it take more to know? */
enum string_verdict { STRING_MORE, STRING_PASS, STRING_DROP };

/* An OSC passes of which this number is all. */
bool	osc_bare(const struct filter *);
/* This can be part of a string. */
bool	string_takes(const struct filter *, unsigned int code);
/* The byte after an OSC's number. */
enum string_verdict osc_judge(struct filter *, unsigned int code);
/* The first bytes of a DCS or APC. */
enum string_verdict string_judge(struct filter *, unsigned int code);
/* What there is of it would pass if it ended now. */
bool	string_whole(const struct filter *);
/* A byte of a string: counts what it asks for and sets. */
void	string_asks(struct filter *, uint8_t);
/* The string has ended and the terminal has got it whole. */
void	string_note(struct filter *);

/* ESC 8 and the like: what was saved is there again, whatever that was. */
void	filter_restored(struct filter *);

#endif
